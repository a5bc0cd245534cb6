"""Tau is the horizon of whatever stops at one; several times are several calls."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import NAMES, differences, draw, in_memory, predictions

import survgauge as sg
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.task import Task
from survgauge.report import evaluation_html

COLUMNS, Y_TRAIN = draw(240, seed=3)
#: Nobody at time 0, and all within the curves.
COLUMNS["time"] = COLUMNS["time"].clip(1.0, 24.0)
Y = COLUMNS["time"], COLUMNS["event"]
CURVES = predictions(COLUMNS)["a"]
TIMES = (4.0, 9.0, 14.0)
AT_TIMES = [name for name in NAMES if REGISTRY[name].reads == "time"]


def by_cell(rows, **where):
    return [row for row in rows if all(row.get(k) == v for k, v in where.items())]


# -- several times -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence": None},
        {"by": COLUMNS["event"]},
        {"cluster": np.arange(240) // 8},
        {"sample_weight": np.arange(240) % 5},
        {"reference": "redrawn", "n_boot": 12, "metrics": ["brier", "auc", "uno"]},
        {"convention": "pycox"},
        {"tau": 12.0},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_several_times_are_several_calls(options):
    options = {"metrics": ["mae_po", "harrell", "ibs", *AT_TIMES, "d_calibration"], **options}

    def plain(times):
        ev = in_memory(COLUMNS, Y_TRAIN, time=times, **options)
        return ev.to_dict() | {"warnings": [case.to_dict() for case in ev.cases]}

    whole = plain(TIMES)
    assert {row["time"] for row in whole["metrics"]} == {None, *TIMES}
    for time in TIMES:
        alone = plain(time)
        for table in ("metrics", "comparisons", "baseline_comparisons", "warnings"):
            found = [row for row in whole[table] if row["time"] in (None, time)]
            assert differences(found, alone[table], rel=1e-12) == [], table


def test_a_metric_at_a_time_has_a_score_for_each_of_them():
    ev = in_memory(COLUMNS, Y_TRAIN, time=TIMES)
    for name in NAMES:
        found = [row["time"] for row in by_cell(ev.rows(), model="a", metric=name)]
        assert found == ([*TIMES] if name in AT_TIMES else [None]), name
    assert ev.support["times"] == [*TIMES]
    assert ev.support["time"] == TIMES[0]
    assert ev.support["metrics"]["a"]["brier at 9"]["events"] > 0
    assert "brier" not in ev.support["metrics"]["a"]
    alone = in_memory(COLUMNS, Y_TRAIN, time=9)
    assert alone.support["metrics"]["a"]["brier"] == ev.support["metrics"]["a"]["brier at 9"]


def test_times_keep_their_order_and_count_once():
    ev = sg.evaluate({"m": CURVES}, Y, y_train=Y_TRAIN, metrics=["brier"], time=[9, 4, 9.0])
    assert [row["time"] for row in ev.rows()] == [9.0, 4.0]


def test_times_past_the_support_are_read_once_and_named():
    ev = in_memory(COLUMNS, Y_TRAIN, time=[9.0, 200.0, 300.0])
    horizon = ev.support["horizon"]
    assert [row["time"] for row in by_cell(ev.rows(), model="a", metric="auc")] == [9.0, horizon]
    (said,) = [w.message for w in ev.warnings if w.code == "time-past-horizon"]
    assert "the data support times up to 20, which is used in place of" in said
    assert said.endswith(": 200 and 300")
    late = in_memory(COLUMNS, Y_TRAIN, time=[9.0, 200.0], on_unsupported="nan", metrics=["auc"])
    assert [row["time"] for row in by_cell(late.rows(), model="a")] == [9.0, 200.0]
    assert [np.isnan(row["value"]) for row in by_cell(late.rows(), model="a")] == [False, True]


def test_an_own_metric_that_reads_the_time_has_a_score_for_each(monkeypatch):
    def loss(task, prediction):
        return np.square(prediction.curves.at(task.time) - (task.y.time > task.time))

    metric = sg.Metric(
        name="naive_brier", title="At the time of interest", terms=loss, reads="time"
    )
    monkeypatch.setitem(REGISTRY, "naive_brier", metric)
    ev = sg.evaluate({"m": CURVES}, Y, y_train=Y_TRAIN, metrics=["naive_brier"], time=TIMES)
    for row, time in zip(ev.rows(), TIMES, strict=True):
        want = np.mean(np.square(CURVES.at(time) - (Y[0] > time)))
        assert row["time"] == time
        assert row["value"] == pytest.approx(want, rel=1e-13)


def test_many_subjects_in_chunks_have_every_time(monkeypatch):
    from survgauge.evaluation import call

    want = in_memory(COLUMNS, Y_TRAIN, time=TIMES, confidence=None)
    monkeypatch.setattr(call, "chunk_rows", lambda widths: 50)
    found = in_memory(COLUMNS, Y_TRAIN, time=TIMES, confidence=None)
    assert differences(found.to_dict(), want.to_dict()) == []


# -- one clock -----------------------------------------------------------------------------------


def value(ev, metric, model="a"):
    (row,) = by_cell(ev.rows(), model=model, metric=metric)
    return row["value"]


def test_tau_is_the_time_of_interest():
    """With tau every metric at a time is that at the time tau, all of its numbers."""
    ev = in_memory(COLUMNS, Y_TRAIN, tau=9.0)
    explicit = in_memory(COLUMNS, Y_TRAIN, time=9.0)
    mine, theirs = (
        [row for row in e.to_dict()["metrics"] if row["metric"] in AT_TIMES] for e in (ev, explicit)
    )
    assert {row["time"] for row in mine} == {9.0}
    assert differences(mine, theirs, rel=1e-12) == []
    both = in_memory(COLUMNS, Y_TRAIN, tau=9.0, time=4.0)
    assert value(both, "brier") == value(in_memory(COLUMNS, Y_TRAIN, time=4.0), "brier")
    assert value(both, "ibs") == value(ev, "ibs")


def test_tau_is_the_horizon_of_what_stops_at_one():
    """Each number under tau is what its own function gives up to tau."""
    tau, y = 9.0, sg.Outcomes(*Y)
    ev = in_memory(COLUMNS, Y_TRAIN, tau=tau)
    grid, options = np.linspace(0, tau, 101), {"y_train": Y_TRAIN}
    risk = -CURVES.median()
    want = {
        "ibs": sg.integrated_brier_score(y, CURVES, grid, **options),
        "ibll": sg.integrated_binomial_log_likelihood(y, CURVES, grid, **options),
        "uno": sg.concordance_index(y, risk, method="uno", tau=tau, **options),
        "crps": sg.crps(y, CURVES, tau=tau),
        "km_calibration": sg.km_calibration(y, CURVES, tau=tau),
        "mae_po": sg.mae(y, CURVES, method="po", tau=tau, **options),
        "mae_dr": sg.mae(y, CURVES, method="dr", tau=tau, **options),
        "mae_within": sg.mae(y, CURVES, method="dr", tau=tau, **options),
        "brier": sg.brier_score(y, CURVES, [tau], **options).values[0],
        "auc": sg.cumulative_dynamic_auc(y, CURVES, [tau], **options).values[0],
        "ici": sg.integrated_calibration_index(y, CURVES, tau).ici,
        "one_calibration": sg.one_calibration(y, CURVES, tau).p_value,
    }
    for name, expected in want.items():
        assert value(ev, name) == pytest.approx(expected, rel=1e-12), name
    for row in by_cell(ev.rows(), model="a"):
        stops = REGISTRY[row["metric"]].stops
        assert row["until"] == (tau if stops else None), row["metric"]


def test_without_tau_the_rows_say_where_clocks_stop():
    ev = in_memory(COLUMNS, Y_TRAIN)
    ends = {"": None, "tau": None, "horizon": ev.support["horizon"], "follow_up": Y[0].max()}
    for row in by_cell(ev.rows(), model="a"):
        assert row["until"] == pytest.approx(ends[REGISTRY[row["metric"]].stops]), row["metric"]


def test_metrics_without_a_clock_do_not_change():
    plain, stopped = in_memory(COLUMNS, Y_TRAIN), in_memory(COLUMNS, Y_TRAIN, tau=9.0)
    for name in NAMES:
        metric = REGISTRY[name]
        if not metric.stops and metric.reads != "time":
            assert value(plain, name) == value(stopped, name), name
        elif metric.inference != "test":
            assert value(plain, name) != value(stopped, name), name


def test_a_tau_past_the_support_gives_way_and_it_is_said():
    plain = in_memory(COLUMNS, Y_TRAIN)
    horizon = plain.support["horizon"]
    ev = in_memory(COLUMNS, Y_TRAIN, tau=500.0)
    for name in ("ibs", "ibll", "uno", "mae_within", "km_calibration", "ibs_dr", "crps_dr"):
        assert value(ev, name) == pytest.approx(value(plain, name), rel=1e-12), name
    (row,) = by_cell(ev.rows(), model="a", metric="ibs")
    assert row["until"] == pytest.approx(horizon)
    (row,) = by_cell(ev.rows(), model="a", metric="brier")
    assert row["time"] == horizon
    assert {row["until"] for row in by_cell(ev.rows(), metric="mae_po")} == {500.0}
    codes = [w.code for w in ev.warnings]
    assert codes.count("tau-past-horizon") == 1
    assert "time-past-horizon" not in codes


def test_a_tau_past_the_support_can_be_refused():
    options = {"y_train": Y_TRAIN, "tau": 500.0}
    with pytest.raises(sg.InputError, match="tau 500 lies past"):
        sg.evaluate({"m": CURVES}, Y, metrics=["ibs"], on_unsupported="raise", **options)
    ev = sg.evaluate({"m": CURVES}, Y, metrics=["ibs"], on_unsupported="nan", **options)
    assert np.isnan(ev.rows()[0]["value"])
    assert any("tau 500 lies past" in w.message for w in ev.warnings)
    # Errors in time stop at tau wherever that lies.
    ev = sg.evaluate({"m": CURVES}, Y, metrics=["mae_po"], on_unsupported="raise", **options)
    assert np.isfinite(ev.rows()[0]["value"])


@pytest.mark.parametrize("name", ["brier", "ibs", "crps", "uno", "km_calibration", "mae_po"])
def test_scorers_run_by_the_same_clock(name):
    class Known:
        def predict_curves(self, X):
            return CURVES

    rows = np.zeros((240, 1))
    found = sg.scorer(name, y_train=Y_TRAIN, tau=9.0)(Known(), rows, Y)
    ev = sg.evaluate({"m": CURVES}, Y, y_train=Y_TRAIN, metrics=[name], tau=9.0)
    assert abs(found) == pytest.approx(ev.rows()[0]["value"], rel=1e-12)


def test_a_scorer_has_one_time():
    with pytest.raises(sg.InputError, match=r"time must be finite and positive; got \[4, 9\]"):
        sg.scorer("brier", time=[4, 9])


def test_conventions_of_other_packages_run_by_the_same_clock():
    for convention in ("paper", "sksurv", "survivaleval", "hazardous", "pycox"):
        options = {"convention": convention, "metrics": ["ibs", "brier", "uno"]}
        ev = in_memory(COLUMNS, Y_TRAIN, tau=9.0, **options)
        grid = np.linspace(0, 9, 101)
        known = {"y_train": Y_TRAIN, "convention": convention}
        assert value(ev, "ibs") == pytest.approx(
            sg.integrated_brier_score(Y, CURVES, grid, **known), rel=1e-12
        )
        assert value(ev, "uno") == pytest.approx(
            sg.concordance_index(Y, -CURVES.median(), method="uno", tau=9.0, **known), rel=1e-12
        )
        assert value(ev, "brier") == pytest.approx(
            sg.brier_score(Y, CURVES, [9.0], **known).values[0], rel=1e-12
        )


# -- audits and plans ----------------------------------------------------------------------------


def test_an_audit_runs_by_the_same_clock():
    models = {name: predictions(COLUMNS)[name] for name in ("a", "b")}
    options = {"y_train": Y_TRAIN, "draws": 4, "metrics": ["brier", "ibs", "harrell", "mae_po"]}
    found = sg.audit(models, Y, tau=9.0, **options)
    asked = {question.metric.name: question for question in found.questions}
    assert asked["brier"].time == 9.0
    assert asked["ibs"].horizon == asked["mae_po"].horizon == 9.0
    assert asked["harrell"].horizon is None
    several = sg.audit(models, Y, time=[4.0, 9.0], **options)
    briers = [question.asks for question in several.questions if question.metric.name == "brier"]
    assert briers == ["brier at 4", "brier at 9"]
    alone = sg.audit(models, Y, time=9.0, **options)
    both = [
        [row for row in e.rows() if row["metric"] == "brier" and row["time"] == 9.0]
        for e in (several, alone)
    ]
    plain = [[{k: v for k, v in row.items() if k != "asks"} for row in rows] for rows in both]
    assert both[0]
    assert differences(*plain) == []


def test_plans_run_by_the_same_clock():
    from survgauge.bench.experiment.scoring import Questions, score
    from survgauge.bench.experiment.specs import MetricSpec

    y, truth = sg.Outcomes(*Y), COLUMNS["time"] + 1.0
    questions = Questions(y, sg.Reference(sg.Outcomes(*Y_TRAIN)), truth)
    entries = [
        {"name": "ibs", "tau": 9.0},
        {"name": "brier", "tau": 9.0},
        {"name": "uno", "tau": 9.0},
        {"name": "brier", "tau": "horizon"},
        {"name": "brier", "tau": "horizon", "time": 4.0},
        {"name": "ibs", "tau": "horizon"},
        "ibs",
    ]
    specs = [MetricSpec.of(entry) for entry in entries]
    prediction = sg.data.predictions.Prediction.of(CURVES, len(y), "m")
    rows, failed = score(questions, prediction, tuple(specs))
    assert not failed
    found = [row["value"] for row in rows]
    options = {"y_train": Y_TRAIN, "convention": "paper"}
    horizon = questions.task({}).horizon
    brier = sg.brier_score(y, CURVES, [4.0, 9.0, horizon], **options).values
    assert found[0] == pytest.approx(
        sg.integrated_brier_score(y, CURVES, np.linspace(0, 9, 101), **options), rel=1e-12
    )
    assert [found[1], found[3], found[4]] == pytest.approx([brier[1], brier[2], brier[0]])
    assert found[5] == pytest.approx(found[6], rel=1e-12)
    # Up to a horizon the truth of Uno's C is Uno's C of the real times, which nobody is lost to.
    assert specs[2].truth_label == "uno(tau=9.0)"
    known = sg.concordance_index((truth, np.ones(len(y))), -CURVES.median(), method="uno", tau=9.0)
    assert rows[2]["true_value"] == pytest.approx(known, rel=1e-12)
    with pytest.raises(sg.InputError, match=r"time .* must be finite and positive"):
        MetricSpec.of({"name": "brier", "time": [4, 9]})


def test_half_of_the_reference_set_is_observed_longer_than_the_usual_time():
    ev = in_memory(COLUMNS, Y_TRAIN)
    assert ev.task.time == np.median(Y_TRAIN[0]) < ev.task.horizon
    told = f"{ev.task.time:.4g} (half of the training subjects were observed for longer)"
    assert f"Time of interest: {told}" in str(ev)
    assert f"time of interest: {ev.task.time:.6g} (half of the training" in ev.to_text()
    assert " (half of the training subjects were observed for longer)" in evaluation_html(ev)
    own = sg.evaluate({"m": CURVES}, Y, metrics=["brier"])
    assert own.task.time == min(np.median(Y[0]), own.task.horizon)
    assert "(half of the test subjects were observed for longer)" in str(own)


def test_nothing_is_said_of_a_time_that_somebody_chose():
    for chosen in ({"time": 4.0}, {"tau": 4.0}):
        text = str(in_memory(COLUMNS, Y_TRAIN, **chosen))
        assert "observed for longer" not in text
        assert "Time of interest" not in text


@pytest.mark.parametrize("on_unsupported", ["truncate", "raise", "nan"])
def test_the_usual_time_is_never_one_that_the_data_do_not_support(on_unsupported):
    # Training subjects were followed much longer than the test subjects.
    late = (np.asarray(Y_TRAIN[0]) * 50.0, Y_TRAIN[1])
    options = {"metrics": ["brier"], "on_unsupported": on_unsupported}
    ev = sg.evaluate({"m": CURVES}, Y, y_train=late, **options)
    assert ev.task.time == ev.task.horizon
    assert np.isfinite(ev.rows()[0]["value"])
    assert "time-past-horizon" not in {warning.code for warning in ev.warnings}
    assert "(the last time that the data support)" in str(ev)


@pytest.mark.parametrize("factor", [1e-6, 0.1, 7.0, 365.25])
def test_the_usual_time_follows_the_unit_of_time(factor):
    first, second = (Task.of(sg.Outcomes(np.asarray(Y[0]) * k, Y[1])) for k in (1.0, factor))
    assert second.time == pytest.approx(first.time * factor, rel=1e-12)
