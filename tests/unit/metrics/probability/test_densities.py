"""Survival-CRPS, log-likelihood and skill against quadrature and loops."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import integrate, interpolate

import survgauge as sg
from survgauge.data.curves import SurvivalCurves
from survgauge.data.outcomes import Outcomes
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.estimators.kaplan_meier import KaplanMeier
from survgauge.estimators.reference import Reference, reference_curves
from survgauge.metrics.probability.brier import (
    brier_score,
    brier_skill,
    integrated_brier_score,
)
from survgauge.metrics.probability.crps import crps, tail_squares
from survgauge.metrics.probability.log_likelihood import log_likelihood
from survgauge.metrics.skill import skill
from survgauge.metrics.time.time_errors import mae

# ---- oracles -----------------------------------------------------------------------------------


def integral(function, points):
    """Adaptive quadrature piece by piece, since curves have kinks at their grid times."""
    points = np.unique(points)
    pieces = [
        integrate.quad(function, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for a, b in zip(points[:-1], points[1:], strict=True)
    ]
    return sum(pieces)


def _end_of_linear_tail(curve):
    """Where the line from 1 through the last point reaches 0, and quadrature must stop."""
    s, last = float(curve.last_survival[0]), float(curve.last_time[0])
    return last / (1 - s) if s < 1 else last


def naive_crps(curve, time, event):
    """CRPS of one subject by quadrature on `SurvivalCurves.at`."""
    last = float(curve.last_time[0])
    grid = np.ravel(curve.times)
    end = last if curve.tail == "hold" else max(last, time)
    stop = min(time, end)
    survival = lambda t: float(curve.at(np.array([t]))[0, 0])  # noqa: E731
    kinks = np.append(grid, _end_of_linear_tail(curve))
    inside = kinks[kinks < stop]
    total = integral(lambda t: (1 - survival(t)) ** 2, np.concatenate(([0.0], inside, [stop])))
    if not event:
        return total
    inside = kinks[(kinks > stop) & (kinks < end)]
    total += integral(lambda t: survival(t) ** 2, np.concatenate(([stop], inside, [end])))
    if curve.tail == "hold":
        return total
    s = float(curve.last_survival[0])
    if s >= 1:
        return np.inf
    far = {"linear": last / (1 - s) if s > 0 else last, "exponential": np.inf}[curve.tail]
    if s > 0 and far > end:
        total += integrate.quad(lambda t: survival(t) ** 2, end, far, epsabs=1e-12, limit=500)[0]
    return total


@st.composite
def cases(draw, tails=("linear", "exponential", "hold")):
    n = draw(st.integers(1, 4))
    time = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=float)
    event = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    start = draw(st.sampled_from([0.0, 1.0]))
    shared = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(2, 5))
    gaps = rng.uniform(0.5, 2, m - 1 if shared else (n, m - 1))
    grid = start + np.concatenate((np.zeros((*gaps.shape[:-1], 1)), np.cumsum(gaps, -1)), axis=-1)
    survival = np.sort(rng.choice(np.linspace(0.02, 0.98, 25), (n, m)), axis=1)[:, ::-1]
    if draw(st.booleans()):
        survival[:, 0] = 1.0
    if draw(st.booleans()):
        survival[0, -1] = 0.0
    interpolation = draw(st.sampled_from(["linear", "step", "pchip"]))
    curves = SurvivalCurves(grid, survival, interpolation, draw(st.sampled_from(tails)))
    return Outcomes(time, event), curves


def alone(curves, i):
    grid = curves.times if curves.shared_grid else curves.times[i]
    return SurvivalCurves(grid, curves.survival[i : i + 1], curves.interpolation, curves.tail)


# ---- CRPS --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(cases())
def test_crps_equals_quadrature(case):
    y, curves = case
    each = [naive_crps(alone(curves, i), y.time[i], y.event[i]) for i in range(len(y))]
    assert crps(y, curves) == pytest.approx(np.mean(each), rel=2e-8, abs=1e-10)
    for i in range(len(y)):
        assert crps(y[[i]], alone(curves, i)) == pytest.approx(each[i], rel=2e-8, abs=1e-10)


def naive_crps_until(curve, time, event, tau):
    """CRPS of one subject, both integrals stopped at tau, by quadrature."""
    survival = lambda t: float(curve.at(np.array([t]))[0, 0])  # noqa: E731
    end = min(tau, float(curve.last_time[0])) if curve.tail == "hold" else tau
    stop = min(time, end)
    kinks = np.append(np.ravel(curve.times), _end_of_linear_tail(curve))
    inside = kinks[kinks < stop]
    total = integral(lambda t: (1 - survival(t)) ** 2, np.concatenate(([0.0], inside, [stop])))
    if event and time < tau:
        inside = kinks[(kinks > stop) & (kinks < end)]
        total += integral(lambda t: survival(t) ** 2, np.concatenate(([stop], inside, [end])))
    return total


@settings(max_examples=60, deadline=None)
@given(cases(), st.floats(0.5, 12.0))
def test_crps_until_a_horizon_equals_quadrature(case, tau):
    y, curves = case
    each = [naive_crps_until(alone(curves, i), y.time[i], y.event[i], tau) for i in range(len(y))]
    assert crps(y, curves, tau=tau) == pytest.approx(np.mean(each), rel=2e-8, abs=1e-10)


def test_crps_until_a_horizon_needs_no_more_of_the_curves():
    curves = SurvivalCurves([5.0, 10.0], [[0.5, 0.4], [1.0, 1.0]], tail="nan")
    y = Outcomes([3.0, 12.0], [1, 0])
    assert np.isfinite(crps(y, curves, tau=10.0))
    with pytest.raises(UndefinedMetricError, match="tail='nan'"):
        crps(y, curves, tau=10.5)
    # A curve that never falls has a finite loss up to a horizon: S^2 = 1 from 3 to 20.
    flat = SurvivalCurves([5.0], [[1.0]])
    assert crps(([3.0], [1]), flat, tau=20.0) == pytest.approx(17.0, rel=1e-14)
    assert crps(([3.0], [1]), flat, tau=3.0) == 0.0
    with pytest.raises(InputError, match="tau must be finite and positive"):
        crps(y, curves, tau=0.0)
    assert crps(y, curves, tau=10.0).convention["tau"] == 10.0


def test_crps_of_a_uniform_and_an_exponential_prediction():
    # S = 1 - t/10: t^3/300 + (10 - t)^3/300. S = exp(-t/4): the textbook integrals.
    t = np.array([0.0, 3.0, 10.0, 12.0])
    uniform = SurvivalCurves([0.0, 10.0], np.tile([1.0, 0.0], (4, 1)))
    expected = np.minimum(t, 10) ** 3 / 300 + np.maximum(10 - t, 0) ** 3 / 300
    expected += np.maximum(t - 10, 0)
    for i in range(4):
        value = crps(([t[i]], [1]), uniform[[i]])
        assert value == pytest.approx(expected[i], rel=1e-13)
    # One grid point on an exponential: from there on the tail is the truth.
    rate, first = 0.25, 0.5
    curve = SurvivalCurves([first], [[np.exp(-rate * first)]], "step", "exponential")
    for time in (0.5, 2.0, 40.0, 4000.0):
        width = time - first
        s = np.exp(-rate * first)
        end = np.exp(-rate * time)
        before = width - 2 * (s - end) / rate + (s**2 - end**2) / (2 * rate)
        event = crps(([time], [1]), curve)
        assert event == pytest.approx(before + end**2 / (2 * rate), rel=1e-12)
        assert crps(([time], [0]), curve) == pytest.approx(before, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 0.999999), st.floats(0.1, 10), st.floats(0, 50))
@example(0.999999, 1.0, 1e-3)
def test_exponential_tails_do_not_cancel(s, last, width):
    import math
    from fractions import Fraction

    before, after = tail_squares(
        np.array([last + width]), np.array([last]), np.array([s]), "exponential"
    )
    # Gauss-Legendre on many pieces of 1 - s exp(-rate u), written without cancellation.
    rate = -math.log(s) / last
    real = (last + width) - last
    points, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(0, real, 41)
    half = np.diff(edges)[:, None] / 2
    u = edges[:-1, None] + half * (points + 1)
    risk = float(1 - Fraction(s)) + s * -np.expm1(-rate * u)
    expected = float((half * weights * risk**2).sum())
    assert before[0] == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert after[0] == pytest.approx((s * math.exp(-rate * real)) ** 2 / (2 * rate), rel=1e-9)


def test_curves_that_never_fall_or_never_last():
    flat = SurvivalCurves([5.0], [[1.0], [1.0], [0.0]])
    details = crps(([3.0, 3.0, 8.0], [1, 0, 1]), flat)
    assert details.value == np.inf
    assert details.support["infinite_losses"] == 1
    assert details.support["infinite_for"] == "row 1 (counting from 1)"
    assert details.contributions is None
    assert crps(([3.0], [0]), flat[[0]]) == 0.0
    # The last curve is a line to zero at 5: 5/3 up to there, 3 from there to the event.
    assert crps(([8.0], [1]), flat[[2]]) == pytest.approx(5 / 3 + 3, rel=1e-14)
    held = SurvivalCurves([5.0], [[1.0]], tail="hold")
    assert crps(([3.0], [1]), held) == pytest.approx(2.0, rel=1e-14)
    assert crps(([7.0], [1]), held) == 0.0


def test_a_tail_that_refuses_names_the_subjects_it_is_needed_for():
    curves = SurvivalCurves([5.0], [[0.5]] * 4 + [[0.0]], tail="nan")
    y = Outcomes([3.0, 4.0, 9.0, 3.0, 9.0], [1, 0, 0, 1, 1], [1, 1, 1, 0, 1])
    with pytest.raises(UndefinedMetricError, match=r"rows 1 and 3 \(counting from 1\);"):
        crps(y, curves)
    assert np.isfinite(crps(y[[1, 4]], curves[[1, 4]]))
    with pytest.raises(UndefinedMetricError, match=r"row 3 \(counting from 1\);"):
        log_likelihood(y, curves)
    assert np.isfinite(log_likelihood(y[[0, 1]], curves[[0, 1]]))


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("function", [crps, log_likelihood])
def test_a_shared_curve_stored_once_gives_the_same(interpolation, function):
    rng = np.random.default_rng(0)
    grid, row = np.linspace(0.5, 9, 12), np.sort(rng.random(12))[::-1]
    y = Outcomes(rng.uniform(0, 12, 50), rng.random(50) < 0.6)
    full = SurvivalCurves(grid, np.tile(row, (50, 1)), interpolation)
    once = SurvivalCurves._trusted(grid, np.broadcast_to(row, (50, 12)), interpolation, "linear")
    expected = function(y, full)
    assert function(y, once).value == pytest.approx(expected.value, rel=1e-13, nan_ok=True)


# ---- log-likelihood ----------------------------------------------------------------------------


def naive_likelihood(curve, t, event):
    """Density or survival of one subject from the formulas; cubics by SciPy."""
    grid, values = np.ravel(curve.times), np.ravel(curve.survival)
    if grid[0] > 0:
        grid, values = np.append(0.0, grid), np.append(1.0, values)
    last, s = grid[-1], values[-1]
    if t > last:
        survival, density = s, 0.0
        if curve.tail == "linear":
            survival = max(0.0, 1 - t * (1 - s) / last)
            density = (1 - s) / last if survival > 0 else 0.0
        elif curve.tail == "exponential" and s > 0:
            survival = s ** (t / last)
            density = -np.log(s) / last * survival
        return density if event else survival
    if not event:
        return curve.at(t)[0]
    if curve.interpolation == "pchip":
        return -interpolate.PchipInterpolator(grid, values).derivative()(t)
    for k in range(grid.size - 1):
        if t <= grid[k + 1]:  # the interval that ends at t, where t is a grid time
            return (values[k] - values[k + 1]) / (grid[k + 1] - grid[k])
    raise AssertionError("a time inside the grid lies in one of its intervals")


@settings(max_examples=150, deadline=None)
@given(cases())
def test_log_likelihood_equals_the_formulas(case):
    y, curves = case
    if curves.interpolation == "step" and y.event.any():
        assert np.isnan(log_likelihood(y, curves))
        return
    each = [naive_likelihood(alone(curves, i), y.time[i], y.event[i]) for i in range(len(y))]
    # A cubic's slope may be zero up to rounding only, and then its logarithm is anything.
    assume(all(value == 0 or value > 1e-12 for value in np.abs(each)))
    with np.errstate(divide="ignore"):
        expected = np.mean(np.log(each))
    assert log_likelihood(y, curves) == pytest.approx(expected, rel=1e-9)


def test_log_likelihood_on_a_line_and_in_the_tails():
    line = SurvivalCurves([0.0, 4.0, 10.0], [[1.0, 0.8, 0.5]])
    assert log_likelihood(([2.0], [1]), line) == pytest.approx(np.log(0.05), rel=1e-14)
    assert log_likelihood(([4.0], [1]), line) == pytest.approx(np.log(0.05), rel=1e-14)
    assert log_likelihood(([4.1], [1]), line) == pytest.approx(np.log(0.05), rel=1e-14)
    assert log_likelihood(([15.0], [1]), line) == pytest.approx(np.log(0.05), rel=1e-14)
    assert log_likelihood(([15.0], [0]), line) == pytest.approx(np.log(0.25), rel=1e-14)
    assert log_likelihood(([25.0], [1]), line) == -np.inf
    assert log_likelihood(([25.0], [0]), line) == -np.inf
    fast = SurvivalCurves([10.0], [[0.5]], tail="exponential")
    rate = np.log(2) / 10
    for time in (10.5, 300.0, 1e6):  # far below the smallest float
        assert log_likelihood(([time], [1]), fast) == pytest.approx(np.log(rate) - rate * time)
        assert log_likelihood(([time], [0]), fast) == pytest.approx(-rate * time)
    held = SurvivalCurves([10.0], [[0.5]], tail="hold")
    assert log_likelihood(([15.0], [1]), held) == -np.inf
    assert log_likelihood(([15.0], [0]), held) == pytest.approx(np.log(0.5))


def test_step_curves_have_no_density_but_censored_subjects_a_probability():
    steps = SurvivalCurves([1.0, 2.0], [[0.8, 0.4]] * 3, "step")
    details = log_likelihood(([1.5, 2.5, 0.5], [0, 0, 1]), steps)
    assert np.isnan(details.value)
    assert np.isnan(details.stderr)
    assert "no density" in details.support["note"]
    value = log_likelihood(([1.5, 1.0], [0, 0]), steps[:2])
    assert value == pytest.approx(np.log(0.8), rel=1e-14)


def test_flat_segments_are_counted_not_clipped():
    curves = SurvivalCurves([0.0, 2.0, 4.0], [[1, 0.5, 0.5], [1, 1, 0.5], [1, 0.5, 0.5]])
    details = log_likelihood(Outcomes([3.0, 1.0, 3.0], [1, 1, 1], [1, 2, 0]), curves)
    assert details.value == -np.inf
    assert details.support["infinite_losses"] == 2
    assert details.support["infinite_for"] == "rows 1 and 2 (counting from 1)"


# ---- both --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(cases(), st.randoms(use_true_random=False), st.data())
def test_order_never_matters_and_whole_frequencies_are_copies(case, random, data):
    y, curves = case
    n = len(y)
    rows = list(range(n))
    random.shuffle(rows)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    counts[0] += 1
    copies = np.repeat(np.arange(n), counts.astype(int))
    for function in (crps, log_likelihood):
        value = function(y, curves).value
        shuffled = function(y[rows], curves[rows]).value
        assert shuffled == pytest.approx(value, rel=1e-12, nan_ok=True)
        weighted = function(Outcomes(y.time, y.event, counts), curves)
        replicated = function(y[copies], curves[copies])
        assert weighted.value == pytest.approx(replicated.value, rel=1e-12, nan_ok=True)
        assert weighted.stderr == pytest.approx(replicated.stderr, rel=1e-9, abs=1e-12, nan_ok=True)


def test_contributions_are_those_of_a_mean():
    rng = np.random.default_rng(1)
    y = Outcomes(rng.exponential(4, 30), rng.random(30) < 0.7)
    grid = np.linspace(0.5, 12, 20)
    survival = np.exp(-np.outer(rng.uniform(0.1, 0.5, 30), grid))
    curves = SurvivalCurves(grid, survival, tail="exponential")
    for function in (crps, log_likelihood):
        details = function(y, curves)
        each = np.array([function(y[[i]], curves[[i]]).value for i in range(30)])
        assert details.value == pytest.approx(each.mean(), rel=1e-12)
        np.testing.assert_allclose(
            details.contributions, (each - each.mean()) / 30, rtol=1e-9, atol=1e-14
        )
        assert details.stderr == pytest.approx(each.std(ddof=1) / np.sqrt(30), rel=1e-10)
        weight = rng.uniform(0, 2, 30)
        value = function(y, curves, sample_weight=weight).value
        assert value == pytest.approx(np.average(each, weights=weight), rel=1e-12)


def test_crps_without_censoring_is_the_integral_of_brier_scores():
    """Integral of BS(t) over a range past all events equals the CRPS: linear curves, fine grid."""
    rng = np.random.default_rng(2)
    time = rng.uniform(0.5, 6, 40)
    curves = SurvivalCurves([0, 2, 5, 8], np.tile([1, 0.6, 0.3, 0.0], (40, 1)))
    times = np.unique(np.concatenate((np.linspace(0, time.max(), 20001), time)))
    integrated = integrated_brier_score((time, np.ones(40)), curves, times) * time.max()
    # Past the last event the score is the mean of S^2 alone.
    rest = integral(lambda t: curves.at(t)[0] ** 2, [time.max(), 8.0])
    assert crps((time, np.ones(40)), curves) == pytest.approx(integrated + rest, rel=1e-3)


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
def test_blocks_bound_the_memory(interpolation):
    rng = np.random.default_rng(0)
    n, m = 40_000, 50
    grid = np.linspace(0.1, 5, m)
    survival = np.exp(-np.outer(rng.exponential(1, n), grid)).astype(np.float32)
    curves = SurvivalCurves(grid, survival, interpolation)
    y = Outcomes(rng.exponential(2, n), rng.random(n) < 0.6)
    tracemalloc.start()
    value = crps(y, curves)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.isfinite(value)
    assert peak < 14e6  # the matrix in double precision would take 16 MB
    few = slice(0, 7)
    again = SurvivalCurves(grid, survival[few].astype(float), interpolation)
    assert crps(y[few], curves[few]) == pytest.approx(crps(y[few], again), rel=1e-12)


# ---- skill -------------------------------------------------------------------------------------


def simulated(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    scale = 6 * np.exp(-0.5 * x)
    event_time, censor_time = rng.weibull(1.3, n) * scale, rng.uniform(0, 16, n)
    y = Outcomes(np.minimum(event_time, censor_time), event_time <= censor_time)
    grid = np.linspace(0.5, 20, 40)
    return y, SurvivalCurves(grid, np.exp(-((grid / scale[:, None]) ** 1.3)))


def test_reference_curves_are_kaplan_meier_and_take_no_memory():
    y, _ = simulated(200)
    curves = reference_curves(y, 5)
    km = KaplanMeier.fit(y)
    t = np.linspace(0, y.time.max(), 301)
    np.testing.assert_array_equal(curves.at(t), np.tile(km.at(t), (5, 1)))
    assert curves.median()[0] == km.median()
    assert curves.mean()[0] == pytest.approx(km.mean(), rel=1e-12)
    assert curves.survival.strides[0] == 0
    nobody = reference_curves(([1.0, 2.0], [0, 0]), 3)
    np.testing.assert_array_equal(nobody.at(1.5), np.ones(3))


@pytest.mark.parametrize("in_sample", [True, False])
def test_skill_is_one_minus_the_ratio_of_losses(in_sample):
    y, curves = simulated(300)
    train = None if in_sample else simulated(200, seed=5)[0]
    baseline = reference_curves(y if in_sample else train, 300)
    times = np.linspace(0.5, 10, 15)
    details = skill("ibs", y, curves, y_train=train, times=times)
    ours = integrated_brier_score(y, curves, times, y_train=train)
    theirs = integrated_brier_score(y, baseline, times, y_train=train)
    assert details.value == pytest.approx(1 - ours / theirs, rel=1e-12)
    assert 0.1 < details.value < 0.6
    assert details.support["baseline_loss"] == pytest.approx(theirs, rel=1e-12)
    # First order: the same function with one subject's weight moved a little.
    moved = np.ones(300)
    moved[7] += 1e-6
    again = skill("ibs", Outcomes(y.time, y.event, moved), curves, y_train=train,
                  times=times, baseline=baseline)  # fmt: skip
    assert details.contributions[7] == pytest.approx((again - details.value) / 1e-6, rel=1e-3)
    for name in ("crps", "mae", "mse", "ibll"):
        options = {"times": times} if name == "ibll" else {}
        assert skill(name, y, curves, y_train=train, **options) > 0
    by_hand = 1 - mae(y, curves, y_train=train) / mae(y, baseline, y_train=train)
    assert skill("mae", y, curves, y_train=train) == pytest.approx(by_hand, rel=1e-12)


def test_the_baseline_has_no_skill():
    y, curves = simulated(100)
    for name in ("ibs", "crps", "mae"):
        details = skill(name, y, reference_curves(y, 100))
        assert details.value == pytest.approx(0, abs=1e-12)
        assert details.stderr == pytest.approx(0, abs=1e-12)
    assert skill(integrated_brier_score, y, curves) > 0
    with pytest.raises(InputError, match="metric must be one of"):
        skill("auc", y, curves)
    with pytest.raises(InputError, match="metric must be a name or a function"):
        skill(3, y, curves)
    with pytest.raises(UndefinedMetricError, match="skill is undefined"):
        skill("mae", ([3.0, 3.0], [1, 1]), [2.0, 3.0])


def test_brier_skill_over_time():
    y, curves = simulated(300)
    times = np.array([2.0, 5.0, 9.0])
    result = brier_skill(y, curves, times)
    ours, theirs = brier_score(y, curves, times), brier_score(y, reference_curves(y, 300), times)
    np.testing.assert_allclose(result.values, 1 - ours.values / theirs.values, rtol=1e-12)
    assert result.mean == pytest.approx(1 - ours.mean / theirs.mean, rel=1e-12)
    details = skill("ibs", y, curves, times=times)
    assert result.mean == pytest.approx(details.value, rel=1e-12)
    np.testing.assert_allclose(
        result.details.contributions, details.contributions, rtol=1e-9, atol=1e-14
    )
    one = brier_skill(y, curves, [5.0])
    assert one.stderr[0] == pytest.approx(result.stderr[1], rel=1e-12)
    assert one.details.stderr == pytest.approx(one.stderr[0], rel=1e-12)
    padded = brier_skill(y, curves, [5.0, 1e3], on_unsupported="nan")
    np.testing.assert_array_equal(np.isnan(padded.values), [False, True])
    start = brier_skill(y, curves, [0.0, 5.0])
    assert np.isnan(start.values[0])  # nobody has had an event, and Kaplan-Meier says so
    assert np.isfinite(start.mean)


def test_skill_of_many_subjects_needs_no_matrix():
    y, curves = simulated(20_000)
    reference = Reference(y)
    _ = reference.km, reference.censoring
    tracemalloc.start()
    skill("ibs", y, curves, y_train=reference, times=np.linspace(0.5, 9, 30))
    skill("crps", y, curves, y_train=reference)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7  # a row of Kaplan-Meier per subject would take over 1.5 GB


def test_an_evaluation_says_why_step_curves_have_no_log_likelihood():
    curves = sg.SurvivalCurves([0, 5, 10], [[1, 0.6, 0.3]] * 3, interpolation="step")
    found = sg.evaluate({"a": curves}, ([2, 5, 7], [1, 0, 1]), metrics=["log_likelihood"])
    assert "no density" in found.support["metrics"]["a"]["log_likelihood"]["note"]
