"""One metric in every group of subjects, with all subjects together where they were evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.text_tables import number
from ..data.event_words import EventWords
from ..errors import InputError, one_of
from ..evaluation import Evaluation
from ..evaluation.verdict import judged_by
from ..evaluation.when import Column, column_of
from ..metrics.registry import REGISTRY
from ._base import Display
from .description import Axis, Chart, Mark, Model, Panel, Points, Row, positions, short_name
from .measures import chosen, measure_axis, read_at, rows_of_record, shown_value, target_rules

#: Models and groups that a figure can hold; the best models and the largest groups are drawn.
MOST_MODELS = 4
MOST_GROUPS = 60
EVERYBODY = "all subjects"
#: Inches between the models of a group, and more than that between groups.
_BESIDE, _BETWEEN = 0.11, 0.15


@dataclass(frozen=True, eq=False)
class GroupsDisplay(Display):
    """A metric of all models in every group, with intervals: a forest plot.

    Attributes
    ----------
    values : list of dict
        As those of `MetricsDisplay`, of one metric (at one time); group is None for all subjects
        together.
    sizes : dict of group to (subjects, events)
        None is the group of all subjects.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8, 3, 6], [1, 0, 1, 1, 1, 1])
    >>> ev = evaluate([3, 5, 6, 9, 4, 5], y, metrics=["mae_po"], by=list("aabbab"))
    >>> d = GroupsDisplay.from_evaluation(ev)
    >>> [(row.get("group"), round(row["value"], 2)) for row in d.values], d.sizes["a"]
    ([(None, 1.06), ('a', 1.06), ('b', 1.0)], (3, 2))
    """

    values: list[dict[str, Any]]
    metric: str
    models: tuple[str, ...]
    sizes: dict[Any, tuple[int, int]]
    confidence: float | None = None
    unit: str = ""
    #: What is predicted for everybody: Kaplan-Meier, or Aalen-Johansen of a cause.
    estimate: str = "Kaplan-Meier"

    @classmethod
    def from_evaluation(
        cls,
        ev: Evaluation,
        *,
        metric: str | None = None,
        time: float | None = None,
        models: Iterable[str] | str | None = None,
    ) -> GroupsDisplay:
        """Build from an evaluation by groups.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate(..., by=...)`; without groups the figure has one row, of all subjects.
        metric : str, optional
            By default the first that people judge by; see `Evaluation`.
        time : float, optional
            Time of interest of the metric; by default the first.
        models : names, optional
            By default all; at most four of them are drawn, the best ones.
        """
        known = list(dict.fromkeys(score.metric.name for score in ev.scores))
        if not known:
            raise InputError("this evaluation has no metric to show")
        if metric is None:
            metric = judged_by(known)[0]
        one_of("metric", metric, known)
        scores = [score for score in ev.scores if score.metric.name == metric]
        at = read_at(metric, time, [score.time for score in scores])
        wanted = chosen("models", models, ev.models)
        values = [
            shown_value(score.row(), ev.unit, score.baseline)
            for score in scores
            if score.model in wanted and score.time == at
        ]
        sizes = _sizes((score.group for score in ev.scores), ev.support)
        estimate = EventWords.of(ev.support).estimate
        return cls(values, metric, ev.models, sizes, ev.confidence, ev.unit, estimate)

    @classmethod
    def from_record(cls, record: dict[str, Any], column: Column) -> GroupsDisplay:
        """Build from the plain data of `Evaluation.to_dict`; `column` is a metric with its time."""
        values = rows_of_record(record, [r for r in record["metrics"] if column_of(r) == column])
        sizes = _sizes((row.get("group") for row in record["metrics"]), record["support"])
        models, unit = tuple(record["models"]), record.get("unit") or ""
        estimate = EventWords.of(record["support"]).estimate
        return cls(values, column[0], models, sizes, record["confidence"], unit, estimate)

    def rows(self) -> list[dict[str, Any]]:
        """One row per group and model."""
        return [dict(row) for row in self.values]

    def _groups(self) -> list[Any]:
        """Groups that are drawn: everybody first, then all, or where they are many the largest."""
        groups = [group for group in self.sizes if group is not None]
        if len(groups) > MOST_GROUPS:
            largest = sorted(groups, key=lambda group: -self.sizes[group][0])[:MOST_GROUPS]
            groups = [group for group in groups if group in largest]
        return [*([None] if None in self.sizes else []), *groups]

    def _shown(self) -> list[str]:
        """Models that are drawn: all, or the best ones by their mean over the subjects."""
        badness = REGISTRY[self.metric].badness
        found: dict[str, list[tuple[float, int]]] = {}
        for row in self.values:
            if np.isfinite(row["value"]):
                size = self.sizes[row.get("group")][0]
                found.setdefault(row["model"], []).append((badness(row["value"]) * size, size))
        mean = {name: np.divide(*np.sum(pairs, axis=0)) for name, pairs in found.items()}
        best = sorted(mean, key=lambda name: mean[name])[:MOST_MODELS]
        return [name for name in self.models if name in best]

    def describe(self) -> Chart:
        """One row per group, one mark per model."""
        groups, models = self._groups(), self._shown()
        at = {group: k for k, group in enumerate(groups)}
        one = self.values[0]
        marks = (*self._points(at, models), *self._baselines(at), *target_rules(one))
        known_by = REGISTRY[self.metric]
        panel = Panel(
            measure_axis(one, self.unit),
            Axis(),
            marks,
            known_by.better,
            tuple(self._row(group, models) for group in groups),
            height=0.74 + len(groups) * (_BETWEEN + _BESIDE * len(models)),
            note=f"{known_by.about} {known_by.better.capitalize()} ({self.metric}).".lstrip(),
        )
        return Chart(
            "Values by group",
            "A mark is the value of a model in a group of subjects, the line its interval. A tick "
            f"is {self.estimate} of the reference set, predicted for everybody in the group.",
            (panel,),
            width=5.4,
            remarks=self._remarks(len(groups), len(models)),
        )

    def _row(self, group: Any, models: list[str]) -> Row:
        """Name of a group; the number itself where there is one model."""
        rows = [r for r in self.values if r.get("group") == group and np.isfinite(r["value"])]
        one = next((r for r in rows if [r["model"]] == models), None)
        beside = ""
        if one is not None:
            beside = number(one["value"], 3)
            if np.isfinite(one["low"]):
                beside += f" ({number(one['low'], 3)} to {number(one['high'], 3)})"
        return Row(self._label(group), beside, inside="" if rows else "n/a")

    def _label(self, group: Any) -> str:
        name = EVERYBODY if group is None else short_name(group, 24)
        return f"{name} ({self.sizes[group][0]:,})"

    def _points(self, at: dict[Any, int], models: list[str]) -> list[Mark]:
        """Values of each model, below each other within a row."""
        place, found = positions(self.models), []
        for k, model in enumerate(models):
            row_height = _BETWEEN + _BESIDE * len(models)
            shift = _BESIDE * (k - (len(models) - 1) / 2) / row_height
            rows = [
                row
                for row in self.values
                if row["model"] == model and row.get("group") in at and np.isfinite(row["value"])
            ]
            x, left, right = ([row[name] for row in rows] for name in ("value", "low", "high"))
            names = tuple(f"{model}, {self._label(row.get('group'))}" for row in rows)
            y = [at[row.get("group")] + shift for row in rows]
            found.append(
                Points(x, y, place[model], (Model(model),), left=left, right=right, names=names)
            )
        return list(found)

    def _baselines(self, at: dict[Any, int]) -> list[Mark]:
        """The estimate of the reference set in each group, where it has a value."""
        known = {
            row.get("group"): row["baseline"]
            for row in self.values
            if row.get("group") in at and np.isfinite(row["baseline"])
        }
        if not known:
            return []
        y, label = [at[group] for group in known], f"{self.estimate} (reference)"
        names = tuple(f"{self.estimate}, {self._label(group)}" for group in known)
        return [
            Points(list(known.values()), y, "baseline", label, names=names, marker="tick", size=11)
        ]

    def _remarks(self, groups: int, models: int) -> tuple[str, ...]:
        found = []
        whole = len({row["model"] for row in self.values if np.isfinite(row["value"])})
        if models < whole:
            found.append(f"{models} of {whole} models: the best ones")
        drawn = groups - (None in self.sizes)
        whole = len(self.sizes) - (None in self.sizes)
        if drawn < whole:
            found.append(f"{drawn} of {whole} groups: the largest; the table has all")
        return tuple(found)


def _sizes(groups: Iterable[Any], support: dict[str, Any]) -> dict[Any, tuple[int, int]]:
    """Subjects and events of each group, in the order in which groups come."""
    found: dict[Any, tuple[int, int]] = {}
    for group in groups:
        size = support if group is None else support["groups"][str(group)]
        found.setdefault(group, (size["subjects"], size["events"]))
    return found
