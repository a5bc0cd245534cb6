"""A store whose files were damaged gives the right numbers or an error that names the file."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("pyarrow")

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from experiment_plans import toy_plan

from survgauge.bench.experiment import Plan, Results, Store, run
from survgauge.cli.main import main
from survgauge.errors import InputError

TESTS = Path(__file__).resolve().parents[1]
OTHER = [b"[]", b"null", b"{}", b'"text"', b"1e999", b'{"cell": {}, "metrics": [1]}', b"[" * 9999]


def go(plan, store, **options):
    return run(plan, store, **{"jobs": 1, "progress": False, **options})


def numbers(results):
    """Everything but how long it took."""
    table = results.metrics.drop(columns=["seconds", "seconds_fit"])
    keys = ["dataset", "censoring", "repeat", "fold", "model", "metric"]
    failed = sorted((f["cell"]["model"], f["cell"]["fold"], f["message"]) for f in results.failures)
    return table.sort_values(keys, ignore_index=True), failed


def is_right(results, right):
    try:
        pd.testing.assert_frame_equal(numbers(results)[0], right[0], check_exact=True)
    except AssertionError:
        return False
    return numbers(results)[1] == right[1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished store with failures and predictions, its plan, and what it says."""
    folder = tmp_path_factory.mktemp("whole")
    bad = {"name": "b", "class": "experiment_parts:Constant", "trouble": "raise", "label": "bad"}
    models = ["km", "lr", bad]
    plan = toy_plan(folder, models=models, metrics=["mae_po", "harrell"], censoring=["uniform"])
    plan |= {"folds": 2, "keep_predictions": True}
    right = numbers(go(plan, folder / "store"))
    return folder / "store", plan, right


def files_of(store):
    found = sorted(p.relative_to(store) for p in store.rglob("*") if p.is_file())
    return [path for path in found if path.name != ".lock"]


