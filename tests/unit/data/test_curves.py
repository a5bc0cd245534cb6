from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import PchipInterpolator

import survgauge as sg

INTERPOLATIONS = ["linear", "step", "pchip"]
TAILS = ["linear", "exponential", "hold"]


def random_curves(seed, n=6, m=5, own=False, start_at_zero=False, floor=0.05):
    rng = np.random.default_rng(seed)
    grid = np.sort(rng.uniform(0.5, 10, (n, m)), axis=1) + np.arange(m) * 0.01
    grid = grid if own else grid[0]
    if start_at_zero:
        grid[..., 0] = 0.0
    if own and seed % 2:
        grid[::2, 0] = 0.0
    survival = np.sort(rng.uniform(floor, 1, (n, m)), axis=1)[:, ::-1].copy()
    if start_at_zero:
        survival[:, 0] = 1.0
    return grid, survival


def naive_at(grid, survival, interpolation, tail, t):
    """One curve at one time, straight from the definition."""
    x, y = list(grid), list(survival)
    if x[0] > 0:
        x, y = [0.0, *x], [1.0, *y]
    last, s = x[-1], y[-1]
    if t > last:
        if tail == "linear":
            return 1.0 if s == 1 else max(0.0, 1 - t * (1 - s) / last)
        return s ** (t / last) if tail == "exponential" else s
    if interpolation == "step":
        return [v for u, v in zip(x, y, strict=True) if u <= t][-1]
    if interpolation == "linear":
        return float(np.interp(t, x, y))
    return float(PchipInterpolator(x, y)(t))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_and_times_follow_the_definition(interpolation, tail, own, seed):
    grid, survival = random_curves(seed, own=own, start_at_zero=seed == 1 and not own)
    curves = sg.SurvivalCurves(grid, survival, interpolation, tail)
    points = np.array([0.0, 0.3, 1.7, 4.0, 9.9, 12.0, 40.0])
    values = curves.at(points)
    for i in range(len(curves)):
        row = grid[i] if own else grid
        for k, t in enumerate(points):
            want = naive_at(row, survival[i], interpolation, tail, t)
            assert values[i, k] == pytest.approx(want, abs=1e-12)
            assert curves[[i]].at(t)[0] == pytest.approx(want, abs=1e-12)
        for q in (0.1, 0.5, 0.9):
            got = curves.quantile(q)[i]
            f = lambda t, r=row, s=survival[i]: naive_at(r, s, interpolation, tail, t)  # noqa: E731
            if tail == "hold" and survival[i, -1] > 1 - q:
                assert got == row[-1]
                continue
            assert f(got) <= 1 - q + 1e-9
            if got > 0:
                assert f(got * (1 - 1e-9) - 1e-12) >= 1 - q - 1e-6
        f = lambda t, r=row, s=survival[i]: naive_at(r, s, interpolation, tail, t)  # noqa: E731
        for tau in (2.0, row[-1], 30.0):
            end = min(tau, row[-1]) if tail == "hold" else tau
            want = quad(f, 0, end, points=sorted({*row[row < end]}), limit=400)[0]
            assert curves.rmst(tau)[i] == pytest.approx(want, rel=1e-6, abs=1e-6)
    own_times = np.linspace(0.1, 15, len(curves))
    np.testing.assert_allclose(
        curves.at_own(own_times), np.diag(curves.at(own_times)), rtol=1e-12, atol=1e-14
    )


def test_means_of_known_curves():
    times = [1.0, 2.0, 4.0]
    survival = [[0.8, 0.4, 0.2]]
    # Areas by hand: lines 0.9 + 0.6 + 0.6, steps 1 + 0.8 + 0.8; the tail ends at 4/0.8 = 5.
    assert sg.SurvivalCurves(times, survival).mean()[0] == pytest.approx(2.1 + 0.1)
    assert sg.SurvivalCurves(times, survival, "step").mean()[0] == pytest.approx(2.6 + 0.1)
    held = sg.SurvivalCurves(times, survival, tail="hold")
    assert held.mean()[0] == pytest.approx(2.1)
    assert math.isnan(sg.SurvivalCurves(times, survival, tail="nan").mean()[0])
    exponential = sg.SurvivalCurves(times, survival, tail="exponential")
    assert exponential.mean()[0] == pytest.approx(2.1 + 0.2 * 4 / -math.log(0.2))


def test_median_of_curves_that_stay_high():
    high = [[1.0, 0.9], [1.0, 1.0]]
    linear = sg.SurvivalCurves([0, 10], high)
    assert linear.median() == pytest.approx([50.0, np.inf])
    assert list(sg.SurvivalCurves([0, 10], high, tail="hold").median()) == [10, 10]
    assert np.isnan(sg.SurvivalCurves([0, 10], high, tail="nan").median()).all()
    assert sg.SurvivalCurves([0, 10], high, tail="exponential").median()[1] == np.inf
    assert list(linear.reaches(0.5)) == [False, False]


