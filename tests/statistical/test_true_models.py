"""Intervals of differences between models over the runs of a cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from survgauge.bench.experiment.panels import margins

pytestmark = pytest.mark.slow


def runs(rng, n=200, folds=5, repeats=1, features=5):
    """Absolute errors in every run: of a regression on all features, and of the median for all."""
    X = rng.normal(size=(n, features))
    time = np.exp(3 + 0.5 * X[:, 0] + 0.5 * rng.gumbel(size=n))
    design = np.column_stack([np.ones(n), X])
    errors = []
    for _ in range(repeats):
        fold = rng.permutation(n) % folds
        for k in range(folds):
            train, test = fold != k, fold == k
            slopes = np.linalg.lstsq(design[train], np.log(time[train]), rcond=None)[0]
            said = np.exp(design[test] @ slopes), np.full(test.sum(), np.median(time[train]))
            errors.append([np.abs(one - time[test]).mean() for one in said])
    return np.array(errors)


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_interval_covers_whatever_the_number_of_repeats(repeats):
    rng = np.random.default_rng(3)
    gaps = np.array([np.subtract(*runs(rng, repeats=repeats).T) for _ in range(400)])
    target, mean, count = gaps.mean(), gaps.mean(axis=1), gaps.shape[1]
    labels = np.repeat(np.arange(repeats), count // repeats)
    half = np.array([margins(gap[:, None], labels)[0] for gap in gaps])
    plain = stdtrit(count - 1, 0.975) * gaps.std(axis=1, ddof=1) / np.sqrt(count)
    assert (np.abs(mean - target) <= half).mean() > 0.95
    # Why not the plain one: the same subjects again tell little more.
    assert bool((np.abs(mean - target) <= plain).mean() < 0.85) is (repeats > 1)
