"""Errors without a horizon that the assumed tail decides have a reason and a range, no interval."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.reference import Reference, reference_curves, thinned_out
from survgauge.evaluation.cells import ASSUMPTIONS
from survgauge.evaluation.text import verdict_lines
from survgauge.evaluation.verdict import best_models
from survgauge.report import evaluation_html

OPEN = ["mae_po", "mae_margin", "mae_expected", "mae_dr", "rmse_po"]
BLIND = ["mae_ipcw_d", "mae_ipcw_t", "mae_uncensored"]


def draw(n: int, seed: int, end: float) -> tuple[tuple[Any, Any], Any]:
    """Weibull times, 10 % lost early, all others followed up to `end`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time = 10 * np.exp(-0.5 * x) * rng.weibull(1.5, n)
    limit = np.where(rng.random(n) < 0.1, rng.uniform(0, 10, n), end)
    return (np.minimum(time, limit), time <= limit), x


def curves(x: Any, slope: float, end: float, tail: str = "linear") -> sg.SurvivalCurves:
    grid = np.linspace(0, end, 60)[1:]
    survival = np.exp(-((grid / (10 * np.exp(-slope * x[:, None]))) ** 1.5))
    return sg.SurvivalCurves(grid, survival, tail=tail)


def evaluated(end: float, n: int = 300, **options: Any) -> sg.Evaluation:
    y, x = draw(n, 0, end)
    train, _ = draw(n, 1, end)
    last = min(end, 60.0)
    models = {"good": curves(x, 0.5, last), "half": curves(x, 0.2, last)}
    return sg.evaluate(models, y, y_train=train, **{"metrics": [*OPEN, *BLIND, "ibs"], **options})


def test_follow_up_past_the_last_event_withholds_nothing() -> None:
    ev = evaluated(1e6)
    assert {row["withheld"] for row in ev.rows()} == {""}
    assert {row["withheld"] for row in ev.comparisons()} == {""}
    for row in ev.rows():
        assert row["low"] < row["value"] < row["high"]
        assert np.isnan(row["tail_low"])


@pytest.mark.parametrize("end", [9.0, 20.0, 1e6])
def test_functions_withhold_the_same_intervals(end: float) -> None:
    y, x = draw(300, 0, end)
    train, _ = draw(300, 1, end)
    model = curves(x, 0.5, min(end, 60.0))
    ev = sg.evaluate(model, y, y_train=train, metrics=OPEN + BLIND)
    for row in ev.rows():
        error = sg.mae if row["metric"].startswith("mae") else sg.rmse
        method = row["metric"].split("_", 1)[1]
        found = error(y, model, y_train=train, method=method)
        assert found.interval() == pytest.approx((row["low"], row["high"]), nan_ok=True)
        assert np.isfinite(error(y, model, y_train=train, method=method, tau=8.0).interval()).all()
    known = sg.mae(y, model, method="true", true_time=y[0])
    assert np.isfinite(known.interval()).all()


@pytest.mark.parametrize("end", [9.0, 20.0])  # about 45 % and 3 % are event-free then
def test_an_open_end_withholds_every_error_without_a_horizon(end: float) -> None:
    ev = evaluated(end, metrics=[*OPEN, *BLIND, "ibs", "mae_within"])
    for row in ev.rows():
        restricted = row["metric"] in ("ibs", "mae_within")
        assert (row["withheld"] == "") == restricted
        assert np.isnan(row["low"]) != restricted
        assert np.isnan(row["high"]) != restricted
        assert np.isfinite(row["value"])
    for row in [*ev.comparisons(), *ev.baseline_comparisons()]:
        restricted = row["metric"] in ("ibs", "mae_within")
        for name in ("low", "high", "p_value", "p_holm", "low_simultaneous", "p_simultaneous"):
            assert np.isnan(row[name]) != restricted, (row["metric"], name)
    assert ev.group_differences().empty


@pytest.mark.parametrize("metric", OPEN)
def test_the_range_is_that_of_evaluations_with_each_tail(metric: str) -> None:
    end = 9.0
    y, x = draw(200, 0, end)
    train, _ = draw(200, 1, end)
    values = {
        tail: sg.evaluate(
            {"m": curves(x, 0.5, end, tail)}, y, y_train=train, metrics=metric, tail=tail
        ).rows()[0]["value"]
        for tail in ASSUMPTIONS
    }
    [score] = sg.evaluate({"m": curves(x, 0.5, end)}, y, y_train=train, metrics=metric).scores
    assert score.tails == pytest.approx(tuple(values.values()), rel=1e-12)
    assert score.withheld is not None
    assert (score.withheld.low, score.withheld.high) == pytest.approx(
        (min(values.values()), max(values.values())), rel=1e-12
    )


