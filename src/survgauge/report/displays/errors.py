"""Single subjects and errors in time: curves, predicted against actual times, imputed times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, numbers, whole_number
from ...data.causes import cause_label
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.surrogates import METHODS, Setting, Surrogates, make_setting
from ...metrics.checks import check_times, given_entry_of
from ...metrics.score import standard_error
from ...metrics.task import Task
from ...metrics.time.terms import TimeScore, predicted_times
from ...metrics.time.time_errors import censored_methods
from ._base import (
    Display,
    Part,
    Source,
    band,
    check_one_kind,
    chosen,
    measure_each,
    members,
    reference_of,
    time_errors,
)
from .description import (
    Axis,
    Bars,
    Chart,
    Line,
    Mark,
    Model,
    Panel,
    Points,
    Row,
    Rule,
    Span,
    amount,
    positions,
    short_name,
)
from .palette import shade

#: Most arrows that can be told apart.
_ARROWS = 150
#: With fewer subjects than this, every one of them is marked.
_FEW = 40


def errors(
    ev: Source,
    *,
    bins: int = 8,
    method: str = "po",
    models: Iterable[str] | str | None = None,
) -> Display:
    """Mean absolute error of subjects with the event and of censored ones, and by observed time.

    The table has two parts per model. Of ``by="status"`` rows are "event" and "censored" subjects
    (with tau, who gets there event-free has a known time and counts as "event"; NaN where nobody
    takes part, as with ``uncensored`` and ``ipcw_d``), of ``by="time"`` bins from `start` to `end`
    of the observed time. `n` subjects take part with the share `weight` of all weights.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    bins : int
        Number of bins of time with about equally many subjects; fewer where times are tied.
    method : str
        What a censored subject counts as.
    models : names, optional
        By default all.

    Examples
    --------
    >>> from survgauge.report.displays import given
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = errors(given({"a": [3, 5, 6, 6]}, y), bins=2)
    >>> d.column("mean", by="status").round(2), d.column("mean", by="time").round(2)
    (array([1., 2.]), array([1.2, 1. ]))
    """
    whole_number(bins, "bins", 1)
    what, task, place = "the error in time", ev.task, positions(ev.predictions)
    usable, left_out = members(ev, "times", what, models)
    check_one_kind(ev, what)
    y = task.y.restricted(task.tau)
    edges, label = _time_bins(y, bins)
    status, size = (~y.event).astype(np.intp), edges.size - 1
    found = measure_each(usable, left_out, what, lambda p: time_errors(task, p.times, method))
    events, subjects = _sums(label, y.weight * y.event, size), _sums(label, y.weight, size)
    table: list[Part] = []
    for model, details in found.items():
        groups = {"group": np.array(["event", "censored"])}
        table.append({"model": model, "by": "status", **groups,
                      **_means(details, status, 2, ev.confidence)})  # fmt: skip
        when = {"start": edges[:-1], "end": edges[1:], "events": events, "subjects": subjects}
        table.append({"model": model, "by": "time", **when,
                      **_means(details, label, size, ev.confidence)})  # fmt: skip
    by_status, by_time = ([part for part in table if part["by"] == by] for by in ("status", "time"))
    known, counted = "event" if task.tau is None else "known time", METHODS[method].title
    points = []
    for k, (role, told) in enumerate((("event", known), ("censored", "censored"))):
        n, everybody = int(by_status[0]["n"][k]), int(y.weight[status == k].sum())
        count = f"{n:,}" if n == everybody else f"{n:,} of {everybody:,}"
        names = [f"{part['model']}, {part['n'][k]:,.0f} subjects" for part in by_status]
        mean, low, high = ([part[c][k] for part in by_status] for c in ("mean", "low", "high"))
        points.append(
            Points(mean, np.arange(len(mean)) + (-0.13, 0.13)[k], role,
                   f"{told} ({count}){', ' + counted if k else ''}", left=low, right=high,
                   names=tuple(names), hollow=bool(k))
        )  # fmt: skip
    if edges[0] == edges[-1]:  # everybody at the same time
        edges = edges + np.array([-0.05, 0.05]) * (float(edges[0]) or 1.0)
    middle = (edges[:-1] + edges[1:]) / 2
    lines = [
        Line(middle, part["mean"], place[part["model"]], (Model(part["model"]),), part["low"],
             part["high"], marked=True)
        for part in by_time
    ]  # fmt: skip
    bars = (
        Bars(edges, 0.0, events, "event", "events"),
        Bars(edges, events, subjects, "censored", "censored", hollow=True),
    )
    error = Axis.time(ev.unit, "Mean absolute error", 0)
    below = Axis.time(ev.unit, "Observed time", float(edges[0]), float(edges[-1]))
    chart = Chart(
        "Error by status and over time",
        "Mean absolute error of subjects with known event times and of censored subjects "
        f"({counted}), and by observed time. Errors depend on the time for good models too, "
        "because predictions for subjects with very early or late events are rightly closer to the "
        "middle.",
        (
            Panel(error, Axis(), tuple(points), rows=tuple(Row((Model(m),)) for m in found),
                  height=0.85 + 0.33 * len(found)),
            Panel(below, Axis.time(ev.unit, "Mean absolute\nerror", 0), tuple(lines), height=2.2),
            Panel(below, Axis("Subjects", low=0), bars, height=1.15),
        ),
        left_out=left_out,
    )  # fmt: skip
    return Display(chart, table)


def _sums(label: Any, values: Floats, groups: int) -> Floats:
    """Sum of the values in each group."""
    return np.bincount(label, values, groups).astype(np.float64, copy=False)


def _means(
    details: TimeScore, label: Any, groups: int, confidence: float | None
) -> dict[str, Floats]:
    """Weighted mean loss in each group of subjects with its limits, and who took part.

    With the weights of the metric the group means average back to it (but for ``ipcw_d``, which
    divides by all subjects).
    """
    weight, loss, frequency = details.weight, details.loss, details.frequency
    share, total = _sums(label, weight, groups), _sums(label, weight * loss, groups)
    took_part = (weight > 0).astype(np.float64)
    if frequency is not None:
        took_part *= frequency
    mean = np.divide(total, share, out=np.full(groups, np.nan), where=share > 0)
    stderr = np.full(groups, np.nan)
    for k in np.flatnonzero(share > 0):  # a handful of groups, never subjects
        rows = np.flatnonzero((label == k) & (weight > 0))
        influence = weight[rows] * (loss[rows] - mean[k]) / share[k]
        stderr[k] = standard_error(influence, None if frequency is None else frequency[rows])
    low, high = band(mean, stderr, confidence)
    n = _sums(label, took_part, groups)
    return {"mean": mean, "low": low, "high": high, "n": n, "weight": share / weight.sum()}


def _time_bins(y: Outcomes, bins: int) -> tuple[Floats, Any]:
    """Edges at quantiles of the observed times, and each subject's bin."""
    order = np.argsort(y.time, kind="stable")
    reached = np.cumsum(y.weight[order])
    at = np.searchsorted(reached, reached[-1] * np.arange(1, bins) / bins, "right")
    present = y.present().time
    inner = y.time[order][np.minimum(at, len(y) - 1)]
    edges = np.unique(np.concatenate(([present.min()], inner, [present.max()])))
    if edges.size == 1:  # everybody at the same time
        edges = np.repeat(edges, 2)
    label = np.clip(edges.searchsorted(y.time, "right") - 1, 0, edges.size - 2)
    return edges, label


