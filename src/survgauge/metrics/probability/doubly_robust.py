"""Doubly robust scores of predicted probabilities: Brier, integrated Brier, CRPS, net benefit.

The squared error of a predicted probability s is linear in the status: (1 - s)^2 less
1(T <= t) (1 - 2 s). So the doubly robust score puts the doubly robust indicator of the event in the
place of 1(T <= t); see `survgauge.metrics.robust_status`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.curves import SurvivalCurves
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..grids import equal_steps
from ..robust_status import happened_at, happened_by, status_convention, status_support
from ..score import Score, Terms
from ..task import Task, supported_end, supported_time
from ._status import make_status
from .status_scores import score_curve

#: Risks below a threshold by no more than this are equal to it: 1 - 0.8 is below 0.2 by rounding.
ROUNDING = 1e-12


class Treated:
    """What a subject that is treated gains: 1 with the event, minus the odds while event-free."""

    def __init__(self, threshold: float, everybody: bool = False) -> None:
        self.threshold, self.odds = threshold, threshold / (1 - threshold)
        self._everybody = everybody

    def treats(self, survival: Floats) -> Bools:
        """Whose risk is at least the threshold."""
        found: Bools = 1.0 - survival >= self.threshold - ROUNDING
        return found | self._everybody

    def __call__(
        self, survival: Floats, alive: Bools, weight: Floats, out: Floats | None = None
    ) -> Floats:
        """Return W l."""
        gain = np.where(alive, -self.odds, 1.0) * self.treats(survival)
        gain *= weight
        return gain


def treatment_score(
    y_true: Any, curves: Any, time: float, threshold: float, **options: Any
) -> Score:
    """Net benefit at a time of treating who has at least the threshold as risk, by 1/G.

    A mean over subjects: a treated subject with the event by `time` gains 1/G(T-), one that is
    event-free past it loses the odds of the threshold over G(t). The support has the share of those
    treated and the net benefit of treating everybody. `options` are those of `brier_score`.

    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = treatment_score(([2, 5, 8], [1, 1, 1]), curves, 4.0, 0.2)
    >>> round(found.value, 4), round(found.support["treat_all"], 4)
    (0.25, 0.1667)
    """
    status, checked = make_status(y_true, curves, [time], **options)
    rule = Treated(threshold)
    found = score_curve(status, checked, rule, "net benefit").details
    everybody = score_curve(
        status, checked, Treated(threshold, everybody=True), "net benefit"
    ).details
    weight = status.weight_at(status.times.size - 1)
    total = float(weight.sum())
    treated = rule.treats(checked.at(float(status.times[-1])))
    if found.counted is not None:
        found.counted.shares |= {
            "treated": (float(weight @ treated), total),
            "treat_all": (everybody.value * total, total),
        }
    convention = {k: v for k, v in found.convention.items() if k != "loss"}
    convention |= {"threshold": threshold, "treated": "risk at least the threshold"}
    support = {} if found.counted is None else found.counted.result()
    return replace(found, convention=convention, support=support)


def brier_terms(task: Task, prediction: Prediction) -> Terms:
    """Return the doubly robust Brier score of each subject at the time of interest."""
    time = supported_time(task)
    return _squared(task, prediction, np.array([time]), np.ones(1), {"time": time})


def integrated_terms(task: Task, prediction: Prediction, *, mean: bool) -> Terms:
    """Return the doubly robust score of each subject, integrated from 0 to the horizon.

    By trapezoids over equal steps; with `mean` divided by the horizon.
    """
    end = supported_end(task)
    times = equal_steps(end)
    share = np.full(times.size, times[1] - times[0])
    share[[0, -1]] /= 2
    rules = {"grid": f"{times.size - 1} equal steps from 0", "horizon": end}
    return _squared(task, prediction, times, share / end if mean else share, rules)


def skill_details(task: Task, prediction: Prediction) -> Score:
    """Return the share of the baseline's Brier score that a model saves."""
    own = brier_terms(task, prediction).mean(task.y.frequency)
    base = brier_terms(task, task.with_g().baseline()).mean(task.y.frequency)
    if not base.value > 0 or own.contributions is None or base.contributions is None:
        raise UndefinedMetricError(
            "Kaplan-Meier makes no error at the time, so the share is undefined"
        )
    ratio = own.value / base.value
    contributions = -(own.contributions - ratio * base.contributions) / base.value
    return Score(1.0 - ratio, own.convention, own.support, contributions, task.y.frequency)


def treatment_terms(task: Task, prediction: Prediction, threshold: float) -> Terms:
    """Return what treating each subject from a threshold of its risk on gains, doubly robust."""
    time = supported_time(task)
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
