"""One cell of the table: a metric of a model, its interval, comparisons, and what to warn about.

After the last time of the reference set nobody was observed, so that an error without a horizon
rests there on how Kaplan-Meier, the distribution given features and the predicted curves are
assumed to go on. Such errors are computed under each of `ASSUMPTIONS`; where these decide, a score
or comparison is withheld: it keeps its value, and has a reason and a range instead of an interval
and a p-value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.text import percent
from ..data.predictions import Prediction
from ..errors import NotApplicableError, UndefinedMetricError
from ..estimators.reference import FEW_AT_RISK
from ..metrics.past_curve import PastCurveError
from ..metrics.record import Metric
from ..metrics.score import (
    Clusters,
    Interval,
    Score,
    below_zero,
    events_behind,
    interval,
    paired_error,
    standard_error,
)
from ..metrics.task import Task
from ..metrics.time.terms import LOST, TAIL_SHARE, UNSEEN
from .inference import Comparison, Withheld, bootstrap_stderr, compare_pair, withheld_columns
from .warning_kinds import EvaluationWarning, warned

NAN = float("nan")
#: Above this many subjects nothing of their size is kept between metrics.
CONTRIBUTIONS_LIMIT = 100_000
#: An interval over more than this share of the range of a metric tells nothing,
MOST_OF_RANGE = 0.8
#: nor does one whose upper limit is this many times the lower, where the range has no end.
MOST_TIMES_LOW = 50.0


def passing(task: Task) -> Task:
    """Return the question itself about few subjects, and one with look-ups of its own about many.

    Tables of many subjects are as large as their outcomes: they end with what looks at them.
    """
    return task if len(task.y) <= CONTRIBUTIONS_LIMIT else task.anew()


@dataclass(frozen=True)
class TableCell:
    """One cell of the table, with what its comparisons need."""

    model: str
    metric: Metric
    group: Any
    #: The metric, NaN where it is undefined; how it was computed, and what the data covered.
    value: float = NAN
    convention: dict[str, Any] = field(default_factory=dict)
    support: dict[str, Any] = field(default_factory=dict)
    stderr: float = NAN
    low: float = NAN
    high: float = NAN
    #: Where the limits come from: normal, log, logit, edge, or none where there are no limits.
    interval: str = "none"
    #: Standard errors of the differences from other models on the same subjects.
    errors: dict[str, float] = field(default_factory=dict)
    #: The same loss of Kaplan-Meier of the reference set, predicted for everybody.
    baseline: float = NAN
    #: The difference from that baseline, where there are contributions to tell its error by.
    against_baseline: Comparison | None = None
    #: Degrees of freedom of standard errors: infinite where everybody was sampled alone.
    freedom: float = float("inf")
    #: Time that the metric is read at; None: it is about no single time.
    time: float | None = None
    #: Up to which time the metric looks; None: it does not stop.
    until: float | None = None
    #: The metric under each assumed tail, where it is an error in time without a horizon, and that
    #: of the baseline; see `survgauge.evaluation.cells`.
    tails: tuple[float, ...] = ()
    baseline_tails: tuple[float, ...] = ()
    #: Why there is no interval, where the assumed tail decides.
    withheld: Withheld | None = None

    @property
    def skill(self) -> float:
        """1 - loss / loss of the baseline; NaN where one of them is undefined or infinite.

        A baseline whose loss is zero but for rounding has no skill either.
        """
        defined = np.isfinite(self.value) and 1e-12 * abs(self.value) < self.baseline < np.inf
        return 1.0 - self.value / self.baseline if defined else NAN

    @property
    def spread(self) -> float:
        """Standard error for tests and intervals: NaN where the assumed tail decides."""
        return self.stderr if self.withheld is None else NAN

    def without_interval(self, withheld: Withheld | None = None) -> TableCell:
        """Return the cell without limits, and the reason where an assumption decides."""
        return replace(self, low=NAN, high=NAN, interval="none", withheld=withheld)

    def row(self) -> dict[str, Any]:
        """Return the cell as a row of the table."""
        group = {} if self.group is None else {"group": self.group}
        names = ("time", "until", "value", "low", "high", "stderr", "interval", "skill")
        return {
            **group,
            "model": self.model,
            "metric": self.metric.name,
            **{name: getattr(self, name) for name in names},
            **withheld_columns(self.withheld),
            "direction": self.metric.direction,
            "unit": self.metric.unit,
            "convention": dict(self.convention),
        }


def difference_error(a: Score, b: Score, clusters: Clusters | None) -> float:
    """Return the standard error of the difference between two models on the same subjects."""
    own = getattr(a, "stderr_against", None)  # of what keeps sums in place of contributions
    found: float = paired_error(a, b, clusters) if own is None else own(b)
    return found


def told(cell: TableCell) -> tuple[TableCell, list[EvaluationWarning]]:
    """Leave out an interval that covers most of what the metric can be, and say so."""
    least, most = cell.metric.range
    if np.isfinite(most - least):
        wide = cell.high - cell.low > MOST_OF_RANGE * (most - least)
    else:
        wide = least == 0 and cell.high > MOST_TIMES_LOW * cell.low
    if not wide:
        return cell, []
    ends = {"low": cell.low, "high": cell.high}
    return cell.without_interval(), [
        warned("too-few-to-tell", cell.model, cell.metric.name, **ends)
    ]


def interval_of(
    metric: Metric,
    measured: Score,
    replicates: Floats | None,
    confidence: float,
    clusters: Clusters | None,
) -> Interval:
    """Return a value with its interval, whatever its standard error comes from."""
    if metric.interval == "own":  # whose distribution supports clusters
        distribution = getattr(measured, "distribution", None)
        low, high = (NAN, NAN) if distribution is None else distribution.limits(confidence)
        return Interval(measured.value, measured.stderr, low, high, "own")
    stderr, size = measured.stderr, events_behind(measured.support)
    freedom = measured.support.get("freedom", float("inf"))
    if clusters is not None:
        own, size, freedom = measured.contributions, min(size, clusters.number), clusters.freedom
        stderr = NAN if own is None else standard_error(own, measured.frequency, clusters)
    if replicates is not None:
        stderr = bootstrap_stderr(replicates)
        freedom = float("inf") if clusters is None else clusters.freedom
    value, scale = float(measured.value), metric.interval
    return interval(value, stderr, confidence, scale, size=size, freedom=freedom)


#: Share of subjects observed past the floor of G above which it is worth a word.
PAST_FLOOR = 0.10
#: Largest weight above which a handful of subjects may decide.
LARGE_WEIGHT = 20.0
#: With so many events a ranking that is wrong throughout is no chance.
_ENOUGH_EVENTS = 5
#: Pseudo-observations this many times past the follow-up hang on the tail.
FAR_REACH = 2.0
#: Share of the reference without event at its end above which IPCW misses much.
UNSEEN_SHARE = 0.10
#: Mean weights this far from 1 say that G does not describe the subjects. Sums of chunks round
#: otherwise than sums of all, and 21/20 is no reason to warn in one of them only.
MEAN_WEIGHT = 0.05 + 1e-9
#: Standard errors that two estimates of one error may be apart.
APART = 1.96
_STEPS = (
    "step curves give probability 0 to events before their first step or after their last, which "
    "makes a logarithmic loss infinite"
)
#: Adds a warning: its code, and the numbers of its sentence.
_Warn = Callable[..., None]


def undefined(error: UndefinedMetricError, model: str, metric: str) -> EvaluationWarning:
    """Warn about a metric without a value, with the code of what keeps it from having one."""
    if isinstance(error, PastCurveError):  # the kind of the warning says what to do
        return warned("past-curve", model, metric, why=error.reason)
    other = isinstance(error, NotApplicableError)
    return warned("not-applicable" if other else "undefined-metric", model, metric, why=str(error))


def check_measured(
    metric: Metric, measured: Score, model: str, clusters: Clusters | None = None
) -> list[EvaluationWarning]:
    """Warn about one number."""
    support, value, found = measured.support, measured.value, []

    def warn_of(code: str, **numbers: Any) -> None:
        found.append(warned(code, model, metric.name, **numbers))

    if np.isnan(value):
        why = support.get("note")
        if why:
            warn_of("not-applicable", why=why)
        else:
            warn_of("undefined-metric", why="no value on these data")
    for note, count in (support.get("notes") or {}).items():
        if note.startswith("excluded: "):
            warn_of("excluded", count=count, why=note.removeprefix("excluded: "))
        else:
            warn_of("changed", count=count, why=note)
    share = support.get("tail_share")
    if metric.usual_error and share is not None and share > TAIL_SHARE:
        warn_of("tail-times", share=share, affected=share)
    if metric.usual_error and support.get("negative_predictions"):
        warn_of("negative-times", count=support["negative_predictions"])
    if metric.loss == "absolute":
        _check_reference(metric, measured, warn_of)
    tail, past = support.get("share_from_tail", 0.0), support.get("share_past_floor", 0.0)
    if metric.reads_g and abs(tail) > TAIL_SHARE:
        warn_of("distribution-tail", share=tail, affected=abs(tail))
    if metric.reads_g and past > PAST_FLOOR:
        warn_of("distribution-alone", share=past, affected=past)
    if np.isinf(value) and measured.convention.get("interpolation") == "step":
        warn_of("not-applicable", why=_STEPS)
    elif np.isinf(value):
        warn_of("infinite")
    least, spread = metric.range[0], measured.stderr
    if value < least and value < least - (1e-9 * spread if np.isfinite(spread) else 0.0):
        warn_of("negative-score", why=below_zero(value, metric.reads_g))
    thin, groups = support.get("thin_groups"), support.get("groups")
    if thin:
        warn_of("thin-groups", thin=thin, groups=groups, affected=thin / groups)
    largest = support.get("largest_weight")
    if largest is not None and largest > LARGE_WEIGHT:
        warn_of("large-weight", largest=largest)
    if metric.is_share_of_pairs:
        contributions = None if clusters is None else measured.contributions
        own = spread if contributions is None else standard_error(contributions, clusters=clusters)
        if turned_round(measured, own):
            warn_of("c-below-half", value=value, form="")
    return found


def turned_round(measured: Score, spread: float, errors: float = 2.0) -> bool:
    """Whether a ranking is below one half by so many standard errors.

    Where every pair is in the wrong order that error is 0. Few events may be so by chance: d of
    them with a probability of 1 / d! at the most.
    """
    known = spread > 0 or measured.support.get("events", 0) >= _ENOUGH_EVENTS
    return bool(known and measured.value + errors * spread < 0.5)


def _check_reference(metric: Metric, measured: Score, warn_of: _Warn) -> None:
    """Say what the reference set leaves open, unless a horizon closes it."""
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
        warn_of("past-reference", past=past, last=last)
    elif method.extrapolates and reach > FAR_REACH * last:
        warn_of("far-surrogates", reach=reach, last=last)
    if method.misses_late and left > UNSEEN_SHARE:
        warn_of("unseen-times", share=left, last=last, affected=left)


# -- several numbers together ------------------------------------------------------------------


def check_weights(scores: Iterable[Any]) -> list[EvaluationWarning]:
    """Warn once a metric (and group and time) of weights 1/G that are not 1 on average."""
    found: dict[tuple[Any, str, float | None], EvaluationWarning] = {}
    for score in scores:
        mean, cell = _off_weights(score), (score.group, score.metric.name, score.time)
        if mean is None or cell in found:
            continue
        form = "late"
        if "test outcomes" not in str(score.convention.get("censoring")):
            form = "other"
        elif score.metric.method is not None and mean < 1:
            form = "unseen"
        elif "entry" in score.convention:
            form = "entry"
        group, metric, time = cell
        about = {"metric": metric, "group": group, "time": time, "affected": abs(mean - 1.0)}
        found[cell] = warned("mean-weight", mean=mean, form=form, **about)
    return list(found.values())


def _off_weights(score: Any) -> float | None:
    """Return the mean of weights 1/G that is not 1; None where it is, or there are none."""
    mean = score.support.get("mean_weight")
    return mean if mean is not None and abs(mean - 1.0) > MEAN_WEIGHT else None


def check_agreement(scores: Iterable[Any]) -> list[EvaluationWarning]:
    """Warn about models whose doubly robust and weighted errors differ by more than chance.

    Both are right under censoring that is independent of the event; the weighted one leaves the
    distribution of the event time alone.
    """
    by_kind: dict[tuple[Any, str, str], dict[str, Any]] = {}
    for score in scores:
        method = score.metric.method
        if method is not None and score.metric.loss and (method.reads_g or method.weights_by_g):
            key = score.group, score.model, score.metric.name.removesuffix(f"_{method.name}")
            by_kind.setdefault(key, {})["dr" if method.reads_g else "weighted"] = score
    found = []
    for (group, model, _), pair in by_kind.items():
        # Where weights are off, `check_weights` says why the two differ.
        if len(pair) < 2 or _off_weights(pair["weighted"]):
            continue
        a, b = pair["dr"], pair["weighted"]
        gap = a.value - b.value
        if abs(gap) > APART * np.hypot(a.stderr, b.stderr):
            names = {"robust": a.metric.name, "weighted": b.metric.name}
            about = {"group": group, "affected": abs(gap) / max(abs(a.value), abs(b.value))}
            values = {"value": a.value, "other": b.value}
            found.append(warned("robust-differs", model, a.metric.name, **about, **names, **values))
    return found


#: How curves may go on after their last time; they stop, fall on a line, or at a rate.
ASSUMPTIONS = ("hold", "linear", "exponential")


def open_ended(metric: Metric, task: Task) -> bool:
    """Whether it is an error in time that looks past what the reference set observed."""
    method = metric.method
    if method is None or method.needs_truth or metric.within_horizon:
        return False
    stop, reference = task.errors_stop, task.reference
    return stop is None or reference is None or stop > reference.last_time


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
    """Return the range over the assumptions.

    None of an error that leaves out later times, and none where the tails change nothing because
    the last subject of the reference set had the event: so few are observed by then that a range
    of no width would mislead.
    """
    low, high = _ends(value, others)
    wide = high - low > 1e-9 * abs(value)  # sums of chunks round otherwise than sums of all
    return (low, high) if wide and reads_distribution(metric) else (NAN, NAN)


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
