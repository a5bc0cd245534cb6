"""Predicted curves of chosen subjects, with what happened to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tools.arrays import Ints, numbers
from ...data.causes import cause_label
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...metrics.checks import check_times
from ._base import Display, Source, members
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Model,
    Panel,
    Points,
    Rule,
    Span,
    amount,
    positions,
)

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
        "solid vertical line is an event; after a dotted line the subject was not observed any "
        "more. Predicted times past an axis are at its end. Rows of the test data count from 1.",
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
