"""The table of metrics as a forest plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.event_words import EventWords
from ..errors import InputError
from ..evaluation import Evaluation
from ..evaluation.when import Column, column_of
from ..metrics.registry import REGISTRY
from ._base import Display
from .description import Axis, Chart, Mark, Model, Panel, Points, Row, Rule, positions, short_name
from .measures import chosen, measure_axis, rows_of_record, shown_value, target_rules

_NAN = float("nan")


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
    #: What is predicted for everybody: Kaplan-Meier, or Aalen-Johansen of a cause.
    estimate: str = "Kaplan-Meier"

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
        names = chosen("metrics", metrics, known)
        wanted = chosen("models", models, ev.models)
        values = [
            shown_value(score.row(), ev.unit, score.baseline)
            for score in ev.scores
            if score.metric.name in names and score.model in wanted
        ]
        if not values:
            raise InputError("this evaluation has no metric to show for the models chosen")
        found = {row["metric"] for row in values}
        shown = tuple(name for name in names if name in found)
        estimate = EventWords.of(ev.support).estimate
        return cls(values, ev.models, shown, ev.confidence, ev.unit, estimate)

    @classmethod
    def from_record(cls, record: dict[str, Any], group: Any = None) -> MetricsDisplay:
        """Build from the plain data of `Evaluation.to_dict`, for one group where there are any."""
        unit = record.get("unit") or ""
        rows = [
            {k: v for k, v in row.items() if k != "group"}
            for row in record["metrics"]
            if row.get("group") == group
        ]
        values = rows_of_record(record, rows)
        names = dict.fromkeys(row["metric"] for row in values)
        estimate = EventWords.of(record["support"]).estimate
        models, level = tuple(record["models"]), record["confidence"]
        return cls(values, models, tuple(names), level, unit, estimate)

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

    def _with_skill(self, row: dict[str, Any]) -> str:
        """Name of a value, with how much better it is than that of the baseline."""
        if not row["baseline"] > 0:
            return str(row["model"])
        skill = 1 - row["value"] / row["baseline"]
        return f"{row['model']}, skill over {self.estimate} {skill:.1%}"

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
                           right=[row["high"]], names=(self._with_skill(row),))
                )  # fmt: skip
        known = np.array([r["baseline"] for r in rows.values() if np.isfinite(r["baseline"])])
        if known.size and np.ptp(known) <= 1e-9 * abs(known[0]):  # groups have their own
            marks.append(Rule("x", float(known[0]), f"{self.estimate} (reference)", "baseline"))
        marks += target_rules(one)
        known_by = REGISTRY[metric]
        better = known_by.better
        return Panel(
            measure_axis(one, self.unit),
            Axis(),
            tuple(marks),
            "" if one["test"] else better,
            tuple(_entry(entry, rows.get(entry)) for entry in entries),
            height=0.74 + 0.17 * len(entries),
            note=f"{known_by.about} {better[0].upper()}{better[1:]} ({metric}).".lstrip(),
        )


def row_label(model: str, group: Any) -> tuple[str | Model, ...]:
    """Return the name of a row: a model, and its group where it has one."""
    return (Model(model),) if group is None else (Model(model), f" · {short_name(group, 10)}")


def _entry(entry: tuple[str, Any], row: dict[str, Any] | None) -> Row:
    value = _NAN if row is None else row["value"]
    inside = "" if np.isfinite(value) else "n/a"
    if np.isinf(value):
        inside = "∞" if value > 0 else "−∞"
    return Row(row_label(*entry), inside=inside)
