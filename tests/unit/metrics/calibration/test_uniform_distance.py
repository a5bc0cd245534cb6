"""D-calibration of few subjects and few events keeps its level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstwo

import survgauge as sg
from survgauge.estimators.kaplan_meier import KaplanMeier
from survgauge.metrics.calibration import d_calibration as kernel
from survgauge.metrics.calibration.d_calibration import _distances, drawn_tail, exact_tail

LINE = sg.SurvivalCurves([0, 1], [[1.0, 0.0]])


def lines(n):
    """Curves that say that u is the time itself."""
    return sg.SurvivalCurves([0, 1], np.tile([1.0, 0.0], (n, 1)))


@pytest.mark.parametrize(("n", "d"), [(1, 0.975), (2, 0.842), (5, 0.563), (10, 0.409), (20, 0.294)])
def test_the_exact_distribution_has_the_critical_values_of_the_tables(n, d):
    assert exact_tail(n, d) == pytest.approx(0.05, abs=5e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_without_censoring_the_p_value_is_exact(n):
    u = np.random.default_rng(n).random(n)
    result = sg.d_calibration((u, np.ones(n)), lines(n))
    assert result.p_value == pytest.approx(kstwo.sf(result.statistic, n), rel=1e-8)
    assert result.convention["p_value"] == kernel.EXACT


def test_one_subject_can_be_surprising_at_both_ends_only():
    p = [sg.d_calibration(([u], [1]), LINE).p_value for u in (0.01, 0.5, 0.99)]
    assert p == pytest.approx([0.02, 1.0, 0.02])


@pytest.mark.parametrize(("n", "share"), [(1, 0.3), (2, 0.3), (3, 0.8), (5, 0.8), (10, 0.8)])
def test_size_with_few_events(n, share):
    """The limit distribution rejects in 9 to 20 % of these; 400 samples tell 5 % from 9 %."""
    rng, rejected = np.random.default_rng(5), 0
    for _ in range(400):
        t, c = rng.exponential(1.0, n), rng.exponential((1 - share) / share, n)
        u = -np.expm1(-np.minimum(t, c))
        rejected += sg.d_calibration((u, t <= c), lines(n)).p_value < 0.05
    assert rejected / 400 < 0.08


def test_the_drawn_distances_are_those_of_the_kernel():
    rng = np.random.default_rng(1)
    u, ends = rng.random((20, 7)), rng.random((20, 7)).round(1)
    event, u = u <= ends, np.minimum(u, ends)
    want = [
        kernel.uniform_distance(sg.Outcomes(a, b), 1 - a).statistic
        for a, b in zip(u, event, strict=True)
    ]
    np.testing.assert_allclose(_distances(u, event), want, rtol=1e-12)


def test_no_censoring_at_all_counts_where_it_makes_a_distance_more_likely():
    late = KaplanMeier.fit(([0.3, 0.3], [1, 1]))
    assert drawn_tail(2, late, 0.75) == exact_tail(2, 0.75)
    assert drawn_tail(2, late, 0.29) > exact_tail(2, 0.71)


def test_neither_order_nor_frequencies_nor_batches_change_the_drawn_distribution():
    time, event = np.array([0.2, 0.9, 0.5, 0.4, 0.7]), np.array([1, 0, 0, 1, 0])
    want = sg.d_calibration((np.repeat(time, 2), np.repeat(event, 2)), lines(10))
    assert want.convention["p_value"] == kernel.DRAWN
    weighted = sg.Outcomes(time[::-1], event[::-1], np.full(5, 2.0))
    assert sg.d_calibration(weighted, lines(5)).p_value == want.p_value
    batches = [
        {"time": [t, t], "event": [e, e], "m": np.tile([1.0, 0.0], (2, 1))}
        for t, e in zip(time, event, strict=True)
    ]
    (score,) = sg.evaluate_stream(
        batches,
        y_train=([1.0, 2.0], [1, 1]),
        predictions={"m": sg.CurveColumns("m", [0.0, 1.0])},
        metrics=["d_calibration"],
    ).scores
    assert score.value == want.p_value


def test_many_events_keep_the_limit_distribution():
    rng = np.random.default_rng(0)
    t, c = rng.random(60), rng.random(60)
    result = sg.d_calibration((np.minimum(t, c), t <= c), lines(60))
    assert result.convention["p_value"] == kernel.LIMIT
