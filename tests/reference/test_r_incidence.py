"""Cumulative incidence, Gray's test and subdistribution weights from R (r/incidence.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.group_tests import gray_test

WANTED = json.loads((Path(__file__).parent / "r" / "incidence.json").read_text())["datasets"]
SETS = sorted(WANTED)


def read(name):
    wanted = WANTED[name]
    data = wanted["data"]
    y = sg.Outcomes(data["time"], data["status"], causes=["first", "second"])
    return y, np.array(data["group"]), wanted


@pytest.mark.parametrize("name", SETS)
def test_incidence_and_both_variances(name):
    y, _, wanted = read(name)
    for variance, error in (
        ("jackknife", np.array(wanted["stderr"])),
        ("aalen", np.sqrt(np.array(wanted["aalen_variance"], float))),
    ):
        found = sg.AalenJohansen.fit(y, variance=variance)
        # R takes times that differ by rounding for one; none do here.
        np.testing.assert_allclose(found.times, wanted["times"], rtol=1e-12)
        np.testing.assert_allclose(found.incidence, wanted["incidence"], atol=1e-12)
        np.testing.assert_allclose(found.stderr, error, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_restricted_mean_time_lost(name):
    y, _, wanted = read(name)
    found = sg.AalenJohansen.fit(y)
    for cause in y.causes:
        value, error = wanted["rmtl"][cause]
        assert found.rmtl(wanted["tau"], cause) == pytest.approx(value, rel=1e-12)
        assert found.rmtl_stderr(wanted["tau"], cause) == pytest.approx(error, rel=1e-10)


@pytest.mark.parametrize("name", SETS)
def test_observed_over_expected(name):
    y, _, wanted = read(name)
    k = np.flatnonzero(np.array(wanted["times"]) <= wanted["tau"])[-1]
    n = len(y)
    for row, cause in enumerate(y.causes):
        # With one prediction for all, all spread comes from the observed risk.
        found = sg.observed_expected(
            y, np.full(n, 0.3), wanted["tau"], probability="event", cause=cause
        )
        assert found.observed == pytest.approx(wanted["incidence"][row][k], rel=1e-12)
        assert found.ratio == pytest.approx(wanted["incidence"][row][k] / 0.3, rel=1e-12)
        error = wanted["stderr"][row][k] / 0.3 * np.sqrt(n / (n - 1))
        assert found.stderr == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_gray(name, rho):
    y, group, wanted = read(name)
    for k, (statistic, p_value, freedom) in enumerate(wanted["gray_rho_1" if rho else "gray"]):
        found = gray_test(y, group, k + 1, rho=rho)
        assert found.statistic == pytest.approx(statistic, rel=1e-9)
        assert found.p_value == pytest.approx(p_value, rel=1e-9)
        assert found.freedom == freedom


@pytest.mark.parametrize("name", SETS)
def test_groups(name):
    y, group, wanted = read(name)
    for row, label in enumerate(("a", "b", "c")):
        found = sg.AalenJohansen.fit(y[group == label])
        for k, cause in enumerate(y.causes):
            values = np.array(wanted["groups"]["incidence"])[row, k]
            np.testing.assert_allclose(found.at(wanted["tau"], cause), values, atol=1e-12)
        at_risk = (y.time[group == label] >= wanted["tau"]).sum()
        assert at_risk == wanted["groups"]["at_risk"][row]


@pytest.mark.parametrize("name", SETS)
def test_subdistribution_weights(name):
    y, _, wanted = read(name)
    weights = np.array(wanted["finegray"]["weights"])
    found = sg.subdistribution_weights(y, wanted["finegray"]["times"], "first")
    np.testing.assert_allclose(found, weights, atol=1e-12)
