"""Brier family against loops written from the formulas, and what must never matter."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from survgauge.data.curves import SurvivalCurves
from survgauge.data.outcomes import Outcomes
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.estimators.kaplan_meier import KaplanMeier
from survgauge.metrics.conventions import CONVENTIONS
from survgauge.metrics.grids import grid_weights
from survgauge.metrics.probability.brier import (
    binomial_log_likelihood,
    brier_score,
    integrated_binomial_log_likelihood,
    integrated_brier_score,
)

# ---- oracles: loops over subjects and times, weights may be complex (for derivatives) ----------


def naive_g(time, event, weight, ties="events_first"):
    """G(t, side): product over censoring times up to (or before) t of 1 - censored/at risk."""

    def g(t, side):
        value = 1.0
        for u in np.unique(time):
            if u < t or (u == t and side == "right"):
                here = time == u
                at_risk = weight[(time > u) | (here & ~event)].sum()
                if ties == "flipped":
                    at_risk = weight[time >= u].sum()
                censored = weight[here & ~event].sum()
                if censored != 0:
                    value = value * (1 - censored / at_risk)
        return value

    return g


def squared(s, alive):
    return (1 - s) ** 2 if alive else s**2


def minus_log(s, alive):
    probability = s if alive else 1 - s
    return np.inf if probability <= 0 else -np.log(probability)


def naive_scores(y, weight, survival, times, g, convention, loss=squared, average=None):
    """Value at each time: g None means weights 1; `weight` are frequencies, `average` extra."""
    p = weight if average is None else weight * average
    values = []
    for k, t in enumerate(times):
        total, divisor, known = 0.0, 0.0, 0.0
        for i in range(y.time.size):
            divisor = divisor + p[i]
            free = y.time[i] > t
            if y.time[i] == t and not y.event[i]:
                free = convention.censored_at_t == "event_free"
            dead = y.event[i] and y.time[i] <= t
            if not (free or dead) or p[i] == 0:
                continue
            w = 1.0
            if g is not None:
                at, side = (t, convention.survivor_limit)
                if dead:
                    at, side = y.time[i], convention.event_limit
                value = g(at, side)
                if np.real(value) < convention.g_floor:
                    value = convention.g_floor
                w = 0.0 if value == 0 else 1 / value
            known = known + p[i] * w
            if w != 0:
                total = total + p[i] * w * loss(survival[i, k], free)
        by_weight = convention.divisor == "weights"
        if g is None:
            by_weight = convention.unweighted_divisor == "known"
        values.append(total / (known if by_weight else divisor))
    return np.array(values)


def complex_steps(function, weight):
    """Derivative of `function(weight)` with respect to each weight, times that weight."""
    step = 1e-30
    out = np.empty(weight.size)
    for i in range(weight.size):
        moved = weight.astype(complex)
        moved[i] += 1j * step
        out[i] = np.imag(function(moved)) / step * weight[i]
    return out


# ---- data --------------------------------------------------------------------------------------

GRID = np.array([1.0, 2.0, 4.0, 5.0, 7.0])


@st.composite
def problems(draw, weighted=True, smallest=2):
    """Tied whole-number outcomes, curves on a coarse grid, times on it and off it."""
    n = draw(st.integers(smallest, 9))
    time = np.array(draw(st.lists(st.integers(0, 7), min_size=n, max_size=n)), dtype=float)
    event = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    weight = None
    if weighted and draw(st.booleans()):
        weight = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
        weight[draw(st.integers(0, n - 1))] += 1
    y = Outcomes(time, event, weight)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    survival = np.sort(rng.random((n, GRID.size)), axis=1)[:, ::-1]
    curves = SurvivalCurves(GRID, survival, draw(st.sampled_from(["linear", "step", "pchip"])))
    choice = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.5]
    times = draw(st.lists(st.sampled_from(choice), min_size=2, max_size=4, unique=True))
    return y, curves, np.array(times)


def reference_of(y, draw_from=7):
    """Training outcomes that reach further than the test outcomes, so that all is identified."""
    rng = np.random.default_rng(draw_from)
    return Outcomes(rng.integers(0, 12, 40), rng.random(40) < 0.6)


def scored(result, times):
    """Which of the times were scored, in ascending order."""
    return np.isin(np.sort(times), result.times)


NAMES = tuple(CONVENTIONS)


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(NAMES), st.booleans(), st.booleans())
def test_every_convention_equals_the_loops(problem, name, in_sample, log):
    y, curves, times = problem
    convention = CONVENTIONS[name]
    train = None if in_sample else reference_of(y)
    known = y.present() if in_sample or convention.g_source == "test" else train
    loss = minus_log if log else squared
    function = binomial_log_likelihood if log else brier_score
    options = {"clip": 0.0} if log else {}
    try:
        result = function(y, curves, times, y_train=train, convention=name, **options)
    except UndefinedMetricError:
        assert times.min() >= min(y.present().time.max(), known.time.max())
        return
    g = naive_g(known.time, known.event, known.weight, convention.g_ties)
    expected = naive_scores(y, y.weight, curves.at(result.times), result.times, g, convention, loss)
    np.testing.assert_allclose(result.values, expected, rtol=1e-10, atol=1e-13)


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from(["survgauge", "survivaleval"]))
def test_unweighted_equals_the_loops(problem, name):
    y, curves, times = problem
    try:
        result = brier_score(y, curves, times, method="unweighted", convention=name)
    except UndefinedMetricError:
        assert times.min() >= y.present().time.max()
        return
    values = naive_scores(
        y, y.weight, curves.at(result.times), result.times, None, CONVENTIONS[name]
    )
    np.testing.assert_allclose(result.values, values, rtol=1e-12, atol=1e-15)


@settings(max_examples=150, deadline=None)
@given(problems(smallest=4), st.sampled_from(NAMES), st.booleans(), st.sampled_from([0.0, 0.61]))
def test_contributions_are_derivatives_when_g_is_estimated(problem, name, averaged, floor):
    y, curves, times = problem
    # The floor is none of the fractions that a product-limit of few subjects can take.
    convention = replace(CONVENTIONS[name], g_influence="estimated", g_floor=floor)
    average = np.linspace(0.5, 2.0, len(y)) if averaged else None
    try:
        result = brier_score(y, curves, times, convention=convention, sample_weight=average)
    except UndefinedMetricError:
        return
    survival, share = curves.at(result.times), grid_weights(result.times, convention.integration)

    def value(weight):
        sampled = weight if average is None else weight * average
        g = naive_g(y.time, y.event, sampled, convention.g_ties)
        parts = naive_scores(y, weight, survival, result.times, g, convention, average=average)
        return parts @ share

    expected = complex_steps(value, y.weight)
    np.testing.assert_allclose(result.details.contributions, expected, rtol=1e-8, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(NAMES), st.sampled_from(["ipcw", "unweighted"]))
def test_contributions_are_derivatives_when_g_is_fixed(problem, name, method):
    y, curves, times = problem
    convention, train = CONVENTIONS[name], reference_of(y)
    options = {"y_train": train, "convention": name, "method": method, "censoring": "train"}
    try:
        result = brier_score(y, curves, times, **options)
        details = integrated_brier_score(y, curves, times, **options)
    except UndefinedMetricError:
        return
    survival = curves.at(result.times)
    share = grid_weights(result.times, convention.integration)
    g = naive_g(train.time, train.event, train.weight, convention.g_ties)
    if method == "unweighted":
        g = None
    parts = lambda weight: naive_scores(y, weight, survival, result.times, g, convention)  # noqa: E731
    expected = complex_steps(lambda weight: parts(weight) @ share, y.weight)
    # Columns, and the faster walk over blocks of rows.
    np.testing.assert_allclose(result.details.contributions, expected, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(details.contributions, expected, rtol=1e-8, atol=1e-13)
    assert details.value == pytest.approx(result.mean, rel=1e-12)
    assert details.value == pytest.approx(
        integrated_brier_score(y, curves, times, **options), rel=1e-12
    )
    each = np.array(
        [complex_steps(lambda w, k=k: parts(w)[k], y.weight) for k in range(share.size)]
    )
    n = y.weight.sum()
    if n > 1:
        present = y.weight > 0
        square = (each[:, present] ** 2 / y.weight[present]).sum(axis=1)
        np.testing.assert_allclose(result.stderr, np.sqrt(square * n / (n - 1)), atol=1e-12)


def simulated(n, seed=0, whole=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    scale = 6 * np.exp(-0.5 * x)
    event_time, censor_time = rng.weibull(1.3, n) * scale, rng.uniform(0, 16, n)
    if whole:
        event_time, censor_time = np.ceil(event_time), np.ceil(censor_time)
    y = Outcomes(np.minimum(event_time, censor_time), event_time <= censor_time)
    grid = np.linspace(0.5, 20, 40)
    return y, SurvivalCurves(grid, np.exp(-((grid / scale[:, None]) ** 1.3)))


def test_standard_error_equals_the_jackknife_in_sample():
    y, curves = simulated(300, whole=True)
    times = np.arange(1.0, 13.0)
    details = integrated_brier_score(y, curves, times)
    rows = np.arange(len(y))
    without = [
        integrated_brier_score(y[rows != i], curves[rows != i], times) for i in range(len(y))
    ]
    left_out = details.value - np.array(without)
    np.testing.assert_allclose(details.contributions, left_out, atol=2e-2 * np.abs(left_out).max())
    jackknife = np.sqrt((len(y) - 1) / len(y) * np.sum((without - np.mean(without)) ** 2))
    assert details.stderr == pytest.approx(jackknife, rel=2e-2)
    fixed = KaplanMeier.fit_censoring(y)
    known = integrated_brier_score(y, curves, times, censoring=fixed)
    assert known.value == pytest.approx(details.value, rel=1e-13)
    assert known.stderr > details.stderr  # estimating G makes the score less variable


# ---- what must never matter --------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_subjects_times_and_columns_never_matters(problem, random):
    y, curves, times = problem
    rows, columns = list(range(len(y))), list(range(GRID.size))
    for order in (rows, columns):
        random.shuffle(order)
    shuffled = SurvivalCurves(
        GRID[columns], curves.survival[rows][:, columns], curves.interpolation
    )
    order = np.argsort([random.random() for _ in times])
    try:
        result = brier_score(y, curves, times)
    except UndefinedMetricError:
        return
    again = brier_score(y[rows], shuffled, times[order])
    np.testing.assert_array_equal(again.times, result.times)
    np.testing.assert_allclose(again.values, result.values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        again.details.contributions, result.details.contributions[rows], rtol=1e-9, atol=1e-14
    )


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(NAMES), st.booleans())
def test_whole_frequencies_equal_replicated_rows(problem, name, in_sample):
    y, curves, times = problem
    if y.frequency is None:
        return
    rows = np.repeat(np.arange(len(y)), y.weight.astype(int))
    copies = Outcomes(y.time[rows], y.event[rows])
    train = None if in_sample else reference_of(y)
    options = {"y_train": train, "convention": name}
    try:
        result = brier_score(y, curves, times, **options)
    except UndefinedMetricError:
        return
    again = brier_score(copies, curves[rows], times, **options)
    np.testing.assert_array_equal(again.times, result.times)
    np.testing.assert_allclose(again.values, result.values, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(again.stderr, result.stderr, rtol=1e-8, atol=1e-12)
    assert again.details.stderr == pytest.approx(
        result.details.stderr, rel=1e-8, abs=1e-12, nan_ok=True
    )


def test_without_censoring_it_is_the_mean_squared_error_of_the_status():
    rng = np.random.default_rng(1)
    time = rng.integers(1, 20, 50).astype(float)
    grid = np.arange(0.0, 21.0)
    survival = np.sort(rng.random((50, grid.size)), axis=1)[:, ::-1]
    curves = SurvivalCurves(grid, survival)
    times = np.array([2.0, 5.0, 11.0])
    status = time[:, None] > times
    textbook = ((status - survival[:, [2, 5, 11]]) ** 2).mean(axis=0)
    for options in (
        {},
        {"method": "unweighted"},
        {"convention": "sksurv"},
        {"convention": "pycox"},
    ):
        result = brier_score((time, np.ones(50)), curves, times, **options)
        np.testing.assert_allclose(result.values, textbook, rtol=1e-12)
    log = binomial_log_likelihood((time, np.ones(50)), curves, times).values
    likely = np.where(status, survival[:, [2, 5, 11]], 1 - survival[:, [2, 5, 11]])
    np.testing.assert_allclose(log, -np.log(likely).mean(axis=0), rtol=1e-12)


def test_perfect_prediction_scores_zero():
    time, event = np.array([2.0, 4.0, 5.0, 7.0]), np.array([True, False, True, True])
    grid = np.arange(0.0, 9.0)
    curves = SurvivalCurves(grid, (time[:, None] > grid).astype(float), "step")
    result = brier_score((time, event), curves, grid[1:7])
    np.testing.assert_array_equal(result.values, np.zeros(6))
    assert integrated_binomial_log_likelihood((time, event), curves, grid[1:7]) == 0.0


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_kinds_of_curves_go_through_blocks(interpolation, shared, dtype):
    rng = np.random.default_rng(2)
    n, m = 3000, 37  # several blocks
    time, event = rng.exponential(8, n), rng.random(n) < 0.7
    grid = np.sort(rng.uniform(0, 20, m if shared else (n, m)), axis=-1)
    survival = np.sort(rng.random((n, m)), axis=1)[:, ::-1].astype(dtype)
    curves = SurvivalCurves(grid, survival, interpolation)
    times = np.concatenate((np.linspace(0.1, 19, 11), grid[:5] if shared else grid[0, :5]))
    train = Outcomes(rng.exponential(12, 500), rng.random(500) < 0.5)
    result = brier_score((time, event), curves, times, y_train=train)
    expected = SurvivalCurves(result.times, np.minimum(curves.at(result.times), 1.0))
    again = brier_score((time, event), expected, result.times, y_train=train)
    np.testing.assert_allclose(result.values, again.values, rtol=1e-12)
    assert integrated_brier_score((time, event), curves, times, y_train=train) == pytest.approx(
        result.mean, rel=1e-12
    )


def test_sample_weight_multiplies_frequencies():
    y, curves = simulated(60)
    weight = np.random.default_rng(3).uniform(0, 2, 60)
    frequency = np.random.default_rng(4).integers(1, 4, 60)
    g = KaplanMeier.fit_censoring(y)
    both = brier_score(
        Outcomes(y.time, y.event, frequency), curves, [3, 6], censoring=g, sample_weight=weight
    )
    product = brier_score(y, curves, [3, 6], censoring=g, sample_weight=weight * frequency)
    np.testing.assert_allclose(both.values, product.values, rtol=1e-13)


# ---- censoring given by the caller -------------------------------------------------------------


def test_a_function_equal_to_g_gives_the_same_numbers():
    y, curves = simulated(200, whole=True)
    g = KaplanMeier.fit_censoring(y)
    times = np.arange(1.0, 12.0)
    for convention in NAMES:
        by_step = integrated_brier_score(y, curves, times, censoring=g, convention=convention)
        by_call = integrated_brier_score(
            y, curves, times, censoring=lambda t, side: g.at(t, side), convention=convention
        )
        assert by_call.value == pytest.approx(by_step.value, rel=1e-12)
        np.testing.assert_allclose(
            by_call.contributions, by_step.contributions, rtol=1e-9, atol=1e-14
        )
        plain = integrated_brier_score(
            y, curves, times, censoring=lambda t, side: g.at(t, side), convention=convention
        )
        assert plain == pytest.approx(by_step.value, rel=1e-12)


def test_g_may_depend_on_the_subject():
    y = Outcomes([1.0, 3.0, 4.0, 6.0], [1, 0, 1, 1])
    curves = SurvivalCurves([5.0], [[0.5], [0.6], [0.7], [0.8]], "step")
    rate = np.array([0.0, 0.1, 0.2, 0.3])

    def g(t, side):
        return np.exp(-rate * t)

    result = brier_score(y, curves, [5.0], censoring=g)
    weights = np.array([1.0, 0.0, np.exp(0.2 * 4), np.exp(0.3 * 5)])
    errors = np.array([0.5, 0.6, 0.7, 0.2]) ** 2
    assert result.values[0] == pytest.approx((weights * errors).sum() / 4, rel=1e-14)
    zero = brier_score(y, curves, [5.0], censoring=lambda t, side: np.where(rate > 0.25, 0.0, 1.0))
    assert zero.values[0] == pytest.approx((0.25 + 0.49) / 4, rel=1e-14)
    assert zero.support["lost_events"] == 1


# ---- administrative censoring ------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_administrative_equals_the_loops(problem, seed):
    y, curves, times = problem
    later = np.random.default_rng(seed).integers(0, 4, len(y))
    limit = y.time + np.where(y.event, later, 0)
    options = {"method": "administrative", "censoring_times": limit}
    try:
        result = brier_score(y, curves, times, **options)
    except UndefinedMetricError:
        assert times.min() > limit[y.weight > 0].max()
        return
    survival = curves.at(result.times)

    def value(weight):
        parts = []
        for k, t in enumerate(result.times):
            total, known = 0.0, 0.0
            for i in range(len(y)):
                if limit[i] < t:
                    continue
                dead = y.event[i] and y.time[i] <= t
                known = known + weight[i]
                total = total + weight[i] * squared(survival[i, k], not dead)
            parts.append(total / known)
        return np.array(parts)

    np.testing.assert_allclose(result.values, value(y.weight), rtol=1e-12, atol=1e-15)
    share = grid_weights(result.times)
    expected = complex_steps(lambda weight: value(weight) @ share, y.weight)
    np.testing.assert_allclose(result.details.contributions, expected, rtol=1e-8, atol=1e-13)
    if result.times.size > 1:
        details = integrated_brier_score(y, curves, times, **options)
        np.testing.assert_allclose(details.contributions, expected, rtol=1e-8, atol=1e-13)


def test_administrative_refuses_other_censoring():
    y, curves = simulated(5)
    with pytest.raises(InputError, match="needs censoring_times"):
        brier_score(y, curves, [1], method="administrative")
    with pytest.raises(InputError, match="method='ipcw'"):
        brier_score(y, curves, [1], method="administrative", censoring_times=y.time + 1)
    with pytest.raises(InputError, match="one entry per subject"):
        brier_score(y, curves, [1], method="administrative", censoring_times=[1.0])


# ---- support -----------------------------------------------------------------------------------


def test_whole_range_and_last_training_time_censored_give_an_answer_and_a_report():
    y, curves = simulated(400)
    early = y[y.time < 12]
    train = Outcomes(np.append(early.time, 12.0), np.append(early.event, False))
    test = Outcomes(np.append(y.time, 15.9), np.append(y.event, True))
    rows = np.append(np.arange(400), 0)
    times = np.linspace(0, 16, 101)
    options = {"y_train": train, "censoring": "train"}
    details = integrated_brier_score(test, curves[rows], times, **options)
    assert 0 < details.value < 0.25
    assert details.support["identified_until"] < 12
    assert details.support["times_left_out"] == int((times >= 12).sum())
    assert details.support["lost_events"] == int((test.event & (test.time > 12)).sum())
    assert details.convention["horizon"] == times[times < 12][-1]
    truncated = integrated_brier_score(test, curves[rows], times[times < 12], **options)
    assert details.value == pytest.approx(truncated, rel=1e-13)
    # G of the test subjects does not end with the training set.
    own = integrated_brier_score(test, curves[rows], times, y_train=train)
    assert own.support["identified_until"] == 15.9


def test_policies_for_unsupported_times():
    y, curves = simulated(100)
    last = y.time.max()
    times = [1.0, 5.0, last + 1]
    cut = brier_score(y, curves, times)
    np.testing.assert_array_equal(cut.times, [1.0, 5.0])
    assert cut.support["times_left_out"] == 1
    padded = brier_score(y, curves, times, on_unsupported="nan")
    np.testing.assert_array_equal(padded.times, times)
    np.testing.assert_array_equal(np.isnan(padded.values), [False, False, True])
    np.testing.assert_array_equal(np.isnan(padded.stderr), [False, False, True])
    np.testing.assert_array_equal(padded.values[:2], cut.values)
    assert np.isnan(padded.mean)
    assert padded.details.contributions is None
    assert np.isnan(integrated_brier_score(y, curves, times, on_unsupported="nan"))
    fixed = {"censoring": KaplanMeier.fit_censoring(y), "on_unsupported": "nan"}
    assert np.isnan(integrated_brier_score(y, curves, times, **fixed).value)
    with pytest.raises(InputError, match="must not pass"):
        brier_score(y, curves, times, on_unsupported="raise")
    with pytest.raises(UndefinedMetricError, match="must not pass"):
        brier_score(y, curves, [last + 1])
    with pytest.raises(InputError, match="on_unsupported"):
        brier_score(y, curves, times, on_unsupported="ignore")


def test_the_default_grid_has_a_hundred_steps_over_the_identified_range():
    y, curves = simulated(100)
    details = integrated_brier_score(y, curves)
    assert details.support["times"] == 101
    assert details.convention["horizon"] == details.support["identified_until"]
    grid = np.linspace(0, details.support["identified_until"], 101)
    assert details.value == pytest.approx(integrated_brier_score(y, curves, grid), rel=1e-13)


def test_curves_that_refuse_to_say_limit_the_times():
    y, curves = simulated(100)
    short = SurvivalCurves(curves.times[:10], curves.survival[:, :10], tail="nan")
    result = brier_score(y, short, [2.0, 8.0])
    np.testing.assert_array_equal(result.times, [2.0])
    assert result.support["identified_until"] == curves.times[9]


def test_awkward_data_have_an_answer():
    flat = SurvivalCurves([1.0, 5.0], np.ones((3, 2)))
    y = ([0.0, 2.0, 4.0], [1, 1, 0])
    result = brier_score(y, flat, [0.0, 1.0, 3.0])
    np.testing.assert_allclose(result.values, [1 / 3, 1 / 3, 2 / 3])
    gone = SurvivalCurves([0.0, 1e-300, 5.0], [[1.0, 5e-324, 0.0]] * 3)
    assert np.isfinite(integrated_brier_score(y, gone))
    one = SurvivalCurves([5.0], [[0.5]])
    alone = brier_score(([3.0], [1]), one, [1.0, 2.0])
    np.testing.assert_allclose(alone.values, [0.1**2, 0.2**2])
    assert np.isnan(alone.stderr).all()
    # All censored: what is seen of them is their survival.
    censored = integrated_brier_score(([3.0, 4.0], [0, 0]), SurvivalCurves([4.0], [[0.5]] * 2))
    assert 0 < censored < 0.25
    for method in ("ipcw", "unweighted"):
        value = brier_score(
            ([3.0, 3.0], [0, 0]), SurvivalCurves([4.0], [[0.5]] * 2), [2.0, 3.0], method=method
        )
        np.testing.assert_array_equal(value.times, [2.0])


def test_bad_arguments_are_named():
    y, curves = simulated(10)
    with pytest.raises(InputError, match="curves must be SurvivalCurves"):
        brier_score(y, curves.survival, [1])
    with pytest.raises(InputError, match="y_true has 10, curves have 9"):
        brier_score(y, curves[:9], [1])
    with pytest.raises(InputError, match="distinct; 2 appears twice"):
        brier_score(y, curves, [2, 1, 2])
    for times in ([], [-1.0], [np.nan], [np.inf]):
        with pytest.raises(InputError, match="times must"):
            brier_score(y, curves, times)
    with pytest.raises(InputError, match="at least two times"):
        integrated_brier_score(y, curves, [1.0])
    with pytest.raises(InputError, match="method must be one of"):
        brier_score(y, curves, [1], method="graf")
    with pytest.raises(InputError, match="convention must be one of"):
        brier_score(y, curves, [1], convention="pec")
    with pytest.raises(InputError, match="sample_weight"):
        brier_score(y, curves, [1], sample_weight=np.zeros(10))
    with pytest.raises(InputError, match="clip must lie"):
        binomial_log_likelihood(y, curves, [1], clip=0.5)
    with pytest.raises(UndefinedMetricError, match="no time after 0"):
        integrated_brier_score(([0.0, 0.0], [1, 0]), curves[:2])
    with pytest.raises(UndefinedMetricError, match="nothing to integrate over"):
        integrated_brier_score(y, curves, [1e-9, 1e9])


# ---- binomial log-likelihood -------------------------------------------------------------------


def test_certain_and_wrong_is_infinite_and_counted_unless_clipped_by_name():
    y = Outcomes([2.0, 6.0, 6.0, 3.0], [1, 1, 0, 1], [1, 1, 1, 0])
    survival = np.array([[1.0, 1.0], [0.5, 0.0], [0.9, 0.5], [1.0, 1.0]])
    curves = SurvivalCurves([3.0, 5.0], survival, "step")
    details = integrated_binomial_log_likelihood(y, curves, [3.0, 5.0])
    assert details.value == np.inf
    # The first at both times, the second at 5; the fourth is absent.
    assert details.support["infinite_losses"] == 3
    assert details.contributions is None
    assert np.isnan(details.stderr)
    assert integrated_binomial_log_likelihood(y, curves, [3.0, 5.0]) == np.inf
    kept = integrated_binomial_log_likelihood(y, curves, [3.0, 5.0], clip=1e-3)
    first = -np.log(1e-3) - np.log(0.5) - np.log(0.9)
    second = -2 * np.log(1e-3) - np.log(0.5)
    assert kept.value == pytest.approx((first + second) / 2 / 3, rel=1e-12)
    assert kept.support["clipped"] == 3
    assert kept.convention["clip"] == 1e-3
    assert np.isfinite(kept.stderr)


def test_pycox_clips_by_convention_and_says_so():
    y = ([2.0, 6.0], [1, 1])
    curves = SurvivalCurves([3.0, 5.0], [[1.0, 1.0], [0.9, 0.5]], "step")
    details = integrated_binomial_log_likelihood(y, curves, [3, 5], convention="pycox")
    assert details.convention["clip"] == 1e-7
    assert details.support["clipped"] == 2
    assert np.isfinite(details.value)


# ---- integration -------------------------------------------------------------------------------


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_grid_rules_equal_scipy(size, seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 2, size))
    values = rng.random(size)
    length = times[-1] - times[0]
    trapezoid = np.sum(np.diff(times) * (values[1:] + values[:-1]) / 2)
    assert values @ grid_weights(times) == pytest.approx(trapezoid / length, rel=1e-12)
    simpson = integrate.simpson(values, x=times)
    assert values @ grid_weights(times, "simpson") * length == pytest.approx(simpson, abs=1e-12)
    old = values @ grid_weights(times, "simpson_average") * length
    if size % 2 or size == 2:
        assert old == pytest.approx(simpson, abs=1e-12)
    else:  # even='avg' of older SciPy
        last = integrate.simpson(values[:-1], x=times[:-1]) + integrate.simpson(
            values[-2:], x=times[-2:]
        )
        first = integrate.simpson(values[1:], x=times[1:]) + integrate.simpson(
            values[:2], x=times[:2]
        )
        assert old == pytest.approx((first + last) / 2, abs=1e-12)


def test_one_time_is_its_own_mean():
    y, curves = simulated(50)
    result = brier_score(y, curves, 4.0)
    assert result.values.shape == (1,)
    assert result.mean == result.values[0]
    assert result.details.stderr == pytest.approx(result.stderr[0], rel=1e-12)


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_matrix_of_subjects_by_times_is_ever_made(dtype):
    rng = np.random.default_rng(0)
    n, m = 80_000, 50
    survival = np.exp(-np.outer(rng.exponential(1, n), np.linspace(0.1, 5, m))).astype(dtype)
    curves = SurvivalCurves(np.linspace(0.1, 5, m), survival)
    y = Outcomes(rng.exponential(2, n), rng.random(n) < 0.6)
    times = np.linspace(0.15, 4, 80)
    tracemalloc.start()
    integrated_brier_score(y, curves, times, y_train=y)
    _, peak = tracemalloc.get_traced_memory()
    brier_score(y, curves, times)
    _, peak_with_errors = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16e6  # the matrix would take 51.2 MB
    assert peak_with_errors < 36e6
