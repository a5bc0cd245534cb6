"""Descriptions of charts as plain data, which the page's script draws."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..displays.description import (
    Axis,
    Bars,
    Chart,
    Line,
    Mark,
    NumbersBelow,
    Panel,
    Points,
    models_in,
    written,
)

Spec = dict[str, Any]
#: Points of a scatter plot; more are shown by a seeded sample of this size.
MOST_POINTS = 400
#: Points of a curve.
MOST_TIMES = 480
_DIGITS = 5


def figure(
    name: str,
    charts: Iterable[Chart],
    options: Iterable[str] = (),
    label: str = "",
    *,
    wide: bool = False,
) -> Spec:
    """Describe a figure of the page: a chart, or one for each of several options."""
    found, choices = list(charts), list(options)
    return {
        "id": name,
        "title": found[0].title,
        "caption": found[0].caption,
        "wide": wide,
        "choices": {"label": label, "options": choices} if len(choices) > 1 else None,
        "specs": [_chart(chart) for chart in found],
    }


def alone(chart: Chart) -> list[Chart]:
    """Return a chart for each panel, which then has its words below it."""
    return [replace(chart, panels=(panel,), columns=1) for panel in chart.panels]


def rounded(value: Any) -> float | None:
    """Round to what a chart can show; None where there is no number."""
    value = float(value)
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None


def _chart(chart: Chart) -> Spec:
    single = chart.panels[0] if len(chart.panels) == 1 else None
    said = [single.note] if single is not None and single.note else []
    said += [f"{remark}." for remark in chart.remarks]
    said += _left_out(chart) + _thinned(chart)
    if single is not None and single.note:
        chart = replace(chart, panels=(replace(single, title=""),))
    return {
        "panels": [_panel(panel) for panel in chart.panels],
        "columns": chart.columns,
        "shared": chart.shared,
        "note": " ".join(said),
    }


def _left_out(chart: Chart) -> list[str]:
    """Say what is not drawn, those that share a reason together."""
    shared: dict[str, list[str]] = {}
    for name, reason in chart.left_out.items():
        shared.setdefault(reason, []).append(name)
    return [f"Not shown: {', '.join(names)} ({reason})." for reason, names in shared.items()]


def _thinned(chart: Chart) -> list[str]:
    return [
        f"A sample of {MOST_POINTS} of those is drawn: {written(mark.label)}."
        for panel in chart.panels
        for mark in panel.marks
        if isinstance(mark, Points) and len(mark.x) > MOST_POINTS
    ]


def _panel(panel: Panel) -> Spec:
    return {
        "title": written(panel.title),
        "series": models_in(panel.title),
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "rows": [
            {
                "label": written(row.label),
                "series": models_in(row.label),
                "beside": row.beside,
                "inside": row.inside,
                "clear": row.clear,
            }
            for row in panel.rows
        ],
        "height": panel.height,
        "equal": panel.equal,
        "marks": [_mark(mark) for mark in panel.marks],
        "counts": _counts(panel.counts),
    }


def _counts(counts: NumbersBelow | None) -> Spec | None:
    if counts is None:
        return None
    rows = [
        {"role": role, "name": name, "values": [f"{value:,.0f}" for value in values]}
        for role, name, values in counts.rows
    ]
    return {"title": counts.title, "rows": rows}


def _axis(axis: Axis) -> Spec:
    ends = {k: rounded(v) for k, v in (("low", axis.low), ("high", axis.high)) if v is not None}
    return {"label": axis.text, "ticks": axis.ticks, **ends}


def _mark(mark: Mark) -> Spec:
    """Return the fields of a mark that say something, its numbers rounded."""
    spec: Spec = {"type": type(mark).__name__.lower(), "series": ()}
    kept = _kept(mark)
    for name in (known.name for known in fields(mark)):
        value = getattr(mark, name)
        if name == "label":
            spec |= {"label": written(value), "series": models_in(value)}
        elif name == "marked" and isinstance(value, tuple):
            x, y = mark.dots()  # type: ignore[union-attr]
            spec |= {"marked": True, "dots": {"x": _numbers(x), "y": _numbers(y)}}
        elif isinstance(mark, Bars) and name == "base":
            spec["base"] = _numbers(np.broadcast_to(value, np.shape(mark.top)))
        elif name == "names":
            spec |= {"names": [value[k] for k in kept]} if value else {}
        elif isinstance(value, float):
            spec[name] = rounded(value)
        elif isinstance(value, bool | int | str):
            spec |= {name: value} if value not in (False, "") or name == "role" else {}
        elif name != "alpha" and value is not None and _worth(name, value):
            spec[name] = _numbers(np.asarray(value)[kept] if kept else value)
    return spec


def _worth(name: str, values: Any) -> bool:
    """Say whether a column is needed: intervals of which none is known are not."""
    return name in "xy" or not len(values) or bool(np.isfinite(values).any())


def _kept(mark: Mark) -> list[int]:
    """Return which points of a mark to show: evenly spaced of lines, a seeded sample of others."""
    size = len(mark.x) if isinstance(mark, Line | Points) else 0
    if isinstance(mark, Line) and size > MOST_TIMES:
        found = np.unique(np.linspace(0, size - 1, MOST_TIMES).astype(int))
    elif isinstance(mark, Points) and size > MOST_POINTS:
        found = np.sort(np.random.default_rng(0).choice(size, MOST_POINTS, replace=False))
    else:
        found = np.arange(size)
    return [int(k) for k in found]


def _numbers(values: Any) -> list[float | None]:
    return [rounded(v) for v in np.asarray(values, dtype=np.float64).tolist()]
