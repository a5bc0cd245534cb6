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
# Concordant and tied: weight of partners of each anchor, weight of anchors of each partner.
_Found = tuple[Floats, Floats, Floats, Floats]

_SLAB = 1024  # anchors that share one sort of the curves
_FEW = 16  # with fewer anchors than this, evaluating costs less than sorting
_BLOCK = 2048  # curves per evaluated block, which then fits the cache
_COLUMNS = 8  # grid points fetched at once: one cache line of a row
_ROUNDING = 1e-14  # more than any error in a probability after a few operations


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
        that do not rise. Used past the last grid time, where it may depend on a curve through its
        last value only; without it that value is held.

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
        parts = [(np.ones(laid.anchor.size, dtype=np.bool_), _Function(at, order, times, None))]
    else:
        past = (laid.t > times[-1]) & (at is not None)
        parts = [(~past, _Grid(times, survival, order, interpolation, before))]
        if at is not None:
            parts.append((past, _Function(at, order, None, survival[order, -1])))
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

    def add(self, anchors: _Anchors, rows: Ints, found: _Found) -> None:
        """Add what was found between some anchors and some partners."""
        self.concordant[anchors.position] += found[0]
        self.tied[anchors.position] += found[1]
        self.partner_concordant[rows] += found[2]
        self.partner_tied[rows] += found[3]

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
            rows = np.arange(part.first[0], stop)
            laid.add(part, rows, _evaluate(part, curves, rows, laid.w[rows], masked=True))


def _through(laid: _Laid, slab: _Anchors, curves: _Curves) -> None:
    """Pairs whose partner is at risk throughout the slab."""
    rows = np.arange(slab.first[-1], laid.w.size)
    if rows.size == 0:
        return
    if slab.x.size < _FEW and slab.x[0] != slab.x[-1]:
        laid.add(slab, rows, _evaluate(slab, curves, rows, laid.w[rows]))
        return
    first, last = curves.ends(rows, slab)
    flat = first == last
    if flat.any():
        _rank_flat(laid, slab, rows[flat], first[flat])
    if not flat.all():
        _rank_bent(laid, slab, curves, rows[~flat])


def _rank_flat(laid: _Laid, slab: _Anchors, rows: Ints, value: Floats) -> None:
    """Pairs with curves that stay at one value over the slab: binary search decides all."""
    order = np.argsort(value)
    value, rows = value[order], rows[order]
    total = _cumulative(laid.w[rows])
    level, above = (np.searchsorted(value, slab.value, side) for side in ("left", "right"))
    from_above = np.bincount(above, slab.left, rows.size + 1)
    from_level = np.bincount(level, slab.left, rows.size + 1)
    tied = np.zeros(rows.size)
    if (above > level).any():
        tied = np.cumsum(from_level - from_above)[:-1]
    anchors = total[-1] - total[above], total[above] - total[level]
    laid.add(slab, rows, (*anchors, np.cumsum(from_above)[:-1], tied))


def _rank_bent(laid: _Laid, slab: _Anchors, curves: _Curves, rows: Ints) -> None:
    """Pairs with falling curves: evaluate only those whose range holds the anchor's value."""
    low, high, value = curves.ranges(rows, slab)
    by_value, by_high = np.argsort(value), np.argsort(high)
    slab, value, rows = slab.take(by_value), value[by_value], rows[by_high]
    # Copies of one curve are decided together.
    heads = np.flatnonzero(curves.changes(rows))
    low, high = low[by_high[heads]], high[by_high[heads]]
    w = np.add.reduceat(laid.w[rows], heads)
    total = _cumulative(w)
    # From here on, in the order of the highest values, all curves stay above the value found.
    floor = np.minimum.accumulate(low[::-1])[::-1]
    begins = np.arange(0, value.size, curves.group)
    ends = np.minimum(begins + curves.group, value.size)
    starts = np.searchsorted(high, value[begins], "left")
    stops = np.searchsorted(floor, value[ends - 1], "right")
    lead = np.zeros(heads.size + 1)  # weight of anchors that a curve and all after it stay above
    concordant, tied = np.zeros(heads.size), np.zeros(heads.size)
    for begin, end, start, stop in zip(begins, ends, starts, stops, strict=True):
        part = slab.take(slice(begin, end))
        # Curves of the window that stay above too are settled; the others are counted anew.
        window = start + np.flatnonzero(low[start:stop] <= value[end - 1])
        found = _evaluate(part, curves, rows[heads[window]], w[window])
        laid.concordant[part.position] += total[-1] - total[start] - w[window].sum() + found[0]
        laid.tied[part.position] += found[1]
        lead[start] += part.left.sum()
        concordant[window] += found[2] - part.left.sum()
        tied[window] += found[3]
    copies = np.diff(np.append(heads, rows.size))
    laid.partner_concordant[rows] += np.repeat(np.cumsum(lead)[:-1] + concordant, copies)
    laid.partner_tied[rows] += np.repeat(tied, copies)


