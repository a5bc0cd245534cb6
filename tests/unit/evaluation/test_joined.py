"""Warnings of one kind are one remark, in text and on the page."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.joined import joined
from survgauge.report import evaluation_html


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(1)
    n, grid = 300, np.array([0.0, 365.0, 730.0])
    x = rng.normal(size=n)
    t, c = rng.weibull(1.3, n) * 800 * np.exp(-0.5 * x), rng.uniform(0, 2500, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    models = {
        name: sg.SurvivalCurves(grid, np.exp(-((grid / (800 * np.exp(-b * x))[:, None]) ** 1.3)))
        for name, b in (("cox", 0.5), ("forest", 0.3))
    }
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    return sg.evaluate(models, y, y_train=y, by=sex, metrics=["mae_po", "ibs", "ibll", "crps"])


def test_a_remark_names_metrics_models_and_groups(evaluation):
    text = evaluation.to_text()
    past = [line for line in text.split("\n") if "[past-curve]" in line]
    assert len([w for w in evaluation.warnings if w.code == "past-curve"]) == 18
    assert len(past) == 2
    assert past[0].startswith(
        "  [past-curve] ibs and ibll (all models; also in groups f and m): the last predicted time "
    )
    assert (
        "crps (all models; also in groups f and m): for example cox, all subjects: the" in past[1]
    )
    # What to do is said once.
    assert all(line.count("predict up to") == 1 for line in past)
    assert str(evaluation).count("[past-curve]") == 2


def test_the_page_tells_each_remark_once(evaluation):
    page = evaluation_html(evaluation)
    assert page.count("Integrated Brier score and Integrated log loss (all") == 1
    remarks = joined(evaluation.to_dict())
    assert sum(len(remark.warnings) for remark in remarks) == len(evaluation.warnings)


def test_numbers_of_pairs_are_counted():
    warnings = [
        {"code": "tail-decides", "message": f"{a} and {b} compare differently", "model": None,
         "metric": "mae_po", "group": None, "time": None}
        for a, b in (("m1", "m2"), ("m1", "m11"))
    ]  # fmt: skip
    data = {"warnings": warnings, "models": ["m1", "m2", "m11"], "metrics": []}
    [remark] = joined(data)
    assert remark.text(data["models"]) == (
        "mae_po",
        "m1 and m2 compare differently (1 more warning of this kind)",
    )
