"""A board as plain data for its page: standings by metric, datasets, kinds, truth, costs.

Kaplan-Meier is what models are held against, and does not compete. Repeats of a dataset are
averaged first. With tuned settings, a model that was not tuned competes as it comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.text import six_digits
from ...errors import InputError
from ...evaluation.audit.risks import kendall_tau
from ...evaluation.inference import holm
from ...metrics.registry import REGISTRY
from ...report import leaderboard_page as of_plain_data
from ...report.experiment_words import FEWEST_BASES
from .results import BASELINE, METRICS, RELATIVE, Board
from .statistics import LEVEL, agreement, groups, over_datasets, p_of_being_best, pairs

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
    metrics = [m for m in dict.fromkeys((HEADLINE, *METRICS)) if m in there]
    datasets = board.datasets[board.datasets["track"] == "main"]
    pairs, entries = averaged.pairs, board.models.to_dict("records")
    asked = board.about.get("settings", VIEWS)  # without "default" no model is shown twice
    views = [v for v in VIEWS if v in asked and v in set(main["settings"])] or ["default"]
    found = {
        "headline": metrics[0],
        "reference": REFERENCE,
        "metrics": [{"name": m, "kind": Measure.of(m).kind} for m in metrics],
        "views": {v: VIEWS[v] for v in views},
        "models": [m for m in dict.fromkeys(main["model"]) if m != BASELINE],
        "titles": {m["name"]: m["title"] for m in entries if isinstance(m["title"], str)},
        "by_view": {
            v: _view(in_view(main, v), pairs[pairs["track"] == "main"], datasets, metrics, v)
            for v in views
        },
        "truth": _truth(truth, metrics, views),
        "datasets": datasets.to_dict("records"),
        "truth_datasets": sorted(set(truth["dataset"])),
        "values": main.drop(columns=["track", "repeat", "truth"]).to_dict("records"),
        "entries": entries,
        "tuning": tuning(main, metrics[0]),
        "costs": costs(board.cells),
        "failures": failures(board.cells),
        "repeats": int(board.scores["repeat"].nunique()),
        "folds": int(board.cells["fold"].nunique()),
        "about": board.about,
    }
    return six_digits(found)


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


#: Settings of models, and how they are called.
VIEWS = {
    "default": "As they come",
    "tuned-ibs": "Tuned by the integrated Brier score",
    "tuned-mae": "Tuned by the error in time",
}
#: The model that others have to beat.
REFERENCE = "coxph"
#: Kinds of datasets: a column, its title, where it is cut, and how a bound is written.
KINDS = (
    ("n", "Subjects", (500, 1000), "{:,.0f}"),
    ("censored", "Censored", (0.4, 0.7), "{:.0%}"),
    ("features", "Features", (5, 10), "{:.0f}"),
)
#: Distances from a target count up to this: a slope of 3 is as useless as one of 2.
FARTHEST = 1.0
#: Least and largest value of what is measured where the truth is known.
_BOUNDS = {"distance": (0.0, np.inf), "tau": (-1.0, 1.0), "loss": (0.0, np.inf)}
#: A loss of nothing would have an infinite logarithm.
_LEAST = 1e-6
Row = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """What is averaged over datasets.

    Skills are averaged as logarithms of the ratio of losses: models are compared by the ratio of
    their own losses then, whatever they are held against, and a model that fails badly on one
    dataset does not outweigh all others (Fleming and Wallace, 1986, How not to lie with statistics,
    Communications of the ACM 29).
    """

    name: str
    #: skill, value or distance.
    kind: str
    #: Sign that turns a value as shown into one of which higher is better.
    sign: float
    #: What a model that failed on a dataset counts there; None: the dataset is left out.
    failed: float | None = None

    @classmethod
    def of(cls, metric: str) -> Measure:
        """Return the measure of a metric."""
        record = REGISTRY[metric]
        if metric in RELATIVE:
            return cls(metric, "skill", 1.0, 0.0)
        if record.direction == "target":
            return cls(metric, "distance", -1.0)
        higher = record.direction == "higher"
        return cls(metric, "value", 1.0 if higher else -1.0, 0.5 if higher else None)

    def shown(self, rows: pd.DataFrame) -> pd.Series:
        """Return the numbers to average."""
        if self.kind == "skill":
            return rows["skill"]
        if self.kind == "distance":
            return (rows["value"] - REGISTRY[self.name].target).abs().clip(upper=FARTHEST)
        return rows["value"]

    def better(self, shown: Floats) -> Floats:
        """Turn numbers as shown into those to average, of which higher is better."""
        if self.kind == "skill":
            return np.asarray(-np.log(np.maximum(1 - shown, _LEAST)))
        return np.asarray(self.sign * shown)

    def back(self, value: float) -> float:
        """Turn a mean, or a difference of means, into a number as shown."""
        return float(-np.expm1(-value)) if self.kind == "skill" else float(self.sign * value)

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Turn limits of a mean or a difference into limits as shown, the lower one first."""
        ends = self.back(low), self.back(high)
        return ends if ends[0] <= ends[1] else ends[::-1]

    def badness(self, values: Floats) -> Floats:
        """Values of the metric itself, turned so that lower is better."""
        if self.kind == "distance":
            return np.abs(values - (REGISTRY[self.name].target or 0.0))
        return values if self.kind == "skill" else np.asarray(-self.sign * values)


