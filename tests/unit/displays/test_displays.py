"""The numbers behind the figures, against plain loops."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.displays import DISPLAYS
from survgauge.displays._bands import kaplan_meier_band, smooth_band
from survgauge.displays.subject_curves import telling_subjects

N, TRAIN = 60, 80


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t = np.round(rng.weibull(1.5, n) * 10 * np.exp(-0.7 * x), 1) + 0.1
    c = np.round(rng.uniform(2, 30, n), 1)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    grid = np.linspace(0, 60, 31)
    good = np.exp(-((grid / (10 * np.exp(-0.7 * x[:, None]))) ** 1.5))
    flat = np.tile(np.exp(-((grid / 10) ** 1.5)), (n, 1))
    return y, sg.SurvivalCurves(grid, good), sg.SurvivalCurves(grid, flat), x


Y, GOOD, FLAT, X = draw(N, 0)
Y_TRAIN = draw(TRAIN, 1)[0]
PREDICTIONS = {
    "good": GOOD,
    "flat": FLAT,
    "times": 10 * np.exp(-0.7 * X),
    "risk": sg.RiskScores(X),
}


@pytest.fixture(scope="module")
def ev():
    return sg.evaluate(
        PREDICTIONS, Y, y_train=Y_TRAIN, unit="days", n_boot=0,
        metrics=["mae_po", "mse_po", "harrell", "ibs", "d_calibration"],
    )  # fmt: skip


def kaplan_meier(time, event, t):
    """S(t) and Greenwood's sum, by a loop."""
    survival, variance = 1.0, 0.0
    for u in sorted(set(time[event & (time <= t)])):
        n, d = np.sum(time >= u), np.sum(event & (time == u))
        survival *= 1 - d / n
        variance += d / (n * (n - d)) if n > d else 0.0
    return survival, variance


def censoring(y, t, left):
    """G(t) or G(t-) with events before censorings, by a loop."""
    g = 1.0
    for u in sorted(set(y.time[~y.event])):
        if u < t or (u == t and not left):
            at_risk = np.sum(y.time > u) + np.sum(~y.event & (y.time == u))
            g *= 1 - np.sum(~y.event & (y.time == u)) / at_risk
    return g


# -- subjects and times ---------------------------------------------------------------------------


def test_subject_curves_are_the_curves(ev):
    d = displays.SubjectCurvesDisplay.from_evaluation(ev, subjects=[3, -1], times=[0, 5, 70])
    assert d.subjects.tolist() == [3, N - 1]
    for k, i in enumerate(d.subjects):
        assert d.survival["good"][k] == pytest.approx(GOOD.at([0, 5, 70])[i])
        assert d.predicted["good"][k] == GOOD.median()[i]
        assert d.predicted["times"][k] == PREDICTIONS["times"][i]
        assert (d.time[k], d.event[k]) == (Y.time[i], Y.event[i])
    assert set(d.survival) == {"good", "flat"}
    assert d.left_out == {"risk": "gives risk scores only"}
    assert len(d.rows()) == 2 * (3 + 3 + 1)


@pytest.mark.parametrize("bad", [[N], [-N - 1], [0.5], [], "x"])
def test_subjects_must_be_rows(ev, bad):
    with pytest.raises(sg.InputError, match="subjects"):
        displays.SubjectCurvesDisplay.from_evaluation(ev, subjects=bad)


def test_telling_subjects_have_both_statuses_early_and_late():
    rows = telling_subjects(Y)
    assert np.sum(Y.event[rows]) == 2
    assert (np.diff(Y.time[rows]) >= 0).all()
    for status in (Y.event, ~Y.event):
        middle = np.median(Y.time[status])
        chosen = Y.time[rows[status[rows]]]
        assert chosen[0] < middle < chosen[1]


def test_telling_subjects_make_do_with_what_there_is():
    assert telling_subjects(sg.Outcomes([1, 2, 3, 4, 5], [1, 1, 1, 1, 0])).tolist() == [0, 2, 3, 4]
    assert telling_subjects(sg.Outcomes([3, 1], [0, 0])).tolist() == [1, 0]
    absent = sg.Outcomes([1, 2, 3], [1, 1, 0], [1, 0, 1])
    assert telling_subjects(absent).tolist() == [0, 2]


