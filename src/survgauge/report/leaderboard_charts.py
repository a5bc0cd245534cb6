"""Charts of the leaderboard's page."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.text import number
from ..metrics.registry import REGISTRY
from . import leaderboard_words as words
from .charts import figure
from .displays.description import Axis, Chart, Mark, Model, Panel, Points, Row, Rule
from .displays.forest import plain_float

Record = dict[str, Any]
_SECONDS = (
    (0.001, "1 ms"), (0.01, "10 ms"), (0.1, "0.1 s"), (1.0, "1 s"), (10.0, "10 s"),
    (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h"),
)  # fmt: skip


def forest_chart(data: Record, view: str) -> Record:
    """Mean of every model over datasets, and how far it is from the reference model."""
    mine, headline, metric = data["by_view"][view], data["headline"], data["metrics"][0]
    rows = mine["standings"][headline]
    panels = [_forest(data, rows, metric)]
    told = (
        "Means over datasets with 95 % intervals: filled, may be the best; hollow, clearly worse "
        "than the best. Models that share a letter do not differ clearly."
    )
    if any(r.get("to_cox_low") is not None for r in rows):
        panels.append(_differences(data, rows))
        told += (
            f" Difference from {data['reference']}: filled where it is clear; intervals are "
            "adjusted for the number of models, and narrower because easy and hard datasets cancel "
            "out."
        )
    chart = Chart(words.titled(metric), told, tuple(panels), columns=2)
    return figure(f"overview-{view}", [chart], wide=True)


def metrics_chart(data: Record, view: str) -> Record:
    """A forest for each metric."""
    mine, charts, labels = data["by_view"][view], [], []
    for metric in data["metrics"]:
        rows = mine["standings"][metric["name"]]
        if rows:
            told = "Means over datasets with 95 % intervals; hollow: clearly worse than the best."
            note = words.meaning(metric).removesuffix(".")
            panel = _forest(data, rows, metric)
            charts.append(Chart("Means over datasets", told, (panel,), notes=(note,)))
            labels.append(words.titled(metric))
    return figure(f"by-metric-{view}", charts, labels, "Metric", wide=True)


def dataset_chart(data: Record, view: str) -> Record:
    """All models on a dataset, a choice for each dataset."""
    mine, headline = data["by_view"][view], data["headline"]
    facts = {d["name"]: d for d in data["datasets"]}
    value = {(r["dataset"], r["model"], r["settings"]): r
             for r in data["values"] if r["metric"] == headline}  # fmt: skip
    rows: dict[str, list[Record]] = {}
    for r in mine["each"]:
        rows.setdefault(r["dataset"], []).append(r)
    charts = []
    for name, found in rows.items():
        known = sorted((r for r in found if r["value"] is not None), key=lambda r: -r["value"])
        own = [value[name, r["model"], mine["settings"][r["model"]]] for r in known]
        unit = facts[name].get("unit") or ""
        marks: list[Mark] = [Rule("x", 0.0, "Kaplan-Meier")]
        lines = []
        for k, (r, v) in enumerate(zip(known, own, strict=True)):
            ends, worse = (_percent(v[e]) for e in ("skill_low", "skill_high")), r["clearly_worse"]
            marks.append(_mark(data, r["model"], k, 100 * r["value"], *ends, hollow=bool(worse)))
            error = f"{number(v['value'])} {unit}".strip()
            lines.append(Row((Model(r["model"]),), beside=error, clear=not worse))
        axis = Axis(words.axis(data["metrics"][0]))
        told = (
            f"{_about(facts[name])}. Lines are 95 % intervals over the subjects of this dataset; "
            f"at the right: {REGISTRY[headline].title}. Hollow: clearly worse than the best model "
            "here (paired, Holm's correction)."
        )
        panel = Panel(axis, Axis(), tuple(marks), rows=tuple(lines))
        charts.append(Chart("Models on a dataset", "",
                            (panel,), notes=(told.removesuffix("."),)))  # fmt: skip
    return figure(f"dataset-{view}", charts, list(rows), "Dataset", wide=True)


def _about(dataset: Record) -> str:
    censored = f"{100 * dataset['censored']:.0f} % censored"
    return (
        f"{dataset.get('title') or dataset['name']}: {dataset['n']:,} subjects, {censored}, "
        f"{dataset['features']} features"
    )


def costs_chart(data: Record, view: str) -> Record:
    """Seconds of a fold against the error saved."""
    mine = data["by_view"][view]
    seconds = {(c["model"], c["settings"]): c for c in data["costs"]}
    marks: list[Mark] = []
    ends = []
    for row in mine["standings"][data["headline"]]:
        found = seconds.get((row["model"], mine["settings"][row["model"]]))
        if found is None or found["fit"] is None:
            continue
        at = float(np.log10(max(found["fit"] + (found["predict"] or 0.0), 1e-3)))
        ends.append(at)
        role = data["models"].index(row["model"])
        marks.append(Points([at], [100 * row["mean"]], role, (Model(row["model"]),)))
    every = [(float(np.log10(seconds)), text) for seconds, text in _SECONDS]
    low = max((at for at, _ in every if at < min(ends, default=0.0)), default=every[0][0])
    high = min((at for at, _ in every if at > max(ends, default=1.0)), default=every[-1][0])
    ticks = tuple(tick for tick in every if low <= tick[0] <= high)
    panel = Panel(
        Axis("Median time to fit and predict a fold", low=low, high=high, ticks=ticks),
        Axis(words.axis(data["metrics"][0])), tuple(marks), height=2.9,
    )  # fmt: skip
    told = "Time of tuned settings includes the search. The upper left is best."
    return figure(f"costs-{view}", [Chart("Time of a fold and skill", told, (panel,))], wide=True)


# -- parts -----------------------------------------------------------------------------------------


def _percent(value: float | None) -> float:
    return 100 * plain_float(value)


def _mark(
    data: Record, model: str, row: int, value: float, low: float, high: float, *, hollow: bool
) -> Points:
    role = data["models"].index(model)
    return Points([value], [row], role, left=[low], right=[high], hollow=hollow)


def _forest(data: Record, rows: list[Record], metric: Record) -> Panel:
    """Means with intervals, best on top."""
    scale = 100.0 if metric["kind"] == "skill" else 1.0
    marks: list[Mark] = []
    if metric["kind"] == "skill":
        marks.append(Rule("x", 0.0, "Kaplan-Meier"))
    for k, row in enumerate(rows):
        low, high = (scale * plain_float(row[name]) for name in ("low", "high"))
        worse = row["may_be_best"] is False
        marks.append(_mark(data, row["model"], k, scale * row["mean"], low, high, hollow=worse))
    lines = tuple(
        Row(
            (Model(row["model"]),), beside=row["group"] or "", clear=row["may_be_best"] is not False
        )
        for row in rows
    )
    return Panel(Axis(words.axis(metric)), Axis(), tuple(marks), rows=lines)


def _differences(data: Record, rows: list[Record]) -> Panel:
    """Differences from the reference model, in the order of the means."""
    marks: list[Mark] = [Rule("x", 0.0)]
    for k, row in enumerate(rows):
        if row["model"] == data["reference"]:
            marks.append(Points([0.0], [k], "soft", marker="tick", names=("the reference",)))
        if row.get("to_cox") is not None:
            value, low, high = (_percent(row[c]) for c in ("to_cox", "to_cox_low", "to_cox_high"))
            clear = row["to_cox_p"] is not None and row["to_cox_p"] < 0.05
            marks.append(_mark(data, row["model"], k, value, low, high, hollow=not clear))
    lines = tuple(Row((Model(row["model"]),)) for row in rows)
    axis = Axis(f"Difference from {data['reference']}\n(percentage points)")
    return Panel(axis, Axis(), tuple(marks), rows=lines)
