"""Table 2: how good the models are, with intervals, and how they differ from one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..._tools.text import number, p_text, relation
from ...data.causes import EventWords, counted_events
from ...errors import one_of
from ...evaluation import Evaluation
from ...evaluation.phrases import Column, column_of, range_text, title_of, when, withheld_notes
from ...metrics.registry import REGISTRY
from .printed import PrintedTable

#: Parts of the table, and the families of metrics in them; others come last.
PARTS = {
    "Discrimination": ("ranking",),
    "Calibration": ("calibration",),
    "Overall performance": ("probability", "time"),
    "Clinical utility": ("decision",),
}
_OTHERS = "Other metrics"
_NONE = "-"

Row = dict[str, Any]


def narrowed(ev: Evaluation, metrics: Sequence[str] | str = "study") -> Evaluation:
    """Return the evaluation of what a study reports, with the warnings on that alone.

    That are the `metrics` named; of "study" those whose record says so, or all where there is none.
    """
    known = list(dict.fromkeys(score.metric.name for score in ev.scores))
    if isinstance(metrics, str) and metrics == "study":
        metrics = [name for name in known if REGISTRY[name].reported] or known
    kept = {metrics} if isinstance(metrics, str) else set(metrics)
    for name in kept:
        one_of("metrics", name, known)
    return replace(
        ev,
        scores=[score for score in ev.scores if score.metric.name in kept],
        cases=[case for case in ev.cases if case.metric in {None, *kept}],
    )


def parts_of(ev: Evaluation) -> dict[str, dict[Column, dict[str, Row]]]:
    """Rows of all subjects by part of the table, metric with its time, and model."""
    parts: dict[str, dict[Column, dict[str, Row]]] = {part: {} for part in (*PARTS, _OTHERS)}
    order = list(REGISTRY)
    rows = [row for row in ev.rows() if row.get("group") is None]
    for row in sorted(rows, key=lambda row: (order.index(row["metric"]), row["time"] or 0.0)):
        family = REGISTRY[row["metric"]].family
        part = next((part for part, some in PARTS.items() if family in some), _OTHERS)
        parts[part].setdefault(column_of(row), {})[row["model"]] = row
    return {part: cells for part, cells in parts.items() if cells}


def table_two(ev: Evaluation, reference: str | None = None) -> PrintedTable:
    """Return the table of an evaluation: one row per metric, time and model.

    From the model `reference` the differences of the others are told, with intervals and p-values
    that are adjusted over them alike.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 4, 5, 5]}, y, metrics="harrell", confidence=None)
    >>> print(table_two(ev).text())
    Metric          Model  Estimate
    --------------  -----  --------
    Discrimination
    Harrell's C     a          1.00
                    b         0.375
    """
    several = len(ev.models) > 1
    sure = ev.confidence is not None
    level = f" ({100 * (ev.confidence or 0):g} % CI)" if sure else ""
    header = ["Metric", *(["Model"] if several else []), f"Estimate{level}"]
    differences: dict[tuple[Column, str], Row] = {}
    if reference is not None:
        differences = {
            (column_of(row), row["model_a"]): row
            for row in ev.comparisons(reference)
            if row.get("group") is None
        }
        header += [f"Difference from {reference}{level}", *(["p"] if sure else [])]
    rows: list[tuple[str, ...]] = []
    for part, cells in parts_of(ev).items():
        rows.append((part,))
        for column, by_model in cells.items():
            rows += _block(ev, column, by_model, differences, len(header))
    notes = tuple(_notes(ev, reference, rows))
    return PrintedTable(
        "Performance of the models" if several else "Performance of the model",
        tuple(header), tuple(rows), notes, left=1 + several, name="Table 2",
    )  # fmt: skip


def slim(ev: Evaluation) -> PrintedTable:
    """Return the values alone: one row per metric and time, one column per model."""
    rows: list[tuple[str, ...]] = []
    for cells in parts_of(ev).values():
        for by_model in cells.values():
            digits = _digits([(row["low"], row["high"]) for row in by_model.values()])
            name = metric_name(next(iter(by_model.values())), ev.unit)
            values = (by_model.get(model) for model in ev.models)
            rows.append((name, *(_value(row, digits) for row in values)))
    return PrintedTable("Performance", ("", *ev.models), tuple(rows))


def _block(
    ev: Evaluation,
    column: Column,
    by_model: dict[str, Row],
    differences: dict[tuple[Column, str], Row],
    size: int,
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one metric at one time: one per model."""
    name = metric_name(next(iter(by_model.values())), ev.unit)
    digits = _digits([(row["low"], row["high"]) for row in by_model.values()])
    own = [found for (other, _), found in differences.items() if other == column]
    finer = _digits([(found["low_simultaneous"], found["high_simultaneous"]) for found in own])
    several = len(ev.models) > 1
    for k, model in enumerate(ev.models):
        row = by_model.get(model)
        cells = [name if k == 0 else "", *([model] if several else []), _estimate(row, digits)]
        found = differences.get((column, model))
        if found is not None:
            limits = _limits(found["low_simultaneous"], found["high_simultaneous"], finer)
            cells += [f"{_shown(found['difference'], finer)}{limits}"]
            cells += [_NONE if found["withheld"] else p_text(found["p_simultaneous"])]
        elif own and model == own[0]["model_b"]:
            cells.append("reference")
        yield tuple([*cells, *[_NONE] * size][:size])


