"""Predicted probabilities over time: Brier score, AUC, the mean curve."""

from __future__ import annotations

from typing import Any

from ... import displays
from .specs import Spec, figure, horizon, labelled, line, model_line


def _time_curve(ev: Any, colour: dict[str, int], kind: str, spec: Spec, **words: Any) -> Spec:
    shown = displays.TimeCurveDisplay.from_evaluation(ev, kind=kind)
    layers: list[Spec] = [horizon(shown.horizon)]
    if shown.baseline is not None and kind != "auc":  # that of a constant is chance
        layers.append(line("Kaplan-Meier", "ref", shown.times, shown.baseline))
    for name in shown.values:
        band = (shown.low[name], shown.high[name])
        layers.append(model_line(name, colour, shown.times, shown.values[name], *band))
    spec |= {"kind": "xy", "x": {"label": labelled("Time", ev.unit)}, "layers": layers}
    return figure(f"{kind}-chart", specs=[spec], **words)


def brier(ev: Any, colour: dict[str, int]) -> Spec:
    """Brier score with bands, beside that of Kaplan-Meier."""
    words = {
        "title": "Brier score over time",
        "caption": "Squared error of the probability of being event-free; lower is better. "
        "Kaplan-Meier predicts the same for everybody.",
    }
    return _time_curve(
        ev, colour, "brier", {"y": {"label": "Brier score", "domain": [0, None]}}, **words
    )


def auc(ev: Any, colour: dict[str, int]) -> Spec:
    """Cumulative/dynamic AUC with bands."""
    words = {
        "title": "AUC over time",
        "caption": "How well events up to a time are told from those without; 0.5 is chance.",
    }
    spec = {"y": {"label": "Cumulative/dynamic AUC"}}
    made = _time_curve(ev, colour, "auc", spec, **words)
    chance = {"type": "rule", "axis": "y", "value": 0.5, "label": "chance"}
    made["specs"][0]["layers"].append(chance)
    return made


def mean_curves(ev: Any, colour: dict[str, int]) -> Spec:
    """Mean predicted curves against Kaplan-Meier of the test set."""
    shown = displays.MeanCurveDisplay.from_evaluation(ev)
    km = line("Kaplan-Meier of the test set", "ref", shown.times, shown.km, shown.km_low,
               shown.km_high)  # fmt: skip
    layers = [km | {"solid": True}, horizon(shown.horizon)]
    layers += [model_line(n, colour, shown.times, mean) for n, mean in shown.mean.items()]
    spec = {
        "kind": "xy",
        "x": {"label": labelled("Time", ev.unit)},
        "y": {"label": "Share event-free", "domain": [0, 1]},
        "layers": layers,
    }
    caption = "A model that is right on average follows Kaplan-Meier of the test set."
    return figure(
        "mean-curves",
        "Mean predicted curve against Kaplan-Meier",
        [spec],
        caption=caption,
        wide=True,
    )
