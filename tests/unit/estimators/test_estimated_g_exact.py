"""What subjects contribute through an estimated G, against a loop and differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.estimated_g import Derivative, EstimatedG

TIME = np.array([3.0, 1.0, 2.0, 2.0, 2.0, 4.0, 5.0, 5.0, 7.0, 6.0])
EVENT = np.array([1, 0, 1, 0, 1, 0, 1, 0, 1, 0], dtype=bool)
WEIGHT = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0])
#: How a score changes with the logarithms of its weights: of the events, and of survivors.
EVENT_PULLS = np.where(EVENT, np.array([0.3, 0, -0.2, 0, 0.5, 0, 0.4, 0, 0.1, 0]), 0.0)
AT = np.array([2.0, 3.5, 5.0])
SURVIVOR_PULLS = np.array([0.7, -0.4, 0.25])
LIMITS = list(itertools.product(("left", "right"), repeat=2))


def minus_log_g(weight, t, side, ties):
    """-log of reverse Kaplan-Meier by a loop over the distinct times."""
    total = 0.0
    for u in np.unique(TIME):
        if u > t or (side == "left" and u == t):
            continue
        at_risk = weight[u <= TIME].sum()
        if ties == "events_first":
            at_risk -= weight[(u == TIME) & EVENT].sum()
        censored = weight[(u == TIME) & ~EVENT].sum()
        if censored:
            total -= math.log(1 - censored / at_risk)
    return total


def pulled(weight, ties, limits):
    """What the derivative are the derivative of."""
    events = sum(
        p * minus_log_g(weight, t, limits[0], ties)
        for t, p in zip(TIME, EVENT_PULLS, strict=True)
        if p
    )
    survivors = sum(
        p * minus_log_g(weight, t, limits[1], ties) for t, p in zip(AT, SURVIVOR_PULLS, strict=True)
    )
    return events + survivors


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", ["events_first", "flipped"])
@pytest.mark.parametrize("limits", LIMITS)
def test_contributions_are_derivatives_by_frequency(ties, limits, weighted):
    base = WEIGHT if weighted else np.ones(10)
    y = sg.Outcomes(TIME, EVENT, WEIGHT if weighted else None)
    found = EstimatedG(y, ties=ties, event_limit=limits[0], survivor_limit=limits[1]).influence(
        Derivative(EVENT_PULLS, SURVIVOR_PULLS, AT)
    )
    step, wanted = 1e-5, np.empty(10)
    for i in range(10):
        more, less = base.copy(), base.copy()
        more[i] *= 1 + step
        less[i] *= 1 - step
        wanted[i] = (pulled(more, ties, limits) - pulled(less, ties, limits)) / (2 * step)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("limits", LIMITS)
def test_the_hazard_form_divides_by_everybody_at_risk(limits):
    y = sg.Outcomes(TIME, EVENT, WEIGHT)
    found = EstimatedG(y, kind="hazard", event_limit=limits[0], survivor_limit=limits[1]).influence(
        Derivative(EVENT_PULLS, SURVIVOR_PULLS, AT)
    )
    wanted = np.zeros(10)
    for i, u in itertools.product(range(10), np.unique(TIME)):
        at_risk = WEIGHT[u <= TIME].sum()
        hazard = WEIGHT[(u == TIME) & ~EVENT].sum() / at_risk
        jump = (TIME[i] == u and not EVENT[i]) - (TIME[i] >= u) * hazard
        entered = u < TIME if limits[0] == "left" else u <= TIME
        later = u < AT if limits[1] == "left" else u <= AT
        total = EVENT_PULLS[entered].sum() + SURVIVOR_PULLS[later].sum()
        wanted[i] += WEIGHT[i] * jump * total / at_risk
    np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_scores_of_events_alone_have_no_survivors():
    derivative = Derivative.of_events(EVENT_PULLS)
    assert (derivative.survivors.size, derivative.times.size) == (0, 0)
    g = EstimatedG(sg.Outcomes(TIME, EVENT))
    np.testing.assert_allclose(
        g.influence(derivative), g.influence(Derivative(EVENT_PULLS, np.zeros(3), AT)), atol=1e-15
    )
    # The sum over the subjects is zero: G solves its own equation.
    assert g.influence(derivative).sum() == pytest.approx(0.0, abs=1e-15)


def test_one_time_and_nobody_left():
    y = sg.Outcomes([2.0, 2.0], [1, 0])
    found = EstimatedG(y).influence(Derivative.of_events(np.array([1.0, 0.0])))
    np.testing.assert_array_equal(found, [0.0, 0.0])
    alone = sg.Outcomes([2.0], [0])
    np.testing.assert_array_equal(
        EstimatedG(alone).influence(Derivative.of_events(np.zeros(1))), [0.0]
    )


def test_at_the_last_time_nothing_is_left_to_move():
    # With tied events at risk a censoring at the last time leaves somebody, but no weight after it.
    y = sg.Outcomes([1.0, 2.0, 3.0, 3.0, 2.0], [1, 0, 1, 0, 1])
    derivative = Derivative.of_events(np.array([0.5, 0.0, 2.0, 0.0, 1.0]))
    found = EstimatedG(y, ties="flipped").influence(derivative)
    assert found[2] == found[3] != 0.0
    assert found.sum() == pytest.approx(0.0, abs=1e-15)
