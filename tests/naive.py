"""Oracles written straight from the formulas: loops, refits, no shortcuts.

`y` is a list of (time, event); the code here shares nothing with the package.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def km_steps(y):
    """[(event time, survival after it)] with events before censorings at ties."""
    steps, s = [], Fraction(1)
    for u in sorted({t for t, e in y if e}):
        n = sum(1 for t, _ in y if t >= u)
        d = sum(1 for t, e in y if e and t == u)
        s *= Fraction(n - d, n)
        steps.append((u, s))
    return steps


def km_at(y, t, left=False):
    s = Fraction(1)
    for u, value in km_steps(y):
        if u < t or (u == t and not left):
            s = value
    return s


def g_at(y, t, left=False):
    s = Fraction(1)
    for u in sorted({t for t, e in y if not e}):
        if u < t or (u == t and not left):
            n = sum(1 for t_, _ in y if t_ >= u)
            d = sum(1 for t_, e in y if e and t_ == u)
            c = sum(1 for t_, e in y if not e and t_ == u)
            s *= 1 - Fraction(c, n - d)
    return s


def tail_area(last, s, tail, stop=math.inf):
    last, s = float(last), float(s)
    if s == 0 or last >= stop or last == 0:
        return 0.0
    if tail == "hold":
        return 0.0
    if tail == "nan":
        return math.nan
    if tail == "linear":
        end = last / (1 - s)
        if end <= stop:
            return 0.5 * s * (end - last)
        height = 1 - stop * (1 - s) / last
        return (s + height) / 2 * (stop - last)
    rate = -math.log(s) / last
    upper = 0.0 if math.isinf(stop) else math.exp(-rate * stop)
    return (s - upper) / rate


def km_mean(y, area="step", tail="linear", stop=math.inf):
    """Area under Kaplan-Meier to the last observed time, plus the tail."""
    last = max(t for t, _ in y)
    steps = km_steps(y)
    nodes = [(Fraction(0), Fraction(1))] + [(Fraction(u), s) for u, s in steps]
    if steps and steps[0][0] == 0:
        nodes = nodes[1:]
    nodes.append((Fraction(last), nodes[-1][1]))
    total = Fraction(0)
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        total += (t1 - t0) * (s0 if area == "step" else (s0 + s1) / 2)
    return float(total) + tail_area(last, nodes[-1][1], tail, stop)


def survival_with_tail(y, c, tail, stop=math.inf):
    last = max(t for t, _ in y)
    if c <= last:
        return float(km_at(y, c))
    s = float(km_at(y, last))
    if s == 0:
        return 0.0
    if tail == "hold":
        return s
    if tail == "nan":
        return math.nan
    if tail == "linear":
        return max(0.0, 1 - c * (1 - s) / last) if last > 0 else 0.0
    return s ** (c / last) if last > 0 else 0.0


def margin(c, y, area="step", tail="linear", stop=math.inf):
    s_c = survival_with_tail(y, c, tail)
    if s_c == 0:
        return c
    last = max(t for t, _ in y)
    if c > last:
        return c + tail_area(c, s_c, tail, stop) / s_c
    nodes = [(Fraction(c), km_at(y, c))]
    if area == "step":
        times = [u for u, _ in km_steps(y) if u > c]
        times.append(last)
    else:
        times = sorted({t for t, _ in y if t > c})
    nodes += [(Fraction(t), km_at(y, t)) for t in times]
    total = 0.0
    for (t0, s0), (t1, s1) in zip(nodes[:-1], nodes[1:], strict=True):
        total += float((t1 - t0) * (s0 if area == "step" else (s0 + s1) / 2))
    total += tail_area(last, km_at(y, last), tail, stop)
    return c + total / s_c


def ipcw_t(c, y):
    later = [t for t, e in y if e and t > c]
    return sum(later) / len(later) if later else math.nan


def po(c, y, area="step", tail="linear", stop=math.inf):
    joined = [*y, (c, False)]
    with_i, without = (km_mean(d, area, tail, stop) for d in (joined, y))
    return (len(y) + 1) * with_i - len(y) * without


def po_in_sample(i, y, area="step", tail="linear", stop=math.inf):
    others = y[:i] + y[i + 1 :]
    return len(y) * km_mean(y, area, tail, stop) - (len(y) - 1) * km_mean(others, area, tail, stop)


def restrict(y, tau):
    return [(min(t, tau), e or t >= tau) for t, e in y]


def loss(name, t, p, scale=1.0):
    if name == "absolute":
        return abs(t - p)
    if name == "squared":
        return (t - p) ** 2
    if name == "relative":
        return abs(t - p) / t
    if name == "log":
        return abs(math.log(t) - math.log(p))
    return abs(t - p) / scale


def expected_loss(name, c, p, y, tail="linear", scale=1.0, stop=math.inf, pieces=20_000):
    """E[loss(T, p) | T > c] under the steps (atoms) and the tail (numerically)."""
    last = max(t for t, _ in y)
    atoms, before = [], Fraction(1)
    for u, s in km_steps(y):
        atoms.append((u, float(before - s)))
        before = s
    left = float(before)
    if left > 0 and tail == "hold":
        atoms.append((last, left))
    elif left > 0 and tail == "linear" and last > 0:
        end = last / (1 - left)
        low, high = max(c, last), min(end, stop)
        if high > low:
            width = (high - low) / pieces
            weight = (1 - left) / last * width
            atoms += [(low + (k + 0.5) * width, weight) for k in range(pieces)]
        if end > stop:
            atoms.append((stop, 1 - stop * (1 - left) / last))
    elif left > 0 and tail == "exponential" and last > 0:
        rate = -math.log(left) / last
        low = max(c, last)
        high = stop if math.isfinite(stop) else low + 60 / rate
        width = (high - low) / pieces
        for k in range(pieces):
            a, b = low + k * width, low + (k + 1) * width
            atoms.append(((a + b) / 2, math.exp(-rate * a) - math.exp(-rate * b)))
        if math.isfinite(stop):
            atoms.append((stop, math.exp(-rate * stop)))
    ahead = [(t, m) for t, m in atoms if t > c]
    total = sum(m for _, m in ahead)
    if total <= 0:
        return loss(name, c, p, scale)
    return sum(m * loss(name, t, p, scale) for t, m in ahead) / total


def generator(copula, theta):
    """Generator of an Archimedean copula, as in a textbook."""
    return {
        "clayton": lambda u: (u**-theta - 1) / theta,
        "frank": lambda u: -np.log(np.expm1(-theta * u) / np.expm1(-theta)),
        "gumbel": lambda u: (-np.log(u)) ** theta,
    }[copula]


def copula_graphic(time, event, copula, theta):
    """Survival functions of both times after each distinct time, one subject after the other."""
    phi, n = generator(copula, theta), len(time)
    rows = sorted(range(n), key=lambda i: (time[i], not event[i]))
    risen, found = {True: 0.0, False: 0.0}, {}
    for left, i in enumerate(rows):
        before, after = (n - left) / n, (n - left - 1) / n
        risen[bool(event[i])] += np.inf if after == 0 else phi(after) - phi(before)
        found[time[i]] = tuple(inverse_generator(phi, risen[kind]) for kind in (True, False))
    return np.array([found[t] for t in sorted(found)]).T


def inverse_generator(phi, x):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle == 0 or phi(middle) > x else (low, middle)
    return 0.0 if x == math.inf else (low + high) / 2
