"""Data of every benchmark: Weibull proportional hazards, five covariates, 40 % censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

COEFFICIENTS = np.array([0.9, -0.6, 0.45, 0.3, -0.15])
SHAPE, SCALE = 1.5, 1000.0
GRID_POINTS = 100


@dataclass(frozen=True)
class Data:
    """Training and test outcomes of n subjects each, and predictions for the test subjects."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    #: Linear predictor, grid of 100 times, curves (n x 100) of the true model, and their medians.
    risk: Any
    grid: Any
    survival: Any
    predicted: Any
    #: 100 times inside the follow-up, at which integrated and time-dependent metrics are taken,
    #: and the curves there.
    times: Any
    survival_at_times: Any

    @property
    def middle(self) -> float:
        """One time in the middle, for metrics at a single time."""
        return float(np.median(self.test[0]))


def make(n: int, seed: int = 20_240_601) -> Data:
    """Draw n training and n test subjects; distinct times, so that nothing is easy."""
    rng = np.random.default_rng([seed, n])
    covariates = rng.normal(size=(2 * n, COEFFICIENTS.size))
    risk = covariates @ COEFFICIENTS
    scale = SCALE * np.exp(-risk / SHAPE)
    event_time = scale * rng.weibull(SHAPE, 2 * n)
    censoring = rng.exponential(1 / censoring_rate(event_time), 2 * n)
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    train, test = (time[:n], event[:n]), (time[n:], event[n:])
    grid = np.linspace(0, train[0].max(), GRID_POINTS)
    times = np.quantile(test[0], np.linspace(0.02, 0.9, GRID_POINTS))
    survival, at_times = (np.exp(-((t / scale[n:, None]) ** SHAPE)) for t in (grid, times))
    predicted = scale[n:] * np.log(2) ** (1 / SHAPE)
    return Data(train, test, risk[n:], grid, survival, predicted, times, at_times)


def censoring_rate(event_time: Any, share: float = 0.4) -> float:
    """Rate of exponential censoring that hides this share of the events."""
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        if np.mean(-np.expm1(-rate * event_time)) < share:
            low = rate
        else:
            high = rate
    return (low + high) / 2
