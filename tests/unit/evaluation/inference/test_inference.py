from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

import survgauge as sg
from survgauge._tools.random import counter_words
from survgauge.evaluation import inference


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, then never falling.
    got = sg.holm([0.01, 0.04, 0.03, 0.005])
    assert got == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert np.isnan(sg.holm([0.2, np.nan])[1])
    assert sg.holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_nadeau_bengio_by_hand():
    a, b = np.array([3.0, 3.2, 2.9, 3.3]), np.array([3.1, 3.5, 3.0, 3.1])
    d = a - b
    stderr = np.sqrt(d.var(ddof=1) * (1 / 4 + 25 / 75))
    got = sg.compare_folds(a, b, n_train=75, n_test=25)
    assert got.stderr == pytest.approx(stderr)
    # t with 3 degrees of freedom: the 97.5 % point is 3.182446.
    assert got.high - got.difference == pytest.approx(3.182446 * stderr, rel=1e-6)
    assert sg.compare_folds(a, a, n_train=75, n_test=25).p_value == 1.0
    with pytest.raises(sg.InputError, match="at least two folds"):
        sg.compare_folds([1.0], [2.0], n_train=1, n_test=1)
    with pytest.raises(sg.InputError, match="must be finite and positive"):
        sg.compare_folds([1.0, 2.0], [2.0, 3.0], n_train=0, n_test=1)


def test_intervals_on_all_scales():
    plain = inference.interval(10.0, 2.0, 0.95)
    assert (plain.low, plain.high) == pytest.approx((10 - 3.919928, 10 + 3.919928))
    log = inference.interval(10.0, 2.0, 0.95, "log")
    assert log.low * log.high == pytest.approx(100.0)
    assert np.log(log.high / 10) == pytest.approx(1.959964 * 0.2, rel=1e-6)
    share = inference.interval(0.9, 0.05, 0.95, "logit")
    odds = [x / (1 - x) for x in (share.low, 0.9, share.high)]
    assert odds[0] * odds[2] == pytest.approx(odds[1] ** 2)
    assert np.log(odds[2] / odds[1]) == pytest.approx(1.959964 * 0.05 / 0.09, rel=1e-6)
    assert [x.scale for x in (plain, log, share)] == ["normal", "log", "logit"]
    with pytest.raises(sg.InputError, match="confidence must lie"):
        inference.critical(95)
    with pytest.raises(sg.InputError, match="scale must be"):
        inference.interval(1.0, 1.0, 0.95, "percentile")


def test_intervals_with_few_clusters_take_t_quantiles():
    found = inference.interval(10.0, 2.0, 0.95, freedom=3)
    assert found.high - 10 == pytest.approx(2 * 3.182446, rel=1e-6)
    compared = inference.compare_values(4.0, 2.0, 0.95, freedom=3)
    assert compared.high - 4 == pytest.approx(2 * 3.182446, rel=1e-6)
    assert compared.p_value == pytest.approx(0.139326, abs=1e-6)  # R: 2 * pt(-2, 3)


def test_a_share_of_one_or_zero_has_the_bound_of_its_events():
    one = inference.interval(1.0, 0.0, 0.95, "logit", size=8)
    assert (one.low, one.high, one.scale) == (pytest.approx(0.05 ** (1 / 8)), 1.0, "edge")
    rounded = inference.interval(1 - 1e-16, 1e-17, 0.95, "logit", size=8)
    assert rounded.low == one.low
    none = inference.interval(0.0, 0.0, 0.95, "logit", size=8)
    assert (none.low, none.high) == (0.0, pytest.approx(1 - one.low))
    assert np.isnan(inference.interval(1.0, 0.0, 0.95, "logit").low)
    assert np.isnan(inference.interval(1.0, np.nan, 0.95, "logit", size=1).low)


@pytest.mark.parametrize("scale", ["normal", "log", "logit"])
@pytest.mark.parametrize("stderr", [0.0, 1e-17, np.nan])
def test_no_interval_has_zero_width(scale, stderr):
    found = inference.interval(0.5, stderr, 0.95, scale)
    assert np.isnan([found.low, found.high]).all()
    assert found.scale == "none"


def test_log_intervals_need_a_positive_value():
    assert np.isnan(inference.interval(0.0, 1.0, 0.95, "log").low)
    assert np.isnan(inference.interval(-0.1, 1.0, 0.95, "log").low)
    assert inference.interval(1e-5, 1.0, 0.95, "log").high == np.inf


def test_constant_differences_have_no_p_value():
    same = inference.compare_values(0.0, 0.0, 0.95)
    assert (same.low, same.high, same.p_value) == (0.0, 0.0, 1.0)
    shifted = inference.compare_values(3.0, 0.0, 0.95)
    assert np.isnan([shifted.low, shifted.high, shifted.p_value]).all()


def test_bootstrap_draws_depend_on_seed_and_number_only():
    one = inference.bootstrap_counts(50, 3, seed=7)
    np.testing.assert_array_equal(one, inference.bootstrap_counts(50, 3, seed=7))
    assert (one != inference.bootstrap_counts(50, 4, seed=7)).any()
    assert inference.bootstrap_stderr(np.array([np.nan] * 20)) != 0


@pytest.mark.parametrize("frequency", [None, 1.0, 2.5])
def test_draws_are_poisson(frequency):
    n = 200_000
    weight = None if frequency is None else np.full(n, frequency)
    counts = inference.bootstrap_counts(n, 0, seed=3, frequency=weight)
    mean = frequency or 1.0
    found = np.bincount(counts.astype(int), minlength=12)[:6] / n
    np.testing.assert_allclose(found, poisson.pmf(np.arange(6), mean), atol=0.005)
    assert counts.var() == pytest.approx(mean, rel=0.02)


def test_draws_are_those_of_the_inverse_distribution_function():
    words = counter_words(50_000, 0, 5, "bootstrap", "test", replicate=2)
    share = (words >> np.uint64(11)).astype(float) * 2.0**-53
    one = inference.bootstrap_counts(50_000, 2, seed=5)
    np.testing.assert_array_equal(one, poisson.ppf(share, 1.0))
    weight = np.random.default_rng(0).uniform(0.01, 40, 50_000)
    many = inference.bootstrap_counts(50_000, 2, seed=5, frequency=weight)
    np.testing.assert_array_equal(many, poisson.ppf(share, weight))


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5, 4095, 4096])
@pytest.mark.parametrize("frequency", [False, True])
def test_rows_can_be_drawn_without_those_before_them(start, frequency):
    weight = np.arange(5000.0) % 4 if frequency else None
    whole = inference.bootstrap_counts(5000, 1, seed=9, frequency=weight)
    part = inference.bootstrap_counts(
        900, 1, seed=9, frequency=None if weight is None else weight[start : start + 900],
        start=start,
    )  # fmt: skip
    np.testing.assert_array_equal(part, whole[start : start + 900])


def test_a_model_that_says_what_kaplan_meier_says_is_compared_with_it_without_doubt():
    """Both are scored in other ways, so that their values may differ by rounding errors."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.exponential(3, 30), rng.random(30) < 0.4
        km = sg.reference_curves(y, 30)
        same = sg.SurvivalCurves(km.times, np.array(km.survival), km.interpolation, km.tail)
        ev = sg.evaluate({"same": same}, y, metrics=["brier", "ibs", "ibll"])
        for row in ev.baseline_comparisons():
            assert row["p_value"] == 1.0, (seed, row)