# -- single subjects -------------------------------------------------------------------------------


def predicted_actual(ev: Source, *, model: str | None = None, method: str = "po") -> Display:
    """One model's predicted times against what happened.

    The table has a row per subject: its row number, the predicted time (of curves the median, under
    delayed entry given being event-free then), time and event as observed (up to tau, where given:
    who gets there has a known time), what it is `counted` as under the method (NaN where that has
    nothing for it) and with which weight.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    model : str, optional
        By default the first that predicts times or curves.
    method : str
        What a censored subject counts as; see `surrogate_times`.

    Examples
    --------
    >>> from survgauge.report.displays import given
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> predicted_actual(given([3, 5, 6, 6], y)).column("counted").round(2)
    array([2., 7., 8., 6.])
    """
    what, task = "predicted against actual time", ev.task
    usable, _ = members(ev, "times", what, model)
    check_one_kind(ev, what)
    setting, found = _imputed(task, method)
    name, predicted = _first_times(usable, task, what)
    y, counted = setting.y, np.where(found.defined, found.time, np.nan)
    numbers = np.arange(len(y)) if task.rows is None else task.rows
    times = np.where(np.isfinite(counted), counted, y.time)
    # Where the axes end: not so far that a few tails squeeze the rest into a corner.
    usual = (float(np.quantile(v, 0.97)) for v in (predicted, times))
    end = max(1.05 * max(*usual, float(y.time.max())), 0.0) or 1.0
    beyond, shown = int(((predicted > end) | (times > end)).sum()), np.minimum(predicted, end)
    late = y.event & (y.time >= (np.inf if task.tau is None else task.tau))
    stop, drawn = _arrows(y, counted, end)
    marks: list[Mark] = [Rule("diagonal", label="predicted = actual")]
    for told, rows, role in (
        ("event", np.flatnonzero(y.event & ~late), "event"),
        ("event-free at tau", np.flatnonzero(late), "event"),
        ("censored", np.flatnonzero(~y.event), "censored"),
    ):
        if not rows.size:
            continue
        label, arrows = f"{told} ({rows.size:,})", dict[str, Any]()
        if told == "censored":
            if drawn:
                some = f"{drawn} arrows" if drawn < rows.size else "arrow"
                label += f", {some} to estimated time"
            # The surer what a subject counts as, the darker its arrow.
            arrows = {"to": stop[rows], "to_label": f"Counted as ({METHODS[method].title})",
                      "alpha": 0.15 + 0.6 * np.clip(found.weight[rows], 0, 1)}  # fmt: skip
        names = tuple(f"row {row + 1}, {told}" for row in numbers[rows].tolist())
        marks.append(
            Points(y.time[rows], shown[rows], role, label, names=names, hollow=told != "event",
                   marker="dot", size=3.2, **arrows)
        )  # fmt: skip
    capped = "" if task.tau is None else f", up to {amount(task.tau)}"
    said = f"{beyond:,} of {len(y):,} lie past the axes (drawn at the edge)"
    panel = Panel(
        Axis.time(ev.unit, f"Actual time{capped}", 0, end * 1.02),
        Axis.time(ev.unit, "Predicted time", 1.08 * min(0.0, float(shown.min())), end * 1.02),
        tuple(marks),
        f"{short_name(name, 40)}\n{said}" if beyond else short_name(name, 40),
        height=3.35,
    )
    chart = Chart(
        "Predicted against actual",
        "Predictions on the dashed line are right. An arrow leads from the censoring time of a "
        f"subject to its imputed time ({METHODS[method].title}).",
        (panel,),
    )
    part = {"model": name, "subject": numbers, "predicted": predicted, "time": y.time,
            "event": y.event, "counted": counted, "weight": found.weight}  # fmt: skip
    return Display(chart, [part])


