"""An evaluation of two models of curves and one of risks, for the tests of studies."""

from __future__ import annotations

from functools import cache

import numpy as np

import survgauge as sg


@cache
def outcomes(n: int = 240, seed: int = 3):
    """Features, outcomes and the log hazard."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    score = 0.9 * x[:, 0] - 0.5 * x[:, 1]
    t, c = rng.exponential(300 * np.exp(-score)), rng.uniform(50, 900, n)
    return x, sg.Outcomes(np.minimum(t, c), t <= c), score


@cache
def evaluation(models: tuple[str, ...] = ("cox_ph", "a & b"), **settings):
    """Evaluate on the second half, with the first as training set unless there is `train=False`."""
    x, y, score = outcomes()
    grid = np.linspace(5, 1000, 60)
    half = slice(120, None)
    offered = {
        "cox_ph": (grid, np.exp(-np.outer(np.exp(score[half]), grid / 300))),
        "a & b": (grid, np.exp(-np.outer(np.exp(0.5 * score[half] + 0.4), grid / 300))),
        "risk": sg.RiskScores(x[half, 0]),
    }
    by = np.where(x[half, 1] > 0, "north", "south") if settings.pop("groups", False) else None
    train = y[:120] if settings.pop("train", True) else None
    chosen = {"time": 300.0, "unit": "days", **settings}
    return sg.evaluate({m: offered[m] for m in models}, y[half], y_train=train, by=by, **chosen)


def features(rows: slice):
    """Columns of numbers, of text and with gaps."""
    x, _, _ = outcomes()
    age = 60 + 10 * x[rows, 0]
    age[:3] = np.nan
    stage = np.where(x[rows, 1] > 0.5, "III", "II").astype(object)
    return {"age": age, "stage": stage, "flag": (x[rows, 0] > 0).astype(float)}
