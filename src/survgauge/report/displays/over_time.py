"""Over time: Brier score and AUC with bands, any metric over landmarks, and the follow-up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.causes import EventWords, cause_label
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, one_of
from ...evaluation.phrases import metric_unit
from ...metrics.checks import check_times
from ...metrics.probability.brier import brier_score
from ...metrics.ranking.auc import cumulative_dynamic_auc
from ...metrics.registry import REGISTRY
from ...metrics.score import CurveResult, interval
from ...metrics.task import Task
from ._base import (
    Display,
    Part,
    Source,
    band,
    measure_each,
    members,
    reference_of,
)
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Model,
    Panel,
    Rule,
    amount,
    horizon_marks,
    positions,
)
from .estimates import at_risk, so_far
from .forest import plain_float
from .palette import shade

#: Times of a curve of a metric, and of follow-up.
_POINTS, _STEPS = 60, 101
#: Why support ends.
_REASONS = {
    "thin-risk-set": "few are at risk later",
    "g-below-floor": "later almost all are censored",
    "hidden-subjects": "later some are almost surely censored",
    "past-follow-up": "follow-up ends",
}


_NAMES = {"brier": "the Brier score over time", "auc": "AUC over time"}


def _words(kind: str, event: EventWords) -> tuple[str, str, str, str]:
    """Return title, label of the axis, name of the baseline and caption of a metric over time."""
    of_cause = event.of_cause
    if kind == "brier":
        free = "being event-free" if event.cause is None else event.the_event
        return (
            f"Brier score{of_cause} over time",
            "Brier score (lower is better)",
            f"{event.estimate} (reference)",
            f"Squared error of the predicted probability of {free}; lower is better. "
            f"{event.estimate} predicts the same curve for every subject.",
        )
    whom = "an event" if event.cause is None else event.the_event
    return (
        f"AUC{of_cause} over time",
        "AUC (higher is better)",
        "chance",
        f"How well the predictions separate subjects with {whom} up to each time from those "
        "without (cumulative/dynamic AUC); 0.5 is chance.",
    )


def over_time(
    ev: Source,
    *,
    kind: str = "brier",
    times: Any = None,
    models: Iterable[str] | str | None = None,
) -> Display:
    """Brier score or cumulative/dynamic AUC at each time, with pointwise bands.

    The table has a part per model: time, value, low, high (NaN where undefined). The model ""
    with `baseline` is Kaplan-Meier (of a cause, Aalen-Johansen) of the reference set, predicted for
    everybody (its AUC is 1/2).

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    kind : {"brier", "auc"}
        Brier needs curves; AUC also takes times and risk scores.
    times : array-like, optional
        By default 60 up to the horizon; for AUC from where a twentieth of the events before it
        have happened.
    models : names, optional
        By default all.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import given
    >>> made = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> d = over_time(given(made, ([2, 5, 8, 6], [1, 0, 1, 1])), kind="brier", times=[3, 5])
    >>> d.column("value").round(3), d.column("value", baseline=True).round(3)
    (array([0.099, 0.125]), array([0.188, 0.188]))
    """
    one_of("kind", kind, _NAMES)
    usable, left_out = members(ev, "curves" if kind == "brier" else "risk", _NAMES[kind], models)
    task, place = ev.task, positions(ev.predictions)
    grid = _grid(task, kind) if times is None else check_times(times)
    score = _brier if kind == "brier" else _auc
    found = measure_each(usable, left_out, _NAMES[kind], lambda p: score(task, p, grid))
    title, label, called, caption = _words(kind, task.words)
    table, marks, least = list[Part](), list[Mark](), 0.5
    for model, (value, stderr) in found.items():
        low, high = _limits(kind, value, stderr, ev.confidence)
        part = {"metric": kind, "model": model, "baseline": False, "time": grid}
        table.append({**part, "value": value, "low": low, "high": high})
        marks.append(Line(grid, value, place[model], (Model(model),), low, high))
        least = min(least, float(np.nanmin([0.5, *value, *low])))
    baseline = _baseline(task, kind, grid)
    if baseline is not None:
        part = {"metric": kind, "model": "", "baseline": True, "time": grid}
        table.append({**part, "value": baseline, "low": np.nan, "high": np.nan})
        marks.append(Line(grid, baseline, "baseline", called, width=1.0))
    start, end = (float(grid[0]), float(grid[-1])) if grid.size > 1 else (None, None)
    marks += horizon_marks(task.horizon, float(grid[-1]))
    upwards = Axis(label, low=0.0)
    if kind == "auc":
        upwards = Axis(label, low=max(0.0, min(0.45, least - 0.02)), high=1.0)
    panel = Panel(Axis.time(ev.unit, low=start, high=end), upwards, tuple(marks))
    return Display(Chart(title, caption, (panel,), left_out=left_out), table)


def _limits(
    kind: str, values: Floats, stderr: Floats, confidence: float | None
) -> tuple[Floats, Floats]:
    """Limits at each time on the scale of the metric, as in the tables: an AUC stays below 1.

    They meet where all subjects agree, as at time 0.
    """
    if confidence is None:
        return band(values, None, None)
    scale = REGISTRY[kind].interval
    found = [interval(*pair, confidence, scale) for pair in zip(values, stderr, strict=True)]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    agree = np.isnan(low) & np.isfinite(stderr)
    return np.where(agree, values, low), np.where(agree, values, high)


def _grid(task: Task, kind: str) -> Floats:
    """Return times up to the horizon, or to a later time of interest."""
    if not task.horizon > 0:
        raise UndefinedMetricError(
            f"{_NAMES[kind]} is undefined: follow-up supports no time above 0 (the horizon is 0)"
        )
    times = [at.time_used for at in task.at_times]
    end = max([task.until, *(time for time in times if time <= task.horizon)])
    start = 0.0
    if kind == "auc":
        y = task.y.present()
        had = y.event if task.cause is None else y.cause == task.cause
        before = y.time[had & (y.time <= end)]
        if not before.size:
            raise UndefinedMetricError(
                f"AUC over time needs {task.words.some_event} up to the horizon; got none"
            )
        start = float(np.quantile(before, 0.05))
        if not start < end:
            return np.array([end])
    return np.linspace(start, end, _POINTS)


def _on_grid(result: CurveResult, grid: Floats) -> tuple[Floats, Floats]:
    """Values and standard errors at the grid's times, NaN where there are none."""
    at = grid.searchsorted(result.times)
    values, stderr = np.full(grid.size, np.nan), np.full(grid.size, np.nan)
    values[at] = result.values
    if result.stderr is not None:
        stderr[at] = result.stderr
    return values, stderr


