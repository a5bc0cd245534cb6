"""SurvivalEVAL 0.9.0 as a black box: where its calibration numbers are ours, and where not.

* D-calibration, ICI (Efron's ties), log-rank, Cox-Snell and martingale residuals: equal. Its bins
  run from high to low S, ours from low to high. Its deviance residuals differ by up to 1e-5.
* 1-calibration: ``convention="survivaleval"`` gives its default (variance of the observed rate, as
  many degrees of freedom as groups, ties split by position). With ``adjust_variance=False`` it has
  our D'Agostino-Nam statistic wherever groups of equal size leave nothing over and predictions are
  not tied.
* KM-calibration: ``convention="survivaleval"``.
* Kolmogorov-Smirnov form: its distance is our ``support["distance"]``; its p-value comes from a
  bootstrap of that distance, ours from the weighted statistic's distribution.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from survgauge import SurvivalCurves
from survgauge.metrics.calibration.d_calibration import d_calibration
from survgauge.metrics.calibration.ici import integrated_calibration_index_cox
from survgauge.metrics.calibration.km_calibration import km_calibration
from survgauge.metrics.calibration.one_calibration import one_calibration
from survgauge.metrics.calibration.residuals import (
    cox_snell_residuals,
    deviance_residuals,
    martingale_residuals,
)
from survgauge.metrics.group_tests import log_rank_test

pytestmark = pytest.mark.peer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    survival_eval = pytest.importorskip("SurvivalEVAL")

CASES = [(60, False, 0), (157, True, 1), (400, False, 2), (200, True, 3)]
METHODS = [("dn", "DN"), ("uncensored", "Uncensored")]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    n, tied, seed = request.param
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time = rng.weibull(1.5, n) * np.exp(-0.5 * x) * 5
    censoring = rng.exponential(8, n)
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    if tied:
        time = np.ceil(time)
    grid = np.linspace(0, 30, 61)
    survival = np.exp(-((grid / 5 * np.exp(0.4 * x)[:, None]) ** 1.3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = event.astype(float)
        peer = survival_eval.SurvivalEvaluator(survival, grid, time, flags, time, flags)
    return (time, event), SurvivalCurves(grid, survival), peer


def asked(function, *arguments, **options):
    """Call a peer without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@pytest.mark.parametrize("bins", [5, 10])
def test_d_calibration(case, bins):
    y, curves, peer = case
    p_value, histogram = asked(peer.d_calibration, bins)
    result = d_calibration(y, curves, bins=bins, method="chi2")
    np.testing.assert_allclose(result.observed, histogram[::-1], atol=1e-10)
    assert result.p_value == pytest.approx(p_value, rel=1e-8)


@pytest.mark.parametrize(("method", "theirs"), METHODS)
@pytest.mark.parametrize("groups", [5, 7, 10])
def test_one_calibration(case, method, theirs, groups):
    y, curves, peer = case
    p_value, observed, expected = asked(peer.one_calibration, 4.3, groups, "C", theirs)
    result = one_calibration(
        y, curves, 4.3, groups=groups, method=method, convention="survivaleval"
    )
    np.testing.assert_allclose(result.observed, observed[::-1], atol=1e-10)
    np.testing.assert_allclose(result.expected, expected[::-1], atol=1e-10)
    assert result.p_value == pytest.approx(p_value, rel=1e-8, nan_ok=True)


def test_one_calibration_original_form(case):
    y, curves, peer = case
    if len(y[0]) % 5:
        pytest.skip("groups of unequal size are cut elsewhere")
    p_value, observed, _ = asked(peer.one_calibration, 4.3, 5, adjust_variance=False)
    result = one_calibration(y, curves, 4.3, groups=5, method="dn")
    np.testing.assert_allclose(result.observed, observed[::-1], atol=1e-10)
    assert result.p_value == pytest.approx(p_value, rel=1e-8)


def test_km_calibration(case):
    y, curves, peer = case
    want = asked(peer.km_calibration)
    assert km_calibration(y, curves, convention="survivaleval") == pytest.approx(want, rel=1e-8)


def test_ici(case):
    y, curves, peer = case
    want = asked(peer.integrated_calibration_index, 4.3, draw_figure=False)
    result = integrated_calibration_index_cox(y, curves, 4.3)
    ours = (result.ici, result.e50, result.e90, result.emax)
    theirs = [float(want[key]) for key in ("ICI", "E50", "E90", "E_max")]
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_ks_distance(case):
    y, curves, peer = case
    _, distance = asked(peer.ksd_calibration, n_resamples=9, seed=0)
    ours = d_calibration(y, curves, method="ks").support["distance"]
    assert ours == pytest.approx(distance, rel=1e-8)


def test_log_rank(case):
    y, curves, peer = case
    p_value, statistic = asked(peer.log_rank)
    medians = curves.median()
    result = log_rank_test(y, (medians, np.ones(medians.size)))
    assert result.statistic == pytest.approx(statistic, rel=1e-8)
    assert result.p_value == pytest.approx(p_value, rel=1e-8)


def test_residuals(case):
    y, curves, peer = case
    for name, function, close in (
        ("CoxSnell", cox_snell_residuals, 1e-8),
        ("Martingale", martingale_residuals, 1e-8),
        ("Deviance", deviance_residuals, 1e-4),
    ):
        np.testing.assert_allclose(function(y, curves), asked(peer.residuals, name), atol=close)
