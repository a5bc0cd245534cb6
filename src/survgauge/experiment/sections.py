"""What to say about an experiment, as tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.latex import Best
from .._tools.text_tables import number
from ..report.experiment_words import advice_p, interval_words, percent, rule
from .panels import TruthPanel, matrix, metrics_of
from .published import PAPER_METRICS
from .results import Results

_LONGEST_ERROR = 100
_MOST_MODELS = 4


@dataclass(frozen=True)
class TableSection:
    """A table with its heading, a sentence on how to read it, and a name for files."""

    name: str
    heading: str
    header: list[str]
    rows: list[list[str]]
    left: int = 1
    note: str = ""


def sections(results: Results) -> list[TableSection]:
    """Tables for the terminal and the summary."""
    found: list[TableSection] = []
    for truth, panels in families(results).items():
        found.append(_wins(results, truth))
        if len(panels[0].metrics) > 1:
            found.append(_winners(results, truth))
        found.append(_models(results, truth))
        if truth == "mae":
            found += _paper_section(results, panels[0].metrics) + _advice(results)
    return found + _problems(results)


def by_data_set(results: Results) -> Iterator[TableSection]:
    """Tables with a row for each data set and a column for each metric; the best are marked."""
    for truth, panels in families(results).items():
        metrics = metrics_of(panels)
        for name, measure, what in (
            ("ranking", "tau", "Kendall's tau with the true order of the models"),
            ("proximity", "relative", "Mean distance from the true value, relative to it"),
        ):
            found = matrix(panels, metrics, measure)
            best = found.max(axis=1) if measure == "tau" else found.min(axis=1)
            rows = [
                [panel.dataset, panel.censoring, *_marked(values, most, measure)]
                for panel, values, most in zip(panels, found, best, strict=True)
            ]
            heading = f"{what}; truth: {truth}"
            header = ["data", "censoring", *metrics]
            yield TableSection(f"{name}-{truth}", heading, header, rows, 2)


def _marked(values: Any, best: float, measure: str) -> list[str]:
    write = _tau if measure == "tau" else percent
    return [Best(write(v)) if v == best else write(v) for v in values.tolist()]


def families(results: Results) -> dict[str, list[TruthPanel]]:
    """Panels by their truth, in the order of the plan."""
    by_truth: dict[str, list[TruthPanel]] = {truth: [] for truth in results.truths}
    for panel in results.panels:
        by_truth[panel.truth].append(panel)
    return {truth: panels for truth, panels in by_truth.items() if panels}


def _wins(results: Results, truth: str) -> TableSection:
    table = results.summary(truth).sort_values(["total", "tau"], ascending=False, kind="stable")
    kinds = list(table.columns[: table.columns.get_loc("total")])
    means = ["wins", "mean tau", "95 % interval", "mean top 3", "mean distance"]
    rows = [
        [str(name), str(int(row["total"])), _tau(row["tau"]),
         _interval(row["tau_low"], row["tau_high"], _tau), _tau(row["overlap"]),
         percent(row["relative"]), *(str(int(row[kind])) for kind in kinds)]
        for name, row in table.iterrows()
    ]  # fmt: skip
    bases = [panel.dataset for panel in results.panels if panel.truth == truth]
    count = len(bases)
    note = (
        "A metric wins a data set if it has most of the truly best three models among its best "
        "three, then by being closest to the truth; ties share a win. The last columns are wins by "
        f"kind of censoring. {interval_words(bases)}"
    )
    heading = f"Wins over {count} data set{'s' * (count != 1)}; truth: {truth}"
    return TableSection(f"wins-{truth}", heading, ["metric", *means, *kinds], rows, 1, note)


def _paper_section(results: Results, metrics: tuple[str, ...]) -> list[TableSection]:
    """Count wins among the paper's six too, where variants take part in the other table."""
    if not set(PAPER_METRICS) < set(metrics):
        return []
    found = _wins(results.select(truth="mae", metrics=PAPER_METRICS), "mae")
    heading = "Wins among the paper's six metrics alone"
    return [TableSection("wins-paper", heading, found.header, found.rows)]


