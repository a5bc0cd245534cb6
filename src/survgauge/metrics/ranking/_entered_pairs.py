"""Pairs under delayed entry: an anchor is compared with who was at risk together with it.

Clean arrays in, no checks. Somebody who enters at a is at risk at t if a < t <= time. These are all
with t <= time, less all with t <= a; so a subject is a partner at its time, and one of negative
weight, censored, at its entry. The pairs are then counted by sorting, as without entry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ...data.outcomes import Outcomes
from ._pairs import PairCounts, pair_counts
from ._tally import Tally, tally_counts

#: Counts of the pairs of some subjects with the given times, anchors, anchors' weights and masses.
CountRows = Callable[[Ints, Floats, Bools, Floats | None, Floats], PairCounts]


def count_by_risk(
    risk: Floats,
    partners: bool,
    rows: Ints,
    time: Floats,
    anchor: Bools,
    anchor_weight: Floats | None,
    weight: Floats,
) -> PairCounts:
    """Count the pairs by one risk of each subject."""
    return pair_counts(
        time, anchor, risk[rows], anchor_weight=anchor_weight, weight=weight, partners=partners
    )


def entered_tally(
    y: Outcomes,
    anchor: Bools,
    count: CountRows,
    anchor_weight: Floats | None,
    mass: Floats | None,
    ties: str,
    anchored: bool,
) -> Tally:
    """Sum up the pairs of an anchor i and j with entry_j < t_i, who outlives it.

    ``count(rows, time, anchor, anchor_weight, weight)`` counts the pairs of some subjects.

    The third enters at 4, after the event of the first:

    >>> y = Outcomes([3, 6, 8], [1, 0, 1], entry=[0, 0, 4])
    >>> from functools import partial
    >>> count = partial(count_by_risk, np.array([2.0, 1.0, 9.0]), True)
    >>> tally = entered_tally(y, y.event, count, None, None, "risk", True)
    >>> tally.ahead, tally.behind
    (1.0, 0.0)
    """
    n, entry = len(y), np.asarray(y.entry)
    late = np.flatnonzero(entry > 0)
    weight = np.ones(n) if mass is None else mass
    twice = np.concatenate((np.arange(n), late))
    counts = count(
        twice,
        np.concatenate((y.time, entry[late])),
        np.concatenate((anchor, np.zeros(late.size, dtype=np.bool_))),
        None if anchor_weight is None else anchor_weight[twice],
        np.concatenate((weight, -weight[late])),
    )
    tally = tally_counts(counts, ties, anchored=anchored)
    if tally.credit is None or tally.total is None:
        return tally
    credit, total = tally.credit[:n].copy(), tally.total[:n].copy()
    credit[late] += tally.credit[n:]
    total[late] += tally.total[n:]
    own = None if tally.anchored is None else tally.anchored[:, :n]
    return Tally(tally.ahead, tally.behind, tally.level, credit, total, own)
