"""What calibration metrics are given, checked once: probabilities, hazards, words of a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, one_number, shown, stored_once, vector
from ..._tools.running import BLOCK_VALUES, chunks, run_all
from ...data.adapters import is_flat
from ...data.causes import cause_code
from ...data.checks import ROUNDING
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.incidence import CauseCurves, IncidenceCurves
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...estimators.pseudo import PseudoIncidence
from ...estimators.turnbull import Turnbull
from ..checks import OneCause, check_curves, one_cause, read_curves
from ..past_curve import share_past
from ..robust_status import happened_at, status_convention, status_support
from ..task import Task, supported_time

PROBABILITIES = ("survival", "event")
CONVENTIONS = ("survgauge", "survivaleval")
#: Predictions closer than this to 0 or 1 have no usable complementary log-log.
CERTAIN = 1e-10
#: With less than this left free of any event, no hazard is told.
_NOBODY = 1e-12


def own_survival(
    curves: SurvivalCurves, time: Floats, cause: int | None = None, incidence: Any = None
) -> Floats:
    """Each subject's predicted probability of surviving its own time, given entry if curves are.

    Of a cause it is exp(-its cumulative hazard), which the incidence curves of all causes tell
    (those of `curves`, unless given): how often it strikes those who had no event yet.
    """
    s = curves.at_own(time)
    refuse_unknown(s, "their own time")
    if incidence is None and isinstance(curves, CauseCurves):
        incidence = curves.incidence
    if cause is None or incidence is None:
        return s
    s = cause_survival(incidence, cause, time)
    if isinstance(curves, ConditionalCurves):
        entry = np.minimum(curves.entry, incidence.times[-1])
        then = np.where(entry > 0, cause_survival(incidence, cause, entry), 1.0)
        s = np.divide(s, then, out=np.zeros(s.size), where=then > 0)
        s[curves.impossible] = 0.0
    return s


def survival_at(
    y: Outcomes,
    predicted: Any,
    time: Any,
    probability: str,
    argument: str = "curves",
    *,
    from_entry: bool = True,
) -> Floats:
    """S_i(time) from curves, or from probabilities that the caller already has.

    Under delayed entry curves are read given being event-free then, unless `from_entry` is False.
    """
    one_of("probability", probability, PROBABILITIES)
    if isinstance(predicted, SurvivalCurves):
        s = check_curves(predicted, y, from_entry=from_entry).at(checked_time(time))
        refuse_unknown(s, f"time {time}")
        return s
    if not is_flat(predicted):
        raise InputError(
            f"{argument} must be curves (anything that `as_curves` reads) or probabilities at "
            f"`time`, one per subject; got {type(predicted).__name__}"
        )
    s = vector(predicted, argument, length=len(y), like="y_true")
    bad = np.flatnonzero((s < -ROUNDING) | (s > 1 + ROUNDING))
    if bad.size:
        raise InputError(
            f"{argument} must be probabilities between 0 and 1; got {s[bad[0]]:g} for "
            f"{numbered(bad)}"
        )
    s = np.clip(s, 0.0, 1.0)
    return s if probability == "survival" else 1.0 - s


def checked_time(time: Any) -> float:
    """Return one finite time that is not negative."""
    value = one_number(time)
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"time must be one finite number, not negative; got {shown(time)}")
    return value


def refuse_unknown(s: Floats, where: str) -> None:
    """Refuse probabilities that a curve does not give."""
    if np.isnan(s.sum()):
        bad = np.flatnonzero(np.isnan(s))
        raise UndefinedMetricError(
            f"the curves of {numbered(bad)} say nothing about {where}: it lies past "
            "their grid and they have tail='nan'; choose another tail or leave the subjects out"
        )


def log_log(s: Floats) -> tuple[Floats, int]:
    """log(-log S) with S moved into [1e-10, 1 - 1e-10], and how many had to be moved."""
    moved = int(((s < CERTAIN) | (s > 1 - CERTAIN)).sum())
    x = np.clip(s, CERTAIN, 1 - CERTAIN)
    np.log(x, out=x)
    np.negative(x, out=x)
    return np.log(x, out=x), moved


def put_back(values: Floats, rows: Ints, size: int, otherwise: float) -> Floats:
    """Put values to the rows that they came from, and `otherwise` to the others."""
    out = np.full(size, otherwise)
    out[rows] = values
    return out


def taking_part(y: Outcomes, time: float) -> Bools:
    """Who is present and, under delayed entry, entered before a time: (n,)."""
    present = y.weight > 0
    if y.entry is None:
        return present
    present &= (y.entry < time) | (y.entry == 0)
    if not present.any():
        raise UndefinedMetricError(f"no subject of y_true entered before time {time:g}")
    return present


def refuse_past_follow_up(y: Outcomes | IntervalOutcomes, time: float) -> None:
    """Refuse a time that nobody was observed up to."""
    last = float(y.time.max())
    if time > last:
        raise UndefinedMetricError(
            f"time {time:g} lies past the last test time {last:g}: nothing was observed there"
        )


def read_past(y: Outcomes, curves: Any, at: Floats | float) -> dict[str, float]:
    """Share of the curves that end before they are read, for the support; {} for probabilities."""
    if not isinstance(curves, SurvivalCurves):
        return {}
    return {"past_curve": share_past(curves, at, y.frequency)}


def description(
    y: Outcomes, curves: Any, asked: OneCause | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every result says: how curves were read, and who was there."""
    convention: dict[str, Any] = {"convention": "survgauge", "reference": "test outcomes"}
    if isinstance(curves, SurvivalCurves):
        convention |= {"interpolation": curves.interpolation, "curve_tail": curves.tail}
    if y.entry is not None:
        convention["entry"] = "curves given being event-free at entry"
    events = int(y.event.sum())
    support = {"subjects": len(y), "events": events, "censored": len(y) - events}
    if asked is not None and asked.competes is not None:
        convention["cause"] = asked.name
        present = len(y) == len(asked.y) or asked.y.weight > 0
        support["competing"] = int((asked.competes & present).sum())
    return convention, support


