"""`survgauge bench leaderboard` and `survgauge leaderboard`: from a run to a submission."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("sklearn")
pytest.importorskip("joblib")
pytest.importorskip("SurvSet")

import pandas as pd

from survgauge.bench.leaderboard import Board
from survgauge.cli.main import main

CARD = 'authors = "A"\ncode = "none"\ntraining_data = "the task"\nhardware = "a laptop"\n'
#: A model of one's own, where the shell is.
MINE = """
import numpy as np
class Mine:
    def fit(self, X, y):
        self.time = float(np.median(y.time))
        return self
    def predict_time(self, X):
        return np.full(len(X), self.time)
"""
_RUN = [
    "bench",
    "leaderboard",
    "--datasets",
    "veteran",
    "--max-rows",
    "80",
    "--jobs",
    "1",
    "--quiet",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shell")
    (folder / "mine.py").write_text(MINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*_RUN, "--models", "coxph,mine:Mine", "--store", "run", "--out", "board"]) == 0
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def test_a_run_writes_tables_and_the_page(finished):
    board = Board.load(finished / "board")
    assert set(board.models["name"]) == {"km", "coxph", "Mine"}
    assert board.about["command"].startswith("survgauge bench leaderboard --datasets veteran")
    assert (finished / "board" / "leaderboard.html").read_text().startswith("<!DOCTYPE html>")
    shown = json.loads((finished / "board" / "leaderboard.json").read_text())
    assert {row["model"] for row in shown["values"]} == {"km", "coxph", "Mine"}
    assert set(board.scores[board.scores["model"] == "Mine"]["metric"]) == {"mae_within", "uno"}


def test_models_whose_fits_failed_are_named(here, capsys):
    Path("failing.py").write_text(f"{MINE.replace('return np.full', 'raise ValueError')}")
    words = [*_RUN, "--models", "coxph,failing:Mine", "--store", "other"]
    assert main(words) == 1
    said = capsys.readouterr()
    assert "survgauge: fits failed: Mine 5 of 5 (tracebacks" in said.err
    assert re.search(r"^Mine +default +0 *$", said.out, flags=re.MULTILINE)  # and not dropped


def test_from_tasks_to_a_submission(here, capsys):
    assert main(["leaderboard", "tasks", "--store", "run", "--out", "tasks"]) == 0
    assert "5 tasks written" in capsys.readouterr().out
    Path("pred").mkdir()
    Path("pred/card.toml").write_text(CARD)
    for task in Path("tasks").glob("main-*"):
        test = pd.read_csv(task / "test.csv")
        test[["id"]].assign(risk=-test["karno"]).to_csv(f"pred/{task.name}.csv", index=False)
    submit = ["leaderboard", "submit", "--name", "karno", "--pred", "pred", "--store", "run"]
    assert main([*submit, "--out", "board2"]) == 0
    assert "karno is on the board of run" in capsys.readouterr().out
    scores = Board.load("board2").scores
    row = scores[scores["model"] == "karno"].iloc[0]
    assert (row["metric"], row["settings"]) == ("uno", "submitted")
    assert row["value"] > 0.6
    next(Path("pred").glob("*.csv")).unlink()
    assert main(submit) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "has no predictions of task" in message


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("leaderboard tasks", "tasks needs --out"),
        ("leaderboard submit --name a --store run", "submit needs --pred"),
        ("leaderboard page --store run --out x --seed 3", "--seed is not for page"),
        ("leaderboard page --store nothing --out x", "holds no leaderboard"),
        ("leaderboard pages", "did you mean 'page'"),
        ("bench leaderboard --list", "--list is not for the leaderboard"),
        ("bench leaderboard --models coxph --store q --out mine.py", "--out must be a folder"),
        ("bench leaderboard --models coxx --store q", "did you mean 'coxph'"),
        ("bench leaderboard --models nothing:Here --store q", "cannot be imported"),
        ("bench demo --repeats 3", "--repeats is for 'survgauge bench leaderboard'"),
        ("bench leaderboard --models coxph --store run", "holds an earlier run"),
    ],
)
def test_what_is_wrong_takes_a_line_and_status_2(here, capsys, words, says):
    assert main(words.split()) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert not Path("q").exists()
