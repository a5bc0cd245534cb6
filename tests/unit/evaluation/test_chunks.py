"""Chunks of subjects say together what all of them say at once."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation import call, cells
from survgauge.evaluation.columns import Folder, TermColumns
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.score import Terms, paired_error
from survgauge.metrics.task import Task

SCORES = ["brier", "ibs"]


def subjects(open_curves, own_grids, tail):
    """Curves that reach zero at 7, but for a few at the end, which stop above it."""
    rng = np.random.default_rng(1)
    n = 200
    y = rng.exponential(5, n), rng.random(n) < 0.7
    survival = np.column_stack([np.ones(n), rng.random(n) * 0.5 + 0.4, np.zeros(n)])
    survival[n - open_curves :, 2] = 0.2
    grid = np.array([0.0, 4.0, 7.0])
    if own_grids:
        grid = np.tile(grid, (n, 1))
        grid[n - open_curves :, 2] = 6.0
    return y, sg.SurvivalCurves(grid, survival, tail=tail)


@pytest.mark.parametrize("own_grids", [False, True])
@pytest.mark.parametrize("tail", ["nan", "linear"])
@pytest.mark.parametrize("confidence", [0.95, None])
def test_many_subjects_are_scored_as_few(own_grids, tail, confidence, monkeypatch):
    y, curves = subjects(5, own_grids, tail)

    def found():
        ev = sg.evaluate({"a": curves}, y, metrics=SCORES, time=5.0, confidence=confidence)
        return [s.value for s in ev.scores], ev.support["metrics"]["a"]

    values, support = found()
    assert np.isfinite(values).all()
    monkeypatch.setattr(cells, "CONTRIBUTIONS_LIMIT", 20)
    monkeypatch.setattr(call, "chunk_rows", lambda widths: 50)
    again, chunked = found()
    assert again == pytest.approx(values, rel=1e-12)
    for metric in SCORES:
        assert chunked[metric] == pytest.approx(support[metric], rel=1e-12)


@pytest.mark.parametrize("confidence", [0.95, None])
def test_a_stream_whose_curves_end_at_several_times_is_refused(confidence):
    y, curves = subjects(5, False, "nan")
    parts = [slice(start, start + 50) for start in range(0, 200, 50)]
    batches = [{"time": y[0][p], "event": y[1][p], "c": curves.survival[p]} for p in parts]
    ev = sg.evaluate_stream(
        batches, y_train=y, predictions={"a": sg.CurveColumns("c", times=[0, 4, 7], tail="nan")},
        metrics=["ibs"], batch_rows=50, confidence=confidence,
    )  # fmt: skip
    assert np.isnan(ev.scores[0].value)
    said = [w.message for w in ev.warnings if w.code == "undefined-metric"]
    assert len(said) == 1
    assert "tail='nan' ends the score at 6.89" in said[0]


def test_small_and_large_groups_are_evaluated_together(monkeypatch):
    rng = np.random.default_rng(5)
    y = rng.exponential(5, 90), rng.random(90) < 0.7
    by = np.where(np.arange(90) < 15, "small", "large")
    models = {
        name: sg.SurvivalCurves([0, 3], np.column_stack([np.ones(90), rng.uniform(low, 0.9, 90)]))
        for name, low in (("a", 0.3), ("b", 0.6))
    }

    def found():
        ev = sg.evaluate(models, y, metrics=["mae_po", "ibs"], by=by)
        return ev.warnings, [(s.value, s.stderr) for s in ev.scores]

    warnings, values = found()
    assert "tail-decides" in {warning.code for warning in warnings}
    monkeypatch.setattr(cells, "CONTRIBUTIONS_LIMIT", 20)
    again, chunked = found()
    assert again == warnings
    np.testing.assert_allclose(chunked, values, rtol=1e-9)


def test_a_group_without_a_value_does_not_hide_that_the_tail_decides():
    rng = np.random.default_rng(5)
    y = rng.exponential(5, 90), rng.random(90) < 0.7
    y[1][:3] = False
    by = np.where(np.arange(90) < 3, "no events", "others")
    models = {
        name: sg.SurvivalCurves([0, 3], np.column_stack([np.ones(90), rng.uniform(low, 0.9, 90)]))
        for name, low in (("a", 0.3), ("b", 0.6))
    }
    asked = ["mae_po", "mae_uncensored"]
    for groups in (None, by):
        ev = sg.evaluate(models, y, metrics=asked, by=groups, normalize="events")
        assert "tail-decides" in {warning.code for warning in ev.warnings}
    assert any(np.isnan(s.value) for s in ev.scores if s.metric.name == "mae_po")


def test_a_difference_that_is_the_same_for_everybody_has_no_interval_from_chunks_either():
    columns, folder = {}, Folder()
    loss, ones = np.random.default_rng(0).random(40), np.ones(40)
    y = sg.Outcomes(np.arange(1.0, 41.0), ones)
    for name, more in (("a", 0.0), ("b", 0.1)):
        columns[name] = TermColumns(folder)
        for rows in (slice(0, 13), slice(13, 40)):
            columns[name].add(Terms(loss[rows] + more, ones[rows]))
    task = Task.of(y)
    a, b = (REGISTRY["crps"].mean_of(columns[name].whole(), task) for name in ("a", "b"))
    assert a.stderr > 0
    assert paired_error(a, b) == 0.0


def test_the_baseline_is_scored_by_metrics_that_some_model_has(monkeypatch):
    y, curves = subjects(5, False, "linear")
    asked = []
    terms_of = call.Metric.terms_of
    monkeypatch.setattr(
        call.Metric, "terms_of", lambda m, *about: asked.append(m.name) or terms_of(m, *about)
    )
    sg.evaluate({"times": curves.median()}, y)
    assert "mae_within" in asked
    assert not {"brier", "ibs", "ibll", "crps"} & set(asked)
    sg.evaluate({"times": curves.median(), "curves": curves}, y)
    assert {"brier", "ibs", "ibll", "crps"} < set(asked)


def test_terms_are_dropped_once_every_metric_has_read_them():
    y, curves = subjects(5, False, "linear")
    times = curves.median()
    both = sg.evaluate({"times": times}, y, metrics=["rmse_po", "mae_po", "mse_po"])
    assert [row["metric"] for row in both.rows()] == ["rmse_po", "mae_po", "mse_po"]
    for row in both.rows():
        alone = sg.evaluate({"times": times}, y, metrics=[row["metric"]]).rows()[0]
        assert [row[name] for name in ("value", "stderr")] == [
            alone[name] for name in ("value", "stderr")
        ]
