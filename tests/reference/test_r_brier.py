"""Brier scores, standard errors and contrasts of riskRegression::Score (r/metrics.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from survgauge.data.curves import SurvivalCurves
from survgauge.data.outcomes import Outcomes
from survgauge.estimators.kaplan_meier import KaplanMeier
from survgauge.estimators.reference import reference_curves
from survgauge.metrics.probability.brier import (
    brier_score,
    brier_skill,
    integrated_brier_score,
)
from survgauge.metrics.score import standard_error

REFERENCE = json.loads((Path(__file__).parent / "r" / "metrics.json").read_text())
SETS = sorted(REFERENCE["datasets"])
MODELS = ("Null model", "A", "B")


def question(name):
    data = REFERENCE["datasets"][name]
    y = Outcomes(data["test"]["time"], data["test"]["event"])
    times = np.array(data["times"], dtype=float)
    curves = {m: SurvivalCurves(times, data["models"][m]["survival"], "step") for m in ("A", "B")}
    return data, y, times, {"Null model": reference_curves(y, len(y)), **curves}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODELS)
def test_brier_scores_and_both_standard_errors(name, model):
    data, y, times, curves = question(name)
    want = data["score"]["brier"][model]
    # G is estimated on the test data: our own reference, with riskRegression's martingale term.
    result = brier_score(y, curves[model], times, convention="riskregression")
    np.testing.assert_array_equal(result.times, times)
    np.testing.assert_allclose(result.values, want["Brier"], rtol=1e-11)
    np.testing.assert_allclose(result.stderr, want["se"], rtol=1e-9)
    assert result.convention["stderr"] == "G estimated in sample"
    fixed = brier_score(y, curves[model], times, censoring=KaplanMeier.fit_censoring(y))
    np.testing.assert_allclose(fixed.values, want["Brier"], rtol=1e-11)
    np.testing.assert_allclose(fixed.stderr, want["se_fixed_G"], rtol=1e-9)
    ours = brier_score(y, curves[model], times)
    np.testing.assert_allclose(ours.values, want["Brier"], rtol=1e-11)
    if name == "continuous":
        # Without ties our exact derivative of G differs by terms of order 1/(number at risk).
        np.testing.assert_allclose(ours.stderr, want["se"], rtol=0.01, atol=1e-4)


@pytest.mark.parametrize("name", SETS)
def test_contrasts_come_from_the_same_contributions(name):
    data, y, times, curves = question(name)
    fixed = {"censoring": KaplanMeier.fit_censoring(y)}
    for label, want in data["score"]["brier_contrasts"].items():
        pair = label.split(" - ")
        for options, key in (({"convention": "riskregression"}, "se"), (fixed, "se_fixed_G")):
            for k, time in enumerate(times):
                first, second = (brier_score(y, curves[m], [time], **options) for m in pair)
                delta = first.mean - second.mean
                assert delta == pytest.approx(want["delta"][k], rel=1e-9, abs=1e-12)
                stderr = standard_error(first.details.contributions - second.details.contributions)
                assert stderr == pytest.approx(want[key][k], rel=1e-8)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODELS)
def test_integrated_brier_score(name, model):
    data, y, times, curves = question(name)
    value = integrated_brier_score(y, curves[model], times)
    assert value == pytest.approx(data["ibs"]["trapezoid"][model], rel=1e-11)
    details = integrated_brier_score(y, curves[model], times)
    assert details.value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", ["A", "B"])
def test_index_of_prediction_accuracy(name, model):
    data, y, times, curves = question(name)
    result = brier_skill(y, curves[model], times)
    np.testing.assert_allclose(
        result.values, data["score"]["brier"][model]["IPA"], rtol=1e-9, atol=1e-12
    )
