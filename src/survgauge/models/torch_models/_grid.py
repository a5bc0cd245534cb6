"""A grid for curves in continuous time: dense where subjects were seen, then sparse and far."""

from __future__ import annotations

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes

POINTS, BEYOND = 200, 30
#: The grid goes on to this many times the last observed time.
REACH = 10.0


def time_grid(y: Outcomes, reach: float = REACH) -> Floats:
    """Zero, quantiles of the observed times, equal steps, and growing steps up to the reach.

    Quantiles resolve the times where many subjects are, equal steps the sparse end.

    >>> grid = time_grid(Outcomes([1, 2, 4], [1, 1, 0]))
    >>> float(grid[0]), float(grid[-1]), bool((np.diff(grid) > 0).all())
    (0.0, 40.0, True)
    """
    last = float(y.time.max()) or 1.0
    quantiles = np.quantile(y.time, np.linspace(0.0, 1.0, POINTS // 2))
    equal = np.linspace(0.0, last, POINTS // 2)
    beyond = np.geomspace(last, reach * last, BEYOND + 1)
    grid = np.unique(np.concatenate([quantiles, equal, beyond]))
    # Times that differ by rounding only would make needles of steps.
    far = np.concatenate([[True], np.diff(grid) > 1e-9 * last])
    return grid[far]
