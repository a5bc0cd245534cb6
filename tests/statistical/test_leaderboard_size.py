"""The leaderboard: wrong claims about equal models, and coverage over datasets."""

from __future__ import annotations

import numpy as np
import pytest

from survgauge.bench.leaderboard.statistics import over_datasets, p_of_being_best, pairs

pytestmark = pytest.mark.slow


def board(rng, datasets, skewed, unequal, means):
    shape = datasets, len(means)
    error = (rng.gamma(2, size=shape) - 2) / np.sqrt(2) if skewed else rng.normal(size=shape)
    spread = np.exp(rng.normal(0, 0.6, (datasets, 1))) if unequal else 1.0
    return means + rng.gamma(2, 0.05, (datasets, 1)) + 0.04 * spread * error


@pytest.mark.parametrize("datasets", [10, 30])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_ten_equal_models(datasets, skewed, unequal):
    rng = np.random.default_rng([datasets, skewed, unequal])
    draws = 500
    different = alone = left_out = 0.0
    for k in range(draws):
        values = board(rng, datasets, skewed, unequal, np.zeros(10))
        different += bool(np.nanmin(pairs(values, flips=999, seed=k).p_value) < 0.05)
        best = p_of_being_best(values, flips=999, seed=k)
        alone += int((best >= 0.05).sum() == 1)
        left_out += float(np.mean(best < 0.05))
    assert different / draws <= 0.08
    assert alone / draws <= 0.05
    assert left_out / draws <= 0.07


@pytest.mark.parametrize("datasets", [10, 30, 60])
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_intervals_of_known_differences(datasets, skewed, unequal):
    rng = np.random.default_rng([datasets, skewed, unequal, 1])
    means = np.linspace(0, 0.1, 10)
    first, second = np.triu_indices(10, 1)
    covered = 0.0
    for _ in range(500):
        values = board(rng, datasets, skewed, unequal, means)
        found = over_datasets(values[:, first] - values[:, second])
        gap = means[first] - means[second]
        covered += float(np.mean((found.low <= gap) & (gap <= found.high)))
    assert 0.93 <= covered / 500 <= 0.97
