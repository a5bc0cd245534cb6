"""Places of values in a sorted table, as `numpy.searchsorted` finds them, at a flat cost.

A binary search touches memory all over a large table. Two ways avoid it. A table that is asked
again and again, or by many values, is cut into buckets: the bucket of a value says where to begin,
and a step or two lead to its place. Otherwise the values are sorted first, so that neighbours touch
neighbouring memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .array_types import Floats, Ints
from .chunks import QUERIES, chunks
from .sorting import sorting_order
from .threads import run_all

#: Fewer values, or values in a smaller table, are looked up one by one.
_FEW_VALUES, _SMALL_TABLE = 2_048, 64
#: Buckets for each entry of a table; above the second number as many as entries. The fewer there
#: are, the sooner they fit into the cache.
_BUCKETS_EACH, _MANY_BUCKETS = 4, 1 << 18
#: Buckets of a kept table pay off where there is a value to look up for every so many entries.
_ENTRIES_EACH = 64
#: Entries in the bucket of a typical entry; with more of them buckets do not help.
_CROWDED = 8.0
#: Least offset of the buckets, as a share of the table's width.
_LEAST_OFFSET = 1e-12
#: Steps from the beginning of a bucket before a binary search goes on.
_MOST_STEPS = 8


def look_up(table: Floats, values: Floats, side: str = "right") -> Ints:
    """`numpy.searchsorted` in a table that is asked once; no value may be NaN.

    >>> look_up(np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 0.5]))
    array([2, 2, 0])
    """
    if values.size >= _BUCKETS_EACH * table.size:
        return Places(table).of(values, side)
    return _searched(table, values, side)


class Places:
    """Finds the places of values in a sorted table that is kept; no value may be NaN.

    Parameters
    ----------
    table : ndarray of shape (K,)
        Rising numbers; equal ones are allowed.

    Examples
    --------
    >>> Places(np.array([1.0, 2.0, 4.0])).of(np.array([3.0, 2.0, 0.5]))
    array([2, 2, 0])
    """

    def __init__(self, table: Floats) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return Places, (self.table,)  # buckets are made anew faster than they travel

    def of(self, values: Floats, side: str = "right") -> Ints:
        """Return how many entries are at or before each value (``"left"``: before it)."""
        few = values.size < _FEW_VALUES or _ENTRIES_EACH * values.size < self.table.size
        if few or self._buckets is None:
            return _searched(self.table, values, side)
        found, search = np.empty(values.size, dtype=np.intp), self._buckets.search

        def fill(rows: slice) -> None:
            search(values[rows], side, found[rows])

        run_all(fill, chunks(values.size, size=QUERIES))
        return found

    @cached_property
    def _buckets(self) -> _Buckets | None:
        """The table cut into buckets; None where these do not help."""
        table = self.table
        if not _SMALL_TABLE <= table.size < np.iinfo(np.int32).max:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            width, early = table[[-1, table.size // 8]] - table[0]
        if not 0 < width < np.inf:
            return None
        most = max(table.size, min(_BUCKETS_EACH * table.size, _MANY_BUCKETS))
        buckets = _Buckets(table, max(early, _LEAST_OFFSET * width), most)
        return None if buckets.crowd > _CROWDED else buckets


class _Buckets:
    """A sorted table in buckets that grow with the distance from its start.

    The bits of a float count evenly between two powers of two, and more and more coarsely from one
    power to the next. So the leading bits of what a value is above the first entry, plus an
    `offset`, number buckets of equal width up to the offset and wider and wider ones past it, as
    times have it that become rare. Neither rounding nor cutting bits off changes the order of
    values, so all entries in earlier buckets than that of a value come before the value.
    """

    def __init__(self, table: Floats, offset: float, most: int) -> None:
        self._table, self._offset = table, offset
        first, last = (float(table[k] - table[0]) + offset for k in (0, -1))
        bits = np.array([first, last]).view(np.int64).tolist()
        self._cut = ((bits[1] - bits[0]) // most).bit_length()
        self._first, self._count = bits[0] >> self._cut, (bits[1] - bits[0]) >> self._cut
        #: How many entries come before each bucket.
        self._before: NDArray[np.int32] = np.zeros(self._count + 4, dtype=np.int32)
        inside = self._before[1:]
        for rows in chunks(table.size):
            numbers = self._number(table[rows])
            low, high = numbers[[0, -1]]
            inside[low : high + 1] += np.bincount(numbers - low).astype(np.int32)
        #: Entries that share the bucket of an entry, on average.
        self.crowd = np.einsum("i,i->", inside, inside, dtype=np.float64) / table.size
        np.cumsum(inside, out=inside)

    def _number(self, values: Floats) -> Ints:
        """Return the bucket of each value; those past the table are in the last one."""
        with np.errstate(over="ignore"):
            above = values - self._table[0]
            above += self._offset
        number = above.view(np.int64)
        number >>= self._cut
        number -= self._first
        np.clip(number, 0, self._count + 2, out=number)
        return number.astype(np.intp, copy=False)

    def search(self, values: Floats, side: str, out: Ints) -> None:
        """Begin where the bucket of a value begins, and step past the entries before the value."""
        table, passes = self._table, np.less_equal if side == "right" else np.less
        out[:] = self._before.take(self._number(values), mode="clip")
        step = passes(table.take(out, mode="clip"), values)
        step &= out < table.size
        out += step
        rows = np.flatnonzero(step)
        for _ in range(_MOST_STEPS):
            if not rows.size:
                return
            place = out.take(rows)
            goes_on = passes(table.take(place, mode="clip"), values.take(rows))
            rows = rows[goes_on & (place < table.size)]
            out[rows] += 1
        out[rows] = table.searchsorted(values[rows], side)  # type: ignore[call-overload]


def _searched(table: Floats, values: Floats, side: str) -> Ints:
    """Search for many values in a large table in their order, for others as they come."""
    if values.size < _FEW_VALUES or table.size < _SMALL_TABLE:
        return table.searchsorted(values, side)  # type: ignore[call-overload]
    if values[0] == values[-1] and (values == values[0]).all():  # one prediction for everybody
        one: Ints = table.searchsorted(values[:1], side)  # type: ignore[call-overload]
        return np.repeat(one, values.size)
    found = np.empty(values.size, dtype=np.intp)

    def fill(rows: slice) -> None:
        order = sorting_order(values[rows])
        places: Ints = table.searchsorted(values[rows][order], side)  # type: ignore[call-overload]
        found[rows][order] = places

    run_all(fill, chunks(values.size, size=QUERIES))
    return found
