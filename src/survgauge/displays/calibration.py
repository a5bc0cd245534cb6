"""Calibration in groups: the histogram of D-calibration and the groups of 1-calibration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from .._tools.arrays import Floats, positive
from ..data.event_words import EventWords
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.calibration.calibration import CalibrationResult, d_calibration, one_calibration
from ..metrics.problem import Problem
from ..metrics.supported import supported_time
from ._base import FromPredictions, Source, by_model, measure_each, members, records
from ._rates import rates_with_band
from .description import (
    Axis,
    Bars,
    Chart,
    Line,
    Model,
    Panel,
    Points,
    amount,
    p_relation,
    probability_axis,
    with_level,
)


@dataclass(frozen=True, eq=False)
class DCalibrationDisplay(FromPredictions):
    """Histogram of S_i(t_i), which is flat for a calibrated model.

    Attributes
    ----------
    edges : ndarray of shape (bins + 1,)
        Bounds of the bins of predicted survival, from 0 to 1.
    observed, events : dict of model to ndarray of shape (bins,)
        Subjects in a bin, and those of them who had the event there; the rest are censored
        subjects, spread over the bins below their S(c).
    expected : ndarray of shape (bins,)
        Subjects per bin of a calibrated model.
    p_value : dict of model to float
        Kolmogorov and Smirnov's test, which needs no bins.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = DCalibrationDisplay.from_predictions(curves, y, bins=2)
    >>> d.observed["model"].round(2), d.events["model"]
    (array([2., 2.]), array([1., 2.]))
    """

    edges: Floats
    observed: dict[str, Floats]
    expected: Floats
    p_value: dict[str, float]
    events: dict[str, Floats]
    models: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    #: Name of the cause; None: there is one kind of event.
    cause: str | None = None

    @classmethod
    def from_evaluation(
        cls, ev: Source, *, bins: int = 10, models: Iterable[str] | str | None = None
    ) -> DCalibrationDisplay:
        """Build from an evaluation, with a number of bins."""
        usable, left_out = members(ev, "curves", "D-calibration", models)
        y, cause = ev.problem.y, ev.problem.cause
        had = y.event if cause is None else y.cause == cause
        seen = np.flatnonzero(had & (y.weight > 0))

        def compute(prediction: Prediction) -> tuple[CalibrationResult, Floats, float]:
            # Bars have censored subjects in the bins below their S(c); the test needs no bins.
            options: dict[str, Any] = {"bins": bins, "method": "chi2", "cause": cause}
            result = d_calibration(y, _of_all(prediction), **options)
            events = np.zeros(result.observed.size)
            if seen.size:
                events = d_calibration(y[seen], _of_all(prediction[seen]), **options).observed
            return result, events, d_calibration(y, _of_all(prediction), cause=cause).p_value

        found = measure_each(usable, left_out, "D-calibration", compute)
        results, events, p_value = by_model(found)
        first = next(iter(results.values()))
        return cls(
            first.edges, {model: result.observed for model, result in results.items()},
            first.expected, p_value, events, tuple(ev.predictions), left_out, ev.problem.cause_name,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and bin."""
        start, end = self.edges[:-1], self.edges[1:]
        return [
            row
            for model, observed in self.observed.items()
            for row in records(
                model=model, start=start, end=end, observed=observed, events=self.events[model],
                expected=self.expected, p_value=self.p_value[model],
            )
        ]  # fmt: skip

    def describe(self) -> Chart:
        """One panel per model: events, censored subjects on top of them, and what is expected."""
        top = 1.08 * max(float(v.max()) for v in (*self.observed.values(), self.expected))
        words = EventWords(self.cause)
        axis, rest = "Predicted survival at\neach subject's own time", "censored, spread over bins"
        told = ""
        if self.cause is not None:
            axis = f"Predicted probability of\n{words.without} yet, at own time"
            rest = "censored or other cause, spread"
            told = (
                f" Probabilities are those that the predicted hazard of {words.event} alone would "
                "give; who had an event of another cause is censored for it."
            )
        even = Line(
            self.edges, np.append(self.expected, self.expected[-1]), "ink", "if calibrated",
            step=True, dash="dashed", width=1.1,
        )  # fmt: skip
        panels = [
            Panel(
                Axis(axis, low=0, high=1),
                Axis("Subjects", low=0, high=top),
                (
                    Bars(self.edges, 0.0, self.events[model], "event", words.plural),
                    Bars(self.edges, self.events[model], observed, "censored", rest, hollow=True),
                    even,
                ),
                (Model(model), f": p {p_relation(self.p_value[model])}"),
                height=2.2,
            )
            for model, observed in self.observed.items()
        ]  # fmt: skip
        return Chart(
            "D-calibration",
            "If the curves are calibrated, all bins of predicted survival hold about the same "
            "number of subjects. The p-value is that of a Kolmogorov-Smirnov test, which needs no "
            f"bins.{told}",
            tuple(panels), **panel_per_model(len(panels)), left_out=self.left_out,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OneCalibrationDisplay(FromPredictions):
    """Predicted against observed probability of the event by a time, in groups of risk.

    Attributes
    ----------
    time : float
        The time.
    predicted, observed, low, high, n, events : dict of model to ndarray of shape (groups,)
        Mean prediction, 1 - Kaplan-Meier (of a cause, Aalen-Johansen) with its interval (NaN where
        nothing or everything happened), subjects, and events seen by the time; from low to high
        risk. With tied predictions there may be fewer groups than asked for.
    p_value : dict of model to float
        Of the test with the variance under the prediction.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8], [1, 0.6, 0]])
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> d = OneCalibrationDisplay.from_predictions(curves, y, time=5, groups=2)
    >>> d.predicted["model"].round(3), d.observed["model"]
    (array([0.338, 0.712]), array([0. , 0.5]))
    """

    time: float
    predicted: dict[str, Floats]
    observed: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    n: dict[str, Floats]
    events: dict[str, Floats]
    p_value: dict[str, float]
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
        groups: int | None = None,
        models: Iterable[str] | str | None = None,
    ) -> OneCalibrationDisplay:
        """Build from an evaluation.

        Parameters
        ----------
        ev : Evaluation
            From `evaluate`.
        time : float, optional
            By default the evaluation's time of interest.
        groups : int, optional
            Number of groups of about equal size; None: as many as `one_calibration` takes.
        models : names, optional
            By default all.
        """
        usable, left_out = members(ev, "curves", "1-calibration", models)
        y, when = ev.problem.y, time_of_interest(ev.problem, time)
        cause = ev.problem.cause

        def compute(prediction: Prediction) -> tuple[Any, ...]:
            r = one_calibration(y, prediction.curves, when, groups=groups, cause=cause)
            low, high, events = _group_spread(r, y, prediction, when, ev.confidence, cause)
            return r.expected, r.observed, low, high, r.size, events, r.p_value

        found = measure_each(usable, left_out, "1-calibration", compute)
        predicted, observed, low, high, n, events, p_value = by_model(found)
        return cls(
            when, predicted, observed, low, high, n, events, p_value, tuple(ev.predictions),
            ev.unit, ev.confidence, left_out, ev.problem.cause_name,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row per model and group."""
        columns = ("predicted", "observed", "low", "high", "n", "events", "p_value")
        return [
            row
            for model, predicted in self.predicted.items()
            for row in records(
                model=model, time=self.time, group=np.arange(1, predicted.size + 1),
                **{name: getattr(self, name)[model] for name in columns},
            )
        ]  # fmt: skip

    def describe(self) -> Chart:
        """One panel per model: predicted and observed probability of each group."""
        level, words = with_level(self.confidence, "interval"), EventWords(self.cause)
        across = f"Low to high risk\n({words.plural} over subjects)"
        upwards = probability_axis(
            f"Probability of {words.the_event}\nby {amount(self.time, self.unit)}",
            *self.observed.values(), *self.predicted.values(), *self.high.values(),
        )  # fmt: skip
        panels = []
        for model, observed in self.observed.items():
            place = np.arange(1, observed.size + 1)
            counts = list(zip(self.events[model].tolist(), self.n[model].tolist(), strict=True))
            names = tuple(f"{n:,.0f} subjects, {e:,.0f} {words.plural}" for e, n in counts)
            ticks = tuple((k + 1.0, f"{e:.0f}\n{n:.0f}") for k, (e, n) in enumerate(counts))
            marks = (
                Points(
                    place, observed, "event", f"observed{level}", self.low[model],
                    self.high[model], names=names,
                ),
                Points(
                    place, self.predicted[model], "ink", "predicted", names=names, marker="flat",
                    size=9,
                ),
            )  # fmt: skip
            panels.append(
                Panel(
                    Axis(across, "", 0.4, place[-1] + 0.6, ticks),
                    upwards,
                    marks,
                    (Model(model), f": p {p_relation(self.p_value[model])}"),
                    height=2.3,
                )
            )
        return Chart(
            "1-calibration",
            "Subjects are grouped by predicted risk. If a model is calibrated, the observed share "
            f"of {words.plural} ({words.risk}) is close to the predicted one in every group. The "
            "p-value tests all groups together.",
            tuple(panels), **panel_per_model(len(panels)), left_out=self.left_out,
        )  # fmt: skip


def panel_per_model(count: int) -> dict[str, Any]:
    """Layout of a chart with one panel per model: up to three beside each other."""
    columns = min(count, 3)
    return {"columns": columns, "width": {1: 3.5, 2: 5.4, 3: 7.0}[columns], "shared": "y"}


def time_of_interest(problem: Problem, time: float | None) -> float:
    """Return the time asked for, or the one that the evaluation's metrics are read at."""
    return supported_time(problem) if time is None else positive(time, "time")


def _group_spread(
    result: CalibrationResult,
    y: Outcomes,
    prediction: Prediction,
    time: float,
    confidence: float | None,
    cause: int | None,
) -> tuple[Floats, Floats, Floats]:
    """Bounds of the observed rates and the events behind them, in the groups of a result."""
    if y.entry is not None:  # numbers of events while at risk, over subjects
        events, nan = result.observed * result.size, np.full(result.size.size, np.nan)
        if confidence is None:
            return nan, nan, events
        out = (1 - confidence) / 2
        low, high = gammaincinv(events, out), gammaincinv(events + 1, 1 - out)
        return np.nan_to_num(low) / result.size, high / result.size, events
    s = prediction.curves.at(time)  # type: ignore[union-attr]
    present = np.flatnonzero(y.weight > 0)
    p = 1 - s[present]
    rows = [present[(p >= low) & (p <= high)] for low, high in result.edges]
    found = rates_with_band(y, s, rows, time, confidence, cause)
    return found["low"], found["high"], found["events"]


def _of_all(prediction: Prediction) -> Any:
    """Curves of all causes, or of the one kind of event."""
    return prediction.curves if prediction.incidence is None else prediction.incidence
