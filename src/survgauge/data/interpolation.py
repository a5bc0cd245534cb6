"""Kernels on rows of survival values: tails, location, interpolation, area.

Clean arrays in, no checks. `times` is (m,), shared by all rows, or (n, m). A grid that starts after
zero is preceded by the virtual point (0, 1), index -1, so that no curve matrix is ever copied to
prepend a column.

A tail is how a survival function goes on past its last known point (last, s): `linear` follows the
line from (0, 1) through the last point down to zero, `exponential` keeps the constant hazard
through both points, `hold` keeps the probability and lets no time be read past the last one, `nan`
refuses to say.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Bools, Floats, Ints, look_up
from .._tools.running import BLOCK_VALUES, chunks
from ..errors import one_of

TAILS = ("linear", "exponential", "hold", "nan")


def check_tail(tail: object) -> None:
    """Refuse an unknown tail."""
    one_of("tail", tail, TAILS)


def tail_survival(t: float | Floats, last: float | Floats, s: float | Floats, tail: str) -> Floats:
    """Survival at `t` >= `last`, where the known part ends at (`last`, `s`)."""
    if tail == "hold":
        return np.broadcast_to(s, np.broadcast(t, s).shape)
    if tail == "nan":
        return np.where(s > 0, np.nan, np.zeros(np.broadcast(t, s).shape))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(last > 0, t / last, np.inf)
        if tail == "linear":
            value = np.maximum(0.0, 1.0 - ratio * (1.0 - s))
        else:
            value = np.power(s, ratio)
    # A curve that never fell stays at one; one that reached zero stays at zero.
    return np.where(s >= 1, 1.0, np.where(s <= 0, 0.0, value))


def tail_area(last: float | Floats, s: float | Floats, tail: str, stop: float = np.inf) -> Floats:
    """Area under the tail from `last` to `stop` (infinite where the curve never falls)."""
    last, s = np.asarray(last, dtype=np.float64), np.asarray(s, dtype=np.float64)
    width = np.maximum(stop - last, 0.0)
    if tail == "hold" or not width.any():
        return np.zeros(np.broadcast(last, s).shape)
    if tail == "nan":
        return np.where((s > 0) & (width > 0), np.nan, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if tail == "linear":
            end = last / (1.0 - s)
            whole = 0.5 * last * s * s / (1.0 - s)
            if np.isinf(stop):
                area = whole
            else:
                part = 0.5 * width * (s + 1.0 - stop * (1.0 - s) / last)
                area = np.where(stop >= end, whole, part)
        else:
            at_stop = 0.0 if np.isinf(stop) else np.power(s, stop / last)
            area = last * (s - at_stop) / -np.log(s)
    area = np.where((s <= 0) | (width <= 0) | (last <= 0), 0.0, area)
    return np.where(s >= 1, width, area)


def tail_time(p: float | Floats, last: float | Floats, s: float | Floats, tail: str) -> Floats:
    """First time at which the tail is at or below `p`, for curves that end above it (`s` > `p`)."""
    if tail == "hold":
        return np.broadcast_to(last, np.shape(s))
    if tail == "nan":
        return np.full(np.shape(s), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        time = last * (1.0 - p) / (1.0 - s) if tail == "linear" else last * np.log(p) / np.log(s)
    return np.where(s >= 1, np.inf, time)


Curves = NDArray[np.floating[Any]]


#: Rows of no more values than this are looked through from the start, which takes less time than
#: jumping in them.
_SCANNED = 256
#: Share of a probability that rounding may add to a step curve. A product of a million factors is
#: off by about 1e-13 and by no more than 4e-10, while one subject of a million is a step of 1e-6.
_ROUNDING = 1e-9


def reached_by_steps(p: float | Floats) -> float | Floats:
    """Level at or below which a step curve has reached `p`.

    The steps of 24 events are products that end at 0.5000000000000001 where 12/24 is meant, and a
    comparison with 1/2 itself would give the median one step late.

    >>> 0.5 < reached_by_steps(0.5) < 0.5 + 1e-9
    True
    """
    return p * (1.0 + _ROUNDING)


def first_at_or_below(survival: Curves, p: float | Floats, rows: Ints | None = None) -> Ints:
    """Per row, the first index whose value is <= p, or m; `p` is one level, or one a row.

    `rows` are some of the rows, perhaps several times; None: all of them.
    """
    n, m = survival.shape if rows is None else (rows.size, survival.shape[1])
    if m > _SCANNED:
        return _first_by_halves(survival, p, np.arange(n) if rows is None else rows)
    found = np.empty(n, dtype=np.intp)
    for part in chunks(n, size=BLOCK_VALUES // m):
        level = p if np.ndim(p) == 0 else np.asarray(p)[part, None]
        below = survival[part if rows is None else rows[part]] <= level
        found[part] = np.where(below[:, -1], below.argmax(axis=1), m)
    return found


def _first_by_halves(survival: Curves, p: float | Floats, rows: Ints) -> Ints:
    """`first_at_or_below` of long rows: binary search over all of them at once."""
    n, m = rows.size, survival.shape[1]
    low, high = np.zeros(n, dtype=np.intp), np.full(n, m, dtype=np.intp)
    for _ in range(int(m).bit_length()):
        middle = (low + high) >> 1
        # Rows that are settled look at a column that exists and keep low == high.
        below = survival[rows, np.minimum(middle, m - 1)] <= p
        open_ = low < high
        np.copyto(high, middle, where=open_ & below)
        np.copyto(low, middle + 1, where=open_ & ~below)
    return low


def left_index(times: Floats, t: Floats) -> Ints:
    """Index of the last grid time <= t for each subject's own t; -1 before the grid."""
    if times.ndim == 1:
        return look_up(times, t, "right") - 1
    return np.sum(times <= t[:, None], axis=1) - 1


