"""Single subjects, and what the follow-up covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import displays
from .specs import MOST_TIMES, Spec, figure, horizon, labelled, line, model_line, time_text


def subjects(ev: Any, colour: dict[str, int]) -> Spec:
    """Predicted curves, a choice for each of a few subjects."""
    shown = displays.SubjectCurvesDisplay.from_evaluation(ev)
    specs, labels = [], []
    for k, row in enumerate(shown.subjects.tolist()):
        status = "event" if shown.event[k] else "censored"
        labels.append(f"subject {row}, {status} at {time_text(float(shown.time[k]), ev.unit)}")
        mark = {"type": "rule", "axis": "x", "value": float(shown.time[k]), "label": status}
        layers = [model_line(n, colour, shown.times, v[k]) for n, v in shown.survival.items()]
        specs.append(
            {
                "kind": "xy",
                "x": {"label": labelled("Time", ev.unit)},
                "y": {"label": "Probability of being event-free", "domain": [0, 1]},
                "layers": [mark, *layers],
            }
        )
    caption = "What the models said about one subject, and what happened to it (dashed)."
    return figure("subject-curves", "Predicted curves", specs, labels, "Subject", wide=True,
                   caption=caption)  # fmt: skip


def support(ev: Any, colour: dict[str, int]) -> Spec:
    """Who is still followed, and G."""
    shown = displays.SupportDisplay.from_evaluation(ev)
    n = max(1.0, float(shown.at_risk[0]))
    m = max(1.0, float(shown.reference_at_risk[0]))
    layers = [
        horizon(shown.horizon),
        line("test subjects at risk", 0, shown.times, shown.at_risk / n, step=True),
        line("G(t): not yet censored", 1, shown.times, shown.censoring, step=True),
    ]
    if not shown.in_sample:
        reference = shown.reference_at_risk / m
        layers.append(line("training subjects at risk", 2, shown.times, reference, step=True))
    spec = {
        "kind": "xy",
        "x": {"label": labelled("Time", ev.unit)},
        "y": {"label": "Share", "domain": [0, 1]},
        "layers": layers,
    }
    caption = "How many are still followed, and the probability G of not being censored yet."
    return figure("support-chart", "Follow-up", [spec], caption=caption)


def surrogates(ev: Any, colour: dict[str, int]) -> Spec | None:
    """What censored subjects count as, by method."""
    shown = displays.SurrogatesDisplay.from_evaluation(ev)
    if shown.time.size == 0:
        return None
    order = np.argsort(shown.time, kind="stable")
    kept = order[np.linspace(0, order.size - 1, min(order.size, MOST_TIMES)).astype(int)]
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for k, (method, values) in enumerate(shown.surrogate.items()):
        layers.append(line(method, k, shown.time[kept], values[kept]))
    spec = {
        "kind": "xy",
        "x": {"label": labelled("Censoring time", ev.unit)},
        "y": {"label": labelled("Counts as", ev.unit)},
        "layers": layers,
    }
    caption = "The time that a censored subject counts as, by method; the dashed line is its own."
    return figure("surrogates-chart", "Surrogate times", [spec], caption=caption)
