"""Figures of docs/results/truth.md."""

from __future__ import annotations

from typing import Any

import pandas as pd
from evidence import over_bases
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; markers say the same in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#7A7A7A")
MARKERS = ("o", "s", "^", "D", "v", "P")
AXES = {
    "tau": "mean Kendall's tau with the true order",
    "relative": "mean distance from the true MAE",
}


def _figure(width: float, height: float, columns: int = 2) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.subplots(1, columns)


def _interval(ax: Any, row: Any, measure: str, y: float, k: int, label: str | None) -> None:
    middle, low, high = (row[f"{measure}{end}"] for end in ("", "_low", "_high"))
    ax.errorbar(middle, y, xerr=[[middle - low], [high - middle]], fmt=MARKERS[k],
                color=COLOURS[k], markersize=5, elinewidth=1.2, capsize=2, label=label)  # fmt: skip


def _finish(ax: Any, measure: str, rows: list[str], *, names: bool) -> None:
    ax.set_yticks(range(len(rows)), rows if names else [""] * len(rows), fontsize=9)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(AXES[measure], fontsize=9)
    ax.tick_params(labelsize=9)
    ax.grid(axis="x", color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)
    if measure == "relative":
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def by_metric(reported: dict[str, pd.DataFrame], words: dict[str, str]) -> Figure:
    """Order and size of every metric, with and without a horizon, intervals over bases."""
    tables = {name: over_bases(answers) for name, answers in reported.items()}
    first = next(iter(tables.values())).sort_values("tau", ascending=False)
    order = [metric for metric in first.index if metric in words]
    figure, axes = _figure(8.2, 1.2 + 0.36 * len(order))
    for ax, measure in zip(axes, AXES, strict=True):
        for k, (name, table) in enumerate(tables.items()):
            for y, metric in enumerate(order):
                if metric in table.index:
                    row, at = table.loc[metric], y + 0.26 * (k - 0.5)
                    _interval(ax, row, measure, at, k, name if y == 0 else None)
        _finish(ax, measure, [words[m] for m in order], names=ax is axes[0])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure


def by_kind(answers: pd.DataFrame, words: dict[str, str]) -> Figure:
    """Order and size of some metrics by kind of censoring, intervals over bases."""
    kinds = list(dict.fromkeys(answers["censoring"]))
    figure, axes = _figure(8.2, 1.0 + 0.62 * len(kinds))
    for y, kind in enumerate(kinds):
        table = over_bases(answers[answers["censoring"] == kind])
        for ax, measure in zip(axes, AXES, strict=True):
            for k, (metric, word) in enumerate(words.items()):
                at = y + 0.15 * (k - (len(words) - 1) / 2)
                _interval(ax, table.loc[metric], measure, at, k, word if y == 0 else None)
    for ax, measure in zip(axes, AXES, strict=True):
        _finish(ax, measure, [kind.replace("_", "\n") for kind in kinds], names=ax is axes[0])
    handles, labels = axes[0].get_legend_handles_labels()
    columns = len(words)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False,
                  fontsize=9)  # fmt: skip
    return figure


def by_base(answers: pd.DataFrame, words: dict[str, str]) -> Figure:
    """Order and size of two metrics on every base: a line from the first to the second."""
    means = answers.groupby(["dataset", "metric"])[["tau", "relative"]].mean()
    first, second = words
    gain = means["tau"].unstack()
    bases = (gain[second] - gain[first]).sort_values(ascending=False).index.tolist()
    figure, axes = _figure(8.2, 1.0 + 0.24 * len(bases))
    for ax, measure in zip(axes, AXES, strict=True):
        for y, base in enumerate(bases):
            ends = [means.loc[(base, metric), measure] for metric in words]
            better = ends[1] > ends[0] if measure == "tau" else ends[1] < ends[0]
            ax.plot(ends, [y, y], color="#9ECAE1" if better else "#F4A582", linewidth=2, zorder=1)
            for k, (end, word) in enumerate(zip(ends, words.values(), strict=True)):
                ax.plot(end, y, MARKERS[k], color=COLOURS[k], markersize=5,
                        label=word if y == 0 else None)  # fmt: skip
        _finish(ax, measure, bases, names=ax is axes[0])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure
