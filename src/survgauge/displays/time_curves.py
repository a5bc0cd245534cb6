"""Metrics as functions of time: Brier score and AUC with bands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..data.predictions import Prediction
from ..errors import UndefinedMetricError, one_of
from ..metrics.checks import check_times
from ..metrics.details import CurveResult
from ..metrics.probability.status_scores import brier_curve
from ..metrics.problem import Problem
from ..metrics.ranking.dynamic_auc import auc_curve
from ._base import (
    FromPredictions,
    Source,
    band,
    by_model,
    measure_each,
    members,
    records,
    reference_of,
)
from .description import Axis, Chart, Line, Mark, Model, Panel, horizon_marks, positions

_POINTS = 60


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
            f"{event.estimate} predicts the same curve for everybody.",
        )
    whom = "an event" if event.cause is None else event.the_event
    return (
        f"AUC{of_cause} over time",
        "AUC (higher is better)",
        "chance",
        f"How well the predictions separate subjects with {whom} up to each time from those "
        "without (cumulative/dynamic AUC); 0.5 is chance.",
    )


@dataclass(frozen=True, eq=False)
class TimeCurveDisplay(FromPredictions):
    """Brier score or cumulative/dynamic AUC at each time, with pointwise bands.

    Attributes
    ----------
    kind : {"brier", "auc"}
        Which metric.
    times : ndarray of shape (k,)
        Up to the horizon, unless others were asked for.
    values, low, high : dict of model to ndarray of shape (k,)
        The metric and its band; NaN where it is undefined.
    baseline : ndarray of shape (k,) or None
        Kaplan-Meier (of a cause, Aalen-Johansen) of the reference set, predicted for everybody
        (its AUC is 1/2).
    horizon : float
        Where support ends; see `SupportDisplay`.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = TimeCurveDisplay.from_predictions(curves, y, kind="brier", times=[3, 5])
    >>> d.values["model"].round(3), d.baseline.round(3)
    (array([0.099, 0.125]), array([0.188, 0.188]))
    """

    kind: str
    times: Floats
    values: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    baseline: Floats | None
    horizon: float
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    #: Name of the cause that the metric is about; None: there is one kind of event.
    cause: str | None = None

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        kind: str = "brier",
        times: Any = None,
        models: Iterable[str] | str | None = None,
    ) -> TimeCurveDisplay:
        """Build from an evaluation.

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
        """
        one_of("kind", kind, _NAMES)
        usable, left_out = members(
            ev, "curves" if kind == "brier" else "risk", _NAMES[kind], models
        )
        problem = ev.problem
        grid = _grid(problem, kind) if times is None else check_times(times)
        score = _brier if kind == "brier" else _auc

        def compute(prediction: Prediction) -> tuple[Floats, Floats, Floats]:
            value, stderr = score(problem, prediction, grid)
            return value, *band(value, stderr, ev.confidence)

        values, low, high = by_model(measure_each(usable, left_out, _NAMES[kind], compute))
        return cls(
            kind, grid, values, low, high, _baseline(problem, kind, grid), problem.horizon,
            tuple(ev.predictions), ev.unit, ev.confidence, left_out, problem.cause_name,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and time; the baseline is a model without a name."""
        table, nan = [], float("nan")
        for model, values in self.values.items():
            table += records(
                metric=self.kind, model=model, baseline=False, time=self.times, value=values,
                low=self.low[model], high=self.high[model],
            )  # fmt: skip
        if self.baseline is not None:
            table += records(
                metric=self.kind, model="", baseline=True, time=self.times, value=self.baseline,
                low=nan, high=nan,
            )  # fmt: skip
        return table

    def describe(self) -> Chart:
        """One line per model with its band, and that of one prediction for everybody."""
        place = positions(self.models)
        title, label, baseline, caption = _words(self.kind, EventWords(self.cause))
        marks: list[Mark] = [
            Line(self.times, values, place[model], (Model(model),), self.low[model],
                 self.high[model])
            for model, values in self.values.items()
        ]  # fmt: skip
        if self.baseline is not None:
            marks.append(Line(self.times, self.baseline, "baseline", baseline, width=1.0))
        marks += horizon_marks(self.horizon, float(self.times[-1]))
        known = np.concatenate([*self.values.values(), *self.low.values(), [0.5]])
        low, high = 0.0, None
        if self.kind == "auc":
            low, high = max(0.0, min(0.45, float(np.nanmin(known)) - 0.02)), 1.0
        end = float(self.times[-1]) if self.times.size > 1 else None
        panel = Panel(
            Axis.time(self.unit, low=float(self.times[0]) if end is not None else None, high=end),
            Axis(label, low=low, high=high),
            tuple(marks),
        )
        return Chart(title, caption, (panel,), left_out=self.left_out)


def _grid(problem: Problem, kind: str) -> Floats:
    """Return times up to the horizon, or to a later time of interest."""
    if not problem.horizon > 0:
        raise UndefinedMetricError(
            f"{_NAMES[kind]} is undefined: follow-up supports no time above 0 (the horizon is 0)"
        )
    times = [at.time_used for at in problem.at_times]
    end = max([problem.until, *(time for time in times if time <= problem.horizon)])
    start = 0.0
    if kind == "auc":
        y = problem.y.present()
        had = y.event if problem.cause is None else y.cause == problem.cause
        before = y.time[had & (y.time <= end)]
        if not before.size:
            raise UndefinedMetricError(
                f"AUC over time needs {problem.words.some_event} up to the horizon; got none"
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


def _brier(problem: Problem, prediction: Prediction, grid: Floats) -> tuple[Floats, Floats]:
    given = problem.y, prediction.curves, grid
    return _on_grid(brier_curve(*given, cause=problem.cause, **problem.ipcw), grid)


def _auc(problem: Problem, prediction: Prediction, grid: Floats) -> tuple[Floats, Floats]:
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    given = problem.y, predicted, grid, "fixed"
    return _on_grid(auc_curve(*given, cause=problem.cause, **problem.ipcw), grid)


def _baseline(problem: Problem, kind: str, grid: Floats) -> Floats | None:
    """Score of one prediction for all; equal risks leave every pair undecided: its AUC is 1/2."""
    if kind == "auc":
        return np.full(grid.size, 0.5)
    asked = replace(problem, reference=reference_of(problem))
    try:
        return _brier(problem, asked.baseline(), grid)[0]
    except UndefinedMetricError:
        return None
