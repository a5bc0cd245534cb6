"""Charts of the pages: which there are, and their descriptions as plain data for the script."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._tools.text import number
from ..errors import InputError, UndefinedMetricError
from ..evaluation.phrases import clock, column_of, titled
from ..evaluation.verdict import best_rows, cell_of, headline
from ..metrics.registry import REGISTRY
from . import displays
from .displays.description import (
    Axis,
    Chart,
    Line,
    NumbersBelow,
    Panel,
    Points,
    Row,
    Rule,
    models_in,
    written,
)
from .displays.forest import differences_of, forest_of_record, pairs_against
from .evaluation_tables import names_of

if TYPE_CHECKING:
    from ..evaluation import Evaluation

Spec = dict[str, Any]
#: Subjects that charts are computed from; of more, a random sample is drawn.
MOST_SUBJECTS = 10_000
#: Points of a scatter plot (more are shown by a seeded sample of this size), and of a curve.
MOST_POINTS, MOST_TIMES = 400, 480
#: Kinds that in a sample show the values of the table of all subjects.
_SCORED = ("d_calibration", "calibration_panel")
#: Fields that have parts of their own.
_PARTS = ("marks", "rows", "ticks")


class PageFigure(NamedTuple):
    """A figure of the page: its id, the kind of display that it draws, whether it is wide.

    It may be of one time of interest, and of all subjects, however many: it counts or shows a few.
    """

    name: str
    kind: str
    wide: bool = True
    at_time: bool = False
    of_all: bool = False


#: What each section shows.
SECTIONS = {
    "outcomes": (PageFigure("incidence-chart", "curves", of_all=True),),
    "errors": (
        PageFigure("predicted-actual", "predicted_actual", wide=False),
        PageFigure("errors-chart", "errors", wide=False),
    ),
    "probabilities": (
        PageFigure("brier-chart", "brier", wide=False),
        PageFigure("auc-chart", "auc", wide=False),
        PageFigure("mean-curves", "curves", of_all=True),
    ),
    "calibration": (
        PageFigure("calibration-panel", "calibration_panel", at_time=True),
        PageFigure("d-calibration", "d_calibration"),
    ),
    "decisions": (
        PageFigure("decision-curve", "decision_curve", at_time=True),
        PageFigure("risk-groups", "risk_groups", at_time=True, of_all=True),
    ),
    "subjects": (PageFigure("subject-curves", "subjects", of_all=True),),
    "support": (
        PageFigure("support-chart", "support", wide=False, of_all=True),
        PageFigure("imputed-chart", "imputed_times", wide=False),
    ),
}


def from_table(data: dict[str, Any]) -> dict[str, list[Spec]]:
    """Return the charts that need nothing but the table: values, by group too, and differences."""
    called, unit = names_of(data), data.get("unit") or ""
    everybody = [row for row in data["metrics"] if row.get("group") is None]
    grouped = {column_of(row) for row in data["metrics"] if row.get("group") is not None}
    pairs: dict[Any, list[Spec]] = {}
    for row in data["comparisons"]:
        if row.get("group") is None:
            pairs.setdefault(column_of(row), []).append(row)
    found: dict[str, dict[str, Chart]] = {"metrics": {}, "groups": {}, "differences": {}}
    with_value = {cell[1:] for cell in best_rows(everybody)}
    for column, name in called.items():
        mine = [row for row in everybody if column_of(row) == column]
        if mine:
            found["metrics"][name] = forest_of_record(data, mine).chart
        if column in grouped:
            rows = [row for row in data["metrics"] if column_of(row) == column]
            found["groups"][name] = forest_of_record(data, rows).chart
        if column in pairs and column in with_value:
            known_by = tuple(data["models"]), data["confidence"], unit
            found["differences"][name] = differences_of(pairs[column], *known_by).chart
    return {
        section: [figure(f"{section}-chart", charts.values(), charts, "Metric", wide=True)]
        for section, charts in found.items()
        if charts
    }


def from_evaluation(ev: Evaluation) -> dict[str, list[Spec]]:
    """Return the charts that need the predictions too; what the data do not allow is left out."""
    if not ev.predictions:
        return {}
    some = displays.sample(ev, MOST_SUBJECTS)
    # Curves of causes are about what happened; those of one kind of event about probabilities.
    cause = ev.task.cause is not None
    predicted = any(prediction.has("curves") for prediction in ev.predictions.values())
    without = {"mean-curves"} if cause or not predicted else set()
    without |= set() if cause else {"incidence-chart"}
    found: dict[str, list[Spec]] = {}
    for section, figures in SECTIONS.items():
        for drawn in (one for one in figures if one.name not in without):
            with suppress(InputError, UndefinedMetricError):
                found.setdefault(section, []).append(_figure(ev, some, drawn))
    return found


def _figure(ev: Evaluation, some: Any, drawn: PageFigure) -> Spec:
    """Describe a figure, with a choice where there is a chart for each model or time."""
    kind, sampled = drawn.kind, some is not ev and not drawn.of_all
    times, common = ev.support["times"], dict[str, Any]()
    options, labels, label = [common], list[str](), ""
    if kind == "predicted_actual":
        labels, label = [name for name, p in ev.predictions.items() if p.has("times")], "Model"
        options = [{"model": model} for model in labels] or [common]
    elif drawn.at_time:
        labels, label = [clock(time, ev.unit) for time in times], "Time"
        options = [{"time": time} for time in times]
    with_curves = [name for name, p in ev.predictions.items() if p.has("curves")]
    if kind == "decision_curve" and len(with_curves) > 1:
        common["reference"] = with_curves[0]
    if sampled and kind in _SCORED:
        common["scores"] = {
            (s.metric.name, s.model, s.time): (s.value, s.low, s.high)
            for s in ev.scores
            if s.group is None
        }
    source = some if sampled else ev
    charts = [displays.display(source, kind, **{**common, **one}).chart for one in options]
    spec = figure(drawn.name, charts, labels, label, wide=drawn.wide)
    # The last time is chosen first, as in the first table.
    spec["first"] = times.index(max(times)) if drawn.at_time else 0
    if sampled:
        for chart in spec["specs"]:
            chart["note"] = f"{chart['note']} {_sampled(ev)}.".lstrip()
    return spec


def _sampled(ev: Evaluation) -> str:
    return (
        f"Drawn from a random sample of {MOST_SUBJECTS:,} of the {len(ev.task.y):,} test subjects; "
        "the tables are those of all"
    )


def overview(data: dict[str, Any], ev: Evaluation | None = None) -> list[Spec]:
    """Return the first picture: the metric to judge by with differences, beside it calibration."""
    rows = [row for row in data["metrics"] if row.get("group") is None]
    rows = [row for row in rows if row["metric"] == headline(data)]
    if not rows:
        return []
    rows = [row for row in rows if column_of(row) == column_of(rows[0])]
    [forest] = forest_of_record(data, rows).chart.panels
    told, notes = "Dots are values, lines their intervals.", list[str]()
    metric = REGISTRY[rows[0]["metric"]]
    what = "Error in time" if metric.family == "time" else metric.title
    panels = [replace(forest, title=f"{what}, {metric.better}" if metric.better else what)]
    best = {cell: row["model"] for cell, row in best_rows(rows).items()}.get(cell_of(rows[0]))
    pairs = [row for row in data["comparisons"] if cell_of(row) == cell_of(rows[0])]
    differences = {row["model_a"]: row for row in pairs_against(pairs, best)} if best else {}
    contest = metric.ranks_models and not any(r.get("withheld") for r in rows)
    if contest and differences and data["confidence"] is not None:
        compared = tuple(_beside(row, differences) for row in forest.rows)
        panels = [replace(panels[0], rows=compared)]
        told += (
            f" At the right: difference from {best} with adjusted "
            f"{100 * data['confidence']:g} % interval, grey where it is not clear."
        )
    if ev is not None and ev.predictions:
        some = displays.sample(ev, MOST_SUBJECTS)
        with suppress(InputError, UndefinedMetricError):
            panels.append(_calibration(some, max(ev.support["times"])))
            told += " Calibrated predictions lie on the dashed line."
            notes = [_sampled(ev)] * (some is not ev)
            if "effective_subjects" in ev.support:
                notes.append("Calibration is shown without the sampling weights")
    chart = Chart("Error and calibration", told, tuple(panels), columns=2, notes=tuple(notes))
    title = chart.title if len(panels) > 1 else titled(rows[0], data.get("unit") or "")
    return [figure("overview-chart", [replace(chart, title=title)], wide=True)]


def _beside(row: Row, differences: dict[str, Spec]) -> Row:
    """Write the difference of a model from the best one beside its row."""
    found = differences.get(written(row.label))
    if found is None or not isinstance(found["difference"], float):
        return row
    low, high = found["low_simultaneous"], found["high_simultaneous"]
    if not isinstance(low, float) or not isinstance(high, float):
        return row
    sign = "+" * (found["difference"] > 0)
    text = f"{sign}{number(found['difference'], 3)}\n({number(low, 3)} to {number(high, 3)})"
    return replace(row, beside=text, clear=not low <= 0 <= high)


def _calibration(source: Any, time: float) -> Panel:
    """Return the smooth calibration curves of all models at a time in one panel."""
    panels = displays.display(source, "calibration_panel", time=time, scores={}).chart.panels
    lines = [mark for panel in panels for mark in panel.marks if isinstance(mark, Line)]
    first = panels[0]
    upwards = replace(first.y, low=0.0)
    return Panel(first.x, upwards, (Rule("diagonal"), *lines), "Calibration", height=2.6)


# -- descriptions as plain data --------------------------------------------------------------------


def figure(
    name: str,
    charts: Iterable[Chart],
    options: Iterable[str] = (),
    label: str = "",
    *,
    wide: bool = False,
) -> Spec:
    """Describe a figure of the page: a chart, or one for each of several options."""
    found, choices = list(charts), list(options)
    return {
        "id": name,
        "title": found[0].title,
        "caption": found[0].caption,
        "wide": wide,
        "choices": {"label": label, "options": choices} if len(choices) > 1 else None,
        "specs": [_spec(chart) for chart in found],
    }


def rounded(value: Any) -> float | None:
    """Round to what a chart can show; None where there is no number."""
    value = float(value)
    return float(f"{value:.5g}") if np.isfinite(value) else None


def _spec(chart: Chart) -> Spec:
    single = chart.panels[0] if len(chart.panels) == 1 else None
    said = [single.note] if single is not None and single.note else []
    said += [f"{note}." for note in chart.notes]
    shared: dict[str, list[str]] = {}
    for name, reason in chart.left_out.items():
        shared.setdefault(reason, []).append(name)
    hidden = [f"{', '.join(names)} ({reason})" for reason, names in shared.items()]
    said += [f"Not shown: {'; '.join(hidden)}."] if hidden else []
    said += [
        f"A sample of {MOST_POINTS} of those is drawn: {written(mark.label)}."
        for panel in chart.panels
        for mark in panel.marks
        if isinstance(mark, Points) and len(mark.x) > MOST_POINTS
    ]
    if single is not None and single.note:
        chart = replace(chart, panels=(replace(single, title=""),))
    return {
        "panels": [_plain(replace(panel, note="")) for panel in chart.panels],
        "columns": chart.columns,
        "shared": chart.shared,
        "note": " ".join(said),
    }


def _plain(part: Any) -> Any:
    """Return a part of a chart as plain data: what its fields say, numbers rounded.

    Fields that say nothing (False, an empty text, intervals of which none is known) are left out,
    and so are points that nobody could tell apart.
    """
    if isinstance(part, tuple | list):
        return [_plain(one) for one in part]
    if isinstance(part, float):
        return rounded(part)
    if not is_dataclass(part):
        return part
    if isinstance(part, NumbersBelow):
        rows = [
            {"role": role, "name": name, "values": [f"{value:,.0f}" for value in values]}
            for role, name, values in part.rows
        ]
        return {"title": part.title, "rows": rows}
    if isinstance(part, Axis):
        part = replace(part, label=part.text, unit="")
    spec: Spec = {"type": type(part).__name__.lower()}
    kept = _kept(part)
    for name in (known.name for known in fields(part)):
        value = getattr(part, name)
        if name in ("label", "title"):
            spec |= {name: written(value), "series": models_in(value)}
        elif value is None or (isinstance(value, bool | str) and not value and name != "role"):
            continue
        elif name == "marked" and isinstance(value, tuple):
            x, y = part.dots()
            spec |= {"marked": True, "dots": {"x": _numbers(x), "y": _numbers(y)}}
        elif name == "names":
            spec |= {"names": [value[k] for k in kept]} if value else {}
        elif name == "base":
            spec["base"] = _numbers(np.broadcast_to(value, np.shape(part.top)))
        elif name in _PARTS or np.ndim(value) == 0:
            spec[name] = _plain(value)
        elif name != "alpha" and _worth(name, value):
            spec[name] = _numbers(np.asarray(value)[kept] if kept else value)
    return spec


def _worth(name: str, values: Any) -> bool:
    """Say whether a column is needed: intervals of which none is known are not."""
    return name in "xy" or not len(values) or bool(np.isfinite(values).any())


def _kept(mark: Any) -> list[int]:
    """Return which points of a mark to show: evenly spaced of lines, a seeded sample of others."""
    size = len(mark.x) if isinstance(mark, Line | Points) else 0
    if isinstance(mark, Line) and size > MOST_TIMES:
        found = np.unique(np.linspace(0, size - 1, MOST_TIMES).astype(int))
    elif isinstance(mark, Points) and size > MOST_POINTS:
        found = np.sort(np.random.default_rng(0).choice(size, MOST_POINTS, replace=False))
    else:
        found = np.arange(size)
    return [int(k) for k in found]


def _numbers(values: Any) -> list[float | None]:
    return [rounded(v) for v in np.asarray(values, dtype=np.float64).tolist()]
