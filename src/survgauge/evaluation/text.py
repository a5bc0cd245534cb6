"""An evaluation as text: verdict, values with intervals, differences, support, warnings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._tools.text_tables import columns, number, p_text, relation
from ..metrics.registry import REGISTRY
from .verdict import Against, adjusted_for, best_rows, headline, stops_at, verdicts

if TYPE_CHECKING:
    from .result import Evaluation


def evaluation_text(result: Evaluation) -> str:
    """Render the verdict, values with intervals, comparisons, support and warnings."""
    parts = [_verdict(result), _values(result)]
    if len(result.models) > 1 and result.confidence is not None:
        parts.append(_comparisons(result))
    parts += [_support(result), _warnings(result)]
    return "\n\n".join(part for part in parts if part)


def _verdict(result: Evaluation) -> str:
    """Say in a sentence how far off the best model is, and whether it beats the others."""
    if result.confidence is None:
        return ""
    unit = f" {result.unit}" if result.unit else ""
    lines = []
    data = result.to_dict()
    metric = headline(data)
    if not metric or REGISTRY[metric].loss != "absolute":
        return ""
    tau = stops_at(data, metric)
    within = "" if tau is None else f" within the first {number(tau)}{unit}"
    for found in verdicts(data, metric):
        if found.group is not None:
            continue
        lines.append(
            f"{found.model} is off by {number(found.value)}{unit} on average{within} "
            f"({result.confidence:.0%} interval {number(found.low)} to {number(found.high)}; "
            f"{found.metric})."
        )
        compared = (*found.others, *([found.baseline] if found.baseline is not None else ()))
        lines += [f"  {_margin(other)}" for other in compared]
        if found.unsettled:
            lines.append(
                "  But see [tail-decides] below: without a horizon the data do not settle this."
            )
        if found.coarse:
            lines.append(
                f"  The times of {', '.join(found.coarse)} are read between few predicted times: "
                "see [coarse-grid] below."
            )
    return "\n".join(lines)


def _margin(other: Against) -> str:
    """Compare with another model; what the data do not tell apart is not called better."""
    if other.better_by == 0:
        return f"no difference from {other.model}"
    side = "better" if other.better_by >= 0 else "worse"
    low, high = other.low, other.high
    if other.better_by < 0 and low is not None and high is not None:
        low, high = -high, -low
    gap = f"{number(abs(other.better_by))} {side}"
    if other.p_value is None:
        return f"{gap} than {other.model} (no standard error)"
    told = f"{number(low)} to {number(high)}; p {relation(other.p_value)}"
    if adjusted_for(other):
        told += f", {adjusted_for(other)}"
    if other.clear:
        return f"{gap} than {other.model} ({told})"
    return f"no clear difference from {other.model} ({gap}, {told})"


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
        # Adjusted as the p-value beside it is.
        low, high = sorted((sign * row["low_simultaneous"], sign * row["high_simultaneous"]))
        rows.append(
            [
                *([str(group)] if group is not None else []),
                metric,
                f"{a} - {b}",
                number(sign * row["difference"]),
                f"[{number(low)}, {number(high)}]",
                p_text(row["p_value"]),
                p_text(row["p_holm"]),
            ]
        )
    if not rows:
        return ""
    header = ["metric", "models", "difference", "interval", "p", "p (Holm)"]
    grouped = len(rows[0]) > len(header)
    header = ["group", *header] if grouped else header
    more = " (all pairs: --json)" if len(result.models) > 2 else ""
    title = f"Differences of the best model from the others, on the same subjects{more}"
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
