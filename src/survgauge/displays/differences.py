"""Paired differences between models, for one metric."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, one_of
from ..evaluation import Evaluation
from ..evaluation.verdict import judged_by
from ..evaluation.when import column_of, metric_unit, titled
from ..metrics.registry import REGISTRY
from ._base import Display
from .description import Axis, Chart, Mark, Model, Panel, Points, Row, Rule, p_relation
from .measures import plain_float, read_at, unit_words
from .scores import row_label

#: More pairs than this make no figure.
_MOST_PAIRS = 21


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
        at = read_at(metric, time, [row["time"] for row in pairs if row["metric"] == metric])
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
            {k: v for k, v in row.items() if k != "group"}
            | {k: plain_float(row[k]) for k in numbers}
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
        paired = {name for row in self.values for name in _names(row)}
        best = max((m for m in self.models if m in paired), key=lambda model: wins[model])
        return [row for row in self.values if best in _names(row)]

    def describe(self) -> Chart:
        """One row per pair of models."""
        rows = self._shown()
        # Limits that belong to the adjusted p-values.
        names = ("difference", "low_simultaneous", "high_simultaneous")
        ends = np.array([[row[name] for name in names] for row in rows])
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
            pairs = tuple(f"{rows[k]['model_a']} − {rows[k]['model_b']}" for k in at)
            marks.append(
                Points(value, at, role, label, left=low, right=high, names=pairs,
                       hollow=role == "soft", marker="dot")
            )  # fmt: skip
        first = "first" if self.direction == "lower" else "second"
        side = f"left of 0 the {first} model is better"
        panel = Panel(
            Axis(f"Difference in {self.title}", unit_words(self.unit), -1.08 * reach, 1.08 * reach),
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


def _names(row: dict[str, Any]) -> tuple[str, str]:
    return row["model_a"], row["model_b"]


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


def _pair(row: dict[str, Any], clear: bool) -> Row:
    second = row_label(row["model_b"], row.get("group"))
    label = (Model(row["model_a"]), " − ", *second)
    return Row(label, f"p {p_relation(row['p_simultaneous'])}", clear=clear)
