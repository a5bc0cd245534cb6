"""`survgauge evaluate` at several landmarks, with entries and intervals, in its own words."""

from __future__ import annotations

import json
from pathlib import Path

import naive_entry as naive
import numpy as np
import pytest
from streaming_data import bounded

import survgauge as sg
from survgauge.cli.main import main

Y, CURVES = naive.draw(0, n=120)
OTHER = sg.SurvivalCurves(CURVES.times, CURVES.survival**1.3)
LOWER, UPPER = bounded(Y.time, Y.event)
GRID = ",".join(f"{t:g}" for t in CURVES.times)


def save(path: Path, head: str, *columns: object) -> str:
    rows = np.column_stack(columns)
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    present = Y.observed_at(2.0)
    return {
        "test": save(tmp_path / "test.csv", "time,event,entry", Y.time, Y.event, Y.entry),
        "right": save(tmp_path / "right.csv", "time,event", Y.time, Y.event),
        "bounds": save(tmp_path / "bounds.csv", "lower,upper", LOWER, UPPER),
        "both": save(tmp_path / "both.csv", "time,event,lower,upper", Y.time, Y.event, LOWER,
                     UPPER),
        "m": save(tmp_path / "m.csv", GRID, CURVES.survival),
        "m2": save(tmp_path / "m2.csv", GRID, OTHER.survival[present]),
        "out": str(tmp_path / "out.json"),
    }  # fmt: skip


