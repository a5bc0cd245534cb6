"""Pairs under censoring that depends on the subject: each pair has a weight of its own.

Clean arrays in, no checks. The pairs are those of `_pairs`. That i was seen at
its event and j at least as long has probability G_i(t_i-) G_j(t_i-), so a pair weighs
w_i w_j / (G_i(t_i-) G_j(t_i-)) [1]_. With one G for all this is 1/G^2 of the anchor, which can be
counted by sorting; here the partners' weights change from anchor to anchor, so every pair is looked
at: O(n) memory, and time that grows with events times subjects.

References
----------
.. [1] Gerds, Kattan, Schumacher, Yu (2013). Estimating a time-dependent concordance index for
   survival prediction models with covariate dependent censoring. Statistics in Medicine 32(13),
   2173-2184.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ._pairs import PairCounts, Role

#: Values of curves that are held at a time.
_VALUES = 2_000_000


def subject_pair_counts(
    time: Floats,
    anchor: Bools,
    risk: Floats | Callable[[Floats], Floats],
    anchor_weight: Floats,
    partner_weight: Callable[[float], Floats],
    weight: Floats | None = None,
    tolerance: float = 0.0,
) -> PairCounts:
    """Count the comparable pairs of every subject, each pair with its own weight.

    Parameters
    ----------
    time, anchor : arrays of shape (n,)
        Observed times, and whose event starts pairs.
    risk : array of shape (n,) or callable
        Higher means earlier; or ``risk(times)``, the risks at some anchors' times, (n, k).
    anchor_weight : array of shape (n,)
        1/G_i(t_i-); zero excludes an event as an anchor.
    partner_weight : callable
        ``partner_weight(t)`` gives 1/G_j(t-) of all subjects, zero where G is.
    weight : array of shape (n,), optional
        Frequencies times sampling weights.
    tolerance : float
        Risks that differ by at most this are tied.

    Examples
    --------
    Subject 0 is compared with both others, who weigh 1 and 2.

    >>> time, anchor = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    >>> inverse = np.array([1.0, 1.0, 2.0])
    >>> counts = subject_pair_counts(time, anchor, time, inverse, lambda t: inverse)
    >>> counts.anchor.comparable, counts.totals().discordant
    (array([3., 0., 0.]), 3.0)
    """
    n = time.size
    first, other = np.zeros((3, n)), np.zeros((3, n))
    a = np.where(anchor, anchor_weight, 0.0)
    own = a if weight is None else a * weight
    order = np.lexsort((~anchor, time))  # events first, so that partners are a suffix
    sorted_time, events = time[order], np.concatenate(([0], np.cumsum(anchor[order])))
    starts = order[own[order] > 0]
    for rows, column in _by_time(time, starts, risk):
        t = time[rows[0]]
        inverse = partner_weight(float(t))
        start, stop = sorted_time.searchsorted(t, "left"), sorted_time.searchsorted(t, "right")
        partners = order[start + events[stop] - events[start] :]
        unit, theirs = inverse[partners], column[partners]
        mass = unit if weight is None else unit * weight[partners]
        for i in rows:
            kinds = _kinds(column[i], theirs, tolerance)
            first[0, i] = mass.sum()
            other[0, partners] += own[i] * unit
            for k, kind in enumerate(kinds, 1):
                first[k, i] = mass[kind].sum()
                other[k, partners[kind]] += own[i] * unit[kind]
    return PairCounts(Role(*first), Role(*other), a, weight)


def _by_time(
    time: Floats, starts: Ints, risk: Floats | Callable[[Floats], Floats]
) -> Iterator[tuple[Ints, Floats]]:
    """Anchors of each time, in order of time, with everybody's risk then."""
    new = np.flatnonzero(np.diff(time[starts], prepend=-1.0))
    groups = np.split(starts, new[1:]) if starts.size else []
    width = max(1, _VALUES // time.size)
    for k in range(0, len(groups), width):
        some = groups[k : k + width]
        columns = risk(np.array([time[rows[0]] for rows in some])) if callable(risk) else None
        for place, rows in enumerate(some):
            yield rows, risk if columns is None else columns[:, place]  # type: ignore[misc]


def _kinds(own: float, theirs: Floats, tolerance: float) -> tuple[Bools, Bools]:
    """Who is behind the anchor (concordant), and who level with it."""
    if not tolerance:  # also right where risks are infinite
        return theirs < own, theirs == own
    ahead = own - theirs
    return ahead > tolerance, np.abs(ahead) <= tolerance
