"""Curves for the time-dependent concordance: values, and bounds over a slab of anchors.

A *position* is a subject's place by time; see `_antolini` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._tools.array_types import Bools, Floats, Ints

Evaluate = Callable[[Ints, Floats], Floats]

_BLOCK = 2048  # curves per call of a function
_COLUMNS = 8  # grid points fetched at once: one cache line of a row
_MOST_VALUES = 4_000_000  # in a table of all curves
_ROUNDING = 1e-14  # more than any error in a probability after a few operations


class Anchors(NamedTuple):
    """Anchors of a slab: position, argument of the curves, own value, weight, first partner."""

    position: Ints
    x: Floats
    value: Floats
    left: Floats
    first: Ints

    def take(self, index: Ints | slice) -> Anchors:
        """Return some of the anchors, or all in another order."""
        parts: Any = (part[index] for part in self)
        return Anchors(*parts)


class Values(Protocol):
    """Curves of subjects, as functions of the source's own argument x."""

    group: int  # anchors evaluated together

    def own(self, position: Ints, x: Floats) -> Floats:
        """Value of each of the positions at its own x."""

    def values(self, position: Ints, x: Floats) -> Floats:
        """Values of the positions at all x, of shape (x, position)."""


class SlabCurves(Values, Protocol):
    """Curves of subjects at risk over one slab."""

    def ends(self, position: Ints, slab: Anchors) -> Floats:
        """Values at the two ends of the slab, (2, position); equal only if constant between."""

    def frame(self, position: Ints, ends: Floats, slab: Anchors, tolerance: float) -> Frame:
        """How to look at these curves, so that few pairs are left open; valid for all others."""

    def changes(self, position: Ints) -> Bools:
        """Whether a curve differs from the one before it in the list."""


class CurveSource(Protocol):
    """Where curves come from."""

    def segments(self, t: Floats) -> Ints:
        """Number the stretches of time over which `curves` holds."""

    def curves(self, start: int, t: Floats) -> tuple[SlabCurves, Floats]:
        """Curves of all positions from `start` on over the segment of `t`, and their x at `t`."""

    def whole(self) -> Values | None:
        """Curves of all positions as functions of time; None where that costs too much."""


