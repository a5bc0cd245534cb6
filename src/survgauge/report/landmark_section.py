"""Landmarks on a page: a chart and a table for every metric; plain data in, HTML out."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number
from ..displays.landmarks import LandmarksDisplay
from ..metrics.registry import REGISTRY
from .markup import Markup, join, table, tag
from .shell import Section, figures, lone_page
from .specs import Spec, figure


def landmark_charts(data: dict[str, Any]) -> list[Spec]:
    """Return a chart for every metric, from the plain data of `Landmarks.to_dict`."""
    known = {row["metric"] for row in data["table"] if row["value"] is not None}
    drawn = [metric for metric in data["metrics"] if metric in known]
    shown = [LandmarksDisplay.from_record(data, metric) for metric in drawn]
    return [figure(f"landmarks-{s.metric}", [s.describe()], wide=True) for s in shown]


def landmark_section(data: dict[str, Any], charts: list[Spec]) -> Markup:
    """Return the section of a page: words, charts, tables."""
    told = (
        "At each landmark those are evaluated who are at risk then, with predictions given being "
        "event-free then. Horizons count from the landmark. A gap says that the data do not "
        "support the horizon."
    )
    tables = [_table(data, metric) for metric in data["metrics"]]
    remarks = tag("ul", *(tag("li", warning["message"]) for warning in data["warnings"]))
    return join(tag("p", told), figures(charts), *tables, remarks if data["warnings"] else "")


def _table(data: dict[str, Any], metric: str) -> Markup:
    """Return a table with a row per landmark and model, and a column per horizon."""
    cells = {
        (row["landmark"], row["model"], row["horizon"]): row
        for row in data["table"]
        if row["metric"] == metric
    }
    unit = f" {data['unit']}" if data["unit"] else ""
    within = [f"within {horizon:g}{unit}" for horizon in data["horizons"]]
    keys = dict.fromkeys((landmark, model) for landmark, model, _ in cells)
    body = []
    for landmark, model in keys:
        found = [cells.get((landmark, model, horizon)) for horizon in data["horizons"]]
        count = next(row["subjects"] for row in found if row is not None)
        told = [tag("td", _cell(row), class_="number") for row in found]
        first = tag("td", f"{landmark:g}", class_="number"), tag("th", model, scope="row")
        body.append(tag("tr", *first, tag("td", f"{count:,}", class_="number"), *told))
    caption = f"{REGISTRY[metric].title} with intervals, by landmark and horizon"
    header, name = ["Landmark", "Model", "At risk", *within], f"landmark-table-{metric}"
    return table(header, body, caption=caption, name=name, words=("Model",))


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["value"] is None:
        return "-"
    value = number(float(row["value"]))
    if row["low"] is None or row["high"] is None:
        return value
    return f"{value} ({number(float(row['low']))} to {number(float(row['high']))})"


def landmark_page(data: dict[str, Any], *, title: str) -> str:
    """Make a page of landmarks alone."""
    charts = landmark_charts(data)
    section = Section("landmarks", "Predictions over landmarks", landmark_section(data, charts))
    told = ", ".join(f"{len(data[what])} {what}" for what in ("models", "landmarks", "horizons"))
    return lone_page(section, data, charts, title, told)
