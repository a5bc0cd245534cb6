"""Tables of an evaluation: models at a glance, all numbers, how they were computed."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number, p_text
from ..data.event_words import EventWords
from ..evaluation.verdict import best_models, best_rows, cell_of, headline
from ..evaluation.verdict import glance as shown_first
from ..evaluation.when import Column, column_of, names, title_of, titled, when
from ..evaluation.withheld import range_text, withheld_notes
from ..metrics.registry import REGISTRY
from .markup import Markup, filters, grid, head, join, number_cell, table, tag

#: Metrics that are shown first, and of these how many have room for intervals on paper.
MOST_COLUMNS = 9
_WIDE_COLUMNS = 6
#: Rows of a table that is shown and printed whole.
MOST_SHORT = 16
#: Rows of the whole table that are worth paper, and that a page holds.
MOST_PRINTED = 150
MOST_ROWS = 1500

Row = dict[str, Any]


def is_grouped(data: dict[str, Any]) -> bool:
    """Whether subjects were evaluated by group."""
    return any(row.get("group") is not None for row in data["metrics"])


def glance(data: dict[str, Any]) -> Markup:
    """Models by metrics among all subjects: one row per model, sortable by every metric."""
    rows = [row for row in data["metrics"] if row.get("group") is None]
    return _by_model(data, rows, "glance", "Models at a glance")


def group_table(data: dict[str, Any]) -> Markup:
    """Groups and models by metrics, on demand."""
    rows = [row for row in data["metrics"] if row.get("group") is not None]
    body = _by_model(data, rows, "glance-groups", "Models by group")
    return tag("details", tag("summary", "Table of the groups"), body)


def names_of(data: dict[str, Any]) -> dict[Column, str]:
    """Name metrics for people, with the time where there are several; the headline first."""
    unit, first = data.get("unit") or "", headline(data)
    named, rows = names(data["metrics"]), {column_of(row): row for row in data["metrics"]}
    return {
        column: titled(rows[column], unit) if named[column] != column[0] else title_of(rows[column])
        for column in sorted(named, key=lambda column: column[0] != first)
    }


def first_columns(data: dict[str, Any]) -> list[Column]:
    """Metrics to show first, with those at the times that were asked for."""
    columns = list(dict.fromkeys(map(column_of, data["metrics"])))
    metrics = [metric for metric, _ in columns]
    first = shown_first(metrics, data["support"].get("times_given", False)) or metrics[:6]
    found = sorted((c for c in columns if c[0] in first), key=lambda c: first.index(c[0]))
    return found[:MOST_COLUMNS]


def _by_model(data: dict[str, Any], rows: list[Row], name: str, title: str) -> Markup:
    """A table of models (and groups) by metrics, of which few show at first."""
    called, first, named = names_of(data), first_columns(data), names(data["metrics"])
    ordered = list(dict.fromkeys([*first, *called]))
    standing = _standing(data)
    cells = {(r.get("group"), r["model"], column_of(r)): r for r in rows}
    groups = list(dict.fromkeys(row.get("group") for row in rows))
    grouped = groups != [None]
    boxes = [
        tag("label", tag("input", type="checkbox", checked=column in first,
                         data_show_column=named[column]),
            " ", called[column], class_="small", title=column[0])
        for column in ordered
    ]  # fmt: skip
    heads = [head("model"), *([head("group")] if grouped else [])]
    some = {column_of(row): row for row in reversed(rows)}
    heads += [_metric_head(data, some[column], named[column]) for column in ordered]
    body = []
    for group in groups:
        for k, model in enumerate(data["models"]):
            shown = [_cell(cells.get((group, model, c)), named[c], standing) for c in ordered]
            lead = [tag("th", tag("span", class_="look", data_look=k), model, scope="row",
                        class_="model")]  # fmt: skip
            if grouped:
                lead.append(tag("td", group_name(group)))
            body.append(tag("tr", *lead, *shown, data_series=k))
    dense = "sortable many" if len(first) > _WIDE_COLUMNS else "sortable"
    choice = tag("details", tag("summary", "Choose metrics"), tag("div", *boxes, class_="actions"),
                 class_="filter")  # fmt: skip
    note = tag(
        "p", _caption(data, rows), tag("span", " Press a heading to sort. ", class_="screen"),
        tag("span", class_="series-count"), class_="soft small",
    )  # fmt: skip
    short = len(body) <= MOST_SHORT
    place = "table short" if short else "table tall"
    region = grid(heads, body, label=title, place=place, class_=dense, id=name, data_filtered=True)
    if short:
        return join(region, note, choice)
    told = f"The table of {len(body)} rows is left out of print; CSV and JSON have it."
    screen = tag("div", region, note, choice, class_="screen")
    return join(screen, tag("p", told, class_="paper soft small"))


def _caption(data: dict[str, Any], rows: list[Row]) -> str:
    return " ".join([_legend(data), *withheld_notes(rows)])


def _legend(data: dict[str, Any]) -> str:
    """Say what stands in a table, and what its marks mean."""
    if len(data["models"]) < 2:
        return "Value with interval."
    told = "Value with interval. Bold: the best value of a column."
    if data["confidence"] is None:
        return told
    return (
        f"{told} Grey: clearly worse than the best one. Marked: clearly better than all others "
        f"(adjusted p below {1 - data['confidence']:.2g})."
    )


def _metric_head(data: dict[str, Any], row: Row, column: str) -> Markup:
    metric, unit = REGISTRY[row["metric"]], data.get("unit") or ""
    label = tag("button", title_of(row), type="button", title=f"{metric.name}: {metric.about}")
    parts = (f"in {_unit(data, metric.name)}" * bool(_unit(data, metric.name)), when(row, unit))
    clock = ", ".join(part for part in parts if part)
    told = f"{clock}; {metric.better}" if clock else metric.better
    note = tag("span", told, class_="interval soft small")
    return tag("th", label, note, scope="col", class_="number", data_column_name=column)


def _cell(row: Row | None, column: str | None, standing: dict[Any, str]) -> Markup:
    """A value with its interval, in a `column` that can be hidden."""
    common: dict[str, Any] = {} if column is None else {"data_column_name": column}
    if row is None:
        return tag("td", "n/a", class_="number soft", data_sort="", **common)
    value = row["value"]
    return tag(
        "td",
        _shown(value, row["metric"]),
        _interval(row),
        class_=f"number {standing.get(_key(row), '')}".strip(),
        data_sort="" if value is None else value,
        **common,
    )


def _key(row: Row) -> tuple[Any, str]:
    return cell_of(row), row["model"]


def _standing(data: dict[str, Any]) -> dict[Any, str]:
    """Classes of cells: the best of a metric, whether it wins clearly, and who clearly loses to it.

    A metric that makes no model better than another has none, and one model has nobody to win
    against.
    """
    marked = best_models(data["metrics"])
    best = {
        cell: row["model"]
        for cell, row in best_rows(data["metrics"]).items()
        if (cell, row["model"]) in marked
    }
    found = dict.fromkeys(marked, "first")
    wins: dict[Any, list[bool]] = {}
    for row in data["comparisons"]:
        cell, pair = cell_of(row), (row["model_a"], row["model_b"])
        first = best.get(cell)
        if first is None or first not in pair:
            continue
        other, p = pair[pair[0] == first], row["p_simultaneous"]
        clear = p is not None and p < 1 - (data["confidence"] or 0.95)
        wins.setdefault((cell, first), []).append(clear)
        if clear and (cell, other) not in marked:
            found[cell, other] = "behind"
    return found | {key: "first best" for key, clear in wins.items() if all(clear)}


def _shown(value: Any, metric: str) -> str:
    if isinstance(value, str):
        return value
    if REGISTRY[metric].inference == "test":
        return f"p {p_text(value)}" if value is not None else "-"
    return number(value)


def _interval(row: dict[str, Any]) -> Markup | None:
    if not isinstance(row["low"], float) or not isinstance(row["high"], float):
        over = range_text(row, 4)
        return tag("span", over, class_="interval soft") if over else None
    return tag("span", f"{number(row['low'])} to {number(row['high'])}", class_="interval")


def _unit(data: dict[str, Any], metric: str) -> str:
    unit = data.get("unit") or ""
    kind = REGISTRY[metric].unit
    return unit if kind == "time" else f"{unit}\u00b2" if unit and kind == "time^2" else ""


def all_numbers(data: dict[str, Any]) -> Markup:
    """The whole table, one row per model and metric."""
    rows = data["metrics"][:MOST_ROWS]
    grouped = is_grouped(data)
    standing = _standing(data)
    numbers = {model: k for k, model in enumerate(data["models"])}
    short = "KM" if EventWords.of(data["support"]).cause is None else "AJ"
    words = ("model", "group", "metric") if grouped else ("model", "metric")
    header = [*words, "time", "value, interval", "standard error", f"skill over {short}"]
    lines = []
    for row in rows:
        name = row["metric"]
        cells = [tag("th", row["model"], scope="row", class_="model")]
        if grouped:
            group = group_name(row.get("group"))
            cells.append(tag("td", group, data_sort=group))
        which = tag("div", tag("code", name), f", {REGISTRY[name].better}", class_="small soft")
        time, stderr, skill = _clock(row), row["stderr"], row["skill"]
        cells += [
            tag("td", title_of(row), which, data_sort=name),
            number_cell(when(row) or "-", time),
            _cell(row, None, standing),
            number_cell(stderr if isinstance(stderr, str) else number(stderr), stderr),
            number_cell("-" if skill is None else f"{100 * skill:.1f} %", skill),
        ]
        lines.append(tag("tr", *cells, data_series=numbers[row["model"]]))
    caption = "All models and metrics"
    if len(rows) < len(data["metrics"]):
        caption = (
            f"The first {len(rows):,} of {len(data['metrics']):,} numbers; the downloads Table "
            "(CSV) and Everything (JSON) have all of them"
        )
    body = join(
        _filters(data, grouped),
        table(header, lines, caption=caption, name="all-numbers", words=words, filtered=True),
    )
    if len(lines) <= MOST_PRINTED:
        return body
    note = f"The table of all {len(lines)} numbers is left out of print; CSV and JSON have it."
    return join(tag("p", note, class_="paper soft"), tag("div", body, class_="screen"))


def _clock(row: Row) -> float | None:
    """Time that a number was read at, or up to which; None where it has none."""
    return row.get("until") if row.get("time") is None else row["time"]


def group_name(group: Any) -> str:
    """Return the name of a group; all subjects together have none of their own."""
    return "all subjects" if group is None else str(group)


def _filters(data: dict[str, Any], grouped: bool) -> Markup:
    metrics = {row["metric"]: REGISTRY[row["metric"]].title for row in data["metrics"]}
    controls = [_choice("Metric", metrics, 2 if grouped else 1)]
    if grouped:
        groups = [group_name(row.get("group")) for row in data["metrics"]]
        controls.append(_choice("Group", dict(zip(groups, groups, strict=True)), 1))
    return filters("all-numbers", *controls, placeholder="model, metric, words")


def _choice(name: str, labels: dict[str, str], column: int) -> Markup:
    """List of what a column of the whole table can be filtered by."""
    options = [tag("option", label, value=value) for value, label in labels.items()]
    select = tag("select", tag("option", "all", value=""), *options, data_filter="all-numbers",
                 data_column=column)  # fmt: skip
    return tag("label", f"{name} ", select)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - 8} more" if len(value) > 8 else ""
        return ", ".join(_plain(v) for v in value[:8]) + more
    return number(value) if isinstance(value, float) else str(value)


def conventions(data: dict[str, Any]) -> Markup:
    """How each number was computed; the same for all models but for their curves."""
    found: dict[str, dict[str, Any]] = {}
    for row in data["metrics"]:
        found.setdefault(row["metric"], row["convention"])
    items = []
    for name, rules in found.items():
        told = "; ".join(f"{k}: {_plain(v)}" for k, v in rules.items() if v is not None)
        title = join(REGISTRY[name].title, tag("div", tag("code", name), class_="small soft"))
        items.append(tag("tr", tag("th", title, scope="row"), tag("td", told)))
    body = tag("table", tag("tbody", *items))
    how = "How each number was computed (conventions)"
    return tag("details", tag("summary", how), tag("div", body, class_="table"))
