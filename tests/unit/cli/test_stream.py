"""`survgauge evaluate` on folders of Parquet."""

from __future__ import annotations

import json

import pytest
from streaming_data import GRID, cut, differences, draw, in_memory

from survgauge._tools.running import steps
from survgauge.cli import output
from survgauge.cli.main import main

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

METRICS = ["mae_po", "harrell", "brier"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Outcomes with predictions beside them, and one model's in a folder of its own."""
    columns, y_train = draw(300, 4)
    (tmp_path / "test").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "wide").mkdir()
    for k, part in enumerate(cut(columns, [120])):
        lists = {n: list(c) if c.ndim == 2 else c for n, c in part.items()}
        pq.write_table(pa.table(lists), tmp_path / "test" / f"{k}.parquet", row_group_size=50)
    pq.write_table(pa.table({"risk": columns["risk"]}), tmp_path / "own" / "0.parquet")
    wide = pa.table({str(t): columns["b"][:, k] for k, t in enumerate(GRID)})
    pq.write_table(wide, tmp_path / "wide" / "0.parquet", row_group_size=33)
    train = {"time": y_train[0], "event": y_train[1]}
    pq.write_table(pa.table(train), tmp_path / "train.parquet")
    lines = [f"{t},{int(e)}" for t, e in zip(*y_train, strict=True)]
    (tmp_path / "train.csv").write_text("time,event\n" + "\n".join(lines))
    grid = "\n".join(["time", *map(str, GRID)])
    (tmp_path / "grid.csv").write_text(grid)
    (tmp_path / "line.csv").write_text("0\n5\n10\n")
    monkeypatch.chdir(tmp_path)
    return columns, y_train


COMMAND = ["evaluate", "--test", "test", "--train", "train.parquet", "--metrics", ",".join(METRICS)]
MODELS = ["--pred", "a=a", "--grid", "a=grid.csv", "--pred", "b=wide"]
MODELS += ["--pred", "lr=lr", "--pred", "risk=own"]


def test_a_folder_gives_what_the_whole_gives(place, capsys):
    columns, y_train = place
    expected = in_memory(columns, y_train, metrics=METRICS).to_dict()
    for more in ([], ["--workers", "1"], ["--batch-rows", "7"], ["--train", "train.csv"]):
        assert main([*COMMAND, *MODELS, "--json", "-", *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [t for t in differences(expected, found) if "reference_subjects" not in t] == []


def test_a_grid_may_be_longer_than_a_file_name(place, capsys):
    columns, y_train = place
    digits = ",".join(f"{t:.60f}" for t in GRID)
    assert len(digits) > 255
    words = ["--pred", "a=a", "--grid", f"a={digits}", "--json", "-"]
    assert main([*COMMAND, *words]) == 0
    expected = in_memory(columns, y_train, metrics=METRICS).to_dict()["metrics"]
    found = json.loads(capsys.readouterr().out)["metrics"]
    known = [row["value"] for row in expected if row["model"] == "a"]
    assert [row["value"] for row in found] == pytest.approx(known, rel=1e-10)


def test_a_single_file_streams_where_pred_names_a_column(place, capsys):
    pq.write_table(pq.read_table("test"), "one.parquet")
    words = ["evaluate", "--test", "one.parquet", "--train", "train.parquet", "--metrics", "mae_po"]
    assert main([*words, "--pred", "lr=lr", "--html", "page.html"]) == 0
    captured = capsys.readouterr()
    assert "mae_po" in captured.out
    assert captured.err == ""  # no bar where there is no terminal


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--pred", "x=gone"], "no column 'gone'"),
        (["--pred", "x=gone.parquet"], "gone.parquet: no such file"),
        (["--pred", "x=train.csv"], "predictions of a stream must be Parquet"),
        (["--pred", "x=b"], "need their grid"),
        (["--pred", "x=lr", "--grid", "x=a,b"], "--grid must be times"),
        (["--pred", "x=lr", "--grid", "x=" + "1," * 300 + "a"], "--grid must be times"),
        (["--pred", "x=lr", "--grid", "x=nowhere.csv"], "a CSV file that exists"),
        (["--pred", "x=lr", "--grid", "x=line.csv"], "must have a column time"),
        (["--pred", "x=lr", "--grid", "y=1,2"], "there is no --pred named 'y'"),
        (["--pred", "x=lr", "--pred", "x=lr"], "given twice"),
        (["--pred", "x=lr", "--grid", "x=1,2", "--grid", "x=1,3"], "--grid: the name 'x' is given"),
        (["--pred", "x=lr", "--by", "sex"], "no column 'sex'"),
        (["--pred", "x=lr", "--batch-rows", "0"], "batch_rows must be"),
        (["--pred", "x=lr", "--workers", "0"], "workers must be"),
        (["--pred", "x=lr", "--scheduler", "tcp://x"], "--scheduler belongs to --engine dask"),
        (["--pred", "x=lr", "--engine", "dask", "--batch-rows", "9"], "belong to --engine local"),
        (["--pred", "x=lr", "--metrics", "antolini"], "cannot be streamed"),
        (["--pred", "x=train.parquet"], "predictions must have one column"),
        (["--pred", "x=short.parquet"], "must have one row per subject"),
        (["--pred", "x=lr", "--test", "empty"], "no Parquet files"),
    ],
)
def test_bad_input_takes_one_line_and_status_2(change, message, place, capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    pq.write_table(pa.table({"time": [1.0, 2.0]}), "short.parquet")
    assert main([*COMMAND, *change]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_folder_needs_a_reference(place, capsys):
    assert main(["evaluate", "--test", "test", "--pred", "lr=lr"]) == 2
    assert "--train must be given" in capsys.readouterr().err


def test_work_deep_inside_is_told_too(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 31.0, 61.0])  # 30 s for a part; the first had begun before
    monkeypatch.setattr(output, "monotonic", lambda: next(clock))
    with output.progress():
        assert list(steps("abc", 3, "drawing figures")) == ["a", "b", "c"]
    assert "drawing figures: 67%, about 30 s to go" in capsys.readouterr().err
    assert list(steps("ab", 2, "drawing figures")) == ["a", "b"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_says_what_is_left(terminal, monkeypatch, capsys):
    clock = iter([0.0, 1.0, 4.0, 6.0, 50.0, 50.1])
    monkeypatch.setattr(output, "monotonic", lambda: next(clock))
    monkeypatch.setattr(output.sys.stderr, "isatty", lambda: terminal, raising=False)
    with output.progress() as tell:
        for done in (1, 4, 6):
            tell(done, 10, "scoring")
        tell(9, None, "\x1b[31mscoring")
        tell(10, 10, "scoring")
    told = capsys.readouterr().err
    assert "scoring: 60%, about 4 s to go" in told
    assert r"\x1b[31mscoring: 9 rows" in told
    assert "100%" not in told
    assert told.count("\n") == (0 if terminal else 2)
