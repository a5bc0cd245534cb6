"""What the assumed tail does to errors in time without a horizon, and when it decides them.

After the last time of the reference set nobody was observed, so that an error without a horizon
rests there on how Kaplan-Meier, the distribution given features and the predicted curves are
assumed to go on. Such errors are computed under each of `ASSUMPTIONS`; where these decide, a score
or comparison is withheld: it keeps its value, and has a reason and a range instead of an interval
and a p-value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np

from .._tools.text import percent
from ..data.predictions import Prediction
from ..estimators.reference import FEW_AT_RISK
from ..metrics.record import Metric
from ..metrics.task import Task
from .cells import NAN, TAIL_SHARE, TableCell
from .inference import Comparison, Withheld, compare_pair
from .warnings import EvaluationWarning, warned

#: How curves may go on after their last time; they stop, fall on a line, or at a rate.
ASSUMPTIONS = ("hold", "linear", "exponential")
#: Share of the reference set that may be event-free at the end of its follow-up, and share that may
#: be lost before anybody but a handful is left. With 2 % and 5 % at the end intervals covered 4 to
#: 78 % and 0 to 26 % (800 subjects), with 6 % and more lost 0 to 80 %; see
#: docs/explanation/conventions.md.
UNSEEN, LOST = 0.01, 0.05


def open_ended(metric: Metric, task: Task) -> bool:
    """Whether it is an error in time that looks past what the reference set observed."""
    method = metric.method
    if method is None or method.needs_truth or metric.within_horizon:
        return False
    stop, reference = task.errors_stop, task.reference
    return stop is None or reference is None or stop > reference.last_time


def left_open(task: Task) -> bool:
    """Whether anybody may be event-free when the follow-up of the reference set ends."""
    reference = task.reference
    return task.conditional is not None or reference is None or reference.last_survival > 0


def under(task: Task, tail: str) -> Task:
    """Return the same question with another tail of all distributions."""
    if task.conditional is None and task.convention.tail == tail:
        return task

    def build() -> Task:
        given = task.conditional
        distributions = None if given is None else given.with_tail(tail)
        return task.again(convention=replace(task.convention, tail=tail), conditional=distributions)

    found: Task = task.cached(("tail", tail), build)
    return found


def goes_on(prediction: Prediction, metric: Metric, task: Task, tail: str) -> Prediction:
    """Return predicted curves with another tail; the same where no time is read off a tail."""
    curves = prediction.curves
    if curves is None or curves.tail == tail:
        return prediction
    if curves.reaches(0.5 if metric.loss == "absolute" else 1.0).all():
        return prediction
    found: Prediction = task.look_up(
        prediction, ("tail", tail), lambda: Prediction(curves.with_tail(tail), None, None)
    )
    return found


def reads_distribution(metric: Metric) -> bool:
    """Whether the error of censored subjects reads what is assumed past the reference set."""
    return metric.method is not None and metric.method.looks_up and not metric.method.misses_late


# -- withheld ----------------------------------------------------------------------------------


def settled(score: TableCell) -> TableCell:
    """Take interval and tests from a score that the assumed tail decides."""
    if not score.tails or not np.isfinite(score.value):
        return score
    against = score.against_baseline
    reason = _reason(score)
    if reason:
        ends = _range(score.metric, score.value, score.tails)
        score = score.without_interval(Withheld(reason, *ends))
    if against is not None:
        base = score.baseline_tails
        against = _settled(score.metric, against, score.tails, base, reason)
    return replace(score, against_baseline=against)


def _reason(score: TableCell) -> str:
    """Say why the tail decides an error; nothing where it does not."""
    support = score.support
    left, last = support["reference_survival_at_end"], support["last_reference_time"]
    depends = "so this error depends on what is assumed about later times"
    if not reads_distribution(score.metric):
        depends = "and this error says nothing about later times"
    if left > UNSEEN:
        return (
            f"{percent(left)} of the reference set are event-free when its follow-up ends at "
            f"{last:g}, {depends}"
        )
    if support["reference_lost"] > LOST:
        then, alive = support["reference_thin_from"], support["reference_survival_then"]
        return (
            f"fewer than {FEW_AT_RISK} subjects of the reference set are observed after {then:g}, "
            f"when {percent(alive)} are expected to be event-free, {depends}"
        )
    share = abs(support.get("share_from_tail", 0.0))
    if share > TAIL_SHARE:
        return (
            f"{percent(share)} of this error comes from the time after {last:g}, when the "
            f"follow-up of the reference set ends, {depends}"
        )
    low, high = _ends(score.value, score.tails)
    if high - low > score.stderr:
        return (
            f"what is assumed about the time after {last:g}, when the follow-up of the reference "
            "set ends, changes this error by more than its standard error"
        )
    return ""


def _settled(
    metric: Metric,
    found: Comparison,
    ours: tuple[float, ...],
    theirs: tuple[float, ...],
    reason: str,
) -> Comparison:
    """Take interval and p-value from a difference that the assumed tail decides.

    That is where one of the two errors is withheld, for `reason`, or where the difference changes
    by more than its standard error from one assumption to another.
    """
    gaps = _gaps(ours, theirs)
    if not reason and _moves(found, gaps):
        reason = (
            "what is assumed about the time after the follow-up of the reference set changes this "
            "difference by more than its standard error"
        )
    if not reason or found.stderr == 0:
        return found
    return found.without_test(Withheld(reason, *_range(metric, found.difference, gaps)))


def _range(metric: Metric, value: float, others: tuple[float, ...]) -> tuple[float, float]:
    """Return the range over the assumptions; none of an error that leaves out later times."""
    return _ends(value, others) if reads_distribution(metric) else (NAN, NAN)


def _ends(value: float, others: tuple[float, ...]) -> tuple[float, float]:
    """Return the least and the largest of a value and its alternatives, as far as defined."""
    known = [other for other in others if np.isfinite(other)]
    return min([value, *known]), max([value, *known])


def compared(a: TableCell, b: TableCell, confidence: float | None) -> Comparison:
    """Compare two models on the same subjects; without a level there are no p-values either."""
    reason = next((s.withheld.reason for s in (a, b) if s.withheld is not None), "")
    return _settled(a.metric, _compared(a, b, confidence), a.tails, b.tails, reason)


def _compared(a: TableCell, b: TableCell, confidence: float | None) -> Comparison:
    """Compare two models whatever is assumed about the tail."""
    stderr = a.errors.get(b.model, NAN)
    return compare_pair(a.value, b.value, stderr, confidence or 0.95, a.freedom)


def _gaps(ours: tuple[float, ...], theirs: tuple[float, ...]) -> tuple[float, ...]:
    """Return the differences under each assumption; none where one of the two has none."""
    return tuple(a - b for a, b in zip(ours, theirs, strict=True)) if ours and theirs else ()


def _moves(found: Comparison, gaps: tuple[float, ...]) -> bool:
    """Whether a difference changes by more than its standard error over the assumptions."""
    low, high = _ends(found.difference, gaps)
    return high - low > found.stderr


def check_tails(
    scores: Iterable[TableCell], confidence: float | None, baseline: str
) -> list[EvaluationWarning]:
    """Warn about pairs of models, or of a model and the baseline, that the assumed tail decides.

    That is where the usual error of `scores`, from which nothing is withheld yet, differs otherwise
    under another assumption: by more than a standard error, or with the other sign.
    """
    usual = [s for s in scores if s.metric.usual_error and s.group is None and s.tails]
    pairs: list[tuple[str, str, tuple[float, ...], Comparison | None]] = [
        (a.model, b.model, _gaps(a.tails, b.tails), _compared(a, b, confidence))
        for a, b in combinations(usual, 2)
    ]
    if baseline not in {score.model for score in usual}:  # a model that takes its place
        pairs += [
            (s.model, baseline, _gaps(s.tails, s.baseline_tails), s.against_baseline) for s in usual
        ]
    found = []
    for a, b, gaps, result in pairs:
        turned = bool(gaps) and min(gaps) < 0 < max(gaps)
        if turned or (result is not None and _moves(result, gaps)):
            name = usual[0].metric.name
            found.append(warned("tail-decides", metric=name, models=[a, b], error=name))
    return found


def withhold_dependent(scores: list[TableCell], task: Task) -> list[TableCell]:
    """Take interval and tests from scores that assume censoring not to depend on the features."""
    learnt = task.conditional is not None
    what_to_do = "" if learnt else "; X_train= gives metrics that allow for it"
    reason = f"censoring depends on the features, which is not allowed for here{what_to_do}"
    withheld = Withheld(reason, NAN, NAN)

    def alone(score: TableCell) -> TableCell:
        against = score.against_baseline
        against = None if against is None else against.without_test(withheld)
        return replace(score.without_interval(withheld), against_baseline=against)

    return [s if s.metric.valid_under_dependence(task) else alone(s) for s in scores]
