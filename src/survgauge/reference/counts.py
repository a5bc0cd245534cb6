"""Kaplan-Meier from counts of outcomes that merge."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Floats
from .._tools.sorting import sorting_order
from ..data.outcomes import Outcomes
from ..errors import InputError
from .kaplan_meier import KaplanMeier, RiskTable
from .reference import Reference

#: Outcomes are counted in cells instead of being sorted, where so many cells for each suffice.
_CELLS_EACH = 8
#: A stable sort merges so many parts, each of which is sorted, faster than others sort.
_FEW_RUNS = 16


class OutcomeCounts:
    """Events and subjects at each distinct time: small where times are tied, mergeable always.

    Everything that Kaplan-Meier, the censoring distribution and the reference set of an evaluation
    need of the outcomes. With several causes the events of each are counted.

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
        self.total: Floats = np.empty(0)
        #: Names of the causes, as the outcomes have them; None: one kind of event.
        self.causes: tuple[str, ...] | None = None
        #: Events of each cause, (times, causes).
        self._events: Floats = np.empty((0, 1))
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._size = 0

    def update(self, y: Any) -> None:
        """Add outcomes: anything that `Outcomes.of` reads, and several causes."""
        found = Outcomes.of(y, causes=isinstance(y, Outcomes) or None).present()
        self._same_causes(found.causes)
        happened = found.event[:, None]
        if found.cause is not None and found.causes is not None:
            happened = found.cause[:, None] == np.arange(1, len(found.causes) + 1)
        events = happened * found.weight[:, None] if found.weighted else happened
        self._add(found.time + 0.0, events, found.weight)  # one zero only

    def _same_causes(self, causes: tuple[str, ...] | None) -> None:
        """Learn the causes from the first outcomes; all others have the same."""
        empty = not self.times.size and not self._waiting
        if empty and causes is not None and self.causes is None:
            self.causes, self._events = causes, np.empty((0, len(causes)))
        if causes != self.causes:
            raise InputError(f"causes must be the same in all parts; got {self.causes}, {causes}")

    @property
    def events(self) -> Floats:
        """Events of whatever cause at each time."""
        return self._events.sum(axis=1)

    def merge(self, other: OutcomeCounts) -> None:
        """Add the counts of another part."""
        other._settle()
        if not other.times.size:
            return
        self._same_causes(other.causes)
        self.dropped = max(self.dropped, other.dropped)
        self._add(other.times, other._events, other.total)

    def _add(self, times: Floats, events: NDArray[Any], total: Floats) -> None:
        # Bits that are dropped in the end are dropped at once, so that less has to be kept.
        if self.most is not None and not self.dropped and times.size > self.most:
            self.dropped = _bits_to_drop(np.sort(times), self.most, 0)
        self._waiting.append(_grouped(times, events, total, self.dropped))
        self._size += self._waiting[-1][0].size
        # Sorted together once as much is waiting as is there: n log n in all, not n^2.
        if self._size > max(self.times.size, 1 << 17):
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        parts = [(self.times, self._events, self.total), *self._waiting]
        times, events, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        grouped = _grouped(times, events, total, self.dropped)
        if self.most is not None and grouped[0].size > self.most:
            self.dropped = _bits_to_drop(grouped[0], self.most, self.dropped)
            grouped = _grouped(*grouped, self.dropped)
        self.times, self._events, self.total = grouped
        self._waiting, self._size = [], 0

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
        return KaplanMeier.from_table(self.table())

    def censoring(self) -> KaplanMeier:
        """G, the distribution of the censoring time."""
        return KaplanMeier.from_table(self.table(), censoring=True)

    def outcomes(self) -> Outcomes:
        """Return outcomes with frequencies that have these counts, events first at equal times."""
        table = self.table()
        codes = np.arange(self._events.shape[1] + 1, dtype=np.int32)
        codes = np.append(codes[1:], codes[0]).repeat(table.times.size)  # censored last
        time = np.tile(table.times, self._events.shape[1] + 1)
        weight = np.concatenate((self._events.T.ravel(), table.censored))
        kept = weight > 0
        time, codes, weight = time[kept], codes[kept], weight[kept]
        plain = bool((weight == 1).all())
        cause = None if self.causes is None else codes
        return Outcomes._trusted(time, codes > 0, None if plain else weight, cause, self.causes)

    def reference(self) -> Reference:
        """Return the reference set with these counts."""
        return Reference(self.outcomes(), causes=True)


def _grouped(
    times: Floats, events: NDArray[Any], total: Floats, dropped: int
) -> tuple[Floats, Floats, Floats]:
    """Add up what has the same time without its last bits; the times come back rising.

    >>> _grouped(np.array([2.0, 1.0, 2.0]), np.array([[1], [0], [0]]), np.ones(3), 0)
    (array([1., 2.]), array([[0.], [1.]]), array([1., 2.]))
    """
    keys = np.ascontiguousarray(times).view(np.uint64) >> np.uint64(dropped)
    low, high = (keys.min(), keys.max()) if keys.size else (np.uint64(0), np.uint64(0))
    if int(high - low) < _CELLS_EACH * keys.size:  # one cell for each time that there could be
        place = (keys - low).astype(np.intp)
        here = np.bincount(place, total).astype(np.float64, copy=False)
        kept = np.flatnonzero(here)
        cells = [np.bincount(place, column)[kept] for column in events.T]
        return _times_of(kept.astype(np.uint64) + low, dropped), np.stack(cells, 1), here[kept]
    runs = 1 + np.count_nonzero(keys[1:] < keys[:-1])
    order = keys.argsort(kind="stable") if runs <= _FEW_RUNS else sorting_order(times)
    keys = keys[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    counted, together = events[order].astype(np.float64, copy=False), total[order]
    if first.size < keys.size:
        keys = keys[first]
        counted, together = (np.add.reduceat(part, first) for part in (counted, together))
    return _times_of(keys, dropped), counted, together


def _times_of(keys: NDArray[np.uint64], dropped: int) -> Floats:
    """Return times from their leading bits."""
    return (keys << np.uint64(dropped)).view(np.float64)


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
