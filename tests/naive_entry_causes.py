"""Delayed entry with competing risks once more as plain loops."""

from __future__ import annotations

import numpy as np
from naive_entry import at_risk, between, factor

import survgauge as sg

CAUSES = ("dementia", "death")


def draw(seed: int, n: int = 40, whole: bool = False) -> tuple[sg.Outcomes, sg.IncidenceCurves]:
    """Outcomes of two causes with delayed entry, and incidence of some model; `whole` are tied."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=8 * n)
    rates = np.stack((0.08 * np.exp(0.6 * x), 0.06 * np.exp(-0.3 * x)))
    time = rng.exponential(1 / rates.sum(axis=0))
    cause = np.where(rng.random(x.size) < rates[0] / rates.sum(axis=0), 1, 2)
    censored = rng.uniform(1, 18, x.size)
    entry = np.where(rng.random(x.size) < 0.3, 0.0, rng.uniform(0, 7, x.size))
    if whole:
        time, censored, entry = np.ceil(time), np.ceil(censored), np.floor(entry)
    seen = np.minimum(time, censored)
    keep = np.flatnonzero(seen > entry)[:n]
    codes = np.where(time <= censored, cause, 0)[keep]
    y = sg.Outcomes(seen[keep], codes, causes=CAUSES, entry=entry[keep])
    grid = np.array([0.7, 2.0, 3.5, 5.0, 7.5, 10.0, 14.0, 20.0])
    off = rates[:, keep] * np.exp(0.3 * rng.normal(size=(2, n)))
    total = off.sum(axis=0)
    values = (off / total).T[:, :, None] * (1 - np.exp(-total[:, None] * grid))[:, None]
    return y, sg.IncidenceCurves(grid, values, causes=CAUSES)


def incidence(curves: sg.IncidenceCurves, i: int, t: float, a: float, cause: int) -> float:
    """Probability of an event of the cause by t given no event by a."""
    if t <= a:
        return 0.0
    one = curves[[i]]
    free = 1 - sum(one.at(a, k)[0] for k in (1, 2)) if a > 0 else 1.0
    then = one.at(a, cause)[0] if a > 0 else 0.0
    return float((one.at(t, cause)[0] - then) / free)


def weight_at(y: sg.Outcomes, i: int, t: float) -> float:
    """1/G of a subject at t given that it was uncensored at entry; 0 where its state is unknown."""
    a = float(y.entry[i])
    if not (a < t or a == 0):
        return 0.0
    if y.time[i] > t:
        return 1 / between(y, a, t, left=False)
    return 1 / between(y, a, float(y.time[i]), left=True) if y.event[i] else 0.0


def entered(y: sg.Outcomes, t: float) -> int:
    return sum(1 for a in y.entry if a < t or a == 0)


def brier(y: sg.Outcomes, curves: sg.IncidenceCurves, t: float, cause: int) -> tuple[float, int]:
    """Sum of the weighted squares at t over who has entered, and their number."""
    total = 0.0
    for i in range(len(y)):
        had = y.time[i] <= t and y.cause[i] == cause
        gap = had - incidence(curves, i, t, float(y.entry[i]), cause)
        total += weight_at(y, i, t) * gap**2
    return total, entered(y, t)


def state_losses(y: sg.Outcomes, curves: sg.IncidenceCurves, t: float) -> tuple[float, float]:
    """Mean log loss and squared loss of all states at t."""
    logs = squares = 0.0
    for i in range(len(y)):
        weight = weight_at(y, i, t)
        if not weight:
            continue
        known = [incidence(curves, i, t, float(y.entry[i]), k) for k in (1, 2)]
        known = [1 - sum(known), *known]
        state = int(y.cause[i]) if y.time[i] <= t else 0
        logs -= weight * np.log(known[state])
        squares += weight * sum((p - (k == state)) ** 2 for k, p in enumerate(known))
    return logs / entered(y, t), squares / entered(y, t)


def auc(y: sg.Outcomes, curves: sg.IncidenceCurves, t: float, cause: int, every: bool) -> float:
    """Controls are those event-free, and with `every` those with another event too."""
    above = below = 0.0
    risk = [incidence(curves, i, t, float(y.entry[i]), cause) for i in range(len(y))]
    for i in range(len(y)):
        if not (y.cause[i] == cause and y.time[i] <= t):
            continue
        for j in range(len(y)):
            free = y.time[j] > t
            other = every and y.time[j] <= t and y.cause[j] not in (0, cause)
            if not (free or other):
                continue
            weight = weight_at(y, i, t) * weight_at(y, j, t)
            above += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
            below += weight
    return above / below


def concordance(
    y: sg.Outcomes, risk: np.ndarray, cause: int, *, tau: float, weighted: bool
) -> float:
    above = below = 0.0
    for i in range(len(y)):
        t = float(y.time[i])
        if y.cause[i] != cause or not t < tau:
            continue
        for j in range(len(y)):
            other = y.cause[j] not in (0, cause) and y.time[j] <= t
            outlives = y.time[j] > t or (y.time[j] == t and not y.event[j])
            first = float(y.time[j]) if other else t
            if j == i or not (other or outlives):
                continue
            if not (at_risk(y, i, first) and at_risk(y, j, first)):
                continue
            weight = 1.0
            if weighted:
                weight /= between(y, y.entry[i], t, left=True)
                weight /= between(y, y.entry[j], first, left=True)
            above += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
            below += weight
    return above / below


def cause_hazard(curves: sg.IncidenceCurves, i: int, a: float, t: float, cause: int) -> float:
    """Integral of dF/S from a to t by the exact rule between points of the grid."""
    cuts = [a, *(float(u) for u in curves.times if a < u < t), t]
    one, total = curves[[i]], 0.0

    def both(u: float) -> tuple[float, float]:
        if u == 0:
            return 0.0, 1.0
        return float(one.at(u, cause)[0]), 1 - sum(float(one.at(u, k)[0]) for k in (1, 2))

    for low, high in zip(cuts[:-1], cuts[1:], strict=True):
        (f0, s0), (f1, s1) = both(low), both(high)
        if high > low:
            total += (f1 - f0) / (s0 - s1) * np.log(s0 / s1)
    return total


def hazards(y: sg.Outcomes, cause: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Event times, and d/n there of the cause and of the others."""
    events = np.unique(y.time[y.event])
    own = [
        sum(y.time[i] == u and y.cause[i] == cause for i in range(len(y)))
        / sum(at_risk(y, i, u) for i in range(len(y)))
        for u in events
    ]
    every = np.array([1 - factor(y, u, censoring=False) for u in events])
    return events, np.array(own), every - np.array(own)