def _brier(task: Task, prediction: Prediction, grid: Floats) -> tuple[Floats, Floats]:
    given = task.y, prediction.curves, grid
    return _on_grid(brier_score(*given, cause=task.cause, **task.ipcw), grid)


def _auc(task: Task, prediction: Prediction, grid: Floats) -> tuple[Floats, Floats]:
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    options = {"stderr": "fixed", "cause": task.cause, **task.ipcw}
    return _on_grid(cumulative_dynamic_auc(task.y, predicted, grid, **options), grid)


def _baseline(task: Task, kind: str, grid: Floats) -> Floats | None:
    """Score of one prediction for all; equal risks leave every pair undecided: its AUC is 1/2."""
    if kind == "auc":
        return np.full(grid.size, 0.5)
    asked = replace(task, reference=reference_of(task))
    try:
        return _brier(task, asked.baseline(), grid)[0]
    except UndefinedMetricError:
        return None


def landmarks(record: dict[str, Any], metric: str | None = None) -> Display:
    """One metric of all models over the landmarks, a panel for each horizon.

    The table has metric, landmark, horizon, model, subjects, value, low and high.

    Parameters
    ----------
    record : dict
        Plain data of `Landmarks.to_dict`.
    metric : str, optional
        By default the first.

    Examples
    --------
    >>> import survgauge as sg
    >>> curves = sg.SurvivalCurves([0, 5, 10, 20], [[1, 0.8, 0.4, 0.1], [1, 0.9, 0.7, 0.4]] * 10)
    >>> y = ([6, 12, 3, 9, 15, 8, 2, 11, 7, 18] * 2, [1, 1, 1, 0, 1, 1, 1, 0, 1, 1] * 2)
    >>> found = sg.landmarks({"m": curves}, y, [0, 4], [6], metrics=["brier"], min_at_risk=4)
    >>> shown = landmarks(found.to_dict())
    >>> shown.rows()[0]["metric"], len(shown.describe().panels)
    ('brier', 1)
    """
    if not record["metrics"]:
        raise InputError("landmarks: no metric has a value to draw")
    name = record["metrics"][0] if metric is None else metric
    one_of("metric", name, record["metrics"])
    rows: list[dict[str, Any]] = [
        {"metric": name}
        | {k: row[k] for k in ("landmark", "horizon", "model", "subjects")}
        | {k: plain_float(row[k]) for k in ("value", "low", "high")}
        for row in record["table"]
        if row["metric"] == name
    ]
    known, unit = REGISTRY[name], record["unit"] or ""
    drawn = [row for row in rows if np.isfinite(row["value"])]
    if not drawn:
        raise UndefinedMetricError(f"{name} has no value at any landmark and horizon")
    horizons = list(dict.fromkeys(row["horizon"] for row in rows))
    panels, left_out = [], {}
    for horizon in horizons:
        mine = [row for row in drawn if row["horizon"] == horizon]
        if not mine:
            told = "the data do not support it from any landmark on"
            left_out[f"horizon {amount(horizon, unit)}"] = told
            continue
        marks = []
        for model, place in positions(record["models"]).items():
            of = [row for row in mine if row["model"] == model]
            if of:
                columns = ("landmark", "value", "low", "high")
                x, y, low, high = np.array([[row[c] for c in columns] for row in of]).T
                if not np.isfinite([low, high]).all():
                    low = high = None
                marks.append(Line(x, y, place, (Model(model),), low, high, marked=True))
        panels.append(
            Panel(
                Axis.time(unit, "Landmark time"),
                Axis(known.title, metric_unit(known, unit)),
                tuple(marks),
                title=f"Horizon {amount(horizon, unit)}",
            )
        )
    better = {"lower": " Lower is better.", "higher": " Higher is better."}
    chart = Chart(
        f"{known.title} over landmarks",
        f"{known.title} for those at risk at each landmark, by the horizon since then, with "
        f"intervals.{better.get(known.direction, '')} A gap means that the data do not support the "
        "horizon.",
        tuple(panels),
        columns=min(len(panels), 2),
        shared="y",
        width=3.5 if len(panels) == 1 else 7.0,
        left_out=left_out,
    )
    return Display(chart, rows)


