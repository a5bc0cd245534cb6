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
from typing import Any, NamedTuple

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
    """Anchors of a slab, by their own value: positions, arguments, values, weights, partners."""

    position: Ints
    x: Floats
    value: Floats
    left: Floats
    first: Ints


def _count(laid: _Laid, chosen: Ints, source: _Source) -> None:
    """Count all pairs of the chosen anchors, slab by slab."""
    t, first, position = laid.t[chosen], laid.first[chosen], laid.anchor[chosen]
    for begin, end in _slabs(t, source.segments(t)):
        curves, x = source.curves(first[begin], t[begin:end])
        value = curves.own(position[begin:end], x)
        rank = np.argsort(value)
        slab = _Anchors(position[begin:end], x, value, laid.left[chosen[begin:end]], first[begin:end])
        slab = _Anchors(*(part[rank] for part in slab))
        _inside(laid, slab, curves, int(first[end - 1]))
        _through(laid, slab, curves, int(first[end - 1]), x[0], x[-1])


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
