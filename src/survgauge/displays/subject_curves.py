"""Predicted curves of chosen subjects, with what happened to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, numbers
from ..data.event_words import EventWords, cause_label
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.checks import check_times
from ._base import FromPredictions, Source, members, records
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Model,
    Note,
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


def checked_subjects(subjects: Any, y: Outcomes, cause: int | None = None) -> Ints:
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


@dataclass(frozen=True, eq=False)
class SubjectCurvesDisplay(FromPredictions):
    """Predicted survival curves of a few subjects with their event or censoring time.

    Attributes
    ----------
    times : ndarray of shape (m,)
        Where the curves are read.
    survival : dict of model to ndarray of shape (k, m)
        Models that predict curves.
    predicted : dict of model to ndarray of shape (k,)
        Predicted time (of curves the median; NaN where there is none), models without times left
        out.
    subjects, time, event : ndarray of shape (k,)
        Row numbers in the test set, and what was observed; with several causes `happened` has
        the names of theirs.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = SubjectCurvesDisplay.from_predictions(curves, y, subjects=[1], times=[4, 6])
    >>> d.survival["model"].round(2), d.event
    (array([[0.5 , 0.35]]), array([False]))
    """

    times: Floats
    survival: dict[str, Floats]
    subjects: Ints
    time: Floats
    event: Bools
    predicted: dict[str, Floats]
    models: tuple[str, ...]
    unit: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    #: What happened to each subject, in a word; with a cause, `survival` is 1 - its incidence.
    happened: tuple[str, ...] = ()
    cause: str | None = None

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        subjects: Any = None,
        times: Any = None,
        models: Iterable[str] | str | None = None,
    ) -> SubjectCurvesDisplay:
        """Build from an evaluation.

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
        """
        usable, left_out = members(ev, "times", "a display of subjects' curves", models)
        y = ev.problem.y
        rows = checked_subjects(subjects, y, cause=ev.problem.cause)
        end = float(y.present().time.max()) or 1.0
        grid = np.linspace(0.0, end, _POINTS) if times is None else check_times(times)
        return cls(
            grid,
            {m: p.curves[rows].at(grid) for m, p in usable.items() if p.curves is not None},
            rows,
            y.time[rows],
            y.event[rows],
            {m: _times(p[rows]) for m, p in usable.items()},
            tuple(ev.predictions),
            ev.unit,
            left_out,
            _happened(y, rows),
            ev.problem.cause_name,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per point of a curve, and one for each time predicted without a curve."""
        table, nothing = [], np.array([np.nan])
        for model, predicted in self.predicted.items():
            curves = self.survival.get(model)
            for k, subject in enumerate(self.subjects.tolist()):
                shared = {
                    "model": model,
                    "subject": subject,
                    "observed": float(self.time[k]),
                    "event": bool(self.event[k]),
                    **({} if self.cause is None else {"happened": self.happened[k]}),
                    "predicted": float(predicted[k]),
                }
                curve = (nothing, nothing) if curves is None else (self.times, curves[k])
                table += records(**shared, time=curve[0], survival=curve[1])
        return table

    def describe(self) -> Chart:
        """One panel per subject: curves, predicted times, and what happened."""
        count = self.subjects.size
        columns = min(count, 2 if count <= 4 else 3)
        return Chart(
            "Predicted curves of single subjects",
            "The curves that the models predicted for a few subjects, and what happened to them. A "
            "solid vertical line is an event; after a dotted line the subject was not observed any "
            "more. Rows of the test data count from 1.",
            tuple(self._panel(k) for k in range(count)),
            columns,
            "y",
            3.6 if columns == 1 else 6.6,
            self.left_out,
        )

    def _panel(self, k: int) -> Panel:
        t, happened, end = float(self.time[k]), bool(self.event[k]), float(self.times[-1])
        words = EventWords(self.cause)
        curves = {m: s[k] if self.cause is None else 1 - s[k] for m, s in self.survival.items()}
        marks: list[Mark] = [
            Rule("y", 0.5, dash="dotted", width=0.6),
            Rule("x", t, role="ink", dash="solid" if happened else "dotted", width=0.9),
        ]
        if happened:
            marks.append(Points([t], [0.0], "ink", marker="star", size=9))
        else:
            marks.append(Span("x", t, max(end, t)))
        for model, role in positions(self.models).items():
            if model in curves:
                marks.append(Line(self.times, curves[model], role, (Model(model),)))
            elif model in self.predicted:
                marks += _predicted(float(self.predicted[model][k]), end, role, model)
        axis = "Survival probability"
        if self.cause is not None:
            axis = f"Probability of {words.the_event}"
        return Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis(axis, low=0, high=1.03),
            tuple(marks),
            f"row {self.subjects[k] + 1}: {self.happened[k]} at {amount(t, self.unit)}",
            height=2.05,
        )


def _happened(y: Outcomes, rows: Ints) -> tuple[str, ...]:
    """What happened to some subjects, in a word; with several causes the name of theirs."""
    if y.cause is None or y.causes is None:
        return tuple("event" if event else "censored" for event in y.event[rows])
    names = ("censored", *map(cause_label, y.causes))
    return tuple(names[code] for code in y.cause[rows])


def _predicted(t: float, end: float, role: int, model: str) -> list[Mark]:
    """Mark a predicted time; one past the axis at its end, with its value."""
    at = min(max(t, 0.0), end)
    marks: list[Mark] = [Points([at], [0.5], role, (Model(model), ": time"))]
    if t > end:
        marks.append(Note(f"{amount(t)} →", end, 0.52, "right", role, on_data=True))
    elif t < 0:
        marks.append(Note(f"← {amount(t)}", 0.0, 0.52, "left", role, on_data=True))
    return marks


def _times(prediction: Prediction) -> Floats:
    """One time per subject."""
    if prediction.curves is not None:
        return prediction.curves.median()
    return np.asarray(prediction.times, dtype=np.float64)