@dataclass(frozen=True)
class Matrix:
    """Datasets by models, as shown; `values` has failures filled in and higher is better."""

    measure: Measure
    table: pd.DataFrame
    #: Models that have values on fewer than half of the datasets and do not compete.
    left_out: list[str]

    @property
    def datasets(self) -> list[str]:
        """Names of the rows."""
        return list(self.table.index)

    @property
    def models(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.columns)

    @property
    def shown(self) -> Floats:
        """Numbers as the page shows them."""
        return self.table.to_numpy(float)

    @property
    def values(self) -> Floats:
        """Numbers to compare."""
        failed = self.measure.failed
        filled = self.table if failed is None else self.table.fillna(failed)
        return self.measure.better(filled.to_numpy(float))

    def at(self, datasets: list[str], models: list[str]) -> Floats:
        """Take some rows and columns of what is shown; NaN for those that are not there."""
        return self.table.reindex(index=datasets, columns=models).to_numpy(float)

    @property
    def missing(self) -> list[int]:
        """On how many datasets each model has no value."""
        return [int(count) for count in np.isnan(self.shown).sum(axis=0)]


def in_view(rows: pd.DataFrame, view: str) -> pd.DataFrame:
    """Keep the settings of a view; models without them stay as they come."""
    has = set(rows.loc[rows["settings"] == view, "model"])
    plain = set(rows.loc[rows["settings"] == "default", "model"])
    first = rows.groupby("model")["settings"].transform("first")
    usual = first.where(~rows["model"].isin(plain), "default")
    return rows[rows["settings"] == usual.where(~rows["model"].isin(has), view)]


def matrix_of(rows: pd.DataFrame, measure: Measure, column: str | None = None) -> Matrix:
    """Place the numbers of a metric; `column` has other numbers than the measure's own."""
    rows = rows[(rows["metric"] == measure.name) & (rows["model"] != BASELINE)]
    numbers = measure.shown(rows) if column is None else rows[column]
    table = rows.assign(number=numbers).pivot_table(
        index="dataset", columns="model", values="number", sort=False, dropna=False
    )
    table = table.dropna(how="all")
    enough = table.notna().sum() * 2 >= len(table)
    return Matrix(measure, table.loc[:, enough], list(table.columns[~enough]))


def standings(found: Matrix) -> list[Row]:
    """Models of a metric, best first: mean over datasets, letters, who may be best, against Cox."""
    values, measure = found.values, found.measure
    if not found.models:
        return []
    mean, best, every = over_datasets(values), p_of_being_best(values), pairs(values)
    letters = groups(every.clear(), mean.mean)
    place = found.models.index(REFERENCE) if REFERENCE in found.models else None
    cox = None if place is None else pairs(values, against=place)
    tested = len(values) >= FEWEST_BASES
    rows = []
    for k in np.argsort(-mean.mean, kind="stable").tolist():
        ends = measure.ends(mean.low[k], mean.high[k])
        if measure.kind != "skill":  # distances, C and ICI are not negative
            ends = max(ends[0], 0.0), ends[1]
        row: Row = {
            "model": found.models[k], "mean": measure.back(mean.mean[k]), "low": ends[0],
            "high": ends[1], "datasets": int(mean.datasets[k]), "missing": found.missing[k],
            "group": letters[k] if tested else None, "p_best": best[k],
            "may_be_best": bool(best[k] >= LEVEL) if np.isfinite(best[k]) else None,
        }  # fmt: skip
        if cox is not None and k != place:
            ends = measure.ends(float(cox.low[k, place]), float(cox.high[k, place]))
            row |= {
                "to_cox": measure.back(float(cox.difference[k, place])), "to_cox_low": ends[0],
                "to_cox_high": ends[1], "to_cox_p": cox.p_value[k, place],
                "beats_cox": bool(cox.p_value[k, place] < LEVEL and cox.difference[k, place] > 0),
            }  # fmt: skip
        rows.append(row)
    return rows


