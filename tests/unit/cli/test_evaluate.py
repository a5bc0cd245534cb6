from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    t, c = rng.exponential(100 * np.exp(-x)), rng.exponential(200, 80)
    rows = np.column_stack([np.minimum(t, c), t <= c])

    def save(name, array, header):
        np.savetxt(tmp_path / name, array, delimiter=",", header=header, comments="", fmt="%.17g")
        return str(tmp_path / name)

    grid = np.linspace(10, 400, 15)
    survival = np.exp(-grid / (100 * np.exp(-x[40:, None])))
    return {
        "train": save("train.csv", rows[:40], "time,event"),
        "test": save("test.csv", rows[40:], "time,event"),
        "curves": save("curves.csv", survival, ",".join(f"{g:.17g}" for g in grid)),
        "times": save("times.csv", 100 * np.exp(-x[40:]), "time"),
        "folder": tmp_path,
        "rows": rows,
        "survival": (grid, survival),
    }


def evaluate(files, *more):
    return main(
        ["evaluate", "--test", files["test"], "--train", files["train"],
         "--pred", f"cox={files['curves']}", "--pred", f"lr={files['times']}", *more]
    )  # fmt: skip


def test_table_and_json_hold_what_python_gives(files, capsys):
    out = files["folder"] / "out.json"
    assert evaluate(files, "--json", str(out), "--all") == 0
    printed = capsys.readouterr().out
    assert "mae_po" in printed
    assert "Support" in printed
    result = json.loads(out.read_text())
    cell = {(m["model"], m["metric"]): m for m in result["metrics"]}
    rows = files["rows"]
    curves = sg.SurvivalCurves(*files["survival"])
    test, train = (rows[40:, 0], rows[40:, 1]), (rows[:40, 0], rows[:40, 1])
    for name, method in (("mae_po", "po"), ("mae_within", None)):
        want = sg.mae(test, curves, y_train=train, method=method)
        assert cell["cox", name]["value"] == pytest.approx(want, rel=1e-12)
    assert cell["cox", "mae_po"]["convention"]["reference"] == "training outcomes"
    assert cell["lr", "mae_po"]["convention"]["point"] == "given times"
    assert result["support"]["metrics"]["cox"]["mae_po"]["tail_share"] >= 0
    assert {c["metric"] for c in result["comparisons"]} >= {"mae_po", "mae_hinge"}


def test_json_alone_on_standard_output(files, capsys):
    assert evaluate(files, "--json", "-", "--metrics", "mae_po,mae_hinge", "--no-intervals") == 0
    result = json.loads(capsys.readouterr().out)
    assert [m["metric"] for m in result["metrics"]] == ["mae_po", "mae_hinge"] * 2
    assert result["metrics"][0]["low"] is None


def test_parquet_gives_the_same(files, capsys):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = files["rows"]
    path = files["folder"] / "test.parquet"
    pq.write_table(pa.table({"time": rows[40:, 0], "event": rows[40:, 1] == 1}), path)
    curves = files["folder"] / "curves.parquet"
    grid, survival = files["survival"]
    columns = {f"{g:.17g}": survival[:, k] for k, g in enumerate(grid)}
    pq.write_table(pa.table(columns), curves)
    evaluate(files, "--json", "-", "--metrics", "mae_po")
    from_csv = json.loads(capsys.readouterr().out)["metrics"][0]["value"]
    main(["evaluate", "--test", str(path), "--train", files["train"], "--pred", f"a={curves}",
          "--json", "-", "--metrics", "mae_po"])  # fmt: skip
    assert json.loads(capsys.readouterr().out)["metrics"][0]["value"] == pytest.approx(from_csv)


