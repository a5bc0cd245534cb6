"""Curves on a shared grid read at common times, block by block, without new memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .interpolation import Curves
from .tails import tail_survival


class Scratch:
    """Arrays by name that are used again: at the size of a block fresh memory costs page faults.

    One belongs to one thread.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def __call__(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        """Return an array of that shape with whatever it held before."""
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.size < size or kept.dtype != dtype:
            kept = self._kept[name] = np.empty(size, dtype=dtype)
        return kept[:size].reshape(shape)


class GridColumns:
    """Where times lie on a grid: found once, read for many rows of lines or steps.

    Before the grid all curves are at `origin`: 1 for survival, 0 for incidence.
    """

    def __init__(
        self, grid: Floats, t: Floats, interpolation: str, tail: str, origin: float = 1.0
    ) -> None:
        past = t > grid[-1]
        #: Times up to the end of the grid; all of them unless those past it come last.
        self._within = t.size - int(past.sum()) if not (past[:-1] > past[1:]).any() else t.size
        k = grid.searchsorted(t[: self._within], "right") - 1
        self._left = np.maximum(k, 0)
        self._before = np.flatnonzero(k < 0)
        self._share: Floats | None = None
        if interpolation == "linear":
            self._right = np.minimum(k + 1, grid.size - 1)
            start = np.where(k < 0, 0.0, grid[self._left])
            inside = (k + 1 < grid.size) & (t[: self._within] > start)
            step = np.where(inside, grid[self._right] - start, 1.0)
            share = np.where(inside, (t[: self._within] - start) / step, 0.0)
            self._share = share if share.any() else None
        self._past = np.flatnonzero(past)
        self._late, self._last, self._tail = t[past], grid[-1:], tail
        self._lines = tail == "linear" and grid[-1] > 0 and bool(np.isfinite(self._late).all())
        self.size, self._origin = t.size, origin

    def read(self, survival: Curves, scratch: Scratch | None = None) -> Floats:
        """Values of a block of rows, (rows, times), in the scratch or in new memory."""
        shape = survival.shape[0], self.size
        out: Floats = np.empty(shape) if scratch is None else scratch("columns", shape)
        part, left = out[:, : self._within], survival[:, self._left]
        if self._before.size:
            left[:, self._before] = self._origin
        if self._share is None:
            part[...] = left
        else:
            np.subtract(survival[:, self._right], left, out=part, dtype=np.float64)
            part *= self._share
            part += left
        if self._past.size:
            self._extend(out, survival[:, -1:].astype(np.float64))
        return out

    def _extend(self, out: Floats, ends: Floats) -> None:
        """Fill in the times past the grid."""
        if self._lines:
            # The short form of `tail_survival`, which also holds where a curve ends at 0 or 1.
            value = (1.0 - ends) * -(self._late / self._last)
            value += 1.0
            out[:, self._past] = np.maximum(value, 0.0, out=value)
        else:
            out[:, self._past] = tail_survival(self._late[None], self._last, ends, self._tail)
