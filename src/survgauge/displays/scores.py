"""The table of metrics as a forest plot, and paired differences between models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, one_of
from ..evaluation import Evaluation
from ..evaluation.verdict import judged_by
from ..evaluation.when import Column, clock, column_of, titled
from ..metrics.registry import REGISTRY, Metric
from ._base import Display
from .description import (
    Axis,
    Chart,
    Mark,
    Model,
    Panel,
    Points,
    Row,
    Rule,
    p_relation,
    positions,
    short_name,
)

_NAN = float("nan")
#: More pairs than this make no figure.
_MOST_PAIRS = 21


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
    """All metrics of all models with their intervals: one panel per metric (and time).

    Attributes
    ----------
    values : list of dict
        model, metric, time, until, title, value, low, high, direction, unit, baseline (the same
        loss of the reference set's Kaplan-Meier, NaN where there is none), test (whether the value
        is a p-value), and group where subjects were evaluated by group. NaN: undefined, or no
        interval.
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
        values = [
            _value(score.row(), ev.unit, score.baseline)
            for score in ev.scores
            if score.metric.name in names and score.model in wanted
        ]
        if not values:
            raise InputError("this evaluation has no metric to show for the models chosen")
        found = {row["metric"] for row in values}
        shown = tuple(name for name in names if name in found)
        return cls(values, ev.models, shown, ev.confidence, ev.unit)

    @classmethod
    def from_record(cls, record: dict[str, Any], group: Any = None) -> MetricsDisplay:
        """Build from the plain data of `Evaluation.to_dict`, for one group where there are any."""
        unit = record.get("unit") or ""
        values = []
        for row in record["metrics"]:
            if row.get("group") == group:
                plain = {k: v for k, v in row.items() if k != "group"}
                plain |= {k: _float(row[k]) for k in ("value", "low", "high", "skill")}
                rest = 1 - plain["skill"]
                values.append(_value(plain, unit, plain["value"] / rest if rest > 0 else _NAN))
        names = dict.fromkeys(row["metric"] for row in values)
        return cls(values, tuple(record["models"]), tuple(names), record["confidence"], unit)

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and metric (and group)."""
        return [dict(row) for row in self.values]

    @property
    def columns(self) -> list[Column]:
        """Metrics with the times that they are read at, a panel each."""
        found = dict.fromkeys(map(column_of, self.values))
        return sorted(found, key=lambda column: self.metrics.index(column[0]))

    def _entries(self) -> list[tuple[str, Any]]:
        """Rows of a panel: model and group."""
        return list(dict.fromkeys((row["model"], row.get("group")) for row in self.values))

    def describe(self) -> Chart:
        """One panel per metric (and time), one row per model (and group)."""
        count = len(self.columns)
        columns = 2 if count == 4 else min(count, 3)
        return Chart(
            "Metric with interval",
            "Each dot is a value, and each line its interval.",
            tuple(self._panel(column) for column in self.columns),
            columns,
            "y",
            3.6 if columns == 1 else 7.0,
        )

    def _panel(self, column: Column) -> Panel:
        entries, place = self._entries(), positions(self.models)
        rows = {(r["model"], r.get("group")): r for r in self.values if column_of(r) == column}
        one, metric = next(iter(rows.values())), column[0]
        marks: list[Mark] = []
        if self.confidence is not None:
            label = f"value with {self.confidence * 100:g} % interval"
            marks.append(Points([], [], "ink", label, left=[], right=[]))
        for k, entry in enumerate(entries):
            row = rows.get(entry)
            if row is not None and np.isfinite(row["value"]):
                marks.append(
                    Points([row["value"]], [k], place[row["model"]], left=[row["low"]],
                           right=[row["high"]], names=(_with_skill(row),))
                )  # fmt: skip
        known = {row["baseline"] for row in rows.values() if np.isfinite(row["baseline"])}
        if len(known) == 1:  # groups have baselines of their own
            marks.append(Rule("x", known.pop(), "Kaplan-Meier (reference)", "baseline"))
        if one["test"]:
            marks.append(Rule("x", 0.05, "p = 0.05", dash="dotted"))
        low, high = (-0.03, 1.03) if one["test"] else (None, None)
        unit = one["unit"] if one["unit"] != "time" else "in units of time"
        known_by = REGISTRY[metric]
        if known_by.target is not None:
            marks.append(Rule("x", known_by.target, f"best: {known_by.target:g}", dash="dotted"))
        # Beside the title of the axis the time would not fit into a third of the width.
        when = one["title"].removeprefix(known_by.title).strip()
        better = f"{known_by.better}, {when}" if when else known_by.better
        return Panel(
            Axis(known_by.title, "p-value" if one["test"] else unit, low, high),
            Axis(),
            tuple(marks),
            when if one["test"] else better,
            tuple(_entry(entry, rows.get(entry)) for entry in entries),
            height=0.74 + 0.17 * len(entries),
            note=f"{known_by.about} {better[0].upper()}{better[1:]} ({metric}).".lstrip(),
        )


@dataclass(frozen=True, eq=False)
class DifferencesDisplay(Display):
    """Differences between all pairs of models on the same subjects, for one metric.

    Attributes
    ----------
    values : list of dict
        As from `Evaluation.comparisons`, and better (the name of the model with the better value,
        or nothing). The picture has the limits and p-values that hold for all pairs together.
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
        cls,
        ev: Evaluation,
        *,
        metric: str | None = None,
        against: str | None = None,
        time: float | None = None,
    ) -> DifferencesDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        metric : str, optional
            By default the first that people judge by; see `Evaluation`.
        against : str, optional
            Only differences from this model, which then is `model_b`.
        time : float, optional
            Time of interest of the metric; by default the first.
        """
        pairs = ev.comparisons()
        known = list(dict.fromkeys(row["metric"] for row in pairs))
        if len(ev.models) < 2:
            raise InputError("differences need at least two models; this evaluation has one")
        if not known:
            raise InputError("no metric of this evaluation has values of two models to compare")
        if metric is None:
            metric = judged_by(known)[0]
        one_of("metric", metric, known)
        times = list(dict.fromkeys(row["time"] for row in pairs if row["metric"] == metric))
        if time is not None and time not in times:
            known = [clock(one) for one in times if one is not None]
            raise InputError(
                f"time must be one that {metric} was read at ({', '.join(known) or 'none'}); got "
                f"{time!r}"
            )
        at = times[0] if time is None else time
        pairs = [row for row in pairs if column_of(row) == (metric, at)]
        if against is not None:
            one_of("against", against, ev.models)
            pairs = [_facing(row, against) for row in pairs if against in _names(row)]
            if not pairs:
                raise InputError(f"metric {metric!r} has no value for {against!r} to compare with")
        return cls._of(pairs, ev.models, ev.confidence, ev.unit)

    @classmethod
    def from_record(
        cls, record: dict[str, Any], metric: str, group: Any = None, time: float | None = None
    ) -> DifferencesDisplay:
        """Build from the plain data of `Evaluation.to_dict`, for one group (and time)."""
        numbers: tuple[str, ...] = ("difference", "low", "high")
        numbers += ("low_simultaneous", "high_simultaneous", "p_simultaneous")
        pairs = [
            {k: v for k, v in row.items() if k != "group"} | {k: _float(row[k]) for k in numbers}
            for row in record["comparisons"]
            if (row.get("group"), *column_of(row)) == (group, metric, time)
        ]
        models = tuple(record["models"])
        return cls._of(pairs, models, record["confidence"], record.get("unit") or "")

    @classmethod
    def _of(
        cls,
        pairs: list[dict[str, Any]],
        models: tuple[str, ...],
        confidence: float | None,
        unit: str,
    ) -> DifferencesDisplay:
        entry = REGISTRY[pairs[0]["metric"]]
        values = [{**row, "better": _better(row, entry.direction)} for row in pairs]
        level, title = confidence or 0.95, titled(pairs[0], unit)
        unit = metric_unit(entry, unit)
        return cls(values, entry.name, title, entry.direction, models, level, unit)

    def rows(self) -> list[dict[str, Any]]:
        """One row per pair (and group)."""
        return [dict(row) for row in self.values]

    def _shown(self) -> list[dict[str, Any]]:
        """Pairs that are drawn: all, or where they are very many those of the best model."""
        if len(self.values) <= _MOST_PAIRS:
            return self.values
        wins = Counter(row["better"] for row in self.values)
        best = max(self.models, key=lambda model: wins[model])
        return [row for row in self.values if best in _names(row)]

    def describe(self) -> Chart:
        """One row per pair of models."""
        rows = self._shown()
        ends = np.array([_reach(row) for row in rows])
        clear = np.array([row["p_simultaneous"] < 1 - self.confidence for row in rows])
        reach = float(np.max(np.abs(ends[np.isfinite(ends)]), initial=0.0)) or 1.0
        level = f"adjusted p below {1 - self.confidence:.2g}"
        marks: list[Mark] = [Rule("x", 0.0, role="ink", dash="solid")]
        for chosen, role, label in (
            (clear, "event", f"clear: {level}"),
            (~clear, "soft", "not clear"),
        ):
            at = np.flatnonzero(chosen)
            value, low, high = ends[at].T
            names = tuple(f"{rows[k]['model_a']} − {rows[k]['model_b']}" for k in at)
            marks.append(
                Points(value, at, role, label, left=low, right=high, names=names,
                       hollow=role == "soft", marker="dot")
            )  # fmt: skip
        first = "first" if self.direction == "lower" else "second"
        side = f"left of 0 the {first} model is better"
        unit = self.unit if self.unit != "time" else "in units of time"
        panel = Panel(
            Axis(f"Difference in {self.title}", unit, -1.08 * reach, 1.08 * reach),
            Axis(),
            tuple(marks),
            side,
            tuple(_pair(row, bool(sure)) for row, sure in zip(rows, clear, strict=True)),
            height=1.0 + 0.2 * len(rows),
            note=f"{side.capitalize()} ({self.metric}).",
        )
        few = f"{len(rows)} of {len(self.values)} pairs: those of the best model"
        return Chart(
            "Paired differences",
            "Difference between two models on the same subjects. Intervals and p-values are "
            "adjusted for the number of pairs.",
            (panel,),
            width=5.4,
            remarks=(few,) if len(rows) < len(self.values) else (),
        )


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


def _float(value: Any) -> float:
    """Read a number of plain data, where nothing is NaN and infinities are words."""
    return _NAN if value is None else float(value)


def _value(row: dict[str, Any], unit: str, baseline: float) -> dict[str, Any]:
    """Return what is shown of a row of the evaluation's table."""
    metric = REGISTRY[row["metric"]]
    labels = ("group", "model", "metric", "time", "until")
    named = {name: row[name] for name in labels if name in row}
    numbers = {name: row[name] for name in ("value", "low", "high", "direction")}
    return named | {
        "title": titled(row, unit),
        **numbers,
        "unit": metric_unit(metric, unit),
        "baseline": baseline,
        "test": metric.inference == "test",
    }


def _with_skill(row: dict[str, Any]) -> str:
    """Name of a value, with how much better it is than Kaplan-Meier's."""
    if not row["baseline"] > 0:
        return str(row["model"])
    return f"{row['model']}, skill over Kaplan-Meier {1 - row['value'] / row['baseline']:.1%}"


def _label(model: str, group: Any) -> tuple[str | Model, ...]:
    return (Model(model),) if group is None else (Model(model), f" · {short_name(group, 10)}")


def _entry(entry: tuple[str, Any], row: dict[str, Any] | None) -> Row:
    value = _NAN if row is None else row["value"]
    inside = "" if np.isfinite(value) else "n/a"
    if np.isinf(value):
        inside = "∞" if value > 0 else "−∞"
    return Row(_label(*entry), inside=inside)


def _pair(row: dict[str, Any], clear: bool) -> Row:
    second = _label(row["model_b"], row.get("group"))
    label = (Model(row["model_a"]), " − ", *second)
    return Row(label, f"p {p_relation(row['p_simultaneous'])}", clear=clear)
