"""Pairs of a concordance under competing risks (Wolbers et al. 2014).

A subject i with an event of the cause should have a higher risk than everybody who outlives it
without an event, and than everybody j who had an event of another cause by then: j will never have
the event. Pairs of the first kind weigh 1/G(t_i-)^2, those of the second 1/(G(t_i-) G(t_j-)).

Under delayed entry both were at risk together: at t_i, and at t_j in pairs of the second kind. A
subject is then a partner of negative weight at its entry (`_entered_pairs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.array_types import Bools, Floats
from ._entered_pairs import count_by_risk, entered_counts
from ._tally import Tally


def competing_pairs(
    time: Floats,
    anchor: Bools,
    competes: Bools,
    risk: Floats,
    weight: Floats,
    mass: Floats,
    entry: Floats | None = None,
) -> Tally:
    """Sum up all pairs, in O(n log n); equal risks count one half.

    Parameters
    ----------
    time, risk : (n,) arrays
        Observed times, and a risk that is higher for those expected earlier.
    anchor, competes : (n,) arrays
        Who has an event of the cause (before tau), and who of another.
    weight, mass : (n,) arrays
        1/G of the events, and what each subject counts.
    entry : (n,) array, optional
        From when on subjects are at risk.

    Examples
    --------
    >>> time, cause = np.array([1.0, 2.0, 3.0]), np.array([2, 1, 0])
    >>> risk = np.array([3.0, 2.0, 1.0])
    >>> competing_pairs(time, cause == 1, cause == 2, risk, np.ones(3), np.ones(3)).value
    0.5
    """
    # Those of equal time with another event are compared below, so here they are events too.
    case = np.where(anchor, weight, 0.0)
    entry = np.zeros(time.size) if entry is None else entry
    outlived = entered_counts(
        count_by_risk(risk), time, anchor | competes, np.square(case), mass, entry
    )
    ahead = _scores(outlived.anchor, mass * np.square(case))
    shared = _scores(outlived.partner, mass)
    # Turned around: who had another event is the anchor, and should have the lower risk.
    rows = np.flatnonzero(anchor | competes)
    other, own = competes[rows], np.where(competes, 1.0, case)[rows] * mass[rows]
    given = time[rows], other, weight[rows] * other, own, entry[rows]
    before = entered_counts(count_by_risk(-risk[rows]), *given)
    others = time[competes], competes[competes], None, mass[competes], entry[competes]
    alike = entered_counts(count_by_risk(-risk[competes]), *others)
    for part, known in zip(before.anchor, alike.anchor, strict=True):
        part[other] -= known  # pairs of two other events say nothing
    turned = _scores(before.anchor, weight[rows] * own * other)
    both = turned + _scores(before.partner, own * ~other)
    whole = ahead.sum(axis=1) + turned.sum(axis=1)
    total, anchored = ahead + shared, ahead.copy()
    total[:, rows] += both
    anchored[:, rows] += both / 2  # one factor 1/G of each, where the first kind has two
    right, level, pairs = (float(number) for number in whole)
    return Tally(
        right,
        pairs - right - level,
        level,
        total[0] + total[1] / 2,
        total[2],
        np.stack((anchored[0] + anchored[1] / 2, anchored[2])),
    )


def _scores(role: Any, factor: Floats) -> Floats:
    """Weight of the concordant, tied and comparable pairs of each subject in a role: (3, n)."""
    return np.stack((role.concordant, role.tied, role.comparable)) * factor
