"""Kernels for the time-dependent concordance: curves compared at the anchor's time, exactly.

Clean arrays in, no checks. The pairs are those of `survgauge.metrics._pairs`; a pair is concordant
if S(t_i | x_i) < S(t_i | x_j) and tied if the two are equal.

Subjects are laid out by time, and anchors are taken in *slabs*: neighbours in time between the
same two grid points. Over a slab every curve stays between its values at the slab's two ends, so
that after sorting those ends nearly all pairs are decided by binary search. Only the curves whose
range holds the anchor's own value, and subjects whose time lies inside the slab, are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ._pairs import Bools, Counts, Floats, Ints, PairCounts, _back, _cumulative, _run_bounds

Evaluate = Callable[[Ints, Floats], Floats]

_SLAB = 512  # anchors that share one sort of the curves
_FEW = 16  # with fewer anchors than this, evaluating costs less than sorting
_BLOCK = 2048  # curves per evaluated block, which then fits the cache
_COLUMNS = 8  # grid points fetched at once: one cache line of a row
# A curve given as a function may rise by rounding between two ends; this much is looked into.
_SLACK = 1e-12


def antolini_counts(
    time: Floats,
    event: Bools,
    times: Floats | None,
    survival: NDArray[Any] | None,
    *,
    interpolation: str = "linear",
    anchor_weight: Floats | None = None,
    weight: Floats | None = None,
    before: float = 1.0,
    at: Evaluate | None = None,
) -> PairCounts:
    r"""Count the pairs of every subject by curves at the anchor's time.

    .. math::
        C = \frac{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}\,
        [1(S_i(t_i) < S_j(t_i)) + \tfrac12 1(S_i(t_i) = S_j(t_i))]}
        {\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}}

    Parameters
    ----------
    time, event : arrays of shape (n,)
        Outcomes.
    times : array of shape (m,), optional
        Strictly increasing grid. If it starts after zero, (0, `before`) precedes it.
    survival : array of shape (n, m), optional
        Curves on the grid, float32 or float64. None: all values come from `at`.
    interpolation : {"linear", "step"}
        Lines or right-continuous steps between grid points.
    anchor_weight : array of shape (n,), optional
        a; an event with weight zero is skipped as an anchor, its anchor counts are then zero.
    weight : array of shape (n,), optional
        w; whole numbers give what repeated rows would.
    before : float
        Value of all curves at zero if the grid starts later.
    at : callable, optional
        ``at(rows, t)`` gives S(t | x) of these rows at all of `t`, of shape (rows, t), with curves
        that do not rise. Used past the last grid time; without it the last value is held.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> times = np.array([0.0, 4.0])
    >>> survival = np.array([[1.0, 0.2], [1.0, 0.0], [1.0, 0.9]])
    >>> antolini_counts(time, event, times, survival).totals()
    PairTotals(comparable=3, concordant=2, discordant=1, tied=0)
    """
    order = np.lexsort((~event, time))
    laid = _Laid(time[order], event[order], order, anchor_weight, weight)
    source: _Source
    if survival is None or times is None:
        if at is None:
            raise ValueError("curves are missing: pass times and survival, or at")
        parts = [(np.ones(laid.anchor.size, dtype=np.bool_), _Function(at, order))]
    else:
        past = (laid.t > times[-1]) & (at is not None)
        parts = [(~past, _Grid(times, survival, order, interpolation, before))]
        if at is not None:
            parts.append((past, _Function(at, order)))
    for chosen, source in parts:
        if chosen.any():
            _count(laid, np.flatnonzero(chosen), source)
    return laid.counts(order, anchor_weight, weight)


class _Laid:
    """Subjects by (time, events first), the anchors among them, and the counts so far.

    Sums run in float64: without weights they are whole numbers and exact.
    """

    def __init__(
        self,
        time: Floats,
        event: Bools,
        order: Ints,
        anchor_weight: Floats | None,
        weight: Floats | None,
    ) -> None:
        n = order.size
        is_anchor = event
        if anchor_weight is not None:
            is_anchor = event & (anchor_weight[order] != 0)
        self.w = np.ones(n) if weight is None else weight[order]
        left = is_anchor * self.w
        if anchor_weight is not None:
            left *= anchor_weight[order]
        self.anchor = np.flatnonzero(is_anchor)
        changes = (time[1:] != time[:-1]) | (event[1:] != event[:-1])
        start, end = _run_bounds(_cumulative(changes))
        self.t, self.left = time[self.anchor], left[self.anchor]
        self.first = end[self.anchor]  # position of an anchor's first partner
        self.comparable = np.where(is_anchor, (total := _cumulative(self.w))[-1] - total[end], 0.0)
        self.partner_comparable = _cumulative(left)[start]
        self.concordant, self.tied = np.zeros(n), np.zeros(n)
        self.partner_concordant, self.partner_tied = np.zeros(n), np.zeros(n)

    def counts(
        self, order: Ints, anchor_weight: Floats | None, weight: Floats | None
    ) -> PairCounts:
        """Return the counts in the order that the subjects came in."""
        anchors = (self.comparable, self.concordant, self.tied)
        partners = (self.partner_comparable, self.partner_concordant, self.partner_tied)
        whole = weight is None, weight is None and anchor_weight is None
        columns: list[Counts] = [
            _back(column.astype(np.int64) if exact else column, order)
            for group, exact in zip((anchors, partners), whole, strict=True)
            for column in group
        ]
        return PairCounts(*columns, anchor_weight=anchor_weight, weight=weight)


class _Anchors(NamedTuple):
    """Anchors of a slab: position, argument of the curves, own value, weight, first partner."""

    position: Ints
    x: Floats
    value: Floats
    left: Floats
    first: Ints

    def take(self, index: Ints | slice) -> _Anchors:
        return _Anchors(*(part[index] for part in self))


def _count(laid: _Laid, chosen: Ints, source: _Source) -> None:
    """Count all pairs of the chosen anchors, slab by slab."""
    t, position = laid.t[chosen], laid.anchor[chosen]
    left, first = laid.left[chosen], laid.first[chosen]
    for begin, end in _slabs(t, source.segments(t)):
        part = slice(begin, end)
        curves, x = source.curves(int(position[begin]), t[part])
        slab = _Anchors(position[part], x, curves.own(position[part], x), left[part], first[part])
        _inside(laid, slab, curves)
        _through(laid, slab, curves)


def _slabs(t: Floats, segment: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of anchors of one segment, at most `_SLAB` unless they share one time."""
    begin = 0
    while begin < t.size:
        end = min(begin + _SLAB, int(np.searchsorted(segment, segment[begin], "right")))
        if end < t.size and t[end] == t[end - 1]:
            same = int(np.searchsorted(t, t[end], "left"))
            end = same if same > begin else int(np.searchsorted(t, t[end], "right"))
        yield begin, end
        begin = end


