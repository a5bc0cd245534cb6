"""Errors in units of time: predicted against actual, by status, over the follow-up."""

from __future__ import annotations

from typing import Any

from ... import displays
from .specs import Spec, figure, inner, labelled, numbers, sample, short


def predicted_actual(ev: Any, colour: dict[str, int]) -> Spec | None:
    """Scatter plot, a choice for each model; censored subjects are arrows."""
    usable = [name for name, p in ev.predictions.items() if p.has("times")]
    specs = []
    for name in usable:
        shown = displays.PredictedActualDisplay.from_evaluation(ev, model=name)
        rows = sample(shown.time.size)
        event = shown.event[rows]
        layers = [{"type": "rule", "axis": "diagonal"}]
        for label, chosen, c in (("event", event, colour[name]), ("censored", ~event, "ref")):
            some = rows[chosen]
            layer: Spec = {
                "type": "points",
                "series": label,
                "color": c,
                "x": numbers(shown.time[some]),
                "y": numbers(shown.predicted[some]),
                "labels": [f"subject {row}, {label}" for row in some.tolist()],
            }
            if label == "censored":
                layer |= {
                    "x1": numbers(shown.surrogate[some]),
                    "x1Label": f"counts as ({shown.method})",
                    "open": True,
                }
            layers.append(layer)
        few = "" if rows.size == shown.time.size else f"{rows.size} of {shown.time.size} subjects."
        specs.append(
            {
                "kind": "xy",
                "x": {
                    "label": labelled("Observed time, arrow to surrogate", ev.unit),
                    "domain": inner(shown.time, shown.surrogate),
                },
                "y": {
                    "label": labelled("Predicted time", ev.unit),
                    "domain": inner(shown.predicted),
                },
                "layers": layers,
                "note": few,
            }
        )
    if not specs:
        return None
    caption = (
        "On the dashed line a prediction is right. Censored subjects are arrows from the time they "
        "left to the time they count as. Single far points may lie outside the picture."
    )
    return figure("predicted-actual", "Predicted against actual", specs, usable, "Model",
                   caption=caption)  # fmt: skip


def by_status(ev: Any, colour: dict[str, int]) -> Spec | None:
    """Mean errors of events and of censored subjects."""
    shown = displays.ErrorByStatusDisplay.from_evaluation(ev)
    layers = []
    for name in shown.event:
        parts = [shown.event[name], shown.censored[name]]
        layers.append(
            {
                "type": "bars",
                "series": name,
                "color": colour[name],
                "y": numbers([p.mean for p in parts]),
                "low": numbers([p.low for p in parts]),
                "high": numbers([p.high for p in parts]),
                "notes": [f"{p.n} subjects" for p in parts],
            }
        )
    spec = {
        "kind": "bars",
        "x": {"label": "Status", "categories": ["event seen", "censored"]},
        "y": {"label": labelled("Mean absolute error", ev.unit)},
        "layers": layers,
    }
    caption = f"Errors of the subjects whose event was seen, and of the others ({shown.method})."
    return figure("error-status", "Error by censoring status", [spec], caption=caption)


def over_time(ev: Any, colour: dict[str, int]) -> Spec | None:
    """Mean errors by observed time."""
    shown = displays.ErrorOverTimeDisplay.from_evaluation(ev)
    edges = shown.edges
    names = [f"{short(a)}\u2013{short(b)}" for a, b in zip(edges[:-1], edges[1:], strict=True)]
    layers = [
        {
            "type": "bars",
            "series": name,
            "color": colour[name],
            "y": numbers(shown.mean[name]),
            "low": numbers(shown.low[name]),
            "high": numbers(shown.high[name]),
        }
        for name in shown.mean
    ]
    spec = {
        "kind": "bars",
        "x": {"label": labelled("Observed time", ev.unit), "categories": names},
        "y": {"label": labelled("Mean absolute error", ev.unit)},
        "layers": layers,
    }
    caption = (
        f"Where along the follow-up the errors arise ({shown.method}); equal numbers of subjects."
    )
    return figure("error-time", "Error over the observed time", [spec], caption=caption, wide=True)
