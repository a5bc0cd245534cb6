"""Pairs of a time-dependent concordance under competing risks.

Clean arrays in, no checks. A subject i with an event of the cause at t_i should have a higher
incidence of it at t_i than everybody who outlives t_i, and than everybody j who had an event of
another cause by then: j will never have this one. Without weights these are the pairs of outcomes
in which another event lies past all times. With weights pairs of the first kind weigh
1/G(t_i-)^2 and those of the second 1/(G(t_i-) G(t_j-)): the latter are all pairs with another event
less those in which it comes later.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ._entered_pairs import Count
from ._tally import Tally, tally_counts


def competing_td_tally(
    count: Count,
    time: Floats,
    anchor: Bools,
    competes: Bools,
    event_weight: Floats | None,
    mass: Floats | None,
) -> Tally:
    """Sum up all pairs; equal incidences count one half.

    Parameters
    ----------
    count : callable
        ``count(rows, time, anchor, anchor_weight, weight)`` counts the pairs of some rows.
    time : (n,) array
        Observed times.
    anchor, competes : (n,) arrays
        Who has an event of the cause (before tau), and who of another.
    event_weight : (n,) array or None
        1/G of the events; None: all pairs weigh 1.
    mass : (n,) array or None
        What each subject counts.
    """
    never = np.where(competes, 2.0 * time.max() + 1.0, time)
    if event_weight is None:
        return tally_counts(count(None, never, anchor, None, mass), "risk")
    # Who has another event at the very time has it before.
    seen = np.where(competes, np.nextafter(time, -np.inf), time)
    case = np.where(anchor, event_weight, 0.0)
    later = tally_counts(count(None, seen, anchor, np.square(case), mass), "risk", anchored=True)
    if not competes.any() or not (anchor & (time >= time[competes].min())).any():
        return later
    rows = np.flatnonzero(anchor | competes)
    weight = np.where(competes, event_weight, 1.0) * (1.0 if mass is None else mass)
    earlier = [
        tally_counts(count(rows, at[rows], anchor[rows], case[rows], weight[rows]), "risk")
        for at in (never, seen)
    ]
    return later + _for_all(earlier[0] - earlier[1], rows, time.size)


def _for_all(tally: Tally, rows: Ints, n: int) -> Tally:
    """Tally of some rows as that of n, with one factor 1/G of each of the two of a pair."""
    own = np.zeros((2, n))
    own[:, rows] = tally.credit, tally.total
    return replace(tally, credit=own[0], total=own[1], anchored=own / 2)
