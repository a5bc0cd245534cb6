from __future__ import annotations

import math

import naive
import numpy as np
import strategies as own
from hypothesis import given, settings
from strategies import pair

import survgauge as sg


@given(y=own.outcomes_with_event, tail=own.tails)
@settings(max_examples=300, deadline=None)
def test_in_sample_is_leave_one_out_for_everybody(y, tail):
    got = sg.pseudo_observations(pair(y), tail=tail)
    for i in range(len(y)):
        others = y[:i] + y[i + 1 :]
        if not others:
            want = naive.km_mean(y, tail=tail)
        elif not own.has_event(others) and tail != "hold":
            # Without its only event the mean of the others is infinite.
            want = -math.inf if max(t for t, _ in others) > 0 else None
        else:
            want = naive.po_in_sample(i, y, "step", tail)
        if want is not None:
            np.testing.assert_allclose(got[i], want, rtol=1e-9, atol=1e-9)


@given(train=own.outcomes_with_event, test=own.test_outcomes, tail=own.tails)
@settings(max_examples=300, deadline=None)
def test_against_a_reference_somebody_joins(train, test, tail):
    got = sg.pseudo_observations(pair(test), y_train=pair(train), tail=tail)
    for i, one in enumerate(test):
        joined = naive.km_mean([*train, one], tail=tail)
        want = (len(train) + 1) * joined - len(train) * naive.km_mean(train, tail=tail)
        np.testing.assert_allclose(got[i], want, rtol=1e-9, atol=1e-9)


@given(y=own.outcomes_with_event, seed=own.times)
@settings(max_examples=100, deadline=None)
def test_frequencies_equal_replicated_rows(y, seed):
    time, event = map(np.array, pair(y))
    counts = np.random.default_rng(seed).integers(1, 3, len(y))
    weighted = sg.pseudo_observations(sg.Outcomes(time, event, counts), tail="hold")
    repeated = sg.pseudo_observations(
        (np.repeat(time, counts), np.repeat(event, counts)), tail="hold"
    )
    np.testing.assert_allclose(np.repeat(weighted, counts), repeated, rtol=1e-9, atol=1e-9)
