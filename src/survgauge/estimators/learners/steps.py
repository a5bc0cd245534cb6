"""Curves from a training set: where they jump, where they end, how hazards become curves."""

from __future__ import annotations

import numpy as np

from ..._tools.arrays import Floats, Ints
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes

#: Curves of networks in continuous time go on to this many times the last observed time.
REACH = 10.0


def step_times(y: Outcomes) -> Floats:
    """Distinct event times and the last observed time, where every step curve ends.

    A curve is known up to the last time even if nobody had the event there; its tail starts there.
    """
    return np.union1d(y.time[y.event], y.time.max())


class BaselineHazard:
    """Breslow's H0 of a training set for any scores, where hazards are exp(score) * H0(t).

    All sums are sums of logarithms, so that scores far apart neither overflow nor vanish.
    """

    def __init__(self, y: Outcomes) -> None:
        self.times, group = np.unique(y.time, return_inverse=True)
        self.group: Ints = group.reshape(-1)
        self.event = y.event
        with np.errstate(divide="ignore"):
            self.log_weight: Floats = np.log(y.weight)
            self._log_events = np.log(np.bincount(self.group, y.weight * y.event))

    def log_hazard(self, score: Floats) -> Floats:
        r"""Log of Breslow's :math:`H_0(t) = \sum_{t_k \le t} d_k / \sum_{t_j \ge t_k} e^{f_j}`."""
        largest = np.full(self.times.size, -np.inf)
        total = score + self.log_weight
        np.maximum.at(largest, self.group, total)
        at_time = largest + np.log(np.bincount(self.group, np.exp(total - largest[self.group])))
        log_sums = np.logaddexp.accumulate(at_time[::-1])[::-1]
        return np.logaddexp.accumulate(self._log_events - log_sums)

    def residual(self, score: Floats) -> Floats:
        r"""Martingale residual :math:`\delta_i - e^{f_i} H_0(t_i)`: minus the slope of the loss."""
        return self.event - np.exp(score + self.log_hazard(score)[self.group])

    def stepped(self, score: Floats, times: Floats) -> Floats:
        """Log of H0 at `times`, which are among those of the training set."""
        return self.log_hazard(score)[self.times.searchsorted(times)]


def hazard_curves(score: Floats, times: Floats, log_hazard: Floats) -> SurvivalCurves:
    """Curves exp(-exp(score) * H0) with steps at `times`."""
    with np.errstate(over="ignore"):
        survival = np.exp(-np.exp(score[:, None] + log_hazard))
    return SurvivalCurves(times, survival, interpolation="step")


def smooth_grid(time: Floats, end: float, size: int) -> Floats:
    """Grid of smooth curves: 0, quantiles of the observed times, then growing steps to `end`.

    >>> smooth_grid(np.array([2.0, 4.0]), 16.0, 4)
    array([ 0. ,  2.5,  3. ,  3.5,  4. ,  8. , 16. ])
    """
    inside = np.quantile(time, np.linspace(0, 1, size + 1)[1:])
    last = float(time.max())
    beyond = np.geomspace(last, max(end, 2 * last), size // 4 + 2)[1:]
    return np.unique(np.concatenate(([0.0], inside, beyond)))


def far_grid(y: Outcomes) -> Floats:
    """Zero, quantiles of the observed times, equal steps, and growing steps up to `REACH`.

    Quantiles resolve the times where many subjects are, equal steps the sparse end.

    >>> grid = far_grid(Outcomes([1, 2, 4], [1, 1, 0]))
    >>> float(grid[0]), float(grid[-1]), bool((np.diff(grid) > 0).all())
    (0.0, 40.0, True)
    """
    last = float(y.time.max()) or 1.0
    quantiles = np.quantile(y.time, np.linspace(0.0, 1.0, 100))
    beyond = np.geomspace(last, REACH * last, 31)
    grid = np.unique(np.concatenate([quantiles, np.linspace(0.0, last, 100), beyond]))
    # Times that differ by rounding only would make needles of steps.
    return grid[np.diff(grid, prepend=-np.inf) > 1e-9 * last]


def above_zero(time: Floats) -> tuple[Floats, str]:
    """Move times of zero, which have no logarithm, to half the next one; say so.

    >>> above_zero(np.array([0.0, 3.0]))
    (array([1.5, 3. ]), '1 time(s) of 0 count as 1.5')
    """
    zero = time == 0
    if not zero.any():
        return time, ""
    moved = float(time[~zero].min()) / 2
    return np.where(zero, moved, time), f"{int(zero.sum())} time(s) of 0 count as {moved:g}"
