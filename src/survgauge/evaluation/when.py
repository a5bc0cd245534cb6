"""The time beside a number: at which time a metric was read, or where its clock stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..metrics.registry import REGISTRY

#: A metric, and the time that it is read at (None: it is about no single time).
Cell = tuple[str, float | None]


def clock(time: float, unit: str = "") -> str:
    """Write a time, with its unit if there is one.

    >>> clock(365.0, "days"), clock(1095.5)
    ('365 days', '1095.5')
    """
    return f"{time:.6g} {unit}".rstrip()


def cell_of(row: Mapping[str, Any]) -> Cell:
    """Return which metric, at which time, a row of plain data is about.

    Data that were saved by an earlier version have no times.
    """
    return row["metric"], row.get("time")


def names(rows: Iterable[Mapping[str, Any]]) -> dict[Cell, str]:
    """Name each metric of a table: with its time, where it is read at several.

    >>> names([{"metric": "ibs", "time": None}, {"metric": "brier", "time": 365.0}])
    {('ibs', None): 'ibs', ('brier', 365.0): 'brier'}
    >>> list(names([{"metric": "brier", "time": t} for t in (365.0, 1095.5)]).values())
    ['brier at 365', 'brier at 1095.5']
    """
    cells = dict.fromkeys(map(cell_of, rows))
    listed = [metric for metric, _ in cells]
    return {
        (metric, time): metric
        if time is None or listed.count(metric) < 2
        else f"{metric} at {clock(time)}"
        for metric, time in cells
    }


def when(time: float | None, until: float | None, unit: str = "") -> str:
    """Say at which time a number was read, or up to which.

    >>> when(365.0, None, "days"), when(None, 1825.0), when(None, None)
    ('at 365 days', 'to 1825', '')
    """
    if time is not None:
        return f"at {clock(time, unit)}"
    return "" if until is None else f"to {clock(until, unit)}"


def title(row: Mapping[str, Any], unit: str = "") -> str:
    """Return the title of a row's metric with its times in it.

    >>> title({"metric": "brier", "time": 365.0, "until": None}, "days")
    'Brier score at 365 days'
    >>> title({"metric": "ibs", "time": None, "until": 1825.0})
    'Integrated Brier score up to 1825'
    """
    told = REGISTRY[row["metric"]].title
    for words, time in (("the time of interest", "time"), ("the horizon", "until")):
        if row.get(time) is not None:
            told = told.replace(words, clock(row[time], unit))
    return told
