"""Printed tables keep their intervals with many models, and there is a wide frame of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools.text import columns
from survgauge.evaluation.text import WIDEST, value_text

_CELL = re.compile(r"[\d.]+ \[[\d.]+, [\d.]+\]")


def _evaluation(models: int, **options: object) -> sg.Evaluation:
    rng = np.random.default_rng(3)
    n, grid = 150, np.linspace(0, 3000, 60)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.3, n) * 900 * np.exp(-0.5 * x), rng.uniform(0, 3000, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    scale = [900 * np.exp(-b * x)[:, None] for b in np.linspace(0.1, 0.6, models)]
    curves = {
        f"model {k}": sg.SurvivalCurves(grid, np.exp(-((grid / s) ** 1.3)))
        for k, s in enumerate(scale)
    }
    return sg.evaluate(curves, y, y_train=y, unit="days", **options)


@pytest.mark.parametrize("models", [2, 5, 9])
def test_the_printed_table_has_intervals_within_100_columns(models):
    text = str(_evaluation(models))
    table = text[text.index("Metrics with 95 % intervals") :].split("\n\n")[0]
    assert max(map(len, text.split("\n"))) <= WIDEST == 100
    # MAE, IBS, C and more, each with its interval for every model.
    assert len(_CELL.findall(table)) >= 3 * models
    if models > 2:  # one model per row
        assert sum(line.startswith("model ") for line in table.split("\n")) == models + 1


def test_many_metrics_come_in_parts_and_keep_their_intervals():
    text = str(_evaluation(3, metrics=["brier", "auc"], time=[300, 900, 1500]))
    table = text[text.index("Metrics with") :]
    assert max(map(len, table.split("\n"))) <= WIDEST
    assert len(_CELL.findall(table)) == 3 * 2 * 3


def test_wide_frame_has_the_values_and_intervals_of_the_table():
    ev = _evaluation(3, metrics=["mae_within", "brier", "d_calibration"], time=[300, 900])
    wide = ev.wide()
    assert list(wide.index) == list(ev.models)
    assert list(wide.columns) == ["mae_within", "brier at 300", "brier at 900", "d_calibration"]
    for row in ev.rows():
        name = "brier at {:g}".format(row["time"]) if row["metric"] == "brier" else row["metric"]
        cell = wide.loc[row["model"], name]
        if row["metric"] == "d_calibration":
            assert cell.startswith("p ")
            continue
        numbers = [float(word) for word in re.findall(r"[\d.]+", cell)]
        expected = [row["value"], row["low"], row["high"]]
        np.testing.assert_allclose(numbers, expected, rtol=0.006)
    finer = ev.wide(digits=5).loc["model 0", "mae_within"]
    assert len(finer) > len(wide.loc["model 0", "mae_within"])
    with pytest.raises(sg.InputError, match="digits"):
        ev.wide(digits=0)


def test_wide_frame_has_groups_in_its_index():
    sex = np.where(np.arange(150) % 2, "f", "m")
    wide = _evaluation(2, metrics=["harrell"], by=sex).wide()
    assert wide.index.names == ["group", "model"]
    assert {group for group, _ in wide.index} == {"all subjects", "f", "m"}


def test_units_of_the_table_are_those_of_the_evaluation():
    ev = _evaluation(2, metrics=["mae_po", "mse_po", "crps", "harrell"])
    units = dict(zip(ev.table["metric"], ev.table["unit"], strict=True))
    assert units == {"mae_po": "days", "mse_po": "days^2", "crps": "days", "harrell": ""}
    assert {row["metric"]: row["unit"] for row in ev.to_dict()["metrics"]} == units


def test_every_column_of_the_whole_text_has_a_heading():
    line = next(line for line in _evaluation(2).to_text().split("\n") if line.startswith("metric "))
    assert line.split()[:4] == ["metric", "name", "time", "better"]


def test_cells_without_an_interval():
    row = {"metric": "harrell", "value": 0.5, "low": None, "high": None}
    assert value_text(row, 3, 3) == "0.500"
    assert value_text(row | {"value": None}, 3, 3) == "-"
    assert value_text(row | {"low": 0.4, "high": 0.6}, 3) == "0.500"


def test_a_second_line_of_a_header_is_repeated_in_every_part():
    parts = columns(["m", "a", "b"], [["x", "10", "11"]], width=8, under=["", "at 1", "at 2"])
    assert parts == "m     a\n   at 1\n-  ----\nx    10\n\nm     b\n   at 2\n-  ----\nx    11"
