"""Audits and landmarks on a page, in a section or alone; plain data in, HTML out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._tools.text import number
from ..evaluation.audit.result import ASKS, share, signed, within
from ..metrics.registry import REGISTRY
from .charts import Spec, figure
from .displays.audit import audit
from .displays.forest import plain_float
from .displays.over_time import landmarks
from .evaluation_tables import limits, shown
from .page import Markup, Section, figures, join, number_cell, page, table, table_row, tag

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
#: What begins the section on landmarks.
_LANDMARKS = (
    "At each landmark those are evaluated who are at risk then, with predictions given being "
    "event-free then. Horizons count from the landmark. A gap says that the data do not support "
    "the horizon."
)


def audit_part(data: dict[str, Any]) -> tuple[Section, list[Spec]]:
    """Return the section of a page (words, chart, tables, what the scenarios are) and its chart.

    `data` comes from `Audit.to_dict`.
    """
    charts = [figure("audit-chart", [audit(data).chart], wide=True)]
    scenarios = dict.fromkeys(row["scenario"] for row in data["table"])
    told = (
        "Event and censoring times were drawn for the test subjects in scenarios in which the "
        f"truth is known: {', '.join(scenarios)}. Means are over those with independent censoring, "
        "in which each kind of scenario has equal weight."
    )
    lead, *tables = _audit_words(data)
    tipping = tag("p", data["tipping_text"]) if data["tipping_text"] else None
    body = join(lead, tipping, figures(charts), *tables, tag("p", told, class_="soft"))
    return Section("audit", "Audit of the metrics", body), charts


def audit_html(data: dict[str, Any], title: str) -> str:
    """Make a page of an audit alone."""
    told = f"{data['subjects']:,} test subjects, {data['events']:,} events"
    return _alone(*audit_part(data), data, title, f"{len(data['models'])} models, {told}")


def audit_fragment(data: dict[str, Any]) -> Markup:
    """Return recommendation and tables without scripts, as notebooks show them."""
    return tag("div", *_audit_words(data))


def _alone(
    section: Section, charts: list[Spec], data: dict[str, Any], title: str, subtitle: str
) -> str:
    """Make a page of one section about models, with its table and everything to download."""
    return page(
        title=title,
        subtitle=subtitle,
        sections=[section],
        data={"file": section.name, "series": data["models"], "record": data, "figures": charts},
        saves=[("table", "Table (CSV)"), ("json", "Everything (JSON)")],
    )


def _audit_words(data: dict[str, Any]) -> list[Markup]:
    """Return the recommendation, and a table of means over scenarios for each horizon."""
    made = [join(tag("p", f"{data['heading']}.", class_="lead"), tag("p", data["reason"]))]
    columns = {name: _COLUMNS[name] for name in (_COLUMNS if len(data["models"]) > 1 else _OF_ONE)}
    for place, one in enumerate(data["risks"]):
        if one["asks"] != data["risks"][0]["asks"]:
            continue
        about = one["asks"], one["horizon"]
        rows = [r for r in data["summary"] if (r["asks"], r["horizon"]) == about]
        rows.sort(key=lambda r: (r["metric"] != one["metric"], r["relative_loss"] is None,
                                 r["relative_loss"]))  # fmt: skip
        what = ASKS.get(one["asks"], one["asks"]).capitalize()
        label = (
            f"{what} {within(one['horizon'], data['unit'])}: means over the scenarios with "
            "independent censoring, all but Kendall's tau as shares of the true error (best pick: "
            "of the draws). Off is the largest bias in a kind of scenario, without its sign."
        )
        body = [
            table_row(
                tag("b", r["metric"]) if r["metric"] == one["metric"] else r["metric"],
                *(number_cell(write(plain_float(r[f])), r[f]) for f, write in columns.values()),
            )
            for r in rows
        ]
        header = ["Metric", *columns]
        made.append(table(header, body, label=label, name=f"audit-{place}", words=["Metric"]))
    return made


def landmark_part(data: dict[str, Any]) -> tuple[Section, list[Spec]]:
    """Return the section of a page (words, charts, tables) and a chart for every metric.

    `data` comes from `Landmarks.to_dict`.
    """
    with_value = {row["metric"] for row in data["table"] if row["value"] is not None}
    charts = [
        figure(f"landmarks-{m}", [landmarks(data, m).chart], wide=True)
        for m in data["metrics"]
        if m in with_value
    ]
    tables = [_landmark_table(data, metric) for metric in data["metrics"]]
    warnings = tag("ul", *(tag("li", warning["message"]) for warning in data["warnings"]))
    told = warnings if data["warnings"] else None
    body = join(tag("p", _LANDMARKS), figures(charts), *tables, told)
    return Section("landmarks", "Predictions over landmarks", body), charts


def landmarks_html(data: dict[str, Any], title: str) -> str:
    """Make a page of landmarks alone."""
    told = ", ".join(f"{len(data[what])} {what}" for what in ("models", "landmarks", "horizons"))
    return _alone(*landmark_part(data), data, title, told)


def _landmark_table(data: dict[str, Any], metric: str) -> Markup:
    """Return a table with a row per landmark and model, and a column per horizon."""
    cells: dict[Any, dict[float, dict[str, Any]]] = {}
    for r in data["table"]:
        if r["metric"] == metric:
            cells.setdefault((r["landmark"], r["model"], r["subjects"]), {})[r["horizon"]] = r
    unit = f" {data['unit']}" if data["unit"] else ""
    body = []
    for (landmark, model, count), found in cells.items():
        told = [
            number_cell(shown(r), r["value"], limits(r)) if r else number_cell("-")
            for r in (found.get(horizon) for horizon in data["horizons"])
        ]
        at_risk = number_cell(f"{count:,}", count)
        body.append(table_row(f"{landmark:g}", tag("td", model), at_risk, *told))
    label = f"{REGISTRY[metric].title} with intervals, by landmark and horizon"
    within_each = [f"within {horizon:g}{unit}" for horizon in data["horizons"]]
    header, name = ["Landmark", "Model", "At risk", *within_each], f"landmark-table-{metric}"
    return table(header, body, label=label, name=name, words=["Landmark", "Model"])
