"""Predicted curves given that a subject was event-free at a time of its own, such as its entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, subject_index
from ..errors import InputError
from . import interpolation as kernel
from .curves import SurvivalCurves
from .incidence import CauseCurves, IncidenceCurves
from .interpolation import Scratch, tail_area
from .outcome_parts import since

#: A point of a tail so near that no tail has come down before it.
_NEAR = 1.001


class ConditionalCurves(SurvivalCurves):
    """S_i(t)/S_i(a_i) for t > a_i, and 1 before: the distribution of somebody event-free at a_i.

    Everything is read off the curves that were given, block by block; past the grid their tail goes
    on: it is that of S_i, not one of the conditional curve. Nodes are made where they are asked
    for: those up to a_i have the value 1, and the last of them moves to a_i.

    Where S_i(a_i) is 0 a model has said that nobody gets to a_i. The curve then falls to 0 right
    after a_i; `impossible` says for whom. Where S_i(a_i) is not known (the tail "nan", and a_i past
    the grid), nothing after a_i is known either.

    Attributes
    ----------
    base : SurvivalCurves
        S_i.
    entry, scale : ndarray of shape (n,)
        a_i, and S_i(a_i).
    shift : ndarray of shape (n,)
        Of a cause, incidence of the other causes at a_i; 0 where S_i(a_i) is, and of all events.
    """

    def __init__(
        self, base: SurvivalCurves, entry: Floats, scale: Floats, shift: Floats | None = None
    ) -> None:
        self.base, self.entry, self.scale = base, entry, scale
        self.shift = np.zeros(entry.size) if shift is None else shift
        self.tail = base.tail
        self.interpolation = "step" if base.interpolation == "step" else "linear"

    def __len__(self) -> int:
        return int(self.entry.size)

    def __getitem__(self, rows: Any) -> ConditionalCurves:
        index = subject_index(rows)
        parts = (part[index] for part in (self.entry, self.scale, self.shift))
        return type(self)(self.base[index], *parts)

    def __repr__(self) -> str:
        return f"ConditionalCurves({len(self)} subjects, given entry, of {self.base!r})"

    @property
    def impossible(self) -> Bools:
        """Whose curve had fallen to 0 when they were seen event-free, (n,)."""
        return self.scale <= 0

    @property
    def shared_grid(self) -> bool:
        """Whether all subjects have the same grid: not where entries differ."""
        return False

    @property
    def width(self) -> int:
        """Number of grid times of a subject."""
        return self.base.width + 1

    @property
    def last_time(self) -> Floats:
        """Last grid time, (n,)."""
        return np.maximum(self.base.last_time, self.entry)

    @property
    def last_survival(self) -> Floats:
        """Value at the last grid time, (n,)."""
        return self._at_own(self.last_time)

    @property
    def times(self) -> Floats:  # type: ignore[override]
        """Grid times of all subjects, (n, m + 1)."""
        return self.nodes(slice(0, len(self)))[0]

    @property
    def survival(self) -> Floats:  # type: ignore[override]
        """Values at the grid times, (n, m + 1)."""
        return self.nodes(slice(0, len(self)))[1]

    def nodes(self, rows: Any) -> tuple[Floats, Floats]:
        """Times and values of the nodes of some subjects, the point (0, 1) included."""
        base, entry, scale = self.base[rows], self.entry[rows], self.scale[rows]
        lines = base.joined_by_lines() if base.interpolation == "pchip" else base
        times = np.broadcast_to(lines.times, lines.survival.shape)
        # A first point for who enters before the grid; where that starts at 0, just before it.
        first = np.where(times[:, :1] > 0, 0.0, np.nextafter(0.0, -1.0))
        times = np.concatenate((first, times), axis=1)
        survival = np.concatenate((np.ones(first.shape), lines.survival), axis=1, dtype=np.float64)
        known, late = kernel.left_index(times, entry), entry > 0
        columns = np.arange(times.shape[1])
        self._given(survival, rows)
        np.minimum(survival, 1.0, out=survival)
        survival[(columns <= known[:, None]) & late[:, None]] = 1.0
        moved = np.flatnonzero(late)
        times[moved, known[moved]] = entry[moved]
        ended = np.flatnonzero((scale <= 0) & (known < columns[-1]))
        times[ended, known[ended] + 1] = np.nextafter(entry[ended], np.inf)
        return times, survival

    def with_tail(self, tail: str) -> SurvivalCurves:
        """Return the same curves, going on otherwise past their last time."""
        return given_entry(self.base.with_tail(tail), self.entry)

    def held(self) -> SurvivalCurves:
        """Return the same curves with tail "hold": nothing is read past the last grid time."""
        return self.with_tail("hold")

    def at_block(self, rows: slice, t: Floats) -> Floats:
        """Survival of a block of rows at common times `t`: (rows, k), the caller's to overwrite."""
        return self._conditioned(self.base.at_block(rows, t), t, rows)

    def reader(self, t: Floats) -> Callable[[slice, Scratch], Floats]:
        """`at_block` for many blocks at the same times; what it returns is the scratch's."""
        read = self.base.reader(t)
        return lambda rows, scratch: self._conditioned(read(rows, scratch).copy(), t, rows)

    def _conditioned(self, values: Floats, t: Floats, rows: slice) -> Floats:
        entry = self.entry[rows, None]
        self._given(values, rows)
        values[(t <= entry) & (entry > 0)] = 1.0
        return values

    def _given(self, values: Floats, rows: Any) -> None:
        """Turn values of the curves of some subjects, (rows, k), into those given entry."""
        scale = self.scale[rows, None]
        values -= self.shift[rows, None]
        np.divide(values, scale, out=values, where=scale > 0)

    def _at_own(self, points: Floats) -> Floats:
        values = self.base._at_own(points)
        self._given(values[:, None], slice(None))
        return np.where((points <= self.entry) & (self.entry > 0), 1.0, values)

    def _quantile(self, p: float | Floats, rows: Ints | None = None) -> Floats:
        index = slice(None) if rows is None else rows
        level = p * self._divisor[index] + self.shift[index]
        # Where a curve had ended before, the event is expected at once.
        return np.maximum(self.base.times_at(rows, level), self.entry[index])

    def reaches(self, q: float) -> Bools:
        """Whether the grid itself, without the tail, gets down to 1 - q: (n,)."""
        found: Bools = self.last_survival <= self._level(1.0 - q)
        return found

    def _area(self, stop: float) -> Floats:
        length = np.maximum(np.minimum(self.base.last_time, stop) - self.entry, 0.0)
        rest = self.base._area(stop) - self._area_until_entry() - self.shift * length
        # Before the entry the curve is 1.
        found = np.minimum(self.entry + np.maximum(rest / self._divisor, 0.0), stop)
        return np.where(self.entry >= stop, stop, found)

    @property
    def _divisor(self) -> Floats:
        return np.where(self.impossible, 1.0, self.scale)

    def _area_until_entry(self) -> Floats:
        """Area under the curves that were given, up to each subject's entry."""
        base, area, entry = self.base, np.empty(len(self)), self.entry
        lines = base.joined_by_lines() if base.interpolation == "pchip" else base
        last, ends = base.last_time, base.last_survival
        for rows in self.blocks():
            part = lines[rows]
            if part.one_curve and len(part) > 1:
                area[rows] = _area_of_one(part, entry[rows])
                continue
            times = np.broadcast_to(part.times, part.survival.shape)
            stop = np.minimum(entry, last)[rows, None]
            area[rows] = kernel.area_by_row(times, part.survival, stop, part.interpolation)
        late = entry > last
        if late.any() and self.tail not in ("hold", "nan"):
            whole = tail_area(last, ends, self.tail)
            with np.errstate(invalid="ignore"):
                seen = whole - tail_area(entry, base._at_own(entry), self.tail)
            area += np.where(late, np.where(ends >= 1, entry - last, seen), 0.0)
        return area


