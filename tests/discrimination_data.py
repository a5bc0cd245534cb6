"""Tied outcomes, risks and curves without a random generator: the same on every machine."""

from __future__ import annotations

import numpy as np


def uniform(n, root, start=1):
    """Evenly spread numbers in (0, 1): fractional parts of multiples of an irrational."""
    return np.modf(np.arange(start, start + n) * np.sqrt(root))[0]


def outcomes(n, start, spread):
    """Whole-number times from 1 to 12 with every kind of tie; the last time is an event."""
    event_time = np.ceil(-5 * np.log(uniform(n, 2, start)) * spread)
    censoring_time = np.ceil(-8 * np.log(uniform(n, 3, start)))
    time = np.minimum(np.minimum(event_time, censoring_time), 12)
    event = (event_time <= censoring_time) & (event_time <= 12)
    event[time == time.max()] = True
    return time, event


def tied_case(n=60):
    """(train, test, risk, grid, survival): curves cross, risks and curves have ties."""
    x = uniform(n, 5)
    train = outcomes(n + 20, 101, np.exp(1 - 2 * uniform(n + 20, 5, 101)))
    test = outcomes(n, 1, np.exp(1 - 2 * x))
    noise = uniform(n, 7)
    risk = np.round((2 * x + noise) * 4) / 4
    grid = np.arange(0.0, 14.0)
    scale, shape = 12 - 8 * x + 4 * noise, np.round(0.6 + uniform(n, 11), 1)
    survival = np.round(np.exp(-((grid / scale[:, None]) ** shape[:, None])), 2)
    return train, test, risk, grid, survival
