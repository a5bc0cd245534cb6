"""The numbers behind the figures, against plain loops."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.metrics.group_tests import log_rank_test
from survgauge.report.displays import DISPLAYS, display, given
from survgauge.report.displays.description import p_relation
from survgauge.report.displays.errors import telling_subjects
from survgauge.report.displays.estimates import observed_band, smooth_band
from survgauge.report.displays.over_time import over_time

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
    d = display(ev, "subjects", subjects=[3, -1], times=[0, 5, 70])
    for i in (3, N - 1):
        good = {"model": "good", "subject": i}
        assert d.column("survival", **good) == pytest.approx(GOOD.at([0, 5, 70])[i])
        assert d.column("predicted", **good) == GOOD.median()[i]
        assert d.column("predicted", model="times", subject=i) == PREDICTIONS["times"][i]
        assert (d.column("observed", **good), d.column("event", **good)) == (Y.time[i], Y.event[i])
    assert {part["model"] for part in d.table} == {"good", "flat", "times"}
    assert d.chart.left_out == {"risk": "gives risk scores only"}
    assert len(d.rows()) == 2 * (3 + 3 + 1)


@pytest.mark.parametrize("bad", [[N], [-N - 1], [0.5], [], "x"])
def test_subjects_must_be_rows(ev, bad):
    with pytest.raises(sg.InputError, match="subjects"):
        display(ev, "subjects", subjects=bad)


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
    d = display(ev, "predicted_actual", model="good", method=method)
    expected = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
    counted = d.column("counted")
    assert d.column("predicted") == pytest.approx(GOOD.median())
    assert counted[Y.event] == pytest.approx(Y.time[Y.event])
    if method == "uncensored":
        assert np.isnan(counted[~Y.event]).all()
    else:
        assert counted == pytest.approx(expected.time)
        assert d.column("weight") == pytest.approx(expected.weight)


def test_predicted_against_actual_stops_the_clock_at_tau():
    d = display(given(GOOD, Y, y_train=Y_TRAIN, tau=6.0), "predicted_actual")
    assert d.column("model") == "model"
    assert d.column("predicted") == pytest.approx(np.minimum(GOOD.median(), 6))
    assert d.column("time") == pytest.approx(np.minimum(Y.time, 6))
    assert d.column("event").tolist() == (Y.event | (Y.time >= 6)).tolist()


# -- errors ---------------------------------------------------------------------------------------


def naive_mean(rows, predicted, method="po"):
    s = sg.surrogate_times(Y, y_train=Y_TRAIN, method=method)
    rows = [i for i in rows if s.weight[i] > 0]
    weight = np.array([s.weight[i] for i in rows])
    loss = np.array([abs(s.time[i] - predicted[i]) for i in rows])
    mean = float(np.sum(weight * loss) / np.sum(weight))
    contributions = weight * (loss - mean) / weight.sum()
    return mean, float(np.sqrt(np.sum(contributions**2) * len(rows) / (len(rows) - 1))), len(rows)


def test_error_by_status(ev):
    d = display(ev, "errors")
    found = {n: d.column(n, model="good", by="status") for n in ("mean", "low", "high", "n")}
    for k, status in enumerate((Y.event, ~Y.event)):
        mean, stderr, n = naive_mean(np.flatnonzero(status), GOOD.median())
        assert [column[k] for column in found.values()] == pytest.approx(
            (mean, mean - 1.959964 * stderr, mean + 1.959964 * stderr, n), rel=1e-6
        )
    value = next(r["value"] for r in ev.rows() if (r["model"], r["metric"]) == ("good", "mae_po"))
    weight = d.column("weight", model="good", by="status")
    assert np.dot(found["mean"], weight) == pytest.approx(value)


def test_error_by_status_without_the_censored(ev):
    d = display(ev, "errors", method="uncensored")
    assert np.isnan(d.column("mean", model="good", by="status")[1])
    assert d.column("n", model="good", by="status")[1] == 0
    assert d.column("weight", model="good", by="status").tolist() == [1.0, 0.0]


def test_error_over_time(ev):
    d = display(ev, "errors", bins=5)
    names = ("start", "end", "mean", "high", "n", "events", "subjects")
    start, end, found, high, count, events, subjects = (
        d.column(name, model="times", by="time") for name in names
    )
    assert start[0] == Y.time.min()
    assert end[-1] == Y.time.max()
    for k in range(start.size):
        inside = (Y.time >= start[k]) & ((Y.time < end[k]) | (k == start.size - 1))
        mean, stderr, n = naive_mean(np.flatnonzero(inside), PREDICTIONS["times"])
        assert found[k] == pytest.approx(mean)
        assert high[k] == pytest.approx(mean + 1.959964 * stderr, rel=1e-6)
        assert (count[k], subjects[k]) == (n, inside.sum())
        assert events[k] == (inside & Y.event).sum()
        assert abs(subjects[k] - N / 5) <= 3
    assert subjects.sum() == N


def test_error_over_time_counts_frequencies():
    doubled = sg.Outcomes(np.repeat(Y.time, 2), np.repeat(Y.event, 2))
    weighted = sg.Outcomes(Y.time, Y.event, np.full(N, 2))
    times = PREDICTIONS["times"]
    a, b = (
        display(given({"m": predicted}, y, y_train=Y_TRAIN), "errors", bins=4)
        for predicted, y in ((np.repeat(times, 2), doubled), (times, weighted))
    )
    for name in ("start", "end", "events", "subjects", "mean", "low", "high", "n"):
        assert a.column(name, by="time") == pytest.approx(b.column(name, by="time"))


@pytest.mark.parametrize("bins", [0, 1.5, True])
def test_bins_must_be_a_number(ev, bins):
    with pytest.raises(sg.InputError, match="bins"):
        display(ev, "errors", bins=bins)


# -- scores ---------------------------------------------------------------------------------------


def test_metrics_are_those_of_the_table(ev):
    d = display(ev, "metrics")
    table = {(r["model"], r["metric"]): r for r in ev.rows()}
    assert len(d.rows()) == len(table)
    for row in d.rows():
        known = table[row["model"], row["metric"]]
        for name in ("value", "low", "high", "direction"):
            assert row[name] == pytest.approx(known[name], nan_ok=True)
        if np.isfinite(known["skill"]):
            assert 1 - row["value"] / row["baseline"] == pytest.approx(known["skill"])
    units = {row["metric"]: row["unit"] for row in d.rows()}
    assert (units["mae_po"], units["mse_po"], units["ibs"]) == ("days", "days^2", "")
    assert [r["metric"] for r in d.rows() if r["test"]] == ["d_calibration"] * 2


def test_a_panel_says_its_time_and_its_unit_once():
    ev = sg.evaluate({"good": GOOD}, Y, y_train=Y_TRAIN, tau=5.0, unit="days", metrics="mae_within")
    panel = display(ev, "metrics").describe().panels[0]
    assert panel.x.text == "MAE within the horizon (days)\nup to 5 days"
    assert panel.title == "lower is better"
    assert "up to 5" not in panel.note


def test_metrics_can_be_chosen(ev):
    d = display(ev, "metrics", metrics="ibs", models=["flat"])
    assert [(r["model"], r["metric"]) for r in d.rows()] == [("flat", "ibs")]
    with pytest.raises(sg.InputError, match=r"metrics must be one of .* got 'crps'"):
        display(ev, "metrics", metrics=["crps"])
    with pytest.raises(sg.InputError, match="no metric to show"):
        display(ev, "metrics", metrics="ibs", models="risk")


def test_differences_are_the_comparisons(ev):
    d = display(ev, "differences")
    assert d.column("metric") == "mae_po"
    d = display(ev, "differences", metric="ibs")
    pairs = [r for r in ev.comparisons() if r["metric"] == "ibs"]
    np.testing.assert_equal([{k: r[k] for k in pairs[0]} for r in d.rows()], pairs)
    for row in d.rows():
        lower = row["model_a"] if row["difference"] < 0 else row["model_b"]
        assert row["better"] == lower
    higher = display(ev, "differences", metric="harrell").rows()
    row = next(r for r in higher if (r["model_a"], r["model_b"]) == ("good", "flat"))
    assert row["difference"] > 0
    assert row["better"] == "good"


def test_differences_from_one_model_turn_round(ev):
    whole = display(ev, "differences", metric="ibs").rows()
    part = display(ev, "differences", metric="ibs", against="good").rows()
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
    made = display(ev, "differences")
    assert len(made.rows()) == 36
    assert len(made.describe().panels[0].rows) == 8


def test_differences_need_two_models(ev):
    single = sg.evaluate(GOOD, Y, metrics=["ibs"], confidence=None)
    with pytest.raises(sg.InputError, match="at least two models"):
        display(single, "differences")
    with pytest.raises(sg.InputError, match=r"no value for 'risk'"):
        display(ev, "differences", metric="ibs", against="risk")


# -- curves over time -----------------------------------------------------------------------------


def test_brier_curve_by_the_formula(ev):
    times = [2.0, 5.5, 9.0]
    d = display(ev, "brier", times=times)
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
        assert d.column("value", model="good")[k] == pytest.approx(losses["good"])
        assert d.column("value", baseline=True)[k] == pytest.approx(losses["km"])
    result = sg.brier_score(Y, GOOD, times, y_train=Y_TRAIN)
    high, value = d.column("high", model="good"), d.column("value", model="good")
    # Symmetric on the logarithmic scale, as in tables.
    assert value * np.log(high / value) == pytest.approx(1.959964 * result.stderr)
    assert list(d.chart.left_out) == ["times", "risk"]


def test_auc_curve_by_the_formula(ev):
    times = [3.0, 8.0]
    d = display(ev, "auc", times=times)
    assert [part["model"] for part in d.table] == [*PREDICTIONS, ""]
    for k, t in enumerate(times):
        top = bottom = 0.0
        for i in np.flatnonzero(Y.event & (Y.time <= t)):
            w = 1 / censoring(Y, Y.time[i], left=True)
            for j in np.flatnonzero(Y.time > t):
                bottom += w
                top += w * ((X[i] > X[j]) + 0.5 * (X[i] == X[j]))
        assert d.column("value", model="risk")[k] == pytest.approx(top / bottom)
        assert d.column("value", model="flat")[k] == d.column("value", baseline=True)[k] == 0.5


def test_time_curves_end_at_the_horizon(ev):
    for kind in ("brier", "auc"):
        d = display(ev, kind)
        assert d.column("time")[-1] == ev.task.horizon
        value = d.column("value", model="good")
        assert np.isfinite(value).all()
        assert (d.column("low", model="good") <= value).all()


def test_time_curves_are_undefined_where_nothing_supports_them(ev):
    d = display(ev, "auc", times=[0.01, 5.0, 1e6])
    assert np.isnan(d.column("value", model="good")).tolist() == [True, False, True]
    with pytest.raises(sg.InputError, match="kind"):
        over_time(ev, kind="roc")


# -- calibration ----------------------------------------------------------------------------------


def test_d_calibration_by_the_formula(ev):
    d = display(ev, "d_calibration", bins=4)
    events, weights = np.zeros(4), np.zeros(4)
    for i, s in enumerate(GOOD.at_own(Y.time)):
        k = min(int(s * 4), 3)
        if Y.event[i]:
            events[k] += 1
            weights[k] += 1
        else:
            weights[k] += (s - k / 4) / s
            weights[:k] += 0.25 / s
    assert d.column("events", model="good") == pytest.approx(events)
    assert d.column("observed", model="good") == pytest.approx(weights)
    assert d.column("expected") == pytest.approx(np.full(4, N / 4))
    assert d.column("p_value", model="good") == sg.d_calibration(Y, GOOD, bins=4).p_value


def test_groups_of_calibration_by_the_formula(ev):
    d = display(ev, "calibration_panel", time=6.0, groups=5)
    names = ("predicted", "observed", "low", "high", "n", "events")
    predicted, observed, low, high, n, events = (
        d.column(name, model="good", part="groups") for name in names
    )
    p = 1 - GOOD.at(6.0)
    order = np.argsort(p)
    for k, rows in enumerate(np.split(order, 5)):
        survival, variance = kaplan_meier(Y.time[rows], Y.event[rows], 6.0)
        assert predicted[k] == pytest.approx(p[rows].mean())
        assert observed[k] == pytest.approx(1 - survival)
        assert n[k] == 12
        assert events[k] == np.sum(Y.event[rows] & (Y.time[rows] <= 6))
        if 0 < survival < 1:
            factor = np.exp(1.959964 * np.sqrt(variance) / np.log(survival))
            bounds = 1 - survival**factor, 1 - survival ** (1 / factor)
            assert (low[k], high[k]) == pytest.approx(bounds)
        else:
            assert np.isnan(low[k])
    alone = display(ev, "calibration_panel", time=6.0, groups=5, models=["flat"])
    assert alone.column("n", part="groups").tolist() == [60]  # equal predictions


def test_calibration_is_read_at_the_time_of_interest(ev):
    assert display(ev, "calibration_panel").column("at") == ev.task.time


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
    d = display(ev, "curves", times=times)
    names = ("observed", "low", "high", "predicted", "at_risk", "events")
    observed, low, high, predicted, at_risk, events = (
        d.column(name, model="good") for name in names
    )
    for k, t in enumerate(times):
        survival, variance = kaplan_meier(Y.time, Y.event, t)
        assert observed[k] == pytest.approx(survival)
        assert predicted[k] == pytest.approx(np.mean([GOOD[i].at(t)[0] for i in range(N)]))
        assert at_risk[k] == np.sum(Y.time >= t)
        assert events[k] == np.sum(Y.event & (Y.time <= t))
        if 0 < survival < 1:
            factor = np.exp(1.959964 * np.sqrt(variance) / -np.log(survival))
            assert low[k] == pytest.approx(survival**factor)
            assert high[k] == pytest.approx(survival ** (1 / factor))
    assert np.isnan(low[0])
    alone = display(given({}, Y), "curves", times=times)
    assert alone.column("observed") == pytest.approx(observed)
    assert alone.chart.title == "Observed survival"


def test_curves_by_group(ev):
    group = np.where(X > 0, "b", "a")
    d = display(ev, "curves", by=group, times=[2.0, 6.0])
    for name in ("a", "b"):
        own = group == name
        found = [kaplan_meier(Y.time[own], Y.event[own], t)[0] for t in (2.0, 6.0)]
        assert d.column("observed", model="flat", group=name) == pytest.approx(found)
        mean = GOOD.at([2.0, 6.0])[own].mean(axis=0)
        assert d.column("predicted", model="good", group=name) == pytest.approx(mean)
    assert len(d.chart.panels) == 2  # of the models with curves
    p = log_rank_test(Y[group == "a"], Y[group == "b"]).p_value
    assert d.chart.panels[0].title[1] == f": log-rank p {p_relation(p)}"
    with pytest.raises(sg.InputError, match="by must be 'risk' or the group of each of the 60"):
        display(ev, "curves", by="sex")


def test_bands_of_estimates_count_frequencies():
    weight = np.arange(1, N + 1) % 3
    rows = np.repeat(np.arange(N), weight)
    times = np.linspace(0, 20, 7)
    a = observed_band(sg.Outcomes(Y.time, Y.event, weight), None, times, 0.9)
    b = observed_band(Y[rows], None, times, 0.9)
    for ours, theirs in zip(a, b, strict=True):
        assert ours == pytest.approx(theirs, nan_ok=True)


# -- support, surrogates --------------------------------------------------------------------------


def test_support_by_counting(ev):
    d = display(ev, "support", times=[0.0, 2.0, Y.time[3], 11.0, 99.0])
    for row in d.rows():
        t = row["time"]
        assert row["at_risk"] == np.sum(Y.time >= t)
        assert row["events"] == np.sum(Y.event & (Y.time <= t))
        assert row["reference_at_risk"] == np.sum(Y_TRAIN.time >= t)
        assert row["censoring"] == pytest.approx(censoring(Y, t, left=False))
    assert d.chart.panels[0].title.startswith(f"supported until {ev.task.horizon:.4g}")
    again = display(given({}, Y, y_train=Y_TRAIN), "support", times=d.column("time"))
    assert again.rows() == d.rows()


def test_support_averages_a_censoring_function():
    def g(t, side):
        return np.where(X > 0, np.exp(-0.1 * np.asarray(t)), 1.0)

    d = display(given({}, Y, censoring=g), "support", times=[0.0, 10.0])
    expected = [1.0, np.mean(np.where(X > 0, np.exp(-1), 1))]
    assert d.column("censoring") == pytest.approx(expected)
    labels = [mark.label for mark in d.chart.panels[0].marks]
    assert "at risk, reference" not in labels


def test_imputed_times_by_method(ev):
    d = display(ev, "imputed_times")
    order = np.argsort(Y.time[~Y.event], kind="stable")
    assert d.column("time") == pytest.approx(np.sort(Y.time[~Y.event]))
    assert [part["method"] for part in d.table] == ["margin", "ipcw_t", "po", "pop_po"]
    for part in d.table:
        expected = sg.surrogate_times(Y, y_train=Y_TRAIN, method=part["method"])
        times = np.where(expected.defined, expected.time, np.nan)[~Y.event][order]
        assert part["counted"] == pytest.approx(times, nan_ok=True)
        assert part["weight"] == pytest.approx(expected.weight[~Y.event][order])
    with pytest.raises(sg.InputError, match="methods"):
        display(ev, "imputed_times", methods=["uncensored"])
    with pytest.raises(sg.InputError, match="these outcomes have none up to tau"):
        display(given({}, Y, tau=0.05), "imputed_times")


# -- what all share -------------------------------------------------------------------------------


#: Figures of the table alone, and figures that need no predictions.
OF_TABLE = ("metrics", "differences")
OF_OUTCOMES = ("support", "imputed_times", "curves")


@pytest.mark.parametrize("kind", [k for k in DISPLAYS if k not in OF_TABLE])
def test_predictions_give_the_same_as_an_evaluation(ev, kind):
    ours = display(ev, kind)
    theirs = display(given(PREDICTIONS, Y, y_train=Y_TRAIN, unit="days"), kind)
    np.testing.assert_equal(ours.rows(), theirs.rows())
    assert (ours.about, ours.chart.title) == (theirs.about, theirs.chart.title)
    assert ours.chart.left_out == theirs.chart.left_out


@pytest.mark.parametrize("kind", DISPLAYS)
def test_frames_are_the_rows(ev, kind, monkeypatch):
    pytest.importorskip("pandas")
    made = DISPLAYS[kind](ev)
    rows, frame = made.rows(), made.frame()
    assert len(frame) == len(rows) > 0
    assert list(frame.columns) == list(dict.fromkeys(name for row in rows for name in row))
    assert all(
        isinstance(v, str | int | float | bool | type(None)) for row in rows for v in row.values()
    )
    with pytest.raises(sg.InputError, match="no column 'mood' with any label"):
        made.column("mood")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sg.MissingExtraError, match="survgauge\\[pandas\\]"):
        made.frame()


def test_without_intervals_bounds_are_nan():
    part = sg.evaluate(PREDICTIONS, Y, y_train=Y_TRAIN, confidence=None, metrics=["mae_po"])
    for kind in ("brier", "auc", "errors", "calibration_panel", "curves", "risk_groups"):
        made = DISPLAYS[kind](part)
        assert np.isnan(made.column("low", model="good")).all()
        assert np.isnan(made.column("high", model="good")).all()


def test_displays_can_be_limited_to_some_models(ev):
    for kind in ("subjects", "brier", "auc", "d_calibration", "curves", "errors"):
        made = DISPLAYS[kind](ev, models="good")
        assert {row["model"] for row in made.rows()} <= {"good", ""}
        with pytest.raises(sg.InputError, match="did you mean 'good'"):
            DISPLAYS[kind](ev, models=["goood"])


def test_streamed_evaluations_say_so(ev):
    bare = replace(ev, predictions={})
    for kind in DISPLAYS:
        if kind in OF_OUTCOMES:
            assert display(bare, kind).rows()
            continue
        if kind in OF_TABLE:
            both = (display(some, kind).rows() for some in (bare, ev))
            np.testing.assert_equal(*both)
            continue
        with pytest.raises(sg.InputError, match=r"holds none .*display\(given\("):
            display(bare, kind)


def test_unknown_kinds_are_named(ev):
    with pytest.raises(sg.InputError, match="did you mean 'd_calibration'"):
        ev.plot("d_calibraton")


def test_names_of_version_0_1_work_with_a_warning(ev):
    """Each kind says which kind to ask for, and gives that one."""
    for old, new in displays.OLD_KINDS.items():
        assert new in DISPLAYS
        with pytest.warns(DeprecationWarning, match=f"{old!r} goes in 0.3; ask for {new!r}"):
            made = display(ev, old)
        assert made.chart.title == display(ev, new).chart.title
    with pytest.warns(DeprecationWarning, match="ask for 'metrics'"):
        assert display(ev, "groups", metric="ibs").column("metric") == "ibs"
