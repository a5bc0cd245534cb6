"""The approximate time-dependent concordance: its bound holds, and it converges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from survgauge import InputError, Outcomes, SurvivalCurves, concordance_td
from survgauge.errors import UndefinedMetricError
from survgauge.metrics.ranking import _antolini_bounds as bounds
from survgauge.metrics.ranking.concordance_td import concordance_td_details

SMALL = {"_LEAF": 2, "_FEW": 2, "_ROWS": 4, "_SPAN": 8, "_STEPS": 16}


def _curves(rng, n, interpolation, tail, digits):
    grid = np.array([0.0, 1.5, 3.0, 4.0, 7.0])
    if rng.random() < 0.3:
        grid = grid + 0.5  # preceded by (0, 1)
    falls = rng.random((n, grid.size)) * (rng.random((n, grid.size)) < 0.7)
    survival = np.exp(-np.cumsum(falls, axis=1) * rng.gamma(1.0, 0.7, (n, 1)))
    return SurvivalCurves(grid, np.round(survival, digits), interpolation, tail)


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    interpolation=st.sampled_from(["linear", "step", "pchip"]),
    tail=st.sampled_from(["linear", "exponential", "hold"]),
    digits=st.sampled_from([1, 2, 12]),
    stretches=st.sampled_from([1, 3, 50]),
    method=st.sampled_from(["antolini", "ipcw"]),
)
def test_the_exact_value_lies_within_the_bound(
    seed, interpolation, tail, digits, stretches, method
):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    time = rng.integers(0, 12, n) if seed % 2 else rng.random(n) * 10
    weight = rng.integers(1, 4, n) if seed % 3 == 0 else None
    y = Outcomes(time, rng.random(n) < 0.7, weight)
    curves = _curves(rng, n, interpolation, tail, digits)
    options = {"method": method, "sample_weight": rng.random(n) + 0.1 if seed % 5 == 0 else None}
    try:
        exact = concordance_td_details(y, curves, **options)
    except UndefinedMetricError:
        with pytest.raises(UndefinedMetricError):
            concordance_td(y, curves, approximate=stretches, **options)
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(bounds, name, value)
        found = concordance_td_details(y, curves, approximate=stretches, **options)
    bound = found.support["bound"]
    assert 0 <= bound <= 0.5 + 1e-12
    assert abs(found.value - exact.value) <= bound + 1e-12
    np.testing.assert_allclose(found.support["pair_weight"], exact.support["pair_weight"])
    if bound == 0:  # everything was decided, also who takes part in what
        np.testing.assert_allclose(found.psi, exact.psi, atol=1e-12)


def _many(n, seed=1):
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 10, 20)
    rate, shape = rng.gamma(3.0, 0.05, n), rng.uniform(0.7, 1.4, n)
    curves = np.exp(-((rate[:, None] * grid) ** shape[:, None])).astype(np.float32)
    time = rng.weibull(shape) / rate
    limit = rng.exponential(9.0, n)
    return SurvivalCurves(grid, curves), (np.minimum(time, limit), time <= limit)


def test_more_stretches_come_closer_and_say_so():
    curves, y = _many(6000)
    exact = concordance_td_details(y, curves)
    coarse, fine = (concordance_td_details(y, curves, approximate=k) for k in (16, 400))
    assert fine.support["bound"] < 0.5 * coarse.support["bound"] < 0.05
    assert abs(fine.value - exact.value) <= fine.support["bound"]
    assert fine.stderr == pytest.approx(exact.stderr, rel=0.02)
    assert fine.convention["approximate"] == 400
    assert "bound" not in exact.support


def test_the_reversed_order_gives_one_minus_the_value():
    curves, y = _many(3000)
    worse = SurvivalCurves(curves.times, 1 - (1 - curves.survival.astype(float)) / 2)
    found = concordance_td_details(y, worse, approximate=64)
    exact = concordance_td(y, worse)
    assert abs(found.value - exact) <= found.support["bound"]


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_a_bit(monkeypatch, threads):
    curves, y = _many(3000)
    monkeypatch.setattr(bounds, "_SPAN", 256)
    monkeypatch.setattr(bounds, "_ROWS", 128)
    monkeypatch.setenv("SURVGAUGE_THREADS", "2")
    two = concordance_td_details(y, curves, approximate=40)
    monkeypatch.setenv("SURVGAUGE_THREADS", str(threads))
    other = concordance_td_details(y, curves, approximate=40)
    assert other.value == two.value
    assert other.support == two.support
    np.testing.assert_array_equal(other.psi, two.psi)


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "many"])
def test_a_number_of_stretches_that_is_none_is_refused(wrong):
    curves, y = _many(50)
    with pytest.raises(InputError, match="approximate"):
        concordance_td(y, curves, approximate=wrong)


def test_other_rules_for_ties_are_refused():
    curves, y = _many(50)
    with pytest.raises(InputError, match="ties"):
        concordance_td(y, curves, approximate=True, ties="strict")
