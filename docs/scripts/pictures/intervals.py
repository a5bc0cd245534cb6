"""Events that visits find: intervals, and Turnbull's estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

from .style import BLUE, GREY, INK, ORANGE, RED, panels, survival_axes, weibull_curves, weibull_ward


def intervals() -> Any:
    figure, (left, right) = panels(2, height=3.2)
    _, time, _, scale = weibull_ward(150, seed=6)
    seen = sg.visits(time, every=4, jitter=0, missed=0.3, end=24, random_state=1)
    curves = weibull_curves(scale * 1.3)
    some = np.argsort(seen.y.lower)[::19][:8]
    for row, i in enumerate(some):
        low, high = seen.y.lower[i], min(seen.y.upper[i], 30)
        predicted = min(curves.median()[i], 29.5)
        inside = low <= predicted <= high
        left.plot([low, high], [row, row], color=INK, lw=3, solid_capstyle="butt")
        nearest = np.clip(predicted, low, high)
        left.plot([nearest, predicted], [row, row], color=RED, lw=1.2, ls=":")
        left.plot(predicted, row, "o", ms=6, color=BLUE if inside else RED)
    left.set(xlim=(0, 30), yticks=[], xlabel="time", title="hinge: 0 inside, distance outside")
    distribution = sg.Turnbull.fit(seen.y)
    grid = np.linspace(0, 24, 97)
    right.fill_between(grid, distribution.at(grid, "left"), distribution.at(grid, "right"),
        color=GREY, alpha=0.4,
                       lw=0, label="what the data leave open")  # fmt: skip
    right.plot(grid, distribution.at(grid), color=INK, lw=1.8, label="Turnbull's estimate")
    right.plot(grid, curves.at(grid).mean(axis=0), color=ORANGE, lw=2, label="mean predicted curve")
    survival_axes(right, 24)
    right.legend(loc="upper right", fontsize=8)
    return figure


ALL = (intervals,)
