"""A model that predicts the same for everybody is never the best calibrated one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from display_data import draw

import survgauge as sg
from survgauge.evaluation.verdict import best_models
from survgauge.report import evaluation_html
from survgauge.report.displays import display


@pytest.fixture(scope="module")
def ev() -> sg.Evaluation:
    y_train, _, _ = draw(200, 1)
    y, _, x = draw(300, 2)
    km, grid = sg.KaplanMeier.fit(y), np.linspace(0, 30, 61)
    models: Any = {"km": sg.SurvivalCurves(grid, np.tile(km.at(grid), (len(y), 1)))}
    for name, slope in {"tame": 0.3, "wild": 1.8}.items():
        scale = 10 * np.exp(-slope * x[:, None])
        models[name] = sg.SurvivalCurves(grid, np.exp(-((grid / scale) ** 1.5)))
    return sg.evaluate(models, y, y_train=y_train, time=8.0, tau=20.0)


def test_it_is_not_marked_in_calibration(ev: sg.Evaluation) -> None:
    rows = ev.to_dict()["metrics"]
    value = {row["model"]: row["value"] for row in rows if row["metric"] == "ici"}
    assert min(value, key=lambda model: value[model]) == "km"
    marked = {(cell[1], model) for cell, model in best_models(rows)}
    assert {("ici", "tame"), ("ici", "wild")} & marked
    assert not {("ici", "km"), ("km_calibration", "km")} & marked


def test_terminal_and_page_say_why(ev: sg.Evaluation) -> None:
    told = "km predicts the same for every subject and therefore cannot be best in calibration."
    assert told in " ".join(str(ev).split())
    assert told in evaluation_html(ev)


def test_it_has_no_panel_of_a_single_point_beside_curves(ev: sg.Evaluation) -> None:
    chart = display(ev, "calibration_panel").chart
    assert len(chart.panels) == 2
    assert chart.left_out == {"km": "the predicted risks are the same for all subjects"}


def test_alone_it_is_drawn(ev: sg.Evaluation) -> None:
    chart = display(ev, "calibration_panel", models=["km"]).chart
    assert len(chart.panels) == 1
