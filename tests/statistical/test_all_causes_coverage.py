"""Scores of all causes and the time-dependent C: unbiased under censoring; intervals cover."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow

AT, RUNS = 3.0, 2000
GRID = np.append(np.linspace(0.5, 6.0, 12), [12.0, 24.0, 50.0, 200.0])
SCORES = (
    "log", "squared", "integrated log", "integrated squared", "accuracy", "td ipcw",
    "td", "accuracy of the known", "log-likelihood",
)  # fmt: skip
#: Those without weights have a limit that depends on how many are censored.
UNWEIGHTED = slice(5, None)
#: Mean censoring times that censor about 30 and 60 %.
ENDS = {30: 6.5, 60: 1.9}


def draw(rng, n, end):
    """Two causes whose shares depend on x, and a model that is somewhat off."""
    x = rng.normal(0, 1, n)
    p = 1 / (1 + np.exp(-x))
    cause = np.where(rng.random(n) < p, 1, 2)
    time = rng.exponential(np.where(cause == 1, 3.0, 2.5))
    last = np.full(n, np.inf) if end is None else rng.exponential(end, n)
    y = sg.Outcomes(np.minimum(time, last), np.where(time <= last, cause, 0), causes=["a", "b"])
    one = 1 - np.exp(-GRID * np.exp(0.2 * x)[:, None] / 3.5)
    values = np.stack([p[:, None] * one, (1 - p)[:, None] * one], axis=1)
    return y, sg.IncidenceCurves(GRID, values, causes=["a", "b"])


def scores(y, curves):
    """Value and standard error of each."""
    times = np.linspace(0.25, AT, 12)
    found = []
    for loss in ("log", "squared"):
        found.append(sg.multi_cause_score(y, curves, [AT], loss=loss).details)
    for loss in ("log", "squared"):
        found.append(sg.integrated_multi_cause_score(y, curves, times, loss=loss))
    found.append(sg.concordance_td(y, curves, method="ipcw", tau=AT, cause="a"))
    found.append(sg.concordance_td(y, curves, tau=AT, cause="a"))
    found.append(sg.log_likelihood(y, curves))
    return np.array([(d.value, d.stderr) for d in found])


def limits(rng, end):
    """Values for very many subjects, and the standard errors of these."""
    found = scores(*draw(rng, 100_000, end=None))
    found[UNWEIGHTED] = scores(*draw(rng, 100_000, end=end))[UNWEIGHTED]
    return found.T


@pytest.mark.parametrize("percent", ENDS)
@pytest.mark.parametrize("n", [300, 1000])
def test_unbiased_and_covered(n, percent):
    rng = np.random.default_rng(18)
    truth, off = limits(rng, ENDS[percent])
    runs = np.array([scores(*draw(rng, n, end=ENDS[percent])) for _ in range(RUNS)])
    values, errors = runs[..., 0], runs[..., 1]
    spread = values.std(axis=0)
    assert (abs(values.mean(axis=0) - truth) < 4 * np.hypot(spread / np.sqrt(RUNS), off)).all()
    np.testing.assert_allclose(errors.mean(axis=0), spread, rtol=0.08)
    covered = (abs(values - truth) < 1.959964 * errors).mean(axis=0)
    assert (covered >= 0.93).all(), dict(zip(SCORES, covered, strict=True))
    assert (covered <= 0.97).all(), dict(zip(SCORES, covered, strict=True))
