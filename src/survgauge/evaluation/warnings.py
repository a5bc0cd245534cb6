"""Coded remarks on what a result can be trusted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from .._tools.text_tables import percent
from ..data.event_words import cause_label
from ..errors import NotApplicableError, UndefinedMetricError
from ..metrics.details import Clusters, below_zero, standard_error
from ..metrics.past_curve import PastCurveError
from ..metrics.problem import Problem
from ..metrics.registry import REGISTRY, Measured, Metric
from .census import Census
from .groups import is_small
from .phrases import listed

#: Share of predicted times read off a tail above which it is worth a word.
TAIL_SHARE = 0.10
#: Share of subjects observed past the floor of G above which it is worth a word.
PAST_FLOOR = 0.10
#: Largest weight above which a handful of subjects may decide.
LARGE_WEIGHT = 20.0
#: With so many events a ranking that is wrong throughout is no chance.
_ENOUGH_EVENTS = 5
#: Fewer clusters than this give rough standard errors.
FEW_CLUSTERS = 10
#: Surrogates this many times past the follow-up hang on the tail.
FAR_SURROGATE = 2.0
#: Share of the reference without event at its end above which IPCW misses much.
UNSEEN_SHARE = 0.10
#: Adds a warning: its code, its message, and the share that is affected, where that is known.
_Remark = Callable[..., None]
_REASONS = {
    "thin-risk-set": "too few test subjects are at risk",
    "g-below-floor": "almost everybody is censored (G is below its limit)",
    "hidden-subjects": "too many event-free subjects are almost surely censored given the features",
    "past-follow-up": "nobody is followed",
}


@dataclass(frozen=True)
class EvaluationWarning:
    """A remark with a code for programs and a message for people."""

    code: str
    message: str
    model: str | None = None
    metric: str | None = None
    group: Any = None
    #: Time of interest, where the metric has one.
    time: float | None = None
    #: Share of subjects, events or the error that is affected, where that is known.
    affected: float | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EvaluationWarning:
        """Read plain data, in which an earlier version may have written less."""
        given: dict[str, Any] = {field.name: data.get(field.name) for field in fields(cls)}
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        group = None if self.group is None else str(self.group)
        return {**asdict(self), "group": group}

    def __str__(self) -> str:
        group = None if self.group is None else f"group {self.group}"
        time = None if self.time is None else f"at {self.time:g}"
        where = " ".join(part for part in (group, self.model, self.metric, time) if part)
        return f"[{self.code}] {where + ': ' if where else ''}{self.message}"


def undefined(error: UndefinedMetricError, model: str, metric: str) -> EvaluationWarning:
    """Remark on a metric without a value, with the code of what keeps it from having one."""
    if isinstance(error, PastCurveError):  # the explanation of the warning says what to do
        return EvaluationWarning("past-curve", error.reason, model, metric)
    code = "not-applicable" if isinstance(error, NotApplicableError) else "undefined-metric"
    return EvaluationWarning(code, str(error), model, metric)


def check_problem(problem: Problem, census: Census) -> list[EvaluationWarning]:
    """Remarks on the data, before any model."""
    found = in_sample_remark() if problem.reference is None else []
    found += _never_trained(problem)
    found += _check_horizon(problem, census) + check_times(problem)
    return found + check_size(census, problem.cause_name)


def _never_trained(problem: Problem) -> list[EvaluationWarning]:
    """Remark on a cause of which the training outcomes have no event."""
    cause, reference = problem.cause, problem.reference
    if cause is None or reference is None or reference.in_sample:
        return []
    known = reference.given
    if known.cause is None or bool(((known.cause == cause) & (known.weight > 0)).any()):
        return []
    message = (
        f"the training outcomes have no event of {cause_label(problem.cause_name or '')}, so the "
        "baseline predicts that it never happens, and times of censored subjects are estimated "
        "without it"
    )
    return [EvaluationWarning("cause-never-trained", message)]


def in_sample_remark() -> list[EvaluationWarning]:
    """Remark that there is no training set."""
    message = "no training outcomes were given, so the test outcomes are their own reference set"
    return [EvaluationWarning("in-sample-reference", message)]


def check_size(census: Census, cause: str | None = None) -> list[EvaluationWarning]:
    """Remark on few subjects or events, of the cause that is asked about."""
    events = census.events_asked_about
    if census.subjects >= 30 and events >= 10:
        return []
    what = "" if cause is None else f" of {cause_label(cause)}"
    message = (
        f"there are {census.subjects} subjects with {events} events{what} only, so intervals are "
        "rough"
    )
    return [EvaluationWarning("few-events", message)]


def _check_horizon(problem: Problem, census: Census) -> list[EvaluationWarning]:
    """Remarks on where the support ends, and on a tau that lies past it."""
    found = []
    tau, horizon, last = problem.tau, problem.horizon, census.last_time
    why = _REASONS[problem.horizon_reason]
    early = "" if tau is not None else stops_early(problem, census, why, "observed")
    if early:
        found.append(EvaluationWarning(problem.horizon_reason, early))
    if tau is not None and tau > horizon:
        message = (
            f"tau is {tau:g}, but the data support times up to {horizon:g} only, because after it "
            f"{why}; metrics with a horizon stop at {horizon:g}, other errors in time and the CRPS "
            "at tau (see the column until)"
        )
        found.append(EvaluationWarning("tau-past-horizon", message))
    end = last if problem.reference is None else problem.reference.last_time
    if tau is not None and tau > end:
        message = (
            f"tau is {tau:g}, but the reference set is followed up to {end:g} only, so nothing is "
            "known of the times in between"
        )
        found.append(EvaluationWarning("tau-past-follow-up", message))
    return found


def stops_early(problem: Problem, census: Census, why: str, seen: str) -> str:
    """Name the metrics of this call that stop at the horizon though subjects are seen longer.

    Empty where none does.
    """
    horizon, last, past = problem.horizon, census.last_time, census.subjects_past_horizon
    stop = [name for name in problem.asked if REGISTRY[name].stops == "horizon"]
    if not stop or not past or not last > horizon * (1 + 1e-9):
        return ""
    return (
        f"{listed(stop)} {'stops' if len(stop) == 1 else 'stop'} at {horizon:g}, because after it "
        f"{why}; {past} of {census.subjects} subjects are {seen} longer (up to {last:g})"
    )


def check_times(problem: Problem) -> list[EvaluationWarning]:
    """Remark on times of interest past the support; of tau itself `_check_horizon` says so."""
    late = [time for time in problem.times if time > problem.horizon and time != problem.tau]
    if not late or not any(REGISTRY[name].reads == "time" for name in problem.asked):
        return []
    named = " and ".join(f"{time:g}" for time in late)
    lie = "time of interest {} lies" if len(late) == 1 else "times of interest {} lie"
    message = (
        f"the {lie.format(named)} after {problem.horizon:g}, the last time that the data support"
    )
    if problem.on_unsupported == "truncate":
        message += ", which is used instead"
    return [EvaluationWarning("time-past-horizon", message)]


def check_groups(sizes: dict[str, dict[str, int]]) -> list[EvaluationWarning]:
    """Remark on groups that are too small for numbers of their own."""
    small = [name for name, size in sizes.items() if is_small(size)]
    if not small:
        return []
    named = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
    message = (
        f"{len(small)} of {len(sizes)} groups have fewer than 30 subjects or 10 events ({named}), "
        "so their numbers are rough, and they take no part in the test of whether groups differ"
    )
    return [EvaluationWarning("small-groups", message, affected=len(small) / len(sizes))]


def check_sampling(fractional: bool, clusters: Clusters | None = None) -> list[EvaluationWarning]:
    """Remarks on how the test subjects were sampled; `fractional`: frequencies are not whole."""
    found = []
    if fractional:
        found.append(
            EvaluationWarning(
                "fractional-frequencies",
                "the weights of y_test are not whole numbers but are taken as frequencies: a "
                "weight of 2 means two subjects, and weights 100 times as large make standard "
                "errors a tenth as large",
            )
        )
    if clusters is not None and clusters.number < FEW_CLUSTERS:
        found.append(
            EvaluationWarning(
                "few-clusters",
                f"there are {clusters.number} clusters only (fewer than {FEW_CLUSTERS}), so "
                "standard errors are rough and intervals are wide",
            )
        )
    return found


def check_measured(
    metric: Metric, measured: Measured, model: str, clusters: Clusters | None = None
) -> list[EvaluationWarning]:
    """Remarks on one number."""
    support, found = measured.support, []

    def remark(code: str, message: str, affected: float | None = None) -> None:
        found.append(EvaluationWarning(code, message, model, metric.name, affected=affected))

    if np.isnan(measured.value):
        why = support.get("note")
        remark("not-applicable" if why else "undefined-metric", why or "no value on these data")
    for note, count in (support.get("notes") or {}).items():
        who = f"{count} subject{'s' * (count != 1)}"
        if note.startswith("excluded: "):
            are = "is" if count == 1 else "are"
            remark("excluded", f"{who} {are} left out ({note.removeprefix('excluded: ')})")
        else:
            remark("changed", f"{note} ({who})")
    if metric.usual_error:
        _check_predicted_times(support, remark)
    if metric.loss == "absolute":
        _check_reference(metric, measured, remark)
    if metric.reads_g:
        _check_robust(measured, remark)
    if np.isinf(measured.value) and measured.convention.get("interpolation") == "step":
        remark(
            "not-applicable",
            "step curves give probability 0 to events before their first step or after their last, "
            "which makes a logarithmic loss infinite",
        )
    elif np.isinf(measured.value):
        remark(
            "infinite",
            "the model gave probability 0 to something that happened: its curve is flat at an "
            "event, or still at 1, or already at 0",
        )
    if _clearly_below(measured, metric.range[0]):
        remark("negative-score", below_zero(measured.value, metric.reads_g))
    if support.get("thin_groups"):
        remark(
            "thin-groups",
            f"too few events or survivors are expected by the time in {support['thin_groups']} of "
            f"{support['groups']} groups of risk, so the p-value is rough",
            support["thin_groups"] / support["groups"],
        )
    largest = support.get("largest_weight")
    if largest is not None and largest > LARGE_WEIGHT:
        remark(
            "large-weight",
            f"one subject stands for {largest:.1f} subjects, because G is small at its time",
        )
    if metric.is_share_of_pairs and turned_round(measured, _spread(measured, clusters)):
        remark(
            "c-below-half",
            f"the value {measured.value:.3f} is significantly below 0.5, so the order may be "
            "upside down",
        )
    return found


def turned_round(measured: Measured, spread: float, errors: float = 2.0) -> bool:
    """Whether a ranking is below one half by so many standard errors.

    Where every pair is in the wrong order that error is 0. Few events may be so by chance: d of
    them with a probability of 1 / d! at the most.
    """
    known = spread > 0 or measured.support.get("events", 0) >= _ENOUGH_EVENTS
    return bool(known and measured.value + errors * spread < 0.5)


def _spread(measured: Measured, clusters: Clusters | None) -> float:
    """Return the standard error."""
    psi = None if clusters is None else measured.psi
    return measured.stderr if psi is None else standard_error(psi, clusters=clusters)


def _clearly_below(measured: Measured, least: float) -> bool:
    """Whether the value lies below what is possible, by more than rounding."""
    if not measured.value < least:
        return False
    spread = measured.stderr
    return bool(measured.value < least - (1e-9 * spread if np.isfinite(spread) else 0.0))


def _check_predicted_times(support: dict[str, Any], remark: _Remark) -> None:
    """Remarks on where the predicted times came from; the same for all time errors."""
    share = support.get("tail_share")
    if share is not None and share > TAIL_SHARE:
        remark(
            "tail-times",
            f"the curves of {percent(share)} of the subjects end above one half, so their medians "
            "are extrapolated beyond the curve; differences in mean absolute errors may come from "
            "that alone",
            share,
        )
    if support.get("negative_predictions"):
        remark(
            "negative-times",
            f"{support['negative_predictions']} of the predicted times are below zero",
        )


def _check_robust(measured: Measured, remark: _Remark) -> None:
    """Remarks on what a doubly robust mean leans on."""
    support = measured.support
    tail = support.get("share_from_tail", 0.0)
    if abs(tail) > TAIL_SHARE:
        remark(
            "law-tail",
            f"{percent(tail)} of the error comes from times after the last one that the law of the "
            "event time knows, where its tail is assumed",
            abs(tail),
        )
    past = support.get("share_past_floor", 0.0)
    if past > PAST_FLOOR:
        remark(
            "law-alone",
            f"{percent(past)} of the subjects are observed after the time at which G reaches its "
            "floor, and what lies beyond rests on the law of the event time alone",
            past,
        )


def _check_reference(metric: Metric, measured: Measured, remark: _Remark) -> None:
    """Remarks on what the reference set leaves open, unless a horizon closes it."""
    method = metric.method
    if method is None or not (method.extrapolates or method.misses_late):
        return
    support, last = measured.support, measured.support["last_reference_time"]
    tau = measured.convention.get("tau")
    if tau is not None and tau <= last:
        return
    past, left = support["censored_past_reference"], support["reference_survival_at_end"]
    reach = support.get("largest_surrogate") or 0.0
    if method.extrapolates and past:
        remark(
            "past-reference",
            f"{past} subjects are censored after the last reference time {last:g}, so their "
            "pseudo-observations multiply an assumed tail by the size of the reference set",
        )
    elif method.extrapolates and reach > FAR_SURROGATE * last:
        remark(
            "far-surrogates",
            f"pseudo-observations reach {reach:g}, although the follow-up ends at {last:g}, so "
            "they depend on the assumed tail of Kaplan-Meier",
        )
    if method.misses_late and left > UNSEEN_SHARE:
        remark(
            "unseen-times",
            f"{percent(left)} of the reference set are event-free when the follow-up ends at "
            f"{last:g}; errors after that time are missing, so the value is too small",
            left,
        )
