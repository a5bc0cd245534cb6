"""The dependence that turns a comparison, against times drawn with that dependence."""

from __future__ import annotations

import json
from html import unescape

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.predictions import Prediction
from survgauge.estimators.copulas import Archimedean, parameter, second_given_first
from survgauge.evaluation.tipping import CensoredTimes
from survgauge.metrics.task import Task

KINDS = [("clayton", 0.5), ("clayton", 0.2), ("frank", 0.6), ("frank", -0.4), ("gumbel", 0.5)]


def drawn(copula, tau, n, seed=0, scale=1.0):
    """Exponential event and censoring times that are tied by a copula."""
    rng = np.random.default_rng(seed)
    first = rng.random(n)
    second = second_given_first(copula, parameter(copula, tau), first, rng.random(n))
    time, ends = -np.log(first) * scale, -1.2 * np.log(second) * scale
    return time, (np.minimum(time, ends), time <= ends)


def times_of(y, pair, stop, **settings):
    task = Task.of(sg.Outcomes.of(y), None, tau=stop, **settings)
    predictions = [Prediction.of(p, len(p), "p") for p in pair]
    return CensoredTimes.of(task.within_horizon, predictions)


def test_by_plain_loops():
    """Clayton: the distribution of each censored subject's time step by step, and its losses."""
    _, y = drawn("clayton", 0.5, 40)
    time, event = y
    rng = np.random.default_rng(1)
    pair = [rng.uniform(0.2, 1.0, 40), rng.uniform(0.2, 1.0, 40)]
    stop, theta = 0.9, 2.0
    s = sg.KaplanMeier.fit(y)
    g = sg.KaplanMeier.fit_censoring(y)

    def phi(u):
        return (u**-theta - 1) / theta

    def gap(i, t):
        return abs(min(t, stop) - pair[0][i]) - abs(min(t, stop) - pair[1][i])

    grid = sorted(t for t, e in zip(time, event, strict=True) if e and t < stop)
    total = 0.0
    for i in range(40):
        if event[i] or time[i] >= stop:
            continue
        c = time[i]
        a = phi(float(s.at(c)) * float(g.at(c)))
        left, free, change = 1.0, 1.0, 0.0
        for t in (t for t in grid if t > c):
            before = float(s.at(t, "left")), float(g.at(t, "left"))
            a += phi(float(s.at(t)) * before[1]) - phi(before[0] * before[1])
            u = (1 + theta * a) ** (-1 / theta)
            now = (u / (float(s.at(c)) * float(g.at(c)))) ** (theta + 1)
            alone = float(s.at(t)) / float(s.at(c))
            change += ((left - now) - (free - alone)) * gap(i, t)
            left, free = now, alone
        total += change + (left - free) * gap(i, stop)
    found = times_of(y, pair, stop).change(Archimedean.of("clayton", 0.5))
    assert found == pytest.approx(total / 40, abs=1e-12)


@pytest.mark.parametrize(("copula", "tau"), KINDS)
def test_under_the_right_dependence_the_difference_is_that_of_the_true_times(copula, tau):
    """Independence is wrong by a multiple of what is left under the right dependence."""
    stop, n = 1.2, 20_000
    time, y = drawn(copula, tau, n)
    pair = np.full(n, 0.4), np.full(n, 0.75)
    true = np.mean(np.abs(np.minimum(time, stop) - 0.4) - np.abs(np.minimum(time, stop) - 0.75))
    usual = sg.tipping_point(*pair, y, tau=stop).difference
    moved = usual + times_of(y, pair, stop).change(Archimedean.of(copula, tau))
    assert moved == pytest.approx(true, abs=0.003)
    assert abs(usual - true) > 0.018


def test_independence_is_the_limit_of_every_copula():
    _, y = drawn("clayton", 0.5, 200)
    pair = np.full(200, 0.4), np.linspace(0.3, 1.2, 200)
    found = times_of(y, pair, 0.9)
    for name in ("clayton", "frank", "gumbel"):
        assert found.dependent(Archimedean.of(name, 1e-5)) == pytest.approx(
            found.independent, abs=1e-3
        )


