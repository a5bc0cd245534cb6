"""Pseudo-observations of the event time of censored subjects, given when they entered."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats, look_up
from .reference import Reference
from .residual import ResidualLaw


def pseudo_given_entry(reference: Reference, entry: Floats, time: Floats, tail: str) -> Floats:
    r"""Pseudo-observations of subjects at risk from entry a to censoring at c, to first order.

    With m(u) the mean of T given T > u, h the hazard of the reference set, and G the probability of
    not being censored yet, it is

    .. math:: m(a) + \sum_{a < u \le c} (m(u) - u) \, h(u) \, G(a) / G(u-)

    over the event times u: each event that it did not have is worth the time that was ahead. It is
    what one subject more adds to the mean given entry, per share of it; over all subjects, events
    included, it has the mean m(a) of who enters at a.
    """
    n, d = reference.at_events()
    times, g = reference.event_times, reference.censoring
    ahead = reference.later_mean(tail)[1:] - times
    # Where Kaplan-Meier has come to 0, nothing is ahead.
    ahead = np.where(reference.survival[1:] > 0, ahead, 0.0)
    before = g.at(times, side="left")
    worth = np.divide(ahead * d / n, before, out=np.zeros(times.size), where=before > 0)
    sums = np.concatenate(([0.0], np.cumsum(worth)))
    first = np.where(entry > 0, look_up(times, entry, "right"), 0)
    gained = sums[look_up(times, time, "right")] - sums[first]
    scale = np.where(entry > 0, g.at(entry), 1.0)
    start: Floats = ResidualLaw.of_reference(reference, tail).mean(entry, first)
    return start + scale * gained