def test_quantile_edges():
    flat = sg.SurvivalCurves([0, 1, 2, 3], [[1, 0.5, 0.5, 0.2]])
    assert flat.median()[0] == 1.0
    assert sg.SurvivalCurves([0, 1], [[0.4, 0.1]]).median()[0] == 0.0
    assert sg.SurvivalCurves([2.0], [[0.25]], "step").median()[0] == 2.0
    assert sg.SurvivalCurves([2.0], [[0.25]]).quantile(0.75)[0] == 2.0


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_order_of_times_with_their_columns_never_matters(seed):
    grid, survival = random_curves(seed % 50)
    order = np.random.default_rng(seed).permutation(grid.size)
    for interpolation in INTERPOLATIONS:
        a = sg.SurvivalCurves(grid, survival, interpolation)
        b = sg.SurvivalCurves(grid[order], survival[:, order], interpolation)
        np.testing.assert_array_equal(a.at([1.0, 5.0, 20.0]), b.at([1.0, 5.0, 20.0]))
        np.testing.assert_allclose(a.mean(), b.mean(), rtol=1e-14)
        np.testing.assert_array_equal(a.median(), b.median())


def test_float32_is_kept_and_blocks_agree_with_rows():
    rng = np.random.default_rng(0)
    survival = np.sort(rng.random((5000, 30), dtype=np.float32), axis=1)[:, ::-1]
    curves = sg.SurvivalCurves(np.arange(30.0), survival)
    assert curves.survival.dtype == np.float32
    assert curves.survival.base is not None  # no copy of a well-formed matrix
    few = curves[np.arange(0, 5000, 700)]
    np.testing.assert_allclose(curves.mean()[::700], few.mean(), rtol=1e-12)
    np.testing.assert_allclose(curves.at([3.3, 40.0])[::700], few.at([3.3, 40.0]), rtol=1e-12)


def test_rounding_errors_are_smoothed_and_larger_ones_refused():
    smooth = sg.SurvivalCurves([0, 1, 2], [[1 + 1e-9, 0.5, 0.5 + 1e-9]])
    assert smooth.survival.max() == 1.0
    assert (np.diff(smooth.survival) <= 0).all()


BAD = {
    "rises": ([1, 2, 3], [[0.9, 0.5, 0.7]], "rises from 0.5 to 0.7"),
    "above one": ([1, 2], [[1.2, 0.5]], r"leaves \[0, 1\]"),
    "below zero": ([1, 2], [[0.5, -0.2]], r"leaves \[0, 1\]"),
    "nan": ([1, 2], [[0.5, np.nan]], "NaN or infinite values for row 1 "),
    "transposed": ([1, 2, 3], np.ones((3, 2)), "transposed"),
    "duplicate times": ([1, 1, 2], [[0.9, 0.8, 0.7]], "1 appears twice"),
    "negative times": ([-1, 2], [[0.9, 0.8]], "not negative"),
    "infinite times": ([1, np.inf], [[0.9, 0.8]], "finite"),
    "one dimension": ([1, 2], [0.9, 0.8], "2 dimensions"),
    "empty": ([1, 2], np.empty((0, 2)), "at least one subject"),
    "text": ([1, 2], [["a", "b"]], "must be numbers"),
    "event probabilities": ([1, 2], [[0.1, 0.4]], "probabilities of the event"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_curves_are_refused_by_name(case):
    times, survival, message = BAD[case]
    with pytest.raises(sg.InputError, match=message):
        sg.SurvivalCurves(times, survival)


def test_a_square_transposed_matrix_is_recognised():
    good = np.sort(np.random.default_rng(0).random((4, 4)), axis=1)[:, ::-1]
    with pytest.raises(sg.InputError, match="looks transposed"):
        sg.SurvivalCurves([1, 2, 3, 4], good.T)


def test_repairs_by_name():
    bad = [[0.9, 0.5, 0.7], [1.0, 0.6, 0.2]]
    running = sg.SurvivalCurves([1, 2, 3], bad, repair="running_minimum")
    assert running.survival[0] == pytest.approx([0.9, 0.5, 0.5])
    isotonic = sg.SurvivalCurves([1, 2, 3], bad, repair="isotonic")
    assert isotonic.survival[0] == pytest.approx([0.9, 0.6, 0.6])
    assert isotonic.survival[1] == pytest.approx([1.0, 0.6, 0.2])
    with pytest.raises(sg.InputError, match="repair must be one of"):
        sg.SurvivalCurves([1, 2, 3], bad, repair="magic")


def test_bad_arguments_of_methods():
    curves = sg.SurvivalCurves([1, 2], [[0.9, 0.8]])
    with pytest.raises(sg.InputError, match="q must lie"):
        curves.quantile(0)
    with pytest.raises(sg.InputError, match="tau must be finite"):
        curves.rmst(np.inf)
    with pytest.raises(sg.InputError, match="negative"):
        curves.at(-1.0)
    with pytest.raises(sg.InputError, match="one entry per subject"):
        curves.at_own([1.0, 2.0])


@pytest.mark.parametrize("known", [False, True])
def test_held_curves_read_nothing_past_their_last_time(known):
    curves = sg.SurvivalCurves([0, 10], [[1, 0.2], [1, 0.5], [1, 0.8], [1, 1.0]], tail="linear")
    if known:
        curves.median()
    held = curves.held()
    assert held.tail == "hold"
    np.testing.assert_array_equal(held.median(), [6.25, 10, 10, 10])
    again = sg.SurvivalCurves(curves.times, curves.survival, tail="hold").median()
    np.testing.assert_array_equal(held.median(), again)
