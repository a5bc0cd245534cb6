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
from ..grids import equal_steps
from ..robust_status import happened_at, happened_by, status_convention, status_support
from ..score import Score
from ..task import Task
from ..terms import Terms
from .treatment import Treated


def brier_terms(task: Task, prediction: Prediction, time: float) -> Terms:
    """Return the doubly robust Brier score of each subject at a time."""
    return _squared(task, prediction, np.array([time]), np.ones(1), {"time": time})


def integrated_terms(task: Task, prediction: Prediction, end: float, mean: bool) -> Terms:
    """Return the doubly robust score of each subject, integrated from 0 to `end`.

    By trapezoids over equal steps; with `mean` divided by `end`.
    """
    times = equal_steps(end)
    share = np.full(times.size, times[1] - times[0])
    share[[0, -1]] /= 2
    rules = {"grid": f"{times.size - 1} equal steps from 0", "horizon": end}
    return _squared(task, prediction, times, share / end if mean else share, rules)


def skill_details(task: Task, prediction: Prediction, baseline: Prediction, time: float) -> Score:
    """Return the share of the baseline's Brier score that a model saves, at a time."""
    frequency = task.y.weight if task.y.weighted else None
    own = brier_terms(task, prediction, time).mean(frequency)
    base = brier_terms(task, baseline, time).mean(frequency)
    if not base.value > 0 or own.contributions is None or base.contributions is None:
        raise UndefinedMetricError("Kaplan-Meier makes no error at the time, so there is no share")
    ratio = own.value / base.value
    contributions = -(own.contributions - ratio * base.contributions) / base.value
    return Score(1.0 - ratio, own.convention, own.support, contributions, frequency)


def treatment_terms(task: Task, prediction: Prediction, time: float, threshold: float) -> Terms:
    """Return what treating each subject from a threshold of its risk on gains, doubly robust."""
    rule, happened = Treated(threshold), happened_at(task, time)
    treated = rule.treats(_curves(prediction).at(np.array([time]))[:, 0])
    gain = happened - rule.odds * (1.0 - happened)
    convention = {"threshold": threshold, "treated": "risk at least the threshold", "time": time}
    convention |= status_convention(task, time)
    support, total = status_support(task, time), float(task.weight.sum())
    support.shares |= {
        "treated": (float(task.weight @ treated), total),
        "treat_all": (float(task.weight @ gain), total),
    }
    return Terms(task.weight * treated * gain, task.weight, convention, support)


def _squared(
    task: Task, prediction: Prediction, times: Floats, share: Floats, rules: dict[str, Any]
) -> Terms:
    """Return sums over times of the doubly robust squared errors, times a share each."""
    curves, last = _curves(prediction), float(times[-1])
    loss = np.empty(len(task.y))
    for rows, happened in happened_by(task, times):
        predicted = curves[rows].at(times)
        loss[rows] = (np.square(1.0 - predicted) - happened * (1.0 - 2.0 * predicted)) @ share
    convention = {"loss": "squared", **rules, **status_convention(task, last)}
    with np.errstate(invalid="ignore"):
        a = np.where(task.weight > 0, task.weight * loss, 0.0)
    return Terms(a, task.weight, convention, status_support(task, last))


def _curves(prediction: Prediction) -> SurvivalCurves:
    """Return the curves, which the registry has asked for."""
    if prediction.curves is None:
        raise TypeError("a score of probabilities needs curves")
    return prediction.curves
