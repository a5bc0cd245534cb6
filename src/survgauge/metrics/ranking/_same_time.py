"""Pairs of equal times, which other packages treat by rules of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._tools.array_types import Bools, Floats
from ._inversions import cumulative


class SameTimePairs(NamedTuple):
    """Pairs of equal times that conventions treat differently; a pair counts once.

    `events` are pairs of two events, `events_tied` those of them with equal risks too. The others
    are pairs of an event and a subject censored at the same time.
    """

    events: float
    events_tied: float
    concordant: float
    discordant: float
    tied: float


def same_time_pairs(
    time: Floats,
    event: Bools,
    risk: Floats,
    *,
    anchor_weight: Floats | None = None,
    weight: Floats | None = None,
) -> SameTimePairs:
    """Count the pairs of equal times, which peers treat by rules of their own.

    `pair_counts` leaves pairs of two events out and includes those of an event and a censored
    subject. For curves, `risk` is minus the survival of each subject at its own time. Copies of a
    subject of frequency w are pairs of two events with equal risks.

    Examples
    --------
    >>> import numpy as np
    >>> time, event = np.ones(3), np.array([True, True, False])
    >>> same_time_pairs(time, event, np.array([2.0, 2.0, 3.0]))
    SameTimePairs(events=1.0, events_tied=1.0, concordant=0.0, discordant=2.0, tied=0.0)
    """
    n = time.size
    w = np.ones(n) if weight is None else weight
    a = w if anchor_weight is None else w * anchor_weight
    moment = np.unique(time, return_inverse=True)[1]
    key = moment * n + np.unique(risk, return_inverse=True)[1]
    a_e, w_e, moment_e = a[event], w[event], moment[event]
    at_time = np.bincount(moment_e, w_e, n)[moment_e]
    level = np.unique(key[event], return_inverse=True)[1]
    at_risk = np.bincount(level, w_e, n)[level]
    censored = np.flatnonzero(~event)
    censored = censored[np.argsort(key[censored], kind="stable")]
    total = cumulative(w[censored])
    moment_c, key_c = moment[censored], key[censored]
    low = total[np.searchsorted(moment_c, moment_e, "left")]
    left = total[np.searchsorted(key_c, key[event], "left")]
    right = total[np.searchsorted(key_c, key[event], "right")]
    high = total[np.searchsorted(moment_c, moment_e, "right")]
    sums = (at_time - 1) / 2, (at_risk - 1) / 2, left - low, high - right, right - left
    return SameTimePairs(*(float(np.sum(a_e * part)) for part in sums))
