"""Sums that merge keep the digits of a small difference between two models."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from survgauge.evaluation.moments import Moments


def exact_error(one, other, below, frequency):
    """Standard error of the difference of two ratios, by arithmetic without rounding."""
    copies = [int(w) for w in frequency]
    a, b, s = (
        [Fraction(float(x)) for x, w in zip(column, copies, strict=True) for _ in range(w)]
        for column in (one, other, below)
    )
    gap = (sum(a) - sum(b)) / sum(s)
    psi = [(x - y - gap * z) / sum(s) for x, y, z in zip(a, b, s, strict=True)]
    n = len(psi)
    return float(sum(p * p for p in psi) * n / (n - 1)) ** 0.5


def summed(values, parts, frequency=None):
    total = Moments(len(values))
    for rows in np.array_split(np.arange(values.shape[1]), parts):
        part = Moments(len(values))
        part.update(values[:, rows], None if frequency is None else frequency[rows])
        total.merge(part)
    return total


@pytest.mark.parametrize("n", [3, 50])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("same_below", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_models_that_differ_in_the_seventh_digit(n, parts, same_below, weighted):
    rng = np.random.default_rng(n)
    loss = rng.uniform(1, 11, n)
    below = np.ones(n) if same_below else rng.uniform(0.5, 1.5, n)
    # The two that are nearly equal are far from the first.
    values = np.array([rng.uniform(0, 100, n), loss, loss + 1e-6 * rng.random(n), below])
    frequency = rng.integers(1, 4, n).astype(float) if weighted else None
    total = summed(values, parts, frequency)
    found = total.stderr(total.ratio_pull(1) - total.ratio_pull(2))
    copies = np.ones(n) if frequency is None else frequency
    assert found == pytest.approx(exact_error(*values[1:], copies), rel=3e-7)


def test_blocks_give_what_arrays_give(monkeypatch):
    monkeypatch.setattr("survgauge.evaluation.moments._BLOCK", 7)
    values = np.random.default_rng(0).normal(5, 2, (4, 40))
    values[3] = 2.0
    known = summed(values, 1)

    for last in (None, 2.0):
        found = Moments(4)
        found.update_columns(values if last is None else values[:3], last)
        np.testing.assert_allclose(found.total, known.total, rtol=1e-13)
        np.testing.assert_allclose(found.square, known.square, rtol=1e-12, atol=1e-12)


def test_sums_tell_the_spread_of_any_combination():
    values = np.random.default_rng(2).normal(3, 1, (4, 30))
    total, pull = summed(values, 4), np.array([0.5, -2.0, 0.25, 1.5])
    away = pull @ (values - values.mean(axis=1, keepdims=True))
    assert total.stderr(pull) == pytest.approx(np.sqrt(away @ away * 30 / 29), rel=1e-12)


def test_an_undefined_model_leaves_the_others_alone():
    values = np.random.default_rng(3).normal(3, 1, (4, 30))
    whole = summed(values, 2)
    values[1] = np.nan
    with np.errstate(invalid="ignore"):
        total = summed(values, 2)
    pull = whole.ratio_pull(0) - whole.ratio_pull(2)
    assert total.stderr(pull) == whole.stderr(pull) > 0
