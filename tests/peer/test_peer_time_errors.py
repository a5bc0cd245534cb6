"""SurvivalEVAL 0.9.0 as a black box: where its time errors are ours, and where they are not.

With ``area="trapezoid"`` and ``normalize="events"`` every method below gives its number, also for
subjects censored past the reference. The differences, each shown by a test that recomputes the
other convention, are

* Hinge: unweighted (its default) equal; ``weighted=True`` weights censored subjects by 1 - S(c),
  where ours always weigh 1.
* IPCW-D where no test subject is censored: it leaves the weights 1/G out.
* IPCW-D past the last reference time: its G goes on along the line from (0, 1) through the last
  point, and it refuses the whole data set where that line has reached zero. Ours keeps its last
  value and leaves out, counted, the events with G(t-) = 0.
* Events at time zero in the reference: its pseudo-observations come from means divided by S(0), the
  means given T > 0, and the tail of its weight 1 - S(c) past the reference starts at (0, S(0)), not
  at (0, 1). Censorings at zero change nothing.
* Nothing to average over, or no event in the reference: NaN with a warning, ZeroDivisionError or
  IndexError; ours raises UndefinedMetricError.

Its ``truncated_time`` is another quantity than our ``tau`` (it leaves Uncensored and Hinge alone),
so the two are not compared.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import strategies as own
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import pair

import survgauge as sg

pytestmark = pytest.mark.peer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    survival_eval = pytest.importorskip("SurvivalEVAL")

CLOSE = {"rtol": 1e-6, "atol": 1e-9}
METHODS = {
    "Uncensored": "uncensored",
    "Margin": "margin",
    "IPCW-D": "ipcw_d",
    "IPCW-T": "ipcw_t",
    "Pseudo_obs": "po",
}
#: Whole times make ties; none of them is zero (see above).
reference_outcomes = st.lists(
    st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=12
).filter(own.has_event)


def theirs(test, predicted, train, method, weighted, error="mae"):
    arrays = [np.asarray(a, dtype=float) for a in (predicted, *test, *train)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = survival_eval.PointEvaluator(*arrays)
        return float(getattr(evaluator, error)(method=method, weighted=weighted))


def ours(test, predicted, train, method, weighted, error="mae", **options):
    options = {"area": "trapezoid", "normalize": "events", "censoring": "train", **options}
    metric = getattr(sg, error)
    return metric(test, predicted, y_train=train, method=method, weighted=weighted, **options)


def draw(seed, n, tied, last=None):
    rng = np.random.default_rng(seed)
    event_time, censoring = 20 * rng.weibull(1.3, n), rng.exponential(30, n)
    if tied:
        event_time, censoring = np.ceil(event_time), np.ceil(censoring)
    time, event = np.minimum(event_time, censoring), event_time <= censoring
    if last is not None:
        event[time == time.max()] = last
    return time, event


def inside(test, train):
    keep = test[0] <= np.max(train[0])
    return test[0][keep], test[1][keep]


@pytest.mark.parametrize("error", ["mae", "mse", "rmse"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("last", [True, False], ids=["ends with event", "ends censored"])
@pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])
@pytest.mark.parametrize("method", METHODS)
def test_same_number(method, tied, last, weighted, error):
    for seed in range(5):
        train, test = draw(seed, 150, tied, last), draw(100 + seed, 120, tied)
        if method == "IPCW-D":
            test = inside(test, train)
        predicted = np.random.default_rng(seed).gamma(2, 10, test[0].size)
        got = ours(test, predicted, train, METHODS[method], weighted, error)
        expected = theirs(test, predicted, train, method, weighted, error)
        np.testing.assert_allclose(got, expected, **CLOSE)


@pytest.mark.parametrize("method", METHODS)
@given(
    train=reference_outcomes,
    test=own.test_outcomes,
    predicted=own.predictions,
    weighted=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_same_number_on_few_subjects(method, train, test, predicted, weighted):
    """All kinds of edges: one event, ties with the last time, censored past the reference."""
    if method == "IPCW-D":
        last = max(t for t, _ in train)
        test = [(t, e) for t, e in test if t <= last]
        assume(not all(e for _, e in test))
    predicted = predicted[: len(test)]
    try:
        got = ours(pair(test), predicted, pair(train), METHODS[method], weighted)
    except sg.UndefinedMetricError:
        assume(False)
    expected = theirs(pair(test), predicted, pair(train), method, weighted)
    np.testing.assert_allclose(got, expected, **CLOSE)


def test_step_areas_and_its_trapezoids_differ():
    """So the comparison above is not blind to the area."""
    train, test = draw(1, 150, tied=True), draw(2, 120, tied=True)
    predicted = np.full(120, 10.0)
    for method in ("Margin", "Pseudo_obs"):
        by_steps = ours(test, predicted, train, METHODS[method], True, area="step")
        assert abs(by_steps - theirs(test, predicted, train, method, True)) > 1e-3


@pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])
def test_hinge_weights(tied):
    train, test = draw(3, 150, tied), draw(4, 120, tied)
    predicted = np.random.default_rng(5).gamma(2, 10, 120)
    plain = theirs(test, predicted, train, "Hinge", weighted=False)
    for weighted in (True, False):
        np.testing.assert_allclose(ours(test, predicted, train, "hinge", weighted), plain, **CLOSE)
    details = sg.time_error(test, predicted, y_train=train, method="hinge")
    confidence = sg.surrogate_times(test, y_train=train, method="margin").weight
    weighted_hinge = np.average(details.loss, weights=confidence)
    assert abs(weighted_hinge - plain) > 1e-3
    expected = theirs(test, predicted, train, "Hinge", weighted=True)
    np.testing.assert_allclose(weighted_hinge, expected, **CLOSE)


def test_ipcw_d_without_censored_test_subjects():
    train, predicted = ([1, 2, 3, 4], [1, 0, 1, 1]), [0.0, 0.0]
    assert theirs(([1.0, 3.0], [1, 1]), predicted, train, "IPCW-D", True) == 2.0
    weighted = (1 + 3 / (2 / 3)) / 2
    np.testing.assert_allclose(
        ours(([1.0, 3.0], [1, 1]), predicted, train, "ipcw_d", True), weighted, **CLOSE
    )
    # One more subject, censored, changes nothing about the events, but brings the weights back.
    test = ([1.0, 3.0, 1.0], [1, 1, 0])
    np.testing.assert_allclose(
        theirs(test, [*predicted, 0.0], train, "IPCW-D", True), weighted, **CLOSE
    )


def test_ipcw_d_past_the_last_reference_time():
    train, test = ([1, 2, 3, 4], [1, 0, 1, 1]), ([1.0, 3.0, 5.0, 1.0], [1, 1, 1, 0])
    predicted = [0.0] * 4
    g_end = sg.KaplanMeier.fit_censoring(train).last_survival
    np.testing.assert_allclose(g_end, 2 / 3)
    held = (1 + 3 / g_end + 5 / g_end) / 3
    np.testing.assert_allclose(ours(test, predicted, train, "ipcw_d", True), held, **CLOSE)
    on_the_line = (1 + 3 / g_end + 5 / (1 - 5 * (1 - g_end) / 4)) / 3
    expected = theirs(test, predicted, train, "IPCW-D", True)
    np.testing.assert_allclose(expected, on_the_line, **CLOSE)
    far = ([1.0, 3.0, 13.0, 1.0], [1, 1, 1, 0])
    with pytest.raises(ValueError, match="finite and positive"):
        theirs(far, predicted, train, "IPCW-D", True)
    held_far = (1 + 3 / g_end + 13 / g_end) / 3
    np.testing.assert_allclose(ours(far, predicted, train, "ipcw_d", True), held_far, **CLOSE)


def test_ipcw_d_where_the_reference_ends_censored():
    """One test event past a censored end: it refuses everybody, ours leaves out that one."""
    train, test = ([1, 2, 3, 4], [1, 0, 1, 0]), ([1.0, 3.0, 5.0, 1.0], [1, 1, 1, 0])
    with pytest.raises(ValueError, match="finite and positive"):
        theirs(test, [0.0] * 4, train, "IPCW-D", True)
    details = sg.time_error(test, [0.0] * 4, y_train=train, method="ipcw_d", censoring="train")
    assert details.support["notes"] == {"excluded: events with G(t-) = 0": 1}


def test_nothing_to_average_over():
    train, test = ([1.0, 2.0, 3.0], [1, 0, 1]), ([1.0, 2.0], [0, 0])
    assert np.isnan(theirs(test, [0.0, 0.0], train, "Uncensored", True))
    with pytest.raises(sg.UndefinedMetricError):
        ours(test, [0.0, 0.0], train, "uncensored", True)
    no_events = ([1.0, 2.0, 3.0], [0, 0, 0])
    with pytest.raises(IndexError):
        theirs(test, [0.0, 0.0], no_events, "Pseudo_obs", True)
    with pytest.raises(sg.UndefinedMetricError):
        ours(test, [0.0, 0.0], no_events, "po", True)


@pytest.mark.parametrize("c", [0.5, 1.0, 2.5, 4.0])
def test_pseudo_observations_with_reference_events_at_zero(c):
    train = ([0.0, 0.0, 1.0, 2.0, 3.0, 5.0], [1, 0, 1, 1, 0, 1])
    joined = ([*train[0], c], [*train[1], 0])

    def given_later_than_zero(y):
        km = sg.KaplanMeier.fit(y)
        return km.mean(area="trapezoid") / float(km.at(0.0))

    n = len(train[0])
    expected = (n + 1) * given_later_than_zero(joined) - n * given_later_than_zero(train)
    got = theirs(([c], [0]), [0.0], train, "Pseudo_obs", weighted=False)
    np.testing.assert_allclose(got, expected, **CLOSE)
    own_value = sg.surrogate_times(([c], [0]), y_train=train, area="trapezoid").time[0]
    if c >= 1:
        assert abs(own_value - got) > 1e-3


def test_weight_past_the_reference_with_reference_events_at_zero():
    train, c = ([0.0, 1.0, 2.0, 3.0, 5.0], [1, 1, 1, 1, 0]), 6.0
    km = sg.KaplanMeier.fit(train)
    start, end = float(km.at(0.0)), km.last_survival
    own = sg.surrogate_times(([c], [0]), y_train=train, method="margin", area="trapezoid")
    np.testing.assert_allclose(own.weight, 1 - (1 - c * (1 - end) / 5))
    # One event that is off by 1 and one subject censored at c, both predicted at zero.
    got = theirs(([1.0, c], [1, 0]), [0.0, 0.0], train, "Margin", weighted=True)
    weight = 1 - (start - c * (start - end) / 5)
    np.testing.assert_allclose(got, (1 + weight * own.time[0]) / (1 + weight), **CLOSE)


def test_censorings_at_zero_change_nothing():
    train, test = ([0.0, 0.0, 1.0, 2.0, 3.0, 5.0], [0, 0, 1, 1, 0, 1]), ([2.0, 0.0, 4.0], [0, 0, 1])
    for method, name in METHODS.items():
        got = ours(test, [1.0, 2.0, 3.0], train, name, True)
        np.testing.assert_allclose(got, theirs(test, [1.0, 2.0, 3.0], train, method, True), **CLOSE)


def test_times_from_curves():
    """Medians on the grid and past it, and the error that follows from them."""
    rng = np.random.default_rng(6)
    train, test = draw(7, 150, tied=False), draw(8, 120, tied=False)
    grid = np.linspace(0, 25, 40)
    scale, shape = rng.uniform(5, 60, 120)[:, None], rng.uniform(0.7, 2, 120)[:, None]
    survival = np.exp(-((grid / scale) ** shape))
    curves = sg.SurvivalCurves(grid, survival)
    assert 0.1 < np.mean(~curves.reaches(0.5)) < 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = survival_eval.SurvivalEvaluator(survival, grid, *test, *train)
        medians = np.asarray(evaluator.predicted_event_times)
        expected = float(evaluator.mae(method="Pseudo_obs"))
    np.testing.assert_allclose(curves.median(), medians, rtol=1e-9)
    np.testing.assert_allclose(ours(test, curves, train, "po", True), expected, **CLOSE)
