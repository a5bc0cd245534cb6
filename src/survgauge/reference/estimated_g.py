"""What a subject contributes through a G that was estimated from the same subjects.

Subject i moves -log G(s) by the integral up to s of dM_i(u) / (Y(u) - c(u)): M_i its censoring
martingale, Y(u) the number at risk of censoring, c(u) the number censored at u. A weight 1/G(s)
that pulls a score by h then moves it by h times that. So everything needed is H(u), the sum of the
pulls of all weights that G's factor at u enters, and what a subject contributes depends on nothing
but its time and whether it was censored: one number for events and one for censorings at each
distinct time.

Under delayed entry a weight is G(a)/G(s), which only the factors after the entry a enter, and a
subject is at risk of being censored after its own entry only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Floats, Ints
from .._tools.places import look_up
from ..data.outcomes import Outcomes
from .kaplan_meier import awaited


@dataclass(frozen=True)
class Pulls:
    """How a score changes with the logarithm of its weights 1/G."""

    #: By subject, of the weight after its event; 0 where it has none; of shape (n,).
    event: Floats
    #: Of the weights of everybody event-free past each of the times; of shape (K,).
    survivors: Floats
    times: Floats
    #: Under delayed entry, what of `survivors` is each subject's; of shape (n,).
    own: Floats | None = None

    def scaled(self, factor: float) -> Pulls:
        """Return the pulls of a score that is `factor` times as large."""
        own = None if self.own is None else self.own * factor
        return Pulls(self.event * factor, self.survivors * factor, self.times, own)

    @property
    def by_subject(self) -> Floats:
        """What all weights of each subject pull, (n,)."""
        return self.event if self.own is None else self.event + self.own

    @classmethod
    def of_events(cls, event: Floats) -> Pulls:
        """Pulls of a score that weights nobody but events."""
        return cls(event, np.empty(0), np.empty(0))


class CensoringCounts:
    """Events and censorings at distinct times, and what they move through G.

    Parameters
    ----------
    times, events, censored : ndarray of shape (m,)
        Increasing times with the number of events and censorings.
    ties : {"events_first", "flipped"}
        Whether tied events have left when G's factor is taken.
    kind : {"estimated", "hazard"}
        The exact derivative; or 1/Y for 1/(Y - c) with tied events at risk (riskRegression).
    event_limit, survivor_limit : {"left", "right"}
        Limits at which G is read.
    awaited : ndarray of shape (m,), optional
        Number who enter at each time or later, under delayed entry.
    """

    def __init__(
        self,
        times: Floats,
        events: Floats,
        censored: Floats,
        *,
        ties: str = "events_first",
        kind: str = "estimated",
        event_limit: str = "left",
        survivor_limit: str = "right",
        awaited: Floats | None = None,
    ) -> None:
        self.times, self.events, self.censored = times, events, censored
        self._limits = event_limit, survivor_limit
        at_risk = np.cumsum((events + censored)[::-1])[::-1]
        after = np.append(at_risk[1:], 0.0)
        if awaited is not None:
            at_risk, after = at_risk - awaited, after - awaited
            after[after < 1e-9 * at_risk] = 0.0  # nobody, but for rounding
        self._events_first = ties == "events_first" and kind != "hazard"
        exposed = censored + after if self._events_first else at_risk
        left = exposed if kind == "hazard" else after if self._events_first else after + events
        with np.errstate(divide="ignore", invalid="ignore"):
            # Nobody left means no weight after u: H(u) = 0, and so is its product with zero.
            self._jump = np.where(left > 0, 1.0 / left, 0.0)
            self._hazard = np.where(exposed > 0, censored / exposed, 0.0)

    def moves(
        self,
        events: Floats,
        survivors: Floats | None = None,
        at: Floats | None = None,
        awaited: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Contributions through G of an event, and of a censoring, at each time.

        Parameters
        ----------
        events : ndarray of shape (m,)
            Sum of the pulls of the events at each time.
        survivors, at : ndarray of shape (K,), optional
            Pulls of the survivors at the times `at`.
        awaited : ndarray of shape (m,), optional
            Sum of all pulls of those who enter at each time or later.
        """
        event, censored, _ = self.spread(self.total(events, survivors, at, awaited))
        return event, censored

    def total(
        self,
        events: Floats,
        survivors: Floats | None,
        at: Floats | None,
        awaited: Floats | None = None,
    ) -> Floats:
        """H: the sum of the pulls of all weights that G's factor at each time enters."""
        event_limit, survivor_limit = self._limits
        later = np.append(np.cumsum(events[::-1])[::-1], 0.0)
        total: Floats = later[1:].copy() if event_limit == "left" else later[:-1].copy()
        if survivors is not None and at is not None and survivors.size:
            factors = look_up(self.times, at, survivor_limit)
            ends = np.bincount(factors, survivors, self.times.size + 1)
            total += np.cumsum(ends[::-1])[::-1][1:]
        return total if awaited is None else total - awaited

    def spread(self, total: Floats) -> tuple[Floats, Floats, Floats]:
        """Contributions of an event and of a censoring at each time, and what is expected by it."""
        moved = total * self._jump
        compensator = np.cumsum(moved * self._hazard)
        gone = np.append(0.0, compensator[:-1]) if self._events_first else compensator
        return -gone, moved - compensator, compensator


class EstimatedG:
    """In-sample G of all subjects of a score, differentiated.

    `y` are the subjects that G was estimated from, who are also those scored; `rules` are ties,
    limits and kind, see `CensoringCounts`.
    """

    def __init__(self, y: Outcomes, **rules: str) -> None:
        self._y = y
        order = y.order()
        time = y.time[order]
        new = np.concatenate(([True], time[1:] != time[:-1]))
        place = np.cumsum(new, dtype=np.int32)
        place -= 1
        self._place = np.empty_like(place)
        self._place[order] = place
        size = int(place[-1]) + 1
        total = _sums(self._place, y.weight, size)
        events = _sums(self._place, y.weight * y.event, size)
        times, waiting = time[new], awaited(y, time[new])
        self.counts = CensoringCounts(times, events, total - events, awaited=waiting, **rules)

    def influence(self, pulls: Pulls) -> Floats:
        """Contribution of each subject through G: (n,)."""
        y, place = self._y, self._place
        by_time = _sums(place, pulls.event, self.counts.times.size)
        if y.entry is None:
            event, censored = self.counts.moves(by_time, pulls.survivors, pulls.times)
            found: Floats = np.where(y.event, event[place], censored[place])
        else:
            found = self._since_entry(by_time, pulls)
        if y.weighted:
            found *= y.weight
        return found

    def _since_entry(self, by_time: Floats, pulls: Pulls) -> Floats:
        """Contribution of each subject through the time that it was at risk."""
        y, place, times = self._y, self._place, self.counts.times
        waiting = awaited(y, times, pulls.by_subject)
        total = self.counts.total(by_time, pulls.survivors, pulls.times, waiting)
        event, censored, expected = self.counts.spread(total)
        expected = np.append(0.0, expected)
        entry = np.asarray(y.entry)
        before = np.where(entry > 0, expected[times.searchsorted(entry, "right")], 0.0)
        return np.where(y.event, event[place], censored[place]) + before


def _sums(place: Ints | NDArray[np.int32], values: Floats, size: int) -> Floats:
    return np.bincount(place, values, size).astype(np.float64, copy=False)