def pair_rows(found: Matrix) -> list[Row]:
    """All pairs of models of a metric, with limits and p-values that hold for all of them."""
    every, measure, rows = pairs(found.values), found.measure, []
    for i, j in np.argwhere(np.triu(np.ones((len(found.models),) * 2, dtype=bool), 1)).tolist():
        ends = measure.ends(every.low[i, j], every.high[i, j])
        rows.append(
            {
                "metric": found.measure.name, "model_a": found.models[i],
                "model_b": found.models[j], "difference": measure.back(every.difference[i, j]),
                "low": ends[0], "high": ends[1], "p_value": every.p_value[i, j],
                "datasets": int(every.datasets[i, j]),
            }
        )  # fmt: skip
    return rows


def kinds_of(datasets: pd.DataFrame) -> list[tuple[str, str, list[str]]]:
    """Datasets by size, share censored and number of features: title, range and names."""
    found = []
    for column, title, cuts, form in KINDS:
        ends = [-np.inf, *cuts, np.inf]
        for low, high in zip(ends, ends[1:], strict=False):
            there = (datasets[column] >= low) & (datasets[column] < high)
            first, last = form.format(low), form.format(high)
            label = f"fewer than {last}" if low == -np.inf else f"{first} to {last}"
            label = f"{first} or more" if high == np.inf else label
            found.append((title, label.replace("%", " %"), list(datasets.loc[there, "name"])))
    return found


def by_kind(found: Matrix, datasets: pd.DataFrame) -> list[Row]:
    """Standings within each kind of dataset; without tests where they are too few."""
    rows = []
    for title, label, names in kinds_of(datasets):
        mine = Matrix(found.measure, found.table[found.table.index.isin(names)], [])
        if not mine.datasets:
            continue
        mean, best = over_datasets(mine.values), p_of_being_best(mine.values)
        models = [
            {
                "model": name, "mean": found.measure.back(mean.mean[k]),
                "may_be_best": bool(best[k] >= LEVEL) if np.isfinite(best[k]) else None,
            }
            for k, name in enumerate(mine.models)
        ]  # fmt: skip
        rows.append(
            {"kind": title, "range": label, "datasets": len(mine.datasets), "models": models}
        )
    return rows


def sensitivity(matrices: dict[str, Matrix]) -> Row:
    """How far the order of the models depends on the metric: Kendall's tau of all pairs."""
    names = [name for name, found in matrices.items() if found.models]
    models = list(dict.fromkeys(m for name in names for m in matrices[name].models))
    means = np.full((len(models), len(names)), np.nan)
    for k, name in enumerate(names):
        mean = over_datasets(matrices[name].values).mean
        for model, value in zip(matrices[name].models, mean, strict=True):
            means[models.index(model), k] = value
    shared = int((~np.isnan(means).any(axis=1)).sum())
    return {"metrics": names, "models": shared, "tau": agreement(means).tolist()}


def truth_rows(rows: pd.DataFrame, metrics: Iterable[str]) -> list[Row]:
    """How far each metric is from its true value, and from the true order of the models.

    The true order is that of the mean absolute errors computed from the true event times. Means
    are over models, then over datasets, with intervals over datasets.
    """
    true = matrix_of(rows, Measure.of("mae_within"), "truth")
    found = []
    for metric in metrics:
        measure = Measure.of(metric)
        said = matrix_of(rows, measure, "value")
        models = [m for m in said.models if m in true.models]
        datasets = [d for d in said.datasets if d in true.datasets]
        if len(models) < 2 or not datasets:
            continue
        value, target = said.at(datasets, models), true.at(datasets, models)
        own = matrix_of(rows, measure, "truth").at(datasets, models)
        order = measure.badness(value)
        relative = metric in RELATIVE
        gap = (value - own) / (own if relative else 1.0)
        known = ~(np.isnan(order).any(axis=1) | np.isnan(target).any(axis=1))
        tau = np.full(len(datasets), np.nan)
        loss = tau.copy()
        for d in np.flatnonzero(known).tolist():
            tau[d] = kendall_tau(order[d][:, None], target[d][:, None])[0]
            loss[d] = target[d][np.argmin(order[d])] / target[d].min() - 1
        columns = {"bias": _mean(gap), "distance": _mean(np.abs(gap)), "tau": tau, "loss": loss}
        over = over_datasets(np.column_stack(list(columns.values())))
        row: Row = {"metric": metric, "relative": relative, "datasets": int(known.sum())}
        for k, name in enumerate(columns):
            low, high = np.clip((over.low[k], over.high[k]), *_BOUNDS.get(name, (-np.inf, np.inf)))
            row |= {name: over.mean[k], f"{name}_low": float(low), f"{name}_high": float(high)}
        found.append(row)
    return found


