"""Kernels for the time-dependent concordance: curves compared at the anchor's time, exactly.

Clean arrays in, no checks. The pairs are those of `_pairs`; a pair is concordant
if S(t_i | x_i) < S(t_i | x_j) and tied if the two are equal.

Subjects are laid out by time, and anchors are taken in *slabs*: neighbours in time between the
same two grid points. Over a slab every curve stays between its values at the slab's two ends, so
that after sorting those ends nearly all pairs are decided by binary search. Only the curves whose
range holds the anchor's own value, and subjects whose time lies inside the slab, are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.sorting import sorting_order
from ._antolini_curves import Anchors, CurveSource, Evaluate, Function, OnGrid, SlabCurves, Values
from ._inversions import Counts, back, cumulative, run_bounds
from ._pairs import PairCounts, Role

# Concordant and tied: weight of partners of each anchor, weight of anchors of each partner.
_Found = tuple[Floats, Floats, Floats, Floats]

_SLAB = 1024  # anchors that share one sort of the curves
_FEW = 16  # with fewer anchors than this, evaluating costs less than sorting
_FEW_PAIRS = 6_000_000  # of an anchor and a subject, that are all evaluated without any sort
_BLOCK = 2048  # curves per evaluated block, which then fits the cache


def lay_out(
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
    tolerance: float = 0.0,
    rows: Ints | None = None,
) -> tuple[Laid, list[tuple[Ints, CurveSource]]]:
    r"""Subjects by time, and anchors with the source of the curves at their times, to be counted.

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
    tolerance : float
        Values that differ by at most this are tied. Interpolated values that are equal on paper
        may differ in the last digit; peers allow 1e-8.
    rows : array of shape (n,), optional
        Row of the curves that belongs to each outcome; None: its own.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> times = np.array([0.0, 4.0])
    >>> survival = np.array([[1.0, 0.2], [1.0, 0.0], [1.0, 0.9]])
    >>> laid, parts = lay_out(time, event, times, survival)
    >>> for part in parts:
    ...     count_exactly(laid, *part)
    >>> laid.counts(None, None).totals()
    PairTotals(comparable=3, concordant=2, discordant=1, tied=0)
    """
    order = np.lexsort((~event, time))
    laid = Laid(time[order], event[order], order, anchor_weight, weight, tolerance)
    row = order if rows is None else rows[order]
    parts: list[tuple[Bools, CurveSource]]
    if survival is None or times is None:
        if at is None:
            raise ValueError("curves are missing: pass times and survival, or at")
        parts = [(np.ones(laid.anchor.size, dtype=np.bool_), Function(at, row, times, None))]
    else:
        past = (laid.t > times[-1]) & (at is not None)
        parts = [(~past, OnGrid(times, survival, row, interpolation, before))]
        if at is not None:
            parts.append((past, Function(at, row, None, survival[row, -1])))
    return laid, [(np.flatnonzero(some), source) for some, source in parts if some.any()]


class Laid:
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
        tolerance: float,
    ) -> None:
        n, self.tolerance, self.order = order.size, tolerance, order
        is_anchor = event
        if anchor_weight is not None:
            is_anchor = event & (anchor_weight[order] != 0)
        self.w = np.ones(n) if weight is None else weight[order]
        left = is_anchor * self.w
        if anchor_weight is not None:
            left *= anchor_weight[order]
        self.anchor = np.flatnonzero(is_anchor)
        changes = (time[1:] != time[:-1]) | (event[1:] != event[:-1])
        start, end = run_bounds(cumulative(changes))
        self.t, self.left = time[self.anchor], left[self.anchor]
        self.first = end[self.anchor]  # position of an anchor's first partner
        total = cumulative(self.w)
        comparable = np.where(is_anchor, total[-1] - total[end], 0.0)
        self.as_anchor = Role(comparable, np.zeros(n), np.zeros(n))
        self.as_partner = Role(cumulative(left)[start], np.zeros(n), np.zeros(n))

    def add(self, anchors: Anchors, rows: Ints, found: _Found) -> None:
        """Add what was found between some anchors and some partners."""
        self.as_anchor.concordant[anchors.position] += found[0]
        self.as_anchor.tied[anchors.position] += found[1]
        self.as_partner.concordant[rows] += found[2]
        self.as_partner.tied[rows] += found[3]

    def counts(self, anchor_weight: Floats | None, weight: Floats | None) -> PairCounts:
        """Return the counts in the order that the subjects came in."""
        kinds = (
            np.int64 if weight is None else np.float64,
            np.int64 if weight is None and anchor_weight is None else np.float64,
        )
        anchor, partner = (
            Role(*(back(column.astype(kind, copy=False), self.order) for column in role))
            for role, kind in zip((self.as_anchor, self.as_partner), kinds, strict=True)
        )
        return PairCounts(anchor, partner, anchor_weight, weight)


def count_exactly(laid: Laid, chosen: Ints, source: CurveSource) -> None:
    """Count all pairs of the chosen anchors, slab by slab."""
    t, position = laid.t[chosen], laid.anchor[chosen]
    left, first = laid.left[chosen], laid.first[chosen]
    whole = source.whole() if chosen.size * laid.w.size <= _FEW_PAIRS else None
    if whole is not None:
        anchors = Anchors(position, t, whole.own(position, t), left, first)
        compare_all(laid, anchors, whole, laid.w.size)
        return
    for begin, end in slab_bounds(t, source.segments(t)):
        part = slice(begin, end)
        curves, x = source.curves(int(position[begin]), t[part])
        slab = Anchors(position[part], x, curves.own(position[part], x), left[part], first[part])
        compare_all(laid, slab, curves, int(slab.first[-1]))
        _through(laid, slab, curves)


def slab_bounds(t: Floats, segment: Ints, size: int = _SLAB) -> Iterator[tuple[int, int]]:
    """Ranges of anchors of one segment, at most `size` unless they share one time."""
    begin = 0
    while begin < t.size:
        end = min(begin + size, int(np.searchsorted(segment, segment[begin], "right")))
        if end < t.size and t[end] == t[end - 1]:
            same = int(np.searchsorted(t, t[end], "left"))
            end = same if same > begin else int(np.searchsorted(t, t[end], "right"))
        yield begin, end
        begin = end


def compare_all(laid: Laid, slab: Anchors, curves: Values, stop: int) -> None:
    """Evaluate all pairs of the anchors with partners before position `stop`."""
    for begin in range(0, slab.x.size, curves.group):
        part = slab.take(slice(begin, begin + curves.group))
        if part.first[0] < stop:
            rows = np.arange(part.first[0], stop)
            found = evaluate_pairs(laid, part, curves, rows, laid.w[rows], masked=True)
            laid.add(part, rows, found)


def _through(laid: Laid, slab: Anchors, curves: SlabCurves) -> None:
    """Pairs whose partner is at risk throughout the slab."""
    rows = np.arange(slab.first[-1], laid.w.size)
    if rows.size == 0:
        return
    if slab.x.size < _FEW and slab.x[0] != slab.x[-1]:
        laid.add(slab, rows, evaluate_pairs(laid, slab, curves, rows, laid.w[rows]))
        return
    ends = curves.ends(rows, slab)
    flat = ends[0] == ends[1]
    if flat.any():
        _rank_flat(laid, slab, rows[flat], ends[0, flat])
    if not flat.all():
        _rank_bent(laid, slab, curves, rows[~flat], ends[:, ~flat])


def _rank_flat(laid: Laid, slab: Anchors, rows: Ints, value: Floats) -> None:
    """Pairs with curves that stay at one value over the slab: binary search decides all."""
    order = sorting_order(value)
    value, rows = value[order], rows[order]
    total = cumulative(laid.w[rows])
    level = np.searchsorted(value, slab.value - laid.tolerance, "left")
    above = np.searchsorted(value, slab.value + laid.tolerance, "right")
    from_above = np.bincount(above, slab.left, rows.size + 1)
    from_level = np.bincount(level, slab.left, rows.size + 1)
    found: tuple[Counts, Counts, Counts, Counts] = (
        total[-1] - total[above],
        total[above] - total[level],
        np.cumsum(from_above)[:-1],
        np.cumsum(from_level - from_above)[:-1],
    )
    laid.add(slab, rows, found)


def _rank_bent(laid: Laid, slab: Anchors, curves: SlabCurves, rows: Ints, ends: Floats) -> None:
    """Pairs with falling curves: evaluate only those whose range holds the anchor's value."""
    low, high, value = curves.frame(rows, ends, slab, laid.tolerance).ranges(ends, slab)
    by_value, by_high = sorting_order(value), sorting_order(high)
    slab, value, rows = slab.take(by_value), value[by_value], rows[by_high]
    # Copies of one curve are decided together.
    heads = np.flatnonzero(curves.changes(rows))
    low, high = low[by_high[heads]], high[by_high[heads]]
    w = np.add.reduceat(laid.w[rows], heads)
    total = cumulative(w)
    # From here on, in the order of the highest values, all curves stay above the value found.
    floor = np.minimum.accumulate(low[::-1])[::-1]
    begins = np.arange(0, value.size, curves.group)
    lasts = np.minimum(begins + curves.group, value.size) - 1
    starts = np.searchsorted(high, value[begins], "left")
    stops = np.searchsorted(floor, value[lasts], "right")
    lead = np.zeros(heads.size + 1)  # weight of anchors that a curve and all after it stay above
    concordant, tied = np.zeros(heads.size), np.zeros(heads.size)
    for begin, last, start, stop in zip(begins, lasts, starts, stops, strict=True):
        part = slab.take(slice(begin, last + 1))
        # Curves of the window that stay above too are settled; the others are counted anew.
        window = start + np.flatnonzero(low[start:stop] <= value[last])
        found = evaluate_pairs(laid, part, curves, rows[heads[window]], w[window])
        settled = total[-1] - total[start] - w[window].sum()
        laid.as_anchor.concordant[part.position] += settled + found[0]
        laid.as_anchor.tied[part.position] += found[1]
        lead[start] += part.left.sum()
        concordant[window] += found[2] - part.left.sum()
        tied[window] += found[3]
    copies = np.diff(np.append(heads, rows.size))
    laid.as_partner.concordant[rows] += np.repeat(np.cumsum(lead)[:-1] + concordant, copies)
    laid.as_partner.tied[rows] += np.repeat(tied, copies)


