"""Gray's test: rules, bad input, and its size by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import survgauge as sg
from survgauge.metrics.logrank import _two_samples


def draw(rng, n=120, ties=False):
    time = rng.exponential(5, n)
    time = np.ceil(time) if ties else time
    return sg.Outcomes(time, rng.integers(0, 3, n), causes=["a", "b"]), rng.integers(0, 3, n)


def test_order_and_names_of_groups_do_not_matter():
    y, group = draw(np.random.default_rng(0), ties=True)
    first = sg.gray_test(y, group, "a")
    order = np.random.default_rng(1).permutation(len(y))
    named = np.array(["z", "y", "x"])[group][order]
    second = sg.gray_test(y[order], named, 1)
    assert first.statistic == pytest.approx(second.statistic)
    np.testing.assert_allclose(first.score[::-1], second.score)
    assert first.score.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(first.covariance.sum(axis=0), 0.0, atol=1e-10)
    assert float(first) == first.p_value


def test_a_weight_of_two_is_two_rows():
    y, group = draw(np.random.default_rng(2), ties=True)
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    one = sg.gray_test(y.reweighted(weight), group, 2)
    assert one.statistic == pytest.approx(sg.gray_test(y[rows], group[rows], 2).statistic)


def test_with_one_kind_of_event_scores_are_those_of_the_log_rank_test():
    y, group = draw(np.random.default_rng(4), ties=True)
    y = y.any_cause()
    group = group > 0
    samples = [(y.time[rows], y.event[rows], None) for rows in (~group, group)]
    wanted = _two_samples(*samples)
    np.testing.assert_allclose(sg.gray_test(y, group).score, wanted.observed - wanted.expected)


def test_its_size_under_equal_incidence():
    # The competing cause differs between the groups, the one that is tested does not.
    rng, rejected, runs = np.random.default_rng(18), 0, 600
    for _ in range(runs):
        group = rng.integers(0, 2, 150)
        cause = np.where(rng.random(150) < 0.4, 1, 2)
        time = np.where(cause == 1, rng.exponential(4, 150), rng.exponential(3 + 5 * group))
        censored = rng.uniform(0, 14, 150)
        event = np.where(time <= censored, cause, 0)
        rejected += sg.gray_test((np.minimum(time, censored), event), group, 1).p_value < 0.05
    low, high = binom.ppf([0.001, 0.999], runs, 0.05)
    assert low <= rejected <= high


def test_groups_and_bad_input():
    y, group = draw(np.random.default_rng(5))
    found = sg.incidence_by_group(y, group)
    assert found.labels == (0, 1, 2)
    assert found.at([2.0, 4.0], "a").shape == (3, 2)
    assert found.stderr_at(2.0, "a").shape == (3,)
    np.testing.assert_array_equal(
        found.at_risk([0.0, 3.0]),
        [[(group == k).sum(), ((group == k) & (y.time >= 3.0)).sum()] for k in range(3)],
    )
    assert found.gray_test("a").statistic == pytest.approx(found.tests[0].statistic)
    assert sg.incidence_by_group(y[y.cause != 2], group[y.cause != 2]).tests[1] is None
    with pytest.raises(sg.UndefinedMetricError, match="needs an event of it and two groups"):
        sg.gray_test(y, np.zeros(len(y)), 1)
    with pytest.raises(sg.InputError, match="group must have one entry per subject"):
        sg.gray_test(y, group[1:], 1)
    with pytest.raises(sg.InputError, match="group must not have gaps"):
        sg.gray_test(y, np.where(group == 1, np.nan, group), 1)
    with pytest.raises(sg.InputError, match="cause must be the code"):
        sg.gray_test(y, group, 3)


@pytest.mark.parametrize("rho", [-1.0, -0.5, 0.0, 0.5])
def test_groups_too_small_for_the_pooled_incidence_are_refused(rho):
    """Estimates of groups of one subject add up to more than 1: no warning of NumPy, no NaN."""
    rng = np.random.default_rng(0)
    y = sg.Outcomes(np.arange(1.0, 31), np.tile([1, 2, 1], 10), causes=["a", "b"])
    with pytest.raises(sg.UndefinedMetricError, match="larger groups"):
        sg.gray_test(y, np.arange(30), rho=rho)
    found = sg.gray_test(y, rng.integers(0, 3, 30), rho=rho)
    assert np.isfinite(found.statistic)
    assert 0 <= found.p_value <= 1
