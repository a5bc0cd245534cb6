"""Means over datasets, tests by turned signs, who may be best, letters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import t as student

from survgauge.bench.leaderboard.statistics import (
    agreement,
    groups,
    over_datasets,
    p_of_being_best,
    pairs,
)


def drawn(datasets=8, models=4, seed=0, missing=0):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2, 0.05, (datasets, 1)) + 0.04 * rng.normal(size=(datasets, models))
    values[np.arange(missing), np.arange(missing) % models] = np.nan
    return values


def t_of(gaps):
    gaps = gaps[~np.isnan(gaps)]
    return gaps.mean() / (gaps.std(ddof=1) / np.sqrt(gaps.size))


def test_means_have_t_intervals():
    values = drawn(9, 3, missing=3)
    found = over_datasets(values)
    for k in range(3):
        own = values[~np.isnan(values[:, k]), k]
        half = student.ppf(0.975, own.size - 1) * own.std(ddof=1) / np.sqrt(own.size)
        assert found.mean[k] == pytest.approx(own.mean())
        assert found.low[k] == pytest.approx(own.mean() - half)
        assert found.high[k] == pytest.approx(own.mean() + half)
        assert found.datasets[k] == own.size


@pytest.mark.parametrize("missing", [0, 2])
def test_pairs_are_compared_under_all_signs(missing):
    values = drawn(9, 4, seed=2, missing=missing)
    first, second = np.triu_indices(4, 1)
    gaps = values[:, first] - values[:, second]
    most = [
        max(abs(t_of(np.array(signs) * column)) for column in gaps.T)
        for signs in product((1.0, -1.0), repeat=9)
    ]
    expected = [np.mean(np.array(most) >= abs(t_of(column)) - 1e-9) for column in gaps.T]
    found = pairs(values)
    assert found.p_value[first, second] == pytest.approx(expected)
    assert found.p_value[second, first] == pytest.approx(expected)
    assert found.difference[second, first] == pytest.approx(-found.difference[first, second])
    # Limits and p-values say the same.
    clear = (found.low > 0) | (found.high < 0)
    assert (clear[first, second] <= (found.p_value[first, second] <= 0.05)).all()


def test_against_one_model_has_more_power():
    values = drawn(10, 6, seed=1)
    values[:, 0] += 0.05
    every, one = pairs(values), pairs(values, against=0)
    assert (one.p_value[1:, 0] <= every.p_value[1:, 0]).all()
    assert np.isnan(one.p_value[1, 2])


def test_the_best_set_is_tested_model_by_model():
    values = drawn(8, 3, seed=4)
    values[:, 2] -= 0.2
    found = p_of_being_best(values)
    for k in range(3):
        gaps = np.delete(values - values[:, [k]], k, axis=1)
        most = np.array(
            [
                max(t_of(np.array(signs) * column) for column in gaps.T)
                for signs in product((1.0, -1.0), repeat=8)
            ]
        )
        assert found[k] == pytest.approx(np.mean(most >= most[0] - 1e-9))
    assert found[2] < 0.05
    assert max(found) == found[int(np.argmax(values.mean(axis=0)))]


def test_few_datasets_have_no_test():
    values = drawn(5, 3)
    assert np.isnan(pairs(values).p_value).all()
    assert np.isnan(pairs(values).low).all()
    assert np.isnan(p_of_being_best(values)).all()
    assert np.isfinite(over_datasets(values).low).all()


def test_models_that_agree_do_not_differ():
    values = drawn(7, 2)
    found = pairs(np.column_stack((values, values[:, 0])))
    assert found.difference[0, 2] == 0
    assert found.p_value[0, 2] == 1


@pytest.mark.parametrize("seed", range(6))
def test_two_models_share_a_letter_unless_they_differ_clearly(seed):
    rng = np.random.default_rng(seed)
    clear = np.triu(rng.random((7, 7)) < 0.4, 1)
    clear |= clear.T
    mean = rng.normal(size=7)
    letters = groups(clear, mean)
    for i, j in product(range(7), repeat=2):
        assert bool(set(letters[i]) & set(letters[j])) is (not clear[i, j])
    assert "a" in letters[int(np.argmax(mean))]


def test_a_model_without_values_has_no_letter():
    assert groups(np.zeros((3, 3), dtype=bool), np.array([0.1, np.nan, 0.2])) == ["a", "", "a"]


def test_orders_agree():
    means = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [np.nan, 0.0]])
    assert agreement(means)[0, 1] == -1


def test_ten_equal_models_have_no_best():
    """The fast form of a claim that `tests/statistical` checks with more boards."""
    wrong = alone = 0
    for seed in range(60):
        values = drawn(13, 10, seed)
        wrong += bool(np.nanmin(pairs(values, flips=199, seed=seed).p_value) < 0.05)
        alone += int((p_of_being_best(values, flips=199, seed=seed) >= 0.05).sum() == 1)
    assert wrong <= 8  # of 60 at a level of 5 %: more have a probability of 1 in 1000
    assert alone <= 1
