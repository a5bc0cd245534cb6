"""Observed over expected beside loops and the jackknife."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

TIME = 6.0


def case(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time, censoring = 8 * np.exp(-x) * rng.weibull(1.2, n), rng.exponential(12, n)
    if seed % 2:
        event_time, censoring = np.ceil(event_time), np.ceil(censoring)
    survival = np.exp(-((TIME / (8 * np.exp(-x))) ** 1.2))
    return np.minimum(event_time, censoring), event_time <= censoring, survival


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_definition(seed):
    time, event, survival = case(seed)
    found = sg.observed_expected((time, event), survival, TIME)
    km = 1.0
    for t in sorted(set(time[event & (time <= TIME)])):
        km *= 1 - np.sum(event & (time == t)) / np.sum(time >= t)
    assert found.observed == pytest.approx(1 - km, abs=1e-13)
    assert found.expected == pytest.approx(np.mean(1 - survival), abs=1e-13)
    assert found.ratio == pytest.approx((1 - km) / np.mean(1 - survival), abs=1e-12)
    assert found.low < found.ratio < found.high
    assert found.low * found.high == pytest.approx(found.ratio**2)


def test_the_standard_error_is_that_of_the_jackknife():
    time, event, survival = case(2, n=400)
    found = sg.observed_expected((time, event), survival, TIME)
    left_out = [
        sg.observed_expected(
            (np.delete(time, i), np.delete(event, i)), np.delete(survival, i), TIME
        )
        for i in range(len(time))
    ]
    spread = np.std([one.ratio for one in left_out]) * np.sqrt(len(time) - 1)
    assert found.stderr == pytest.approx(spread, rel=0.01)
    assert found.contributions.sum() == pytest.approx(0, abs=1e-12)


def test_frequencies_are_copies_and_absent_subjects_do_not_count():
    time, event, survival = case(3, n=60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    found = sg.observed_expected(sg.Outcomes(time, event, weight), survival, TIME)
    copies = sg.observed_expected((time[rows], event[rows]), survival[rows], TIME)
    assert found.ratio == pytest.approx(copies.ratio, abs=1e-12)
    assert found.stderr == pytest.approx(copies.stderr, rel=1e-9)


def test_curves_probabilities_and_risks_agree():
    time, event, _ = case(4, n=50)
    grid = np.arange(0.0, 20.0)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / np.linspace(3, 20, 50)[:, None]))
    by_curves = sg.observed_expected((time, event), curves, TIME)
    by_risk = sg.observed_expected((time, event), 1 - curves.at(TIME), TIME, probability="event")
    assert by_curves.ratio == pytest.approx(by_risk.ratio, abs=1e-14)


def test_no_event_and_no_expected_event():
    y = ([1.0, 2.0, 9.0], [0, 0, 0])
    found = sg.observed_expected(y, [0.5, 0.6, 0.7], 5.0)
    assert found.ratio == 0
    assert np.isnan(found.low)
    assert found.support["note"] == (
        "no event was observed by time 5, so the ratio has no interval"
    )
    with pytest.raises(sg.UndefinedMetricError, match="no event is expected"):
        sg.observed_expected(y, [1.0, 1.0, 1.0], 5.0)


def test_a_time_is_a_number():
    for time in (True, [5.0], "5", -1.0):
        with pytest.raises(sg.InputError, match="time must be one finite number"):
            sg.observed_expected(([1.0, 9.0], [1, 0]), [0.5, 0.6], time)
