"""Figures of an experiment: the paper's panel, the grid over datasets, and the wins.

Each display holds what it draws: `frame()` is the table behind the figure, `plot()` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...metrics.registry import REGISTRY
from ...report.displays import Display
from ...report.displays.description import (
    Axis,
    Bars,
    Chart,
    Mark,
    Panel,
    Points,
    Row,
    Span,
)
from ...report.experiment_words import interval_words, plain_metrics
from . import meta
from .panels import TruthPanel

if TYPE_CHECKING:
    from .results import Results

_TITLE = "Order of the models by each metric, and its distance from the truth"
_CAPTION = (
    "Circles are models, best on top, with their true rank inside; a perfect metric reads 1, 2, 3, "
    "... Bars are the mean distance of a metric from the truth over models."
)
_RANKS = ("truly best model", "second", "third", "other models")
#: More columns than this need a choice; those without settings are shown.
MOST_COLUMNS = 12


def _chosen(results: Results, truth: str | None, metrics: Iterable[str] | None) -> Results:
    """Keep one truth and some metrics; by default those without settings if there are many."""
    if not results.truths:
        raise InputError("no metric of these results has a true counterpart, nothing to draw")
    found = results.select(truth=truth or results.truths[0])
    if metrics is None:
        names = list(dict.fromkeys(found.metrics["metric"]))
        if len(names) > MOST_COLUMNS:
            metrics = plain_metrics(names, truth or results.truths[0])
    return found if metrics is None else found.select(metrics=metrics)


def _without_loss(metric: str) -> str:
    """Label of a metric, a time error by the name of its method alone: "po" for "mae_po"."""
    name, opening, settings = metric.partition("(")
    record = REGISTRY.get(name)
    if record is not None and record.method is not None:
        name = name.partition("_")[2]
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


def _panel_rows(panel: TruthPanel) -> list[dict[str, Any]]:
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
    """Places 0, 1, ... for drawing: tied models stand below each other."""
    places = np.empty(column.size, dtype=int)
    places[np.argsort(column, kind="stable")] = np.arange(column.size)
    return places


def _order(panel: TruthPanel) -> Panel:
    """Models in the order of the truth and of each metric, with their true ranks."""
    signed, true_signed = (
        np.where(panel.lower, values, -values) for values in (panel.mean, panel.true_mean)
    )
    true = _places(true_signed[:, 0])
    known = np.isfinite(signed).all(axis=0)
    columns = [(0, true)] + [(k + 1, _places(signed[:, k])) for k in np.flatnonzero(known).tolist()]
    marks: list[Mark] = [Span("y", -0.5, min(meta.TOP, len(true)) - 0.5, "the best three")]
    marks += [
        Points(
            [k + 1], [len(true) / 2], "soft", names=("undefined",), inside=True, hollow=True, size=0
        )
        for k in np.flatnonzero(~known).tolist()
    ]
    for rank, model in enumerate(np.argsort(true, kind="stable")):
        best = rank < meta.TOP
        marks.append(
            Points(
                [x for x, _ in columns], [places[model] for _, places in columns],
                rank if best else "soft", _RANKS[min(rank, meta.TOP)],
                names=(str(rank + 1),) * len(columns), inside=True, hollow=not best, marker="dot",
                size=13 if best else 10,
            )
        )  # fmt: skip
    ticks = [(0.0, f"true\n{panel.truth}")]
    for k, metric in enumerate(panel.metrics):
        ticks.append((k + 1.0, f"{short(metric)}\nτ {panel.answers.tau[k]:.2f}"))
    names = [panel.models[i] for i in np.argsort(true, kind="stable")]
    return Panel(
        Axis(low=-0.6, high=len(panel.metrics) + 0.6, ticks=tuple(ticks)), Axis(), tuple(marks),
        f"{panel.dataset}, {panel.censoring}", tuple(Row(name) for name in names),
        height=0.9 + 0.26 * len(names),
    )  # fmt: skip


def _distance(panel: TruthPanel) -> Panel:
    """Mean distance of each metric from the truth, with its spread over models."""
    gaps = meta.distances(panel.mean, panel.true_mean)
    height, spread, count = gaps.mean(axis=0), gaps.std(axis=0, ddof=1), len(panel.metrics)
    known = np.isfinite(height)
    top = np.where(known, height, 0.0)
    bars = Bars(
        np.arange(count + 1) + 0.5, 0.0, top, "pale", "mean distance from the truth", gap=0.2
    )
    lines = Points(
        np.arange(1, count + 1)[known], height[known], "soft", "standard deviation over models",
        low=(height - np.minimum(spread, height))[known], high=(height + spread)[known],
        marker="flat",
    )  # fmt: skip
    return Panel(
        Axis(low=-0.6, high=count + 0.6, ticks=()), Axis("distance\nfrom the truth", low=0.0),
        (bars, lines), height=1.0,
    )  # fmt: skip


class GridDisplay(Display):
    """The panels of all semi-synthetic datasets: rows are kinds of censoring, columns datasets.

    Columns of a panel are the truth and the metrics. Circles are the models, best on top; the
    number in a circle is the model's true rank and the three truly best are filled, so that a
    perfect metric reads 1, 2, 3, ... The shaded part holds each metric's best three. Bars are the
    mean distance from the truth over models, with its standard deviation.

    Parameters
    ----------
    results : Results
        Of an experiment.
    truth : str, optional
        Which truth; by default the first.
    metrics : list of str, optional
        Columns.
    datasets, censoring : list of str, optional
        Which datasets; by default all.
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
        self.panels: list[TruthPanel] = chosen.panels
        if not self.panels:
            raise InputError("no complete dataset to draw")

    def rows(self) -> list[dict[str, Any]]:
        """Model, metric, value, rank, true rank, proximity and spread of each dataset."""
        return [row for panel in self.panels for row in _panel_rows(panel)]

    def describe(self) -> Chart:
        """For each kind of censoring the orders of all datasets, and below them the distances."""
        found = {(panel.dataset, panel.censoring): panel for panel in self.panels}
        datasets, kinds = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
        empty = Panel(Axis(), Axis(), ())
        panels = [
            draw(found[dataset, kind]) if (dataset, kind) in found else empty
            for kind in kinds
            for draw in (_order, _distance)
            for dataset in datasets
        ]
        columns = max(len(panel.metrics) for panel in self.panels)
        width = (1.9 + 0.62 * (columns + 1)) * len(datasets)
        return Chart(_TITLE, _CAPTION, tuple(panels), len(datasets), width=width)