def node(times: Floats, survival: Curves, rows: Ints, k: Ints) -> tuple[Floats, Floats]:
    """Times and values of grid points `k`, where -1 is the virtual point (0, 1)."""
    inside = np.maximum(k, 0)
    t = times[inside] if times.ndim == 1 else times[rows, inside]
    if survival.flags.c_contiguous:  # numbers of values are looked up faster than rows and columns
        s = survival.reshape(-1).take(rows * survival.shape[1] + inside)
    else:
        s = survival[rows, inside]
    s = s.astype(np.float64, copy=False)
    virtual = k < 0
    if virtual.any():
        t, s = np.where(virtual, 0.0, t), np.where(virtual, 1.0, s)
    return t, s


def area_weights(times: Floats, stop: float, interpolation: str) -> tuple[float, Floats]:
    """Write the area up to min(stop, last time) as constant + survival @ weights (shared grid)."""
    t = np.concatenate(([0.0], times))
    gap = np.diff(t)
    width = np.clip(stop - t[:-1], 0.0, gap)
    weight = np.zeros(t.size)
    if interpolation == "step":
        weight[:-1] = width
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            right = np.where(gap > 0, width * width / (2 * gap), 0.0)
        weight[:-1] += width - right
        weight[1:] += right
    return float(weight[0]), weight[1:]


