"""Concordance from survival::concordance, AUC from riskRegression::Score (tests/reference/r)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import survgauge as sg
from survgauge.metrics.ranking.auc import (
    cumulative_dynamic_auc,
    cumulative_dynamic_auc_details,
)
from survgauge.metrics.ranking.concordance import concordance_index, concordance_td
from survgauge.metrics.score import standard_error

REFERENCE = json.loads((Path(__file__).parent / "r" / "metrics.json").read_text())["datasets"]
SETS = sorted(REFERENCE)


def subjects(name):
    data = REFERENCE[name]["test"]
    return sg.Outcomes(data["time"], data["event"])


def both(name, method, tau):
    """Score of the models A and B."""
    y, models = subjects(name), REFERENCE[name]["models"]
    risks = (models[m]["risk"] for m in ("A", "B"))
    # R's survival takes G as known.
    options = {"method": method, "tau": tau, "censoring": sg.KaplanMeier.fit_censoring(y)}
    return [concordance_index(y, risk, **options) for risk in risks]


def concordances(name):
    """(block, tau, method): R keeps anchors at ymax, ours are strictly before tau."""
    block = REFERENCE[name]["concordance"]
    yield block["harrell"], None, "harrell"
    yield block["uno"]["untruncated"], None, "uno"
    for part in block["uno"]["truncated"]:
        yield part, float(np.nextafter(part["ymax"], np.inf)), "uno"


@pytest.mark.parametrize("name", SETS)
def test_concordance_with_its_variance(name):
    y = subjects(name)
    blocks = list(concordances(name))
    assert len(blocks) == 4
    for block, tau, method in blocks:
        a, b = both(name, method, tau)
        for k, details in enumerate((a, b)):
            assert details.value == pytest.approx(block["C"][k], rel=1e-12)
            # R sums squared derivatives; our standard error has n/(n - 1) besides.
            assert (details.contributions**2).sum() == pytest.approx(block["var"][k][k], rel=1e-9)
            n = len(y)
            square = block["var"][k][k] * n / (n - 1)
            assert details.stderr == pytest.approx(np.sqrt(square), rel=1e-9)
            pairs = sum(block[kind][k] for kind in ("concordant", "discordant", "tied_risk"))
            assert details.support["pair_weight"] == pytest.approx(pairs, rel=1e-12)
        assert (a.contributions * b.contributions).sum() == pytest.approx(
            block["var"][0][1], rel=1e-9
        )


@pytest.mark.parametrize("name", SETS)
def test_paired_difference_of_concordances(name):
    for block, tau, method in concordances(name):
        a, b = both(name, method, tau)
        want = block["difference"]
        assert a.value - b.value == pytest.approx(want["delta"], rel=1e-10)
        stderr = np.sqrt(((a.contributions - b.contributions) ** 2).sum())
        assert stderr == pytest.approx(want["se"], rel=1e-9)
        p = 2 * ndtr(-abs(a.value - b.value) / stderr)
        assert p == pytest.approx(want["p"], rel=1e-8)


@pytest.mark.parametrize("name", SETS)
def test_proportional_curves_have_the_concordance_of_their_risk(name):
    """survival_i = exp(-H0 exp(risk_i)): the order is the same at all times with H0 > 0."""
    y, data = subjects(name), REFERENCE[name]
    model = data["models"]["A"]
    times, hazard = (np.array(model["baseline"][k], float) for k in ("times", "cumhaz"))
    survival = np.exp(-hazard * np.exp(model["risk"])[:, None])
    curves = sg.SurvivalCurves(times, survival, interpolation="step", tail="hold")
    late = y.time >= times[hazard > 0][0]
    assert late.sum() > 100
    got = concordance_td(y[late], curves[late])
    want = concordance_index(y[late], np.array(model["risk"])[late])
    assert got.value == pytest.approx(want.value, abs=1e-14)
    np.testing.assert_allclose(got.contributions, want.contributions, atol=1e-13)


@pytest.mark.parametrize("stderr", ["fixed", "estimated"])
@pytest.mark.parametrize("name", SETS)
def test_auc_with_its_standard_error(name, stderr):
    y, data = subjects(name), REFERENCE[name]
    for model, block in data["score"]["auc"].items():
        survival = np.array(data["models"][model]["survival"])
        curves = sg.SurvivalCurves(data["times"], survival)
        result = cumulative_dynamic_auc(
            y, curves, data["times"], stderr=stderr, convention="riskregression"
        )
        np.testing.assert_array_equal(result.times, data["times"])
        np.testing.assert_allclose(result.values, block["AUC"], rtol=1e-10)
        want = block["se_fixed_G" if stderr == "fixed" else "se"]
        np.testing.assert_allclose(result.stderr, want, rtol=1e-7)
        # Our own convention has the same values; without ties also the same standard errors.
        ours = cumulative_dynamic_auc(y, curves, data["times"], stderr=stderr)
        np.testing.assert_array_equal(ours.values, result.values)
        rtol = 1e-7 if stderr == "fixed" else 5e-3
        np.testing.assert_allclose(ours.stderr, want, rtol=rtol)


@pytest.mark.parametrize("stderr", ["fixed", "estimated"])
@pytest.mark.parametrize("name", SETS)
def test_paired_difference_of_aucs(name, stderr):
    y, data = subjects(name), REFERENCE[name]
    want = data["score"]["auc_contrasts"]["B - A"]
    for k, t in enumerate(data["times"]):
        a, b = (
            cumulative_dynamic_auc_details(
                y,
                1 - np.array(data["models"][m]["survival"])[:, k],
                t,
                stderr=stderr,
                convention="riskregression",
            )
            for m in ("A", "B")
        )
        assert b.value - a.value == pytest.approx(want["delta"][k], rel=1e-8)
        spread = standard_error(b.contributions - a.contributions)
        key = "se_fixed_G" if stderr == "fixed" else "se"
        assert spread == pytest.approx(want[key][k], rel=1e-7)
        if stderr == "estimated":
            assert 2 * ndtr(-abs(b.value - a.value) / spread) == pytest.approx(
                want["p"][k], rel=1e-6
            )
