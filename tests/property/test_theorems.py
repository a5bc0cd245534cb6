"""The paper's theorems (section 3, appendices C and D) as properties."""

from __future__ import annotations

import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pair

import survgauge as sg

SLACK = 1e-9


@given(y=own.outcomes_with_event, tail=own.tails)
@settings(max_examples=300, deadline=None)
def test_pseudo_observation_is_never_before_censoring_nor_margin_in_sample(y, tail):
    po = sg.surrogate_times(pair(y), method="po", tail=tail)
    margin = sg.surrogate_times(pair(y), method="margin", tail=tail)
    censored = ~np.array([e for _, e in y])
    assert (po.time[censored] >= po_slack(pair(y)[0], censored)).all()
    assert (po.time[censored] >= margin.time[censored] * (1 - SLACK) - SLACK).all()


def po_slack(time, censored):
    return np.array(time)[censored] * (1 - SLACK) - SLACK


@given(train=own.outcomes_with_event, test=own.test_outcomes, tail=own.tails)
@settings(max_examples=300, deadline=None)
def test_pseudo_observation_is_never_before_censoring_nor_margin_against_a_reference(
    train, test, tail
):
    po = sg.surrogate_times(pair(test), y_train=pair(train), method="po", tail=tail)
    margin = sg.surrogate_times(pair(test), y_train=pair(train), method="margin", tail=tail)
    time, event = map(np.array, pair(test))
    assert (po.time[~event] >= time[~event] * (1 - SLACK) - SLACK).all()
    assert (po.time[~event] >= margin.time[~event] * (1 - SLACK) - SLACK).all()


@given(
    events=st.lists(st.integers(0, 9), min_size=1, max_size=10),
    c=st.integers(0, 10),
    tail=own.tails,
)
@settings(max_examples=200, deadline=None)
def test_one_censored_subject_makes_pseudo_observation_and_margin_equal(events, c, tail):
    y = [(t, True) for t in events] + [(c, False)]
    po = sg.surrogate_times(pair(y), method="po", tail=tail).time[-1]
    margin = sg.surrogate_times(pair(y), method="margin", tail=tail).time[-1]
    np.testing.assert_allclose(po, margin, rtol=1e-9)


def test_duplication_changes_pseudo_observations_but_not_margin_nor_ipcw_t():
    time, event = [1.0, 2.0, 3.0, 4.0, 6.0, 7.0], [1, 0, 1, 0, 1, 1]
    for method, same in (("margin", True), ("ipcw_t", True), ("po", False)):
        once = sg.surrogate_times((time, event), method=method).time
        twice = sg.surrogate_times((time * 2, event * 2), method=method).time[:6]
        assert np.allclose(once, twice, rtol=1e-12) is same, method


@given(
    t=st.lists(st.integers(0, 20), min_size=1, max_size=15),
    other=st.floats(-5, 25),
)
@settings(max_examples=200, deadline=None)
def test_median_minimises_mae_and_mean_minimises_mse(t, other):
    y = (t, [True] * len(t))

    def error(metric, guess):
        return metric(y, np.full(len(t), float(guess)), method="po")

    assert error(sg.mae, np.median(t)) <= error(sg.mae, other) + 1e-9
    assert error(sg.mse, np.mean(t)) <= error(sg.mse, other) + 1e-9


@given(seed=st.integers(0, 1000), n=st.integers(2, 8), m=st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_the_curve_that_generates_the_times_has_the_best_point_predictions(seed, n, m):
    """Median and mean of a discrete distribution minimise the expected losses."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(1, 5, m)).astype(float)
    weight = rng.integers(1, 6, m)
    survival = 1 - np.cumsum(weight) / weight.sum()
    distribution = sg.SurvivalCurves(times, [survival], interpolation="step")
    sample = np.repeat(times, weight)
    y = (sample, np.ones(sample.size, dtype=bool))
    other = np.full(sample.size, rng.uniform(0, times[-1]))
    mine = np.full(sample.size, distribution.median()[0])
    assert sg.mae(y, mine, method="po") <= sg.mae(y, other, method="po") + 1e-9
    mean = np.full(sample.size, distribution.mean()[0])
    assert mean[0] == pytest.approx(sample.mean(), rel=1e-12)
    assert sg.mse(y, mean, method="po") <= sg.mse(y, other, method="po") + 1e-9


def test_a_perfect_ranking_can_have_a_bad_error():
    """Appendix C.1: shift all predictions far away; the order stays, the error does not."""
    time = np.array([1.0, 2.0, 3.0, 4.0])
    predicted = time + 100
    assert (np.argsort(predicted) == np.argsort(time)).all()
    assert sg.mae((time, np.ones(4)), predicted, method="po") == 100
