"""Groups in streams: what `evaluate(by=...)` gives, from any source; labels that make no groups."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from streaming_data import COLUMNS, NAMES, cut, differences, draw, in_memory

import survgauge as sg
from survgauge.cli.main import main
from survgauge.evaluation.sources.specs import MOST_GROUPS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FEW = ["mae_po", "ibs", "log_likelihood", "harrell", "d_calibration", "km_calibration", "brier"]


def other_than(expected, found):
    """Differences, but for subjects by number: those of a stream count through all groups."""
    return [t for t in differences(expected, found) if "infinite_for" not in t]


def stream(batches, y_train, **options):
    options = {"predictions": COLUMNS, "metrics": FEW, "n_boot": 12, "by": "site", **options}
    return sg.evaluate_stream(batches, y_train=y_train, **options)


@pytest.fixture(scope="module")
def data():
    columns, y_train = draw(300, 1)
    columns["site"] = np.array(["north", "south", "öst"])[np.arange(300) * 7 % 11 % 3]
    expected = in_memory(columns, y_train, metrics=FEW, n_boot=12, by=columns["site"]).to_dict()
    return columns, y_train, expected


def table(columns):
    return pa.table({k: list(v) if v.ndim == 2 else v for k, v in columns.items()})


def with_labels(columns, convert):
    whole = table(columns)
    return whole.set_column(whole.schema.get_field_index("site"), "site", convert(whole["site"]))


def frame(columns, kind):
    import pandas as pd

    plain = {k: list(v) if v.ndim == 2 else v for k, v in columns.items()}
    return pd.DataFrame(plain).astype({"site": kind})


def polars(columns):
    pl = pytest.importorskip("polars")
    return pl.from_arrow(table(columns)).with_columns(pl.col("site").cast(pl.Categorical))


SOURCES = {
    "arrays": lambda c: cut(c, [7, 100, 299]),
    "lists": lambda c: [{**p, "site": p["site"].tolist()} for p in cut(c, [150])],
    "objects": lambda c: [{**p, "site": p["site"].astype(object)} for p in cut(c, [33])],
    "pandas text": lambda c: frame(c, object),
    "pandas string": lambda c: frame(c, "string"),
    "pandas categories": lambda c: frame(c, "category"),
    "polars categories": polars,
    "arrow": table,
    "arrow batches": lambda c: table(c).to_batches(64),
    "arrow large text": lambda c: with_labels(c, lambda x: x.cast(pa.large_string())),
    "arrow dictionary": lambda c: with_labels(c, lambda x: x.dictionary_encode()),
}


@pytest.mark.parametrize("kind", list(SOURCES))
def test_any_source_gives_the_groups_of_the_whole(kind, data):
    columns, y_train, expected = data
    assert other_than(expected, stream(SOURCES[kind](columns), y_train).to_dict()) == []


@pytest.mark.parametrize(
    "labels", [np.arange(300) % 4, np.arange(300) % 3 == 0, np.arange(300) % 2 / 2, np.ones(300)]
)
def test_numbers_and_flags_are_labels_too(labels, data):
    columns, y_train, _ = data
    names = ["mae_margin", "uno", "auc"]
    expected = in_memory(columns, y_train, metrics=names, by=labels)
    found = stream(cut({**columns, "site": labels}, [120]), y_train, metrics=names)
    assert [type(s.group) for s in found.scores] == [type(s.group) for s in expected.scores]
    assert other_than(expected.to_dict(), found.to_dict()) == []


def test_subjects_are_numbered_through_all_groups(data):
    columns, y_train, _ = data
    found = stream(cut(columns, [90]), y_train, metrics=["log_likelihood"])
    plain = stream(cut(columns, [90]), y_train, metrics=["log_likelihood"], by=None)

    def rows(cells):
        told = cells["log_likelihood"].get("infinite_for", "").removesuffix("(counting from 1)")
        return [int(row) for row in re.findall(r"\d+", told)]

    listed = [k for cells in found.support["metrics"]["a"]["groups"].values() for k in rows(cells)]
    assert sorted(listed) == rows(plain.support["metrics"]["a"]) != []


@pytest.mark.parametrize("workers", [1, 3])
def test_files_and_threads(workers, data, tmp_path):
    columns, y_train, expected = data
    for k, part in enumerate(cut(columns, [90, 200])):
        pq.write_table(table(part), tmp_path / f"{k}.parquet", row_group_size=40)
    found = stream(tmp_path, y_train, workers=workers).to_dict()
    assert other_than(expected, found) == []
    assert found == stream(tmp_path, y_train, workers=2).to_dict()


def test_an_iterator_is_read_once(data):
    columns, y_train, _ = data
    names = ["mae_po", "crps", "harrell", "d_calibration"]
    expected = in_memory(columns, y_train, metrics=names, by=columns["site"]).to_dict()
    found = stream(iter(cut(columns, [9, 40])), y_train, metrics=names).to_dict()
    assert other_than(expected, found) == []


def test_a_group_may_begin_late(data):
    columns, y_train, _ = data
    order = np.argsort(columns["site"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    options = {"metrics": FEW, "n_boot": 12, "by": columns["site"]}
    expected = in_memory(columns, y_train, **options).to_dict()
    found = stream(cut(columns, [50, 100, 150, 200]), y_train).to_dict()
    assert other_than(expected, found) == []


def test_the_command_line_gives_what_it_gives_of_a_file(data, tmp_path, capsys, monkeypatch):
    columns, y_train, _ = data
    monkeypatch.chdir(tmp_path)
    plain = {name: columns[name] for name in ("time", "event", "lr")}
    plain["site"] = np.arange(300) % 12  # as text "10" comes before "2"
    (tmp_path / "test").mkdir()
    pq.write_table(pa.table(plain), "test/0.parquet", row_group_size=70)
    pq.write_table(pa.table({"time": columns["lr"]}), "lr.parquet")
    pq.write_table(pa.table({"time": y_train[0], "event": y_train[1]}), "train.parquet")
    words = ["evaluate", "--train", "train.parquet", "--metrics", "mae_po,harrell", "--by", "site"]
    found = []
    for more in (["--test", "test/0.parquet", "--pred", "lr=lr.parquet"],
                 ["--test", "test", "--pred", "lr=lr"]):  # fmt: skip
        assert main([*words, *more, "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert len(found[0]["metrics"]) == 2 + 24  # everybody, then twelve groups
    assert [t for t in differences(*found) if "reference_subjects" not in t] == []


# -- what goes wrong ---------------------------------------------------------------------------


def changed(columns, row, value):
    labels = columns["site"].astype(object)
    labels[row] = value
    return {**columns, "site": labels}


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (lambda c: cut(changed(c, 210, None), [200]),
         r"batch 1: column 'site' must have a label for every subject; .* row 211 .* of the"),
        (lambda c: table(changed(c, [5, 130], None)).to_batches(100), r"row 6 .* of the"),
        (lambda c: cut(changed(c, 210, float("nan")), [200]), r"row 211 .* of the"),
        (lambda c: frame(changed(c, 250, None), "category"), r"row 251 .* of the"),
        (lambda c: cut(changed(c, 3, 7), [200]), "labels of one kind in all batches"),
        (lambda c: [{**p, "site": np.arange(len(p["time"])) if k else p["site"]}
                    for k, p in enumerate(cut(c, [200]))], "got text and whole numbers"),
        (lambda c: [{**c, "site": [b"a"] * 300}], "must hold labels of groups.*got bytes"),
        (lambda c: [{**c, "site": [["a"]] * 300}], "holds lists"),
        (lambda c: [{**c, "site": [{}] * 300}], "must hold labels; unhashable"),
        (lambda c: [{**c, "site": c["a"]}], "holds lists"),
        (lambda c: table({**c, "site": c["a"]}), "holds lists"),
        (lambda c: [{**c, "site": np.array([3] * 300, dtype="m8[D]")}], "got timedelta"),
        (lambda c: [{k: v for k, v in c.items() if k != "site"}], "no column 'site'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("metrics", [["mae_po"], ["ibs"]])
def test_bad_labels(batches, message, metrics, data):
    columns, y_train, _ = data
    with pytest.raises(sg.InputError, match=message):
        stream(batches(columns), y_train, metrics=metrics)


def test_too_many_groups(data):
    _, y_train, _ = data
    n = MOST_GROUPS + 1
    columns = {"time": np.arange(1.0, n + 1), "event": np.ones(n), "lr": np.ones(n)}
    columns["site"] = np.arange(n)
    options = {"predictions": "lr", "metrics": ["mae_po"], "baseline": False}
    for cuts in ([], [n // 2]):
        with pytest.raises(sg.InputError, match="'site' has more than 1000 labels"):
            stream(cut(columns, cuts), y_train, **options)
    fewer = {name: np.repeat(column[:-1], 5) for name, column in columns.items()}
    assert len(stream([fewer], y_train, **options).scores) == 1 + MOST_GROUPS
    for labels in (np.arange(299) % 60, np.arange(300) / 7):  # few subjects each, a measurement
        some = {name: column[: len(labels)] for name, column in fewer.items()}
        number = len(set(labels))
        with pytest.raises(sg.InputError, match=f"'site' .* it has {number} different ones"):
            stream([{**some, "site": labels}], y_train, **options)


@pytest.mark.parametrize("metrics", [["mae_po"], ["ibs"]])  # in one pass, and in two
def test_labels_of_several_columns_are_told_apart(metrics, data):
    columns, y_train, _ = data
    ward = np.arange(300) % 12
    columns = {**columns, "ward": ward, "arm": ward % 2}
    found = stream(cut(columns, [100]), y_train, by=["ward", "arm"], metrics=metrics)
    names = [*(f"ward={k}" for k in range(12)), "arm=0", "arm=1"]
    assert list(found.support["groups"]) == names
    mixed = cut(columns, [100])
    mixed[1]["arm"] = mixed[1]["arm"].astype(str)  # 1 here, "1" there: one name, not one label
    with pytest.raises(sg.InputError, match="column 'arm' must hold labels of one kind"):
        stream(mixed, y_train, by=["ward", "arm"], metrics=metrics)


@pytest.mark.parametrize("metrics", [["mae_po"], ["ibs"], ["harrell"]])
def test_a_group_of_nobody(metrics, data):
    columns, y_train, _ = data
    weight = (columns["site"] != "south").astype(float)
    with pytest.raises(sg.InputError, match="all subjects of group 'south' have weight 0"):
        stream([{**columns, "weight": weight}], y_train, metrics=metrics, weight_column="weight")


def test_labels_must_be_a_column(data):
    columns, y_train, _ = data
    with pytest.raises(sg.InputError, match="by must be the name of a column"):
        stream([columns], y_train, by=columns["site"])


def test_labels_that_change_between_passes(data):
    columns, y_train, _ = data
    passes = iter(range(9))

    def batches():
        labels = columns["site"].copy()
        if next(passes) > 1:  # neither the first look nor the first pass
            labels[100:] = "west"
        return iter([{**columns, "site": labels}])

    with pytest.raises(sg.InputError, match="'west' was not there in the first pass"):
        stream(batches, y_train)


def test_all_metrics_and_a_report(tmp_path):
    columns, y_train = draw(200, 6)
    columns["site"] = np.arange(200) % 2
    expected = in_memory(columns, y_train, n_boot=12, by=columns["site"])
    found = stream(cut(columns, [77]), y_train, metrics=NAMES)
    assert other_than(expected.to_dict(), found.to_dict()) == []
    assert "group" in str(found)
    assert found.to_html(tmp_path / "page.html").exists()
