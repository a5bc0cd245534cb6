"""Tables of scores for a screen: metrics in rows, or models in rows where there are many."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number, p_text
from ..evaluation.verdict import best_models as marked
from ..evaluation.when import title_of, when
from ..evaluation.withheld import range_text
from ..metrics.registry import REGISTRY
from .output import Line
from .problems import shortened

#: One row of plain data for each model that has the metric.
Scores = dict[str, dict[str, Any]]
#: Lines of cells, each with its style.
Table = list[list[tuple[str, str]]]

#: Models in rows; the others come with --all.
_MODELS = 20
_GAP = "  "
#: Most columns of the name of a model, and of a metric where there is little room.
_NAME, _TITLE = 36, 26


def score_table(models: list[str], scores: list[Scores], width: int) -> tuple[list[Line], bool]:
    """Return metrics in rows of one or two lines, or in columns, and whether limits are there."""
    ways: list[tuple[int, int | None, int]] = [(1, None, len(scores)), (2, None, len(scores))]
    # The last metric may go, before metrics become columns.
    ways += [(2, _TITLE, count) for count in range(len(scores), max(len(scores) - 2, 0), -1)]
    for lines, title, count in ways:
        table = _by_metric(models, scores[:count], lines, title)
        if _width(table) <= width:
            return _styled(table), True
    return _by_model(models, scores, width)


def _by_metric(models: list[str], scores: list[Scores], lines: int, title: int | None) -> Table:
    """Name of the metric, then a column for each model; limits may have a line of their own."""
    table: Table = [[("", ""), *((name_of(model), "bold") for model in models)]]
    for row in scores:
        best, known = best_models(row), any_of(row)
        marks = ["*" if model in best else " " * (len(models) > 1) for model in models]
        styles = ["green" if model in best else "" for model in models]
        limits = [interval(row.get(model), short=lines == 2) for model in models]
        values = [value(row.get(model)) for model in models]
        note = _note(known, alone=len(models) == 1)
        if lines == 1:
            texts = [f"{v} {limit}".rstrip() for v, limit in zip(values, limits, strict=True)]
            name = f"{title_of(known)} ({note})"
        else:
            texts, name = values, shortened(title_of(known), title or len(title_of(known)))
            if title is not None and len(note) > title - 2:  # the title says which metric it is
                note = when(known, short=True)
        cells = zip(texts, marks, styles, strict=True)
        table.append([(name, ""), *((text + mark, style) for text, mark, style in cells)])
        if lines == 2:
            pad = " " * (len(models) > 1)
            table.append([(f"  {note}", "dim"), *((limit + pad, "dim") for limit in limits)])
    return table


def _by_model(models: list[str], scores: list[Scores], width: int) -> tuple[list[Line], bool]:
    """Return a row for each model, the best by the first metric on top, and what columns are."""
    order = sorted(models, key=lambda model: _badness(scores[0].get(model)))
    shown, counts = order[:_MODELS], range(len(scores), 0, -1)
    # Metrics go from the last one on; limits go where fewer than three would be left.
    ways = [(n, True) for n in counts if n >= min(3, len(scores))] + [(n, False) for n in counts]
    for count, intervals in ways:
        kept = scores[:count]
        table = _model_rows(shown, kept, intervals)
        if _width(table) <= width:
            break
    lines = _styled(table)
    if len(order) > len(shown):
        lines.append([(f"{len(order) - len(shown)} more models: --all", "dim")])
    for metric in dict.fromkeys(any_of(row)["metric"] for row in kept):
        record = REGISTRY[metric]
        told = shortened(f"{_GAP}{metric}: {record.title}, {record.better}", width)
        lines.append([(told, "dim")])
    return lines, intervals


def _model_rows(models: list[str], scores: list[Scores], intervals: bool) -> Table:
    """Name of the model, then a column for each metric; the first one may have its limits."""
    table: Table = [[("", ""), *((_column(any_of(row)), "bold") for row in scores)]]
    best = [best_models(row) for row in scores]
    for model in models:
        texts = [value(row.get(model)) for row in scores]
        if intervals:
            texts[0] = f"{texts[0]} {interval(scores[0].get(model))}".rstrip()
        marked = [
            (f"{text}*", "green") if model in winners else (f"{text} ", "")
            for text, winners in zip(texts, best, strict=True)
        ]
        table.append([(name_of(model), ""), *marked])
    return table


# -- cells -------------------------------------------------------------------------------------


def any_of(scores: Scores) -> dict[str, Any]:
    """Return the row of some model: what it says of the metric is the same for all."""
    return next(iter(scores.values()))


def value(row: dict[str, Any] | None) -> str:
    """Return a value as it is printed: n/a where a model does not have the metric."""
    if row is None:
        return "n/a"
    if not isinstance(row["value"], float):
        return "-" if row["value"] is None else str(row["value"])
    test = REGISTRY[row["metric"]].inference == "test"
    return p_text(row["value"]) if test else number(row["value"])


def interval(row: dict[str, Any] | None, short: bool = False) -> str:
    """Return the limits of a value; nothing where there are none."""
    if row is None:
        return ""
    if not (isinstance(row["low"], float) and isinstance(row["high"], float)):
        return range_text(row, 2 if short else 4)
    low, high = (number(row[end], 2 if short else 4) for end in ("low", "high"))
    if not short:
        return f"[{low}, {high}]"
    return f"{low}-{high}" if row["low"] >= 0 else f"{low} to {high}"


def best_models(scores: Scores) -> set[str]:
    """Models that are marked as best by a metric; see `survgauge.evaluation.verdict`."""
    return {model for _, model in marked(scores.values())}


def _badness(row: dict[str, Any] | None) -> float:
    if row is None or not isinstance(row["value"], float):
        return float("inf")
    return REGISTRY[row["metric"]].badness(row["value"])


def _note(row: dict[str, Any], alone: bool) -> str:
    """Return the identifier of a metric and its time; which values are better, of one model."""
    parts = [f"{row['metric']} {when(row, short=True)}".rstrip()]
    if alone and REGISTRY[row["metric"]].direction != "lower":
        parts.append(REGISTRY[row["metric"]].better)
    return ", ".join(parts)


def _column(row: dict[str, Any]) -> str:
    """Return the identifier of a metric, and the time that it is read at."""
    return row["metric"] if row.get("time") is None else f"{row['metric']} {when(row)}"


def name_of(model: str) -> str:
    """Cut a long name.

    >>> name_of("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'
    """
    return model if len(model) <= _NAME else f"{model[: _NAME - 3]}..."


def _width(table: Table) -> int:
    return sum(_sizes(table)) + len(_GAP) * (len(table[0]) - 1)


def _sizes(table: Table) -> list[int]:
    return [max(len(text) for text, _ in column) for column in zip(*table, strict=True)]


def _styled(table: Table) -> list[Line]:
    """Align the first column to the left, others to the right."""
    sizes = _sizes(table)
    lines: list[Line] = []
    for (name, style), *cells in table:
        others = [
            (_GAP + text.rjust(size), look)
            for (text, look), size in zip(cells, sizes[1:], strict=True)
        ]
        lines.append([(name.ljust(sizes[0]), style), *others])
    return lines
