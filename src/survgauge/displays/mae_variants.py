"""How the six variants of the mean absolute error count a few subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.text_tables import number
from ..errors import InputError, UndefinedMetricError
from ..metrics.problem import Problem
from ..reference.surrogates import METHODS
from ._base import (
    FromPredictions,
    Source,
    by_model,
    check_one_kind,
    first_of,
    members,
    records,
    time_errors,
)
from .description import (
    Axis,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Row,
    Rule,
    amount,
    short_name,
)
from .predicted_actual import medians_of, surrogates_of
from .subject_curves import checked_subjects

_MOST = 8
#: The paper's six variants of the mean absolute error.
VARIANTS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po")


@dataclass(frozen=True, eq=False)
class MAEVariantsDisplay(FromPredictions):
    """How the six variants of the mean absolute error count a few subjects of one model.

    Attributes
    ----------
    subjects, time, event, predicted : ndarray of shape (k,)
        Row numbers in the test set, what was observed, and what was predicted.
    counted : dict of method to ndarray of shape (k,)
        The time that a subject counts as; NaN where the method leaves it out. For ``hinge`` the
        censoring time is a lower bound: later predictions are not wrong.
    weight, error : dict of method to ndarray of shape (k,)
        How much the subject counts, and its error.
    values : dict of method to float
        The metric of all test subjects.

    Examples
    --------
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = MAEVariantsDisplay.from_predictions([3, 6, 6, 6], y, subjects=[1])
    >>> {method: error.round(2).tolist() for method, error in d.error.items()}
    {'uncensored': [nan], 'hinge': [0.0], 'margin': [1.0], 'ipcw_d': [nan], 'ipcw_t': [1.0],
    'po': [1.0]}
    """

    model: str
    subjects: Ints
    time: Floats
    event: Bools
    predicted: Floats
    counted: dict[str, Floats]
    weight: dict[str, Floats]
    error: dict[str, Floats]
    values: dict[str, float]
    unit: str = ""

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, model: str | None = None, subjects: Any = None
    ) -> MAEVariantsDisplay:
        """Build from an evaluation, for `subjects` (row numbers; by default four telling ones)."""
        what = "the illustration of MAE variants"
        usable, _ = members(ev, "times", what, model)
        check_one_kind(ev, what)
        problem, rows = ev.problem, checked_subjects(subjects, ev.problem.y)
        if rows.size > _MOST:
            raise InputError(f"subjects must be at most {_MOST} indices; got {rows.size}")
        name, found = first_of(usable, what, lambda p: _variants(problem, p.times, rows))
        times = medians_of(usable[name][rows], problem.y[rows], problem.tau)
        y = problem.y[rows].restricted(problem.tau)
        counted, weight, error, values = by_model(found)
        return cls(name, rows, y.time, y.event, times, counted, weight, error, values, ev.unit)

    def rows(self) -> list[dict[str, Any]]:
        """One row per subject and method."""
        known = {"model": self.model, "subject": self.subjects, "time": self.time,
                 "event": self.event, "predicted": self.predicted}  # fmt: skip
        by_method = [
            records(**known, method=method, counted=counted, weight=self.weight[method],
                    error=self.error[method])
            for method, counted in self.counted.items()
        ]  # fmt: skip
        return [row for subject in zip(*by_method, strict=True) for row in subject]

    def describe(self) -> Chart:
        """One panel per subject, one row per method."""
        columns = min(self.subjects.size, 2)
        # Far-off predictions and surrogates are drawn at the edge.
        ends = np.concatenate((self.time, self.predicted, *self.counted.values()))
        end = 1.05 * min(float(np.nanmax(ends)), 4 * float(self.time.max())) or 1.0
        start = max(1.05 * min(0.0, float(self.predicted.min())), -end)
        return Chart(
            "How variants of the mean absolute error count a subject",
            "A dot is the time that a subject is counted as, the line its distance from the "
            "predicted time. The number at the right is that error times the subject's weight. "
            "Rows of the test data count from 1.",
            tuple(self._panel(k, start, end) for k in range(self.subjects.size)),
            columns,
            "y",
            3.6 * columns,
        )

    def _panel(self, k: int, start: float, end: float) -> Panel:
        predicted = float(np.clip(self.predicted[k], start, end))
        said = f"predicted by {short_name(self.model, 22)}"
        marks: list[Mark] = [
            Rule("x", predicted, said, "ink", width=1.0),
            Rule("x", float(self.time[k]), "observed", dash="solid", width=0.7),
        ]
        rows = []
        for place, (method, counted) in enumerate(self.counted.items()):
            weight, error = float(self.weight[method][k]), float(self.error[method][k])
            if not (weight > 0 and np.isfinite(counted[k])):
                rows.append(Row(method, "left out", clear=False))
                continue
            rows.append(Row(method, f"{number(error, 3)} × {number(weight, 2)}"))
            at, label = min(float(counted[k]), end), "counts as; at the right: error × weight"
            if error > 0:
                # The surer, the darker.
                alpha = 0.25 + 0.75 * min(weight, 1.0)
                ends = [at, predicted], [place, place]
                marks.append(Line(*ends, "event", width=2.0, alpha=alpha))
            record = METHODS[method]
            # Nothing takes the place of the censoring time: it is a lower bound.
            bound = record.counts_censored and not record.looks_up
            open_ended = bound and not self.event[k]
            marker = "right" if open_ended else "dot"
            marks.append(Points([at], [place], "event", label, marker=marker))
        what = "event at" if self.event[k] else "censored at"
        return Panel(
            Axis.time(self.unit, low=start, high=end),
            Axis(),
            tuple(marks),
            f"row {self.subjects[k] + 1}: {what} {amount(float(self.time[k]), self.unit)}",
            tuple(rows),
            height=2.0,
        )


def subject_errors(
    problem: Problem, predicted: Any, method: str, rows: Ints
) -> tuple[Floats, Floats, Floats]:
    """What some subjects count as, how much, and their errors: (time, weight, error)."""
    details, found = time_errors(problem, predicted, method), surrogates_of(problem, method)[1]
    takes_part = found.weight[rows] > 0
    counted = np.where(found.defined[rows], found.time[rows], np.nan)
    return counted, found.weight[rows], np.where(takes_part, details.loss[rows], np.nan)


def _variants(
    problem: Problem, predicted: Any, rows: Ints
) -> dict[str, tuple[Floats, Floats, Floats, float]]:
    """All variants that are defined: what the subjects count as, and the metric."""
    found: dict[str, tuple[Floats, Floats, Floats, float]] = {}
    reasons: dict[str, None] = {}
    for method in VARIANTS:
        try:
            value = time_errors(problem, predicted, method).value
            found[method] = *subject_errors(problem, predicted, method, rows), value
        except UndefinedMetricError as error:
            reasons[str(error)] = None
    if not found:
        raise UndefinedMetricError("; ".join(reasons))
    return found
