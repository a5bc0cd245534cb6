"""Slope and ICI at a time: by hand, and of the true model whose hazards are not proportional."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import least_squares

import survgauge as sg
from survgauge.report.displays import display

TIME = 0.8


def log_normal(n, seed=0):
    """Outcomes of log-normal times, half of them censored, and the true survival at TIME."""
    rng = np.random.default_rng(seed)
    mu = 0.5 - rng.normal(size=(n, 2)) @ [0.8, -0.5]
    t, c = np.exp(mu + 0.6 * rng.normal(size=n)), rng.exponential(2.2, n)
    return sg.Outcomes(np.minimum(t, c), t <= c), stats.norm.sf((np.log(TIME) - mu) / 0.6)


def crossing(n, seed=0):
    """Weibull times whose shape depends on a feature."""
    rng = np.random.default_rng(seed)
    shape, scale = np.exp(0.5 * rng.normal(size=n)), np.exp(0.5 - 0.4 * rng.normal(size=n))
    t, c = scale * rng.exponential(size=n) ** (1 / shape), rng.exponential(2.0, n)
    return sg.Outcomes(np.minimum(t, c), t <= c), np.exp(-((TIME / scale) ** shape))


def kaplan_meier(time, event, weight, at):
    """The product over the event times, by a loop."""
    survival = 1.0
    for u in sorted({t for t, e in zip(time, event, strict=True) if e and t <= at}):
        died = sum(w for t, e, w in zip(time, event, weight, strict=True) if e and t == u)
        survival *= 1 - died / sum(w for t, w in zip(time, weight, strict=True) if t >= u)
    return survival


def pseudo_risks(y, at):
    """1 - (S + n dS/dw_i), by a small change of each weight."""
    n, step = len(y), 1e-6
    whole = kaplan_meier(y.time, y.event, np.ones(n), at)
    found = []
    for i in range(n):
        more, less = np.ones(n), np.ones(n)
        more[i] += step
        less[i] -= step
        ends = [kaplan_meier(y.time, y.event, w, at) for w in (more, less)]
        found.append(1 - (whole + n * (ends[0] - ends[1]) / (2 * step)))
    return np.array(found)


def test_slope_and_ici_are_least_squares_through_pseudo_observations():
    y, s = log_normal(60)
    risk, x = pseudo_risks(y, TIME), np.log(-np.log(s))

    def fitted(columns):
        def gap(beta):
            return risk - (1 - np.exp(-np.exp(beta @ columns)))

        tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
        return least_squares(gap, np.eye(len(columns))[1], **tight).x

    line = np.stack((np.ones_like(x), x))
    assert sg.calibration_slope(y, s, TIME) == pytest.approx(fitted(line)[1], abs=1e-6)
    # Harrell's spline with three knots, from its formula.
    a, b, c = np.quantile(x, [0.1, 0.5, 0.9])
    cube = [np.maximum(x - k, 0) ** 3 for k in (a, b, c)]
    bend = cube[0] - cube[1] * (c - a) / (c - b) + cube[2] * (b - a) / (c - b)
    columns = np.stack((np.ones_like(x), x, bend / (c - a) ** 2))
    observed = 1 - np.exp(-np.exp(fitted(columns) @ columns))
    found = sg.integrated_calibration_index(y, s, TIME)
    np.testing.assert_allclose(found.observed, observed, atol=1e-6)
    assert found.ici == pytest.approx(np.abs(observed - (1 - s)).mean(), abs=1e-6)


@pytest.mark.parametrize(("draw", "cox"), [(log_normal, 0.85), (crossing, 0.6)])
def test_the_true_model_is_calibrated_though_hazards_are_not_proportional(draw, cox):
    y, s = draw(40_000)
    slope = sg.calibration_slope(y, s, TIME)
    assert abs(slope.value - 1) < 3 * slope.stderr < 0.1
    index = sg.integrated_calibration_index(y, s, TIME)
    assert index.ici < 0.008
    assert index.interval()[0] == 0.0
    # By Cox models the truth looks miscalibrated.
    assert sg.calibration_slope_cox(y, s, TIME) < cox
    wrong = sg.integrated_calibration_index_cox(y, s, TIME)
    assert wrong.interval()[0] > 0.01


def test_the_page_does_not_call_the_truth_miscalibrated():
    y, s = crossing(800, seed=2)
    grid = np.array([0.0, TIME, 2 * TIME])
    curves = sg.SurvivalCurves(grid, np.stack((np.ones_like(s), s, s**2), axis=1))
    names = ["calibration_slope", "calibration_slope_cox", "ici", "ici_cox"]
    rows = {r["metric"]: r for r in sg.evaluate(curves, y, metrics=names, time=TIME).rows()}
    assert rows["calibration_slope"]["low"] < 1 < rows["calibration_slope"]["high"]
    assert rows["calibration_slope_cox"]["high"] < 1
    assert rows["ici"]["low"] == 0.0
    assert rows["ici_cox"]["low"] > 0.0


def test_what_a_default_evaluation_computes():
    y, s = log_normal(300)
    curves = sg.SurvivalCurves([0.0, TIME], np.stack((np.ones_like(s), s), axis=1))
    ev = sg.evaluate(curves, y, time=TIME)
    value = {row["metric"]: row["value"] for row in ev.rows()}
    assert value["calibration_slope"] == sg.calibration_slope(y, curves, TIME)
    assert value["ici"] == sg.integrated_calibration_index(y, curves, TIME).ici
    assert not {"ici_cox", "calibration_slope_cox"} & set(value)
    _, slope, ici = display(ev, "calibration_panel").column("value", part="measures")
    assert slope == value["calibration_slope"]
    assert ici == value["ici"]


def test_the_former_name_works_for_a_version_and_says_so():
    y, s = log_normal(200)
    curves = sg.SurvivalCurves([0.0, TIME], np.stack((np.ones_like(s), s), axis=1))
    with pytest.warns(DeprecationWarning, match="is now 'calibration_slope'"):
        ev = sg.evaluate(curves, y, metrics=["calibration_slope_at", "ici"], time=TIME)
    assert [row["metric"] for row in ev.rows()] == ["calibration_slope", "ici"]
    with pytest.warns(DeprecationWarning, match="is now 'calibration_slope'"):
        assert sg.scorer("calibration_slope_at", time=TIME) is not None


def test_the_interval_of_a_slope_counts_that_a_few_subjects_make_its_error():
    y, s = log_normal(100)
    curves = sg.SurvivalCurves([0.0, TIME], np.stack((np.ones_like(s), s), axis=1))
    details = sg.calibration_slope(y, s, TIME)
    (row,) = sg.evaluate(curves, y, metrics=["calibration_slope"], time=TIME).rows()
    reach = stats.t.ppf(0.975, details.support["freedom"]) * details.stderr
    assert row["high"] == pytest.approx(details.value + reach, rel=1e-9)
    assert reach > 1.02 * 1.96 * details.stderr
