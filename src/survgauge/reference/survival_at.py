"""Kaplan-Meier at one time, and the area under it up to one, with their spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats
from .._tools.places import look_up
from ..data.outcomes import Outcomes
from .kaplan_meier import RiskTable


@dataclass(frozen=True)
class SurvivalAt:
    """Kaplan-Meier at one time."""

    #: S(t); past the last observed time its last value.
    value: float
    #: First-order contribution of each subject: S without subject i is about value - psi_i. They
    #: add up to 0. All are 0 where S has reached 0; of shape (n,).
    psi: Floats
    #: Whether nobody was observed up to the time although S is above 0.
    open_ended: bool


def survival_at(y: Outcomes, time: float) -> SurvivalAt:
    r"""Kaplan-Meier at a time, with the contributions of the subjects.

    With d_k events and Y_k at risk at event time u_k, log S = sum log(1 - d_k/Y_k), and its
    derivative by the weight of subject i is

    .. math:: \sum_{u_k \le \min(t_i, t)} \frac{d_k}{Y_k (Y_k - d_k)}
              - \frac{1(i \text{ has the event at } t_i \le t)}{Y(t_i) - d(t_i)}.

    Examples
    --------
    >>> found = survival_at(Outcomes([1, 2, 3], [1, 0, 1]), 2.5)
    >>> round(found.value, 3), found.psi.round(3)
    (0.667, array([-0.222,  0.111,  0.111]))
    """
    table = RiskTable.of(y)
    known = table.times <= time
    times, events, at_risk = table.times[known], table.events[known], table.at_risk[known]
    value = float(np.prod(1.0 - events / at_risk))
    open_ended = bool(table.times[-1] < time and value > 0)
    if value == 0:
        return SurvivalAt(0.0, np.zeros(len(y)), False)
    left = at_risk - events
    risen = np.concatenate(([0.0], np.cumsum(events / (at_risk * left))))
    lived = look_up(times, y.time)
    slope = risen[lived]
    died = y.event & (y.time <= time) & (y.weight > 0)
    slope[died] -= 1.0 / left[lived[died] - 1]
    return SurvivalAt(value, value * y.weight * slope, open_ended)


def restricted_mean(y: Outcomes, tau: float) -> tuple[float, float]:
    """Area under Kaplan-Meier up to `tau`, and its standard error (Greenwood).

    Past the last observed time Kaplan-Meier keeps its last value.

    >>> mean, stderr = restricted_mean(Outcomes([1, 2, 3], [1, 0, 1]), 2.5)
    >>> round(mean, 3), round(stderr, 3)
    (2.0, 0.408)
    """
    table = RiskTable.of(y)
    known = (table.times < tau) & (table.events > 0)
    times, events, at_risk = table.times[known], table.events[known], table.at_risk[known]
    survival = np.concatenate(([1.0], np.cumprod(1.0 - events / at_risk)))
    area = survival * np.diff(np.concatenate(([0.0], times, [tau])))
    later = np.cumsum(area[::-1])[::-1][1:]  # area from each event time on
    left = at_risk - events
    spread = np.divide(events * later**2, at_risk * left, out=np.zeros_like(later), where=left > 0)
    return float(area.sum()), float(np.sqrt(spread.sum()))
