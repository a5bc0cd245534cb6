"""Distributions of calibration distances against loops, limits against a search by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from survgauge._tools.random import stream
from survgauge.metrics.calibration.distance_intervals import (
    SmoothGap,
    SmoothRiskGap,
    SquaredGap,
    inverted,
)

GAP = np.array([0.3, -0.1, 0.2])
COVARIANCE = np.array([[0.02, 0.005, 0.0], [0.005, 0.01, -0.002], [0.0, -0.002, 0.03]])
#: Errors of the quadrature's 400 points, and of twenty halvings.
HALVED = 1e-5


def crossing(holds):
    """Where a condition that holds for large sizes begins to hold."""
    low, high = 0.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def sizes(above, below, confidence):
    """Sizes of the gap that are not refuted; the upper one divides by what a perfect model does."""
    half = (1 - confidence) / 2
    low = 0.0 if above(0.0) >= half else crossing(lambda size: above(size) >= half)
    return low, crossing(lambda size: below(size) <= half * below(0.0))


# -- mean squared gaps -----------------------------------------------------------------------------


def test_a_squared_gap_has_the_mean_and_variance_of_its_errors():
    distribution = SquaredGap.of(0.05, GAP, COVARIANCE)
    along = GAP @ COVARIANCE @ GAP / (GAP @ GAP)
    total, square = np.trace(COVARIANCE), np.trace(COVARIANCE @ COVARIANCE)
    assert distribution.value == 0.05
    assert distribution.freedom == math.inf
    assert distribution.along == pytest.approx(along / 3)
    assert distribution.rest_mean == pytest.approx((total - along) / 3)
    assert distribution.rest_variance == pytest.approx(2 * (square - along**2) / 9)
    # |e|^2 / m of normal errors: mean tr V / m, variance 2 tr V^2 / m^2.
    assert distribution.expected_if_calibrated == pytest.approx(total / 3)
    assert 2 * distribution.along**2 + distribution.rest_variance == pytest.approx(2 * square / 9)


def test_a_squared_gap_without_a_direction_takes_the_average_one():
    for gap, covariance in (
        (np.zeros(3), COVARIANCE),
        # Along this gap nothing varies.
        (np.array([0.0, 0.0, 1.0]), np.diag([0.02, 0.01, 0.0])),
    ):
        distribution = SquaredGap.of(0.05, gap, covariance)
        total, square = np.trace(covariance), np.trace(covariance @ covariance)
        assert distribution.along == pytest.approx(square / total / 3)
        assert distribution.expected_if_calibrated == pytest.approx(total / 3)
    still = SquaredGap.of(0.05, GAP, np.zeros((3, 3)))
    assert (still.along, still.rest_mean, still.rest_variance) == (0.0, 0.0, 0.0)
    assert np.isnan(still.limits(0.95)).all()


def squared_below(distribution, size):
    """Probability of at most the observed value, over 400 even quantiles of the error along."""
    normal = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    left = distribution.value - (size + math.sqrt(distribution.along) * normal) ** 2
    shape = distribution.rest_mean**2 / distribution.rest_variance
    return stats.gamma.cdf(
        left, shape, scale=distribution.rest_variance / distribution.rest_mean
    ).mean()


@pytest.mark.parametrize("value", [0.0004, 0.02, 0.05, 0.5])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_limits_of_a_squared_gap_are_those_of_a_search(value, confidence):
    distribution = SquaredGap.of(value, GAP, COVARIANCE)
    low, high = sizes(
        lambda size: 1 - squared_below(distribution, size),
        lambda size: squared_below(distribution, size),
        confidence,
    )
    wanted = min(low**2, value), min(max(high**2, value), 1.0)
    assert distribution.limits(confidence) == pytest.approx(wanted, rel=2 * HALVED, abs=1e-9)


def test_a_gap_at_one_point_is_a_squared_normal_number():
    value, variance = 0.25, 0.01
    distribution = SquaredGap.of(value, np.array([0.5]), np.array([[variance]]))
    assert distribution.rest_mean == pytest.approx(0.0, abs=1e-15)
    root, spread = math.sqrt(value), math.sqrt(variance)

    def below(size):
        return stats.norm.cdf((root - size) / spread) - stats.norm.cdf((-root - size) / spread)

    low, high = sizes(lambda size: 1 - below(size), below, 0.95)
    # An even quantile stands for 1/400 of the weight.
    assert distribution.limits(0.95) == pytest.approx((low**2, high**2), abs=0.01)


def test_limits_of_a_squared_gap_stay_within_zero_and_one():
    wide = SquaredGap.of(0.9, GAP, 40 * COVARIANCE)
    assert wide.limits(0.95)[1] == 1.0
    small = SquaredGap.of(0.002, GAP, COVARIANCE)
    low, high = small.limits(0.95)
    assert low == 0.0
    assert high > 0.002
    for value, along in ((math.nan, 0.1), (math.inf, 0.1), (0.5, 0.5e-12), (0.5, 0.0)):
        assert np.isnan(SquaredGap(value, along, 0.01, 0.001).limits(0.95)).all()
    assert np.isfinite(SquaredGap(0.5, 0.6e-12, 0.01, 0.001).limits(0.95)).all()


def test_few_degrees_of_freedom_widen_the_variance_to_students():
    factor = (stats.t.ppf(0.95, 4) / stats.norm.ppf(0.95)) ** 2
    few = SquaredGap.of(0.05, GAP, COVARIANCE, 4.0)
    wide = SquaredGap.of(0.05, GAP, factor * COVARIANCE)
    assert few.limits(0.9) == pytest.approx(wide.limits(0.9), rel=1e-9)
    smooth = smooth_distribution(freedom=4.0)
    more = smooth_distribution(factor)
    assert smooth.limits(0.9) == pytest.approx(more.limits(0.9), rel=1e-9)
    assert smooth.limits(0.9) != pytest.approx(smooth_distribution().limits(0.9), rel=1e-3)


# -- mean distances --------------------------------------------------------------------------------

X = np.array([-1.5, -0.5, 0.0, 0.4])
SMOOTH_GAP = np.array([0.3, 0.2, 0.4, 0.5])
CHANGE = np.array([[-1.0, 1.0], [0.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
WEIGHT = np.array([1.0, 2.0, 1.0, 4.0])


def smooth_distribution(factor=1.0, value=None, **more):
    covariance = factor * np.array([[0.02, 0.004], [0.004, 0.01]])
    spread = 0.01 * math.sqrt(factor)
    if value is None:
        value = distance(X, SMOOTH_GAP)
    return SmoothGap.of(value, X, SMOOTH_GAP, WEIGHT, CHANGE, covariance, spread, **more)


def distance(x, gap):
    """Weighted mean of |predicted - observed| survival, by a loop."""
    parts = [
        w * abs(math.exp(-math.exp(a + g)) - math.exp(-math.exp(a0)))
        for a, g, w, a0 in zip(x, gap, WEIGHT, X, strict=True)
    ]
    return math.fsum(parts) / WEIGHT.sum()


def drawn_distances(distribution, size):
    """The estimate of every draw if the true gap is `size` times that found."""
    numbers = stream(0, "smooth calibration").standard_normal((1000, 3))
    curves = np.exp(-np.exp(X + size * SMOOTH_GAP + numbers[:, :2] @ distribution.basis.T))
    mean = np.average(np.abs(curves - np.exp(-np.exp(X))), axis=1, weights=WEIGHT)
    return np.maximum(mean + min(size, 1.0) * distribution.spread * numbers[:, 2], 0.0)


def test_errors_of_a_smooth_gap_have_the_covariance_that_was_given():
    distribution = smooth_distribution()
    covariance = np.array([[0.02, 0.004], [0.004, 0.01]])
    np.testing.assert_allclose(
        distribution.basis @ distribution.basis.T, CHANGE @ covariance @ CHANGE.T, atol=1e-15
    )
    np.testing.assert_allclose(distribution.weight, WEIGHT / 8)
    assert distribution.freedom == math.inf
    # A covariance that rounds below zero in one direction is none in that direction.
    flat = SmoothGap.of(0.1, X, SMOOTH_GAP, WEIGHT, CHANGE, np.diag([0.02, -1e-18]), 0.01)
    np.testing.assert_allclose(
        flat.basis @ flat.basis.T, CHANGE @ np.diag([0.02, 0.0]) @ CHANGE.T, atol=1e-15
    )
    unknown = SmoothGap.of(0.1, X, SMOOTH_GAP, WEIGHT, CHANGE, np.diag([0.02, np.inf]), 0.01)
    assert np.isnan(unknown.basis).all()
    assert np.isnan(unknown.limits(0.95)).all()
    known = SmoothGap.of(0.1, X, SMOOTH_GAP, WEIGHT, CHANGE, np.zeros((2, 2)), 0.01)
    assert np.isnan(known.limits(0.95)).all()


def test_distances_of_a_smooth_gap_are_those_of_a_loop():
    distribution = smooth_distribution()
    for size in (0.0, 0.5, 1.0, 2.0):
        assert float(distribution.distance(size)) == pytest.approx(
            distance(X, size * SMOOTH_GAP), abs=1e-15
        )
    errors = np.array([0.1, -0.2, 0.3, 0.0])
    moved = distribution._moved(errors.copy())
    assert float(distribution._distance(1.0, moved)) == pytest.approx(
        distance(X + errors, SMOOTH_GAP)
    )
    assert distribution.expected_if_calibrated == pytest.approx(
        drawn_distances(distribution, 0.0).mean()
    )
    assert distribution.stderr == pytest.approx(drawn_distances(distribution, 1.0).std(ddof=1))


@pytest.mark.parametrize("share", [0.25, 1.0, 2.0])
def test_limits_of_a_smooth_gap_are_those_of_a_search(share):
    value = share * distance(X, SMOOTH_GAP)
    distribution = smooth_distribution(value=value)
    half = 0.05
    low, high = distribution.limits(0.9)
    least = half * np.mean(drawn_distances(distribution, 0.0) <= value)
    # Sizes a little inside of the limits are not refuted, sizes a little outside are.
    for limit, refuted in (
        (low, lambda size: np.mean(drawn_distances(distribution, size) >= value) < half),
        (high, lambda size: np.mean(drawn_distances(distribution, size) <= value) <= least),
    ):
        size = crossing(lambda s, at=limit: distance(X, s * SMOOTH_GAP) >= at)
        if limit == 0.0:
            assert not refuted(0.0)
        else:
            assert refuted(size * (1 - 1e-3)) != refuted(size * (1 + 1e-3))
    assert low <= value <= high


@pytest.mark.parametrize("share", [0.25, 1.0, 2.0])
def test_in_clusters_the_upper_limit_also_takes_gaps_along_the_largest_error(share):
    value = share * distance(X, SMOOTH_GAP)
    plain = smooth_distribution(value=value).limits(0.9)
    distribution = smooth_distribution(value=value, clustered=True)
    low, high = distribution.limits(0.9)
    # The direction in which risks err most, of all combinations of the two errors.
    steep = np.exp(X + SMOOTH_GAP - np.exp(X + SMOOTH_GAP)) * np.sqrt(WEIGHT / 8)
    angles = np.linspace(0, np.pi, 20_001)
    both = distribution.basis @ np.stack((np.cos(angles), np.sin(angles)))
    turn = both[:, np.argmax(np.sum((steep[:, None] * both) ** 2, axis=0))]
    numbers = stream(0, "smooth calibration").standard_normal((1000, 3))
    least = 0.05 * np.mean(drawn_distances(distribution, 0.0) <= value)

    def share_below(gap):
        errors = numbers[:, :2] @ distribution.basis.T
        curves = np.exp(-np.exp(X + gap + errors))
        mean = np.average(np.abs(curves - np.exp(-np.exp(X))), axis=1, weights=WEIGHT)
        return np.mean(np.maximum(mean + distribution.spread * numbers[:, 2], 0.0) <= value)

    held = [
        distance(X, gap)
        for gap in (SMOOTH_GAP + by * turn for by in np.linspace(-20, 20, 2001))
        if share_below(gap) > least
    ]
    assert low == plain[0]
    assert high == pytest.approx(max(*held, plain[1]), abs=0.005)
    assert high >= plain[1]


def test_a_gap_hidden_by_what_clusters_share_is_inside_the_limits():
    # The curve bends a little, and all of it may lie higher or lower by far more.
    x, bend = np.linspace(-1.0, 0.0, 5), np.array([0.05, 0.0, -0.05, 0.0, 0.05])
    shift = np.ones((5, 1))
    known = 0.01, x, bend, np.ones(5), shift, np.array([[0.09]]), 0.0
    plain = SmoothRiskGap.of(*known).limits(0.95)[1]
    wide = SmoothRiskGap.of(*known, clustered=True).limits(0.95)[1]
    # A shift of the log hazard by 1.96 standard errors of 0.3, in risk.
    moved = np.mean(np.exp(-np.exp(x)) - np.exp(-np.exp(x + 1.96 * 0.3)))
    assert plain < 0.75 * moved
    assert 0.9 * moved < wide < 1.5 * moved


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_a_distance_that_no_draw_stays_below_has_an_interval_with_a_width(confidence):
    tiny = 0.5 * drawn_distances(smooth_distribution(), 0.0).min()
    least = min(2 / ((1 - confidence) * 1000), 0.5)
    known = float(np.quantile(drawn_distances(smooth_distribution(), 0.0), least))
    low, high = smooth_distribution(value=tiny).limits(confidence)
    assert low == 0.0
    assert high == pytest.approx(smooth_distribution(value=known).limits(confidence)[1], rel=1e-12)
    assert high > 10 * tiny


def test_a_rest_without_mean_or_variance_is_a_number():
    normal = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    for mean, variance in ((0.0, 0.01), (0.02, 0.0)):
        distribution = SquaredGap(0.05, 0.01, mean, variance)
        for size in (0.0, 0.1, 0.3):
            left = 0.05 - (size + 0.1 * normal) ** 2
            assert distribution._below(size) == (left >= mean).mean()


def test_sizes_that_are_just_not_refuted_belong_to_the_interval():
    # A distance as large as this has the probability 1/4 with no gap, or with sizes from 1 to 2.
    low, high = inverted(lambda size: 0.25, lambda size: 1.0 if size < 3 else 0.0, 1.0, 0.5)
    assert low == 0.0
    assert high == pytest.approx(3.0, abs=HALVED)
    low, _ = inverted(
        lambda size: 0.0 if size < 1 else 0.25 if size < 2 else 1.0,
        lambda size: 1.0 if size < 3 else 0.0,
        1.5,
        0.5,
    )
    assert low == pytest.approx(1.0, abs=HALVED)


@pytest.mark.parametrize("size", [0.0, 0.02, 0.05, 0.08, 0.15, 0.6])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_exact_limits_hold_as_often_as_they_say(size, confidence):
    """Of all observed values, those whose interval has the true size come with that probability."""
    distribution = SquaredGap(0.1, 0.001, 0.003, 2e-6, exact=True)
    true = size**2

    def last(holds):
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def limits(value):
        return replace(distribution, value=value).limits(confidence)

    most = last(lambda value: limits(value)[0] <= true)
    least = last(lambda value: limits(value)[1] < true)
    held = distribution._below(size, most) - distribution._below(size, least)
    assert held == pytest.approx(confidence, abs=0.004)
    usual = replace(distribution, exact=False, value=0.004).limits(confidence)
    assert usual[1] == limits(0.004)[1]
