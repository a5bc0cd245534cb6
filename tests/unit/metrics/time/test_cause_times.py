"""Errors in time of one cause under competing risks: plain loops, theorems, and the door."""

from __future__ import annotations

import itertools

import naive_time_free as naive
import numpy as np
import pytest
from naive_robust import LOSS, floored

import survgauge as sg
from survgauge.estimators.surrogates import METHODS

NAMES = ("relapse", "death")
KNOWN = [m.name for m in METHODS.values() if m.takes_cause and not m.needs_truth]


def drawn(seed, n=40, high=14, codes=(0, 0, 1, 1, 2), weighted=False):
    """Outcomes with many ties, and a reference set whose last subject is censored."""
    rng = np.random.default_rng(seed)

    def one(last=()):
        time = np.append(rng.integers(1, high, n), last).astype(float)
        code = np.append(rng.choice(codes, n), np.zeros(len(last), dtype=int))
        weight = rng.integers(1, 4, time.size) if weighted else None
        return sg.Outcomes(time, code, weight, causes=NAMES)

    y, train = one(), one([high])
    return y, train, rng.uniform(0.5, high + 2, n)


def jumps_of(y, tau, floor=0.1):
    km = sg.KaplanMeier.fit_censoring(y.any_cause().restricted(tau))
    return floored(km.times, km.survival, floor)


def distribution_of(y):
    return naive.steps(y.time, y.cause, y.weight)


def random_distribution(rng, n, causes=2, points=6, last=20.0, zero=False):
    """Step incidence that differs by subject, and the same as lists for the definition."""
    grid = np.append(np.sort(rng.choice(np.arange(1.0, 14.0), points - 1, replace=False)), last)
    total = np.sort(rng.uniform(0.05, 0.95, (n, points)), axis=1)
    if zero:
        total[:, -2:] = 1.0
    part = np.diff(total, axis=1, prepend=0.0)[:, None] * rng.dirichlet(
        np.ones(causes), (n, points)
    ).transpose(0, 2, 1)
    values = np.minimum(np.cumsum(part, axis=2), 1.0)
    curves = sg.IncidenceCurves(grid, values, NAMES, "step", repair="running_maximum")
    distributions = []
    for row in curves.values:
        rises = np.diff(row, axis=1, prepend=0.0)
        left = 1 - row.sum(axis=0)
        distributions.append(
            [
                (t, {k + 1: rises[k, j] for k in range(causes)}, left[j] if left[j] > 1e-12 else 0)
                for j, t in enumerate(grid)
            ]
        )
    return curves, distributions


