"""The figure of the docs: CPU seconds against number of subjects, one panel per task."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from peers import package_of
from results import Results
from targets import OURS, Cells
from works import WORKS

#: Okabe and Ito's colours and grey; ours is black and thick.
COLOURS = {
    OURS: "#000000",
    "SurvivalEVAL": "#0072B2",
    "scikit-survival": "#E69F00",
    "lifelines": "#009E73",
    "survival (Rust)": "#D55E00",
    "torchsurv": "#56B4E9",
    "R survival": "#CC79A7",
    "riskRegression": "#CC79A7",
    "hazardous": "#999999",
    "pycox": "#F0E442",
    "dcurves": "#6A3D9A",
    "rtichoke": "#8C510A",
}
SHORT = {"survival (Rust)": "survival, Rust", "R survival": "survival, R"}
COLUMNS = 3
TICKS = (
    (1e-4, "0.1 ms"),
    (1e-2, "10 ms"),
    (1, "1 s"),
    (60, "1 min"),
    (3600, "1 h"),
    (86400, "1 day"),
)
TITLES = {"po": "MAE by pseudo-observations"}
#: Works whose picture would repeat another's; the table has them.
NOT_DRAWN = (
    "medians of curves",
    "eight time errors",
    "AUC of curves, 100 times",
    "IBS between grid points",
)
#: Least distance of labels, in decades of the vertical axis.
GAP = 0.8


def points(cells: Cells, who: str) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Measured points, and the extrapolated ones with the last measured before them."""
    known = sorted(
        (n, c.seconds, c.extrapolated) for (w, n), c in cells.items() if w == who and c.seconds
    )
    solid = [(n, s) for n, s, guess in known if not guess]
    dashed = [(n, s) for n, s, guess in known if guess]
    return solid, [*solid[-1:], *dashed] if dashed else []


def spread(heights: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move heights as little as needed so that neighbours keep a distance, inside the limits."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = [heights[i] for i in order]
    for _ in range(200):
        for i in range(1, len(placed)):
            short = gap - (placed[i] - placed[i - 1])
            if short > 1e-9:
                placed[i - 1] -= short / 2
                placed[i] += short / 2
        placed = [min(max(h, low), high) for h in placed]
    result = [0.0] * len(heights)
    for i, height in zip(order, placed, strict=True):
        result[i] = height
    return result


def draw(results: Results, path: Path) -> None:
    """Draw every work that has peers, and write the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn = [work for work in WORKS if work.peers and work.name not in NOT_DRAWN]
    works = [work for work in drawn if work.name in results.works]
    rows = math.ceil(len(works) / COLUMNS)
    settings = {"font.size": 9, "svg.hashsalt": "speed", "axes.linewidth": 0.6}
    with plt.rc_context(settings):
        size = (9.2, 2.35 * rows)
        figure, axes = plt.subplots(
            rows, COLUMNS, figsize=size, sharex=True, sharey=True, squeeze=False
        )
        for work, axis in zip(works, axes.flat, strict=False):
            _panel(axis, work.name, results.works[work.name].cells, (OURS, *work.peers))
        for axis in axes.flat[len(works) :]:
            axis.set_visible(False)
        for column in range(COLUMNS):
            for axis in [axis for axis in axes[:, column] if axis.get_visible()][-1:]:
                axis.set_xlabel("test subjects")
                axis.tick_params(labelbottom=True)
        for axis in axes[:, 0]:
            axis.set_ylabel("CPU seconds")
        figure.tight_layout(h_pad=1.2, w_pad=0.8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
        plt.close(figure)


def _panel(axis: Any, title: str, cells: Cells, everybody: tuple[str, ...]) -> None:
    axis.set(xscale="log", yscale="log", xlim=(140, 1.6e8), ylim=(2e-5, 2e5))
    axis.set_xticks([1e3, 1e4, 1e5, 1e6], ["1k", "10k", "100k", "1M"])
    axis.set_yticks(*zip(*TICKS, strict=True))
    axis.minorticks_off()
    axis.tick_params(labelsize=8, width=0.6, length=2.5)
    axis.grid(color="#e6e6e6", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(TITLES.get(title, title), loc="left", fontsize=9.5, fontweight="bold", pad=4)
    ends = {}
    for who in reversed(everybody):
        solid, dashed = points(cells, who)
        if not solid:
            continue
        ends[who] = _line(axis, who, solid, dashed)
    logs = [math.log10(seconds) for _, seconds in ends.values()]
    heights = spread(logs, GAP, -4.4, 5.1)
    for (who, (n, seconds)), height in zip(ends.items(), heights, strict=True):
        ours = who == OURS
        at = (1.8e6, 10**height)
        axis.annotate(
            SHORT.get(package_of(who), package_of(who)),
            xy=(n, seconds),
            xytext=at,
            va="center",
            fontsize=8,
            fontweight="bold" if ours else "normal",
            color="#000000" if ours else "#333333",
            arrowprops={
                "arrowstyle": "-",
                "color": "#b0b0b0",
                "linewidth": 0.5,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def _line(
    axis: Any, who: str, solid: list[tuple[int, float]], dashed: list[tuple[int, float]]
) -> tuple[int, float]:
    """Draw one package; return where its line ends."""
    from matplotlib import patheffects

    colour, ours = COLOURS[package_of(who)], who == OURS
    # Yellow alone does not show on white.
    outline = [patheffects.withStroke(linewidth=2.4, foreground="#8a8a8a")]
    effects = outline if colour == COLOURS["pycox"] else None
    style = {"color": colour, "linewidth": 2.2 if ours else 1.3, "zorder": 3 if ours else 2}
    axis.plot(*zip(*solid, strict=True), marker="o", markersize=3.2, path_effects=effects, **style)
    if dashed:
        axis.plot(*zip(*dashed, strict=True), linestyle=(0, (2, 2)), path_effects=effects, **style)
    return (dashed or solid)[-1]
