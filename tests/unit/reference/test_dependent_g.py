from __future__ import annotations

import numpy as np
import pytest
from dependent_worlds import (
    CENSORING_LAW,
    CENSORING_TIMES,
    DEPENDENCES,
    EVENT_LAW,
    EVENT_TIMES,
    joint_masses,
    observed,
    population,
)

import survgauge as sg
from survgauge.reference.copula_graphic import CopulaGraphic
from survgauge.reference.dependent_g import DependentG, assumed_g
from survgauge.reference.g_source import WholeG

each = pytest.mark.parametrize("dependence", DEPENDENCES, ids=str)


def world(dependence):
    t, c, _, mass = population(dependence)
    return observed(t, c, mass)


@each
def test_both_laws_of_a_small_world_are_found(dependence):
    laws = CopulaGraphic.fit(world(dependence), dependence)
    np.testing.assert_allclose(laws.law.at(EVENT_TIMES), 1 - np.cumsum(EVENT_LAW), atol=1e-12)
    early = EVENT_TIMES[-1] > CENSORING_TIMES
    g = 1 - np.cumsum(CENSORING_LAW)
    np.testing.assert_allclose(laws.censoring.at(CENSORING_TIMES[early]), g[early], atol=1e-12)


@each
def test_probabilities_of_being_observed_are_those_of_the_world(dependence):
    g = DependentG(CopulaGraphic.fit(world(dependence), dependence), "test")
    masses = joint_masses(dependence)
    for i, t in enumerate(EVENT_TIMES):
        seen = masses[i, t <= CENSORING_TIMES].sum() / masses[i].sum()
        assert float(g.at(t, "left")) == pytest.approx(seen, abs=1e-12)
        later = masses[t < EVENT_TIMES]
        if later.size:
            free = later[:, t < CENSORING_TIMES].sum() / later.sum()
            assert float(g.at(t)) == pytest.approx(free, abs=1e-12)
    for t in (0.2, 0.5, 1.5, 2.5, 3.0, 4.5):
        later = masses[t < EVENT_TIMES]
        free = later[:, t < CENSORING_TIMES].sum() / later.sum()
        assert float(g.at(t)) == pytest.approx(free, abs=1e-12)


@pytest.mark.parametrize("copula", ["clayton", "frank", "gumbel"])
def test_hardly_any_dependence_is_hardly_anything_but_g(copula):
    rng = np.random.default_rng(0)
    y = rng.integers(1, 30, 200).astype(float), rng.random(200) < 0.6
    usual = sg.KaplanMeier.fit_censoring(y)
    g = DependentG(CopulaGraphic.fit(y, sg.Dependence(1e-12, copula)), "test")
    t = np.arange(0, 40, 0.5)
    np.testing.assert_allclose(g.at(t), usual.at(t), atol=1e-10)
    np.testing.assert_allclose(g.at(t, "left"), usual.at(t, "left"), atol=1e-10)


@each
def test_weights_of_events_are_the_steps_of_the_law(dependence):
    """1/N over P(C >= t | T = t) is the mass of the law at t, as with Kaplan-Meier."""
    rng = np.random.default_rng(1)
    t, e = rng.exponential(size=100), rng.random(100) < 0.5
    laws = CopulaGraphic.fit((t, e), dependence)
    steps = -np.diff(np.append(1.0, laws.law.survival))
    order = np.argsort(t)
    weight = e[order] / DependentG(laws, "test").at(t[order], "left") / 100
    np.testing.assert_allclose(weight, steps, atol=1e-12)


@each
def test_ends(dependence):
    for y in (([1, 2], [0, 0]), ([1, 2], [1, 1]), ([0], [1]), ([3], [0]), ([2, 2], [1, 0])):
        g = DependentG(CopulaGraphic.fit(y, dependence), "test")
        usual = sg.KaplanMeier.fit_censoring(y)
        for t in (0.0, 1.0, 1.5, 2.0, 2.5, 9.0):
            left, right = float(g.at(t, "left")), float(g.at(t))
            assert 0 <= left <= 1
            assert 0 <= right <= 1
            assert (right > 0) == (float(usual.at(t)) > 0)


def test_a_g_of_ones_own_is_refused():
    y = sg.Outcomes([1, 2, 3], [1, 0, 1])
    km = sg.KaplanMeier.fit_censoring(y)
    for own in (km, lambda t, side: np.ones(len(t)), WholeG(km)):
        with pytest.raises(sg.InputError, match="dependence needs laws"):
            assumed_g(sg.Dependence(0.3), own, y, None)
    assert assumed_g(None, km, y, None) is km


def test_independence_has_no_such_g():
    with pytest.raises(sg.InputError, match="dependence must not be 0"):
        DependentG(CopulaGraphic.fit(([1, 2], [1, 0]), 0), "test")