def damages(content, other, rng, flips):
    """What can become of a file, by name."""
    yield "emptied", b""
    yield "cut", content[: len(content) // 2]
    yield "cut by one", content[:-1]
    yield "longer", content + b"\0"
    yield "another", other
    for k, text in enumerate(OTHER):
        yield f"other JSON {k}", text
    for _ in range(flips):
        place, bit = rng.randrange(len(content)), rng.randrange(8)
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        yield f"bit {bit} of byte {place}", bytes(flipped)


def survives(call, right, file):
    """Whether a call gives the right numbers, or one line that names the file."""
    try:
        results = call()
    except InputError as error:
        return str(file) in str(error) and "\n" not in str(error)
    return is_right(results, right)


def check_all(whole, tmp_path, flips, chosen):
    store, plan, right = whole
    rng, wrong = random.Random(1), []
    names = files_of(store)
    for name in chosen(names):
        siblings = [n for n in names if n.suffix == name.suffix and n != name] or [name]
        content, other = (store / name).read_bytes(), (store / siblings[-1]).read_bytes()
        for damage, new in damages(content, other, rng, flips):
            copy = tmp_path / "copy"
            shutil.copytree(store, copy)
            (copy / name).write_bytes(new)
            read = survives(lambda copy=copy: Results.load(copy), right, copy / name)
            resumed = survives(lambda copy=copy: go(plan, copy, resume=True), right, copy / name)
            if not (read and resumed):
                wrong.append((str(name), damage, read, resumed))
            shutil.rmtree(copy)
    assert wrong == []


def one_of_a_kind(names):
    """The first cell, failure and prediction, and all files that there is one of."""
    return {name.parts[0]: name for name in reversed(names)}.values()


def test_every_damage_to_every_kind_of_file(whole, tmp_path):
    check_all(whole, tmp_path, 3, one_of_a_kind)


@pytest.mark.slow
def test_many_bits_of_every_file(whole, tmp_path):
    check_all(whole, tmp_path, 200, lambda names: names)


def test_every_bit_of_a_result_matters(whole, tmp_path):
    """Single flips changed results with exit 0; none of them goes unseen now."""
    store, plan, _ = whole
    cell = next(c for c in Plan.of(plan).cells() if c.model.label == "km")
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    file = copy / "cells" / f"{cell.path}.parquet"
    content, handle = file.read_bytes(), Store(copy)
    only = replace(Plan.of(plan), models=(cell.model,))
    right = handle.frame(only)
    rng = random.Random(2)
    for _ in range(400):
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        if not handle.damaged([cell]):
            # It says nothing of the result: which program wrote the file, say.
            pd.testing.assert_frame_equal(handle.frame(only), right)
    file.write_bytes(content)
    assert handle.damaged([cell]) == {}


def test_a_damaged_cell_is_computed_again_and_named(whole, tmp_path, capsys):
    store, plan, right = whole
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    file = next(p for p in (copy / "cells").rglob("*km*.parquet"))
    original = pd.read_parquet(file)
    about = pq.read_schema(file).metadata
    changed = pa.Table.from_pandas(original.assign(value=1.0), preserve_index=False)
    pq.write_table(changed.replace_schema_metadata(about), file)
    assert main(["report", str(copy), "--html", str(tmp_path / "page.html")]) == 2
    error = capsys.readouterr().err
    assert f"{file} is damaged" in error
    assert "--resume" in error
    assert error.count("\n") == 1
    assert is_right(go(plan, copy, resume=True, progress=True), right)
    said = capsys.readouterr().err
    assert f"{file} is damaged (its content does not match its checksum)" in said
    assert "1/1 cells, 0 failed" in said
    assert pd.read_parquet(file)["value"].equals(original["value"])


def test_damaged_predictions_are_not_measured(whole, tmp_path):
    store, plan, _ = whole
    more = {**plan, "metrics": ["mae_margin"]}
    right = numbers(go(more, tmp_path / "fresh"))
    names = sorted((store / "predictions").rglob("*.npz"))
    for k, new in enumerate([b"", b"PK", names[1].read_bytes(), names[0].read_bytes()[:-80]]):
        copy = tmp_path / str(k)
        shutil.copytree(store, copy)
        file = copy / names[0].relative_to(store)
        file.write_bytes(new)
        assert is_right(go(more, copy, resume=True), right)


def test_files_that_cannot_be_what_they_seem_are_refused(whole, tmp_path):
    """The right cell's name on another cell's result, checksum and all."""
    store, plan, right = whole
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    one, other = sorted((copy / "cells").rglob("*km*.parquet"))
    one.write_bytes(other.read_bytes())
    with pytest.raises(InputError, match="it is about another cell"):
        Results.load(copy)
    assert is_right(go(plan, copy, resume=True), right)


# --- advice that can be followed ------------------------------------------------------------------


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_the_advice_about_a_plan_works(whole, tmp_path, how):
    store, plan, right = whole
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    file = copy / "plan.json"
    if how == "damaged":
        file.write_text("{")
    else:
        file.unlink()
    with pytest.raises(InputError, match=r"plan\.json"):
        Results.load(copy)
    assert is_right(go(plan, copy, resume=True), right)
    assert is_right(Results.load(copy), right)


def test_the_advice_about_the_environment_works(whole, tmp_path):
    store, plan, right = whole
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    (copy / "environment.json").write_text("{")
    with pytest.raises(InputError, match=r"environment\.json is damaged .* delete it and resume"):
        go(plan, copy, resume=True)
    (copy / "environment.json").unlink()
    assert is_right(go(plan, copy, resume=True), right)


# --- runs that never started ----------------------------------------------------------------------


def test_a_run_that_never_started_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = toy_plan(tmp_path, metrics=["mae_po"], models=["km"])
    before = sorted(os.listdir())
    for options in ({"resume": True}, {"retry_failed": True}):
        with pytest.raises(InputError, match="store TYPO holds no run to go on with"):
            go(plan, "TYPO", **options)
    wrong = {**plan, "models": [{"name": "km", "trees": 3}]}
    with pytest.raises(InputError, match="no parameter 'trees'"):
        go(wrong, "store")
    gone = {**plan, "datasets": [{"name": "gone", "path": str(tmp_path / "gone.csv")}]}
    with pytest.raises(InputError, match=r"gone\.csv"):
        go(gone, "some/folder/store")
    assert sorted(os.listdir()) == sorted([*before, "some"])  # folders above the store may stay
    os.mkdir("empty")
    with pytest.raises(InputError):
        go(wrong, "empty")
    assert os.listdir("empty") == []
    assert len(go(plan, "store").metrics) == 6


def test_no_cluster_no_store(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(
        'name = "n"\ndatasets = ["lifelines_rossi"]\ncensoring = ["uniform"]\nmodels = ["km"]\n'
        'metrics = ["mae_po"]\n'
    )
    assert main(["bench", "p.toml", "--engine", "dask", "--scheduler", "zzz"]) == 2
    assert "no Dask scheduler answers at zzz" in capsys.readouterr().err
    assert os.listdir() == ["p.toml"]


def test_a_resumed_run_that_cannot_start_changes_nothing(whole, tmp_path):
    store, plan, _ = whole
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    before = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    with pytest.raises(InputError, match="no parameter 'trees'"):
        go({**plan, "models": [{"name": "km", "trees": 3}]}, copy, resume=True)
    assert {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("left", [".survgauge-abc.json", ".lock", "running", "environment.json"])
def test_what_a_killed_run_left_blocks_nothing(tmp_path, left):
    """Killed before its first cell: the folder is as good as new, with --resume or without."""
    plan = toy_plan(tmp_path, metrics=["mae_po"], models=["km"], censoring=["uniform"])
    store = tmp_path / "store"
    store.mkdir()
    if left == "running":
        (store / left).mkdir()
    else:
        (store / left).write_text('{"da' if left.startswith(".s") else "{}")
    assert len(go(plan, store).metrics) == 3
    assert not (store / ".survgauge-abc.json").exists()
    for resume in (False, True):
        begun = tmp_path / f"begun{resume}"
        Store(begun).root.mkdir()
        (begun / "plan.json").write_bytes((store / "plan.json").read_bytes())
        assert len(go(plan, begun, resume=resume).metrics) == 3


def test_a_run_in_which_everything_fails_says_why(tmp_path):
    bad = {"name": "b", "class": "experiment_parts:Constant", "trouble": "raise"}
    plan = toy_plan(tmp_path, models=[bad], metrics=["mae_po"], censoring=["uniform"])
    with pytest.raises(
        InputError, match=r"3 failed. The first error .* is ArithmeticError: on purpose"
    ):
        go(plan, tmp_path / "store")


# --- names ----------------------------------------------------------------------------------------


def test_names_do_not_leave_their_folder(tmp_path, monkeypatch):
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    long = "n" * 300
    plan = toy_plan(inner, name="x/../../escaped", metrics=["mae_po"], censoring=["uniform"])
    plan["models"] = [{"name": "km", "label": "../../../model"}, {"name": "km", "label": long}]
    assert set(go(plan, None).metrics["model"]) == {"../../../model", long}
    assert sorted(os.listdir(inner)) == ["bench-x_.._.._escaped", "toy.csv"]
    assert [sorted(os.listdir(p)) for p in (tmp_path, tmp_path / "a")] == [["a"], ["b"]]
    assert os.listdir(tmp_path / "a" / "b") == ["c"]
    with pytest.raises(InputError, match="name must be a text; got 3"):
        Plan.of({**plan, "name": 3})


def test_tables_hold_no_formula(tmp_path):
    from survgauge.bench.experiment.writing import check_folder, write_all

    label = '=HYPERLINK("http://x")'
    models = [{"name": "km", "label": label}, {"name": "lr", "label": "@lr"}, "coxph"]
    plan = toy_plan(tmp_path, models=models, metrics=["mae_po", "mae_margin"])
    results = go(plan, tmp_path / "store")
    write_all(results, tmp_path / "out", figures=())
    scores = pd.read_csv(tmp_path / "out" / "tables" / "by_model.csv")
    assert {f"'{label}", "'@lr", "coxph"} == set(scores["model"])
    for file in (tmp_path / "out" / "tables").glob("*.csv"):
        for column in pd.read_csv(file).select_dtypes(object):
            assert not pd.read_csv(file)[column].dropna().str.match(r"[=+\-@\t\r]").any()
    with pytest.raises(InputError, match=r"would overwrite .*scores\.csv"):
        check_folder(tmp_path / "out", [tmp_path / "out" / "tables" / "scores.csv"])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--out must be a folder"):
        check_folder(tmp_path / "file", [])
