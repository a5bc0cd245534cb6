"""Figures of an experiment: the paper's panel, the grid over data sets, winners, critical ranks.

Each display holds what it draws: `frame()` is the table behind the figure, `plot()` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.extras import need
from ..displays import Display, description
from ..errors import InputError
from ..metrics.registry import REGISTRY
from . import meta
from .comparisons import CriticalDifference
from .panels import TruthPanel

if TYPE_CHECKING:
    from .results import Results

# Okabe and Ito's colours, told apart by colour-blind readers; numbers say the same in print.
_TOP = ("#0072B2", "#E69F00", "#009E73")
_BAR, _BOX, _OPEN = "#D0D0D0", "#B2182B", "#6B6B6B"
_MEASURED = {
    "relative": "relative distance from the truth",
    "proximity": "distance from the truth",
    "tau": "Kendall's tau",
    "overlap": "agreement on the best three",
}
#: More columns than this need a choice; those without settings are shown.
MOST_COLUMNS = 12


def _figure(width: float, height: float) -> Any:
    # Not through pyplot: nothing is left open, and no window system is needed.
    return need("matplotlib.figure", "plot()", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )


def _chosen(results: Results, truth: str | None, metrics: Iterable[str] | None) -> Results:
    """Keep one truth and some metrics; by default those without settings if there are many."""
    if not results.truths:
        raise InputError("no metric of these results has a true counterpart, nothing to draw")
    found = results.select(truth=truth or results.truths[0])
    if metrics is None:
        names = list(dict.fromkeys(found.metrics["metric"]))
        if len(names) > MOST_COLUMNS:
            metrics = [name for name in names if "(" not in name] or names
    return found if metrics is None else found.select(metrics=metrics)


def _without_loss(metric: str) -> str:
    """Label of a metric, a time error by the name of its method alone: "po" for "mae_po"."""
    name, opening, settings = metric.partition("(")
    record = REGISTRY.get(name)
    if record is not None and record.method is not None:
        name = record.method.name
    return f"{name}{opening}{settings}"


def short(metric: str) -> str:
    """Name of a metric as a column heading: settings on lines of their own.

    >>> print(short("mae_po(tail=hold, weighted=false)"))
    po
    tail=hold
    unweighted
    """
    name, _, settings = _without_loss(metric).partition("(")
    parts = [part for part in settings.rstrip(")").split(", ") if part]
    return "\n".join([name, *("unweighted" if p == "weighted=false" else p for p in parts)])


class PanelDisplay:
    """The paper's figure for one semi-synthetic data set.

    Columns are the truth and the metrics. Circles (left axis) are the models, best on top; the
    number in a circle is the model's true rank and the three truly best are filled, so that a
    perfect metric reads 1, 2, 3, ... Bars (right axis) are the mean distance from the truth over
    models, with its standard deviation. The box holds each metric's best three.

    Parameters
    ----------
    results : Results
        Of an experiment.
    dataset, censoring : str, optional
        Which data set; by default the first.
    truth : str, optional
        Which truth; by default the first.
    metrics : list of str, optional
        Columns.
    """

    def __init__(
        self,
        results: Results,
        dataset: str | None = None,
        censoring: str | None = None,
        truth: str | None = None,
        metrics: Iterable[str] | None = None,
    ) -> None:
        panels = [
            panel
            for panel in _chosen(results, truth, metrics).panels
            if dataset in (None, panel.dataset) and censoring in (None, panel.censoring)
        ]
        if not panels:
            raise InputError(f"no results for dataset {dataset!r} with censoring {censoring!r}")
        self.panel: TruthPanel = panels[0]

    def frame(self) -> Any:
        """Table behind the figure: model, metric, value, rank, true rank, proximity, spread."""
        import pandas as pd

        return pd.DataFrame(panel_rows(self.panel))

    def plot(self, ax: Any = None) -> Any:
        """Draw; returns the figure."""
        panel = self.panel
        if ax is None:
            width = 2.2 + 0.75 * (len(panel.metrics) + 1)
            ax = _figure(width, 1.7 + 0.34 * len(panel.models)).subplots()
        draw_panel(ax, panel)
        return ax.figure


def panel_rows(panel: TruthPanel) -> list[dict[str, Any]]:
    """Rows of the table behind a panel."""
    gaps = meta.distances(panel.mean, panel.true_mean)
    rank, true_rank = meta.ranks(panel.mean, panel.lower), meta.ranks(panel.true_mean, panel.lower)
    return [
        {
            **panel.names,
            "metric": metric,
            "model": model,
            "value": panel.mean[i, k],
            "true_value": panel.true_mean[i, k],
            "rank": rank[i, k],
            "true_rank": true_rank[i, k],
            "proximity": gaps[:, k].mean(),
            "spread": gaps[:, k].std(ddof=1),
        }
        for k, metric in enumerate(panel.metrics)
        for i, model in enumerate(panel.models)
    ]


def _places(column: Any) -> Any:
    """Places 1, 2, ... for drawing: tied models stand below each other."""
    places = np.empty(column.size)
    places[np.argsort(column, kind="stable")] = np.arange(1, column.size + 1)
    return places


def draw_panel(ax: Any, panel: TruthPanel, *, names: bool = True, heading: bool = True) -> None:
    """Draw a panel on given axes."""
    count, width = len(panel.models), len(panel.metrics)
    gaps = meta.distances(panel.mean, panel.true_mean)
    signed = np.where(panel.lower, panel.mean, -panel.mean)
    true = _places(np.where(panel.lower, panel.true_mean, -panel.true_mean)[:, 0])
    _draw_bars(ax, gaps, width)
    circles = ax.twinx()
    columns = [true, *(_places(signed[:, k]) for k in range(width))]
    for x, places in enumerate(columns):
        if x and np.isnan(signed[:, x - 1]).any():
            circles.text(x, (count + 1) / 2, "undefined", rotation=90, ha="center", va="center")
            continue
        for i in range(count):
            _draw_model(circles, x, places[i], int(true[i]))
    _draw_box(circles, width, min(meta.TOP, count))
    order = np.argsort(true, kind="stable")
    circles.set_ylim(count + 0.7, 0.3)
    circles.set_yticks(range(1, count + 1), [panel.models[i] for i in order], fontsize=8)
    circles.yaxis.tick_left()
    circles.set_zorder(2)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.set_ylabel("distance from the truth", fontsize=8)
    ax.tick_params(labelsize=8)
    circles.tick_params(axis="y", length=0)
    labels = [f"true\n{panel.truth}"]
    for k, metric in enumerate(panel.metrics):
        labels.append(f"{short(metric)}\nτ {panel.answers.tau[k]:.2f}")
    ax.set_xticks(range(width + 1), labels if names else [""] * (width + 1), fontsize=8)
    ax.set_xlim(-0.6, width + 0.6)
    if heading:
        ax.set_title(f"{panel.dataset}, {panel.censoring}", fontsize=10)
    for place in (ax, circles):
        place.spines["top"].set_visible(False)


def _draw_bars(ax: Any, gaps: Any, width: int) -> None:
    x, height = np.arange(1, width + 1), gaps.mean(axis=0)
    spread = gaps.std(axis=0, ddof=1)
    known = np.isfinite(height)
    style = {"elinewidth": 1.0, "ecolor": "#8A8A8A"}
    ax.bar(x[known], height[known], 0.82, color=_BAR, yerr=np.minimum(spread, height)[known],
           capsize=3, error_kw=style)  # fmt: skip
    top = (height + spread)[known].max(initial=0.0)
    ax.set_ylim(0, 1.25 * top if top > 0 else 1.0)


def _draw_model(ax: Any, x: int, place: float, true_rank: int) -> None:
    best = true_rank <= meta.TOP
    size = 17.0 - 5.0 * min(true_rank - 1, 6) / 6
    ax.plot(
        x,
        place,
        "o",
        markersize=size,
        markerfacecolor=_TOP[true_rank - 1] if best else "white",
        markeredgecolor=_TOP[true_rank - 1] if best else _OPEN,
        markeredgewidth=1.2,
    )
    colour = "white" if best and true_rank != 2 else "black"
    weight = "bold" if best else "normal"
    ax.text(x, place, str(true_rank), ha="center", va="center_baseline", fontsize=8,
            color=colour, weight=weight)  # fmt: skip


def _draw_box(ax: Any, width: int, top: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner, size = (-0.44, 0.56), (width + 0.88, top - 0.12)
    style = "round,pad=0,rounding_size=0.25"
    box = FancyBboxPatch(corner, *size, boxstyle=style, fill=False, edgecolor=_BOX, linewidth=1.6,
                         zorder=1)  # fmt: skip
    box.set_mutation_aspect(1.0)
    ax.add_patch(box)


class GridDisplay:
    """The panels of all semi-synthetic data sets: rows are kinds of censoring, columns data sets.

    Parameters as of `PanelDisplay`; `datasets` and `censoring` choose some.
    """

    def __init__(
        self,
        results: Results,
        truth: str | None = None,
        metrics: Iterable[str] | None = None,
        datasets: Iterable[str] | None = None,
        censoring: Iterable[str] | None = None,
    ) -> None:
        chosen = _chosen(results, truth, metrics).select(datasets=datasets, censoring=censoring)
        self.panels = {(panel.dataset, panel.censoring): panel for panel in chosen.panels}
        if not self.panels:
            raise InputError("no complete data set to draw")
        self.datasets = list(dict.fromkeys(d for d, _ in self.panels))
        self.kinds = list(dict.fromkeys(c for _, c in self.panels))

    def frame(self) -> Any:
        """Table behind the figure, see `PanelDisplay.frame`."""
        import pandas as pd

        return pd.DataFrame([row for panel in self.panels.values() for row in panel_rows(panel)])

    def plot(self) -> Any:
        """Draw; returns the figure."""
        models = max(len(panel.models) for panel in self.panels.values())
        columns = max(len(panel.metrics) for panel in self.panels.values())
        width, height = 1.9 + 0.62 * (columns + 1), 1.5 + 0.30 * models
        figure = _figure(width * len(self.datasets), height * len(self.kinds))
        axes = figure.subplots(len(self.kinds), len(self.datasets), squeeze=False)
        for i, kind in enumerate(self.kinds):
            for j, dataset in enumerate(self.datasets):
                panel = self.panels.get((dataset, kind))
                if panel is None:
                    axes[i, j].set_axis_off()
                else:
                    draw_panel(axes[i, j], panel)
        return figure


class SummaryDisplay:
    """Wins of each metric by kind of censoring, with its mean tau and mean relative distance.

    Parameters as of `PanelDisplay`; winners are those among the metrics shown.
    """

    def __init__(
        self, results: Results, truth: str | None = None, metrics: Iterable[str] | None = None
    ) -> None:
        self._frame = _chosen(results, truth, metrics).summary()

    def frame(self) -> Any:
        """Table behind the figure, see `Results.summary`."""
        return self._frame

    def plot(self, ax: Any = None) -> Any:
        """Draw; returns the figure."""
        table = self._frame
        kinds = list(table.columns[: table.columns.get_loc("total") + 1])
        rows, columns = len(table), len(kinds) + 2
        if ax is None:
            ax = _figure(2.4 + 1.05 * columns, 0.9 + 0.34 * rows).subplots()
        most = max(float(table[kinds[:-1]].to_numpy().max()), 1.0)
        for i, (_, row) in enumerate(table.iterrows()):
            for j, kind in enumerate(kinds):
                share = float(row[kind]) / (
                    most if kind != "total" else max(table["total"].max(), 1)
                )
                shade = np.array([0.0, 0.447, 0.698]) * share + (1 - share)
                ax.add_patch(_square(j, i, tuple(shade)))
                ax.text(j, i, str(int(row[kind])), ha="center", va="center", fontsize=9,
                        color="white" if share > 0.6 else "black")  # fmt: skip
            for j, text in ((len(kinds), f"{row['tau']:.2f}"), (len(kinds) + 1, _percent(row))):
                ax.text(j, i, text, ha="center", va="center", fontsize=9)
        heads = [*(kind.replace("_", "\n") for kind in kinds), "mean τ", "mean\ndistance"]
        ax.set_xticks(range(columns), heads, fontsize=8)
        ax.set_yticks(range(rows), [_without_loss(name) for name in table.index], fontsize=9)
        ax.set_xlim(-0.5, columns - 0.5)
        ax.set_ylim(rows - 0.5, -0.5)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        return ax.figure


def _percent(row: Any) -> str:
    return "-" if np.isnan(row["relative"]) else f"{100 * row['relative']:.0f} %"


def _square(x: int, y: int, colour: tuple[float, ...]) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=colour, edgecolor="#CCCCCC",
                     linewidth=0.5)  # fmt: skip


class CriticalDisplay(Display):
    """Mean ranks of the metrics over data sets; bars join those that do not differ significantly.

    Parameters as of `PanelDisplay`, and `measure` and `alpha` of `Results.critical_difference`.
    """

    def __init__(
        self,
        results: Results,
        measure: str = "relative",
        truth: str | None = None,
        metrics: Iterable[str] | None = None,
        alpha: float = 0.05,
    ) -> None:
        self.measure = measure
        chosen = _chosen(results, truth, metrics)
        self.result: CriticalDifference = chosen.critical_difference(measure, alpha=alpha)

    def rows(self) -> list[dict[str, Any]]:
        """Mean ranks, best first."""
        ranks = zip(self.result.metrics, np.asarray(self.result.ranks).tolist(), strict=True)
        ordered = sorted(ranks, key=lambda pair: pair[1])
        return [{"metric": metric, "rank": rank} for metric, rank in ordered]

    def describe(self) -> description.Chart:
        """One row per metric, best first; bars join groups without a significant difference."""
        found, rows = self.result, self.rows()
        ranks = [row["rank"] for row in rows]
        place = {row["metric"]: k for k, row in enumerate(rows)}
        marks: list[description.Mark] = [
            description.Points(ranks, list(range(len(rows))), "event", "mean rank", size=7)
        ]
        for k, group in enumerate(found.groups()):
            at = max(ranks) + 0.25 + 0.12 * k
            ends = [place[group[0]], place[group[-1]]]
            label = "no significant difference"
            marks.append(description.Line([at, at], ends, "ink", label, width=2.5))
        p = description.p_relation(found.p_value)
        measured = f"Mean rank by {_MEASURED[self.measure]} over {found.blocks} data sets"
        panel = description.Panel(
            description.Axis(f"{measured} (1: best)"),
            description.Axis(),
            tuple(marks),
            f"Friedman p {p}; critical difference {found.distance:.2f} at level {found.alpha:g}",
            tuple(description.Row(row["metric"]) for row in rows),
            height=1.1 + 0.28 * len(rows),
        )
        caption = "Bars join metrics whose mean ranks do not differ significantly (Nemenyi's test)."
        return description.Chart("Mean ranks of the metrics", caption, (panel,), width=7.0)


DISPLAYS: dict[str, Any] = {
    "grid": GridDisplay,
    "panel": PanelDisplay,
    "summary": SummaryDisplay,
    "critical": CriticalDisplay,
}
