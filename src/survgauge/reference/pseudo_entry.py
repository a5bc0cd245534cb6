"""Pseudo-observations of the event time, given when subjects entered."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Bools, Floats
from .._tools.places import look_up
from .reference import Reference
from .residual import ResidualLaw


def pseudo_given_entry(
    reference: Reference,
    entry: Floats,
    time: Floats,
    tail: str,
    area: str = "step",
    event: Bools | None = None,
) -> Floats:
    r"""Pseudo-observations of subjects at risk from entry a to the time y, to first order.

    With m(u) the mean of T given T > u, h the hazard of the reference set, and G the probability of
    not being censored yet, it is

    .. math:: m(a) + \sum_{a < u \le y} (m(u) - u) \, h(u) \, \frac{G(a)}{G(u-)}
              - 1(\text{event at } y) (m(y) - y) \, \frac{G(a)}{G(y-)}

    over the event times u: each event that it did not have is worth the time that was ahead. It is
    what one subject more adds to the mean given entry, per share of it; given entry and features
    its mean is that of T given T > a. `event` None: all are censored.

    With trapezoids, it is the trapezoid area under the pseudo-observations of survival, whose first
    node is the entry: an event at u also takes half of what lies between it and the node before.
    """
    times, g, survival = reference.event_times, reference.censoring, reference.survival
    n, d = reference.at_events()
    # Where a risk set became empty before others entered, nobody counts as having left.
    hazard = np.where(survival[1:] < survival[:-1], d / n, 0.0)
    before = g.at(times, side="left")
    rate = np.divide(hazard, before, out=np.zeros(times.size), where=before > 0)
    first = np.where(entry > 0, look_up(times, entry, "right"), 0)
    last = look_up(times, time, "right")
    sums = np.concatenate(([0.0], np.cumsum(_ahead(reference, tail, area) * rate)))
    gained = sums[last] - sums[first]
    if area != "step":
        # The node before the first event after the entry is the entry.
        late = np.flatnonzero(last > first)
        nearest = first[late]
        gained[late] -= (entry[late] - reference.nodes[nearest]) / 2 * rate[nearest]
    if event is not None:
        law, died = ResidualLaw.of_reference(reference, tail), np.flatnonzero(event)
        at, then = time[died], g.at(time[died], side="left")
        gone = law.mean(at, law.places(at)) - at
        gained[died] -= np.divide(gone, then, out=np.zeros(died.size), where=then > 0)
    start = mean_given_entry(reference, entry, tail, area)
    found: Floats = start + np.where(entry > 0, g.at(entry), 1.0) * gained
    return found


def mean_given_entry(reference: Reference, entry: Floats, tail: str, area: str = "step") -> Floats:
    """Mean of T given T > entry under Kaplan-Meier of the reference set.

    Trapezoids end where the follow-up does; past it there is the tail alone.
    """
    first = np.where(entry > 0, reference.event_places.of(entry), 0)
    plain: Floats = ResidualLaw.of_reference(reference, tail).mean(entry, first)
    if area == "step":
        return plain
    survival = np.append(reference.survival, reference.survival[-1])
    rest = np.append(reference.rest(area), 0.0) + reference.tail(tail)
    here, following = survival[first], survival[first + 1]
    beside = (reference.nodes[first + 1] - entry) * (here + following) / 2 + rest[first + 1]
    known = (entry < reference.last_time) & (here > 0)
    return entry + np.divide(beside, here, out=plain - entry, where=known)


def _ahead(reference: Reference, tail: str, area: str) -> Floats:
    """Mean time ahead at each event time; nothing where Kaplan-Meier has come to 0: (K,)."""
    left = reference.survival[1:]
    if area == "step":
        ahead = reference.later_mean(tail)[1:] - reference.event_times
    else:
        rest = reference.rest(area)[1:] + reference.tail(tail)
        ahead = np.divide(rest, left, out=np.zeros(left.size), where=left > 0)
        ahead += reference.gaps[:-1] / 2
    return np.where(left > 0, ahead, 0.0)
