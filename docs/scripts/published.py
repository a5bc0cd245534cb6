"""The paper's published spreadsheet in the same form as our results, and both side by side."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from survgauge.bench.experiment import Results
from survgauge.data.tables import read_frame
from survgauge.errors import InputError

_METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po")
_MODELS = {
    "Regressor": "lr",
    "KM": "km",
    "CoxPH": "coxph",
    "AFT": "aft",
    "GBCM": "gbm_c",
    "RSF": "rsf",
    "MTLR": "mtlr",
    "DeepHit": "deephit",
    "SCA": "sca",
    "S-MDN": "smdn",
}


def read_published(path: str | os.PathLike[str]) -> Results:
    """Read the tidy form of the authors' spreadsheet: one row per data set, censoring and model.

    Columns: dataset, censoring, model, true_mae and a column for each method. Names become those
    of this package, so that the tables can be laid beside ours.
    """
    wide = read_frame(path, kind=".csv")
    missing = [c for c in ("dataset", "censoring", "model", "true_mae") if c not in wide.columns]
    if missing:
        raise InputError(f"{Path(path).name} is not the published table: no column {missing[0]!r}")
    rows = [
        {
            "dataset": str(row["dataset"]).lower().replace("-", "_"),
            "censoring": row["censoring"],
            "model": _MODELS.get(row["model"], row["model"]),
            "metric": f"mae_{method}",
            "value": row[method],
            "true_value": row["true_mae"],
        }
        for row in wide.to_dict("records")
        for method in _METHODS
        if method in row
    ]
    return Results(pd.DataFrame(rows), name="published")


def side_by_side(ours: Results, published: Results, truth: str = "mae") -> pd.DataFrame:
    """Ranking and proximity of each metric on each data set, ours beside the published ones.

    Only models, metrics and data sets that both have are compared, so that ranks are of the same
    models. Columns: tau, overlap, relative and winner, each with ``_ours`` and ``_published``.
    """
    shared = {
        axis: sorted(set(ours.metrics[column]) & set(published.metrics[column]))
        for axis, column in (("datasets", "dataset"), ("models", "model"), ("metrics", "metric"))
    }
    for axis, names in shared.items():
        if not names:
            raise InputError(f"these results have no {axis} in common with the published ones")
    both = [_table(results.select(truth=truth, **shared)) for results in (ours, published)]
    keys = ["dataset", "censoring", "metric"]
    return both[0].merge(both[1], on=keys, suffixes=("_ours", "_published"))


def _table(results: Results) -> pd.DataFrame:
    rows = [
        {
            "dataset": panel.dataset,
            "censoring": panel.censoring,
            "metric": metric,
            **panel.answers.numbers(k, "tau", "overlap", "relative"),
            "winner": bool(panel.answers.winner[k]),
        }
        for panel in results.panels
        for k, metric in enumerate(panel.metrics)
    ]
    return pd.DataFrame(rows)
