"""Which charts the page of an evaluation has; the displays describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import displays
from ..displays.description import Chart
from ..errors import InputError, UndefinedMetricError
from ..evaluation.verdict import best_rows, headline
from ..metrics.registry import REGISTRY
from .specs import Spec, alone, figure

if TYPE_CHECKING:
    from ..evaluation import Evaluation

#: Metrics (by group) that can be chosen.
MOST_CHOICES = 200
#: What each section shows: the id of a figure, and the kind of display that it draws.
_SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "errors": (
        ("predicted-actual", "predicted_actual"),
        ("error-status", "error_by_status"),
        ("error-time", "error_over_time"),
    ),
    "probabilities": (
        ("brier-chart", "brier"),
        ("auc-chart", "auc"),
        ("mean-curves", "mean_curve"),
    ),
    "calibration": (
        ("d-calibration", "d_calibration"),
        ("one-calibration", "one_calibration"),
        ("smooth-calibration", "smooth_calibration"),
    ),
    "subjects": (("subject-curves", "subjects"),),
    "support": (("support-chart", "support"), ("surrogates-chart", "surrogates")),
}
#: Figures as wide as the page.
_WIDE = ("error-time", "mean-curves", "d-calibration", "one-calibration", "smooth-calibration",
         "subject-curves")  # fmt: skip


def from_table(data: dict[str, Any]) -> dict[str, list[Spec]]:
    """Return the charts that need nothing but the table: values and differences."""
    return {"metrics": _metrics(data), "differences": _differences(data)}


def from_evaluation(ev: Evaluation) -> dict[str, list[Spec]]:
    """Return the charts that need the predictions too; what the data do not allow is left out."""
    if not ev.predictions:
        return {}
    return {
        section: [spec for name, kind in figures if (spec := _attempt(ev, name, kind)) is not None]
        for section, figures in _SECTIONS.items()
    }


def _attempt(ev: Evaluation, name: str, kind: str) -> Spec | None:
    try:
        return _figure(ev, name, kind)
    except (InputError, UndefinedMetricError):
        return None


def _figure(ev: Evaluation, name: str, kind: str) -> Spec:
    models = [model for model, p in ev.predictions.items() if p.has("times")]
    if kind != "predicted_actual" or not models:
        return figure(name, [displays.display(ev, kind).describe()], wide=name in _WIDE)
    charts = [displays.display(ev, kind, model=model).describe() for model in models]
    return figure(name, charts, models, "Model")


def _buckets(data: dict[str, Any], table: str) -> list[tuple[str, Any]]:
    """Metrics and groups, those of the headline first; no more than a picker can hold."""
    first = headline(data)
    found = dict.fromkeys((row["metric"], row.get("group")) for row in data[table])
    return sorted(found, key=lambda bucket: bucket[0] != first)[:MOST_CHOICES]


def _metrics(data: dict[str, Any]) -> list[Spec]:
    """Values of the models, a choice for each metric (and group)."""
    buckets = _buckets(data, "metrics")
    found: dict[tuple[str, Any], Chart] = {}
    for group in dict.fromkeys(group for _, group in buckets):
        shown = displays.MetricsDisplay.from_record(data, group)
        charts = alone(shown.describe())
        found |= {(m, group): chart for m, chart in zip(shown.metrics, charts, strict=True)}
    charts = [found[bucket] for bucket in buckets]
    if not charts:
        return []
    return [figure("metrics-chart", charts, _labels(buckets), "Metric", wide=True)]


def _differences(data: dict[str, Any]) -> list[Spec]:
    """Paired differences, a choice for each metric (and group)."""
    best = best_rows(data["metrics"])
    known = {(metric, group) for group, metric, _ in best}
    buckets = [bucket for bucket in _buckets(data, "comparisons") if bucket in known]
    if not buckets:
        return []
    charts = [
        displays.DifferencesDisplay.from_record(data, metric, group).describe()
        for metric, group in buckets
    ]
    return [figure("differences-chart", charts, _labels(buckets), "Metric", wide=True)]


def _labels(buckets: list[tuple[str, Any]]) -> list[str]:
    titles = {metric: REGISTRY[metric].title for metric, _ in buckets}
    return [titles[m] if group is None else f"{titles[m]}, {group}" for m, group in buckets]