@pytest.mark.parametrize("method", ["po", "margin", "uncensored"])
def test_predicted_against_actual(ev, method):
    d = displays.PredictedActualDisplay.from_evaluation(ev, model="good", method=method)
    expected = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
    assert d.predicted == pytest.approx(GOOD.median())
    assert d.surrogate[Y.event] == pytest.approx(Y.time[Y.event])
    if method == "uncensored":
        assert np.isnan(d.surrogate[~Y.event]).all()
    else:
        assert d.surrogate == pytest.approx(expected.time)
        assert d.weight == pytest.approx(expected.weight)


def test_predicted_against_actual_stops_the_clock_at_tau():
    d = displays.PredictedActualDisplay.from_predictions(
        GOOD, Y, y_train=Y_TRAIN, settings={"tau": 6.0}
    )
    assert d.model == "model"
    assert d.predicted == pytest.approx(np.minimum(GOOD.median(), 6))
    assert d.time == pytest.approx(np.minimum(Y.time, 6))
    assert d.event.tolist() == (Y.event | (Y.time >= 6)).tolist()


# -- errors ---------------------------------------------------------------------------------------


def naive_mean(rows, predicted, method="po"):
    s = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
    rows = [i for i in rows if s.weight[i] > 0]
    weight = np.array([s.weight[i] for i in rows])
    loss = np.array([abs(s.time[i] - predicted[i]) for i in rows])
    mean = float(np.sum(weight * loss) / np.sum(weight))
    psi = weight * (loss - mean) / weight.sum()
    return mean, float(np.sqrt(np.sum(psi**2) * len(rows) / (len(rows) - 1))), len(rows)


def test_error_by_status(ev):
    d = displays.ErrorByStatusDisplay.from_evaluation(ev)
    for status, part in ((Y.event, d.event), (~Y.event, d.censored)):
        mean, stderr, n = naive_mean(np.flatnonzero(status), GOOD.median())
        assert part["good"] == pytest.approx(
            (mean, mean - 1.959964 * stderr, mean + 1.959964 * stderr, n), rel=1e-6
        )
    value = next(r["value"] for r in ev.rows() if (r["model"], r["metric"]) == ("good", "mae_po"))
    parts = d.event["good"].mean, d.censored["good"].mean
    assert np.dot(parts, d.weight["good"]) == pytest.approx(value)


def test_error_by_status_without_the_censored(ev):
    d = displays.ErrorByStatusDisplay.from_evaluation(ev, method="uncensored")
    assert np.isnan(d.censored["good"].mean)
    assert d.censored["good"].n == 0
    assert d.weight["good"] == (1.0, 0.0)


def test_error_over_time(ev):
    d = displays.ErrorOverTimeDisplay.from_evaluation(ev, bins=5)
    last = d.edges.size - 2
    assert d.edges[0] == Y.time.min()
    assert d.edges[-1] == Y.time.max()
    for k in range(last + 1):
        inside = (Y.time >= d.edges[k]) & ((Y.time < d.edges[k + 1]) | (k == last))
        mean, stderr, n = naive_mean(np.flatnonzero(inside), PREDICTIONS["times"])
        assert d.mean["times"][k] == pytest.approx(mean)
        assert d.high["times"][k] == pytest.approx(mean + 1.959964 * stderr, rel=1e-6)
        assert (d.count["times"][k], d.subjects[k]) == (n, inside.sum())
        assert d.events[k] == (inside & Y.event).sum()
        assert abs(d.subjects[k] - N / 5) <= 3
    assert d.subjects.sum() == N


def test_error_over_time_counts_frequencies():
    doubled = sg.Outcomes(np.repeat(Y.time, 2), np.repeat(Y.event, 2))
    weighted = sg.Outcomes(Y.time, Y.event, np.full(N, 2))
    settings = {"y_train": Y_TRAIN, "bins": 4}
    a = displays.ErrorOverTimeDisplay.from_predictions(
        {"m": np.repeat(PREDICTIONS["times"], 2)}, doubled, **settings
    )
    b = displays.ErrorOverTimeDisplay.from_predictions(
        {"m": PREDICTIONS["times"]}, weighted, **settings
    )
    for name in ("edges", "events", "subjects"):
        assert getattr(a, name) == pytest.approx(getattr(b, name))
    for name in ("mean", "low", "high", "count"):
        assert getattr(a, name)["m"] == pytest.approx(getattr(b, name)["m"])


