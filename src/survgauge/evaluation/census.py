"""How many subjects there are, and how many of them lie past the horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..metrics.problem import Problem


@dataclass(frozen=True)
class Census:
    """Counts of the test subjects, all that support and warnings need of them."""

    subjects: int
    events: int
    subjects_past_horizon: int
    events_past_horizon: int
    last_time: float
    #: Events of the cause that is asked about, where there are several causes.
    events_of_cause: int | None = None

    @property
    def events_asked_about(self) -> int:
        """Events of the cause in question, or all of them where there is one kind."""
        return self.events if self.events_of_cause is None else self.events_of_cause

    @classmethod
    def of(cls, problem: Problem) -> Census:
        """Count the subjects of a problem; those of weight zero are absent."""
        y = problem.y.present()
        past = y.time > problem.horizon
        mine = None if problem.cause is None else int(np.count_nonzero(y.cause == problem.cause))
        return cls(
            len(y),
            int(y.event.sum()),
            int(past.sum()),
            int((past & y.event).sum()),
            float(y.time.max()),
            mine,
        )
