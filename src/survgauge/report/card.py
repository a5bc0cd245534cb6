"""The card of an evaluation in a notebook: verdict, a small table, a small forest; no script."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number, p_text
from ..data.event_words import counted_events
from ..evaluation.joined import counted, warnings_of
from ..evaluation.sentences import verdict_sentences
from ..evaluation.verdict import cell_of, glance, headline, leaders
from ..evaluation.when import title_of, titled, when
from ..metrics.registry import REGISTRY
from .markup import Markup, join, tag

#: Models in the table and in the forest; the others are in `ev.table`.
_MOST = 12
# Colours are those of the page around the card, so that it is readable in light and dark ones.
_SOFT = "opacity:.7"
_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
#: Of the forest: width, height of a row, and room for names and numbers at both sides.
_WIDTH, _ROW, _LEFT, _RIGHT = 640.0, 22.0, 150.0, 150.0


def evaluation_card(data: dict[str, Any]) -> Markup:
    """Make the card from the plain data of `Evaluation.to_dict`."""
    first, *rest = verdict_sentences(data)
    return tag(
        "div",
        tag("p", tag("b", first), style="margin:.2em 0 .4em"),
        tag("p", " ".join(rest), style="margin:.2em 0 .6em") if rest else None,
        _table(data),
        _forest(data),
        tag("p", _footer(data), style=f"margin:.6em 0 .2em;font-size:.85em;{_SOFT}"),
        style="max-width:60em;line-height:1.4",
    )


def _table(data: dict[str, Any]) -> Markup | None:
    """Models in rows, the few metrics to look at first in columns."""
    rows = [row for row in data["metrics"] if row.get("group") is None]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    shown = glance(metrics, data["support"].get("times_given", False)) or metrics[:5]
    cells = list(dict.fromkeys(cell_of(row) for row in rows if row["metric"] in shown))
    cells.sort(key=lambda cell: shown.index(cell[1]))
    if not cells:
        return None
    known = {(cell_of(row), row["model"]): row for row in rows}
    best = leaders(data)
    left, right = "text-align:left;padding:.2em .8em", "text-align:right;padding:.2em .8em"
    named = {cell_of(row): row for row in reversed(rows)}
    head = [tag("th", "", style=left)]
    head += [_head(data, named[cell], right) for cell in cells]
    body = []
    for model in data["models"][:_MOST]:
        line = [tag("th", model, scope="row", style=left)]
        for cell in cells:
            text = _value(known.get((cell, model)))
            shown_as = tag("b", text) if (cell, model) in best else text
            line.append(tag("td", shown_as, style=right))
        body.append(tag("tr", *line, style="background:none"))
    return tag(
        "table",
        tag("thead", tag("tr", *head, style=_LINE)),
        tag("tbody", *body),
        style="border-collapse:collapse;font-size:.92em;margin:.2em 0;color:inherit",
    )


def _head(data: dict[str, Any], row: dict[str, Any], style: str) -> Markup:
    metric, unit = REGISTRY[row["metric"]], data.get("unit") or ""
    told = [f"in {unit}" if unit and metric.unit == "time" else "", when(row, unit), metric.better]
    note = ", ".join(part for part in told if part)
    note = tag("div", note, style=f"font-weight:normal;font-size:.85em;{_SOFT}")
    return tag("th", title_of(row), note, scope="col", style=style, title=metric.name)


def _value(row: dict[str, Any] | None) -> str:
    if row is None or row["value"] is None:
        return "n/a"
    if not isinstance(row["value"], float):
        return str(row["value"])
    test = REGISTRY[row["metric"]].inference == "test"
    return f"p {p_text(row['value'])}" if test else number(row["value"], 3)


def _forest(data: dict[str, Any]) -> Markup | None:
    """Values of the metric to judge by with their intervals, one row per model."""
    metric = headline(data)
    rows = [
        row
        for row in data["metrics"]
        if row["metric"] == metric and row.get("group") is None and isinstance(row["value"], float)
    ]
    first = rows[0].get("time") if rows else None
    rows = [row for row in rows if row.get("time") == first][:_MOST]
    known = [r for r in rows if isinstance(r["low"], float) and isinstance(r["high"], float)]
    if not known:
        return None
    low, high = min(r["low"] for r in known), max(r["high"] for r in known)
    low, high = min(low, *(r["value"] for r in rows)), max(high, *(r["value"] for r in rows))
    room = _WIDTH - _LEFT - _RIGHT

    def place(value: float) -> str:
        return f"{_LEFT + room * (value - low) / ((high - low) or 1.0):.1f}"

    marks: list[Markup] = []
    for k, row in enumerate(rows):
        y = _ROW * (k + 0.5)
        marks.append(_text(_short(row["model"]), _LEFT - 12, y, "end"))
        if row in known:
            ends = {"x1": place(row["low"]), "x2": place(row["high"]), "y1": y, "y2": y}
            marks.append(tag("line", stroke="currentColor", stroke_width=1.5, opacity=0.6, **ends))
        marks.append(tag("circle", cx=place(row["value"]), cy=y, r=4, fill="#2a7fb8"))
        marks.append(_text(_interval(row), _WIDTH - _RIGHT + 12, y, "start"))
    height = _ROW * len(rows)
    told = (
        f"{titled(rows[0], data.get('unit') or '')} with {data['confidence'] * 100:g} % intervals"
    )
    drawing = tag(
        "svg",
        tag("title", told),
        *marks,
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        width=f"{_WIDTH:g}",
        height=f"{height:g}",
        role="img",
        style="max-width:100%;height:auto;font-size:12px",
    )
    return join(
        tag(
            "div", f"{told}; {REGISTRY[metric].better}", style="font-size:.92em;margin:.8em 0 .2em"
        ),
        drawing,
    )


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", text, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, fill="currentColor",
               dominant_baseline="central")  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}\u2026"


def _interval(row: dict[str, Any]) -> str:
    value = number(row["value"], 3)
    if not isinstance(row["low"], float) or not isinstance(row["high"], float):
        return value
    return f"{value} ({number(row['low'], 3)} to {number(row['high'], 3)})"


def _footer(data: dict[str, Any]) -> str:
    """Say how many subjects and warnings there are, and where the rest is."""
    support = data["support"]
    told = [f"{support['subjects']:,} test subjects, {counted_events(support, ',')}"]
    if len(data["models"]) > 1:
        told.append("bold: the best, and those without a clear difference from it")
    if data["warnings"]:
        told.append(f"{counted(warnings_of(data))} in .warnings")
    if len(data["models"]) > _MOST:
        told.append(f"{len(data['models']) - _MOST} more models in .table")
    return "; ".join([*told, "all metrics in .table; .to_html(path) writes a report"]) + "."
