"""Residuals from the definitions, and where S is 0 or 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from survgauge import InputError, KaplanMeier, SurvivalCurves, UndefinedMetricError
from survgauge.metrics.calibration.residuals import (
    KINDS,
    cox_snell_residuals,
    deviance_residuals,
    martingale_residuals,
    residual_details,
)


def naive(s, event):
    h = math.inf if s == 0 else -math.log(s)
    m = event - h
    if h == math.inf:
        return h, m, -math.inf
    if event and h == 0:
        return h, m, math.inf
    inner = m + (math.log(event - m) if event else 0.0)
    return h, m, math.copysign(math.sqrt(max(-2 * inner, 0.0)), m)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=1, max_size=12))
def test_residuals_follow_the_definitions(rows):
    s = np.array([k / 10 for k, _ in rows])
    event = [e for _, e in rows]
    y = (np.ones(len(rows)), event)
    curves = SurvivalCurves([1.0], s[:, None], interpolation="step")
    want = np.array([naive(a, b) for a, b in zip(s.tolist(), event, strict=True)])
    got = [f(y, curves) for f in (cox_snell_residuals, martingale_residuals, deviance_residuals)]
    for k in range(3):
        np.testing.assert_allclose(got[k], want[:, k], atol=1e-7)
        assert residual_details(y, curves, kind=KINDS[k]).support["infinite"] == sum(
            math.isinf(value) for value in want[:, k]
        )


def test_certain_curves_give_infinities_that_are_counted():
    curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    y = ([0, 0, 10, 12], [1, 0, 1, 0])
    assert cox_snell_residuals(y, curves).tolist() == [0, 0, math.inf, math.inf]
    assert martingale_residuals(y, curves).tolist() == [1, 0, -math.inf, -math.inf]
    assert deviance_residuals(y, curves).tolist() == [math.inf, 0, -math.inf, -math.inf]
    support = residual_details(y, curves, kind="deviance").support
    assert (support["survival_zero"], support["survival_one"], support["infinite"]) == (2, 2, 3)


def test_cox_snell_of_the_true_model_is_a_censored_unit_exponential():
    rng = np.random.default_rng(0)
    rate = np.exp(rng.normal(size=4000)) / 5
    event_time, censoring = rng.exponential(1 / rate), rng.exponential(8, 4000)
    y = (np.minimum(event_time, censoring), event_time <= censoring)
    grid = np.linspace(0, 60, 1201)
    curves = SurvivalCurves(grid, np.exp(-np.outer(rate, grid)), tail="exponential")
    km = KaplanMeier.fit((cox_snell_residuals(y, curves), y[1]))
    points = np.linspace(0.1, 2, 20)
    np.testing.assert_allclose(km.at(points), np.exp(-points), atol=0.03)
    assert martingale_residuals(y, curves).mean() == pytest.approx(0, abs=0.05)


def test_refusals():
    y = ([1, 5], [1, 0])
    with pytest.raises(InputError, match="kind"):
        residual_details(y, SurvivalCurves([0, 9], [[1, 0]] * 2), kind="schoenfeld")
    with pytest.raises(InputError, match="one row per subject"):
        cox_snell_residuals(y, SurvivalCurves([0, 9], [[1, 0]] * 3))
    with pytest.raises(UndefinedMetricError, match="tail"):
        cox_snell_residuals(y, SurvivalCurves([0, 2], [[1, 0.5]] * 2, tail="nan"))
