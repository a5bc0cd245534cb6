"""How often the bands in figures of a cause cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.report.displays import display, given
from survgauge.report.displays.estimates import smooth_band

pytestmark = pytest.mark.slow

TIME, DRAWS, N = 5.0, 1200, 400


def draw(rng, n):
    """Outcomes of two causes, and the true incidence of the first by `TIME`."""
    x = rng.normal(size=n)
    one, two = 0.08 * np.exp(0.8 * x), 0.06 * np.exp(-0.4 * x)
    time, end = rng.exponential(1 / (one + two)), rng.exponential(9.0, n)
    cause = np.where(rng.random(n) < one / (one + two), 1, 2)
    risk = one / (one + two) * (1 - np.exp(-TIME * (one + two)))
    return sg.Outcomes(np.minimum(time, end), np.where(time <= end, cause, 0)), risk


def test_the_band_of_the_smooth_calibration_curve_covers_the_diagonal():
    rng, at, inside = np.random.default_rng(4), np.array([0.1, 0.2, 0.3, 0.5]), np.zeros(4)
    for _ in range(DRAWS):
        y, risk = draw(rng, N)
        found = sg.integrated_calibration_index(y, 1 - risk, TIME, cause=1)
        low, high = (np.interp(at, found.curve_predicted, v) for v in smooth_band(found, 0.95))
        inside += (low <= at) & (at <= high)
    share = inside / DRAWS
    assert (share > 0.93).all(), share
    assert (share < 0.97).all(), share


def test_the_band_of_incidence_covers_the_truth():
    rng = np.random.default_rng(5)
    _, risk = draw(np.random.default_rng(99), 2_000_000)
    wanted, inside = float(risk.mean()), 0
    for _ in range(DRAWS):
        shown = display(given({}, draw(rng, N)[0], cause=1), "curves", causes=1, end=TIME)
        inside += shown.column("low")[-1] <= wanted <= shown.column("high")[-1]
    assert 0.93 < inside / DRAWS < 0.97, inside / DRAWS
