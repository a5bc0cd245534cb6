"""What all displays share: where their data come from, their table, their figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..._tools.arrays import Floats, positive, probability
from ..._tools.text import as_frame
from ...data.causes import counted_events, events_by_cause
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.reference import Reference
from ...evaluation import Evaluation
from ...evaluation.inference import critical
from ...evaluation.reading import read_outcomes, read_predictions
from ...metrics.task import Task, supported_time
from ...metrics.time.terms import TimeScore
from ...metrics.time.time_errors import time_errors as errors_by_method
from ._drawing import draw
from .description import Chart

T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """A source made of predictions and outcomes, where nothing was evaluated."""

    task: Task
    predictions: dict[str, Prediction]
    unit: str = ""
    confidence: float | None = 0.95


#: What a display reads.
Source: TypeAlias = Evaluation | Given
#: A part of a table: arrays have a value for each of its rows, anything else is in all of them.
Part: TypeAlias = dict[str, Any]
#: Values of metrics with their limits, by metric, model and time.
Scores: TypeAlias = Mapping[tuple[str, str, float | None], tuple[float, float, float]]


def given(
    predictions: Mapping[str, Any] | Any,
    y_test: Any,
    *,
    y_train: Any = None,
    unit: str = "",
    confidence: float | None = 0.95,
    **settings: Any,
) -> Given:
    """Return what figures are drawn from, without an evaluation.

    Parameters
    ----------
    predictions : mapping of name to predictions
        Curves, times or `RiskScores`, as `evaluate` takes them; {} for figures of outcomes alone.
    y_test : outcomes
        Test outcomes.
    y_train : outcomes, optional
        Reference set; without it the test outcomes are their own reference.
    unit : str
        What times are counted in, for the axes.
    confidence : float or None
        Level of the intervals; None for none.
    **settings
        Settings of `evaluate`: cause, time, tau, convention, min_g, ...

    Examples
    --------
    >>> from survgauge.report.displays import display
    >>> y = ([2, 5, 8, 6], [1, 0, 1, 1])
    >>> display(given({"a": [3, 5, 6, 6]}, y), "predicted_actual").column("counted").round(2)
    array([2., 7., 8., 6.])
    """
    cause = settings.get("cause")
    y, y_train = read_outcomes(y_test, y_train, cause, unit)
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    parsed = read_predictions(named, y, cause, unit)
    if confidence is not None:
        probability(confidence, "confidence")
    task = Task.of(y, y_train, **settings)
    if task.cause is not None:
        parsed = {name: p.ranked_by(task.until) for name, p in parsed.items()}
    return Given(task, parsed, unit, confidence)


def about(ev: Any) -> str:
    """Say whom a figure is about: how many subjects and events."""
    y = ev.task.y
    known = getattr(ev, "support", None) or {
        "subjects": y.count,
        "events": y.event_count,
        "cause": ev.task.cause_name,
        "events_by_cause": events_by_cause(y),
    }
    return f"{known['subjects']:,} subjects, {counted_events(known, ',')}"


@dataclass(frozen=True, eq=False)
class Display:
    """A figure as an object: its description, and the table behind it.

    Attributes
    ----------
    chart : Chart
        Panels, axes, marks and words, as `describe` gives them.
    table : list of dict
        Parts of the table: an array has a value for each row of the part, anything else is in all
        of them.
    about : str
        How many subjects the figure is about, for its title.
    """

    chart: Chart
    table: list[Part]
    about: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Return the table behind the figure as plain dictionaries, without pandas."""
        return [row for part in self.table for row in records(**part)]

    def frame(self) -> Any:
        """Return the table behind the figure (pandas)."""
        return as_frame(self.rows(), "frame()")

    def column(self, name: str, **labels: Any) -> Any:
        """Return a column of the first part of the table with these labels.

        Parameters
        ----------
        name : str
            Which column.
        **labels
            Such as ``model="cox"``.
        """
        for part in self.table:
            if name in part and all(part.get(key) == value for key, value in labels.items()):
                return part[name]
        raise InputError(f"this figure has no column {name!r} with {labels or 'any label'}")

    def describe(self) -> Chart:
        """Describe the figure: its panels, axes, marks and words."""
        return self.chart

    def plot(self, ax: Any = None, *, width: float | None = None) -> Any:
        """Draw; returns the figure.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one per panel. By default on a new figure, with title and number of
            subjects above it (``figure.suptitle("")`` takes them away).
        width : float, optional
            Inches of a new figure: 3.5 (89 mm) for one column of a paper, 7 for two.
        """
        return draw(self.describe(), ax, self.about, width)


