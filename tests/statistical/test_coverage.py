"""95 % intervals cover the limit for infinitely many test subjects, the reference set fixed."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.inference import compare_values, interval
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.score import standard_error

pytestmark = pytest.mark.slow

N, REPLICATIONS, POPULATION = 500, 1600, 400_000
GRID = np.linspace(0, 40, 41)
TIMES = np.linspace(0, 18, 37)
TAU = 18.0


def draw(rng, n):
    x = rng.normal(size=n)
    t = rng.weibull(1.4, n) * 10 * np.exp(-0.6 * x)
    c = np.minimum(rng.exponential(25, n), rng.uniform(4, 30, n))
    return x, sg.Outcomes(np.minimum(t, c), t <= c)


def curves(x, slope, shape):
    return sg.SurvivalCurves(GRID, np.exp(-((GRID / (10 * np.exp(-slope * x[:, None]))) ** shape)))


def measure(y, x, train):
    """Score of four metrics for a good and a poor model."""
    found = {}
    for name, predicted in (("good", curves(x, 0.6, 1.4)), ("poor", curves(x, 0.2, 1.1))):
        risk = -predicted.median() + (0.8 * np.sin(40 * x) if name == "poor" else 0.0)
        found[name] = {
            "mae_po": sg.time_error(y, predicted, y_train=train, method="po"),
            "ibs": sg.integrated_brier_score(y, predicted, TIMES, y_train=train),
            "harrell": sg.concordance_index(y, risk),
            "uno": sg.concordance_index(y, risk, method="uno", tau=TAU, y_train=train),
        }
    return found


@pytest.fixture(scope="module")
def coverage():
    rng = np.random.default_rng(2026)
    _, y_train = draw(rng, 800)
    train = sg.Reference(y_train)
    x, y = draw(rng, POPULATION)
    limit = {
        model: {name: d.value for name, d in metrics.items()}
        for model, metrics in measure(y, x, train).items()
    }
    hits: dict[str, list[bool]] = {}
    for _ in range(REPLICATIONS):
        x, y = draw(rng, N)
        found = measure(y, x, train)
        for name in limit["good"]:
            good, poor = found["good"][name], found["poor"][name]
            limits = interval(good.value, good.stderr, 0.95, REGISTRY[name].interval)
            truth = limit["good"][name]
            hits.setdefault(name, []).append(limits.low <= truth <= limits.high)
            difference = compare_values(
                good.value - poor.value,
                standard_error(good.contributions - poor.contributions),
                0.95,
            )
            truth -= limit["poor"][name]
            inside = difference.low <= truth <= difference.high
            hits.setdefault(f"{name} difference", []).append(inside)
    return {name: float(np.mean(inside)) for name, inside in hits.items()}


@pytest.mark.parametrize("name", ["mae_po", "ibs", "harrell", "uno"])
@pytest.mark.parametrize("kind", ["", " difference"])
def test_intervals_cover(coverage, name, kind):
    assert 0.93 <= coverage[name + kind] <= 0.97, coverage
