"""What `evaluate` says besides numbers a stream says too; reference sets and columns in files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from streaming_data import GRID, cut, differences, draw

import survgauge as sg
from survgauge.cli.main import main
from survgauge.evaluation.sources.arrow import reference_of
from survgauge.evaluation.sources.batches import Batch
from survgauge.metrics.registry import REGISTRY

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def short(n=150, seed=1, width=5):
    """Curves that end above one half for many."""
    columns, y_train = draw(n, seed)
    columns = {name: columns[name] for name in ("time", "event", "a", "b", "lr")}
    columns |= {name: columns[name][:, :width] for name in ("a", "b")}
    return columns, y_train


# -- remarks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("models", [("b",), ("a", "b"), ("a", "b", "lr"), ("lr",)])
@pytest.mark.parametrize("confidence", [0.95, None])
@pytest.mark.parametrize("tau", [None, 5.0, 500.0])
def test_whether_tails_decide(models, confidence, tau):
    columns, y_train = short()
    grid = GRID[:5]
    curves = {m: sg.SurvivalCurves(grid, columns[m]) for m in ("a", "b")} | {"lr": columns["lr"]}
    specs = {m: sg.CurveColumns(m, grid) for m in ("a", "b")} | {"lr": "lr"}
    options = {"y_train": y_train, "metrics": ["mae_po"], "tau": tau, "confidence": confidence}
    y = (columns["time"], columns["event"])
    whole = sg.evaluate({m: curves[m] for m in models}, y, **options)
    found = sg.evaluate_stream(
        cut(columns, [40, 90]), predictions={m: specs[m] for m in models}, **options
    )
    assert differences(whole.to_dict(), found.to_dict()) == []
    said = [w.message for w in found.cases if w.code == "tail-decides"]
    decided = tau != 5.0 and "b" in models and confidence is not None
    assert any("the Kaplan-Meier baseline" in text for text in said) == decided


def test_a_model_called_like_the_baseline_takes_its_place():
    columns, y_train = short()
    name = "the Kaplan-Meier baseline"
    options = {"y_train": y_train, "metrics": ["mae_po"]}
    curves = {k: sg.SurvivalCurves(GRID[:5], columns[m]) for k, m in (("a", "a"), (name, "b"))}
    specs = {k: sg.CurveColumns(m, GRID[:5]) for k, m in (("a", "a"), (name, "b"))}
    whole = sg.evaluate(curves, (columns["time"], columns["event"]), **options)
    found = sg.evaluate_stream([columns], predictions=specs, **options)
    assert differences(whole.to_dict(), found.to_dict()) == []


def test_defaults_without_antolini_say_so(monkeypatch):
    columns, y_train = short(60)
    curves = {"a": sg.CurveColumns("a", GRID[:5])}
    codes = []
    for predictions, options in (
        (curves, {}),
        ({"lr": "lr"}, {}),
        (curves, {"metrics": ["mae_po"]}),
    ):
        ev = sg.evaluate_stream([columns], y_train=y_train, predictions=predictions, **options)
        codes.append([w.code for w in ev.warnings].count("metric-skipped"))
    assert codes == [1, 0, 0]
    # Of many subjects `evaluate` leaves it out too.
    few = replace(REGISTRY["antolini"], default_until=50)
    monkeypatch.setitem(REGISTRY, "antolini", few)
    y = (columns["time"], columns["event"])
    whole = sg.evaluate({"lr": columns["lr"]}, y, y_train=y_train)
    found = sg.evaluate_stream([columns], y_train=y_train, predictions={"lr": "lr"})
    assert whole.cases[0].code == "metric-skipped"
    assert found.cases[0].code == "metric-skipped"
    assert "stream" in found.cases[0].message
    assert [str(w) for w in found.cases[1:]] == [str(w) for w in whole.cases[1:]]


# -- reference sets ----------------------------------------------------------------------------


def train(n=120, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "time": rng.exponential(10, n).round(1),
        "event": rng.random(n) < 0.7,
        "w": rng.integers(0, 4, n).astype(float),
    }


def same_reference(found, expected):
    for ours, theirs in ((found.km, expected.km), (found.censoring, expected.censoring)):
        np.testing.assert_array_equal(ours.times, theirs.times)
        np.testing.assert_allclose(ours.survival, theirs.survival, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "once",
    [
        lambda batches: iter(batches),
        lambda batches: (batch for batch in batches),
        lambda batches: pa.RecordBatchReader.from_batches(
            pa.table(batches[0]).schema, [pa.table(b).to_batches()[0] for b in batches]
        ),
    ],
)
def test_an_iterator_may_be_the_reference(once):
    columns = train()
    expected = sg.Reference((columns["time"], columns["event"]))
    same_reference(reference_of(once(cut(columns, [30, 77]))), expected)


def test_frequencies_of_a_streamed_reference_count(tmp_path):
    columns = train()
    expected = sg.Reference(sg.Outcomes(columns["time"], columns["event"], columns["w"]))
    plain = sg.Reference((columns["time"], columns["event"]))
    batches = cut(columns, [30, 77])
    for k, batch in enumerate(batches):
        pq.write_table(pa.table(batch), tmp_path / f"{k}.parquet")
    for y_train in (batches, iter(batches), str(tmp_path), lambda: iter(batches)):
        same_reference(reference_of(y_train, weight="w"), expected)
    same_reference(reference_of(batches), plain)
    # A batch of nobody does no harm, and a reference set without the column counts each row once.
    nobody = {**batches[0], "w": np.zeros(30)}
    same_reference(reference_of([*batches, nobody], weight="w"), expected)
    same_reference(reference_of(batches, weight="weight"), plain)


def test_frequencies_must_be_in_all_batches_or_in_none(tmp_path):
    columns = train()
    one, other = cut(columns, [60])
    less = {name: column for name, column in other.items() if name != "w"}
    with pytest.raises(sg.InputError, match="batch 1: no column 'w'"):
        reference_of([one, less], weight="w")
    with pytest.raises(sg.InputError, match="batch 1: column 'w' was not there in the first"):
        reference_of([less, one], weight="w")
    for k, batch in enumerate((less, one)):
        pq.write_table(pa.table(batch), tmp_path / f"{k}.parquet")
    with pytest.raises(sg.InputError, match=r"0\.parquet: no column 'w', which other files have"):
        reference_of(str(tmp_path), weight="w")


def test_frequencies_of_a_reference_on_the_command_line(tmp_path, monkeypatch, capsys):
    import json

    monkeypatch.chdir(tmp_path)
    columns, known = train(seed=4), train()
    test = {**columns, "lr": columns["time"] + 1.0}
    pq.write_table(pa.table(test), "test.parquet")
    pq.write_table(pa.table(known), "train.parquet")
    rows = zip(*(known[k].astype(float) for k in ("time", "event", "w")), strict=True)
    text = "time,event,w\n" + "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "train.csv").write_text(text)
    words = ["evaluate", "--test", "test.parquet", "--pred", "lr=lr", "--metrics", "mae_po"]
    y = sg.Outcomes(columns["time"], columns["event"], columns["w"])
    y_train = sg.Outcomes(known["time"], known["event"], known["w"])
    expected = sg.evaluate({"lr": test["lr"]}, y, y_train=y_train, metrics=["mae_po"]).rows()[0]
    for place in ("train.parquet", "train.csv"):
        assert main([*words, "--weight-column", "w", "--train", place, "--json", "-"]) == 0
        found = json.loads(capsys.readouterr().out)["metrics"][0]
        assert found["value"] == pytest.approx(expected["value"], rel=1e-12)


# -- wide columns ------------------------------------------------------------------------------


def wide(columns, rows, times):
    plain = {name: columns[name][rows] for name in ("time", "event")}
    return plain | {f"a_{t:g}": columns["a"][rows, k] for k, t in enumerate(times)}


def test_curves_with_more_columns_later_are_refused(tmp_path):
    columns, y_train = short(80)
    first, more = GRID[:4], GRID[:5]
    batches = [wide(columns, slice(0, 40), first), wide(columns, slice(40, 80), more)]
    ask = {"y_train": y_train, "predictions": {"a": "a_*"}, "metrics": ["mae_po"]}
    extra = f"a_{GRID[4]:g}"
    with pytest.raises(sg.InputError, match=rf"batch 1: column '{extra}' begins with 'a_', but"):
        sg.evaluate_stream(batches, **ask)
    for k, batch in enumerate(batches):
        pq.write_table(pa.table(batch), tmp_path / f"{k}.parquet")
    with pytest.raises(sg.InputError, match=rf"1\.parquet: column '{extra}' begins with 'a_'"):
        sg.evaluate_stream(tmp_path, **ask)
    with pytest.raises(sg.InputError, match=rf"0\.parquet: no column '{extra}'"):
        sg.evaluate_stream([tmp_path / "1.parquet", tmp_path / "0.parquet"], **ask)
    # Columns that are named one by one are those that were meant.
    named = {"a": sg.CurveColumns([f"a_{t:g}" for t in first], first)}
    ev = sg.evaluate_stream(tmp_path, **{**ask, "predictions": named})
    assert ev.support["subjects"] == 80


def test_the_same_in_folders_of_their_own(tmp_path):
    columns, y_train = short(80)
    for name in ("y", "a"):
        (tmp_path / name).mkdir()
    y = {name: columns[name] for name in ("time", "event")}
    pq.write_table(pa.table(y), tmp_path / "y" / "0.parquet")
    for k, times in enumerate((GRID[:4], GRID[:5])):
        part = wide(columns, slice(40 * k, 40 * k + 40), times)
        part = {name: column for name, column in part.items() if name.startswith("a_")}
        pq.write_table(pa.table(part), tmp_path / "a" / f"{k}.parquet")
    with pytest.raises(sg.InputError, match=r"a/1\.parquet: column 'a/a_.*' begins with 'a/a_'"):
        sg.evaluate_stream(
            tmp_path / "y", y_train=y_train, predictions={"a": "a/a_*"}, metrics=["mae_po"],
            apart={"a": tmp_path / "a"},
        )  # fmt: skip


# -- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["float64", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
     "bool", "float16"],
)  # fmt: skip
@pytest.mark.parametrize(("start", "stop"), [(0, 100), (3, 97), (8, 9), (15, 64), (7, 7)])
def test_arrow_columns_are_read_where_they_are(kind, start, stop):
    values = np.random.default_rng(0).integers(0, 2, 100).astype(kind)
    batch = Batch(pa.table({"x": pa.array(values)})).rows(start, stop)
    found = batch.vector("x")
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values[start:stop])


def test_arrow_lists_are_read_where_they_are():
    values = np.arange(60.0).reshape(20, 3)
    for lists in (pa.array(list(values)), pa.FixedSizeListArray.from_arrays(values.ravel(), 3)):
        batch = Batch(pa.table({"x": lists})).rows(4, 11)
        np.testing.assert_array_equal(batch.matrix("x"), values[4:11])


def test_reading_needs_no_pandas(tmp_path):
    columns, _ = short(40)
    pq.write_table(pa.table({k: columns[k] for k in ("time", "event", "lr")}), tmp_path / "0.pq")
    program = (
        "import sys, survgauge as sg\n"
        f"sg.evaluate_stream({str(tmp_path)!r}, y_train=([1, 2, 3], [1, 0, 1]), "
        "predictions='lr', metrics=['mae_po', 'harrell'])\n"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
