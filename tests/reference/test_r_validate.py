"""Optimism correction and cross-validation of a Cox model from R (tests/reference/r/validate.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.cox import CoxModel

WANTED = json.loads((Path(__file__).parent / "r" / "validate.json").read_text())
X = np.array(WANTED["X"])
Y = sg.Outcomes(WANTED["time"], np.array(WANTED["event"], bool))
NAMES = ["harrell", "calibration_slope_cox", "brier"]


def cox(X, y):
    """Curves of a Cox model, ranked by the hazard: medians of step curves are tied."""
    model = CoxModel.fit(X, y)
    times = model.times
    return lambda X: sg.SurvivalCurves(times, model.survival(X, times), interpolation="step")


def hazard(X, y):
    model = CoxModel.fit(X, y)
    return lambda X: sg.RiskScores(model.log_risk(X))


def rows(**options):
    found = sg.validate(hazard, X, Y, metrics="harrell", **options).rows()
    other = sg.validate(cox, X, Y, metrics=NAMES[1:], time=WANTED["at"], **options).rows()
    return {row["metric"]: row for row in [*found, *other]}


def test_bootstrap_on_the_same_samples():
    found = rows(resamples=WANTED["drawn"])
    for name in NAMES:
        training, test = np.mean(WANTED["training"][name]), np.mean(WANTED["test"][name])
        assert found[name]["apparent"] == pytest.approx(WANTED["apparent"][name], abs=1e-8)
        assert found[name]["training"] == pytest.approx(training, abs=1e-8)
        assert found[name]["test"] == pytest.approx(test, abs=1e-8)
        corrected = WANTED["apparent"][name] - (training - test)
        assert found[name]["corrected"] == pytest.approx(corrected, abs=1e-8)


def test_bootstrap_of_rms():
    """rms stops its fits at a change of 1e-4 in the likelihood, hence the tolerance."""
    found = rows(resamples=WANTED["drawn"])
    dxy, slope = WANTED["rms"]["Dxy"], WANTED["rms"]["Slope"]
    assert 2 * found["harrell"]["apparent"] - 1 == pytest.approx(dxy["index.orig"], abs=1e-9)
    assert 2 * found["harrell"]["optimism"] == pytest.approx(dxy["optimism"], abs=1e-4)
    assert 2 * found["harrell"]["corrected"] - 1 == pytest.approx(dxy["index.corrected"], abs=1e-4)
    test = found["calibration_slope_cox"]["test"]
    assert test == pytest.approx(slope["test"], abs=1e-4)


def test_cross_validation_on_the_same_folds():
    found = rows(method="cv", resamples=WANTED["folds"])
    for name in NAMES:
        assert found[name]["corrected"] == pytest.approx(np.mean(WANTED["crossed"][name]), abs=1e-8)
