"""Commands and the files they touch: inputs survive, nothing is obeyed, errors take one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from survgauge import InputError
from survgauge._tools.text import visible
from survgauge.cli.main import main
from survgauge.data import files, tables

N = 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Outcomes, two predictions and a saved evaluation, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    times, events = rng.integers(1, 300, N), rng.integers(0, 2, N)
    rows = [f"{t},{e}" for t, e in zip(times, events, strict=True)]
    Path("d.csv").write_text("time,event\n" + "\n".join(rows) + "\n")
    Path("p.csv").write_text("time\n" + "\n".join(map(str, rng.integers(1, 300, N))) + "\n")
    assert main([*EVALUATE, "--json", "ev.json"]) == 0
    return tmp_path


EVALUATE = ["evaluate", "--test", "d.csv", "--pred", "m=p.csv", "--metrics", "mae_hinge"]
CENSOR = ["censor", "--data", "d.csv", "--type", "uniform"]


def names_of(file):
    """Other names of a file in the current folder: relative, absolute, linked both ways."""
    os.symlink(file, "soft")
    os.link(file, "hard")
    return [
        file,
        f"./{file}",
        os.path.abspath(file),
        f"../{Path.cwd().name}/{file}",
        "soft",
        "hard",
    ]


def refused(words, capsys, said="would overwrite"):
    capsys.readouterr()
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("survgauge: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("file", ["d.csv", "p.csv"])
@pytest.mark.parametrize("option", ["--html", "--json"])
def test_evaluate_keeps_its_inputs(folder, capsys, option, file):
    before = Path(file).read_bytes()
    for name in names_of(file):
        refused([*EVALUATE, "--train", "d.csv", option, name], capsys)
    assert Path(file).read_bytes() == before


def test_censor_keeps_its_inputs(folder, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    before = Path("d.csv").read_bytes()
    Path("x.csv").write_bytes(before)
    external = ["censor", "--data", "x.csv", "--type", "external", "--external", "d.csv"]
    for name in names_of("d.csv"):
        refused([*CENSOR, "--out", name], capsys)
        refused([*external, "--out", name], capsys)
        refused([*CENSOR, "--out", "new.csv", "--plot", name], capsys)
    refused([*CENSOR, "--out", "new.svg", "--plot", "./new.svg"], capsys)
    assert Path("d.csv").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == [
        "d.csv", "ev.json", "hard", "p.csv", "soft", "x.csv",
    ]  # fmt: skip


def test_report_keeps_its_inputs(folder, capsys):
    before = Path("ev.json").read_bytes()
    for name in names_of("ev.json"):
        refused(["report", "ev.json", "--html", name], capsys)
    assert Path("ev.json").read_bytes() == before
    store = folder / "store"
    store.mkdir()
    (store / "plan.json").write_text("{}")
    refused(["report", "store", "--html", "store/plan.json"], capsys)
    assert (store / "plan.json").read_text() == "{}"


def test_files_of_a_folder_and_grids_are_inputs_too(folder, capsys):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    Path("parts").mkdir()
    table = pa.table({"time": np.arange(1.0, 41), "event": np.tile([1, 0], 20), "m": np.ones(40)})
    pq.write_table(table, "parts/part0.parquet")
    Path("grid.csv").write_text("time\n1\n2\n")
    stream = ["evaluate", "--train", "d.csv", "--pred", "m=m", "--grid", "m=grid.csv"]
    for test in ("parts", "parts/*.parquet"):
        refused([*stream, "--test", test, "--json", "parts/part0.parquet"], capsys)
        refused([*stream, "--test", test, "--html", "grid.csv"], capsys)


def test_a_report_can_be_written_again(folder, capsys):
    for _ in range(2):
        assert main([*EVALUATE, "--json", "ev.json", "--html", "page.html"]) == 0
        assert main(["report", "ev.json", "--html", "page2.html"]) == 0


# --- formats, shapes of files ---------------------------------------------------------------------


def test_a_format_that_cannot_be_drawn_is_refused_before_writing(folder, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    for name in ("p.zzz", "plot"):
        refused([*CENSOR, "--out", "new.csv", "--plot", name], capsys, "must end in a format")
    assert not Path("new.csv").exists()
    refused([*CENSOR, "--out", "new.csv", "--plot", "no/p.png"], capsys, "does not exist")
    refused([*CENSOR, "--out", "no/new.csv"], capsys, "does not exist")
    assert not Path("new.csv").exists()


def test_a_column_twice_in_parquet_is_one_line(folder, capsys):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    import pyarrow.parquet as pq

    t, e = pa.array(np.arange(1.0, N + 1)), pa.array(np.tile([1, 0], N // 2))
    pq.write_table(pa.Table.from_arrays([t, t, e], names=["time", "time", "event"]), "t.parquet")
    test = ["evaluate", "--test", "t.parquet", "--train", "t.parquet", "--metrics", "mae_hinge"]
    refused([*test, "--pred", "m=p.csv"], capsys, "t.parquet: columns appear twice: time")
    refused([*test, "--pred", "m=time"], capsys, "t.parquet: column 'time' appears 2 times")
    censor = ["censor", "--data", "t.parquet", "--type", "uniform", "--out", "new.csv"]
    refused(censor, capsys, "t.parquet: columns appear twice: time")


@pytest.mark.parametrize("index", [["time"], ["time", "event"], ["x"], None])
def test_an_index_of_pandas_is_a_column(folder, capsys, index):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.read_csv("d.csv").assign(x=1.5)
    frame.to_parquet("plain.parquet")
    (frame.set_index(index) if index else frame.iloc[::-1].iloc[::-1]).to_parquet("i.parquet")
    assert main(["censor", "--data", "plain.parquet", "--type", "uniform", "--out", "a.csv"]) == 0
    assert main(["censor", "--data", "i.parquet", "--type", "uniform", "--out", "b.csv"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))
    capsys.readouterr()
    assert main(["evaluate", "--test", "i.parquet", *EVALUATE[3:], "--json", "-"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["metrics"]
        == (json.loads(Path("ev.json").read_text())["metrics"])
    )


def test_a_flipped_bit_in_our_own_parquet_is_found(folder, capsys):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pd.read_csv("d.csv").assign(x=np.arange(N) / 7).to_parquet("d.parquet")
    words = ["censor", "--data", "d.parquet", "--type", "uniform", "--out", "new.parquet"]
    assert main(words) == 0
    content = Path("new.parquet").read_bytes()
    right = {name: tables.Table("new.parquet").numbers(name).tolist() for name in ("x", "time")}
    group = pq.read_metadata("new.parquet").row_group(0)
    end = 4 + sum(group.column(k).total_compressed_size for k in range(group.num_columns))
    found = 0
    for place in range(4, end, 5):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        Path("new.parquet").write_bytes(damaged)
        try:
            table = tables.Table("new.parquet")
        except InputError as error:
            found += "new.parquet: cannot be read as Parquet" in str(error)
        else:  # a bit that no number depends on, such as one of the statistics
            assert {name: table.numbers(name).tolist() for name in right} == right
    assert found > 50


def test_names_are_not_searched_one_by_one(monkeypatch):
    """A hundred thousand columns never ended: `names.count` for each of them."""

    class Names(list):
        def count(self, name):
            raise AssertionError("a search through all names")

        index = __contains__ = count

    names = Names(str(k) for k in range(50))
    monkeypatch.setattr(tables, "_csv_columns", lambda path: (names, [("0.5",)] * 50))
    found = files.read_predictions(__file__)
    assert found.survival.shape == (1, 50)


# --- what is printed ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--zzz"],
        ["evaluate", "--test", "d.csv"],
        ["evaluate", "--test", "d.csv", "--pred", "m=p.csv", "--tau", "soon"],
        ["bench", "demo", "--engine", "cloud"],
        ["no-such-command"],
    ],
)
def test_a_wrong_argument_takes_one_line(words, capsys):
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert "--help' lists the arguments" in error
    assert "usage" not in error


ESCAPES = "\x1b[2J\x1b]0;owned\x07m\x9b31m\x7f\u202e"


def test_names_cannot_steer_the_terminal(folder, capsys):
    assert main([*EVALUATE, "--pred", f"{ESCAPES}=p.csv", "--json", "out.json"]) == 0
    printed = capsys.readouterr().out
    assert "\\x1b[2J\\x1b]0;owned\\x07m\\x9b31m\\x7f\\u202e" in printed
    assert not set(printed) & set("\x1b\x07\x9b\x7f\u202e\r")
    assert json.loads(Path("out.json").read_text())["models"] == ["m", ESCAPES]
    # In messages, too: here the name of a column.
    Path("bad.csv").write_text(f"{ESCAPES},b\n1,2\n")
    refused(["evaluate", "--test", "d.csv", "--pred", "m=bad.csv"], capsys, "bad.csv")
    assert main(["evaluate", "--test", "bad.csv", "--pred", "m=p.csv"]) == 2
    assert not set(capsys.readouterr().err) & set("\x1b\x07\x9b\x7f\u202e\r")


def test_progress_shows_names_and_messages_without_obeying(capsys):
    pytest.importorskip("pandas")
    from survgauge.bench.experiment.runner import RunProgress

    RunProgress([], 1).say(f"failed: {ESCAPES}")
    error = capsys.readouterr().err
    assert error == f"failed: {visible(ESCAPES)}\n"
    assert "\x1b" not in error
