"""The page of a leaderboard: its sentences, hostile names, boards that lack something."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from boards import demo_board

from survgauge.bench.leaderboard.results import Board
from survgauge.bench.leaderboard.standings import leaderboard_page
from survgauge.report.leaderboard_words import against_reference

EVIL = "<img src=x onerror=alert(1)>"


def changed(board, **tables):
    return Board(**{**board.tables(), **tables}, about=board.about)


def lead_of(html):
    return re.search(r'class="lead">([^<]*)<', html).group(1).replace("\u00a0", " ")


def test_says_who_is_best_and_how_sure():
    html = leaderboard_page(demo_board(10))
    assert "On average over 10 datasets, rsf (RSF) saves most, 15.2 %" in lead_of(html)
    assert "not clearly worse" in lead_of(html)
    assert "Nothing clearly beats coxph" in html
    assert "did not converge" in html
    assert "survgauge leaderboard submit" in html


def test_when_cox_is_best_the_next_model_has_more_error():
    row = {"model": "rsf", "to_cox": -0.02, "to_cox_p": 0.4, "beats_cox": False}
    row |= {"to_cox_low": -0.05, "to_cox_high": 0.01}
    says = "least error on average: rsf comes closest, with 2.0 % more error"
    assert f"{says} (\u22121.0 to +5.0 %), p = 0.400." in against_reference([row], "coxph", "")
    row |= {"to_cox": 0.0, "to_cox_low": None, "to_cox_high": None, "to_cox_p": 1.0}
    assert "closest, with 0.0 % more error, p = 1.000." in against_reference([row], "coxph", "")


def test_few_datasets_are_said_to_be_too_few():
    html = leaderboard_page(demo_board(4))
    assert "too few datasets to tell" in lead_of(html)
    assert "Nothing clearly beats" not in html


def test_names_stay_text():
    board = demo_board(7)
    tables = {
        name: table.replace({"rsf": EVIL, "set_1": EVIL}) for name, table in board.tables().items()
    }
    html = leaderboard_page(Board(**tables, about={"command": EVIL}))
    assert EVIL not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def scores_where(board, keep):
    return changed(board, scores=board.scores[keep(board.scores)])


LESS = {
    "without known truth": lambda b: scores_where(b, lambda s: s["track"] == "main"),
    "without tuned settings": lambda b: scores_where(b, lambda s: s["settings"] == "default"),
    "without Cox": lambda b: scores_where(b, lambda s: s["model"] != "coxph"),
    "one model": lambda b: scores_where(b, lambda s: s["model"].isin(["km", "rsf"])),
    "one metric": lambda b: scores_where(b, lambda s: s["metric"] == "mae_within"),
    "no pairs": lambda b: changed(b, pairs=b.pairs.iloc[:0]),
    "one dataset": lambda b: scores_where(b, lambda s: s["dataset"] == "set_1"),
}


@pytest.mark.parametrize("what", LESS)
def test_boards_that_lack_something_have_a_page(what):
    html = leaderboard_page(LESS[what](demo_board(7)))
    assert html.startswith("<!DOCTYPE html>")
    assert lead_of(html)
    assert "nan" not in re.sub(r"<script.*", "", html, flags=re.DOTALL).lower().split()


def test_a_model_far_from_the_others_is_written_and_not_drawn():
    board = demo_board(8)
    skills = (board.scores["model"] == "bad_net") & board.scores["skill"].notna()
    board.scores.loc[skills, ["skill", "skill_low", "skill_high"]] = [-60.0, -70.0, -50.0]
    text = leaderboard_page(board).partition('id="data">')[2].partition("</script")[0]
    figures = {figure["id"]: figure for figure in json.loads(text)["figures"]}
    for name in ("overview-default", "dataset-default"):
        for panel in figures[name]["specs"][0]["panels"]:
            rows = {row["label"]: row for row in panel["rows"]}
            drawn = [y for mark in panel["marks"] for y in mark.get("y", [])]
            assert "inside" not in rows["rsf"]
            place = list(rows).index("bad_net")
            assert ("inside" in rows["bad_net"]) is (place not in drawn)
    assert "\u22126000" in text
    assert "bad_net (far below the others" in figures["costs-default"]["specs"][0]["note"]


def test_an_interval_that_reaches_far_is_written_whole_and_not_cut():
    board = demo_board(8)
    wide = (board.scores["model"] == "bad_net") & board.scores["skill"].notna()
    board.scores.loc[wide, ["skill_low", "skill_high"]] = [-30.0, 0.5]
    text = leaderboard_page(board).partition('id="data">')[2].partition("</script")[0]
    figures = {figure["id"]: figure for figure in json.loads(text)["figures"]}
    (panel,) = figures["dataset-default"]["specs"][0]["panels"]
    (row,) = (row for row in panel["rows"] if row["label"] == "bad_net")
    assert "(\u22123000 to 50.0)" in row["inside"]
    assert all(
        end in (-3000, 50) or abs(end) < 60
        for mark in panel["marks"]
        for end in [*mark.get("left", []), *mark.get("right", [])]
    )


def test_says_how_to_submit_to_this_board():
    board = demo_board(7)
    about = {"seed": 3, "repeats": 2, "max_rows": 500}
    html = leaderboard_page(Board(**board.tables(), about=about))
    assert "survgauge leaderboard tasks --out tasks --seed 3 --repeats 2 --max-rows 500" in html
    assert "survgauge leaderboard submit --name NAME --pred FOLDER --store STORE" in html


def test_more_models_than_colours_and_letters():
    import pandas as pd

    board = demo_board(6)
    parts = {"scores": [board.scores], "models": [board.models]}
    for k in range(20):
        for name, column in (("scores", "model"), ("models", "name")):
            table = getattr(board, name)
            copy = table[table[column] == "rsf"].assign(**{column: f"rsf_{k}"})
            parts[name].append(copy)
    html = leaderboard_page(changed(board, **{k: pd.concat(v) for k, v in parts.items()}))
    assert "rsf_19" in html
