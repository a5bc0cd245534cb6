"""Pairs of subjects: who outlived whom, counted per subject in O(n log n), and summed up to a C.

Clean arrays in, no checks. A pair (i, j) is comparable if i is an event and t_i < t_j, or
t_i = t_j and j is censored. i is called the anchor, j the comparator. The pair is concordant if
risk_i > risk_j and tied if the risks are equal; it weighs a_i w_i w_j, where a is the weight of
the anchor (1 for Harrell, 1/G(t_i-)^2 for Uno) and w the frequency of a subject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats, Ints, sorting_order
from ..._tools.running import run_all

Counts = NDArray[Any]

# In nodes of at most 2**4 elements, comparing every pair costs less than passes over all elements.
_LEAF_BITS = 4
# Nodes of at most 2**12 leaves fit the cache, and are split to the end one after the other.
_NODE_BITS = 12

#: What equal risks count (None: the pair is left out); whether two events at one time count 1/2.
_RULES: dict[str, tuple[float | None, bool]] = {
    "risk": (0.5, False),
    "none": (None, False),
    "time": (None, True),
    "all": (0.5, True),
    "strict": (0.0, False),
    "adjusted": (0.5, False),
}
TIES = tuple(_RULES)


class Role(NamedTuple):
    """Comparable pairs of each subject in one role, and how they turned out; each of shape (n,)."""

    comparable: Counts
    concordant: Counts
    tied: Counts


class PairTotals(NamedTuple):
    """Weights of all pairs of a kind; integers if nothing was weighted."""

    comparable: float
    concordant: float
    discordant: float
    tied: float


@dataclass(frozen=True)
class PairCounts:
    """Comparable pairs of each subject, in both of its roles.

    `anchor` sums the comparators' w, `comparator` the anchors' a * w (None if not asked for).
    Counts are integers wherever no weight enters.
    """

    anchor: Role
    comparator: Role | None
    anchor_weight: Floats | None = None
    weight: Floats | None = None

    def totals(self) -> PairTotals:
        """Weights of all comparable, concordant, discordant and tied pairs."""
        scale = _product(self.anchor_weight, self.weight)
        comparable, concordant, tied = self.anchor
        kinds = (comparable, concordant, comparable - concordant - tied, tied)
        return PairTotals(*((k if scale is None else scale * k).sum().item() for k in kinds))


#: Counts of the pairs of some subjects (None: of all) with the given times, anchors, anchors'
#: weights and weights.
Count = Callable[[Ints | None, Floats, Bools, Floats | None, Floats | None], PairCounts]


def count_by_risk(
    risk: Floats, comparators: bool = True, rows_by_time: Callable[[Floats], Ints] = sorting_order
) -> Count:
    """Return what counts the pairs of some rows by their risks."""

    def count(
        rows: Ints | None,
        time: Floats,
        anchor: Bools,
        anchor_weight: Floats | None,
        weight: Floats | None,
    ) -> PairCounts:
        own = risk if rows is None else risk[rows]
        order = rows_by_time(time)
        return pair_counts(time, anchor, own, anchor_weight, weight, comparators, order)

    return count


def pair_counts(
    time: Floats,
    event: Bools,
    risk: Floats,
    anchor_weight: Floats | None = None,
    weight: Floats | None = None,
    comparators: bool = True,
    order: Ints | None = None,
) -> PairCounts:
    r"""Count the comparable pairs of every subject, ties exact, in O(n log n).

    .. math::
        C = \frac{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}\,
        [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}{\sum_{i,j} a_i w_i w_j\, \mathrm{comparable}_{ij}}

    Subjects stand by (time, events first, risk) and are ranked by (risk, place). Then an inversion
    that starts at an event is a concordant pair, and no other pair is: events tied in time rise in
    risk, and equal risks rise in place.

    Parameters
    ----------
    time, event, risk : arrays of shape (n,)
        Outcomes, and a risk that is higher for those expected earlier.
    anchor_weight : array of shape (n,), optional
        a; zero excludes an event as an anchor and keeps it as a comparator.
    weight : array of shape (n,), optional
        w; whole numbers give what repeated rows would.
    comparators : bool
        Whether to count the comparator's role too (needed for standard errors).
    order : array of shape (n,), optional
        Rows by time, where that is known.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> counts = pair_counts(time, event, np.array([2.0, 3.0, 1.0]))
    >>> counts.totals()
    PairTotals(comparable=3, concordant=2, discordant=1, tied=0)
    """
    n = time.size
    if not n:  # interval-censored outcomes without an event
        nobody = Role(*np.zeros((3, 0), dtype=np.int64))
        return PairCounts(nobody, nobody, anchor_weight, weight)
    by_risk, order = sorting_order(risk), sorting_order(time) if order is None else order
    level = np.empty(n, dtype=np.int32)
    level[by_risk] = number = _numbered(risk[by_risk])
    del by_risk  # of many subjects every array counts
    block = _numbered(time[order])
    if block[-1] < n - 1:  # those of one time by event and risk; a block has equal time and event
        block = 2 * block + ~event[order]
        resort = np.argsort(block.astype(np.int64) * n + level[order], kind="stable")
        order, block = order[resort], block[resort]
    level = level[order]
    e = event[order]
    w = None if weight is None else weight[order]
    a = None if anchor_weight is None else anchor_weight[order] * e
    left: Any = _product(e if a is None else a, w)
    del a
    if not comparators:
        left = None
    later, before = _outside(block, left, w)
    rank, tied_after, tied_before = _ranked(level, number, block, left, w)
    del level, number, block
    concordant, greater = inversions(rank, left, w)
    anchor = Role(*(back(e * x, order) for x in (later, concordant, tied_after)))
    comparator = None
    if greater is not None:
        comparator = Role(*(back(x, order) for x in (before, greater, tied_before)))
    weights = None if anchor_weight is None else anchor_weight * event, weight
    return PairCounts(anchor, comparator, *weights)


def _outside(block: Counts, left: Counts | None, w: Counts | None) -> tuple[Counts, Any]:
    """Sum up what comes after the block of each, by `w`, and before it, by `left` if given."""
    before = None if left is None else cumulative(left)[run_starts(block)]
    if w is None:
        return block.size - run_ends(block), before
    behind = cumulative(w)
    return behind[-1] - behind[run_ends(block)], before


def _ranked(
    level: NDArray[np.int32],
    number: NDArray[np.int32],
    block: NDArray[np.int32],
    left: Counts | None,
    w: Counts | None,
) -> tuple[NDArray[np.int32], Counts, Any]:
    """Ranks that differ, and sums over those of equal risk in later and in earlier blocks."""
    if number[-1] == level.size - 1:  # all risks differ
        nobody = np.zeros(level.size, dtype=np.int64)
        return level, nobody, nobody
    by_level = level.astype(np.int64) << 32
    by_level |= np.arange(level.size)
    by_level.sort()
    by_level = (by_level & 0xFFFFFFFF).astype(np.int32)
    rank = back(np.arange(level.size, dtype=np.int32), by_level)
    here = number.astype(np.int64) * (2 * level.size) + block[by_level]  # of one risk and block
    if w is None:
        after = run_ends(number)
        after -= run_ends(here)
    else:
        until = cumulative(w[by_level])
        after = until[run_ends(number)] - until[run_ends(here)]
    if left is None:
        return rank, back(after, by_level), None
    until = cumulative(left[by_level])
    before = until[run_starts(here)] - until[run_starts(number)]
    return rank, back(after, by_level), back(before, by_level)


def _numbered(ordered: Floats) -> NDArray[np.int32]:
    """Number the distinct ones of some ordered values 0, 1, ..."""
    return np.cumsum(np.concatenate(([False], ordered[1:] != ordered[:-1])), dtype=np.int32)


def _product(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a * b


@dataclass(frozen=True)
class PairSums:
    """Weight of the pairs that count 1 (`ahead`), 0 (`behind`) and 1/2 (`level`).

    `credit` and `total` are each row's part of the numerator and of the denominator of C, over all
    pairs that it takes part in, in either role; None if they were not asked for. `anchored` are the
    same two over the pairs that start at the row, (2, n): those that its own weight multiplies.

    Sums are linear in the pairs, so that those of disjoint sets of pairs can be added and those of
    subsets subtracted.
    """

    ahead: float
    behind: float
    level: float
    credit: Floats | None = None
    total: Floats | None = None
    anchored: Floats | None = None

    def __add__(self, other: PairSums) -> PairSums:
        return self._combined(other, 1)

    def __sub__(self, other: PairSums) -> PairSums:
        return self._combined(other, -1)

    def _combined(self, other: PairSums, sign: int) -> PairSums:
        def part(name: str) -> Any:
            own, added = getattr(self, name), getattr(other, name)
            return None if own is None or added is None else own + sign * added

        return PairSums(*(part(field.name) for field in fields(self)))

    @property
    def pairs(self) -> float:
        """Weight of all pairs."""
        return self.ahead + self.behind + self.level

    @property
    def value(self) -> float:
        """C, computed from the larger side so that reversed risks give 1 - C to the last digit."""
        more = max(self.ahead, self.behind)
        if isinstance(self.pairs, int):
            upper = (2 * more + self.level) / (2 * self.pairs)
        else:
            # A share: of weighted pairs in perfect order the last digit may say more than all.
            upper = 0.5 + 0.5 * min(abs(self.ahead - self.behind) / self.pairs, 1.0)
        return upper if self.ahead >= self.behind else 1.0 - upper

    @property
    def influence(self) -> Floats | None:
        """C without row i is about C less its influence, (credit_i - C total_i) / pairs."""
        if self.credit is None or self.total is None:
            return None
        influence: Floats = (self.credit - self.value * self.total) / self.pairs
        return influence


def sum_pairs(counts: PairCounts, ties: str) -> PairSums:
    """Sum up the comparable pairs; two events at one time are not among them.

    Examples
    --------
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> counts = pair_counts(time, event, np.array([2.0, 3.0, 2.0]))
    >>> sums = sum_pairs(counts, "risk")
    >>> sums.ahead, sums.behind, sums.level, sums.value
    (1, 1, 1, 0.5)
    >>> sum_pairs(counts, "strict").value
    0.33333333333333337
    """
    found, tied = counts.totals(), _RULES[ties][0]
    ahead, behind, level = found.concordant, found.discordant, found.tied
    if tied is None:
        level = 0
    elif tied == 0:
        behind, level = behind + level, 0
    if counts.comparator is None:
        return PairSums(ahead, behind, level)

    def shares(role: Role, scale: Any) -> Floats:
        """Parts of each row in the numerator and the denominator, in one role."""
        credit = role.concordant + (tied or 0.0) * role.tied
        total = role.comparable - role.tied if tied is None else role.comparable
        return np.stack((credit, total)) * (1.0 if scale is None else scale)

    anchored = shares(counts.anchor, _product(counts.anchor_weight, counts.weight))
    both = anchored + shares(counts.comparator, counts.weight)
    return PairSums(ahead, behind, level, both[0], both[1], anchored)


def sum_events(
    time: Floats, anchor: Bools, a: Floats | None, weight: Floats | None, unit: Floats | None
) -> PairSums:
    """Count 1/2 for every pair of anchors at one time.

    A pair of weights w_i w_j counts (a_i + a_j)/2 of that. `unit` is what one copy of a row weighs:
    a row of frequency f and weight w = f unit is f subjects, which pair with each other too (none
    where f is below 1).

    Examples
    --------
    >>> time, anchor = np.array([1.0, 1.0, 1.0, 2.0]), np.array([True, True, False, True])
    >>> sum_events(time, anchor, None, None, None).level
    1.0
    """
    n = time.size
    w = np.where(anchor, 1.0 if weight is None else weight, 0.0)
    a = np.ones(n) if a is None else np.where(anchor, a, 0.0)
    # Less than one copy has no other to pair with.
    own = np.minimum(1.0 if unit is None else unit, w)
    moment = np.unique(time, return_inverse=True)[1]
    tied, anchors = np.bincount(moment, w)[moment], np.bincount(moment, a * w)[moment]
    total = w * ((a * tied + anchors) / 2 - a * own)
    anchored = w * a * (tied - own) / 2
    return PairSums(
        0, 0, float(total.sum()) / 2, 0.5 * total, total, np.stack((0.5 * anchored, anchored))
    )


def counts_events(ties: str) -> bool:
    """Whether a rule counts pairs of two events at one time."""
    return _RULES[ties][1]


def inversions(
    rank: NDArray[np.int32], left: Counts | None, right: Counts | None
) -> tuple[Counts, Counts | None]:
    """Per element of a permutation, the later smaller and the earlier greater elements.

    The first result sums `right` over later smaller elements (None: counts them), the second sums
    `left` over earlier greater ones (None: not wanted). Ranks are split in halves again and again
    down to leaves of at most 16. Padded to equal leaves, every node holds as many elements of its
    upper as of its lower half, so that how far an element moves when its node is split says how
    many of the other half it passes, and no search is needed.
    """
    n = rank.size
    depth = max(0, (max(n, 1) - 1).bit_length() - _LEAF_BITS)
    leaf, low = max(1, -(-n >> depth)), min(depth, _NODE_BITS)
    size, width = leaf << depth, leaf << low

    def padded(values: Counts | None) -> Counts | None:
        if values is None:
            return None
        out = np.zeros(size, dtype=np.int32 if values.dtype == np.bool_ else values.dtype)
        out[:n] = values
        return out

    code = np.arange(size, dtype=np.int32)  # the padding comes last and ranks highest
    code[:n] = rank
    left, right = padded(left), padded(right)
    later = np.zeros(size, dtype=np.int32 if right is None else np.float64)
    earlier = None if left is None else np.zeros_like(left)
    parts: list[Any] = [code, later, earlier, left, right]
    for level in reversed(range(low, depth)):
        parts = _split(leaf << level, *parts)
    found = np.empty_like(later), None if earlier is None else np.empty_like(earlier)

    def split_to_the_end(start: int) -> None:
        rows = slice(start, start + width)
        some: list[Any] = [None if part is None else part[rows] for part in parts]
        some[0] = some[0] - start
        for level in reversed(range(low)):
            some = _split(leaf << level, *some)
        _compare(leaf, *some)
        for out, part in zip(found, some[1:3], strict=True):
            if out is not None:
                out[rows][some[0]] = part

    run_all(split_to_the_end, range(0, size, width))
    return found[0][rank], None if found[1] is None else found[1][rank]


def _split(
    half: int,
    code: Counts,
    later: Counts,
    earlier: Counts | None,
    left: Counts | None,
    right: Counts | None,
) -> list[Any]:
    """Put the lower half before the upper one in every node, counting on the way."""
    middle = np.arange(half, code.size, 2 * half, dtype=np.int32)[:, None]
    is_upper = (code.reshape(-1, 2 * half) >= middle).ravel()
    lower, upper = (np.flatnonzero(one).reshape(-1, half) for one in (~is_upper, is_upper))
    order = np.stack((lower, upper), axis=1)
    lower, upper = order[:, 0], order[:, 1]  # of many subjects every array counts
    parts = (code, later, earlier, left, right)
    moved: list[Any] = [p if p is None else p.take(order, mode="clip") for p in parts]
    _, later, earlier, left, right = moved
    # Elements are counted over all nodes up to one's own; a node's own begin at `node`.
    k = np.arange(lower.size).reshape(-1, half)
    node = k[:, :1]
    if right is None:
        later[:, 1] += (node + half + k - upper).astype(np.int32)
    else:
        total = cumulative(right[:, 0].ravel())
        later[:, 1] += total[node + half] - total.take(upper - k, mode="clip")
    if left is not None and earlier is not None:
        total = cumulative(left[:, 1].ravel())
        earlier[:, 0] += total.take(lower - k, mode="clip") - total[node]
    return [part if part is None else part.ravel() for part in moved]


def _compare(
    leaf: int,
    code: Counts,
    later: Counts,
    earlier: Counts | None,
    left: Counts | None,
    right: Counts | None,
) -> None:
    """Compare all pairs inside the leaves."""
    parts = (code, later, earlier, left, right)
    rows: list[Any] = [p if p is None else p.reshape(-1, leaf).T for p in parts]
    codes, behind, ahead, first, second = np.ascontiguousarray(rows[0]), *rows[1:]
    for a in range(leaf - 1):
        greater = codes[a] > codes[a + 1 :]
        weight = greater if second is None else greater * second[a + 1 :]
        behind[a] += weight.sum(axis=0, dtype=later.dtype)
        if ahead is not None:
            ahead[a + 1 :] += greater * first[a]


def cumulative(values: Counts) -> Counts:
    """Sums of the first 0, 1, ..., n values; exact for integers and flags."""
    kind = np.int64 if values.dtype == np.bool_ else values.dtype
    total = np.zeros(values.size + 1, dtype=kind)
    np.cumsum(values, out=total[1:])
    return total


def run_starts(ids: Counts) -> Ints:
    """First index of the run of equal values that each entry lies in."""
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    return np.repeat(starts, np.diff(starts, append=ids.size))


def run_ends(ids: Counts) -> NDArray[np.int32]:
    """Past-the-last index of the run of equal values that each entry lies in."""
    ends = np.flatnonzero(np.concatenate((ids[1:] != ids[:-1], [True]))).astype(np.int32)
    ends += 1
    return np.repeat(ends, np.diff(ends, prepend=0))


def back(values: Counts, order: Ints) -> Counts:
    """Undo a reordering: entry k of `values` belongs to index order[k]."""
    original = np.empty_like(values)
    original[order] = values
    return original
