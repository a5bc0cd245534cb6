"""Charts that need nothing but the table: values and differences."""

from __future__ import annotations

from typing import Any

from ..._tools.text_tables import p_text
from ...evaluation.verdict import best_rows
from ...metrics.registry import REGISTRY
from ..words import headline
from .specs import Spec, figure

#: With more models only the best one is compared with the others.
MOST_PAIRED = 6
#: Metrics (by group) that can be chosen.
MOST_CHOICES = 200


def _buckets(data: dict[str, Any], what: str) -> list[tuple[str, Any, list[dict[str, Any]]]]:
    """Rows by metric and group, the headline's first; no more than a picker can hold."""
    found: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for row in data[what]:
        found.setdefault((row["metric"], row.get("group")), []).append(row)
    first = headline(data)
    order = sorted(found.items(), key=lambda item: item[0][0] != first)
    return [(metric, group, rows) for (metric, group), rows in order[:MOST_CHOICES]]


def metrics(data: dict[str, Any]) -> list[Spec]:
    """Forest plot of the models, a choice for each metric (and group)."""
    specs, labels = [], []
    for metric, group, rows in _buckets(data, "metrics"):
        known = REGISTRY[metric]
        labels.append(metric if group is None else f"{metric}, {group}")
        baseline = _baseline(rows)
        specs.append(
            {
                "kind": "forest",
                "x": {"label": _axis(data, metric)},
                "zero": baseline,
                "zeroLabel": "Kaplan-Meier" if baseline is not None else None,
                "rows": [
                    {
                        "label": r["model"],
                        "series": [r["model"]],
                        "color": data["models"].index(r["model"]),
                        "value": r["value"],
                        "low": r["low"],
                        "high": r["high"],
                        "notes": _skill(r),
                    }
                    for r in rows
                ],
                "note": f"{known.title}; {_better(metric)}.",
            }
        )
    return [
        figure("metrics-chart", "Metric with interval", specs, labels, "Metric", wide=True,
                caption="A dot is the value, the line its interval.")
    ]  # fmt: skip


def _better(metric: str) -> str:
    if REGISTRY[metric].inference == "test":
        return "small means miscalibrated"
    return f"{REGISTRY[metric].direction} is better"


def _baseline(rows: list[dict[str, Any]]) -> float | None:
    """Value of Kaplan-Meier for everybody, from the skill of any model."""
    for row in rows:
        value, skill = row["value"], row["skill"]
        if isinstance(value, float) and isinstance(skill, float) and skill < 1:
            return value / (1 - skill)
    return None


def _skill(row: dict[str, Any]) -> list[list[str]]:
    skill = row["skill"]
    return [] if skill is None else [["skill over Kaplan-Meier", f"{skill:.1%}"]]


def differences(data: dict[str, Any]) -> list[Spec]:
    """Paired differences, a choice for each metric (and group)."""
    best = best_rows(data["metrics"])
    specs, labels = [], []
    for metric, group, rows in _buckets(data, "comparisons"):
        if (group, metric) not in best:
            continue
        labels.append(metric if group is None else f"{metric}, {group}")
        if len(data["models"]) > MOST_PAIRED:
            first = best[group, metric]["model"]
            rows = [r for r in rows if first in (r["model_a"], r["model_b"])]
        lower = REGISTRY[metric].direction == "lower"
        specs.append(
            {
                "kind": "forest",
                "x": {"label": f"Difference of {_axis(data, metric)}"},
                "zero": 0,
                "zeroLabel": "no difference",
                "rows": [
                    {
                        "label": f"{r['model_a']} \u2212 {r['model_b']}",
                        "pair": [r["model_a"], r["model_b"]],
                        "open": not (r["p_holm"] is not None and r["p_holm"] < 0.05),
                        "series": [r["model_a"], r["model_b"]],
                        "color": data["models"].index(r["model_a"]),
                        "value": r["difference"],
                        "low": r["low_simultaneous"],
                        "high": r["high_simultaneous"],
                        "notes": [["p", p_text(r["p_value"])], ["p (Holm)", p_text(r["p_holm"])]],
                    }
                    for r in rows
                ],
                "note": f"Left of zero the {'first' if lower else 'second'} model is better.",
            }
        )
    if not specs:
        return []
    caption = (
        "Difference of two models on the same subjects, with an interval that holds for all pairs."
    )
    if len(data["models"]) > MOST_PAIRED:
        caption += " Only the best model against the others; the JSON has all pairs."
    return [
        figure("differences-chart", "Paired differences", specs, labels, "Metric", wide=True,
                caption=caption)
    ]  # fmt: skip


def _axis(data: dict[str, Any], metric: str) -> str:
    kind, unit = REGISTRY[metric].unit, data.get("unit") or ""
    if kind == "time":
        return f"{metric} ({unit})" if unit else f"{metric} (unit of time)"
    return metric
