"""Metrics under an assumed dependence of event and censoring time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dependent_worlds import DEPENDENCES, observed, population

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, metrics_of

each = pytest.mark.parametrize("dependence", DEPENDENCES, ids=str)
#: What is predicted for the two kinds of subjects.
TIMES, SURVIVAL = np.array([1.5, 4.4]), np.array([[0.8, 0.3], [0.9, 0.6]])


def world(dependence):
    t, c, kind, mass = population(dependence)
    return t, kind, mass, observed(t, c, mass)


def curves(kind):
    return sg.SurvivalCurves([1.0, 3.5], SURVIVAL[kind], interpolation="step")


@each
@pytest.mark.parametrize("tau", [None, 4.5, 4.0, 2.0])
@pytest.mark.parametrize("method", ["ipcw_d", "expected"])
def test_time_errors_are_those_of_the_world(dependence, method, tau):
    t, kind, mass, y = world(dependence)
    # Who was censored is known by the law alone: its expected loss needs one prediction for all.
    predicted = TIMES[kind] if method == "ipcw_d" else np.full(t.size, 1.6)
    stop = np.inf if tau is None else tau
    loss = np.abs(np.minimum(t, stop) - np.minimum(predicted, stop))
    found = sg.mae(y, predicted, method=method, dependence=dependence, tau=tau)
    assert found == pytest.approx(np.average(loss, weights=mass), abs=1e-12)
    assert found != pytest.approx(sg.mae(y, predicted, method=method, tau=tau), abs=1e-3)


@each
def test_margin_times_are_the_means_of_the_world(dependence):
    t, kind, mass, y = world(dependence)
    details = sg.time_error_details(y, TIMES[kind], method="margin", dependence=dependence)
    k = int(np.flatnonzero(~y.event & (y.time == 2.0))[0])
    same = ~y.event & (y.time == 2.0)
    mean = np.average(t[same], weights=mass[same])
    assert details.loss[k] == pytest.approx(abs(mean - TIMES[kind[k]]), abs=1e-12)


@each
@pytest.mark.parametrize("time", [1.0, 1.7, 2.0, 3.0, 4.0])
def test_brier_scores_are_those_of_the_world(dependence, time):
    t, kind, mass, y = world(dependence)
    predicted = curves(kind)
    squares = ((t > time) - predicted.at(time)) ** 2
    found = sg.brier_score(y, predicted, [time], dependence=dependence)
    assert found.values[0] == pytest.approx(np.average(squares, weights=mass), abs=1e-12)
    logs = np.where(t > time, -np.log(predicted.at(time)), -np.log1p(-predicted.at(time)))
    if time > 1:
        given = y, predicted, [time]
        found = sg.binomial_log_likelihood(*given, dependence=dependence)
        assert found.values[0] == pytest.approx(np.average(logs, weights=mass), abs=1e-12)


@each
def test_integrated_scores_are_those_of_the_world(dependence):
    t, kind, mass, y = world(dependence)
    predicted, times = curves(kind), np.array([1.0, 2.0, 3.0, 4.0])
    squares = [np.average(((t > u) - predicted.at(u)) ** 2, weights=mass) for u in times]
    found = sg.integrated_brier_score(y, predicted, times, dependence=dependence)
    assert found == pytest.approx(np.trapezoid(squares, times) / 3, abs=1e-12)
    details = sg.integrated_brier_score_details(y, predicted, times, dependence=dependence)
    assert details.value == pytest.approx(found, abs=1e-13)
    assert details.convention["stderr"] == "G fixed"


@each
@pytest.mark.parametrize("tau", [None, 4.5, 2.0])
def test_concordance_is_that_of_the_world(dependence, tau):
    t, kind, mass, y = world(dependence)
    risk = -TIMES[kind]
    stop = np.inf if tau is None else tau
    pairs = (t[:, None] < t) & (t[:, None] < stop)
    right = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    weight = pairs * mass[:, None] * mass
    found = sg.concordance_index(y, risk, method="uno", tau=tau, dependence=dependence)
    assert found == pytest.approx((weight * right).sum() / weight.sum(), abs=1e-12)
    assert found != pytest.approx(sg.concordance_index(y, risk, method="uno", tau=tau), abs=1e-4)


def sample(n=60, seed=0):
    rng = np.random.default_rng(seed)
    t, e = rng.integers(1, 25, n).astype(float), rng.random(n) < 0.6
    falls = np.sort(rng.uniform(0.05, 0.95, (n, 4)))[:, ::-1]
    return (t, e), sg.SurvivalCurves([5.0, 10.0, 15.0, 20.0], falls)


@pytest.mark.parametrize("none", [0, 0.0, sg.Dependence(0, "gumbel"), None])
@pytest.mark.parametrize("censoring", ["test", "train"])
def test_no_dependence_gives_the_usual_numbers(none, censoring):
    y, predicted = sample()
    train, _ = sample(80, 1)
    given = {"y_train": train, "censoring": censoring}
    usual = sg.evaluate(predicted, y, **given)
    found = sg.evaluate(predicted, y, **given, dependence=none)
    assert [s.value for s in found.scores] == pytest.approx(
        [s.value for s in usual.scores], abs=1e-12, nan_ok=True
    )
    assert [s.stderr for s in found.scores] == pytest.approx(
        [s.stderr for s in usual.scores], abs=1e-12, nan_ok=True
    )


HEEDING = [name for name, metric in metrics_of().items() if metric.takes_dependence]


@pytest.mark.parametrize("copula", ["clayton", "frank", "gumbel"])
@pytest.mark.parametrize("censoring", ["test", "train"])
def test_hardly_any_dependence_gives_hardly_other_numbers(copula, censoring):
    """Where nobody is known by difference: time errors without a horizon, or by a law."""
    y, predicted = sample()
    train, _ = sample(80, 1)
    given = {"y_train": train, "censoring": censoring}
    hardly = sg.Dependence(1e-12, copula)
    for method, tau in itertools.product(("ipcw_d", "expected", "margin"), (None, 15.0)):
        if (method, tau) != ("ipcw_d", 15.0):
            usual = sg.mae(y, predicted, method=method, tau=tau, **given)
            found = sg.mae(y, predicted, method=method, tau=tau, dependence=hardly, **given)
            assert found == pytest.approx(usual, rel=1e-9)


def by_difference(y, weight, loss_free, loss_event, time):
    """Mean loss at a time: everybody as event-free, and weighted events as the difference."""
    total = 0.0
    for i, (t, e) in enumerate(zip(*y, strict=True)):
        total += loss_free[i]
        if e and t <= time:
            total += weight[i] * (loss_event[i] - loss_free[i])
    return total / len(y[0])


@pytest.mark.parametrize("dependence", [1e-13, *DEPENDENCES], ids=str)
def test_scores_match_plain_loops(dependence):
    y, predicted = sample(40, 2)
    time, event = y
    laws = sg.CopulaGraphic.fit(y, dependence)
    steps = -np.diff(np.append(1.0, laws.law.survival))
    weight = np.zeros(40)
    for i in np.flatnonzero(event):
        same = event & (time == time[i])
        weight[i] = 40 * steps[laws.times == time[i]][0] / same.sum()
    if dependence == 1e-13:  # then these are the usual weights
        g = sg.KaplanMeier.fit_censoring(y).at(time[event], "left")
        np.testing.assert_allclose(weight[event], 1 / g, rtol=1e-9)
    s = predicted.at(9.0)
    found = sg.brier_score(y, predicted, [9.0], dependence=dependence).values[0]
    wanted = by_difference(y, weight, (1 - s) ** 2, s**2, 9.0)
    assert found == pytest.approx(wanted, rel=1e-9)
    p = np.minimum(predicted.median(), 9.0)
    found = sg.mae(y, predicted, method="ipcw_d", tau=9.0, dependence=dependence)
    wanted = by_difference(y, weight, 9.0 - p, np.abs(time - p), np.nextafter(9.0, 0))
    assert found == pytest.approx(wanted, rel=1e-9)
    risk = np.round(-predicted.median())  # with ties
    above = below = 0.0
    for i in np.flatnonzero(event & (time < 15.0)):
        for j in range(40):
            alive = 1 - weight[j] * (event[j] and time[j] <= time[i])
            above += weight[i] * alive * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
            below += weight[i] * alive
    found = sg.concordance_index(y, risk, method="uno", tau=15.0, dependence=dependence)
    assert found == pytest.approx(above / below, rel=1e-9)


def test_contributions_of_pairs_are_derivatives():
    from survgauge.metrics.ranking._by_difference import tally_by_difference

    (time, event), predicted = sample(30, 4)
    risk = np.round(-predicted.median())
    anchor, weight = event & (time < 18), np.where(event, 1 + time / 20, 0.0)
    mass = np.random.default_rng(0).uniform(0.5, 2, 30)
    psi = tally_by_difference(time, anchor, risk, weight, mass, True).psi
    for i in range(30):
        values = []
        for h in (1e-5, -1e-5):
            moved = mass * (1 + h * (np.arange(30) == i))
            values.append(tally_by_difference(time, anchor, risk, weight, moved, False).value)
        assert psi[i] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("name", HEEDING)
def test_other_numbers_come_out_and_their_convention_says_why(name):
    y, predicted = sample()
    (usual,) = sg.evaluate(predicted, y, metrics=[name], threshold=0.3).scores
    asked = {"metrics": [name], "threshold": 0.3, "dependence": 0.4}
    (found,) = sg.evaluate(predicted, y, **asked).scores
    assert abs(found.value - usual.value) > 1e-4
    assert found.measured.convention["dependence"] == str(sg.Dependence(0.4))
    assert "dependence" not in usual.measured.convention


def test_functions_and_evaluate_agree():
    y, predicted = sample()
    dependence = sg.Dependence(0.3, "gumbel")
    ev = sg.evaluate(predicted, y, dependence=dependence, time=8.0)
    found = {score.metric.name: score.value for score in ev.scores}
    assert set(found) == {name for name in HEEDING if REGISTRY[name].default}
    for method in ("ipcw_d", "expected", "margin"):
        error = sg.mae(y, predicted, method=method, dependence=dependence)
        assert found[f"mae_{method}"] == pytest.approx(error, abs=1e-12)
        several = sg.time_errors(y, predicted, dependence=dependence)
        assert several[method].value == pytest.approx(error, abs=1e-12)
    assert set(several) == {"ipcw_d", "expected", "margin"}
    brier = sg.brier_score(y, predicted, [8.0], dependence=dependence)
    assert found["brier"] == pytest.approx(brier.values[0], abs=1e-12)
    tau = np.nextafter(ev.problem.horizon, np.inf)
    c = sg.concordance_index(y, -predicted.median(), method="uno", tau=tau, dependence=dependence)
    assert found["uno"] == pytest.approx(c, abs=1e-12)


def test_horizon_and_time_are_those_of_independent_censoring():
    y, predicted = sample()
    usual = sg.evaluate(predicted, y, metrics="ibs")
    found = sg.evaluate(predicted, y, metrics="ibs", dependence=0.5)
    assert found.problem.horizon == usual.problem.horizon
    assert found.problem.time == usual.problem.time


def test_each_group_has_its_own_laws():
    y, predicted = sample()
    group = np.arange(60) % 2
    names = ["mae_ipcw_d", "ibs", "uno"]
    ev = sg.evaluate(predicted, y, metrics=names, by=group, dependence=0.4, min_at_risk=3)
    for score in ev.scores:
        if score.metric.name == "mae_ipcw_d":
            own = np.ones(60, bool) if score.group is None else group == score.group
            rows = np.flatnonzero(own)
            part = y[0][rows], y[1][rows]
            alone = sg.mae(part, predicted[rows], method="ipcw_d", dependence=0.4)
            assert score.value == pytest.approx(alone, abs=1e-12)


def test_sampling_weights_are_frequencies_up_to_a_factor():
    y, predicted = sample()
    weight = np.random.default_rng(3).integers(1, 4, 60)
    metrics = ["mae_ipcw_d", "ibs", "uno", "brier"]
    settings = {"metrics": metrics, "dependence": 0.4, "min_at_risk": 3, "time": 6.0}
    sampled = sg.evaluate(predicted, y, sample_weight=weight, **settings)
    often = sg.evaluate(predicted, sg.Outcomes(*y, weight), **settings)
    assert sampled.scores[0].value == pytest.approx(often.scores[0].value, rel=1e-12)


def test_metrics_that_know_independent_censoring_only_are_left_out_or_refused():
    y, predicted = sample()
    ev = sg.evaluate(predicted, y, dependence=0.4)
    assert {score.metric.name for score in ev.scores} <= set(HEEDING)
    notes = [w.message for w in ev.warnings if w.code == "assumes-independence"]
    assert any("mae_po" in note and "left out" in note for note in notes)
    with pytest.raises(sg.InputError, match="metrics: mae_po, harrell know independent"):
        sg.evaluate(predicted, y, metrics=["mae_po", "uno", "harrell"], dependence=0.4)
    for name, metric in metrics_of().items():
        if name not in HEEDING:
            problem = ev.problem.anew()
            prediction = next(iter(ev.predictions.values()))
            with pytest.raises(sg.UndefinedMetricError, match="independent censoring only"):
                metric.measure(problem, prediction)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, s: sg.mae(y, s, dependence=0.4), "method 'dr' knows independent"),
        (lambda y, s: sg.mae(y, s, method="po", dependence=0.4), "method 'po' knows independent"),
        (lambda y, s: sg.mae(y, s, method="dr", dependence=0.4), "method 'dr' knows independent"),
        (
            lambda y, s: sg.mae(y, s, method="ipcw_d", dependence="0.4"),
            "dependence must be Kendall's tau",
        ),
        (lambda y, s: sg.mae(y, s, method="ipcw_d", dependence=1), "strictly between -1 and 1"),
        (
            lambda y, s: sg.mae(
                y, s, method="ipcw_d", dependence=0.4, censoring=sg.KaplanMeier.fit_censoring(y)
            ),
            "not a G of your own",
        ),
        (
            lambda y, s: sg.mae(
                y, s, method="expected", dependence=0.4, conditional=sg.Conditional(law=s)
            ),
            "dependence cannot be given together with conditional",
        ),
        (
            lambda y, s: sg.evaluate(s, y, dependence=0.4, conditional=sg.Conditional(law=s)),
            "dependence cannot be given together with conditional",
        ),
        (
            lambda y, s: sg.concordance_index(y, -s.median(), dependence=0.4),
            "dependence goes with method='uno'",
        ),
        (
            lambda y, s: sg.brier_score(y, s, [5], method="unweighted", dependence=0.4),
            "dependence goes with method='ipcw'",
        ),
        (
            lambda y, s: sg.brier_score(y, s, [5], convention="sksurv", dependence=0.4),
            "convention 'sksurv' has event_limit='right'",
        ),
        (
            lambda y, s: sg.evaluate(s, y, convention="pycox", dependence=0.4),
            "convention 'pycox' has g_ties",
        ),
    ],
)
def test_bad_combinations_are_refused(call, message):
    with pytest.raises(sg.InputError, match=message):
        call(*sample())


@pytest.mark.parametrize("y", [([3, 4], [1, 1]), ([5], [1]), ([2, 6], [1, 0]), ([4, 4], [1, 0])])
def test_very_few_subjects(y):
    n = len(y[0])
    predicted = sg.SurvivalCurves([2.0, 8.0], [[0.8, 0.2]] * n)
    for method in ("ipcw_d", "expected", "margin"):
        assert np.isfinite(sg.mae(y, predicted, method=method, dependence=0.4, weighted=False))


def test_chunks_of_many_subjects_give_the_same(monkeypatch):
    y, predicted = sample(400, 5)
    from survgauge.metrics.time import time_errors

    wanted = [
        sg.mae(y, predicted, method=m, dependence=0.4) for m in ("ipcw_d", "expected", "margin")
    ]
    monkeypatch.setattr(time_errors, "CHUNK", 50)
    found = [
        sg.mae(y, predicted, method=m, dependence=0.4) for m in ("ipcw_d", "expected", "margin")
    ]
    assert found == pytest.approx(wanted, abs=1e-12)
