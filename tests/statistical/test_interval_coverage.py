"""Interval-censored outcomes in simulations: intervals cover, and the true model comes first."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, metrics_of
from survgauge.metrics.time.interval_errors import interval_error

pytestmark = pytest.mark.slow

GRID = np.linspace(0, 40, 161)
TIME, TAU = 3.0, 4.0


def curves_of(x, slope, scale=4.0):
    return sg.SurvivalCurves(GRID, np.exp(-((GRID / (scale * np.exp(-slope * x[:, None]))) ** 1.5)))


def draw(n, seed, jitter=1.0, every=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    time = rng.weibull(1.5, n) * 4 * np.exp(-0.7 * x)
    end = rng.uniform(2, 9, n)
    return x, sg.visits(time, every, jitter=jitter, end=end, random_state=seed).y


def limits(train, jitter, parts=5, n=20_000):
    """Value of each metric for very many test subjects, the distribution fixed (or that of all)."""
    found = {}
    for seed in range(parts):
        x, y = draw(n, 10_000 + seed, jitter)
        ev = evaluation(curves_of(x, 0.5), y, train, confidence=None)
        for row in ev.rows():
            found.setdefault(row["metric"], []).append(row["value"])
    return {name: float(np.mean(values)) for name, values in found.items()}


def evaluation(curves, y, train, **options):
    # The same horizon for every sample: a later one would be another question.
    names = list(metrics_of("interval"))
    fixed = {"time": TIME, "tau": TAU, "min_at_risk": 1, "metrics": names}
    return sg.evaluate(curves, y, y_train=train, **fixed, **options)


def coverage(jitter, in_sample, draws, n=400):
    train = None if in_sample else draw(n, 999, jitter)[1]
    wanted, hits = limits(train, jitter), Counter()
    values = {}
    for seed in range(draws):
        x, y = draw(n, seed, jitter)
        for row in evaluation(curves_of(x, 0.5), y, train).rows():
            hits[row["metric"]] += row["low"] <= wanted[row["metric"]] <= row["high"]
            values.setdefault(row["metric"], []).append(row["value"])
    share = {name: hits[name] / draws for name in wanted}
    bias = {name: float(np.mean(values[name]) / wanted[name] - 1) for name in wanted}
    return share, bias


@pytest.mark.parametrize(
    ("jitter", "in_sample"), [(0.0, False), (0.0, True), (1.0, False), (1.0, True)]
)
def test_intervals_cover_what_they_are_about(jitter, in_sample):
    share, bias = coverage(jitter, in_sample, draws=1500)
    for name in metrics_of("interval"):
        assert 0.93 <= share[name] <= 0.97, name
        if name != "turnbull_calibration":  # a distance, biased upwards near zero
            assert abs(bias[name]) < 0.02, name


def test_the_true_model_comes_first():
    draws, first = 400, Counter()
    names = [name for name, metric in metrics_of("interval").items() if metric.family in (
        "probability", "time")]  # fmt: skip
    for seed in range(draws):
        x, y = draw(500, seed)
        _, train = draw(500, 5_000 + seed)
        models = {
            "true": curves_of(x, 0.7),
            "half": curves_of(x, 0.35),
            "double": curves_of(x, 1.4),
            "late": curves_of(x, 0.7, 5.5),
            "null": curves_of(x, 0.0),
        }
        ev = sg.evaluate(models, y, y_train=train, time=TIME, confidence=None, metrics=names)
        for name in names:
            values = {r["model"]: r["value"] for r in ev.rows() if r["metric"] == name}
            first[name] += min(values, key=lambda m: REGISTRY[name].badness(values[m])) == "true"
    assert first["interval_log_likelihood"] == draws
    # The hinge error too, against these rivals: others beat the truth by it (see
    # test_nearer_rivals_beat_the_truth_by_the_hinge_error), so that nothing rests on it.
    for name in names:
        assert first[name] >= 0.95 * draws, name


def test_nearer_rivals_beat_the_truth_by_the_hinge_error():
    """In expectation, not by chance: the error is not proper, whatever the number of subjects."""
    x, y = draw(200_000, 77)

    def hinge(slope, scale, tau):
        median = scale * np.exp(-slope * x) * np.log(2) ** (1 / 1.5)
        return interval_error(y, median, method="hinge", tau=tau)

    def z_score(rival, tau):
        found, true = hinge(*rival, tau), hinge(0.7, 4.0, tau)
        return (found.value - true.value) / np.sqrt(
            np.sum((found.contributions - true.contributions) ** 2)
        )

    for rival in ((0.6, 4.0), (0.65, 4.0), (0.7, 3.8)):
        assert z_score(rival, 5.0) < -5
    assert z_score((0.35, 4.0), 5.0) > 5
    assert z_score((0.35, 4.0), None) < -5  # without a horizon even half of the effect


if __name__ == "__main__":
    import sys
    import time

    draws = int(sys.argv[1])
    for jitter in (0.0, 1.0):
        for in_sample in (False, True):
            began = time.process_time()
            share, bias = coverage(jitter, in_sample, draws)
            print(f"jitter {jitter}, in sample {in_sample}, {time.process_time() - began:.0f} s")
            for name in share:
                print(f"  {name:28} {share[name]:.3f} {bias[name]:+.4f}", flush=True)
