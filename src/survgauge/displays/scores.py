"""The table of metrics as a forest plot, and paired differences between models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, one_of
from ..evaluation import Evaluation
from ..metrics.registry import REGISTRY, Metric
from . import _style as style
from ._base import Display

_BASELINE: dict[str, Any] = {"color": style.BASELINE, "linewidth": 0.9, "linestyle": (0, (3, 2))}
#: More pairs than this make no figure.
_MOST_PAIRS = 45


def metric_unit(metric: Metric, unit: str) -> str:
    """Unit of a metric in the words of the evaluation.

    >>> metric_unit(REGISTRY["mse_po"], "days"), metric_unit(REGISTRY["mae_po"], "")
    ('days^2', 'time')
    """
    if not metric.unit.startswith("time"):
        return metric.unit
    return metric.unit.replace("time", unit) if unit else metric.unit


@dataclass(frozen=True, eq=False)
class MetricsDisplay(Display):
    """All metrics of all models with their intervals: a panel a metric.

    Attributes
    ----------
    values : list of dict
        model, metric, title, value, low, high, direction, unit, baseline (the same loss of the
        reference set's Kaplan-Meier, NaN where there is none), test (whether the value is a
        p-value), and group where subjects were evaluated by group. NaN: undefined, or no interval.
    models : tuple of str
        In the order of the evaluation.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y, metrics=["mae_po"], unit="days")
    >>> d = MetricsDisplay.from_evaluation(ev)
    >>> [(row["model"], round(row["value"], 2), row["unit"]) for row in d.values]
    [('a', 1.12, 'days'), ('b', 2.65, 'days')]
    """

    values: list[dict[str, Any]]
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    confidence: float | None = None
    unit: str = ""

    @classmethod
    def from_evaluation(
        cls,
        ev: Evaluation,
        *,
        metrics: Iterable[str] | str | None = None,
        models: Iterable[str] | str | None = None,
    ) -> MetricsDisplay:
        """Build from an evaluation; `metrics` and `models` choose some by name."""
        known = list(dict.fromkeys(score.metric.name for score in ev.scores))
        names = _chosen("metrics", metrics, known)
        wanted = _chosen("models", models, ev.models)
        values = []
        for score in ev.scores:
            if score.metric.name not in names or score.model not in wanted:
                continue
            row = {
                "model": score.model,
                "metric": score.metric.name,
                "title": score.metric.title,
                "value": score.value,
                "low": score.low,
                "high": score.high,
                "direction": score.metric.direction,
                "unit": metric_unit(score.metric, ev.unit),
                "baseline": score.baseline,
                "test": score.metric.inference == "test",
            }
            values.append(row if score.group is None else {"group": score.group, **row})
        present = {row["metric"] for row in values}
        shown = tuple(name for name in names if name in present)
        if not values:
            raise InputError("this evaluation has no metric to show for the models chosen")
        return cls(values, ev.models, shown, ev.confidence, ev.unit)

    def rows(self) -> list[dict[str, Any]]:
        """One row a model and metric (and group)."""
        return [dict(row) for row in self.values]

    def _entries(self) -> list[tuple[str, Any]]:
        """Rows of a panel: model and group."""
        return list(dict.fromkeys((row["model"], row.get("group")) for row in self.values))

    def _panels(self) -> int:
        return len(self.metrics)

    def _figure(self) -> list[Any]:
        columns = 2 if len(self.metrics) == 4 else min(len(self.metrics), 3)
        rows = -(-len(self.metrics) // columns)
        height = rows * (0.72 + 0.17 * len(self._entries())) + 0.35
        return style.grid(len(self.metrics), columns, (3.6 if columns == 1 else 7.0, height))

    def _draw(self, axes: list[Any], own: bool) -> None:
        look, entries = style.Models(self.models, 18), self._entries()
        labels = [
            look.names[model] + ("" if group is None else f" · {style.plain(group, 10)}")
            for model, group in entries
        ]
        at = {entry: k for k, entry in enumerate(entries)}
        for ax, metric in zip(axes, self.metrics, strict=True):
            rows = [row for row in self.values if row["metric"] == metric]
            missing = dict.fromkeys(at, "n/a")
            for row in rows:
                entry = (row["model"], row.get("group"))
                if np.isinf(row["value"]):
                    missing[entry] = "∞" if row["value"] > 0 else "−∞"
                elif np.isfinite(row["value"]):
                    del missing[entry]
                    kind = {"markersize": 4, **look.marker(row["model"])}
                    style.whiskers(ax, row["value"], row["low"], row["high"], at[entry], **kind)
            for entry, text in missing.items():
                ax.annotate(
                    text, (0.02, at[entry]), xycoords=("axes fraction", "data"), va="center",
                    color=style.GREY, fontsize="x-small",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
            if len(missing) == len(at):
                ax.set_xticks([])
            self._draw_baseline(ax, rows)
            style.names_on_rows(ax, labels)
            place = ax.get_subplotspec()
            if own and place is not None and not place.is_first_col():
                ax.tick_params(labelleft=False)
            ax.grid(axis="y", color="#E6E6E6", linewidth=0.6, zorder=0)
            ax.set_axisbelow(True)
            ax.margins(x=0.08)
            if len(missing) < len(at):
                ax.locator_params(axis="x", nbins=4)
            ax.set_title(_heading(rows[0]), loc="left", fontsize="small")
        style.legend(axes, own, self._legend())

    def _draw_baseline(self, ax: Any, rows: list[dict[str, Any]]) -> None:
        known = {row["baseline"] for row in rows if np.isfinite(row["baseline"])}
        if len(known) == 1:  # groups have baselines of their own
            ax.axvline(known.pop(), **_BASELINE)
        if rows[0]["test"]:
            ax.axvline(0.05, color=style.GREY, linewidth=0.8, linestyle=":")
            ax.set_xlim(-0.03, 1.03)

    def _legend(self) -> list[Any]:
        entries = []
        if self.confidence is not None:
            label = f"value with {self.confidence:.0%} interval"
            entries.append(style.handle(label, color="black", marker="o"))
        if any(np.isfinite(row["baseline"]) for row in self.values):
            entries.append(style.handle("Kaplan-Meier (reference)", **_BASELINE))
        if any(row["test"] for row in self.values):
            dots = {"color": style.GREY, "linewidth": 0.8, "linestyle": ":"}
            entries.append(style.handle("p = 0.05", **dots))
        better = {row["direction"] for row in self.values if not row["test"]}
        for direction, arrow in (("lower", "←"), ("higher", "→")):
            if direction in better:
                # The sign itself as the marker; matplotlib takes short texts between dollars.
                mark = {"linestyle": "", "marker": f"${arrow}$", "markersize": 8, "color": "black"}
                entries.append(style.handle(f"{direction} is better", **mark))
        return entries


@dataclass(frozen=True, eq=False)
class DifferencesDisplay(Display):
    """Differences between all pairs of models on the same subjects, for one metric.

    Attributes
    ----------
    values : list of dict
        As from `Evaluation.comparisons`, and better (the name of the model with the better value,
        or nothing). The picture has the limits that hold for all pairs together.
    direction : {"lower", "higher"}
        Which values of the metric are better.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8], [1, 0, 1, 1])
    >>> ev = evaluate({"a": [3, 5, 6, 9], "b": [5, 5, 5, 5]}, y, metrics=["mae_po"], unit="days")
    >>> [row] = DifferencesDisplay.from_evaluation(ev).values
    >>> round(row["difference"], 2), row["better"]
    (-1.54, 'a')
    """

    values: list[dict[str, Any]]
    metric: str
    title: str
    direction: str
    models: tuple[str, ...]
    confidence: float = 0.95
    unit: str = ""

    @classmethod
    def from_evaluation(
        cls, ev: Evaluation, *, metric: str | None = None, against: str | None = None
    ) -> DifferencesDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        metric : str, optional
            By default mae_po where it was computed, else the first that can be compared.
        against : str, optional
            Only differences from this model, which then is `model_b`.
        """
        pairs = ev.comparisons()
        known = list(dict.fromkeys(row["metric"] for row in pairs))
        if len(ev.models) < 2:
            raise InputError("differences need at least two models; this evaluation has one")
        if not known:
            raise InputError("no metric of this evaluation has values of two models to compare")
        if metric is None:
            metric = "mae_po" if "mae_po" in known else known[0]
        one_of("metric", metric, known)
        pairs = [row for row in pairs if row["metric"] == metric]
        if against is not None:
            one_of("against", against, ev.models)
            pairs = [_facing(row, against) for row in pairs if against in _names(row)]
            if not pairs:
                raise InputError(f"metric {metric!r} has no value for {against!r} to compare with")
        entry = REGISTRY[metric]
        values = [{**row, "better": _better(row, entry.direction)} for row in pairs]
        level, unit = ev.confidence or 0.95, metric_unit(entry, ev.unit)
        return cls(values, metric, entry.title, entry.direction, ev.models, level, unit)

    def rows(self) -> list[dict[str, Any]]:
        """One row a pair (and group)."""
        return [dict(row) for row in self.values]

    def _shown(self) -> list[dict[str, Any]]:
        """Pairs that are drawn: all, or where they are very many those of the best model."""
        if len(self.values) <= _MOST_PAIRS:
            return self.values
        wins = Counter(row["better"] for row in self.values)
        best = max(self.models, key=lambda model: wins[model])
        return [row for row in self.values if best in _names(row)]

    def _figure(self) -> list[Any]:
        return style.grid(1, 1, (5.4, 1.35 + 0.2 * len(self._shown())))

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, names, rows = axes[0], style.short_names(self.models, 16), self._shown()
        labels = []
        for k, row in enumerate(rows):
            clear = row["p_holm"] < 1 - self.confidence
            kind = {"color": style.EVENT if clear else style.GREY, "marker": "o"}
            face = kind["color"] if clear else "white"
            value, low, high = _reach(row)
            style.whiskers(ax, value, low, high, k, face=face, **kind)
            group = "" if row.get("group") is None else f" · {style.plain(row['group'], 10)}"
            labels.append(f"{names[row['model_a']]} − {names[row['model_b']]}{group}")
            ax.annotate(
                f"p {style.p_relation(row['p_holm'])}", (1.01, k), va="center",
                xycoords=("axes fraction", "data"), fontsize="x-small",
                color="black" if clear else style.GREY,
            )  # fmt: skip
        style.names_on_rows(ax, labels)
        ax.axvline(0, color="black", linewidth=0.8)
        ends = np.array([_reach(row) for row in rows])
        reach = float(np.max(np.abs(ends[np.isfinite(ends)]), initial=0.0)) or 1.0
        ax.set_xlim(-1.08 * reach, 1.08 * reach)
        unit = f" ({style.plain(self.unit)})" if self.unit else ""
        sides = ("first better", "second better")
        left, right = sides if self.direction == "lower" else sides[::-1]
        ax.set_xlabel(f"← {left}     difference in {self.metric}{unit}     {right} →")
        title = style.plain(self.title, 60)
        if len(rows) < len(self.values):
            title += f"\n{len(rows)} of {len(self.values)} pairs: those of the best model"
        ax.set_title(title, loc="left")
        dot = {"linestyle": "-", "marker": "o"}
        entries = [
            style.handle(f"clear: Holm-adjusted p below {1 - self.confidence:.2g}",
                         color=style.EVENT, **dot),
            style.handle("not clear", color=style.GREY, markerfacecolor="white", **dot),
        ]  # fmt: skip
        style.legend(axes, own, entries)


