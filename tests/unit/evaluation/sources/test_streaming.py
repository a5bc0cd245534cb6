"""Streams: where batches may come from, what goes wrong with files, limits, one pass or two."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import COLUMNS, GRID, NAMES, cut, differences, draw, in_memory

import survgauge as sg
from survgauge.evaluation.sources.layout import Layout

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FEW = ["mae_po", "ibs", "harrell", "d_calibration"]


def table(columns, fixed=False):
    """An Arrow table with curves as lists."""
    arrays = {}
    for name, column in columns.items():
        if column.ndim == 2 and fixed:
            flat = pa.array(np.ascontiguousarray(column).ravel())
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, column.shape[1])
        else:
            arrays[name] = pa.array(list(column) if column.ndim == 2 else column)
    return pa.table(arrays)


def write(folder, columns, cuts=(90, 200), group=40, **options):
    folder.mkdir(parents=True, exist_ok=True)
    for k, part in enumerate(cut(columns, cuts)):
        pq.write_table(table(part, **options), folder / f"{k}.parquet", row_group_size=group)
    return folder


def stream(batches, y_train, **options):
    options = {"predictions": COLUMNS, "metrics": FEW, "n_boot": 12, **options}
    return sg.evaluate_stream(batches, y_train=y_train, **options)


@pytest.fixture(scope="module")
def data():
    columns, y_train = draw(300, 1)
    return columns, y_train, in_memory(columns, y_train, metrics=FEW, n_boot=12).to_dict()


def same(evaluation, expected):
    assert differences(expected, evaluation.to_dict()) == []


# -- where batches come from -------------------------------------------------------------------


def frames(columns):
    import pandas as pd

    return [pd.DataFrame({k: list(v) if v.ndim == 2 else v for k, v in part.items()})
            for part in cut(columns, [50, 51, 222])]  # fmt: skip


def dataset(folder):
    """The files of a folder as a dataset of Arrow, in order."""
    return pytest.importorskip("pyarrow.dataset").dataset(sorted(map(str, folder.glob("*"))))


def sources():
    def duck(columns, path):
        duckdb = pytest.importorskip("duckdb")
        return duckdb.sql(f"select * from read_parquet('{write(path, columns)}/*.parquet')")

    def lazy(columns, path):
        polars = pytest.importorskip("polars")
        return polars.scan_parquet(sorted(write(path, columns).glob("*")))

    def eager(columns, path):
        polars = pytest.importorskip("polars")
        return polars.from_arrow(table(columns))

    def zero_rows(columns, path):
        write(path, columns)
        empty = {name: column[:0] for name, column in columns.items()}
        pq.write_table(table(columns).slice(0, 0), path / "00empty.parquet")
        assert len(empty["time"]) == 0
        return path

    return {
        "one mapping": lambda c, p: c,
        "mappings": lambda c, p: cut(c, [7, 100, 299]),
        "function": lambda c, p: lambda: iter(cut(c, [7, 100])),
        "pandas": lambda c, p: frames(c)[0]._append(frames(c)[1:], ignore_index=True),
        "pandas frames": lambda c, p: frames(c),
        "arrow table": lambda c, p: table(c),
        "arrow batches": lambda c, p: table(c).to_batches(33),
        "arrow dataset": lambda c, p: dataset(write(p, c)),
        "folder": lambda c, p: str(write(p, c)),
        "fixed-size lists": lambda c, p: write(p, c, fixed=True),
        "float32": lambda c, p: write(p, c),
        "glob": lambda c, p: str(write(p, c) / "*.parquet"),
        "files": lambda c, p: sorted(write(p, c).glob("*")),
        "file of no rows": zero_rows,
        "duckdb": duck,
        "polars": eager,
        "polars, lazy": lazy,
    }


@pytest.mark.parametrize("kind", list(sources()))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_any_source_gives_the_same(kind, data, tmp_path):
    columns, y_train, expected = data
    same(stream(sources()[kind](columns, tmp_path / "test"), y_train), expected)


@pytest.mark.parametrize("kind", ["arrow dataset", "duckdb", "polars, lazy", "folder"])
def test_a_column_that_is_not_there_is_named(kind, data, tmp_path):
    columns, y_train, _ = data
    batches = sources()[kind](columns, tmp_path / "test")
    with pytest.raises(sg.InputError, match="no column 'when'; columns are time, event, a, b, lr"):
        stream(batches, y_train, time_column="when")


def test_only_the_columns_that_are_needed_are_read_from_a_dataset(data, tmp_path):
    columns, y_train, _ = data
    asked = []

    class Noted:
        def __init__(self, files):
            self._files, self.scanner, self.head = files, files.scanner, files.head

        def to_batches(self, columns, batch_size):
            asked.append((columns, batch_size))
            return self._files.to_batches(columns=columns, batch_size=batch_size)

    noted = Noted(dataset(write(tmp_path, columns)))
    stream(noted, y_train, predictions={"lr": "lr"}, metrics=["mae_hinge"], batch_rows=50)
    assert asked == [(["time", "event"], 50), (["time", "event", "lr"], 50)]


def test_wide_columns_and_folders_of_their_own(data, tmp_path):
    columns, y_train, expected = data
    plain = {name: columns[name] for name in ("time", "event", "lr", "risk")}
    wide = {f"a_{t}": columns["a"][:, k] for k, t in enumerate(GRID)}
    write(tmp_path / "test", plain | wide, group=37)
    own = {str(t): columns["b"][:, k] for k, t in enumerate(GRID)}
    write(tmp_path / "b", own, cuts=(13, 250), group=64)
    names = tuple(f"b/{t}" for t in GRID)
    specs = {**COLUMNS, "a": "a_*", "b": sg.CurveColumns(names, GRID)}
    found = stream(tmp_path / "test", y_train, predictions=specs, apart={"b": tmp_path / "b"})
    same(found, expected)


def test_a_grid_may_lie_in_the_file(data, tmp_path):
    columns, y_train, expected = data
    whole = table(columns)
    schema = whole.schema.with_metadata({"survgauge.times": str(GRID.tolist())})
    pq.write_table(whole.cast(schema), tmp_path / "0.parquet")
    same(stream(tmp_path, y_train, predictions={**COLUMNS, "a": "a", "b": "b"}), expected)
    other = whole.schema.with_metadata({"survgauge.times": str((GRID + 1).tolist())})
    pq.write_table(whole.cast(other), tmp_path / "1.parquet")
    with pytest.raises(sg.InputError, match=r"1\.parquet.*grid of 'a' differs"):
        stream(tmp_path, y_train, predictions={**COLUMNS, "a": "a"})


def test_the_reference_may_be_a_stream(data, tmp_path):
    columns, y_train, expected = data
    train = {"time": y_train[0], "event": y_train[1]}
    for reference in (str(write(tmp_path / "train", train, cuts=(30,))), cut(train, [80])):
        found = stream(columns, reference).to_dict()
        # Tied subjects of the reference are one row with a frequency.
        wrong = [text for text in differences(expected, found) if "reference_subjects" not in text]
        assert wrong == []


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bits(workers, data, tmp_path):
    columns, y_train, _ = data
    folder = write(tmp_path, columns, group=17)
    one = stream(folder, y_train, workers=1).to_dict()
    assert stream(folder, y_train, workers=workers).to_dict() == one


# -- iterators ---------------------------------------------------------------------------------


def test_an_iterator_is_read_once(data):
    columns, y_train, expected = data
    read = []

    def batches():
        for batch in cut(columns, [9, 40]):
            read.append(len(batch["time"]))
            yield batch

    same(stream(batches(), y_train), expected)
    assert read == [9, 31, 260]


@pytest.mark.parametrize("min_g", [0.05, 0.6])
def test_subjects_past_the_horizon_are_counted(min_g, data):
    columns, y_train, _ = data
    options = {"metrics": ["mae_po"], "min_g": min_g}
    expected = in_memory(columns, y_train, **options).support
    found = stream(iter([columns]), y_train, **options).support
    assert expected["subjects_past_horizon"] > 0
    assert differences(expected, found) == []


def test_many_subjects_have_no_bootstrap_of_km_calibration():
    columns, y_train = draw(5_500, 3)
    names = ["km_calibration", "mae_po"]
    expected = in_memory(columns, y_train, metrics=names)
    same(stream(cut(columns, [1000, 4000]), y_train, metrics=names), expected.to_dict())


@pytest.mark.parametrize("tail", ["linear", "exponential", "hold", "nan"])
@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
def test_tails_and_interpolations(tail, interpolation):
    columns, y_train = draw(120, 5)
    names = [name for name in NAMES if not name.startswith(("rmse", "mae_i", "mse_i"))]
    curves = {
        name: sg.SurvivalCurves(GRID[:8], columns[name][:, :8], interpolation, tail)
        for name in ("a", "b")
    }
    y = (columns["time"], columns["event"])
    expected = sg.evaluate(curves, y, y_train=y_train, metrics=names, n_boot=12).to_dict()
    specs = {name: sg.CurveColumns(name, GRID[:8], interpolation, tail) for name in curves}
    short = {**columns, "a": columns["a"][:, :8], "b": columns["b"][:, :8]}
    found = stream(cut(short, [30, 31]), y_train, predictions=specs, metrics=names).to_dict()
    # Who of a chunk lacks something is numbered by chunk.
    told = ("/message", "/numbers/why")
    wrong = [t for t in differences(expected, found) if not any(part in t for part in told)]
    assert wrong == []


@pytest.mark.parametrize("convention", ["sksurv", "survivaleval", "hazardous", "torchsurv"])
def test_conventions(convention, data):
    columns, y_train, _ = data
    names = ["brier", "ibs", "uno", "auc"]
    expected = in_memory(columns, y_train, metrics=names, convention=convention).to_dict()
    found = stream(cut(columns, [99]), y_train, metrics=names, convention=convention)
    same(found, expected)


# -- batch_rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 20, 10**6])
@pytest.mark.parametrize("by", [None, "site"])
def test_batch_rows_bounds_what_is_scored_together(rows, by, data, tmp_path, monkeypatch):
    columns, y_train, _ = data
    columns = {**columns, "site": np.arange(len(columns["time"])) % 2}
    names = ["harrell", "uno", "mae_po", "ibs"]
    labels = None if by is None else columns["site"]
    expected = in_memory(columns, y_train, metrics=names, by=labels).to_dict()
    sizes, read = [], Layout.read

    def noted(self, batch):
        sizes.append(len(batch))
        return read(self, batch)

    monkeypatch.setattr(Layout, "read", noted)
    for batches in ([columns], write(tmp_path, columns)):
        same(stream(batches, y_train, metrics=names, by=by, batch_rows=rows), expected)
    assert max(sizes) == min(rows, len(columns["time"]))


# -- what goes wrong ---------------------------------------------------------------------------


def broken(folder, how):
    path = sorted(folder.glob("*.parquet"))[1]
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "garbage":
        path.write_bytes(b"not Parquet at all")
    elif how == "empty":
        path.write_bytes(b"")
    else:
        whole = pq.read_table(path)
        if how == "column":
            whole = whole.drop_columns(["lr"])
        elif how == "type":
            whole = whole.set_column(0, "time", pa.array(["x"] * len(whole)))
        elif how == "null":
            whole = whole.set_column(0, "time", pa.array([None] + [1.0] * (len(whole) - 1)))
        elif how == "NaN":
            whole = whole.set_column(0, "time", pa.array([np.nan] + [1.0] * (len(whole) - 1)))
        elif how == "prediction":
            place = whole.schema.get_field_index("lr")
            whole = whole.set_column(place, "lr", pa.array([np.inf] * len(whole)))
        elif how == "flag":
            whole = whole.set_column(1, "event", pa.array([2] * len(whole)))
        elif how == "rising":
            place = whole.schema.get_field_index("a")
            whole = whole.set_column(place, "a", pa.array([[0.1] * 11 + [0.9]] * len(whole)))
        elif how == "grid":
            place = whole.schema.get_field_index("a")
            whole = whole.set_column(place, "a", pa.array([[0.5] * 7] * len(whole)))
        elif how == "lengths":
            place = whole.schema.get_field_index("a")
            ragged = [[0.5] * (12 if k else 11) for k in range(len(whole))]
            whole = whole.set_column(place, "a", pa.array(ragged))
        pq.write_table(whole, path)
    return path


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("truncated", "cannot be read as Parquet"),
        ("garbage", "cannot be read as Parquet"),
        ("empty", "cannot be read as Parquet"),
        ("column", "no column 'lr'"),
        ("type", "'time' must be numbers"),
        ("null", "'time' has no value in row 1"),
        ("NaN", "time must be finite"),
        ("prediction", "must be finite"),
        ("flag", "event must be 0/1"),
        ("rising", "survival"),
        ("grid", "have 7 values, their grid has 12 times"),
        ("lengths", "curves of different lengths"),
    ],
)
def test_errors_name_the_file(how, message, data, tmp_path):
    columns, y_train, _ = data
    path = broken(write(tmp_path, columns), how)
    with pytest.raises(sg.InputError, match=message) as error:
        stream(tmp_path, y_train)
    assert str(path) in str(error.value)


def test_a_flipped_bit_is_noticed_where_pages_have_checksums(data, tmp_path):
    columns, y_train, _ = data
    path = tmp_path / "0.parquet"
    options = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    pq.write_table(table(columns), path, **options)
    raw = bytearray(path.read_bytes())
    raw[400] ^= 1  # inside the first column's page
    path.write_bytes(raw)
    with pytest.raises(sg.InputError, match=r"0\.parquet: cannot be read"):
        stream(tmp_path, y_train)


def test_rows_must_match_between_folders(data, tmp_path):
    columns, y_train, _ = data
    write(tmp_path / "test", columns)
    write(tmp_path / "short", {"time": columns["lr"][:-1]})
    with pytest.raises(sg.InputError, match=r"'m' must have one row per subject: .*300.*299"):
        stream(
            tmp_path / "test",
            y_train,
            predictions={"m": sg.TimeColumn("m/time")},
            apart={"m": tmp_path / "short"},
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_train": None}, "y_train must be given"),
        ({"metrics": ["antolini"]}, "'antolini' needs all subjects at once"),
        ({"metrics": ["mae_pp"]}, "metrics must be one of"),
        ({"censoring": lambda t, side: t}, "censoring must be 'test', 'train'"),
        ({"convention": "pycox"}, "divides ibs by the sum of weights"),
        ({"by": [1]}, "by must be the name of a column"),
        ({"predictions": {}}, "at least one model"),
        ({"predictions": {"a": 3}}, "must be the name of a column"),
        ({"predictions": {"a": "zz"}}, "no column 'zz'"),
        ({"predictions": {"a": "zz*"}}, "no column begins with 'zz'"),
        ({"predictions": {"a": "a"}}, "need their grid"),
        ({"predictions": {"a": "t*"}}, "must go on with times"),
        ({"confidence": 95}, "confidence must lie"),
        ({"n_boot": -1}, "n_boot must be"),
        ({"workers": 0}, "workers must be"),
        ({"batch_rows": 0}, "batch_rows must be"),
        ({"batch_rows": 2.5}, "batch_rows must be"),
        ({"unit": 3}, "unit must be"),
        ({"time_column": "when"}, "no column 'when'"),
    ],
)
def test_bad_arguments(change, message, data):
    columns, y_train, _ = data
    options = {"y_train": y_train, "predictions": COLUMNS, "metrics": FEW, **change}
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate_stream(cut(columns, [50]), **options)


@pytest.mark.parametrize("batches", [[], iter([]), {"time": [], "event": [], "lr": []}, 3, [3]])
def test_nothing_to_evaluate(batches, data):
    with pytest.raises(sg.InputError):
        stream(batches, data[1], predictions={"m": "lr"}, metrics=["mae_po"])


def test_batches_must_begin_anew(data):
    columns, y_train, _ = data
    once = iter(cut(columns, [50, 101]))
    for again in (lambda: once, lambda: iter(())):
        with pytest.raises(sg.InputError, match=r"begin anew|no rows"):
            stream(again, y_train, metrics=["mae_po"])


def test_a_reader_is_read_once(data):
    columns, y_train, _ = data
    whole = table(columns)
    options = {"metrics": ["mae_po", "harrell"]}
    expected = in_memory(columns, y_train, **options).to_dict()
    same(stream(whole.to_reader(64), y_train, **options), expected)


def test_folders_without_files(data, tmp_path):
    with pytest.raises(sg.InputError, match="has no Parquet files"):
        stream(tmp_path, data[1])
    with pytest.raises(sg.InputError, match="no such file or folder"):
        stream(tmp_path / "gone", data[1])


def test_chunks_without_events_are_fine(data):
    columns, y_train, _ = data
    order = np.argsort(columns["event"], kind="stable")  # all censored first
    columns = {name: column[order] for name, column in columns.items()}
    names = [name for name in NAMES if name != "ici"]
    expected = in_memory(columns, y_train, metrics=names, n_boot=12).to_dict()
    same(stream(cut(columns, [40, 80, 290]), y_train, metrics=names), expected)


def test_chunks_of_frequency_zero_are_fine(data):
    columns, y_train, _ = data
    weight = np.where((np.arange(300) < 40) | (np.arange(300) > 250), 0.0, 2.0)
    found = stream(
        cut({**columns, "weight": weight}, [40, 100, 260]), y_train, weight_column="weight"
    )
    kept = {name: column[40:251] for name, column in columns.items()}
    kept["weight"] = weight[40:251]
    expected = in_memory(kept, y_train, metrics=FEW)
    for one, other in zip(expected.rows(), found.rows(), strict=True):
        numbers = {k: one[k] for k in ("value", "low", "high", "stderr", "skill")}
        np.testing.assert_allclose([other[k] for k in numbers], list(numbers.values()), rtol=1e-10)


def test_no_events_at_all_is_undefined_not_an_error(data):
    columns, y_train, _ = data
    columns = {**columns, "event": np.zeros(300, dtype=bool)}
    names = ["mae_uncensored", "mae_ipcw_d", "harrell", "mae_po", "uno", "km_calibration"]
    expected = in_memory(columns, y_train, metrics=names, n_boot=12).to_dict()
    same(stream(cut(columns, [40, 80]), y_train, metrics=names), expected)


def test_rows_must_not_be_missing_in_the_second_pass(data):
    columns, y_train, _ = data
    passes = iter([300, 300, 200])

    def batches():
        stop = next(passes)
        return iter([{name: column[:stop] for name, column in columns.items()}])

    # The first time the first rows are looked at.
    with pytest.raises(sg.InputError, match=r"begin anew|rows are missing"):
        stream(batches, y_train, metrics=["mae_po"])
    passes = iter([300] * 3)
    later = iter([0.0, 0.0, 1.0])

    def changed():
        found = {**columns, "time": columns["time"].copy()}
        found["time"][7] += next(later)
        return iter([found])

    with pytest.raises(sg.InputError, match="outcomes changed between the two passes"):
        stream(changed, y_train, metrics=["mae_po"])


def test_a_small_spread_around_a_large_mean_keeps_its_digits():
    rng = np.random.default_rng(0)
    time = 1e6 + rng.normal(0, 1, 40_000)
    columns = {"time": time, "event": np.ones(40_000, dtype=bool), "lr": np.zeros(40_000)}
    y_train = (time[:50], np.ones(50))
    expected = sg.evaluate(columns["lr"], (time, columns["event"]), y_train=y_train,
                           metrics=["mae_uncensored"]).rows()[0]  # fmt: skip
    for cuts in ([], [7, 30_000]):
        options = {"predictions": "lr", "metrics": ["mae_uncensored"]}
        row = stream(cut(columns, cuts), y_train, **options).rows()[0]
        assert row["stderr"] == pytest.approx(expected["stderr"], rel=1e-9)


def test_progress_is_told(data, tmp_path):
    columns, y_train, _ = data
    told = []
    stream(write(tmp_path, columns), y_train, progress=lambda *args: told.append(args))
    assert told[-1] == (300, 300, "scoring")
    assert (300, 300, "outcomes") in told


def test_a_streamed_evaluation_knows_its_outcomes():
    columns, y_train = draw(80)
    batches, y = cut(columns, [30]), sg.Outcomes(columns["time"], columns["event"])
    options = {"y_train": y_train, "predictions": {"lr": "lr"}}
    for more in ({"metrics": ["mae_po"]}, {"metrics": ["mae_uncensored"], "censoring": "train"}):
        ev = sg.evaluate_stream(batches, **more, **options)
        np.testing.assert_array_equal(ev.task.y.time, y.time)
        assert ev.plot("support")
