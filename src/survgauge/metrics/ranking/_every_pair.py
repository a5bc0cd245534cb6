"""Pairs looked at one by one: those of curves, and those that have a weight each.

Clean arrays in, no checks. The pairs are those of `_pairs`; a pair is concordant if
S(t_i | x_i) < S(t_i | x_j) and tied if the two are equal. Every pair is looked at, which costs
about 3 ns: subjects lie by time, so that the comparators of an anchor are those behind it, and a
few anchors between the same two grid points meet a few thousand comparators at a time, in blocks
that fit the cache. (Deciding pairs by bounds of sorted curves instead takes half of the time of
20,000 subjects and a sixth of that of 100,000, for four times the code.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.curves import SurvivalCurves
from ...data.interpolation import tail_survival
from ._pairs import PairCounts, Role, back, cumulative, run_ends, run_starts

_ANCHORS, _COMPARATORS = 32, 2048  # compared in one block

#: Values of some positions at the times of a few anchors, (anchors, positions).
_Read = Callable[[Any], Floats]


def every_pair_counts(
    time: Floats,
    event: Bools,
    source: SurvivalCurves | Floats,
    *,
    anchor_weight: Floats | None = None,
    weight: Floats | None = None,
    tolerance: float = 0.0,
    rows: Ints | None = None,
    comparator_weight: Callable[[float], Floats] | None = None,
) -> PairCounts:
    r"""Count the comparable pairs of every subject by its curve, or by its risk.

    .. math::
        C = \frac{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}\,
        [1(S_i(t_i) < S_j(t_i)) + \tfrac12 1(S_i(t_i) = S_j(t_i))]}
        {\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}}

    Parameters
    ----------
    time, event : arrays of shape (n,)
        Outcomes.
    source : SurvivalCurves or array of shape (n,)
        Curves, whose last values are held past the grid under a tail "nan"; or risks.
    anchor_weight : array of shape (n,), optional
        a; an event with weight zero is skipped as an anchor, its anchor counts are then zero.
    weight : array of shape (n,), optional
        w; whole numbers give what repeated rows would.
    tolerance : float
        Values that differ by at most this are tied. Interpolated values that are equal on paper
        may differ in the last digit; peers allow 1e-8.
    rows : array of shape (n,), optional
        Row of the source that belongs to each outcome; None: its own.
    comparator_weight : callable, optional
        ``comparator_weight(t)`` gives 1/G_j(t-) of all subjects, where G depends on the subject.
        That i was seen at its event and j at least as long has probability G_i(t_i-) G_j(t_i-), so
        a pair weighs w_i w_j / (G_i(t_i-) G_j(t_i-)) [1]_, with 1/G_i(t_i-) for a_i.

    References
    ----------
    .. [1] Gerds, Kattan, Schumacher, Yu (2013). Estimating a time-dependent concordance index for
       survival prediction models with covariate dependent censoring. Statistics in Medicine 32(13),
       2173-2184.

    Examples
    --------
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> curves = SurvivalCurves([0, 4], [[1, 0.2], [1, 0], [1, 0.9]])
    >>> every_pair_counts(time, event, curves).totals()
    PairTotals(comparable=3, concordant=2, discordant=1, tied=0)

    Subject 0 is compared with both others, who weigh 1 and 2:

    >>> inverse, anchor = np.array([1.0, 1.0, 2.0]), np.array([True, False, False])
    >>> every_pair_counts(time, anchor, time, comparator_weight=lambda t: inverse).totals()
    PairTotals(comparable=3.0, concordant=0.0, discordant=3.0, tied=0.0)
    """
    order = np.lexsort((~event, time))  # events first, so that comparators are a suffix
    n, t, e = order.size, time[order], event[order]
    w = np.ones(n) if weight is None else weight[order]
    a = np.ones(n) if anchor_weight is None else anchor_weight[order]
    left, chosen = e * a * w, np.flatnonzero(e & (a != 0))
    moment = cumulative((t[1:] != t[:-1]) | (e[1:] != e[:-1]))
    start, end = run_starts(moment), run_ends(moment)
    # Comparable, concordant and tied. Sums of ones are whole numbers and exact.
    anchor, comparator = np.zeros((3, n)), np.zeros((3, n))
    if comparator_weight is None:
        total = cumulative(w)
        anchor[0, chosen] = total[-1] - total[end[chosen]]
        comparator[0] = cumulative(left)[start]
    for part, read in _readers(source, order if rows is None else rows[order], t[chosen]):
        position = chosen[part]
        own = np.diagonal(read(position))[:, None]
        low, high, first = own - tolerance, own + tolerance, end[position]
        inverse = None
        if comparator_weight is not None:
            moments, place = np.unique(t[position], return_inverse=True)
            inverse = np.stack([comparator_weight(float(s))[order] for s in moments])[place]
        for begin in range(int(first[0]), n, _COMPARATORS):
            block = slice(begin, min(begin + _COMPARATORS, n))
            value = read(block)
            above, level = value > high, value >= low
            level ^= above
            kinds = [(1, above), (2, level)]
            early = min(int(first[-1]), block.stop) - begin
            if early > 0:  # comparators of some anchors only
                theirs = np.arange(begin, begin + early) >= first[:, None]
                above[:, :early] &= theirs
                level[:, :early] &= theirs
            if inverse is not None:
                kinds.append((0, np.arange(begin, block.stop) >= first[:, None]))
            for kind, found in kinds:
                if found.any():
                    ones = found.astype(np.float64)
                    if inverse is not None:
                        ones *= inverse[:, block]
                    anchor[kind, position] += ones @ w[block]
                    comparator[kind, block] += left[position] @ ones
    whole = weight is None and comparator_weight is None
    kinds_of = (
        np.int64 if whole else np.float64,
        np.int64 if whole and anchor_weight is None else np.float64,
    )
    roles = [
        Role(*(back(part.astype(kind, copy=False), order) for part in role))
        for role, kind in zip((anchor, comparator), kinds_of, strict=True)
    ]
    return PairCounts(roles[0], roles[1], anchor_weight, weight)


def _readers(
    source: SurvivalCurves | Floats, row: Ints, t: Floats
) -> Iterator[tuple[slice, _Read]]:
    """A few anchors after the other, with what reads everybody's values at their times `t`."""
    if not isinstance(source, SurvivalCurves):
        value = -source[row]
        for first in range(0, t.size, _ANCHORS):
            part = slice(first, min(first + _ANCHORS, t.size))
            yield part, partial(_same, value, part.stop - first)
        return
    curves = source
    grid, tail = curves.times, curves.tail
    lines = curves.shared_grid and curves.interpolation != "pchip"
    segment = np.zeros(t.size, dtype=np.intp)
    if lines:  # -1: before the first point; as many as there are points: past the last
        segment = np.searchsorted(grid, t, "right") - 1 + (t > grid[-1])
    for begin, end in pairwise([*np.flatnonzero(np.diff(segment, prepend=-2)), t.size]):
        k, line = int(segment[begin]), None
        if lines and not (k == grid.size and tail in ("linear", "exponential")):
            line = _line(curves, row, k)
        for first in range(begin, end, _ANCHORS):
            part = slice(first, min(first + _ANCHORS, end))
            some = t[part]
            if line is not None:
                yield part, _on_line(*line, some)
            else:
                yield part, partial(_past if lines else _at, curves, row, some)