def _imputed(task: Task, method: str) -> tuple[Setting, Surrogates]:
    """What the subjects of a task count as, as its time errors see it."""
    one_of("method", method, censored_methods())
    setting = make_setting(
        task.y,
        task.reference,
        tau=task.tau,
        censoring=task.censoring,
        entry=True,
        **task.convention.of_times,
    )
    return setting, METHODS[method](setting)


def _first_times(usable: dict[str, Prediction], task: Task, what: str) -> tuple[str, Floats]:
    """Return the first model whose times are defined; of curves the median, given entry."""
    reasons: dict[str, None] = {}
    for name, prediction in usable.items():
        predicted = prediction.times
        if isinstance(predicted, SurvivalCurves):
            predicted = given_entry_of(predicted, task.y)
        try:
            return name, predicted_times(predicted, len(task.y), "median", task.tau)[0]
        except UndefinedMetricError as error:
            reasons[str(error)] = None
    raise UndefinedMetricError(f"{what} is undefined: {'; '.join(reasons)}")


def _arrows(y: Outcomes, counted: Floats, end: float) -> tuple[Floats, int]:
    """Where arrows of censored subjects end: of all of them, or of some evenly over time."""
    rows = np.flatnonzero(~y.event & np.isfinite(counted))
    rows = rows[np.argsort(y.time[rows], kind="stable")]
    if rows.size > _ARROWS:
        rows = rows[np.linspace(0, rows.size - 1, _ARROWS).astype(np.intp)]
    stop = np.full(len(y), np.nan)
    stop[rows] = np.minimum(counted[rows], end)
    return stop, rows.size