def test_errors_that_leave_out_later_times_have_a_reason_and_no_range() -> None:
    for row in evaluated(9.0).rows():
        if row["metric"] in BLIND:
            assert row["withheld"].endswith("and this error says nothing about later times")
            assert np.isnan(row["tail_low"])


def test_a_horizon_within_the_follow_up_withholds_nothing() -> None:
    assert {row["withheld"] for row in evaluated(9.0, tau=8.0).rows()} == {""}
    assert "" not in {row["withheld"] for row in evaluated(9.0, tau=12.0).rows()[:-1][:5]}


def test_subjects_lost_before_the_end_count_as_unseen() -> None:
    """Kaplan-Meier may fall to zero at the last of a handful of subjects."""
    rng = np.random.default_rng(0)
    time, limit = rng.weibull(1.5, 400), rng.exponential(0.5, 400)
    y = np.minimum(time, limit), time <= limit
    y[1][np.argmax(y[0])] = True
    reference = Reference.of(y)
    assert reference.last_survival == 0
    found = thinned_out(reference)
    then = found["reference_thin_from"]
    assert np.sum(y[0] >= then) >= 10 > np.sum(y[0] > then)
    assert found["reference_lost"] > 0.05
    [row] = sg.evaluate({"m": np.ones(400)}, y, metrics="mae_dr").rows()
    assert "fewer than 10 subjects" in row["withheld"]


def test_streams_and_chunks_withhold_the_same() -> None:
    end = 9.0
    y, x = draw(240, 0, end)
    train, _ = draw(200, 1, end)
    good = curves(x, 0.5, end)
    names = [f"s{k}" for k in range(good.times.size)]
    columns = {"time": y[0], "event": y[1], **dict(zip(names, good.survival.T, strict=True))}
    parts = [{k: v[rows] for k, v in columns.items()} for rows in (slice(0, 100), slice(100, 240))]
    options = {"y_train": train, "metrics": [*OPEN, *BLIND]}
    spec = {"m": sg.CurveColumns(tuple(names), good.times)}
    stream = sg.evaluate_stream(parts, predictions=spec, **options)
    whole = sg.evaluate({"m": good}, y, **options)
    for ours, theirs in zip(stream.rows(), whole.rows(), strict=True):
        assert ours["withheld"] == theirs["withheld"] != ""
        for name in ("value", "tail_low", "tail_high"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-9, nan_ok=True)


def test_no_display_marks_or_tests_what_is_withheld(tmp_path: Any) -> None:
    ev = evaluated(9.0, metrics=["mae_po", "mae_dr"], unit="days")
    data = ev.to_dict()
    assert best_models(data["metrics"]) == set()
    assert "is best" not in ev.verdict
    assert "No interval or test is given" in ev.verdict
    for text in (str(ev), ev.to_text()):
        assert "No interval or test for mae_po and mae_dr, because " in " ".join(text.split())
        assert " p " not in text.split("Support")[0].split("Metrics")[1]
        assert "95 % CI" not in text
    page = evaluation_html(ev)
    for mark in ('class="number first', 'class="number behind', "days better"):
        assert mark not in page
    assert "No interval or test for" in page
    assert "font-weight:bold" not in ev._repr_html_()
    assert "p =" not in ev._repr_html_()
    table = ev.study(metrics=["mae_po"], reference="good").table_two
    assert "No interval or test for mae_po" in " ".join(table.notes)
    assert all(row[-1] == "-" for row in table.rows if len(row) > 1)
    plain = json.loads(json.dumps(data, allow_nan=False))
    assert {row["low"] for row in plain["metrics"]} == {None}


# -- the user's Kaplan-Meier -----------------------------------------------------------------------


def beside_kaplan_meier(km: sg.SurvivalCurves, **options: Any) -> sg.Evaluation:
    y, x = draw(300, 0, 20.0)
    train, _ = draw(300, 1, 20.0)
    models = {"good": curves(x, 0.5, 20.0), "km": km}
    return sg.evaluate(models, y, y_train=train, metrics=["mae_within", "ibs"], **options)


def kaplan_meier(grid: Any = None, interpolation: str = "step") -> sg.SurvivalCurves:
    train, _ = draw(300, 1, 20.0)
    exact = reference_curves(train, 300)
    if grid is None:
        return exact
    return sg.SurvivalCurves(grid, exact.at(grid), interpolation)


@pytest.mark.parametrize("size", [None, 100, 300])
@pytest.mark.parametrize("interpolation", ["step", "linear"])
def test_a_kaplan_meier_of_the_user_is_recognised(size: int | None, interpolation: str) -> None:
    grid = None if size is None else np.linspace(0, 20, size)
    ev = beside_kaplan_meier(kaplan_meier(grid, interpolation))
    assert ev.support["same_as_baseline"] == ["km"]
    assert {row["model"] for row in ev.baseline_comparisons()} == {"good"}
    assert ev.verdict.count("Kaplan-Meier") == 1
    assert "better than the Kaplan-Meier baseline km (" in ev.verdict


