"""Doubly robust scores of predicted probabilities: Brier, integrated Brier, CRPS, net benefit.

The squared error of a predicted probability s is linear in the status: (1 - s)^2 less
1(T <= t) (1 - 2 s). So the doubly robust score puts the doubly robust indicator of the event in the
place of 1(T <= t); see `survgauge.metrics.robust_status`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..grids import equal_steps
from ..problem import Problem
from ..robust_status import happened_at, happened_by, status_convention, status_support
from ..terms import Terms
from .treatment import Treated


def brier_terms(problem: Problem, prediction: Prediction, time: float) -> Terms:
    """Return the doubly robust Brier score of each subject at a time."""
    return _squared(problem, prediction, np.array([time]), np.ones(1), {"time": time})


def integrated_terms(problem: Problem, prediction: Prediction, end: float, mean: bool) -> Terms:
    """Return the doubly robust score of each subject, integrated from 0 to `end`.

    By trapezoids over equal steps; with `mean` divided by `end`.
    """
    times = equal_steps(end)
    share = np.full(times.size, times[1] - times[0])
    share[[0, -1]] /= 2
    rules = {"grid": f"{times.size - 1} equal steps from 0", "horizon": end}
    return _squared(problem, prediction, times, share / end if mean else share, rules)


def skill_details(
    problem: Problem, prediction: Prediction, baseline: Prediction, time: float
) -> Details:
    """Return the share of the baseline's Brier score that a model saves, at a time."""
    frequency = problem.y.weight if problem.y.weighted else None
    own = brier_terms(problem, prediction, time).mean(frequency)
    base = brier_terms(problem, baseline, time).mean(frequency)
    if not base.value > 0 or own.psi is None or base.psi is None:
        raise UndefinedMetricError("Kaplan-Meier makes no error at the time, so there is no share")
    ratio = own.value / base.value
    psi = -(own.psi - ratio * base.psi) / base.value
    return Details(1.0 - ratio, own.convention, own.support, psi, frequency)


def treatment_terms(
    problem: Problem, prediction: Prediction, time: float, threshold: float
) -> Terms:
    """Return what treating each subject from a threshold of its risk on gains, doubly robust."""
    rule, happened = Treated(threshold), happened_at(problem, time)
    treated = rule.treats(_curves(prediction).at(np.array([time]))[:, 0])
    gain = happened - rule.odds * (1.0 - happened)
    convention = {"threshold": threshold, "treated": "risk at least the threshold", "time": time}
    convention |= status_convention(problem, time)
    support, total = status_support(problem, time), float(problem.mass.sum())
    support.shares |= {
        "treated": (float(problem.mass @ treated), total),
        "treat_all": (float(problem.mass @ gain), total),
    }
    return Terms(problem.mass * treated * gain, problem.mass, convention, support)


def _squared(
    problem: Problem, prediction: Prediction, times: Floats, share: Floats, rules: dict[str, Any]
) -> Terms:
    """Return sums over times of the doubly robust squared errors, times a share each."""
    curves, last = _curves(prediction), float(times[-1])
    loss = np.empty(len(problem.y))
    for rows, happened in happened_by(problem, times):
        predicted = curves[rows].at(times)
        loss[rows] = (np.square(1.0 - predicted) - happened * (1.0 - 2.0 * predicted)) @ share
    convention = {"loss": "squared", **rules, **status_convention(problem, last)}
    with np.errstate(invalid="ignore"):
        a = np.where(problem.mass > 0, problem.mass * loss, 0.0)
    return Terms(a, problem.mass, convention, status_support(problem, last))


def _curves(prediction: Prediction) -> SurvivalCurves:
    """Return the curves, which the registry has asked for."""
    if prediction.curves is None:
        raise TypeError("a score of probabilities needs curves")
    return prediction.curves