def area_by_row(
    times: Floats, survival: Curves, stop: float | Floats, interpolation: str
) -> Floats:
    """Area up to min(stop, last time) for rows with grids of their own."""
    zero = np.zeros((times.shape[0], 1))
    t = np.concatenate((zero, times), axis=1)
    s = np.concatenate((zero + 1.0, survival), axis=1)
    gap = np.diff(t, axis=1)
    width = np.clip(stop - t[:, :-1], 0.0, gap)
    if interpolation == "step":
        return np.einsum("ij,ij->i", width, s[:, :-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        right = np.where(gap > 0, width * width / (2 * gap), 0.0)
    return np.einsum("ij,ij->i", width - right, s[:, :-1]) + np.einsum("ij,ij->i", right, s[:, 1:])


def pchip_slopes(t: Floats, s: Floats) -> Floats:
    """Slopes of the monotone cubic (Fritsch and Butland 1984) at all points, row by row.

    `t` is (m,) or (b, m) and strictly increasing, `s` is (b, m).
    """
    gap = np.diff(t, axis=-1)
    secant = np.diff(s, axis=-1) / gap
    if s.shape[-1] == 2:
        return np.repeat(secant, 2, axis=-1)
    slopes = np.zeros_like(s)
    before, after = gap[..., :-1], gap[..., 1:]
    falling = (secant[:, :-1] < 0) & (secant[:, 1:] < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (
            3
            * (before + after)
            / ((2 * after + before) / secant[:, :-1] + (after + 2 * before) / secant[:, 1:])
        )
    slopes[:, 1:-1] = np.where(falling, inner, 0.0)
    slopes[:, 0] = _pchip_end(gap[..., 0], gap[..., 1], secant[:, 0], secant[:, 1])
    slopes[:, -1] = _pchip_end(gap[..., -1], gap[..., -2], secant[:, -1], secant[:, -2])
    return slopes


def _pchip_end(h0: Floats, h1: Floats, d0: Floats, d1: Floats) -> Floats:
    """One-sided three-point slope, kept from overshooting."""
    slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    slope = np.where(slope * d0 <= 0, 0.0, slope)
    return np.where((d0 * d1 <= 0) & (np.abs(slope) > 3 * np.abs(d0)), 3 * d0, slope)


def hermite(x: Floats, gap: Floats, s0: Floats, s1: Floats, m0: Floats, m1: Floats) -> Floats:
    """Cubic Hermite value at fraction `x` of an interval of length `gap`."""
    x2, x3 = x * x, x * x * x
    value = (2 * x3 - 3 * x2 + 1) * s0 + (3 * x2 - 2 * x3) * s1
    value += gap * ((x3 - 2 * x2 + x) * m0 + (x3 - x2) * m1)
    return np.clip(value, np.minimum(s0, s1), np.maximum(s0, s1))


def hermite_area(x: Floats, gap: Floats, s0: Floats, s1: Floats, m0: Floats, m1: Floats) -> Floats:
    """Integral of the cubic from the left end of the interval to fraction `x`."""
    x2, x3, x4 = x * x, x**3, x**4
    value = (x4 / 2 - x3 + x) * s0 + (x3 - x4 / 2) * s1
    return gap * (value + gap * ((x4 / 4 - 2 * x3 / 3 + x2 / 2) * m0 + (x4 / 4 - x3 / 3) * m1))


def hermite_crossing(
    p: float, gap: Floats, s0: Floats, s1: Floats, m0: Floats, m1: Floats
) -> Floats:
    """Fraction of the interval at which a falling cubic first reaches `p`, by bisection."""
    low, high = np.zeros_like(s0), np.ones_like(s0)
    for _ in range(60):
        middle = (low + high) / 2
        above = hermite(middle, gap, s0, s1, m0, m1) > p
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


def with_origin(times: Floats, survival: Curves, missing: Bools | bool) -> tuple[Floats, Floats]:
    """Prepend (0, 1) to a block of rows where the grid does not start at zero."""
    if not missing:
        return times, survival.astype(np.float64, copy=False)
    ones = np.ones((survival.shape[0], 1))
    zero = np.zeros(1) if times.ndim == 1 else np.zeros((times.shape[0], 1))
    return np.concatenate((zero, times), axis=-1), np.concatenate((ones, survival), axis=1)


class PchipBlock:
    """Rows of monotone cubics, complete with their first point."""

    def __init__(self, rows: Any, t: Floats, s: Floats, tail: str) -> None:
        self.rows, self.t, self.s, self.tail = rows, np.broadcast_to(t, s.shape), s, tail
        self.slopes = pchip_slopes(t, s) if s.shape[1] > 1 else np.zeros_like(s)

    def _interval(self, k: Any) -> tuple[Floats, ...]:
        rows = np.arange(self.s.shape[0])
        t0, t1 = self.t[rows, k], self.t[rows, k + 1]
        ends = self.s[rows, k], self.s[rows, k + 1]
        return t0, t1 - t0, *ends, self.slopes[rows, k], self.slopes[rows, k + 1]

    def value(self, t: Floats) -> Floats:
        """Survival of each row at its own time."""
        past = t >= self.t[:, -1]
        if self.s.shape[1] > 1:
            k = np.clip(left_index(self.t, t), 0, self.s.shape[1] - 2)
            t0, gap, *rest = self._interval(k)
            out = hermite(np.clip((t - t0) / gap, 0, 1), gap, *rest)
        else:
            out = self.s[:, 0].copy()
        if past.any():
            last, ends = self.t[past, -1], self.s[past, -1]
            tail = tail_survival(t[past], last, ends, self.tail)
            out[past] = np.where(t[past] > last, tail, ends)
        return out

    def crossing(self, p: float) -> Floats:
        """First time of each row with S <= p, within the grid."""
        k = first_at_or_below(self.s, p, np.arange(self.s.shape[0]))
        if self.s.shape[1] == 1:
            return self.t[:, 0].copy()
        t0, gap, *rest = self._interval(np.clip(k - 1, 0, self.s.shape[1] - 2))
        inside = t0 + gap * hermite_crossing(p, gap, *rest)
        return np.where(k == 0, self.t[:, 0], inside)

    def area(self, stop: float) -> Floats:
        """Area under each row up to `stop`, within the grid."""
        gap = np.diff(self.t, axis=1)
        x = np.clip((stop - self.t[:, :-1]) / gap, 0.0, 1.0)
        s, slopes = self.s, self.slopes
        pieces = hermite_area(x, gap, s[:, :-1], s[:, 1:], slopes[:, :-1], slopes[:, 1:])
        return np.sum(pieces, axis=1)


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
