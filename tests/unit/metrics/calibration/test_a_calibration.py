"""A-calibration beside a loop from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import survgauge as sg

GRID = np.linspace(0, 40, 400)


def case(seed, n=200, late=1.0):
    rng = np.random.default_rng(seed)
    risk = np.exp(0.7 * rng.standard_normal(n))
    event_time = 10 * (rng.exponential(size=n) / risk) ** (1 / 1.5)
    censoring = rng.exponential(15, n)
    y = np.minimum(event_time, censoring), event_time <= censoring
    return y, sg.SurvivalCurves(GRID, np.exp(-risk[:, None] * (GRID / (10 * late)) ** 1.5))


@pytest.mark.parametrize("bins", [1, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_definition(seed, bins):
    (time, event), curves = case(seed)
    found = sg.a_calibration((time, event), curves, bins=bins)
    observed, expected = np.zeros(bins), np.zeros(bins)
    for e, s in zip(event, curves.at_own(time), strict=True):
        for k in range(bins):
            low, high = 0.95 * k / bins, 0.95 * (k + 1) / bins
            top = min(1 - s, high)
            if top > low:
                # The integral of du/(1 - u) over the part of the bin that was lived through.
                expected[k] += np.log((1 - low) / (1 - top))
            if e and low <= 1 - s < high:
                observed[k] += 1
    np.testing.assert_array_equal(found.observed, observed)
    np.testing.assert_allclose(found.expected, expected, rtol=1e-10)
    statistic = np.sum((observed - expected) ** 2 / expected)
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, bins))


def test_late_curves_are_found_and_the_true_ones_are_not():
    y, curves = case(1, n=1000)
    assert sg.a_calibration(y, curves).p_value > 0.05
    y, curves = case(1, n=1000, late=1.3)
    found = sg.a_calibration(y, curves)
    assert found.p_value < 1e-4
    assert found.observed.sum() > found.expected.sum()


def test_frequencies_are_copies():
    (time, event), curves = case(2, n=60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    found = sg.a_calibration(sg.Outcomes(time, event, weight), curves)
    copies = sg.a_calibration((time[rows], event[rows]), curves[rows])
    assert found.p_value == pytest.approx(copies.p_value)


def test_thin_bins_join_and_nothing_expected_is_undefined():
    (time, event), curves = case(3, n=12)
    found = sg.a_calibration((time, event), curves, bins=10)
    assert found.degrees_of_freedom < 10
    assert (found.expected[:-1] >= 5).all()
    flat = sg.SurvivalCurves([0, 50], np.ones((12, 2)), tail="hold")
    with pytest.raises(sg.UndefinedMetricError, match="no event is expected"):
        sg.a_calibration((time, np.zeros(12, bool)), flat)


def test_a_curve_that_has_reached_zero_is_finite():
    curves = sg.SurvivalCurves([0, 5], np.tile([1.0, 0.0], (8, 1)))
    found = sg.a_calibration((np.full(8, 6.0), np.ones(8, bool)), curves)
    assert np.isfinite(found.statistic)
    assert found.p_value < 1e-5
