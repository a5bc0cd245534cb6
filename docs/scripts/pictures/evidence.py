"""The reproduction's result in one picture: who ranks well, who is close to the true error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .style import BLUE, GREY, ORANGE, panels

PAGE = Path(__file__).parents[2] / "results" / "paper.md"
SHORT = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "expected")


def read(page: Path = PAGE) -> dict[str, tuple[float, float]]:
    """Mean Kendall's tau and mean relative distance of each column, from the published page."""
    row = re.compile(
        r"^\| (mae_\S+?(?:\([^)]*\))?) \|.*\| (-?[\d.]+) \| \[[^]]*\] \| [\d.]+ \| ([\d.]+)% \|$"
    )
    found = (row.match(line) for line in page.read_text(encoding="utf-8").splitlines())
    return {m[1]: (float(m[2]), float(m[3])) for m in found if m}


#: Where a label stands relative to its point.
AWAY = {
    "po": (6, -3),
    "margin": (7, 1),
    "expected": (-26, 8),
    "ipcw_d": (6, -9),
    "ipcw_t": (-36, -3),
}
AWAY_TAU = {"po": (7, -5), "margin": (-2, -14), "expected": (-58, 2), "ipcw_t": (-42, -4)}


def evidence() -> Any:
    figure, axes = panels(2, height=3.4)
    table = read()
    for ax, suffix, away, floor, title in zip(
        axes,
        ("", "(tau=horizon)"),
        (AWAY, AWAY_TAU),
        (42, 24),
        ("the whole error", "the error up to the horizon"),
        strict=True,
    ):
        for name in SHORT:
            tau, distance = table[f"mae_{name}{suffix}"]
            best = name in ("po", "ipcw_d" if suffix else "margin")
            ax.plot(tau, distance, marker="o", ms=7, color=BLUE if best else GREY)
            spot = away.get(name, (7, -3))
            ax.annotate(name, (tau, distance), spot, textcoords="offset points", fontsize=9)
        ax.set(xlim=(0.45, 0.95), ylim=(floor, 0), title=title)
        ax.set_xlabel("mean Kendall's tau with the truth")
    axes[0].set_ylabel("distance from the true error (%)")
    axes[0].text(0.94, 1.2, "better ↗", ha="right", va="top", color=ORANGE)
    axes[1].text(0.46, 1.0, "better →", ha="left", va="top", color=ORANGE)
    return figure


ALL = (evidence,)
