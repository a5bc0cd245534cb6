"""Charts of an experiment: one data set with all metrics, and one metric with all models."""

from __future__ import annotations

from typing import Any

from .._tools.text_tables import number

Spec = dict[str, Any]


def panel_chart(data: dict[str, Any]) -> Spec:
    """What each metric says of each model, against the truth: a choice for each data set."""
    specs, keys = [], []
    for (truth, dataset, censoring), rows in _groups(data, ("truth", "dataset", "censoring")):
        layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
        for k, metric in enumerate(data["plain"][truth]):
            mine = [r for r in rows if r["metric"] == metric]
            layers.append(
                {
                    "type": "points",
                    "series": metric,
                    "toggle": True,
                    "color": k,
                    "size": 4,
                    "x": [r["true_value"] for r in mine],
                    "y": [_sum(r["true_value"], r["difference"]) for r in mine],
                    "labels": [f"{r['model']}, {metric}" for r in mine],
                }
            )
        keys.append([truth, dataset, censoring])
        specs.append(
            {
                "kind": "xy",
                "x": {"label": f"True value ({truth})"},
                "y": {"label": "What the metric says"},
                "layers": layers,
                "height": 380,
            }
        )
    return {
        "id": "panel-chart",
        "title": "All metrics on one data set",
        "caption": "A point is a model under a metric; on the dashed line the metric tells the "
        "truth. Means over runs.",
        "choices": {"label": "Data", "options": [f"{d}, {c} \u2013 {t}" for t, d, c in keys]},
        "keys": keys,
        "specs": specs,
    }


def cell_chart(data: dict[str, Any]) -> Spec:
    """How far a metric is from the truth, model by model: a choice for each data set and metric."""
    order = {model: k for k, model in enumerate(data["models"])}
    specs, keys = [], []
    for key, rows in _groups(data, ("truth", "dataset", "censoring", "metric")):
        truth, _, _, metric = key
        if metric not in data["plain"][truth]:
            continue
        keys.append(list(key))
        specs.append(
            {
                "kind": "forest",
                "x": {"label": f"{metric} minus the true {truth}"},
                "zero": 0,
                "zeroLabel": "the truth",
                "rows": [
                    {
                        "label": r["model"],
                        "series": [],
                        "color": order[r["model"]],
                        "value": r["difference"],
                        "low": _spread(r, -1),
                        "high": _spread(r, 1),
                        "notes": _notes(r, metric),
                    }
                    for r in rows
                ],
                "note": "Lines are one standard deviation over runs.",
            }
        )
    names = [f"{m} on {d}, {c} \u2013 {t}" for t, d, c, m in keys]
    return {
        "id": "cell-chart",
        "title": "One metric, model by model",
        "caption": "Difference from the truth, mean over runs.",
        "choices": {"label": "Cell", "options": names},
        "keys": keys,
        "specs": specs,
    }


def _groups(data: dict[str, Any], names: tuple[str, ...]) -> Any:
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in data["by_model"]:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found.items()


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _spread(row: dict[str, Any], sign: int) -> float | None:
    sd = row["difference_sd"]
    return None if sd is None or row["difference"] is None else row["difference"] + sign * sd


def _notes(row: dict[str, Any], metric: str) -> list[list[str]]:
    said = _sum(row["true_value"], row["difference"])
    relative = row["relative"]
    return [
        [metric, number(said)],
        ["truth", number(row["true_value"])],
        ["relative", "-" if relative is None else f"{relative:+.1%}"],
    ]
