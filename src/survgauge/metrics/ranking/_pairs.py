"""Kernels for concordance: who outlived whom, counted per subject in O(n log n).

Clean arrays in, no checks. A pair (i, j) is comparable if i is an event and t_i < t_j, or
t_i = t_j and j is censored. i is called the anchor, j the partner. The pair is concordant if
risk_i > risk_j and tied if the risks are equal; it weighs a_i w_i w_j, where a is the weight of
the anchor (1 for Harrell, 1/G(t_i-)^2 for Uno) and w the frequency of a subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.arrays import stored_once
from ..._tools.chunks import chunks
from ..._tools.sorting import sorting_order
from ._by_risk import RiskSorter
from ._inversions import Counts, back, cumulative, inversions, run_bounds


class Role(NamedTuple):
    """Comparable pairs of each subject in one role, and how they turned out; each of shape (n,)."""

    comparable: Counts
    concordant: Counts
    tied: Counts

    @property
    def discordant(self) -> Counts:
        """Pairs that the prediction puts in the wrong order."""
        return self.comparable - self.concordant - self.tied

    def rows(self, rows: slice) -> Role:
        """Return the counts of some subjects."""
        return Role(self.comparable[rows], self.concordant[rows], self.tied[rows])

    def by_subject(self, order: Ints) -> Role:
        """Return the same in the caller's order; `order` says which subject each row is."""
        return Role(*(_back(part, order) for part in self))


@dataclass(frozen=True)
class PairCounts:
    """Comparable pairs of each subject, in both of its roles.

    `anchor` sums the partners' w, `partner` the anchors' a * w (None if not asked for). Counts are
    integers wherever no weight enters.
    """

    anchor: Role
    partner: Role | None
    anchor_weight: Floats | None = None
    weight: Floats | None = None
    #: Subject that each row of all these is; None: the caller's order.
    order: Ints | None = None

    def by_subject(self) -> PairCounts:
        """Return the same in the caller's order."""
        if self.order is None:
            return self
        anchor, partner = self.anchor.by_subject(self.order), self.partner
        if partner is not None:
            partner = partner.by_subject(self.order)
        weights = (self.anchor_weight, self.weight)
        return PairCounts(
            anchor, partner, *(w if w is None else back(w, self.order) for w in weights)
        )

    def totals(self) -> PairTotals:
        """Weights of all comparable, concordant, discordant and tied pairs."""
        role, scales = self.anchor, (self.anchor_weight, self.weight)
        weighted = any(scale is not None for scale in scales)
        sums: list[Any] = [0.0 if weighted else 0] * 4
        for rows in chunks(role.comparable.size):
            part = role.rows(rows)
            scale = _product(*(w if w is None else w[rows] for w in scales))
            kinds = (part.comparable, part.concordant, part.discordant, part.tied)
            for k, kind in enumerate(kinds):
                sums[k] += (kind if scale is None else scale * kind).sum().item()
        return PairTotals(*sums)


class PairTotals(NamedTuple):
    """Weights of all pairs of a kind; integers if nothing was weighted."""

    comparable: float
    concordant: float
    discordant: float
    tied: float


def pair_counts(
    time: Floats,
    event: Bools,
    risk: Floats,
    *,
    anchor_weight: Floats | None = None,
    weight: Floats | None = None,
    partners: bool = True,
    order: Ints | None = None,
) -> PairCounts:
    r"""Count the comparable pairs of every subject, ties exact, in O(n log n).

    .. math::
        C = \frac{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}\,
        [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}}

    Parameters
    ----------
    time, event, risk : arrays of shape (n,)
        Outcomes, and a risk that is higher for those expected earlier.
    anchor_weight : array of shape (n,), optional
        a; zero excludes an event as an anchor and keeps it as a partner.
    weight : array of shape (n,), optional
        w; whole numbers give what repeated rows would.
    partners : bool
        Whether to count the partner's role too (needed for standard errors).
    order : array of shape (n,), optional
        Rows by time, where they have been sorted already.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> counts = pair_counts(time, event, np.array([2.0, 3.0, 1.0]))
    >>> counts.totals()
    PairTotals(comparable=3, concordant=2, discordant=1, tied=0)
    """
    lay = _Layout(time, event, risk, order)
    e, w = event[lay.order], None if weight is None else weight[lay.order]
    a = None if anchor_weight is None else anchor_weight[lay.order]
    del anchor_weight, weight
    if a is not None:
        a *= e  # as the partners see it: zero for everybody who is no anchor
    left = _product(e if a is None else a, w)
    concordant, greater = inversions(lay.rank, left if partners else None, w)
    concordant *= e
    anchor = Role(lay.partners(w), concordant, lay.ties_after(w))
    for part in (anchor.comparable, anchor.tied):
        if not stored_once(part):  # otherwise nobody is tied
            part *= e
    del concordant, part
    if not lay.tied_times:
        partner = Role(lay.anchors(left), greater, lay.ties_before(left)) if partners else None
        return PairCounts(anchor, partner, a, w, lay.order)
    # Those tied in time stand in order of risk; sums over rows must not depend on that. One role
    # after the other, so that few arrays are there twice.
    anchor, partner = anchor.by_subject(lay.order), None
    if partners:
        partner = Role(lay.anchors(left), greater, lay.ties_before(left))
        del greater, left
        partner = partner.by_subject(lay.order)
    weights = (None if each is None else back(each, lay.order) for each in (a, w))
    return PairCounts(anchor, partner, *weights)