def test_table_of_landmarks(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    call = ["evaluate", "--test", files["test"], "--pred", f"m={files['m']}", "--time", "3,5"]
    page = files["out"] + ".html"
    more = ["--landmark", "1,2", "--metrics", "brier,uno", "--unit", "years", "--html", page]
    assert main([*call, *more, "--json", files["out"]]) == 0
    shown = capsys.readouterr().out
    assert "within 3 years" in shown
    assert "--all prints all 2 metrics" in shown
    found = json.loads(Path(files["out"]).read_text())
    wanted = sg.landmarks({"m": CURVES}, Y, [1, 2], [3, 5], metrics=["brier", "uno"])
    values = [row["value"] for row in found["table"]]
    assert values == pytest.approx([row["value"] for row in wanted.rows()], rel=1e-12)
    assert "Predictions over landmarks" in Path(page).read_text()
    assert main([*call, *more, "--all", "--no-intervals"]) == 0
    assert "Uno" in capsys.readouterr().out


@pytest.mark.parametrize("once", [True, False])
def test_updated_predictions(files: dict[str, str], once: bool) -> None:
    first = "m" if once else "m@1"
    predictions = ["--pred", f"{first}={files['m']}", "--pred", f"m@2={files['m2']}"]
    call = ["evaluate", "--test", files["test"], *predictions, "--landmark", "1", "--landmark", "2"]
    asked = ["--tau", "3", "--metrics", "brier", "--no-intervals", "--json", files["out"]]
    assert main([*call, *asked]) == 0
    found = [row["value"] for row in json.loads(Path(files["out"]).read_text())["table"]]
    updated = {1: CURVES, 2: OTHER[Y.observed_at(2.0)]}
    wanted = sg.landmarks({"m": updated}, Y, [1, 2], [3], metrics=["brier"], confidence=None)
    assert found == pytest.approx([row["value"] for row in wanted.rows()], rel=1e-12)


def test_a_file_of_one_landmark_stands_for_its_model(files: dict[str, str]) -> None:
    predictions = ["--pred", f"m={files['m']}", "--pred", f"m@2={files['m2']}"]
    asked = ["--tau", "3", "--metrics", "brier", "--no-intervals", "--json", files["out"]]
    call = ["evaluate", "--test", files["test"], *predictions, "--landmark", "2", *asked]
    assert main(call) == 0
    (row,) = json.loads(Path(files["out"]).read_text())["metrics"]
    given = {"metrics": ["brier"], "tau": 3, "confidence": None}
    (wanted,) = sg.evaluate({"m": OTHER}, Y, landmark=2, **given).rows()
    assert (row["model"], row["value"]) == ("m", pytest.approx(wanted["value"], rel=1e-12))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--landmark", "1,2"], "several landmarks need --time"),
        (["--landmark", "1,x", "--time", "3"], "--landmark must be a time, or several"),
        (["--landmark", "1,2", "--time", "3", "--by", "x"], "--by goes with one landmark"),
        (["--landmark", "1,2", "--time", "3", "--pred", "n@3={m}"], "3 is no landmark"),
        (["--landmark", "1,2", "--time", "3", "--pred", "n@2={m}"], "no predictions at landmark 1"),
        (["--metrics", "brier_dr"], "brier_dr supports no delayed entry; leave it out, or give "
         "--landmark, which"),
    ],
)  # fmt: skip
def test_what_is_refused(
    files: dict[str, str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(m=files["m"]) for word in more]
    assert main(["evaluate", "--test", files["test"], "--pred", f"m={files['m']}", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("test", "train", "more", "said"),
    [
        ("both", None, [], "--outcomes right or --outcomes interval"),
        ("right", "bounds", [], "both must be of one kind"),
        ("bounds", None, ["--landmark", "1,2", "--time", "3"], "--landmark goes with columns of"),
    ],
)
def test_kinds_of_outcomes(
    files: dict[str, str],
    test: str,
    train: str | None,
    more: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["evaluate", "--test", files[test], "--pred", f"m={files['m']}", *more]
    call += [] if train is None else ["--train", files[train]]
    assert main(call) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["right", "interval"])
def test_outcomes_says_which(files: dict[str, str], kind: str) -> None:
    call = ["evaluate", "--test", files["both"], "--pred", f"m={files['m']}"]
    asked = ["--no-intervals", "--json", files["out"]]
    assert main([*call, "--train", files["right"], "--outcomes", kind, *asked]) == 0
    names = [row["metric"] for row in json.loads(Path(files["out"]).read_text())["metrics"]]
    assert ("interval_ibs" in names) == (kind == "interval")


@pytest.mark.parametrize(("test", "what"), [("test", "delayed entry"), ("bounds", "interval")])
def test_audit_says_what_it_knows(
    files: dict[str, str], test: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--test", files[test], "--pred", f"m={files['m']}"]) == 2
    said = capsys.readouterr().err
    assert "an audit supports right-censored outcomes" in said
    assert what in said


def test_study_with_entries(files: dict[str, str], tmp_path: Path) -> None:
    call = ["study", "--test", files["test"], "--train", files["test"], "--pred"]
    folder = tmp_path / "study"
    assert main([*call, f"m={files['m']}", "--out", str(folder)]) == 0
    assert "Uno" in (folder / "table2.md").read_text()


@pytest.mark.parametrize("intervals", [False, True])
def test_folders_stream(files: dict[str, str], tmp_path: Path, intervals: bool) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    outcomes = {"lower": LOWER, "upper": UPPER} if intervals else {
        "time": Y.time, "event": Y.event, "entry": Y.entry}  # fmt: skip
    table = pa.table({**outcomes, "m": pa.array(list(CURVES.survival))})
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, part in enumerate((table[:50], table[50:])):
        pq.write_table(part, folder / f"{k}.parquet")
    names = ["interval_ibs", "interval_c"] if intervals else ["ibs", "mae_po"]
    train = files["bounds" if intervals else "test"]
    call = ["evaluate", "--test", str(folder), "--train", train, "--pred", "m=m"]
    asked = ["--grid", f"m={GRID}", "--metrics", ",".join(names), "--json", files["out"]]
    assert main([*call, *asked]) == 0
    y = sg.IntervalOutcomes(LOWER, UPPER) if intervals else Y
    wanted = sg.evaluate({"m": CURVES}, y, y_train=y, metrics=names)
    found = json.loads(Path(files["out"]).read_text())["metrics"]
    assert [row["value"] for row in found] == pytest.approx(
        [row["value"] for row in wanted.rows()], rel=1e-10
    )
    assert main([*call, *asked, "--landmark", "2"]) == 2
