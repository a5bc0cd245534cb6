"""The page of a leaderboard: all that it shows, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.text import plain
from ...errors import InputError
from ...report import leaderboard_page as of_plain_data
from .results import BASELINE, METRICS, Board
from .standings import (
    REFERENCE,
    VIEWS,
    Matrix,
    Measure,
    by_kind,
    costs,
    failures,
    in_view,
    matrix_of,
    on_each_dataset,
    pair_rows,
    sensitivity,
    standings,
    true_matrix,
    truth_rows,
    tuning,
)

if TYPE_CHECKING:
    import pandas as pd

#: The metric that models are judged by first.
HEADLINE = "mae_within"


def leaderboard_page(board: Board, title: str = "Which survival model predicts best?") -> str:
    """Make the page: one self-contained HTML file that works offline.

    Parameters
    ----------
    board : Board
        Scores of at least one model besides Kaplan-Meier.
    title : str
        Heading of the page.

    Returns
    -------
    str
        HTML.
    """
    return of_plain_data(leaderboard_content(board), title=title)


def leaderboard_content(board: Board) -> dict[str, Any]:
    """Compute what the page shows from the tables of a board.

    Parameters
    ----------
    board : Board
        With at least one model besides Kaplan-Meier on at least one dataset.

    Returns
    -------
    dict
        Plain data, see `survgauge.report.leaderboard_page`.
    """
    averaged = board.averaged()
    scores = averaged.scores
    main, truth = (scores[scores["track"] == track] for track in ("main", "truth"))
    if not len(main[main["model"] != BASELINE]):
        raise InputError(
            "board has no scores of a model other than Kaplan-Meier; run the leaderboard first"
        )
    there = set(main["metric"])
    metrics = [HEADLINE, *(m for m in METRICS if m != HEADLINE)]
    metrics = [m for m in dict.fromkeys(metrics) if m in there]
    datasets = board.datasets[board.datasets["track"] == "main"]
    pairs = averaged.pairs
    asked = board.about.get("settings", VIEWS)  # without "default" no model is shown twice
    views = [v for v in VIEWS if v in asked and v in set(main["settings"])] or ["default"]
    found = {
        "headline": metrics[0],
        "reference": REFERENCE,
        "metrics": [{"name": m, "kind": Measure.of(m).kind} for m in metrics],
        "views": {v: VIEWS[v] for v in views},
        "models": [m for m in dict.fromkeys(main["model"]) if m != BASELINE],
        "titles": _titles(board.models),
        "by_view": {
            v: _view(in_view(main, v), pairs[pairs["track"] == "main"], datasets, metrics, v)
            for v in views
        },
        "truth": _truth(truth, metrics, views),
        "datasets": _records(datasets),
        "truth_datasets": sorted(set(truth["dataset"])),
        "values": _records(main.drop(columns=["track", "repeat", "truth"])),
        "entries": _records(board.models),
        "tuning": tuning(main, metrics[0]),
        "costs": costs(board.cells),
        "failures": failures(board.cells),
        "repeats": int(board.scores["repeat"].nunique()),
        "folds": int(board.cells["fold"].nunique()),
        "about": board.about,
    }
    return _plain(found)


def _view(
    rows: pd.DataFrame, pairs: pd.DataFrame, datasets: pd.DataFrame, metrics: list[str], view: str
) -> dict[str, Any]:
    """Everything about models with the settings of a view."""
    matrices = {m: matrix_of(rows, Measure.of(m)) for m in metrics}
    first = matrices[metrics[0]]
    own = dict(zip(rows["model"], rows["settings"], strict=True))
    mine = pairs[
        (pairs["model_a"].map(own) == pairs["settings_a"])
        & (pairs["model_b"].map(own) == pairs["settings_b"])
    ]
    return {
        "settings": {m: s for m, s in own.items() if m != BASELINE},
        "standings": {m: standings(found) for m, found in matrices.items()},
        "left_out": {m: found.left_out for m, found in matrices.items() if found.left_out},
        "datasets": {m: len(found.datasets) for m, found in matrices.items()},
        "pairs": [row for found in matrices.values() for row in pair_rows(found)],
        "each": on_each_dataset(first, mine),
        "kinds": by_kind(first, datasets),
        "sensitivity": sensitivity(matrices),
    }


def _truth(rows: pd.DataFrame, metrics: list[str], views: list[str]) -> dict[str, Any] | None:
    """What drawn censoring shows: the true standings, and how far each metric is from them."""
    if not len(rows) or not rows["truth"].notna().any():
        return None
    found = {}
    for view in views:
        mine = in_view(rows, view)
        matrix: Matrix = true_matrix(mine)
        found[view] = {
            "datasets": len(matrix.datasets),
            "standings": standings(matrix),
            "metrics": truth_rows(mine, metrics),
        }
    return found


def _titles(models: pd.DataFrame) -> dict[str, str]:
    """Names of models for people."""
    return {
        name: title
        for name, title in zip(models["name"], models["title"], strict=True)
        if isinstance(title, str) and title
    }


def _records(frame: Any) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    """Return plain data; missing texts of frames are None, numbers have six digits."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return plain(value)
