"""Calibration slope and ICI of true models: a small part of docs/explanation/inference.md."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import survgauge as sg

pytestmark = pytest.mark.slow
DRAWS, N = 400, 200


def log_normal(rng):
    mu = 0.5 - 0.8 * rng.normal(size=(N, 2)) @ [0.7, -0.5]
    time = np.exp(mu + 0.6 * rng.normal(size=N))
    return time, lambda t: stats.norm.sf((np.log(t) - mu) / 0.6)


def cured(rng):
    x = rng.normal(size=(N, 2))
    share, scale = 1 / (1 + np.exp(-0.8 - x @ [0.7, -0.5])), np.exp(0.3 - 0.6 * x[:, 0])
    time = np.where(rng.random(N) < share, scale * rng.weibull(1.3, N), np.inf)
    return time, lambda t: 1 - share + share * np.exp(-((t / scale) ** 1.3))


def crossing(rng):
    x = rng.normal(size=(N, 2))
    shape, scale = np.exp(0.5 * x[:, 0]), np.exp(0.5 - 0.4 * x[:, 1])
    time = scale * rng.exponential(size=N) ** (1 / shape)
    return time, lambda t: np.exp(-((t / scale) ** shape))


@pytest.mark.parametrize(
    ("draw", "censoring", "at"),
    [(log_normal, 2.2, 1.07), (cured, 2.2, 0.66), (crossing, 1.2, 0.53)],
)
def test_the_true_model_is_not_called_miscalibrated(draw, censoring, at):
    rng, held, found, chance, excluded = np.random.default_rng(1), [], [], [], []
    for _ in range(DRAWS):
        time, survival = draw(rng)
        end = rng.exponential(censoring, N)
        y = sg.Outcomes(np.minimum(time, end), time <= end)
        slope = sg.calibration_slope(y, survival(at), at)
        reach = stats.t.ppf(0.975, slope.support["freedom"]) * slope.stderr
        held.append(abs(slope.value - 1) <= reach)
        index = sg.integrated_calibration_index(y, survival(at), at)
        found.append(index.ici)
        chance.append(index.expected_if_calibrated)
        excluded.append(index.interval()[0] > 0)
    error = 2.6 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert 0.93 - error < np.mean(held) < 0.97 + error
    assert np.mean(excluded) < 0.05 + error
    assert np.mean(chance) == pytest.approx(np.mean(found), rel=0.15)
