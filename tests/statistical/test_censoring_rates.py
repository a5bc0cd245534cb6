"""Drawn censoring against what it should be: rates, independence, unbiasedness, memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from survgauge import KaplanMeier, Outcomes
from survgauge.bench.censoring import semisynthetic

INDEPENDENT = ("uniform", "uniform_admin", "exponential", "original_independent", "external")
# Column percent_censored of the paper's published results, one draw each.
SUPPORT = {
    "uniform": 10.23,
    "uniform_admin": 50.12,
    "exponential": 30.58,
    "original_independent": 5.24,
    "original_dependent": 4.31,
    "external": 10.47,
}
needs_data = pytest.mark.skipif(
    not os.environ.get("SURVGAUGE_DATA"),
    reason="set SURVGAUGE_DATA to the folder with the data files",
)


@pytest.fixture(scope="module")
def support():
    pytest.importorskip("pandas")
    from survgauge.bench.datasets import load

    return load("support"), load("gbm").y


@needs_data
@pytest.mark.parametrize("kind", SUPPORT)
def test_published_rates_are_met_on_support(kind, support):
    data, gbm = support
    external = gbm if kind == "external" else None
    draws = [semisynthetic(data.X, data.y, kind, s, external, fill=data.fill) for s in range(20)]
    rates = np.array([100 * draw.censoring_rate for draw in draws])
    slack = 2.0 if kind == "original_dependent" else 1.5
    assert abs(rates.mean() - SUPPORT[kind]) < slack
    assert 0 < rates.std() < 0.6
    assert all((draw.y.time == np.round(draw.y.time)).all() for draw in draws)
    assert all(draw.dropped + len(draw) == 6201 for draw in draws)


@needs_data
@pytest.mark.parametrize("kind", ["uniform", "uniform_admin", "exponential"])
def test_the_papers_own_draw_gives_its_rates_to_the_last_digit(kind, support):
    data, _ = support

    def legacy(X, event_time, generator):
        # Found by matching: the published data come from this generator and seed, rounded to
        # the nearest day.
        numbers = np.random.RandomState(42)
        if kind == "exponential":
            return np.round(numbers.exponential(event_time.std(), event_time.size))
        drawn = np.round(numbers.uniform(0, event_time.max(), event_time.size))
        return np.minimum(drawn, np.median(event_time)) if kind == "uniform_admin" else drawn

    draw = semisynthetic(data.X, data.y, legacy)
    assert round(100 * draw.censoring_rate, 2) == SUPPORT[kind]


@needs_data
def test_original_dependent_on_support_is_quick(support):
    data, _ = support
    start = time.perf_counter()
    draw = semisynthetic(data.X, data.y, "original_dependent", 0, fill=data.fill)
    assert time.perf_counter() - start < 10
    assert len(draw.parameters["coefficients"]) == 31
    assert draw.parameters["penalty"] == 0


def simulated(n, seed, whole=False):
    """Features from the plain generator with the very seed that the censoring gets."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    event = rng.exponential(10 * np.exp(1.5 * X[:, 0]))
    censor = rng.exponential(25 * np.exp(-2.5 * X[:, 1]))
    times = np.minimum(event, censor)
    return X, Outcomes(np.ceil(times) if whole else times, event <= censor)


def draw(kind, X, y, seed, **options):
    external = None
    if kind == "external":
        rng = np.random.default_rng(99)
        external = Outcomes(rng.exponential(5, 400), rng.random(400) < 0.6)
    return semisynthetic(X, y, kind, seed, external, **options)


def rank_correlations(kind, seeds):
    """Correlation of the drawn time with every feature and with the event time, over seeds."""
    from scipy.stats import rankdata

    sums, pairs = np.zeros(4), 0
    for seed in seeds:
        X, y = simulated(1500, seed)
        ss = draw(kind, X, y, seed)
        columns = [ss.true_time, *ss.X.T]
        drawn = rankdata(ss.censoring_time)
        sums += [len(ss) * np.corrcoef(drawn, rankdata(column))[0, 1] for column in columns]
        pairs += len(ss)
    return sums / pairs, 1 / np.sqrt(pairs)


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_censoring_is_uncorrelated_with_features_and_event_time(kind):
    correlations, error = rank_correlations(kind, range(20))
    assert np.abs(correlations).max() < 4 * error


