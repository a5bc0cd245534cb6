"""Sorting by plain sorts of integer keys, which cost a fraction of an argsort.

A float64 that is not NaN keeps its order when its bits are read as an integer, so that a subject's
row number (or event flag) fits into the low bits of one 64-bit key. Sorting the keys touches memory
in sequence; an argsort looks its values up all over it, and gets slower with size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .array_types import Bools, Floats, Ints
from .chunks import chunks

#: Below this many values an argsort is as good.
_FEW = 1_500
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
        for rows in chunks(bits.size):
            some = bits[rows]
            some ^= (some >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    return bits


class KeyMaker:
    """Makes 64-bit keys of values: the leading bits of a value above a label of `bits` bits.

    None of the values may be NaN.
    """

    def __init__(self, values: Floats, bits: int) -> None:
        low, high = ordered_bits(np.array([values.min(), values.max()])).tolist()
        self.bits, self._low = bits, low
        self._lost = max((high - low).bit_length() + bits - 64, 0)

    def __call__(self, values: Floats, label: NDArray[Any]) -> tuple[NDArray[np.uint64], bool]:
        """Keys of some values, and whether keys of different values differ before the label."""
        ordered = ordered_bits(values)
        ordered -= self._low  # may wrap round, to what is right without a sign
        key, exact = ordered.view(np.uint64), True
        if self._lost:
            exact = not int(np.bitwise_or.reduce(key)) & ((1 << self._lost) - 1)
            key >>= np.uint64(self._lost)
        key <<= np.uint64(self.bits)
        key |= label
        return key, exact


def _keys(values: Floats) -> tuple[NDArray[np.uint64], int]:
    """Leading bits above the row number, and how many bits that takes."""
    make = KeyMaker(values, (values.size - 1).bit_length())
    key = np.empty(values.size, dtype=np.uint64)
    for rows in chunks(values.size):
        key[rows] = make(values[rows], np.arange(rows.start, rows.stop, dtype=np.uint64))[0]
    return key, make.bits


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
    for rows in chunks(key.size):  # a time has no sign: its bit is free for the flag
        key[rows] <<= np.uint64(1)
        key[rows] |= event[rows]
    key.sort()
    flag = np.empty(key.size, dtype=np.bool_)
    for rows in chunks(key.size):
        np.bitwise_and(key[rows], np.uint64(1), out=flag[rows], casting="unsafe")
        key[rows] >>= np.uint64(1)
    return key.view(np.float64), flag