class _Layout:
    """Positions by (time, events first, risk) and ranks by (risk, position).

    In this order an inversion that starts at an event is a concordant pair, and no other pair is:
    events tied in time rise in risk, and equal risks rise in position.
    """

    def __init__(self, time: Floats, event: Bools, risk: Floats, order: Ints | None = None) -> None:
        n = time.size
        order = sorting_order(time) if order is None else order
        found = RiskSorter(order)(risk)
        self.tied_risks = found.new is not None
        level = np.empty(n, dtype=np.int32)
        level[found.position] = (
            np.arange(n, dtype=np.int32) if found.new is None else _numbered(found.new)
        )
        del found
        new = np.ones(n, dtype=np.bool_)
        ordered = time[order]
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        del ordered
        self.tied_times = not new.all()
        self.block = np.empty(0, dtype=np.int32)
        if self.tied_times:
            kind = 2 * _numbered(new).astype(np.int64) + ~event[order]
            resort = np.argsort(kind * n + level, kind="stable")
            order, level, kind = order[resort], level[resort], kind[resort]
            new[1:] = kind[1:] != kind[:-1]
            self.block = _numbered(new)
        self.order, self.rank = order, level
        #: Positions that share their risk with others, by (risk, position), and their levels.
        self.tied = self.tied_level = np.empty(0, dtype=np.intp)
        if self.tied_risks:
            self._break_ties(level)

    def _break_ties(self, level: NDArray[np.int32]) -> None:
        """Rank equal risks by position; only those who share theirs are sorted again."""
        number = np.bincount(level).astype(np.int32)
        first = np.cumsum(number, dtype=np.int32)
        first -= number
        tied = np.flatnonzero((number > 1)[level])
        key = level[tied].astype(np.int64) << 32 | tied
        key.sort()
        self.tied, self.tied_level = key & 0xFFFFFFFF, key >> 32
        self.rank = first[level]
        self.rank[self.tied] += np.arange(key.size) - run_bounds(self.tied_level)[0]

    def partners(self, w: Counts | None) -> Counts:
        """Per position, the weight of those behind it: partners of an event there."""
        n = self.order.size
        ends = run_bounds(self.block)[1] if self.tied_times else None
        if w is None:
            if ends is None:
                return np.arange(n - 1, -1, -1, dtype=np.int32)
            return (n - ends).astype(np.int32)
        total = cumulative(w)
        return total[n] - total[1:] if ends is None else total[n] - total[ends]

    def anchors(self, left: Counts) -> Counts:
        """Per position, the weight of the anchors before it."""
        total = cumulative(left)
        if total.dtype == np.int64:
            total = total.astype(np.int32)
        return total[run_bounds(self.block)[0]] if self.tied_times else total[:-1]

    def _runs(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Bounds, among the tied, of equal risks and of equals in risk, time and event."""
        by_level = run_bounds(self.tied_level)
        if not self.tied_times:  # nobody else in a block
            alone = np.arange(self.tied.size)
            return by_level, (alone, alone + 1)
        block = self.block[self.tied]
        return by_level, run_bounds(self.tied_level * self.order.size + block)

    def ties_after(self, w: Counts | None) -> Counts:
        """Per position, the weight of later positions of the same risk in other blocks."""
        if not self.tied_risks:
            return np.broadcast_to(np.int32(0), self.order.size)  # no memory
        (_, level_end), (_, run_end) = self._runs()
        if w is None:
            return self._spread(level_end - run_end)
        total = cumulative(w[self.tied])
        return self._spread(total[level_end] - total[run_end])

    def ties_before(self, left: Counts) -> Counts:
        """Per position, the anchors' weight at earlier positions of the same risk."""
        if not self.tied_risks:
            return np.broadcast_to(np.int32(0), self.order.size)  # no memory
        (level_start, _), (run_start, _) = self._runs()
        total = cumulative(left[self.tied])
        return self._spread(total[run_start] - total[level_start])

    def _spread(self, values: Counts) -> Counts:
        """Zero where nobody is tied."""
        kind = np.int32 if values.dtype.kind == "i" else np.float64
        spread = np.zeros(self.order.size, dtype=kind)
        spread[self.tied] = values
        return spread


def _numbered(new: Bools) -> NDArray[np.int32]:
    """Number runs 0, 1, ... from the flags of their first entries."""
    number = np.cumsum(new, dtype=np.int32)
    number -= 1
    return number


def _back(values: Counts, order: Ints) -> Counts:
    """`back`, where one number may stand for all."""
    return values if stored_once(values) else back(values, order)


def _product(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a * b
