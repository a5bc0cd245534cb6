"""An audit on a page: the recommendation in words, a chart, and tables; plain data in, HTML out."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number
from ..auditing.text import ASKS, share, signed, within
from ..displays.audit import AuditDisplay
from .markup import Markup, join, table, tag
from .shell import Section, figures, lone_page
from .specs import Spec
from .specs import figure as figure_spec

_COLUMNS = ("Metric", "Bias", "Off", "RMSE", "Kendall's tau", "Best pick", "Loss")


def audit_charts(data: dict[str, Any]) -> list[Spec]:
    """Return the chart of an audit, from the plain data of `Audit.to_dict`."""
    shown = AuditDisplay.from_record(data)
    return [figure_spec("audit-chart", [shown.describe()], wide=True)]


def audit_words(data: dict[str, Any]) -> Markup:
    """Return the recommendation and its reason."""
    horizon = data["recommendations"][0]["horizon"]
    head = f"Recommended: {data['recommended'] or 'nothing'} ({within(horizon, data['unit'])})."
    return join(tag("p", head, class_="lead"), tag("p", data["reason"]))


def audit_tables(data: dict[str, Any]) -> Markup:
    """Return the means over the independent worlds: a table for each horizon."""
    asks = data["recommendations"][0]["asks"]
    found = [one for one in data["recommendations"] if one["asks"] == asks]
    return join(*(_table(data, one, place) for place, one in enumerate(found)))


def _table(data: dict[str, Any], found: dict[str, Any], place: int) -> Markup:
    rows = [
        row
        for row in data["summary"]
        if (row["asks"], row["horizon"]) == (found["asks"], found["horizon"])
    ]
    rows.sort(key=lambda row: (row["metric"] != found["metric"], _number(row["relative_loss"])))
    what = ASKS.get(found["asks"], found["asks"]).capitalize()
    caption = (
        f"{what} {within(found['horizon'], data['unit'])}: means over the independent worlds, all "
        "but Kendall's tau as shares of the true error (best pick: of the draws). Off is the "
        "largest bias in a kind of world, without its sign."
    )
    columns = _COLUMNS if len(data["models"]) > 1 else _COLUMNS[:4]
    header: list[tuple[object, str | None]] = [
        (name, None if k == 0 else "number") for k, name in enumerate(columns)
    ]
    body = [_row(row, row["metric"] == found["metric"], len(columns)) for row in rows]
    return table(header, body, caption=caption, name=f"audit-{place}")


def _row(row: dict[str, Any], recommended: bool, columns: int) -> Markup:
    name = tag("b", row["metric"]) if recommended else row["metric"]
    cells = [
        (signed(_float(row["relative_bias"])), row["relative_bias"]),
        (share(_float(row["off"])), row["off"]),
        (share(_float(row["relative_rmse"])), row["relative_rmse"]),
        (number(_float(row["tau"]), 2), row["tau"]),
        (share(_float(row["best"])), row["best"]),
        (share(_float(row["relative_loss"])), row["relative_loss"]),
    ][: columns - 1]
    numbers = [
        tag("td", text, class_="number", data_value=None if value is None else value)
        for text, value in cells
    ]
    return tag("tr", tag("th", name, scope="row"), *numbers)


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _number(value: Any) -> float:
    return float("inf") if value is None else float(value)


def audit_section(data: dict[str, Any], charts: list[Spec]) -> Markup:
    """Return the section of a page: words, chart, tables, and what the worlds are."""
    worlds = dict.fromkeys(row["world"] for row in data["table"])
    told = (
        "Event and censoring times were drawn for the test subjects in worlds in which the truth "
        f"is known: {', '.join(worlds)}. The recommended metric has the least expected loss over "
        "the worlds with independent censoring, in which each kind of world has equal weight."
    )
    tipping = tag("p", data["tipping_text"]) if data["tipping_text"] else None
    words = join(audit_words(data), tipping)
    return join(words, figures(charts), audit_tables(data), tag("p", told, class_="soft"))


def audit_page(data: dict[str, Any], *, title: str) -> str:
    """Make a page of an audit alone."""
    charts = audit_charts(data)
    section = Section("audit", "Audit of the metrics", audit_section(data, charts))
    told = f"{data['subjects']:,} test subjects, {data['events']:,} events"
    return lone_page(section, data, charts, title, f"{len(data['models'])} models, {told}")


def audit_fragment(data: dict[str, Any]) -> Markup:
    """Return recommendation and tables without scripts, as notebooks show them."""
    return tag("div", audit_words(data), audit_tables(data))
