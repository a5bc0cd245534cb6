"""Delayed entry once more as plain loops: what the metrics are compared with."""

from __future__ import annotations

import numpy as np

import survgauge as sg


def draw(seed: int, n: int = 40, whole: bool = False) -> tuple[sg.Outcomes, sg.SurvivalCurves]:
    """Outcomes with delayed entry, and curves of some model; `whole` times are tied."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=8 * n)
    time = 9 * np.exp(-0.5 * x) * rng.weibull(1.4, x.size)
    censored = rng.uniform(1, 18, x.size)
    entry = np.where(rng.random(x.size) < 0.3, 0.0, rng.uniform(0, 7, x.size))
    if whole:
        time, censored, entry = np.ceil(time), np.ceil(censored), np.floor(entry)
    seen = np.minimum(time, censored)
    keep = np.flatnonzero(seen > entry)[:n]
    y = sg.Outcomes(seen[keep], (time <= censored)[keep], entry=entry[keep])
    grid = np.array([0.7, 2.0, 3.5, 5.0, 7.5, 10.0, 14.0])
    rate = 0.08 * np.exp(0.4 * x[keep] + 0.3 * rng.normal(size=n))
    return y, sg.SurvivalCurves(grid, np.exp(-rate[:, None] * grid**1.1))


def at_risk(y: sg.Outcomes, i: int, t: float) -> bool:
    return (y.entry[i] < t or y.entry[i] == 0) and t <= y.time[i]


def factor(y: sg.Outcomes, t: float, censoring: bool) -> float:
    """1 - d/n of events, or of censorings once the events have left."""
    n = sum(at_risk(y, i, t) for i in range(len(y)))
    d = sum(y.time[i] == t and y.event[i] for i in range(len(y)))
    c = sum(y.time[i] == t and not y.event[i] for i in range(len(y)))
    if censoring:
        return 1 - c / (n - d) if c else 1.0
    return 1 - d / n


def between(y: sg.Outcomes, a: float, t: float, *, left: bool, censoring: bool = True) -> float:
    """Probability of being uncensored (event-free) at t, or before it, given that at a."""
    value = 1.0
    for u in np.unique(y.time):
        if (u > a or a == 0) and (u < t or (u == t and not left)):
            value *= factor(y, u, censoring)
    return value


def conditional(curves: sg.SurvivalCurves, i: int, t: float, a: float) -> float:
    one = curves[[i]]
    return 1.0 if t <= a else float(one.at(t)[0] / one.at(a)[0]) if a > 0 else float(one.at(t)[0])


def brier_sums(y: sg.Outcomes, curves: sg.SurvivalCurves, t: float) -> tuple[float, int]:
    """Sum of the weighted squares at t over who has entered, and their number."""
    total, number = 0.0, 0
    for i in range(len(y)):
        a = float(y.entry[i])
        if not (a < t or a == 0):
            continue
        number += 1
        s = conditional(curves, i, t, a)
        if y.time[i] > t:
            total += (1 - s) ** 2 / between(y, a, t, left=False)
        elif y.event[i]:
            total += s**2 / between(y, a, float(y.time[i]), left=True)
    return total, number


def auc(y: sg.Outcomes, curves: sg.SurvivalCurves, t: float) -> float:
    above = below = 0.0
    for i in range(len(y)):
        if not (y.event[i] and y.time[i] <= t):
            continue
        case = 1 / between(y, y.entry[i], y.time[i], left=True)
        mine = 1 - conditional(curves, i, t, y.entry[i])
        for j in range(len(y)):
            if y.time[j] > t and (y.entry[j] < t or y.entry[j] == 0):
                weight = case / between(y, y.entry[j], t, left=False)
                theirs = 1 - conditional(curves, j, t, y.entry[j])
                above += weight * ((mine > theirs) + 0.5 * (mine == theirs))
                below += weight
    return above / below


def concordance(y: sg.Outcomes, risk: np.ndarray, *, tau: float, weighted: bool) -> float:
    above = below = 0.0
    for i in range(len(y)):
        t = float(y.time[i])
        if not y.event[i] or not t < tau:
            continue
        for j in range(len(y)):
            later = y.time[j] > t or (y.time[j] == t and not y.event[j])
            if j == i or not later or not at_risk(y, j, t):
                continue
            weight = 1.0
            if weighted:
                weight /= between(y, y.entry[i], t, left=True)
                weight /= between(y, y.entry[j], t, left=True)
            above += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
            below += weight
    return above / below


def doubly_robust(y: sg.Outcomes, predicted: np.ndarray, floor: float) -> np.ndarray:
    """m(a) + sum over event times u in (a, y] of [L(u) - m(u)] {dN(u) - h(u)} / G(u-) given a.

    The distribution is Kaplan-Meier of the subjects, which must end at 0. L is the absolute error.
    """
    events = np.unique(y.time[y.event])
    hazards = np.array([1 - factor(y, u, censoring=False) for u in events])
    found = np.empty(len(y))
    for i in range(len(y)):
        a, p = float(y.entry[i]), float(predicted[i])

        def expected(u: float, p: float = p) -> float:
            left, total = 1.0, 0.0
            for v, h in zip(events, hazards, strict=True):
                if v > u:
                    total += left * h * abs(v - p)
                    left *= 1 - h
            return total

        value = expected(a)
        for u, h in zip(events, hazards, strict=True):
            if a < u <= y.time[i]:
                jump = float(u == y.time[i] and y.event[i]) - h
                g = between(y, a, u, left=True)
                if between(y, 0.0, u, left=True) < floor:
                    raise ValueError("the floor is reached, which this loop does not know")
                value += (abs(u - p) - expected(u)) * jump / g
        found[i] = value
    return found


def hazard_gap(y: sg.Outcomes, curves: sg.SurvivalCurves, stop: float) -> float:
    """Mean squared gap of Kaplan-Meier and exp(-A), A of those at risk, since 10 are at risk."""
    changes = sorted({0.0, *map(float, y.entry), *map(float, y.time)})
    enough = [t for t in sorted(y.time) if sum(at_risk(y, i, t) for i in range(len(y))) >= 10]
    begin = max(u for u in changes if u < enough[0])
    inner = [u for u in changes if begin < u < stop]
    nodes, km, free, total = [begin, *inner, stop], 1.0, 1.0, 0.0
    for low, high in zip(nodes[:-1], nodes[1:], strict=True):
        here = [i for i in range(len(y)) if y.entry[i] <= low and y.time[i] >= high]
        before = free
        if here:
            rises = [
                -np.log(
                    conditional(curves, i, high, y.entry[i])
                    / conditional(curves, i, low, y.entry[i])
                )
                for i in here
            ]
            free *= np.exp(-np.mean(rises))
        a, b = before - km, free - km
        total += (high - low) * (a * a + a * b + b * b) / 3
        if high in y.time:
            km *= factor(y, high, censoring=False)
    return total / (stop - begin)


def derivatives(ask, y: sg.Outcomes, curves: sg.SurvivalCurves) -> list[float]:
    """How the value of `ask(y, curves)` changes with the frequency of each subject."""
    h = 1e-5

    def value(row: int, step: float) -> float:
        weight = np.ones(len(y))
        weight[row] += step
        return ask(sg.Outcomes(y.time, y.event, weight, entry=y.entry), curves).value

    return [(value(i, h) - value(i, -h)) / (2 * h) for i in range(len(y))]
