"""Observed over expected events by a time: whether predicted risks are right on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, repeated
from ..._tools.arrays import probability as checked_probability
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...errors import UndefinedMetricError
from ...estimators.pseudo import PseudoIncidence
from ...estimators.turnbull import Turnbull
from ..score import Score
from .inputs import StatusAtTime, checked_time, interval_description, interval_survival, turnbull_of


@dataclass(frozen=True, repr=False, eq=False)
class ObservedExpected(Score):
    """Result of `observed_expected`.

    Attributes
    ----------
    value : float
        The ratio, also as `ratio`; 1 is best.
    low, high : float
        Its interval, symmetric in the logarithm; NaN where no event was seen, which
        ``support["note"]`` says.
    observed, expected : float
        Risk of the event by `time` by Kaplan-Meier (of one cause by Aalen-Johansen), and the mean
        predicted risk.
    """

    observed: float = float("nan")
    expected: float = float("nan")
    time: float = float("nan")
    confidence: float = 0.95

    @property
    def ratio(self) -> float:
        """Observed over expected risk."""
        return self.value

    @property
    def low(self) -> float:
        """Lower limit of the ratio."""
        return self.interval(self.confidence)[0]

    @property
    def high(self) -> float:
        """Upper limit of the ratio."""
        return self.interval(self.confidence)[1]


def observed_expected(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    confidence: float = 0.95,
    cause: int | str | None = None,
) -> ObservedExpected:
    r"""Observed over expected events by a time (calibration in the large).

    .. math:: \frac{O}{E} = \frac{1 - S_{KM}(t)}{\frac1n \sum_i (1 - S_i(t))}

    1 is best. 1.2 means that 20 % more events happened than the model predicted: its risks are too
    low on average.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. Of `IntervalOutcomes` the observed risk is that of Turnbull's estimate.
        With delayed entry subjects who entered before `time` count, with risks and
        pseudo-observations given being event-free at entry: observed is the mean of the latter.
    curves : curves or array-like of shape (n,)
        Predicted curves (anything that `as_curves` reads), or the probabilities at `time`
        themselves (under delayed entry, given being event-free at entry).
    time : float
        By when events count; not later than the last observed time.
    probability : {"survival", "event"}
        What an array in `curves` holds: of surviving `time`, or of the event by then.
    confidence : float
        Level of the interval.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`; the observed risk is that of Aalen-Johansen.

    Returns
    -------
    ObservedExpected
        `ratio`, `low`, `high`, `observed`, `expected`, and contributions of the subjects. The
        standard error counts that both risks come from the same subjects.

    References
    ----------
    Debray et al. (2017), BMJ 356, i6460. McLernon et al. (2023), Annals of Internal Medicine 176.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 0, 1, 0, 0, 0])
    >>> found = observed_expected(y, [0.3, 0.5, 0.4, 0.8, 0.7, 0.9], 4.5)
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3)
    (0.938, 0.408, 2.156)
    """
    level = checked_probability(confidence, "confidence")
    if isinstance(y_true, IntervalOutcomes):
        return interval_ratio(y_true, curves, time, level)
    return ratio_of(StatusAtTime.of(y_true, curves, time, probability, cause), level)


def ratio_of(status: StatusAtTime, confidence: float = 0.95) -> ObservedExpected:
    """`observed_expected` of a status at a time: mean pseudo-observation over mean prediction."""
    pseudo, rows = status.pseudo, status.rows
    weight, total = pseudo.weight, float(pseudo.weight.sum())
    survival, moved = float(np.average(pseudo.values, weights=weight)), np.zeros(len(status.y))
    moved[rows] = weight * (survival - pseudo.values) / total
    if status.y.entry is not None:  # then a subject also moves those of others, on average
        moved[rows] -= pseudo.pulled(repeated(1.0, rows.size)) / total
    risk, everybody = np.zeros(len(status.y)), np.zeros(len(status.y))
    risk[rows], everybody[rows] = 1.0 - status.s, weight
    convention, observed = dict(status.convention), (1.0 - survival, moved)
    if isinstance(pseudo, PseudoIncidence) and status.y.entry is None:  # of which it is the mean
        estimate = "Aalen-Johansen" if "cause" in convention else "Kaplan-Meier"
        convention["observed"] = f"{estimate} of the test outcomes"
    about = convention, dict(status.support)
    return _ratio(status.y, observed, everybody, risk, about, status.time, confidence)


def interval_ratio(
    y_true: Any, curves: Any, time: float, confidence: float = 0.95, known: Turnbull | None = None
) -> ObservedExpected:
    """`observed_expected` of interval-censored outcomes, of which Turnbull's estimate may be known.

    Where the time lies inside an interval of Turnbull's estimate, its weight is taken as spread
    evenly: `observed_range` in the support has the least and the largest observed risk that the
    data allow. Where every subject has visits of its own, contributions are widened by what the
    slower convergence of the estimate asks for at 95 % (see `Turnbull.widening`);
    ``support["widened"]`` says by how much.

    >>> from survgauge import SurvivalCurves
    >>> y = IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, float("inf")])
    >>> curves = SurvivalCurves([0, 10], [[1, 0.4]] * 4)
    >>> found = interval_ratio(y, curves, 8)
    >>> round(found.ratio, 4), round(found.observed, 4), round(found.expected, 4)
    (1.5625, 0.75, 0.48)
    """
    y, time = IntervalOutcomes.of(y_true, "y_true"), checked_time(time)
    predicted, s = interval_survival(y, curves, time)
    found = turnbull_of(y, known)
    widened = float(found.widening(time)[0])
    convention, support = interval_description(y, predicted)
    convention["time"] = time
    limits = [1.0 - float(found.at(time, within)) for within in ("right", "left")]
    support |= {"observed_range": limits, "widened": widened}
    observed = 1.0 - float(found.at(time)), -found.contributions(time)[0] * widened
    return _ratio(y, observed, y.weight, 1.0 - s, (convention, support), time, confidence)


def _ratio(
    y: Outcomes | IntervalOutcomes, observed: tuple[float, Floats], weight: Floats, risk: Floats,
    about: tuple[dict[str, Any], dict[str, Any]], time: float, confidence: float,
) -> ObservedExpected:  # fmt: skip
    """Divide an observed risk, given with its contributions, by the mean of predicted risks."""
    total = float(weight.sum())
    expected = float(weight @ risk) / total
    if expected == 0:
        raise UndefinedMetricError(
            f"no event is expected by time {time:g}: every predicted risk is 0, so observed over "
            "expected has no value"
        )
    ratio = observed[0] / expected
    influence = (observed[1] - ratio * weight * (risk - expected) / total) / expected
    convention, support = about
    support |= {"observed_risk": observed[0], "expected_risk": expected}
    found = ObservedExpected(
        ratio, convention, support, influence, y.frequency, scale="log",
        observed=observed[0], expected=expected, time=time, confidence=confidence,
    )  # fmt: skip
    if not (ratio > 0 and found.stderr > 0):
        why = "no event was observed" if ratio == 0 else "too few subjects were observed"
        support["note"] = f"{why} by time {time:g}, so the ratio has no interval"
    return found
