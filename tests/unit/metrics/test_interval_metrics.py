"""Metrics of interval-censored outcomes against plain loops, and against right censoring."""

from __future__ import annotations

import naive_intervals as naive
import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.calibration.interval_calibration import turnbull_calibration
from survgauge.metrics.time.interval_errors import interval_error

INF = float("inf")


def drawn(seed, n=40):
    """Outcomes with intervals, exact times and right censoring, and curves for them."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 12, n).astype(float)
    upper = lower + rng.integers(0, 5, n)
    upper = np.where(rng.random(n) < 0.25, INF, upper)
    rate = rng.uniform(0.05, 0.3, n)
    grid = np.arange(0, 41, 2.0)
    curves = sg.SurvivalCurves(grid, np.exp(-rate[:, None] * grid))
    return sg.IntervalOutcomes(lower, upper), curves, rng


def points_of(distribution):
    return naive.distribution_points(distribution.intervals, distribution.mass)


@pytest.mark.parametrize("seed", range(6))
def test_expected_error_equals_the_distribution_given_the_interval(seed):
    y, curves, rng = drawn(seed)
    distribution = sg.Turnbull.fit(y)
    predicted = rng.uniform(0, 15, len(y))
    times, weights = points_of(distribution.closed("linear"))
    for tau in (None, 7.0):
        stop = INF if tau is None else tau
        for power, loss in ((1, "absolute"), (2, "squared")):
            found = interval_error(y, predicted, loss=loss, tau=tau)
            wanted = naive.expected_error(y.lower, y.upper, predicted, times, weights, stop, power)
            assert found == pytest.approx(wanted, rel=2e-4)
    own = interval_error(y, curves)
    assert own == pytest.approx(interval_error(y, curves.median()))


@pytest.mark.parametrize("seed", range(4))
def test_expected_error_under_a_distribution_of_others(seed):
    """An interval of probability 0: its time is then spread evenly, or right after it."""
    y, _, rng = drawn(seed)
    distribution = sg.Turnbull.fit(drawn(seed + 50, 6)[0])
    predicted = rng.uniform(0, 15, len(y))
    times, weights = points_of(distribution.closed("hold"))
    for power, loss in ((1, "absolute"), (2, "squared")):
        for tau in (INF, 9.0):
            stop = None if tau == INF else tau
            found = interval_error(
                y, predicted, distribution=distribution, tail="hold", loss=loss, tau=stop
            )
            wanted = naive.expected_error(y.lower, y.upper, predicted, times, weights, tau, power)
            assert found.value == pytest.approx(wanted, rel=2e-4)
            assert found.support["outside_distribution"] > 0


def test_expected_error_under_a_distribution_per_subject():
    y = sg.IntervalOutcomes([0, 4, 5], [2, INF, 5])
    # S = exp(-t / 3): given T > 4, T - 4 is exponential; E|T - p| at its median is 3 log 2.
    grid = np.linspace(0, 60, 6001)
    distribution = sg.SurvivalCurves(grid, np.exp(-np.tile(grid, (3, 1)) / 3), tail="exponential")
    predicted = [1.0, 4 + 3 * np.log(2), 7]
    t = (np.arange(20_000) + 0.5) / 10_000
    w = np.exp(-t / 3)
    wanted = [np.sum(w * np.abs(t - 1)) / w.sum(), 3 * np.log(2), 2]
    for given in (distribution, sg.Conditional(distribution=distribution)):
        found = interval_error(y, predicted, distribution=given)
        assert found == pytest.approx(np.mean(wanted), rel=3e-3)
    # Given T > 4 the squared error at the mean 7 is the variance 9.
    squared = interval_error(y, [1.0, 7.0, 7.0], distribution=distribution, loss="squared")
    assert squared == pytest.approx(np.mean([np.sum(w * (t - 1) ** 2) / w.sum(), 9, 4]), rel=2e-3)


def test_hinge_is_zero_inside_and_the_distance_outside():
    y = sg.IntervalOutcomes([2, 2, 2, 4, 4], [6, 6, 6, INF, 4])
    d = interval_error(y, [1, 5, 9, 3, 6], method="hinge")
    assert d.value == pytest.approx((1 + 0 + 3 + 1 + 2) / 5)
    assert d.stderr == pytest.approx(np.std([1, 0, 3, 1, 2], ddof=1) / np.sqrt(5))
    assert interval_error(y, [1, 5, 9, 3, 6], method="hinge", tau=3) == pytest.approx(1 / 5)
    squared = interval_error(y, [1, 5, 9, 3, 6], method="hinge", loss="squared")
    assert squared == pytest.approx((1 + 0 + 9 + 1 + 4) / 5)


def test_squared_errors_take_the_mean_of_curves():
    y, curves, _ = drawn(2)
    options = {"loss": "squared", "y_train": drawn(3)[0]}
    wanted = interval_error(y, curves.mean(), **options)
    assert interval_error(y, curves, **options) == pytest.approx(wanted)
    wanted = interval_error(y, curves.rmst(8.0), tau=8, **options)
    assert interval_error(y, curves, tau=8, **options) == pytest.approx(wanted)
    # Spread evenly over (0, 6]: E (T - 3)^2 = 36 / 12.
    assert interval_error(([0], [6]), [3.0], loss="squared") == pytest.approx(3.0)


def test_hinge_error_is_not_proper():
    """Exponential times and a visit at every whole time: a later prediction beats the median.

    Up to time 1 the mean error is sum_k (k - p) P(last visit without the event = k) over k >= 1,
    e / (e - 1) / e - p / e, which falls until p = 1, whereas the median of the times is log 2.
    """
    k = np.arange(60.0)
    y = sg.IntervalOutcomes(k, k + 1, 1e6 * (np.exp(-k) - np.exp(-k - 1)))
    for p in (0.2, np.log(2), 1.0):
        found = interval_error(y, np.full(60, p), method="hinge")
        assert found == pytest.approx(1 / (np.e - 1) - p / np.e, rel=1e-6)
    errors = [interval_error(y, np.full(60, p), method="hinge") for p in (np.log(2), 1.0)]
    assert errors[1] < 0.7 * errors[0]
    # With the true distribution the expected error is least at the median.
    grid = np.linspace(0, 40, 4001)
    distribution = sg.SurvivalCurves(grid, np.tile(np.exp(-grid), (60, 1)))
    expected = [
        interval_error(y, np.full(60, p), distribution=distribution) for p in (0.5, np.log(2), 1.0)
    ]
    assert min(expected) == expected[1]


@pytest.mark.parametrize("seed", range(6))
def test_brier_equals_the_expected_squared_loss(seed):
    y, curves, _ = drawn(seed)
    train = drawn(seed + 9, 60)[0]
    for distribution, given in (
        (sg.Turnbull.fit(y), {}),
        (sg.Turnbull.fit(train), {"y_train": train}),
    ):
        times, weights = points_of(distribution)
        at = np.array([1.5, 4.0, 6.3, 9.0])
        found = sg.brier_score(y, curves, at, **given)
        for t, value in zip(at, found.values, strict=True):
            wanted = naive.brier(y.lower, y.upper, curves.at(float(t)), t, times, weights)
            assert value == pytest.approx(wanted, abs=2e-4)


def test_brier_standard_errors_and_integral():
    y, curves, rng = drawn(1)
    weight = rng.uniform(0.5, 2, len(y))
    at = np.linspace(0, 9, 10)
    found = sg.brier_score(y, curves, at, sample_weight=weight)
    for k, t in enumerate(at):
        alone = sg.brier_score(y, curves, [t], sample_weight=weight)
        assert found.values[k] == pytest.approx(alone.details.value)
        assert found.stderr[k] == pytest.approx(alone.details.stderr)
    whole = sg.integrated_brier_score(y, curves, at, sample_weight=weight)
    area = np.sum((found.values[1:] + found.values[:-1]) / 2 * np.diff(at)) / 9
    assert whole.value == pytest.approx(area)
    assert found.mean == pytest.approx(area)
    assert 0 < whole.support["known_share"] < 1


def test_known_statuses_need_no_distribution():
    """Where t lies in nobody's interval, the score is the plain Brier score."""
    y, curves = sg.IntervalOutcomes([0, 6, 7], [4, 6, INF]), drawn(0, 3)[1]
    s = curves.at(5.0)
    wanted = np.mean([s[0] ** 2, (1 - s[1]) ** 2, (1 - s[2]) ** 2])
    found = sg.brier_score(y, curves, [5.0])
    assert found.values[0] == pytest.approx(wanted)
    assert found.support["known_share"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_log_likelihood(seed):
    y, curves, _ = drawn(seed)
    wanted = 0.0
    for i, (low, high) in enumerate(zip(y.lower, y.upper, strict=True)):
        s = curves[[i]]
        if low == high:
            step = s.at(max(2 * np.ceil(low / 2) - 2, 0)) - s.at(2 * np.ceil(low / 2) or 2)
            wanted += np.log(step[0] / 2)
        else:
            wanted += np.log(s.at(low)[0] - (s.at(high)[0] if high < INF else 0))
    assert sg.log_likelihood(y, curves) == pytest.approx(wanted / len(y))


@pytest.mark.parametrize("seed", range(8))
def test_concordance_equals_a_double_loop(seed):
    y, _, rng = drawn(seed)
    risk = rng.integers(0, 9, len(y)).astype(float)
    weight = rng.integers(0, 4, len(y)).astype(float) if seed % 2 else None
    found = sg.concordance_index(sg.IntervalOutcomes(y.lower, y.upper, weight), risk)
    wanted, pairs = naive.concordance(y.lower, y.upper, risk, weight)
    assert found.value == pytest.approx(wanted)
    assert found.support["pair_weight"] == pytest.approx(pairs)


def test_concordance_contributions_are_the_jackknife():
    y, _, rng = drawn(3, 60)
    risk = rng.normal(size=len(y))
    found = sg.concordance_index(y, risk)
    for i in (0, 7, 31):
        rest = np.arange(len(y)) != i
        without = sg.concordance_index(y[rest], risk[rest])
        assert found.value - without == pytest.approx(found.contributions[i], abs=6e-3, rel=0.15)


def test_without_intervals_they_are_the_metrics_of_right_censoring():
    rng = np.random.default_rng(2)
    n = 200
    time, event = np.ceil(rng.exponential(9, n)), rng.random(n) < 0.7
    right = sg.Outcomes(time, event)
    y = sg.IntervalOutcomes.of(right)
    curves = drawn(4, n)[1]
    risk = -curves.median()
    assert sg.concordance_index(y, risk) == sg.concordance_index(right, risk)
    one, two = (
        sg.concordance_index(y, risk).stderr,
        sg.concordance_index(right, risk).stderr,
    )
    assert one == pytest.approx(two)
    assert sg.log_likelihood(y, curves) == pytest.approx(sg.log_likelihood(right, curves))
    for method in ("hinge", "expected"):
        wanted = sg.mae(right, risk * -1, method=method, y_train=right)
        assert interval_error(y, -risk, method=method, y_train=right) == pytest.approx(wanted)
    ratio, wanted = (
        sg.observed_expected(y, curves, 8.0),
        sg.observed_expected(right, curves, 8.0),
    )
    assert ratio.ratio == pytest.approx(wanted.ratio)
    assert (ratio.low, ratio.high) == pytest.approx((wanted.low, wanted.high), rel=1e-6)


def test_observed_over_expected_and_its_range():
    y = sg.IntervalOutcomes([0, 4, 4, 8], [4, 8, 8, INF])
    curves = sg.SurvivalCurves([0, 10], [[1, 0.4]] * 4)
    found = sg.observed_expected(y, curves, 6)
    assert found.observed == pytest.approx(0.5)  # half of the weight in (4, 8]
    assert found.support["observed_range"] == pytest.approx([0.25, 0.75])
    with pytest.raises(sg.UndefinedMetricError, match="past the last test time 8"):
        sg.observed_expected(y, curves, 9)


def test_calibration_by_groups():
    y, curves, _ = drawn(5, 300)
    found = sg.interval_calibration(y, curves, 6.0, groups=3)
    risk = 1 - curves.at(6.0)
    edges = np.quantile(risk, [1 / 3, 2 / 3])
    for k, rows in enumerate((risk <= edges[0], (risk > edges[0]) & (risk <= edges[1]))):
        assert found.predicted[k] == pytest.approx(risk[rows].mean())
        assert found.observed[k] == pytest.approx(1 - sg.Turnbull.fit(y[rows]).at(6.0))
        assert found.low[k] < found.observed[k] < found.high[k]
    assert found.subjects.sum() == 300


def test_turnbull_calibration_is_the_squared_gap_of_two_curves():
    y, curves, _ = drawn(6, 120)
    found = sg.km_calibration(y, curves, tau=10)
    fine = np.linspace(0, 10, 5001)
    gap = curves.at(fine).mean(axis=0) - sg.Turnbull.fit(y).at(fine)
    assert found.value == pytest.approx(np.mean(gap**2), rel=0.02)
    low, high = found.interval(0.95)
    assert low <= found.value <= high
    groups = np.arange(120) % 40
    clustered = turnbull_calibration(y, curves, tau=10, clusters=_clusters(groups))
    assert clustered.interval(0.95)[1] > 0


def _clusters(labels):
    from survgauge.metrics.score import Clusters

    return Clusters.of(labels)


def test_frequencies_equal_repeated_rows():
    y, curves, rng = drawn(8)
    times = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    one = sg.IntervalOutcomes(y.lower, y.upper, times)
    many, more = y[rows], curves[rows]
    for metric in (
        lambda y, c: interval_error(y, c),
        lambda y, c: interval_error(y, c, method="hinge"),
        lambda y, c: interval_error(y, c, loss="squared"),
        lambda y, c: sg.integrated_brier_score(y, c, tau=9),
        lambda y, c: sg.log_likelihood(y, c),
        lambda y, c: sg.observed_expected(y, c, 6),
        lambda y, c: sg.km_calibration(y, c),
    ):
        a, b = metric(one, curves), metric(many, more)
        assert a.value == pytest.approx(b.value, rel=1e-7)
        assert a.stderr == pytest.approx(b.stderr, rel=1e-6)
    a, b = (sg.concordance_index(y, -c.median()) for y, c in ((one, curves), (many, more)))
    assert a == pytest.approx(b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, c: interval_error(y, c, method="po"), "method must be one of"),
        (lambda y, c: interval_error(y, c, loss="log"), "loss must be one of"),
        (lambda y, c: interval_error(y, [1.0]), "predicted must have one entry per subject"),
        (lambda y, c: sg.brier_score(y, c[:3], [5]), "curves must have one row"),
        (
            lambda y, c: sg.brier_score(y, c, [5], distribution=c, y_train=y),
            "distribution or y_train",
        ),
        (lambda y, c: sg.concordance_index(y, c), "risk must be one number per subject"),
        (lambda y, c: sg.interval_calibration(y, c, 5, groups=0), "groups must be"),
    ],
)
def test_bad_arguments(call, message):
    y, curves, _ = drawn(0)
    with pytest.raises(sg.InputError, match=message):
        call(y, curves)


def test_undefined():
    y = sg.IntervalOutcomes([1, 2], [INF, INF])
    curves = drawn(0, 2)[1]
    with pytest.raises(sg.UndefinedMetricError, match="no pair"):
        sg.concordance_index(y, [1, 2])
    with pytest.raises(sg.UndefinedMetricError, match="no event was seen"):
        interval_error(y, [1, 2])
    steps = sg.SurvivalCurves(curves.times, curves.survival, "step")
    exact = sg.IntervalOutcomes([3, 2], [3, 5])
    found = sg.log_likelihood(exact, steps)
    assert np.isnan(found.value)
    assert "no density" in found.support["note"]
