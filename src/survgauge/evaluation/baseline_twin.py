"""Models that predict what the baseline predicts: the user's Kaplan-Meier beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..data.curves import SurvivalCurves
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from ..reference.reference import Reference

#: Probabilities closer than this are the same.
NEAR = 0.005
#: At how many times curves are compared, and how many subjects are looked at before all are.
_TIMES, _FEW = 50, 50


def same_as_baseline(problem: Problem, predictions: Mapping[str, Prediction]) -> list[str]:
    """Return the models that give everybody the curve of the baseline, up to the horizon.

    The baseline is Kaplan-Meier of the reference set, of a cause Aalen-Johansen. Curves are
    compared at the times of the model's own grid, where it does not matter how often it was read
    off and what is assumed in between.
    """
    if problem.outcomes != "right" or not problem.horizon > 0:
        return []
    known = problem.reference
    if known is None:
        known = Reference(problem.y, in_sample=True, causes=problem.cause is not None)
    baseline = replace(problem, reference=known).subset(slice(0, 1)).baseline().curves
    if baseline is None:
        return []
    return [
        name
        for name, prediction in predictions.items()
        if prediction.curves is not None and _same(prediction.curves, baseline, problem.until)
    ]


def _same(curves: SurvivalCurves, baseline: SurvivalCurves, end: float) -> bool:
    """Whether all curves go through the values of the baseline up to `end`."""
    grid = np.unique(curves.times if curves.shared_grid else curves.times[0])
    grid = grid[grid <= min(end, float(np.min(curves.last_time)))]
    if not grid.size:
        return False
    times = grid[np.unique(np.linspace(0, grid.size - 1, _TIMES).round().astype(int))]
    values = baseline.at(times)[0]
    if values.min() > 1 - NEAR:  # where every curve begins, nothing tells them apart
        return False
    few = np.unique(np.linspace(0, len(curves) - 1, _FEW).round().astype(int))
    return all(
        bool(np.all(np.abs(curves[rows].at(times) - values) <= NEAR)) for rows in (few, slice(None))
    )
