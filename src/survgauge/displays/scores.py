"""The table of metrics as a forest plot, and paired differences between models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, one_of
from ..evaluation import Evaluation
from ..metrics.registry import REGISTRY, Metric
from ._base import Display


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


@dataclass(frozen=True, eq=False)
class DifferencesDisplay(Display):
    """Differences between all pairs of models on the same subjects, for one metric.

    Attributes
    ----------
    values : list of dict
        model_a, model_b, metric, difference (a - b), low, high, p_value, p_holm, better (the name
        of the model with the better value, or nothing), and group where there are groups.
    direction : {"lower", "higher"}
        Which values of the metric are better.
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


def _chosen(argument: str, wanted: Iterable[str] | str | None, known: Iterable[str]) -> list[str]:
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        one_of(argument, name, known)
    return names


def _names(row: dict[str, Any]) -> tuple[str, str]:
    return row["model_a"], row["model_b"]


def _facing(row: dict[str, Any], model: str) -> dict[str, Any]:
    """Turn a pair round so that `model` comes second."""
    if row["model_b"] == model:
        return row
    a, b = _names(row)
    turned = {"difference": -row["difference"], "low": -row["high"], "high": -row["low"]}
    return {**row, "model_a": b, "model_b": a, **turned}


def _better(row: dict[str, Any], direction: str) -> str:
    gap = row["difference"] if direction == "lower" else -row["difference"]
    return row["model_a"] if gap < 0 else row["model_b"] if gap > 0 else ""
