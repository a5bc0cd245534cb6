"""Calibration as curves: the smooth calibration curve, and the mean predicted curve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.text_tables import number
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.calibration.smooth_calibration import integrated_calibration_index
from ..metrics.checks import check_times
from . import _style as style
from ._bands import kaplan_meier_band, smooth_band
from ._base import FromPredictions, Source, measure_each, members
from .calibration import time_of_interest

_BARS = 20
_POINTS = 101
_MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class SmoothCalibrationDisplay(FromPredictions):
    """Observed against predicted probability of the event by a time, as a smooth curve.

    Attributes
    ----------
    time : float
        The time.
    predicted, observed, low, high : dict of model to ndarray of shape (100,)
        The curve from the lowest to the highest prediction, with its pointwise band.
    ici, e50, e90 : dict of model to float
        Mean, median and 90 % quantile of ``|observed - predicted|`` over the subjects.
    edges : ndarray of shape (bars + 1,)
        Bounds of the histogram of predictions.
    histogram, events : dict of model to ndarray of shape (bars,)
        Subjects whose prediction lies in a bar, and those of them with the event by the time.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, s / 10, 0] for s in (2, 5, 9, 6, 3, 7, 4, 8)])
    >>> y = ([2, 5, 8, 6, 7, 3, 4, 9], [1, 0, 1, 1, 1, 1, 1, 0])
    >>> d = SmoothCalibrationDisplay.from_predictions(curves, y, time=5)
    >>> d.predicted["model"][[0, -1]].round(3), float(d.events["model"].sum())
    (array([0.325, 0.85 ]), 3.0)
    """

    time: float
    predicted: dict[str, Floats]
    observed: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    ici: dict[str, float]
    e50: dict[str, float]
    e90: dict[str, float]
    edges: Floats
    histogram: dict[str, Floats]
    events: dict[str, Floats]
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        time: float | None = None,
        knots: int = 3,
        models: Iterable[str] | str | None = None,
    ) -> SmoothCalibrationDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        time : float, optional
            By default the evaluation's time of interest.
        knots : {3, 4, 5}
            Of the spline.
        models : names, optional
            By default all.
        """
        usable, left_out = members(ev, "curves", "smooth calibration", models)
        y, when = ev.problem.y, time_of_interest(ev.problem, time)
        found = measure_each(
            usable,
            left_out,
            "smooth calibration",
            lambda p: integrated_calibration_index(y, p.curves, when, knots=knots),
        )
        bands = {model: smooth_band(result, ev.confidence) for model, result in found.items()}
        edges = np.linspace(0.0, 1.0, _BARS + 1)
        happened = y.weight * (y.event & (y.time <= when))
        bars = {}
        for model, result in found.items():
            share = (np.histogram(result.predicted, edges, weights=w)[0]
                     for w in (y.weight, happened))  # fmt: skip
            bars[model] = tuple(np.asarray(part, dtype=np.float64) for part in share)
        return cls(
            when,
            {model: result.curve_predicted for model, result in found.items()},
            {model: result.curve_observed for model, result in found.items()},
            {model: low for model, (low, _) in bands.items()},
            {model: high for model, (_, high) in bands.items()},
            {model: result.ici for model, result in found.items()},
            {model: result.e50 for model, result in found.items()},
            {model: result.e90 for model, result in found.items()},
            edges,
            {model: counts for model, (counts, _) in bars.items()},
            {model: events for model, (_, events) in bars.items()},
            tuple(ev.predictions),
            ev.unit,
            ev.confidence,
            left_out,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a model and point of the curve; the histogram is in its fields."""
        columns = ("predicted", "observed", "low", "high")
        return [
            {
                "model": model,
                "time": self.time,
                **{name: float(getattr(self, name)[model][k]) for name in columns},
                "ici": self.ici[model],
            }
            for model, grid in self.predicted.items()
            for k in range(grid.size)
        ]

    def _panels(self) -> int:
        return 2

    def _figure(self) -> list[Any]:
        strips = 0.25 + 0.27 * len(self.ici)
        return style.stack((3.0, strips), (3.6, 3.1 + strips))

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, look = axes[0], style.Models(self.models)
        style.diagonal(ax)
        remarks = look.shade(ax, self.predicted, self.low, self.high)
        entries = []
        for model, grid in self.predicted.items():
            single = {"marker": "o"} if grid[0] == grid[-1] else {}
            ax.plot(grid, self.observed[model], **look.line(model), **single)
            entries.append(style.handle(look.names[model], **look.line(model)))
        after = f" {style.plain(self.unit)}" if self.unit else ""
        shown = [v for part in (self.predicted, self.observed) for v in part.values()]
        end = min(1.0, 1.1 * float(np.nanmax(np.concatenate(shown))))
        ax.set_xlim(0, end)
        ax.set_ylim(0, end)
        when = f"event by {style.amount(self.time)}{after}"
        ax.set_ylabel(f"observed probability of the\n{when}")
        self._draw_strips(axes[1], look)
        axes[1].set_xlabel(f"predicted probability of the {when}")
        count = float(next(iter(self.events.values())).sum())
        entries += [
            style.bar_handle(f"event seen by then ({count:,.0f})", color=style.EVENT),
            style.bar_handle("others", color="#BBBBBB"),
        ]
        style.legend(axes, own, entries, {**self.left_out, **remarks}, look.names)

    def _draw_strips(self, ax: Any, look: style.Models) -> None:
        """Histograms of the predictions: events upwards, the others downwards."""
        middle, width = (self.edges[:-1] + self.edges[1:]) / 2, np.diff(self.edges) * 0.85
        for k, (model, counts) in enumerate(self.histogram.items()):
            events = self.events[model]
            scale = 0.46 / max(float(events.max()), float((counts - events).max()), 1.0)
            ax.bar(middle, -events * scale, width, bottom=k, color=style.EVENT)
            ax.bar(middle, (counts - events) * scale, width, bottom=k, color="#BBBBBB")
            ax.axhline(k, color=style.GREY, linewidth=0.4)
            ax.annotate(
                f"ICI {number(self.ici[model], 3)}", (1.01, k), va="center", fontsize="x-small",
                xycoords=("axes fraction", "data"),
            )  # fmt: skip
        style.names_on_rows(ax, [look.names[model] for model in self.histogram])


@dataclass(frozen=True, eq=False)
class MeanCurveDisplay(FromPredictions):
    """Kaplan-Meier of the test outcomes against the average predicted curves.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time.
    km, km_low, km_high : ndarray of shape (k,)
        Kaplan-Meier with its pointwise band.
    mean : dict of model to ndarray of shape (k,)
        Average of the models' curves; NaN where some say nothing (tail "nan").

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = MeanCurveDisplay.from_predictions(curves, y, times=[4, 6])
    >>> d.km.round(3), d.mean["model"].round(3)
    (array([0.75 , 0.375]), array([0.55, 0.4 ]))
    """

    times: Floats
    km: Floats
    km_low: Floats
    km_high: Floats
    mean: dict[str, Floats]
    horizon: float
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, times: Any = None, models: Iterable[str] | str | None = None
    ) -> MeanCurveDisplay:
        """Build from an evaluation; `times` are where the curves are read."""
        what = "the mean predicted curve"
        usable, left_out = members(ev, "curves", what, models)
        y = ev.problem.y
        grid = _grid(y) if times is None else check_times(times)
        found = measure_each(usable, left_out, what, lambda p: mean_survival(p, y, grid))
        km, low, high = kaplan_meier_band(y, grid, ev.confidence)
        order = tuple(ev.predictions)
        return cls(
            grid, km, low, high, found, ev.problem.horizon, order, ev.unit, ev.confidence, left_out
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a curve and time; Kaplan-Meier is a curve without a model."""
        nan = [float("nan")] * self.times.size
        curves = [("", True, self.km, self.km_low.tolist(), self.km_high.tolist())]
        curves += [(model, False, mean, nan, nan) for model, mean in self.mean.items()]
        return [
            {"model": model, "kaplan_meier": km, "time": t, "survival": s, "low": a, "high": b}
            for model, km, values, low, high in curves
            for t, s, a, b in zip(self.times.tolist(), values.tolist(), low, high, strict=True)
        ]

    _size = (3.6, 2.75)

    def _draw(self, axes: list[Any], own: bool) -> None:
        ax, look = axes[0], style.Models(self.models)
        style.shade(ax, self.times, self.km_low, self.km_high, "black", step="post")
        ax.step(self.times, self.km, where="post", color="black", linewidth=1.1)
        for model, mean in self.mean.items():
            ax.plot(self.times, mean, **look.line(model))
        if 0 < self.horizon < self.times[-1]:
            ax.axvspan(self.horizon, self.times[-1], color=style.GREY, alpha=0.08, linewidth=0)
        ax.set_xlim(0, self.times[-1])
        ax.set_ylim(0, 1.03)
        ax.set_xlabel(style.time_label(self.unit))
        ax.set_ylabel("survival probability")
        level = "" if self.confidence is None else f" with {self.confidence:.0%} band"
        entries = [style.handle(f"Kaplan-Meier{level}", color="black", linewidth=1.1)]
        entries += [style.handle(f"mean of {look.names[m]}", **look.line(m)) for m in self.mean]
        if 0 < self.horizon < self.times[-1]:
            entries.append(style.bar_handle("past the horizon", color=style.GREY, alpha=0.15))
        style.legend(axes, own, entries, self.left_out, look.names)


def _grid(y: Outcomes) -> Floats:
    """Equal steps, and the steps of Kaplan-Meier where they are few."""
    known = y.present()
    falls = np.unique(known.time[known.event])
    even = np.linspace(0.0, float(known.time.max()) or 1.0, _POINTS)
    return np.unique(np.concatenate((even, falls))) if falls.size <= _MOST_STEPS else even


def mean_survival(prediction: Prediction, y: Outcomes, times: Floats) -> Floats:
    """Average of the curves at `times`, in blocks of rows."""
    curves, share = prediction.curves, y.weight / y.weight.sum()
    total = np.zeros(times.size)
    if curves is None:
        return np.full(times.size, np.nan)
    for rows in curves.blocks(times.size + curves.survival.shape[1]):
        known = share[rows] > 0
        total += share[rows][known] @ curves.at_block(rows, times)[known]
    return total
