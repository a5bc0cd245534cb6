"""Weak calibration beside plain loops: pseudo-observations, least squares, contributions."""

from __future__ import annotations

import numpy as np
import pytest
from naive import km_at
from scipy.optimize import minimize

import survgauge as sg
from survgauge.estimators.pseudo import PseudoIncidence

TIME = 6.0


def case(seed=0, n=120, late=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t = np.ceil(8 * np.exp(-x) * rng.weibull(1.2, n))
    c = np.ceil(rng.exponential(14, n))
    survival = np.exp(-((TIME / (8 * late * np.exp(-x))) ** 1.2))
    return sg.Outcomes(np.minimum(t, c), t <= c), survival


def least_squares(risk, x, slope):
    """Fit by a general optimiser."""

    def loss(beta):
        eta = beta[0] + (beta[1] if slope else 1.0) * x
        return np.sum((risk + np.expm1(-np.exp(eta))) ** 2)

    start = [0.0, 1.0] if slope else [0.0]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000}
    return minimize(loss, start, method="Nelder-Mead", options=options).x[-1]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_least_squares_of_pseudo_observations(seed):
    y, survival = case(seed)
    pairs = list(zip(y.time, y.event, strict=True))
    whole, n = float(km_at(pairs, TIME)), len(y)
    # Leaving one out differs from the infinitesimal jackknife by terms of order 1/n.
    jackknife = [
        n * whole - (n - 1) * float(km_at(pairs[:i] + pairs[i + 1 :], TIME)) for i in range(n)
    ]
    pseudo = PseudoIncidence.of(y, None, TIME)
    np.testing.assert_allclose(pseudo.values, jackknife, atol=0.03)
    assert pseudo.values.mean() == pytest.approx(whole)
    found = sg.weak_calibration(y, survival, TIME)
    x = np.log(-np.log(survival))
    risk = 1 - pseudo.values
    assert found.intercept.value == pytest.approx(least_squares(risk, x, False), abs=1e-6)
    assert found.slope.value == pytest.approx(least_squares(risk, x, True), abs=1e-5)


@pytest.mark.parametrize("what", ["intercept", "slope"])
def test_contributions_are_derivatives_by_the_frequencies(what):
    y, survival = case(n=60)
    details = getattr(sg.weak_calibration(y, survival, TIME), what)
    slopes = []
    for j in range(len(y)):
        ends = []
        for sign in (1, -1):
            weight = np.ones(len(y))
            weight[j] += sign * 1e-5
            shifted = sg.Outcomes(y.time, y.event, weight)
            ends.append(getattr(sg.weak_calibration(shifted, survival, TIME), what).value)
        slopes.append((ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(details.contributions, slopes, atol=1e-8)
    assert abs(details.contributions.sum()) < 1e-10


def test_late_curves_have_an_intercept_above_zero_and_extreme_ones_a_slope_below_one():
    y, survival = case(n=4000)
    right = sg.weak_calibration(y, survival, TIME)
    assert abs(right.intercept.value) < 3 * right.intercept.stderr
    assert abs(right.slope.value - 1) < 3 * right.slope.stderr
    late = sg.weak_calibration(y, case(n=4000, late=1.5)[1], TIME)
    assert late.intercept.value == pytest.approx(1.2 * np.log(1.5), abs=0.1)
    extreme = np.exp(-np.exp(2 * np.log(-np.log(survival))))
    assert sg.weak_calibration(y, extreme, TIME).slope.value == pytest.approx(0.5, abs=0.05)


def test_probabilities_of_the_event_and_absent_subjects():
    y, survival = case()
    one = sg.weak_calibration(y, survival, TIME)
    other = sg.weak_calibration(y, 1 - survival, TIME, probability="event")
    assert other.slope.value == pytest.approx(one.slope.value, rel=1e-9)
    more = sg.Outcomes(np.append(y.time, 2.0), np.append(y.event, True), np.r_[np.ones(120), 0.0])
    absent = sg.weak_calibration(more, np.append(survival, 0.5), TIME)
    assert absent.intercept.value == pytest.approx(one.intercept.value, rel=1e-9)
    assert absent.intercept.stderr == pytest.approx(one.intercept.stderr, rel=1e-9)
    assert absent.intercept.contributions[-1] == 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (([5, 6, 7, 8], [0, 0, 0, 1]), "no subject has the event by time 6"),
        (([1, 2, 3, 6], [1, 1, 1, 1]), "every subject has the event by time 6"),
        (([1, 2, 3, 4], [1, 0, 1, 0]), "lies past the last test time"),
    ],
)
def test_no_value_where_none_is_best(y, message):
    with pytest.raises(sg.UndefinedMetricError, match=message):
        sg.weak_calibration(y, [0.2, 0.5, 0.7, 0.9], TIME)


def test_equal_predictions_have_an_intercept_and_no_slope():
    y, _ = case()
    constant = sg.SurvivalCurves([0, 20], [[1.0, 0.1]] * len(y))
    names = ["calibration_intercept", "calibration_slope"]
    rows = sg.evaluate({"m": constant}, y, metrics=names, time=TIME).rows()
    assert np.isfinite(rows[0]["value"])
    assert np.isnan(rows[1]["value"])


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 0, 2], [2, 3, 0, 1]])
def test_a_loss_that_never_stops_falling_has_no_slope(order):
    # Half of those without a predicted risk have the event, nobody else: the steeper, the better.
    time, survival = np.array([10.0, 18, 29, 17])[order], np.array([1.0, 0.7, 0.74, 1.0])[order]
    with pytest.raises(sg.UndefinedMetricError, match="no finite solution"):
        sg.calibration_slope((time, np.ones(4)), survival, 11.5)