class SlabLines:
    """Straight lines A + B x, 0 <= x < 1, of all positions from `start` on.

    Rounding is monotone, hence so is the computed A + B x in x: its values at two ends bound it.
    """

    group = 16

    def __init__(self, start: int, level: Floats, slope: Floats) -> None:
        self.start, self.level, self.slope = start, level, slope

    def own(self, position: Ints, x: Floats) -> Floats:
        at = position - self.start
        return self.level[at] + self.slope[at] * x

    def values(self, position: Ints, x: Floats) -> Floats:
        at = position - self.start
        value = self.slope[at] * x[:, None]
        value += self.level[at]
        return value

    def ends(self, position: Ints, slab: Anchors) -> Floats:
        return self.values(position, slab.x[[0, -1]])

    def changes(self, position: Ints) -> Bools:
        level, slope = self.level[position - self.start], self.slope[position - self.start]
        new = (level[1:] != level[:-1]) | (slope[1:] != slope[:-1])
        return np.concatenate(([True], new))

    def frame(self, position: Ints, ends: Floats, slab: Anchors, tolerance: float) -> Frame:
        every = slice(None, None, max(1, position.size // 1000))
        margin = tolerance + _ROUNDING
        frames = (
            Frame(0.0, 0.0, 0.0, margin if tolerance > 0 else 0.0),
            self._fall(position[every], margin),
        )
        # A sample of curves tells which view leaves fewer pairs to evaluate.
        return min(frames, key=lambda frame: _open_pairs(*frame.ranges(ends[:, every], slab)))

    def _fall(self, position: Ints, margin: float) -> Frame:
        """Regression of B on A: the fall that the curves have in common."""
        level, slope = self.level[position - self.start], self.slope[position - self.start]
        centre, fall = float(level.mean()), float(slope.mean())
        spread = float(np.sum((level - centre) ** 2))
        shrink = float(np.dot(level - centre, slope)) / spread if spread > 0 else 0.0
        return Frame(centre, fall, max(shrink, -0.9), margin)


class Frame(NamedTuple):
    """View from a falling frame, u = (v - centre - fall x) / (1 + shrink x).

    u rises with v, and along a line v = A + B x it is monotone in x; so its values at two ends
    bound it too, and far more closely where curves fall together. `margin` is in units of v.
    """

    centre: float
    fall: float
    shrink: float
    margin: float

    def ranges(self, ends: Floats, slab: Anchors) -> tuple[Floats, Floats, Floats]:
        """Bounds (low, high) of the curves over the slab and the anchors' values beside them.

        value < low proves the curve to be above the anchor, and value > high to be below it, by
        more than the tolerance.
        """
        x = slab.x[[0, -1]][:, None]
        scale = 1.0 + self.shrink * x
        slack = self.margin / float(scale.min())
        ends = (ends - self.centre - self.fall * x) / scale
        value = (slab.value - self.centre - self.fall * slab.x) / (1.0 + self.shrink * slab.x)
        return np.minimum(*ends) - slack, np.maximum(*ends) + slack, value


def _open_pairs(low: Floats, high: Floats, value: Floats) -> int:
    """Pairs that the ranges do not decide."""
    value = np.sort(value)
    return int(np.sum(np.searchsorted(value, high, "right") - np.searchsorted(value, low, "left")))


class OnGrid:
    """Curves on a shared grid; a few columns at a time are laid out by position."""

    def __init__(
        self,
        times: Floats,
        survival: NDArray[Any],
        order: Ints,
        interpolation: str,
        before: float,
    ) -> None:
        self.times, self.survival, self.order = times, survival, order
        self.linear, self.before = interpolation == "linear", before
        self.table, self.column, self.start = np.empty((0, 0)), 0, 0

    def segments(self, t: Floats) -> Ints:
        return np.searchsorted(self.times, t, "right") - 1

    def curves(self, start: int, t: Floats) -> tuple[SlabCurves, Floats]:
        k = int(np.searchsorted(self.times, t[0], "right")) - 1
        n = self.order.size - start
        level = np.full(n, self.before) if k < 0 else self._fetch(k, start)
        if not self.linear or k + 1 == self.times.size:
            return SlabLines(start, level, np.broadcast_to(0.0, n)), np.zeros(t.size)
        begin = 0.0 if k < 0 else self.times[k]
        x = (t - begin) / (self.times[k + 1] - begin)
        return SlabLines(start, level, self._fetch(k + 1, start) - level), x

    def whole(self) -> WholeLines | None:
        if self.survival.size > _MOST_VALUES:
            return None
        table = self.survival[self.order].T.astype(np.float64)
        times = self.times
        if times[0] > 0:
            table = np.concatenate((np.full((1, self.order.size), self.before), table))
            times = np.concatenate(([0.0], times))
        return WholeLines(times, table, self.linear)

    def _fetch(self, column: int, start: int) -> Floats:
        if not 0 <= column - self.column < len(self.table):
            block = self.survival[self.order[start:], column : column + _COLUMNS]
            self.table, self.column, self.start = block.T.astype(np.float64), column, start
        return self.table[column - self.column, start - self.start :]


class WholeLines:
    """Curves on a shared grid over all of its times, with the values of `SlabLines` to the bit."""

    group = 64

    def __init__(self, times: Floats, table: Floats, linear: bool) -> None:
        self.times, self.table, self.linear = times, table, linear

    def _places(self, t: Floats) -> tuple[Ints, Ints, Floats]:
        """Grid points before and after, and how far each time is between them."""
        before = self.times.searchsorted(t, "right") - 1
        after = np.minimum(before + self.linear, self.times.size - 1)
        begin = self.times[before]
        return before, after, (t - begin) / np.where(after > before, self.times[after] - begin, 1.0)

    def own(self, position: Ints, x: Floats) -> Floats:
        before, after, share = self._places(x)
        level = self.table[before, position]
        return level + (self.table[after, position] - level) * share

    def values(self, position: Ints, x: Floats) -> Floats:
        # Positions are neighbours here: rows of the table are copied from the first to the last.
        table = self.table[:, position[0] : position[-1] + 1]
        before, after, share = self._places(x)
        level = table[before]
        value = table[after]
        value -= level
        value *= share[:, None]
        value += level
        return value


class Function:
    """Curves behind a function of (rows, t), which must not rise.

    `times` only cuts time into stretches; curves with the same `key` are copies of each other.
    """

    group = 32

    def __init__(self, at: Evaluate, order: Ints, times: Floats | None, key: Floats | None) -> None:
        self.at, self.order, self.times, self.key = at, order, times, key

    def segments(self, t: Floats) -> Ints:
        if self.times is None:
            return np.zeros(t.size, dtype=np.intp)
        return np.searchsorted(self.times, t, "right")

    def curves(self, start: int, t: Floats) -> tuple[SlabCurves, Floats]:
        return self, t

    def whole(self) -> None:
        return None

    def own(self, position: Ints, x: Floats) -> Floats:
        # From the same function as the partners' values, so that equal curves tie exactly.
        value = np.empty(x.size)
        for begin in range(0, x.size, 16):
            part = slice(begin, begin + 16)
            value[part] = np.diagonal(self.values(position[part], x[part]))
        return value

    def values(self, position: Ints, x: Floats) -> Floats:
        return self.at(self.order[position], x).T

    def changes(self, position: Ints) -> Bools:
        if self.key is None:
            return np.ones(position.size, dtype=np.bool_)
        key = self.key[position]
        return np.concatenate(([True], key[1:] != key[:-1]))

    def ends(self, position: Ints, slab: Anchors) -> Floats:
        value = np.empty((2, position.size))
        for begin in range(0, position.size, _BLOCK):
            chunk = slice(begin, begin + _BLOCK)
            value[:, chunk] = self.values(position[chunk], slab.x[[0, -1]])
        return value

    def frame(self, position: Ints, ends: Floats, slab: Anchors, tolerance: float) -> Frame:
        return Frame(0.0, 0.0, 0.0, tolerance + _ROUNDING)
