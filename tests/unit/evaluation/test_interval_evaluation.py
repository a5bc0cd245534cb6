"""`evaluate` with interval-censored outcomes: table, comparisons, groups, refusals, pages."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge import displays
from survgauge.metrics.registry import metrics_of
from survgauge.metrics.task import Task
from survgauge.metrics.time.interval_errors import interval_error

NAMES = sorted(name for name, metric in metrics_of("interval").items() if metric.default)
GRID = np.linspace(0, 30, 61)


def curves_of(x, slope):
    return sg.SurvivalCurves(GRID, np.exp(-((GRID / (4 * np.exp(-slope * x[:, None]))) ** 1.5)))


def draw(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t = rng.weibull(1.5, n) * 4 * np.exp(-0.7 * x)
    seen = sg.visits(t, 1.0, end=rng.uniform(2, 9, n), random_state=seed)
    models = {
        "true": curves_of(x, 0.7),
        "flat": curves_of(x, 0.1),
        "times": 4 * np.exp(-0.7 * x),
        "risk": sg.RiskScores(x),
    }
    return seen.y, models, x


@pytest.fixture(scope="module")
def ev():
    y, models, _ = draw()
    return sg.evaluate(models, y, y_train=draw(seed=1)[0], unit="years")


def test_all_metrics_of_intervals_and_no_other(ev):
    assert sorted({row["metric"] for row in ev.rows()}) == NAMES
    by_model = {m: {r["metric"] for r in ev.rows() if r["model"] == m} for m in ev.models}
    assert by_model["risk"] == {"interval_c"}
    assert by_model["times"] == {"interval_c", "interval_mae_expected", "interval_mae_hinge"}


def test_values_are_those_of_the_functions(ev):
    y, models, _ = draw()
    distribution = sg.Turnbull.fit(draw(seed=1)[0])
    end, time = ev.support["horizon"], ev.support["time"]
    known = {(r["model"], r["metric"]): r for r in ev.rows()}
    curves = models["true"]
    wanted = {
        "interval_mae_expected": interval_error(y, curves, distribution=distribution, tau=end),
        "interval_mae_hinge": interval_error(y, curves, method="hinge", tau=end),
        "interval_c": sg.concordance_index(y, -curves.median()),
        "interval_brier": sg.brier_score(y, curves, [time], distribution=distribution).details,
        "interval_ibs": sg.integrated_brier_score(y, curves, tau=end, distribution=distribution),
        "interval_log_likelihood": sg.log_likelihood(y, curves),
        "interval_observed_expected": sg.observed_expected(y, curves, time),
        "turnbull_calibration": sg.km_calibration(y, curves, tau=end),
    }
    assert sorted(wanted) == NAMES
    for name, found in wanted.items():
        row = known["true", name]
        assert row["value"] == pytest.approx(found.value), name
        assert row["stderr"] == pytest.approx(found.stderr), name
        assert row["low"] <= row["value"] <= row["high"]
    assert known["true", "interval_mae_expected"]["convention"]["distribution"] == (
        "Turnbull's, training outcomes"
    )


def test_squared_errors_where_they_are_named():
    y, models, _ = draw()
    train = draw(seed=1)[0]
    names = ["interval_mse_expected", "interval_rmse_expected"]
    found = sg.evaluate(models, y, y_train=train, metrics=names)
    end, known = found.support["horizon"], {(r["model"], r["metric"]): r for r in found.rows()}
    for model in ("true", "flat", "times"):
        wanted = interval_error(y, models[model], loss="squared", y_train=train, tau=end)
        assert known[model, names[0]]["value"] == pytest.approx(wanted.value)
        assert known[model, names[0]]["stderr"] == pytest.approx(wanted.stderr)
        assert known[model, names[1]]["value"] == pytest.approx(np.sqrt(wanted.value))
    assert "risk" not in {model for model, _ in known}


def test_nobody_is_best_by_the_hinge_error_if_another_error_is_known():
    y, models, _ = draw()
    only = {name: models[name] for name in ("true", "times")}
    names = ["interval_mae_hinge", "interval_mae_expected"]
    found = sg.evaluate(only, y, metrics=names)
    assert "Expected MAE, interval-censored" in found.verdict
    assert "hinge" not in found.verdict


def test_baseline_is_turnbull_for_everybody(ev):
    y, _, _ = draw()
    distribution = sg.Turnbull.fit(draw(seed=1)[0])
    row = next(r for r in ev.baseline_comparisons() if r["metric"] == "interval_ibs")
    own = next(s for s in ev.scores if s.metric.name == "interval_ibs")
    base = sg.integrated_brier_score(
        y, distribution.curves(len(y)), tau=ev.support["horizon"], distribution=distribution
    )
    assert own.value - row["difference"] == pytest.approx(base)
    data = ev.to_dict()
    assert data["support"]["estimate"] == "Turnbull's estimate"


def test_verdict_text_page_and_plots(ev, tmp_path):
    assert ev.verdict.startswith("true is best: its interval log-likelihood")
    assert "Kaplan-Meier" not in ev.verdict
    assert "120 subjects" in ev.to_text()
    page = ev.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Interval log-likelihood" in page
    found = ev.compare()
    assert {"true", "flat"} <= set(found["model_a"]) | set(found["model_b"])
    with pytest.raises(sg.InputError, match="'brier' draws right-censored outcomes"):
        ev.plot("brier")


def test_plots_of_the_table(ev):
    pytest.importorskip("matplotlib")
    assert ev.plot("metrics") is not None
    assert ev.plot("differences") is not None
    assert ev.plot("curves") is not None


def test_mean_curve_is_held_against_turnbull(ev):
    y, models, _ = draw()
    shown = displays.display(ev, "curves", times=[2, 4])
    found = {name: shown.column(name, model="true") for name in ("observed", "low", "high")}
    np.testing.assert_allclose(found["observed"], sg.Turnbull.fit(y).at([2, 4]))
    mean = models["true"].at([2, 4]).mean(axis=0)
    np.testing.assert_allclose(shown.column("predicted", model="true"), mean)
    assert (found["low"] < found["observed"]).all()
    assert (found["observed"] < found["high"]).all()
    assert shown.describe().caption.startswith("Turnbull's estimate of the test subjects.")
    assert shown.describe().panels[0].counts is None


def test_groups_clusters_weights_and_times():
    y, models, x = draw()
    only = {"true": models["true"]}
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.5, 2, len(y))
    ev = sg.evaluate(only, y, by=x > 0, time=[2, 4], cluster=np.arange(len(y)) // 3)
    rows = ev.rows()
    assert {row["group"] for row in rows} == {None, False, True}
    assert sorted({r["time"] for r in rows if r["metric"] == "interval_brier"}) == [2, 4]
    alone = sg.evaluate(
        {"true": models["true"][np.flatnonzero(x > 0)]}, y[x > 0], metrics=["interval_c"],
    )  # fmt: skip
    (part,) = [r for r in rows if r["group"] is True and r["metric"] == "interval_c"]
    assert part["value"] == pytest.approx(alone.rows()[0]["value"])
    weighted = sg.evaluate(only, y, sample_weight=weight)
    values = {r["metric"]: r["value"] for r in weighted.rows()}
    direct = sg.log_likelihood(y, models["true"], sample_weight=weight)
    assert values["interval_log_likelihood"] == pytest.approx(direct)
    assert np.isnan(values["turnbull_calibration"])


def test_distribution_per_subject():
    y, models, _ = draw()
    only = {"flat": models["flat"]}
    distribution = sg.Conditional(distribution=models["true"])
    ev = sg.evaluate(only, y, conditional=distribution, metrics=["interval_ibs"], tau=5)
    wanted = sg.integrated_brier_score(y, models["flat"], tau=5, distribution=models["true"])
    assert ev.rows()[0]["value"] == pytest.approx(wanted)
    assert ev.rows()[0]["convention"]["distribution"] == "one per subject, as given"
    part = sg.evaluate(only, y, conditional=distribution, metrics=["interval_ibs"], tau=5,
                       by=np.arange(len(y)) % 2)  # fmt: skip
    values = [r["value"] for r in part.rows()]
    assert values[0] == pytest.approx(np.mean(values[1:]))


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_chunks_give_the_same(monkeypatch, confidence):
    y, models, _ = draw()
    options = {"y_train": draw(seed=1)[0], "confidence": confidence}
    whole = sg.evaluate(models, y, **options)
    monkeypatch.setattr("survgauge.evaluation.columns.CHUNK_ROWS", 17)
    monkeypatch.setattr("survgauge.evaluation.columns.CHUNK_VALUES", 1)
    for room in ("cells", "call"):
        monkeypatch.setattr(f"survgauge.evaluation.{room}.CONTRIBUTIONS_LIMIT", 10)
    parts = sg.evaluate(models, y, **options)
    for a, b in zip(whole.rows(), parts.rows(), strict=True):
        for key in ("value", "stderr", "low", "high", "skill"):
            assert a[key] == pytest.approx(b[key], nan_ok=True), (a["metric"], key)
    pairs = zip(whole.comparisons(), parts.comparisons(), strict=True)
    for a, b in pairs:
        assert a["p_value"] == pytest.approx(b["p_value"], nan_ok=True, abs=1e-9), a["metric"]


def test_right_censored_training_outcomes_are_taken():
    y, models, _ = draw()
    train = sg.Outcomes([1, 2, 3, 4, 5, 6.0], [1, 1, 0, 1, 1, 0])
    ev = sg.evaluate({"true": models["true"]}, y, y_train=train, metrics=["interval_ibs"])
    assert ev.support["reference"] == "training outcomes"
    assert ev.support["training_events"] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["brier"]}, "brier supports right-censored outcomes only"),
        ({"metrics": "study"}, "a study reports metrics of right-censored outcomes"),
        ({"convention": "paper"}, "convention: metrics of interval-censored outcomes have no"),
        ({"censoring": "train"}, "censoring: metrics of interval-censored"),
        ({"reference": "redrawn"}, "reference: metrics of interval-censored"),
        ({"X_test": np.ones((120, 1))}, "X_test: metrics of interval-censored"),
        ({"cause": 1}, "cause: metrics of interval-censored"),
        ({"conditional": 3}, "conditional must be a Conditional with a distribution"),
        ({"y_train": ([3, 2], [2, 5])}, "y_train: lower must not be above upper"),
    ],
)
def test_refusals(options, message):
    y, models, _ = draw()
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate(models, y, **options)


def test_metrics_of_intervals_are_refused_for_right_censored_outcomes():
    _, models, _ = draw()
    y = sg.Outcomes(np.arange(1.0, 121), np.ones(120))
    with pytest.raises(sg.InputError, match="interval_brier is for interval-censored outcomes"):
        sg.evaluate(models, y, metrics=["interval_brier"])


def test_what_knows_right_censoring_only_refuses_the_result(ev):
    y, models, _ = draw()
    with pytest.raises(sg.InputError, match="IntervalOutcomes"):
        sg.audit(models, y, y_train=y)
    with pytest.raises(sg.InputError, match="interval-censored"):
        ev.study()


def test_horizon_is_where_ten_are_watched_and_a_quarter_is_lost():
    y, _, _ = draw()
    task = Task.of(y, None, None)
    lost = y.time[~y.event]
    assert np.sum(lost <= task.horizon) == len(y) // 4 + 1
    seen = y[y.event]
    assert np.sum(seen.time >= Task.of(seen, None, None).horizon) == 10
    assert task.time == min(np.median(y.time), task.horizon)


def test_few_and_silent_subjects():
    y = sg.IntervalOutcomes([0, 1, 2], [2, 3, np.inf])
    ev = sg.evaluate({"m": curves_of(np.zeros(3), 0.1)}, y)
    assert {"few-events", "in-sample-reference"} <= {w.code for w in ev.warnings}
    nobody = sg.IntervalOutcomes([1, 2], [np.inf, np.inf])
    ev = sg.evaluate({"m": curves_of(np.zeros(2), 0.1)}, nobody)
    assert "undefined-metric" in {w.code for w in ev.warnings}


@pytest.mark.parametrize(
    ("every", "jitter", "told"), [(1.0, 1.0, False), (3.0, 1.0, True), (3.0, 0.0, False)]
)
def test_late_first_visits_are_told(every, jitter, told):
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    t = rng.weibull(1.5, 300) * 4 * np.exp(-0.7 * x)
    y = sg.visits(t, every, jitter=jitter, end=12, random_state=5).y
    models, names = {"true": curves_of(x, 0.7)}, ["interval_ibs"]

    def codes(**given):
        return {w.code for w in sg.evaluate(models, y, metrics=names, **given).warnings}

    assert ("late-first-visits" in codes()) == told
    assert "late-first-visits" not in codes(y_train=y)


def test_only_metrics_of_the_call_that_stop_are_said_to():
    y, models, _ = draw()
    given = {"true": models["true"]}
    for metric, stops in (("interval_c", False), ("interval_ibs", True)):
        ev = sg.evaluate(given, y, metrics=[metric])
        found = [w.message for w in ev.warnings if w.code == "watch-ends"]
        assert [text.startswith(f"{metric} stops at") for text in found] == [True] * stops
