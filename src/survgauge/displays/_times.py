"""Times at which figures over time read curves and count subjects."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats, positive
from ..data.outcomes import Outcomes
from ..reference.aalen_johansen import AalenJohansen
from ..reference.kaplan_meier import RiskTable
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


def at_risk(table: RiskTable | AalenJohansen, times: Floats) -> Floats:
    """Return the number of subjects observed at `times` or later."""
    remaining = np.append(table.at_risk, 0.0)
    return remaining[table.times.searchsorted(times, "left")]


def so_far(known: Floats, counts: Floats, times: Floats) -> Floats:
    """Return the sum up to `times` of what was counted at the times `known`.

    >>> so_far(np.array([1.0, 3.0]), np.array([2.0, 1.0]), np.array([0.0, 2.0, 3.0]))
    array([0., 2., 3.])
    """
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    return sums[known.searchsorted(times, "right")]


def counted_axis(unit: str, end: float) -> Axis:
    """Return an axis of time with the ticks at which subjects are counted."""
    return Axis("Time", unit, 0, end, round_ticks(end, _MOST_TICKS))
