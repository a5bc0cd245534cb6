"""What `evaluate` does otherwise where the test outcomes are interval-censored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.intervals import IntervalOutcomes
from ..errors import InputError
from ..metrics.interval_problem import IntervalProblem
from ..metrics.problem import Problem
from ..reference.reference import Reference
from .census import Census
from .warnings import EvaluationWarning, check_size, check_times, in_sample_remark, stops_early

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
#: Share of the events before the earliest visit from which on Turnbull's law misleads.
_UNSEEN = 1 / 7


def refuse_settings(
    function: Callable[..., Any], given: Mapping[str, Any], also: tuple[str, ...] = ()
) -> None:
    """Refuse settings that only right-censored outcomes have; `also` are taken too."""
    others = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in (*TAKEN, *_DATA, *also) or given[name] is parameter.default:
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
    return y_test, None if y_train is None else training_intervals(y_train)


def training_intervals(y_train: Any) -> IntervalOutcomes:
    """Read training outcomes as intervals; refuse what must be a (time, event) pair."""
    if _are_flagged(y_train):
        raise InputError(
            "y_train looks like a (time, event) pair, but where test outcomes are "
            "interval-censored a pair is (lower, upper): pass sg.Outcomes(time, event), whose "
            "events are intervals of no length, or sg.IntervalOutcomes(lower, upper)"
        )
    return IntervalOutcomes.of(y_train, "y_train", copy=False)


def _are_flagged(pair: Any) -> bool:
    """Whether a pair holds times and flags: no bounds, as some would be above the other."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return False
    lower, upper = (np.asarray(part) for part in pair)
    if (
        lower.shape != upper.shape
        or upper.dtype.kind not in "biuf"
        or lower.dtype.kind not in "iuf"
    ):
        return False
    return bool(np.isin(upper, (0, 1)).all() and (lower > upper).any())


def wrong_training(argument: str = "y_train") -> InputError:
    """Return what to do about intervals that are the reference set of right-censored outcomes."""
    return InputError(
        f"{argument} has interval-censored outcomes, and the test outcomes are right-censored: "
        "both must be of one kind. Pass the test outcomes as intervals too, "
        "sg.IntervalOutcomes.of(y_test), in which an event is an interval of no length; or give "
        "right-censored training outcomes"
    )


def refuse_intervals(y_train: Any) -> None:
    """Refuse training outcomes that are intervals where the test outcomes are right-censored."""
    if isinstance(y_train, IntervalOutcomes):
        raise wrong_training()


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
    why = _REASONS[problem.horizon_reason]
    early = "" if problem.tau is not None else stops_early(problem, census, why, "watched")
    if early:
        found.append(EvaluationWarning("watch-ends", early))
    if problem.conditional is None:
        message = "inside intervals one law of the event time, Turnbull's, stands for all subjects"
        found.append(EvaluationWarning("one-law", message))
    return found + _late_visits(problem) + check_times(problem) + check_size(census)


def _late_visits(problem: Problem) -> list[EvaluationWarning]:
    """Remark on events before the earliest visit, where a law of the test subjects is a guess."""
    if not isinstance(problem, IntervalProblem) or problem.conditional is not None:
        return []
    law, y = problem.law, problem.intervals.present()
    if law is None or not problem.in_sample:
        return []
    visits = np.concatenate((y.lower[y.lower > 0], y.upper[y.event]))
    if not visits.size or law.widening(visits.min())[0] == 1.0:  # common visits are no guess
        return []
    first = float(visits.min())
    # Half of the events by twice that time: at the earliest visit one subject moves all mass.
    share = (1.0 - float(law.at(2 * first))) / 2
    if share < _UNSEEN:
        return []
    message = (
        f"roughly {share:.0%} of the events come before the earliest visit ({first:g}), where "
        "Turnbull's estimate of the test subjects is a guess; intervals of expected errors, the "
        "Brier score and its integral hold less often than they say"
    )
    return [EvaluationWarning("late-first-visits", message)]


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
