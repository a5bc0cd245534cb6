"""Damaged files name themselves, and no value of a file is guessed."""

from __future__ import annotations

from pathlib import Path

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


def drawn(n=240, seed=5):
    """Outcomes whose order matters, and predictions that know them."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(10, n)
    return time, rng.random(n) < 0.7, time * rng.uniform(0.8, 1.2, n)


def test_numbers_in_names_of_files_count_as_numbers(tmp_path):
    time, event, days = drawn()
    for side in ("y", "p"):
        (tmp_path / side).mkdir()
    for k, rows in enumerate(np.array_split(np.arange(240), 12)):
        outcomes = pa.table({"time": time[rows], "event": event[rows]})
        pq.write_table(outcomes, tmp_path / "y" / f"part-{k:03d}.parquet")
        pq.write_table(pa.table({"days": days[rows]}), tmp_path / "p" / f"cox{k}.parquet")
    names = ["mae_po", "harrell"]
    ev = sg.evaluate_stream(
        tmp_path / "y", y_train=Y_TRAIN, apart={"cox": tmp_path / "p"},
        predictions={"cox": "cox/days"}, metrics=names,
    )  # fmt: skip
    whole = sg.evaluate({"cox": days}, (time, event), y_train=Y_TRAIN, metrics=names)
    assert [r["value"] for r in ev.rows()] == pytest.approx([r["value"] for r in whole.rows()])


def test_hidden_folders_stay_hidden_and_no_row_counts_twice(folder):
    before = evaluate(folder).rows()[0]["value"]
    hidden = folder / ".ipynb_checkpoints"
    hidden.mkdir()
    copy = (folder / "part0.parquet").read_bytes()
    (hidden / "part0.parquet").write_bytes(copy)
    assert evaluate(folder).rows()[0]["value"] == before
    with pytest.raises(sg.InputError, match="count twice"):
        evaluate([folder, folder / "part0.parquet"])
    (folder / "part9.parquet").symlink_to(folder / "part0.parquet")
    with pytest.raises(sg.InputError, match="count twice"):
        evaluate(folder)
    (folder / "part9.parquet").unlink()
    (folder / "more").symlink_to(hidden)
    with pytest.raises(sg.InputError, match="link to a folder"):
        evaluate(folder)


def test_outcomes_that_change_between_passes_are_noticed():
    time, event, days = drawn()
    grid = np.linspace(0, 60, 13)
    curves = np.exp(-np.outer(1 / days, grid))
    passes = iter(range(9))

    def batches():
        later = time.copy()
        if next(passes) > 1:  # neither the first look nor the first pass
            later[150] = time[150] / 2
        for rows in (slice(0, 100), slice(100, 240)):
            yield {"time": later[rows], "event": event[rows], "cox": curves[rows]}

    with pytest.raises(sg.InputError, match="changed between the two passes"):
        sg.evaluate_stream(
            batches, y_train=Y_TRAIN, predictions={"cox": sg.CurveColumns("cox", grid)},
            metrics=["brier"],
        )  # fmt: skip


def test_columns_of_different_lengths_are_refused():
    batch = {"time": [1.0, 2.0], "event": [1, 0], "days": [1.0, 2.0, 3.0]}
    with pytest.raises(sg.InputError, match="same number of rows"):
        sg.evaluate_stream([batch], y_train=Y_TRAIN, predictions={"lr": "days"}, metrics="mae_po")


def test_a_root_far_from_its_square_counts_subjects_once():
    rng = np.random.default_rng(0)
    y = sg.Outcomes(rng.exponential(5, 40), rng.random(40) < 0.6)
    predicted = rng.exponential(5, 40)
    batches = [{"time": y.time[k::2], "event": y.event[k::2], "m": predicted[k::2]} for k in (0, 1)]
    names = ["mse_po", "harrell", "log_likelihood", "rmse_po"]
    for one in ([*names], ["mse_po", "rmse_po"]):
        ev = sg.evaluate_stream(batches, y_train=y, predictions={"m": "m"}, metrics=one)
        whole = sg.evaluate({"m": predicted}, y, y_train=y, metrics=one)
        assert ev.support["metrics"]["m"]["mse_po"]["subjects"] == 40
        for a, b in zip(ev.rows(), whole.rows(), strict=True):
            assert a["stderr"] == pytest.approx(b["stderr"], rel=1e-9)


@pytest.mark.parametrize("where", ["batch", "file"])
def test_entries_that_the_first_batch_lacks_are_refused(where: str, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    plain = pd.DataFrame({"time": [2.0, 3.0, 5.0], "event": [1, 0, 1], "m": [1.0, 4.0, 5.0]})
    late = plain.assign(entry=[0.0, 1.0, 2.0])
    batches: object = [plain, late]
    if where == "file":
        pytest.importorskip("pyarrow")
        for k, frame in enumerate([plain, late]):
            frame.to_parquet(tmp_path / f"{k}.parquet")
        batches = str(tmp_path)
    with pytest.raises(sg.InputError, match=r"column 'entry' .* first batch has no such column"):
        sg.evaluate_stream(batches, y_train=plain[["time", "event"]], predictions={"m": "m"})


def test_a_column_entry_that_is_read_is_no_delayed_entry() -> None:
    frame = {"time": [2.0, 3.0, 5.0], "event": [1, 0, 1], "entry": [1.0, 4.0, 5.0]}
    train = frame["time"], frame["event"]
    ev = sg.evaluate_stream([frame], y_train=train, predictions={"m": "entry"})
    assert ev.support["subjects"] == 3
