"""Streams under attack: damaged files name themselves, and no value of a file is guessed."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GRID = (0.0, 5.0, 10.0)
Y_TRAIN = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
ROWS = 8


def columns():
    """Outcomes, times and curves of the subjects of one file."""
    return {
        "time": pa.array(np.arange(1.0, ROWS + 1)),
        "event": pa.array([1, 0] * (ROWS // 2)),
        "days": pa.array(np.arange(2.0, ROWS + 2)),
        "cox": pa.array([[1.0, 0.6, 0.2]] * ROWS),
    }


def evaluate(folder):
    """Values of both models."""
    predictions = {"lr": "days", "cox": sg.CurveColumns("cox", GRID)}
    names = ["mae_po", "d_calibration"]
    return sg.evaluate_stream(folder, y_train=Y_TRAIN, predictions=predictions, metrics=names)


@pytest.fixture
def folder(tmp_path):
    """Three files; tests spoil the second."""
    for k in range(3):
        pq.write_table(pa.table(columns()), tmp_path / f"part{k}.parquet")
    return tmp_path


@pytest.mark.parametrize("damage", ["empty", "half", "one byte", "text"])
def test_a_damaged_file_is_named(folder, damage):
    path = folder / "part1.parquet"
    raw = path.read_bytes()
    spoilt = {
        "empty": b"",
        "half": raw[: len(raw) // 2],
        "one byte": raw[:-1],
        "text": b"time\n1\n",
    }
    path.write_bytes(spoilt[damage])
    with pytest.raises(sg.InputError, match=r"part1\.parquet: cannot be read as Parquet") as caught:
        evaluate(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("time", [None] + [1.0] * (ROWS - 1), "no value in row 1"),
        ("time", [float("nan")] + [1.0] * (ROWS - 1), "must be finite"),
        ("time", ["1"] * ROWS, "must be numbers"),
        ("event", [2] + [1] * (ROWS - 1), "0/1 or booleans"),
        ("cox", [[1.0, 0.6]] + [[1.0, 0.6, 0.2]] * (ROWS - 1), "different lengths"),
        ("cox", [[1.0, 0.6]] * ROWS, "2 values"),
        ("cox", [[]] * ROWS, "'cox'"),
        ("cox", [[1.0, None, 0.2]] * ROWS, "missing values"),
        ("cox", [[1.0, 0.2, 0.6]] * ROWS, "rises"),
    ],
)
def test_a_bad_value_names_its_file(folder, name, values, message):
    pq.write_table(pa.table({**columns(), name: values}), folder / "part1.parquet")
    with pytest.raises(sg.InputError, match=rf"part1\.parquet.*{message}"):
        evaluate(folder)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("event", pa.bool_()),
        ("event", pa.uint64()),
        ("days", pa.float32()),
        ("cox", pa.large_list(pa.float64())),
        ("cox", pa.list_(pa.float64(), 3)),
    ],
)
def test_one_file_may_have_another_type_of_the_same_values(folder, name, kind):
    expected = evaluate(folder).to_dict()["metrics"]
    changed = {**columns(), name: columns()[name].cast(kind)}
    pq.write_table(pa.table(changed), folder / "part1.parquet")
    found = evaluate(folder).to_dict()["metrics"]
    for one, other in zip(expected, found, strict=True):
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)
