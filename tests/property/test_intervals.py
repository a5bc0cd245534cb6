"""What must hold of interval-censored outcomes, whatever they are."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import survgauge as sg
from survgauge.metrics.time.interval_errors import interval_error

ROW = st.tuples(st.integers(0, 12), st.sampled_from([0, 1, 1, 2, 3, 5, 8, np.inf]))


@st.composite
def outcomes(draw, least=2):
    rows = draw(st.lists(ROW, min_size=least, max_size=25))
    lower = np.array([a for a, _ in rows], float)
    upper = np.array([a + width for a, width in rows], float)
    return sg.IntervalOutcomes(lower, upper)


def happened(y, distribution, t):
    """Probability of the event by t, given each interval."""
    curves = sg.SurvivalCurves([0, 1], [[1.0, 1.0]] * len(y), tail="hold")
    # With a prediction of survival 1 the expected squared loss is that probability.
    return sg.brier_score(y, curves, [t], distribution=distribution).values[0]


@given(outcomes())
@settings(max_examples=60, deadline=None)
def test_turnbull_is_self_consistent(y):
    """The mean probability of the event by t, given the intervals, is the estimate itself."""
    distribution = sg.Turnbull.fit(y)
    for t in (0.5, 3.0, 4.25, 9.0):
        assert abs(happened(y, distribution, t) - (1 - distribution.at(t))) < 1e-6


@given(outcomes())
@settings(max_examples=40, deadline=None)
def test_no_other_weights_are_more_likely(y):
    distribution = sg.Turnbull.fit(y)
    rng = np.random.default_rng(len(y))
    exact = y.exact[:, None]
    left, right = distribution.intervals.T
    inside = np.where(
        exact,
        (left == right) & (left == y.lower[:, None]),
        np.where(left == right, left > y.lower[:, None], left >= y.lower[:, None])
        & (right <= y.upper[:, None]),
    )
    best = np.log(inside @ distribution.mass).sum()
    for _ in range(5):
        other = rng.dirichlet(np.ones(distribution.mass.size))
        assert np.log(inside @ other).sum() <= best + 1e-7


@given(outcomes(), st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_another_unit_of_time_changes_nothing_but_errors(y, unit):
    other = sg.IntervalOutcomes(y.lower * unit, y.upper * unit)
    a, b = sg.Turnbull.fit(y), sg.Turnbull.fit(other)
    np.testing.assert_allclose(a.at([1, 3.5, 7]), b.at(np.array([1, 3.5, 7]) * unit), atol=1e-6)
    predicted = np.linspace(0, 15, len(y))
    for method in ("hinge", "expected"):
        try:
            ours = interval_error(y, predicted, method=method)
        except sg.UndefinedMetricError:
            continue
        again = interval_error(other, predicted * unit, method=method)
        np.testing.assert_allclose(again, ours * unit, rtol=1e-5)


@given(outcomes(), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_hinge_is_a_lower_limit_and_reversed_risks_reverse_c(y, seed):
    assume(y.event.any())  # else nothing is known of event times
    rng = np.random.default_rng(seed)
    predicted = rng.uniform(0, 15, len(y))
    hinge = interval_error(y, predicted, method="hinge", tau=12.0)
    expected = interval_error(y, predicted, tau=12.0)
    assert hinge.value <= expected.value + 1e-9
    try:
        c = sg.concordance_index(y, predicted)
    except sg.UndefinedMetricError:
        return
    assert c + sg.concordance_index(y, -predicted) == 1
