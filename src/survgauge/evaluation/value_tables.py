"""Values with their intervals as text: cells, one model per row, and a wide table of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from .._tools.text_tables import columns, number, relation
from ..metrics.registry import REGISTRY
from .verdict import Cell, cell_of
from .when import column_of, names, when
from .withheld import range_text

#: Columns of the text on a first screen.
WIDEST = 100
#: Digits of values and of limits: as many as leave room for the intervals of all metrics.
_DIGITS = ((3, 3), (3, 2), (2, 2))


def value_text(row: dict[str, Any], digits: int = 4, limits: int | None = None) -> str:
    """Return a value, with its interval to `limits` digits if that is wanted and known.

    >>> value_text({"metric": "mae_po", "value": 446.3, "low": 366.9, "high": 542.0}, 3, 3)
    '446 [367, 542]'
    """
    value = row["value"]
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    if REGISTRY[row["metric"]].inference == "test":
        return f"p {relation(value)}"
    shown, ends = number(value, digits), [row["low"], row["high"]]
    if limits is None or not all(isinstance(end, float) and end == end for end in ends):
        return f"{shown} {range_text(row, digits)}".rstrip()
    return f"{shown} [{', '.join(number(end, limits) for end in ends)}]"


def model_rows(data: dict[str, Any], metrics: list[str], intervals: bool) -> str:
    """Return a row per model and a column per metric, and below it what the columns are.

    `data` comes from `Evaluation.to_dict`. Numbers have as many digits as fit `WIDEST` columns;
    where two are too many, the metrics come in parts below each other.
    """
    cells: dict[Cell, dict[str, dict[str, Any]]] = {}
    for metric in metrics:
        for row in data["metrics"]:
            if row["metric"] == metric:
                cells.setdefault(cell_of(row), {})[row["model"]] = row
    header = ["model", *(metric for _, metric, _ in cells)]
    times = ["", *(when(next(iter(found.values()))) for found in cells.values())]
    for digits, limits in _DIGITS:
        rows = [
            [
                model,
                *(
                    value_text(found[model], digits, limits if intervals else None)
                    if model in found
                    else "n/a"
                    for found in cells.values()
                ),
            ]
            for model in data["models"]
        ]
        table = columns(header, rows, under=times)
        if max(map(len, table.split("\n"))) <= WIDEST:
            break
    else:
        table = columns(header, rows, width=WIDEST, under=times)
    known = [REGISTRY[metric] for metric in dict.fromkeys(header[1:])]
    told = "; ".join(f"{metric.name}: {metric.title}, {metric.better}" for metric in known)
    return f"{table}\n{textwrap.fill(told, WIDEST)}"


def wide_rows(rows: Iterable[dict[str, Any]], digits: int) -> list[dict[str, Any]]:
    """Return a row per model (and group) with the text of each metric, from rows of the table."""
    rows = list(rows)
    named = names(rows)
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        labels: dict[str, Any] = {key: row[key] for key in ("group", "model") if key in row}
        line = found.setdefault(tuple(labels.values()), labels)
        line[named[column_of(row)]] = value_text(row, digits, digits)
    return list(found.values())
