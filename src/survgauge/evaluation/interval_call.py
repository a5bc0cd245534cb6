"""What `evaluate` does otherwise where the test outcomes are interval-censored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .._tools.arrays import Floats
from ..data.intervals import IntervalOutcomes
from ..errors import InputError
from ..metrics.interval_problem import IntervalProblem
from ..metrics.problem import Problem
from ..reference.reference import Reference
from .census import Census
from .warnings import EvaluationWarning, check_size, check_times, in_sample_remark

#: What `evaluate` takes for interval-censored outcomes, besides both outcomes and predictions.
TAKEN = (
    "metrics", "confidence", "random_state", "by", "unit", "sample_weight", "cluster",
    "conditional", "time", "tau", "tail", "min_at_risk",
)  # fmt: skip
_DATA = ("predictions", "y_test", "y_train")
_REASONS = {
    "past-follow-up": "nobody is watched",
    "thin-risk-set": "too few test subjects are watched",
    "lost": "more than a quarter of the test subjects have been lost without an event",
}


def refuse_settings(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse settings that only right-censored outcomes have."""
    others = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in (*TAKEN, *_DATA) or given[name] is parameter.default:
            continue
        if type(given[name]) is not type(parameter.default) or given[name] != parameter.default:
            others.append(name)
    if others:
        raise InputError(
            f"{', '.join(others)}: metrics of interval-censored outcomes know no such setting; "
            f"leave it out. They take {', '.join(TAKEN)}"
        )


def outcomes_of(y_test: IntervalOutcomes, y_train: Any) -> tuple[Any, Any]:
    """Return both outcomes as intervals; right-censored training outcomes are a special case."""
    if isinstance(y_train, Reference):
        y_train = y_train.given
    return y_test, None if y_train is None else IntervalOutcomes.of(y_train, "y_train", copy=False)


def interval_problem(
    y: IntervalOutcomes, y_train: Any, weight: Floats | None, **settings: Any
) -> IntervalProblem:
    """Return the question about interval-censored subjects."""
    law = settings["conditional"]
    if law is not None and getattr(law, "law", None) is None:
        raise InputError(
            "conditional must be a Conditional with a law of the event time for interval-censored "
            f"outcomes, such as sg.Conditional(law=curves); got {type(law).__name__}"
        )
    return IntervalProblem.ask(y, y_train, weight, **settings)


def check_intervals(problem: Problem, census: Census) -> list[EvaluationWarning]:
    """Remarks on the data, before any model."""
    found = in_sample_remark() if getattr(problem, "in_sample", False) else []
    past = census.subjects_past_horizon if census.last_time > problem.horizon * (1 + 1e-9) else 0
    if problem.tau is None and past:
        message = (
            f"metrics with a horizon stop at {problem.horizon:g}, because after it "
            f"{_REASONS[problem.horizon_reason]}; {past} of {census.subjects} subjects are watched "
            f"longer (up to {census.last_time:g})"
        )
        found.append(EvaluationWarning("watch-ends", message))
    if problem.conditional is None:
        message = "inside intervals one law of the event time, Turnbull's, stands for all subjects"
        found.append(EvaluationWarning("one-law", message))
    return found + check_times(problem) + check_size(census)


def interval_support(problem: Problem, y_train: Any) -> dict[str, Any]:
    """What the support says of interval-censored outcomes besides that of others."""
    if not isinstance(problem, IntervalProblem):
        return {}
    y = problem.intervals.present()
    known = int(y.exact.sum())
    found = {
        "outcomes": "interval",
        "intervals": y.event_count - known,
        "exact": known,
        "law": problem.inside.of,
        "estimate": "Turnbull's estimate",
    }
    if y_train is None:
        return found
    events = float(y_train.weight[y_train.event].sum())
    return found | {
        "reference": "training outcomes",
        "training_subjects": round(float(y_train.weight.sum())),
        "training_events": round(events),
    }
