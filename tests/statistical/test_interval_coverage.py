"""Interval-censored outcomes in simulations: intervals cover, and the true model comes first."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import survgauge as sg

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
    """Value of each metric for very many test subjects, the law fixed (or that of all)."""
    found = {}
    for seed in range(parts):
        x, y = draw(n, 10_000 + seed, jitter)
        ev = evaluation(curves_of(x, 0.5), y, train, confidence=None)
        for row in ev.rows():
            found.setdefault(row["metric"], []).append(row["value"])
    return {name: float(np.mean(values)) for name, values in found.items()}


def evaluation(curves, y, train, **options):
    # The same horizon for every sample: a later one would be another question.
    return sg.evaluate(curves, y, y_train=train, time=TIME, tau=TAU, min_at_risk=1, **options)


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
