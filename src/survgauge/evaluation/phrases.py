"""Parts of sentences: lists, amounts, intervals and p-values; times; values without an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._tools.text import number, relation
from ..metrics.registry import REGISTRY, Metric

#: Digits of a number in a sentence.
DIGITS = 3
#: A metric, and the time that it is read at (None: it is about no single time).
Column = tuple[str, float | None]


def listed(parts: list[str]) -> str:
    """Join parts of a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def amount(value: float, unit: str) -> str:
    """Return a number as sentences have it, with its unit."""
    return f"{number(value, DIGITS)} {unit}".strip()


def interval_text(data: dict[str, Any], low: float | None, high: float | None) -> str:
    """Say an interval; nothing where there is none."""
    if not (isinstance(low, float) and isinstance(high, float)):
        return ""
    level = f"{data['confidence'] * 100:g} % CI"
    return f"{level} {number(low, DIGITS)} to {number(high, DIGITS)}"


def in_brackets(*parts: str) -> str:
    """Join what is not empty, in brackets after a space; nothing where all of it is.

    >>> in_brackets("", "p = 0.5"), in_brackets("")
    (' (p = 0.5)', '')
    """
    told = ", ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def at_least(p: float | None, several: bool) -> str:
    """Say the least of several p-values; none is above 1.

    >>> at_least(0.2, True), at_least(1.0, True)
    ('smallest p = 0.200', 'p = 1.000')
    """
    return f"{'smallest ' * (several and p is not None and p < 0.9995)}p {relation(p)}"


def at_most(p: float) -> str:
    """Say the largest of several p-values.

    >>> at_most(0.02), at_most(1e-9)
    ('largest p = 0.020', 'every p < 0.001')
    """
    told = relation(p)
    return f"{'every' if told.startswith('<') else 'largest'} p {told}"


# -- the time beside a number: when it was read, or where it stops -----------------------------


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
    'Net benefit at a threshold of 40 %'
    """
    metric = REGISTRY[row["metric"]]
    threshold = (row.get("convention") or {}).get("threshold") if metric.reads_threshold else None
    if threshold is None:
        return metric.title
    return f"{metric.title} at a threshold of {100 * threshold:g} %"


def titled(row: Mapping[str, Any], unit: str = "") -> str:
    """Return the name for people of a row's metric, with its time.

    >>> titled({"metric": "calibration_intercept", "time": 365.0}, "days")
    'Calibration intercept at 365 days'
    """
    read = when(row, unit)
    return f"{title_of(row).removesuffix(' at the time')} {read}" if read else title_of(row)


# -- scores without interval and test, because the assumed tail decides them -------------------


def tail_range(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return least and largest value over the assumed tails; None where the tail changes nothing.

    >>> tail_range({"withheld": "because", "tail_low": 1.0, "tail_high": 2.5})
    (1.0, 2.5)
    """
    low, high = row.get("tail_low"), row.get("tail_high")
    if not row.get("withheld") or not isinstance(low, float) or not isinstance(high, float):
        return None
    return (low, high) if low < high else None


def range_text(row: Mapping[str, Any], digits: int) -> str:
    """Write the range over the assumed tails, as tables have it; nothing where there is none.

    >>> range_text({"withheld": "because", "tail_low": 1.0, "tail_high": 2.5}, 3)
    '{1.00 to 2.50}'
    """
    ends = tail_range(row)
    return "" if ends is None else f"{{{' to '.join(number(end, digits) for end in ends)}}}"


def withheld_notes(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say below a table of values which of them have no interval and test, and why.

    >>> row = {"metric": "mae_po", "withheld": "9 % are event-free", "tail_low": 1.0}
    >>> withheld_notes([row, {**row, "metric": "mae_dr", "tail_high": 2.0}, {"metric": "uno"}])[0]
    'No interval or test for mae_po and mae_dr, because 9 % are event-free.'
    """
    found: dict[str, list[str]] = {}
    ranges = False
    for row in rows:
        if row.get("withheld"):
            found.setdefault(row["withheld"], []).append(row["metric"])
            ranges = ranges or tail_range(row) is not None
    told = []
    for reason, metrics in found.items():
        named = listed(list(dict.fromkeys(metrics)))
        told.append(f"No interval or test for {named}, because {reason}.")
    if ranges:
        told.append(
            "{low to high}: range of the error over three assumptions about later times (the tails "
            "hold, linear and exponential)."
        )
    return told
