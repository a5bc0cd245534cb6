"""What validation studies report, from R (tests/reference/r/study.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.outcomes import Outcomes
from survgauge.estimators.aalen_johansen import free_at
from survgauge.estimators.pseudo import PseudoIncidence

FOLDER = Path(__file__).parent / "r"
DATA = json.loads((FOLDER / "metrics.json").read_text())["datasets"]
WANTED = json.loads((FOLDER / "study.json").read_text())["datasets"]
SETS = sorted(WANTED)


def read(name):
    data = DATA[name]
    y = np.array(data["test"]["time"], float), np.array(data["test"]["event"], bool)
    model = data["models"]["A"]
    curves = sg.SurvivalCurves(data["times"], model["survival"], interpolation="step")
    return y, np.array(model["risk"]), curves, WANTED[name]


@pytest.mark.parametrize("name", SETS)
def test_royston(name):
    y, risk, _, wanted = read(name)
    found = sg.royston_d(y, risk)
    assert found.value == pytest.approx(wanted["royston"]["D"], abs=1e-9)
    assert found.model_stderr == pytest.approx(wanted["royston"]["se"], abs=1e-9)
    assert found.r_squared == pytest.approx(wanted["royston"]["r_squared"], abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_index_of_prediction_accuracy(name):
    y, _, curves, wanted = read(name)
    found = sg.brier_skill(y, curves, [wanted["at"]], convention="riskregression")
    assert found.values[0] == pytest.approx(wanted["ipa"]["ipa"], abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_weak_calibration(name):
    y, _, curves, wanted = read(name)
    found = sg.weak_calibration(y, curves, wanted["at"])
    assert found.intercept.value == pytest.approx(wanted["weak"]["intercept"], abs=1e-8)
    assert found.slope.value == pytest.approx(wanted["weak"]["slope"], abs=1e-8)
    pseudo = PseudoIncidence.of(Outcomes(*y), None, wanted["at"])
    np.testing.assert_allclose(1 - pseudo.values, wanted["weak"]["pseudo"], atol=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_the_records_have_the_same_numbers(name):
    y, risk, curves, wanted = read(name)
    names = ["ipa", "calibration_intercept", "calibration_slope"]
    asked = {"time": wanted["at"], "convention": "riskregression", "min_at_risk": 1}
    ev = sg.evaluate({"A": curves}, y, metrics=names, confidence=None, **asked)
    found = {row["metric"]: row["value"] for row in ev.rows()}
    assert found["ipa"] == pytest.approx(wanted["ipa"]["ipa"], abs=1e-9)
    assert found["calibration_intercept"] == pytest.approx(wanted["weak"]["intercept"], abs=1e-8)
    assert found["calibration_slope"] == pytest.approx(wanted["weak"]["slope"], abs=1e-8)
    ev = sg.evaluate({"A": sg.RiskScores(risk)}, y, metrics=["royston_d"])
    assert ev.rows()[0]["value"] == pytest.approx(wanted["royston"]["D"], abs=1e-9)
    assert ev.support["metrics"]["A"]["royston_d"]["r_squared"] == pytest.approx(
        wanted["royston"]["r_squared"], abs=1e-9
    )


@pytest.mark.parametrize("name", SETS)
def test_kaplan_meier_at_a_time(name):
    (time, event), _, _, wanted = read(name)
    labels = np.array(wanted["groups"]["label"])
    cases = [(np.ones(len(time), bool), wanted["overall"]["survival"], wanted["overall"]["se"])]
    for k in range(3):
        group = wanted["groups"]
        cases.append((labels == k, group["survival"][k], group["se"][k]))
    for rows, survival, se in cases:
        found = free_at(Outcomes(time[rows], event[rows]), None, wanted["at"])
        assert found.value == pytest.approx(survival, abs=1e-12)
        # Greenwood's variance is the sum of the squared contributions.
        assert np.sqrt(np.sum(found.contributions**2)) == pytest.approx(se, rel=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_groups_of_risk(name):
    y, risk, _, wanted = read(name)
    group, at = wanted["groups"], wanted["at"]
    labels = np.array(group["label"])
    # R's groups begin above its cuts, ours at them.
    cuts = [risk[labels == k].min() for k in (1, 2)]
    found = sg.risk_groups(y, sg.RiskScores(risk), cuts=cuts, tau=at)
    np.testing.assert_array_equal(found.label, labels)
    np.testing.assert_allclose(found.survival, group["survival"], atol=1e-12)
    np.testing.assert_allclose(found.survival_stderr, group["se"], rtol=1e-9)
    np.testing.assert_allclose(found.rmst, group["rmst"], rtol=1e-10)
    np.testing.assert_allclose(found.rmst_stderr, group["rmst_se"], rtol=1e-9)
    np.testing.assert_array_equal(found.at_risk(at)[:, 0], group["at_risk"])
    assert found.log_rank == pytest.approx(group["logrank"], rel=1e-9)
    assert found.freedom == 2