class PanelDisplay(GridDisplay):
    """The paper's figure for one semi-synthetic dataset, by default the first.

    Parameters as of `GridDisplay`, with one name for `dataset` and `censoring`.
    """

    def __init__(
        self,
        results: Results,
        dataset: str | None = None,
        censoring: str | None = None,
        truth: str | None = None,
        metrics: Iterable[str] | None = None,
    ) -> None:
        chosen = ([name] if name else None for name in (dataset, censoring))
        super().__init__(results, truth, metrics, *chosen)
        self.panels = self.panels[:1]


class SummaryDisplay(Display):
    """Wins of each metric by kind of censoring, its mean tau and its mean relative distance.

    Parameters as of `GridDisplay`; winners are those among the metrics shown.
    """

    def __init__(
        self, results: Results, truth: str | None = None, metrics: Iterable[str] | None = None
    ) -> None:
        chosen = _chosen(results, truth, metrics)
        table, self._intervals = chosen.summary(), interval_words(p.dataset for p in chosen.panels)
        self._frame = table.sort_values(["total", "tau"], ascending=False, kind="stable")

    def frame(self) -> Any:
        """Table behind the figure, see `Results.summary`; metrics with the most wins first."""
        return self._frame

    def rows(self) -> list[dict[str, Any]]:
        """Return the same as plain dictionaries."""
        return [dict(row) for row in self._frame.reset_index().to_dict("records")]

    def describe(self) -> Chart:
        """Stacked wins, mean tau with its interval, and mean distance; one row per metric."""
        table = self._frame
        kinds = list(table.columns[: table.columns.get_loc("total")])
        rows = tuple(Row(_without_loss(str(name))) for name in table.index)
        at, height = np.arange(len(rows)), 0.8 + 0.24 * len(rows)
        wins: list[Mark] = []
        for i, (_, row) in enumerate(table.iterrows()):
            ends = np.concatenate([[0], np.cumsum(row[kinds].to_numpy(dtype=float))])
            wins += [
                Bars(ends[k : k + 2], [i - 0.32], [i + 0.32], k, kind)
                for k, kind in enumerate(kinds)
                if row[kind]
            ]
        tau = Points(table["tau"], at, "event", left=table["tau_low"], right=table["tau_high"])
        far = Points(100 * table["relative"], at, "event")
        most = max(float(table["total"].max()), 1.0)
        panels = (
            Panel(Axis("Wins by kind of censoring", low=0, high=1.05 * most), Axis(), tuple(wins),
                  rows=rows, height=height),
            Panel(Axis("Mean Kendall's tau"), Axis(), (tau,), rows=rows, height=height),
            Panel(Axis("Mean distance\nfrom the truth (%)", low=0), Axis(), (far,), rows=rows,
                  height=height),
        )  # fmt: skip
        caption = (
            "A metric wins a dataset if it has most of the truly best three models among its best "
            f"three, then by being closest to the truth. {self._intervals}"
        )
        return Chart("Wins and means of the metrics", caption, panels, 3, "y", width=8.5)


DISPLAYS: dict[str, Any] = {
    "grid": GridDisplay,
    "panel": PanelDisplay,
    "summary": SummaryDisplay,
}
