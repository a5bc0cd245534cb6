"""Concordance where censoring depends on the event: who outlives an event is known by difference.

An event at t was observed with P(C >= t | T = t) = 1/a. Those who are seen to outlive it are not a
fair sample of all who do, as the censoring of each depends on how much longer it lives. So they are
counted as everybody less those who had the event until then, by the weights of the events:

    sum over events i of a_i [sum over j of k_ij - sum over events j with t_j <= t_i of a_j k_ij]

with k the rule of concordance, and the same with k = 1 in the denominator. Clean arrays in, no
checks, O(n log n).
"""

from __future__ import annotations

import numpy as np

from ..._tools.array_types import Bools, Floats
from ..._tools.arrays import dot
from ._pairs import pair_counts
from ._tally import Tally


def tally_by_difference(
    time: Floats, anchor: Bools, risk: Floats, weight: Floats, mass: Floats | None, details: bool
) -> Tally:
    """Sum up the pairs that start at an anchor.

    Parameters
    ----------
    time, risk : ndarray of shape (n,)
        Observed times, and a risk that is higher for those expected earlier.
    anchor : ndarray of bool, shape (n,)
        Events that pairs may start at.
    weight : ndarray of shape (n,)
        a of the events, 0 for everybody else.
    mass : ndarray of shape (n,), optional
        Frequency times sampling weight; None: 1.
    details : bool
        Whether what each subject adds is asked for.
    """
    p = np.ones(time.size) if mass is None else mass
    alpha = p * weight * anchor
    less, equal = _below(risk, p, risk)
    before = _before(time, risk, weight, p)
    ahead, level = less - before[0], equal - before[1]
    whole = p.sum() - before[2]
    sums = dot(alpha, ahead), dot(alpha, whole - ahead - level), dot(alpha, level)
    if not details:
        return Tally(*sums)
    less, equal = _below(-risk, alpha, -risk)  # anchors of a higher risk, and of the same
    after = _after(time, risk, weight, alpha)
    own = weight * anchor
    credit = own * (ahead + level / 2) + less + equal / 2 - weight * after[0]
    total = own * whole + alpha.sum() - weight * after[1]
    return Tally(*sums, credit * p, total * p)


def _below(values: Floats, mass: Floats, asked: Floats) -> tuple[Floats, Floats]:
    """Mass of the values below each of those asked for, and of those equal to it."""
    order = np.argsort(values, kind="stable")
    ranked, total = values[order], np.concatenate(([0.0], np.cumsum(mass[order])))
    low, high = (total[np.searchsorted(ranked, asked, side)] for side in ("left", "right"))
    return low, high - low


def _before(time: Floats, risk: Floats, weight: Floats, mass: Floats) -> tuple[Floats, ...]:
    """Weighted mass of the events until each time: of a lower risk, of the same, and of all."""
    n, rows = time.size, np.flatnonzero(weight > 0)
    # Everybody once more, censored just after the events of its time: it is a partner of all.
    asked = np.concatenate((np.ones(rows.size, dtype=bool), np.zeros(n, dtype=bool)))
    partner = pair_counts(
        np.concatenate((time[rows], time)),
        asked,
        np.concatenate((risk[rows], risk)),
        anchor_weight=np.concatenate((weight[rows], np.zeros(n))),
        weight=np.concatenate((mass[rows], np.ones(n))),
    ).by_subject().partner  # fmt: skip
    if partner is None:
        raise ValueError("pairs were counted without their partners")
    found = (partner.discordant, partner.tied, partner.comparable)
    return tuple(np.asarray(part, dtype=np.float64)[rows.size :] for part in found)


def _after(time: Floats, risk: Floats, weight: Floats, alpha: Floats) -> tuple[Floats, Floats]:
    """Weight of the anchors from each event's time on: in the right order with it, and of all."""
    n, rows = time.size, np.flatnonzero(alpha > 0)
    event = np.concatenate((weight > 0, np.zeros(rows.size, dtype=bool)))
    counts = pair_counts(
        np.concatenate((time, time[rows])),
        event,
        np.concatenate((risk, risk[rows])),
        weight=np.concatenate((np.zeros(n), alpha[rows])),
        partners=False,
    ).by_subject()  # fmt: skip
    role = counts.anchor
    # The anchor is the later one here, so that its higher risk puts the pair in the wrong order.
    right = np.asarray(role.discordant, dtype=np.float64) + 0.5 * role.tied
    return right[:n], np.asarray(role.comparable, dtype=np.float64)[:n]