@pytest.mark.parametrize("bins", [0, 1.5, True])
def test_bins_must_be_a_number(ev, bins):
    with pytest.raises(sg.InputError, match="bins"):
        displays.ErrorOverTimeDisplay.from_evaluation(ev, bins=bins)


# -- scores ---------------------------------------------------------------------------------------


def test_metrics_are_those_of_the_table(ev):
    d = displays.MetricsDisplay.from_evaluation(ev)
    table = {(r["model"], r["metric"]): r for r in ev.rows()}
    assert len(d.values) == len(table)
    for row in d.values:
        known = table[row["model"], row["metric"]]
        for name in ("value", "low", "high", "direction"):
            assert row[name] == pytest.approx(known[name], nan_ok=True)
        if np.isfinite(known["skill"]):
            assert 1 - row["value"] / row["baseline"] == pytest.approx(known["skill"])
    units = {row["metric"]: row["unit"] for row in d.values}
    assert (units["mae_po"], units["mse_po"], units["ibs"]) == ("days", "days^2", "")
    assert [r["metric"] for r in d.values if r["test"]] == ["d_calibration"] * 2


def test_a_panel_says_its_time_and_its_unit_once():
    ev = sg.evaluate({"good": GOOD}, Y, y_train=Y_TRAIN, tau=5.0, unit="days", metrics="mae_within")
    panel = displays.MetricsDisplay.from_evaluation(ev).describe().panels[0]
    assert panel.x.text == "MAE within the horizon (days)\nup to 5 days"
    assert panel.title == "lower is better"
    assert "up to 5" not in panel.note


def test_metrics_can_be_chosen(ev):
    d = displays.MetricsDisplay.from_evaluation(ev, metrics="ibs", models=["flat"])
    assert [(r["model"], r["metric"]) for r in d.rows()] == [("flat", "ibs")]
    assert d.metrics == ("ibs",)
    with pytest.raises(sg.InputError, match=r"metrics must be one of .* got 'crps'"):
        displays.MetricsDisplay.from_evaluation(ev, metrics=["crps"])
    with pytest.raises(sg.InputError, match="no metric to show"):
        displays.MetricsDisplay.from_evaluation(ev, metrics="ibs", models="risk")


def test_differences_are_the_comparisons(ev):
    d = displays.DifferencesDisplay.from_evaluation(ev)
    assert d.metric == "mae_po"
    d = displays.DifferencesDisplay.from_evaluation(ev, metric="ibs")
    pairs = [r for r in ev.comparisons() if r["metric"] == "ibs"]
    np.testing.assert_equal([{k: r[k] for k in pairs[0]} for r in d.values], pairs)
    for row in d.values:
        lower = row["model_a"] if row["difference"] < 0 else row["model_b"]
        assert row["better"] == lower
    higher = displays.DifferencesDisplay.from_evaluation(ev, metric="harrell").values
    row = next(r for r in higher if (r["model_a"], r["model_b"]) == ("good", "flat"))
    assert row["difference"] > 0
    assert row["better"] == "good"


def test_differences_from_one_model_turn_round(ev):
    whole = displays.DifferencesDisplay.from_evaluation(ev, metric="ibs").values
    part = displays.DifferencesDisplay.from_evaluation(ev, metric="ibs", against="good").values
    assert {row["model_b"] for row in part} == {"good"}
    for row in part:
        known = next(r for r in whole if {r["model_a"], r["model_b"]} == {"good", row["model_a"]})
        assert row["difference"] == -known["difference"]
        assert (row["low"], row["high"]) == (-known["high"], -known["low"])
        assert row["better"] == known["better"]


def test_differences_of_many_models_are_those_of_one_with_pairs():
    """Where nobody wins, the first model stands for the best, but only if it has the metric."""
    rng = np.random.default_rng(0)
    y = (rng.exponential(1, 12), rng.random(12) < 0.6)
    models = {"risk": sg.RiskScores(rng.random(12))} | {f"m{k}": rng.random(12) for k in range(9)}
    ev = sg.evaluate(models, y, metrics=["mae_hinge"])
    made = displays.DifferencesDisplay.from_evaluation(ev)
    assert len(made.values) == 36
    assert len(made.describe().panels[0].rows) == 8


