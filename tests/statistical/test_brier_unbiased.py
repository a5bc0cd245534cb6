"""Brier scores with whole-unit times: unbiased by our convention, with intervals that cover."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from survgauge.data.curves import SurvivalCurves
from survgauge.data.outcomes import Outcomes
from survgauge.metrics.probability.brier import brier_score, integrated_brier_score
from survgauge.metrics.score import standard_error

pytestmark = pytest.mark.slow

TIMES = np.arange(1.0, 11.0)


def draw(rng, n):
    """T and C in whole units, rounded before the flag is set, and the distribution of T."""
    scale = 6 * np.exp(-0.6 * rng.normal(size=n))
    event_time = np.ceil(rng.weibull(1.3, n) * scale)
    censor_time = np.ceil(rng.uniform(0, 14, n))
    y = Outcomes(np.minimum(event_time, censor_time), event_time <= censor_time)
    survival = np.exp(-((TIMES / scale[:, None]) ** 1.3))
    return event_time, y, SurvivalCurves(TIMES, survival)


def bias(convention, in_sample, replications=150, n=2000):
    """Mean difference to the score on the true event times at each time, and its standard error."""
    rng = np.random.default_rng(11)
    difference = np.empty((replications, TIMES.size))
    truth = np.empty((replications, TIMES.size))
    for r in range(replications):
        event_time, y, curves = draw(rng, n)
        _, train, _ = draw(rng, n)
        train = None if in_sample else train
        result = brier_score(y, curves, TIMES, y_train=train, convention=convention)
        truth[r] = (((event_time[:, None] > TIMES) - curves.survival) ** 2).mean(axis=0)
        difference[r] = result.values - truth[r]
    stderr = difference.std(axis=0, ddof=1) / np.sqrt(replications)
    return difference.mean(axis=0), stderr, truth.mean(axis=0)


@pytest.mark.parametrize("in_sample", [True, False])
def test_left_limit_is_unbiased_in_whole_units(in_sample):
    mean, stderr, truth = bias(None, in_sample)
    assert (np.abs(mean) < 4 * stderr).all()
    assert (stderr < 0.01 * truth).all()


@pytest.mark.parametrize("convention", ["sksurv", "torchsurv"])
def test_right_limit_at_events_is_off_by_about_six_percent(convention):
    mean, _, truth = bias(convention, in_sample=False, replications=60)
    share = mean.mean() / truth.mean()
    assert 0.04 < share < 0.08


def test_unweighted_scores_are_biased_and_administrative_ones_are_not():
    rng = np.random.default_rng(3)
    unweighted, administrative = [], []
    for _ in range(100):
        scale = 6 * np.exp(-0.6 * rng.normal(size=2000))
        event_time, limit = rng.weibull(1.3, 2000) * scale, rng.uniform(2, 14, 2000)
        y = Outcomes(np.minimum(event_time, limit), event_time <= limit)
        curves = SurvivalCurves([8.0], np.exp(-((8.0 / scale) ** 1.3))[:, None], "step")
        truth = (((event_time > 8.0) - curves.survival[:, 0]) ** 2).mean()
        plain = brier_score(y, curves, 8.0, method="unweighted").mean
        known = brier_score(y, curves, 8.0, method="administrative", censoring_times=limit).mean
        unweighted.append(plain - truth)
        administrative.append(known - truth)
    noise = np.std(administrative, ddof=1) / 10
    assert abs(np.mean(administrative)) < 4 * noise
    assert abs(np.mean(unweighted)) > 10 * noise


def scores(y, curves, train):
    """Integrated scores of the truth, of a curve without covariates, and their difference."""
    blunt = np.exp(-((TIMES / 6.5) ** 1.1))
    other = SurvivalCurves(TIMES, np.tile(blunt, (len(y), 1)))
    first, second = (
        integrated_brier_score(y, model, TIMES, y_train=train) for model in (curves, other)
    )
    errors = [
        standard_error(contributions)
        for contributions in (
            first.contributions,
            second.contributions,
            first.contributions - second.contributions,
        )
    ]
    return np.array([first.value, second.value, first.value - second.value]), np.array(errors)


@pytest.mark.parametrize("in_sample", [True, False])
def test_intervals_of_integrated_scores_and_their_difference_cover_the_limit(in_sample):
    """95 % intervals at n = 500; the limit from two million subjects, the reference as it is."""
    rng = np.random.default_rng([17, in_sample])
    _, train, _ = draw(rng, 500)
    train = None if in_sample else train
    limits = np.array([scores(*draw(rng, 100_000)[1:], train)[0] for _ in range(20)])
    limit, z = limits.mean(axis=0), NormalDist().inv_cdf(0.975)
    covered, stderr = np.empty((1500, 3)), np.empty((1500, 3))
    for r in range(1500):
        value, stderr[r] = scores(*draw(rng, 500)[1:], train)
        covered[r] = np.abs(value - limit) < z * stderr[r]
    assert (covered.mean(axis=0) >= 0.93).all()
    assert (covered.mean(axis=0) <= 0.97).all()
    assert (limits.std(axis=0) / np.sqrt(20) < 0.1 * stderr.mean(axis=0)).all()
