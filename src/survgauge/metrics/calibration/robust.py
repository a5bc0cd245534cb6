"""Calibration at a time by doubly robust indicators, where covariates are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..problem import Problem
from ..robust_status import happened_at, status_convention, status_support
from .observed_expected import ObservedExpected, with_interval


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


def _risk(prediction: Prediction, time: float) -> Floats:
    if prediction.curves is None:
        raise TypeError("calibration needs curves")
    return 1.0 - prediction.curves.at(np.array([time]))[:, 0]


def _described(problem: Problem, time: float) -> dict[str, Any]:
    return {"time": time, **status_convention(problem, time)}
