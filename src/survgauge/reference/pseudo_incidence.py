"""Pseudo-observations of Aalen-Johansen at one time, and how they move with the subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from ..data.outcomes import Outcomes

#: Part of i by which weights are moved: nothing is subtracted, so it may be as small as it likes.
_STEP = 1e-30
#: Kaplan-Meier of any event below this is 0, after which no incidence is to come.
_NOBODY = 1e-12


@dataclass(frozen=True)
class PseudoIncidence:
    r"""Pseudo-observations 1 - (F + n dF/dw_i) of the status free of a cause at a time.

    They are read like `PseudoSurvival`, whose place they take where other events compete.

    Attributes
    ----------
    survival : float
        1 - F, with F Aalen-Johansen of the cause at the time.
    values : ndarray of shape (n,)
        Pseudo-observations; their mean is `survival`.

    Examples
    --------
    >>> y, competes = Outcomes([1, 2, 3, 4], [1, 1, 0, 1]), np.array([False, True, False, False])
    >>> found = PseudoIncidence.of(y, competes, 2.5)
    >>> found.survival, found.values
    (0.75, array([0., 1., 1., 1.]))
    """

    survival: float
    values: Floats
    weight: Floats
    #: What one more of each subject adds to the incidence.
    _slopes: Floats
    _status: _Status

    @classmethod
    def of(cls, y: Outcomes, competes: Bools, time: float) -> PseudoIncidence:
        """Return those of subjects who are all present."""
        status = _Status.of(y, competes, time)
        incidence, slopes = status.incidence(y.weight)
        survival = 1.0 - float(incidence)
        values = survival - float(y.weight.sum()) * slopes
        return cls(survival, values, y.weight, slopes, status)

    def pulled(self, h: Floats) -> Floats:
        r"""What each subject's presence changes in the sum of w h pseudo-observations of others.

        That is :math:`w_j \sum_i w_i h_i \partial \theta_i / \partial w_j`, with second derivatives
        of the incidence. Their sum over i is the derivative of dF/dw_j along w h, which is the
        imaginary part of dF/dw_j at the weights w + i w h epsilon.
        """
        w, along = self.weight, self.weight * h
        moved = self._status.incidence(w + 1j * _STEP * along)[1].imag / _STEP
        first = float(along.sum()) * self._slopes + float(along @ self._slopes)
        return -w * (first + float(w.sum()) * moved)


@dataclass(frozen=True)
class _Status:
    """Who was at risk at which event time up to a time, and had which event there."""

    #: How many event times a subject lived to see; rows with an event, and those of the cause.
    lived: Ints
    had: Ints
    own: Ints
    size: int

    @classmethod
    def of(cls, y: Outcomes, competes: Bools, time: float) -> _Status:
        had = y.event & (y.time <= time)
        times = np.unique(y.time[had])
        lived = times.searchsorted(y.time, "right")
        return cls(lived, np.flatnonzero(had), np.flatnonzero(had & ~competes), times.size)

    def incidence(self, weight: Any) -> tuple[Any, Any]:
        """Aalen-Johansen at the time, and its derivative by each weight; weights may be complex."""
        if not self.size:
            return 0.0, np.zeros(self.lived.size, dtype=weight.dtype)
        at_risk = np.cumsum(_counted(self.lived, weight, self.size + 1)[::-1])[::-1][1:]
        place, own = self.lived[self.had] - 1, self.lived[self.own] - 1
        share = _counted(place, weight[self.had], self.size) / at_risk
        hazard = _counted(own, weight[self.own], self.size) / at_risk
        after = np.cumprod(1.0 - share)
        before = np.concatenate(([1.0], after[:-1]))
        incidence = np.cumsum(before * hazard)
        ratio = np.zeros_like(after)
        np.divide(before, after, out=ratio, where=np.abs(after) > _NOBODY)
        # An event of the cause adds what is left; every event takes from what would have come.
        adds, takes = before / at_risk, (incidence[-1] - incidence) * ratio / at_risk
        expected = np.concatenate(([0.0], np.cumsum(adds * hazard - takes * share)))
        slopes = -expected[self.lived]
        slopes[self.had] -= takes[place]
        slopes[self.own] += adds[own]
        return incidence[-1], slopes


def _counted(place: Ints, weight: Any, size: int) -> Any:
    found = np.bincount(place, weight.real, size)
    return found + 1j * np.bincount(place, weight.imag, size) if np.iscomplexobj(weight) else found