def doubly_robust(y: sg.Outcomes, predicted: np.ndarray, cause: int, tau: float) -> np.ndarray:
    """m(a) + sum of [L - m(u)] {dN(u) - h(u)} / G(u-) given a, over both causes up to tau.

    L is the absolute error of the time free of the cause: of u for the cause, of tau for another.
    """
    events, own, other = hazards(y, cause)
    found = np.empty(len(y))
    for i in range(len(y)):
        a, p = float(y.entry[i]), float(predicted[i])

        def expected(u: float, p: float = p) -> float:
            left, total = 1.0, 0.0
            for v, h, g in zip(events, own, other, strict=True):
                if u < v < tau:
                    total += left * (h * abs(v - p) + g * abs(tau - p))
                    left *= 1 - h - g
            return total + left * abs(tau - p)

        value = expected(a)
        for u, h, g in zip(events, own, other, strict=True):
            if a < u <= y.time[i] and u < tau:
                had = int(y.event[i] and u == y.time[i])
                mine = int(had and y.cause[i] == cause)
                scale = between(y, a, u, left=True)
                value += (abs(u - p) - expected(u)) * (mine - h) / scale
                value += (abs(tau - p) - expected(u)) * (had - mine - g) / scale
        found[i] = value
    return found


def pseudo_time(y: sg.Outcomes, i: int, cause: int, tau: float) -> float:
    """Pseudo-observation of the time free of the cause of a censored subject, given its entry."""
    events, own, other = hazards(y, cause)
    a, c = float(y.entry[i]), float(y.time[i])

    def mean(u: float) -> float:
        left, total = 1.0, 0.0
        for v, h, g in zip(events, own, other, strict=True):
            if u < v < tau:
                total += left * (h * v + g * tau)
                left *= 1 - h - g
        return total + left * tau

    value = mean(a)
    for u, h, g in zip(events, own, other, strict=True):
        if a < u <= min(c, tau) and u < tau:
            value += ((mean(u) - u) * h + (mean(u) - tau) * g) / between(y, a, u, left=True)
    return value


def pseudo_status(y: sg.Outcomes, i: int, cause: int, t: float) -> float:
    """Pseudo-observation of being free of the cause at t given no event at entry."""
    events, own, other = hazards(y, cause)
    a = float(y.entry[i])

    def ahead(u: float) -> float:
        left, total = 1.0, 0.0
        for v, h, g in zip(events, own, other, strict=True):
            if u < v <= t:
                total += left * h
                left *= 1 - h - g
        return total

    value = ahead(a)
    for u, h, g in zip(events, own, other, strict=True):
        if a < u <= min(float(y.time[i]), t):
            had = int(y.event[i] and u == y.time[i])
            mine = int(had and y.cause[i] == cause)
            jump = (1 - ahead(u)) * (mine - h) - ahead(u) * (had - mine - g)
            value += jump / between(y, a, u, left=True)
    return 1 - value


def incidence_gap(y: sg.Outcomes, curves: sg.IncidenceCurves, stop: float, cause: int) -> float:
    """Mean squared gap of Aalen-Johansen and what hazards of those at risk say, since 10 are."""
    changes = sorted({0.0, *map(float, y.entry), *map(float, y.time)})
    enough = [t for t in sorted(y.time) if sum(at_risk(y, i, t) for i in range(len(y))) >= 10]
    begin = max(u for u in changes if u < enough[0])
    nodes = [begin, *(u for u in changes if begin < u < stop), stop]
    events, own, other = hazards(y, cause)
    known = {u: (h, h + g) for u, h, g in zip(events, own, other, strict=True)}
    total, free, had, km, seen = 0.0, 1.0, 0.0, 1.0, 0.0
    for low, high in zip(nodes[:-1], nodes[1:], strict=True):
        here = [i for i in range(len(y)) if y.entry[i] <= low and y.time[i] >= high]
        before = had
        if here:
            mine = np.mean([cause_hazard(curves, i, low, high, cause) for i in here])
            every = np.mean(
                [sum(cause_hazard(curves, i, low, high, k) for k in (1, 2)) for i in here]
            )
            had += free * mine / every * (1 - np.exp(-every))
            free *= np.exp(-every)
        a, b = before - seen, had - seen
        total += (high - low) * (a * a + a * b + b * b) / 3
        h, every = known.get(high, (0.0, 0.0))
        seen += km * h
        km *= 1 - every
    return total / (stop - begin)