def test_distributions_given_the_features_are_those_of_each_subject():
    """Kaplan-Meier given as curves of everybody gives the numbers of Kaplan-Meier."""
    _, y = drawn("clayton", 0.5, 60)
    pair = np.full(60, 0.4), np.linspace(0.3, 1.2, 60)
    steps = [
        sg.SurvivalCurves(km.times, np.tile(km.survival, (60, 1)), interpolation="step")
        for km in (sg.KaplanMeier.fit(y), sg.KaplanMeier.fit_censoring(y))
    ]
    given = sg.Conditional(distribution=steps[0], censoring=steps[1])
    copula = Archimedean.of("frank", 0.4)
    plain, of_each = times_of(y, pair, 0.8), times_of(y, pair, 0.8, conditional=given)
    assert of_each.survival.shape[0] == of_each.passed.size > 1
    assert of_each.change(copula) == pytest.approx(plain.change(copula), abs=1e-12)
    found = sg.tipping_point(*pair, y, tau=0.8, conditional=given)
    assert "beyond what the features explain" in found.sentence()


@pytest.mark.parametrize("copula", ["clayton", "frank", "gumbel"])
@pytest.mark.filterwarnings("error")
def test_who_is_censored_before_anything_could_happen_is_no_nan(copula):
    """Curves that stay at 1 until after the censoring time, or fall to 0 before it."""
    _, y = drawn("clayton", 0.5, 60)
    distribution = sg.SurvivalCurves(
        [0.5, 0.6, 2.0], [[1.0, 1.0, 0.2]] * 30 + [[1.0, 0.0, 0.0]] * 30
    )
    given = sg.Conditional(distribution=distribution, censoring=distribution)
    pair = np.full(60, 0.4), np.linspace(0.3, 1.2, 60)
    found = times_of(y, pair, 0.8, conditional=given)
    for tau in (0.05, 0.5, 0.9):
        left = found.dependent(Archimedean.of(copula, tau))
        assert ((left >= 0) & (left <= 1)).all()
        assert (np.diff(left, axis=1) <= 1e-9).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_difference_turns_there_and_not_before(weighted):
    _, y = drawn("clayton", 0.5, 300)
    weight = np.linspace(0.5, 2, 300) if weighted else None
    pair = np.full(300, 0.6), np.full(300, 0.85)
    found = sg.tipping_point(*pair, y, tau=1.2, sample_weight=weight)
    errors = [sg.mae(y, p, method="dr", tau=1.2, sample_weight=weight) for p in pair]
    assert found.difference == pytest.approx(errors[0] - errors[1], abs=1e-12)
    assert 0 < found.kendall_tau < 0.7
    assert found.by_copula[found.copula] == found.kendall_tau == min(found.by_copula.values())
    outcomes = sg.Outcomes.of(y)
    task = Task.of(outcomes, None, weight, tau=1.2)
    moved = CensoredTimes.of(task, [Prediction.of(p, 300, "p") for p in pair])
    for name, at in found.by_copula.items():
        before, after = (
            found.difference + moved.change(Archimedean.of(name, tau)) for tau in (at - 2e-3, at)
        )
        assert np.sign([before, after]).tolist() == [1, -1]


def test_who_leaves_early_would_have_had_the_event_early():
    """Under positive dependence short predictions gain; what turns it back is negative."""
    _, y = drawn("clayton", 0.5, 600)
    early, late = np.full(600, 0.5), np.full(600, 0.85)
    assert sg.tipping_point(early, late, y, tau=1.2).kendall_tau > 0
    _, y = drawn("frank", -0.5, 600)
    found = sg.tipping_point(np.full(600, 0.4), np.full(600, 0.85), y, tau=1.2)
    assert found.difference < 0
    assert found.copula == "frank"
    assert found.kendall_tau < 0
    assert "Kendall's tau of -0." in found.sentence()


def test_a_comparison_that_nothing_turns():
    _, y = drawn("clayton", 0.5, 300)
    found = sg.tipping_point(np.full(300, 0.6), np.full(300, 50.0), y, largest=0.7, copulas="frank")
    assert (found.kendall_tau, found.copula, found.by_copula) == (None, None, {"frank": None})
    assert [tau for tau, _ in found.curves["frank"]][::14] == [-0.7, 0.7]
    assert "would stay the same if" in found.sentence("days")
    assert "up to a Kendall's tau of 0.7 (Frank copula)" in found.sentence("days")


def test_equal_models_turn_at_once():
    _, y = drawn("clayton", 0.5, 300)
    found = sg.tipping_point(np.full(300, 0.6), np.full(300, 0.6), y, copulas="frank")
    assert (found.by_copula, found.difference) == ({"frank": 0.0}, 0)
    assert "too weak to notice" in found.sentence()


