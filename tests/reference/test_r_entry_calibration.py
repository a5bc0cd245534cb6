"""Calibration, Cox regressions and pseudo-observations under delayed entry against R."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.pseudo import PseudoIncidence

FOLDER = Path(__file__).parent / "r"
DATA = json.loads((FOLDER / "entry.json").read_text())["datasets"]
R = json.loads((FOLDER / "entry_calibration.json").read_text())
SETS = pytest.mark.parametrize("name", list(R["datasets"]))
AT, TAU = R["at"], R["tau"]


def read(name: str) -> tuple[sg.Outcomes, sg.SurvivalCurves, dict[str, Any]]:
    data, wanted = DATA[name]["data"], R["datasets"][name]
    y = sg.Outcomes(data["time"], np.array(data["status"]) > 0, entry=data["entry"])
    return y, sg.SurvivalCurves(R["grid"], np.array(wanted["survival"]), "step"), wanted


@SETS
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_coxph(name: str, ties: str) -> None:
    y, curves, wanted = read(name)
    slope = sg.calibration_slope_cox(y, curves, AT, ties=ties)
    royston = sg.royston_d(y, DATA[name]["data"]["risk"], ties=ties)
    for found, key in ((slope, "slope"), (royston, "royston")):
        want = wanted[key][ties]
        np.testing.assert_allclose(found.value, want["coefficient"], rtol=1e-8)
    variance = slope.support["model_stderr"] ** 2
    np.testing.assert_allclose(variance, wanted["slope"][ties]["variance"], rtol=1e-8)
    np.testing.assert_allclose(
        (slope.contributions**2).sum(), wanted["slope"][ties]["robust"], rtol=1e-8
    )
    want = wanted["royston"][ties]["variance"]
    np.testing.assert_allclose(royston.model_stderr**2, want, rtol=1e-8)


@SETS
def test_antolini(name: str) -> None:
    y, curves, wanted = read(name)
    for method, key in (("antolini", "plain"), ("ipcw", "ipcw")):
        found = sg.concordance_td(y, curves, method=method, tau=TAU)
        np.testing.assert_allclose(found, wanted["antolini"][key], rtol=1e-8)


@SETS
def test_pseudo_observations_given_entry(name: str) -> None:
    y, _, wanted = read(name)
    found = PseudoIncidence.of(y[wanted["entered"]], None, AT)
    np.testing.assert_allclose(found.values, wanted["pseudo"], rtol=1e-8, atol=1e-10)
    mean = sg.pseudo_observations(y, tau=TAU)
    np.testing.assert_allclose(mean, wanted["pseudo_mean"], rtol=1e-8)


@SETS
def test_where_all_enter_at_one_time_they_are_those_of_survival(name: str) -> None:
    wanted = R["datasets"][name]["one_entry"]
    entry = np.full(len(wanted["time"]), wanted["from"])
    y = sg.Outcomes(wanted["time"], wanted["event"], entry=entry)
    found = PseudoIncidence.of(y, None, AT)
    np.testing.assert_allclose(found.values, wanted["survival"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(sg.pseudo_observations(y, tau=TAU), wanted["rmst"], rtol=1e-8)


@SETS
def test_regressions_at_a_time(name: str) -> None:
    y, curves, wanted = read(name)
    weak = sg.weak_calibration(y, curves, AT)
    np.testing.assert_allclose(weak.intercept.value, wanted["intercept"], rtol=1e-8)
    np.testing.assert_allclose(weak.slope.value, wanted["slope_at"], rtol=1e-8)
    ici = sg.integrated_calibration_index(y, curves, AT)
    for key in ("ici", "e50", "e90"):
        np.testing.assert_allclose(getattr(ici, key), wanted["ici"][key], rtol=1e-8)
