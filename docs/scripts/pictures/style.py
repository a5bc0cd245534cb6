"""How the pictures look: 600 pixels wide, Okabe-Ito colours, white paper on any page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import survgauge as sg

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, GREY, INK = "#56B4E9", "#CC79A7", "#7A7A7A", "#222222"
PALE = "#E6E6E6"

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "survgauge",
    "path.simplify": True,
}
mpl.rcParams.update(RC)

#: The training outcomes of all time-error pages, and a subject censored at 6.
TRAIN = sg.Outcomes([2, 3, 5, 6, 8, 9, 12, 14], [1, 1, 0, 1, 1, 0, 1, 1])
TEST = sg.Outcomes([4, 6, 7, 10], [1, 0, 1, 0])
PREDICTED = np.array([5.0, 7.0, 9.0, 11.0])


def panels(columns: int = 1, height: float = 3.0, **options: Any) -> tuple[Figure, Any]:
    """A figure of 600 pixels with one or more panels in a row."""
    figure = Figure(figsize=(6.0, height), layout="constrained", facecolor="white")
    return figure, figure.subplots(1, columns, **options)


def steps(curve: sg.KaplanMeier, end: float | None = None) -> tuple[Any, Any]:
    """Corners of a step curve from (0, 1) on, for `step(where="post")`."""
    times, values = np.append(0.0, curve.times), np.append(1.0, curve.survival)
    if end is not None and end > times[-1]:
        times, values = np.append(times, end), np.append(values, values[-1])
    return times, values


def survival_axes(ax: Any, end: float, unit: str = "days") -> None:
    ax.set(xlim=(0, end), ylim=(0, 1.05), xlabel=f"time ({unit})", ylabel="probability event-free")


def weibull_ward(n: int, seed: int = 0) -> tuple[sg.Outcomes, Any, Any, Any]:
    """Outcomes with one covariate, true times, the covariate and its scale."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    scale = 10 * np.exp(-0.6 * x)
    t = rng.weibull(1.5, n) * scale
    c = rng.uniform(0, 30, n)
    return sg.Outcomes(np.minimum(t, c), t <= c), t, x, scale


def weibull_curves(scale: Any, shape: float = 1.5, end: float = 40.0) -> sg.SurvivalCurves:
    grid = np.linspace(0, end, 161)
    return sg.SurvivalCurves(grid, np.exp(-((grid / np.asarray(scale)[:, None]) ** shape)))


def save(figure: Figure, path: Path) -> None:
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=100, metadata=metadata)
