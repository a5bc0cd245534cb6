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
from ._bands import kaplan_meier_band, smooth_band
from ._base import FromPredictions, Source, measure_each, members, records
from .calibration import time_of_interest
from .description import (
    Axis,
    Bars,
    Chart,
    Line,
    Model,
    Panel,
    Row,
    Rule,
    amount,
    horizon_marks,
    positions,
)

_BARS = 20


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
    expected_ici : dict of model to float
        ICI that chance alone would give a perfectly calibrated model; NaN where it is unknown.
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
    expected_ici: dict[str, float] = field(default_factory=dict)

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
            {model: result.expected_if_calibrated for model, result in found.items()},
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and point of the curve; the histogram is in its fields."""
        columns = ("predicted", "observed", "low", "high", "ici")
        return [
            row
            for model in self.predicted
            for row in records(
                model=model, time=self.time, **{c: getattr(self, c)[model] for c in columns}
            )
        ]

    def describe(self) -> Chart:
        """The curves, and below them where the predictions of each model lie."""
        when = f"event by {amount(self.time, self.unit)}"
        place = positions(self.models)
        shown = np.concatenate([*self.predicted.values(), *self.observed.values()])
        end = min(1.0, 1.1 * float(np.nanmax(shown)))
        below = Axis(f"Predicted probability\nof the {when}", low=0, high=end)
        lines = [
            Line(
                grid, self.observed[model], place[model], (Model(model),), self.low[model],
                self.high[model], marked=bool(grid[0] == grid[-1]),
            )
            for model, grid in self.predicted.items()
        ]  # fmt: skip
        curves = Panel(
            below,
            Axis(f"Observed probability\nof the {when}", low=0, high=end),
            (Rule("diagonal"), *lines),
            height=2.9,
        )
        rows = tuple(Row((Model(model),), self._distance(model)) for model in self.ici)
        bars = self._histograms()
        return Chart(
            "Smooth calibration",
            "Observed against predicted probability as a smooth curve; on the dashed line they are "
            "equal. The bars below count predictions: those of subjects with the event by then "
            "point upwards, the others downwards. ICI is the mean distance from the line; by "
            "chance, the one expected of a perfectly calibrated model.",
            (curves, Panel(below, Axis(), bars, rows=rows, height=0.55 + 0.27 * len(rows))),
            shared="x",
            left_out=self.left_out,
        )

    def _distance(self, model: str) -> str:
        """Say how large the ICI is, and how large it would be by chance alone."""
        told = f"ICI {number(self.ici[model], 2)}"
        expected = self.expected_ici.get(model, float("nan"))
        return f"{told}\nby chance {number(expected, 2)}" if np.isfinite(expected) else told

    def _histograms(self) -> tuple[Bars, ...]:
        """One row per model: those with the event upwards, the others downwards."""
        seen = float(next(iter(self.events.values())).sum())
        labels = f"event seen by then ({seen:,.0f})", "others"
        found = []
        for k, (model, counts) in enumerate(self.histogram.items()):
            events = self.events[model]
            scale = 0.46 / max(float(events.max()), float((counts - events).max()), 1.0)
            parts = (-events * scale, "event"), ((counts - events) * scale, "pale")
            for (height, role), label in zip(parts, labels, strict=True):
                said = label if k == 0 else ""
                found.append(Bars(self.edges, float(k), k + height, role, said, gap=0.15))
        return tuple(found)


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
        grid = time_grid(y) if times is None else check_times(times)
        found = measure_each(usable, left_out, what, lambda p: mean_survival(p, y, grid))
        km, low, high = kaplan_meier_band(y, grid, ev.confidence)
        order = tuple(ev.predictions)
        return cls(
            grid, km, low, high, found, ev.problem.horizon, order, ev.unit, ev.confidence, left_out
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row a curve and time; Kaplan-Meier is a curve without a model."""
        km = {"time": self.times, "survival": self.km, "low": self.km_low, "high": self.km_high}
        table = records(model="", kaplan_meier=True, **km)
        nan = float("nan")
        for model, mean in self.mean.items():
            bare = {"time": self.times, "survival": mean, "low": nan, "high": nan}
            table += records(model=model, kaplan_meier=False, **bare)
        return table

    def describe(self) -> Chart:
        """Kaplan-Meier with its band, and the mean curve of each model."""
        end = float(self.times[-1])
        level = "" if self.confidence is None else f" with {self.confidence * 100:g} % band"
        km = Line(
            self.times, self.km, "ink", f"Kaplan-Meier{level}", self.km_low, self.km_high,
            step=True, width=1.1,
        )  # fmt: skip
        place = positions(self.models)
        lines = [
            Line(self.times, mean, place[model], ("mean of ", Model(model)))
            for model, mean in self.mean.items()
        ]
        panel = Panel(
            Axis.time(self.unit, low=0, high=end),
            Axis("Survival probability", low=0, high=1.03),
            (km, *lines, *horizon_marks(self.horizon, end)),
        )
        return Chart(
            "Mean predicted curve against Kaplan-Meier",
            "The mean of a model's curves follows Kaplan-Meier of the test subjects if the model "
            "is right on average.",
            (panel,),
            left_out=self.left_out,
        )


def time_grid(y: Outcomes, points: int = 101) -> Floats:
    """Return equal steps, and the steps of Kaplan-Meier where they are few."""
    known = y.present()
    falls = np.unique(known.time[known.event])
    even = np.linspace(0.0, float(known.time.max()) or 1.0, points)
    return np.union1d(even, falls) if falls.size < 2 * points else even


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