# -- follow-up -------------------------------------------------------------------------------------


def support(ev: Source, *, times: Any = None) -> Display:
    """Numbers at risk, events, the censoring distribution, and where support ends.

    The table has a row per time: at_risk and events of the test set (of each cause where there are
    several), censoring (G(t), the probability of not being censored by then, averaged over the
    subjects where it depends on them) and reference_at_risk.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    times : array-like, optional
        Where to count; by default 101 from 0 to the last observed time of either set.

    Examples
    --------
    >>> from survgauge.report.displays import given
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = support(given({}, y, min_at_risk=2), times=[0, 5, 7])
    >>> d.column("at_risk"), d.column("censoring").round(3), d.chart.panels[0].title
    (array([4., 3., 1.]), array([1.   , 0.667, 0.667]), 'supported until 6: few are at risk later')
    """
    task = ev.task
    y, reference = task.y.present(), reference_of(task)
    end = max(float(y.time.max()), reference.last_time) or 1.0
    grid = np.linspace(0.0, end, _STEPS) if times is None else check_times(times)
    table = reference.table
    still = np.append(table.at_risk, 0.0)[table.times.searchsorted(grid, "left")]
    part = {"time": grid, "at_risk": at_risk(y, grid), "events": so_far(y, y.event, grid),
            "censoring": _censoring(task, grid), "reference_at_risk": still}  # fmt: skip
    lines = [Line(grid, part["at_risk"], "ink", "at risk, test")]
    if task.reference is not None:
        lines.append(Line(grid, still, "soft", "at risk, reference"))
    if y.causes is None:
        lines.append(Line(grid, part["events"], "event", "events so far, test", dash="dotted"))
    for k, name in enumerate(y.causes or ()):
        counted = part[f"events of {cause_label(name)}"] = so_far(y, y.cause == k + 1, grid)
        told = f"{cause_label(name)} so far, test"
        lines.append(Line(grid, counted, shade(k), told, dash="dotted"))
    end = float(grid[-1])
    marks = horizon_marks(task.horizon, end) or (Rule("x", task.horizon, dash="solid"),)
    why = _REASONS.get(task.horizon_reason, task.horizon_reason)
    counts = Panel(
        Axis.time(ev.unit, low=0, high=end),
        Axis("Subjects", low=0),
        (*lines, *marks),
        f"supported until {amount(task.horizon, ev.unit)}: {why}",
        height=1.85,
    )
    share = Panel(
        Axis.time(ev.unit, low=0, high=end),
        Axis("Not yet censored", low=0, high=1.03),
        (Line(grid, part["censoring"], "ink", "G(t)"), *marks),
        height=1.4,
    )
    chart = Chart(
        "Follow-up",
        "Number of subjects still under observation, and probability G of not being censored yet.",
        (counts, share),
        shared="x",
    )
    return Display(chart, [part])


def _censoring(task: Task, times: Floats) -> Floats:
    """G at the times; where it depends on the subject, its average."""
    weights = task.weights
    if weights.km is not None:
        return weights.km.at(times)
    share = task.weight / task.weight.sum()
    return np.array([float(share @ weights.survivors(float(t))) for t in times])
