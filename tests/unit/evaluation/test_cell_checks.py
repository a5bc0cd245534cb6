"""Warnings about doubly robust errors: what they lean on, and where they contradict the weights."""

from __future__ import annotations

import numpy as np

import survgauge as sg


def codes(ev):
    return {warning.code for warning in ev.warnings}


def sample(n, rate, seed=0, end=np.inf):
    rng = np.random.default_rng(seed)
    event, lost = rng.exponential(8, n), np.minimum(rng.exponential(1 / rate, n), end)
    return sg.Outcomes(np.minimum(event, lost), event <= lost)


def test_a_long_tail_of_the_distribution_is_said_and_a_horizon_ends_it():
    y, train = sample(300, 0.01, end=6.0), sample(300, 0.01, 1, end=6.0)
    options = {"y_train": train, "metrics": ["mae_dr"]}
    assert "distribution-tail" in codes(sg.evaluate(np.full(300, 5.0), y, **options))
    assert "distribution-tail" not in codes(sg.evaluate(np.full(300, 5.0), y, tau=5.0, **options))


def test_censoring_that_depends_on_features_makes_the_two_differ():
    rng = np.random.default_rng(2)
    x = rng.normal(size=2000)
    event, lost = rng.exponential(8 * np.exp(-x)), rng.exponential(8 * np.exp(-1.5 * x))
    y = sg.Outcomes(np.minimum(event, lost), event <= lost)
    grid = np.linspace(0.1, 20, 100)
    distribution = sg.SurvivalCurves(grid, np.exp(-grid * np.exp(x)[:, None] / 8))
    options = {"y_train": sample(500, 0.06, 1), "metrics": ["mae_dr", "mae_ipcw_d"], "tau": 10.0}
    told = sg.evaluate(np.full(2000, 5.0), y, conditional=sg.Conditional(distribution), **options)
    assert "robust-differs" in codes(told)
    independent = sg.evaluate(np.full(2000, 5.0), sample(2000, 0.06), **options)
    assert "robust-differs" not in codes(independent)


def test_a_negative_mean_is_reported_with_a_warning():
    # Three of four are lost at 1, and the distribution expects events at 50: an event at 2,
    # predicted so, pays back what the distribution expected of those who were lost.
    y, g = sg.Outcomes([2, 2], [1, 1]), sg.KaplanMeier.fit_censoring(([1, 1, 1, 3], [0, 0, 0, 1]))
    distribution = sg.SurvivalCurves([1.5, 50.0], [[0.999, 0.0]] * 2, "step")
    ev = sg.evaluate(
        [2.0, 2.0], y, y_train=([1, 2, 3], [1, 1, 1]), metrics=["mae_dr"], censoring=g,
        conditional=sg.Conditional(distribution),
    )  # fmt: skip
    assert ev.rows()[0]["value"] < -100
    assert "negative-score" in codes(ev)


def test_subjects_past_the_floor_are_counted():
    y = sample(400, 0.5)
    ev = sg.evaluate(
        np.full(400, 5.0), y, y_train=sample(400, 0.1, 1), metrics=["mae_dr"], floor=0.4
    )
    assert "distribution-alone" in codes(ev)
    share = ev.support["metrics"]["model"]["mae_dr"]["share_past_floor"]
    g = sg.KaplanMeier.fit_censoring(y)
    assert share == np.mean(g.at(y.time, side="left") < 0.4)
