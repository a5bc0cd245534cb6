"""What the page of a board shows: standings, failures, tuned settings, kinds, known truth."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import numpy as np
from boards import MODELS, demo_board

from survgauge.bench.leaderboard.results import Board
from survgauge.bench.leaderboard.standings import (
    Measure,
    in_view,
    kinds_of,
    leaderboard_content,
    matrix_of,
    standings,
)
from survgauge.errors import InputError


@pytest.fixture(scope="module")
def content():
    return leaderboard_content(demo_board(10))


def main_of(board):
    return board.scores[board.scores["track"] == "main"]


def without(board, **tables):
    return Board(**{**board.tables(), **tables}, about=board.about)


def test_standings_are_means_of_the_skill(content):
    rows = {r["model"]: r for r in content["by_view"]["default"]["standings"]["mae_within"]}
    assert set(rows) == {"coxph", "rsf", "bad_net"}
    assert [r["mean"] for r in rows.values()] == sorted(r["mean"] for r in rows.values())[::-1]
    for (model, settings), (error, *_) in MODELS.items():
        if model != "km" and settings == "default":
            assert rows[model]["mean"] == pytest.approx(1 - error, abs=0.02)
    assert rows["coxph"]["may_be_best"]
    assert rows["bad_net"]["may_be_best"] is False
    assert rows["bad_net"]["group"] != rows["coxph"]["group"]
    assert not rows["bad_net"]["beats_cox"]


def test_tuned_models_compete_with_those_that_have_no_settings(content):
    view = content["by_view"]["tuned-ibs"]
    assert view["settings"] == {"coxph": "default", "rsf": "tuned-ibs", "bad_net": "default"}
    rows = {r["model"]: r for r in view["standings"]["mae_within"]}
    assert rows["rsf"]["mean"] == pytest.approx(0.16, abs=0.02)
    [gain] = content["tuning"]
    assert gain["model"] == "rsf"
    before = content["by_view"]["default"]["standings"]["mae_within"]
    start = next(r["mean"] for r in before if r["model"] == "rsf")
    assert 1 - gain["gain"] == pytest.approx((1 - rows["rsf"]["mean"]) / (1 - start), abs=1e-5)
    assert gain["low"] < gain["gain"] < gain["high"]


def test_a_model_without_a_dataset_counts_as_kaplan_meier():
    board = demo_board(8)
    scores = board.scores
    gone = (scores["model"] == "coxph") & (scores["dataset"] == "set_3")
    found = matrix_of(main_of(without(board, scores=scores[~gone])), Measure.of("mae_within"))
    place = found.datasets.index("set_3"), found.models.index("coxph")
    assert np.isnan(found.shown[place])
    assert found.values[place] == 0
    assert found.missing[place[1]] == 1
    row = next(r for r in standings(found) if r["model"] == "coxph")
    logarithms = np.log(1 - found.shown[:, place[1]])
    assert row["mean"] == pytest.approx(1 - np.exp(np.nansum(logarithms) / 8))


def test_a_model_with_few_datasets_is_left_out():
    board = demo_board(8)
    scores = board.scores
    few = scores["dataset"].isin(["set_0", "set_1", "set_2"])
    gone = (scores["model"] == "coxph") & ~few
    found = matrix_of(main_of(without(board, scores=scores[~gone])), Measure.of("ibs"))
    assert found.left_out == ["coxph"]
    assert "coxph" not in found.models


def test_the_difference_from_cox_is_a_ratio_of_losses(content):
    rows = {r["model"]: r for r in content["by_view"]["default"]["standings"]["ibs"]}
    ratio = (1 - rows["rsf"]["mean"]) / (1 - rows["coxph"]["mean"])
    assert rows["rsf"]["to_cox"] == pytest.approx(1 - ratio, abs=1e-5)
    assert rows["rsf"]["to_cox_low"] < rows["rsf"]["to_cox"] < rows["rsf"]["to_cox_high"]


def test_a_disaster_on_one_dataset_does_not_outweigh_the_others():
    board = demo_board(8)
    one = (board.scores["model"] == "coxph") & (board.scores["dataset"] == "set_2")
    board.scores.loc[one & (board.scores["metric"] == "ibs"), "skill"] = -9.0
    found = matrix_of(in_view(main_of(board), "default"), Measure.of("ibs"))
    row = next(r for r in standings(found) if r["model"] == "coxph")
    assert row["mean"] == pytest.approx(1 - 10 ** (1 / 8) * 0.85 ** (7 / 8), abs=0.02)
    assert row["low"] < row["mean"] < row["high"] < 1


def test_distances_from_a_target_end_at_one():
    board = demo_board(6)
    board.scores.loc[board.scores["metric"] == "calibration_slope", "value"] = -40.0
    found = matrix_of(in_view(main_of(board), "default"), Measure.of("calibration_slope"))
    assert (found.shown == 1).all()
    assert (found.values == -1).all()


def test_limits_of_distances_do_not_pass_zero():
    board = demo_board(3)
    slopes = board.scores["metric"] == "calibration_slope"
    board.scores.loc[slopes, "value"] = 1 + 0.3 * (board.scores["dataset"] == "set_0")
    rows = standings(matrix_of(in_view(main_of(board), "default"), Measure.of("calibration_slope")))
    assert {row["low"] for row in rows} == {0.0}
    assert all(row["high"] > 0.3 for row in rows)


def test_repeats_are_averaged_before_anything_is_compared():
    found = leaderboard_content(demo_board(7, repeats=3))
    assert found["repeats"] == 3
    assert found["by_view"]["default"]["datasets"]["mae_within"] == 7
    assert {r["datasets"] for r in found["by_view"]["default"]["standings"]["uno"]} == {7}


def test_few_datasets_are_not_tested():
    rows = leaderboard_content(demo_board(5))["by_view"]["default"]["standings"]["mae_within"]
    assert {r["may_be_best"] for r in rows} == {None}
    assert {r["group"] for r in rows} == {None}
    assert all(r["low"] < r["mean"] < r["high"] for r in rows)


def test_kinds_share_out_all_datasets():
    board = demo_board(12)
    datasets = board.datasets[board.datasets["track"] == "main"]
    kinds = kinds_of(datasets)
    for title in ("Subjects", "Censored", "Features"):
        names = [name for kind, _, found in kinds if kind == title for name in found]
        assert sorted(names) == sorted(datasets["name"])


def test_the_best_of_a_dataset_is_compared_in_pairs(content):
    rows = [r for r in content["by_view"]["default"]["each"] if r["dataset"] == "set_2"]
    best = max(rows, key=lambda r: r["value"])
    assert best["best"]
    assert best["clearly_worse"] is None
    assert next(r for r in rows if r["model"] == "bad_net")["clearly_worse"]


def test_known_truth_shows_how_far_metrics_are_from_it():
    board = demo_board(8)
    truth = board.scores["track"] == "truth"
    scores = board.scores.copy()
    error = truth & (scores["metric"] == "mae_within")
    scores.loc[error, "value"] = 1.1 * scores.loc[error, "truth"]
    found = leaderboard_content(without(board, scores=scores))["truth"]["default"]
    row = next(r for r in found["metrics"] if r["metric"] == "mae_within")
    assert row["bias"] == pytest.approx(0.1)
    assert row["distance"] == pytest.approx(0.1)
    assert row["tau"] == 1
    assert row["loss"] == 0
    assert [r["model"] for r in found["standings"]] == ["coxph", "rsf", "bad_net"]
    assert found["standings"][0]["mean"] == pytest.approx(0.15)


def test_failures_are_counted(content):
    assert {(r["model"], r["dataset"], r["track"], r["folds"]) for r in content["failures"]} == {
        ("bad_net", "set_0", "main", 1), ("bad_net", "set_0", "truth", 1),
    }  # fmt: skip
    bad = next(c for c in content["costs"] if c["model"] == "bad_net")
    assert bad["failed"] == 2


def test_an_empty_board_is_refused():
    board = demo_board(2)
    only = board.scores[board.scores["model"] == "km"]
    with pytest.raises(InputError, match="run the leaderboard first"):
        leaderboard_content(without(board, scores=only))