def test_groups_and_true_false_flags(files, capsys):
    path = files["folder"] / "grouped.csv"
    rows = files["rows"][40:]
    lines = [f"{t},{bool(e)},{'a' if i % 2 else 'b'}" for i, (t, e) in enumerate(rows)]
    path.write_text("time,event,site\n" + "\n".join(lines) + "\n")
    arguments = ["evaluate", "--test", str(path), "--pred", f"lr={files['times']}", "--by", "site"]
    assert main([*arguments, "--json", "-", "--metrics", "mae_hinge"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert [m["group"] for m in found] == [None, "a", "b"]
    assert main([*arguments, "--metrics", "mae_hinge"]) == 0
    assert "group" in capsys.readouterr().out


BAD = {
    "missing file": (["--test", "{folder}/nowhere.csv"], "no such file"),
    "no column": (["--test", "{curves}"], "no column 'time'; columns are 10"),
    "pred form": (["--pred", "justaname"], "--pred must be NAME=FILE; got 'justaname'"),
    "twice": (["--pred", "lr={times}"], "the name 'lr' is given twice"),
    "metric": (["--metrics", "magic"], "metrics must be one of"),
    "tau": (["--tau", "-1"], "tau must be finite and positive; got -1.0"),
    "tail": (["--tail", "magic"], "tail must be one of"),
    "confidence": (["--confidence", "95"], "confidence must lie"),
    "convention": (["--convention", "magic"], "convention must be one of"),
    "json folder": (["--json", "{folder}/no/where.json"], "does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_takes_one_line_and_status_2(case, files, capsys):
    more, message = BAD[case]
    more = [word.format(**{k: v for k, v in files.items() if k != "survival"}) for word in more]
    assert evaluate(files, *more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert error.startswith("survgauge: ")


CONTENT = {
    "text": ("time,event\n5,1\nfive,0\n", "column 'time' must be numbers; row 2 has 'five'"),
    "gap": ("time,event\n5,1\n,0\n", "column 'time' must be numbers; row 2 has ''"),
    "nan": ("time,event\n5,1\nnan,0\n", "column 'time' has no number in row 2"),
    "code": ("time,event\n5,1\n6,2\n", "means an event, such as --event-value 2"),
    "word": ("time,event\n5,yes\n6,maybe\n", "'yes' (1 row) and 'maybe' (1 row)"),
    "negative": ("time,event\n5,1\n-6,0\n", "time must be at least 0; got -6 for row 2 ("),
    "fields": ("time,event\n5,1,3\n", "row 1 has 3 fields, the header has 2"),
    "no rows": ("time,event\n", "no rows"),
    "empty": ("", "empty file"),
    "twice": ("time,time\n1,2\n", "columns appear twice: time"),
}


@pytest.mark.parametrize("case", CONTENT)
def test_bad_files_are_named_with_the_row(case, files, capsys):
    content, message = CONTENT[case]
    path = files["folder"] / "bad.csv"
    path.write_text(content)
    assert main(["evaluate", "--test", str(path), "--pred", f"a={files['times']}"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "bad.csv" in error


def test_bad_predictions_are_named(files, capsys):
    path = files["folder"] / "pred.csv"
    for content, message in (
        ("a,b\n1,2\n", "one column 'time' or 'risk', or curves with times as"),
        ("1,2\n0.5,0.9\n", "must fall from 1 towards 0"),
        ("time\n3\n", "one entry per subject: y_test has 40, got 1"),
    ):
        path.write_text(content)
        assert main(["evaluate", "--test", files["test"], "--pred", f"bad={path}"]) == 2
        assert message in capsys.readouterr().err
    binary = files["folder"] / "broken.parquet"
    binary.write_bytes(b"not a parquet file")
    pytest.importorskip("pyarrow")
    assert main(["evaluate", "--test", str(binary), "--pred", f"a={files['times']}"]) == 2
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_debug_shows_the_traceback(files):
    with pytest.raises(sg.InputError):
        evaluate(files, "--tau", "-1", "--debug")


def test_nothing_is_half_written(files, monkeypatch):
    from survgauge._tools import writing as module

    target = files["folder"] / "out.json"
    target.write_text("old")
    monkeypatch.setattr(module.os, "replace", lambda *a: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(sg.InputError, match="full"):
        module.write_atomically(target, "new")
    assert target.read_text() == "old"
    assert sorted(p.name for p in files["folder"].iterdir() if p.name.startswith(".")) == []


def test_module_and_version_and_metrics():
    run = [sys.executable, "-m", "survgauge"]
    assert subprocess.run([*run, "--version"], capture_output=True, check=True).stdout
    listed = subprocess.run([*run, "metrics"], capture_output=True, text=True, check=True).stdout
    assert "mae_po" in listed
    wrong = subprocess.run([*run, "evaluate"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2


def test_groups_by_two_columns(files, capsys):
    path = files["folder"] / "two.csv"
    rows = files["rows"][40:]
    lines = [f"{t},{int(e)},{'ab'[i % 2]},{'fm'[i % 3 > 0]}" for i, (t, e) in enumerate(rows)]
    path.write_text("time,event,site,sex\n" + "\n".join(lines) + "\n")
    words = ["evaluate", "--test", str(path), "--pred", f"lr={files['times']}", "--json", "-"]
    assert main([*words, "--metrics", "mae_hinge", "--by", "site", "--by", "sex"]) == 0
    found = json.loads(capsys.readouterr().out)
    groups = [m["group"] for m in found["metrics"]]
    assert groups == [None, "site=a", "site=b", "sex=f", "sex=m"]
    assert main([*words, "--by", "site", "--by", "site"]) == 2
    assert "--by must name each column once" in capsys.readouterr().err


def test_frequencies_of_plain_files(files, capsys):
    rows = files["rows"][40:]
    weight = 1 + np.arange(40) % 3
    path = files["folder"] / "weighted.csv"
    table = np.column_stack([rows, weight])
    np.savetxt(path, table, delimiter=",", header="time,event,w", comments="", fmt="%.17g")
    words = ["evaluate", "--test", str(path), "--train", files["train"], "--metrics", "harrell",
             "--pred", f"lr={files['times']}", "--weight-column", "w", "--json", "-"]  # fmt: skip
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)["metrics"][0]["value"]
    y = sg.Outcomes(rows[:, 0], rows[:, 1], weight)
    predicted = np.loadtxt(files["times"], skiprows=1)
    assert found == pytest.approx(sg.concordance_index(y, -predicted), rel=1e-12)
