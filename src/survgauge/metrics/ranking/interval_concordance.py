"""Concordance over pairs whose order is known although events lie between visits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.intervals import IntervalOutcomes
from ...errors import UndefinedMetricError
from ..details import Details
from ..intervals import Subjects
from ._pairs import pair_counts
from ._tally import Tally, tally_counts
from .discrimination import checked_risk


def interval_concordance(y_true: Any, risk: Any, *, sample_weight: Any = None) -> float:
    r"""Share of the pairs of known order that a risk puts in that order.

    The event of i came before that of j for certain where :math:`u_i \le l_j`: it had been seen at
    a time at which j was still event-free. (Where j's own time is exact, :math:`u_i < l_j`.) Tied
    risks count 1/2. Without intervals these are the pairs of Harrell's C. Pairs whose intervals
    overlap do not count, so the value depends on the visits: compare models on the same subjects,
    not studies with each other.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    risk : array-like of shape (n,)
        Higher means earlier; for predicted times pass their negative.
    sample_weight : array-like of shape (n,), optional
        Weights: a pair counts the product of its two.

    Returns
    -------
    float
        `interval_concordance_details` gives the same with contributions.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 2, 9], [4, 9, 6, float("inf")])
    >>> round(interval_concordance(y, [4, 2, 3, 2.5]), 4)  # all pairs but 1-3 and 2-3 are ordered
    0.75
    """
    return interval_concordance_details(y_true, risk, sample_weight=sample_weight).value


def interval_concordance_details(y_true: Any, risk: Any, *, sample_weight: Any = None) -> Details:
    """`interval_concordance` with its convention, support and standard error.

    Parameters
    ----------
    y_true, risk, sample_weight
        As for `interval_concordance`.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 2, 9], [4, 9, 6, float("inf")])
    >>> interval_concordance_details(y, [4, 2, 3, 1]).support["pair_weight"]
    4.0
    """
    who = Subjects.of(y_true, sample_weight)
    y = who.y
    values = checked_risk(risk, len(y))
    weighted = y.weighted or sample_weight is not None
    tally = _tally(y, values, who.mass if weighted else None)
    if not tally.pairs > 0:
        raise UndefinedMetricError(
            f"no pair of the {y.count} subjects has a known order: nobody had an event seen by a "
            "time at which another was still event-free"
        )
    n = float(who.mass.sum())
    support = {
        "subjects": y.count,
        "events": y.event_count,
        "anchors": float(y.weight[y.event].sum()),
        "pair_weight": float(tally.pairs),
        "known_order_share": float(tally.pairs) / (n * (n - 1) / 2) if n > 1 else 0.0,
        "tied_share": float(tally.level / tally.pairs),
    }
    described = {"method": "pairs of known order", "ties": "risk"}
    frequency = y.weight if y.weighted else None
    return Details(tally.value, described, support, tally.psi, frequency)


def _tally(y: IntervalOutcomes, risk: Floats, mass: Floats | None) -> Tally:
    """Tally the pairs of known order, in O(n log n).

    Everybody stands twice: as somebody whose event had been seen by `upper`, and as somebody who
    was event-free until `lower`. Harrell's pairs of all these rows, without those of the first kind
    among themselves, are the pairs of known order.
    """
    seen = np.flatnonzero(y.event)
    order = np.unique(np.concatenate((y.lower, y.upper[seen])), return_inverse=True)[1].reshape(-1)
    # At one time an event comes before who is event-free until then, but not before an exact one.
    free = 3 * order[: len(y)] + np.where(y.exact, 0, 2)
    anchors = 3 * order[len(y) :] + 1
    rows = np.concatenate((seen, np.arange(len(y))))
    event = np.arange(rows.size) < seen.size
    both = _counted(np.concatenate((anchors, free)), event, risk[rows], mass, rows)
    alone = _counted(anchors, event[: seen.size], risk[seen], mass, seen)
    credit, total = (
        (np.bincount(rows, one, len(y)) - np.bincount(seen, other, len(y))).astype(np.float64)
        for one, other in ((both.credit, alone.credit), (both.total, alone.total))
    )
    ahead, behind = both.ahead - alone.ahead, both.behind - alone.behind
    return Tally(ahead, behind, both.level - alone.level, credit, total)


def _counted(time: Ints, event: Bools, risk: Floats, mass: Floats | None, rows: Ints) -> Tally:
    weight = None if mass is None else mass[rows]
    return tally_counts(pair_counts(time.astype(np.float64), event, risk, weight=weight), "risk")