class ConditionalCauseCurves(ConditionalCurves, CauseCurves):  # type: ignore[misc]
    """1 - (F_i(t) - F_i(a_i))/S_i(a_i) for t > a_i, and 1 before, for the incidence F of a cause.

    S_i(a_i) is the probability of no event of any cause by the entry. Of 1 - F_i it is linear, so
    that everything is read off 1 - F_i here too.

    Where S_i(a_i) is 0 the event comes right after a_i, of the cause with probability F_i(a_i).
    """

    base: CauseCurves

    @property
    def incidence(self) -> IncidenceCurves | None:  # type: ignore[override]
        """Incidence of all causes, as it was given."""
        return self.base.incidence


def _area_of_one(curves: SurvivalCurves, stop: Floats) -> Floats:
    """Area under a curve that all share, up to a time of each subject or the end of the grid."""
    times = np.concatenate(([0.0], curves.times))
    values = np.concatenate(([1.0], curves.survival[0]))
    gap = np.diff(times)
    left = values[:-1] if curves.interpolation == "step" else (values[:-1] + values[1:]) / 2
    areas = np.concatenate(([0.0], np.cumsum(gap * left)))
    place = np.clip(times.searchsorted(stop, "right") - 1, 0, times.size - 1)
    past = np.minimum(stop, times[-1]) - times[place]
    after = (
        values[place]
        if curves.interpolation == "step"
        else ((values[place] + curves[:1].at(stop)[0]) / 2)
    )
    found: Floats = areas[place] + past * after
    return found


