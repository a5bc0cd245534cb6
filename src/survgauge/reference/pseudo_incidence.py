"""Pseudo-observations of being free of a cause at one time, and how they move with the subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from ..data.outcomes import Outcomes
from .estimated_g import EstimatedG, Pulls
from .kaplan_meier import KaplanMeier, RiskTable

#: Part of i by which weights are moved: nothing is subtracted, so it may be as small as it likes.
_STEP = 1e-30
#: Kaplan-Meier of any event below this is 0, after which no incidence is to come.
_NOBODY = 1e-12


@dataclass(frozen=True)
class PseudoIncidence:
    r"""Pseudo-observations 1 - (F + n dF/dw_i) of the status free of a cause at a time.

    Attributes
    ----------
    survival : float
        1 - F, with F Aalen-Johansen of the cause at the time; of one kind of event Kaplan-Meier.
    values : ndarray of shape (n,)
        Pseudo-observations; their mean is `survival`.

    Examples
    --------
    >>> y, competes = Outcomes([1, 2, 3, 4], [1, 1, 0, 1]), np.array([False, True, False, False])
    >>> found = PseudoIncidence.of(y, competes, 2.5)
    >>> found.survival, found.values
    (0.75, array([0., 1., 1., 1.]))
    >>> PseudoIncidence.of(Outcomes([1, 2, 3], [1, 0, 1]), None, 2.5).values.round(3)
    array([0., 1., 1.])
    """

    survival: float
    values: Floats
    weight: Floats
    #: What one more of each subject adds to the incidence.
    _slopes: Floats
    _status: _Status

    @classmethod
    def of(cls, y: Outcomes, competes: Bools | None, time: float) -> PseudoIncidence:
        """Return those of subjects who are all present.

        `competes` says who had an event of another cause; None: there is one kind of event.
        """
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
        weight = w.astype(complex)
        weight.imag = _STEP * along
        moved = self._status.incidence(weight)[1].imag / _STEP
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
    def of(cls, y: Outcomes, competes: Bools | None, time: float) -> _Status:
        had = y.event & (y.time <= time)
        own = had if competes is None else had & ~competes
        times = np.unique(y.time[had])
        lived = times.searchsorted(y.time, "right")
        return cls(lived, np.flatnonzero(had), np.flatnonzero(own), times.size)

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


@dataclass(frozen=True)
class PseudoIncidenceGivenEntry:
    r"""Pseudo-observations of the status free of a cause at a time t, given no event at the entry.

    With V(u) the incidence of the cause by t given no event by u, h and h' the hazards of the cause
    and of the others, and G the probability of not being censored yet, that of somebody seen from a
    to y is 1 less

    .. math:: V(a) + \sum_{a < u \le \min(y, t)} \{V(u) h'(u) - (1 - V(u)) h(u)\} \frac{G(a)}{G(u-)}
              + \{(1 - V(y)) 1_k - V(y) 1_o\} \frac{G(a)}{G(y-)}

    over the event times u; the last part is of an event at y by t, of the cause or of another.
    Given entry and features it has the right mean, whatever h and h' are. Of one kind of event 1 -
    V(u) is S(t)/S(u), and from the beginning, as N S(u-) G(u-) are at risk at u, that is the
    `PseudoIncidence`.

    Attributes
    ----------
    survival : float
        Mean of 1 - V(a).
    values : ndarray of shape (n,)
        Pseudo-observations.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4, 5], [1, 0, 1, 1, 0], entry=[0, 0, 0, 2, 1])
    >>> competes = np.array([False, False, False, True, False])
    >>> PseudoIncidenceGivenEntry.of(y, competes, 3.5).values.round(3)
    array([ 0.   ,  0.667, -0.333,  1.   ,  1.167])
    >>> y = Outcomes([1, 3, 4, 5], [1, 1, 0, 1], entry=[0, 2, 0, 0])
    >>> PseudoIncidenceGivenEntry.of(y, None, 3.5).values.round(3) + 0.0
    array([0., 0., 1., 1.])
    """

    survival: float
    values: Floats
    weight: Floats
    _y: Outcomes
    #: At the event times up to the time: at risk, hazards of the cause and of others, G(u-).
    _at_risk: Floats
    _own: Floats
    _other: Floats
    _g: Floats
    #: V before the first of them and after each, and the probability of no event there.
    _ahead: Floats
    _free: Floats
    #: G(a), the numbers of these times up to the entry and the own time, events of both kinds.
    _scale: Floats
    _missed: Ints
    _lived: Ints
    _cases: Ints
    _others: Ints

    @classmethod
    def of(cls, y: Outcomes, competes: Bools | None, time: float) -> PseudoIncidenceGivenEntry:
        """Return those of subjects who are all present and entered before the time.

        `competes` says who had an event of another cause; None: there is one kind of event.
        """
        competes = np.zeros(len(y), dtype=bool) if competes is None else competes
        table, entry = RiskTable.of(y), np.zeros(len(y)) if y.entry is None else y.entry
        rows = table.event_rows
        rows = rows[table.times[rows] <= time]
        times, (at_risk, events) = table.times[rows], table.counts_in(rows)
        free = table.survival(rows=rows, restart=True)
        g = KaplanMeier.from_table(table, True, restart=True)
        lived, had = times.searchsorted(y.time, "right"), y.event & (y.time <= time)
        cases, others = np.flatnonzero(had & ~competes), np.flatnonzero(had & competes)
        # Where a risk set became empty before others entered, nobody counts as having left.
        counts = free[1:] < free[:-1]
        count = np.bincount(lived[cases] - 1, y.weight[cases], times.size)
        own, every = (np.where(counts, part / at_risk, 0.0) for part in (count, events))
        so_far = np.concatenate(([0.0], np.cumsum(free[:-1] * own)))
        ahead = np.divide(so_far[-1] - so_far, free, out=np.zeros(free.size), where=free > 0)
        late = entry > 0
        missed = np.where(late, times.searchsorted(entry, "right"), 0)
        scale, before = np.where(late, g.at(entry), 1.0), g.at(times, side="left")
        left, others_hazard = ahead[1:], np.maximum(every - own, 0.0)
        sums = np.concatenate(
            ([0.0], np.cumsum((left * others_hazard - (1.0 - left) * own) / before))
        )
        gained = sums[lived] - sums[missed]
        gained[cases] += ((1.0 - left) / before)[lived[cases] - 1]
        gained[others] -= (left / before)[lived[others] - 1]
        start = ahead[missed]
        return cls(
            1.0 - float(np.average(start, weights=y.weight)), 1.0 - start - scale * gained,
            y.weight, y, at_risk, own, others_hazard, before, ahead, free, scale, missed, lived,
            cases, others,
        )  # fmt: skip

    def pulled(self, h: Floats) -> Floats:
        r"""What each subject's presence changes in the sum of w h pseudo-observations of others.

        That is :math:`w_j \sum_i w_i h_i \partial \theta_i / \partial w_j`, through the hazards and
        through G.

        >>> y = Outcomes([1, 2, 3, 4, 5], [1, 0, 1, 1, 0], entry=[0, 0, 0, 2, 1])
        >>> competes = np.array([False, False, False, True, False])
        >>> found = PseudoIncidenceGivenEntry.of(y, competes, 3.5)
        >>> found.pulled(np.ones(5)).round(3) + 0.0
        array([ 0.   , -0.167,  0.083,  0.   ,  0.083])
        """
        pull, size, ahead = self.weight * h, self._own.size, self._ahead[1:]
        scaled = pull * self._scale
        seen = np.bincount(self._missed, scaled, size + 1)
        seen = seen - np.bincount(self._lived, scaled, size + 1)
        at_risk = np.cumsum(seen)[:size] / self._g
        cases, others = (
            np.bincount(self._lived[rows] - 1, scaled[rows], size) / self._g
            for rows in (self._cases, self._others)
        )
        # What the sum gains where the incidence ahead of each event time does, all later ones told.
        direct = np.bincount(self._missed, pull, size + 1).astype(np.float64)
        direct[1:] += at_risk * (self._own + self._other) - cases - others
        free = self._free[:-1]
        gains = free * np.cumsum(direct[:-1] / free) - at_risk
        by_case, by_other = (1.0 - ahead) * gains, -ahead * gains
        expected = (by_case * self._own + by_other * self._other) / self._at_risk
        sums = np.concatenate(([0.0], np.cumsum(expected)))
        moved = sums[self._missed] - sums[self._lived]
        for rows, part in ((self._cases, by_case), (self._others, by_other)):
            place = self._lived[rows] - 1
            counts = (self._own + self._other)[place] > 0
            moved[rows] += np.where(counts, (part / self._at_risk)[place], 0.0)
        here = at_risk * (ahead * self._other - (1.0 - ahead) * self._own)
        here += (1.0 - ahead) * cases - ahead * others
        gained = 1.0 - self.values - self._ahead[self._missed]
        return -self.weight * moved - self._through_g(here, pull * gained)

    def _through_g(self, here: Floats, by_subject: Floats) -> Floats:
        """The same through G, by which everything but V(a) is weighted."""
        event, died = np.zeros(by_subject.size), np.concatenate((self._cases, self._others))
        place, weight = self._lived[died] - 1, self.weight[died]
        event[died] = (here / np.bincount(place, weight, here.size))[place] * weight
        pulls = Pulls(event, np.empty(0), np.empty(0), by_subject - event)
        return EstimatedG(self._y).influence(pulls)
