"""Calibration of one cause: tests keep their level, and intervals cover, under competing risks."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow

GRID = np.linspace(0.1, 9, 30)
NAMES = ("a", "b")
#: Mean censoring time, and the time that is looked at: 0, 38 and 66 % are censored.
WORLDS = {"none": (np.inf, 3.0), "some": (5.0, 3.0), "much": (1.6, 1.5)}


def draw(rng, n, censoring, shift=0.0, spread=1.0):
    """Draw two causes without proportional hazards, and their incidence or one that is off."""
    x = rng.normal(0, 1, n)
    rates = np.stack([np.exp(0.3 * x) / 4, np.exp(-0.2 * x) / 3], axis=1)
    cause = np.where(rng.random(n) < 1 / (1 + np.exp(0.3 - x)), 1, 2)
    time = rng.exponential(1 / rates[np.arange(n), cause - 1])
    limit = rng.exponential(censoring, n) if np.isfinite(censoring) else np.full(n, np.inf)
    codes = np.where(time <= limit, cause, 0)
    y = sg.Outcomes(np.minimum(time, limit), codes, causes=NAMES)
    share = 1 / (1 + np.exp(-spread * (x - 0.3) - shift))
    shares = np.stack([share, 1 - share], axis=1)[:, :, None]
    values = shares * -np.expm1(-rates[:, :, None] * GRID)
    return y, sg.IncidenceCurves(GRID, values, causes=NAMES)


@pytest.mark.parametrize("scenario", WORLDS)
def test_true_incidence_is_rejected_in_five_percent(scenario):
    censoring, at = WORLDS[scenario]
    rng = np.random.default_rng(11)
    p = []
    for _ in range(1500):
        y, curves = draw(rng, 500, censoring)
        one = sg.one_calibration(y, curves, at, cause="a")
        d, a = (test(y, curves, cause="a") for test in (sg.d_calibration, sg.a_calibration))
        p.append([one.p_value, d.p_value, a.p_value])
    rejected = (np.array(p) < 0.05).mean(axis=0)
    assert (rejected > 0.035).all(), rejected
    assert (rejected < 0.065).all(), rejected


def test_wrong_incidence_is_rejected():
    rng = np.random.default_rng(12)
    p = []
    for _ in range(100):
        y, curves = draw(rng, 500, 5.0, shift=1.2)
        one = sg.one_calibration(y, curves, 3.0, cause="a")
        d, a = (test(y, curves, cause="a") for test in (sg.d_calibration, sg.a_calibration))
        p.append([one.p_value, d.p_value, a.p_value])
    assert ((np.array(p) < 0.05).mean(axis=0) > 0.9).all()


@pytest.mark.parametrize(("shift", "spread"), [(0.0, 1.0), (0.6, 1.3), (0.8, 1.0)])
def test_intervals_cover(shift, spread):
    rng = np.random.default_rng(5)
    y, curves = draw(rng, 200_000, np.inf, shift, spread)
    truth = [middle for middle, _, _ in measured(y, curves)]
    if shift == 0.0:
        truth = [0.0, 0.0, 0.0, 1.0]
    covered = []
    for _ in range(1000):
        found = measured(*draw(rng, 500, 5.0, shift, spread))
        covered.append([low <= t <= high for (_, low, high), t in zip(found, truth, strict=True)])
    ici, distance, intercept, slope = np.mean(covered, axis=0)
    assert 0.93 < intercept < 0.97
    assert 0.93 < slope < 0.97
    # Distances near zero are covered too often, because their intervals end there.
    assert 0.93 < distance < (0.99 if shift == 0.0 else 0.97)
    assert 0.93 < ici < (1.0 if shift == 0.0 else 0.975)


def measured(y, curves):
    """ICI, Aalen-Johansen calibration, intercept and slope with their limits."""
    ici = sg.integrated_calibration_index(y, curves, 3.0, cause="a")
    gap = sg.km_calibration(y, curves, tau=5.0, cause="a")
    found = [(ici.ici, *ici.interval()), (gap.value, *gap.distribution.limits(0.95))]
    weak = sg.weak_calibration(y, curves, 3.0, cause="a")
    for details in (weak.intercept, weak.slope):
        reach = 1.959964 * details.stderr
        found.append((details.value, details.value - reach, details.value + reach))
    return found
