"""Remark on curves at so few times that what lies between them decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from .warnings import EvaluationWarning

#: Curves at fewer times than this within the follow-up are coarse,
FEW_TIMES = 10
#: unless events are rare too: there must be this many event times for every time of the curve.
EVENTS_PER_TIME = 2
_BETWEEN = {
    "linear": "straight lines",
    "step": "steps",
    "pchip": "smooth curves",
}


def check_grids(problem: Problem, predictions: Mapping[str, Prediction]) -> list[Any]:
    """Remark on models whose curves have few times."""
    present = problem.y.weight > 0
    grids = {
        name: (p.curves.times if p.curves.times.ndim == 1 else p.curves.times[present],
               p.curves.interpolation)
        for name, p in predictions.items()
        if p.curves is not None
    }  # fmt: skip
    return coarse_grids(problem, grids)


def coarse_grids(problem: Problem, grids: Mapping[str, tuple[Any, str]]) -> list[EvaluationWarning]:
    """Remark on grids by model, (times) or (subjects, times), with how they are interpolated.

    A step curve of a small reference set has a time for each event and is not coarse.
    """
    known = (problem.y if problem.reference is None else problem.reference.y).present()
    end = float(known.time.max() if problem.tau is None else min(problem.tau, known.time.max()))
    counts = {name: _times_until(np.asarray(times), end) for name, (times, _) in grids.items()}
    if not any(count < FEW_TIMES for count in counts.values()):
        return []
    seen = known.event & (known.time <= end)
    events = np.unique(known.time[seen]).size
    found = []
    for name, count in counts.items():
        if count < FEW_TIMES and events > EVENTS_PER_TIME * count:
            message = (
                f"the curves have {count} predicted time{'s' * (count != 1)} up to {end:g} (the "
                f"reference set has {events} event times), and medians, means, integrated scores, "
                f"CRPS and D-calibration depend on the {_BETWEEN[grids[name][1]]} that "
                "are assumed between them"
            )
            found.append(EvaluationWarning("coarse-grid", message, name))
    return found


def _times_until(times: Floats, end: float) -> int:
    """How many times after zero a curve has up to `end`; the median over grids of their own."""
    inside = (times > 0) & (times <= end)
    return int(inside.sum()) if times.ndim == 1 else int(np.median(inside.sum(axis=1)))
