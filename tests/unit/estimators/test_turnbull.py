"""Turnbull's estimate: a maximum (Kuhn-Tucker), equal to plain EM and to Kaplan-Meier."""

from __future__ import annotations

import numpy as np
import pytest
from naive_intervals import contains, turnbull

import survgauge as sg


def drawn(seed, n=25, top=12):
    """Whole-number intervals with exact times, right censoring and ties."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, top, n).astype(float)
    upper = lower + rng.integers(0, 6, n)
    upper = np.where(rng.random(n) < 0.3, np.inf, upper)
    return lower, upper


@pytest.mark.parametrize("seed", range(12))
def test_equals_plain_em(seed):
    lower, upper = drawn(seed)
    weight = np.random.default_rng(seed).integers(1, 4, lower.size) if seed % 2 else None
    distribution = sg.Turnbull.fit(sg.IntervalOutcomes(lower, upper, weight))
    cells, copies, gradient = turnbull(lower, upper, weight)
    assert gradient.max() < 1 + 1e-3  # plain EM is slow, and close
    for (left, right), p in zip(cells, copies, strict=True):
        mine = distribution.mass[(distribution.intervals == [left, right]).all(axis=1)].sum()
        assert mine == pytest.approx(p, abs=2e-3)  # plain EM is slow to empty a cell


@pytest.mark.parametrize("seed", range(40))
def test_gradient_is_at_most_one_and_one_where_there_is_weight(seed):
    lower, upper = drawn(seed, n=int(3 + seed), top=3 + seed)
    distribution = sg.Turnbull.fit((lower, upper))
    inside = np.array([[contains(a, b, *cell) for cell in distribution.intervals]
                       for a, b in zip(lower, upper, strict=True)], float)  # fmt: skip
    own = inside @ distribution.mass
    assert distribution.mass.sum() == pytest.approx(1)
    assert distribution.log_likelihood == pytest.approx(np.log(own).sum(), abs=1e-9)
    np.testing.assert_allclose((1 / lower.size / own) @ inside, 1.0, atol=1e-6)
    assert distribution.excess <= 1e-8


def test_equals_kaplan_meier_without_intervals():
    rng = np.random.default_rng(3)
    time, event = np.ceil(rng.exponential(20, 400)), rng.random(400) < 0.6
    y = sg.Outcomes(time, event)
    km, distribution = sg.KaplanMeier.fit(y), sg.Turnbull.fit(sg.IntervalOutcomes.of(y))
    at = np.arange(0, time.max() + 5, 0.5)
    np.testing.assert_allclose(distribution.at(at), km.at(at), atol=1e-8)
    assert distribution.mean() == pytest.approx(km.mean(), rel=1e-8)
    assert distribution.median() == km.median()


def test_frequencies_equal_repeated_rows():
    lower, upper = drawn(5)
    times = np.random.default_rng(0).integers(0, 4, lower.size)
    one = sg.Turnbull.fit(sg.IntervalOutcomes(lower, upper, times))
    two = sg.Turnbull.fit((np.repeat(lower, times), np.repeat(upper, times)))
    np.testing.assert_allclose(one.at(np.arange(20)), two.at(np.arange(20)), atol=1e-8)


def test_weights_lie_evenly_in_their_intervals():
    distribution = sg.Turnbull.fit(([0, 4, 4, 9], [2, 8, 8, 9]))
    np.testing.assert_allclose(distribution.at([0, 1, 2, 3, 4, 6, 8, 8.5, 9, 99]),
                               [1, 0.875, 0.75, 0.75, 0.75, 0.5, 0.25, 0.25, 0, 0])  # fmt: skip
    assert distribution.quantile(0.5) == pytest.approx(6)
    assert distribution.quantile(0.9) == 9
    # Mean of the distribution: 1, 6, 6 and 9.
    assert distribution.mean() == pytest.approx((1 + 6 + 6 + 9) / 4)
    grid = np.linspace(0, 10, 200_001)
    for t in (1.5, 5.0, 8.5, 9.5):
        middle = (grid[:-1] + grid[1:]) / 2
        area = distribution.at(middle[middle < t]).sum() * (grid[1] - grid[0])
        assert distribution.area(np.array([t]))[0] == pytest.approx(area, abs=1e-4)


def test_curves_are_the_estimate_for_everybody():
    lower, upper = drawn(7)
    distribution = sg.Turnbull.fit((lower, upper))
    curves = distribution.curves(3)
    at = np.linspace(0, distribution.last_time, 77)
    np.testing.assert_allclose(curves.at(at)[2], distribution.at(at), atol=1e-9)


def test_weight_at_infinity_stays():
    distribution = sg.Turnbull.fit(([0, 3, 3], [3, np.inf, np.inf]))
    assert distribution.intervals.tolist() == [[0, 3], [3, np.inf]]
    assert distribution.at(100.0) == pytest.approx(2 / 3)
    assert distribution.mean(tau=3) == pytest.approx(3 * (1 + 2 / 3) / 2)
    assert distribution.mean("hold") == pytest.approx(distribution.mean(tau=3))


def test_areas_and_moments_are_those_of_a_fine_grid():
    distribution = sg.Turnbull.fit(sg.IntervalOutcomes(*drawn(3)))
    step = 1e-4
    middle = np.arange(step / 2, 14, step)
    at = distribution.at(middle)
    points = np.array([0.0, 2.5, 6.0, 11.3, 14.0])
    ends = np.round(points / step).astype(int)
    for found, heights in (
        (distribution.area(points), at),
        (distribution.moment(points), middle * at),
    ):
        total = np.concatenate(([0.0], np.cumsum(heights) * step))
        np.testing.assert_allclose(found, total[ends], atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_standard_errors_are_widened_where_visits_are_pooled(seed):
    """Not where visits take place at common times, nor where event times are exact."""
    rng = np.random.default_rng(seed)
    time, at = rng.exponential(4, 200), np.array([1.0, 2.0, 3.0, 3.5])
    end = rng.uniform(3, 9, 200)
    own = sg.Turnbull.fit(sg.visits(time, 1.0, end=end, random_state=seed).y)
    common = sg.Turnbull.fit(sg.visits(time, 1.0, jitter=0.0, end=end, random_state=seed).y)
    exact = sg.Turnbull.fit(sg.Outcomes(np.minimum(time, end), time <= end))
    assert np.count_nonzero(own.widening(at) > 1.08) >= 3
    np.testing.assert_array_equal(common.widening(at), 1.0)
    np.testing.assert_array_equal(exact.widening(at), 1.0)
    # Visits at 1 and 1.2 share one estimate, that at 2 has its own.
    pooled = sg.Turnbull.fit(sg.IntervalOutcomes([0, 1.2, 2, 3], [1, 2, 3, np.inf]))
    np.testing.assert_allclose(pooled.widening([1.1, 2.0]), [2.124 / 1.96, 1.0])
    ratio = sg.observed_expected(
        sg.visits(time, 1.0, end=end, random_state=seed).y,
        sg.SurvivalCurves([0, 10], [[1, 0.1]] * 200), 2.0,
    )  # fmt: skip
    plain = -own.contributions(2.0)[0]
    assert ratio.support["widened"] == own.widening(2.0)[0]
    wanted = np.sqrt(np.sum((plain * own.widening(2.0)[0] / ratio.expected) ** 2) * 200 / 199)
    assert ratio.stderr == pytest.approx(wanted)
