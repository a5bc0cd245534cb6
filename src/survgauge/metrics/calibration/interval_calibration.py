"""Calibration where events lie between visits: observed is what Turnbull's estimate says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._tools.arrays import Floats, Ints, positive, whole_number
from ..._tools.arrays import probability as checked_probability
from ...data.curves import SurvivalCurves
from ...data.intervals import IntervalOutcomes
from ...errors import InputError, UndefinedMetricError
from ...reference.turnbull import Turnbull
from ..checks import check_curves
from ..details import Clusters, Details, standard_error
from .distance_intervals import SquaredGap
from .inputs import checked_time, refuse_past_follow_up, refuse_unknown
from .observed_expected import ObservedExpected, with_interval

#: Equal steps in whose middles the mean predicted curve is compared with Turnbull's estimate.
_STEPS = 100


def _survival(y: IntervalOutcomes, curves: Any, time: float) -> tuple[SurvivalCurves, Floats]:
    """Predicted survival at a time that the outcomes say something about."""
    predicted = check_curves(curves, y)
    refuse_past_follow_up(y.present(), time)
    s = predicted.at(time)
    refuse_unknown(s[y.weight > 0], f"time {time:g}")
    return predicted, np.where(y.weight > 0, s, 1.0)


def _told(y: IntervalOutcomes, curves: SurvivalCurves) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every result says: how curves were read, and who was there."""
    convention = {
        "observed": "Turnbull's estimate of the test outcomes", "within": "uniform",
        "interpolation": curves.interpolation, "curve_tail": curves.tail,
    }  # fmt: skip
    events = y.event_count
    return convention, {"subjects": y.count, "events": events, "censored": y.count - events}


def interval_observed_expected(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    confidence: float = 0.95,
    observed: Turnbull | None = None,
) -> ObservedExpected:
    r"""Observed over expected events by a time, for interval-censored outcomes.

    .. math:: \frac{O}{E} = \frac{1 - S_{Turnbull}(t)}{\frac1n \sum_i (1 - S_i(t))}

    1 is best. Where the time lies inside an interval of Turnbull's estimate, its mass is taken as
    spread evenly: `observed_range` in the support has the least and the largest observed risk that
    the data allow.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    curves : SurvivalCurves
        One predicted curve per subject.
    time : float
        By when events count; not later than the last finite bound.
    confidence : float
        Level of the interval.
    observed : Turnbull, optional
        The estimate of `y_true`, where it has been fitted already.

    Returns
    -------
    ObservedExpected
        `ratio`, `low`, `high`, `observed`, `expected`, and contributions of the subjects. Where
        every subject has visits of its own, those of Turnbull's estimate are widened by what its
        slower convergence asks for at 95 % (see `Turnbull.widening`); ``support["widened"]`` says
        by how much.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, float("inf")])
    >>> curves = SurvivalCurves([0, 10], [[1, 0.4]] * 4)
    >>> found = interval_observed_expected(y, curves, 8)
    >>> round(found.ratio, 4), round(found.observed, 4), round(found.expected, 4)
    (1.5625, 0.75, 0.48)
    """
    level = checked_probability(confidence, "confidence")
    y, time = IntervalOutcomes.of(y_true, "y_true"), checked_time(time)
    predicted, s = _survival(y, curves, time)
    risk, weight = 1.0 - s, y.weight
    total = float(weight.sum())
    expected = float(weight @ risk) / total
    if expected == 0:
        raise UndefinedMetricError(
            f"no event is expected by time {time:g}: every predicted risk is 0, so observed over "
            "expected has no value"
        )
    law = _estimate(y, observed)
    happened = 1.0 - float(law.at(time))
    ratio = happened / expected
    spread = -law.contributions(time)[0] * law.widening(time)[0]
    psi = (spread - ratio * weight * (risk - expected) / total) / expected
    described, support = _told(y, predicted)
    described["time"] = time
    limits = [1.0 - float(law.at(time, within)) for within in ("right", "left")]
    support |= {"observed_risk": happened, "expected_risk": expected, "observed_range": limits}
    support["widened"] = float(law.widening(time)[0])
    plain = Details(ratio, described, support, psi, weight if y.weighted else None)
    return with_interval(plain, happened, expected, time, level)


