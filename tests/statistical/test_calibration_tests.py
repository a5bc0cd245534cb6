"""Size of the calibration tests and coverage of the calibration distances, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

GRID = np.linspace(0, 40, 61)


def sample(rng, n, rate, late=1.0, end=np.inf):
    """Weibull times with one feature, exponential censoring, and the curves of a model."""
    risk = np.exp(0.7 * rng.standard_normal(n))
    event_time = 10 * (rng.exponential(size=n) / risk) ** (1 / 1.5)
    censoring = rng.exponential(1 / rate, n) if rate else np.full(n, np.inf)
    censoring = np.minimum(censoring, end)
    y = sg.Outcomes(np.minimum(event_time, censoring), event_time <= censoring)
    survival = np.exp(-risk[:, None] * (GRID / (10 * late)) ** 1.5)
    return y, sg.SurvivalCurves(GRID, survival)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.03, 0.12, 0.3])
@pytest.mark.parametrize("n", [300, 1000])
def test_calibration_tests_keep_their_level(rate, n):
    rng = np.random.default_rng(7)
    rejected = []
    for _ in range(500):
        y, curves = sample(rng, n, rate)
        time = float(np.median(y.time[y.event]))
        one = [sg.one_calibration(y, curves, time, groups=k).p_value for k in (4, 10)]
        rejected.append([p < 0.05 for p in (*one, sg.d_calibration(y, curves).p_value)])
    share = np.mean(rejected, axis=0)
    assert (share > 0.02).all()
    assert (share < 0.085).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "late"), [(100, 1.0), (300, 1.0), (300, 1.3), (1000, 1.3)])
def test_intervals_of_calibration_distances_cover_their_limits(n, late):
    # A planned end of the study: the last time is part of what KM-calibration measures.
    rng = np.random.default_rng(3)
    y, curves = sample(rng, 60_000, 0.05, late, end=15.0)
    limit = [sg.integrated_calibration_index(y, curves, 6.0).ici, sg.km_calibration(y, curves)]
    if late == 1.0:
        limit = [0.0, 0.0]
    hits = []
    for _ in range(200):
        y, curves = sample(rng, n, 0.05, late, end=15.0)
        found = sg.evaluate(
            curves, y, y_train=y, metrics=["ici", "km_calibration"], time=6.0
        ).scores
        hits.append([s.low <= t <= s.high for s, t in zip(found, limit, strict=True)])
        assert all(0 <= s.low < s.high <= 1 for s in found)
    # Below the nominal 95 %: ICI of 300 subjects and curves 30 % late had 90.5 % here.
    assert (np.mean(hits, axis=0) >= 0.89).all()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.03, 0.12, 0.3])
@pytest.mark.parametrize("n", [300, 1000])
def test_a_calibration_keeps_its_level_and_has_the_power_of_d_calibration(rate, n):
    """Censored: 0, 22, 57 and 78 %. The limits of the size are those of 2,000 draws around 5 %."""
    rng = np.random.default_rng(11)
    size = [sg.a_calibration(*sample(rng, n, rate)).p_value < 0.05 for _ in range(2000)]
    assert 0.035 < np.mean(size) < 0.065
    power = []
    for _ in range(400):
        y, curves = sample(rng, n, rate, late=1.15)
        tests = (sg.a_calibration(y, curves), sg.d_calibration(y, curves))
        power.append([found.p_value < 0.05 for found in tests])
    ours, theirs = np.mean(power, axis=0)
    assert ours > theirs - 0.04  # noise of a paired comparison of 400 draws
