"""Time-dependent concordance between bounds: near-linear in the number of subjects.

Clean arrays in, no checks; see `_antolini` for the words. Anchors are cut into
stretches of time that lie between two grid points. A curve does not rise, so over a stretch it
stays between its values at the two ends, and a partner at risk throughout is decided wherever the
anchor's value lies outside that range. What is left open counts 1/2.

Each open pair adds between 0 and 1 to the numerator of C and the same to its denominator whatever
the answer is. So with U the weight of the open pairs and D that of all pairs, C lies within
U / (2 D) of the value found. U falls with the length of the stretches, not with their number of
subjects, so a fixed number of stretches does for any n.

Partners whose own time lies in the stretch are met by cutting it in halves again and again: the
later half is at risk throughout the earlier one. Only the smallest parts are evaluated in full.
"""

from __future__ import annotations

import numpy as np

from ..._tools.array_types import Floats, Ints
from ..._tools.threads import in_order
from ._antolini import Laid, compare_all, evaluate_pairs, slab_bounds
from ._antolini_curves import Anchors, CurveSource, Frame, SlabCurves
from ._inversions import cumulative

#: Stretches of time by default.
STRETCHES = 256
_LEAF = 64  # anchors whose pairs among themselves are evaluated
_FEW = 16  # with fewer anchors than this, evaluating costs less than ranking
_ROWS = 8_192  # partners ranked together: their arrays stay small enough not to be mapped anew
_STEPS = 1 << 14  # of the table that replaces a search
_SPAN = 16 * _ROWS  # partners that one thread takes


