"""Doubly robust indicators of the status, and what is made of them, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.predictions import Prediction
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.robust_status import happened_at
from survgauge.metrics.task import Task

TIMES = np.array([0.5, 1.0, 1.5, 2.0, 3.0])


def drawn(n=40, seed=0, causes=False, weighted=False):
    """Outcomes, and distributions that differ between subjects and are wrong on purpose."""
    rng = np.random.default_rng(seed)
    time = rng.choice([0.4, 0.5, 0.9, 1.0, 1.2, 1.7, 2.0, 2.6, 3.0], n)
    event = rng.integers(0, 3, n) if causes else rng.integers(0, 2, n)
    weight = rng.integers(0, 3, n) if weighted else None
    y = sg.Outcomes(time, event, weight, causes=["a", "b"] if causes else None)
    rate = rng.uniform(0.2, 0.8, n)[:, None]
    g = sg.SurvivalCurves([0.4, 0.9, 1.2, 1.7, 2.6], 0.95 - 0.1 * np.arange(5) * rate, "step")
    if causes:
        share = rng.uniform(0.3, 0.7, n)[:, None]
        fell = 1 - np.exp(-rate * TIMES)
        values = np.stack((share * fell, (1 - share) * fell), axis=1)
        distribution = {"incidence": sg.IncidenceCurves(TIMES, values, ["a", "b"], "step")}
    else:
        distribution = {
            "distribution": sg.SurvivalCurves(TIMES, np.exp(-rate * TIMES), "step", "hold")
        }
    return y, sg.Conditional(censoring=g, **distribution), rng.uniform(0.05, 0.95, n)


def by_hand(y, given, t, cause=None):
    """phi of 1(T <= t, of the cause), subject by subject over the jumps of G."""
    found = []
    for i in range(len(y)):
        one = given[[i]]
        g = lambda u: float(one.censoring.held().at(u)[0]) if u >= 0 else 1.0  # noqa: E731, B023

        def incidence(u):
            if one.distribution is not None:  # noqa: B023
                return 1 - float(one.distribution.at(u)[0])  # noqa: B023
            return float(one.incidence.at(u, cause)[0])  # noqa: B023

        def alive(u):
            if one.distribution is not None:  # noqa: B023
                return float(one.distribution.at(u)[0])  # noqa: B023
            return float(one.incidence.survival().at(u)[0])  # noqa: B023

        def ahead(u):
            return (incidence(t) - incidence(u)) / alive(u) if u < t else 0.0

        last, happened = y.time[i], bool(y.event[i])
        before = lambda u: np.nextafter(u, 0)  # noqa: E731
        own = happened and (cause is None or y.causes[y.cause[i] - 1] == cause)
        value = own * (last <= t) / g(before(last)) if happened else ahead(last) / g(last)
        for v in one.censoring.times:
            if v < last or (v == last and not happened):
                value -= ahead(v) * (1 / g(v) - 1 / g(before(v)))
        found.append(value)
    return np.array(found)


@pytest.mark.parametrize("t", [0.7, 1.0, 1.9, 2.9])
@pytest.mark.parametrize("cause", [None, "a", "b"])
def test_indicators_agree_with_a_loop(t, cause):
    y, given, _ = drawn(causes=cause is not None)
    task = Task.of(y, None, None, time=t, conditional=given, cause=cause, floor=1e-6)
    assert happened_at(task, t) == pytest.approx(by_hand(y, given, t, cause), abs=1e-12)


def test_causes_share_the_events():
    y, given, _ = drawn(causes=True)
    parts = [
        happened_at(Task.of(y, None, None, time=1.9, conditional=given, cause=cause), 1.9)
        for cause in ("a", "b")
    ]
    distribution = given.incidence.survival()
    distribution = sg.SurvivalCurves(distribution.times, distribution.survival, "step", "hold")
    every = sg.Conditional(distribution=distribution, censoring=given.censoring)
    alone = happened_at(Task.of(y.any_cause(), None, None, time=1.9, conditional=every), 1.9)
    assert sum(parts) == pytest.approx(alone, abs=1e-12)


def rows(y, given, s, metrics, **more):
    curves = sg.SurvivalCurves([1.2, 3.0], np.stack((s, s / 2), axis=1))
    settings = {"time": 1.2, "conditional": given, "threshold": 0.4, **more}
    ev = sg.evaluate({"m": curves}, y, metrics=metrics, **settings)
    return {row["metric"]: row for row in ev.rows()}


def test_scores_are_those_of_the_indicators():
    y, given, s = drawn(80)
    task = Task.of(y, None, None, time=1.2, conditional=given)
    c, risk, n = happened_at(task, 1.2), 1 - s, len(y)
    names = ["brier", "observed_expected", "net_benefit", "auc"]
    found = rows(y, given, s, names)
    assert found["brier"]["value"] == pytest.approx(np.mean(c * s**2 + (1 - c) * (1 - s) ** 2))
    assert found["observed_expected"]["value"] == pytest.approx(c.mean() / risk.mean())
    gain = (risk >= 0.4) * (c - 0.4 / 0.6 * (1 - c))
    assert found["net_benefit"]["value"] == pytest.approx(gain.mean())
    assert found["net_benefit"]["stderr"] == pytest.approx(gain.std(ddof=1) / np.sqrt(n))
    above = total = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                pair = c[i] * (1 - c[j])
                above += pair * (0.5 if risk[i] == risk[j] else risk[i] > risk[j])
                total += pair
    assert found["auc"]["value"] == pytest.approx(above / total)


@pytest.mark.parametrize("metric", ["brier", "auc", "observed_expected", "calibration_slope"])
def test_frequencies_are_repeated_rows(metric):
    y, given, s = drawn(60, weighted=True)
    again = np.repeat(np.arange(60), y.weight.astype(int))
    plain = sg.Outcomes(y.time[again], y.event[again])
    a = rows(y, given, s, [metric])[metric]
    b = rows(plain, given[again], s[again], [metric])[metric]
    for name in ("value", "stderr"):
        assert a[name] == pytest.approx(b[name], rel=1e-9), name


@pytest.mark.parametrize("metric", ["auc", "observed_expected"])
def test_contributions_are_first_order(metric):
    y, given, s = drawn(60)
    curves = sg.SurvivalCurves([1.2, 3.0], np.stack((s, s / 2), axis=1))
    record = REGISTRY[metric]

    def at(weight):
        part = sg.Outcomes(y.time, y.event, weight)
        task = Task.of(part, None, None, time=1.2, conditional=given)
        return record.measure(task, Prediction(curves, None, None))

    whole, step = at(np.ones(60)), 1e-6
    for i in (0, 7, 31):
        more = np.ones(60)
        more[i] += step
        slope = (at(more).value - whole.value) / step
        # A pair of copies of one subject is of second order.
        assert whole.contributions[i] == pytest.approx(
            slope, abs=5e-3 * np.abs(whole.contributions).max() + 1e-4
        )


def test_the_definitions_of_other_packages_stay_theirs():
    y, given, s = drawn(80)
    for name in ("sksurv", "paper"):
        settings = {"convention": name, "y_train": y}
        a = rows(y, given, s, ["brier"], **settings)["brier"]["value"]
        b = rows(y, None, s, ["brier"], **settings)["brier"]["value"]
        assert a == b


def test_without_censoring_nothing_changes():
    rng = np.random.default_rng(0)
    y = sg.Outcomes(rng.choice(TIMES, 60), np.ones(60))
    _, given, s = drawn(60)
    names = ["brier", "ibs", "auc", "observed_expected", "net_benefit", "calibration_slope"]
    none = sg.Conditional(distribution=given.distribution)
    a, b = rows(y, none, s, names), rows(y, None, s, names)
    for name in names:
        assert a[name]["value"] == pytest.approx(b[name]["value"], rel=1e-9), name
