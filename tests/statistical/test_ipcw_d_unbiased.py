"""IPCW-D is unbiased for the true MAE under independent censoring."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow


def draw(rng, n, whole_units):
    t, c = rng.weibull(1.5, n) * 10, rng.exponential(14, n)
    if whole_units:  # first the times in whole units, then the flag
        t, c = np.ceil(t), np.ceil(c)
    return t, c


def true_g(t, side, whole_units):
    """P(C >= t) or P(C > t) of the exponential with mean 14, or of its ceiling."""
    t = np.asarray(t, float)
    if whole_units:
        t = np.ceil(t) - (side == "left")
    return np.exp(-np.maximum(t, 0) / 14)


@pytest.mark.parametrize("whole_units", [False, True])
@pytest.mark.parametrize("g", ["given", "train", "test"])
@pytest.mark.parametrize("tau", [None, 12.0])
def test_ipcw_d_is_unbiased(whole_units, g, tau):
    rng = np.random.default_rng([whole_units, ("test", "given", "train").index(g), tau is None])
    n, replications = 500, 1200
    estimates, truths = [], []
    for _ in range(replications):
        t, c = draw(rng, n, whole_units)
        tt, tc = draw(rng, n, whole_units)
        p = rng.uniform(2, 16, n)
        censoring = (lambda x, side: true_g(x, side, whole_units)) if g == "given" else g
        train = (np.minimum(tt, tc), tt <= tc)
        estimates.append(
            sg.mae((np.minimum(t, c), t <= c), p, y_train=train, method="ipcw_d", tau=tau,
                   censoring=censoring)
        )  # fmt: skip
        limit = np.inf if tau is None else tau
        truths.append(np.abs(np.minimum(t, limit) - np.minimum(p, limit)).mean())
    difference = np.array(estimates) - np.array(truths)
    stderr = difference.std(ddof=1) / np.sqrt(replications)
    if g == "test" and tau is None:
        # With their own G the events stand for whoever has the event within the follow-up; those
        # who live longer than everybody observed are missing, which a horizon mends.
        assert -0.03 * np.mean(truths) < difference.mean() < 0
        return
    # Weibull times have full support under exponential censoring, so only noise may remain.
    assert abs(difference.mean()) < 4 * stderr
    assert stderr < 0.02 * np.mean(truths)


def test_the_right_limit_of_g_is_off_by_several_percent_in_whole_units():
    rng = np.random.default_rng(5)
    ratio = []
    for _ in range(200):
        t, c = draw(rng, 1000, whole_units=True)
        p = rng.uniform(2, 16, 1000)
        y = (np.minimum(t, c), t <= c)
        right = sg.mae(y, p, method="ipcw_d", censoring=lambda x, side: true_g(x, "right", True))
        ratio.append(right / np.abs(t - p).mean())
    assert 1.04 < np.mean(ratio) < 1.11
