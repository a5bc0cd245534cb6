"""Tables of an evaluation: models at a glance, all numbers, how they were computed."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number, p_text
from ..evaluation.verdict import Cell, cell_of, leaders
from ..evaluation.verdict import glance as shown_first
from ..evaluation.when import Column, column_of, names, titled, when
from ..metrics.registry import REGISTRY
from .markup import Markup, join, table, tag

#: Rows of the whole table that are worth paper.
MOST_PRINTED = 150


def glance(data: dict[str, Any]) -> Markup:
    """Models by metrics: one row per model, sortable by every metric (at every time)."""
    rows = data["metrics"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    first = shown_first(metrics, data["support"].get("times_given", False)) or metrics[:6]
    place = {name: k for k, name in enumerate(dict.fromkeys([*first, *metrics]))}
    named, heads = names(rows), {column_of(row): row for row in reversed(rows)}
    ordered = sorted(named, key=lambda column: place[column[0]])
    marked = leaders(data)
    cells = {(r.get("group"), r["model"], column_of(r)): r for r in rows}
    groups = list(dict.fromkeys(row.get("group") for row in rows))
    grouped = groups != [None]
    boxes = [
        tag("label", tag("input", type="checkbox", checked=column[0] in first,
                         data_show_column=named[column]),
            " ", _title(column, named, data), class_="small", title=column[0])
        for column in ordered
    ]  # fmt: skip
    head: list[Markup] = [_head("model")] + ([_head("group")] if grouped else [])
    for column in ordered:
        name = column[0]
        metric, clock = REGISTRY[name], when(heads[column], data.get("unit") or "")
        unit = _unit(data, name)
        label = tag("button", metric.title, type="button", title=f"{name}: {metric.about}")
        clock = f"in {unit}, {clock}".rstrip(", ") if unit else clock
        told = f"{clock}; {metric.better}" if clock else metric.better
        note = tag("span", told, class_="interval soft small")
        head.append(
            tag("th", label, note, scope="col", class_="number", data_column_name=named[column])
        )
    body = []
    for group in groups:
        for k, model in enumerate(data["models"]):
            shown = [_cell(cells.get((group, model, c)), c[0], named[c], marked) for c in ordered]
            swatch = tag("span", class_="swatch", style=f"background:var(--s{k % 8})")
            lead = [tag("th", swatch, model, scope="row", class_="model")]
            if grouped:
                lead.append(tag("td", _group(group)))
            body.append(tag("tr", *lead, *shown, data_series=k))
    caption = (
        "Value with interval. Marked: the best of a column, and all models without a clear "
        "difference from it."
    )
    whole = tag(
        "table",
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable",
        id="glance",
        data_filtered=True,
    )
    choice = tag("details", tag("summary", "Choose metrics"), tag("div", *boxes, class_="actions"),
                 class_="filter")  # fmt: skip
    region = {"tabindex": 0, "role": "region", "aria_label": "Models at a glance"}
    note = tag("p", caption, tag("span", " Press a heading to sort.", class_="screen"),
               class_="soft small")  # fmt: skip
    return join(note, tag("div", whole, class_="table short", **region), choice)


def _head(label: str, kind: str | None = None) -> Markup:
    return tag("th", tag("button", label, type="button"), scope="col", class_=kind)


def _title(column: Column, named: dict[Column, str], data: dict[str, Any]) -> str:
    """Name of a metric for people, with its time where it is read at several."""
    metric, time = column
    if named[column] == metric:
        return REGISTRY[metric].title
    return titled({"metric": metric, "time": time}, data.get("unit") or "")


def _cell(
    row: dict[str, Any] | None, metric: str, column: str, marked: set[tuple[Cell, str]]
) -> Markup:
    common: dict[str, Any] = {"data_column_name": column}
    if row is None:
        return tag("td", "n/a", class_="number soft", data_sort="", **common)
    value = row["value"]
    kind = "number best" if _key(row) in marked else "number"
    return tag(
        "td",
        _shown(value, metric),
        _interval(row),
        class_=kind,
        data_sort="" if value is None else value,
        **common,
    )


def _key(row: dict[str, Any]) -> tuple[Cell, str]:
    return cell_of(row), row["model"]


def _shown(value: Any, metric: str) -> str:
    if isinstance(value, str):
        return value
    if REGISTRY[metric].inference == "test":
        return f"p {p_text(value)}" if value is not None else "-"
    return number(value)


def _interval(row: dict[str, Any]) -> Markup | None:
    if not isinstance(row["low"], float) or not isinstance(row["high"], float):
        return None
    return tag("span", f"{number(row['low'])} to {number(row['high'])}", class_="interval")


def _unit(data: dict[str, Any], metric: str) -> str:
    unit = data.get("unit") or ""
    kind = REGISTRY[metric].unit
    return unit if kind == "time" else f"{unit}\u00b2" if unit and kind == "time^2" else ""


def _group(label: Any) -> str:
    return "all subjects" if label is None else str(label)


def _group_cell(label: Any) -> Markup:
    return tag("td", _group(label), data_sort="" if label is None else str(label))


def all_numbers(data: dict[str, Any]) -> Markup:
    """The whole table, one row per model and metric."""
    rows = data["metrics"]
    grouped = any("group" in row for row in rows)
    marked = leaders(data)
    numbers = {model: k for k, model in enumerate(data["models"])}
    header: list[tuple[object, str | None]] = [("model", None)]
    header += [("group", None)] if grouped else []
    header += [("metric", None), ("time", "number"), ("value", "number"), ("interval", "number"),
               ("standard error", "number"), ("skill over KM", "number"),
               ("which is better", None)]  # fmt: skip
    lines = []
    for row in rows:
        name = row["metric"]
        mark = _key(row) in marked
        cells = [tag("th", row["model"], scope="row", class_="model")]
        cells += [_group_cell(row.get("group"))] if grouped else []
        title, code = REGISTRY[name].title, tag("code", name, class_="interval soft")
        cells += [tag("td", title, code, data_sort=name), _clock_cell(row)]
        cells += [_figure_cell(row["value"], mark), _interval_cell(row)]
        cells.append(_figure_cell(row["stderr"]))
        skill = row["skill"]
        cells.append(tag("td", "-" if skill is None else f"{skill:.1%}", class_="number",
                         data_sort="" if skill is None else skill))  # fmt: skip
        cells.append(tag("td", REGISTRY[name].better))
        lines.append(tag("tr", *cells, data_series=numbers[row["model"]]))
    long = len(lines) > MOST_PRINTED
    note = f"The table of all {len(lines)} numbers is left out of print; CSV and JSON have it."
    body = join(
        _filters(data, grouped),
        table(header, lines, caption="All models and metrics", name="all-numbers", filtered=True),
    )
    if not long:
        return body
    return join(tag("p", note, class_="paper soft"), tag("div", body, class_="screen"))


def _clock_cell(row: dict[str, Any]) -> Markup:
    ends = [row[name] for name in ("time", "until") if row.get(name) is not None]
    return tag("td", when(row) or "-", class_="number", data_sort=ends[0] if ends else "")


def _interval_cell(row: dict[str, Any]) -> Markup:
    known = isinstance(row["low"], float) and isinstance(row["high"], float)
    shown = f"{number(row['low'])} to {number(row['high'])}" if known else "-"
    return tag("td", shown, class_="number", data_sort=row["low"] if known else "")


def _figure_cell(value: Any, mark: bool = False) -> Markup:
    shown = value if isinstance(value, str) else number(value)
    kind = "number best" if mark else "number"
    return tag("td", shown, class_=kind, data_sort="" if value is None else value)


def _filters(data: dict[str, Any], grouped: bool) -> Markup:
    metrics = list(dict.fromkeys(row["metric"] for row in data["metrics"]))
    offset = 2 if grouped else 1
    controls = [
        tag("label", "Search ", tag("input", type="search", data_filter="all-numbers",
                                    placeholder="model, metric, words")),
        tag("label", "Metric ", tag(
            "select", tag("option", "all", value=""),
            *(tag("option", REGISTRY[m].title, value=m) for m in metrics),
            data_filter="all-numbers", data_column=offset)),
    ]  # fmt: skip
    if grouped:
        groups = list(dict.fromkeys(_group(row.get("group")) for row in data["metrics"]))
        controls.append(
            tag("label", "Group ", tag(
                "select", tag("option", "all", value=""),
                *(tag("option", g, value=g) for g in groups),
                data_filter="all-numbers", data_column=1))
        )  # fmt: skip
    count = tag("span", id="all-numbers-count", class_="small soft", aria_live="polite")
    return tag("div", *controls, count, class_="actions filter")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(v) for v in value[:8]) + (", ..." if len(value) > 8 else "")
    return number(value) if isinstance(value, float) else str(value)


def conventions(data: dict[str, Any]) -> Markup:
    """How each number was computed; the same for all models but for their curves."""
    found: dict[str, dict[str, Any]] = {}
    for row in data["metrics"]:
        found.setdefault(row["metric"], row["convention"])
    items = []
    for name, rules in found.items():
        told = "; ".join(f"{k}: {_plain(v)}" for k, v in rules.items() if v is not None)
        title = join(REGISTRY[name].title, tag("code", name, class_="interval soft"))
        items.append(tag("tr", tag("th", title, scope="row"), tag("td", told)))
    body = tag("table", tag("tbody", *items))
    how = "How each number was computed (conventions)"
    return tag("details", tag("summary", how), tag("div", body, class_="table"))
