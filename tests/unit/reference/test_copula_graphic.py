from __future__ import annotations

import naive
import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pair

import survgauge as sg
from survgauge.reference.copulas import FAMILIES

dependences = st.one_of(
    st.builds(sg.Dependence, st.floats(0.05, 0.8), st.sampled_from(["clayton", "gumbel", "frank"])),
    st.builds(sg.Dependence, st.floats(-0.8, -0.05), st.just("frank")),
)


@given(y=own.outcomes, dependence=dependences)
@settings(max_examples=200, deadline=None)
def test_both_laws_match_a_walk_over_the_subjects(y, dependence):
    time, event = pair(y)
    found = sg.CopulaGraphic.fit((time, event), dependence)
    law, g = naive.copula_graphic(time, event, dependence.copula, dependence.archimedean.theta)
    np.testing.assert_allclose(found.law.survival, law, atol=1e-11)
    np.testing.assert_allclose(found.censoring.survival, g, atol=1e-11)


@given(y=own.outcomes, dependence=dependences)
@settings(max_examples=100, deadline=None)
def test_the_two_laws_have_the_observed_times_as_joint_law(y, dependence):
    time, event = map(np.asarray, pair(y))
    found = sg.CopulaGraphic.fit((time, event), dependence)
    joint = dependence.archimedean.joint(found.law.survival, found.censoring.survival)
    seen = [np.mean(time > t) for t in found.times]
    np.testing.assert_allclose(joint, seen, atol=1e-12)


@given(y=own.outcomes, copula=st.sampled_from(list(FAMILIES)))
@settings(max_examples=100, deadline=None)
def test_without_dependence_and_close_to_it_they_are_kaplan_meier(y, copula):
    km, g = sg.KaplanMeier.fit(pair(y)), sg.KaplanMeier.fit_censoring(pair(y))
    none = sg.CopulaGraphic.fit(pair(y), sg.Dependence(0, copula))
    assert none.law.survival.tolist() == km.survival.tolist()
    assert none.censoring.survival.tolist() == g.survival.tolist()
    hardly = sg.CopulaGraphic.fit(pair(y), sg.Dependence(1e-13, copula))
    np.testing.assert_allclose(hardly.law.survival, km.survival, atol=1e-12)
    np.testing.assert_allclose(hardly.censoring.survival, g.survival, atol=1e-12)


@given(y=own.outcomes, dependence=dependences, data=st.data())
@settings(max_examples=50, deadline=None)
def test_frequencies_are_repeated_subjects(y, dependence, data):
    time, event = map(np.asarray, pair(y))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=time.size, max_size=time.size))
    if not sum(counts):
        return
    weighted = sg.CopulaGraphic.fit(sg.Outcomes(time, event, counts), dependence)
    repeated = sg.CopulaGraphic.fit((time.repeat(counts), event.repeat(counts)), dependence)
    assert weighted.times.tolist() == repeated.times.tolist()
    np.testing.assert_allclose(weighted.law.survival, repeated.law.survival, atol=1e-13)


def test_clayton_by_hand():
    """theta = 2: S(3)^-2 = 1 + (16/9 - 1) + (16 - 4); G(2)^-2 = 1 + (4 - 16/9)."""
    found = sg.CopulaGraphic.fit(([1, 2, 3, 4], [1, 0, 1, 1]), 0.5)
    np.testing.assert_allclose(found.law.survival, [0.75, 0.75, (124 / 9) ** -0.5, 0])
    np.testing.assert_allclose(found.censoring.survival, [1, (29 / 9) ** -0.5] + [0.5570860145] * 2)


def test_dependence_says_who_was_censored_early():
    """Those censored early were about to have the event, so fewer are event-free in the end."""
    y = ([1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 0, 1, 0, 1, 0, 1])
    last = [sg.CopulaGraphic.fit(y, tau).law.at(6.5) for tau in (-0.5, -0.2, 0, 0.2, 0.5)]
    assert (np.diff(last) < 0).all()


@pytest.mark.parametrize("dependence", [0.3, -0.3, sg.Dependence(0.3, "gumbel")])
def test_ends(dependence):
    nobody = sg.CopulaGraphic.fit(([1, 2, 3], [0, 0, 0]), dependence)
    assert nobody.law.survival.tolist() == [1, 1, 1]
    assert nobody.censoring.survival[-1] == 0
    everybody = sg.CopulaGraphic.fit(([1, 2, 3], [1, 1, 1]), dependence)
    np.testing.assert_allclose(everybody.law.survival, [2 / 3, 1 / 3, 0], atol=1e-15)
    assert everybody.censoring.survival.tolist() == [1, 1, 1]
    one = sg.CopulaGraphic.fit(([0], [1]), dependence)
    assert one.law.survival.tolist() == [0]
    assert one.censoring.survival.tolist() == [1]


@pytest.mark.parametrize("name", FAMILIES)
def test_many_subjects_and_a_strong_dependence(name):
    rng = np.random.default_rng(0)
    y = rng.exponential(size=100_000), rng.random(100_000) < 0.5
    found = sg.CopulaGraphic.fit(y, sg.Dependence(0.97, name))
    joint = found.dependence.archimedean.joint(found.law.survival, found.censoring.survival)
    assert np.abs(joint - 1 + np.arange(1, 100_001) / 100_000).max() < 1e-9


@pytest.mark.parametrize(("name", "tau"), [("clayton", 0.5), ("frank", -0.4), ("gumbel", 0.4)])
def test_the_law_is_found_from_dependent_censoring(name, tau):
    n = 20_000
    time = np.random.default_rng(1).exponential(size=n)
    drawn = sg.semisynthetic(None, (time, np.ones(n)), "exponential", 3, kendall_tau=tau,
                             copula=name, whole_units=False)  # fmt: skip
    at = np.array([0.2, 0.5, 1.0, 1.5])
    found = sg.CopulaGraphic.fit(drawn.y, sg.Dependence(tau, name)).law.at(at)
    assert np.abs(found - np.exp(-at)).max() < 0.015
    assert np.abs(sg.KaplanMeier.fit(drawn.y).at(at) - np.exp(-at)).max() > 0.04