def _same(value: Floats, anchors: int, position: Any) -> Floats:
    """Values that are the same at all times."""
    some = value[position]
    return np.broadcast_to(some, (anchors, some.size))


def _past(curves: SurvivalCurves, row: Ints, t: Floats, position: Any) -> Floats:
    """Values past the shared grid."""
    ends = curves.last_survival[row[position]]
    return tail_survival(t[:, None], curves.times[-1:], ends, curves.tail)


def _at(curves: SurvivalCurves, row: Ints, t: Floats, position: Any) -> Floats:
    """Values of curves that are neither lines nor steps on one grid."""
    return curves[row[position]].at(t).T


def _line(curves: SurvivalCurves, row: Ints, k: int) -> tuple[Floats, Floats, float, float]:
    """Level and fall of everybody's curve from grid point k to the next, its start and length."""
    grid, last = curves.times, curves.times.size - 1
    level = np.ones(row.size)
    if k >= 0:
        level = curves.survival[row, min(k, last)].astype(np.float64)
    if k >= last or curves.interpolation == "step":
        return level, np.zeros(row.size), 0.0, 1.0
    start = 0.0 if k < 0 else float(grid[k])
    return level, curves.survival[row, k + 1] - level, start, float(grid[k + 1]) - start


def _on_line(level: Floats, slope: Floats, start: float, length: float, t: Floats) -> _Read:
    share = ((t - start) / length)[:, None]

    def read(position: Any) -> Floats:
        value: Floats = slope[position] * share
        value += level[position]
        return value

    return read
