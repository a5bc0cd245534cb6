"""The mean predicted curve against Kaplan-Meier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.calibration.hazard_gap import HazardGap
from ..metrics.checks import check_curves, check_times
from ..metrics.interval_problem import IntervalProblem
from ..reference.kaplan_meier import KaplanMeier
from ._bands import kaplan_meier_band, turnbull_band
from ._base import FromPredictions, Source, check_one_kind, measure_each, members, records
from .description import (
    Axis,
    Chart,
    Line,
    Model,
    Panel,
    horizon_marks,
    positions,
)


@dataclass(frozen=True, eq=False)
class MeanCurveDisplay(FromPredictions):
    """Kaplan-Meier of the test outcomes against the average predicted curves.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time.
    km, km_low, km_high : ndarray of shape (k,)
        Kaplan-Meier with its pointwise band; of interval-censored outcomes Turnbull's estimate.
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
    #: Which estimate `km` is.
    estimate: str = "Kaplan-Meier"
    #: Whether entry is delayed: `mean` then comes from the hazards of those at risk.
    by_entry: bool = False

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, times: Any = None, models: Iterable[str] | str | None = None
    ) -> MeanCurveDisplay:
        """Build from an evaluation; `times` are where the curves are read."""
        what = "the mean predicted curve"
        usable, left_out = members(ev, "curves", what, models)
        check_one_kind(ev, what)
        y = ev.problem.y
        grid = time_grid(y) if times is None else check_times(times)
        read = mean_survival if y.entry is None else survival_of_those_at_risk
        found = measure_each(usable, left_out, what, lambda p: read(p, y, grid))
        if isinstance(ev.problem, IntervalProblem):
            km, low, high = turnbull_band(ev.problem.observed, grid, ev.confidence)
        else:
            km, low, high = kaplan_meier_band(y, grid, ev.confidence)
        order = tuple(ev.predictions)
        return cls(
            grid, km, low, high, found, ev.problem.horizon, order, ev.unit, ev.confidence, left_out,
            "Turnbull's estimate" if ev.problem.outcomes == "interval" else "Kaplan-Meier",
            y.entry is not None,
        )  # fmt: skip

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
            self.times, self.km, "ink", f"{self.estimate}{level}", self.km_low, self.km_high,
            step=self.estimate == "Kaplan-Meier", width=1.1,
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
        what = "curve of the mean predicted hazards of those at risk" if self.by_entry else (
            "mean of a model's curves"
        )  # fmt: skip
        return Chart(
            f"Mean predicted curve against {self.estimate}",
            f"The {what} follows {self.estimate} of the test subjects if the model is right on "
            "average.",
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


def survival_of_those_at_risk(prediction: Prediction, y: Outcomes, times: Floats) -> Floats:
    """What the predicted hazards of those at risk say of Kaplan-Meier, under delayed entry.

    It begins where Kaplan-Meier is when enough are at risk; before that it is NaN.
    """
    if prediction.curves is None:
        return np.full(times.size, np.nan)
    present = y.weight > 0
    known, curves = y[present], check_curves(prediction.curves, y)[present]
    found = HazardGap.of(known, curves, float(known.time.max()))
    begin, free = found.nodes[0], np.interp(times, found.lines.nodes, found.lines.right)
    free *= KaplanMeier.fit(known).at(begin)
    return np.where(times >= begin, free, np.nan)
