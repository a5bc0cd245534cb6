"""Standard errors from sums over chunks, where weights 1/G come from the test subjects.

A subject's contribution is A_i + B_i. A_i takes G as known and is summed while chunks are scored.
B_i, what comes through G, is known only in the end, but depends on nothing except when a subject
was observed and whether it was censored. So the sums of A_i by time and status, and the pulls of
the weights by time, are enough. Times are told apart up to `MOST_BINS` of them, which is exact;
beyond, they are grouped into `BINS` of about equal size (standard errors to about 1e-4).

Under delayed entry B_i also depends on when a subject entered: sums are kept by entry too, and who
entered and left when is known of all subjects, whose outcomes such an evaluation keeps.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.places import Places
from ..data.outcomes import Outcomes
from ..errors import SurvgaugeError
from ..reference.estimated_g import CensoringCounts, Pulls
from ..reference.kaplan_meier import RiskTable, awaited

#: Distinct times that are told apart, and groups of them where there are more.
MOST_BINS, BINS = 16_384, 4_096


class GBins:
    """Times, or groups of them, with events and censorings: where sums go.

    Parameters
    ----------
    table : RiskTable
        Counts of all test subjects at their distinct times.
    tau : float, optional
        Horizon of the time errors, at which a group has to begin.
    late : Outcomes, optional
        All test subjects, where some of them enter late.
    """

    def __init__(
        self, table: RiskTable, tau: float | None = None, late: Outcomes | None = None
    ) -> None:
        self.edges: Floats = table.times
        if self.edges.size > MOST_BINS:
            reached = np.cumsum(table.events + table.censored)
            wanted = np.arange(1, BINS) * (reached[-1] / BINS)
            first = np.unique(np.append(0, reached.searchsorted(wanted, "right")))
            self.edges = table.times[np.minimum(first, table.times.size - 1)]
        if tau is not None:
            self.edges = np.union1d(self.edges, [tau])
        self.edges = np.unique(self.edges)
        self._places = Places(self.edges)
        where = self.place(table.times)
        self.events, self.censored = (
            np.bincount(where, counted, self.edges.size).astype(np.float64, copy=False)
            for counted in (table.events, table.censored)
        )
        self.by_entry = late is not None
        #: All subjects, where some enter late, and how many enter at each time or later.
        self._late = None if late is None else late.present()
        self._awaited = None if late is None else awaited(late.present(), self.edges)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_late": None}  # parts of a stream travel light

    def __len__(self) -> int:
        return int(self.edges.size)

    def place(self, time: Floats) -> Ints:
        """Number of the group of each time."""
        return np.maximum(self._places.of(time) - 1, 0)

    def entered(self, y: Outcomes) -> Ints:
        """Number of groups that had begun when each subject entered; 0: in from the beginning."""
        if y.entry is None:
            return np.zeros(len(y), dtype=np.intp)
        return np.where(y.entry > 0, self._places.of(y.entry), 0)

    def counts(self, **rules: Any) -> CensoringCounts:
        """Return what the subjects move through G."""
        given = self.edges, self.events, self.censored
        return CensoringCounts(*given, awaited=self._awaited, **rules)

    def square(self, moved: tuple[Floats, Floats], before: Floats) -> float:
        """Sum of squares of what all subjects move, those who enter late less what came before."""
        y = self._late
        if y is None:
            raise SurvgaugeError("the subjects of these sums, who enter late, are not at hand")
        place = self.place(y.time)
        own = np.where(y.event, moved[0][place], moved[1][place]) + before[self.entered(y)]
        return float((y.weight * own * own).sum())


class GSums:
    """Sums by time and status of d numbers a subject, and of what moves with its weight."""

    def __init__(self, size: int, bins: GBins) -> None:
        #: Of events and of censored subjects.
        self.events, self.censored = np.zeros((2, size, len(bins)))
        self.moving: Floats = np.zeros((size, len(bins)))
        #: By number: times, and what moves with the weights of those event-free past them.
        self.survivors: dict[int, tuple[Floats, Floats]] = {}
        #: The last number, where it is the same for everybody and not summed.
        self.alike: float | None = None
        #: Under delayed entry the numbers, and what moves, by when subjects entered.
        self.entered, self.waiting = np.zeros((2, size, len(bins) + 1 if bins.by_entry else 0))

    def update(
        self,
        k: int,
        place: Ints,
        event: Bools,
        values: Floats,
        moving: Any,
        entered: Ints | None = None,
    ) -> None:
        """Add number k of some subjects.

        `moving` is what of it moves with the weights: `Pulls`, True for all of it, or None.
        `entered` says when they entered, where some do late; see `GBins.entered`.
        """
        size = self.moving.shape[1]
        both = np.bincount(place + size * ~event, values, 2 * size)
        self.events[k] += both[:size]
        self.censored[k] += both[size:]
        if moving is True:
            self.moving[k] += both[:size]
        elif isinstance(moving, Pulls):
            self.moving[k] += np.bincount(place, moving.event, size)
            self._add_survivors(k, moving.times, moving.survivors)
        if entered is not None:
            steps = self.entered.shape[1]
            self.entered[k] += np.bincount(entered, values, steps)
            if moving is True or isinstance(moving, Pulls):
                pulled = values * event if moving is True else moving.by_subject
                self.waiting[k] += np.bincount(entered, pulled, steps)

    def _add_survivors(self, k: int, times: Floats, sums: Floats) -> None:
        known = self.survivors[k][1] if k in self.survivors else 0.0
        self.survivors[k] = times, known + sums

    def merge(self, other: GSums, lost: Collection[int] = ()) -> None:
        """Add the subjects of another part; numbers that are `lost` have no value any more."""
        self.events += other.events
        self.censored += other.censored
        self.moving += other.moving
        self.entered += other.entered
        self.waiting += other.waiting
        for k, (times, sums) in other.survivors.items():
            if k not in lost:
                self._add_survivors(k, times, sums)
        self.alike = other.alike if self.alike is None else self.alike

    def more_variance(self, pull: Floats, bins: GBins, rules: dict[str, str]) -> float:
        """Return what G adds to the sum of squares of the contributions pull @ numbers."""
        used = np.flatnonzero(pull != 0)  # numbers of other models may be undefined
        own, counts = pull[used], bins.counts(**rules)
        free = {k: part for k, part in self.survivors.items() if k in used}
        times = np.concatenate([np.empty(0), *(t for t, _ in free.values())])
        survivors = np.concatenate([np.empty(0), *(pull[k] * s for k, (_, s) in free.items())])
        awaited_pulls = None
        if bins.by_entry:
            awaited_pulls = np.cumsum((own @ self.waiting[used])[::-1])[::-1][1:]
        total = counts.total(own @ self.moving[used], survivors, times, awaited_pulls)
        *spread, expected = counts.spread(total)
        moved = spread[0], spread[1]
        sums = own @ self.events[used], own @ self.censored[used]
        numbers = counts.events, counts.censored
        if self.alike is not None:
            sums = tuple(a + pull[-1] * self.alike * n for a, n in zip(sums, numbers, strict=True))
        if bins.by_entry:
            before = np.append(0.0, expected)
            crossed = sum(float(a @ b) for a, b in zip(sums, moved, strict=True))
            crossed += float((own @ self.entered[used]) @ before)
            return 2 * crossed + bins.square(moved, before)
        return float(
            sum((2 * a * b + n * b * b).sum() for a, b, n in zip(sums, moved, numbers, strict=True))
        )
