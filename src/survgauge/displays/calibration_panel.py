"""Calibration at one time: smooth curve, groups, predicted risks by outcome, and the measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats, whole_number
from .._tools.text_tables import number
from ..data.event_words import EventWords
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import UndefinedMetricError
from ..inference import interval
from ..metrics.calibration.kernels import risk_groups
from ..metrics.calibration.observed_expected import observed_expected
from ..metrics.calibration.smooth_calibration import ICIResult, smooth_status
from ..metrics.calibration.status import StatusAtTime
from ..metrics.calibration.weak_calibration import slope_of
from ..metrics.details import Clusters, Details, standard_error
from ..metrics.problem import Problem
from ._bands import smooth_band
from ._base import FromPredictions, Source, by_model, measure_each, members, records
from ._rates import rates_with_band
from .calibration import time_of_interest
from .description import (
    Axis,
    Bars,
    Chart,
    Line,
    Model,
    Note,
    Panel,
    Points,
    Rule,
    amount,
    largest,
    positions,
    round_ticks,
)

_BARS = 40
#: Groups by risk, and subjects that one has at least.
_GROUPS, _LEAST = 10, 10
#: The strip of bars below the curve, as a share of the axis.
_STRIP = 0.22
#: A number with its interval.
Measure = tuple[float, float, float]
OUTCOMES = {"event": "event by then", "free": "event-free", "censored": "censored before"}


@dataclass(frozen=True, eq=False)
class CalibrationPanelDisplay(FromPredictions):
    """Observed against predicted probability of the event by a time, one panel per model.

    Attributes
    ----------
    time : float
        The time.
    predicted, observed, low, high : dict of model to ndarray of shape (100,)
        The smooth curve from the lowest to the highest prediction, with its pointwise band.
    groups : dict of model to dict of str to ndarray of shape (groups,)
        Groups of about equally many subjects by predicted risk: their mean prediction `predicted`,
        1 - Kaplan-Meier (of a cause, Aalen-Johansen) `observed` with its interval `low` to `high`
        (NaN where nothing or everything happened), and the numbers of subjects `n` and `events`.
    edges : ndarray of shape (bars + 1,)
        Bounds of the histogram of predictions.
    histogram : dict of model to dict of str to ndarray of shape (bars,)
        Subjects whose prediction lies in a bar: with the event by the time (`event`), event-free
        at it (`free`), and censored before (`censored`).
    ratio, slope, ici : dict of model to (value, low, high)
        Observed over expected events, calibration slope, and integrated calibration index.
    expected_ici : dict of model to float
        ICI that chance alone would give a perfectly calibrated model; NaN where it is unknown.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, s / 10, 0] for s in (2, 5, 9, 6, 3, 7, 4, 8)])
    >>> y = ([2, 5, 8, 6, 7, 3, 4, 9], [1, 0, 1, 1, 1, 1, 1, 0])
    >>> d = CalibrationPanelDisplay.from_predictions(curves, y, time=5)
    >>> d.predicted["model"][[0, -1]].round(3), float(d.histogram["model"]["event"].sum())
    (array([0.325, 0.85 ]), 3.0)
    """

    time: float
    predicted: dict[str, Floats]
    observed: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    groups: dict[str, dict[str, Floats]]
    edges: Floats
    histogram: dict[str, dict[str, Floats]]
    ratio: dict[str, Measure]
    slope: dict[str, Measure]
    ici: dict[str, Measure]
    expected_ici: dict[str, float]
    models: tuple[str, ...]
    unit: str = ""
    confidence: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    #: Name of the cause; None: there is one kind of event.
    cause: str | None = None

    @classmethod
    def from_evaluation(
        cls,
        ev: Source,
        *,
        time: float | None = None,
        knots: int = 3,
        groups: int | None = None,
        models: Iterable[str] | str | None = None,
    ) -> CalibrationPanelDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        time : float, optional
            By default the evaluation's time of interest.
        knots : {3, 4, 5}
            Of the spline.
        groups : int, optional
            Number of groups by risk; by default ten, or fewer so that each has ten subjects.
        models : names, optional
            By default all.
        """
        usable, left_out = members(ev, "curves", "a calibration panel", models)
        y, when = ev.problem.y, time_of_interest(ev.problem, time)
        if groups is None:
            groups = int(np.clip(float(y.weight.sum()) // _LEAST, 1, _GROUPS))
        whole_number(groups, "groups", 1)
        clusters, cause = ev.problem.clusters, ev.problem.cause

        def compute(prediction: Prediction) -> ICIResult:
            status = StatusAtTime.asked(ev.problem, prediction, when)
            return smooth_status(status, knots).clustered(clusters)

        smooth = measure_each(usable, left_out, "the smooth calibration curve", compute)
        # Bars end where the predictions do.
        edges = np.linspace(0.0, max(float(r.predicted.max()) for r in smooth.values()), _BARS + 1)
        found = {
            model: (
                r.curve_predicted, r.curve_observed, *smooth_band(r, ev.confidence),
                _groups(y, r.predicted, when, groups, ev.confidence, cause),
                _histogram(y, r.predicted, when, edges, cause),
                *_measures(ev.problem, usable[model], when, ev.confidence),
                (r.ici, *_limits(r, ev.confidence)), r.expected_if_calibrated,
            )
            for model, r in smooth.items()
        }  # fmt: skip
        parts = by_model(found)
        predicted, observed, low, high, by_risk, histogram, ratio, slope, ici, expected = parts
        return cls(
            when, predicted, observed, low, high, by_risk, edges, histogram, ratio, slope, ici,
            expected, tuple(ev.predictions), ev.unit, ev.confidence, left_out,
            ev.problem.cause_name,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and point of the curve; groups and bars are in their fields."""
        columns = ("predicted", "observed", "low", "high")
        return [
            row
            for model in self.predicted
            for row in records(
                model=model, time=self.time, **{c: getattr(self, c)[model] for c in columns}
            )
        ]

    def describe(self) -> Chart:
        """One panel per model, on the same axes."""
        end = self._end()
        columns = min(len(self.predicted), 2)
        # Measures stand inside the panels where they cover nothing, otherwise all in the titles.
        inside = all(self._corner(model, end) for model in self.predicted)
        words = EventWords(self.cause)
        level = ""
        if self.confidence is not None:
            level = (
                f"; band, lines and numbers in brackets are {self.confidence * 100:g} % intervals"
            )
        return Chart(
            "Calibration",
            f"Observed against predicted probability of {words.the_event}; on the dashed line they "
            "are equal. The curve is smooth, points are groups of equally many subjects by their "
            "predicted "
            f"risk ({words.risk}){level}. "
            f"The bars below count predictions: those of subjects with {words.the_event} by then "
            "point upwards, the others downwards. O/E is observed over expected events (best: 1), "
            "slope that of the log(-log(1 - risk)) (best: 1). ICI is the mean distance from the "
            "line; by chance, the one expected of a perfectly calibrated model.",
            tuple(self._panel(model, end, inside) for model in self.predicted),
            columns=columns, shared="y", width=3.5 * columns, left_out=self.left_out,
        )  # fmt: skip

    def _end(self) -> float:
        """Where both axes end: past all points, and intervals that are not too long."""
        points = [v[name] for v in self.groups.values() for name in ("observed", "predicted")]
        shown = largest(*self.predicted.values(), *self.observed.values(), *points)
        bounds = largest(shown, *(v["high"] for v in self.groups.values()))
        return min(1.0, 1.04 * min(bounds, 1.5 * shown)) or 1.0

    def _panel(self, model: str, end: float, inside: bool) -> Panel:
        words = EventWords(self.cause)
        when = words.by(amount(self.time, self.unit))
        of = "of the" if self.cause is None else "of"
        grid, found = self.predicted[model], self.groups[model]
        label = (Model(model),) if len(self.predicted) > 1 else "smooth curve"
        curve = Line(
            grid, self.observed[model], positions(self.models)[model], label, self.low[model],
            self.high[model], marked=bool(grid[0] == grid[-1]),
        )  # fmt: skip
        sizes = zip(found["n"].tolist(), found["events"].tolist(), strict=True)
        names = tuple(f"{n:,.0f} subjects, {e:,.0f} {words.plural}" for n, e in sizes)
        points = Points(
            found["predicted"], found["observed"], "ink", "groups by risk", found["low"],
            found["high"], names=names,
            marker="square", size=3.5,
        )  # fmt: skip
        ticks, told, corner = round_ticks(end, 5), self._told(model), self._corner(model, end)
        note = [Note(told, *corner)] if inside and corner and told else []
        return Panel(
            Axis(f"Predicted probability {of}\n{when}", "", 0, end, ticks),
            Axis(f"Observed probability {of}\n{when}", "", -_STRIP * end, end, ticks),
            (Rule("diagonal"), curve, points, *self._bars(model, end), *note),
            (Model(model),) if inside or not told else (Model(model), f"\n{told}"),
            height=3.6 + (0.0 if inside else 0.15 * (told.count("\n") + 1)),
            equal=True,
        )

    def _bars(self, model: str, end: float) -> list[Bars]:
        """Predictions by outcome below the curve: events upwards, the others downwards."""
        event, free, censored = (self.histogram[model][name] for name in OUTCOMES)
        middle = -0.5 * _STRIP * end
        scale = 0.44 * _STRIP * end / max(float(event.max()), float((free + censored).max()), 1.0)
        outcomes = OUTCOMES
        if self.cause is not None:
            words = EventWords(self.cause)
            outcomes |= {"event": words.by("then"), "free": f"{words.without} by then"}
        label = [
            f"{told} ({self.histogram[model][name].sum():,.0f})" for name, told in outcomes.items()
        ]
        below = middle - scale * free
        return [
            Bars(self.edges, middle, middle + scale * event, "event", label[0], counts=event),
            Bars(self.edges, middle, below, "pale", label[1], counts=free),
            Bars(self.edges, below, below - scale * censored, "censored", label[2], hollow=True,
                 counts=censored),
        ]  # fmt: skip

    def _told(self, model: str) -> str:
        """The measures that are known, one per line."""
        lines = [
            f"{name} {_written(measure, digits)}"
            for name, measure, digits in (
                ("O/E", self.ratio[model], 2), ("slope", self.slope[model], 2),
                ("ICI", self.ici[model], 3),
            )
            if np.isfinite(measure[0])
        ]  # fmt: skip
        expected = self.expected_ici[model]
        if np.isfinite(expected) and lines:
            lines[-1] += f",\nby chance {number(expected, 2)}"
        return "\n".join(lines)

    def _corner(self, model: str, end: float) -> tuple[float, float, str] | None:
        """Where the measures cover no curve, band or point: above the line, below, or nowhere."""
        found = self.groups[model]
        x = np.concatenate([self.predicted[model]] * 3 + [found["predicted"]] * 3)
        y = np.concatenate(
            [getattr(self, name)[model] for name in ("observed", "low", "high")]
            + [found[name] for name in ("observed", "low", "high")]
        )
        if not ((x < 0.56 * end) & (y > 0.74 * end)).any():
            return 0.02, 0.98, "left"
        if not ((x > 0.44 * end) & (y < 0.28 * end)).any():
            return 0.98, (_STRIP + 0.02) / (1 + _STRIP), "right"
        return None


def _written(measure: Measure, digits: int) -> str:
    value, low, high = (f"{v:.{digits}f}" for v in measure)
    return f"{value} ({low} to {high})" if np.isfinite(measure[1]) else value


def _limits(found: ICIResult, confidence: float | None) -> tuple[float, float]:
    return (float("nan"), float("nan")) if confidence is None else found.interval(confidence)


def _measures(
    problem: Problem, prediction: Prediction, time: float, level: float | None
) -> tuple[Measure, Measure]:
    """Observed over expected events and calibration slope with their intervals."""

    def ratio() -> Details:
        return observed_expected(problem.y, prediction.curves, time, cause=problem.cause)

    def slope() -> Details:
        return slope_of(StatusAtTime.asked(problem, prediction, time))

    known = level, problem.clusters
    return _measure(ratio, "log", *known), _measure(slope, "normal", *known)


def _measure(
    compute: Callable[[], Details], scale: str, level: float | None, clusters: Clusters | None
) -> Measure:
    nan = float("nan")
    try:
        found = compute()
    except UndefinedMetricError:
        return nan, nan, nan
    if level is None or (scale == "log" and not found.value > 0):
        return found.value, nan, nan
    stderr, freedom = found.stderr, found.support.get("freedom", float("inf"))
    if clusters is not None and found.psi is not None:
        stderr = standard_error(found.psi, found.frequency, clusters)
        freedom = clusters.freedom
    ends = interval(found.value, stderr, level, scale, freedom=freedom)
    return found.value, ends.low, ends.high


def _groups(
    y: Outcomes, risk: Floats, time: float, groups: int, confidence: float | None, cause: int | None
) -> dict[str, Floats]:
    """Groups by predicted risk: prediction, what was observed with its interval, and counts."""
    present = np.flatnonzero((y.weight > 0) & ~np.isnan(risk))  # who entered in time
    weight = y.weight[present] if y.weighted else None
    rows = [present[part] for part in risk_groups(1 - risk[present], weight, groups)]
    return rates_with_band(y, 1 - risk, rows, time, confidence, cause)


def _histogram(
    y: Outcomes, risk: Floats, time: float, edges: Floats, cause: int | None
) -> dict[str, Floats]:
    """Subjects in each bar of predicted risk, by what happened to them.

    Who had an event of another cause did not have the event.
    """
    had = y.event if cause is None else y.cause == cause
    happened, lost = had & (y.time <= time), ~y.event & (y.time < time)
    parts = {"event": happened, "free": ~happened & ~lost, "censored": lost}
    return {
        name: np.histogram(risk, edges, weights=y.weight * part)[0].astype(np.float64)
        for name, part in parts.items()
    }
