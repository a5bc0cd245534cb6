"""Brier score, C and AUC of one cause: unbiased under censoring, and their intervals cover."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow

AT, N, RUNS = 3.0, 300, 1000
SCORES = ("brier", "uno", "without_event", "event_free")


def draw(rng, n, censored):
    """Two causes whose shares depend on x, and a model that is somewhat off."""
    x = rng.normal(0, 1, n)
    p = 1 / (1 + np.exp(-x))
    cause = np.where(rng.random(n) < p, 1, 2)
    time = rng.exponential(np.where(cause == 1, 4.0, 3.0))
    end = rng.exponential(6, n) if censored else np.full(n, np.inf)
    y = sg.Outcomes(np.minimum(time, end), np.where(time <= end, cause, 0), causes=["a", "b"])
    grid = np.array([AT, 2 * AT])
    one = 1 - np.exp(-grid / 5.0)
    curves = sg.IncidenceCurves(
        grid, np.stack([p[:, None] * one, (1 - p)[:, None] * one], axis=1), causes=["a", "b"]
    )
    return y, curves


def scores(y, curves):
    brier = sg.brier_score(y, curves, [AT], cause="a")
    found = [(brier.mean, brier.stderr[0])]
    c = sg.concordance_index(y, curves.at(AT, "a"), method="uno", tau=AT, cause="a")
    found.append((c.value, c.stderr))
    for controls in SCORES[2:]:
        auc = sg.cumulative_dynamic_auc(
            y, curves, [AT], cause="a", controls=controls, stderr="estimated"
        )
        found.append((auc.mean, auc.stderr[0]))
    return np.array(found)


def test_unbiased_and_covered():
    rng = np.random.default_rng(18)
    truth = scores(*draw(rng, 400_000, censored=False))[:, 0]
    runs = np.array([scores(*draw(rng, N, censored=True)) for _ in range(RUNS)])
    values, errors = runs[..., 0], runs[..., 1]
    spread = values.std(axis=0)
    assert (abs(values.mean(axis=0) - truth) < 4 * spread / np.sqrt(RUNS)).all()
    np.testing.assert_allclose(errors.mean(axis=0), spread, rtol=0.08)
    covered = (abs(values - truth) < 1.959964 * errors).mean(axis=0)
    assert (covered > 0.93).all(), dict(zip(SCORES, covered, strict=True))
    assert (covered < 0.97).all(), dict(zip(SCORES, covered, strict=True))
