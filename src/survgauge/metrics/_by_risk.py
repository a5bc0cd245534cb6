"""Subjects in order of risk, named by their position in time, without a look-up of either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

#: Subjects worked on together, in the cache.
PIECE = 32_768
_ALL_BUT_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)


class ByRisk(NamedTuple):
    """Subjects in rising order of risk."""

    position: IntArray  #: where they stand in time order
    new: BoolArray | None  #: whether the risk differs from that before; None: always

    def pieces(self) -> Iterator[slice]:
        """Cut into parts that share no risk."""
        n, start = self.position.size, 0
        while start < n:
            stop = min(start + PIECE, n)
            if self.new is not None and stop < n:
                step = int(np.argmax(self.new[stop:]))
                stop = stop + step if self.new[stop + step] else n
            yield slice(start, stop)
            start = stop


class RiskSorter:
    """Sort columns of risks; exact, ties included.

    A float64 keeps its order when its bits are read as an integer. The leading ones are put above
    the subject's position in one 64-bit key, and the keys are sorted in place: that costs half of
    an argsort, and the positions come out in order of risk. Where bits that differ had to be left
    out, subjects with equal keys are sorted again by their risks.

    Parameters
    ----------
    order : (n,) array
        Subject at each position.
    always : (n,) array, optional
        Whether a subject is sorted wherever it stands, by position.

    Examples
    --------
    >>> sort = RiskSorter(np.array([2, 0, 1]), np.array([True, False, True]))
    >>> sort(np.array([0.5, -1.0, 0.5]))
    ByRisk(position=array([2, 0, 1]), new=array([ True,  True, False]))
    >>> sort(np.array([0.5, -1.0, 0.5]), first=2)
    ByRisk(position=array([2, 0]), new=None)
    """

    def __init__(self, order: IntArray, always: BoolArray | None = None) -> None:
        n = order.size
        self._order = order
        self._bits = max(1, (n - 1).bit_length())
        self._position = np.empty(n, dtype=np.int32)
        self._position[order] = np.arange(n, dtype=np.int32)
        self._always: BoolArray | None = None
        if always is not None:
            self._always = np.empty(n, dtype=np.bool_)
            self._always[order] = always
        self._key = np.empty(n, dtype=np.uint64)
        self._new = np.empty(n, dtype=np.bool_)

    def __call__(self, risk: FloatArray, first: int = 0) -> ByRisk:
        """Those at positions from `first` on, and always some; valid until the next call."""
        size, exact = self._fill(risk, first)
        key, new = self._key[:size], self._new[:size]
        key.sort()
        before = ~key[:1] >> np.uint64(self._bits)
        for start in range(0, size, PIECE):
            piece = key[start : start + PIECE]
            leading = np.concatenate((before, piece >> np.uint64(self._bits)))
            np.not_equal(leading[1:], leading[:-1], out=new[start : start + PIECE])
            before = leading[-1:]
            piece &= np.uint64((1 << self._bits) - 1)
        position = key.view(np.int64).astype(np.intp, copy=False)
        if not exact and not new.all():
            self._sort_equal_keys(risk, position, new)
        return ByRisk(position, None if new.all() else new)

    def _fill(self, risk: FloatArray, first: int) -> tuple[int, bool]:
        """Make the keys: how many, and whether equal keys mean equal risks."""
        if not risk.size:
            return 0, True
        ends = _ordered(np.array([risk.min(), risk.max()]))
        span = int(ends[1]) - int(ends[0])
        lost, bits = max(span.bit_length() + self._bits - 64, 0), np.uint64(self._bits)
        size, exact = 0, True
        for start in range(0, risk.size, PIECE):
            key = _ordered(risk[start : start + PIECE])
            key -= ends[0]  # may wrap round, to what is right without a sign
            piece = key.view(np.uint64)
            exact = exact and not np.bitwise_or.reduce(piece) & np.uint64((1 << lost) - 1)
            piece >>= np.uint64(lost)
            piece <<= bits
            position = self._position[start : start + PIECE]
            piece |= position.view(np.uint32)
            if first > 0:
                member = position >= first
                if self._always is not None:
                    member |= self._always[start : start + PIECE]
                # A mask would be followed bit by bit, with a branch at each.
                piece = piece.take(np.flatnonzero(member))
            self._key[size : size + piece.size] = piece
            size += piece.size
        return size, exact

    def _sort_equal_keys(self, risk: FloatArray, position: IntArray, new: BoolArray) -> None:
        """Put those right who share a key but not the risk, in place."""
        shared = ~new
        shared[:-1] |= ~new[1:]
        place = np.flatnonzero(shared)
        found = risk[self._order[position[place]]]
        by_risk = np.lexsort((found, np.cumsum(new[place])))
        position[place], found = position[place[by_risk]], found[by_risk]
        new[place[1:]] |= found[1:] != found[:-1]


def _ordered(values: FloatArray) -> NDArray[np.int64]:
    """Integers in the same order; there is one zero only."""
    bits = (values + 0.0).view(np.int64)
    # Of negative numbers all bits but the sign count downwards.
    bits ^= (bits >> 63) & _ALL_BUT_SIGN
    return bits
