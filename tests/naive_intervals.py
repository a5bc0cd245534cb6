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
    """Turnbull's masses by plain EM over an n x m table; cells, masses, gradient at the end."""
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
