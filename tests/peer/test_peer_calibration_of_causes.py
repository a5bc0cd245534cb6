"""hazardous 0.2 and SurvivalEVAL 0.9 as black boxes: calibration under competing risks.

* Aalen-Johansen calibration: both join squared gaps at the grid times of the prediction by lines,
  we integrate exactly between all jumps. At the grid times the gaps are equal, and with a finer
  grid their integral becomes ours.
* 1-calibration: equal observed and expected risks of the groups; they divide by the variance of the
  observed risk, or the binomial one, we by the variance under the prediction. Without censoring
  the binomial one is ours.
* ICI: SurvivalEVAL has a Fine-Gray model on the same spline, which assumes proportional
  subdistribution hazards at all times; ours is a regression of pseudo-observations at the one time.
  They differ little.
* Calibration of a cause's distribution (CR-D-calibration): a distance between the shares of events
  below each level of F_k(T)/F_k(infinity), without a distribution; ours is a test of the cause's
  hazard.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.peer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    survival_eval = pytest.importorskip("SurvivalEVAL")

AT = 3.0


def draw(n, seed, censored=True, size=41):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, n)
    p = 1 / (1 + np.exp(-x))
    cause = np.where(rng.random(n) < p, 1, 2)
    time = rng.exponential(np.where(cause == 1, 4.0, 3.0))
    end = rng.exponential(8, n) if censored else np.full(n, 60.0)
    y = sg.Outcomes(np.minimum(time, end), np.where(time <= end, cause, 0), causes=["1", "2"])
    grid = np.linspace(0, 5, size)
    total = 1 - np.exp(-grid / 3.4)
    values = np.stack([p[:, None] * total, (1 - p)[:, None] * total], axis=1)
    return y, sg.IncidenceCurves(grid, values)


def trapezoid(y, curves):
    """Squared gaps at the grid times, joined by lines."""
    grid = curves.times
    gap = curves.at(grid, 1).mean(axis=0) - sg.AalenJohansen.fit(y).at(grid, 1)
    return np.diff(grid) @ (gap[1:] ** 2 + gap[:-1] ** 2) / 2 / grid[-1]


def test_aalen_johansen_calibration_of_survivaleval():
    y, curves = draw(400, 0)
    given = curves.values[:, 0], curves.times, y.time, y.cause, 1
    theirs = survival_eval.aj_calibration_per_event(*given, min_prop_at_risk=0.0)
    assert theirs == pytest.approx(trapezoid(y, curves), rel=1e-8)
    y, fine = draw(400, 0, size=2001)
    given = fine.values[:, 0], fine.times, y.time, y.cause, 1
    theirs = survival_eval.aj_calibration_per_event(*given, min_prop_at_risk=0.0)
    assert theirs == pytest.approx(sg.km_calibration(y, fine, tau=5.0, cause=1), rel=2e-2)


def test_aalen_johansen_calibration_of_hazardous():
    metrics = pytest.importorskip("hazardous.metrics")
    frame = pytest.importorskip("pandas").DataFrame
    y, curves = draw(400, 1)
    table = frame({"event": y.cause, "duration": y.time})
    free = 1 - curves.values.sum(axis=1, keepdims=True)
    everything = np.concatenate((free, curves.values), axis=1)
    given = table, curves.times, everything
    theirs = metrics.aj_calibration_at_t(*given, event_of_interest=1)
    gap = curves.at(curves.times, 1).mean(axis=0) - sg.AalenJohansen.fit(y).at(curves.times, 1)
    np.testing.assert_allclose(np.ravel(theirs), np.abs(gap), atol=1e-8)
    whole = metrics.aj_calibration_per_event(*given, event_of_interest=1, min_prop_at_risk=0.0)
    assert whole == pytest.approx(trapezoid(y, curves), rel=1e-6)


def test_groups_of_one_calibration():
    y, curves = draw(400, 2)
    p = curves.at(AT, 1)
    _, _, observed, expected = survival_eval.one_calibration_cr(p, y.time, y.cause, AT, num_bins=8)
    found = sg.one_calibration(y, curves, AT, groups=8, cause=1)
    np.testing.assert_allclose(sorted(found.expected), sorted(expected), rtol=1e-9)
    order, theirs = np.argsort(found.expected), np.argsort(expected)
    np.testing.assert_allclose(found.observed[order], np.array(observed)[theirs], rtol=1e-9)


def test_without_censoring_the_binomial_variance_is_that_under_the_prediction():
    y, curves = draw(400, 3, censored=False)
    p = curves.at(AT, 1)
    given = {"num_bins": 8, "adjust_variance": False}
    _, statistic, *_ = survival_eval.one_calibration_cr(p, y.time, y.cause, AT, **given)
    found = sg.one_calibration(y, curves, AT, groups=8, cause=1)
    assert found.statistic == pytest.approx(statistic, rel=1e-9)


def test_fine_gray_gives_nearly_the_same_smooth_curve():
    y, curves = draw(3000, 4)
    p = curves.at(AT, 1)
    theirs = survival_eval.integrated_calibration_index_cr(p, y.time, y.cause, AT)
    found = sg.integrated_calibration_index(y, curves, AT, cause=1)
    assert found.ici == pytest.approx(theirs["ICI"], abs=0.01)
    assert found.e90 == pytest.approx(theirs["E90"], abs=0.02)