def _evaluate(
    part: _Anchors, curves: _Curves, rows: Ints, w: Floats, masked: bool = False
) -> _Found:
    """Compare values; `masked`: rows before an anchor's first partner do not count for it."""
    own, concordant, tied = part.value[:, None], np.zeros(part.x.size), np.zeros(part.x.size)
    partner_concordant, partner_tied = np.zeros(rows.size), np.zeros(rows.size)
    for begin in range(0, rows.size, _BLOCK):
        chunk = slice(begin, begin + _BLOCK)
        value = curves.values(rows[chunk], part.x)
        above, level = value > own, value == own
        if masked:
            partner = rows[chunk] >= part.first[:, None]
            above &= partner
            level &= partner
        weights = above.astype(np.float64)
        concordant += weights @ w[chunk]
        partner_concordant[chunk] = part.left @ weights
        if level.any():
            weights = level.astype(np.float64)
            tied += weights @ w[chunk]
            partner_tied[chunk] = part.left @ weights
    return concordant, tied, partner_concordant, partner_tied


class _Curves(Protocol):
    """Curves of subjects at risk over one slab, as functions of the source's own argument x."""

    group: int  # anchors evaluated together

    def own(self, position: Ints, x: Floats) -> Floats:
        """Value of each of the positions at its own x."""

    def values(self, position: Ints, x: Floats) -> Floats:
        """Values of the positions at all x, of shape (x, position)."""

    def ends(self, position: Ints, slab: _Anchors) -> Floats:
        """Values at the two ends of the slab, (2, position); equal only if constant between."""

    def ranges(self, position: Ints, slab: _Anchors) -> tuple[Floats, Floats, Floats]:
        """Bounds (low, high) of the curves over the slab and the anchors' values beside them.

        All three may be transformed as long as value < low proves the curve to be above, and
        value > high to be below the anchor.
        """

    def changes(self, position: Ints) -> Bools:
        """Whether a curve differs from the one before it in the list."""


class _Source(Protocol):
    """Where curves come from."""

    def segments(self, t: Floats) -> Ints:
        """Number the stretches of time over which `curves` holds."""

    def curves(self, start: int, t: Floats) -> tuple[_Curves, Floats]:
        """Curves of all positions from `start` on over the segment of `t`, and their x at `t`."""


class _Lines:
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

    def ends(self, position: Ints, slab: _Anchors) -> Floats:
        return self.values(position, slab.x[[0, -1]])

    def changes(self, position: Ints) -> Bools:
        level, slope = self.level[position - self.start], self.slope[position - self.start]
        new = (level[1:] != level[:-1]) | (slope[1:] != slope[:-1])
        return np.concatenate(([True], new))

    def ranges(self, position: Ints, slab: _Anchors) -> tuple[Floats, Floats, Floats]:
        sample = position[:: max(1, position.size // 1000)]
        plain, moving = _Frame(0.0, 0.0, 0.0, 0.0), self._fall(sample)
        ends = slab.x[[0, -1]]
        open_ = [
            _open_pairs(*frame.ranges(self.values(sample, ends), slab)) for frame in (plain, moving)
        ]
        frame = plain if open_[0] <= open_[1] else moving
        return frame.ranges(self.values(position, ends), slab)

    def _fall(self, position: Ints) -> _Frame:
        """Regression of B on A: the fall that the curves have in common."""
        level, slope = self.level[position - self.start], self.slope[position - self.start]
        centre, fall = float(level.mean()), float(slope.mean())
        spread = float(np.sum((level - centre) ** 2))
        shrink = float(np.dot(level - centre, slope)) / spread if spread > 0 else 0.0
        return _Frame(centre, fall, max(shrink, -0.9), _ROUNDING)


class _Frame(NamedTuple):
    """View from a falling frame, u = (v - centre - fall x) / (1 + shrink x).

    u rises with v, and along a line v = A + B x it is monotone in x; so its values at two ends
    bound it too, and far more closely where curves fall together. `slack` is for its rounding.
    """

    centre: float
    fall: float
    shrink: float
    slack: float

    def ranges(self, ends: Floats, slab: _Anchors) -> tuple[Floats, Floats, Floats]:
        x = slab.x[[0, -1]][:, None]
        scale = 1.0 + self.shrink * x
        slack = self.slack / float(scale.min())
        ends = (ends - self.centre - self.fall * x) / scale
        value = (slab.value - self.centre - self.fall * slab.x) / (1.0 + self.shrink * slab.x)
        return np.minimum(*ends) - slack, np.maximum(*ends) + slack, value


def _open_pairs(low: Floats, high: Floats, value: Floats) -> int:
    """Pairs that the ranges do not decide."""
    value = np.sort(value)
    return int(np.sum(np.searchsorted(value, high, "right") - np.searchsorted(value, low, "left")))


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

    def changes(self, position: Ints) -> Bools:
        if self.key is None:
            return np.ones(position.size, dtype=np.bool_)
        key = self.key[position]
        return np.concatenate(([True], key[1:] != key[:-1]))

    def ends(self, position: Ints, slab: _Anchors) -> Floats:
        value = np.empty((2, position.size))
        for begin in range(0, position.size, _BLOCK):
            chunk = slice(begin, begin + _BLOCK)
            value[:, chunk] = self.values(position[chunk], slab.x[[0, -1]])
        return value

    def ranges(self, position: Ints, slab: _Anchors) -> tuple[Floats, Floats, Floats]:
        ends = self.ends(position, slab)
        low, high = np.minimum(*ends), np.maximum(*ends)
        return low - _ROUNDING, high + _ROUNDING, slab.value
