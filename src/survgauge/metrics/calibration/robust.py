"""Calibration at a time by doubly robust indicators, where covariates are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..._tools.arrays import Floats
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..problem import Problem
from ..robust_status import happened_at, status_convention, status_support
from .observed_expected import ObservedExpected, with_interval

#: Groups of risk of the 1-calibration, and the least number of subjects in each.
GROUPS, FEWEST = 10, 5


@dataclass(frozen=True)
class RobustStatus:
    """Doubly robust pseudo-observations of the status free of the event at a time."""

    #: Their mean, and each of them; how often each subject counts.
    survival: float
    values: Floats
    weight: Floats

    @classmethod
    def asked(cls, problem: Problem, time: float, rows: Any) -> RobustStatus:
        """Return those of some of the subjects of a question."""
        values, weight = 1.0 - happened_at(problem, time)[rows], problem.y.weight[rows]
        return cls(float(np.average(values, weights=weight)), values, weight)

    def pulled(self, h: Floats) -> Floats:
        """What each subject's presence changes in those of others: nothing."""
        return np.zeros(self.weight.size)


def robust_observed_expected(
    problem: Problem, prediction: Prediction, time: float
) -> ObservedExpected:
    """Return observed over expected events by a time; observed is the mean of the indicators."""
    happened, weight = happened_at(problem, time), problem.y.weight
    risk = np.where(weight > 0, _risk(prediction, time), 0.0)
    total = float(weight.sum())
    observed, expected = float(weight @ happened) / total, float(weight @ risk) / total
    if expected == 0:
        raise UndefinedMetricError(
            f"no event is expected by time {time:g}: every predicted risk is 0, so observed over "
            "expected has no value"
        )
    ratio = observed / expected
    psi = weight * (happened - observed - ratio * (risk - expected)) / (total * expected)
    support = status_support(problem, time).result()
    support |= {"observed_risk": observed, "expected_risk": expected, "open_ended": False}
    frequency = weight if problem.y.weighted else None
    plain = Details(ratio, _described(problem, time), support, psi, frequency)
    return with_interval(plain, observed, expected, time, 0.95)


def robust_one_calibration(problem: Problem, prediction: Prediction, time: float) -> Details:
    r"""Test whether predicted and observed risks agree at a time, in groups of risk.

    With the mean difference d of indicator and prediction in each of K groups and its standard
    error s, :math:`\sum (d / s)^2 (n_k - 3)/(n_k - 1)` is compared with the chi-squared
    distribution with K degrees of freedom.
    """
    happened, weight = happened_at(problem, time), problem.y.weight
    risk = _risk(prediction, time)
    present = np.flatnonzero(weight > 0)
    number = min(GROUPS, present.size // FEWEST)
    if number < 1:
        raise UndefinedMetricError(f"1-calibration needs at least {FEWEST} subjects")
    order = present[np.argsort(risk[present], kind="stable")]
    statistic, groups = 0.0, 0
    for rows in np.array_split(order, number):
        size, gap = float(weight[rows].sum()), happened[rows] - risk[rows]
        mean = float(np.average(gap, weights=weight[rows]))
        spread = float(weight[rows] @ np.square(gap - mean)) / max(size - 1.0, 1.0)
        if spread > 0 and size > 3:
            statistic += mean**2 * size / spread * (size - 3.0) / (size - 1.0)
            groups += 1
    if not groups:
        raise UndefinedMetricError("the indicators do not vary, so there is nothing to test")
    convention = _described(problem, time) | {"groups": groups, "degrees_of_freedom": groups}
    support = status_support(problem, time).result() | {"statistic": statistic}
    return Details(float(chi2.sf(statistic, groups)), convention, support)


def _risk(prediction: Prediction, time: float) -> Floats:
    if prediction.curves is None:
        raise TypeError("calibration needs curves")
    return 1.0 - prediction.curves.at(np.array([time]))[:, 0]


def _described(problem: Problem, time: float) -> dict[str, Any]:
    return {"time": time, **status_convention(problem, time)}
