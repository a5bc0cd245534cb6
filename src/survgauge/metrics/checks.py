"""Doors that the metrics on curves share: curves, and a grid of times."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats, numbers, to_numpy
from ..data.adapters import are_curves, as_curves
from ..data.conditional_curves import ConditionalCurves, given_entry
from ..data.curves import SurvivalCurves
from ..data.incidence import CauseCurves
from ..data.intervals import IntervalOutcomes
from ..data.outcomes import Outcomes
from ..errors import InputError


def check_curves(
    curves: Any, y: Outcomes | IntervalOutcomes, *, from_entry: bool = True
) -> SurvivalCurves:
    """Read one curve per subject from whatever `as_curves` takes.

    Under delayed entry that given being event-free then, unless `from_entry` is False.
    """
    checked = as_curves(curves)
    if len(checked) != len(y):
        raise InputError(
            f"curves must have one row per subject: y_true has {len(y)}, curves have {len(checked)}"
        )
    known = absent_replaced(checked, y)
    return given_entry_of(known, y) if from_entry else known


def given_entry_of(curves: SurvivalCurves, y: Outcomes | IntervalOutcomes) -> SurvivalCurves:
    """Return curves given that each subject was event-free at its entry, where that is late."""
    if y.entry is None or isinstance(curves, ConditionalCurves):
        return curves
    entry = np.where(y.weight > 0, y.entry, 0.0) if isinstance(curves, CauseCurves) else y.entry
    return given_entry(curves, entry)


def absent_replaced(curves: SurvivalCurves, y: Outcomes | IntervalOutcomes) -> SurvivalCurves:
    """Give subjects of weight zero, who do not count, a curve that is known everywhere.

    Their own might have another grid, or end before something is read off it; theirs becomes the
    first present subject's, which falls to zero in the end.
    """
    if not y.weighted or y.weight.all() or isinstance(curves, ConditionalCurves):
        return curves
    present = y.weight > 0
    like = int(np.argmax(present))
    source = np.where(present, np.arange(len(y)), like)
    if isinstance(curves, CauseCurves) and y.entry is not None:
        return curves[source]  # together with the other causes, of which it ends nowhere
    survival = curves.survival[source]
    survival[~present, -1] = 0.0
    times = curves.times if curves.shared_grid else curves.times[source]
    return SurvivalCurves._trusted(times, survival, curves.interpolation, curves.tail)


def read_curves(predicted: Any) -> Any:
    """Curves, if this is what `as_curves` takes; else what was given: one number per subject."""
    return as_curves(predicted) if are_curves(predicted) else predicted


def check_times(times: Any) -> Floats:
    """Sort a grid of evaluation times; refuse NaN, negative and repeated ones."""
    grid = numbers(np.atleast_1d(to_numpy(times, "times")), "times").astype(np.float64)
    if grid.size == 0:
        raise InputError("times must have at least one time; got an empty array")
    if not np.isfinite(grid).all() or grid.min() < 0:
        raise InputError("times must be finite and not negative")
    grid = np.sort(grid)
    twice = np.flatnonzero(np.diff(grid) == 0)
    if twice.size:
        raise InputError(f"times must be distinct; {grid[twice[0]]:g} appears twice")
    return grid
