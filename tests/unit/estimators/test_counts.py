"""Counts of outcomes are those of all subjects, whatever the parts and however they are grouped."""

from __future__ import annotations

import numpy as np
import pytest

from survgauge import Outcomes
from survgauge.estimators.reference import OutcomeCounts


def drawn(rng, kind, n=3_000):
    time = rng.weibull(1.2, n) * 800
    if kind == "tied":
        time = np.ceil(time)
    weight = rng.integers(0, 4, n).astype(float) if kind == "weighted" else None
    if kind == "causes":
        return Outcomes(time, rng.integers(0, 3, n), causes=["relapse", "death"])
    return Outcomes(time, rng.random(n) < 0.6, weight)


def by_hand(y):
    """Events of each cause and subjects at each time, one subject at a time."""
    width = 1 if y.causes is None else len(y.causes)
    cells = {}
    codes = y.event.astype(int) if y.cause is None else y.cause
    for time, code, weight in zip(y.time, codes, y.weight, strict=True):
        if weight > 0:
            cell = cells.setdefault(float(time), [0.0] * (width + 1))
            cell[-1] += weight
            if code:
                cell[code - 1] += weight
    return np.array(sorted(cells)), np.array([cells[t] for t in sorted(cells)])


@pytest.mark.parametrize("kind", ["plain", "tied", "weighted", "causes"])
def test_parts_in_any_order_count_as_all(kind):
    rng = np.random.default_rng(1)
    y = drawn(rng, kind)
    whole = OutcomeCounts()
    whole.update(y)
    times, cells = by_hand(y)
    assert len(whole) == times.size
    for sizes in ([len(y)], [1, 10, 1_500], [500] * 6):
        edges = np.cumsum(sizes)
        parts = [p for p in np.split(np.arange(len(y)), edges) if p.size]
        merged = OutcomeCounts()
        for number, rows in enumerate(rng.permutation(len(parts))):
            rows = parts[rows]
            if number % 2:
                merged.update(y[rows])
            else:
                other = OutcomeCounts()
                other.update(y[rows])
                merged.merge(other)
        assert len(merged) == times.size
        np.testing.assert_array_equal(merged.times, times)
        np.testing.assert_allclose(merged.total, cells[:, -1], rtol=1e-13)
        np.testing.assert_allclose(merged._events, cells[:, :-1], rtol=1e-13)
