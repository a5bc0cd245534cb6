"""The time beside a number: at which time a metric was read, or where its clock stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._tools.text_tables import number
from ..metrics.registry import REGISTRY, Metric

#: A metric, and the time that it is read at (None: it is about no single time).
Column = tuple[str, float | None]


def clock(time: float, unit: str = "") -> str:
    """Write a time, with its unit if there is one.

    >>> clock(365.0, "days"), clock(1095.5)
    ('365 days', '1095.5')
    """
    return f"{time:.6g} {unit}".rstrip()


def rounded(time: float, unit: str = "") -> str:
    """Write a time for a sentence: as it is where it is short, else with four digits.

    >>> rounded(1095.5, "days"), rounded(643.193456)
    ('1095.5 days', '643.2')
    """
    text = f"{time:.6g}"
    short = sum(sign.isdigit() for sign in text) <= 5
    return f"{text if short else number(time)} {unit}".rstrip()


def metric_unit(metric: Metric, unit: str) -> str:
    """Unit of a metric in the words of the evaluation.

    >>> metric_unit(REGISTRY["mse_po"], "days"), metric_unit(REGISTRY["mae_po"], "")
    ('days^2', 'time')
    """
    if not metric.unit.startswith("time"):
        return metric.unit
    return metric.unit.replace("time", unit) if unit else metric.unit


def why_then(support: Mapping[str, Any]) -> str:
    """Say why metrics at a time are read when they are; nothing where somebody chose the time.

    >>> why_then({"times_given": False, "reference": "training outcomes", "time": 9, "horizon": 20})
    'half of the training subjects were observed for longer'
    """
    time = support["time"]
    if support.get("times_given", True) or time is None or time != time:
        return ""
    if time == support["horizon"]:
        return "the last time that the data support"
    whose = "training" if support["reference"].startswith("training") else "test"
    return f"half of the {whose} subjects were observed for longer"


def column_of(row: Mapping[str, Any]) -> Column:
    """Return which metric, at which time, a row of plain data is about.

    Data that were saved by an earlier version have no times.
    """
    return row["metric"], row.get("time")


def names(rows: Iterable[Mapping[str, Any]]) -> dict[Column, str]:
    """Name each metric of a table: with its time, where it is read at several.

    >>> names([{"metric": "ibs", "time": None}, {"metric": "brier", "time": 365.0}])
    {('ibs', None): 'ibs', ('brier', 365.0): 'brier'}
    >>> list(names([{"metric": "brier", "time": t} for t in (365.0, 1095.5)]).values())
    ['brier at 365', 'brier at 1095.5']
    """
    columns = list(dict.fromkeys(map(column_of, rows)))
    read = [metric for metric, _ in columns]
    return {
        (metric, time): metric
        if time is None or read.count(metric) < 2
        else f"{metric} at {clock(time)}"
        for metric, time in columns
    }


def when(row: Mapping[str, Any], unit: str = "", short: bool = False) -> str:
    """Say at which time a number was read, or up to which; `short`: rounded, as in a sentence.

    >>> when({"time": 365.0}, "days"), when({"until": 1825.0}), when({})
    ('at 365 days', 'up to 1825', '')
    """
    time, until = row.get("time"), row.get("until")
    told = rounded if short else clock
    if time is not None:
        return f"at {told(time, unit)}"
    return "" if until is None else f"up to {told(until, unit)}"


def title_of(row: Mapping[str, Any]) -> str:
    """Return the name for people of a row's metric, with the threshold of a decision.

    >>> title_of({"metric": "net_benefit", "convention": {"threshold": 0.4}})
    'Net benefit from a risk of 40 % on'
    """
    metric = REGISTRY[row["metric"]]
    threshold = (row.get("convention") or {}).get("threshold") if metric.reads_threshold else None
    if threshold is None:
        return metric.title
    return f"{metric.title} from a risk of {100 * threshold:g} % on"


def titled(row: Mapping[str, Any], unit: str = "") -> str:
    """Return the name for people of a row's metric, with its time.

    >>> titled({"metric": "calibration_intercept", "time": 365.0}, "days")
    'Calibration intercept at 365 days'
    """
    read = when(row, unit)
    return f"{title_of(row).removesuffix(' at the time')} {read}" if read else title_of(row)
