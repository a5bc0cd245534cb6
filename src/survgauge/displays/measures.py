"""Values of metrics as figures show them; a metric that is read at several times is several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InputError, one_of
from ..evaluation.when import clock, metric_unit, titled, when
from ..metrics.registry import REGISTRY
from .description import Axis, Mark, Rule

_NAN = float("nan")


def unit_words(unit: str) -> str:
    """Return a unit for an axis, which says so where times have none."""
    return unit if unit != "time" else "in units of time"


def measure_axis(row: dict[str, Any], unit: str) -> Axis:
    """Return the axis of a shown value: title and what it is counted in, and below it the time."""
    counted = "p-value" if row["test"] else unit_words(row["unit"])
    title = Axis(row["title"].removesuffix(when(row, unit)).rstrip(), counted).text
    ends = (-0.03, 1.03) if row["test"] else (None, None)
    return Axis(f"{title}\n{when(row, unit)}".rstrip(), "", *ends)


def target_rules(row: dict[str, Any]) -> list[Mark]:
    """Return rules at the level of a test and at the value that is best, where a metric has one."""
    target = REGISTRY[row["metric"]].target
    level = [Rule("x", 0.05, "p = 0.05", dash="dotted")] if row["test"] else []
    best = [] if target is None else [Rule("x", target, f"best: {target:g}", dash="dotted")]
    return [*level, *best]


def read_at(metric: str, time: float | None, times: Iterable[float | None]) -> float | None:
    """Return one of the times that a metric was read at, by default the first."""
    known = list(dict.fromkeys(times))
    if time is None:
        return known[0]
    if time not in known:
        told = ", ".join(clock(one) for one in known if one is not None) or "none"
        raise InputError(f"time must be one that {metric} was read at ({told}); got {time!r}")
    return time


def chosen(argument: str, wanted: Iterable[str] | str | None, known: Iterable[str]) -> list[str]:
    """Return the names that were asked for, by default all; refuse those that are not known."""
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        one_of(argument, name, known)
    return names


def plain_float(value: Any) -> float:
    """Read a number of plain data, where nothing is NaN and infinities are words."""
    return _NAN if value is None else float(value)


def rows_of_record(record: dict[str, Any], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of rows of plain data, from `Evaluation.to_dict`."""
    found = []
    for row in rows:
        numbers = {k: plain_float(row[k]) for k in ("value", "low", "high", "skill")}
        rest = 1 - numbers["skill"]
        baseline = numbers["value"] / rest if rest > 0 else _NAN
        found.append(shown_value(row | numbers, record.get("unit") or "", baseline))
    return found


def shown_value(row: dict[str, Any], unit: str, baseline: float) -> dict[str, Any]:
    """Return what is shown of a row of the evaluation's table."""
    metric = REGISTRY[row["metric"]]
    labels = ("group", "model", "metric", "time", "until")
    numbers = {name: row[name] for name in ("value", "low", "high", "direction")}
    return {name: row[name] for name in labels if name in row} | {
        "title": titled(row, unit),
        **numbers,
        "unit": metric_unit(metric, unit),
        "baseline": baseline,
        "test": metric.inference == "test",
    }
