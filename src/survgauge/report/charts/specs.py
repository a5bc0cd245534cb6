"""Parts that charts are described by: lines, rules, domains, rounded numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tools.text_tables import number

Spec = dict[str, Any]
#: Subjects of a scatter plot; more are summarised by a seeded sample of this size.
MOST_POINTS = 400
#: Points of a curve.
MOST_TIMES = 480
_DIGITS = 5


def figure(
    name: str,
    title: str,
    specs: list[Spec],
    options: Iterable[str] = (),
    label: str = "",
    *,
    caption: str,
    wide: bool = False,
) -> Spec:
    """Describe a figure; with several options it has one spec for each of them."""
    found = list(options)
    choices = {"label": label, "options": found} if len(found) > 1 else None
    return {
        "id": name,
        "title": title,
        "caption": caption,
        "wide": wide,
        "choices": choices,
        "specs": specs,
    }


def line(
    series: str, c: Any, x: Any, y: Any, low: Any = None, high: Any = None, *, step: bool = False
) -> Spec:
    """Describe a line with its band, thinned where it has more points than the eye can tell."""
    size = len(x)
    kept = np.arange(size)
    if size > MOST_TIMES:
        kept = np.unique(np.linspace(0, size - 1, MOST_TIMES).astype(int))
    layer = {"type": "line", "series": series, "color": c, "x": numbers(np.asarray(x)[kept])}
    layer["y"] = numbers(np.asarray(y)[kept])
    if low is not None and high is not None and np.isfinite(low).any():
        layer |= {"low": numbers(np.asarray(low)[kept]), "high": numbers(np.asarray(high)[kept])}
    return layer | ({"step": True} if step else {})


def model_line(name: str, colour: dict[str, int], x: Any, y: Any, *band: Any) -> Spec:
    """Describe a line that comes and goes with its model."""
    return line(name, colour[name], x, y, *band) | {"toggle": True}


def horizon(value: float) -> Spec:
    """Mark the horizon."""
    return {"type": "rule", "axis": "x", "value": rounded(value), "label": "horizon"}


def sample(n: int) -> Any:
    """Rows to show: all, or a seeded sample in order."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))


def inner(time: Any, predicted: Any) -> list[float]:
    """Axis for both: all observed times, and predictions but for a far few."""
    top = max(float(np.max(time)), float(np.quantile(predicted, 0.9)))
    low = float(min(0.0, np.min(predicted)))
    return [float(f"{max(low, -top):.4g}"), float(f"{1.05 * top or 1.0:.4g}")]


def labelled(text: str, unit: str) -> str:
    """Label an axis with its unit."""
    return f"{text} ({unit})" if unit else text


def short(value: float) -> str:
    """Write a number as short as three digits allow."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


def time_text(value: float, unit: str) -> str:
    """Write a time with its unit."""
    return f"{number(value)} {unit}".strip()


def rounded(value: Any) -> float | None:
    """Round to what a chart can show; None where there is no number."""
    value = float(value)
    return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None


def numbers(values: Any) -> list[float | None]:
    """Round many."""
    return [rounded(v) for v in np.asarray(values, dtype=np.float64).tolist()]


def listed(values: dict[str, str]) -> str:
    """List a word for each model, or for the first few of them."""
    first = [f"{name} {value}" for name, value in list(values.items())[:6]]
    return ", ".join([*first, "..."] if len(values) > 6 else first)
