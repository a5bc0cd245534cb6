"""ICI and its Cox regression against a generic optimiser, exact derivatives and refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from survgauge import (
    InputError,
    KaplanMeier,
    Outcomes,
    SurvivalCurves,
    UndefinedMetricError,
    evaluate,
)
from survgauge.estimators.cox import CoxRegression
from survgauge.metrics.calibration.ici import (
    integrated_calibration_index_cox,
    restricted_cubic_spline,
)


def simulated(n, seed, tied=False, distort=1.0):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(size=n) * 0.7) / 5
    event_time, censoring = rng.exponential(1 / rate), rng.exponential(10, n)
    time = np.minimum(event_time, censoring)
    y = Outcomes(np.ceil(time) if tied else time, event_time <= censoring)
    return y, np.exp(-4.0 * rate * distort)


def naive_log_likelihood(beta, time, event, columns, ties):
    """Partial likelihood by loops over event times and, for Efron, over the tied events."""
    eta = beta @ columns
    total = 0.0
    for u in np.unique(time[event]):
        risk, died = time >= u, (time == u) & event
        d = int(died.sum())
        total += eta[died].sum()
        for step in range(d):
            share = step / d if ties == "efron" else 0.0
            total -= np.log(np.exp(eta[risk]).sum() - share * np.exp(eta[died]).sum())
    return total


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("tied", [False, True])
def test_cox_maximises_the_partial_likelihood(ties, tied):
    y, s = simulated(60, 1, tied)
    columns = np.stack([s, np.sin(5 * s), np.random.default_rng(2).normal(size=60)])
    fit = CoxRegression(y.time, y.event, np.ones(60), columns, ties)
    want = minimize(
        lambda beta: -naive_log_likelihood(beta, y.time, y.event, columns, ties),
        np.zeros(3),
        options={"gtol": 1e-8},
    )
    assert fit.converged
    np.testing.assert_allclose(fit.beta, want.x, atol=1e-5)
    curvature = np.empty((3, 3))
    for j, k in np.ndindex(3, 3):
        value = 0.0
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            at = fit.beta + 1e-3 * (a * np.eye(3)[j] + b * np.eye(3)[k])
            value += a * b * naive_log_likelihood(at, y.time, y.event, columns, ties)
        curvature[j, k] = -value / 4e-6
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(curvature), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_cox_influence_is_the_derivative_by_frequency(ties):
    y, s = simulated(40, 3, tied=True)
    columns = np.stack([s, s**2])
    fit = CoxRegression(y.time, y.event, np.ones(40), columns, ties)
    *influence, hazard = fit.influences(4.0)
    influence = np.array(influence)
    # The hazard of a subject with fixed covariates, so that the baseline's reference cancels.
    at = np.array([[0.5], [0.25]])
    level = fit.hazard(4.0) * np.exp(fit.log_risk(at)[0])
    slope = (at - columns.mean(axis=1)[:, None])[:, 0]
    for i in range(0, 40, 7):
        betas, levels = [], []
        for h in (1e-4, -1e-4):
            weight = np.ones(40)
            weight[i] += h
            moved = CoxRegression(y.time, y.event, weight, columns, ties)
            betas.append(moved.beta)
            levels.append(moved.hazard(4.0) * np.exp(moved.log_risk(at)[0]))
        derivative = (betas[0] - betas[1]) / 2e-4
        np.testing.assert_allclose(influence[:, i], derivative, rtol=1e-4, atol=1e-6)
        change = level * (hazard[i] / fit.hazard(4.0) + slope @ influence[:, i])
        assert change == pytest.approx((levels[0] - levels[1]) / 2e-4, rel=1e-4, abs=1e-7)
    np.testing.assert_allclose(influence.sum(axis=1), 0, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_chunks_of_subjects_do_not_change_the_result(weighted, digits, monkeypatch):
    y, s = simulated(300, 8)
    weight = np.random.default_rng(1).integers(0, 4, 300) if weighted else None
    outcomes = Outcomes(np.round(y.time, digits), y.event, weight)
    result = integrated_calibration_index_cox(outcomes, s, 4.0)
    monkeypatch.setattr("survgauge._tools.running.CHUNK", 7)
    again = integrated_calibration_index_cox(outcomes, s, 4.0)
    for name in ("ici", "e50", "emax", "observed", "curve_observed", "contributions"):
        value, want = getattr(again, name), getattr(result, name)
        np.testing.assert_allclose(value, want, rtol=1e-9, atol=1e-13)


def test_cox_of_a_constant_column_is_nelson_aalen():
    y, _ = simulated(50, 5, tied=True)
    fit = CoxRegression(y.time, y.event, np.ones(50), np.full((1, 50), 3.0), "breslow")
    assert fit.beta.tolist() == [0]
    want = -np.log(KaplanMeier.fit(y, "nelson_aalen").at(3.0))
    assert fit.hazard(3.0) * np.exp(fit.log_risk(np.array([[3.0]]))[0]) == pytest.approx(want)


def test_cox_survives_separation_and_outliers():
    time, event = np.arange(1.0, 9.0), np.ones(8, bool)
    separated = CoxRegression(time, event, np.ones(8), -time[None, :], "efron")
    assert separated.beta[0] > 2
    wild = np.array([[0.1, -0.2, 0.3, 1e8, 0.0, -0.1, 0.2, -0.3]])
    assert np.isfinite(CoxRegression(time, event, np.ones(8), wild, "efron").beta).all()


@pytest.mark.parametrize("knots", [3, 4, 5])
def test_spline_is_smooth_and_linear_outside_its_knots(knots):
    k = np.linspace(-1, 1, knots) ** 3 + np.linspace(0, 1, knots)
    x = np.linspace(-4, 5, 90_001)
    columns = restricted_cubic_spline(x, k)
    assert columns.shape == (knots - 1, x.size)
    first = np.diff(columns, axis=1) / 1e-4
    second = np.diff(first, axis=1) / 1e-4
    assert np.abs(np.diff(first, axis=1)).max() < 0.01
    outside = (x[1:-1] < k[0] - 1e-3) | (x[1:-1] > k[-1] + 1e-3)
    np.testing.assert_allclose(second[:, outside], 0, atol=2e-4)
    assert np.abs(second[1:, ~outside]).max() > 0.1


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("knots", [3, 4])
def test_ici_is_the_mean_distance_from_the_cox_curve(ties, knots):
    y, s = simulated(80, 0, tied=True)
    result = integrated_calibration_index_cox(y, s, 4.0, knots=knots, ties=ties)
    x = np.log(-np.log(s))
    where = {3: [0.1, 0.5, 0.9], 4: [0.05, 0.35, 0.65, 0.95]}[knots]
    basis = restricted_cubic_spline(x, np.quantile(x, where))
    want = minimize(
        lambda beta: -naive_log_likelihood(beta, y.time, y.event, basis, ties),
        np.zeros(knots - 1),
        options={"gtol": 1e-9},
    )
    risk = np.exp(want.x @ basis)
    hazard = 0.0
    for u in np.unique(y.time[y.event & (y.time <= 4.0)]):
        died = (y.time == u) & y.event
        d = int(died.sum())
        for step in range(d):
            share = step / d if ties == "efron" else 0.0
            hazard += 1 / (risk[y.time >= u].sum() - share * risk[died].sum())
    observed = 1 - np.exp(-hazard * risk)
    gap = np.abs(observed - (1 - s))
    np.testing.assert_allclose(result.observed, observed, atol=2e-5)
    assert result.ici == pytest.approx(gap.mean(), abs=2e-5)
    assert result.e50 == pytest.approx(np.median(gap), abs=2e-5)
    assert result.e90 == pytest.approx(np.quantile(gap, 0.9), abs=2e-5)
    assert result.emax == pytest.approx(gap.max(), abs=5e-5)
    assert float(result) == result.ici


def test_curve_passes_through_the_subjects():
    y, s = simulated(100, 4)
    result = integrated_calibration_index_cox(y, s, 4.0)
    order = np.argsort(result.predicted)
    between = np.interp(result.predicted[order], result.curve_predicted, result.curve_observed)
    np.testing.assert_allclose(between, result.observed[order], atol=2e-3)
    assert result.curve_predicted[[0, -1]].tolist() == [1 - s.max(), 1 - s.min()]


def test_the_true_model_is_close_and_a_wrong_one_is_not():
    y, s = simulated(4000, 7)
    good = integrated_calibration_index_cox(y, s, 4.0)
    bad = integrated_calibration_index_cox(*simulated(4000, 7, distort=2.0), 4.0)
    assert good.ici < 0.02
    assert bad.ici > 0.12
    assert bad.ici == pytest.approx(np.mean(bad.predicted - (1 - s)), abs=0.02)


def test_curves_and_probabilities_agree():
    y, s = simulated(60, 2)
    curves = SurvivalCurves([4.0], s[:, None])
    values = [
        integrated_calibration_index_cox(y, curves, 4.0).ici,
        integrated_calibration_index_cox(y, s, 4.0).ici,
        integrated_calibration_index_cox(y, 1 - s, 4.0, probability="event").ici,
    ]
    assert values == pytest.approx([values[0]] * 3)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_whole_frequencies_equal_replicated_rows(ties):
    y, s = simulated(50, 6, tied=True)
    count = np.random.default_rng(1).integers(0, 4, 50)
    rows = np.repeat(np.arange(50), count)
    weighted = integrated_calibration_index_cox(Outcomes(y.time, y.event, count), s, 4.0, ties=ties)
    plain = integrated_calibration_index_cox(y[rows], s[rows], 4.0, ties=ties)
    for name in ("ici", "e50", "e90", "emax", "stderr"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name), rel=1e-8)
    assert np.isnan(weighted.observed[count == 0]).all()
    np.testing.assert_allclose(weighted.curve_observed, plain.curve_observed, rtol=1e-8)


def test_contributions_are_derivatives_where_knots_stay():
    # Three values hold the knots in place while frequencies move.
    y, _ = simulated(60, 8, tied=True)
    s = np.repeat([0.8, 0.5, 0.3], 20)
    result = integrated_calibration_index_cox(y, s, 4.0)
    assert result.convention["terms"] == "spline"
    for i in (0, 25, 50):
        sides = []
        for h in (1e-5, -1e-5):
            weight = np.ones(60)
            weight[i] += h
            sides.append(
                integrated_calibration_index_cox(Outcomes(y.time, y.event, weight), s, 4.0).ici
            )
        assert result.contributions[i] == pytest.approx(
            (sides[0] - sides[1]) / 2e-5, rel=1e-4, abs=1e-7
        )
    assert result.contributions.sum() == pytest.approx(0, abs=1e-8)


def test_the_standard_error_is_that_of_refits():
    y, s = simulated(400, 9, distort=1.3)
    result = integrated_calibration_index_cox(y, s, 4.0)
    rng = np.random.default_rng(0)
    refit = []
    for _ in range(60):
        count = np.bincount(rng.integers(0, 400, 400), minlength=400)
        refit.append(integrated_calibration_index_cox(Outcomes(y.time, y.event, count), s, 4.0).ici)
    assert result.stderr == pytest.approx(np.std(refit), rel=0.25)


def test_evaluate_gives_the_standard_error_of_the_result():
    y, s = simulated(120, 9)
    curves = SurvivalCurves([4.0, 5.0], np.stack((s, s), axis=1))
    (score,) = evaluate({"m": curves}, y, metrics=["ici_cox"], time=4.0).scores
    result = integrated_calibration_index_cox(y, curves, 4.0)
    assert score.stderr == result.stderr
    assert (score.low, score.high) == result.interval()


def test_equal_predictions_are_compared_with_nelson_aalen():
    y, _ = simulated(50, 1, tied=True)
    result = integrated_calibration_index_cox(y, np.full(50, 0.4), 4.0, ties="breslow")
    observed = 1 - float(KaplanMeier.fit(y, "nelson_aalen").at(4.0))
    assert result.convention["terms"] == "constant"
    assert result.ici == pytest.approx(abs(observed - 0.6))
    assert result.e90 == pytest.approx(result.ici)


def test_two_different_predictions_give_a_line():
    y, _ = simulated(50, 1)
    result = integrated_calibration_index_cox(y, np.repeat([0.4, 0.7], 25), 4.0)
    assert result.convention["terms"] == "line"
    assert np.unique(result.observed.round(12)).size == 2


def test_certain_predictions_are_moved_and_counted():
    y, s = simulated(80, 2)
    s = s.copy()
    s[:3], s[3:5] = 0.0, 1.0
    result = integrated_calibration_index_cox(y, s, 4.0)
    assert result.support["moved_from_0_or_1"] == 5
    assert np.isfinite([result.ici, result.e90, result.stderr]).all()
    assert result.predicted[:5].tolist() == [1, 1, 1, 0, 0]


def test_undefined_inputs():
    s = [0.9, 0.6, 0.4, 0.2]
    with pytest.raises(UndefinedMetricError, match="event"):
        integrated_calibration_index_cox(([1, 2, 3, 4], [0, 0, 0, 0]), s, 2.0)
    with pytest.raises(UndefinedMetricError, match="past the last test time"):
        integrated_calibration_index_cox(([1, 2, 3, 4], [1, 0, 1, 0]), s, 5.0)
    with pytest.raises(InputError, match="knots"):
        integrated_calibration_index_cox(([1, 2, 3, 4], [1, 0, 1, 0]), s, 2.0, knots=7)
    with pytest.raises(InputError, match="ties"):
        integrated_calibration_index_cox(([1, 2, 3, 4], [1, 0, 1, 0]), s, 2.0, ties="exact")


def test_no_event_by_the_time_means_nothing_was_observed():
    result = integrated_calibration_index_cox(
        ([5, 6, 7, 8, 9], [1, 0, 1, 1, 1]), [0.7, 0.2, 0.9, 0.3, 0.8], 3.0
    )
    assert result.observed.tolist() == [0] * 5
    assert result.ici == pytest.approx(0.42)
    assert result.support["events_by_time"] == 0


def test_one_subject():
    result = integrated_calibration_index_cox(([4.0], [1]), [0.3], 4.0, ties="breslow")
    assert result.ici == pytest.approx(abs(1 - np.exp(-1) - 0.7))


def test_more_steps_of_efron_than_fit_are_refused():
    time = np.repeat(np.arange(1.0, 6.0), 2)
    survival = np.linspace(0.1, 0.9, 10)[[1, 0, 3, 2, 5, 4, 7, 6, 9, 8]]
    many, more = (Outcomes(time, np.ones(10, dtype=bool), np.full(10, w)) for w in (1.0, 1e8))
    with pytest.raises(UndefinedMetricError, match="Efron's rule takes a step for each"):
        integrated_calibration_index_cox(more, survival, 3.0)
    found = [
        integrated_calibration_index_cox(y, survival, 3.0, ties="breslow") for y in (many, more)
    ]
    np.testing.assert_allclose(found[0].ici, found[1].ici, rtol=1e-6)
