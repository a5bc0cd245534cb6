"""Charts of an experiment: one data set with all metrics, and one metric with all models."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number
from ..displays.description import Axis, Chart, Model, Panel, Points, Row, Rule
from ..displays.measures import plain_float
from .specs import Spec, figure


def panel_chart(data: dict[str, Any]) -> Spec:
    """What each metric says of each model, against the truth: a choice for each data set."""
    found = {
        key: _panel(key[0], data["plain"][key[0]], rows)
        for key, rows in _groups(data, ("truth", "dataset", "censoring")).items()
    }
    names = [f"{d}, {c} – {t}" for t, d, c in found]
    made = figure("panel-chart", found.values(), names, "Data", wide=True)
    return made | {"keys": [list(key) for key in found]}


def _panel(truth: str, metrics: list[str], rows: list[dict[str, Any]]) -> Chart:
    marks = []
    for k, metric in enumerate(metrics):
        mine = [r for r in rows if r["metric"] == metric]
        marks.append(
            Points(
                [plain_float(r["true_value"]) for r in mine], [_said(r) for r in mine], k,
                (Model(metric),), names=tuple(f"{r['model']}, {metric}" for r in mine),
            )
        )  # fmt: skip
    panel = Panel(
        Axis(f"True value ({truth})"), Axis("What the metric says"), (Rule("diagonal"), *marks),
        height=3.3,
    )  # fmt: skip
    return Chart(
        "All metrics on one data set",
        "Each point is a model as one metric sees it; on the dashed line the metric tells the "
        "truth. Values are means over runs.",
        (panel,),
    )


def cell_chart(data: dict[str, Any]) -> Spec:
    """How far a metric is from the truth, model by model: a choice for each data set and metric."""
    order = {model: k for k, model in enumerate(data["models"])}
    found = {
        key: _cell(key[0], key[3], rows, order)
        for key, rows in _groups(data, ("truth", "dataset", "censoring", "metric")).items()
        if key[3] in data["plain"][key[0]]
    }
    names = [f"{m} on {d}, {c} – {t}" for t, d, c, m in found]
    made = figure("cell-chart", found.values(), names, "Cell", wide=True)
    return made | {"keys": [list(key) for key in found]}


def _cell(truth: str, metric: str, rows: list[dict[str, Any]], order: dict[str, int]) -> Chart:
    marks = []
    for k, r in enumerate(rows):
        gap, spread = plain_float(r["difference"]), plain_float(r["difference_sd"])
        relative = "-" if r["relative"] is None else f"{r['relative']:+.1%}"
        told = f"{metric} {number(_said(r))}, truth {number(plain_float(r['true_value']))}"
        name = f"{r['model']}: {told}, relative {relative}"
        left, right = [gap - spread], [gap + spread]
        look = order[r["model"]]
        marks.append(Points([gap], [k], look, left=left, right=right, names=(name,)))
    panel = Panel(
        Axis(f"{metric} minus the true {truth}"),
        Axis(),
        (Rule("x", 0.0, "the truth"), *marks),
        rows=tuple(Row(r["model"], inside="" if r["difference"] is not None else "n/a")
                   for r in rows),
        note="Lines are one standard deviation over runs.",
    )  # fmt: skip
    caption = "Each row is how far the metric is from the truth for one model, mean over runs."
    return Chart("One metric, model by model", caption, (panel,))


def _groups(data: dict[str, Any], names: tuple[str, ...]) -> dict[Any, list[dict[str, Any]]]:
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in data["by_model"]:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def _said(row: dict[str, Any]) -> float:
    """Return what the metric says."""
    return plain_float(row["true_value"]) + plain_float(row["difference"])
