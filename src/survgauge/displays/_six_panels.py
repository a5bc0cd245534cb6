"""The six panels of the paper's illustration, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.text_tables import number
from ..reference.surrogates import METHODS
from .description import Axis, Line, Mark, Note, Panel, Points, Rule, Span, p_relation

if TYPE_CHECKING:
    from .six_metrics import SixMetricsDisplay

_SURVIVAL = Axis("Survival probability", low=0, high=1.03)
_LETTERS = "ABCDEFGH"


def _panel(d: SixMetricsDisplay, y: Axis, marks: list[Mark], title: str) -> Panel:
    end = float(d.times[-1])
    return Panel(Axis.time(d.unit, "Time", 0, end), y, tuple(marks), title, height=2.15)


def _curve(d: SixMetricsDisplay, k: int, x: Any, y: Any, **look: Any) -> Line:
    """Line of the k-th subject."""
    what = "event" if d.event[k] else "censored"
    label = f"{_LETTERS[k]}: row {d.subjects[k] + 1}, {what}"
    return Line(x, y, k, label, **{"width": 1.2, **look})


def _curves(d: SixMetricsDisplay) -> list[Mark]:
    return [_curve(d, k, d.times, curve, alpha=0.55) for k, curve in enumerate(d.survival)]


def _outcome(d: SixMetricsDisplay, k: int, x: float, y: float) -> Points:
    """What happened to the k-th subject: a star is its event."""
    if d.event[k]:
        return Points([x], [y], k, marker="star", size=8.5)
    return Points([x], [y], k, hollow=True, marker="dot", size=5)


def _median(k: int, x: float, y: float) -> Points:
    return Points([x], [y], k, marker="down", size=5.5)


def _key(d: SixMetricsDisplay) -> list[Mark]:
    """What the marks mean, for the legend."""
    found: list[Mark] = [Points([], [], "soft", "predicted median", marker="down", size=5.5)]
    if d.event.any():
        found.append(Points([], [], "soft", "event", marker="star", size=8.5))
    if not d.event.all():
        label = f"censored (in a: {METHODS[d.method].title})"
        found.append(Points([], [], "soft", label, hollow=True, marker="dot", size=5))
    return found


def mae(d: SixMetricsDisplay) -> Panel:
    """Horizontal distances between predicted and actual times."""
    marks, end = [*_curves(d), *_key(d)], float(d.times[-1])
    for k, (predicted, actual) in enumerate(zip(d.predicted, d.surrogate, strict=True)):
        if not np.isfinite(predicted):
            continue
        # Below each other, so that distances do not cover each other.
        height = 0.42 - 0.36 * k / max(len(d.predicted) - 1, 1)
        at = min(float(predicted), end)
        marks.append(Line([at, at], [0.5, height], k, dash="dotted", width=0.6))
        marks.append(_median(k, at, 0.5))
        if np.isfinite(actual):
            stop = min(float(actual), end)
            marks.append(Line([at, stop], [height, height], k, dash="solid", width=2.0))
            marks.append(_outcome(d, k, stop, height))
    unit = f" {' '.join(d.unit.split())}" if d.unit else ""
    return _panel(d, _SURVIVAL, marks, f"(a) MAE: {number(d.values['mae'], 3)}{unit}")


def concordance(d: SixMetricsDisplay) -> Panel:
    """Lines from actual to predicted times; of discordant pairs they cross."""
    marks: list[Mark] = []
    for k, (actual, predicted) in enumerate(zip(d.time, d.predicted, strict=True)):
        if np.isfinite(predicted):
            at = min(float(predicted), float(d.times[-1]))
            marks.append(_curve(d, k, [float(actual), at], [1, 0], width=1.0))
            marks += [_outcome(d, k, float(actual), 1.0), _median(k, at, 0.0)]
    right = sum(pair["concordant"] for pair in d.pairs)
    text = f"{right:g} of {len(d.pairs)} pairs" if d.pairs else "no comparable pair"
    ends = Axis("", "", -0.25, 1.25, ((0.0, "predicted"), (1.0, "actual")))
    return _panel(d, ends, marks, f"(b) C-index: {number(d.values['harrell'], 3)} ({text})")


def brier(d: SixMetricsDisplay) -> Panel:
    """Area between a curve and what happened, for one subject."""
    rows = np.flatnonzero(d.event)
    k = int(rows[0]) if rows.size else 0
    curve, t, end = d.survival[k], float(d.time[k]), float(d.times[-1])
    seen = [1, 1, 0, 0] if d.event[k] else [1, 1]
    before, after = (np.where(part, curve, np.nan) for part in (d.times <= t, d.times > t))
    marks: list[Mark] = [
        Line(d.times, curve, k, low=before, high=np.where(d.times <= t, 1.0, np.nan), width=0),
        _curve(d, k, d.times, curve),
        Line([0, t, t, end][: len(seen)], seen, "ink", width=1.1),
    ]
    if d.event[k]:
        floor = np.where(d.times > t, 0.0, np.nan)
        marks.insert(0, Line(d.times, curve, k, low=floor, high=after, width=0))
    shown = f"(shown: {_LETTERS[k]})"
    return _panel(d, _SURVIVAL, marks, f"(c) IBS: {number(d.values['ibs'], 3)} {shown}")


def likelihood(d: SixMetricsDisplay) -> Panel:
    """Densities and their height at the event times."""
    title = f"(d) log-likelihood: {number(d.values['log_likelihood'], 3)}"
    if not np.isfinite(d.own_density[d.event]).any():
        why = "step curves\nhave no density" if d.event.any() else "no event"
        return _panel(d, Axis("Density", ticks=()), [Note(why, 0.5, 0.55, "center", "soft")], title)
    middle = (d.times[:-1] + d.times[1:]) / 2
    marks: list[Mark] = []
    for k, density in enumerate(d.density):
        marks.append(_curve(d, k, middle, density, width=1.0, alpha=0.7))
        height = float(d.own_density[k]) if d.event[k] else 0.0
        if np.isfinite(height):
            marks.append(_outcome(d, k, float(d.time[k]), height))
    usual = float(np.nanquantile(d.density, 0.995))
    top = 1.08 * max(usual, float(np.nanmax(d.own_density[d.event]))) or 1.0
    return _panel(d, Axis("Density", low=0, high=top), marks, title)


def one_calibration(d: SixMetricsDisplay) -> Panel:
    """Predictions at one time, in two groups."""
    marks = [*_curves(d), Rule("x", d.at, role="ink", dash="solid", width=0.9)]
    told = []
    for g, group in enumerate(d.groups):
        for k in group["rows"]:
            where = float(np.interp(d.at, d.times, d.survival[k]))
            marks.append(Points([d.at], [where], k, marker=("dot", "square")[g % 2], size=5))
        rates = f"predicted {group['predicted']:.2f}, observed {group['observed']:.2f}"
        told.append(f"{'●■'[g % 2]} {rates}")
    text = "\n".join(told) or "predictions do not differ"
    marks.append(Note(text, 0.98, 0.97, "right"))
    p = p_relation(d.values["one_calibration"])
    return _panel(d, _SURVIVAL, marks, f"(e) 1-calibration: p {p}")


def d_calibration(d: SixMetricsDisplay) -> Panel:
    """Probabilities at the own times, in two halves."""
    marks = [*_curves(d), Span("y", 0.5, 1.0)]
    for k, s in enumerate(d.own_survival):
        if np.isfinite(s):
            marks.append(_outcome(d, k, float(d.time[k]), float(s)))
    for height, count in zip((0.02, 0.505), d.bins, strict=True):
        if np.isfinite(count):
            text = f"{count:.2g} of {len(d.subjects)}"
            marks.append(Note(text, 0.0, height, on_data=True))
    p = p_relation(d.values["d_calibration"])
    return _panel(d, _SURVIVAL, marks, f"(f) D-calibration: p {p}")


PANELS = (mae, concordance, brier, likelihood, one_calibration, d_calibration)
