"""Data of every benchmark: Weibull proportional hazards, five covariates, 40 % censored."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

COEFFICIENTS = np.array([0.9, -0.6, 0.45, 0.3, -0.15])
SHAPE, SCALE = 1.5, 1000.0
GRID_POINTS = 100
BLOCK = 4096


class Data:
    """Training and test outcomes of n subjects each, and predictions for the test subjects."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, n])
        risk = rng.normal(size=(2 * n, COEFFICIENTS.size)) @ COEFFICIENTS
        scale = SCALE * np.exp(-risk / SHAPE)
        event_time = scale * rng.weibull(SHAPE, 2 * n)
        censoring = rng.exponential(1 / censoring_rate(event_time), 2 * n)
        time, event = np.minimum(event_time, censoring), event_time <= censoring
        self.train, self.test = (time[:n], event[:n]), (time[n:], event[n:])
        #: Probability that an event is of the first of two causes, and codes of these.
        share = 1 / (1 + np.exp(-risk))
        codes = event * np.where(np.random.default_rng([seed, n, 2]).random(2 * n) < share, 1, 2)
        self._share, self.codes = share[n:], (codes[:n], codes[n:])
        #: Linear predictor of the test subjects, and their medians under the true model.
        self.risk, self._scale = risk[n:], scale[n:]
        self.predicted = self._scale * np.log(2) ** (1 / SHAPE)
        #: Grid of the curves, and times inside the follow-up at which metrics are taken.
        self.grid = np.linspace(0, self.train[0].max(), GRID_POINTS)
        self.times = np.quantile(self.test[0], np.linspace(0.02, 0.9, GRID_POINTS))
        #: One time in the middle, for metrics at a single time.
        self.middle = float(np.median(self.test[0]))
        #: The last evaluation time, where a metric has a horizon.
        self.last = float(self.times[-1])

    def _curves(self, times: Any, dtype: Any = float) -> Any:
        curves = np.empty((self._scale.size, times.size), dtype)
        for start in range(0, len(curves), BLOCK):
            rows = slice(start, start + BLOCK)
            curves[rows] = np.exp(-((times / self._scale[rows, None]) ** SHAPE))
        return curves

    @cached_property
    def event_risk(self) -> Any:
        """Risk of the event by the time in the middle."""
        return -np.expm1(-((self.middle / self._scale) ** SHAPE))

    @cached_property
    def survival(self) -> Any:
        """Curves of the true model on `grid`: n x 100, made only where a work needs them."""
        return self._curves(self.grid)

    @cached_property
    def survival32(self) -> Any:
        """The same curves in single precision, made in blocks: the double ones never exist."""
        return self._curves(self.grid, np.float32)

    @cached_property
    def survival_at_times(self) -> Any:
        """Curves of the true model at `times`, for packages that do not interpolate."""
        return self._curves(self.times)

    @cached_property
    def incidence(self) -> Any:
        """Incidence of both causes under the true model at `times`: n x 2 x 100."""
        any_cause = 1 - self.survival_at_times
        share = np.stack((self._share, 1 - self._share), axis=1)
        return share[:, :, None] * any_cause[:, None]


def make(n: int, seed: int = 20_240_601) -> Data:
    """Draw n training and n test subjects; distinct times, so that nothing is easy."""
    return Data(n, seed)


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
