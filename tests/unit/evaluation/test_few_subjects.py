"""Intervals of few subjects stay within the range of their metric, or are said to tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import draw, in_memory

import survgauge as sg
from survgauge.evaluation.cells import MOST_OF_RANGE, MOST_TIMES_LOW
from survgauge.metrics.registry import REGISTRY, metrics_of

GRID = np.linspace(0, 2000, 60)
#: What has an interval and a least value.
NAMES = [m.name for m in metrics_of().values() if m.inference != "test" and np.isfinite(m.range[0])]


def data(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.5, n) * 300 * np.exp(-0.5 * x), rng.uniform(0, 800, n)

    def curves(slope, late):
        scale = 300 * late * np.exp(-slope * x[:, None])
        return sg.SurvivalCurves(GRID, np.exp(-((GRID / scale) ** 1.5)))

    return (np.minimum(t, c), t <= c), {"good": curves(0.5, 1.0), "late": curves(0.2, 1.6)}


def check(row):
    metric = REGISTRY[row["metric"]]
    low, high = row["low"], row["high"]
    if np.isnan(low) or np.isnan(high):
        return
    assert metric.range[0] <= low <= row["value"] <= high <= metric.range[1], row
    if np.isfinite(metric.range[1]):
        assert high - low <= MOST_OF_RANGE * (metric.range[1] - metric.range[0])
    else:
        assert high <= MOST_TIMES_LOW * low


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("how", ["plain", "clusters", "redrawn", "stream"])
def test_intervals_stay_within_the_range(n, how):
    y_train, _ = data(200, 99)
    for seed in range(2):
        y, models = data(n, seed)
        options = {"y_train": y_train, "metrics": NAMES, "n_boot": 12}
        if how == "stream":
            columns = {"time": y[0], "event": y[1]}
            columns |= {name: curves.survival for name, curves in models.items()}
            options["metrics"] = [name for name in NAMES if name != "antolini"]
            options["predictions"] = {name: sg.CurveColumns(name, GRID) for name in models}
            ev = sg.evaluate_stream([columns], **options)
        else:
            options |= {"clusters": {"cluster": np.arange(n) % 5}, "plain": {}}.get(
                how, {"reference": "redrawn"}
            )
            if how == "redrawn":
                options["metrics"] = ["harrell", "uno", "auc", "brier", "ici", "km_calibration"]
            ev = sg.evaluate(models, y, **options)
        for row in ev.rows():
            check(row)
        told = {(w.model, w.metric) for w in ev.cases if w.code == "too-few-to-tell"}
        without = {
            (row["model"], row["metric"])
            for row in ev.rows()
            if np.isfinite(row["value"] + row["stderr"]) and np.isnan(row["low"])
        }
        assert told <= without


def test_what_covers_most_of_the_range_is_left_out_and_said():
    y_train, _ = data(200, 99)
    found = {}
    for seed in range(8):
        y, models = data(10, seed)
        ev = sg.evaluate(models, y, y_train=y_train, metrics=["auc", "ici", "mae_dr"], time=150)
        for warning in ev.cases:
            if warning.code == "too-few-to-tell":
                (row,) = [
                    row
                    for row in ev.rows()
                    if (row["model"], row["metric"]) == (warning.model, warning.metric)
                ]
                assert np.isnan(row["low"])
                assert np.isnan(row["high"])
                assert row["interval"] == "none"
                assert np.isfinite(row["value"])
                assert row["stderr"] >= 0
                found[row["metric"]] = warning
    assert found
    for warning in found.values():
        assert "too few subjects to tell" in warning.message
    assert found["auc"].time is not None


def test_plenty_of_subjects_have_intervals():
    y_train, _ = data(200, 99)
    y, models = data(300, 0)
    ev = sg.evaluate(models, y, y_train=y_train, metrics=NAMES)
    assert "too-few-to-tell" not in {w.code for w in ev.warnings}


def test_no_skill_against_a_baseline_whose_loss_is_rounding():
    columns, y_train = draw(28, 0, train=20)
    group = np.random.default_rng(0).integers(0, 4, 28)
    ev = in_memory(columns, y_train, metrics=["mae_within"], by=group)
    skills = [row["skill"] for row in ev.rows() if row["group"] == 0]
    assert skills
    assert np.isnan(skills).all()
    assert all(np.isnan(row["skill"]) or abs(row["skill"]) < 1e6 for row in ev.rows())


def test_a_value_that_is_zero_but_for_rounding_is_not_called_negative():
    columns, y_train = draw(3, 133, train=20)
    ev = in_memory(columns, y_train, metrics=["mae_within"])
    assert min(row["value"] for row in ev.rows()) < 1e-12
    assert "negative-score" not in {warning.code for warning in ev.warnings}
