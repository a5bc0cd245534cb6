"""How often intervals of net benefit and of its differences cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = pytest.mark.slow

TIME, LEVELS, DRAWS, N = 6.0, np.array([0.2, 0.5]), 1500, 1000


def draw(rng, n):
    x = rng.normal(size=n)
    event_time = 8 * np.exp(-x) * rng.weibull(1.2, n)
    right = 1 - np.exp(-((TIME / (8 * np.exp(-x))) ** 1.2))
    wrong = 1 - np.exp(-((TIME / (8 * np.exp(-0.5 * x + 0.3))) ** 1.2))
    return event_time, right, wrong


def truth():
    event_time, right, wrong = draw(np.random.default_rng(99), 4_000_000)
    had = event_time <= TIME
    odds = LEVELS / (1 - LEVELS)

    def value(risk):
        chosen = risk[None] >= LEVELS[:, None]
        return (chosen & had).mean(axis=1) - odds * (chosen & ~had).mean(axis=1)

    everybody = had.mean() - odds * (1 - had.mean())
    return value(right), value(right) - everybody, value(right) - value(wrong)


@pytest.mark.parametrize("method", ["kaplan_meier", "ipcw"])
@pytest.mark.parametrize("scale", [15.0, 6.0])
def test_coverage(method, scale):
    """About 35 and 60 % are censored; the limits are those of 1,500 draws around 95 %."""
    rng, wanted = np.random.default_rng(int(scale)), truth()
    inside = np.zeros((3, 2))
    for _ in range(DRAWS):
        event_time, right, wrong = draw(rng, N)
        censoring = np.minimum(rng.exponential(scale, N), 20.0)
        y = np.minimum(event_time, censoring), event_time <= censoring
        options = {"thresholds": LEVELS, "method": method}
        found = sg.net_benefit(y, right, TIME, **options)
        other = sg.net_benefit(y, wrong, TIME, **options)
        pairs = [(found.values, found.stderr), (found.gain, found.gain_stderr)]
        pairs.append(found.difference(other))
        for row, (value, error) in enumerate(pairs):
            inside[row] += abs(value - wanted[row]) <= 1.959964 * error
    share = inside / DRAWS
    assert (share > 0.93).all(), share
    assert (share < 0.97).all(), share


@pytest.mark.parametrize("scale", [15.0, 6.0])
def test_coverage_of_observed_over_expected(scale):
    event_time, right, wrong = draw(np.random.default_rng(99), 4_000_000)
    wanted = [(event_time <= TIME).mean() / risk.mean() for risk in (right, wrong)]
    rng, inside = np.random.default_rng(int(scale)), np.zeros(2)
    for _ in range(DRAWS):
        event_time, *risks = draw(rng, N // 2)
        censoring = np.minimum(rng.exponential(scale, N // 2), 20.0)
        y = np.minimum(event_time, censoring), event_time <= censoring
        for k, risk in enumerate(risks):
            found = sg.observed_expected(y, risk, TIME, probability="event")
            inside[k] += found.low <= wanted[k] <= found.high
    share = inside / DRAWS
    assert (share > 0.93).all(), share
    assert (share < 0.97).all(), share


@pytest.mark.parametrize("method", ["kaplan_meier", "ipcw"])
def test_coverage_of_one_cause(method):
    """With a competing cause, whose events are treated in vain; about 40 % are censored."""
    rng = np.random.default_rng(5)

    def causes(rng, n):
        x = rng.normal(size=n)
        one, two = 0.08 * np.exp(0.8 * x), 0.06 * np.exp(-0.4 * x)
        time, first = rng.exponential(1 / (one + two)), rng.random(n) < one / (one + two)
        risk = one / (one + two) * (1 - np.exp(-TIME * (one + two)))
        return time, np.where(first, 1, 2), risk

    time, cause, risk = causes(np.random.default_rng(99), 4_000_000)
    had, odds = (cause == 1) & (time <= TIME), LEVELS / (1 - LEVELS)
    wanted = np.array([
        (had & (risk >= p)).mean() - o * (~had & (risk >= p)).mean()
        for p, o in zip(LEVELS, odds, strict=True)
    ])  # fmt: skip
    gain = wanted - (had.mean() - odds * (1 - had.mean()))
    inside = np.zeros((2, 2))
    for _ in range(DRAWS):
        time, cause, risk = causes(rng, N // 2)
        end = rng.exponential(9.0, N // 2)
        y = sg.Outcomes(np.minimum(time, end), np.where(time <= end, cause, 0))
        found = sg.net_benefit(y, risk, TIME, thresholds=LEVELS, method=method, cause=1)
        inside[0] += abs(found.values - wanted) <= 1.959964 * found.stderr
        inside[1] += abs(found.gain - gain) <= 1.959964 * found.gain_stderr
    share = inside / DRAWS
    assert (share > 0.93).all(), share
    assert (share < 0.97).all(), share
