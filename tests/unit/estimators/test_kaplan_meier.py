from __future__ import annotations

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings
from strategies import pair

import survgauge as sg
from survgauge.estimators.reference import reference_curves


@given(y=own.outcomes)
@settings(max_examples=200, deadline=None)
def test_both_estimates_match_the_product_formula(y):
    km, g = sg.KaplanMeier.fit(pair(y)), sg.KaplanMeier.fit_censoring(pair(y))
    for t in np.arange(0, 10, 0.5):
        for side in ("right", "left"):
            left = side == "left"
            assert float(km.at(t, side)) == pytest.approx(float(naive.km_at(y, t, left)), abs=1e-12)
            assert float(g.at(t, side)) == pytest.approx(float(naive.g_at(y, t, left)), abs=1e-12)


@given(y=own.outcomes_with_event, area=own.areas, tail=own.tails)
@settings(max_examples=200, deadline=None)
def test_mean_is_the_area(y, area, tail):
    got = sg.KaplanMeier.fit(pair(y)).mean(area=area, tail=tail)
    assert got == pytest.approx(naive.km_mean(y, area, tail), rel=1e-12)


@given(y=own.outcomes_with_event)
@settings(max_examples=100, deadline=None)
def test_restricted_mean_is_the_mean_of_restricted_times(y):
    for tau in (0.5, 3.0, 20.0):
        km = sg.KaplanMeier.fit(pair(y))
        want = naive.km_mean(naive.restrict(y, tau), "step", "linear", tau)
        assert km.mean(tau=tau) == pytest.approx(want, rel=1e-12, abs=1e-12)


def test_g_is_not_kaplan_meier_on_flipped_flags_where_times_are_tied():
    y = ([2.0, 2.0, 3.0], [1, 0, 1])
    flipped = sg.KaplanMeier.fit((y[0], [0, 1, 0]))
    assert float(sg.KaplanMeier.fit_censoring(y).at(2)) == 0.5
    assert float(flipped.at(2)) == pytest.approx(2 / 3)


@pytest.mark.parametrize("n", range(2, 402, 2))
def test_half_of_the_subjects_are_gone_at_the_median(n):
    # 13 of 24 by rounding: 115 of 199 even numbers came one step late.
    y = (np.arange(1.0, n + 1), np.ones(n))
    assert sg.KaplanMeier.fit(y).median() == n / 2
    assert reference_curves(y, 3).median().tolist() == [n / 2] * 3


def exact_steps(event, weight):
    """Kaplan-Meier in whole numbers, for distinct times in order."""
    s, at_risk, steps = Fraction(1), sum(weight), []
    for e, w in zip(event, weight, strict=True):
        s *= 1 - Fraction(w, at_risk) if e else 1
        at_risk -= w
        steps.append(s)
    return steps


@pytest.mark.parametrize("seed", range(200))
def test_quantiles_are_those_of_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    event = rng.random(n) < 0.8
    weight = rng.integers(1, 4, n) if seed % 2 else np.ones(n, dtype=int)
    time = np.arange(1.0, n + 1)
    y = sg.Outcomes(time, event, weight.astype(float))
    steps = exact_steps(event.tolist(), weight.tolist())
    km, curves = sg.KaplanMeier.fit(y), reference_curves(y, 1)
    for q in (Fraction(1, 2), Fraction(1, 4), Fraction(1, 5), Fraction(4, 5), Fraction(3, 10)):
        reached = [k for k, s in enumerate(steps) if s <= 1 - q]
        if reached:
            assert km.quantile(float(q)) == time[reached[0]]
            assert curves.quantile(float(q))[0] == time[reached[0]]
            assert curves.reaches(float(q)).all()


def test_rounding_is_no_excuse_for_a_step_that_is_above():
    one_more = sg.SurvivalCurves([1.0, 2.0, 3.0], [[0.9, 0.500001, 0.2]], "step")
    assert one_more.median()[0] == 3.0
    short = sg.SurvivalCurves([1.0, 2.0], [[0.9, 0.500001], [0.9, 0.5 + 1e-15]], "step")
    assert short.reaches(0.5).tolist() == [False, True]
    line = sg.SurvivalCurves([0.0, 2.0], [[1.0, 0.5 + 1e-12]])
    assert not line.reaches(0.5)[0]


def test_median_and_quantiles():
    km = sg.KaplanMeier.fit(([1, 2, 3, 4], [1, 1, 1, 1]))
    assert (km.median(), km.quantile(0.25), km.quantile(0.3)) == (2.0, 1.0, 2.0)
    short = sg.KaplanMeier.fit(([1, 4, 4], [1, 0, 0]))
    assert short.median() == pytest.approx(4 * 0.5 / (1 / 3))
    assert short.median(tail="hold") == 4
    assert short.median(tail="exponential") == pytest.approx(4 * math.log(0.5) / math.log(2 / 3))
    assert math.isnan(short.median(tail="nan"))


def test_nelson_aalen():
    na = sg.KaplanMeier.fit(([1, 2, 3], [1, 0, 1]), estimator="nelson_aalen")
    assert na.survival == pytest.approx(np.exp([-1 / 3, -1 / 3, -4 / 3]))


def test_no_events_and_single_subjects():
    assert sg.KaplanMeier.fit(([3.0], [0])).mean() == math.inf
    assert sg.KaplanMeier.fit(([3.0], [1])).mean() == 3.0
    assert sg.KaplanMeier.fit(([0.0, 0.0], [1, 0])).mean() == 0.0


def test_bad_options_name_themselves():
    km = sg.KaplanMeier.fit(([1, 2], [1, 0]))
    with pytest.raises(sg.InputError, match="area must be one of 'step', 'trapezoid'; got 'x'"):
        km.mean(area="x")
    with pytest.raises(sg.InputError, match="tail"):
        km.mean(tail="flat")
    with pytest.raises(sg.InputError, match="side"):
        km.at(1, side="up")
    with pytest.raises(sg.InputError, match="tau must be finite and positive"):
        km.mean(tau=0)
    with pytest.raises(sg.InputError, match="q must lie"):
        km.quantile(1.5)
