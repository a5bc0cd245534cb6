"""Scores of one cause under competing risks: plain loops, rules, and the door."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

GRID = np.array([1.0, 2.0, 4.0, 6.0, 9.0])
TIMES = [2.0, 3.0, 5.0]
NAMES = ("relapse", "death")


def draw(seed=0, n=80, ties=True):
    rng = np.random.default_rng(seed)
    time = rng.exponential(5, n)
    time = np.ceil(time) if ties else time
    y = sg.Outcomes(time, rng.choice([0, 1, 1, 2], n), causes=NAMES)
    rate = np.exp(rng.normal(0, 0.5, (n, 1)).round(1))
    total = 1 - np.exp(-GRID * rate / 5)
    share = rng.uniform(0.3, 0.7, (n, 1)).round(1)
    values = np.stack([total * share, total * (1 - share)], axis=1)
    return y, sg.IncidenceCurves(GRID, values, causes=NAMES)


def weights(y, t):
    """1/G of those whose status at t is known, one subject after the other."""
    g = sg.KaplanMeier.fit_censoring(y)
    found = np.zeros(len(y))
    for i in range(len(y)):
        if y.time[i] > t:
            found[i] = 1 / g.at(t)
        elif y.event[i]:
            found[i] = 1 / g.at(y.time[i], "left")
    return found


def naive_brier(y, curves, t, code):
    had = (y.time <= t) & (y.cause == code)
    return np.mean(weights(y, t) * (had - curves.at(t, code)) ** 2)


def naive_auc(y, risk, t, code, controls):
    w, total, wins = weights(y, t), 0.0, 0.0
    for i in range(len(y)):
        if not (y.time[i] <= t and y.cause[i] == code):
            continue
        for j in range(len(y)):
            free = y.time[j] > t
            other = y.time[j] <= t and y.cause[j] not in (0, code)
            if free or (other and controls == "without_event"):
                total += w[i] * w[j]
                wins += w[i] * w[j] * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return wins / total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("code", [1, 2])
def test_brier_is_that_of_the_loop(seed, code):
    y, curves = draw(seed, ties=seed > 0)
    wanted = [naive_brier(y, curves, t, code) for t in TIMES]
    found = sg.brier_score(y, curves, TIMES, cause=code)
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
    assert found.convention["cause"] == NAMES[code - 1]
    steps = np.diff(TIMES)
    whole = steps @ (np.array(wanted[1:]) + wanted[:-1]) / 2 / steps.sum()
    assert sg.integrated_brier_score(y, curves, TIMES, cause=code) == pytest.approx(whole)
    details = sg.integrated_brier_score(y, curves, TIMES, cause=NAMES[code - 1])
    assert details.value == pytest.approx(whole)
    assert details.stderr == pytest.approx(found.details.stderr)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("controls", ["without_event", "event_free"])
def test_auc_is_that_of_the_loop(seed, controls):
    y, curves = draw(seed, ties=seed > 0)
    for code in (1, 2):
        wanted = [naive_auc(y, curves.at(t, code), t, code, controls) for t in TIMES]
        given = {"cause": code, "controls": controls}
        found = sg.cumulative_dynamic_auc(y, curves, TIMES, **given)
        np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
        risk = curves.at(np.array(TIMES), code)
        same = sg.cumulative_dynamic_auc(y, risk, TIMES, **given, stderr="estimated")
        np.testing.assert_allclose(same.values, wanted, rtol=1e-12)
        assert found.stderr is None
        assert found.convention["controls"] == controls
    rise = np.diff(sg.AalenJohansen.fit(y).at(TIMES, 2), prepend=0.0)
    assert found.mean == pytest.approx(np.average(wanted, weights=rise))


def naive_concordance(y, risk, code, tau, weighted):
    g = sg.KaplanMeier.fit_censoring(y).at(y.time, "left") if weighted else np.ones(len(y))
    total, wins = 0.0, 0.0
    for i in range(len(y)):
        if y.cause[i] != code or not y.time[i] < tau:
            continue
        for j in range(len(y)):
            weight = 0.0
            if y.cause[j] not in (0, code) and y.time[j] <= y.time[i]:
                weight = 1 / (g[i] * g[j])
            elif y.time[j] > y.time[i] or (y.time[j] == y.time[i] and y.cause[j] == 0):
                weight = 1 / g[i] ** 2
            total += weight
            wins += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return wins / total


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["harrell", "uno"])
def test_concordance_is_that_of_the_loop(seed, method):
    y, curves = draw(seed, ties=seed > 1)
    for code in (1, 2):
        risk = curves.at(5.0, code)
        found = sg.concordance_index(y, risk, method=method, tau=6.5, cause=code)
        wanted = naive_concordance(y, risk, code, 6.5, method == "uno")
        assert found.value == pytest.approx(wanted, rel=1e-12)
        assert found.convention["cause"] == NAMES[code - 1]
        assert found.contributions.sum() == pytest.approx(0.0, abs=1e-12)
        only = sg.concordance_index(y, risk, method=method, tau=6.5, cause=NAMES[code - 1])
        assert only == found.value


@pytest.mark.parametrize("method", ["harrell", "uno"])
def test_concordance_has_the_spread_of_the_jackknife(method):
    y, curves = draw(11, n=150)
    n, risk = len(y), curves.at(5.0, 1)
    given = {"method": method, "tau": 6.5, "cause": 1}
    found = sg.concordance_index(y, risk, **given)
    kept = [np.arange(n) != i for i in range(n)]
    left_out = [sg.concordance_index(y[k], risk[k], **given) for k in kept]
    assert found.stderr == pytest.approx(np.std(left_out) * np.sqrt(n - 1), rel=0.03)
    counts = np.random.default_rng(6).integers(0, 3, n)
    rows = np.repeat(np.arange(n), counts)
    heavy = sg.concordance_index(y.reweighted(counts), risk, **given)
    many = sg.concordance_index(y[rows], risk[rows], **given)
    assert heavy.value == pytest.approx(many.value)
    assert heavy.stderr == pytest.approx(many.stderr)


def test_concordance_without_competing_events_is_the_usual_one():
    y, curves = draw()
    y = sg.Outcomes(y.time, y.event, causes=NAMES)  # nobody died
    risk = curves.at(5.0, 1)
    a = sg.concordance_index(y, risk, method="uno", cause=1)
    b = sg.concordance_index(y.any_cause(), risk, method="uno")
    assert a.value == pytest.approx(b.value)
    assert a.stderr == pytest.approx(b.stderr)
    for bad in ({"method": "margin"}, {"ties": "all"}):
        with pytest.raises(sg.InputError, match="cause goes with method='harrell' or 'uno'"):
            sg.concordance_index(y, risk, cause=1, **bad)


def test_logarithmic_loss():
    y, curves = draw()
    w, f = weights(y, 3.0), curves.at(3.0, 1)
    had = (y.time <= 3.0) & (y.cause == 1)
    wanted = np.mean(w * -np.log(np.where(had, f, 1 - f)))
    found = sg.binomial_log_likelihood(y, curves, [3.0], cause=1)
    assert found.values[0] == pytest.approx(wanted)


@pytest.mark.parametrize("controls", ["without_event", "event_free"])
def test_without_competing_events_it_is_the_score_of_one_kind_of_event(controls):
    y, curves = draw()
    y = sg.Outcomes(y.time, y.event, causes=NAMES)  # nobody died
    plain = y.any_cause()
    free = curves.cause(1)
    a = sg.brier_score(y, curves, TIMES, cause=1)
    b = sg.brier_score(plain, free, TIMES)
    np.testing.assert_array_equal(a.values, b.values)
    np.testing.assert_array_equal(a.stderr, b.stderr)
    a = sg.cumulative_dynamic_auc(y, curves, TIMES, cause=1, controls=controls, stderr="auto")
    b = sg.cumulative_dynamic_auc(plain, free, TIMES, stderr="auto")
    np.testing.assert_allclose(a.values, b.values, rtol=1e-12)
    np.testing.assert_allclose(a.stderr, b.stderr, rtol=1e-9)
    assert a.mean == pytest.approx(b.mean)


@pytest.mark.parametrize("controls", ["without_event", "event_free"])
def test_standard_errors_are_those_of_the_jackknife(controls):
    y, curves = draw(4, n=150)
    n = len(y)

    def scores(rows):
        auc = sg.cumulative_dynamic_auc(y[rows], curves[rows], [4.0], cause=1, controls=controls)
        return sg.brier_score(y[rows], curves[rows], [4.0], cause=1).mean, auc.mean

    left_out = np.array([scores(np.arange(n) != i) for i in range(n)])
    jackknife = np.sqrt((n - 1) ** 2 / n * left_out.var(axis=0, ddof=1))
    brier = sg.brier_score(y, curves, [4.0], cause=1)
    auc = sg.cumulative_dynamic_auc(
        y, curves, [4.0], cause=1, controls=controls, stderr="estimated"
    )
    np.testing.assert_allclose([brier.stderr[0], auc.stderr[0]], jackknife, rtol=0.03)


@pytest.mark.parametrize("controls", ["without_event", "event_free"])
def test_a_weight_of_two_is_two_rows(controls):
    y, curves = draw(5)
    counts = np.random.default_rng(6).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    heavy, many = y.reweighted(counts), y[rows]
    given = {"cause": 2, "controls": controls, "stderr": "estimated"}
    for score in (
        lambda y, c: sg.brier_score(y, c, TIMES, cause=2),
        lambda y, c: sg.cumulative_dynamic_auc(y, c, TIMES, **given),
    ):
        a, b = score(heavy, curves), score(many, curves[rows])
        np.testing.assert_allclose(a.values, b.values, rtol=1e-11)
        np.testing.assert_allclose(a.stderr, b.stderr, rtol=1e-9)
        assert a.mean == pytest.approx(b.mean)


def test_counting_other_causes_as_censored_gives_another_number():
    y, curves = draw(7, n=400)
    y = y[y.event]  # everything is known
    curves = curves[: len(y)]
    truth = np.mean((((y.time <= 5.0) & (y.cause == 1)) - curves.at(5.0, 1)) ** 2)
    assert sg.brier_score(y, curves, [5.0], cause=1).mean == pytest.approx(truth)
    wrong = sg.brier_score(y.only(1), curves.cause(1), [5.0]).mean
    assert abs(wrong - truth) > 0.01


def test_observed_over_expected():
    y, curves = draw(10, n=150)
    found = sg.observed_expected(y, curves, 4.0, cause="death")
    observed = sg.AalenJohansen.fit(y).at(4.0, "death")
    assert found.ratio == pytest.approx(observed / curves.at(4.0, "death").mean())
    assert found.convention["observed"] == "Aalen-Johansen of the test outcomes"
    assert found.contributions.sum() == pytest.approx(0.0, abs=1e-12)
    n = len(y)
    kept = [np.arange(n) != i for i in range(n)]
    left_out = [sg.observed_expected(y[k], curves[k], 4.0, cause="death").ratio for k in kept]
    assert found.stderr == pytest.approx(np.std(left_out) * np.sqrt(n - 1), rel=0.02)
    counts = np.random.default_rng(6).integers(0, 3, n)
    rows = np.repeat(np.arange(n), counts)
    heavy = sg.observed_expected(y.reweighted(counts), curves, 4.0, cause="death")
    many = sg.observed_expected(y[rows], curves[rows], 4.0, cause="death")
    assert heavy.ratio == pytest.approx(many.ratio)
    assert heavy.stderr == pytest.approx(many.stderr)


def test_the_training_set_says_how_subjects_are_censored():
    y, curves = draw(8)
    train, _ = draw(9, n=200)
    found = sg.brier_score(y, curves, TIMES, cause=1, y_train=train, censoring="train")
    g = sg.KaplanMeier.fit_censoring(train)
    np.testing.assert_allclose(
        found.values, sg.brier_score(y, curves, TIMES, cause=1, censoring=g).values
    )


def test_the_door():
    y, curves = draw()
    other = sg.IncidenceCurves(GRID, curves.values, causes=["death", "relapse"])
    unnamed = sg.IncidenceCurves(GRID, curves.values)
    wanted = sg.brier_score(y, curves, TIMES, cause="death").values
    np.testing.assert_array_equal(sg.brier_score(y, unnamed, TIMES, cause=2).values, wanted)
    train = sg.Outcomes([1, 2, 3], [0, 1, 2], causes=["death", "relapse"])
    for call, message in (
        (lambda: sg.brier_score(y, curves, TIMES), "say which one with cause=, one of 'relapse'"),
        (lambda: sg.brier_score(y, curves.survival(), TIMES), "one kind of event"),
        (lambda: sg.brier_score(y, curves.survival(), TIMES, cause=1), "must be IncidenceCurves"),
        (lambda: sg.brier_score(y, other, TIMES, cause=1), "causes of y_true, 'relapse', 'death'"),
        (lambda: sg.brier_score(y, curves[1:], TIMES, cause=1), "one row per subject"),
        (lambda: sg.brier_score(y.any_cause(), curves, TIMES, cause=1), "y_true has one"),
        (lambda: sg.brier_score(y, curves, TIMES, cause="dead"), "did you mean 'death'"),
        (lambda: sg.brier_score(y, curves, TIMES, cause=1, y_train=train), "y_train must have the"),
        (lambda: sg.cumulative_dynamic_auc(y, curves, TIMES), "say which one with cause="),
        (lambda: sg.concordance_index(y, curves, cause=1), r"pass curves\.at\(t, cause\)"),
        (
            lambda: sg.cumulative_dynamic_auc(y, curves, TIMES, cause=1, controls="all"),
            "controls must be one of",
        ),
    ):
        with pytest.raises(sg.InputError, match=message):
            call()


def test_curves_that_end_are_not_read_further():
    y, curves = draw()
    found = sg.brier_score(y, curves, [5.0, 12.0], cause=1)
    assert list(found.times) == [5.0]
    assert found.support["times_left_out"] == 1
