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
from ...reference.pseudo_incidence import PseudoIncidence, PseudoIncidenceGivenEntry
from ..checks import read_curves
from ..one_cause import one_cause
from ..problem import Problem
from ..robust_status import status_convention
from ..supported import supported_time
from .inputs import (
    checked_time,
    description,
    read_past,
    refuse_past_follow_up,
    survival_at,
    taking_part,
)
from .robust import RobustStatus

Pseudo = PseudoIncidence | PseudoIncidenceGivenEntry | RobustStatus


def pseudo_observations(y: Outcomes, competes: Bools | None, time: float) -> Pseudo:
    """Pseudo-observations of the status free of the event at a time; all subjects are present.

    Under delayed entry, given that at entry, before the time. Refuses where everybody or nobody has
    the event by then.
    """
    kind = PseudoIncidence if y.entry is None else PseudoIncidenceGivenEntry
    pseudo: Pseudo = kind.of(y, competes, time)
    _refuse_certain(pseudo.survival, competes, time)
    return pseudo


def _refuse_certain(survival: float, competes: Bools | None, time: float) -> None:
    """Refuse a time by which everybody or nobody has the event."""
    if not 0 < survival < 1:
        who = "nobody" if survival >= 1 else "everybody"
        which = "the event" if competes is None else "an event of the cause"
        raise UndefinedMetricError(
            f"{who} has {which} by time {time:g}, so no finite intercept is best"
        )


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
        """Check the arguments; refuse where everybody or nobody has the event by the time."""
        asked = one_cause(y_true, curves, None, cause, entry=True)
        y = asked.y
        time, predicted = checked_time(time), read_curves(asked.curves)
        s = survival_at(y, predicted, time, probability)
        rows = np.flatnonzero(taking_part(y, time))
        everybody = rows.size == len(y)
        part = y if everybody else y[rows]
        refuse_past_follow_up(part, time)
        competes = asked.competes if asked.competes is None else asked.competes[rows]
        pseudo = pseudo_observations(part, competes, time)
        convention, support = description(y, predicted, asked)
        estimate = "Kaplan-Meier" if competes is None else "Aalen-Johansen"
        how = "infinitesimal jackknife" if y.entry is None else "given entry"
        convention |= {
            "time": time,
            "observed": f"pseudo-observations of {estimate} ({how})",
            "link": "complementary log-log, least squares",
        }
        support |= read_past(y, predicted, time) | events_by(part, competes, time)
        return cls(y, rows, time, s if everybody else s[rows], pseudo, convention, support)

    @classmethod
    def asked(
        cls, problem: Problem, prediction: Prediction, time: float | None = None
    ) -> StatusAtTime:
        """Return the status that a question of `evaluate` is about, at its time or another."""
        at = supported_time(problem) if time is None else time
        found = cls.of(problem.y, prediction.curves, at, cause=problem.cause)
        if not problem.robust:
            return found
        pseudo = RobustStatus.asked(problem, at, found.rows)
        _refuse_certain(pseudo.survival, problem.competes, at)
        convention = found.convention | status_convention(problem, at)
        return replace(found, pseudo=pseudo, convention=convention)

    @property
    def frequency(self) -> Floats | None:
        """Frequencies of all subjects, where there are any."""
        return self.y.weight if self.y.weighted else None

    def to_all(self, values: Floats, absent: float) -> Floats:
        """Put values of those who take part to where the subjects came from."""
        return put_back(values, self.rows, len(self.y), absent)


def put_back(values: Floats, rows: Ints, size: int, absent: float) -> Floats:
    """Put values to the rows that they came from, and `absent` to the others."""
    out = np.full(size, absent)
    out[rows] = values
    return out


def events_by(y: Outcomes, competes: Bools | None, time: float) -> dict[str, Any]:
    """How much was observed by a time; of several causes the events of one."""
    died = y.event & (y.time <= time)
    if competes is not None:
        died &= ~competes
    return {
        "events_by_time": float(y.weight[died].sum()),
        "censored_before_time": int((~y.event & (y.time < time)).sum()),
    }
