from __future__ import annotations

import numpy as np
import pytest
from dependent_worlds import (
    CENSORING_TIMES,
    DEPENDENCES,
    EVENT_TIMES,
    joint_masses,
    observed,
    population,
)

import survgauge as sg
from survgauge.reference import dependent_law
from survgauge.reference.dependent_law import DependentLaw
from survgauge.reference.losses import LOSSES
from survgauge.reference.residual import ResidualLaw

each = pytest.mark.parametrize("dependence", DEPENDENCES, ids=str)


@each
def test_expected_losses_of_the_censored_are_those_of_the_world(dependence):
    t, c, _, mass = population(dependence)
    reference, masses = sg.Reference(observed(t, c, mass)), joint_masses(dependence)
    law = DependentLaw.of_reference(reference, dependence, "linear")
    for k, at in enumerate(CENSORING_TIMES[:-1]):
        later = at < EVENT_TIMES
        share = masses[later, k] / masses[later, k].sum()
        given = np.array([at])
        assert law.mean(given, law.places(given))[0] == pytest.approx(share @ EVENT_TIMES[later])
        for p in (0.7, 2.5, 9.0):
            for name in ("absolute", "squared"):
                loss = LOSSES[name]
                wanted = share @ loss.of(EVENT_TIMES[later], np.full(later.sum(), p))
                found = law.expected(loss, given, np.array([p]), law.places(given))
                assert found[0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("copula", ["clayton", "frank", "gumbel"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold"])
@pytest.mark.parametrize("tau", [None, 12.0])
def test_hardly_any_dependence_is_hardly_anything_but_kaplan_meier(copula, tail, tau):
    rng = np.random.default_rng(0)
    y = rng.integers(1, 30, 200).astype(float), rng.random(200) < 0.6
    reference = sg.Reference(y).restricted(tau)
    law = DependentLaw.of_reference(reference, sg.Dependence(1e-12, copula), tail)
    usual = ResidualLaw.of_reference(reference, tail)
    c = np.array([0.0, 3.0, 3.5, 11.0])
    p, j = np.array([2.0, 8.0, 20.0, 11.5]), usual.places(c)
    for loss in (LOSSES["absolute"], LOSSES["squared"]):
        wanted = usual.expected(loss, c, p, j)
        np.testing.assert_allclose(law.expected(loss, c, p, j), wanted, rtol=1e-8)
    np.testing.assert_allclose(law.mean(c, j), usual.mean(c, j), rtol=1e-8)
    np.testing.assert_allclose(law.alive(c, j), usual.alive(c, j), rtol=1e-8)


@pytest.mark.parametrize("y", [([1, 2, 3], [1, 1, 1]), ([1, 2, 3], [1, 0, 0]), ([4], [1])])
def test_censored_past_the_reference(y):
    law = DependentLaw.of_reference(sg.Reference(y), sg.Dependence(0.3), "linear")
    c = np.array([0.5, 10.0])
    found = law.mean(c, law.places(c))
    assert (found >= c).all()


def test_neighbouring_censoring_times_share_a_law_where_there_are_many(monkeypatch):
    rng = np.random.default_rng(2)
    y = rng.exponential(size=600), rng.random(600) < 0.5
    dependence = sg.Dependence(0.5)
    exact = DependentLaw(sg.Reference(y), dependence, "linear")
    monkeypatch.setattr(dependent_law, "_MOST", 1)
    few = DependentLaw(sg.Reference(y), dependence, "linear")
    assert len(exact._tables) > 250
    assert len(few._tables) == 64
    c = np.linspace(0.01, 2, 50)
    j = exact.places(c)
    np.testing.assert_allclose(few.mean(c, j), exact.mean(c, j), rtol=0.02)


@pytest.mark.parametrize(("name", "value"), [("_MANY", 0), ("_BLOCK", 1)])
def test_laws_by_themselves_or_in_blocks_are_the_same(monkeypatch, name, value):
    rng = np.random.default_rng(2)
    law = DependentLaw(
        sg.Reference((rng.exponential(size=60), rng.random(60) < 0.5)), DEPENDENCES[1], "linear"
    )
    c, p = rng.exponential(size=80), rng.exponential(size=80)
    j, loss = law.places(c), LOSSES["absolute"]
    wanted = law.mean(c, j), law.expected(loss, c, p, j), law.alive(c, j)
    monkeypatch.setattr(dependent_law, name, value)
    found = law.mean(c, j), law.expected(loss, c, p, j), law.alive(c, j)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_nobody_censored():
    law = DependentLaw(sg.Reference(([1, 2], [1, 0])), sg.Dependence(0.3), "linear")
    assert law.mean(np.empty(0), np.empty(0, dtype=int)).size == 0
