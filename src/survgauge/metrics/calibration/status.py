"""The status at one time: what was predicted for each subject, and what was observed of it.

Calibration slope and intercept, the ICI and the smooth curve take what was observed from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ...estimators.pseudo_incidence import PseudoIncidence
from ..checks import read_curves
from ..one_cause import one_cause
from ..robust_status import happened_at, status_convention, status_support
from ..task import Task, supported_time
from .inputs import (
    checked_time,
    description,
    read_past,
    refuse_past_follow_up,
    survival_at,
    taking_part,
)


@dataclass(frozen=True)
class RobustStatus:
    """Doubly robust pseudo-observations of the status free of the event at a time."""

    #: Their mean, and each of them; how often each subject counts.
    survival: float
    values: Floats
    weight: Floats

    def pulled(self, h: Floats) -> Floats:
        """What each subject's presence changes in those of others: nothing."""
        return np.zeros(self.weight.size)


Pseudo = PseudoIncidence | RobustStatus


@dataclass(frozen=True)
class StatusAtTime:
    """Pseudo-observations of the subjects who take part, and what was predicted for them.

    Attributes
    ----------
    y : Outcomes
        Of all subjects, of any cause.
    rows : ndarray of int
        Who takes part: who is present and, under delayed entry, entered before the time.
    s : ndarray
        Predicted probability that those are free of the event at the time.
    pseudo : Pseudo
        What was observed of it.
    convention, support : dict
        Words and counts that every result carries.
    """

    y: Outcomes
    rows: Ints
    time: float
    s: Floats
    pseudo: Pseudo
    convention: dict[str, Any]
    support: dict[str, Any]

    @classmethod
    def of(
        cls,
        y_true: Any,
        curves: Any,
        time: float,
        probability: str = "survival",
        cause: int | str | None = None,
    ) -> StatusAtTime:
        """Check the arguments."""
        asked = one_cause(y_true, curves, None, cause, entry=True)
        y = asked.y
        time, predicted = checked_time(time), read_curves(asked.curves)
        s = survival_at(y, predicted, time, probability)
        rows = np.flatnonzero(taking_part(y, time))
        everybody = rows.size == len(y)
        part = y if everybody else y[rows]
        refuse_past_follow_up(part, time)
        competes = asked.competes if asked.competes is None else asked.competes[rows]
        pseudo = PseudoIncidence.of(part, competes, time)
        convention, support = description(y, predicted, asked)
        estimate = "Kaplan-Meier" if competes is None else "Aalen-Johansen"
        how = "infinitesimal jackknife" if y.entry is None else "given entry"
        convention |= {
            "time": time,
            "observed": f"pseudo-observations of {estimate} ({how})",
        }
        support |= read_past(y, predicted, time) | events_by(part, competes, time)
        return cls(y, rows, time, s if everybody else s[rows], pseudo, convention, support)

    @classmethod
    def asked(cls, task: Task, prediction: Prediction, time: float | None = None) -> StatusAtTime:
        """Return the status that a question of `evaluate` is about, at its time or another."""
        at = supported_time(task) if time is None else time
        found = cls.of(task.y, prediction.curves, at, cause=task.cause)
        if not task.robust:
            return found
        values, weight = 1.0 - happened_at(task, at)[found.rows], task.y.weight[found.rows]
        pseudo = RobustStatus(float(np.average(values, weights=weight)), values, weight)
        convention = found.convention | status_convention(task, at)
        support = found.support | status_support(task, at).result()
        return replace(found, pseudo=pseudo, convention=convention, support=support)

    def regressed(self) -> StatusAtTime:
        """Return itself for a regression; refuse where everybody or nobody has the event."""
        if not 0 < self.pseudo.survival < 1:
            who = "nobody" if self.pseudo.survival >= 1 else "everybody"
            which = "an event of the cause" if "cause" in self.convention else "the event"
            raise UndefinedMetricError(
                f"{who} has {which} by time {self.time:g}, so no finite intercept is best"
            )
        convention = self.convention | {"link": "complementary log-log, least squares"}
        return replace(self, convention=convention)


def events_by(y: Outcomes, competes: Bools | None, time: float) -> dict[str, Any]:
    """How much was observed by a time; of several causes the events of one."""
    died = y.event & (y.time <= time)
    if competes is not None:
        died &= ~competes
    return {
        "events_by_time": float(y.weight[died].sum()),
        "censored_before_time": int((~y.event & (y.time < time)).sum()),
    }
