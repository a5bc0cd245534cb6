"""Predicted survival curves: one row per subject, validated once, turned into times on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from .._tools.arrays import (
    Bools,
    Floats,
    Ints,
    numbers,
    positive,
    probability,
    stored_once,
    subject_index,
    to_numpy,
    vector,
)
from .._tools.running import BLOCK_VALUES, SPAN_BLOCKS, chunks, in_order, run_all
from ..errors import InputError, one_of
from . import interpolation as kernel
from .checks import checked, grid_of, sorted_together
from .interpolation import (
    Curves,
    GridColumns,
    PchipBlock,
    Scratch,
    check_tail,
    tail_area,
    tail_survival,
    tail_time,
)

Result = TypeVar("Result")
Some = TypeVar("Some", bound="SurvivalCurves")

INTERPOLATIONS = ("linear", "step", "pchip")
REPAIRS = ("running_minimum", "isotonic")


class SurvivalCurves:
    """Individual survival distributions of n subjects.

    Parameters
    ----------
    times : array-like of shape (m,) or (n, m)
        A grid shared by all subjects, or one grid per subject. A grid that does not start at 0 is
        preceded by the point (0, 1). Unsorted times are sorted together with their columns.
    survival : array-like of shape (n, m)
        Probability of being event-free at `times`; rows are subjects. A float32 or float64 matrix
        (also one mapped from a file) is neither copied nor widened, unless columns have to be
        sorted or rows mended: do not change it afterwards.
    interpolation : {"linear", "step", "pchip"}
        Between grid points: lines, right-continuous steps, or a monotone cubic.
    tail : {"linear", "exponential", "hold", "nan"}
        Past the last grid point; see `survgauge.data.interpolation`.
    repair : {None, "running_minimum", "isotonic"}
        What to do with curves that rise or leave [0, 1]: by default, refuse them.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10, 20], [[1.0, 0.6, 0.2], [1.0, 0.9, 0.8]])
    >>> curves.median()
    array([12.5, 50. ])
    >>> curves.at(5)
    array([0.8 , 0.95])
    """

    def __init__(
        self,
        times: Any,
        survival: Any,
        interpolation: str = "linear",
        tail: str = "linear",
        repair: str | None = None,
    ) -> None:
        one_of("interpolation", interpolation, INTERPOLATIONS)
        check_tail(tail)
        if repair is not None:
            one_of("repair", repair, REPAIRS)
        values = numbers(survival, "survival", ndim=2)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        grid = grid_of(times, values.shape)
        grid, values = sorted_together(grid, values)
        self.times: Floats = grid
        self.survival: Curves = checked(values, repair).view()
        self.survival.setflags(write=False)  # it may be the caller's memory
        self.interpolation = interpolation
        self.tail = tail

    _median: Floats | None = None

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        # NumPy would take curves for a sequence of sequences, and end in an error about dimensions.
        raise TypeError(
            "SurvivalCurves are not numbers; take a time of each subject, such as curves.median()"
        )

    @classmethod
    def _trusted(
        cls: type[Some], times: Floats, survival: Curves, interpolation: str, tail: str
    ) -> Some:
        curves = cls.__new__(cls)
        curves.times, curves.survival = times, survival
        curves.interpolation, curves.tail = interpolation, tail
        return curves

    @classmethod
    def joined(cls: type[Some], parts: Sequence[SurvivalCurves]) -> Some:
        """Return curves, one part of the subjects after the other; all on one grid, or none."""
        like, values = parts[0], np.concatenate([part.survival for part in parts])
        times = like.times if like.shared_grid else np.concatenate([part.times for part in parts])
        return cls._trusted(times, values, like.interpolation, like.tail)

    def __len__(self) -> int:
        return int(self.survival.shape[0])

    def __getitem__(self, rows: Any) -> SurvivalCurves:
        index = subject_index(rows)
        times = self.times if self.shared_grid else self.times[index]
        return self._trusted(times, self.survival[index], self.interpolation, self.tail)

    def repeated(self, n: int) -> SurvivalCurves:
        """Return the curve of one subject for n subjects, stored once."""
        rows = np.broadcast_to(self.survival, (n, self.width))
        curves = self._trusted(self.times, rows, self.interpolation, self.tail)
        curves._median = np.broadcast_to(self.kept_median(), n)
        return curves

    def __repr__(self) -> str:
        n, m = self.survival.shape
        grid = "shared grid" if self.shared_grid else "own grids"
        how = f"{self.interpolation}, tail {self.tail}"
        return f"SurvivalCurves({n} subjects x {m} times, {grid}, {how})"

    @property
    def shared_grid(self) -> bool:
        """Whether all subjects have the same grid."""
        return self.times.ndim == 1

    @property
    def one_curve(self) -> bool:
        """Whether all subjects have the same curve, stored once (as `reference_curves` does)."""
        return self.shared_grid and stored_once(self.survival)

    @property
    def width(self) -> int:
        """Number of grid times of a subject."""
        return int(self.survival.shape[1])

    @property
    def last_time(self) -> Floats:
        """Last grid time, (n,)."""
        return np.broadcast_to(self.times[..., -1], len(self))

    @property
    def last_survival(self) -> Floats:
        """Value at the last grid time, (n,)."""
        return self.survival[:, -1].astype(np.float64)

    def blocks(self, width: int | None = None, span: slice | None = None) -> Iterator[slice]:
        """Row slices whose values fit the cache; every pass over all curves goes by these."""
        start, stop = (0, len(self)) if span is None else (span.start, span.stop)
        return chunks(stop, start, self._block_rows(width))

    def read_width(self, times: int) -> int:
        """Values a row in a block that is read at so many times; whole rows only where needed."""
        whole = self.interpolation == "pchip" or not self.shared_grid
        return max(times, self.width) if whole else times

    def _block_rows(self, width: int | None) -> int:
        return max(1, BLOCK_VALUES // max(width or self.width, 1))

    def by_span(
        self, work: Callable[[Iterator[slice]], Result], width: int | None = None
    ) -> Iterator[Result]:
        """Results of `work` on the blocks of one span of rows after the other, by threads.

        Spans do not depend on the number of threads, nor does anything that is summed over them.
        """
        spans = chunks(len(self), size=self._block_rows(width) * SPAN_BLOCKS)
        return in_order(lambda span: work(self.blocks(width, span)), spans)

    # -- probabilities ---------------------------------------------------------------------

    def at(self, t: Any) -> Floats:
        """Survival probability at `t`: (n,) for a scalar, (n, k) for k times."""
        points = to_numpy(t, "t")
        if points.ndim == 0:
            if self.shared_grid and self.interpolation != "pchip":
                return self.at(points.reshape(1)).ravel()
            return self.at_own(np.full(len(self), float(_times(points.reshape(1), "t")[0])))
        points = _times(numbers(points, "t"), "t")
        out, read = np.empty((len(self), points.size)), self.reader(points)

        def fill(blocks: Iterator[slice]) -> None:
            scratch = Scratch()
            for rows in blocks:
                out[rows] = read(rows, scratch)

        for _ in self.by_span(fill, self.read_width(points.size)):
            pass
        return out

    def at_block(self, rows: slice, t: Floats) -> Floats:
        """Survival of a block of rows at common times `t`: (rows, k), the caller's to overwrite."""
        block = self[rows]
        if self.one_curve and len(block) > 1:
            return np.repeat(self.at_block(slice(0, 1), t), len(block), axis=0)
        if self.interpolation == "pchip" and t.size:
            return block._pchip_columns(t)
        if not self.shared_grid or not t.size:
            columns = [block.at_own(np.full(len(block), time)) for time in t]
            return np.stack(columns, axis=1) if columns else np.empty((len(block), 0))
        return GridColumns(self.times, t, self.interpolation, self.tail).read(block.survival)

    def reader(self, t: Floats) -> Callable[[slice, Scratch], Floats]:
        """`at_block` for many blocks at the same times; what it returns is the scratch's."""
        if not self.shared_grid or self.interpolation == "pchip" or self.one_curve or not t.size:
            return lambda rows, scratch: self.at_block(rows, t)
        columns = GridColumns(self.times, t, self.interpolation, self.tail)
        return lambda rows, scratch: columns.read(self.survival[rows], scratch)

    def _pchip_columns(self, t: Floats) -> Floats:
        """Monotone cubics at common times, their slopes computed once: (n, k)."""
        out = np.empty((len(self), t.size))

        def fill(block: PchipBlock) -> Floats:
            for column, time in enumerate(t):
                out[block.rows, column] = block.value(np.full(block.s.shape[0], time))
            return out[block.rows, 0]

        self._pchip(fill)
        return out

    def at_own(self, t: Any) -> Floats:
        """Survival probability of subject i at its own time t[i]: (n,)."""
        points = _times(vector(t, "t", length=len(self), like="the curves", finite=False), "t")
        return self._by_rows(lambda part, rows: part._at_own(points[rows]))

    def _by_rows(self, read: Callable[[SurvivalCurves, slice], Floats]) -> Floats:
        """One number per subject, from a part of the curves at a time."""
        out = np.empty(len(self))

        def fill(rows: slice) -> None:
            out[rows] = read(self[rows], rows)

        run_all(fill, chunks(len(self)))
        return out

    def _at_own(self, points: Floats) -> Floats:
        if self.interpolation == "pchip":
            return self._pchip(lambda block: block.value(points[block.rows]))
        rows = np.arange(len(self))
        k = kernel.left_index(self.times, points)
        t0, s0 = kernel.node(self.times, self.survival, rows, k)
        last = self.survival.shape[1] - 1
        if self.interpolation == "linear":
            t1, s1 = kernel.node(self.times, self.survival, rows, np.minimum(k + 1, last))
            inside = (k < last) & (points > t0)
            gap = np.where(inside, t1 - t0, 1.0)
            share = np.where(inside, (points - t0) / gap, 0.0)
            s0 = s0 + (s1 - s0) * share
        past = points > self.last_time
        if past.any():
            ends = self.last_survival[past]
            s0[past] = tail_survival(points[past], self.last_time[past], ends, self.tail)
        return s0

    # -- times -----------------------------------------------------------------------------

    def quantile(self, q: float) -> Floats:
        """First time with S(t) <= 1 - q; read off the tail where the grid ends above that.

        Step curves are products of many factors: a value that is above 1 - q by no more than
        rounding (one part in a billion) has reached it.
        """
        p = 1.0 - probability(q, "q")
        if self.one_curve and len(self) > 1:
            return np.full(len(self), self[:1].quantile(q)[0])
        return self._by_rows(lambda part, rows: part._quantile(p))

    def times_at(self, rows: Ints | None, level: Floats) -> Floats:
        """First time at which the curve of each of `rows` is at or below its own `level`.

        With uniform levels these are draws from the predicted distributions. A row may come several
        times; None stands for all rows.
        """
        if self.interpolation == "pchip":
            return self.joined_by_lines().times_at(rows, level)
        return self._quantile(level, rows)

    def joined_by_lines(self) -> SurvivalCurves:
        """Return monotone cubics as lines between points that are eight times as dense."""
        pieces = 8
        start = np.zeros((*self.times.shape[:-1], 1))
        grid = np.concatenate((start, self.times), axis=-1)
        steps = np.diff(grid, axis=-1)[..., None] * np.arange(1, pieces + 1) / pieces
        dense = (grid[..., :-1, None] + steps).reshape(*self.times.shape[:-1], -1)
        dense[..., pieces - 1 :: pieces] = self.times
        if self.shared_grid:
            values = self.at(dense)
        else:
            values = np.stack([self.at_own(column) for column in dense.T], axis=1)
        return self._trusted(dense, np.minimum.accumulate(values, axis=1), "linear", self.tail)

    def _quantile(self, p: float | Floats, rows: Ints | None = None) -> Floats:
        k = kernel.first_at_or_below(self.survival, self._level(p), rows)
        rows, m = np.arange(len(self)) if rows is None else rows, self.survival.shape[1]
        found = k < m
        if self.interpolation == "pchip":
            level = float(p)
            time = self._pchip(lambda block: block.crossing(level))
        else:
            time, s1 = kernel.node(self.times, self.survival, rows, np.minimum(k, m - 1))
            if self.interpolation == "linear":
                t0, s0 = kernel.node(self.times, self.survival, rows, np.minimum(k, m - 1) - 1)
                # A curve that starts at or below p has no left neighbour above it.
                between = (time > t0) & (s0 > p) & found
                drop = np.where(between, s0 - s1, 1.0)
                time = np.where(between, t0 + (time - t0) * ((s0 - p) / drop), time)
        if not found.all():
            past = rows[~found]
            ends = self.survival[past, -1].astype(np.float64)
            left = p if np.ndim(p) == 0 else np.asarray(p)[~found]
            time[~found] = tail_time(left, self.last_time[past], ends, self.tail)
        return time

    def median(self) -> Floats:
        """Median survival time: `quantile` at one half."""
        return self.kept_median().copy()

    def kept_median(self) -> Floats:
        """`median`, computed once and read-only: many metrics ask for it."""
        if self._median is None:
            self._median = self.quantile(0.5)
            if self.one_curve:  # one number serves all
                self._median = np.broadcast_to(self._median[0], len(self))
            self._median.setflags(write=False)
        return self._median

    def held(self) -> SurvivalCurves:
        """Return the same curves with tail "hold": nothing is read past the last grid time."""
        held = self._trusted(self.times, self.survival, self.interpolation, "hold")
        if self._median is not None:
            rows = slice(0, 1) if self.one_curve else slice(None)
            reached = self.reaches(0.5)[rows]
            median = np.where(reached, self._median[rows], self.last_time[rows])
            held._median = np.broadcast_to(median, len(self))
        return held

    def with_tail(self, tail: str) -> SurvivalCurves:
        """Return the same curves, going on otherwise past their last time."""
        check_tail(tail)
        return self._trusted(self.times, self.survival, self.interpolation, tail)

    def mean(self) -> Floats:
        """Mean survival time: the area under the curve and its tail."""
        return self._area(np.inf)

    def rmst(self, tau: float) -> Floats:
        """Restricted mean survival time: the area up to `tau`."""
        return self._area(positive(tau, "tau"))

    def reaches(self, q: float) -> Bools:
        """Whether the grid itself, without the tail, gets down to 1 - q: (n,)."""
        return self.survival[:, -1] <= self._level(1.0 - q)

    def _level(self, p: float | Floats) -> float | Floats:
        """Level at or below which a curve has reached p."""
        return kernel.reached_by_steps(p) if self.interpolation == "step" else p

    def _area(self, stop: float) -> Floats:
        if self.one_curve and len(self) > 1:
            return np.full(len(self), self[:1]._area(stop)[0])
        if self.interpolation == "pchip":
            area = self._pchip(lambda block: block.area(stop))
        elif self.shared_grid:
            constant, weights = kernel.area_weights(self.times, stop, self.interpolation)
            area = np.empty(len(self))
            for rows in self.blocks():
                area[rows] = constant + self.survival[rows] @ weights
        else:
            area = np.empty(len(self))
            for rows in self.blocks():
                block = self.times[rows], self.survival[rows]
                area[rows] = kernel.area_by_row(*block, stop, self.interpolation)
        return area + tail_area(self.last_time, self.last_survival, self.tail, stop)

    def _pchip(self, evaluate: Callable[[PchipBlock], Floats]) -> Floats:
        """Apply `evaluate` to blocks of rows with their cubic's slopes at hand."""
        out = np.empty(len(self))
        if self.shared_grid:
            groups = [(self.times[0] > 0, np.arange(len(self)))]
        else:
            late = self.times[:, 0] > 0
            groups = [(True, np.flatnonzero(late)), (False, np.flatnonzero(~late))]
        for missing, members in groups:
            for part in chunks(members.size, size=self._block_rows(None)):
                rows = members[part]
                grid = self.times if self.shared_grid else self.times[rows]
                t, s = kernel.with_origin(grid, self.survival[rows], bool(missing))
                out[rows] = evaluate(PchipBlock(rows, t, s, self.tail))
        return out


def _times(values: Any, argument: str) -> Any:
    """Refuse NaN and negative points of time."""
    points = numbers(values, argument).astype(np.float64, copy=False)
    bad = points[~(points >= 0)]
    if bad.size:
        raise InputError(f"{argument} must be times, not negative and not NaN; got {bad[0]:g}")
    return points