def _inside(laid: _Laid, slab: _Anchors, curves: _Curves) -> None:
    """Pairs whose partner's time lies in the slab too: all evaluated."""
    stop = int(slab.first[-1])
    for begin in range(0, slab.x.size, curves.group):
        part = slab.take(slice(begin, begin + curves.group))
        if part.first[0] < stop:
            _evaluate(laid, part, curves, np.arange(part.first[0], stop), masked=True)


def _through(laid: _Laid, slab: _Anchors, curves: _Curves) -> None:
    """Pairs whose partner is at risk throughout the slab."""
    start, n = int(slab.first[-1]), laid.w.size
    if start == n:
        return
    if slab.x.size < _FEW and slab.x[0] != slab.x[-1]:
        _evaluate(laid, slab, curves, np.arange(start, n))
        return
    low, high = curves.bounds(start, slab.x[0], slab.x[-1])
    slab = slab.take(np.argsort(slab.value))
    flat = np.flatnonzero(low == high)
    if flat.size == low.size:
        _rank_flat(laid, slab, np.arange(start, n), low)
        return
    bent = np.arange(n - start)
    if flat.size:
        _rank_flat(laid, slab, start + flat, low[flat])
        bent = np.flatnonzero(low != high)
    _rank_bent(laid, slab, curves, start + bent, low[bent], high[bent])


def _rank_flat(laid: _Laid, slab: _Anchors, rows: Ints, value: Floats) -> None:
    """Pairs with curves that stay at one value over the slab: binary search decides all."""
    order = np.argsort(value)
    value, rows = value[order], rows[order]
    total = _cumulative(laid.w[rows])
    level, above = (np.searchsorted(value, slab.value, side) for side in ("left", "right"))
    laid.concordant[slab.position] += total[-1] - total[above]
    laid.tied[slab.position] += total[above] - total[level]
    from_above = np.bincount(above, slab.left, rows.size + 1)
    from_level = np.bincount(level, slab.left, rows.size + 1)
    laid.partner_concordant[rows] += np.cumsum(from_above)[:-1]
    if (above > level).any():
        laid.partner_tied[rows] += np.cumsum(from_level - from_above)[:-1]


def _rank_bent(
    laid: _Laid, slab: _Anchors, curves: _Curves, rows: Ints, low: Floats, high: Floats
) -> None:
    """Pairs with falling curves: evaluate only those whose range holds the anchor's value."""
    order = np.argsort(high)
    rows, low, high = rows[order], low[order], high[order]
    total = _cumulative(laid.w[rows])
    # All curves from here on, in this order, stay above the value found.
    floor = np.minimum.accumulate(low[::-1])[::-1]
    begins = np.arange(0, slab.x.size, curves.group)
    ends = np.minimum(begins + curves.group, slab.x.size)
    starts = np.searchsorted(high, slab.value[begins], "left")
    stops = np.searchsorted(floor, slab.value[ends - 1], "right")
    lead = np.zeros(rows.size + 1)  # weight of anchors that a curve and all after it stay above
    for begin, end, start, stop in zip(begins, ends, starts, stops, strict=True):
        part = slab.take(slice(begin, end))
        laid.concordant[part.position] += total[-1] - total[start]
        weight = part.left.sum()
        lead[start] += weight
        # The window may hold curves that stay above too; the others are counted anew.
        open_ = rows[start:stop][low[start:stop] <= part.value[-1]]
        laid.concordant[part.position] -= laid.w[open_].sum()
        laid.partner_concordant[open_] -= weight
        _evaluate(laid, part, curves, open_)
    laid.partner_concordant[rows] += np.cumsum(lead)[:-1]


