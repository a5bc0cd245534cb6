"""Metrics as functions of time: Brier score and AUC with bands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.predictions import Prediction
from ..errors import UndefinedMetricError, one_of
from ..metrics.checks import check_times
from ..metrics.details import CurveResult
from ..metrics.probability.probability import brier_score
from ..metrics.problem import Problem
from ..metrics.ranking.dynamic_auc import cumulative_dynamic_auc
from ..metrics.skill import reference_curves
from . import _style as style
from ._base import FromPredictions, Source, band, check_horizon, measure_each, members, reference_of

_POINTS = 60
_NAMES = {"brier": "the Brier score over time", "auc": "AUC over time"}


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
        Kaplan-Meier of the reference set, predicted for everybody (its AUC is 1/2).
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
        found = measure_each(usable, left_out, _NAMES[kind], lambda p: score(problem, p, grid))
        values, low, high = {}, {}, {}
        for model, (value, stderr) in found.items():
            values[model] = value
            low[model], high[model] = band(value, stderr, ev.confidence)
        order = tuple(ev.predictions)
        baseline = _baseline(problem, kind, grid)
        return cls(
            kind, grid, values, low, high, baseline, problem.horizon, order, ev.unit,
            ev.confidence, left_out,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row a model and time; the baseline is a model without a name."""
        table = [
            {"metric": self.kind, "model": model, "baseline": False, "time": t, "value": v,
             "low": a, "high": b}
            for model, values in self.values.items()
            for t, v, a, b in zip(self.times.tolist(), values.tolist(), self.low[model].tolist(),
                                  self.high[model].tolist(), strict=True)
        ]  # fmt: skip
        if self.baseline is not None:
            nan = float("nan")
            shared = {"metric": self.kind, "model": "", "baseline": True}
            table += [
                {**shared, "time": t, "value": v, "low": nan, "high": nan}
                for t, v in zip(self.times.tolist(), self.baseline.tolist(), strict=True)
            ]
        return table

    _size = (3.6, 2.75)

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, look = axes[0], style.Models(self.models)
        remarks = look.shade(ax, self.times, self.low, self.high)
        for model, values in self.values.items():
            single = {"marker": "o"} if np.isfinite(values).sum() == 1 else {}
            ax.plot(self.times, values, **look.line(model), **single)
        entries = [style.handle(look.names[m], **look.line(m)) for m in self.values]
        if self.baseline is not None:
            grey = {"color": style.BASELINE, "linewidth": 1.0, "linestyle": (0, (3, 2))}
            ax.plot(self.times, self.baseline, zorder=1, **grey)
            entries.append(style.handle("Kaplan-Meier (reference)", **grey))
        if self.times[-1] > self.horizon:
            ax.axvline(self.horizon, color=style.GREY, linewidth=0.8)
            ax.axvspan(self.horizon, self.times[-1], color=style.GREY, alpha=0.12, linewidth=0)
            entries.append(style.bar_handle("past the horizon", color=style.GREY, alpha=0.2))
        ax.set_xlabel(style.time_label(self.unit))
        ax.set_xlim(self.times[0], self.times[-1] if self.times.size > 1 else None)
        if self.kind == "brier":
            ax.set_ylabel("Brier score (lower is better)")
            ax.set_ylim(bottom=0)
        else:
            ax.set_ylabel("AUC (higher is better)")
            known = np.concatenate([*self.values.values(), *self.low.values(), [0.5]])
            ax.set_ylim(max(0.0, min(0.45, float(np.nanmin(known)) - 0.02)), 1.0)
        style.legend(axes, own, entries, {**self.left_out, **remarks}, look.names)


def _grid(problem: Problem, kind: str) -> Floats:
    end = check_horizon(problem, _NAMES[kind])
    start = 0.0
    if kind == "auc":
        y = problem.y.present()
        before = y.time[y.event & (y.time <= end)]
        if not before.size:
            raise UndefinedMetricError("AUC over time needs an event up to the horizon; got none")
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
    result = brier_score(
        problem.y, prediction.curves, grid, on_unsupported="truncate", **problem.ipcw
    )
    return _on_grid(result, grid)


def _auc(problem: Problem, prediction: Prediction, grid: Floats) -> tuple[Floats, Floats]:
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    result = cumulative_dynamic_auc(
        problem.y, predicted, grid, on_unsupported="truncate", stderr="fixed", **problem.ipcw
    )
    return _on_grid(result, grid)


def _baseline(problem: Problem, kind: str, grid: Floats) -> Floats | None:
    """Score of Kaplan-Meier; equal risks leave every pair undecided, so its AUC is 1/2."""
    if kind == "auc":
        return np.full(grid.size, 0.5)
    curves = reference_curves(reference_of(problem), len(problem.y))
    try:
        return _brier(problem, Prediction(curves, None, None), grid)[0]
    except UndefinedMetricError:
        return None