def test_differences_need_two_models(ev):
    single = sg.evaluate(GOOD, Y, metrics=["ibs"], confidence=None)
    with pytest.raises(sg.InputError, match="at least two models"):
        displays.DifferencesDisplay.from_evaluation(single)
    with pytest.raises(sg.InputError, match=r"no value for 'risk'"):
        displays.DifferencesDisplay.from_evaluation(ev, metric="ibs", against="risk")


# -- curves over time -----------------------------------------------------------------------------


def test_brier_curve_by_the_formula(ev):
    times = [2.0, 5.5, 9.0]
    d = displays.TimeCurveDisplay.from_evaluation(ev, kind="brier", times=times)
    km = [kaplan_meier(Y_TRAIN.time, Y_TRAIN.event, t)[0] for t in times]
    for k, t in enumerate(times):
        predicted = GOOD.at(t)
        losses = {"good": 0.0, "km": 0.0}
        for i in range(N):
            if Y.event[i] and Y.time[i] <= t:
                w, happened = 1 / censoring(Y, Y.time[i], left=True), 0.0
            elif Y.time[i] > t:
                w, happened = 1 / censoring(Y, t, left=False), 1.0
            else:
                continue
            losses["good"] += w * (happened - predicted[i]) ** 2 / N
            losses["km"] += w * (happened - km[k]) ** 2 / N
        assert d.values["good"][k] == pytest.approx(losses["good"])
        assert d.baseline[k] == pytest.approx(losses["km"])
    result = sg.brier_score(Y, GOOD, times, y_train=Y_TRAIN)
    assert d.high["good"] - d.values["good"] == pytest.approx(1.959964 * result.stderr)
    assert list(d.left_out) == ["times", "risk"]


def test_auc_curve_by_the_formula(ev):
    times = [3.0, 8.0]
    d = displays.TimeCurveDisplay.from_evaluation(ev, kind="auc", times=times)
    assert list(d.values) == list(PREDICTIONS)
    for k, t in enumerate(times):
        top = bottom = 0.0
        for i in np.flatnonzero(Y.event & (Y.time <= t)):
            w = 1 / censoring(Y, Y.time[i], left=True)
            for j in np.flatnonzero(Y.time > t):
                bottom += w
                top += w * ((X[i] > X[j]) + 0.5 * (X[i] == X[j]))
        assert d.values["risk"][k] == pytest.approx(top / bottom)
        assert d.values["flat"][k] == d.baseline[k] == 0.5


def test_time_curves_end_at_the_horizon(ev):
    for kind in ("brier", "auc"):
        d = displays.TimeCurveDisplay.from_evaluation(ev, kind=kind)
        assert d.times[-1] == d.horizon == ev.problem.horizon
        assert np.isfinite(d.values["good"]).all()
        assert (d.low["good"] <= d.values["good"]).all()


def test_time_curves_are_undefined_where_nothing_supports_them(ev):
    d = displays.TimeCurveDisplay.from_evaluation(ev, kind="auc", times=[0.01, 5.0, 1e6])
    assert np.isnan(d.values["good"]).tolist() == [True, False, True]
    with pytest.raises(sg.InputError, match="kind"):
        displays.TimeCurveDisplay.from_evaluation(ev, kind="roc")


# -- calibration ----------------------------------------------------------------------------------


def test_d_calibration_by_the_formula(ev):
    d = displays.DCalibrationDisplay.from_evaluation(ev, bins=4)
    events, masses = np.zeros(4), np.zeros(4)
    for i, s in enumerate(GOOD.at_own(Y.time)):
        k = min(int(s * 4), 3)
        if Y.event[i]:
            events[k] += 1
            masses[k] += 1
        else:
            masses[k] += (s - k / 4) / s
            masses[:k] += 0.25 / s
    assert d.events["good"] == pytest.approx(events)
    assert d.observed["good"] == pytest.approx(masses)
    assert d.expected == pytest.approx(np.full(4, N / 4))
    assert d.p_value["good"] == sg.d_calibration(Y, GOOD, bins=4).p_value


