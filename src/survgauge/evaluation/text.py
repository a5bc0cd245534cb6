"""An evaluation as text: verdict, values with intervals, differences, support, warnings."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from .._tools.text_tables import columns, number, p_text, percent
from ..data.event_words import EventWords, counted_events
from ..metrics.registry import REGISTRY, Metric
from .explanations import WEIGHTS
from .joined import JoinedWarning, counted
from .phrases import DIGITS, in_brackets
from .sentences import verdict_sentences
from .value_tables import WIDEST, model_rows, value_text
from .verdict import Cell, best_rows, cell_of, first_metrics, headline
from .when import clock, column_of, names, rounded, title_of, when, why_then
from .withheld import withheld_notes

if TYPE_CHECKING:
    from .result import Evaluation

#: Columns of a paragraph.
_WIDTH = 96
#: Groups and warnings in a short text.
_MOST_GROUPS, _MOST_WARNINGS = 12, 3


def evaluation_text(result: Evaluation, width: int | None = None, verdict: bool = True) -> str:
    """Render the verdict (unless it is not wanted), values, comparisons, support and warnings.

    Tables and lines are not wider than `width`, if it is given.
    """
    data = result.to_dict()
    intervals = data["confidence"] is not None
    values = _table(data, _metrics(data), intervals=intervals, width=width)
    parts = [_verdict(data, width or _WIDTH) if verdict else "", values]
    if len(result.models) > 1 and result.confidence is not None:
        parts.append(_comparisons(result, width))
    told = _warnings(result.warnings, result, len(result.warnings), _metrics(data))
    parts += [_broken(part, width) for part in (_support(result), told)]
    return "\n\n".join(part for part in parts if part)


def _broken(text: str, width: int | None) -> str:
    """Break long lines of a list."""
    if width is None:
        return text
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent="    ") for line in text.split("\n")
    )


def compact_text(result: Evaluation) -> str:
    """Render the verdict, a few metrics and the first warnings, and say where the rest is."""
    data = result.to_dict()
    metrics, shown = _metrics(data), first_metrics(data)
    warnings = result.warnings
    first = [w for w in warnings if w.about(shown) and w.weight != WEIGHTS[-1]]
    others = [w for w in warnings if not w.about(shown) and w.weight == WEIGHTS[0]]
    first = [*first, *others][:_MOST_WARNINGS]
    overall = [row for row in data["metrics"] if row.get("group") is None]
    parts = [
        _verdict(data),
        _few_values({**data, "metrics": overall}, shown) if shown else "",
        _by_group(data, headline(data)) if len(overall) < len(data["metrics"]) else "",
        _broken(_warnings(first, result, len(warnings), shown), WIDEST),
        _broken(_rest(result, len(metrics) * (len(shown) < len(metrics)), len(first)), WIDEST),
    ]
    return "\n\n".join(part for part in parts if part)


def _rest(result: Evaluation, metrics: int, told: int) -> str:
    """Say where the rest is; `told` warnings are there."""
    s = result.support
    found = sample_text(s, result.unit)
    found += f", {s['clusters']} clusters" if "clusters" in s else ""
    why = why_then(s)
    if why and any(score.time is not None for score in result.scores):
        found += f"\nTime of interest: {rounded(s['time'], result.unit)} ({why})"
    parts = [f"All {metrics} metrics: .table"] if metrics else []
    if len(result.warnings) > told:
        parts.append(f"{counted(result.warnings)}: .warnings")
    return f"{found}\n{'; '.join([*parts, 'everything: .to_text()'])}"


def sample_text(support: dict[str, Any], unit: str = "") -> str:
    """Say how many subjects and events there are, and how long subjects were followed.

    >>> sample_text({"subjects": 9, "events": 4, "median_follow_up": 371.25}, "days")
    '9 subjects, 4 events, median follow-up 371.25 days'
    """
    found = f"{support['subjects']} subjects, {counted_events(support)}"
    middle = support.get("median_follow_up")
    if middle is None or math.isnan(middle):
        return found
    return f"{found}, median follow-up {rounded(middle, unit)}"


def _metrics(data: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["metric"] for row in data["metrics"]))


def _verdict(data: dict[str, Any], width: int = _WIDTH) -> str:
    """Say who is best in lines that fit a page."""
    return "\n".join(textwrap.fill(text, width) for text in verdict_sentences(data))


def _warnings(
    warnings: list[JoinedWarning], result: Evaluation, total: int, shown: list[str]
) -> str:
    """List warnings with what to do; say how many there are, and about metrics not `shown`."""
    lines = [f"  {warning}. What to do: {warning.advice(result.support)}." for warning in warnings]
    count = str(total) if len(lines) == total else f"{len(lines)} of {total}"
    others = sum(not warning.about(shown) for warning in warnings)
    if others and len(lines) < total:
        count += f"; {others if others < len(lines) else 'all'} about metrics not in this table"
    return f"Warnings ({count})\n" + "\n".join(lines) if lines else ""


def _by_group(data: dict[str, Any], metric: str) -> str:
    """Return the first metric in the largest groups, and how many groups are not shown."""
    sizes = data["support"]["groups"]
    order = sorted(sizes, key=lambda group: -sizes[group]["subjects"])
    rows = [
        row
        for row in data["metrics"]
        if row["metric"] == metric and str(row.get("group")) in order[:_MOST_GROUPS]
    ]
    intervals = data["confidence"] is not None
    table = _table(
        {**data, "metrics": rows},
        [metric],
        intervals=intervals,
        digits=DIGITS,
        identifiers=False,
        width=WIDEST,
    )
    table = "Groups" + table.removeprefix("Metrics")
    more = len(order) - _MOST_GROUPS
    return f"{table}\n{more} smaller groups: .table" if more > 0 else table


def _few_values(data: dict[str, Any], metrics: list[str]) -> str:
    """Return a metric per row where that is not too wide, else a model per row."""
    intervals = data["confidence"] is not None
    table = _table(data, metrics, intervals=intervals, digits=DIGITS, identifiers=False)
    if max(map(len, table.split("\n"))) <= WIDEST:
        return table
    rows = model_rows(data, metrics, intervals)
    return f"{_heading(data, intervals)}\n{rows}{_below(data, metrics, WIDEST)}"


def _table(
    data: dict[str, Any],
    metrics: list[str],
    *,
    intervals: bool,
    digits: int = 4,
    identifiers: bool = True,
    width: int | None = None,
) -> str:
    """One row per metric (and group and time), one column per model."""
    cells: dict[Cell, dict[str, str]] = {}
    clocks: dict[Cell, tuple[str, str]] = {}
    for row in sorted(data["metrics"], key=lambda row: _place(row, metrics)):
        if row["metric"] in metrics:
            text = value_text(row, digits, digits if intervals else None)
            cells.setdefault(cell_of(row), {})[row["model"]] = text
            clocks.setdefault(cell_of(row), (title_of(row), when(row)))
    grouped = any(group is not None for group, _, _ in cells)
    header = ["group"] * grouped + [
        "metric",
        *["name"] * identifiers,
        "time",
        *["better"] * identifiers,
    ]
    rows = []
    for (group, name, time), by_model in cells.items():
        title, read = clocks[group, name, time]
        line = [_group(group)] * grouped + [title, *[name] * identifiers]
        line += [read, *[_better(REGISTRY[name])] * identifiers]
        rows.append([*line, *(by_model.get(model, "n/a") for model in data["models"])])
    table = columns([*header, *data["models"]], rows, left=len(header))
    if width is not None and max(map(len, table.split("\n"))) > width:
        header += data["models"]
        narrow = _narrow if identifiers else columns
        table = narrow(header, rows, len(header) - len(data["models"]), width)
    return f"{_heading(data, intervals)}\n{table}{_below(data, metrics, width or WIDEST)}"


def _below(data: dict[str, Any], metrics: list[str], width: int) -> str:
    """Say below a table which of its values have no interval and test, and why."""
    shown = [row for row in data["metrics"] if row["metric"] in metrics]
    return "".join(f"\n{textwrap.fill(note, width)}" for note in withheld_notes(shown))


def _heading(data: dict[str, Any], intervals: bool) -> str:
    """Say what a table of values has."""
    level = f" with {data['confidence'] * 100:g} % intervals" if intervals else ""
    unit = data["unit"] or "the unit of the data"
    return f"Metrics{EventWords.of(data['support']).of_cause}{level} (times in {unit})"


def _narrow(header: list[str], rows: list[list[str]], left: int, width: int) -> str:
    """Leave room to the models: without the titles of the metrics, which come before the names."""
    title = header.index("metric")
    header = [*header[:title], "metric", *header[title + 2 :]]
    rows = [[*row[:title], *row[title + 1 :]] for row in rows]
    return columns(header, rows, left - 1, width)


def _group(label: Any) -> str:
    return "all" if label is None else str(label)


def _better(metric: Metric) -> str:
    """Return which values are better, in a word; nothing for a p-value."""
    if metric.target is not None:
        return f"{metric.target:g}"
    return metric.direction if metric.ranks_models else ""


def _place(row: dict[str, Any], metrics: list[str]) -> int:
    return metrics.index(row["metric"]) if row["metric"] in metrics else len(metrics)


def _comparisons(result: Evaluation, width: int | None) -> str:
    """Best model of each metric against the others; all pairs would not fit a screen."""
    best = {key: row["model"] for key, row in best_rows(result.to_dict()["metrics"]).items()}
    named = names(result.rows())
    rows, grouped = [], "groups" in result.support
    for row in result.comparisons():
        group, metric = row.get("group"), named[column_of(row)]
        first = best.get(cell_of(row))
        if first not in (row["model_a"], row["model_b"]) or not math.isfinite(row["difference"]):
            continue
        if row["withheld"]:  # which is said below the values
            continue
        a, b, sign = row["model_a"], row["model_b"], 1.0
        if first == b:  # the best comes first
            a, b, sign = b, a, -1.0
        low, high = sorted((sign * row["low_simultaneous"], sign * row["high_simultaneous"]))
        rows.append(
            [
                *([_group(group)] if grouped else []),
                metric,
                f"{a} - {b}",
                number(sign * row["difference"]),
                f"[{number(low)}, {number(high)}]",
                p_text(row["p_simultaneous"]),
            ]
        )
    if not rows:
        return ""
    header = ["metric", "models", "difference", "interval", "p"]
    header = ["group", *header] if grouped else header
    title = "Differences of the best model from the others, on the same subjects"
    if len(result.models) > 2:
        title += (
            "\n(interval and p-value adjusted for all pairs of models; ev.compare() has all pairs)"
        )
    return _broken(title, width) + "\n" + columns(header, rows, 3 if grouped else 2, width)


def _support(result: Evaluation) -> str:
    s = result.support
    any_cause = "" if EventWords.of(s).cause is None else " of any cause"
    tails = ", ".join(f"{model} {percent(share)}" for model, share in s["tail_share"].items())
    lines = [
        f"{sample_text(s, result.unit)}; reference: {s['reference']}",
        f"supported until: {number(s['horizon'])} "
        f"({s['subjects_past_horizon']} subjects, {s['events_past_horizon']} events{any_cause} "
        "after it); "
        f"time of interest: {', '.join(clock(time) for time in s['times'])}"
        f"{in_brackets(why_then(s))}",
    ]
    if s["tau"] is not None:
        lines.append(f"tau: {clock(s['tau'])}")
    if tails:
        lines.append(f"medians extrapolated beyond the curve: {tails}")
    if "clusters" in s:
        lines.append(
            f"{s['clusters']} clusters: intervals have t quantiles with {s['clusters'] - 1} "
            "degrees of freedom"
        )
    if "effective_subjects" in s:
        lines.append(
            f"sampling weights: worth {number(s['effective_subjects'])} subjects of equal weight"
        )
    if not math.isnan(s["largest_weight"]):
        lines.append(f"largest weight of a subject: {number(s['largest_weight'])}")
    return "Support\n" + "\n".join(f"  {line}" for line in lines)