def _mean(values: Floats) -> Floats:
    """Mean over the models of each dataset that have a value."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(total / np.where(known.any(axis=1), known.sum(axis=1), np.nan))


def true_matrix(rows: pd.DataFrame) -> Matrix:
    """Skill of the models by their true error: 1 - error / error of Kaplan-Meier."""
    rows = rows[rows["metric"] == "mae_within"]
    km = rows[rows["model"] == BASELINE].set_index("dataset")["truth"]
    skill = 1 - rows["truth"] / rows["dataset"].map(km)
    return matrix_of(rows.assign(skill=skill), Measure.of("mae_within"))


def on_each_dataset(found: Matrix, paired: pd.DataFrame) -> list[Row]:
    """Skill of each model on each dataset, and whether it is clearly worse than the best there.

    Clearly: by the paired comparisons on the dataset, with Holm's correction for the models.
    """
    paired = paired[paired["metric"] == found.measure.name]
    p_of: dict[tuple[str, frozenset[str]], float] = {
        (d, frozenset((a, b))): p
        for d, a, b, p in zip(
            paired["dataset"], paired["model_a"], paired["model_b"], paired["p_value"], strict=True
        )
    }
    rows = []
    for d, name in enumerate(found.datasets):
        shown, values = found.shown[d], found.values[d]
        known = [k for k in range(len(found.models)) if np.isfinite(shown[k])]
        best = max(known, key=lambda k, v=values: v[k])  # type: ignore[misc]
        others = [k for k in known if k != best]
        pair = [p_of.get((name, frozenset((found.models[k], found.models[best]))), np.nan)
                for k in others]  # fmt: skip
        adjusted = dict(zip(others, holm(pair).tolist() if pair else [], strict=True))
        rows += [
            {
                "dataset": name, "model": found.models[k],
                "value": shown[k] if k in known else None, "best": k == best,
                "p_value": adjusted.get(k),
                "clearly_worse": bool(adjusted[k] < LEVEL) if k in adjusted else None,
            }
            for k in range(len(found.models))
        ]  # fmt: skip
    return rows


def tuning(rows: pd.DataFrame, metric: str) -> list[Row]:
    """What tuning changed: how much of its own loss, as it comes, each model saves."""
    measure = Measure.of(metric)
    before, found = matrix_of(rows[rows["settings"] == "default"], measure), []
    for view in (v for v in VIEWS if v != "default"):
        after = matrix_of(rows[rows["settings"] == view], measure)
        models = [m for m in after.models if m in before.models]
        datasets = [d for d in after.datasets if d in before.datasets]
        if not models or not datasets:
            continue
        over = over_datasets(
            measure.better(after.at(datasets, models)) - measure.better(before.at(datasets, models))
        )
        found += [
            {
                "model": m, "settings": view, "gain": measure.back(over.mean[k]),
                "low": measure.back(over.low[k]), "high": measure.back(over.high[k]),
                "datasets": int(over.datasets[k]),
            }
            for k, m in enumerate(models)
        ]  # fmt: skip
    return found


def costs(cells: pd.DataFrame) -> list[Row]:
    """Seconds of each model and settings in a fold: median and largest; what all folds took."""
    rows = []
    for (model, settings), mine in cells.groupby(["model", "settings"], sort=False):
        each = mine["seconds_fit"] + mine["seconds_predict"]
        rows.append(
            {
                "model": model, "settings": settings, "cells": len(mine),
                "failed": int((mine["status"] != "ok").sum()),
                "fit": mine["seconds_fit"].dropna().median(),
                "predict": mine["seconds_predict"].dropna().median(),
                "most": each.max(), "total": each.sum(),
            }
        )  # fmt: skip
    return rows


def failures(cells: pd.DataFrame) -> list[Row]:
    """What failed: folds by dataset, model, settings and message."""
    failed = cells[cells["status"] != "ok"]
    keys = ["track", "dataset", "model", "settings", "message"]
    counts = failed.groupby(keys, sort=False, dropna=False).size()
    return [{**dict(zip(keys, key, strict=True)), "folds": int(n)} for key, n in counts.items()]