@pytest.mark.parametrize("loss", ["absolute", "squared", "relative", "log", "normalised"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cause", [1, 2])
def test_doubly_robust_is_the_definition(loss, weighted, cause):
    for seed, tau in ((0, 9.0), (1, 6.5), (2, 14.0)):
        y, train, p = drawn(seed, weighted=weighted)
        found = sg.time_error(y, p, y_train=train, tau=tau, loss=loss, cause=cause, method="dr")
        q, distribution, jumps = np.minimum(p, tau), distribution_of(train), jumps_of(y, tau)
        wanted = [
            naive.phi(loss, *one, distribution, cause, tau, jumps)
            for one in zip(y.time, y.cause, q, strict=True)
        ]
        scale = tau if loss == "normalised" else 1.0
        np.testing.assert_allclose(found.loss * scale, wanted, rtol=1e-10, atol=1e-10)
        mean = np.average(wanted, weights=y.weight) / scale
        assert found.value == pytest.approx(mean, rel=1e-10)
        assert found.convention["distribution"] == "Aalen-Johansen of the reference"
        assert found.convention["cause"] == NAMES[cause - 1]


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("own_g", [False, True])
def test_doubly_robust_with_distributions_of_their_own_is_the_definition(loss, own_g):
    for seed, zero in ((3, False), (4, True)):
        y, _, p = drawn(seed)
        rng, tau = np.random.default_rng(seed), 8.5
        curves, distributions = random_distribution(rng, len(y), zero=zero)
        g, each = None, [jumps_of(y, tau)] * len(y)
        if own_g:
            values = np.sort(rng.uniform(0.2, 0.98, (len(y), 5)), axis=1)[:, ::-1]
            times = np.array([1.5, 3.0, 5.0, 6.0, 8.0])
            g = sg.SurvivalCurves(times, values, "step", "hold")
            each = [floored(times, row, 0.1) for row in values]
        given = sg.Conditional(incidence=curves, censoring=g)
        found = sg.time_error(y, p, tau=tau, loss=loss, cause=1, conditional=given, method="dr")
        q = np.minimum(p, tau)
        subjects = zip(y.time, y.cause, q, distributions, each, strict=True)
        wanted = [
            naive.phi(loss, t, k, o, distribution, 1, tau, j)
            for t, k, o, distribution, j in subjects
        ]
        np.testing.assert_allclose(found.loss, wanted, rtol=1e-10, atol=1e-10)


def test_a_g_that_falls_along_lines_meets_aalen_johansen():
    y, train, p = drawn(5)
    times = np.array([1.5, 3.0, 5.0, 6.0, 8.0])
    values = np.sort(np.random.default_rng(5).uniform(0.3, 0.98, (len(y), 5)), axis=1)[:, ::-1]
    g = sg.SurvivalCurves(times, values, "linear", "hold")
    repeated = sg.AalenJohansen.fit(train).curves(len(y))
    options = {"y_train": train, "tau": 8.5, "cause": 2}
    common = sg.mae(y, p, conditional=sg.Conditional(censoring=g), **options)
    each = sg.mae(y, p, conditional=sg.Conditional(incidence=repeated, censoring=g), **options)
    assert common == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_pseudo_observations_are_refits(cause, weighted):
    for seed, tau in ((0, 9.0), (1, 6.5), (6, 14.0)):
        y, train, _ = drawn(seed, weighted=weighted)
        p = np.zeros(len(y))
        rows = np.flatnonzero((y.cause == 0) & (y.time < tau))
        size, whole = train.weight.sum(), naive.time_free(distribution_of(train), cause, tau)
        found = sg.time_error(y, p, y_train=train, tau=tau, cause=cause, method="po").loss
        for i in rows:
            grown = naive.steps(
                np.append(train.time, y.time[i]),
                np.append(train.cause, 0),
                np.append(train.weight, 1.0),
            )
            wanted = (size + 1) * naive.time_free(grown, cause, tau) - size * whole
            assert found[i] == pytest.approx(min(wanted, tau), rel=1e-9)
        mine = sg.time_error(y, p, tau=tau, cause=cause, method="po").loss
        size, whole = y.weight.sum(), naive.time_free(distribution_of(y), cause, tau)
        if y.time.max() < tau:
            continue
        for i in rows:
            less = y.weight - (np.arange(len(y)) == i)
            left = naive.steps(y.time[less > 0], y.cause[less > 0], less[less > 0])
            wanted = size * whole - (size - 1) * naive.time_free(left, cause, tau)
            assert mine[i] == pytest.approx(min(wanted, tau), rel=1e-9)


@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_pseudo_observations_of_everybody_are_refits(cause, weighted):
    for seed, tau in ((0, 9.0), (1, 6.5), (6, 13.0)):
        y, train, _ = drawn(seed, weighted=weighted)
        found = sg.pseudo_observations(y, y_train=train, tau=tau, cause=cause)
        size, whole = train.weight.sum(), naive.time_free(distribution_of(train), cause, tau)
        for i in range(len(y)):
            grown = naive.steps(
                np.append(train.time, y.time[i]),
                np.append(train.cause, y.cause[i]),
                np.append(train.weight, 1.0),
            )
            wanted = (size + 1) * naive.time_free(grown, cause, tau) - size * whole
            assert found[i] == pytest.approx(wanted, rel=1e-9)
        mine = sg.pseudo_observations(train, tau=tau, cause=cause)
        for i in range(len(train)):
            less = train.weight - (np.arange(len(train)) == i)
            left = naive.steps(train.time[less > 0], train.cause[less > 0], less[less > 0])
            wanted = size * whole - (size - 1) * naive.time_free(left, cause, tau)
            assert mine[i] == pytest.approx(wanted, rel=1e-9)


def test_pseudo_observations_without_censoring_are_the_times():
    rng = np.random.default_rng(8)
    time = rng.integers(1, 9, 30).astype(float)
    y = sg.Outcomes(time, rng.integers(1, 3, 30), causes=NAMES)
    found = sg.pseudo_observations(y, tau=10.0, cause=2)  # past the last of all
    np.testing.assert_allclose(found, np.where(y.cause == 2, time, 10.0), rtol=1e-12)


def long_time_free(time, code, cause, tau):
    """Mean time free of the cause without ties, with more digits."""
    order = np.argsort(time)
    at_risk = np.arange(time.size, 0, -1).astype(np.longdouble)
    hazard = (code[order] > 0) / at_risk
    before = np.concatenate(([np.longdouble(1)], np.cumprod(1 - hazard)[:-1]))
    own = (code[order] == cause) & (time[order] < tau)
    return tau - np.sum((tau - time[order].astype(np.longdouble)) * own * before / at_risk)


def test_pseudo_observations_keep_their_digits():
    rng = np.random.default_rng(0)
    n, tau = 200_000, 1.5
    time, code = rng.exponential(1, n), rng.choice([0, 1, 2], n)
    train = sg.Outcomes(time, code, causes=NAMES)
    y = sg.Outcomes([0.3, 0.8], [0, 0], causes=NAMES)
    found = sg.time_error(y, [0, 0], y_train=train, tau=tau, cause=1, method="po").loss
    whole = long_time_free(time, code, 1, tau)
    for c, one in zip(y.time, found, strict=True):
        grown = long_time_free(np.append(time, c), np.append(code, 0), 1, tau)
        assert one == pytest.approx(float((n + 1) * grown - n * whole), rel=1e-11)


@pytest.mark.parametrize("cause", [1, 2])
def test_other_methods_are_the_loops(cause):
    y, train, p = drawn(7)
    tau, q, distribution = 9.0, np.minimum(p, 9.0), distribution_of(train)
    g = sg.KaplanMeier.fit_censoring(y.any_cause())
    options = {"y_train": train, "tau": tau, "cause": cause}
    own = [naive.value(t, k, cause, tau) for t, k in zip(y.time, y.cause, strict=True)]
    seen = (y.cause > 0) | (y.time >= tau)
    loss = np.abs(np.array(own) - q)
    assert sg.mae(y, p, method="uncensored", **options) == pytest.approx(loss[seen].mean())
    weight = np.array([1 / g.at(min(t, tau), "left") for t in y.time]) * seen
    weighed = sg.mae(y, p, method="ipcw_d", **options)
    assert weighed == pytest.approx((weight * loss).mean(), rel=1e-12)
    ahead, wide, mean, survival = loss.copy(), loss.copy(), np.array(own), np.ones(len(y))
    for i in np.flatnonzero(~seen):
        f = lambda t, i=i: abs(t - q[i])  # noqa: E731
        ahead[i] = naive.expected(f, distribution, cause, tau, y.time[i])
        mean[i] = naive.expected(lambda t: t, distribution, cause, tau, y.time[i])
        survival[i] = next((s for t, _, s in distribution[::-1] if t <= y.time[i]), 1.0)
        wide[i] = max(y.time[i] - q[i], 0.0)
    assert sg.mae(y, p, method="expected", **options) == pytest.approx(ahead.mean(), rel=1e-12)
    assert sg.mae(y, p, method="hinge", **options) == pytest.approx(wide.mean(), rel=1e-12)
    weight = np.where(seen, 1.0, 1 - survival)
    by_margin = np.average(np.abs(mean - q), weights=weight)
    assert sg.mae(y, p, method="margin", **options) == pytest.approx(by_margin, rel=1e-12)
    same = np.where(seen, own, naive.time_free(distribution, cause, tau))
    by_mean = np.average(np.abs(same - q), weights=weight)
    assert sg.mae(y, p, method="pop_po", **options) == pytest.approx(by_mean, rel=1e-12)
    assert sg.mae(y, p, method="true", true_time=own, **options) == pytest.approx(loss.mean())


@pytest.mark.parametrize("loss", ["absolute", "squared", "normalised"])
@pytest.mark.parametrize("method", KNOWN)
@pytest.mark.parametrize("in_sample", [False, True])
def test_one_cause_alone_is_what_it_was(method, loss, in_sample):
    for seed, tau in ((0, 9.0), (1, 6.5)):
        y, train, p = drawn(seed, codes=(0, 0, 1, 1, 1))
        if in_sample:
            y, p = train, np.append(p, 3.0)
        options = {"tau": tau, "method": method, "loss": loss}
        found = sg.time_error(
            y, p, y_train=None if in_sample else train, cause="relapse", **options
        )
        plain = sg.time_error(
            y.any_cause(), p, y_train=None if in_sample else train.any_cause(), **options
        )
        np.testing.assert_allclose(found.loss, plain.loss, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.weight, plain.weight, rtol=1e-12)
        assert found.value == pytest.approx(plain.value, rel=1e-12)
        assert found.stderr == pytest.approx(plain.stderr, rel=1e-12)


def test_one_cause_alone_has_the_pseudo_observations_that_it_had():
    y, train, _ = drawn(3, codes=(0, 0, 1, 1, 1))
    for given, other in ((y, train), (train, None)):
        found = sg.pseudo_observations(given, y_train=other, tau=9.0, cause=1)
        plain = sg.pseudo_observations(
            given.any_cause(), y_train=None if other is None else other.any_cause(), tau=9.0
        )
        np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_one_cause_alone_with_distributions_of_their_own_is_what_it_was():
    y, _, p = drawn(2, codes=(0, 0, 1, 1, 1))
    curves, _ = random_distribution(np.random.default_rng(2), len(y))
    values = np.zeros_like(curves.values)
    values[:, 0] = curves.values.sum(axis=1)
    for how in ("step", "linear"):
        incidence = sg.IncidenceCurves(curves.times, values, NAMES, how)
        distribution = sg.SurvivalCurves(curves.times, 1 - values[:, 0], how)
        for method in ("dr", "expected", "margin"):
            options = {"tau": 9.0, "method": method}
            found = sg.mae(
                y, p, cause=1, conditional=sg.Conditional(incidence=incidence), **options
            )
            plain = sg.mae(
                y.any_cause(), p, conditional=sg.Conditional(distribution=distribution), **options
            )
            assert found == pytest.approx(plain, rel=1e-12)


# Everything that can happen: T in 1..4 with a cause each, C in 1..5, independent.
TIMES = np.arange(1.0, 5.0)
TRUE = np.array([[0.10, 0.15, 0.20, 0.05], [0.20, 0.05, 0.10, 0.15]])  # P(T = t, cause)
WRONG = np.array([[0.30, 0.05, 0.02, 0.13], [0.02, 0.28, 0.10, 0.10]])
G_TRUE = np.array([0.85, 0.70, 0.45, 0.30])  # P(C > t)
G_WRONG = np.array([0.60, 0.55, 0.50, 0.20])


def everything():
    """All outcomes with their probabilities."""
    censored = -np.diff(np.append(np.concatenate(([1.0], G_TRUE)), 0.0))
    rows = [
        (min(t, c), k if t <= c else 0, TRUE[k - 1, i] * g)
        for (i, t), k, (c, g) in itertools.product(
            enumerate(TIMES), (1, 2), zip(range(1, 6), censored, strict=True)
        )
    ]
    time, code, probability = map(np.array, zip(*rows, strict=True))
    return sg.Outcomes(time, code, causes=NAMES), probability


def incidence(distribution, n):
    values = np.minimum(np.cumsum(distribution, axis=1), 1.0)
    return sg.IncidenceCurves(TIMES, np.tile(values, (n, 1, 1)), NAMES, "step")


@pytest.mark.parametrize(("distribution", "g"), [(TRUE, G_WRONG), (WRONG, G_TRUE), (TRUE, G_TRUE)])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("cause", [1, 2])
@pytest.mark.parametrize("tau", [2.5, 3.0, 4.0])
def test_either_distribution_or_g_has_to_be_right(distribution, g, loss, cause, tau):
    y, probability = everything()
    n = len(y)
    curves = sg.SurvivalCurves(TIMES, np.tile(g, (n, 1)), "step", "hold")
    given = sg.Conditional(incidence=incidence(distribution, n), censoring=curves)
    for p in (0.7, 2.0, 2.9):
        found = sg.time_error(
            y, np.full(n, p), tau=tau, cause=cause, loss=loss, conditional=given,
            sample_weight=probability, floor=0.01, method="dr",
        )  # fmt: skip
        truth = sum(
            TRUE[k - 1, i] * LOSS[loss](naive.value(t, k, cause, tau), min(p, tau))
            for i, t in enumerate(TIMES)
            for k in (1, 2)
        )
        assert found == pytest.approx(truth, rel=1e-13)


def test_both_wrong_is_wrong():
    y, probability = everything()
    curves = sg.SurvivalCurves(TIMES, np.tile(G_WRONG, (len(y), 1)), "step", "hold")
    given = sg.Conditional(incidence=incidence(WRONG, len(y)), censoring=curves)
    options = {"tau": 4.0, "cause": 1, "sample_weight": probability, "floor": 0.01}
    found = sg.mae(y, np.full(len(y), 2.0), conditional=given, **options)
    truth = sum(
        TRUE[k - 1, i] * abs(naive.value(t, k, 1, 4.0) - 2.0)
        for i, t in enumerate(TIMES)
        for k in (1, 2)
    )
    assert abs(found - truth) > 0.02


@pytest.mark.parametrize("method", ["dr", "ipcw_d"])
def test_with_the_true_g_aalen_johansen_may_be_anything(method):
    y, probability = everything()
    until = sg.Outcomes([1, 2, 3, 4, 5], [0] * 5, np.array([15, 15, 25, 15, 30]))
    g = sg.KaplanMeier.fit_censoring(until)
    np.testing.assert_allclose(g.survival[:4], G_TRUE)
    train = sg.Outcomes([1, 2, 2, 4], [2, 1, 0, 0], causes=NAMES)
    found = sg.mse(
        y, np.full(len(y), 2.2), y_train=train, tau=3.5, cause=1, method=method, censoring=g,
        sample_weight=probability, floor=0.01,
    )  # fmt: skip
    truth = sum(
        TRUE[k - 1, i] * (naive.value(t, k, 1, 3.5) - 2.2) ** 2
        for i, t in enumerate(TIMES)
        for k in (1, 2)
    )
    assert found == pytest.approx(truth, rel=1e-13)


def test_competing_events_as_censored_tell_of_another_scenario():
    y, probability = everything()
    weighed = sg.Outcomes(y.time, y.cause, np.round(probability * 1e6), causes=NAMES)
    train = weighed
    p = np.full(len(y), 3.0)
    options = {"tau": 4.0, "method": "dr"}
    found = sg.mae(weighed, p, y_train=train, cause=1, **options)
    wrong = sg.mae(weighed.only(1), p, y_train=train.only(1), **options)
    truth = sum(
        TRUE[k - 1, i] * abs(naive.value(t, k, 1, 4.0) - 3.0)
        for i, t in enumerate(TIMES)
        for k in (1, 2)
    )
    assert found == pytest.approx(truth, rel=1e-4)
    assert abs(wrong - truth) > 0.05


def test_curves_predict_their_median_or_their_restricted_mean():
    grid = [2.0, 4.0, 8.0]
    values = [[[0.3, 0.6, 0.7], [0.1, 0.2, 0.3]], [[0.1, 0.2, 0.3], [0.2, 0.5, 0.7]]]
    curves = sg.IncidenceCurves(grid, values, NAMES, "step")
    y = sg.Outcomes([1, 3], [1, 2], causes=NAMES)
    point = sg.time_error(y, curves, tau=6.0, cause=1, method="uncensored")
    np.testing.assert_allclose(point.loss, [abs(1 - 4), abs(6 - 6)])
    squared = sg.time_error(y, curves, tau=6.0, cause=1, method="uncensored", loss="squared")
    lost = curves.rmtl(6.0, 1)
    np.testing.assert_allclose(squared.loss, [(1 - (6 - lost[0])) ** 2, lost[1] ** 2])
    assert point.support["competing_events"] == 1
    with pytest.raises(sg.UndefinedMetricError, match="ends before tau"):
        sg.mae(y, curves, tau=9.0, cause=1, method="uncensored")
    with pytest.raises(sg.UndefinedMetricError, match="ends before tau"):
        sg.mse(y, curves, tau=9.0, cause=1, method="uncensored")


def test_the_best_constant_is_the_median_or_the_restricted_mean():
    _, y, _ = drawn(9, n=400, codes=(0, 1, 1, 1, 2))
    tau, rows = 10.0, np.ones(len(y))
    curves = sg.AalenJohansen.fit(y).curves(len(y))
    for loss in ("absolute", "squared"):
        options = {"y_train": y, "tau": tau, "cause": 1, "loss": loss, "method": "dr"}
        own = sg.time_error(y, curves, **options)
        others = [sg.time_error(y, p * rows, **options) for p in np.arange(0.0, 10.01, 0.25)]
        assert own <= min(others) + 1e-9
        assert own < 0.9 * others[0]


def test_frequencies_are_rows():
    y, train, p = drawn(12, weighted=True)

    def rows(given):
        count = given.weight.astype(int)
        return sg.Outcomes(given.time.repeat(count), given.cause.repeat(count), causes=NAMES)

    for method in KNOWN:
        options = {"tau": 9.0, "cause": 1, "method": method}
        weighted = sg.mae(y, p, y_train=train, **options)
        plain = sg.mae(rows(y), p.repeat(y.weight.astype(int)), y_train=rows(train), **options)
        assert weighted == pytest.approx(plain, rel=1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": None, "method": "dr"}, "tau must be given with cause="),
        ({"cause": "cure"}, "cause must be the code or the name"),
        ({"method": "ipcw_t"}, "'ipcw_t' supports only one kind of event"),
        ({"area": "trapezoid"}, "area must be 'step' with cause="),
        ({"conditional": "distribution"}, r"with cause= give Conditional\(incidence=curves\)"),
        ({"predicted": "survival"}, "must be IncidenceCurves"),
        ({"y_train": "other"}, "must have the causes"),
        ({"y_train": "reference"}, "must have the causes"),
        ({"cause": None}, "one kind of event"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    y, train, p = drawn(0)
    survival = sg.SurvivalCurves([1, 20], np.tile([0.9, 0.1], (len(y), 1)))
    given = {
        "distribution": sg.Conditional(distribution=survival),
        "survival": survival,
        "other": sg.Outcomes(train.time, train.cause, causes=["relapse", "cure"]),
        "reference": sg.Reference(train.any_cause()),
    }
    change = {k: given.get(v, v) if isinstance(v, str) else v for k, v in change.items()}
    asked = {"y_train": train, "tau": 8.0, "cause": 1, "predicted": p, **change}
    with pytest.raises(sg.InputError, match=message):
        sg.mae(y, asked.pop("predicted"), **asked)


def test_incidence_without_a_cause_is_refused():
    y, train, p = drawn(0)
    curves = sg.AalenJohansen.fit(train).curves(len(y))
    with pytest.raises(sg.InputError, match="say which one with cause="):
        sg.mae(y.any_cause(), curves, tau=8.0)
    with pytest.raises(sg.InputError, match="goes with cause="):
        sg.mae(y.any_cause(), p, method="dr", conditional=sg.Conditional(incidence=curves))


def test_a_horizon_past_the_reference_set_is_refused():
    y, train, p = drawn(0)
    with pytest.raises(sg.UndefinedMetricError, match="followed up to 14 only"):
        sg.mae(y, p, y_train=train, tau=15.0, cause=1, method="dr")
    assert sg.mae(y, p, y_train=train, tau=15.0, cause=1, method="uncensored") > 0
    short = sg.AalenJohansen.fit(train[train.time < 6]).curves(len(y))
    with pytest.raises(sg.UndefinedMetricError, match="the incidence ends at 5"):
        sg.mae(y, p, tau=8.0, cause=1, method="dr", conditional=sg.Conditional(incidence=short))


def test_a_reference_set_in_which_everybody_had_an_event_may_end_before_the_horizon():
    train = sg.Outcomes([1, 2, 3, 4], [1, 2, 1, 2], causes=NAMES)
    y = sg.Outcomes([2, 4.5, 6], [0, 0, 1], causes=NAMES)
    found = sg.time_error(y, [1, 1, 1], y_train=train, tau=5.0, cause=1, method="expected")
    # By 4.5 the distribution is over: an event of either cause comes at once.
    np.testing.assert_allclose(found.loss, [(2 + 4) / 2, 0.5 * 3.5 + 0.5 * 4, 4])


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_doubly_robust_past_the_end_of_the_distribution_is_the_definition(loss):
    y, _, p = drawn(13)
    train = sg.Outcomes([1, 2, 3, 4, 5, 6], [1, 2, 1, 2, 2, 1], causes=NAMES)
    found = sg.time_error(y, p, y_train=train, tau=12.0, loss=loss, cause=1, method="dr")
    q, distribution, jumps = np.minimum(p, 12.0), distribution_of(train), jumps_of(y, 12.0)
    assert jumps[-1][0] > 6
    subjects = zip(y.time, y.cause, q, strict=True)
    wanted = [naive.phi(loss, *one, distribution, 1, 12.0, jumps) for one in subjects]
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tau", [None, 6.0, 13.5])
def test_unless_a_method_is_named_the_error_is_that_within_the_supported_horizon(tau):
    y, train, p = drawn(5, n=80)
    (score,) = sg.evaluate(p, y, y_train=train, metrics="mae_within", cause=1, tau=tau).scores
    found = sg.time_error(y, p, y_train=train, cause=1, tau=tau)
    assert found.value == pytest.approx(score.value, rel=1e-12)
    assert found.convention["tau"] == score.until


def test_training_codes_may_lack_a_cause():
    y, _, p = drawn(0)
    train = (np.append(y.time, 14.0), np.append(y.cause == 1, False).astype(int))
    named = sg.Outcomes(*train, causes=NAMES)
    found = sg.mae(y, p, y_train=train, tau=8.0, cause=1)
    assert found == sg.mae(y, p, y_train=named, tau=8.0, cause=1)


@pytest.mark.parametrize("method", ["margin", "po", "expected", "dr"])
def test_no_event_in_the_reference_set(method):
    train = sg.Outcomes([9, 9, 10], [0, 0, 0], causes=NAMES)
    y = sg.Outcomes([2, 3, 4], [1, 2, 0], causes=NAMES)
    found = sg.time_error(
        y, [1, 2, 3], y_train=train, tau=6.0, cause=1, method=method, censoring="train"
    )
    # Nothing ever happens there, so that the third is free of the cause until the horizon.
    np.testing.assert_allclose(found.loss, [1, 4, 3])


def test_conditional_holds_incidence():
    curves, _ = random_distribution(np.random.default_rng(1), 5)
    given = sg.Conditional(incidence=curves)
    assert len(given) == 5
    assert len(given[:2]) == 2
    assert repr(given) == "Conditional(5 subjects, distribution: given, censoring: Kaplan-Meier)"
    joined = sg.Conditional.joined([given[:2], given[2:]])
    np.testing.assert_array_equal(joined.incidence.values, curves.values)
    survival = curves.survival()
    with pytest.raises(sg.InputError, match="incidence must be IncidenceCurves"):
        sg.Conditional(incidence=survival)
    with pytest.raises(sg.InputError, match="distribution and incidence"):
        sg.Conditional(distribution=survival, incidence=curves)
    y = sg.Outcomes([1, 2, 3, 4, 5], [1, 2, 0, 1, 0], causes=["a", "b"])
    with pytest.raises(sg.InputError, match="conditional: incidence must have the causes"):
        sg.mae(y, np.ones(5), tau=4.0, cause=1, conditional=given)
