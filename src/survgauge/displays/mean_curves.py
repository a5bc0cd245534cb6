"""The mean predicted curve against Kaplan-Meier, or of a cause against Aalen-Johansen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.event_words import EventWords
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.calibration.cause_hazard_gap import CauseHazardGap
from ..metrics.calibration.hazard_gap import HazardGap
from ..metrics.checks import check_curves, check_times
from ..metrics.interval_problem import IntervalProblem
from ..metrics.one_cause import coded
from ..reference.aalen_johansen import AalenJohansen
from ..reference.kaplan_meier import KaplanMeier
from ._bands import incidence_band, kaplan_meier_band, turnbull_band
from ._base import FromPredictions, Source, check_one_kind, measure_each, members, records
from ._times import time_grid
from .description import (
    Axis,
    Chart,
    Line,
    Model,
    Panel,
    horizon_marks,
    positions,
    with_level,
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
            estimate = "Turnbull's estimate"
            bands = turnbull_band(ev.problem.observed, grid, ev.confidence)
        else:
            estimate, bands = "Kaplan-Meier", kaplan_meier_band(y, grid, ev.confidence)
        return cls(
            grid, *bands, found, ev.problem.horizon, tuple(ev.predictions), ev.unit, ev.confidence,
            left_out, estimate, y.entry is not None,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row a curve and time; Kaplan-Meier is a curve without a model."""
        observed = self.km, self.km_low, self.km_high
        return _rows("kaplan_meier", "survival", self.times, observed, self.mean)

    def describe(self) -> Chart:
        """Kaplan-Meier with its band, and the mean curve of each model."""
        level = with_level(self.confidence, "band")
        km = Line(
            self.times, self.km, "ink", f"{self.estimate}{level}", self.km_low, self.km_high,
            step=self.estimate == "Kaplan-Meier", width=1.1,
        )  # fmt: skip
        what = "curve of the mean predicted hazards of those at risk" if self.by_entry else (
            "mean of a model's curves"
        )  # fmt: skip
        return Chart(
            f"Mean predicted curve against {self.estimate}",
            f"The {what} follows {self.estimate} of the test subjects if the model is right on "
            "average.",
            (_panel(self, km, Axis("Survival probability", low=0, high=1.03)),),
            left_out=self.left_out,
        )


