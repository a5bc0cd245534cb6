"""Times at which figures over time read curves and count subjects."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats, positive
from ..data.outcomes import Outcomes
from .description import Axis, round_ticks

#: Points of a grid of times with ticks, and the most of these.
_POINTS, _MOST_TICKS = 151, 6


def time_grid(y: Outcomes, points: int = 101) -> Floats:
    """Return equal steps, and the steps of Kaplan-Meier where they are few."""
    known = y.present()
    falls = np.unique(known.time[known.event])
    even = np.linspace(0.0, float(known.time.max()) or 1.0, points)
    return np.union1d(even, falls) if falls.size < 2 * points else even


def grid_until(y: Outcomes, end: float | None) -> tuple[Floats, Floats]:
    """Return times up to `end`, by default the last observed one, and round ones to count at."""
    last = float(y.present().time.max()) or 1.0
    end = last if end is None else min(positive(end, "end"), last)
    grid = time_grid(y, _POINTS)
    ticks = np.array([value for value, _ in round_ticks(end, _MOST_TICKS)])
    return np.union1d(grid[grid <= end], (end,)), ticks


def counted_axis(unit: str, end: float) -> Axis:
    """Return an axis of time with the ticks at which subjects are counted."""
    return Axis("Time", unit, 0, end, round_ticks(end, _MOST_TICKS))
