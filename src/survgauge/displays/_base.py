"""What all displays share: where their data come from, their table, their figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from .._tools.arrays import Floats, probability
from .._tools.plain import as_frame
from ..data.event_words import counted_events, events_by_cause
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..evaluation import Evaluation
from ..evaluation.reading import read_outcomes, read_predictions
from ..inference import critical
from ..metrics.problem import Problem
from ..metrics.time.terms import TimeErrorDetails
from ..metrics.time.time_errors import time_error_details
from ..reference.reference import Reference
from ._drawing import draw
from .description import Chart
from .measures import chosen

D = TypeVar("D", bound="Display")
P = TypeVar("P", bound="FromPredictions")
T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """A source made of predictions and outcomes, where nothing was evaluated."""

    problem: Problem
    predictions: dict[str, Prediction]
    unit: str = ""
    confidence: float | None = 0.95
    all_outcomes: bool = True


#: What a display reads.
Source = Evaluation | Given


def about(ev: Any) -> str:
    """Say whom a figure is about: how many subjects and events."""
    y = ev.problem.y
    known = getattr(ev, "support", None) or {
        "subjects": y.count,
        "events": y.event_count,
        "cause": ev.problem.cause_name,
        "events_by_cause": events_by_cause(y),
    }
    return f"{known['subjects']:,} subjects, {counted_events(known, ',')}"


@dataclass(frozen=True, eq=False)
class Display:
    """A figure as an object: plain fields, `rows()`, `frame()`, `describe()` and `plot()`."""

    #: How many subjects the figure is about, for its title.
    about: str = field(default="", kw_only=True)

    @classmethod
    def from_evaluation(cls: type[D], *args: Any, **kwargs: Any) -> D:
        """Build from the result of `evaluate`."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return the table behind the figure as plain dictionaries, without pandas."""
        raise NotImplementedError

    def frame(self) -> Any:
        """Return the table behind the figure (pandas)."""
        return as_frame(self.rows(), "frame()")

    def describe(self) -> Chart:
        """Describe the figure: its panels, axes, marks and words."""
        raise NotImplementedError

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


class FromPredictions(Display):
    """A display that needs predictions and outcomes, but no metrics."""

    @classmethod
    def from_predictions(
        cls: type[P],
        predictions: Mapping[str, Any] | Any,
        y_test: Any,
        *,
        y_train: Any = None,
        unit: str = "",
        confidence: float | None = 0.95,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> P:
        """Build without an evaluation.

        Parameters
        ----------
        predictions : mapping of name to predictions
            Curves, times or `RiskScores`, as `evaluate` takes them.
        y_test : outcomes
            Test outcomes.
        y_train : outcomes, optional
            Reference set; without it the test outcomes are their own reference.
        unit : str
            What times are counted in, for the axes.
        confidence : float or None
            Level of the intervals; None for none.
        settings : dict, optional
            Settings of `evaluate`: cause, time, tau, convention, min_g, ...
        **options
            What `from_evaluation` takes.
        """
        asked = dict(settings or {})
        y, y_train = read_outcomes(y_test, y_train, asked.get("cause"))
        named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
        parsed = read_predictions(named, y, asked.get("cause"))
        if confidence is not None:
            probability(confidence, "confidence")
        problem = Problem.of(y, y_train, **asked)
        if problem.cause is not None:
            parsed = {name: p.ranked_by(problem.until) for name, p in parsed.items()}
        source = Given(problem, parsed, unit, confidence)
        return replace(cls.from_evaluation(source, **options), about=about(source))


_OFFERS = {"curves": "curves", "times": "times", "risk": "risk scores"}


def members(
    ev: Source, needs: str, what: str, models: Iterable[str] | str | None = None
) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Models that offer what a display needs, and why the others are left out."""
    if not ev.predictions:
        raise InputError(
            f"{what} needs the models' predictions, and this evaluation holds none (they were "
            "streamed); build the display with from_predictions()"
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


def by_model(found: Mapping[str, Iterable[Any]]) -> Iterator[Any]:
    """Turn all parts of each model into each part of all models.

    >>> list(by_model({"a": (1, 2), "b": (3, 4)}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    return (dict(zip(found, part, strict=True)) for part in zip(*found.values(), strict=True))


def first_of(
    usable: Mapping[str, Prediction], what: str, compute: Callable[[Prediction], T]
) -> tuple[str, T]:
    """Return the first model for which something is defined, and what it is."""
    reasons: dict[str, None] = {}
    for name, prediction in usable.items():
        try:
            return name, compute(prediction)
        except UndefinedMetricError as error:
            reasons[str(error)] = None
    raise UndefinedMetricError(f"{what} is undefined: {'; '.join(reasons)}")


def check_outcomes(ev: Source, what: str) -> None:
    """Refuse an evaluation that let go of its subjects."""
    if not ev.all_outcomes:
        raise InputError(
            f"{what} needs the test outcomes, and this evaluation holds none (they were "
            "streamed); build the display with from_outcomes()"
        )


def check_one_kind(ev: Source, what: str) -> None:
    """Refuse an evaluation of one cause among several."""
    if ev.problem.cause is not None:
        raise InputError(
            f"{what} knows one kind of event only, and this evaluation needs to tell "
            f"{' and '.join(map(repr, ev.problem.words.causes))} apart; other figures do, such as "
            "incidence, stacked_incidence, mean_curve, brier, auc and calibration_panel"
        )


def check_no_entry(y: Outcomes, argument: str, what: str) -> None:
    """Refuse delayed entry, of which a figure does not know."""
    if y.entry is not None:
        raise InputError(
            f"{what} does not know delayed entry, which {argument} has for "
            f"{int(np.count_nonzero(y.entry))} of {len(y)} subjects; ignoring it would bias the "
            "figure. Show those at risk from a time s on, with evaluate(..., landmark=s) or the "
            "outcomes y.from_landmark(s), or look at mean_curve, which knows delayed entry"
        )


def reference_of(problem: Problem) -> Reference:
    """Return the reference set; without one, the test outcomes."""
    if problem.reference is not None:
        return problem.reference
    return Reference(problem.y, causes=problem.cause is not None)


def time_errors(problem: Problem, predicted: Any, method: str) -> TimeErrorDetails:
    """The time errors of all test subjects, as the evaluation's own metrics have them."""
    return time_error_details(
        problem.y,
        predicted,
        method=method,
        y_train=problem.reference,
        tau=problem.tau,
        censoring=problem.censoring,
        **problem.options,
    )


def records(**columns: Any) -> list[dict[str, Any]]:
    """Rows of a table: an array has a value for each of them, anything else is in all of them.

    >>> records(model="a", time=np.array([1.0, 2.0]))
    [{'model': 'a', 'time': 1.0}, {'model': 'a', 'time': 2.0}]
    """
    size = next(len(column) for column in columns.values() if isinstance(column, np.ndarray))
    lists = [c.tolist() if isinstance(c, np.ndarray) else [c] * size for c in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def band(value: Floats, stderr: Any, confidence: float | None) -> tuple[Floats, Floats]:
    """Bounds value -+ z stderr; NaN without a confidence or a standard error."""
    if confidence is None or stderr is None:
        unknown = np.full(np.shape(value), np.nan)
        return unknown, unknown.copy()
    margin = critical(confidence) * np.asarray(stderr, dtype=np.float64)
    return value - margin, value + margin
