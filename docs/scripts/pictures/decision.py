"""What are decisions by a predicted risk worth?"""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

from .style import BLUE, GREY, INK, ORANGE, panels, weibull_curves, weibull_ward


def net_benefit() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(1500, seed=4)
    levels = np.linspace(0.01, 0.9, 60)
    right, late = (weibull_curves(scale * factor) for factor in (1.0, 2.0))
    for curves, colour, line, name in (
        (right, BLUE, "-", "the true curves"),
        (late, ORANGE, "--", "curves twice as late"),
    ):
        found = sg.net_benefit(y, curves, 8.0, thresholds=levels)
        ax.plot(levels, found.values, color=colour, ls=line, lw=2, label=name)
    ax.plot(levels, found.treat_all, color=INK, lw=1.2, ls=":", label="treat all")
    ax.axhline(0, color=GREY, lw=1)
    ax.text(0.02, 0.015, "treat none", color=GREY)
    ax.plot([0.3, 0.3], [-0.1, 0.55], color=GREY, lw=0.8)
    ax.text(0.31, 0.5, "threshold=0.3: one number per model", fontsize=8.5)
    ax.set(xlim=(0, 0.9), ylim=(-0.1, 0.55), xlabel="threshold", ylabel="net benefit by day 8")
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.88))
    return figure


ALL = (net_benefit,)