def test_one_calibration_by_the_formula(ev):
    d = displays.OneCalibrationDisplay.from_evaluation(ev, time=6.0, groups=5)
    p = 1 - GOOD.at(6.0)
    order = np.argsort(p)
    for k, rows in enumerate(np.split(order, 5)):
        survival, variance = kaplan_meier(Y.time[rows], Y.event[rows], 6.0)
        assert d.predicted["good"][k] == pytest.approx(p[rows].mean())
        assert d.observed["good"][k] == pytest.approx(1 - survival)
        assert d.n["good"][k] == 12
        assert d.events["good"][k] == np.sum(Y.event[rows] & (Y.time[rows] <= 6))
        if 0 < survival < 1:
            factor = np.exp(1.959964 * np.sqrt(variance) / np.log(survival))
            bounds = 1 - survival**factor, 1 - survival ** (1 / factor)
            assert (d.low["good"][k], d.high["good"][k]) == pytest.approx(bounds)
        else:
            assert np.isnan(d.low["good"][k])
    assert d.n["flat"].tolist() == [60]  # equal predictions are one group


def test_calibration_is_read_at_the_time_of_interest(ev):
    one = displays.OneCalibrationDisplay.from_evaluation(ev)
    smooth = displays.CalibrationPanelDisplay.from_evaluation(ev)
    assert one.time == smooth.time == ev.problem.time


@pytest.mark.parametrize("weighted", [False, True])
def test_the_band_of_smooth_calibration_is_that_of_small_changes(weighted):
    # Two different predictions, so that no knots move when frequencies change.
    s = np.where(X > 0, 0.3, 0.7)
    weight = np.where(np.arange(N) % 7 == 0, 2.0, 1.0) if weighted else np.ones(N)
    y = sg.Outcomes(Y.time, Y.event, weight if weighted else None)

    def log_log(frequency):
        result = sg.integrated_calibration_index(sg.Outcomes(Y.time, Y.event, frequency), s, 6.0)
        return np.log(-np.log(1 - result.curve_observed))

    step, start = 1e-5, log_log(weight)
    square = np.zeros(start.size)
    for i in range(N):
        changed = weight.copy()
        changed[i] += step
        square += weight[i] * ((log_log(changed) - start) / step) ** 2
    total = weight.sum()
    stderr = np.sqrt(square * total / (total - 1))
    low, high = smooth_band(sg.integrated_calibration_index(y, s, 6.0), 0.95)
    assert 1 - np.exp(-np.exp(start + 1.959964 * stderr)) == pytest.approx(high, rel=1e-3)
    assert 1 - np.exp(-np.exp(start - 1.959964 * stderr)) == pytest.approx(low, rel=1e-3)


def test_kaplan_meier_against_the_mean_curve(ev):
    times = np.array([0.0, 1.0, 4.0, 9.5, 25.0])
    d = displays.MeanCurveDisplay.from_evaluation(ev, times=times)
    for k, t in enumerate(times):
        survival, variance = kaplan_meier(Y.time, Y.event, t)
        assert d.km[k] == pytest.approx(survival)
        assert d.mean["good"][k] == pytest.approx(np.mean([GOOD[i].at(t)[0] for i in range(N)]))
        if 0 < survival < 1:
            factor = np.exp(1.959964 * np.sqrt(variance) / -np.log(survival))
            assert d.km_low[k] == pytest.approx(survival**factor)
            assert d.km_high[k] == pytest.approx(survival ** (1 / factor))
    assert np.isnan(d.km_low[0])


def test_kaplan_meier_band_counts_frequencies():
    weight = np.arange(1, N + 1) % 3
    rows = np.repeat(np.arange(N), weight)
    times = np.linspace(0, 20, 7)
    a = kaplan_meier_band(sg.Outcomes(Y.time, Y.event, weight), times, 0.9)
    b = kaplan_meier_band(Y[rows], times, 0.9)
    for ours, theirs in zip(a, b, strict=True):
        assert ours == pytest.approx(theirs, nan_ok=True)


# -- support, surrogates --------------------------------------------------------------------------


def test_support_by_counting(ev):
    d = displays.SupportDisplay.from_evaluation(ev, times=[0.0, 2.0, Y.time[3], 11.0, 99.0])
    for k, t in enumerate(d.times):
        assert d.at_risk[k] == np.sum(Y.time >= t)
        assert d.events[k] == np.sum(Y.event & (Y.time <= t))
        assert d.reference_at_risk[k] == np.sum(Y_TRAIN.time >= t)
        assert d.censoring[k] == pytest.approx(censoring(Y, t, left=False))
    assert (d.horizon, d.reason) == (ev.problem.horizon, ev.problem.horizon_reason)
    again = displays.SupportDisplay.from_outcomes(Y, y_train=Y_TRAIN, times=d.times)
    assert again.rows() == d.rows()


