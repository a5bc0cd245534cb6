"""Errors in units of time: predicted against actual, by status, over the follow-up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import displays
from .specs import Spec, figure, inner, labelled, numbers, sample, short


def predicted_actual(ev: Any, colour: dict[str, int]) -> Spec | None:
    """Scatter plot, a choice for each model; censored subjects are arrows."""
    usable = [name for name, p in ev.predictions.items() if p.has("times")]
    specs = []
    for name in usable:
        shown = displays.PredictedActualDisplay.from_evaluation(ev, model=name)
        rows = sample(shown.time.size)
        reach = inner(shown.time, shown.predicted)
        notes = []
        if rows.size < shown.time.size:
            notes.append(f"A sample of {rows.size} of {shown.time.size:,} subjects.")
        outside = int((np.maximum(shown.time, shown.predicted)[rows] > reach[1]).sum())
        if outside:
            notes.append(f"{outside} of them lie outside the picture.")
        specs.append(
            {
                "kind": "xy",
                "x": {"label": labelled("Observed time", ev.unit), "domain": reach},
                "y": {"label": labelled("Predicted time", ev.unit), "domain": reach},
                "layers": [
                    {"type": "rule", "axis": "diagonal"},
                    *_status_layers(shown, rows, colour[name]),
                ],
                "note": " ".join(notes),
                "height": 380,
            }
        )
    if not specs:
        return None
    caption = (
        "On the dashed line a prediction is right. Censored subjects are arrows from the time they "
        "left to the time they count as."
    )
    return figure("predicted-actual", "Predicted against actual", specs, usable, "Model",
                  caption=caption)  # fmt: skip


def _status_layers(shown: Any, rows: Any, c: int) -> list[Spec]:
    """Points by what is known of a subject: its event, that it reached tau, when it left."""
    end = np.inf if shown.tau is None else shown.tau
    event, time = shown.event[rows], shown.time[rows]
    kinds = {
        "event": event & (time < end),
        "event-free at tau": event & (time >= end),
        "censored": ~event,
    }
    layers = []
    for label, chosen in kinds.items():
        some = rows[chosen]
        if some.size == 0:
            continue
        layer: Spec = {
            "type": "points",
            "series": label,
            "color": c if label != "censored" else "ref",
            "open": label != "event",
            "x": numbers(shown.time[some]),
            "y": numbers(shown.predicted[some]),
            "labels": [f"subject {row}, {label}" for row in some.tolist()],
        }
        if label == "censored":
            layer |= {
                "x1": numbers(shown.surrogate[some]),
                "x1Label": f"counts as ({shown.method})",
            }
        layers.append(layer)
    return layers


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
                "toggle": True,
                "color": colour[name],
                "y": numbers([p.mean for p in parts]),
                "low": numbers([p.low for p in parts]),
                "high": numbers([p.high for p in parts]),
                "notes": [f"{p.n} subjects" for p in parts],
            }
        )
    known = "event seen" if shown.tau is None else "event, or event-free at tau"
    spec = {
        "kind": "bars",
        "x": {"label": "Status", "categories": [known, "censored"]},
        "y": {"label": labelled("Mean absolute error", ev.unit)},
        "layers": layers,
    }
    caption = f"Errors of the subjects whose time is known, and of the others ({shown.method})."
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
            "toggle": True,
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
        f"Where along the follow-up the errors arise ({shown.method}). A rise is no fault by "
        "itself: those who turn out to be late were rightly predicted earlier."
    )
    return figure("error-time", "Error over the observed time", [spec], caption=caption, wide=True)
