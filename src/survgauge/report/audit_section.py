"""An audit on a page: the recommendation in words, a chart, and tables; plain data in, HTML out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._tools.text_tables import number
from ..auditing.text import ASKS, share, signed, within
from ..displays.audit import AuditDisplay
from ..displays.measures import plain_float
from .markup import Markup, join, table, tag
from .shell import Section, figures, lone_page
from .specs import Spec, figure

#: Columns after that of the metric: what each shows, and how that is written.
_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "Bias": ("relative_bias", signed),
    "Off": ("off", share),
    "RMSE": ("relative_rmse", share),
    "Kendall's tau": ("tau", partial(number, digits=2)),
    "Best pick": ("best", share),
    "Loss": ("relative_loss", share),
}
#: Of them, those that a single model has.
_OF_ONE = ("Bias", "Off", "RMSE")


def audit_charts(data: dict[str, Any]) -> list[Spec]:
    """Return the chart of an audit, from the plain data of `Audit.to_dict`."""
    shown = AuditDisplay.from_record(data)
    return [figure("audit-chart", [shown.describe()], wide=True)]


def audit_words(data: dict[str, Any]) -> Markup:
    """Return the recommendation and its reason."""
    return join(tag("p", f"{data['heading']}.", class_="lead"), tag("p", data["reason"]))


def audit_tables(data: dict[str, Any]) -> Markup:
    """Return the means over the scenarios with independent censoring: a table for each horizon."""
    asks = data["risks"][0]["asks"]
    found = [one for one in data["risks"] if one["asks"] == asks]
    return join(*(_table(data, one, place) for place, one in enumerate(found)))


def _table(data: dict[str, Any], found: dict[str, Any], place: int) -> Markup:
    rows = [
        row
        for row in data["summary"]
        if (row["asks"], row["horizon"]) == (found["asks"], found["horizon"])
    ]
    rows.sort(key=lambda row: (row["metric"] != found["metric"], _loss(row)))
    what = ASKS.get(found["asks"], found["asks"]).capitalize()
    caption = (
        f"{what} {within(found['horizon'], data['unit'])}: means over the scenarios with "
        "independent censoring, all but Kendall's tau as shares of the true error (best pick: of "
        "the draws). Off is the largest bias in a kind of scenario, without its sign."
    )
    columns = list(_COLUMNS) if len(data["models"]) > 1 else list(_OF_ONE)
    body = [_row(row, row["metric"] == found["metric"], columns) for row in rows]
    header, words = ["Metric", *columns], ("Metric",)
    return table(header, body, caption=caption, name=f"audit-{place}", words=words)


def _row(row: dict[str, Any], recommended: bool, columns: list[str]) -> Markup:
    name = tag("b", row["metric"]) if recommended else row["metric"]
    cells = []
    for field, write in (_COLUMNS[column] for column in columns):
        shown = write(plain_float(row[field]))
        cells.append(tag("td", shown, class_="number", data_value=row[field]))
    return tag("tr", tag("th", name, scope="row"), *cells)


def _loss(row: dict[str, Any]) -> float:
    return float("inf") if row["relative_loss"] is None else float(row["relative_loss"])


def audit_section(data: dict[str, Any], charts: list[Spec]) -> Markup:
    """Return the section of a page: words, chart, tables, and what the scenarios are."""
    worlds = dict.fromkeys(row["world"] for row in data["table"])
    told = (
        "Event and censoring times were drawn for the test subjects in scenarios in which the "
        f"truth is known: {', '.join(worlds)}. Means are over those with independent censoring, in "
        "which each kind of scenario has equal weight."
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
