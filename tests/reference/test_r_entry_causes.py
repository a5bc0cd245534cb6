"""A cause under delayed entry against survfit of R, and scores made of its estimates there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.conditional_curves import given_entry
from survgauge.estimators.reference import Reference

WANTED = json.loads((Path(__file__).parent / "r" / "entry_causes.json").read_text())["datasets"]
SETS = pytest.mark.parametrize("name", list(WANTED))


def given(name: str) -> tuple[dict[str, Any], sg.Outcomes, sg.IncidenceCurves]:
    wanted = WANTED[name]
    data = wanted["data"]
    y = sg.Outcomes(data["time"], np.array(data["status"], dtype=int), entry=data["entry"])
    values = np.stack([np.array(part) for part in wanted["incidence"]], axis=1)
    return wanted, y, sg.IncidenceCurves(wanted["grid"], values)


@SETS
def test_incidence_of_those_event_free_at_a_time(name: str) -> None:
    wanted, y, _ = given(name)
    incidence = Reference(y, causes=True).incidence.curves(1)
    for part in wanted["from_a_time_on"]:
        for k in (1, 2):
            curves = given_entry(incidence.only(k, tail="hold"), np.array([part["begin"]]))
            found = 1 - curves.at(part["times"])[0]
            np.testing.assert_allclose(found, part["incidence"][k - 1], rtol=1e-8, atol=1e-12)


@SETS
@pytest.mark.parametrize("cause", [1, 2])
def test_brier(name: str, cause: int) -> None:
    wanted, y, curves = given(name)
    found = sg.brier_score(y, curves, wanted["times"], cause=cause).values
    np.testing.assert_allclose(found, wanted["brier"][cause - 1], rtol=1e-8)


@SETS
def test_auc_concordance_and_likelihood(name: str) -> None:
    wanted, y, curves = given(name)
    for controls, key in (("without_event", "all_controls"), ("event_free", "event_free")):
        found = sg.cumulative_dynamic_auc(y, curves, wanted["times"], cause=1, controls=controls)
        np.testing.assert_allclose(found.values, wanted[f"auc_{key}"], rtol=1e-8)
    for method, key in (("harrell", "concordance"), ("uno", "concordance_ipcw")):
        asked = {"method": method, "tau": wanted["tau"], "cause": 1}
        found = sg.concordance_index(y, wanted["risk"], **asked)
        assert found == pytest.approx(wanted[key], rel=1e-8)
    assert sg.log_likelihood(y, curves) == pytest.approx(wanted["log_likelihood"], rel=1e-8)
