"""What was taken without a word, or ended in a raw exception, is refused by name."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.files import read_outcomes, read_predictions
from survgauge.errors import InputError

Y = ([2.0, 5.0, 8.0, 9.0], [1, 0, 1, 1])
CURVES = sg.SurvivalCurves([0, 10], [[1, 0.1], [1, 0.4], [1, 0.5], [1, 0.6]])
NOT_NUMBERS = ["3", True, np.bool_(True), None, [], [3.0], object(), 10**400, float("nan"), -1,
               datetime(2020, 1, 1), np.datetime64("2020-01-01", "ns")]  # fmt: skip


def test_the_tail_of_reference_curves_is_checked():
    with pytest.raises(sg.InputError, match="tail must be one of"):
        sg.reference_curves(Y, 2, "liner")
    for n in (0, -1, 2.5, True, "2", None):
        with pytest.raises(sg.InputError, match="n must be a whole number"):
            sg.reference_curves(Y, n)


def test_as_curves_takes_the_tail_that_is_given():
    assert sg.as_curves(CURVES) is CURVES
    held = sg.as_curves(CURVES, tail="hold")
    assert held.tail == "hold"
    assert CURVES.tail == "linear"
    np.testing.assert_array_equal(held.at(50.0), CURVES.at(10.0))
    for options, match in (({"tail": "x"}, "tail must be"), ({"repair": "x"}, "repair must be")):
        with pytest.raises(sg.InputError, match=match):
            sg.as_curves(CURVES, **options)


@pytest.mark.parametrize("argument", ["by", "cluster"])
def test_labels_of_two_kinds_are_not_merged(argument):
    for labels in (["1", 1, "1", 1], ("a", 2, "a", 2)):
        with pytest.raises(sg.InputError, match=f"{argument} must have labels of one kind"):
            sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], **{argument: labels})


@pytest.mark.parametrize("argument", ["by", "cluster"])
def test_a_label_is_one_value(argument):
    """Lists ended in errors of NumPy, or were taken for groups without subjects."""
    pd = pytest.importorskip("pandas")
    for labels in ([[1]] * 4, [(1, "a"), (2, "b")] * 2, [np.array([1])] * 4):
        with pytest.raises(sg.InputError, match=f"{argument} must have one label per subject; got"):
            sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], **{argument: pd.Series(labels)})


def test_durations_as_labels_keep_their_unit():
    """The group of a day was called 86400000000000."""
    labels = np.array([1, 1, 2, 2], "m8[D]").astype("m8[ns]")
    ev = sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], by=labels)
    assert [str(row["group"]) for row in ev.rows()] == ["None", "1 day, 0:00:00", "2 days, 0:00:00"]


@pytest.mark.parametrize(
    "event",
    [[[1], [0], [1], [1]], np.eye(4, 2), 1, {"a": 1}, np.array([1, 0, 1, 1], "m8[D]")],
    ids=["column", "matrix", "number", "mapping", "durations"],
)
def test_events_of_a_wrong_shape_or_kind_take_one_sentence(event):
    with pytest.raises(sg.InputError, match=r"^event must (have 1 dim|be numb)") as error:
        sg.Outcomes(Y[0], event)
    assert "causes" not in str(error.value)


def test_missing_labels_of_pandas_are_named():
    pd = pytest.importorskip("pandas")
    for missing in (pd.NA, pd.NaT, None, np.nan):
        labels = pd.Series(["a", missing, "b", "b"], dtype=object)
        with pytest.raises(sg.InputError, match="by must have a label for every subject"):
            sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], by=labels)


def test_dates_are_no_numbers():
    dates = np.array([np.datetime64(f"2020-01-0{k}", "ns") for k in range(1, 5)])
    spans = dates - dates[0]
    for times in (dates, spans, list(dates), [*dates]):
        with pytest.raises(sg.InputError, match="time"):
            sg.Outcomes(times, [1, 0, 1, 1])


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda v: f"{type(v).__name__}")
def test_what_is_no_number_is_refused_by_name(value):
    if value is not None:
        with pytest.raises(sg.InputError, match="tau"):
            sg.mae(Y, [2.0, 5, 7, 9], tau=value)
        with pytest.raises(sg.InputError, match="tau"):
            sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], tau=value)
        with pytest.raises(sg.InputError, match="confidence"):
            sg.evaluate([2.0, 5, 7, 9], Y, metrics=["mae_hinge"], confidence=value)
    with pytest.raises(sg.InputError, match="scale"):
        sg.curves_from_aft([3.0], value, [1.0, 2.0])


def test_weights_that_overflow_are_refused():
    heavy = [1e300, 1, 1, 1]
    with pytest.raises(sg.InputError, match="sample_weight must be at most"):
        sg.crps(Y, CURVES, sample_weight=heavy)
    # `evaluate` scales them first: only their ratios matter.
    row = sg.evaluate(CURVES, Y, metrics=["crps"], sample_weight=heavy).rows()[0]
    alone = sg.crps(([2.0], [1]), CURVES[:1])
    assert row["value"] == pytest.approx(alone)


@pytest.mark.parametrize("cell", ["1_0", "1_000.5", " 1_0"])
def test_underscores_in_cells_are_no_digits(tmp_path, cell):
    path = tmp_path / "y.csv"
    path.write_text(f"time,event\n4,1\n{cell},1\n")
    with pytest.raises(InputError, match=r"column 'time' must be numbers; row 2 has"):
        read_outcomes(path, time="time", event="event")
    path.write_text(f"4\n0.5\n{cell}\n")
    with pytest.raises(InputError, match=r"column '4' must be numbers; row 2 has"):
        read_predictions(path)
