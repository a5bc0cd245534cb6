"""From pairs to a concordance: what counts 1, 0 and 1/2 under a rule for ties, and for whom.

Clean arrays in, no checks. A `Tally` is linear in the pairs, so that tallies of disjoint sets of
pairs can be added and those of subsets subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..._tools.array_types import Bools, Floats
from ..._tools.arrays import stored_once
from ..._tools.chunks import chunks
from ._pairs import PairCounts, Role
from ._same_time import SameTimePairs

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


@dataclass(frozen=True)
class Tally:
    """Weight of the pairs that count 1 (`ahead`), 0 (`behind`) and 1/2 (`level`).

    `credit` and `total` are each row's part of the numerator and of the denominator of C, over all
    pairs that it takes part in, in either role; None if they were not asked for. `anchored` are the
    same two over the pairs that start at the row, (2, n): those that its own weight multiplies.
    """

    ahead: float
    behind: float
    level: float
    credit: Floats | None = None
    total: Floats | None = None
    anchored: Floats | None = None

    def __add__(self, other: Tally) -> Tally:
        return self._combined(other, 1)

    def __sub__(self, other: Tally) -> Tally:
        return self._combined(other, -1)

    def _combined(self, other: Tally, sign: int) -> Tally:
        def part(name: str) -> Any:
            own, added = getattr(self, name), getattr(other, name)
            return None if own is None or added is None else own + sign * added

        return Tally(*(part(field.name) for field in fields(self)))

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
    def anchor_pull(self) -> Floats | None:
        """How C changes with the logarithm of each anchor's weight."""
        if self.anchored is None:
            return None
        pull: Floats = (self.anchored[0] - self.value * self.anchored[1]) / self.pairs
        return pull

    @property
    def psi(self) -> Floats | None:
        """C without row i is about C - psi_i: psi_i = (credit_i - C total_i) / pairs."""
        if self.credit is None or self.total is None:
            return None
        value, pairs = self.value, self.pairs
        psi = np.empty(self.total.size)
        for rows in chunks(psi.size):
            part = np.multiply(self.total[rows], -value, out=psi[rows])
            part += self.credit[rows]
            part /= pairs
        return psi


def tally_counts(counts: PairCounts, ties: str, anchored: bool = False) -> Tally:
    """Sum up the comparable pairs; two events at one time are not among them.

    With `anchored` also each row's part as an anchor.

    Examples
    --------
    >>> from survgauge.metrics.ranking._pairs import pair_counts
    >>> time, event = np.array([1.0, 2.0, 3.0]), np.array([True, True, False])
    >>> counts = pair_counts(time, event, np.array([2.0, 3.0, 2.0]))
    >>> tally = tally_counts(counts, "risk")
    >>> tally.ahead, tally.behind, tally.level, tally.value
    (1, 1, 1, 0.5)
    >>> tally_counts(counts, "strict").value
    0.33333333333333337
    """
    found, tied = counts.totals(), _RULES[ties][0]
    ahead, behind, level = found.concordant, found.discordant, found.tied
    if tied is None:
        level = 0
    elif tied == 0:
        behind, level = behind + level, 0
    if counts.partner is None:
        return Tally(ahead, behind, level)
    n = counts.anchor.comparable.size
    credit, total = np.empty(n), np.empty(n)
    own = np.empty((2, n)) if anchored else None
    for rows in chunks(n):
        subjects = rows if counts.order is None else counts.order[rows]
        scale = 1.0 if counts.anchor_weight is None else counts.anchor_weight[rows]
        weight = None if counts.weight is None else counts.weight[rows]
        first = _shares(counts.anchor.rows(rows), scale, weight, tied)
        other = _shares(counts.partner.rows(rows), None, weight, tied)
        if own is not None:
            own[:, subjects] = first
        credit[subjects], total[subjects] = first[0] + other[0], first[1] + other[1]
    return Tally(ahead, behind, level, credit, total, own)


def _shares(
    role: Role, scale: Floats | float | None, weight: Floats | None, tied: float | None
) -> tuple[Floats, Floats]:
    """Parts of some rows in the numerator and the denominator, in one role."""
    credit = np.multiply(role.concordant, 1.0 if scale is None else scale)
    total = np.multiply(role.comparable, 1.0 if scale is None else scale)
    if tied != 0 and not stored_once(role.tied):
        equal = role.tied if scale is None else role.tied * scale
        if tied is None:
            total -= equal
        else:
            credit += tied * equal
    if weight is not None:
        credit *= weight
        total *= weight
    return credit, total


def tally_events(
    time: Floats, anchor: Bools, a: Floats | None, weight: Floats | None, unit: Floats | None
) -> Tally:
    """Count 1/2 for every pair of anchors at one time.

    A pair of weights w_i w_j counts (a_i + a_j)/2 of that. `unit` is what one copy of a row weighs:
    a row of frequency f and weight w = f unit is f subjects, which pair with each other too (none
    where f is below 1).

    Examples
    --------
    >>> time, anchor = np.array([1.0, 1.0, 1.0, 2.0]), np.array([True, True, False, True])
    >>> tally_events(time, anchor, None, None, None).level
    1.0
    """
    n = time.size
    w = np.where(anchor, 1.0 if weight is None else weight, 0.0)
    a = np.ones(n) if a is None else np.where(anchor, a, 0.0)
    # Less than one copy has no other to pair with.
    own = np.minimum(1.0 if unit is None else unit, w)
    moment = np.unique(time, return_inverse=True)[1]
    mass, pull = np.bincount(moment, w)[moment], np.bincount(moment, a * w)[moment]
    total = w * ((a * mass + pull) / 2 - a * own)
    anchored = w * a * (mass - own) / 2
    return Tally(
        0, 0, float(total.sum()) / 2, 0.5 * total, total, np.stack((0.5 * anchored, anchored))
    )


def tally_adjusted(same: SameTimePairs) -> Tally:
    """What pycox's "adj_antolini" adds: pairs of equal times, from both sides.

    Two events count 1 if their risks are equal and 1/2 otherwise, twice; an event and somebody
    censored then count a second time.

    Examples
    --------
    >>> tally_adjusted(SameTimePairs(3.0, 1.0, 5.0, 4.0, 2.0))
    Tally(ahead=7.0, behind=4.0, level=6.0, credit=None, total=None, anchored=None)
    """
    return Tally(
        same.concordant + 2 * same.events_tied,
        same.discordant,
        same.tied + 2 * (same.events - same.events_tied),
    )


def counts_events(ties: str) -> bool:
    """Whether a rule counts pairs of two events at one time."""
    return _RULES[ties][1]
