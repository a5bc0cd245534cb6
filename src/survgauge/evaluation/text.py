"""An evaluation as text: verdict, values with intervals, differences, support, warnings."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from .._tools.text_tables import columns, number, p_text
from .sentences import verdict_sentences
from .verdict import best_rows

if TYPE_CHECKING:
    from .result import Evaluation

#: Columns of a paragraph.
_WIDTH = 96


def evaluation_text(result: Evaluation) -> str:
    """Render the verdict, values with intervals, comparisons, support and warnings."""
    parts = [_verdict(result.to_dict()), _values(result)]
    if len(result.models) > 1 and result.confidence is not None:
        parts.append(_comparisons(result))
    parts += [_support(result), _warnings(result)]
    return "\n\n".join(part for part in parts if part)


def _verdict(data: dict[str, Any]) -> str:
    """Say who is best in lines that fit a page."""
    return "\n".join(textwrap.fill(text, _WIDTH) for text in verdict_sentences(data))


def _warnings(result: Evaluation) -> str:
    """List remarks; one that several models share is said once."""
    shared: dict[tuple[str, str, str, str], list[str]] = {}
    for w in result.warnings:
        group = "" if w.group is None else f"group {w.group}"
        names = shared.setdefault((w.code, group, w.metric or "", w.message), [])
        if w.model and w.model not in names:
            names.append(w.model)
    lines = []
    for (code, group, metric, message), models in shared.items():
        whose = "all models" if len(models) == len(result.models) > 1 else ", ".join(models)
        where = " ".join(part for part in (group, whose, metric) if part)
        lines.append(f"  [{code}] {where + ': ' if where else ''}{message}")
    return "Warnings\n" + "\n".join(lines) if lines else ""


def _values(result: Evaluation) -> str:
    """One row a metric (and group), one column a model."""
    cells: dict[tuple[Any, str], dict[str, str]] = {}
    arrows = {}
    for row in result.rows():
        key = (row.get("group"), row["metric"])
        text = number(row["value"])
        if not math.isnan(row["low"]):
            text += f" [{number(row['low'])}, {number(row['high'])}]"
        cells.setdefault(key, {})[row["model"]] = text
        arrows[row["metric"]] = "lower" if row["direction"] == "lower" else "higher"
    grouped = any(group is not None for group, _ in cells)
    header = [*(["group"] if grouped else []), "metric", "better", *result.models]
    rows = [
        [
            *([str(group)] if grouped else []),
            metric,
            arrows[metric],
            *(by_model.get(model, "n/a") for model in result.models),
        ]
        for (group, metric), by_model in cells.items()
    ]
    level = "" if result.confidence is None else f" with {result.confidence:.0%} intervals"
    unit = result.unit or "the unit of the data"
    return f"Metrics{level} (times in {unit})\n" + columns(header, rows, left=3 if grouped else 2)


def _comparisons(result: Evaluation) -> str:
    """Best model of each metric against the others; all pairs would not fit a screen."""
    best = {key: row["model"] for key, row in best_rows(result.to_dict()["metrics"]).items()}
    rows = []
    for row in result.comparisons():
        group, metric = row.get("group"), row["metric"]
        first = best.get((group, metric))
        if first not in (row["model_a"], row["model_b"]) or not math.isfinite(row["difference"]):
            continue
        a, b, sign = row["model_a"], row["model_b"], 1.0
        if first == b:  # the best comes first
            a, b, sign = b, a, -1.0
        low, high = sorted((sign * row["low_simultaneous"], sign * row["high_simultaneous"]))
        rows.append(
            [
                *([str(group)] if group is not None else []),
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
    grouped = len(rows[0]) > len(header)
    header = ["group", *header] if grouped else header
    title = "Differences of the best model from the others, on the same subjects"
    if len(result.models) > 2:
        title += (
            "\n(interval and p-value adjusted for all pairs of models; ev.compare() has all pairs)"
        )
    return title + "\n" + columns(header, rows, left=3 if grouped else 2)


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _support(result: Evaluation) -> str:
    s = result.support
    tails = ", ".join(f"{model} {_percent(share)}" for model, share in s["tail_share"].items())
    lines = [
        f"{s['subjects']} subjects, {s['events']} events; reference: {s['reference']}",
        f"horizon of the 1/G metrics: {number(s['horizon'])} "
        f"({s['subjects_past_horizon']} subjects, {s['events_past_horizon']} events past it); "
        f"time of interest: {number(s['time'])}",
    ]
    if tails:
        lines.append(f"median times read off the curves' tail: {tails}")
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
