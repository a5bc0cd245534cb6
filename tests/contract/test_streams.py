"""Every registered metric streams with the value of `evaluate`, or is refused by its name."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.registry import metrics_of

GRID = np.linspace(0.0, 60.0, 25)


def columns(n=80, seed=4):
    rng = np.random.default_rng(seed)
    t, c = rng.exponential(10, n), rng.uniform(1, 30, n)
    scale = rng.uniform(5, 20, (n, 1))
    return {
        "time": np.minimum(t, c).round(1),
        "event": t <= c,
        "model": np.exp(-GRID / scale),
    }


@pytest.mark.parametrize("name", sorted(metrics_of()))
def test_a_metric_streams_or_is_refused_by_name(name):
    test, train = columns(), columns(seed=5)
    y_train = train["time"], train["event"]
    batches = [{k: v[rows] for k, v in test.items()} for rows in (slice(0, 33), slice(33, 80))]
    options = {"y_train": y_train, "metrics": [name], "n_boot": 20, "threshold": 0.3}
    curves = sg.SurvivalCurves(GRID, test["model"])
    (whole,) = sg.evaluate({"m": curves}, (test["time"], test["event"]), **options).rows()
    layout = {"m": sg.CurveColumns("model", GRID)}
    try:
        (stream,) = sg.evaluate_stream(batches, predictions=layout, **options).rows()
    except sg.InputError as error:
        assert name in str(error)  # noqa: PT017
        assert name == "antolini"
        return
    assert stream["metric"] == whole["metric"] == name
    for key in ("value", "stderr", "low", "high"):
        assert stream[key] == pytest.approx(whole[key], rel=1e-6, nan_ok=True), key


def test_every_default_of_a_stream_is_a_default_of_evaluate():
    test = columns()
    layout = {"m": sg.CurveColumns("model", GRID)}
    train = test["time"], test["event"]
    stream = sg.evaluate_stream([test], y_train=train, predictions=layout, n_boot=0)
    whole = sg.evaluate(
        {"m": sg.SurvivalCurves(GRID, test["model"])}, train, y_train=train, n_boot=0
    )
    names = [{row["metric"] for row in result.rows()} for result in (stream, whole)]
    assert names[1] - names[0] == {"antolini"}
    assert names[0] <= names[1]
    assert "metric-skipped" in {w.code for w in stream.warnings}
