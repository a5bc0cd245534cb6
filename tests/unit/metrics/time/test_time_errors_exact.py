"""Time errors to the last digit: values, contributions, standard errors, notes, on paper."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import survgauge as sg
from survgauge.estimators.reference import Reference
from survgauge.estimators.residual import LOSSES, ResidualDistribution


def test_a_censored_subject_at_zero_counts_whether_or_not_others_are_lost():
    """1/N is over all subjects with a loss to have; one who only counts needs none."""
    y, predicted = ([0.0, 2.0, 4.0], [0, 1, 1]), [1.0, 3.0, 3.0]
    everybody_seen = sg.KaplanMeier.fit_censoring(([9.0], [1]))
    options = {"method": "ipcw_d", "loss": "relative", "censoring": everybody_seen}
    # |2 - 3|/2 and |4 - 3|/4 over three subjects
    assert sg.time_error(y, predicted, **options) == pytest.approx(0.75 / 3)
    more = ([0.0, 2.0, 4.0, 0.0], [0, 1, 1, 1]), [*predicted, 1.0]
    details = sg.time_error(*more, **options)
    assert details.value == pytest.approx(0.75 / 3)
    assert details.support["notes"] == {"excluded: the relative loss needs positive times": 1}
    assert details.normalizer == 3.0


def test_contributions_and_standard_error_of_a_plain_mean():
    y = ([1.0, 2.0, 4.0, 8.0], [1, 1, 1, 1])
    details = sg.time_error(y, [2.0, 2.0, 2.0, 2.0], method="uncensored")
    losses = [1.0, 0.0, 2.0, 6.0]
    assert details.loss.tolist() == losses
    assert details.weight.tolist() == [1.0] * 4
    assert details.normalizer == 4.0
    assert details.value == 2.25
    assert details.contributions == pytest.approx([(x - 2.25) / 4 for x in losses])
    spread = math.fsum((x - 2.25) ** 2 for x in losses) / 3
    assert details.stderr == pytest.approx(math.sqrt(spread / 4))


def test_contributions_and_standard_error_of_ipcw_d():
    """G(t-) is 1 before the censoring at 2 and 3/4 after: 5 subjects, 4 at risk at 2."""
    y_train = ([1.0, 2.0, 3.0, 4.0, 5.0], [1, 0, 1, 1, 1])
    y = ([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    options = {"y_train": y_train, "censoring": sg.KaplanMeier.fit_censoring(y_train)}
    details = sg.time_error(y, [0.0] * 4, method="ipcw_d", **options)
    assert details.weight == pytest.approx([1, 1, 0, 4 / 3])
    value = (1 + 2 + 16 / 3) / 4
    assert details.value == pytest.approx(value)
    parts = np.array([1 - value, 2 - value, -value, 16 / 3 - value]) / 4
    assert details.contributions == pytest.approx(parts)
    assert details.stderr == pytest.approx(math.sqrt((parts**2).sum() * 4 / 3))
    by_weights = sg.time_error(y, [0.0] * 4, method="ipcw_d", normalize="weights", **options)
    assert by_weights == pytest.approx((1 + 2 + 16 / 3) / (2 + 4 / 3))
    by_events = sg.time_error(y, [0.0] * 4, method="ipcw_d", normalize="events", **options)
    assert by_events == pytest.approx((1 + 2 + 16 / 3) / 3)


def test_support_counts_what_the_reference_leaves_open():
    y_train = ([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 0])
    y = ([1.0, 5.0, 6.0, 2.0], [1, 0, 1, 0])
    details = sg.time_error(y, [1.0, -1.0, 3.0, 2.0], method="margin", y_train=y_train)
    support = details.support
    assert support["subjects"] == 4
    assert support["events"] == 2
    assert support["censored"] == 2
    assert support["reference_subjects"] == 4
    assert support["last_reference_time"] == 4.0
    assert support["reference_survival_at_end"] == 0.5
    assert support["censored_past_reference"] == 1
    assert support["events_past_reference"] == 1
    assert support["negative_predictions"] == 1
    assert support["tail_share"] is None
    assert support["largest_weight"] == 1.0


def test_surrogates_above_tau_are_counted_and_set_to_it():
    y_train = ([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 0])
    found = sg.surrogate_times(([2.5, 1.0], [0, 1]), y_train=y_train, method="po", tau=3.0)
    assert found.notes == {"imputed times above tau, set to tau": 1}
    assert found.time.tolist() == [3.0, 1.0]


def test_lost_subjects_are_counted_with_the_reason():
    y_train = ([1.0, 2.0, 3.0], [1, 0, 0])
    later = sg.surrogate_times(([2.0, 0.5], [0, 0]), y_train=y_train, method="ipcw_t")
    assert later.notes == {"excluded: no later event in the reference": 1}
    assert later.defined.tolist() == [False, True]
    assert later.weight[0] == 0.0
    tail = sg.surrogate_times(([2.0], [0]), y_train=y_train, method="margin", tail="nan")
    assert tail.notes == {"excluded: the tail 'nan' gives no mean": 1}
    last_censored = sg.KaplanMeier.fit_censoring(([1.0, 2.0], [1, 0]))
    y, options = ([3.0, 1.0], [1, 1]), {"method": "ipcw_d", "censoring": last_censored}
    unseen = sg.time_error(y, [1.0, 3.0], **options)
    assert unseen.support["notes"] == {"excluded: events with G(t-) = 0": 1}
    assert unseen.value == 1.0  # the other error, 2, over both subjects: who weighs nothing counts


FUNCTIONS = {
    "1": np.ones_like,
    "t": lambda t: t,
    "t2": np.square,
    "1/t": lambda t: 1 / t,
    "log t": np.log,
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_terms_of_a_loss_add_up_to_it(name):
    rule = LOSSES[name]
    t, p = np.meshgrid([0.25, 1.0, 3.0, 7.5], [0.5, 2.0, 3.0])
    total = sum(FUNCTIONS[f](t) * g(p) for f, g in rule.terms)
    wanted = rule.of(t, p)
    np.testing.assert_allclose(np.sign(t - p) * total if rule.signed else total, wanted, rtol=1e-14)
    np.testing.assert_array_equal(rule.defined(t, p), np.ones(t.shape, dtype=bool))


@pytest.mark.parametrize("tau", [None, 9.0])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_expected_losses_under_an_exponential_tail_are_integrals(name, tau):
    """Half of the weight lies past 4, where the tail keeps the hazard log(2) / 4."""
    ref = Reference.of(([1.0, 2.0, 4.0, 4.0], [1, 1, 0, 0])).restricted(tau)
    rule, hazard = LOSSES[name], math.log(2) / 4

    def of(t, p):
        return float(rule.of(np.array([t]), np.array([p]))[0])

    distribution, stop = (
        ResidualDistribution.of_reference(ref, "exponential"),
        np.inf if tau is None else tau,
    )
    for c, p in ((0.5, 3.0), (1.5, 1.75), (2.5, 6.0), (5.0, 5.5), (4.5, 12.0)):
        parts = [(of(t, p), 0.25) for t in (1.0, 2.0) if t > c]
        start = max(c, 4.0)
        edges = [start, p, stop] if start < p < stop else [start, stop]
        for a, b in itertools.pairwise(edges):
            loss, _ = quad(lambda t, p=p: of(t, p) * hazard * math.exp(-hazard * t), a, b)
            weight = math.exp(-hazard * a) - math.exp(-hazard * b)
            parts.append((loss / weight, weight))
        if tau is not None:
            parts.append((of(tau, p), math.exp(-hazard * tau)))
        losses, weights = np.array(parts).T
        wanted = np.average(losses, weights=weights)
        j = np.searchsorted(ref.event_times, [c], "right")
        found = distribution.expected(rule, np.array([c]), np.array([p]), j)
        assert found[0] == pytest.approx(wanted, rel=1e-7), (c, p)
