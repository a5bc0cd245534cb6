"""Calibration under competing risks from survival of R (r/incidence_calibration.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.pseudo import PseudoIncidence

FOLDER = Path(__file__).parent / "r"
DATA = json.loads((FOLDER / "incidence.json").read_text())["datasets"]
MODELS = json.loads((FOLDER / "incidence_scores.json").read_text())["datasets"]
WANTED = json.loads((FOLDER / "incidence_calibration.json").read_text())["datasets"]
CAUSES = ("first", "second")


@pytest.mark.parametrize("name", sorted(WANTED))
@pytest.mark.parametrize("cause", CAUSES)
def test_pseudo_observations(name, cause):
    y, at, wanted = read(name)
    competes = y.event & (y.cause != 1 + CAUSES.index(cause))
    found = PseudoIncidence.of(y.any_cause(), competes, at)
    np.testing.assert_allclose(1 - found.values, wanted[cause]["pseudo"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", sorted(WANTED))
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("model", ["A", "B"])
def test_intercept_slope_ratio_and_groups(name, cause, model):
    y, at, wanted = read(name)
    want = wanted[cause]["models"][model]
    risk = np.array(MODELS[name]["models"][model][cause])[:, MODELS[name]["times"].index(at)]
    given = {"cause": cause, "probability": "event"}
    found = sg.weak_calibration(y, risk, at, **given)
    assert found.intercept.value == pytest.approx(want["intercept"], rel=1e-8)
    assert found.slope.value == pytest.approx(want["slope"], rel=1e-8)
    ratio = sg.observed_expected(y, risk, at, **given).ratio
    assert ratio == pytest.approx(want["ratio"], rel=1e-10)
    apart = risk + 1e-9 * np.arange(1, len(y) + 1)  # R splits ties by position
    groups = sg.one_calibration(y, apart, at, groups=5, **given)
    for side in ("observed", "expected"):
        told = [group[side] for group in want["groups"]]
        np.testing.assert_allclose(getattr(groups, side), told, rtol=1e-9, atol=1e-12)


def read(name):
    data = DATA[name]["data"]
    y = sg.Outcomes(data["time"], data["status"], causes=CAUSES)
    return y, WANTED[name]["at"], WANTED[name]["causes"]
