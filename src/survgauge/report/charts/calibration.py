"""Predicted against observed probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import displays
from ..._tools.text_tables import number, p_text
from .specs import Spec, figure, listed, model_line, numbers, time_text


def d_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    """Histogram of the predicted probabilities at the own times."""
    shown = displays.DCalibrationDisplay.from_evaluation(ev)
    names = [
        f"{a:.0%}\u2013{b:.0%}" for a, b in zip(shown.edges[:-1], shown.edges[1:], strict=True)
    ]
    total = float(np.sum(shown.expected))
    layers: list[Spec] = [
        {
            "type": "bars",
            "series": n,
            "toggle": True,
            "color": colour[n],
            "y": numbers(shown.observed[n] / total),
        }
        for n in shown.observed
    ]
    even = float(np.mean(shown.expected)) / total
    layers.append({"type": "rule", "axis": "y", "value": even, "label": "calibrated"})
    told = listed({n: f"p {p_text(p)}" for n, p in shown.p_value.items()})
    spec = {
        "kind": "bars",
        "x": {"label": "Predicted probability at the own time", "categories": names},
        "y": {"label": "Share of subjects"},
        "layers": layers,
        "note": f"Kolmogorov-Smirnov test of the probabilities: {told}.",
    }
    caption = "Calibrated curves put the same share of subjects into every bin."
    return figure("d-calibration", "D-calibration", [spec], caption=caption, wide=True)


def one_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    """Observed against predicted risk, in groups."""
    shown = displays.OneCalibrationDisplay.from_evaluation(ev)
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for n in shown.observed:
        counts = zip(shown.n[n], shown.events[n], strict=True)
        layers.append(
            {
                "type": "points",
                "series": n,
                "toggle": True,
                "color": colour[n],
                "size": 4,
                "x": numbers(shown.predicted[n]),
                "y": numbers(shown.observed[n]),
                "low": numbers(shown.low[n]),
                "high": numbers(shown.high[n]),
                "labels": [f"{n}: {number(a)} subjects, {number(b)} events" for a, b in counts],
            }
        )
    told = listed({n: f"p {p_text(p)}" for n, p in shown.p_value.items()})
    spec = {
        "kind": "xy",
        "x": {"label": f"Predicted risk at {time_text(shown.time, ev.unit)}"},
        "y": {"label": "Observed risk (Kaplan-Meier)"},
        "layers": layers,
        "note": f"Test: {told}.",
    }
    caption = "Groups of subjects by predicted risk; on the dashed line prediction meets outcome."
    return figure("one-calibration", "1-calibration", [spec], caption=caption)


def smooth_calibration(ev: Any, colour: dict[str, int]) -> Spec:
    """Observed against predicted risk, without groups."""
    shown = displays.SmoothCalibrationDisplay.from_evaluation(ev)
    layers: list[Spec] = [{"type": "rule", "axis": "diagonal"}]
    for n in shown.observed:
        band = (shown.low.get(n), shown.high.get(n))
        layers.append(model_line(n, colour, shown.predicted[n], shown.observed[n], *band))
    expected = _expected_if_calibrated(ev)
    told = listed({n: number(v, 3) + expected.get(n, "") for n, v in shown.ici.items()})
    spec = {
        "kind": "xy",
        "x": {"label": f"Predicted risk at {time_text(shown.time, ev.unit)}"},
        "y": {"label": "Observed risk (smooth)"},
        "layers": layers,
        "note": f"Mean distance (ICI): {told}.",
    }
    caption = "The same without groups: a smooth curve of observed on predicted risk."
    return figure("smooth-calibration", "Smooth calibration", [spec], caption=caption)


def _expected_if_calibrated(ev: Any) -> dict[str, str]:
    """Say for each model how large its ICI would be by chance alone."""
    found: dict[str, str] = {}
    for score in ev.scores:
        support = {} if score.measured is None else score.measured.support
        value = support.get("expected_if_calibrated", math.nan)
        if score.metric.name == "ici" and score.group is None and math.isfinite(value):
            chance = number(value, 3)
            found[score.model] = f" ({chance} is expected of a perfectly calibrated model)"
    return found