def interval_survival(
    y: IntervalOutcomes, curves: Any, time: float
) -> tuple[SurvivalCurves, Floats]:
    """Predicted survival at a time that the outcomes say something about."""
    predicted = check_curves(curves, y)
    refuse_past_follow_up(y.present(), time)
    s = predicted.at(time)
    refuse_unknown(s[y.weight > 0], f"time {time:g}")
    return predicted, np.where(y.weight > 0, s, 1.0)


def interval_description(
    y: IntervalOutcomes, curves: SurvivalCurves
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every result says: how curves were read, and who was there."""
    convention = {
        "observed": "Turnbull's estimate of the test outcomes", "within": "uniform",
        "interpolation": curves.interpolation, "curve_tail": curves.tail,
    }  # fmt: skip
    events = y.event_count
    return convention, {"subjects": y.count, "events": events, "censored": y.count - events}


def turnbull_of(y: IntervalOutcomes, known: Turnbull | None) -> Turnbull:
    """Turnbull's estimate of the outcomes, unless it is known."""
    if known is None:
        return Turnbull.fit(y)
    if not isinstance(known, Turnbull):
        raise InputError(
            "observed must be Turnbull's estimate of the same outcomes, sg.Turnbull.fit(y); got "
            f"{type(known).__name__}"
        )
    return known


def cause_survival(curves: IncidenceCurves, cause: int | str, time: Floats) -> Floats:
    """exp(-Lambda_k(t_i)) at each subject's own time, see `cause_hazard`.

    >>> curves = IncidenceCurves([10], [[[0.5], [0.5]]])
    >>> cause_survival(curves, 1, np.array([7.5]))
    array([0.5])
    """
    code, times = cause_code(cause, curves.causes), time[:, None]
    if stored_once(curves.values):  # one row is everybody's, on a grid that may be long
        return np.exp(-cause_hazard(curves[:1], code, times)[:, 0])
    found = np.empty(time.size)

    def fill(rows: slice) -> None:
        found[rows] = np.exp(-cause_hazard(curves[rows], code, times[rows])[:, 0])

    width = len(curves.causes) * curves.times.size
    run_all(fill, chunks(time.size, size=max(BLOCK_VALUES // width, 1)))
    return found


def cause_hazard(curves: IncidenceCurves, cause: int, times: Floats) -> Floats:
    r"""Cumulative hazard of a cause that all incidence curves imply, at times of shape (n or 1, k).

    It is :math:`d\Lambda_k = dF_k / S`, S = 1 - the sum of all incidences: how often the cause
    strikes those who had no event yet. Where the curves are lines, the integral from S_0 to S_1 is
    (a/b) log(S_0/S_1), with a and b the rises of the cause and of all; steps are the factors
    1 - a/S_0 instead, as of Kaplan-Meier. Past the grid nothing is known: times end there.

    >>> curves = IncidenceCurves([10], [[[0.5], [0.5]]])
    >>> cause_hazard(curves, 1, np.array([[0.0, 7.5]])).round(4)
    array([[0.    , 0.6931]])
    """
    grid, lines = curves.times, curves.interpolation == "linear"
    values = curves.values.astype(np.float64, copy=False)
    total, start = values.sum(axis=1), np.zeros((len(values), 1))
    own = np.diff(values[:, cause - 1], axis=1, prepend=start)
    free = 1.0 - np.concatenate((start, total[:, :-1]), axis=1)
    rise = np.diff(total, axis=1, prepend=start) if lines else own
    passed = grid.searchsorted(times, "right")
    at, begin = np.minimum(passed, grid.size - 1), np.append(0.0, grid)[passed]
    length, share = grid[at] - begin, np.zeros(times.shape)
    if lines:
        np.divide(times - begin, length, out=share, where=length > 0)
    until = np.cumsum(np.concatenate((start, _hazard(own, rise, free)), axis=1), axis=1)
    size = np.broadcast_shapes((len(values), 1), times.shape)
    at, passed = np.broadcast_to(at, size), np.broadcast_to(passed, size)
    here = [np.take_along_axis(part, at, 1) for part in (own, rise, free)]
    last = _hazard(here[0], here[1], here[2], share)
    return -(np.take_along_axis(until, passed, 1) + last) + 0.0


def _hazard(own: Floats, rise: Floats, free: Floats, share: Floats | float = 1.0) -> Floats:
    """Minus the hazard over a share of the way between two grid times."""
    told = (own > 0) & (rise > 0) & (free > _NOBODY)
    part = np.divide(share * rise, free, out=np.zeros_like(free), where=told)
    with np.errstate(divide="ignore"):
        lost = np.log1p(-np.minimum(part, 1.0))
    of_cause = np.divide(own, rise, out=np.zeros_like(free), where=told)
    return np.multiply(of_cause, lost, out=np.zeros_like(free), where=told)


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
            who = "no subject" if self.pseudo.survival >= 1 else "every subject"
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
