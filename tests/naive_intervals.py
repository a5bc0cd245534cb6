"""Interval-censored outcomes once more, as slow and plain loops."""

from __future__ import annotations

import numpy as np


def contains(lower, upper, left, right):
    """Whether the cell (left, right], or the point left = right, lies in a subject's interval."""
    if lower == upper:
        return left == right == lower
    after = left >= lower if left < right else left > lower
    return after and right <= upper


def cells(lower, upper):
    """Every candidate interval that somebody's left end starts and somebody's right end closes."""
    found = []
    # (time, what, is left): exact left ends, right ends, open left ends at one time.
    ends = set()
    for low, high in zip(lower, upper, strict=True):
        ends.add((low, 0 if low == high else 2, True))
        ends.add((high, 1, False))
    ends = sorted(ends)
    for one, two in zip(ends[:-1], ends[1:], strict=True):
        if one[2] and not two[2]:
            found.append((one[0], two[0]))
    return found


def turnbull(lower, upper, weight=None, rounds=20_000):
    """Turnbull's weights by plain EM over an n x m table; cells, weights, gradient at the end."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    weight = np.ones(lower.size) if weight is None else np.asarray(weight, float)
    found = cells(lower, upper)
    inside = np.array([[contains(a, b, *cell) for cell in found]
                       for a, b in zip(lower, upper, strict=True)], float)  # fmt: skip
    p = np.full(len(found), 1 / len(found))
    for _ in range(rounds):
        gradient = (weight / weight.sum() / (inside @ p)) @ inside
        p = p * gradient
    return found, p, gradient


def distribution_points(cells, weight, points=4000):
    """A distribution as many points of equal weight in each cell: (times, weights)."""
    times, weights = [], []
    for (left, right), p in zip(cells, weight, strict=True):
        number = 1 if left == right or np.isinf(right) else points
        for k in range(number):
            times.append(left + (right - left) * (k + 0.5) / number if number > 1 else right)
            weights.append(p / number)
    return np.array(times), np.array(weights)


def given_interval(lower, upper, times, weights):
    """Points of a distribution inside an interval, with weights that sum to 1."""
    inside = (times == lower) if lower == upper else (times > lower) & (times <= upper)
    if not inside.any():
        if lower == upper or np.isinf(upper):
            return np.array([lower]), np.ones(1)
        many = lower + (upper - lower) * (np.arange(4000) + 0.5) / 4000
        return many, np.full(4000, 1 / 4000)
    return times[inside], weights[inside] / weights[inside].sum()


def expected_error(lower, upper, predicted, times, weights, tau=np.inf, power=1):
    """Mean over subjects of the expected absolute (or squared) error given the interval."""
    total = 0.0
    for low, high, p in zip(lower, upper, predicted, strict=True):
        if low == high:
            total += abs(min(low, tau) - min(p, tau)) ** power
            continue
        t, w = given_interval(low, high, times, weights)
        total += float(w @ np.abs(np.minimum(t, tau) - min(p, tau)) ** power)
    return total / len(lower)


def brier(lower, upper, survival, t, times, weights):
    """Mean expected squared loss of predicted survival probabilities at t."""
    total = 0.0
    for low, high, s in zip(lower, upper, survival, strict=True):
        if t >= high:
            happened = 1.0
        elif t <= low:
            happened = 0.0
        else:
            points, w = given_interval(low, high, times, weights)
            happened = float(w[points <= t].sum())
            if np.isinf(high) and not (times > low).any():
                happened = 1.0
        total += happened * s**2 + (1 - happened) * (1 - s) ** 2
    return total / len(lower)


def concordance(lower, upper, risk, weight=None):
    """Share of pairs of known order in that order, by a double loop."""
    weight = np.ones(len(lower)) if weight is None else weight
    right = pairs = 0.0
    for i in range(len(lower)):
        for j in range(len(lower)):
            exact = lower[j] == upper[j]
            before = upper[i] < lower[j] if exact else upper[i] <= lower[j]
            if i != j and before:
                both = weight[i] * weight[j]
                pairs += both
                right += both * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return right / pairs, pairs
