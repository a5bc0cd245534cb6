"""Subjects in order of risk, named by their position in time, without a look-up of either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._tools import chunks as sizes
from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.chunks import chunks
from ..._tools.sorting import KeyMaker


class ByRisk(NamedTuple):
    """Subjects in rising order of risk."""

    position: Ints  #: where they stand in time order
    new: Bools | None  #: whether the risk differs from that before; None: always

    def pieces(self) -> Iterator[slice]:
        """Cut into parts that share no risk."""
        n, start = self.position.size, 0
        while start < n:
            stop = min(start + sizes.CHUNK, n)
            if self.new is not None and stop < n:
                step = int(np.argmax(self.new[stop:]))
                stop = stop + step if self.new[stop + step] else n
            yield slice(start, stop)
            start = stop


class RiskSorter:
    """Sort columns of risks; exact, ties included.

    Keys have the subject's position as their label and are sorted in place: that costs half of an
    argsort, and the positions come out in order of risk. Where bits that differ had to be left
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

    def __init__(self, order: Ints, always: Bools | None = None) -> None:
        n = order.size
        self._order = order
        self._bits = max(1, (n - 1).bit_length())
        self._position = np.empty(n, dtype=np.int32)
        self._position[order] = np.arange(n, dtype=np.int32)
        self._always: Bools | None = None
        if always is not None:
            self._always = np.empty(n, dtype=np.bool_)
            self._always[order] = always
        self._key = np.empty(n, dtype=np.uint64)
        self._new = np.empty(n, dtype=np.bool_)

    def __call__(self, risk: Floats, first: int = 0) -> ByRisk:
        """Those at positions from `first` on, and always some; valid until the next call."""
        size, exact = self._fill(risk, first)
        key, new = self._key[:size], self._new[:size]
        key.sort()
        last = None
        for rows in chunks(size):
            leading = key[rows] >> np.uint64(self._bits)
            new[rows.start] = last is None or leading[0] != last
            np.not_equal(leading[1:], leading[:-1], out=new[rows][1:])
            last = leading[-1]
            key[rows] &= np.uint64((1 << self._bits) - 1)
        position, distinct = key.view(np.int64).astype(np.intp, copy=False), bool(new.all())
        if not exact and not distinct:
            self._sort_equal_keys(risk, position, new)
            distinct = bool(new.all())
        return ByRisk(position, None if distinct else new)

    def _fill(self, risk: Floats, first: int) -> tuple[int, bool]:
        """Make the keys: how many, and whether equal keys mean equal risks."""
        if not risk.size:
            return 0, True
        make, size, exact = KeyMaker(risk, self._bits), 0, True
        for rows in chunks(risk.size):
            position = self._position[rows]
            key, kept = make(risk[rows], position.view(np.uint32))
            exact = exact and kept
            if first > 0:
                member = position >= first
                if self._always is not None:
                    member |= self._always[rows]
                # A mask would be followed bit by bit, with a branch at each.
                key = key.take(member.nonzero()[0])
            self._key[size : size + key.size] = key
            size += key.size
        return size, exact

    def _sort_equal_keys(self, risk: Floats, position: Ints, new: Bools) -> None:
        """Put those right who share a key but not the risk, in place."""
        shared = ~new
        shared[:-1] |= ~new[1:]
        place = np.flatnonzero(shared)
        found, group = risk[self._order[position[place]]], np.cumsum(new[place])
        differ = np.flatnonzero((found[1:] != found[:-1]) & (group[1:] == group[:-1]))
        if differ.size == 0:  # as a rule, those who share a key share the risk
            return
        mixed = np.zeros(group[-1] + 1, dtype=np.bool_)
        mixed[group[differ]] = True
        some = np.flatnonzero(mixed[group])
        place, found, group = place[some], found[some], group[some]
        by_risk = np.lexsort((found, group))
        position[place], found = position[place[by_risk]], found[by_risk]
        new[place[1:]] |= found[1:] != found[:-1]
