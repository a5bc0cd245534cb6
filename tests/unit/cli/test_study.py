"""`survgauge study`: from files to a folder."""

from __future__ import annotations

import json

import numpy as np
import pytest

from survgauge.cli.main import main
from survgauge.metrics.registry import metrics_of

pytest.importorskip("matplotlib")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    n = 160
    x = rng.normal(size=n)
    t, c = rng.exponential(100 * np.exp(-x)), rng.uniform(20, 300, n)
    site = np.where(rng.random(n) < 0.5, 1, 2)
    rows = np.column_stack([np.minimum(t, c), t <= c, 50 + 10 * x, site])

    def save(name, array, header):
        np.savetxt(tmp_path / name, array, delimiter=",", header=header, comments="", fmt="%.10g")
        return str(tmp_path / name)

    grid = np.linspace(5, 320, 30)
    head = ",".join(f"{g:.17g}" for g in grid)
    curves = np.exp(-grid / (100 * np.exp(-x[80:, None])))
    return {
        "train": save("train.csv", rows[:80], "time,event,age,site"),
        "test": save("test.csv", rows[80:], "time,event,age,site"),
        "a": save("a.csv", curves, head),
        "b": save("b.csv", curves**1.3, head),
        "folder": tmp_path,
        "out": str(tmp_path / "study"),
    }


def study(files, *more, train=True):
    words = ["study", "--test", files["test"], "--pred", f"cox={files['a']}", "--out", files["out"]]
    return main([*words, *(["--train", files["train"]] if train else []), *more])


def test_one_command_writes_the_folder(files, capsys):
    done = study(files, "--pred", f"late={files['b']}", "--time", "50,100", "--unit", "days",
                 "--reference", "cox", "--describe", "age,site", "--by", "site")  # fmt: skip
    assert done == 0
    screen = capsys.readouterr().out
    assert "Harrell's C" in screen
    assert "table1 (" in " ".join(screen.split())
    lines = [line for line in screen.splitlines() if files["out"] not in line]  # of any length
    assert max(map(len, lines)) <= 80
    folder = files["folder"] / "study"
    data = json.loads((folder / "results.json").read_text())
    assert data["provenance"]["call"].startswith("survgauge study --test")
    assert [entry["name"] for entry in data["provenance"]["inputs"]] == [
        "test.csv", "train.csv", "a.csv", "b.csv",
    ]  # fmt: skip
    assert all(entry["sha256"] for entry in data["provenance"]["inputs"])
    rows = {row[0]: row for row in data["study"]["table1"]["rows"]}
    assert "age, median (quartiles)" in rows
    assert "site: 2, n (%)" in rows
    assert "Difference from cox (95 % CI)" in data["study"]["table2"]["columns"]


def test_without_a_training_file(files, capsys):
    assert study(files, "--describe", "all", train=False) == 0
    data = json.loads((files["folder"] / "study" / "results.json").read_text())
    assert data["study"]["table1"]["columns"] == ["Characteristic", "Test set"]
    capsys.readouterr()


def test_a_column_that_training_does_not_have(files, capsys):
    path = files["folder"] / "train.csv"
    lines = [line.rsplit(",", 1)[0] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    assert study(files, "--describe", "age,site") == 0
    data = json.loads((files["folder"] / "study" / "results.json").read_text())
    rows = {row[0]: row for row in data["study"]["table1"]["rows"]}
    assert rows["site: 1, n (%)"][1] == "-"
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--reference", "nobody"], "--reference"),
        (["--describe", "weight"], "weight"),
        (["--metrics", "accuracy"], "accuracy"),
        (["--time", "soon"], "--time"),
        (["--by", "hospital"], "hospital"),
        (["--reference", "cox"], "no other model"),
    ],
)
def test_bad_options_take_one_line_and_leave_nothing(files, capsys, more, told):
    assert study(files, *more) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (files["folder"] / "study").exists()
    assert not [p for p in files["folder"].iterdir() if p.name.startswith(".")]


def test_a_second_study_needs_to_be_told_to_overwrite(files, capsys):
    assert study(files, "--metrics", "harrell") == 0
    assert study(files, "--metrics", "harrell") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert study(files, "--metrics", "harrell", "--overwrite") == 0


def test_the_help_names_all_metrics_at_a_time_and_one_threshold_is_taken(files, capsys):
    with pytest.raises(SystemExit):
        main(["study", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for metric in metrics_of().values():
        assert metric.reads != "time" or metric.name in told
    assert study(files, "--threshold", "0.2,0.4") == 2
    assert "must be one risk between 0 and 1, such as 0.2; got '0.2,0.4'" in capsys.readouterr().err
