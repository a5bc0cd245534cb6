"""Brier kernels where few are left, and what they say about weights."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.probability.status_scores import integrated_scores

TIME = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
EVENT = np.array([1, 0, 1, 1, 0, 1], dtype=bool)
STEPS = np.array([0.0, 0.5, 3.5, 4.5, 5.5]), np.array([1.0, 0.8, 0.5, 0.25, 0.125])


def both(n):
    """One curve for all, as one row that is read over and over, and as rows of its own."""
    shared = np.broadcast_to(STEPS[1], (n, STEPS[1].size))
    single = sg.SurvivalCurves(STEPS[0], shared, "step")
    rows = np.array(shared)
    rows[0, 1] = np.nextafter(rows[0, 1], 1.0)  # so that nobody can take them for one
    return single, sg.SurvivalCurves(STEPS[0], rows, "step")


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 1.0, 0.5, 0.25, 3.0]])
@pytest.mark.parametrize("score", ["integrated_brier_score",
                                   "integrated_binomial_log_likelihood"])  # fmt: skip
def test_one_curve_for_all_is_the_same_as_many_where_one_subject_is_left(score, weight):
    y = sg.Outcomes(TIME, EVENT, weight)
    times = np.array([0.0, 0.5, 1.0, 3.0, 4.0, 5.0, 5.5])
    one, many = (getattr(sg, score)(y, curves, times) for curves in both(6))
    assert one.value == pytest.approx(many.value, rel=1e-12)
    np.testing.assert_allclose(one.contributions, many.contributions, rtol=1e-9, atol=1e-13)


def test_losses_of_nobody_do_not_count_however_large():
    # At 5 the curve is at zero and nobody is event-free; at 0 it is at one and nobody had an event.
    y = (np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4))
    survival = np.array([1.0, 0.6, 0.3, 0.0])
    single = sg.SurvivalCurves([0.0, 2.0, 3.5, 5.0], np.broadcast_to(survival, (4, 4)), "step")
    rows = np.array(np.broadcast_to(survival, (4, 4)))
    rows[0, 1] = np.nextafter(0.6, 1.0)
    many = sg.SurvivalCurves([0.0, 2.0, 3.5, 5.0], rows, "step")
    times = np.array([0.0, 0.5, 2.5, 3.5, 5.0, 6.0])
    options = {"censoring": lambda t, side: np.ones(t.size)}
    found = [sg.integrated_binomial_log_likelihood(y, c, times, **options) for c in (single, many)]
    assert np.isfinite(found[0].value)
    assert found[0].value == pytest.approx(found[1].value)
    np.testing.assert_allclose(found[0].contributions, found[1].contributions, atol=1e-13)


@pytest.mark.parametrize("interpolation", ["linear", "pchip"])
@pytest.mark.parametrize("shared", [True, False])
def test_columns_are_the_same_for_every_kind_of_grid(interpolation, shared):
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 8, 9)
    survival = np.exp(-grid / rng.uniform(2, 9, (6, 1)))
    times = grid if shared else np.broadcast_to(grid, (6, 9)).copy()
    curves = sg.SurvivalCurves(times, survival, interpolation)
    y = (TIME, EVENT)
    asked = [1.5, 3.0, 4.0]
    found = sg.brier_score(y, curves, asked)
    g = sg.KaplanMeier.fit_censoring(y)
    for k, t in enumerate(asked):
        s = curves.at(t)
        own = np.where(
            t < TIME,
            (1 - s) ** 2 / g.at(t),
            EVENT * s**2 / g.at(TIME, side="left"),
        )
        assert found.values[k] == pytest.approx(own.mean())


def test_a_function_for_g_must_return_probabilities():
    curves = both(6)[1]
    for low, high in ((-0.1, 0.5), (0.5, 1.1)):

        def g(t, side, ends=(low, high)):
            return np.resize(ends, t.size)

        with pytest.raises(sg.InputError, match=rf"in \[0, 1\]; got {low:g} to {high:g}"):
            sg.brier_score((TIME, EVENT), curves, [3.0], censoring=g)
    ends = sg.brier_score(
        (TIME, EVENT), curves, [3.0], censoring=lambda t, side: np.resize([1.0, 0.25], t.size)
    )
    assert np.isfinite(ends.values).all()


@pytest.mark.parametrize("metric", ["brier", "ibs", "ibll", "uno", "mae_ipcw_d"])
def test_batches_whose_g_is_that_of_all_have_the_standard_error_of_the_whole(metric):
    rng = np.random.default_rng(7)
    n, grid = 60, np.linspace(0.0, 12.0, 7)
    survival = np.exp(-grid / rng.uniform(3, 15, (n, 1)))
    t, c = rng.exponential(8, n), rng.exponential(11, n)
    columns = {"time": np.minimum(t, c), "event": t <= c, "m": survival}
    options = {"metrics": [metric], "time": 4.0, "y_train": ([1.0, 3.0, 8.0, 9.0], [1, 0, 1, 1])}
    if metric == "mae_ipcw_d":
        del options["time"]
    y = columns["time"], columns["event"]
    whole = sg.evaluate({"m": sg.SurvivalCurves(grid, survival)}, y, **options)
    parts = [{k: v[rows] for k, v in columns.items()} for rows in (slice(0, 25), slice(25, n))]
    stream = sg.evaluate_stream(parts, predictions={"m": sg.CurveColumns("m", grid)}, **options)
    [one], [two] = whole.rows(), stream.rows()
    assert two["value"] == pytest.approx(one["value"], rel=1e-10)
    assert two["stderr"] == pytest.approx(one["stderr"], rel=1e-7)


@pytest.mark.parametrize("score", ["integrated_brier_score",
                                   "integrated_binomial_log_likelihood"])  # fmt: skip
def test_one_curve_for_all_by_parts_where_subjects_leave(score, monkeypatch):
    """Administrative limits end the time at risk after the event as well."""
    y = sg.Outcomes(TIME, EVENT, [1.0, 2.0, 1.0, 0.5, 0.25, 3.0])
    limit = np.array([2.5, 2.0, 3.0, 6.0, 5.0, 6.0])
    times = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 5.5])
    options = {"method": "administrative", "censoring_times": limit}
    monkeypatch.setattr("survgauge._tools.running.CHUNK", 4)
    one, many = (getattr(sg, score)(y, curves, times, **options) for curves in both(6))
    assert one.value == pytest.approx(many.value, rel=1e-12)
    np.testing.assert_allclose(one.contributions, many.contributions, rtol=1e-9, atol=1e-13)


def test_curves_of_single_precision_are_scored_in_double_precision():
    rng = np.random.default_rng(2)
    grid = np.array([1.0, 2.0, 3.0, 4.0])
    single = np.exp(-grid / rng.uniform(2, 9, (6, 1))).astype(np.float32)
    y, scores = (TIME, EVENT), []
    for values in (single, single.astype(np.float64)):
        scores.append(sg.integrated_brier_score(y, sg.SurvivalCurves(grid, values), grid))
        scores.append(sg.brier_score(y, sg.SurvivalCurves(grid, values), grid).values)
    assert scores[0] == pytest.approx(scores[2], rel=1e-14)
    np.testing.assert_allclose(scores[1], scores[3], rtol=1e-14)


@pytest.mark.parametrize("options", [{}, {"convention": "survivaleval"}, {"sample_weight": True}])
def test_one_curve_for_all_counts_as_so_many_equal_ones(options):
    rng, n = np.random.default_rng(3), 400
    y = sg.Outcomes(
        rng.exponential(5, n).round(1) + 0.1, rng.random(n) < 0.6, rng.integers(0, 3, n)
    )
    if "sample_weight" in options:
        options = {"sample_weight": rng.random(n) * (rng.random(n) > 0.1)}
    grid = np.linspace(0, 10, 12)
    survival = np.where(grid > 7, 0.0, np.exp(-grid / 6))  # some losses are infinite
    one, many = sg.SurvivalCurves(grid, survival[None]).repeated(n), np.tile(survival, (n, 1))
    for times in (np.linspace(0.5, 5, 20), np.linspace(0.5, 9, 30)):
        given = times, ("squared", "log")
        found = integrated_scores(y, one, *given, **options)
        for loss, wanted in integrated_scores(y, (grid, many), *given, **options).items():
            np.testing.assert_allclose(found[loss].value, wanted.value, rtol=1e-12)
            assert found[loss].support == wanted.support
            if np.isfinite(wanted.value):
                contributions = found[loss].contributions, wanted.contributions
                np.testing.assert_allclose(*contributions, rtol=1e-9, atol=1e-14)
