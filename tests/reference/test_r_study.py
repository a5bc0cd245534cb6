"""Royston's D, IPA and Kaplan-Meier at a time from R (tests/reference/r/study.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.outcomes import Outcomes
from survgauge.reference.survival_at import survival_at

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
def test_kaplan_meier_at_a_time(name):
    (time, event), _, _, wanted = read(name)
    labels = np.array(wanted["groups"]["label"])
    cases = [(np.ones(len(time), bool), wanted["overall"]["survival"], wanted["overall"]["se"])]
    for k in range(3):
        group = wanted["groups"]
        cases.append((labels == k, group["survival"][k], group["se"][k]))
    for rows, survival, se in cases:
        found = survival_at(Outcomes(time[rows], event[rows]), wanted["at"])
        assert found.value == pytest.approx(survival, abs=1e-12)
        # Greenwood's variance is the sum of the squared contributions.
        assert np.sqrt(np.sum(found.psi**2)) == pytest.approx(se, rel=1e-9)


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
