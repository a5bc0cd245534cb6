"""Counts of outcomes are those of all subjects, whatever the parts and however they are grouped."""

from __future__ import annotations

import numpy as np
import pytest

from survgauge import Outcomes
from survgauge.reference.counts import OutcomeCounts


def drawn(rng, kind, n=3_000):
    time = rng.weibull(1.2, n) * 800
    if kind == "tied":
        time = np.ceil(time)
    weight = rng.integers(0, 4, n).astype(float) if kind == "weighted" else None
    if kind == "causes":
        return Outcomes(time, rng.integers(0, 3, n), causes=["relapse", "death"])
    return Outcomes(time, rng.random(n) < 0.6, weight)


def by_hand(y, dropped):
    """Events of each cause and subjects at each time, one subject at a time."""
    width = 1 if y.causes is None else len(y.causes)
    cells = {}
    codes = y.event.astype(int) if y.cause is None else y.cause
    for time, code, weight in zip(y.time, codes, y.weight, strict=True):
        if weight > 0:
            bits = int(np.float64(time).view(np.uint64)) >> dropped << dropped
            cell = cells.setdefault(float(np.uint64(bits).view(np.float64)), [0.0] * (width + 1))
            cell[-1] += weight
            if code:
                cell[code - 1] += weight
    return np.array(sorted(cells)), np.array([cells[t] for t in sorted(cells)])


@pytest.mark.parametrize("most", [None, 5_000, 200, 7])
@pytest.mark.parametrize("kind", ["plain", "tied", "weighted", "causes"])
def test_parts_in_any_order_count_as_all(kind, most):
    rng = np.random.default_rng(1)
    y = drawn(rng, kind)
    whole = OutcomeCounts(most)
    whole.update(y)
    size = len(whole)  # bits are dropped when somebody asks
    times, cells = by_hand(y, whole.dropped)
    assert size == times.size
    for sizes in ([len(y)], [1, 10, 1_500], [500] * 6):
        edges = np.cumsum(sizes)
        parts = [p for p in np.split(np.arange(len(y)), edges) if p.size]
        merged = OutcomeCounts(most)
        for number, rows in enumerate(rng.permutation(len(parts))):
            rows = parts[rows]
            if number % 2:
                merged.update(y[rows])
            else:
                other = OutcomeCounts(most)
                other.update(y[rows])
                merged.merge(other)
        assert len(merged) == times.size
        assert merged.dropped == whole.dropped
        np.testing.assert_array_equal(merged.times, times)
        np.testing.assert_allclose(merged.total, cells[:, -1], rtol=1e-13)
        np.testing.assert_allclose(merged._events, cells[:, :-1], rtol=1e-13)
    assert most is None or len(whole) <= most


def test_as_few_bits_are_dropped_as_leave_few_enough_times():
    y = drawn(np.random.default_rng(2), "plain")
    counts = OutcomeCounts(200)
    counts.update(y)
    assert len(counts) <= 200
    assert by_hand(y, counts.dropped - 1)[0].size > 200
