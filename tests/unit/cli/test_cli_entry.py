"""`survgauge evaluate` with delayed entry: --entry, the column entry, --landmark."""

from __future__ import annotations

import json
from pathlib import Path

import naive_entry as naive
import naive_entry_causes as causes
import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main

Y, CURVES = naive.draw(0, n=120)


def write(folder: Path, name: str) -> list[str]:
    rows = np.column_stack([Y.time, Y.event, Y.entry])
    head = f"time,event,{name}"
    np.savetxt(folder / "test.csv", rows, delimiter=",", header=head, comments="", fmt="%.17g")
    grid = ",".join(f"{t:g}" for t in CURVES.times)
    np.savetxt(folder / "m.csv", CURVES.survival, delimiter=",", header=grid, comments="",
               fmt="%.17g")  # fmt: skip
    asked = ["--metrics", "brier,harrell", "--time", "4", "--json", str(folder / "o.json")]
    files = ["--test", str(folder / "test.csv"), "--pred", f"m={folder / 'm.csv'}"]
    return ["evaluate", *files, *asked]


def values(folder: Path) -> list[float]:
    return [row["value"] for row in json.loads((folder / "o.json").read_text())["metrics"]]


@pytest.mark.parametrize(("name", "more"), [("entry", []), ("since", ["--entry", "since"])])
def test_column(tmp_path: Path, name: str, more: list[str]) -> None:
    assert main([*write(tmp_path, name), *more]) == 0
    wanted = sg.evaluate({"m": CURVES}, Y, metrics=["brier", "harrell"], time=4.0)
    assert values(tmp_path) == pytest.approx([row["value"] for row in wanted.rows()], rel=1e-12)


def test_landmark(tmp_path: Path) -> None:
    assert main([*write(tmp_path, "entry"), "--landmark", "2"]) == 0
    asked = {"metrics": ["brier", "harrell"], "time": 4.0, "landmark": 2.0}
    wanted = sg.evaluate({"m": CURVES}, Y, **asked)
    assert values(tmp_path) == pytest.approx([row["value"] for row in wanted.rows()], rel=1e-12)


def test_contradictory_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = write(tmp_path, "entry")
    lines = (tmp_path / "test.csv").read_text().splitlines()
    lines[3] = "2,1,5"
    (tmp_path / "test.csv").write_text("\n".join(lines))
    assert main(call) == 2
    assert "row 3 (counting from 1)" in capsys.readouterr().err


@pytest.mark.parametrize("landmark", [None, 2.0])
def test_a_cause(tmp_path: Path, landmark: float | None) -> None:
    y, curves = causes.draw(0, n=120)
    rows = np.column_stack([y.time, y.cause, y.entry])
    options = {"delimiter": ",", "comments": "", "fmt": "%.17g"}
    np.savetxt(tmp_path / "test.csv", rows, header="age,status,since", **options)
    grid, files = ",".join(f"{t:g}" for t in curves.times), []
    for k in (1, 2):
        path = tmp_path / f"m{k}.csv"
        np.savetxt(path, curves.values[:, k - 1], header=grid, **options)
        files += ["--pred", f"m:{k}={path}"]
    columns = ["--time-column", "age", "--event-column", "status", "--entry", "since"]
    asked = ["--cause", "1", "--tau", "6", "--json", str(tmp_path / "o.json")]
    asked += ["--html", str(tmp_path / "o.html")]
    asked += [] if landmark is None else ["--landmark", str(landmark)]
    call = ["evaluate", "--test", str(tmp_path / "test.csv"), *files, *columns, *asked]
    assert main(call) == 0
    plain = sg.Outcomes(y.time, y.cause, entry=y.entry)
    unnamed = sg.IncidenceCurves(curves.times, curves.values)
    wanted = sg.evaluate({"m": unnamed}, plain, cause=1, tau=6.0, landmark=landmark).rows()
    assert len(wanted) > 15
    assert values(tmp_path) == pytest.approx([row["value"] for row in wanted], rel=1e-12)
    assert "competing events" in (tmp_path / "o.html").read_text()
