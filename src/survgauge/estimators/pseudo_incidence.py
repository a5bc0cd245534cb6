"""Pseudo-observations of the status at a time, free of a cause or of any event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, repeated
from ..data.outcomes import Outcomes
from .estimated_g import Derivative, EstimatedG
from .kaplan_meier import KaplanMeier, RiskTable


@dataclass(frozen=True)
class PseudoIncidence:
    r"""Pseudo-observations of the status free of a cause at a time t, given no event at the entry.

    With V(u) the incidence of the cause by t given no event by u, h and h' the hazards of the cause
    and of the others, and G the probability of not being censored yet, that of somebody seen from a
    to y is 1 less

    .. math:: V(a) + \sum_{a < u \le \min(y, t)} \{V(u) h'(u) - (1 - V(u)) h(u)\} \frac{G(a)}{G(u-)}
              + \{(1 - V(y)) 1_k - V(y) 1_o\} \frac{G(a)}{G(y-)}

    over the event times u; the last part is of an event at y by t, of the cause or of another.
    Given entry and features it has the right mean, whatever h and h' are. Of one kind of event 1 -
    V(u) is S(t)/S(u). Where nobody enters late N S(u-) G(u-) are at risk at u, and these are the
    usual pseudo-observations 1 - (F + N dF/dw_i), with F Aalen-Johansen of the cause at t
    (infinitesimal jackknife).

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
    >>> PseudoIncidence.of(y, competes, 3.5).values.round(3)
    array([ 0.   ,  0.667, -0.333,  1.   ,  1.167])
    >>> y = Outcomes([1, 3, 4, 5], [1, 1, 0, 1], entry=[0, 2, 0, 0])
    >>> PseudoIncidence.of(y, None, 3.5).values.round(3) + 0.0
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
    def of(cls, y: Outcomes, competes: Bools | None, time: float) -> PseudoIncidence:
        """Return those of subjects who are all present and entered before the time.

        `competes` says who had an event of another cause; None: there is one kind of event.
        """
        competes = np.zeros(len(y), dtype=bool) if competes is None else competes
        table = RiskTable.of(y)
        rows = table.event_rows
        rows = rows[table.times[rows] <= time]
        times, at_risk, events = table.times[rows], table.at_risk[rows], table.events[rows]
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
        missed, scale = np.zeros(len(y), dtype=np.intp), repeated(1.0, len(y))
        if y.entry is not None:
            late = y.entry > 0
            missed = np.where(late, times.searchsorted(y.entry, "right"), 0)
            scale = np.where(late, g.at(y.entry), 1.0)
        before = g.at(times, side="left")
        del table, g  # of many subjects every array counts
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
        >>> found = PseudoIncidence.of(y, competes, 3.5)
        >>> found.pulled(np.ones(5)).round(3) + 0.0
        array([ 0.   , -0.167,  0.083,  0.   ,  0.083])
        """
        moved_by, size, ahead = self.weight * h, self._own.size, self._ahead[1:]
        scaled = moved_by * self._scale
        seen = np.bincount(self._missed, scaled, size + 1)
        seen = seen - np.bincount(self._lived, scaled, size + 1)
        at_risk = np.cumsum(seen)[:size] / self._g
        cases, others = (
            np.bincount(self._lived[rows] - 1, scaled[rows], size) / self._g
            for rows in (self._cases, self._others)
        )
        # What the sum gains where the incidence ahead of each event time does, all later ones told.
        direct = np.bincount(self._missed, moved_by, size + 1).astype(np.float64)
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
        return -self.weight * moved - self._through_g(here, moved_by * gained)

    def _through_g(self, here: Floats, by_subject: Floats) -> Floats:
        """The same through G, by which everything but V(a) is weighted."""
        event, died = np.zeros(by_subject.size), np.concatenate((self._cases, self._others))
        place, weight = self._lived[died] - 1, self.weight[died]
        event[died] = (here / np.bincount(place, weight, here.size))[place] * weight
        derivative = Derivative(event, np.empty(0), np.empty(0), by_subject - event)
        return EstimatedG(self._y).influence(derivative)
