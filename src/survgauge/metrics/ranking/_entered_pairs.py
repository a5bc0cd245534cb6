"""Pairs under delayed entry: an anchor is compared with who was at risk together with it.

Clean arrays in, no checks. Somebody who enters at a is at risk at t if a < t <= time. These are all
with t <= time, less all with t <= a; so a subject is a partner at its time, and one of negative
weight, censored, at its entry. The pairs are then counted by sorting, as without entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ._pairs import PairCounts, Role, pair_counts

#: Counts of the pairs of some subjects (None: of all) with the given times, anchors, anchors'
#: weights and masses.
Count = Callable[[Ints | None, Floats, Bools, Floats | None, Floats | None], PairCounts]


def count_by_risk(risk: Floats, partners: bool = True) -> Count:
    """Return what counts the pairs by one risk of each subject."""
    return lambda rows, time, anchor, anchor_weight, weight: pair_counts(
        time,
        anchor,
        risk if rows is None else risk[rows],
        anchor_weight=anchor_weight,
        weight=weight,
        partners=partners,
    )


def entered_counts(
    count: Count,
    time: Floats,
    anchor: Bools,
    anchor_weight: Floats | None,
    weight: Floats,
    entry: Floats,
) -> PairCounts:
    """Count the pairs of an anchor i and j with entry_j < t_i, who outlives it, by subject.

    Where no partners are counted, rows are those of `count`, of which the totals are the same.

    The third enters at 4, after the event of the first:

    >>> time, event = np.array([3.0, 6.0, 8.0]), np.array([True, False, True])
    >>> count, entry = count_by_risk(np.array([2.0, 1.0, 9.0])), np.array([0.0, 0.0, 4.0])
    >>> entered_counts(count, time, event, None, np.ones(3), entry).totals()
    PairTotals(comparable=1.0, concordant=1.0, discordant=0.0, tied=0.0)
    """
    n, late = time.size, np.flatnonzero(entry > 0)
    twice = np.concatenate((np.arange(n), late))
    found = count(
        twice,
        np.concatenate((time, entry[late])),
        np.concatenate((anchor, np.zeros(late.size, dtype=np.bool_))),
        None if anchor_weight is None else anchor_weight[twice],
        np.concatenate((weight, -weight[late])),
    )
    if found.partner is None:  # the totals alone are asked for
        return found
    found = found.by_subject()
    roles: tuple[Any, Any] = found.anchor, found.partner
    anchors, partners = (Role(*(part[:n].astype(np.float64) for part in role)) for role in roles)
    for own, part in zip(partners, roles[1], strict=True):
        own[late] -= part[n:]
    return PairCounts(anchors, partners, anchor_weight, weight)
