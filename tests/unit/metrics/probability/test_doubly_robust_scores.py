"""Doubly robust Brier, integrated Brier and CRPS against plain loops and known truth."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.predictions import Prediction
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.task import Task


def sample(n=60, seed=0, whole=True):
    rng = np.random.default_rng(seed)
    event, lost = rng.exponential(8, n) + 0.5, rng.exponential(10, n) + 0.5
    time = np.minimum(event, lost)
    y = sg.Outcomes(np.ceil(time) if whole else time, event <= lost)
    grid = np.arange(1.0, 25.0)
    rate = rng.uniform(0.5, 2, n)[:, None] / 8
    return y, sg.SurvivalCurves(grid, np.exp(-grid * rate)), rng


def naive_event_free(y, distribution_times, distribution_survival, km, floor, t):
    """phi of the loss 1(T > t), subject by subject, jump by jump."""

    def survival(row, u):
        k = int((distribution_times <= u).sum())
        return 1.0 if k == 0 else distribution_survival[row, k - 1]

    lowest = min((g for g in km.survival if g >= floor), default=1.0)

    def g(u, side):
        value = float(km.at(u, side=side))
        return value if value >= floor else lowest

    found = []
    for i, (time, event) in enumerate(zip(y.time, y.event, strict=True)):

        def m(u, i=i, t=t):
            if u >= t:
                return 1.0
            return survival(i, t) / survival(i, u) if survival(i, u) > 0 else 0.0

        total = float(time > t) / g(time, "left") if event else m(time) / g(time, "right")
        for v in km.times:
            if v < time or (v == time and not event):
                total -= m(v) * (1 / g(v, "right") - 1 / g(v, "left"))
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("own_distribution", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_brier_is_that_of_plain_loops(seed, own_distribution):
    y, curves, rng = sample(seed=seed)
    train = sg.Outcomes(rng.integers(1, 25, 80), rng.random(80) < 0.8)
    train = sg.Outcomes(np.append(train.time, 30), np.append(train.event, True))
    km = sg.KaplanMeier.fit_censoring(y)
    reference = sg.Reference(train)
    times, survival = reference.steps()
    distribution_survival, conditional = np.tile(survival, (len(y), 1)), None
    if own_distribution:
        times = np.arange(1.0, 31.0)
        distribution_survival = np.exp(-times * rng.uniform(0.05, 0.2, (len(y), 1)))
        distribution_survival[:, -1] = 0.0
        conditional = sg.Conditional(sg.SurvivalCurves(times, distribution_survival, "step"))
    for t in (3.0, 7.5, 12.0):
        event_free = naive_event_free(y, times, distribution_survival, km, 0.1, t)
        predicted = curves.at(t)
        expected = predicted**2 + event_free * (1 - 2 * predicted)
        task = Task.of(y, train, time=t, conditional=conditional, min_at_risk=1, min_g=0.0)
        found = REGISTRY["brier_dr"].measure(task, Prediction.of(curves, len(y), "m"))
        assert found.value == pytest.approx(expected.mean(), abs=1e-12)
        assert found.stderr == pytest.approx(expected.std() / np.sqrt(len(y)), rel=0.02)


def test_integrals_are_those_of_the_score_at_each_time():
    y, curves, rng = sample(200)
    train = sg.Outcomes(rng.exponential(8, 300), rng.random(300) < 0.8)
    prediction = Prediction.of(curves, len(y), "m")
    task = Task.of(y, train)
    steps = np.linspace(0, task.horizon, 101)
    values = [
        REGISTRY["brier_dr"].measure(Task.of(y, train, time=t), prediction).value
        for t in np.maximum(steps, 1e-12)
    ]
    area = np.sum((np.array(values)[1:] + np.array(values)[:-1]) / 2 * np.diff(steps))
    found = {name: REGISTRY[name].measure(task, prediction).value for name in ("ibs_dr", "crps_dr")}
    assert found["crps_dr"] == pytest.approx(area, rel=1e-9)
    assert found["ibs_dr"] == pytest.approx(area / task.horizon, rel=1e-9)
    half = Task.of(y, train, tau=task.horizon / 2)
    assert REGISTRY["crps_dr"].measure(half, prediction).value < found["crps_dr"]


def test_without_censoring_they_are_the_plain_scores():
    y, curves, _ = sample(100)
    y = sg.Outcomes(np.minimum(y.time, 20), np.ones(len(y)))
    ev = sg.evaluate(
        curves, y, metrics=["brier", "brier_dr", "ibs", "ibs_dr"], time=6, min_at_risk=1
    )
    values = {row["metric"]: row["value"] for row in ev.rows()}
    assert values["brier_dr"] == pytest.approx(values["brier"], rel=1e-12)
    assert values["ibs_dr"] == pytest.approx(values["ibs"], rel=1e-9)


def test_a_distribution_given_features_mends_censoring_that_depends_on_them():
    rng = np.random.default_rng(3)
    x = rng.normal(size=8000)
    event, lost = rng.exponential(8 * np.exp(-x)), rng.exponential(10 * np.exp(-1.2 * x))
    y = sg.Outcomes(np.minimum(event, lost), event <= lost)
    grid = np.linspace(0.1, 30, 200)
    distribution = sg.SurvivalCurves(grid, np.exp(-grid * np.exp(x)[:, None] / 8))
    flat = sg.SurvivalCurves(grid, np.exp(-grid * np.exp(0.4 * x)[:, None] / 8))
    truth = np.mean(((event > 8) - flat.at(8)) ** 2)
    found = {
        given: sg.evaluate(flat, y, metrics="brier", time=8, conditional=given).rows()[0]["value"]
        for given in (None, sg.Conditional(distribution))
    }
    usual, robust = found.values()
    assert abs(robust - truth) < 0.005
    assert abs(usual - truth) > 0.008


def test_a_distribution_per_subject_is_not_kaplan_meier():
    y, curves, rng = sample(120)
    train = sg.Outcomes(rng.exponential(8, 300), rng.random(300) < 0.8)
    names = ["brier_dr", "ibs_dr", "crps_dr"]
    whole = sg.evaluate(curves, y, y_train=train, metrics=names, time=6, confidence=None)
    distribution = sg.SurvivalCurves([5, 10, 20], np.tile([0.7, 0.4, 0.1], (120, 1)), "step")
    other = sg.evaluate(
        curves, y, y_train=train, metrics=names, time=6, conditional=sg.Conditional(distribution)
    )
    assert [row["value"] for row in whole.rows()] != [row["value"] for row in other.rows()]
