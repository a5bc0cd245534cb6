"""Where a result comes from: its date, its call, and the files behind it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools import writing as module
from survgauge._tools.writing import input_record, provenance
from survgauge.cli.main import main

Y = ([2, 5, 7, 8], [1, 0, 1, 1])


def test_the_date_is_now_unless_it_is_fixed(monkeypatch: Any) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert provenance("call")["date"] == "1970-01-02T00:00:00Z"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert provenance("call")["date"] > "2024"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(sg.InputError, match=r"SOURCE_DATE_EPOCH must be .* got 'yesterday'"):
        provenance("call")


def test_a_result_knows_its_call_and_version() -> None:
    ev = sg.evaluate([3, 5, 6, 9], Y, metrics=["mae_po"], tau=6.0, unit="days")
    made = ev.to_dict()["provenance"]
    assert made["version"] == sg.__version__
    assert f"NumPy {np.__version__}" in made["computed_with"]
    assert made["inputs"] == []
    assert made["call"] == (
        "survgauge.evaluate(predictions, y_test, metrics=['mae_po'], unit='days', tau=6.0)"
    )


def test_a_stream_knows_its_call_too() -> None:
    batches = [{"time": [2, 5], "event": [1, 0], "a": [3, 5]}]
    ev = sg.evaluate_stream(
        batches, y_train=Y, predictions={"a": "a"}, metrics=["mae_po"], workers=1
    )
    assert ev.provenance["call"] == (
        "survgauge.evaluate_stream(batches, y_train, predictions, metrics=['mae_po'])"
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    time, event = rng.exponential(100, 60).round(1), rng.random(60) < 0.6
    rows = "\n".join(f"{t},{int(e)}" for t, e in zip(time, event, strict=True))
    (tmp_path / "test set.csv").write_text(f"time,event\n{rows}\n")
    (tmp_path / "a.csv").write_text("time\n" + "\n".join(map(str, time + 9)) + "\n")
    return tmp_path


def test_files_have_checksums_in_json_and_page(files: Path, capsys: Any) -> None:
    words = ["evaluate", "--test", f"{files}/test set.csv", "--pred", f"a={files}/a.csv"]
    words += ["--metrics", "mae_po", "--json", f"{files}/out.json", "--html", f"{files}/out.html"]
    assert main(words) == 0
    made = json.loads((files / "out.json").read_text())["provenance"]
    assert made["call"].startswith("survgauge evaluate --test '")
    sums = {entry["name"]: entry["sha256"] for entry in made["inputs"]}
    names = ("test set.csv", "a.csv")
    assert sums == {n: hashlib.sha256((files / n).read_bytes()).hexdigest() for n in names}
    page = (files / "out.html").read_text()
    for checksum in sums.values():
        assert page.count(checksum) == 2  # section, record
    capsys.readouterr()


def test_the_same_input_gives_the_same_page(files: Path, capsys: Any) -> None:
    words = ["evaluate", "--test", f"{files}/test set.csv", "--pred", f"a={files}/a.csv"]
    words += ["--metrics", "mae_po,harrell", "--html", f"{files}/out.html"]
    assert main(words) == 0
    first = (files / "out.html").read_bytes()
    assert main(words) == 0
    assert (files / "out.html").read_bytes() == first
    capsys.readouterr()


def test_a_folder_has_the_checksum_that_the_shell_gives(tmp_path: Path, monkeypatch: Any) -> None:
    for name in ("b.parquet", "a.parquet"):
        (tmp_path / name).write_text(name * 3)
    record = input_record(tmp_path, list(tmp_path.iterdir()))
    told = subprocess.run(
        "sha256sum * | sha256sum", shell=True, cwd=tmp_path, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert record["sha256"] == told.split()[0]
    assert (record["files"], record["bytes"]) == (2, 54)
    monkeypatch.setattr(module, "MOST_BYTES", 50)
    assert input_record(tmp_path, list(tmp_path.iterdir()))["sha256"] is None
