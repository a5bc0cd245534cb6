"""Which charts the page of an evaluation has; the displays describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import displays
from ..displays.description import Chart
from ..errors import InputError, UndefinedMetricError
from ..evaluation.verdict import Cell, best_rows, cell_of, headline
from ..evaluation.when import clock, names, titled
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
#: Charts at one time of interest.
_AT_A_TIME = ("one_calibration", "smooth_calibration")
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
    times = ev.support["times"]
    if kind == "predicted_actual" and models:
        charts = [displays.display(ev, kind, model=model).describe() for model in models]
        return figure(name, charts, models, "Model")
    if kind in _AT_A_TIME and len(times) > 1:
        charts = [displays.display(ev, kind, time=time).describe() for time in times]
        labels = [clock(time, ev.unit) for time in times]
        return figure(name, charts, labels, "Time", wide=name in _WIDE)
    return figure(name, [displays.display(ev, kind).describe()], wide=name in _WIDE)


def _buckets(data: dict[str, Any], table: str) -> list[Cell]:
    """Groups, metrics and times, those of the headline first; no more than a picker can hold."""
    first = headline(data)
    found = dict.fromkeys(map(cell_of, data[table]))
    return sorted(found, key=lambda cell: cell[1] != first)[:MOST_CHOICES]


def _metrics(data: dict[str, Any]) -> list[Spec]:
    """Values of the models, a choice for each metric (and group and time)."""
    buckets = _buckets(data, "metrics")
    found: dict[Cell, Chart] = {}
    for group in dict.fromkeys(group for group, _, _ in buckets):
        shown = displays.MetricsDisplay.from_record(data, group)
        charts = alone(shown.describe())
        found |= {(group, *c): chart for c, chart in zip(shown.columns, charts, strict=True)}
    charts = [found[bucket] for bucket in buckets]
    if not charts:
        return []
    return [figure("metrics-chart", charts, _labels(data, buckets), "Metric", wide=True)]


def _differences(data: dict[str, Any]) -> list[Spec]:
    """Paired differences, a choice for each metric (and group and time)."""
    best = best_rows(data["metrics"])
    buckets = [cell for cell in _buckets(data, "comparisons") if cell in best]
    if not buckets:
        return []
    charts = [
        displays.DifferencesDisplay.from_record(data, metric, group, time).describe()
        for group, metric, time in buckets
    ]
    return [figure("differences-chart", charts, _labels(data, buckets), "Metric", wide=True)]


def _labels(data: dict[str, Any], cells: list[Cell]) -> list[str]:
    """Names of metrics for people, with the time where there are several, and the group."""
    named, unit = names(data["metrics"]), data.get("unit") or ""
    labels = []
    for group, metric, time in cells:
        several = named[metric, time] != metric
        label = titled({"metric": metric, "time": time if several else None}, unit)
        labels.append(label if group is None else f"{label}, {group}")
    return labels