def metric_name(row: Row, unit: str) -> str:
    """Name a metric with its unit and its time.

    >>> metric_name({"metric": "mae_within", "until": 1825.0}, "days")
    'MAE within the horizon (days), up to 1825 days'
    """
    metric = REGISTRY[row["metric"]]
    counted = {"time": unit, "time^2": f"squared {unit}" if unit else ""}.get(metric.unit, "")
    told = title_of(row).removesuffix(" at the time")  # the row names it
    if counted:
        told += f" ({counted})"
    read = when(row, unit, short=True)
    return f"{told}, {read}" if read else told


# -- cells -------------------------------------------------------------------------------------


def _digits(limits: list[tuple[float, float]]) -> int | None:
    """Digits behind the point that show two digits of the shortest half of an interval.

    >>> _digits([(0.58, 0.69)]), _digits([(515.0, 662.0)])
    (3, 0)
    """
    halves = [(high - low) / 2 for low, high in limits]
    known = [half for half in halves if math.isfinite(half) and half > 0]
    return min(4, max(0, 1 - math.floor(math.log10(min(known))))) if known else None


def _shown(value: float, digits: int | None) -> str:
    if math.isnan(value):
        return "n/a"
    if digits is None or math.isinf(value):
        return number(value, 3)
    told = f"{value:.{digits}f}"
    return told.lstrip("-") if float(told) == 0 else told


def _limits(low: float, high: float, digits: int | None) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return f" ({_shown(low, digits)} to {_shown(high, digits)})"


def _estimate(row: Row | None, digits: int | None) -> str:
    limits = "" if row is None else _limits(row["low"], row["high"], digits)
    if row is not None and not limits:
        limits = f" {range_text(row, 3)}".rstrip()
    return f"{_value(row, digits)}{limits}"


def _value(row: Row | None, digits: int | None) -> str:
    if row is None:
        return "n/a"
    if REGISTRY[row["metric"]].inference == "test":
        return f"p {relation(row['value'])}"
    return _shown(row["value"], digits)


def _notes(ev: Evaluation, reference: str | None, rows: list[tuple[str, ...]]) -> Iterator[str]:
    support = ev.support
    words = EventWords.of(support)
    yield f"{support['subjects']:,} test subjects with {counted_events(support, ',')}."
    if words.competing:
        yield words.competing
    shown = {score.metric.name for score in ev.scores}
    targets = [
        f"{metric.title.removesuffix(' at the time')}: {metric.target:g} is best"  # rows name it
        for metric in REGISTRY.values()
        if metric.name in shown and metric.target is not None
    ]
    if targets:
        yield f"{'; '.join(targets)}."
    if any(score.metric.reads_threshold for score in ev.scores):
        yield (
            "Net benefit weights subjects by the inverse probability of not being censored. "
            f"Decision curves take {words.estimate} of the subjects above a threshold, so their "
            "values differ."
        )
    if reference is not None:
        told = f"Differences are the model minus {reference}, on the same subjects"
        if ev.confidence is not None and len(ev.models) > 2:
            told += "; intervals and p-values are adjusted for the number of models (Bonferroni)"
        yield f"{told}."
    yield from withheld_notes(row for row in ev.rows() if row.get("group") is None)
    if support.get("assumes"):
        yield f"{support['assumes'].partition(': pass')[0].rstrip('.')}."  # a paper needs no advice
    if any("n/a" in cell for row in rows for cell in row):
        yield from _undefined(ev)


def _undefined(ev: Evaluation) -> Iterator[str]:
    """Say why metrics have no value."""
    found = [warning for warning in ev.warnings if warning.code == "undefined-metric"]
    for warning in found:
        about, why = warning.text(lambda name: REGISTRY[name].title.removesuffix(" at the time"))
        yield f"n/a: {about}: {why}."
    if not found:
        yield "n/a: the metric has no value for the predictions of this model."