def _estimate(y: IntervalOutcomes, known: Turnbull | None) -> Turnbull:
    """Turnbull's estimate of the outcomes, unless it is known."""
    if known is None:
        return Turnbull.fit(y)
    if not isinstance(known, Turnbull):
        raise InputError(
            "observed must be Turnbull's estimate of the same outcomes, sg.Turnbull.fit(y); got "
            f"{type(known).__name__}"
        )
    return known


@dataclass(frozen=True)
class IntervalCalibration:
    """Result of `interval_calibration`: one entry per group of subjects, by predicted risk.

    Attributes
    ----------
    predicted, observed : ndarray
        Mean predicted risk of the event by `time`, and the risk that Turnbull's estimate says.
    low, high : ndarray
        Interval of the observed risk, symmetric in log(-log); NaN where the estimate is 0 or 1.
    subjects : ndarray
        How many subjects each group has.
    time : float
        By when events count.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    subjects: Ints
    time: float


def interval_calibration(
    y_true: Any, curves: Any, time: float, *, groups: int = 10, confidence: float = 0.95
) -> IntervalCalibration:
    """Observed against predicted risk of the event by a time, in groups of predicted risk.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    curves : SurvivalCurves
        One predicted curve per subject.
    time : float
        By when events count; not later than the last finite bound.
    groups : int
        Number of groups of about equal size; equal predictions stay together.
    confidence : float
        Level of the intervals, which are widened where visits are everybody's own, as those of
        `interval_observed_expected`.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 0, 4, 4, 8, 8], [4, 4, 8, 8, float("inf"), float("inf")])
    >>> curves = SurvivalCurves([0, 8], [[1, 0.1]] * 3 + [[1, 0.7]] * 3)
    >>> found = interval_calibration(y, curves, 8, groups=2)
    >>> found.predicted, found.observed.round(3)
    (array([0.3, 0.9]), array([0.333, 1.   ]))
    """
    level = checked_probability(confidence, "confidence")
    number = whole_number(groups, "groups", 1)
    given, time = IntervalOutcomes.of(y_true, "y_true"), checked_time(time)
    _, s = _survival(given, curves, time)
    y, risk = given.present(), 1.0 - s[given.weight > 0]
    edges = np.quantile(risk, np.arange(1, number) / number)
    codes = np.unique(edges.searchsorted(risk, "left"), return_inverse=True)[1].reshape(-1)
    rows = [_group(y[codes == k], risk[codes == k], time, level) for k in range(codes.max() + 1)]
    predicted, observed, low, high, size = np.array(rows).T
    return IntervalCalibration(predicted, observed, low, high, size.astype(np.intp), time)


def _group(y: IntervalOutcomes, risk: Floats, time: float, level: float) -> list[float]:
    """Predicted and observed risk of a group, with the interval and the size."""
    law = Turnbull.fit(y)
    s = float(law.at(time))
    low = high = float("nan")
    predicted = float(y.weight @ risk) / float(y.weight.sum())
    if 0 < s < 1:
        psi = law.contributions(time)[0] * law.widening(time)[0]
        error = standard_error(psi, y.weight if y.weighted else None)
        way = ndtri(0.5 + level / 2) * error / (s * abs(np.log(s)))
        low, high = 1.0 - s ** np.exp(-way), 1.0 - s ** np.exp(way)
    return [predicted, 1.0 - s, low, high, y.count]


@dataclass(frozen=True, repr=False)
class TurnbullCalibrationDetails(Details):
    """Result of `turnbull_calibration_details`.

    Attributes
    ----------
    times, predicted, observed : ndarray
        Grid, mean predicted survival and Turnbull's estimate there.
    law : SquaredGap or None
        What `limits` come from.
    """

    times: Floats | None = None
    predicted: Floats | None = None
    observed: Floats | None = None
    law: SquaredGap | None = None

    def limits(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits of the mean squared gap."""
        return (float("nan"), float("nan")) if self.law is None else self.law.limits(confidence)