def _winners(results: Results, truth: str) -> TableSection:
    table = results.winners
    rows = [
        [r.dataset, r.censoring, r.metric, f"{r.overlap:g}", number(r.proximity), _tau(r.tau),
         percent(r.share, 0)]
        for r in table[table["truth"] == truth].itertuples()
    ]  # fmt: skip
    header = ["data", "censoring", "winner", "top 3", "distance", "tau", "wins in replicates"]
    note = (
        "Top 3 says how many of the truly best three models are among the metric's best three. "
        "Wins in replicates is the share of redraws of the runs in which the metric still wins."
    )
    return TableSection(f"winners-{truth}", f"Winners; truth: {truth}", header, rows, 3, note)


def _models(results: Results, truth: str) -> TableSection:
    table = results.models
    rows = []
    for _, part in table[table["truth"] == truth].groupby(["dataset", "censoring"], sort=False):
        best, tied = part.iloc[0], part[~part["clearly_worse"]]["model"].tolist()[1:]
        shown = ", ".join(tied[:_MOST_MODELS]) + ", ..." * (len(tied) > _MOST_MODELS)
        rows.append(
            [best["dataset"], best["censoring"], best["model"], number(best["true_value"]),
             _interval(best["low"], best["high"], number), shown or "none"]
        )  # fmt: skip
    header = ["data", "censoring", "best model", "true value", "95 % interval", "not clearly worse"]
    note = (
        "Not clearly worse are models whose 95 % interval of the difference from the best includes "
        "0, nearest first. Intervals are not adjusted for the number of models."
    )
    heading = f"Models by the true {truth}"
    return TableSection(f"models-{truth}", heading, header, rows, 3, note)


def _advice(results: Results) -> list[TableSection]:
    names = set(results.metrics["metric"])
    # Wins are those among the paper's six, among which the advice chooses.
    six = results.select(metrics=PAPER_METRICS) if set(PAPER_METRICS) <= names else results
    found = six.advice("mae").to_dict("records")
    rows = [
        [r["situation"], f"{r['recommended']} over {r['other']}", r["verdict"],
         str(r["data_sets"]), str(r["bases"]), f"{r['recommended_wins']} : {r['other_wins']}",
         f"{r['recommended_tau']:.2f} : {r['other_tau']:.2f}",
         f"{percent(r['recommended_relative'])} : {percent(r['other_relative'])}",
         f"{r['closer']} of {r['data_sets']}", advice_p(r, "p_value"), advice_p(r, "p_tau")]
        for r in found
    ]  # fmt: skip
    header = ["situation", "advice", "verdict", "data sets", "data bases", "wins", "mean tau",
              "mean distance", "closer", "p (distance)", "p (tau)"]  # fmt: skip
    heading = "The paper's advice"
    return [TableSection("advice", heading, header, rows, 3, rule())] if rows else []


def _problems(results: Results) -> list[TableSection]:
    """What failed or was left out."""
    found = []
    if len(results.left_out):
        few = results.left_out.drop_duplicates(["dataset", "censoring", "model"])
        rows = [[r.dataset, r.censoring, r.model] for r in few.itertuples()]
        heading = "Models that were left out, because some of their cells are missing"
        found.append(TableSection("left-out", heading, ["data", "censoring", "model"], rows, 3))
    bad = results.failed_metrics
    if len(bad):
        rows = [[r.metric, str(r.cells), r.error[:_LONGEST_ERROR], r.first]
                for r in bad.itertuples()]  # fmt: skip
        header = ["metric", "cells", "first error", "first cell"]
        note = "The other metrics of these cells are not affected."
        found.append(TableSection("failed-metrics", "Metrics that failed", header, rows, 1, note))
    if results.failures:
        axes = ("dataset", "censoring", "model", "repeat", "fold")
        rows = [
            [*(str(f["cell"][k]) for k in axes), f"{f['error']}: {f['message']}"[:_LONGEST_ERROR]]
            for f in results.failures
        ]
        header = ["data", "censoring", "model", "repeat", "fold", "error"]
        found.append(TableSection("failures", f"Failed cells: {len(rows)}", header, rows, 3))
    return found


def _tau(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _interval(low: float, high: float, write: Any) -> str:
    return "-" if np.isnan(low) else f"[{write(low)}, {write(high)}]"