def test_support_averages_a_censoring_function():
    def g(t, side):
        return np.where(X > 0, np.exp(-0.1 * np.asarray(t)), 1.0)

    d = displays.SupportDisplay.from_outcomes(Y, censoring=g, times=[0.0, 10.0])
    assert d.censoring == pytest.approx([1.0, np.mean(np.where(X > 0, np.exp(-1), 1))])
    assert d.in_sample


def test_surrogates_by_method(ev):
    d = displays.SurrogatesDisplay.from_evaluation(ev)
    order = np.argsort(Y.time[~Y.event], kind="stable")
    assert d.time == pytest.approx(np.sort(Y.time[~Y.event]))
    assert list(d.surrogate) == ["margin", "ipcw_t", "po", "pop_po"]
    for method, found in d.surrogate.items():
        expected = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
        times = np.where(expected.defined, expected.time, np.nan)[~Y.event][order]
        assert found == pytest.approx(times, nan_ok=True)
        assert d.weight[method] == pytest.approx(expected.weight[~Y.event][order])
    with pytest.raises(sg.InputError, match="methods"):
        displays.SurrogatesDisplay.from_evaluation(ev, methods=["uncensored"])
    with pytest.raises(sg.InputError, match="these outcomes have none up to tau"):
        displays.SurrogatesDisplay.from_outcomes(Y, tau=0.05)


# -- illustrations --------------------------------------------------------------------------------


def test_six_metrics_of_four_subjects(ev):
    rows = [0, 7, 12, 30]
    d = displays.SixMetricsDisplay.from_evaluation(ev, subjects=rows, at=5.0)
    y, curves = Y[rows], GOOD[rows]
    s = sg.surrogate_times(Y, y_train=Y_TRAIN)
    error = np.abs(s.time[rows] - curves.median())
    assert d.error == pytest.approx(error)
    assert d.values["mae"] == pytest.approx(np.average(error, weights=s.weight[rows]))
    assert d.values["harrell"] == sg.concordance_index(y, -curves.median())
    concordant = [pair["concordant"] for pair in d.pairs]
    assert np.mean(concordant) == pytest.approx(d.values["harrell"])
    assert d.values["log_likelihood"] == pytest.approx(sg.log_likelihood(y, curves))
    assert np.mean(np.log(d.own_density)) == pytest.approx(d.values["log_likelihood"])
    assert d.values["d_calibration"] == sg.d_calibration(y, curves, bins=2).p_value
    assert d.bins.sum() == pytest.approx(4)
    groups = sg.one_calibration(y, curves, 5.0, groups=2)
    assert [g["observed"] for g in d.groups] == groups.observed.tolist()
    assert sorted(k for g in d.groups for k in g["rows"]) == [0, 1, 2, 3]
    end = min(ev.problem.horizon, y.time.max())
    ibs = sg.integrated_brier_score(y, curves, np.linspace(0, end, 101), y_train=Y_TRAIN)
    assert d.values["ibs"] == pytest.approx(ibs)
    # Slopes integrate to what the curves lose.
    lost = d.density @ np.diff(d.times)
    assert lost == pytest.approx(d.survival[:, 0] - d.survival[:, -1])


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_the_c_index_with_ties(seed):
    rng = np.random.default_rng(seed)
    y = sg.Outcomes(rng.integers(1, 4, 6), [1, 1, 0, 1, 0, 1])
    survival = np.column_stack([np.ones(6), rng.choice([0.2, 0.4], 6)])
    curves = sg.SurvivalCurves([0, 5], survival)
    d = displays.SixMetricsDisplay.from_predictions(curves, y, subjects=range(6))
    assert len(d.pairs) == sg.comparable_pairs(y).number
    concordant = [pair["concordant"] for pair in d.pairs]
    assert np.mean(concordant) == pytest.approx(sg.concordance_index(y, -curves.median()))


