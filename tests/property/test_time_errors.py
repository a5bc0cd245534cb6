"""Every method against loops and refits, on data with ties and edges."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
import strategies as own
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import pair

import survgauge as sg

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
SURROGATES = ["margin", "ipcw_t", "po", "pop_po"]


def naive_surrogate(method, c, train, area, tail, stop=math.inf):
    if method == "margin":
        return naive.margin(c, train, area, tail, stop)
    if method == "ipcw_t":
        return naive.ipcw_t(c, train)
    if method == "po":
        return naive.po(c, train, area, tail, stop)
    return naive.km_mean(train, area, tail, stop)


@pytest.mark.parametrize("method", SURROGATES)
@given(train=own.outcomes_with_event, test=own.test_outcomes, area=own.areas, tail=own.tails)
@settings(max_examples=150, deadline=None)
def test_surrogates_against_a_reference(method, train, test, area, tail):
    got = sg.surrogate_times(pair(test), y_train=pair(train), method=method, area=area, tail=tail)
    for i, (t, event) in enumerate(test):
        if event:
            assert (got.time[i], got.weight[i], got.defined[i]) == (t, 1.0, True)
            continue
        want = naive_surrogate(method, t, train, area, tail)
        assert got.defined[i] == (not math.isnan(want))
        if got.defined[i]:
            np.testing.assert_allclose(got.time[i], want, **CLOSE)
            weight = 1 - naive.survival_with_tail(train, t, tail)
            np.testing.assert_allclose(got.weight[i], weight, **CLOSE)
        else:
            assert got.weight[i] == 0


@given(y=own.outcomes_with_event, area=own.areas, tail=own.tails)
@settings(max_examples=300, deadline=None)
def test_pseudo_observations_in_sample_leave_one_out(y, area, tail):
    got = sg.surrogate_times(pair(y), area=area, tail=tail)
    for i, (_, event) in enumerate(y):
        if not event:
            want = naive.po_in_sample(i, y, area, tail)
            np.testing.assert_allclose(got.time[i], want, **CLOSE)


@given(
    train=own.outcomes_with_event, test=own.test_outcomes, tau=st.integers(1, 14), tail=own.tails
)
@settings(max_examples=200, deadline=None)
@pytest.mark.parametrize("method", ["margin", "ipcw_t", "po", "pop_po"])
def test_horizon_replaces_outcomes_and_stops_areas(method, train, test, tau, tail):
    got = sg.surrogate_times(pair(test), y_train=pair(train), method=method, tau=tau, tail=tail)
    short_train, short_test = naive.restrict(train, tau), naive.restrict(test, tau)
    for i, (t, event) in enumerate(short_test):
        want = t if event else naive_surrogate(method, t, short_train, "step", tail, tau)
        if not math.isnan(want):
            np.testing.assert_allclose(got.time[i], min(want, tau), **CLOSE)


def weighted_mean(losses, weights):
    return sum(w * x for w, x in zip(weights, losses, strict=True)) / sum(weights)


@pytest.mark.parametrize("name", ["absolute", "squared", "relative", "log", "normalised"])
@given(
    train=own.outcomes_with_event,
    test=own.test_outcomes,
    p=own.predictions,
    weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_errors_from_the_formula(name, train, test, p, weighted):
    p = p[: len(test)]
    scale = max(t for t, _ in train)
    assume(scale > 0)
    for method in [*SURROGATES, "uncensored", "hinge", "ipcw_d"]:
        losses, weights, count = [], [], 0
        for (t, event), guess in zip(test, p, strict=True):
            weight = 1.0
            target, prediction = float(t), guess
            if method in SURROGATES and not event:
                target = naive_surrogate(method, t, train, "step", "linear")
                if weighted:
                    weight = 1 - naive.survival_with_tail(train, t, "linear")
                weight = 0.0 if math.isnan(target) else weight
            elif method == "hinge" and not event:
                prediction = min(guess, target)
            elif method == "uncensored":
                weight = float(event)
            elif method == "ipcw_d":
                g = naive.g_at(test, t, left=True)
                weight = float(1 / g) if event and g > 0 else 0.0
            usable = not (name in ("relative", "log") and target <= 0) and (
                prediction > 0 or name != "log"
            )
            count += bool(usable or weight == 0)
            if weight > 0 and usable:
                losses.append(naive.loss(name, target, prediction, scale))
                weights.append(weight)
        call = {"y_train": pair(train), "method": method, "loss": name, "weighted": weighted}
        if not weights:
            with pytest.raises(sg.UndefinedMetricError):
                sg.time_error(pair(test), p, **call)
            continue
        want = weighted_mean(losses, weights)
        if method == "ipcw_d":
            ratio = sg.time_error(pair(test), p, normalize="weights", **call)
            np.testing.assert_allclose(ratio, want, **CLOSE)
            by_events = sg.time_error(pair(test), p, normalize="events", **call)
            np.testing.assert_allclose(by_events, want * sum(weights) / len(weights), **CLOSE)
            if name in ("absolute", "squared", "normalised"):
                want = want * sum(weights) / len(test)
            else:
                continue
        np.testing.assert_allclose(sg.time_error(pair(test), p, **call), want, **CLOSE)


@given(train=own.outcomes_with_event, test=own.test_outcomes, p=own.predictions, tail=own.tails)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("name", ["absolute", "squared", "relative", "log"])
def test_expected_is_the_mean_loss_given_survival(name, train, test, p, tail):
    p = p[: len(test)]
    assume(all(t > 0 or not e for t, e in test))
    assume(all(t > 0 for t, _ in test) or name in ("absolute", "squared"))
    details = sg.time_error(
        pair(test), p, y_train=pair(train), method="expected", loss=name, tail=tail
    )
    for i, ((t, event), guess) in enumerate(zip(test, p, strict=True)):
        want = (
            naive.loss(name, t, guess)
            if event
            else naive.expected_loss(name, t, guess, train, tail)
        )
        # The oracle integrates the tail numerically.
        np.testing.assert_allclose(details.loss[i], want, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(details.value, np.mean(details.loss), **CLOSE)


@given(y=own.outcomes, p=own.predictions, factor=st.sampled_from([2.0, 7.0, 0.25]))
@settings(max_examples=60, deadline=None)
def test_unit_order_and_replication(y, p, factor):
    time, event = map(np.array, pair(y))
    p = np.array(p[: len(y)])
    rng = np.random.default_rng(len(y))
    order = rng.permutation(len(y))
    times = rng.integers(1, 4, len(y))
    train = sg.Outcomes(np.append(time, [3.0, 9.0]), np.append(event, [True, False]))
    for method in ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected"):
        try:
            base = sg.mae((time, event), p, y_train=train, method=method)
        except sg.UndefinedMetricError:
            continue
        scaled = sg.Outcomes(train.time * factor, train.event)
        moved = sg.mae((time * factor, event), p * factor, y_train=scaled, method=method)
        np.testing.assert_allclose(moved, base * factor, **CLOSE)
        shuffled = sg.mae((time[order], event[order]), p[order], y_train=train, method=method)
        np.testing.assert_allclose(shuffled, base, **CLOSE)
        weighted = sg.mae(sg.Outcomes(time, event, times), p, y_train=train, method=method)
        copies = np.repeat(time, times), np.repeat(event, times)
        repeated = sg.mae(copies, np.repeat(p, times), y_train=train, method=method)
        np.testing.assert_allclose(weighted, repeated, **CLOSE)


@given(y=own.outcomes_with_event, p=own.predictions, seed=st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_frequencies_in_the_reference_equal_replicated_rows(y, p, seed):
    time, event = map(np.array, pair(y))
    counts = np.random.default_rng(seed).integers(1, 4, len(y))
    weighted, repeated = (
        sg.Outcomes(time, event, counts),
        (np.repeat(time, counts), np.repeat(event, counts)),
    )
    p = np.array(p[: len(y)])
    test = ([2.0, 5.0, 11.0], [False, False, True])
    for method in ("margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected"):
        for call in (
            lambda y_, p_, m=method: sg.mae(test, [1.0, 2.0, 3.0], y_train=y_, method=m),
            lambda y_, p_, m=method: sg.mae(y_, p_, method=m),
        ):
            try:
                want = call(repeated, np.repeat(p, counts))
            except sg.UndefinedMetricError:
                continue
            np.testing.assert_allclose(call(weighted, p), want, **CLOSE)


@given(y=own.outcomes_with_event, p=own.predictions)
@settings(max_examples=50, deadline=None)
def test_all_methods_agree_without_censoring(y, p):
    y = [(t, True) for t, _ in y]
    want = np.mean([abs(t - guess) for (t, _), guess in zip(y, p, strict=False)])
    for method in ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected"):
        got = sg.mae(pair(y), p[: len(y)], y_train=pair(y), method=method)
        np.testing.assert_allclose(got, want, **CLOSE)
