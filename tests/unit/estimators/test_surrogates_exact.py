"""Surrogates at their edges: parts of the subjects, G from everywhere, and where S(c) is zero."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.estimated_g import WholeG
from survgauge.estimators.pseudo import PseudoMeans
from survgauge.estimators.reference import Reference
from survgauge.estimators.surrogates import METHODS, make_setting, surrogate_times

TRAIN = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 0, 1, 1, 0, 1])
TIME = np.array([0.5, 2.5, 6.0, 7.0, 3.0, 1.0, 4.5])
EVENT = np.array([1, 0, 0, 0, 1, 0, 1], dtype=bool)


@pytest.mark.parametrize("area", ["step", "trapezoid"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold", "nan"])
def test_where_kaplan_meier_has_ended_the_margin_is_the_own_time(area, tail):
    # The reference's last subject had the event: S(6) = 0, and so from there on.
    found = surrogate_times((TIME, EVENT), y_train=TRAIN, method="margin", area=area, tail=tail)
    np.testing.assert_array_equal(found.time[[2, 3]], [6.0, 7.0])
    np.testing.assert_array_equal(found.weight[[2, 3]], [1.0, 1.0])
    assert found.defined.all()
    assert found.notes == {}
    # S(2.5) = 5/6, S(1) = 5/6; the mean of T given T > c is the same between event times.
    np.testing.assert_allclose(found.weight[[1, 5]], 1 / 6)
    np.testing.assert_array_equal(found.weight[EVENT], 1.0)
    np.testing.assert_array_equal(found.time[EVENT], TIME[EVENT])


def test_margin_trapezoids_by_hand():
    found = surrogate_times((TIME, EVENT), y_train=TRAIN, method="margin", area="trapezoid")
    survival = {1: 5 / 6, 2: 5 / 6, 3: 5 / 8, 4: 5 / 12, 5: 5 / 12, 6: 0.0}

    def margin(c, s):
        nodes = [(c, s), *((t, v) for t, v in survival.items() if t > c)]
        area = sum(
            (b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(nodes, nodes[1:], strict=False)
        )
        return c + area / s

    assert found.time[1] == pytest.approx(margin(2.5, 5 / 6))
    assert found.time[5] == pytest.approx(margin(1.0, 5 / 6))


def test_a_tail_that_gives_no_mean_leaves_subjects_out_and_counts_them():
    train = ([1.0, 2.0, 3.0], [1, 1, 0])
    y = ([0.5, 2.5, 3.5, 2.0], [0, 0, 0, 1])
    for method in ("margin", "expected", "po"):
        found = surrogate_times(y, y_train=train, method=method, tail="nan")
        assert found.notes == {"excluded: the tail 'nan' gives no mean": 3}, method
        np.testing.assert_array_equal(found.defined, [False, False, False, True])
        np.testing.assert_array_equal(found.weight, [0.0, 0.0, 0.0, 1.0])
        unweighted = METHODS[method](make_setting(y, train, tail="nan", weighted=False))
        np.testing.assert_array_equal(unweighted.defined, [False, False, False, True])
    later = surrogate_times(y, y_train=train, method="ipcw_t")
    assert later.notes == {"excluded: no later event in the reference": 2}
    np.testing.assert_array_equal(later.defined, [True, False, False, True])
    assert later.time[0] == 1.5


def test_surrogates_above_the_horizon_are_counted_and_those_at_it_are_not():
    y = ([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    one = surrogate_times(y, y_train=([2.0, 4.0], [1, 1]), method="po", tau=4.0)
    assert (one.time <= 4.0).all()
    plain = surrogate_times(y, y_train=([2.0, 4.0], [1, 1]), method="pop_po", tau=4.0)
    np.testing.assert_array_equal(plain.time, [3.0, 2.0, 3.0, 4.0])
    assert plain.notes == {}
    # Nobody in the reference had the event by tau: theta is tau itself, which is not above it.
    late = surrogate_times(y, y_train=([5.0, 6.0], [1, 1]), method="pop_po", tau=4.0)
    np.testing.assert_array_equal(late.time, [4.0, 2.0, 4.0, 4.0])
    assert late.notes == {}
    rng = np.random.default_rng(3)
    t, c = rng.exponential(2.0, 40), rng.exponential(2.0, 40)
    y = np.minimum(t, c), t <= c
    free, bound = (make_setting(y, tau=1.5), surrogate_times(y, method="po", tau=1.5))
    raw = PseudoMeans(free.reference, leaving=True)
    above = int((raw.at(free.c, free.j) > 1.5).sum())
    assert above > 0
    assert bound.notes == {"imputed times above tau, set to tau": above}
    assert bound.time.max() == 1.5


def test_known_event_times_are_cut_at_the_horizon():
    truth = np.arange(1.0, 8.0)
    setting = make_setting((TIME, EVENT), tau=5.0).with_truth(truth)
    np.testing.assert_array_equal(METHODS["true"](setting).time, np.minimum(truth, 5.0))
    np.testing.assert_array_equal(METHODS["true"](setting).weight, np.ones(7))
    with pytest.raises(sg.InputError, match="true_time must be given"):
        METHODS["true"](make_setting((TIME, EVENT)))


def test_a_function_g_must_give_probabilities():
    setting = make_setting((TIME, EVENT), TRAIN, censoring=lambda t, side: np.full(t.size, 0.5))
    np.testing.assert_array_equal(setting.observable, [0.5] * 3)
    for values in (np.array([0.5, 1.2]), np.array([-0.1, 0.5])):
        wrong = make_setting(
            (TIME, EVENT), TRAIN, censoring=lambda t, side, v=values: np.resize(v, t.size)
        )
        with pytest.raises(sg.InputError, match=r"probabilities in \[0, 1\]"):
            _ = wrong.observable
    ends = make_setting(
        (TIME, EVENT), TRAIN, censoring=lambda t, side: np.resize([0.0, 1.0], t.size)
    )
    np.testing.assert_array_equal(ends.observable, np.resize([0.0, 1.0], 7)[EVENT])


def test_g_comes_from_where_it_was_asked_from():
    y = sg.Outcomes(TIME, EVENT)
    at = TIME[EVENT]
    own = sg.KaplanMeier.fit_censoring(y).at(at, side="left")
    theirs = Reference.of(TRAIN).censoring.at(at, side="left")
    assert (own != theirs).any()
    np.testing.assert_array_equal(make_setting(y, TRAIN).observable, own)
    np.testing.assert_array_equal(make_setting(y).observable, own)
    np.testing.assert_array_equal(make_setting(y, TRAIN, censoring="train").observable, theirs)
    given = sg.KaplanMeier.fit_censoring(TRAIN)
    np.testing.assert_array_equal(make_setting(y, censoring=given).observable, theirs)
    whole = replace(make_setting(y), censoring=WholeG(given))
    np.testing.assert_array_equal(whole.observable, theirs)


def test_events_that_are_never_observed_weigh_nothing():
    # Everybody who is at risk at 2 is censored there: G(3-) = 0.
    setting = make_setting(
        ([1.0, 3.0, 4.0, 2.0], [1, 1, 1, 0]),
        censoring=lambda t, side: np.where(t > 2, 0.0, 0.25),
    )
    found = METHODS["ipcw_d"](setting)
    np.testing.assert_array_equal(found.weight, [4.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.defined, [True, False, False, False])
    assert found.notes == {"excluded: events with G(t-) = 0": 2}


def test_weights_of_one_where_confidence_is_not_asked_for():
    y = (TIME, EVENT)
    setting = make_setting(y, TRAIN, weighted=False)
    np.testing.assert_array_equal(METHODS["margin"](setting).weight, np.ones(7))
    hinge = METHODS["hinge"](setting)
    np.testing.assert_array_equal(hinge.lower_bound, ~EVENT)
    np.testing.assert_array_equal(hinge.weight, np.ones(7))
    distribution = METHODS["expected"](make_setting(y, TRAIN))
    np.testing.assert_array_equal(distribution.weight, np.ones(7))
    assert distribution.time[1] == pytest.approx(METHODS["margin"](make_setting(y, TRAIN)).time[1])


def test_survival_past_the_reference_follows_the_tail():
    train = ([1.0, 2.0, 4.0, 4.0], [1, 1, 0, 0])
    y = ([4.0, 6.0, 8.0, 9.0], [0, 0, 0, 1])
    found = surrogate_times(y, y_train=train, method="margin")
    # S(4) = 1/2: the line from (0, 1) reaches zero at 8.
    np.testing.assert_allclose(found.weight, [0.5, 0.75, 1.0, 1.0])
    np.testing.assert_allclose(found.time, [6.0, 7.0, 8.0, 9.0])
    hazard = math.log(2) / 4
    found = surrogate_times(y, y_train=train, method="margin", tail="exponential")
    np.testing.assert_allclose(found.weight[:3], 1 - np.exp(-hazard * np.array([4.0, 6.0, 8.0])))
    np.testing.assert_allclose(found.time[:3], np.array([4.0, 6.0, 8.0]) + 1 / hazard)


def test_g_of_sampled_subjects_is_weighed_as_they_are():
    weight = np.array([1.0, 3.0, 0.5, 1.0, 2.0, 4.0, 1.0])
    found = make_setting((TIME, EVENT), sample_weight=weight).observable
    own = sg.KaplanMeier.fit_censoring(sg.Outcomes(TIME, EVENT, weight))
    np.testing.assert_array_equal(found, own.at(TIME[EVENT], side="left"))
    plain = make_setting((TIME, EVENT)).observable
    assert (found != plain).any()


def test_g_is_read_just_before_an_event():
    # Somebody is censored at 3, where an event is.
    given = sg.KaplanMeier.fit_censoring(([1.0, 3.0, 5.0], [1, 0, 1]))
    before = given.at(TIME[EVENT], side="left")
    assert (before != given.at(TIME[EVENT], side="right")).any()
    y = sg.Outcomes(TIME, EVENT)
    whole = replace(make_setting(y), censoring=WholeG(given))
    np.testing.assert_array_equal(whole.observable, before)
    for censoring in (given, lambda t, side: given.at(t, side=side)):
        np.testing.assert_array_equal(make_setting(y, censoring=censoring).observable, before)


def test_known_event_times_may_be_small():
    setting = make_setting((TIME, EVENT)).with_truth(np.zeros(7))
    np.testing.assert_array_equal(METHODS["true"](setting).time, np.zeros(7))
    with pytest.raises(sg.InputError, match="true_time"):
        make_setting((TIME, EVENT)).with_truth(np.full(7, -0.5))


def test_a_distribution_whose_steps_add_up_to_more_than_one_gives_no_negative_weight():
    rng = np.random.default_rng(0)
    grid = np.sort(rng.uniform(1, 10, 100))
    survival = np.sort(rng.uniform(0.1, 1, (50, 100)))[:, ::-1]
    conditional = sg.Conditional(sg.SurvivalCurves(grid, survival, "step"))
    y = sg.Outcomes(np.full(50, 0.5), np.zeros(50))
    setting = make_setting(y, sg.Outcomes([3, 5], [1, 1]), conditional=conditional)
    weight = METHODS["margin"](setting).weight
    # Everybody was censored before the distribution's first step, where S is 1.
    assert (weight >= 0).all()
    assert weight == pytest.approx(np.zeros(50), abs=1e-12)
