"""Data for property tests: small, tied, awkward."""

from __future__ import annotations

from hypothesis import strategies as st

times = st.integers(0, 8)
outcome = st.tuples(times, st.booleans())


def has_event(y):
    return any(e for _, e in y)


#: Ties, all censored but one, times of zero, last observation censored or not.
outcomes = st.lists(outcome, min_size=1, max_size=12)
outcomes_with_event = st.lists(outcome, min_size=1, max_size=12).filter(has_event)
#: Test times may lie past the training times.
test_outcomes = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=8)
predictions = st.lists(st.floats(0.1, 20), min_size=12, max_size=12)
tails = st.sampled_from(["linear", "exponential", "hold"])
areas = st.sampled_from(["step", "trapezoid"])


def pair(y):
    """(time, event) for the package."""
    return [float(t) for t, _ in y], [bool(e) for _, e in y]