def given_entry(curves: SurvivalCurves, entry: Floats) -> ConditionalCurves:
    """Return curves given that each subject was event-free at its own time.

    Somebody with entry 0 keeps the curve.

    >>> curves = SurvivalCurves([0, 10, 20], [[1.0, 0.6, 0.2], [1.0, 0.9, 0.8]])
    >>> late = given_entry(curves, np.array([10.0, 0.0]))
    >>> late.at(15).round(3), late.median(), late.mean().round(2)
    (array([0.667, 0.85 ]), array([17.5, 50. ]), array([17.5, 50. ]))
    """
    if isinstance(curves, CauseCurves):
        return _cause_given_entry(curves, entry)
    scale = np.where(entry > 0, curves.at_own(entry), 1.0)
    return ConditionalCurves(curves, entry, scale)


def _cause_given_entry(curves: CauseCurves, entry: Floats) -> ConditionalCauseCurves:
    """Return curves of a cause given that each subject had no event of any cause at its entry."""
    if curves.incidence is None:
        raise InputError(
            "curves of one cause do not say who was event-free at the entry: under delayed entry "
            "give IncidenceCurves of all causes"
        )
    end = entry if curves.tail == "nan" else np.minimum(entry, curves.last_time)
    scale = np.where(entry > 0, curves.incidence.free_at_own(end), 1.0)
    shift = np.where(scale > 0, curves.at_own(end) - scale, 0.0)
    return ConditionalCauseCurves(curves, entry, scale, np.where(entry > 0, shift, 0.0))


def from_landmark(curves: SurvivalCurves, s: float, asked: Sequence[float] = ()) -> SurvivalCurves:
    """Return curves given being event-free at `s`, with time counted from `s`.

    S_i(s + u)/S_i(s) at u. Past the grid the tail goes on by the same rule, applied to the new
    curve: a linear tail follows the line from (s, 1) through the last point. Grid times meet times
    since `s` that are `asked` whatever the rounding.

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
    _check_reach(curves, s, scale[:, 0])
    times, known = lines.times, lines.survival
    if lines.shared_grid and not times[-1] > s:
        # The tail alone says what comes; a near point of it gives all of it.
        times = np.array([_NEAR * s])
        known = curves.at(times)
    elif lines.shared_grid:
        known, times = known[:, times > s], times[times > s]
    elif not (times[:, -1] > s).all():
        end = np.maximum(times[:, -1:], s) * _NEAR
        times = np.concatenate((times, end), axis=1)
        known = np.concatenate((known, curves.at_own(end[:, 0])[:, None]), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        survival = np.where(scale > 0, np.minimum(known / scale, 1.0), 0.0)
    if not lines.shared_grid:
        survival = np.where(times > s, survival, 1.0)
    return SurvivalCurves._trusted(
        np.maximum(since(times, s, asked), 0.0), survival, lines.interpolation, curves.tail
    )


def _check_reach(curves: SurvivalCurves, s: float, scale: Floats) -> None:
    """Refuse curves that end by `s` without a tail: nothing is known of them from then on."""
    unknown = (curves.last_time <= s) & (scale != 0)
    if curves.tail == "nan" and unknown.any():
        raise InputError(
            f"curves with tail 'nan' must go past the landmark {s:g}; {int(unknown.sum())} of "
            f"{len(curves)} end by then, the first at {curves.last_time[unknown].min():g}"
        )


def incidence_from_landmark(
    curves: IncidenceCurves, s: float, asked: Sequence[float] = ()
) -> IncidenceCurves:
    """Return curves given no event of any cause by `s`, with time counted from `s`.

    (F(s + u) - F(s))/S(s) at u. Where S(s) is 0 the event comes at once, of a cause with F(s).

    >>> curves = IncidenceCurves([10, 20], [[[0.3, 0.4], [0.2, 0.5]]])
    >>> late = incidence_from_landmark(curves, 10.0)
    >>> late.times, late.values
    (array([10.]), array([[[0.2],
            [0.6]]]))
    """
    if s == 0:
        return curves
    later = curves.times > s
    if not later.any():
        raise InputError(
            f"incidence curves must go past the landmark {s:g}; they end at {curves.times[-1]:g}"
        )
    own = np.full(len(curves), s)
    scale = curves.free_at_own(own)[:, None, None]
    then = np.stack([curves.at_own(own, cause) for cause in curves.causes], axis=1)[..., None]
    values = curves.values[:, :, later].astype(np.float64)
    values -= np.where(scale > 0, then, 0.0)
    values /= np.where(scale > 0, scale, 1.0)
    np.maximum(values, 0.0, out=values)
    return IncidenceCurves._trusted(
        since(curves.times[later], s, asked), values, curves.causes, curves.interpolation
    )