@dataclass(frozen=True, eq=False)
class MeanIncidenceDisplay(FromPredictions):
    """Aalen-Johansen of a cause in the test set against the average predicted incidence.

    Attributes
    ----------
    times : ndarray of shape (k,)
        From 0 to the last observed time.
    observed, low, high : ndarray of shape (k,)
        Aalen-Johansen with its pointwise band.
    mean : dict of model to ndarray of shape (k,)
        Average of the models' incidence of the cause; NaN where some say nothing.
    cause : str
        Name of the cause.

    Examples
    --------
    >>> from survgauge import IncidenceCurves, Outcomes
    >>> curves = IncidenceCurves([1, 2, 4], [[[0.2, 0.3, 0.5], [0.1, 0.2, 0.3]]] * 4)
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1])
    >>> d = MeanIncidenceDisplay.from_predictions(curves, y, times=[2], settings={"cause": 1})
    >>> d.observed, d.mean["model"]
    (array([0.25]), array([0.3]))
    """

    times: Floats
    observed: Floats
    low: Floats
    high: Floats
    mean: dict[str, Floats]
    cause: str
    horizon: float
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    #: Whether entry is delayed: `mean` then comes from the hazards of those at risk.
    by_entry: bool = False

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, times: Any = None, models: Iterable[str] | str | None = None
    ) -> MeanIncidenceDisplay:
        """Build from an evaluation of a cause; `times` are where the curves are read."""
        what = "the mean predicted incidence"
        problem = ev.problem
        if problem.cause is None or problem.cause_name is None:
            raise InputError(f"{what} needs an evaluation of a cause: evaluate(..., cause=...)")
        usable, left_out = members(ev, "curves", what, models)
        y = problem.y
        grid = time_grid(y) if times is None else check_times(times)
        code, late = problem.cause, y.entry is not None

        def read(prediction: Prediction) -> Floats:
            if late:
                return incidence_of_those_at_risk(prediction, y, code, grid)
            return 1.0 - mean_survival(prediction, y, grid)

        found = measure_each(usable, left_out, what, read)
        bands = incidence_band(AalenJohansen.fit(y), problem.cause, grid, ev.confidence)
        return cls(
            grid, *bands, found, problem.cause_name, problem.horizon, tuple(ev.predictions),
            ev.unit, ev.confidence, left_out, late,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per curve and time; Aalen-Johansen is a curve without a model."""
        observed = self.observed, self.low, self.high
        return _rows("aalen_johansen", "incidence", self.times, observed, self.mean)

    def describe(self) -> Chart:
        """Aalen-Johansen with its band, and the mean predicted incidence of each model."""
        words = EventWords(self.cause)
        observed = Line(
            self.times, self.observed, "ink",
            f"Aalen-Johansen{with_level(self.confidence, 'band')}", self.low, self.high,
            step=True, width=1.1,
        )  # fmt: skip
        what = f"mean of a model's predicted incidence of {words.event}"
        if self.by_entry:
            what = f"incidence of {words.event} by the mean predicted hazards of those at risk"
        return Chart(
            "Mean predicted and observed incidence",
            f"The {what} follows Aalen-Johansen of the test subjects if the model is right on "
            "average.",
            (_panel(self, observed, Axis(f"Probability of {words.the_event}", low=0)),),
            left_out=self.left_out,
        )


def _rows(
    estimate: str,
    column: str,
    times: Floats,
    observed: tuple[Floats, Floats, Floats],
    mean: dict[str, Floats],
) -> list[dict[str, Any]]:
    """Return a row per curve and time; the estimate is a curve without a model."""
    value, low, high = observed
    table = records(model="", **{estimate: True, "time": times, column: value}, low=low, high=high)
    bare = {"low": float("nan"), "high": float("nan")}
    for model, value in mean.items():
        table += records(model=model, **{estimate: False, "time": times, column: value}, **bare)
    return table


def _panel(shown: MeanCurveDisplay | MeanIncidenceDisplay, observed: Line, axis: Axis) -> Panel:
    """What was observed, the mean prediction of each model, and where support ends."""
    end, place = float(shown.times[-1]), positions(shown.models)
    lines = [
        Line(shown.times, mean, place[model], ("mean of ", Model(model)))
        for model, mean in shown.mean.items()
    ]
    marks = observed, *lines, *horizon_marks(shown.horizon, end)
    return Panel(Axis.time(shown.unit, low=0, high=end), axis, marks)


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


def incidence_of_those_at_risk(
    prediction: Prediction, y: Outcomes, code: int, times: Floats
) -> Floats:
    """What the predicted hazards of those at risk say of Aalen-Johansen, under delayed entry.

    It begins where Aalen-Johansen is when enough are at risk; before that it is NaN.
    """
    if prediction.incidence is None:
        return np.full(times.size, np.nan)
    present = y.weight > 0
    known, incidence = y[present], prediction.incidence[present]
    competes = known.event & (np.asarray(known.cause) != code)
    curves: Any = check_curves(incidence.only(code), known)
    stop = min(float(known.time.max()), float(incidence.times[-1]))
    gap = CauseHazardGap.of_cause(coded(known.any_cause(), competes), curves, stop, code)
    begin, aj = gap.nodes[0], AalenJohansen.fit(known)
    free = 1.0 - sum(float(aj.at(begin, cause)) for cause in aj.causes)
    since = 1.0 - np.interp(times, gap.lines.nodes, gap.lines.right)
    inside = (times >= begin) & (times <= stop)
    return np.where(inside, float(aj.at(begin, code)) + free * since, np.nan)
