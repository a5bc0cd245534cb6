"""Doubly robust scores of predicted probabilities: Brier, integrated Brier, CRPS.

The squared error of a predicted probability s is linear in the status: s^2 + 1(T > t) (1 - 2 s).
So the doubly robust score puts the doubly robust indicator of being event-free in the place of
1(T > t); see `survgauge.reference.doubly_robust`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.predictions import Prediction
from ...reference.surrogates import METHODS, Setting, make_setting
from ..grids import equal_steps
from ..problem import Problem
from ..support import Support
from ..terms import Terms


def brier_terms(problem: Problem, prediction: Prediction, time: float) -> Terms:
    """Return the doubly robust Brier score of each subject at a time."""
    return _terms(problem, prediction, np.array([time]), np.ones(1), {"time": time})


def integrated_terms(problem: Problem, prediction: Prediction, end: float, mean: bool) -> Terms:
    """Return the doubly robust score of each subject, integrated from 0 to `end`.

    By trapezoids over equal steps; with `mean` divided by `end`.
    """
    times = equal_steps(end)
    share = np.full(times.size, times[1] - times[0])
    share[[0, -1]] /= 2
    rules = {"grid": f"{times.size - 1} equal steps from 0", "horizon": end}
    return _terms(problem, prediction, times, share / end if mean else share, rules)


def _terms(
    problem: Problem, prediction: Prediction, times: Floats, share: Floats, rules: dict[str, Any]
) -> Terms:
    """Return sums over times of the doubly robust squared errors, times a share each."""
    setting, curves = _setting(problem), _curves(prediction)
    loss = np.empty(len(problem.y))
    for rows, event_free in setting.robust.event_free(times):
        predicted = curves[rows].at(times)
        loss[rows] = (np.square(predicted) + event_free * (1 - 2 * predicted)) @ share
    convention = {"loss": "squared", **rules, **setting.law_convention(METHODS["dr"])}
    weight = setting.robust.weight[problem.y.event & (problem.mass > 0)]
    support = Support(
        counts={"subjects": problem.y.count, "events": problem.y.event_count},
        largest={"largest_weight": float(weight.max(initial=0.0))},
        effective={"effective_events": (float(weight.sum()), float(np.square(weight).sum()))},
    )
    with np.errstate(invalid="ignore"):
        a = np.where(problem.mass > 0, problem.mass * loss, 0.0)
    return Terms(a, problem.mass, convention, support)


def _curves(prediction: Prediction) -> SurvivalCurves:
    """Return the curves, which the registry has asked for."""
    if prediction.curves is None:
        raise TypeError("a score of probabilities needs curves")
    return prediction.curves


def _setting(problem: Problem) -> Setting:
    """Return what the doubly robust losses look at: as the time errors, but without a horizon."""
    if problem.tau is None:
        return problem.setting
    options = {k: v for k, v in problem.options.items() if k != "normalize"}
    build = partial(
        make_setting, problem.y, problem.reference, censoring=problem.censoring,
        sample_weight=problem.sample_weight, conditional=problem.conditional, **options,
    )  # fmt: skip
    setting: Setting = problem.cached("setting without horizon", build)
    return setting