def imputed_times(ev: Source, *, methods: Iterable[str] | str | None = None) -> Display:
    """What censored subjects count as, by method, against their censoring time.

    The table has a part per method: time (of censoring, ascending), counted (the time that stands
    for the subject's, NaN where the method has none) and weight.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    methods : names, optional
        Of those that give one time (margin, ipcw_t, po, pop_po, ...); by default all.

    Examples
    --------
    >>> from survgauge.report.displays import given
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> imputed_times(given({}, y), methods="margin").rows()
    [{'method': 'margin', 'time': 5.0, 'counted': 7.0, 'weight': 0.25}]
    """
    giving = [method.name for method in METHODS.values() if method.imputes]
    names = chosen("methods", methods, giving)
    check_one_kind(ev, "a figure of imputed times")
    task = ev.task
    y = task.y.restricted(task.tau)
    rows = np.flatnonzero(~y.event & (y.weight > 0))
    if not rows.size:
        raise InputError(
            "imputed times replace censored times, and these outcomes have none"
            + ("" if task.tau is None else f" up to tau = {task.tau:g}")
        )
    rows = rows[np.argsort(y.time[rows], kind="stable")]
    time, table, left_out = y.time[rows], list[Part](), {}
    for name in names:
        try:
            _, found = _imputed(task, name)
        except UndefinedMetricError as error:
            left_out[name] = str(error)
            continue
        counted = np.where(found.defined[rows], found.time[rows], np.nan)
        weight = found.weight[rows]
        table.append({"method": name, "time": time, "counted": counted, "weight": weight})
    if not table:
        raise UndefinedMetricError(next(iter(left_out.values())))
    end, last = float(time.max()) * 1.02 or 1.0, reference_of(task).last_time
    ends = (Rule("x", last, "reference ends", dash="solid"),) if last < end else ()

    def drawn(column: str) -> list[Mark]:
        """Lines; under delayed entry points, as those censored at one time count as different."""
        marks: list[Mark] = []
        for part in table:
            place, title = shade(giving.index(part["method"])), METHODS[part["method"]].title
            if task.by_entry:
                marks.append(Points(time, part[column], place, title, size=2.5))
            else:
                marks.append(Line(time, part[column], place, title, marked=time.size < _FEW))
        return marks

    below = Axis.time(ev.unit, "Censoring time", 0, end)
    own = Rule("diagonal", label="censoring time")
    chart = Chart(
        "Imputed times",
        "Imputed times of censored subjects and their weights, by method. On the dashed line the "
        "imputed time is the censoring time.",
        (
            Panel(below, Axis.time(ev.unit, "Imputed time", 0), (*drawn("counted"), own, *ends),
                  height=2.35),
            Panel(below, Axis("Weight", low=0, high=1.03), (*drawn("weight"), *ends), height=1.0),
        ),
        shared="x",
        left_out=left_out,
    )  # fmt: skip
    return Display(chart, table)


_POINTS = 201


