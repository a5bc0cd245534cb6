"""Sorting by plain sorts of integer keys, which cost a fraction of an argsort.

A float64 that is not NaN keeps its order when its bits are read as an integer, so that a subject's
row number (or event flag) fits into the low bits of one 64-bit key. Sorting the keys touches memory
in sequence; an argsort looks its values up all over it, and gets slower with size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

#: Below this many values an argsort is as good.
_FEW = 1_500
#: Keys are made in pieces that stay in the cache.
_PIECE = 32_768
#: Neighbours are exchanged this many times before an argsort does it.
_MOST_PASSES = 16


def sorting_order(values: Floats) -> Ints:
    """Rows by value, equal values by row; no value may be NaN.

    Keys are the leading bits of a value, then its row. Values that agree in all the bits that are
    left end up by row, and are put right afterwards: usually nobody.

    >>> sorting_order(np.array([3.0, -1.0, 3.0, 0.5]))
    array([1, 3, 0, 2])
    """
    n = values.size
    if n < _FEW:
        return values.argsort(kind="stable")
    key, bits = _keys(values)
    key.sort()
    key &= np.uint64((1 << bits) - 1)
    order = key.view(np.int64).astype(np.intp, copy=False)
    return _put_right(order, values)


def ordered_bits(values: Floats) -> NDArray[np.int64]:
    """Integers in the order of the values; there is one zero only.

    >>> bits = ordered_bits(np.array([-2.0, -0.0, 0.0, 1.0]))
    >>> np.diff(bits) > 0
    array([ True, False,  True])
    """
    bits = (values + 0.0).view(np.int64)
    if bits.size and bits.min() < 0:  # of negative numbers all bits but the sign count downwards
        for start in range(0, bits.size, _PIECE):
            piece = bits[start : start + _PIECE]
            piece ^= (piece >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    return bits


def _keys(values: Floats) -> tuple[NDArray[np.uint64], int]:
    """Leading bits above the row number, and how many bits that takes."""
    ordered = ordered_bits(values)
    low = ordered.min()
    span = int(ordered.max()) - int(low)
    bits = (values.size - 1).bit_length()
    lost = np.uint64(max(span.bit_length() + bits - 64, 0))
    ordered -= low  # may wrap round, to what is right without a sign
    key, row = ordered.view(np.uint64), np.arange(min(_PIECE, values.size), dtype=np.uint64)
    for start in range(0, key.size, _PIECE):
        some = key[start : start + _PIECE]
        some >>= lost
        some <<= np.uint64(bits)
        some |= row[: some.size] + np.uint64(start)
    return key, bits


def _put_right(order: Ints, values: Floats) -> Ints:
    """Exchange neighbours that fall, in place."""
    ordered = values[order]
    for _ in range(_MOST_PASSES):
        falls = np.flatnonzero(ordered[1:] < ordered[:-1])
        if falls.size == 0:
            return order
        if falls.size > order.size // 64:
            break
        # Of falls in a row every other one: exchanges must not share a member.
        run = np.cumsum(np.concatenate(([True], np.diff(falls) > 1)))
        first = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1])))
        falls = falls[(np.arange(falls.size) - first[run - 1]) % 2 == 0]
        for array in (order, ordered):
            array[falls], array[falls + 1] = array[falls + 1], array[falls]
    return values.argsort(kind="stable")


def sorted_outcomes(time: Floats, event: Bools) -> tuple[Floats, Bools]:
    """Times in order, and the flags that belong to them, censored before events at equal times.

    >>> sorted_outcomes(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    (array([1., 2., 3.]), array([False,  True,  True]))
    """
    key = (time + 0.0).view(np.uint64)
    for start in range(0, key.size, _PIECE):  # a time has no sign: its bit is free for the flag
        piece = key[start : start + _PIECE]
        piece <<= np.uint64(1)
        piece |= event[start : start + _PIECE]
    key.sort()
    flag = np.empty(key.size, dtype=np.bool_)
    for start in range(0, key.size, _PIECE):
        piece = key[start : start + _PIECE]
        np.bitwise_and(piece, np.uint64(1), out=flag[start : start + _PIECE], casting="unsafe")
        piece >>= np.uint64(1)
    return key.view(np.float64), flag
