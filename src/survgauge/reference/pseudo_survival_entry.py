"""Pseudo-observations of being event-free at one time, given when subjects entered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from .estimated_g import EstimatedG, Pulls
from .kaplan_meier import KaplanMeier, RiskTable


@dataclass(frozen=True)
class PseudoSurvivalGivenEntry:
    r"""Pseudo-observations of the status event-free at a time t, given that at the entry a.

    With S Kaplan-Meier, h its hazard and G the probability of not being censored yet, that of
    somebody seen from a to y is

    .. math:: \frac{S(t)}{S(a)} + \sum_{a < u \le \min(y, t)} \frac{S(t)}{S(u)} h(u)
              \frac{G(a)}{G(u-)} - 1(\text{event at } y \le t) \frac{S(t)}{S(y)} \frac{G(a)}{G(y-)}

    over the event times u. Given entry and features it has the mean P(T > t | T > a), whatever h
    is. From the beginning, as N S(u-) G(u-) are at risk at u, it is the `PseudoSurvival`.

    Attributes
    ----------
    survival : float
        Mean of S(t)/S(a).
    values : ndarray of shape (n,)
        Pseudo-observations.

    Examples
    --------
    >>> y = Outcomes([1, 3, 4, 5], [1, 1, 0, 1], entry=[0, 2, 0, 0])
    >>> found = PseudoSurvivalGivenEntry.of(y, 3.5)
    >>> found.values.round(3), round(found.survival, 3)
    (array([0. , 0. , 0.778, 0.778]), 0.5)
    """

    survival: float
    values: Floats
    weight: Floats
    _y: Outcomes
    #: At the event times up to the time: at risk, hazard, S(t)/S(u), and that over G(u-).
    _at_risk: Floats
    _hazard: Floats
    _later: Floats
    _worth: Floats
    #: S(t)/S(a) and G(a), the number of these times up to the entry and the own time, events.
    _start: Floats
    _scale: Floats
    _missed: Ints
    _lived: Ints
    _died: Ints

    @classmethod
    def of(cls, y: Outcomes, time: float) -> PseudoSurvivalGivenEntry:
        """Return those of subjects who are all present and entered before the time."""
        table, entry = RiskTable.of(y), np.zeros(len(y)) if y.entry is None else y.entry
        rows = table.event_rows
        rows = rows[table.times[rows] <= time]
        times, (at_risk, events) = table.times[rows], table.counts_in(rows)
        survival = table.survival(rows=rows, restart=True)
        g = KaplanMeier.from_table(table, True, restart=True)
        # Where a risk set became empty before others entered, nobody counts as having left.
        hazard = np.where(survival[1:] < survival[:-1], events / at_risk, 0.0)
        late = entry > 0
        missed = np.where(late, times.searchsorted(entry, "right"), 0)
        lived = times.searchsorted(y.time, "right")
        died = np.flatnonzero(y.event & (y.time <= time))
        later = np.divide(survival[-1], survival, out=np.ones(survival.size), where=survival > 0)
        start, scale = later[missed], np.where(late, g.at(entry), 1.0)
        worth = later[1:] / g.at(times, side="left")
        sums = np.concatenate(([0.0], np.cumsum(worth * hazard)))
        gained = sums[lived] - sums[missed]
        gained[died] -= worth[lived[died] - 1]
        return cls(
            float(np.average(start, weights=y.weight)),
            start + scale * gained,
            y.weight, y, at_risk, hazard, later[1:], worth, start, scale, missed, lived, died,
        )  # fmt: skip

    def pulled(self, h: Floats) -> Floats:
        r"""What each subject's presence changes in the sum of w h pseudo-observations of others.

        That is :math:`w_j \sum_i w_i h_i \partial \theta_i / \partial w_j`, through the hazards and
        through G.

        >>> y = Outcomes([1, 3, 4, 5], [1, 1, 0, 1], entry=[0, 2, 0, 0])
        >>> PseudoSurvivalGivenEntry.of(y, 3.5).pulled(np.ones(4)).round(3)
        array([0.   , 0.   , 0.222, 0.222])
        """
        own, size = self.weight * h, self._hazard.size
        scaled, place = own * self._scale, self._lived[self._died] - 1
        entered = np.bincount(self._missed, own * self._start, size + 1)[:size]
        seen = np.bincount(self._missed, scaled, size + 1) - np.bincount(
            self._lived, scaled, size + 1
        )
        at_risk = np.cumsum(seen)[:size]
        died = np.bincount(place, scaled[self._died], size)
        # What the sums hold of each event time: the hazard of those at risk, less the events.
        here = self._worth * (self._hazard * at_risk - died)
        before = np.cumsum(entered) + np.cumsum(here) - here
        by_hazard = self._worth * at_risk - before / (1.0 - self._hazard)
        by_hazard[self._hazard == 0] = 0.0
        sums = np.concatenate(([0.0], np.cumsum(by_hazard * self._hazard / self._at_risk)))
        moved = sums[self._missed] - sums[self._lived]
        moved[self._died] += (by_hazard / self._at_risk)[place]
        return self.weight * moved + self._through_g(here, own * (self.values - self._start))

    def _through_g(self, here: Floats, by_subject: Floats) -> Floats:
        """The same through G, by which everything but S(t)/S(a) is weighted."""
        event = np.zeros(by_subject.size)
        place, weight = self._lived[self._died] - 1, self.weight[self._died]
        event[self._died] = (here / np.bincount(place, weight, here.size))[place] * weight
        pulls = Pulls(event, np.empty(0), np.empty(0), by_subject - event)
        return EstimatedG(self._y).influence(pulls)