def telling_subjects(y: Outcomes, k: int = 4, cause: int | None = None) -> Ints:
    """Rows of k subjects of both statuses, early and late, in the order of their times.

    With a cause, one of them had an event of another.

    >>> telling_subjects(Outcomes([1, 2, 3, 4, 5, 6], [1, 1, 1, 0, 0, 0]))
    array([0, 2, 3, 5])
    """
    present = y.weight > 0
    other = np.empty(0, dtype=np.intp)
    if cause is not None:
        others = np.flatnonzero(present & y.event & (y.cause != cause))
        middle = np.argsort(y.time[others], kind="stable")[others.size // 2 :][:1]
        other = others[middle]
        present &= ~y.event | (y.cause == cause)
        k -= other.size
    parts = [np.flatnonzero(present & status) for status in (y.event, ~y.event)]
    # Each status gets its half, or all where the other does not have that many.
    share = [min(parts[0].size, k - min(parts[1].size, k // 2)), 0]
    share[1] = min(parts[1].size, k - share[0])
    chosen = [other]
    for rows, count in zip(parts, share, strict=True):
        if count:
            order = rows[np.argsort(y.time[rows], kind="stable")]
            places = (np.arange(count) + 0.5) / count * order.size
            chosen.append(order[places.astype(np.intp)])
    rows = np.concatenate(chosen)
    return rows[np.argsort(y.time[rows], kind="stable")]


def _checked(subjects: Any, y: Outcomes, cause: int | None = None) -> Ints:
    """Row numbers of subjects; by default telling ones."""
    if subjects is None:
        return telling_subjects(y, cause=cause)
    rows = numbers(np.atleast_1d(subjects), "subjects")
    if rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(f"subjects must be indices of subjects of y_test; got {subjects!r}")
    bad = rows[(rows < -len(y)) | (rows >= len(y))]
    if bad.size:
        raise InputError(
            f"subjects must be indices from 0 to {len(y) - 1}, one per subject of y_test; got "
            f"{bad[0]}"
        )
    return (rows % len(y)).astype(np.intp)


def subjects(
    ev: Source,
    *,
    subjects: Any = None,
    times: Any = None,
    models: Iterable[str] | str | None = None,
) -> Display:
    """Predicted curves of a few subjects with their event or censoring time.

    The table has a part per model and subject: its row number in the test set, what was observed
    (with several causes `happened` has the name of its cause), the predicted time (of curves the
    median, NaN where there is none), and the curve as time and survival; with a cause survival is
    1 - its incidence.

    Parameters
    ----------
    ev : Evaluation
        From `evaluate`.
    subjects : array-like of indices, optional
        By default four: early and late, with the event and censored.
    times : array-like, optional
        By default 201 from 0 to the last observed time.
    models : names, optional
        By default all.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> from survgauge.report.displays import display, given
    >>> made = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> source = given(made, ([2, 5, 8, 6], [1, 0, 1, 1]))
    >>> display(source, "subjects", subjects=[1], times=[4, 6]).column("survival").round(2)
    array([0.5 , 0.35])
    """
    usable, left_out = members(ev, "times", "a display of subjects' curves", models)
    y, cause = ev.task.y, ev.task.cause_name
    rows = _checked(subjects, y, cause=ev.task.cause)
    end = float(y.present().time.max()) or 1.0
    grid = np.linspace(0.0, end, _POINTS) if times is None else check_times(times)
    place, words, nothing = positions(ev.predictions), ev.task.words, np.array([np.nan])
    axis = "Survival probability" if cause is None else f"Probability of {words.the_event}"
    panels, table = [], []
    for row, happened in zip(rows.tolist(), _happened(y, rows), strict=True):
        t, event, last = float(y.time[row]), bool(y.event[row]), float(grid[-1])
        marks: list[Mark] = [
            Rule("y", 0.5, dash="dotted", width=0.6),
            Rule("x", t, role="ink", dash="solid" if event else "dotted", width=0.9),
            Points([t], [0.0], "ink", marker="star", size=9) if event else
            Span("x", t, max(last, t)),
        ]  # fmt: skip
        known = {"subject": row, "observed": t, "event": event}
        if cause is not None:
            known["happened"] = happened
        for model, prediction in usable.items():
            one = prediction[slice(row, row + 1)]
            part = {"model": model, **known, "time": nothing, "survival": nothing}
            if one.curves is None:
                part["predicted"] = float(np.asarray(one.times, dtype=np.float64)[0])
                at, name = min(max(part["predicted"], 0.0), last), (Model(model), ": time")
                told = f"{model}: {amount(part['predicted'], ev.unit)}"
                marks.append(Points([at], [0.5], place[model], name, names=(told,)))
            else:
                part |= {"time": grid, "survival": one.curves.at(grid)[0]}
                part["predicted"] = float(one.curves.median()[0])
                curve = part["survival"] if cause is None else 1 - part["survival"]
                marks.append(Line(grid, curve, place[model], (Model(model),)))
            table.append(part)
        panels.append(
            Panel(
                Axis.time(ev.unit, low=0, high=last),
                Axis(axis, low=0, high=1.03),
                tuple(marks),
                f"row {row + 1}: {happened} at {amount(t, ev.unit)}",
                height=2.05,
            )
        )
    columns = min(len(panels), 2 if len(panels) <= 4 else 3)
    chart = Chart(
        "Predicted curves of single subjects",
        "The curves that the models predicted for a few subjects, and what happened to them. A "
        "solid vertical line is an event; a dotted one is the time of censoring. Predicted times "
        "past an axis are at its end. Rows of the test data count from 1.",
        tuple(panels),
        columns,
        "y",
        3.6 if columns == 1 else 6.6,
        left_out,
    )
    return Display(chart, table)


def _happened(y: Outcomes, rows: Ints) -> tuple[str, ...]:
    """What happened to some subjects, in a word; with several causes the name of theirs."""
    if y.cause is None or y.causes is None:
        return tuple("event" if event else "censored" for event in y.event[rows])
    names = ("censored", *map(cause_label, y.causes))
    return tuple(names[code] for code in y.cause[rows])
