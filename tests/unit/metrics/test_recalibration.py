"""Maps of curves that keep the order of subjects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import survgauge as sg

GRID = np.linspace(0, 60, 121)


def scenario(n, seed=0, late=1.0, rate=0.05):
    """Weibull times with their true curves, stretched by `late`."""
    rng = np.random.default_rng(seed)
    risk = np.exp(rng.normal(0, 0.8, n))
    event_time = 10 * (rng.exponential(1, n) / risk) ** (1 / 1.5)
    censoring = rng.exponential(1 / rate, n) if rate else np.full(n, np.inf)
    survival = np.exp(-risk[:, None] * (GRID / 10 / late) ** 1.5)
    y = sg.Outcomes(np.minimum(event_time, censoring), event_time <= censoring)
    return sg.SurvivalCurves(GRID, survival), y


@pytest.mark.parametrize("method", ["km", "conformal"])
@pytest.mark.parametrize("late", [0.6, 1.5])
def test_curves_that_are_early_or_late_for_everybody_are_mended(method, late):
    fit_curves, y_fit = scenario(3000, 1, late)
    curves, y = scenario(1000, 2, late)
    true, _ = scenario(1000, 2)
    mended = sg.recalibrate(fit_curves, y_fit, method=method)(curves)
    times = [3.0, 8.0, 15.0]
    assert np.abs(curves.at(times) - true.at(times)).mean() > 0.1
    assert np.abs(mended.at(times) - true.at(times)).mean() < 0.02
    before, after = (sg.observed_expected(y, c, 8.0).ratio for c in (curves, mended))
    assert abs(np.log(after)) < 0.1 < abs(np.log(before))
    risk = [sg.concordance_index(y, 1 - c.at(8.0)) for c in (curves, mended)]
    median = [sg.concordance_index(y, -c.median()) for c in (curves, mended)]
    assert risk[0] == pytest.approx(risk[1], abs=1e-3)
    assert median[0] == pytest.approx(median[1], abs=1e-3)


def test_kaplan_meier_map_by_hand():
    curves = sg.SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    fitted = sg.recalibrate(curves, ([2, 4, 6, 9], [1, 0, 1, 1]))
    # u = 0.2 (event), 0.4 (censored), 0.6, 0.9 (events); Kaplan-Meier 3/4, 3/8, 0.
    np.testing.assert_allclose(fitted.levels, [0.0, 0.1, 0.4, 0.8, 1.0])
    np.testing.assert_allclose(fitted.values, [0.0, 3 / 16, 9 / 16, 7 / 8, 1.0])
    assert fitted.support["lowest_survival"] == pytest.approx(0.1)
    assert fitted(curves).at(4.0)[0] == pytest.approx((9 / 16 + 7 / 8) / 2)
    own = sg.SurvivalCurves([[5.0, 10.0]] * 4, [[0.5, 0.0]] * 4)
    for t in (2.0, 4.0, 7.0):
        assert fitted(own).at(t)[0] == pytest.approx(fitted(curves).at(t)[0], abs=2e-3)


def test_a_map_of_many_subjects_keeps_few_points_of_kaplan_meier():
    curves, y = scenario(8000, 3, late=1.4)
    fitted = sg.recalibrate(curves, y)
    assert fitted.levels.size <= 2002
    u = 1 - curves.at_own(y.time)
    asked = np.linspace(0.05, 0.95, 19)
    wanted = sg.KaplanMeier.fit((u, y.event)).at(1 - asked)
    np.testing.assert_allclose(np.interp(asked, fitted.levels, fitted.values), wanted, atol=2e-3)


def test_conformal_ratios_by_hand():
    curves = sg.SurvivalCurves([0, 10], np.tile([1.0, 0.0], (39, 1)))
    fitted = sg.recalibrate(curves, (np.arange(1, 40) / 2.0, np.ones(39)), method="conformal")
    # With n = 39 the level k/40 is the k-th of the ordered times, k/2, and predicted is k/4.
    np.testing.assert_allclose(fitted.values, 2.0)
    np.testing.assert_allclose(fitted(curves).median(), 10.0)


@pytest.mark.parametrize("method", ["km", "conformal"])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 40), events=st.floats(0.2, 1.0),
    interpolation=st.sampled_from(["linear", "step"]), tied=st.booleans(),
)  # fmt: skip
def test_order_stays_and_curves_fall(method, seed, n, events, interpolation, tied):
    rng = np.random.default_rng(seed)
    time = rng.exponential(10, n) + 0.1
    if tied:
        time = np.ceil(time)
    event = rng.random(n) < events
    event[0] = True
    risk = np.exp(rng.normal(size=n))
    grid = np.linspace(0, 40, 9)
    survival = np.exp(-risk[:, None] * grid / 10)
    curves = sg.SurvivalCurves(grid, survival, interpolation)
    if method == "conformal" and not event[np.argsort(time / curves.median())[: n // 2]].any():
        return  # few events late on need not reach the first quantile
    fitted = sg.recalibrate(curves, (time, event), method=method)
    mended = fitted(curves)
    asked = np.linspace(0, 60, 31)
    found = mended.at(asked)
    assert (np.diff(found, axis=1) <= 1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[:, 0] == 1).all()
    # Risks do not cross here, so whoever is at higher risk stays so at every time.
    order = np.argsort(risk)
    assert (np.diff(found[order], axis=0) <= 1e-9).all()
    assert (np.diff(mended.median()[order]) <= 1e-9 * mended.median().max()).all()


def test_the_kaplan_meier_map_keeps_the_order_of_curves_that_cross():
    rng = np.random.default_rng(4)
    survival = np.minimum.accumulate(rng.random((60, 8)), axis=1)
    curves = sg.SurvivalCurves(np.arange(1.0, 9.0), survival)
    y = rng.exponential(4, 60), rng.random(60) < 0.6
    found = sg.recalibrate(curves, y)(curves).at(curves.times)
    for before, after in zip(survival.T, found.T, strict=True):
        order = np.argsort(before, kind="stable")
        rises = np.diff(before[order]) > 0
        assert (np.diff(after[order])[rises] > 0).all()


def test_what_no_data_stand_behind_is_counted():
    curves, y = scenario(300, 5)
    stopped = sg.Outcomes(np.minimum(y.time, 5.0), y.event & (y.time <= 5.0))
    fitted = sg.recalibrate(curves, stopped)
    assert 0 < fitted.support["lowest_survival"] < 0.9
    share = np.mean(curves.survival < fitted.support["lowest_survival"])
    assert fitted.extrapolated(curves) == pytest.approx(share)
    low = fitted.support["lowest_survival"]
    assert np.interp(low / 2, fitted.levels, fitted.values) == pytest.approx(fitted.values[1] / 2)
    conformal = sg.recalibrate(curves, stopped, method="conformal")
    assert conformal.support["highest_level"] < 0.975
    assert conformal.extrapolated(curves) > 0.0
    assert "300 subjects" in repr(conformal)


def test_frequencies_count_as_rows_and_absent_subjects_do_not():
    curves, y = scenario(40, 6)
    weight = np.arange(40) % 3
    rows = np.repeat(np.arange(40), weight)
    for method in ("km", "conformal"):
        one = sg.recalibrate(curves, sg.Outcomes(y.time, y.event, weight), method=method)
        two = sg.recalibrate(curves[rows], y[rows], method=method)
        np.testing.assert_allclose(one.levels, two.levels)
        np.testing.assert_allclose(one.values, two.values)


def test_events_at_a_predicted_survival_of_one_are_counted():
    curves = sg.SurvivalCurves([5, 10], [[1.0, 0.0]] * 4)
    fitted = sg.recalibrate(curves, ([2, 3, 6, 9], [1, 1, 1, 1]))
    assert fitted.support["survival_one"] == 2
    assert fitted(curves).at(5.0)[0] == 1.0


def test_bad_input_is_refused():
    curves, y = scenario(20, 7)
    with pytest.raises(sg.InputError, match="at least one event"):
        sg.recalibrate(curves, (y.time, np.zeros(20, bool)))
    with pytest.raises(sg.InputError, match="one row per subject"):
        sg.recalibrate(curves, (y.time[:5], y.event[:5]))
    with pytest.raises(sg.InputError, match="method must be one of"):
        sg.recalibrate(curves, y, method="isotonic")
    flat = sg.SurvivalCurves([1, 2], np.ones((20, 2)), tail="hold")
    assert sg.recalibrate(flat, y, method="conformal").extrapolated(flat) == 1.0
    started = sg.SurvivalCurves([0, 2], np.full((20, 2), 0.5))
    with pytest.raises(sg.InputError, match="method='km'"):
        sg.recalibrate(started, y, method="conformal")
    unknown = sg.SurvivalCurves([1, 2], np.full((20, 2), 0.9), tail="nan")
    with pytest.raises(sg.UndefinedMetricError, match="tail='nan'"):
        sg.recalibrate(unknown, y)
