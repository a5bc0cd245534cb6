"""Tied outcomes, risks and curves without a random generator: the same on every machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from survgauge.metrics.ranking._pairs import sum_pairs


def uniform(n, root, start=1):
    """Evenly spread numbers in (0, 1): fractional parts of multiples of an irrational."""
    return np.modf(np.arange(start, start + n) * np.sqrt(root))[0]


def outcomes(n, start, spread):
    """Whole-number times from 1 to 12 with every kind of tie; the last time is an event."""
    event_time = np.ceil(-5 * np.log(uniform(n, 2, start)) * spread)
    censoring_time = np.ceil(-8 * np.log(uniform(n, 3, start)))
    time = np.minimum(np.minimum(event_time, censoring_time), 12)
    event = (event_time <= censoring_time) & (event_time <= 12)
    event[time == time.max()] = True
    return time, event


def tied_case(n=60):
    """(train, test, risk, grid, survival): curves cross, risks and curves have ties."""
    x = uniform(n, 5)
    train = outcomes(n + 20, 101, np.exp(1 - 2 * uniform(n + 20, 5, 101)))
    test = outcomes(n, 1, np.exp(1 - 2 * x))
    noise = uniform(n, 7)
    risk = np.round((2 * x + noise) * 4) / 4
    grid = np.arange(0.0, 14.0)
    scale, shape = 12 - 8 * x + 4 * noise, np.round(0.6 + uniform(n, 11), 1)
    survival = np.round(np.exp(-((grid / scale[:, None]) ** shape[:, None])), 2)
    return train, test, risk, grid, survival


class SameTimePairs(NamedTuple):
    """Pairs of equal times, each counted once.

    `events` are pairs of two events, `events_tied` those of them with equal risks too. The others
    are pairs of an event and a subject censored at the same time.
    """

    events: float
    events_tied: float
    concordant: float
    discordant: float
    tied: float


def same_time_pairs(time, event, risk):
    """Count the pairs of equal times, pair by pair."""
    same, level = time[:, None] == time, risk[:, None] == risk
    above = risk[:, None] > risk
    events = np.triu(same & event[:, None] & event, 1)
    beside = same & event[:, None] & ~event
    kinds = events, events & level, beside & above, beside & ~above & ~level, beside & level
    return SameTimePairs(*(float(kind.sum()) for kind in kinds))


def concordance_by_rule(totals, same_time, rule):
    """Concordance from the same pairs under the tie rules of other packages.

    ========== ==================================================================================
    risk       equal risks 1/2, two events at one time left out (the default everywhere here)
    none       equal risks and two events at one time left out
    time       equal risks left out, two events at one time 1/2
    all        equal risks 1/2, two events at one time 1/2
    strict     equal risks 0 and still in the denominator (pycox "antolini")
    adjusted   two events at one time from both sides, 1 if their risks are equal and 1/2
               otherwise; an event and a subject censored then from both sides (pycox
               "adj_antolini")
    ========== ==================================================================================
    """
    comparable, concordant, discordant, tied = totals
    events, alike = same_time.events, same_time.events_tied
    if rule == "strict":
        good, total = concordant, comparable
    elif rule == "adjusted":
        beside = same_time.concordant + same_time.discordant + same_time.tied
        good = concordant + tied / 2 + same_time.concordant + same_time.tied / 2 + events + alike
        total = comparable + beside + 2 * events
    else:
        good, total = concordant, concordant + discordant
        if rule in ("risk", "all"):
            good, total = good + tied / 2, total + tied
        if rule in ("time", "all"):
            good, total = good + events / 2, total + events
    return good / total if total > 0 else float("nan")


def concordance_of(counts):
    """C of counted pairs, equal risks counting one half; NaN without a pair."""
    sums = sum_pairs(counts, "risk")
    return sums.value if sums.pairs > 0 else float("nan")


def influence_of(counts):
    """What one copy of each subject adds to C: the contribution of a row over its frequency."""
    influence, weight = sum_pairs(counts, "risk").influence, counts.weight
    return influence if weight is None else influence / np.where(weight > 0, weight, 1)


def stderr_of(counts):
    """Infinitesimal jackknife without a correction for the sample's size, as in R's survival."""
    square, weight = influence_of(counts) ** 2, counts.weight
    return np.sqrt(square.sum() if weight is None else np.dot(weight, square))