def test_nobody_censored_leaves_nothing_to_turn():
    time, _ = drawn("clayton", 0.5, 50)
    found = sg.tipping_point(np.full(50, 0.6), np.full(50, 0.8), (time, np.ones(50)))
    assert found.kendall_tau is None


def test_many_subjects_are_read_by_some_of_them():
    """Every k-th censored subject by time, and every k-th event time, give nearly the whole."""
    _, y = drawn("clayton", 0.5, 6000)
    rng = np.random.default_rng(0)
    pair = rng.uniform(0.3, 0.9, 6000), rng.uniform(0.5, 1.1, 6000)
    few = times_of(y, pair, 1.2)
    assert few.growth.shape == (1000, 100)
    parts = np.argsort(y[0], kind="stable").reshape(-1, 6).T  # six sets alike
    copula = Archimedean.of("clayton", 0.5)
    whole = np.mean(
        [times_of((y[0][p], y[1][p]), (pair[0][p], pair[1][p]), 1.2).change(copula) for p in parts]
    )
    assert few.change(copula) == pytest.approx(whole, rel=0.06)


def test_without_a_horizon_there_is_nothing_to_compare():
    y = sg.Outcomes(np.zeros(3), [1, 0, 1])
    with pytest.raises(sg.UndefinedMetricError, match="y_test has 3 subjects, who support no"):
        sg.tipping_point([1, 2, 3], [2, 2, 2], y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"copulas": ["joe"]}, "copulas must be one of"),
        ({"copulas": []}, "copulas must name at least one"),
        ({"largest": 1.0}, "largest must lie strictly between 0 and 1"),
        ({"largest": "0.5"}, "largest must lie strictly between 0 and 1"),
        ({"tau": -1.0}, "tau must be"),
        ({"second": sg.RiskScores([1.0, 2.0, 3.0])}, "second must be predicted times or curves"),
    ],
)
def test_bad_arguments_are_refused(settings, message):
    given = {"first": [1.0, 2, 3], "second": [2.0, 2, 2], "y_test": ([1, 2, 3], [1, 0, 1])}
    with pytest.raises(sg.InputError, match=message):
        sg.tipping_point(**(given | settings))


# -- in an evaluation ----------------------------------------------------------------------------


def models(n=200):
    _, y = drawn("clayton", 0.5, n, scale=100.0)
    named = {"late": np.full(n, 85.0), "early": np.full(n, 60.0), "worst": np.full(n, 900.0)}
    return named, y


@pytest.fixture(scope="module")
def ev():
    named, y = models()
    return sg.evaluate(named, y, tau=120.0, unit="days")


def test_an_evaluation_has_that_of_its_two_best_models(ev):
    named, y = models()
    found = ev.tipping
    assert (found.first, found.second) == ("late", "early")
    alone = sg.tipping_point(named["late"], named["early"], y, tau=120.0)
    assert found.by_copula == alone.by_copula
    assert found.difference == pytest.approx(alone.difference)
    wanted = (
        "The order of late and early by mean absolute error within 120 days would change only if "
        "event and censoring times depended on each other with a Kendall's tau of at least "
        f"{found.kendall_tau:.2f} ({found.copula.capitalize()} copula)."
    )
    assert found.sentence("days") == wanted


def test_page_study_and_json_have_the_same_sentence(ev, tmp_path):
    told = ev.tipping.sentence("days")
    data = ev.to_dict()["tipping"]
    assert data["sentence"] == told
    assert json.loads(json.dumps(data)) == data
    page = unescape(ev.to_html(tmp_path / "page.html").read_text())
    assert page.partition("application/json")[0].count(told) == 1
    study = ev.study()
    assert told in study.methods.markdown()
    assert told in " ".join(study.methods.plain())


def test_where_there_is_nothing_to_say(tmp_path):
    named, y = models()
    one = sg.evaluate({"late": named["late"]}, y, tau=120.0, confidence=None)
    ranks = sg.evaluate(named, y, tau=120.0, metrics=["harrell"], confidence=None)
    entered = sg.Outcomes(y[0], y[1], entry=y[0] / 2)
    late = sg.evaluate(named, entered, metrics=["mae_within"], confidence=None)
    for found in (one, ranks, late):
        assert found.tipping is None
        assert found.to_dict()["tipping"] is None
    assert "The order of" not in one.to_html(tmp_path / "one.html").read_text()
