"""Log-rank test against a loop over event times; Gray's test: rules, bad input, size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from scipy.stats import binom
from strategies import outcomes, pair

import survgauge as sg
from survgauge import Outcomes, UndefinedMetricError
from survgauge.metrics.group_tests import gray_test, log_rank_test


def naive(a, b):
    """(observed - expected, variance) of the first sample."""
    gap = variance = 0.0
    for u in sorted({t for t, e in [*a, *b] if e}):
        n1 = sum(1 for t, _ in a if t >= u)
        n = n1 + sum(1 for t, _ in b if t >= u)
        d1 = sum(1 for t, e in a if e and t == u)
        d = d1 + sum(1 for t, e in b if e and t == u)
        gap += d1 - d * n1 / n
        if n > 1:
            variance += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    return gap, variance


@given(outcomes, outcomes)
def test_two_samples(a, b):
    gap, variance = naive(a, b)
    if variance == 0:
        with pytest.raises(UndefinedMetricError, match="log-rank"):
            log_rank_test(pair(a), pair(b))
        return
    result = log_rank_test(pair(a), pair(b))
    assert result.statistic == pytest.approx(gap**2 / variance, abs=1e-9)
    assert result.p_value == pytest.approx(stats.chi2.sf(gap**2 / variance, 1), abs=1e-9)
    assert result.observed[0] - result.expected[0] == pytest.approx(gap, abs=1e-9)
    assert result.observed.sum() == pytest.approx(result.expected.sum())
    swapped = log_rank_test(pair(b), pair(a))
    assert swapped.statistic == pytest.approx(result.statistic, abs=1e-9)


def test_equals_r():
    # R 4.2.2, survival 3.5-3: survdiff(Surv(time, event) ~ b, d), i = 1..30,
    # time = 1 + (7 i) %% 11, event = (5 i) %% 7 > 1, b = i %% 3 == 0.
    i = np.arange(1, 31)
    y, b = Outcomes(1 + (7 * i) % 11, (5 * i) % 7 > 1), i % 3 == 0
    result = log_rank_test(y[b], y[~b])
    assert result.statistic == pytest.approx(0.1513711616986004)
    assert result.p_value == pytest.approx(0.6972284558358216)
    with pytest.raises(UndefinedMetricError):
        log_rank_test(([1, 2], [0, 0]), ([5, 6], [1, 1]))


def draw(rng, n=120, ties=False):
    time = rng.exponential(5, n)
    time = np.ceil(time) if ties else time
    return sg.Outcomes(time, rng.integers(0, 3, n), causes=["a", "b"]), rng.integers(0, 3, n)


def test_order_and_names_of_groups_do_not_matter():
    y, group = draw(np.random.default_rng(0), ties=True)
    first = gray_test(y, group, "a")
    order = np.random.default_rng(1).permutation(len(y))
    named = np.array(["z", "y", "x"])[group][order]
    second = gray_test(y[order], named, 1)
    assert first.statistic == pytest.approx(second.statistic)
    np.testing.assert_allclose(first.score[::-1], second.score)
    assert first.score.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(first.covariance.sum(axis=0), 0.0, atol=1e-10)
    assert float(first) == first.p_value


def test_a_weight_of_two_is_two_rows():
    y, group = draw(np.random.default_rng(2), ties=True)
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    one = gray_test(y.reweighted(weight), group, 2)
    assert one.statistic == pytest.approx(gray_test(y[rows], group[rows], 2).statistic)


def test_with_one_kind_of_event_scores_are_those_of_the_log_rank_test():
    y, group = draw(np.random.default_rng(4), ties=True)
    y = y.any_cause()
    group = group > 0
    wanted = log_rank_test(y[~group], y[group])
    np.testing.assert_allclose(gray_test(y, group).score, wanted.score)


def test_its_size_under_equal_incidence():
    # The competing cause differs between the groups, the one that is tested does not.
    rng, rejected, runs = np.random.default_rng(18), 0, 600
    for _ in range(runs):
        group = rng.integers(0, 2, 150)
        cause = np.where(rng.random(150) < 0.4, 1, 2)
        time = np.where(cause == 1, rng.exponential(4, 150), rng.exponential(3 + 5 * group))
        censored = rng.uniform(0, 14, 150)
        event = np.where(time <= censored, cause, 0)
        rejected += gray_test((np.minimum(time, censored), event), group, 1).p_value < 0.05
    low, high = binom.ppf([0.001, 0.999], runs, 0.05)
    assert low <= rejected <= high


def test_bad_input():
    y, group = draw(np.random.default_rng(5))
    with pytest.raises(sg.UndefinedMetricError, match="needs an event of it and two groups"):
        gray_test(y, np.zeros(len(y)), 1)
    with pytest.raises(sg.InputError, match="group must have one entry per subject"):
        gray_test(y, group[1:], 1)
    with pytest.raises(sg.InputError, match="group must not have gaps"):
        gray_test(y, np.where(group == 1, np.nan, group), 1)
    with pytest.raises(sg.InputError, match="cause must be the code"):
        gray_test(y, group, 3)


@pytest.mark.parametrize("rho", [-1.0, -0.5, 0.0, 0.5])
def test_groups_too_small_for_the_pooled_incidence_are_refused(rho):
    """Estimates of groups of one subject add up to more than 1: no warning of NumPy, no NaN."""
    rng = np.random.default_rng(0)
    y = sg.Outcomes(np.arange(1.0, 31), np.tile([1, 2, 1], 10), causes=["a", "b"])
    with pytest.raises(sg.UndefinedMetricError, match="larger groups"):
        gray_test(y, np.arange(30), rho=rho)
    found = gray_test(y, rng.integers(0, 3, 30), rho=rho)
    assert np.isfinite(found.statistic)
    assert 0 <= found.p_value <= 1
