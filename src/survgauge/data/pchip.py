"""Blocks of curves that are monotone cubics between their grid points."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from . import interpolation as kernel
from .tails import tail_survival


class PchipBlock:
    """Rows of monotone cubics, complete with their first point."""

    def __init__(self, rows: Any, t: Floats, s: Floats, tail: str) -> None:
        self.rows, self.t, self.s, self.tail = rows, np.broadcast_to(t, s.shape), s, tail
        self.slopes = kernel.pchip_slopes(t, s) if s.shape[1] > 1 else np.zeros_like(s)

    def _interval(self, k: Any) -> tuple[Floats, ...]:
        rows = np.arange(self.s.shape[0])
        t0, t1 = self.t[rows, k], self.t[rows, k + 1]
        ends = self.s[rows, k], self.s[rows, k + 1]
        return t0, t1 - t0, *ends, self.slopes[rows, k], self.slopes[rows, k + 1]

    def value(self, t: Floats) -> Floats:
        """Survival of each row at its own time."""
        past = t >= self.t[:, -1]
        if self.s.shape[1] > 1:
            k = np.clip(kernel.left_index(self.t, t), 0, self.s.shape[1] - 2)
            t0, gap, *rest = self._interval(k)
            out = kernel.hermite(np.clip((t - t0) / gap, 0, 1), gap, *rest)
        else:
            out = self.s[:, 0].copy()
        if past.any():
            last, ends = self.t[past, -1], self.s[past, -1]
            tail = tail_survival(t[past], last, ends, self.tail)
            out[past] = np.where(t[past] > last, tail, ends)
        return out

    def crossing(self, p: float) -> Floats:
        """First time of each row with S <= p, within the grid."""
        k = kernel.first_at_or_below(self.s, p, np.arange(self.s.shape[0]))
        if self.s.shape[1] == 1:
            return self.t[:, 0].copy()
        t0, gap, *rest = self._interval(np.clip(k - 1, 0, self.s.shape[1] - 2))
        inside = t0 + gap * kernel.hermite_crossing(p, gap, *rest)
        return np.where(k == 0, self.t[:, 0], inside)

    def area(self, stop: float) -> Floats:
        """Area under each row up to `stop`, within the grid."""
        gap = np.diff(self.t, axis=1)
        x = np.clip((stop - self.t[:, :-1]) / gap, 0.0, 1.0)
        s, slopes = self.s, self.slopes
        pieces = kernel.hermite_area(x, gap, s[:, :-1], s[:, 1:], slopes[:, :-1], slopes[:, 1:])
        return np.sum(pieces, axis=1)