def test_six_metrics_take_a_handful(ev):
    with pytest.raises(sg.InputError, match="two to 8"):
        displays.SixMetricsDisplay.from_evaluation(ev, subjects=[1])
    with pytest.raises(sg.InputError, match="needs curves"):
        displays.SixMetricsDisplay.from_evaluation(ev, model="times")


def test_mae_variants_of_some_subjects(ev):
    rows = [0, 7, 12, 30]
    d = displays.MAEVariantsDisplay.from_evaluation(ev, model="times", subjects=rows)
    predicted = PREDICTIONS["times"][rows]
    assert list(d.values) == ["uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po"]
    for method, value in d.values.items():
        assert value == sg.mae(Y, PREDICTIONS["times"], y_train=Y_TRAIN, method=method)
        s = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
        for k, i in enumerate(rows):
            if s.weight[i] == 0:
                assert np.isnan(d.error[method][k])
                continue
            gap = abs(s.time[i] - predicted[k])
            if method == "hinge" and not Y.event[i]:
                gap = max(Y.time[i] - predicted[k], 0)
            assert d.error[method][k] == pytest.approx(gap)
            assert d.weight[method][k] == pytest.approx(s.weight[i])


# -- what all share -------------------------------------------------------------------------------


def equal(a, b):
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, sg.RiskGroups):
        return all(
            equal(getattr(a, n), getattr(b, n)) for n in ("label", "names", "rmst", "p_value")
        )
    return a == b or (a != a and b != b)


#: Figures that need no predictions.
OF_OUTCOMES = ("support", "surrogates", "incidence")


@pytest.mark.parametrize(
    "kind",
    [k for k in DISPLAYS if k not in ("metrics", "differences", "groups", *OF_OUTCOMES)],
)
def test_predictions_give_the_same_as_an_evaluation(ev, kind):
    ours = displays.display(ev, kind)
    options = {"kind": kind} if kind in ("brier", "auc") else {}
    theirs = type(ours).from_predictions(PREDICTIONS, Y, y_train=Y_TRAIN, unit="days", **options)
    for name in ours.__dataclass_fields__:
        assert equal(getattr(ours, name), getattr(theirs, name)), name


@pytest.mark.parametrize("kind", DISPLAYS)
def test_frames_are_the_rows(ev, kind, monkeypatch):
    pytest.importorskip("pandas")
    display = DISPLAYS[kind](ev)
    rows, frame = display.rows(), display.frame()
    assert len(frame) == len(rows) > 0
    assert list(frame.columns) == list(rows[0])
    assert all(
        isinstance(v, str | int | float | bool | type(None)) for row in rows for v in row.values()
    )
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sg.MissingExtraError, match="survgauge\\[pandas\\]"):
        display.frame()


def test_without_intervals_bounds_are_nan():
    part = sg.evaluate(PREDICTIONS, Y, y_train=Y_TRAIN, confidence=None, metrics=["mae_po"])
    for kind in ("brier", "auc", "error_over_time", "one_calibration", "calibration_panel"):
        display = DISPLAYS[kind](part)
        assert np.isnan(display.low["good"]).all()
        assert np.isnan(display.high["good"]).all()
    assert np.isnan(DISPLAYS["mean_curve"](part).km_low).all()


def test_displays_can_be_limited_to_some_models(ev):
    for kind in ("subjects", "brier", "auc", "d_calibration", "mean_curve", "error_over_time"):
        display = DISPLAYS[kind](ev, models="good")
        assert {row["model"] for row in display.rows()} <= {"good", ""}
        with pytest.raises(sg.InputError, match="did you mean 'good'"):
            DISPLAYS[kind](ev, models=["goood"])


def test_streamed_evaluations_say_so(ev):
    bare = replace(ev, predictions={}, all_outcomes=False)
    for kind in DISPLAYS:
        if kind in ("metrics", "differences", "groups"):
            both = (displays.display(some, kind).rows() for some in (bare, ev))
            np.testing.assert_equal(*both)
            continue
        door = "from_outcomes" if kind in OF_OUTCOMES else "from_predictions"
        with pytest.raises(sg.InputError, match=rf"holds none .*{door}\(\)"):
            displays.display(bare, kind)


def test_unknown_kinds_are_named(ev):
    with pytest.raises(sg.InputError, match="did you mean 'd_calibration'"):
        ev.plot("d_calibraton")
