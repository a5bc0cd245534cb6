"""Brier scores and AUC under competing risks from riskRegression (r/incidence_scores.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details
from survgauge.metrics.score import standard_error

FOLDER = Path(__file__).parent / "r"
DATA = json.loads((FOLDER / "incidence.json").read_text())["datasets"]
WANTED = json.loads((FOLDER / "incidence_scores.json").read_text())["datasets"]
SETS = sorted(WANTED)
CAUSES = ("first", "second")


def read(name):
    data, wanted = DATA[name]["data"], WANTED[name]
    y = sg.Outcomes(data["time"], data["status"], causes=CAUSES)
    curves = {
        model: sg.IncidenceCurves(
            wanted["times"],
            np.stack([np.array(values[cause]) for cause in CAUSES], axis=1),
            causes=CAUSES,
            interpolation="step",
        )
        for model, values in wanted["models"].items()
    }
    curves["Null model"] = sg.AalenJohansen.fit(y).curves(len(y))
    return y, np.array(wanted["times"], float), curves, wanted["causes"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("model", ["A", "B", "Null model"])
def test_brier_and_both_standard_errors(name, cause, model):
    y, times, curves, wanted = read(name)
    found = sg.brier_score(y, curves[model], times, cause=cause, convention="riskregression")
    want = wanted[cause]["brier"][model]
    np.testing.assert_allclose(found.values, want["Brier"], rtol=1e-11)
    np.testing.assert_allclose(found.stderr, want["se"], rtol=1e-9)
    g = sg.KaplanMeier.fit_censoring(y)
    fixed = sg.brier_score(y, curves[model], times, cause=cause, censoring=g)
    np.testing.assert_allclose(fixed.stderr, wanted[cause]["brier_fixed"][model]["se"], rtol=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("model", ["A", "B"])
def test_skill_against_aalen_johansen(name, cause, model):
    y, times, curves, wanted = read(name)
    found = sg.brier_skill(y, curves[model], times, cause=cause)
    np.testing.assert_allclose(
        found.values, wanted[cause]["brier"][model]["IPA"], rtol=1e-9, atol=1e-12
    )
    assert found.convention["baseline"] == "Aalen-Johansen of the test outcomes"


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("cause", CAUSES)
def test_differences_of_brier_scores(name, cause):
    y, times, curves, wanted = read(name)
    want = wanted[cause]["brier_difference"]
    for k, time in enumerate(times):
        a, b = (
            sg.brier_score(y, curves[m], [time], cause=cause, convention="riskregression")
            for m in "AB"
        )
        assert b.mean - a.mean == pytest.approx(want["delta"][k], rel=1e-9)
        spread = standard_error(b.details.contributions - a.details.contributions)
        assert spread == pytest.approx(want["se"][k], rel=1e-8)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("model", ["A", "B"])
def test_auc_and_both_standard_errors(name, cause, model):
    y, times, curves, wanted = read(name)
    want = wanted[cause]["auc"][model]
    for options, errors in (
        ({"convention": "riskregression", "stderr": "estimated"}, want["se"]),
        ({"stderr": "fixed"}, wanted[cause]["auc_fixed"][model]["se"]),
    ):
        found = sg.cumulative_dynamic_auc(y, curves[model], times, cause=cause, **options)
        np.testing.assert_allclose(found.values, want["AUC"], rtol=1e-11)
        np.testing.assert_allclose(found.stderr, errors, rtol=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("cause", CAUSES)
def test_differences_of_auc(name, cause):
    y, times, curves, wanted = read(name)
    want = wanted[cause]["auc_difference"]
    for k, time in enumerate(times):
        a, b = (
            cumulative_dynamic_auc_details(
                y, curves[m], [time], cause=cause, convention="riskregression"
            )
            for m in "AB"
        )
        assert b.value - a.value == pytest.approx(want["delta"][k], rel=1e-9)
        assert standard_error(b.contributions - a.contributions) == pytest.approx(
            want["se"][k], rel=1e-8
        )


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("model", ["A", "B"])
def test_concordance(cause, model):
    # Without ties in time: pec reads G of the later subject at the time of the event, not before.
    y, times, curves, wanted = read("continuous")
    risk = curves[model].at(times[-1], cause)
    found = sg.concordance_index(y, risk, method="uno", tau=times[-1], cause=cause)
    assert found == pytest.approx(wanted[cause]["concordance"][model], rel=1e-9)