def evaluate_pairs(
    laid: Laid, part: Anchors, curves: Values, rows: Ints, w: Floats, masked: bool = False
) -> _Found:
    """Compare values.

    `masked`: rows, ascending then, before an anchor's first partner do not count for it.
    """
    lowest, highest = (part.value + sign * laid.tolerance for sign in (-1, 1))
    concordant, tied = np.zeros(part.x.size), np.zeros(part.x.size)
    partner_concordant, partner_tied = np.zeros(rows.size), np.zeros(rows.size)
    for begin in range(0, rows.size, _BLOCK):
        chunk = slice(begin, begin + _BLOCK)
        value = curves.values(rows[chunk], part.x)
        above, level = value > highest[:, None], value >= lowest[:, None]
        level ^= above
        if masked and rows[begin] < part.first[-1]:
            some = slice(0, int(rows[chunk].searchsorted(part.first[-1])))
            partner = rows[chunk][some] >= part.first[:, None]
            above[:, some] &= partner
            level[:, some] &= partner
        weights = above.astype(np.float64)
        concordant += weights @ w[chunk]
        partner_concordant[chunk] = part.left @ weights
        if level.any():
            weights = level.astype(np.float64)
            tied += weights @ w[chunk]
            partner_tied[chunk] = part.left @ weights
    return concordant, tied, partner_concordant, partner_tied
