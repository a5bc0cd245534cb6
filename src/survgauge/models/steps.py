"""Step curves from a training set: where they jump, where they end, how hazards become curves."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes


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


def hazard_curves(score: Floats, times: Floats, log_hazard: Floats) -> SurvivalCurves:
    """Curves exp(-exp(score) * H0) with steps at `times`."""
    with np.errstate(over="ignore"):
        survival = np.exp(-np.exp(score[:, None] + log_hazard))
    return SurvivalCurves(times, survival, interpolation="step")
