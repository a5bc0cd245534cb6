"""Subjects with known curves, for tests of figures."""

import numpy as np

import survgauge as sg


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t, c = rng.weibull(1.5, n) * 10 * np.exp(-0.7 * x), rng.uniform(2, 30, n)
    grid = np.linspace(0, 60, 31)
    good = np.exp(-((grid / (10 * np.exp(-0.7 * x[:, None]))) ** 1.5))
    return sg.Outcomes(np.minimum(t, c), t <= c), sg.SurvivalCurves(grid, good), x