def _chosen(argument: str, wanted: Iterable[str] | str | None, known: Iterable[str]) -> list[str]:
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        one_of(argument, name, known)
    return names


def _names(row: dict[str, Any]) -> tuple[str, str]:
    return row["model_a"], row["model_b"]


def _reach(row: dict[str, Any]) -> tuple[float, float, float]:
    """A difference with the limits that belong to its adjusted p-value."""
    return row["difference"], row["low_simultaneous"], row["high_simultaneous"]


def _facing(row: dict[str, Any], model: str) -> dict[str, Any]:
    """Turn a pair round so that `model` comes second."""
    if row["model_b"] == model:
        return row
    a, b = _names(row)
    turned = {"difference": -row["difference"]}
    for low, high in (("low", "high"), ("low_simultaneous", "high_simultaneous")):
        turned |= {low: -row[high], high: -row[low]}
    return {**row, "model_a": b, "model_b": a, **turned}


def _better(row: dict[str, Any], direction: str) -> str:
    gap = row["difference"] if direction == "lower" else -row["difference"]
    return row["model_a"] if gap < 0 else row["model_b"] if gap > 0 else ""


def _heading(row: dict[str, Any]) -> str:
    """Name of a metric with what to look for."""
    if row["test"]:
        return f"{row['metric']} (p-value)"
    unit = f", {style.plain(row['unit'])}" if row["unit"] else ""
    return f"{row['metric']}{unit} {'←' if row['direction'] == 'lower' else '→'}"
