"""Nothing is taken for something else: models, metrics and what is kept of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streaming_data import COLUMNS, GRID, NAMES, cut, draw

import survgauge as sg
from survgauge.data.outcomes import Outcomes
from survgauge.data.predictions import Prediction
from survgauge.metrics.registry import REGISTRY, metrics_of
from survgauge.metrics.task import Task


def test_a_deleted_model_leaves_nothing_to_the_next():
    columns, y_train = draw(60)
    task = Task.of(Outcomes(columns["time"], columns["event"]), y_train)
    task = replace(task, asked=("ibs", "ibll"))
    fresh = replace(task, asked=("ibll",))
    one, two = (
        sg.SurvivalCurves(GRID, np.tile(0.01 + 0.98 * np.exp(-GRID / scale), (60, 1)))
        for scale in (4.0, 30.0)
    )
    expected = REGISTRY["ibll"].measure(fresh, Prediction(two, None, None)).value
    assert np.isfinite(expected)
    for _ in range(20):
        model = Prediction(one, None, None)
        REGISTRY["ibs"].measure(task, model)  # leaves ibll waiting
        del model
        model = Prediction(two, None, None)  # in the place of the one before, as a rule
        assert REGISTRY["ibll"].measure(task, model).value == expected
        del model


@pytest.mark.parametrize("name", metrics_of())
def test_every_metric_streams_or_is_refused_by_name(name):
    columns, y_train = draw(40)
    batches = cut(columns, [13, 20])
    options = {"y_train": y_train, "metrics": [name], "threshold": 0.3, "confidence": None}
    if name == "antolini":
        with pytest.raises(sg.InputError, match="'antolini' needs all subjects at once"):
            sg.evaluate_stream(batches, predictions=COLUMNS, **options)
        return
    ev = sg.evaluate_stream(batches, predictions=COLUMNS, **options)
    assert {row["metric"] for row in ev.rows()} == {name}


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_registered_beside_the_others_streams_like_them(name, monkeypatch):
    copy = replace(REGISTRY[name], name=f"{name}2")
    monkeypatch.setitem(REGISTRY, copy.name, copy)
    columns, y_train = draw(40)
    options = {"y_train": y_train, "metrics": [name, copy.name], "predictions": {"lr": "lr"}}
    if copy.needs == "curves":
        options["predictions"] = {"a": sg.CurveColumns("a", GRID)}
    ev = sg.evaluate_stream(cut(columns, [13]), **options)
    one, two = ev.rows()
    assert (one.pop("metric"), two.pop("metric")) == (name, copy.name)
    np.testing.assert_equal(one, two)


@pytest.mark.parametrize("name", ["", "Kaplan-Meier", "Baseline.KAPLAN_MEIER", "km", "None"])
@pytest.mark.parametrize("baseline", [True, False])
def test_a_stream_model_of_any_name_gets_its_own_numbers(name, baseline):
    columns, y_train = draw(80)
    metrics = ["mae_po", "rmse_hinge", "ibs", "harrell", "km_calibration", "d_calibration"]
    options = {"y_train": y_train, "metrics": metrics, "baseline": baseline}
    spec = sg.CurveColumns("a", GRID)
    plain, other = (
        sg.evaluate_stream(cut(columns, [30]), predictions={key: spec}, **options)
        for key in ("a", name)
    )
    strip = [{k: v for k, v in row.items() if k != "model"} for row in plain.rows()]
    for row, expected in zip(other.rows(), strip, strict=True):
        assert row.pop("model") == name
        np.testing.assert_equal(row, expected)
