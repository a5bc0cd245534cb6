"""Predicted curves given that a subject was event-free at a time of its own, such as its entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, subject_index
from . import interpolation as kernel
from .curve_reader import Scratch
from .curves import SurvivalCurves
from .tails import tail_area, tail_time


class ConditionalCurves(SurvivalCurves):
    """S_i(t)/S_i(a_i) for t > a_i, and 1 before: the law of somebody event-free at a_i.

    `times` and `survival` are the nodes of these curves: those up to a_i have the value 1, and the
    last of them moves to a_i. Probabilities are read off the curves that were given, and past the
    grid their tail goes on: it is that of S_i, not one of the conditional curve.

    Where S_i(a_i) is 0 a model has said that nobody gets to a_i. The curve then falls to 0 right
    after a_i; `impossible` says for whom.

    Attributes
    ----------
    entry, scale : ndarray of shape (n,)
        a_i, and S_i(a_i).
    """

    base: SurvivalCurves
    entry: Floats
    scale: Floats

    def __getitem__(self, rows: Any) -> ConditionalCurves:
        index = subject_index(rows)
        part = self._like(self.base[index], self.entry[index], self.scale[index])
        part.times, part.survival = self.times[index], self.survival[index]
        return part

    @classmethod
    def _like(cls, base: SurvivalCurves, entry: Floats, scale: Floats) -> ConditionalCurves:
        curves = cls.__new__(cls)
        curves.base, curves.entry, curves.scale = base, entry, scale
        curves.tail = base.tail
        curves.interpolation = "step" if base.interpolation == "step" else "linear"
        return curves

    @property
    def impossible(self) -> Any:
        """Whose curve had fallen to 0 when they were seen event-free, (n,)."""
        return self.scale <= 0

    def with_tail(self, tail: str) -> SurvivalCurves:
        """Return the same curves, going on otherwise past their last time."""
        return given_entry(self.base.with_tail(tail), self.entry)

    def at_block(self, rows: slice, t: Floats) -> Floats:
        """Survival of a block of rows at common times `t`: (rows, k), the caller's to overwrite."""
        return self._conditioned(self.base.at_block(rows, t), t, rows)

    def reader(self, t: Floats) -> Callable[[slice, Scratch], Floats]:
        """`at_block` for many blocks at the same times; what it returns is the scratch's."""
        read = self.base.reader(t)
        return lambda rows, scratch: self._conditioned(read(rows, scratch).copy(), t, rows)

    def _conditioned(self, values: Floats, t: Floats, rows: slice) -> Floats:
        scale, entry = self.scale[rows, None], self.entry[rows, None]
        np.divide(values, scale, out=values, where=scale > 0)
        values[t <= entry] = 1.0
        return values

    def _at_own(self, points: Floats) -> Floats:
        values = self.base._at_own(points)
        np.divide(values, self.scale, out=values, where=self.scale > 0)
        return np.where(points <= self.entry, 1.0, values)

    def _quantile(self, p: float | Floats, rows: Ints) -> Floats:
        time = super()._quantile(p, rows)
        past = self.survival[rows, -1] > self._level(p)
        if past.any():
            late = rows[past]
            level = np.broadcast_to(p, rows.shape)[past] * self.scale[late]
            ends = self.survival[late, -1] * self.scale[late]
            told = tail_time(level, self.last_time[late], ends, self.tail)
            time[past] = np.where(self.scale[late] > 0, told, self.entry[late])
        return time

    def _area(self, stop: float) -> Floats:
        area = np.empty(len(self))
        for rows in self.blocks():
            block = self.times[rows], self.survival[rows]
            area[rows] = kernel.area_by_row(*block, stop, self.interpolation)
        tail = tail_area(self.last_time, self.last_survival * self.scale, self.tail, stop)
        return area + np.divide(tail, self.scale, out=np.zeros(len(self)), where=self.scale > 0)


def given_entry(curves: SurvivalCurves, entry: Floats) -> ConditionalCurves:
    """Return curves given that each subject was event-free at its own time.

    Somebody with entry 0 keeps the curve.

    >>> curves = SurvivalCurves([0, 10, 20], [[1.0, 0.6, 0.2], [1.0, 0.9, 0.8]])
    >>> late = given_entry(curves, np.array([10.0, 0.0]))
    >>> late.at(15).round(3), late.median()
    (array([0.667, 0.85 ]), array([17.5, 50. ]))
    """
    late = entry > 0
    scale = np.where(late, curves.at_own(entry), 1.0)
    lines = curves.joined_by_lines() if curves.interpolation == "pchip" else curves
    n = len(curves)
    times = np.array(np.broadcast_to(lines.times, lines.survival.shape))
    survival = lines.survival.astype(np.float64)
    if (times[:, 0] > 0).any():  # somebody may enter before the first time of the grid
        begins = times[:, 0] <= 0
        zero = np.where(begins, np.nextafter(0.0, -1.0), 0.0)
        times = np.concatenate((zero[:, None], times), axis=1)
        survival = np.concatenate((np.ones((n, 1)), survival), axis=1)
    known = kernel.left_index(times, entry)
    columns = np.arange(times.shape[1])
    passed = (columns <= known[:, None]) & late[:, None]
    np.divide(survival, scale[:, None], out=survival, where=scale[:, None] > 0)
    survival[passed] = 1.0
    rows = np.flatnonzero(late)
    times[rows, known[rows]] = entry[rows]
    ended = np.flatnonzero((scale <= 0) & (known < columns[-1]))
    times[ended, known[ended] + 1] = np.nextafter(entry[ended], np.inf)
    found = ConditionalCurves._like(curves, entry, scale)
    found.times, found.survival = times, np.minimum(survival, 1.0)
    return found


def from_landmark(curves: SurvivalCurves, s: float) -> SurvivalCurves:
    """Return curves given being event-free at `s`, with time counted from `s`.

    S_i(s + u)/S_i(s) at u. Past the grid the tail goes on by the same rule, applied to the new
    curve: a linear tail follows the line from (s, 1) through the last point.

    >>> curves = SurvivalCurves([0, 10, 20], [[1.0, 0.6, 0.2], [1.0, 0.9, 0.8]])
    >>> late = from_landmark(curves, 10.0)
    >>> late.times, late.survival.round(3)
    (array([10.]), array([[0.333],
           [0.889]]))
    """
    if s == 0:
        return curves
    lines = curves.joined_by_lines() if curves.interpolation == "pchip" else curves
    scale = curves.at_own(np.full(len(curves), s))[:, None]
    times, known = lines.times, lines.survival
    if lines.shared_grid and not times[-1] > s:
        # The tail alone says what comes; one of its points gives all of it.
        times = np.array([2.0 * s])
        known = curves.at(times)
    elif lines.shared_grid:
        known, times = known[:, times > s], times[times > s]
    elif not (times[:, -1] > s).all():
        end = np.maximum(times[:, -1:], s) * 2.0
        times = np.concatenate((times, end), axis=1)
        known = np.concatenate((known, curves.at_own(end[:, 0])[:, None]), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = np.where(scale > 0, np.minimum(known / scale, 1.0), 0.0)
    if not lines.shared_grid:
        survival = np.where(times > s, survival, 1.0)
    return SurvivalCurves._trusted(
        np.maximum(times - s, 0.0), survival, lines.interpolation, curves.tail
    )
