"""Pseudo-observations of Kaplan-Meier at one time, and how they move with the subjects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from .kaplan_meier import RiskTable
from .survival_at import survival_at


@dataclass(frozen=True)
class PseudoSurvival:
    r"""Pseudo-observations S + n dS/dw_i of the status event-free at a time.

    Attributes
    ----------
    survival : float
        Kaplan-Meier at the time.
    values : ndarray of shape (n,)
        Pseudo-observations; their mean is `survival`.

    Examples
    --------
    >>> found = PseudoSurvival.of(Outcomes([1, 2, 3], [1, 0, 1]), 2.5)
    >>> found.values.round(3)
    array([0., 1., 1.])
    """

    survival: float
    values: Floats
    weight: Floats
    #: Events and those left after them at the event times up to the time, and at risk before.
    _events: Floats
    _left: Floats
    _at_risk: Floats
    #: How many of these times a subject lived to see, and whether it has the event at the last.
    _lived: Ints
    _died: Ints

    @classmethod
    def of(cls, y: Outcomes, time: float) -> PseudoSurvival:
        """Return those of subjects who are all present."""
        found = survival_at(y, time)
        total = float(y.weight.sum())
        table = RiskTable.of(y)
        known = (table.times <= time) & (table.events > 0)
        times, events, at_risk = table.times[known], table.events[known], table.at_risk[known]
        return cls(
            found.value,
            found.value + total * found.psi / y.weight,
            y.weight,
            events,
            at_risk - events,
            at_risk,
            times.searchsorted(y.time, "right"),
            np.flatnonzero(y.event & (y.time <= time)),
        )

    def pulled(self, h: Floats) -> Floats:
        r"""What each subject's presence changes in the sum of w h pseudo-observations of others.

        That is :math:`w_j \sum_i w_i h_i \partial \theta_i / \partial w_j`. With
        :math:`\theta_i = S (1 + N a_i)` and a_i the derivative of log S, it takes the derivatives
        of a_i, which are sums over event times as a_i is.

        >>> found = PseudoSurvival.of(Outcomes([1, 2, 3], [1, 0, 1]), 2.5)
        >>> bool(abs(found.pulled(np.ones(3))).max() < 1e-12)  # their sum is that of the own parts
        True
        """
        w, s, total = self.weight, self.survival, float(self.weight.sum())
        a = (self.values / s - 1.0) / total
        size = self._events.size
        entered = np.bincount(self._lived, w * h, size + 1)
        at_risk = np.cumsum(entered[::-1])[::-1][1:]  # sums of w h over those at risk
        place = self._lived[self._died] - 1
        died = np.bincount(place, (w * h)[self._died], size)
        both = self._at_risk * self._left
        each = -at_risk * self._events * (self._left + self._at_risk) / both**2
        each += died / self._left**2
        moved = np.concatenate(([0.0], np.cumsum(each)))[self._lived]
        moved[self._died] += ((at_risk - died) / self._left**2)[place]
        summed = float(np.sum(w * h * (1.0 + total * a)))
        return w * s * (a * summed + float(np.sum(w * h * a)) + total * moved)
