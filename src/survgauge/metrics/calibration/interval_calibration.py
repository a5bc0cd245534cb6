"""Calibration where events lie between visits: observed is what Turnbull's estimate says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._tools.arrays import Floats, Ints, positive, whole_number
from ..._tools.arrays import probability as checked_probability
from ...data.outcomes import IntervalOutcomes
from ...errors import InputError, UndefinedMetricError
from ...estimators.turnbull import Turnbull
from ..checks import check_curves
from ..score import Clusters, standard_error
from .distance_intervals import Distance, SquaredGap
from .inputs import (
    checked_time,
    interval_description,
    interval_survival,
    refuse_unknown,
    turnbull_of,
)

#: Equal steps in whose middles the mean predicted curve is compared with Turnbull's estimate.
_STEPS = 100


@dataclass(frozen=True)
class IntervalCalibration:
    """Result of `interval_calibration`: one entry per group of subjects, by predicted risk.

    Attributes
    ----------
    predicted, observed : ndarray
        Mean predicted risk of the event by `time`, and the risk by Turnbull's estimate.
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
        Level of the intervals, which are widened if all subjects have visits of their own, as those
        of `interval_observed_expected`.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> y = IntervalOutcomes([0, 0, 4, 4, 8, 8], [4, 4, 8, 8, float("inf"), float("inf")])
    >>> curves = SurvivalCurves([0, 8], [[1, 0.1]] * 3 + [[1, 0.7]] * 3)
    >>> found = interval_calibration(y, curves, 8, groups=2)
    >>> found.predicted, found.observed.round(3)
    (array([0.3, 0.9]), array([0.333, 1.   ]))
    """
    level = checked_probability(confidence, "confidence")
    number = whole_number(groups, "groups", 1)
    given, time = IntervalOutcomes.of(y_true, "y_true"), checked_time(time)
    _, s = interval_survival(given, curves, time)
    y, risk = given.present(), 1.0 - s[given.weight > 0]
    edges = np.quantile(risk, np.arange(1, number) / number)
    codes = np.unique(edges.searchsorted(risk, "left"), return_inverse=True)[1].reshape(-1)
    rows = [_group(y[codes == k], risk[codes == k], time, level) for k in range(codes.max() + 1)]
    predicted, observed, low, high, size = np.array(rows).T
    return IntervalCalibration(predicted, observed, low, high, size.astype(np.intp), time)


def _group(y: IntervalOutcomes, risk: Floats, time: float, level: float) -> list[float]:
    """Predicted and observed risk of a group, with the interval and the size."""
    found = Turnbull.fit(y)
    s = float(found.at(time))
    low = high = float("nan")
    predicted = float(y.weight @ risk) / float(y.weight.sum())
    if 0 < s < 1:
        moved = found.contributions(time)[0] * found.widening(time)[0]
        error = standard_error(moved, y.frequency)
        way = ndtri(0.5 + level / 2) * error / (s * abs(np.log(s)))
        low, high = 1.0 - s ** np.exp(-way), 1.0 - s ** np.exp(way)
    return [predicted, 1.0 - s, low, high, y.count]


@dataclass(frozen=True, repr=False, eq=False)
class TurnbullCalibration(Distance):
    """Result of `turnbull_calibration`.

    Attributes
    ----------
    times, predicted, observed : ndarray
        Grid, mean predicted survival and Turnbull's estimate there.
    """

    times: Floats | None = None
    predicted: Floats | None = None
    observed: Floats | None = None

    @property
    def stderr(self) -> float:
        """Standard error to first order."""
        found = self.contributions
        return float("nan") if found is None else standard_error(found, self.frequency)


def turnbull_calibration(
    y_true: Any,
    curves: Any,
    *,
    tau: float | None = None,
    clusters: Clusters | None = None,
    observed: Turnbull | None = None,
) -> TurnbullCalibration:
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
    clusters : Clusters, optional
        Who was sampled together.
    observed : Turnbull, optional
        The estimate of `y_true`, where it has been fitted already.

    Returns
    -------
    TurnbullCalibration
        A `Score` that also has both curves.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> y = IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, float("inf")])
    >>> score = turnbull_calibration(y, SurvivalCurves([0, 8], [[1, 0.2]] * 4))
    >>> round(score, 6), score.observed[[0, 49, 99]].round(3)
    (0.009166, array([0.998, 0.752, 0.255]))
    """
    y = IntervalOutcomes.of(y_true, "y_true")
    predicted = check_curves(curves, y)
    stop = float(y.present().time.max())
    stop = stop if tau is None else min(stop, positive(tau, "tau"))
    if not stop > 0:
        raise UndefinedMetricError(
            "no subject was observed after time 0, so there is nothing to compare"
        )
    grid = stop * (np.arange(_STEPS) + 0.5) / _STEPS
    weight = y.weight / float(y.weight.sum())
    found = turnbull_of(y, observed)
    if clusters is not None and not isinstance(clusters, Clusters):
        raise InputError(f"clusters must be Clusters; got {type(clusters).__name__}")
    moves = -found.contributions(grid).T
    mean, curve = np.zeros(grid.size), found.at(grid)
    for rows in predicted.blocks(grid.size):
        s = predicted.at_block(rows, grid)
        s[y.weight[rows] == 0] = 0.0
        mean += weight[rows] @ s
        moves[rows] += weight[rows, None] * s
    refuse_unknown(mean, "the time up to the end of the follow-up")
    moves -= weight[:, None] * mean
    gap = mean - curve
    value = float(np.mean(gap**2))
    described, support = interval_description(y, predicted)
    described["tau"] = stop
    distribution = _distribution(y, value, gap, moves, clusters)
    if distribution is not None:
        support["expected_if_calibrated"] = distribution.expected_if_calibrated
    frequency, influence = y.frequency, 2.0 * moves @ gap / gap.size
    return TurnbullCalibration(
        value, described, support, influence, frequency,
        known=distribution, times=grid, predicted=mean,
        observed=curve,
    )  # fmt: skip


def _distribution(
    y: IntervalOutcomes, value: float, gap: Floats, moves: Floats, clusters: Clusters | None
) -> SquaredGap | None:
    """Distribution of the mean squared gap, from what each subject or cluster adds to the gap."""
    if clusters is not None:
        if clusters.number < 2:
            return None
        sums = np.zeros((int(clusters.codes.max()) + 1, gap.size))
        np.add.at(sums, clusters.codes, moves)
        factor, freedom = clusters.number / (clusters.number - 1), clusters.freedom
    else:
        n = float(y.weight.sum())
        if not n > 1:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.where(y.weight[:, None] > 0, moves / np.sqrt(y.weight)[:, None], 0.0)
        factor, freedom = n / (n - 1), float("inf")
    return SquaredGap.of(value, gap, factor * (sums.T @ sums), freedom, exact=True)