def _evaluate(
    laid: _Laid, part: _Anchors, curves: _Curves, rows: Ints, masked: bool = False
) -> None:
    """Compare values; `masked`: rows before an anchor's first partner do not count for it."""
    own = part.value[:, None]
    for begin in range(0, rows.size, _BLOCK):
        block = rows[begin : begin + _BLOCK]
        value = curves.values(block, part.x)
        above, level = value > own, value == own
        if masked:
            partner = block >= part.first[:, None]
            above &= partner
            level &= partner
        w = laid.w[block]
        weights = above.astype(np.float64)
        laid.concordant[part.position] += weights @ w
        laid.partner_concordant[block] += part.left @ weights
        if level.any():
            weights = level.astype(np.float64)
            laid.tied[part.position] += weights @ w
            laid.partner_tied[block] += part.left @ weights


class _Curves(Protocol):
    """Curves of subjects at risk over one slab; arguments x are the source's own."""

    group: int  # anchors evaluated together

    def own(self, position: Ints, x: Floats) -> Floats:
        """Value of each of the positions at its own x."""

    def values(self, position: Ints, x: Floats) -> Floats:
        """Values of the positions at all x, of shape (x, position)."""

    def bounds(self, start: int, first: float, last: float) -> tuple[Floats, Floats]:
        """Lowest and highest value from first to last of all positions from `start` on."""


class _Source(Protocol):
    """Where curves come from."""

    def segments(self, t: Floats) -> Ints:
        """Number the stretches of time over which `curves` holds."""

    def curves(self, start: int, t: Floats) -> tuple[_Curves, Floats]:
        """Curves of all positions from `start` on over the segment of `t`, and their x at `t`."""


class _Lines:
    """Straight lines A + B x, 0 <= x < 1, of all positions from `start` on.

    Rounding is monotone, hence so is the computed A + B x in x: bounds from the two ends are exact.
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

    def bounds(self, start: int, first: float, last: float) -> tuple[Floats, Floats]:
        level, slope = self.level[start - self.start :], self.slope[start - self.start :]
        ends = level + slope * first, level + slope * last
        return np.minimum(*ends), np.maximum(*ends)


class _Grid:
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

    def curves(self, start: int, t: Floats) -> tuple[_Curves, Floats]:
        k = int(np.searchsorted(self.times, t[0], "right")) - 1
        n = self.order.size - start
        level = np.full(n, self.before) if k < 0 else self._fetch(k, start)
        if not self.linear or k + 1 == self.times.size:
            return _Lines(start, level, np.broadcast_to(0.0, n)), np.zeros(t.size)
        begin = 0.0 if k < 0 else self.times[k]
        x = (t - begin) / (self.times[k + 1] - begin)
        return _Lines(start, level, self._fetch(k + 1, start) - level), x

    def _fetch(self, column: int, start: int) -> Floats:
        if not 0 <= column - self.column < len(self.table):
            block = self.survival[self.order[start:], column : column + _COLUMNS]
            self.table, self.column, self.start = block.T.astype(np.float64), column, start
        return self.table[column - self.column, start - self.start :]


class _Function:
    """Curves behind a function of (rows, t); they must not rise."""

    group = 64

    def __init__(self, at: Evaluate, order: Ints) -> None:
        self.at, self.order = at, order

    def segments(self, t: Floats) -> Ints:
        return np.zeros(t.size, dtype=np.intp)

    def curves(self, start: int, t: Floats) -> tuple[_Curves, Floats]:
        return self, t

    def own(self, position: Ints, x: Floats) -> Floats:
        # From the same function as the partners' values, so that equal curves tie exactly.
        value = np.empty(x.size)
        for begin in range(0, x.size, 16):
            part = slice(begin, begin + 16)
            value[part] = np.diagonal(self.values(position[part], x[part]))
        return value

    def values(self, position: Ints, x: Floats) -> Floats:
        return self.at(self.order[position], x).T

    def bounds(self, start: int, first: float, last: float) -> tuple[Floats, Floats]:
        ends = np.unique((first, last))
        value = np.empty((ends.size, self.order.size - start))
        for begin in range(start, self.order.size, _BLOCK):
            block = np.arange(begin, min(begin + _BLOCK, self.order.size))
            value[:, block - start] = self.values(block, ends)
        low, high = value.min(axis=0), value.max(axis=0)
        bent = low != high
        low[bent] -= _SLACK * (low[bent] + 1e-3)
        high[bent] += _SLACK * (high[bent] + 1e-3)
        return low, high