def turnbull_calibration(y_true: Any, curves: Any, *, tau: float | None = None) -> float:
    """Mean over time of the squared gap between the mean predicted curve and Turnbull's estimate.

    What `km_calibration` is to right-censored outcomes: 0 where the model is right on average over
    all subjects at all times.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    curves : SurvivalCurves
        One predicted curve per subject.
    tau : float, optional
        Where to stop; by default, and at the latest, at the last finite bound.

    Returns
    -------
    float
        `turnbull_calibration_details` gives the same with its law.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, float("inf")])
    >>> round(turnbull_calibration(y, SurvivalCurves([0, 8], [[1, 0.2]] * 4)), 6)
    0.009166
    """
    return turnbull_calibration_details(y_true, curves, tau=tau).value


def turnbull_calibration_details(
    y_true: Any,
    curves: Any,
    *,
    tau: float | None = None,
    clusters: Clusters | None = None,
    observed: Turnbull | None = None,
) -> TurnbullCalibrationDetails:
    """`turnbull_calibration` with both curves, contributions and the law of its interval.

    Parameters
    ----------
    y_true, curves, tau
        As for `turnbull_calibration`.
    clusters : Clusters, optional
        Who was sampled together.
    observed : Turnbull, optional
        The estimate of `y_true`, where it has been fitted already.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, float("inf")])
    >>> d = turnbull_calibration_details(y, SurvivalCurves([0, 8], [[1, 0.2]] * 4))
    >>> d.observed[[0, 49, 99]].round(3)
    array([0.998, 0.752, 0.255])
    """
    y = IntervalOutcomes.of(y_true, "y_true")
    predicted = check_curves(curves, y)
    stop = float(y.present().time.max())
    stop = stop if tau is None else min(stop, positive(tau, "tau"))
    if not stop > 0:
        raise UndefinedMetricError(
            "nobody was watched after time 0, so there is nothing to compare"
        )
    grid = stop * (np.arange(_STEPS) + 0.5) / _STEPS
    weight = y.weight / float(y.weight.sum())
    law = _estimate(y, observed)
    if clusters is not None and not isinstance(clusters, Clusters):
        raise InputError(f"clusters must be Clusters; got {type(clusters).__name__}")
    psi = -law.contributions(grid).T
    mean, curve = np.zeros(grid.size), law.at(grid)
    for rows in predicted.blocks(grid.size):
        s = predicted.at_block(rows, grid)
        s[y.weight[rows] == 0] = 0.0
        mean += weight[rows] @ s
        psi[rows] += weight[rows, None] * s
    refuse_unknown(mean, "the time up to the end of the follow-up")
    psi -= weight[:, None] * mean
    gap = mean - curve
    value = float(np.mean(gap**2))
    described, support = _told(y, predicted)
    described["tau"] = stop
    told = _law(y, value, gap, psi, clusters)
    if told is not None:
        support["expected_if_calibrated"] = told.expected_if_calibrated
    frequency = y.weight if y.weighted else None
    own = 2.0 * psi @ gap / gap.size
    return TurnbullCalibrationDetails(
        value, described, support, own, frequency, times=grid, predicted=mean, observed=curve,
        law=told,
    )  # fmt: skip


def _law(
    y: IntervalOutcomes, value: float, gap: Floats, psi: Floats, clusters: Clusters | None
) -> SquaredGap | None:
    """Law of the mean squared gap, from what each subject or cluster adds to the gap."""
    if clusters is not None:
        if clusters.number < 2:
            return None
        sums = np.zeros((int(clusters.codes.max()) + 1, gap.size))
        np.add.at(sums, clusters.codes, psi)
        factor, freedom = clusters.number / (clusters.number - 1), clusters.freedom
    else:
        n = float(y.weight.sum())
        if not n > 1:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(y.weight[:, None] > 0, psi / np.sqrt(y.weight)[:, None], 0.0)
        factor, freedom = n / (n - 1), float("inf")
    return SquaredGap.of(value, gap, factor * (sums.T @ sums), freedom, exact=True)
