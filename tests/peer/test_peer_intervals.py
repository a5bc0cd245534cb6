"""SurvivalEVAL 0.9.0 as a black box: its numbers of interval-censored outcomes.

* Its mean absolute and squared errors are our hinge errors, and its concordance of comparable pairs
  ours, with ``ties="half"`` where risks are tied.
* Its Brier score "uncensored" is the mean over subjects whose status is known.
* "Tsouprou-marginal" is another score: the squared distance of the prediction from the probability
  of the status, where ours is the expected squared distance from the status. They differ by the
  spread of the unknown statuses, and by where Turnbull's weight lies in its intervals.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.time.interval_errors import interval_error

pytestmark = pytest.mark.peer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    survival_eval = pytest.importorskip("SurvivalEVAL")

AT = 3.0


def drawn(seed, n=150, tied=False):
    rng = np.random.default_rng(seed)
    time = rng.exponential(5, n)
    y = sg.visits(time, 1.5, end=rng.uniform(3, 9, n), random_state=seed).y
    scale = rng.uniform(3, 7, n)
    return y, time * rng.uniform(0.5, 1.5, n), np.round(scale, 1) if tied else scale


def curves_of(scale):
    grid = np.linspace(0, 40, 81)
    return sg.SurvivalCurves(grid, np.exp(-grid / scale[:, None]))


@pytest.mark.parametrize("seed", range(3))
def test_mean_absolute_error_is_the_hinge(seed):
    y, predicted, _ = drawn(seed)
    found = survival_eval.mean_error_ic(y.lower, y.upper, predicted)
    assert interval_error(y, predicted, method="hinge") == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_mean_squared_error_is_the_squared_hinge(seed):
    y, predicted, _ = drawn(seed)
    found = survival_eval.mean_error_ic(y.lower, y.upper, predicted, error_type="squared")
    ours = interval_error(y, predicted, method="hinge", loss="squared")
    assert ours == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_curves_take_their_median(seed):
    y, _, scale = drawn(seed)
    curves = curves_of(scale)
    theirs = survival_eval.IntervalCenEvaluator(curves.survival, curves.times, y.lower, y.upper)
    ours = interval_error(y, curves, method="hinge")
    assert ours == pytest.approx(theirs.mae(), rel=1e-10)
    squared = interval_error(y, curves.median(), method="hinge", loss="squared")
    assert squared == pytest.approx(theirs.mse(), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_brier_where_everybody_is_visited(seed):
    """At a common visit every status is known, and "Tsouprou-marginal" is the same score."""
    rng = np.random.default_rng(seed)
    time, scale = rng.exponential(5, 150), rng.uniform(3, 7, 150)
    y = sg.visits(time, 1.0, jitter=0.0, end=rng.uniform(3, 9, 150), random_state=seed).y
    train = {"train_left_limits": y.lower, "train_right_limits": y.upper}
    curves = curves_of(scale)
    found = survival_eval.brier_score_ic(curves.at(2.0), y.lower, y.upper, target_time=2.0, **train)
    ours = sg.brier_score(y, curves, [2.0]).values[0]
    assert ours == pytest.approx(found, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_predicted_risks_of_groups(seed):
    """Observed risks are not compared: at a common visit, where the share with the event is known,
    theirs are off it by up to 0.2.
    """
    y, _, scale = drawn(seed)
    risk = 1 - curves_of(scale).at(AT)
    found = survival_eval.one_cal_ic(risk, y.lower, y.upper, AT, num_bins=3)[3]
    ours = sg.interval_calibration(y, curves_of(scale), AT, groups=3).predicted
    np.testing.assert_allclose(ours, np.sort(found), rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tied", [False, True])
def test_concordance_of_comparable_pairs(seed, tied):
    y, _, scale = drawn(seed, tied=tied)
    found = survival_eval.concordance_ic(-scale, y.lower, y.upper, ties="half")[0]
    assert sg.concordance_index(y, -scale) == pytest.approx(found, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_brier_of_known_statuses(seed):
    y, _, scale = drawn(seed)
    curves = curves_of(scale)
    known = (y.lower >= AT) | (y.upper <= AT)
    s = curves.at(AT)
    found = survival_eval.brier_score_ic(s, y.lower, y.upper, target_time=AT, method="uncensored")
    ours = sg.brier_score(y[known], curves[np.flatnonzero(known)], [AT]).values[0]
    assert ours == pytest.approx(found, rel=1e-10)