def test_other_models_are_not_taken_for_the_baseline() -> None:
    _, x = draw(300, 0, 20.0)
    assert "same_as_baseline" not in beside_kaplan_meier(curves(0.02 * x, 0.5, 20.0)).support
    shifted = kaplan_meier().survival[0] ** 1.2
    exact = kaplan_meier()
    other = sg.SurvivalCurves(exact.times, np.tile(shifted, (300, 1)), "step")
    assert "same_as_baseline" not in beside_kaplan_meier(other).support
    one = np.array(exact.survival)
    one[7] = one[7] ** 3  # one subject is told from the others
    mixed = sg.SurvivalCurves(exact.times, one, "step")
    assert "same_as_baseline" not in beside_kaplan_meier(mixed).support
    late = sg.SurvivalCurves([0.0, 500.0], np.tile([1.0, 0.2], (300, 1)))  # only 0 is in reach
    assert "same_as_baseline" not in beside_kaplan_meier(late).support


def test_a_stream_recognises_kaplan_meier_too() -> None:
    (time, event), x = draw(300, 0, 20.0)
    train, _ = draw(300, 1, 20.0)
    exact = kaplan_meier()
    one = np.array(exact.survival)
    one[250] = one[250] ** 3  # a subject of the last batch is told from the others
    values = {"good": curves(x, 0.5, 20.0).at(exact.times), "km": exact.survival, "mixed": one}
    batches = [
        {"time": time[rows], "event": event[rows]} | {n: v[rows] for n, v in values.items()}
        for rows in (slice(0, 100), slice(100, 200), slice(200, 300))
    ]
    columns = {name: sg.CurveColumns(name, exact.times, "step") for name in values}
    ev = sg.evaluate_stream(batches, y_train=train, predictions=columns, metrics=["mae_within"])
    assert ev.support["same_as_baseline"] == ["km"]
    assert {row["model"] for row in ev.baseline_comparisons()} == {"good", "mixed"}


def test_no_range_where_the_last_subject_has_the_event() -> None:
    rng = np.random.default_rng(0)
    time, limit = rng.weibull(1.0, 300), rng.exponential(0.5, 300)  # most are lost before the end
    y = np.append(np.minimum(time, limit), 9.0), np.append(time <= limit, True)
    model = sg.SurvivalCurves([0.0, 12.0], np.tile([1.0, 0.0], (301, 1)))
    [row] = sg.evaluate(model, y, y_train=y, metrics=["mae_dr"]).rows()
    assert "fewer than 10 subjects" in row["withheld"]
    assert np.isnan([row["low"], row["tail_low"], row["tail_high"]]).all()


# -- what is marked, and what is assumed -----------------------------------------------------------


def test_values_that_look_the_same_are_marked() -> None:
    rows = [
        {"model": name, "metric": "ibs", "value": value, "group": None, "time": None}
        for name, value in (("a", 0.21412), ("b", 0.21408), ("c", 0.2151))
    ]
    assert {model for _, model in best_models(rows)} == {"a", "b"}


def test_without_features_the_assumption_about_censoring_is_said() -> None:
    y, x = draw(300, 0, 20.0)
    train, _ = draw(300, 1, 20.0)
    said = "Censoring is assumed not to depend on covariates"
    options = {"y_train": train, "metrics": ["mae_within", "harrell"]}
    ev = sg.evaluate({"m": curves(x, 0.5, 20.0)}, y, **options)
    assert ev.support["assumes"].startswith(said)
    assert ev.verdict.endswith("pass X_test= and X_train= to check it.")
    assert said in evaluation_html(ev).replace("\u00a0", " ")
    study = ev.study()
    (noted,) = (note for note in study.table_two.notes if said in note)
    assert noted.endswith("This was not checked.")  # a paper needs no advice
    shell = " ".join(line for line, _ in verdict_lines(ev.to_dict(), shell=True))
    assert shell.endswith("This was not checked: pass --features to check it.")
    checked = sg.evaluate({"m": curves(x, 0.5, 20.0)}, y, X_test=x[:, None], **options)
    assert "assumes" not in checked.support
    known = sg.evaluate({"m": np.ones(300)}, (y[0], np.ones(300)), metrics=["harrell"])
    assert "assumes" not in known.support


def test_a_remark_names_no_metric_that_no_model_has() -> None:
    y, x = draw(300, 0, 20.0)
    said = " ".join(w.message for w in sg.evaluate({"m": 10 * np.exp(-0.5 * x)}, y).warnings)
    assert "ibs" not in said
