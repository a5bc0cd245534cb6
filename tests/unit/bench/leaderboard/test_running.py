"""Runs: the same twice, resumed after damage, failures that are shown, models of one's own."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from boards import same_tables
from unit.bench.leaderboard.conftest import DATASETS, TINY

from survgauge.bench.leaderboard import Board, run
from survgauge.bench.leaderboard.standings import leaderboard_content
from survgauge.bench.models import SurvivalModel, available
from survgauge.bench.models.registry import FOLDER_VARIABLE
from survgauge.errors import InputError

#: Without the track of known truth.
ALONE = {**TINY, "truth": []}
#: How long fits took differs between runs.
SECONDS = ("seconds_fit", "seconds_predict")


def test_the_same_seed_gives_the_same_tables(tiny, tmp_path):
    _, board = tiny
    again = run(["coxph"], DATASETS, store=tmp_path / "store", **TINY)
    same_tables(board, again, without=SECONDS)
    other = run(["coxph"], ["veteran"], store=tmp_path / "other", seed=1, **ALONE)
    assert (
        other.scores["value"].iloc[0] != board.scores.query("dataset == 'veteran'")["value"].iloc[0]
    )


def test_what_is_lost_is_run_again_and_the_rest_kept(tiny, tmp_path):
    place, board = tiny
    store = tmp_path / "store"
    shutil.copytree(place, store)
    cells = sorted((store / "cells").rglob("*.parquet"))
    predictions = sorted((store / "predictions").rglob("*.npz"))
    assert len(cells) == len(predictions) == 3 * 2 * 2
    cells[0].unlink()
    predictions[3].write_bytes(b"half")
    predictions[5].unlink()
    kept = {path: path.stat().st_mtime_ns for path in cells[1:]}
    again = run(["coxph"], DATASETS, store=store, resume=True, **TINY)
    same_tables(board, again, without=SECONDS)
    same_tables(board, Board.load(store / "board"), without=SECONDS)
    assert sum(path.stat().st_mtime_ns != then for path, then in kept.items()) == 2
    with pytest.raises(InputError, match="holds an earlier run"):
        run(["coxph"], DATASETS, store=store, **TINY)


def test_what_a_resumed_run_is_not_told_is_as_it_was(tiny, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(tiny[0], store)
    plan = (store / "plan.json").read_text()
    how = {"store": store, "resume": True, "jobs": 1, "progress": False}
    same_tables(tiny[1], run(**how), without=())
    assert (store / "plan.json").read_text() == plan
    # What is given replaces what was.
    board = run(datasets=["veteran"], **how)
    assert set(board.scores["dataset"]) == {"veteran"}
    assert set(board.scores["model"]) == {"km", "coxph"}


def test_a_model_that_was_handed_over_is_asked_for_again(tmp_path):
    how = {"store": tmp_path / "s", "jobs": 1, "progress": False}
    run({"risky": Risky}, ["veteran"], truth=[], max_rows=100, folds=2, **how)
    with pytest.raises(InputError, match=r"'risky' .* was handed over .* give models again"):
        run(resume=True, **how)


def test_a_model_that_nobody_named_and_that_is_not_here_is_left_out_by_a_line(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    few = [row for row in available() if row["name"] in ("km", "coxph", "tabpfn")]
    monkeypatch.setattr("survgauge.bench.leaderboard.running.available", lambda: few)
    board = run(None, ["veteran"], store=tmp_path / "s", **{**ALONE, "progress": True})
    assert set(board.models["name"]) == {"km", "coxph"}
    (line,) = (each for each in capsys.readouterr().err.splitlines() if "tabpfn" in each)
    assert re.search(r"left out: model 'tabpfn' needs (an extra: pip|weights, and)", line)


def test_a_class_that_cannot_be_fitted_is_refused_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "unfit.py").write_text("class Unfit:\n    pass\n")
    with pytest.raises(InputError, match=r"model 'Unfit' \(Unfit\) has no method fit"):
        run(["unfit:Unfit"], ["veteran"], store=tmp_path / "s", folder=tmp_path, **ALONE)
    assert not (tmp_path / "s" / "plan.json").exists()


class Moody(SurvivalModel):
    """Fails on the training part that has an odd number of events."""

    def _fit(self, X, y):
        if y.event.sum() % 2:
            raise ArithmeticError("not today")

    def _predict_curves(self, X):
        from survgauge import SurvivalCurves

        return SurvivalCurves([1.0, 2000.0], np.tile([0.99, 0.01], (len(X), 1)))


def test_failures_are_shown_and_kaplan_meier_stands_in(tmp_path):
    models = {"moody": Moody(), "coxph": "coxph"}
    board = run(models, ["veteran"], store=tmp_path / "s", **{**ALONE, "folds": 3})
    cells = board.cells.query("model == 'moody'")
    assert set(cells["status"]) == {"ok", "failed"}
    assert "not today" in cells.query("status == 'failed'")["message"].iloc[0]
    row = board.scores.query("model == 'moody' and metric == 'ibs'").iloc[0]
    assert row["failed_folds"] == (cells["status"] == "failed").sum()
    assert np.isfinite(row["value"])
    # An object has no line in the table of models but its class.
    assert "Moody" in board.models.query("name == 'moody'")["origin"].iloc[0]


class Risky:
    """Only ranks: the first feature, on a scale of its own in every fold."""

    def fit(self, X, y):
        self.shift_ = float(np.sum(y.time))
        return self

    def predict_risk(self, X):
        return self.shift_ + X[:, 0]


def test_risks_count_by_their_rank_in_the_fold(tmp_path):
    board = run({"risky": Risky}, ["veteran"], store=tmp_path / "s", **ALONE)
    own = board.scores.query("model == 'risky'")
    assert list(own["metric"]) == ["uno"]
    assert 0.2 < own["value"].iloc[0] < 0.8


class Broken(Risky):
    """Predicts times that are not known."""

    def predict_time(self, X):
        return np.full(len(X), np.nan)


def test_unknown_predictions_are_failures(tmp_path):
    board = run({"broken": Broken}, ["veteran"], store=tmp_path / "s", **ALONE)
    own = board.scores[board.scores["model"] == "broken"]
    assert own["value"].isna().all()
    assert set(own["failed_folds"]) == {2}
    messages = board.cells[board.cells["model"] == "broken"]["message"]
    assert messages.str.contains("predicted times must be").all()


def test_tuning_searches_and_says_what_it_chose(tmp_path, monkeypatch):
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting.DRAWS", 3)
    settings = ["default", "tuned-ibs", "tuned-mae"]
    board = run(["coxph"], ["veteran"], settings=settings, store=tmp_path / "s", **ALONE)
    assert set(board.scores.query("model == 'coxph'")["settings"]) == set(settings)
    assert set(board.scores.query("model == 'km'")["settings"]) == {"default"}
    tuned = board.cells.query("settings == 'tuned-ibs'")
    assert all(chosen == "{}" or "penalty" in chosen for chosen in tuned["chosen"])
    spent = board.cells.groupby("settings")["seconds_fit"].mean()
    assert spent["tuned-ibs"] > spent["default"]


def test_the_seconds_of_a_search_count_once(tmp_path, monkeypatch):
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting.DRAWS", 2)
    how = {"settings": ["tuned-ibs", "tuned-mae"], "store": tmp_path / "s", **ALONE}
    board = run(["coxph"], ["veteran"], **how)
    spent = board.cells.assign(s=board.cells["seconds_fit"] + board.cells["seconds_predict"])
    by = spent.groupby(["model", "settings"])["s"].sum()
    once = by["km", "default"] + max(by["coxph"])
    assert board.about["seconds_of_fits"] == pytest.approx(once, abs=0.1)
    assert board.about["seconds_of_fits"] < by.sum()


def test_a_search_without_any_loss_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting.DRAWS", 1)
    none = {"ibs": np.inf, "mae_within": np.inf}
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting._losses", lambda *_: none)
    board = run(["coxph"], ["veteran"], settings=["tuned-ibs"], store=tmp_path / "s", **ALONE)
    messages = board.cells.query("model == 'coxph'")["message"]
    assert messages.str.contains("no set of parameters has").all()


def test_a_model_without_a_search_competes_with_its_default_settings(tmp_path, monkeypatch):
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting.DRAWS", 2)
    how = {"settings": ["tuned-ibs"], "store": tmp_path / "s", **ALONE}
    board = run(["coxph", "lr"], ["veteran"], **how)
    found = set(zip(board.scores["model"], board.scores["settings"], strict=True))
    assert found == {("km", "default"), ("lr", "default"), ("coxph", "tuned-ibs")}
    assert list(leaderboard_content(board)["by_view"]) == ["tuned-ibs"]


class Leaving(Risky):
    """Calls sys.exit, as scripts do."""

    def fit(self, X, y):
        raise SystemExit(3)


def test_a_model_that_exits_is_a_failure(tmp_path):
    board = run({"leaving": Leaving}, ["veteran"], store=tmp_path / "s", **ALONE)
    own = board.cells[board.cells["model"] == "leaving"]
    assert set(own["message"]) == {"SystemExit: 3"}


def test_without_kaplan_meier_nothing_is_compared(tmp_path):
    how = {"store": tmp_path / "s", **ALONE}
    with pytest.raises(InputError, match=r"Kaplan-Meier, .*, has no predictions for fold 0"):
        run(["coxph"], ["veteran"], timeout=1e-6, **how)
    board = run(retry_failed=True, store=tmp_path / "s", jobs=1, progress=False)
    assert set(board.cells["status"]) == {"ok"}


def test_a_run_can_be_extended(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("survgauge.bench.leaderboard.fitting.DRAWS", 2)
    store = tmp_path / "store"
    shutil.copytree(tiny[0], store)
    times = {path: path.stat().st_mtime_ns for path in (store / "cells").rglob("*.parquet")}
    more = {"settings": ["default", "tuned-mae"], "repeats": 2, "resume": True, "store": store,
            "tune": ["coxph"]}  # fmt: skip
    board = run(["coxph", "gbm_c"], ["veteran"], **more, **ALONE)
    assert all(path.stat().st_mtime_ns == then for path, then in times.items())
    key = ["metric", "model"]
    whole = tiny[1].scores
    before = whole[(whole.track == "main") & (whole.dataset == "veteran")].set_index(key)["value"]
    first = board.scores[(board.scores.repeat == 0) & (board.scores.settings == "default")]
    after = first.set_index(key)["value"]
    assert (after[before.index] - before).abs().max() == 0
    second = board.scores[(board.scores.repeat == 1) & (board.scores.settings == "default")]
    other = second.set_index(key)["value"]["mae_within", "coxph"]
    assert other != after["mae_within", "coxph"]
    tuned = board.scores[board.scores["settings"] == "tuned-mae"]
    assert set(tuned["model"]) == {"coxph"}
    with pytest.raises(InputError, match=r"tune must be one of .*; got 'gbm'"):
        run(["gbm_c"], ["veteran"], **{**more, "tune": ["gbm"]}, **ALONE)
    with pytest.raises(InputError, match=r"seed of the run in .* is 0; got 4"):
        run(["coxph"], ["veteran"], store=store, resume=True, seed=4, **ALONE)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"datasets": ["veterans"]}, "datasets must be one of"),
        ({"models": ["coxx"]}, "models must be one of"),
        ({"models": [3]}, "models must be names"),
        ({"models": ["coxph", "coxph"]}, "models has 'coxph' twice"),
        ({"settings": ["tuned"]}, "settings must be one of"),
        ({"repeats": 0}, "repeats must be"),
        ({"datasets": ["veteran", "veteran"]}, "datasets has 'veteran' twice"),
        ({"datasets": ["follic_causes"]}, "several causes"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_bad_arguments_are_refused_and_leave_nothing(tmp_path, given, says):
    asked = {"models": ["coxph"], "datasets": ["veteran"], **TINY, "truth": None, **given}
    with pytest.raises(InputError, match=says):
        run(**asked, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
