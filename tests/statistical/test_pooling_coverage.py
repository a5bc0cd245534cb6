"""Coverage of averages over places and over imputed datasets."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("places", [5, 10, 20])
def test_places(places, spread):
    """Mean and prediction interval; the latter may be wide where places do not differ at all."""
    rng = np.random.default_rng([places, int(10 * spread)])
    covered = np.zeros(2)
    draws = 600
    for _ in range(draws):
        stderr = rng.uniform(0.08, 0.3, places)
        estimates = rng.normal(0, np.hypot(spread, stderr))
        found = sg.meta_analysis(estimates, stderr)
        another = rng.normal(0, 1) * spread
        covered += (
            found.low <= 0 <= found.high,
            (found.prediction_low <= another <= found.prediction_high),
        )
    mean, prediction = covered / draws
    assert 0.925 <= mean <= 0.975
    assert 0.92 <= prediction <= (1.0 if spread == 0 else 0.975)


def test_imputations():
    """A feature that is missing for 40 % is drawn properly, given the outcome."""
    rng = np.random.default_rng(11)
    big = rng.normal(size=4000)
    y = big + rng.logistic(size=4000)
    truth = sg.concordance_index((np.exp(y), np.ones(4000)), -big)
    covered, missing, draws, n = 0, [], 250, 150
    for _ in range(draws):
        x = rng.normal(size=n)
        log_time = x + rng.logistic(size=n)
        gone = rng.random(n) < 0.4
        found = []
        for _ in range(5):
            drawn = x.copy()
            drawn[gone] = imputed(rng, x[~gone], log_time[~gone], log_time[gone])
            ev = sg.evaluate(
                sg.RiskScores(-drawn), (np.exp(log_time), np.ones(n)), metrics=["harrell"]
            )
            found.append(ev)
        row = sg.pooled(found).rows()[0]
        covered += row["low"] <= truth <= row["high"]
        missing.append(row["missing"])
    assert 0.92 <= covered / draws <= 0.98
    assert 0.1 < np.mean(missing) < 0.6


def imputed(rng, x, log_time, asked):
    """Draw from the Bayesian linear regression of the feature on the outcome."""
    design = np.column_stack((np.ones(x.size), log_time))
    inverse = np.linalg.inv(design.T @ design)
    mean = inverse @ design.T @ x
    rest = x - design @ mean
    sigma = np.sqrt(rest @ rest / rng.chisquare(x.size - 2))
    slope = rng.multivariate_normal(mean, sigma**2 * inverse)
    return slope[0] + slope[1] * asked + rng.normal(0, sigma, asked.size)
