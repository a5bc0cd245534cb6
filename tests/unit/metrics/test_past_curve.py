"""No number where a model predicted nothing: what metrics read past the last predicted time."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import GRID, cut, differences, draw

import survgauge as sg
from survgauge.metrics.past_curve import MOST_PAST
from survgauge.metrics.registry import metrics_of

AT_TIME = ("brier", "auc", "ici", "one_calibration")
READS = {metric.name: metric.reads for metric in metrics_of().values() if metric.reads}
STREAMED = tuple(name for name in READS if name != "antolini")


def data(n=300, seed=0):
    columns, y_train = draw(n, seed, decimals=2)
    return columns["time"], columns["event"], y_train, columns["a"]


def short(columns_a, last, interpolation="linear"):
    """The same model, which predicted up to `last` only."""
    full = sg.SurvivalCurves(GRID, columns_a)
    grid = np.append(GRID[last > GRID], last)
    return sg.SurvivalCurves(grid, full.at(grid), interpolation)


def test_a_file_with_one_early_time_gets_no_scores_at_a_late_one():
    time, event, y_train, a = data()
    one = sg.SurvivalCurves([2.0], sg.SurvivalCurves(GRID, a).at([2.0]))
    names = [*READS, "mae_po"]
    options = {"y_train": y_train, "threshold": 0.3}
    ev = sg.evaluate({"one": one}, (time, event), time=8.0, metrics=names, **options)
    values = {row["metric"]: row["value"] for row in ev.rows()}
    assert all(np.isnan(values[name]) for name in READS)
    said = {w.metric: w.message for w in ev.cases if w.code == "past-curve"}
    assert set(said) == set(READS)
    for name in AT_TIME:
        assert "the last predicted time is 2, but the curves are read at 8" in said[name]
        assert said[name].endswith("so there is no value")  # what to do is the advice of the code
    assert {w.model for w in ev.cases if w.code == "past-curve"} == {"one"}
    assert not np.isnan(values["mae_po"])  # errors in time have warnings of their own
    early = sg.evaluate({"one": one}, (time, event), time=2.0, metrics=AT_TIME, **options)
    assert all(np.isfinite(row["value"]) for row in early.rows())
    assert "past-curve" not in {w.code for w in early.warnings}


@pytest.mark.parametrize("name", [*STREAMED, "antolini"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_share_is_that_of_what_is_read(name, weighted):
    time, event, y_train, a = data()
    weight = np.random.default_rng(1).integers(0, 4, time.size) if weighted else None
    y = sg.Outcomes(time, event, weight)
    w = y.weight
    curves = short(a, 12.0)
    options = {"y_train": y_train, "metrics": [name], "time": 11.0, "confidence": None}
    options["threshold"] = 0.3
    horizon = sg.evaluate({"m": curves}, y, **options).support["horizon"]
    stop = time[w > 0].max()
    expected = {
        "time": 0.0,
        "horizon": max(0.0, 1 - 12.0 / horizon),
        "follow_up": 1 - 12.0 / stop,
        "own": w[time > 12.0].sum() / w.sum(),
        "event": w[event & (time > 12.0)].sum() / w[event].sum(),
    }[READS[name]]
    ev = sg.evaluate({"m": curves}, y, **options)
    row = ev.rows()[0]
    if expected > MOST_PAST:
        assert np.isnan(row["value"])
        assert [x.code for x in ev.cases if x.metric == name] == ["past-curve"]
    else:
        assert np.isfinite(row["value"])
        assert ev.support["metrics"]["m"][name]["past_curve"] == pytest.approx(expected)


@pytest.mark.parametrize(("share", "value", "said"), [(0.004, 1, 0), (0.03, 1, 1), (0.08, 0, 1)])
def test_a_small_share_is_said_and_a_large_one_refused(share, value, said):
    time, event, y_train, a = data(500)
    last = np.quantile(time, 1 - share)
    curves = short(a, last)
    ev = sg.evaluate({"m": curves}, (time, event), y_train=y_train, metrics=["d_calibration"])
    assert np.isfinite(ev.rows()[0]["value"]) == bool(value)
    codes = [w.code for w in ev.warnings]
    assert codes.count("past-curve") == said
    assert "undefined-metric" not in codes


def test_curves_that_reached_zero_are_known_past_their_end():
    time, event, y_train, a = data()
    survival = np.concatenate([a[:, :5], np.zeros((len(a), 1))], axis=1)
    curves = sg.SurvivalCurves(GRID[:6], survival)
    ev = sg.evaluate({"m": curves}, (time, event), y_train=y_train, metrics=["ibs", "crps"])
    assert "past-curve" not in {w.code for w in ev.warnings}
    assert all(np.isfinite(row["value"]) for row in ev.rows())


def test_own_grids_count_subject_by_subject():
    y = ([4.0, 5.0, 6.0, 7.0], [1, 1, 0, 1])
    grids = np.array([[1.0, 10.0], [1.0, 4.0], [1.0, 10.0], [1.0, 10.0]])
    curves = sg.SurvivalCurves(grids, [[0.9, 0.2]] * 4)
    assert sg.crps(y, curves).support["past_curve"] == 0.25
    assert sg.d_calibration(y, curves).support["past_curve"] == 0.25
    assert sg.brier_score(y, curves, [3.0, 5.0]).support["past_curve"] == 0.125
    assert sg.km_calibration(y, curves).support["past_curve"] == pytest.approx(3 / 28)
    assert sg.concordance_td(y, curves).support["past_curve"] == pytest.approx(1 / 3)


def test_kaplan_meier_of_the_reference_follows_the_rule():
    time, event, _, a = data()
    early = sg.Outcomes(time, event).restricted(None)
    stop = float(np.quantile(time, 0.8))
    y_train = (np.minimum(early.time, stop), event & (time <= stop))
    curves = sg.SurvivalCurves(GRID, a)
    options = {"y_train": y_train, "metrics": ["crps", "mae_po"]}
    ev = sg.evaluate({"m": curves}, (time, event), **options)
    rows = {row["metric"]: row for row in ev.rows()}
    assert np.isfinite(rows["crps"]["value"])
    assert np.isnan(rows["crps"]["skill"])
    assert np.isfinite(rows["mae_po"]["skill"])


@pytest.mark.parametrize("last", [3.0, 14.0, 20.0])
@pytest.mark.parametrize("by", [False, True])
@pytest.mark.parametrize("tail", ["linear", "hold"])
def test_streams_agree(last, by, tail):
    time, event, y_train, a = data(200)
    grid = np.append(GRID[last > GRID], last)
    values = sg.SurvivalCurves(GRID, a).at(grid)
    columns = {"time": time, "event": event, "a": values, "g": np.arange(200) % 2}
    options = {"y_train": y_train, "metrics": STREAMED, "time": 13.0, "threshold": 0.3}
    found = sg.evaluate_stream(
        cut(columns, [30, 77]),
        predictions={"a": sg.CurveColumns("a", grid, tail=tail)},
        by="g" if by else None,
        **options,
    )
    whole = sg.evaluate(
        {"a": sg.SurvivalCurves(grid, values, tail=tail)},
        (time, event),
        by=columns["g"] if by else None,
        **options,
    )
    told = differences(whole.to_dict(), found.to_dict())
    assert [text for text in told if "infinite_for" not in text] == []  # numbered in the group
    assert any(w.code == "past-curve" for w in found.warnings)


def test_scorers_give_no_score_there():
    time, event, y_train, a = data(120)

    class Model:
        y_train_ = y_train

        def predict_curves(self, X):
            return short(a, 2.0)

    X = np.zeros((120, 1))
    for name in READS:
        with pytest.warns(RuntimeWarning, match="the last predicted time is 2"):
            assert np.isnan(sg.scorer(name, time=5.0, threshold=0.3)(Model(), X, (time, event)))


def test_every_metric_of_curves_has_a_rule():
    assert set(READS) == {n for n, m in metrics_of().items() if m.needs == "curves"} | {"auc"}
