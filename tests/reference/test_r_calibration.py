"""Log-rank, residuals, ICI and calibration slope from R (tests/reference/r/metrics.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from survgauge import SurvivalCurves
from survgauge.metrics.calibration.ici import integrated_calibration_index_cox
from survgauge.metrics.calibration.residuals import (
    cox_snell_residuals,
    deviance_residuals,
    martingale_residuals,
)
from survgauge.metrics.calibration.weak_calibration import calibration_slope_cox
from survgauge.metrics.group_tests import log_rank_test

REFERENCE = json.loads((Path(__file__).parent / "r" / "metrics.json").read_text())
SETS = sorted(REFERENCE["datasets"])


def read(name):
    data = REFERENCE["datasets"][name]
    y = {
        k: (np.array(data[k]["time"], float), np.array(data[k]["event"], bool))
        for k in ("train", "test")
    }
    return data, y


@pytest.mark.parametrize("name", SETS)
def test_log_rank(name):
    data, y = read(name)
    want, (time, event) = data["logrank"], y["test"]
    group = np.array(want["group"], bool)
    result = log_rank_test((time[~group], event[~group]), (time[group], event[group]))
    np.testing.assert_allclose(result.observed, want["observed"], rtol=1e-12)
    np.testing.assert_allclose(result.expected, want["expected"], rtol=1e-12)
    assert result.covariance[0, 0] == pytest.approx(want["variance"], rel=1e-12)
    assert result.statistic == pytest.approx(want["chisq"], rel=1e-12)
    assert result.p_value == pytest.approx(want["p"], rel=1e-10)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("part", ["train", "test"])
def test_residuals(name, part):
    data, y = read(name)
    model, want = data["models"]["A"], data["residuals"][part]
    covariates = np.column_stack([data[part]["x1"], data[part]["x2"]])
    risk = covariates @ np.array(model["beta"])
    hazard = np.outer(np.exp(risk), model["baseline"]["cumhaz"])
    curves = SurvivalCurves(model["baseline"]["times"], np.exp(-hazard), "step", "hold")
    for function, key in (
        (cox_snell_residuals, "cox_snell"),
        (martingale_residuals, "martingale"),
        (deviance_residuals, "deviance"),
    ):
        values = [np.inf if value is None else value for value in want[key]]
        np.testing.assert_allclose(function(y[part], curves), values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_ici(name, ties):
    data, y = read(name)
    block = data["calibration"]
    want = block[ties]
    curves = SurvivalCurves(data["times"], data["models"]["A"]["survival"])
    result = integrated_calibration_index_cox(y["test"], curves, block["t"], ties=ties)
    np.testing.assert_allclose(result.convention["knots"], want["knots"], rtol=1e-12)
    np.testing.assert_allclose(result.observed, want["observed"], rtol=1e-10)
    assert result.ici == pytest.approx(want["ICI"], rel=1e-10)
    assert result.e50 == pytest.approx(want["E50"], rel=1e-10)
    assert result.e90 == pytest.approx(want["E90"], rel=1e-10)
    assert result.emax == pytest.approx(want["Emax"], rel=1e-10)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", ["A", "B"])
def test_slope(name, model):
    data, y = read(name)
    want, block = data["calibration"]["slope"][model], data["models"][model]
    details = calibration_slope_cox(y["test"], block["risk"], ties="breslow")
    assert details.value == pytest.approx(want["slope"], rel=1e-9)
    assert details.support["model_stderr"] == pytest.approx(want["se"], rel=1e-9)
    # A proportional hazards model has the same slope at any time.
    curves = SurvivalCurves(data["times"], block["survival"])
    for time in data["times"][1:4]:
        details = calibration_slope_cox(y["test"], curves, time, ties="breslow")
        assert details.value == pytest.approx(want["slope"], rel=1e-9)
