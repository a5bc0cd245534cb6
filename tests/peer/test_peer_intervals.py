"""SurvivalEVAL 0.9.0 as a black box: its numbers of interval-censored outcomes.

* Its mean absolute error is our hinge error, and its concordance of comparable pairs ours, with
  ``ties="half"`` where risks are tied.
* Its Brier score "uncensored" is the mean over subjects whose status is known.
* "Tsouprou-marginal" is another score: the squared distance of the prediction from the probability
  of the status, where ours is the expected squared distance from the status. They differ by the
  spread of the unknown statuses, and by where Turnbull's mass lies in its intervals.
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


def drawn(seed, n=150, tied=False):
    rng = np.random.default_rng(seed)
    time = rng.exponential(5, n)
    y = sg.visits(time, 1.5, end=rng.uniform(3, 9, n), random_state=seed).y
    scale = rng.uniform(3, 7, n)
    return y, time * rng.uniform(0.5, 1.5, n), np.round(scale, 1) if tied else scale


@pytest.mark.parametrize("seed", range(3))
def test_mean_absolute_error_is_the_hinge(seed):
    y, predicted, _ = drawn(seed)
    found = survival_eval.mean_error_ic(y.lower, y.upper, predicted)
    assert sg.interval_error(y, predicted, method="hinge") == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tied", [False, True])
def test_concordance_of_comparable_pairs(seed, tied):
    y, _, scale = drawn(seed, tied=tied)
    found = survival_eval.concordance_ic(-scale, y.lower, y.upper, ties="half")[0]
    assert sg.interval_concordance(y, -scale) == pytest.approx(found, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_brier_of_known_statuses(seed):
    y, _, scale = drawn(seed)
    curves = sg.SurvivalCurves(
        np.linspace(0, 40, 81), np.exp(-np.linspace(0, 40, 81) / scale[:, None])
    )
    known = (y.lower >= AT) | (y.upper <= AT)
    s = curves.at(AT)
    found = survival_eval.brier_score_ic(s, y.lower, y.upper, target_time=AT, method="uncensored")
    ours = sg.interval_brier_score(y[known], curves[np.flatnonzero(known)], [AT]).values[0]
    assert ours == pytest.approx(found, rel=1e-10)
