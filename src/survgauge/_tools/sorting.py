"""Orders and positions: sorting once, and looking up many values in sorted ones."""

from __future__ import annotations

import numpy as np

from .arrays import Bools, Floats, Ints
from .running import QUERIES, chunks, run_all

#: Below this many values an argsort is as good.
_FEW = 1_500


def sorting_order(values: Floats) -> Ints:
    """Rows by value, equal values by row; no value may be NaN.

    Keys are the leading bits of a value, then its row. Values that agree in all the bits that are
    left may fall in that order, which is usually nobody; then an argsort decides.

    >>> sorting_order(np.array([3.0, -1.0, 3.0, 0.5]))
    array([1, 3, 0, 2])
    """
    n = values.size
    if n < _FEW:
        return values.argsort(kind="stable")
    ordered = (values + 0.0).view(np.int64)  # there is one zero only
    # Of negative numbers all bits but the sign count downwards.
    ordered ^= (ordered >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    ordered -= ordered.min()  # may wrap round, to what is right without a sign
    key, bits = ordered.view(np.uint64), (n - 1).bit_length()
    key >>= np.uint64(max(int(key.max()).bit_length() + bits - 64, 0))
    key <<= np.uint64(bits)
    key |= np.arange(n, dtype=np.uint64)
    key.sort()
    key &= np.uint64((1 << bits) - 1)
    order = key.view(np.int64).astype(np.intp, copy=False)
    found = values[order]
    return order if (found[1:] >= found[:-1]).all() else values.argsort(kind="stable")


def sorted_outcomes(time: Floats, event: Bools) -> tuple[Floats, Bools]:
    """Times in order, and the flags that belong to them, by one plain sort.

    A time has no sign: its bit is free for the flag, which then moves with the time.

    >>> sorted_outcomes(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    (array([1., 2., 3.]), array([False,  True,  True]))
    """
    key = (time + 0.0).view(np.uint64)  # there is one zero only
    key <<= np.uint64(1)
    key |= event
    key.sort()
    flag = (key & np.uint64(1)).astype(np.bool_)
    key >>= np.uint64(1)
    return key.view(np.float64), flag


#: Fewer values, or values in a smaller table, are looked up as they come.
_FEW_VALUES, _SMALL_TABLE = 2_048, 16_384


def look_up(table: Floats, values: Floats, side: str = "right") -> Ints:
    """`numpy.searchsorted`, of many values in a large table in their order; none may be NaN.

    Neighbours then find each other's part of the table in the cache.

    >>> look_up(np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 0.5]))
    array([2, 2, 0])
    """
    if values.size < _FEW_VALUES or table.size < _SMALL_TABLE:
        return table.searchsorted(values, side)  # type: ignore[call-overload]
    found = np.empty(values.size, dtype=np.intp)

    def fill(rows: slice) -> None:
        order = sorting_order(values[rows])
        places: Ints = table.searchsorted(values[rows][order], side)  # type: ignore[call-overload]
        found[rows][order] = places

    run_all(fill, chunks(values.size, size=QUERIES))
    return found