def test_original_dependent_depends_on_features_and_on_nothing_else():
    correlations, _ = rank_correlations("original_dependent", range(20))
    assert correlations[2] < -0.3  # the feature that drove censoring
    # Among subjects alike in it, the draw knows nothing of the event time.
    from scipy.stats import rankdata

    sums, pairs = 0.0, 0
    for seed in range(20):
        X, y = simulated(1500, seed)
        ss = draw("original_dependent", X, y, seed)
        for alike in np.array_split(np.argsort(ss.X[:, 1]), 20):
            ranks = rankdata(ss.censoring_time[alike]), rankdata(ss.true_time[alike])
            sums += alike.size * np.corrcoef(*ranks)[0, 1]
            pairs += alike.size
    assert abs(sums / pairs) < 4 / np.sqrt(pairs)


def mean_kaplan_meier(kind, seeds, points, whole, **options):
    """Kaplan-Meier of D'' minus that of D' at some times: mean over draws and its error."""
    X, y = simulated(1500, 3, whole)
    truth = KaplanMeier.fit(y[y.event])
    gaps = []
    for seed in seeds:
        ss = draw(kind, X, y, seed, **options)
        inside = points <= ss.y.time.max()
        gaps.append(np.where(inside, KaplanMeier.fit(ss.y).at(points) - truth.at(points), np.nan))
    table = np.array(gaps)
    table = table[:, ~np.isnan(table).any(axis=0)]
    assert table.shape[1] >= 2
    return table.mean(axis=0), table.std(axis=0) / np.sqrt(len(table))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", INDEPENDENT)
def test_kaplan_meier_of_censored_data_estimates_the_truth(kind, whole):
    # Whole units: a time rounded up past the draw that decided the status would show here.
    gap, error = mean_kaplan_meier(kind, range(60), np.array([1.0, 2.0, 4.0, 8.0]), whole)
    assert (np.abs(gap) < 4 * error + 1e-3).all()


@pytest.mark.parametrize("upwards", [True, False])
def test_rounding_up_after_deciding_would_bias_kaplan_meier(upwards):
    # Not a test of the package but of its rule: a time rounded up past the draw that decided the
    # status calls people at risk for events that they were not there to have.
    rng = np.random.default_rng(0)
    event = rng.integers(1, 6, 200_000)
    drawn = rng.exponential(3.0, event.size)
    censored = drawn < event
    rounded = np.ceil(drawn) if upwards else np.floor(drawn)
    seen = Outcomes(np.where(censored, rounded, event), ~censored)
    gap = KaplanMeier.fit(seen).at([1, 2, 3, 4]) - [0.8, 0.6, 0.4, 0.2]
    assert (np.abs(gap).max() > 0.02) == upwards


def test_dependent_censoring_misleads_kaplan_meier():
    points = np.array([2.0, 4.0, 8.0])
    for copula, tau, sign in (("clayton", 0.6, 1), ("gaussian", 0.6, 1), ("frank", -0.6, -1)):
        options = {"kendall_tau": tau, "copula": copula, "rate": 0.5}
        gap, error = mean_kaplan_meier("exponential", range(10), points, False, **options)
        # Those who would soon have the event leave first: survival looks better than it is.
        assert (sign * gap > 5 * error).all()


def test_rates_equal_their_expectation():
    X, y = simulated(4000, 5)
    t = y.time[y.event]
    g = KaplanMeier.fit_censoring(y)
    expected = {
        "uniform": np.mean(t / t.max()),
        "uniform_admin": np.mean(np.where(t > np.median(t), 1.0, t / t.max())),
        "exponential": np.mean(1 - np.exp(-t / t.std())),
        "original_independent": np.mean(1 - g.at(t, side="left")),
    }
    for kind, rate in expected.items():
        rates = [draw(kind, X, y, seed).censoring_rate for seed in range(20)]
        error = np.sqrt(rate * (1 - rate) / (20 * t.size))
        assert np.mean(rates) == pytest.approx(rate, abs=4 * error)


BIG = """
import resource, sys, time
import numpy as np
from survgauge.bench.censoring import semisynthetic
rng = np.random.default_rng(0)
n = 293_907
X = rng.normal(size=(n, 10))
event = rng.exponential(400, n)
censor = rng.exponential(10 * np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1]))
start = time.perf_counter()
ss = semisynthetic(X, (np.minimum(event, censor), event <= censor), "original_dependent")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(ss), peak / (1 if sys.platform != "darwin" else 1024), time.perf_counter() - start)
"""


@pytest.mark.slow
def test_hospital_size_fits_in_memory():
    # As many distinct times as subjects: a matrix of subjects x times would take 690 GB.
    answer = subprocess.run(
        [sys.executable, "-c", BIG], capture_output=True, text=True, check=True, timeout=300
    )
    kept, peak_kb, seconds = map(float, answer.stdout.split())
    assert kept > 5000
    assert peak_kb < 4e6
    assert seconds < 60
