"""The six panels of the paper's illustration, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.text_tables import number
from . import _style as style

if TYPE_CHECKING:
    from .six_metrics import SixMetricsDisplay

STAR: dict[str, Any] = {"marker": "*", "markersize": 8.5, "linestyle": ""}
CENSORED: dict[str, Any] = {
    "marker": "o",
    "markersize": 5,
    "linestyle": "",
    "markerfacecolor": "white",
}
MEDIAN: dict[str, Any] = {"marker": "v", "markersize": 5.5, "linestyle": ""}


def line(k: int) -> dict[str, Any]:
    """Look of the k-th subject."""
    return {"color": style.COLOURS[k % 7], "linestyle": style.LINES[k % 5], "linewidth": 1.2}


def _mark(d: SixMetricsDisplay, k: int) -> dict[str, Any]:
    return {**(STAR if d.event[k] else CENSORED), "color": style.COLOURS[k % 7], "zorder": 5}


def _curves(ax: Any, d: SixMetricsDisplay, alpha: float = 1.0) -> None:
    for k, curve in enumerate(d.survival):
        ax.plot(d.times, curve, alpha=alpha, **line(k))
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("survival probability")


def mae(ax: Any, d: SixMetricsDisplay) -> None:
    """Horizontal distances between predicted and actual times."""
    _curves(ax, d, 0.55)
    end = float(d.times[-1])
    for k, (predicted, actual) in enumerate(zip(d.predicted, d.surrogate, strict=True)):
        if not np.isfinite(predicted):
            continue
        # Below each other, so that distances do not cover each other.
        height = 0.42 - 0.36 * k / max(len(d.predicted) - 1, 1)
        colour, at = style.COLOURS[k % 7], min(predicted, end)
        ax.plot([at, at], [0.5, height], color=colour, linewidth=0.6, linestyle=":")
        ax.plot([at], [0.5], color=colour, zorder=5, **MEDIAN)
        if np.isfinite(actual):
            ax.plot([at, min(actual, end)], [height] * 2, color=colour, linewidth=2.0, zorder=4)
            ax.plot([min(actual, end)], [height], clip_on=False, **_mark(d, k))
    unit = f" {style.plain(d.unit)}" if d.unit else ""
    ax.set_title(f"(a) MAE: {number(d.values['mae'], 3)}{unit}", loc="left")


def concordance(ax: Any, d: SixMetricsDisplay) -> None:
    """Lines from actual to predicted times; of discordant pairs they cross."""
    end = float(d.times[-1])
    for k, (actual, predicted) in enumerate(zip(d.time, d.predicted, strict=True)):
        if not np.isfinite(predicted):
            continue
        at = min(predicted, end)
        ax.plot([actual, at], [1, 0], **{**line(k), "linewidth": 1.0})
        ax.plot([actual], [1], **_mark(d, k))
        ax.plot([at], [0], color=style.COLOURS[k % 7], zorder=5, clip_on=False, **MEDIAN)
    ax.set_yticks([0, 1], labels=["predicted", "actual"])
    ax.set_ylim(-0.25, 1.25)
    right = sum(pair["concordant"] for pair in d.pairs)
    text = f"{right:g} of {len(d.pairs)} pairs" if d.pairs else "no comparable pair"
    ax.set_title(f"(b) C-index: {number(d.values['harrell'], 3)} ({text})", loc="left")


def brier(ax: Any, d: SixMetricsDisplay) -> None:
    """Area between a curve and what happened, for one subject."""
    rows = np.flatnonzero(d.event)
    k = int(rows[0]) if rows.size else 0
    curve, t, end = d.survival[k], float(d.time[k]), float(d.times[-1])
    colour = style.COLOURS[k % 7]
    ax.plot(d.times, curve, **line(k))
    seen = [1, 1, 0, 0] if d.event[k] else [1, 1]
    ax.plot([0, t, t, end][: len(seen)], seen, color="black", linewidth=1.1)
    before = d.times <= t
    ax.fill_between(d.times, curve, 1, where=before, color=colour, alpha=0.25, linewidth=0)
    if d.event[k]:
        ax.fill_between(d.times, 0, curve, where=~before, color=colour, alpha=0.45, linewidth=0)
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("survival probability")
    ax.set_title(f"(c) IBS: {number(d.values['ibs'], 3)} (shown: {chr(65 + k)})", loc="left")


def likelihood(ax: Any, d: SixMetricsDisplay) -> None:
    """Densities and their height at the event times."""
    ax.set_ylabel("density")
    ax.set_title(f"(d) log-likelihood: {number(d.values['log_likelihood'], 3)}", loc="left")
    if not np.isfinite(d.own_density[d.event]).any():
        why = "step curves\nhave no density" if d.event.any() else "no event"
        ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color=style.GREY)
        ax.set_yticks([])
        return
    middle = (d.times[:-1] + d.times[1:]) / 2
    for k, density in enumerate(d.density):
        ax.plot(middle, density, alpha=0.7, **{**line(k), "linewidth": 1})
        height = d.own_density[k] if d.event[k] else 0.0
        if np.isfinite(height):
            ax.plot([d.time[k]], [height], clip_on=False, **_mark(d, k))
    usual = float(np.nanquantile(d.density, 0.995))
    ax.set_ylim(0, 1.08 * max(usual, float(np.nanmax(d.own_density[d.event]))) or 1.0)
    ax.ticklabel_format(axis="y", scilimits=(-3, 3))


def one_calibration(ax: Any, d: SixMetricsDisplay) -> None:
    """Predictions at one time, in two groups."""
    _curves(ax, d, 0.55)
    ax.axvline(d.at, color="black", linewidth=0.9)
    lines = []
    for g, group in enumerate(d.groups):
        rows, sign = group["rows"], g % 2
        where = np.array([np.interp(d.at, d.times, d.survival[k]) for k in rows])
        colours = [style.COLOURS[k % 7] for k in rows]
        ax.scatter([d.at] * len(rows), where, c=colours, marker="os"[sign], s=26, zorder=5)
        rates = f"predicted {group['predicted']:.2f}, observed {group['observed']:.2f}"
        lines.append(f"{'●■'[sign]} {rates}")
    ax.text(
        0.98, 0.97, "\n".join(lines) or "predictions do not differ", transform=ax.transAxes,
        ha="right", va="top", fontsize="x-small",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1},
    )  # fmt: skip
    p = style.p_relation(d.values["one_calibration"])
    ax.set_title(f"(e) 1-calibration: p {p}", loc="left")


def d_calibration(ax: Any, d: SixMetricsDisplay) -> None:
    """Probabilities at the own times, in two halves."""
    _curves(ax, d, 0.55)
    ax.axhspan(0.5, 1, color=style.GREY, alpha=0.1, linewidth=0)
    for k, s in enumerate(d.own_survival):
        if np.isfinite(s):
            ax.plot([d.time[k]], [s], clip_on=False, **_mark(d, k))
    for height, count in zip((0.03, 0.52), d.bins, strict=True):
        if np.isfinite(count):
            text = f"{count:.2g} of {len(d.subjects)}"
            ax.text(0.02, height, text, transform=ax.transAxes, fontsize="x-small")
    p = style.p_relation(d.values["d_calibration"])
    ax.set_title(f"(f) D-calibration: p {p}", loc="left")


PANELS = (mae, concordance, brier, likelihood, one_calibration, d_calibration)


def entries(d: SixMetricsDisplay) -> list[Any]:
    """Legend: the subjects and the marks."""
    found = []
    for k, subject in enumerate(d.subjects.tolist()):
        what = "event" if d.event[k] else "censored"
        found.append(style.handle(f"{chr(65 + k)}: subject {subject}, {what}", **line(k)))
    grey = {"color": style.GREY}
    found.append(style.handle("predicted median", **grey, **MEDIAN))
    if d.event.any():
        found.append(style.handle("event", **grey, **STAR))
    if not d.event.all():
        found.append(style.handle(f"censored (in a: {d.method})", **grey, **CENSORED))
    return found