_OFFERS = {"curves": "curves", "times": "times", "risk": "risk scores"}


def chosen(argument: str, wanted: Iterable[str] | str | None, known: Iterable[str]) -> list[str]:
    """Return the names that were asked for, by default all; refuse those that are not known."""
    if wanted is None:
        return list(known)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        one_of(argument, name, known)
    return names


def members(
    ev: Source, needs: str, what: str, models: Iterable[str] | str | None = None
) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Models that offer what a display needs, and why the others are left out."""
    if not ev.predictions:
        raise InputError(
            f"{what} needs the models' predictions, and this evaluation holds none (they were "
            "streamed); draw display(given(predictions, y_test), kind)"
        )
    asked = {name: ev.predictions[name] for name in chosen("models", models, ev.predictions)}
    usable = {name: p for name, p in asked.items() if p.has(needs)}
    others = {name: _OFFERS[p.kind] for name, p in asked.items() if name not in usable}
    if not usable:
        offered = ", ".join(f"{name!r} has only {kind}" for name, kind in others.items())
        raise InputError(f"{what} needs {needs}, which no model offers: {offered}")
    return usable, {name: f"gives {kind} only" for name, kind in others.items()}


def measure_each(
    usable: Mapping[str, Prediction],
    left_out: dict[str, str],
    what: str,
    compute: Callable[[Prediction], T],
) -> dict[str, T]:
    """Compute something for each model; where it is undefined the model is left out, with why."""
    found = {}
    for name, prediction in usable.items():
        try:
            found[name] = compute(prediction)
        except UndefinedMetricError as error:
            left_out[name] = str(error)
    if not found:
        reasons = "; ".join(dict.fromkeys(left_out[name] for name in usable))
        raise UndefinedMetricError(f"{what} is undefined for every model: {reasons}")
    return found


def check_one_kind(ev: Source, what: str) -> None:
    """Refuse an evaluation of one cause among several."""
    if ev.task.cause is not None:
        raise InputError(
            f"{what} supports only one kind of event, and this evaluation needs to tell "
            f"{' and '.join(map(repr, ev.task.words.causes))} apart; other figures do, such as "
            "curves, brier, auc and calibration_panel"
        )


def reference_of(task: Task) -> Reference:
    """Return the reference set; without one, the test outcomes."""
    if task.reference is not None:
        return task.reference
    return Reference(task.y, causes=task.cause is not None)


def time_of_interest(task: Task, time: float | None) -> float:
    """Return the time asked for, or the one that the evaluation's metrics are read at."""
    return supported_time(task) if time is None else positive(time, "time")


def time_errors(task: Task, predicted: Any, method: str) -> TimeScore:
    """The time errors of all test subjects, as the evaluation's own metrics have them."""
    found = errors_by_method(
        task.y,
        predicted,
        methods=(method,),
        y_train=task.reference,
        tau=task.tau,
        convention=replace(task.convention, censoring=task.censoring),
    )
    return found[method]


def records(**columns: Any) -> list[dict[str, Any]]:
    """Rows of a table: an array has a value for each of them, anything else is in all of them.

    >>> records(model="a", time=np.array([1.0, 2.0]))
    [{'model': 'a', 'time': 1.0}, {'model': 'a', 'time': 2.0}]
    """
    size = next((len(c) for c in columns.values() if isinstance(c, np.ndarray)), 1)
    lists = [c.tolist() if isinstance(c, np.ndarray) else [c] * size for c in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def band(value: Floats, stderr: Any, confidence: float | None) -> tuple[Floats, Floats]:
    """Bounds value -+ z stderr; NaN without a confidence or a standard error."""
    if confidence is None or stderr is None:
        unknown = np.full(np.shape(value), np.nan)
        return unknown, unknown.copy()
    margin = critical(confidence) * np.asarray(stderr, dtype=np.float64)
    return value - margin, value + margin
