"""Kaplan-Meier from merged counts, and what a first pass over the outcomes finds."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats
from ..data.outcomes import Outcomes
from ..errors import InputError, SurvgaugeError
from ..reference.kaplan_meier import KaplanMeier, RiskTable
from ..reference.reference import Reference
from .chunks import joined

#: Distinct times of a stream that are told apart by G of its subjects.
MOST_TIMES = 1 << 21
#: The same where nothing but the horizon in the support depends on them.
FEW_TIMES = 1 << 15


class OutcomeCounts:
    """Events and subjects at each distinct time: small where times are tied, mergeable always.

    Everything that Kaplan-Meier, the censoring distribution and the reference set of an evaluation
    need of the outcomes.

    Parameters
    ----------
    most : int, optional
        Keep at most so many distinct times: where there are more, their last bits are rounded off.

    Examples
    --------
    >>> one, two = OutcomeCounts(), OutcomeCounts()
    >>> one.update(([1, 2], [1, 0]))
    >>> two.update(([3, 4], [1, 1]))
    >>> one.merge(two)
    >>> one.kaplan_meier().survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        #: Bits of the times' mantissas that were dropped to stay below `most` distinct times.
        self.dropped = 0
        self.times: Floats = np.empty(0)
        self.events: Floats = np.empty(0)
        self.total: Floats = np.empty(0)
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._size = 0

    def update(self, y: Any) -> None:
        """Add outcomes: anything that `Outcomes.of` reads."""
        found = Outcomes.of(y)
        table = RiskTable.of(found)
        self._add(table.times, table.events, table.events + table.censored)

    def merge(self, other: OutcomeCounts) -> None:
        """Add the counts of another part."""
        other._settle()
        if not other.times.size:
            return
        self.dropped = max(self.dropped, other.dropped)
        self._add(other.times, other.events, other.total)

    def _add(self, times: Floats, events: Floats, total: Floats) -> None:
        # Sorted together once as much is waiting as is there: n log n in all, not n^2.
        self._waiting.append((times, events, total))
        self._size += times.size
        if self._size > max(self.times.size, 1 << 16):
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        parts = [(self.times, self.events, self.total), *self._waiting]
        times, events, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = times.argsort(kind="stable")
        times = times[order]
        if self.most is not None:
            self.dropped = _bits_to_drop(times, self.most, self.dropped)
        self._group(_without_bits(times, self.dropped), events[order], total[order])
        self._waiting, self._size = [], 0

    def _group(self, times: Floats, events: Floats, total: Floats) -> None:
        """Add up what has the same time."""
        first = np.flatnonzero(np.concatenate(([True], times[1:] != times[:-1])))
        self.times = times[first]
        self.events, self.total = np.add.reduceat(events, first), np.add.reduceat(total, first)

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def __len__(self) -> int:
        self._settle()
        return int(self.times.size)

    def table(self) -> RiskTable:
        """Counts at the distinct times."""
        self._settle()
        if not self.times.size:
            raise InputError("there are no outcomes: at least one subject is needed")
        return RiskTable(self.times, self.events, self.total)

    def kaplan_meier(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        table = self.table()
        return KaplanMeier.from_table(table)

    def censoring(self) -> KaplanMeier:
        """G, the distribution of the censoring time."""
        table = self.table()
        return KaplanMeier.from_table(table, censoring=True)

    def outcomes(self) -> Outcomes:
        """Return outcomes with frequencies that have these counts, events first at equal times."""
        table = self.table()
        time = np.concatenate((table.times, table.times))
        event = np.repeat([True, False], table.times.size)
        weight = np.concatenate((table.events, table.censored))
        kept = weight > 0
        time, event, weight = time[kept], event[kept], weight[kept]
        plain = bool((weight == 1).all())
        return Outcomes._trusted(time, event, None if plain else weight)

    def reference(self) -> Reference:
        """Return the reference set with these counts."""
        return Reference(self.outcomes())


def _bits_to_drop(times: Floats, most: int, least: int) -> int:
    """Return the fewest bits, at least `least`, that leave at most `most` of the sorted times.

    Other bits than the fewest would let the result depend on the order of the parts.

    >>> _bits_to_drop(np.array([1.0, 1.5, 1.75]), 2, 0)
    51
    """
    if times.size <= most:
        return least
    bits = np.ascontiguousarray(times).view(np.uint64)
    gaps = bits[1:] ^ bits[:-1]

    def few(dropped: int) -> bool:
        return 1 + np.count_nonzero(gaps >> np.uint64(dropped)) <= most

    return bisect_left(range(64), True, lo=least, key=few)


def _without_bits(times: Floats, bits: int) -> Floats:
    """Round times down by dropping the last bits of their mantissas."""
    if not bits:
        return times
    mask = np.uint64(2**64 - 2**bits)
    return (np.ascontiguousarray(times).view(np.uint64) & mask).view(np.float64)


class Outline:
    """What depends on the whole test set: its size, its last times, and its outcomes if kept.

    Parameters
    ----------
    at_risk : float
        The largest times are kept until this many subjects are at risk.
    keep : bool
        Whether to keep all outcomes (9 bytes a subject).
    follow : bool
        Whether to count the outcomes at each distinct time, for G of the test subjects.
    most : int
        Distinct times that are told apart then.
    """

    def __init__(
        self, at_risk: float, keep: bool = False, follow: bool = False, most: int = MOST_TIMES
    ) -> None:
        self.at_risk, self.keep, self.follow = at_risk, keep, follow
        self._counts = OutcomeCounts(most)
        #: Rows instead of frequencies, where these differ.
        self._row_counts = OutcomeCounts(most)
        self.rows = self.subjects = 0
        self.weighted = False
        #: Whether there are frequencies that are not whole.
        self.fractional = False
        self._top: tuple[Floats, Bools, Floats] = (
            np.empty(0),
            np.empty(0, dtype=bool),
            np.empty(0),
        )
        self.last_time = float("-inf")
        #: Changes with every outcome and its row; the same for any order and chunking.
        self.digest = 0
        self._kept: list[tuple[int, Outcomes]] = []

    def update(self, y: Outcomes, start: int) -> None:
        """Add the outcomes from row `start` on."""
        self.rows += len(y)
        self.subjects += y.count
        self.weighted |= y.weighted
        self.fractional |= y.fractional
        self.last_time = max(self.last_time, float(y.time.max(where=y.weight > 0, initial=-np.inf)))
        self.digest = (self.digest + _digest(y, start)) % _MODULUS
        self._raise((y.time, y.event, y.weight if y.weighted else None))
        if self.keep:
            self._kept.append((start, y))
        if self.follow:
            if not y.weighted or y.weight.any():
                self._counts.update(y)
            if y.weighted:
                present = y.weight > 0
                if present.any():
                    self._row_counts.update((y.time[present], y.event[present]))

    def merge(self, other: Outline) -> None:
        """Add what another part found."""
        self.rows += other.rows
        self.subjects += other.subjects
        self.weighted |= other.weighted
        self.fractional |= other.fractional
        self.last_time = max(self.last_time, other.last_time)
        self.digest = (self.digest + other.digest) % _MODULUS
        self._raise(other._top)
        self._kept += other._kept
        self._counts.merge(other._counts)
        self._row_counts.merge(other._row_counts)

    def counts(self) -> OutcomeCounts:
        """Events and subjects at each distinct time."""
        if not self.follow:
            raise SurvgaugeError("the outcomes of this stream were not counted")
        return self._counts

    def _raise(self, found: tuple[Floats, Bools, Floats | None]) -> None:
        """Keep the last times, as many as there must be subjects at risk at the horizon."""
        time, event, weight = found
        if weight is None and time.size > 4 * self.at_risk + 64:
            cut = time.size - int(np.ceil(self.at_risk))
            rows = np.flatnonzero(time >= np.partition(time, cut)[cut])
            time, event = time[rows], event[rows]
        weight = np.ones(time.size) if weight is None else weight
        old = self._top
        time, event, weight = (
            np.concatenate(pair) for pair in zip(old, (time, event, weight), strict=True)
        )
        present = weight > 0
        time, event, weight = time[present], event[present], weight[present]
        order = np.argsort(-time, kind="stable")
        reached = np.cumsum(weight[order])
        # Everybody at the time at which enough are at risk, so that ties do not depend on order.
        enough = min(int(np.searchsorted(reached, self.at_risk)), max(order.size - 1, 0))
        if order.size:
            order = order[time[order] >= time[order[enough]]]
        self._top = time[order], event[order], weight[order]

    def top(self) -> Outcomes:
        """Return the last outcomes: the horizon of these is that of all."""
        time, event, weight = self._top
        if not time.size:
            raise InputError("the test set has no rows; at least one subject is needed")
        return Outcomes._trusted(time, event, weight if self.weighted else None)

    def past(self, time: float) -> tuple[int, int] | None:
        """Subjects and events later than `time`; None where that reaches below what was kept."""
        times, event, _ = self._top
        if not times.size or times.min() <= time or times.size == self.subjects:
            late = times > time
            return int(late.sum()), int((late & event).sum())
        if not self.follow:
            return None
        counts = self._row_counts if self.weighted else self._counts
        late = np.arange(len(counts)) >= counts.times.searchsorted(time, "right")
        return int(counts.total[late].sum()), int(counts.events[late].sum())

    def outcomes(self) -> Outcomes:
        """Return all outcomes, in order of their rows."""
        return joined(y for _, y in sorted(self._kept, key=lambda part: part[0]))


_MODULUS = 1 << 64


def _digest(y: Outcomes, start: int) -> int:
    """Sum over rows of their bits times an odd number of the row, modulo 2^64."""
    row = np.arange(start, start + len(y), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits = np.ascontiguousarray(y.time).view(np.uint64) * np.uint64(
        0x9E3779B97F4A7C15
    ) ^ y.event.astype(np.uint64)
    if y.weighted:
        bits = bits ^ np.ascontiguousarray(y.weight).view(np.uint64) * np.uint64(3)
    return int((bits * row).sum(dtype=np.uint64))
