"""The command line reads outcomes with columns lower and upper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli import main
from survgauge.data.files import read_intervals


def write(path, lower, upper, extra=""):
    rows = [f"{a},{b}{extra}" for a, b in zip(lower, upper, strict=True)]
    path.write_text("lower,upper" + (",w" if extra else "") + "\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    time = rng.exponential(5, 60)
    y = sg.visits(time, 1.0, end=8).y
    write(tmp_path / "test.csv", y.lower, y.upper)
    np.savetxt(tmp_path / "lr.csv", time * rng.uniform(0.5, 1.5, 60), header="time", comments="")
    grid = np.arange(0, 40, 2.0)
    survival = np.exp(-grid / rng.uniform(4, 6, (60, 1)))
    header = ",".join(map(str, grid))
    np.savetxt(tmp_path / "cox.csv", survival, delimiter=",", header=header, comments="")
    return tmp_path


def test_evaluate(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # room for the titles of metrics
    command = ["evaluate", "--test", str(files / "test.csv"), "--train", str(files / "test.csv")]
    command += ["--pred", f"cox={files / 'cox.csv'}", "--pred", f"lr={files / 'lr.csv'}"]
    page = files / "page.html"
    assert main([*command, "--html", str(page), "--json", str(files / "out.json")]) == 0
    shown = capsys.readouterr().out
    assert "C-index, interval-censored" in shown
    assert "60 subjects" in shown
    assert page.exists()
    assert main([*command, "--metrics", "brier"]) == 2
    assert "brier supports right-censored outcomes only" in capsys.readouterr().err


def test_contradictions_name_file_and_rows(files, capsys):
    bad = write(files / "bad.csv", [0, 5], [1, 4])
    command = ["evaluate", "--test", str(bad), "--pred", f"lr={files / 'lr.csv'}"]
    assert main(command) == 2
    assert "bad.csv: lower must not be above upper; it is for row 2" in capsys.readouterr().err


def test_reader(files):
    y = read_intervals(write(files / "w.csv", [0, 5], [1, "inf"], ",3"), "w")
    assert y.weight.tolist() == [3, 3]
    assert y.upper.tolist() == [1, np.inf]
    plain = write(files / "plain.csv", [0], [1])
    assert read_intervals(plain, "w", weight_required=False).frequency is None
    with pytest.raises(sg.InputError, match="row 1 has ''"):
        read_intervals(write(files / "gap.csv", [0], [""]))


@pytest.mark.parametrize(
    ("cells", "said"),
    [("lower,upper\n1,2\n2,\n", "where no event was seen, upper is inf"),
     ("lower,upper,entry\n1,2,0\n2,3,1\n", "delayed entry")],
)  # fmt: skip
def test_what_an_interval_file_cannot_have(cells: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(cells)
    with pytest.raises(sg.InputError, match=said):
        read_intervals(tmp_path / "test.csv")


@pytest.mark.parametrize("option", [["--entry", "lower"], ["--event-value", "1"]])
def test_options_of_times_and_events_are_refused(option, files, capsys):
    command = ["evaluate", "--test", str(files / "test.csv"), "--pred", f"lr={files / 'lr.csv'}"]
    assert main([*command, *option]) == 2
    assert f"{option[0]} goes with columns of times and events" in capsys.readouterr().err


def test_a_cell_that_is_no_number_is_named_and_not_infinity(files, capsys):
    write(files / "bad.csv", [0, 1, 2], [2, "inf", "late"])
    given = ["--test", str(files / "bad.csv"), "--pred", f"lr={files / 'lr.csv'}"]
    assert main(["evaluate", *given]) == 2
    assert "row 3 has 'late'" in capsys.readouterr().err


def test_outcomes_that_a_file_does_not_have(files, capsys):
    pred = ["--pred", f"lr={files / 'lr.csv'}"]
    assert main(["evaluate", "--test", str(files / "test.csv"), "--outcomes", "right", *pred]) == 2
    assert "--outcomes right needs the columns time and event" in capsys.readouterr().err
    (files / "right.csv").write_text("time,event\n" + "3,1\n" * 60)
    given = ["--test", str(files / "right.csv"), "--outcomes", "interval", *pred]
    assert main(["evaluate", *given]) == 2
    assert "--outcomes interval needs the columns lower and upper" in capsys.readouterr().err
