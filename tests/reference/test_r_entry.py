"""Delayed entry against survfit and concordance of Surv(entry, time, event) in R."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg

WANTED = json.loads((Path(__file__).parent / "r" / "entry.json").read_text())["datasets"]
SETS = pytest.mark.parametrize("name", list(WANTED))


def outcomes(name: str) -> sg.Outcomes:
    data = WANTED[name]["data"]
    return sg.Outcomes(data["time"], np.array(data["status"]) > 0, entry=data["entry"])


@SETS
@pytest.mark.parametrize("estimator", ["kaplan_meier", "nelson_aalen"])
def test_survival(name: str, estimator: str) -> None:
    wanted = WANTED[name]
    found = sg.KaplanMeier.fit(outcomes(name), estimator)
    key = "survival" if estimator == "kaplan_meier" else "nelson_aalen"
    np.testing.assert_allclose(found.at(wanted["times"]), wanted[key], rtol=1e-8, atol=1e-12)


@SETS
def test_censoring(name: str) -> None:
    y = outcomes(name)
    found = sg.KaplanMeier.fit_censoring(y)
    times = np.unique(y.time)
    np.testing.assert_allclose(found.at(times), WANTED[name]["censoring"], rtol=1e-8, atol=1e-12)


def test_a_risk_set_that_becomes_empty() -> None:
    y = outcomes("thin")
    assert sg.KaplanMeier.fit(y).at(1.5) == 0.0
    assert sg.KaplanMeier.since(y).at(5.0) > 0.5


@SETS
def test_concordance(name: str) -> None:
    wanted, risk = WANTED[name]["concordance"], np.array(WANTED[name]["data"]["risk"])
    found = sg.concordance_index(outcomes(name), risk)
    np.testing.assert_allclose(found.value, wanted["value"], rtol=1e-8)
    pairs = wanted["concordant"] + wanted["discordant"] + wanted["tied"]
    np.testing.assert_allclose(found.support["pair_weight"], pairs, rtol=1e-12)
    variance = (found.contributions**2).sum()  # the infinitesimal jackknife, without n / (n - 1)
    np.testing.assert_allclose(variance, wanted["variance"], rtol=1e-8)


@SETS
def test_concordance_until(name: str) -> None:
    wanted, risk = WANTED[name]["concordance_until"], np.array(WANTED[name]["data"]["risk"])
    found = sg.concordance_index(outcomes(name), risk, tau=wanted["ymax"])
    np.testing.assert_allclose(found.value, wanted["value"], rtol=1e-8)
    np.testing.assert_allclose((found.contributions**2).sum(), wanted["variance"], rtol=1e-8)


@SETS
def test_incidence(name: str) -> None:
    wanted, data = WANTED[name], WANTED[name]["data"]
    y = sg.Outcomes(data["time"], np.array(data["status"], dtype=int), entry=data["entry"])
    found = sg.AalenJohansen.fit(y)
    for k in (1, 2):
        at = found.at(wanted["incidence_times"], k)
        np.testing.assert_allclose(at, wanted["incidence"][k - 1], rtol=1e-8, atol=1e-12)
        spread = found.stderr_at(wanted["incidence_times"], k)
        np.testing.assert_allclose(spread, wanted["incidence_stderr"][k - 1], rtol=1e-8, atol=1e-9)
        contributions = found.contributions(6.0, k)  # their squares add up to the same variance
        np.testing.assert_allclose(
            (contributions**2).sum(), found.stderr_at(6.0, k) ** 2, rtol=1e-8
        )
