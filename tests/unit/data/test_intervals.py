"""Interval-censored outcomes: what is read, and what is refused by its rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg

INF = float("inf")


def test_reads_pairs_mappings_and_structured_arrays():
    table = np.array([(0, 2), (3, INF)], dtype=[("lower", "f8"), ("upper", "f8")])
    for given in (([0, 3], [2, INF]), {"lower": [0, 3], "upper": [2, INF]}, table):
        y = sg.IntervalOutcomes.of(given)
        assert y.lower.tolist() == [0, 3]
        assert y.upper.tolist() == [2, INF]
    assert sg.IntervalOutcomes.of(y) is y


def test_reads_frames():
    pd = pytest.importorskip("pandas")
    y = sg.IntervalOutcomes.of(pd.DataFrame({"id": [1, 2], "upper": [2, INF], "lower": [0, 3]}))
    assert y.lower.tolist() == [0, 3]


def test_right_censored_outcomes_are_a_special_case():
    y = sg.IntervalOutcomes.of(sg.Outcomes([3, 5], [1, 0], [1, 4]))
    assert (y.lower.tolist(), y.upper.tolist(), y.weight.tolist()) == ([3, 5], [3, INF], [1, 4])
    with pytest.raises(sg.InputError, match="causes"):
        sg.IntervalOutcomes.of(sg.Outcomes([3, 5], [1, 2]))


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0, 5, 6], [1, 4, 2], r"lower must not be above upper; it is for rows 2 and 3"),
        ([0, -1], [1, 4], r"lower must be at least 0; got -1 for row 2"),
        ([0, 1], [1, np.nan], r"upper must not be NaN; it is for row 2 .* infinite"),
        ([0, np.nan], [1, 2], r"lower must be finite; got nan for row 2"),
        ([0, INF], [1, INF], r"lower must be finite"),
        ([0, 1], [1], r"same length; got 2 and 1"),
        ([], [], r"at least one subject"),
        ([0, 1], [1, 1e70], r"upper must be at most 1e\+60"),
    ],
)
def test_contradictions_are_errors_that_name_the_rows(lower, upper, message):
    with pytest.raises(sg.InputError, match=message):
        sg.IntervalOutcomes(lower, upper)


def test_of_names_the_argument_and_what_is_missing():
    with pytest.raises(
        sg.InputError, match="y_test must have columns 'lower' and 'upper'; 'upper'"
    ):
        sg.IntervalOutcomes.of({"lower": [1]}, "y_test")
    with pytest.raises(sg.InputError, match="y_test: lower must not be above upper"):
        sg.IntervalOutcomes.of(([2], [1]), "y_test")
    with pytest.raises(sg.InputError, match="a \\(lower, upper\\) pair; got 3"):
        sg.IntervalOutcomes.of(([2], [1], [3]))
    with pytest.raises(sg.InputError, match="got int"):
        sg.IntervalOutcomes.of(3)


def test_frozen_selected_pickled():
    given = np.array([0.0, 3.0, 4.0])
    y = sg.IntervalOutcomes(given, [2, INF, 4], [1, 0, 2])
    given[0] = 1
    assert y.lower[0] == 0
    with pytest.raises(AttributeError, match="frozen"):
        y.lower = given
    with pytest.raises(ValueError, match="read-only"):
        y.upper[0] = 1
    assert y[[2]].exact.tolist() == [True]
    assert len(y.present()) == 2
    assert (y.count, y.event_count, y.fractional) == (2, 2, False)
    again = pickle.loads(pickle.dumps(y))
    assert again.upper.tolist() == y.upper.tolist()
    assert again.weight.tolist() == [1, 0, 2]
    assert sg.IntervalOutcomes.joined([y[[0]], y[[1, 2]]]).lower.tolist() == y.lower.tolist()
    with pytest.raises(sg.InputError, match="empty"):
        y[np.array([False] * 3)]


def test_functions_of_right_censoring_refuse_intervals():
    y = sg.IntervalOutcomes([0, 3], [2, INF])
    with pytest.raises(sg.InputError, match="IntervalOutcomes"):
        sg.KaplanMeier.fit(y)


def test_entry_in_a_frame_of_intervals_is_refused() -> None:
    table = {"lower": [1, 2], "upper": [2, 3], "entry": [0, 1]}
    with pytest.raises(sg.InputError, match="delayed entry"):
        sg.IntervalOutcomes.of(table)
    assert len(sg.IntervalOutcomes.of({**table, "entry": [0, 0]})) == 2


def test_a_frame_of_intervals_where_times_are_meant_names_the_reader() -> None:
    with pytest.raises(sg.InputError, match=r"sg.IntervalOutcomes.of reads"):
        sg.Outcomes.of({"lower": [1, 2], "upper": [2, 3]})
