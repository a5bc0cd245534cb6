"""How many subjects there are, and how many of them lie past the horizon."""

from __future__ import annotations

from dataclasses import dataclass

from ..metrics.problem import Problem


@dataclass(frozen=True)
class Census:
    """Counts of the test subjects, all that support and warnings need of them."""

    subjects: int
    events: int
    subjects_past_horizon: int
    events_past_horizon: int
    last_time: float

    @classmethod
    def of(cls, problem: Problem) -> Census:
        """Count the subjects of a problem; those of weight zero are absent."""
        y = problem.y.present()
        past = y.time > problem.horizon
        return cls(
            len(y),
            int(y.event.sum()),
            int(past.sum()),
            int((past & y.event).sum()),
            float(y.time.max()),
        )