def count_between_bounds(laid: Laid, chosen: Ints, source: CurveSource, stretches: int) -> float:
    """Count the pairs of the chosen anchors; open ones as tied. Returns the weight of the open."""
    t, position = laid.t[chosen], laid.anchor[chosen]
    left, first = laid.left[chosen], laid.first[chosen]
    size = max(1, -(-laid.t.size // stretches))
    total = 0.0
    for begin, end in slab_bounds(t, source.segments(t), size):
        part = slice(begin, end)
        curves, x = source.curves(int(position[begin]), t[part])
        slab = Anchors(position[part], x, curves.own(position[part], x), left[part], first[part])
        total += _through(laid, slab, curves, int(slab.first[-1]), laid.w.size)
        total += _inside(laid, slab, curves)
    return total


def _inside(laid: Laid, slab: Anchors, curves: SlabCurves) -> float:
    """Pairs whose partner's time lies in the stretch too, by halves."""
    stop = int(slab.first[-1])
    if slab.first[0] == stop:  # all at one time
        return 0.0
    if slab.x.size <= _LEAF:
        compare_all(laid, slab, curves, stop)
        return 0.0
    middle = slab.x.size // 2
    same = slab.first == slab.first[middle]  # equal times stay together
    middle = int(np.argmax(same)) or int(same.sum())
    earlier, later = slab.take(slice(0, middle)), slab.take(slice(middle, None))
    found = _through(laid, earlier, curves, int(earlier.first[-1]), stop)
    return found + _inside(laid, earlier, curves) + _inside(laid, later, curves)


def _through(laid: Laid, slab: Anchors, curves: SlabCurves, start: int, stop: int) -> float:
    """Pairs with the partners at positions from `start` to `stop`, at risk throughout."""
    if start >= stop:
        return 0.0
    if slab.x.size < _FEW and slab.x[0] != slab.x[-1]:
        rows = np.arange(start, stop)
        laid.add(slab, rows, evaluate_pairs(laid, slab, curves, rows, laid.w[rows]))
        return 0.0
    # A sample of the partners says from where to look at all of them.
    sample = np.arange(start, stop, max(1, (stop - start) // 1000))
    frame = curves.frame(sample, curves.ends(sample, slab), slab, laid.tolerance)
    spans = ((k, min(k + _SPAN, stop)) for k in range(start, stop, _SPAN))
    left_open = 0.0
    for anchor, open_ in in_order(lambda span: _ranked(laid, slab, curves, frame, *span), spans):
        laid.as_anchor.concordant[slab.position] += anchor[0]
        laid.as_anchor.tied[slab.position] += anchor[1]
        left_open += open_
    return left_open


def _ranked(
    laid: Laid, slab: Anchors, curves: SlabCurves, frame: Frame, start: int, stop: int
) -> tuple[Floats, float]:
    """Rank the ends of the partners' curves among the anchors' values.

    Partners' counts are written down here; the anchors' (above, level or open) and the weight of
    the open pairs are returned.
    """
    anchor, left_open = np.zeros((2, slab.x.size)), 0.0
    _, _, seen = frame.ranges(np.zeros((2, 1)), slab)
    coarse = stop - start > _ROWS // 2
    views = [(False, _Ranks(seen, slab.left, coarse)), (True, _Ranks(slab.value, slab.left, False))]
    for begin in range(start, stop, _ROWS):
        rows = np.arange(begin, min(begin + _ROWS, stop))
        ends = curves.ends(rows, slab)
        level = ends[0] == ends[1]
        for flat, ranks in views:
            picked = level if flat else ~level
            if not picked.any():
                continue
            some = rows if picked.all() else rows[picked]
            own = ends if picked.all() else ends[:, picked]
            if flat:
                low, high = own[0] - laid.tolerance, own[0] + laid.tolerance
            else:
                low, high, _ = frame.ranges(own, slab)
            below, reached = ranks.surely_below(low), ranks.perhaps_below(high)
            surely, w = ranks.before[below], laid.w[some]
            undecided = ranks.before[reached]
            undecided -= surely
            laid.as_partner.concordant[some] += surely
            laid.as_partner.tied[some] += undecided
            above = np.bincount(below, w, ranks.before.size)
            rest = np.cumsum(np.bincount(reached, w, ranks.before.size) - above)[:-1]
            anchor[0, ranks.order] += w.sum() - np.cumsum(above)[:-1]
            anchor[1, ranks.order] -= rest
            # Who has not entered yet is taken out by a negative weight, and may be open as well.
            left_open += 0.0 if flat else float((undecided * np.abs(w)).sum())
    return anchor, left_open


class _Ranks:
    """Anchors' values in order, to count how many lie below others.

    Coarse ranks read the count off a table of equal steps. Rounding down to a step keeps the order,
    so values of earlier steps are below and values of later ones are not; those of the same step
    stay open, which is one anchor in thousands and saves a search for every partner.
    """

    def __init__(self, value: Floats, left: Floats, coarse: bool) -> None:
        self.order = np.argsort(value, kind="stable")
        self.value = value[self.order]
        #: Weight of the first 0, 1, ... anchors.
        self.before = cumulative(left[self.order])
        self._lowest = float(self.value[0])
        span = float(self.value[-1]) - self._lowest
        self._scale = _STEPS / span if coarse and span > 0 else np.inf
        if np.isfinite(self._scale):
            number = np.bincount(self._step(self.value), minlength=_STEPS + 2)
            self._until = np.concatenate(([0], np.cumsum(number)))

    def _step(self, x: Floats) -> Ints:
        """Step of each value, from 1 to `_STEPS` + 1; 0 for what is lower than all."""
        steps = (x - self._lowest) * self._scale
        np.clip(steps, -1.0, _STEPS, out=steps)
        np.floor(steps, out=steps)
        steps += 1.0
        return steps.astype(np.intp)

    def surely_below(self, low: Floats) -> Ints:
        """How many anchors are proved to lie below each value."""
        if not np.isfinite(self._scale):
            return self.value.searchsorted(low, "left")
        return self._until[self._step(low)]

    def perhaps_below(self, high: Floats) -> Ints:
        """How many anchors are not proved to lie above each value."""
        if not np.isfinite(self._scale):
            return self.value.searchsorted(high, "right")
        return self._until[self._step(high) + 1]
