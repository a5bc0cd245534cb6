"""Subjects with two causes whose incidence is known, for tests of competing risks."""

import numpy as np

import survgauge as sg

CAUSES = ("relapse", "death")


def draw(n, seed, named=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rates = np.stack([0.1 * np.exp(x), 0.05 * np.exp(-0.5 * x)], axis=1)
    total = rates.sum(axis=1)
    time = rng.exponential(1 / total)
    cause = np.where(rng.random(n) < rates[:, 0] / total, 1, 2)
    limit = rng.exponential(15, size=n)
    grid = np.linspace(0, 60, 80)
    values = (1 - np.exp(-total[:, None] * grid))[:, None] * (rates / total[:, None])[:, :, None]
    names = CAUSES if named else None
    y = sg.Outcomes(np.minimum(time, limit), np.where(time <= limit, cause, 0), causes=names)
    return y, sg.IncidenceCurves(grid, values, causes=names)
