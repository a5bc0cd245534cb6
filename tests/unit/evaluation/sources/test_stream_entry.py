"""Delayed entry and intervals in streams: sources, defaults, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streaming_data import COLUMNS, GRID, bounded, cut, draw, in_memory, with_bounds, with_entry

import survgauge as sg
from survgauge.evaluation.sources.arrow import reference_of

CURVES = {"a": sg.CurveColumns("a", GRID), "lr": "lr"}


def late(n: int = 60, seed: int = 0):
    columns, y_train = draw(n, seed, train=40)
    del columns["b"], columns["risk"]
    known = with_entry({"time": y_train[0]}, seed + 1)
    return with_entry(columns, seed), sg.Outcomes(*y_train, entry=known["entry"])


def values(ev):
    return [(row["model"], row["metric"], row["value"], row["stderr"]) for row in ev.rows()]


def same(one, other):
    assert [row[:2] for row in one] == [row[:2] for row in other]
    for a, b in zip(one, other, strict=True):
        assert a[2:] == pytest.approx(b[2:], rel=1e-10, nan_ok=True)


def memory(columns, y_train, **options):
    y = sg.Outcomes(columns["time"], columns["event"], entry=columns["entry"])
    curves = {"a": sg.SurvivalCurves(GRID, columns["a"]), "lr": columns["lr"]}
    return sg.evaluate(curves, y, y_train=y_train, **options)


@pytest.mark.parametrize("source", ["frame", "arrow", "parquet", "polars", "dask"])
def test_every_source_reads_entries(source: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    columns, y_train = late()
    names = ["mae_po", "ibs", "auc", "uno", "observed_expected"]
    expected = values(memory(columns, y_train, metrics=names))
    listed = {**columns, "a": list(columns["a"])}
    table = pa.table({k: pa.array(v) for k, v in listed.items()})
    options = {"y_train": y_train, "predictions": CURVES, "metrics": names}
    if source == "dask":
        dask = pytest.importorskip("dask")
        frames = [dask.delayed(part.to_pandas)() for part in (table[:20], table[20:])]
        same(values(sg.evaluate_dask(frames, **options)), expected)
        return
    batches: object = table
    if source == "frame":
        batches = table.to_pandas()
    elif source == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table[:25], tmp_path / "0.parquet")
        pq.write_table(table[25:], tmp_path / "1.parquet")
        batches = str(tmp_path)
    elif source == "polars":
        batches = pytest.importorskip("polars").from_arrow(table)
    same(values(sg.evaluate_stream(batches, **options)), expected)


def test_another_column_and_a_training_stream() -> None:
    columns, y_train = late()
    since = {("since" if k == "entry" else k): v for k, v in columns.items()}
    train = {"time": y_train.time, "event": y_train.event, "since": y_train.entry}
    options = {"predictions": CURVES, "metrics": ["mae_po", "brier"]}
    found = sg.evaluate_stream(
        cut(since, [20]), y_train=cut(train, [9]), entry_column="since", **options
    )
    same(values(found), values(memory(columns, y_train, metrics=["mae_po", "brier"])))
    assert reference_of(cut({**train, "entry": train["since"]}, [9])).y.entry is not None


def test_defaults_are_what_the_data_allow() -> None:
    columns, y_train = late()
    found = sg.evaluate_stream(cut(columns, [20]), y_train=y_train, predictions=CURVES)
    whole = memory(columns, y_train)
    skipped = ["antolini", "km_calibration"]
    same(values(found), [row for row in values(whole) if row[1] not in skipped])
    told = [w.message for w in found.warnings if w.code == "metric-skipped"]
    assert sorted(message.partition(" is left out")[0] for message in told) == skipped
    assert found.support["delayed_entry"] == whole.support["delayed_entry"]


def test_entries_of_zero_are_none() -> None:
    columns, y_train = draw(60, 0, train=40)
    entered = {**columns, "entry": np.zeros(60)}
    names = ["mae_po", "ibs", "km_calibration", "uno"]
    found = sg.evaluate_stream(
        cut(entered, [20]), y_train=y_train, predictions=COLUMNS, metrics=names
    )
    same(values(found), values(in_memory(columns, y_train, metrics=names)))


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (["antolini"], "'antolini' needs all subjects at once"),
        (["km_calibration"], "needs all subjects at once where subjects enter late"),
        (["brier_dr"], "brier_dr supports no delayed entry"),
    ],
)
def test_metrics_that_cannot_be_streamed_with_entries(metrics: list[str], said: str) -> None:
    columns, y_train = late()
    with pytest.raises(sg.InputError, match=said):
        sg.evaluate_stream([columns], y_train=y_train, predictions=CURVES, metrics=metrics)


def test_what_is_refused() -> None:
    columns, y_train = late()
    options = {"y_train": y_train, "predictions": CURVES, "metrics": ["mae_po"]}
    assert sg.evaluate_stream(iter([columns]), **options).support["delayed_entry"] > 0
    both = {**columns, "lower": columns["time"], "upper": columns["time"]}
    with pytest.raises(sg.InputError, match="outcomes='right' or outcomes='interval'"):
        sg.evaluate_stream([both], **options)
    assert sg.evaluate_stream([both], outcomes="right", **options).support["delayed_entry"] > 0
    with pytest.raises(sg.InputError, match="entry must come before time"):
        sg.evaluate_stream([{**columns, "entry": columns["time"] + 1}], **options)
    causes = sg.Outcomes(y_train.time, y_train.event * 1, causes=["x", "y"])
    one = {"y_train": causes, "predictions": "lr", "metrics": ["mae_po"]}
    with pytest.raises(sg.InputError, match="enter late, which is supported for a single kind"):
        sg.evaluate_stream([columns], **one, cause="x")


def test_intervals_and_their_reference_set() -> None:
    columns, train = draw(60, 0, train=40)
    columns = with_bounds(columns)
    bounds = sg.IntervalOutcomes(*bounded(*train))
    batches = cut(columns, [20])
    ev = sg.evaluate_stream(batches, y_train=bounds, predictions=COLUMNS)
    whole = in_memory(columns, bounds, metrics=None)
    same(values(ev), [row for row in values(whole) if row[1] != "turnbull_calibration"])
    assert ev.support["outcomes"] == "interval"
    assert ev.support["training_subjects"] == 40
    told = [w.message for w in ev.warnings if w.code == "metric-skipped"]
    assert len(told) == 1
    assert "turnbull_calibration" in told[0]
    parts = cut({"lower": bounds.lower, "upper": bounds.upper}, [7])
    same(values(sg.evaluate_stream(batches, y_train=parts, predictions=COLUMNS)), values(ev))
    right = sg.evaluate_stream(batches, y_train=sg.Outcomes(*train), predictions=COLUMNS)
    assert right.support["distribution"] == "Turnbull's, training outcomes"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"y_train": None}, "y_train must be given"),
        ({"y_train": ([3.0, 5.0], [1, 0])}, r"looks like a \(time, event\) pair"),
        ({"metrics": ["ibs"]}, "ibs supports right-censored outcomes only"),
        ({"metrics": ["turnbull_calibration"]}, "needs all subjects at once"),
        ({"convention": "sksurv"}, "convention: metrics of interval-censored outcomes have no"),
        (
            {"cause": 1, "y_train": sg.Outcomes([1, 2, 3], [1, 2, 0]), "predictions": "lr"},
            "have one kind of event",
        ),
    ],
)
def test_what_intervals_refuse(options: dict[str, object], said: str) -> None:
    columns, train = draw(30, 0, train=20)
    given = {"y_train": sg.IntervalOutcomes(*bounded(*train)), "predictions": COLUMNS, **options}
    with pytest.raises(sg.InputError, match=said):
        sg.evaluate_stream([with_bounds(columns)], **given)


def test_intervals_as_the_reference_set_of_times() -> None:
    columns, train = draw(30, 0, train=20)
    lower, upper = bounded(*train)
    for y_train in (sg.IntervalOutcomes(lower, upper), [{"lower": lower, "upper": upper}]):
        with pytest.raises(sg.InputError, match="both must be of one kind"):
            sg.evaluate_stream([columns], y_train=y_train, predictions=COLUMNS)
    y = sg.Outcomes(columns["time"], columns["event"])
    with pytest.raises(sg.InputError, match="both must be of one kind"):
        sg.evaluate(columns["lr"], y, y_train=sg.IntervalOutcomes(lower, upper))


def test_intervals_with_entries_are_refused() -> None:
    columns, train = draw(30, 0, train=20)
    bounds = sg.IntervalOutcomes(*bounded(*train))
    given = {"y_train": bounds, "predictions": COLUMNS, "metrics": ["interval_ibs"]}
    known = with_bounds(columns)
    with pytest.raises(sg.InputError, match=r"the stream has delayed entry.*supports both"):
        sg.evaluate_stream([{**known, "entry": np.full(30, 0.5)}], **given)
    assert sg.evaluate_stream([{**known, "entry": np.zeros(30)}], **given).rows()


def test_entries_of_the_reference_set_alone() -> None:
    columns, y_train = late()
    given = {"y_train": y_train, "predictions": CURVES, "metrics": ["mae_po", "ibs"]}
    columns["entry"] = 0 * columns["entry"]
    same(
        values(sg.evaluate_stream(cut(columns, [9]), **given)),
        values(memory(columns, y_train, metrics=given["metrics"])),
    )
    del columns["entry"]
    with pytest.raises(sg.InputError, match="give it a column 'entry', 0 where a subject"):
        sg.evaluate_stream([columns], **given)
