"""What to warn about besides scores: outcomes, horizon, censoring, entry, grids, units of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.frames import table_columns
from ..data.causes import cause_label
from ..data.incidence import CauseCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError, located
from ..estimators.blending.features import numeric_columns
from ..estimators.conditional import Conditional
from ..estimators.kaplan_meier import KaplanMeier
from ..metrics.censoring_tests import censoring_test, follow_up_p_value
from ..metrics.registry import REGISTRY, Metric
from ..metrics.score import Clusters
from ..metrics.task import Task
from .data_support import SubjectCounts, same_as_baseline
from .reading import is_small, joined
from .warning_kinds import REASONS, EvaluationWarning, warned

#: Fewer clusters than this give rough standard errors.
FEW_CLUSTERS = 10
#: p-value below which censoring is said to depend on features.
DEPENDENT_P = 0.01
#: Follow-ups differ where the log-rank test has a smaller p-value than the first, and the mean
#: follow-up differs by a larger share than the second.
DIFFERENT_P, DIFFERENT_SHARE = 0.001, 0.10
#: Curves at fewer times than this within the follow-up are coarse,
FEW_TIMES = 10
#: unless events are rare too: there must be this many event times for every time of the curve.
EVENTS_PER_TIME = 2
#: How curves go on between their times.
_BETWEEN = {"linear": "straight lines", "step": "steps", "pchip": "smooth curves"}
#: A model is called a member of the blend where its median times lie this close to a member's, as
#: a share of their own mean deviation. On datasets with known truth a Cox model without penalty
#: lay at 0.04 (median; three quarters below 0.14), a Weibull regression at 0.3, boosted trees of
#: other settings at 0.33, a forest of other settings at 0.5, networks at 0.5 and more.
_NEAR = 0.2
#: Why a score of intervals stops.
_OF_VISITS = {
    "past-follow-up": "no subject is under observation",
    "thin-risk-set": "too few test subjects are under observation",
    "lost": "more than a quarter of the test subjects have been lost without an event",
}
#: Share of the events before the earliest visit from which on Turnbull's distribution misleads.
_UNSEEN = 1 / 7


def check_task(task: Task, counts: SubjectCounts) -> list[EvaluationWarning]:
    """Warn about the outcomes."""
    cause, reference, found = task.cause, task.reference, []
    if reference is None:
        found.append(warned("in-sample-reference", form=""))
    elif cause is not None and not reference.in_sample:
        known = reference.given
        seen = known.cause is None or ((known.cause == cause) & (known.weight > 0)).any()
        if not seen:
            label = cause_label(task.cause_name or "")
            found.append(warned("cause-never-trained", cause=label))
    found += _check_horizon(task, counts) + check_times(task)
    return found + check_size(counts, task.cause_name)


def check_size(counts: SubjectCounts, cause: str | None = None) -> list[EvaluationWarning]:
    """Warn about few subjects or events, of the cause that is asked about."""
    events = counts.events_asked_about
    if counts.subjects >= 30 and events >= 10:
        return []
    of = "" if cause is None else f" of {cause_label(cause)}"
    return [warned("few-events", subjects=counts.subjects, events=events, of=of)]


def _check_horizon(task: Task, counts: SubjectCounts) -> list[EvaluationWarning]:
    """Say where the support ends, and that a tau lies past it."""
    tau, horizon, why = task.tau, task.horizon, REASONS[task.horizon_reason]
    if tau is None:
        stops = stops_early(task, counts, why, "observed")
        return [warned(task.horizon_reason, **stops)] if stops else []
    found = []
    if tau > horizon:
        found.append(warned("tau-past-horizon", tau=tau, horizon=horizon, why=why))
    end = counts.last_time if task.reference is None else task.reference.last_time
    if tau > end:
        found.append(warned("tau-past-follow-up", tau=tau, end=end))
    return found


def stops_early(task: Task, outcomes: SubjectCounts, why: str, seen: str) -> dict[str, Any]:
    """Return which metrics of this call stop at the horizon though subjects are seen longer.

    Nothing where none does.
    """
    horizon, last, past = task.horizon, outcomes.last_time, outcomes.subjects_past_horizon
    metrics = [name for name in task.asked if REGISTRY[name].stops == "horizon"]
    if not metrics or not past or not last > horizon * (1 + 1e-9):
        return {}
    stop, counts = "stops" if len(metrics) == 1 else "stop", {"past": past, "seen": seen}
    stops = {"metrics": metrics, "stop": stop, "horizon": horizon, "why": why, "last": last}
    return {**stops, **counts, "subjects": outcomes.subjects}


def check_times(task: Task) -> list[EvaluationWarning]:
    """Warn about times of interest past the support; of tau itself `_check_horizon` says so."""
    late = [time for time in task.times if time > task.horizon and time != task.tau]
    if not late or not any(REGISTRY[name].reads == "time" for name in task.asked):
        return []
    form = "replaced" if task.convention.on_unsupported == "truncate" else "kept"
    times = [f"{time:g}" for time in late]
    return [warned("time-past-horizon", times=times, horizon=task.horizon, form=form)]


def check_groups(sizes: dict[str, dict[str, int]]) -> list[EvaluationWarning]:
    """Warn about groups that are too small for numbers of their own."""
    small = [name for name, size in sizes.items() if is_small(size)]
    if not small:
        return []
    named = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
    count, total = len(small), len(sizes)
    return [warned("small-groups", affected=count / total, small=count, groups=total, named=named)]


def check_sampling(fractional: bool, clusters: Clusters | None = None) -> list[EvaluationWarning]:
    """Say how the test subjects were sampled; `fractional`: frequencies are not whole."""
    found = [warned("fractional-frequencies")] if fractional else []
    if clusters is not None and clusters.number < FEW_CLUSTERS:
        found.append(warned("few-clusters", clusters=clusters.number))
    return found


# -- censoring ---------------------------------------------------------------------------------


def uses_reference(metrics: Iterable[Metric]) -> bool:
    """Whether a metric reads censored subjects' times off the reference set."""
    return any(metric.method is not None and metric.method.looks_up for metric in metrics)


def check_follow_up(task: Task, metrics: Iterable[Metric]) -> list[EvaluationWarning]:
    """Warn about a training set that was followed otherwise than the test subjects."""
    if task.reference is None or not uses_reference(metrics):
        return []
    own, other = task.observed_g, task.reference.censoring
    until = min(own.last_time, other.last_time)
    if not until > 0:
        return []
    test, train = (km.mean(tau=until) for km in (own, other))
    if not abs(test - train) > DIFFERENT_SHARE * max(test, train):
        return []
    if not follow_up_p_value(task.first.present(), task.reference.y) < DIFFERENT_P:
        return []
    return [warned("follow-up-differs", until=until, test=test, train=train)]


def check_dependence(features: Any, y: Any, modelled: bool = False) -> list[EvaluationWarning]:
    """Warn about censoring that depends on the features of the test subjects."""
    try:
        with located("X_test"):
            result = censoring_test(features, y)
    except UndefinedMetricError:
        return []
    if not result.p_value < DEPENDENT_P:
        return []
    return [warned("dependence-modelled" if modelled else "dependent-censoring", why=str(result))]


# -- grids -------------------------------------------------------------------------------------


def check_grids(task: Task, predictions: Mapping[str, Prediction]) -> list[EvaluationWarning]:
    """Warn about models whose curves have few times."""
    present = task.y.weight > 0
    grids = {
        name: (p.curves.times if p.curves.times.ndim == 1 else p.curves.times[present],
               p.curves.interpolation)
        for name, p in predictions.items()
        if p.curves is not None
    }  # fmt: skip
    return coarse_grids(task, grids)


def coarse_grids(task: Task, grids: Mapping[str, tuple[Any, str]]) -> list[EvaluationWarning]:
    """Warn about grids by model, (times) or (subjects, times), with how they are interpolated.

    A step curve of a small reference set has a time for each event and is not coarse.
    """
    known = (task.y if task.reference is None else task.reference.y).present()
    end = float(known.time.max() if task.tau is None else min(task.tau, known.time.max()))
    counts = {}
    for name, (times, _) in grids.items():
        inside = (np.asarray(times) > 0) & (np.asarray(times) <= end)
        counts[name] = int(np.median(np.atleast_2d(inside).sum(axis=1)))
    if not any(count < FEW_TIMES for count in counts.values()):
        return []
    events = np.unique(known.time[known.event & (known.time <= end)]).size
    return [
        warned(
            "coarse-grid", name, count=count, end=end, events=events,
            between=_BETWEEN[grids[name][1]],
        )
        for name, count in counts.items()
        if count < FEW_TIMES and events > EVENTS_PER_TIME * count
    ]  # fmt: skip


# -- intervals -----------------------------------------------------------------------------------


def check_intervals(task: Task, counts: SubjectCounts) -> list[EvaluationWarning]:
    """Warn about intervals of visits."""
    found = [warned("in-sample-reference", form="")] if task.in_sample else []
    stops = stops_early(task, counts, _OF_VISITS[task.horizon_reason], "watched")
    if stops and task.tau is None:
        found.append(warned("watch-ends", **stops))
    if task.conditional is None:
        found.append(warned("one-distribution"))
    return found + _late_visits(task) + check_times(task) + check_size(counts)


def _late_visits(task: Task) -> list[EvaluationWarning]:
    """Warn of events before the earliest visit, where the distribution is a guess."""
    distribution, y = task.turnbull, task.intervals.present()
    if distribution is None or task.conditional is not None or not task.in_sample:
        return []
    visits = np.concatenate((y.lower[y.lower > 0], y.upper[y.event]))
    if (
        not visits.size or distribution.widening(visits.min())[0] == 1.0
    ):  # common visits are no guess
        return []
    first = float(visits.min())
    # Half of the events by twice that time: at the earliest visit one subject moves all weight.
    share = (1.0 - float(distribution.at(2 * first))) / 2
    if share < _UNSEEN:
        return []
    return [warned("late-first-visits", share=share, first=first)]


# -- features ------------------------------------------------------------------------------------


#: From so many subjects on, no feature equals the event indicator by chance.
_ENOUGH_FOR_EVENTS = 20


def refuse_outcomes(X_test: Any, y: Outcomes) -> None:
    """Refuse features among which the outcome is: a whole table was passed for its features."""
    found: dict[str, Any] = {"time": y.time}
    if len(y) >= _ENOUGH_FOR_EVENTS:
        found["event"] = y.event
    found = {what: outcome for what, outcome in found.items() if outcome.min() < outcome.max()}
    columns = table_columns(X_test, "X_test")
    if columns is None and getattr(X_test, "ndim", 0) == 2:
        columns = dict(enumerate(np.asarray(X_test).T))
    for name, column in (columns or {}).items():
        values = np.asarray(column)
        for what, outcome in found.items():
            if values.dtype.kind in "fiub" and np.array_equal(values, outcome):
                raise InputError(
                    f"X_test must not hold the outcome: column {name!r} equals the {what} of "
                    "y_test; leave it out of X_test and X_train"
                )


def check_features(X_train: Any, X_test: Any, y: Outcomes) -> list[EvaluationWarning]:
    """Warn about censoring that depends on features; text and gaps may come with `X_train` only."""
    if X_train is None:
        return check_dependence(X_test, y)
    columns = numeric_columns(X_test, "X_test")
    if not len(columns):  # of text that does not vary
        return []
    return check_dependence(columns, y, modelled=True)


def check_members(
    conditional: Conditional | None, predictions: Mapping[str, Prediction]
) -> list[EvaluationWarning]:
    """Warn about models that predict what a member of the blend predicts.

    Kaplan-Meier does not count: it knows no features, and favours nobody who does.
    """
    if conditional is None or conditional.distribution is None:
        return []
    end = float(conditional.distribution.last_time[0])
    found = []
    for name, prediction in predictions.items():
        times = _times(prediction)
        near = [
            member
            for member, medians in conditional.members.items()
            if member != "km" and times is not None and _alike(times, medians, end)
        ]
        if near:
            found.append(warned("member-of-blend", name, member=near[0]))
    return found


def _times(prediction: Prediction) -> Floats | None:
    if prediction.curves is not None:
        return prediction.curves.kept_median()
    return prediction.times if prediction.kind == "times" else None


def _alike(times: Floats, medians: Floats, end: float) -> bool:
    """Whether two predictions are nearly the same within the follow-up."""
    a, b = np.minimum(times, end), np.minimum(medians, end)
    spread = float(np.abs(a - a.mean()).mean())
    return spread > 0 and float(np.abs(a - b).mean()) <= _NEAR * spread


#: Times this many times as long as others are suspicious: months are 12 to the year.
FAR = 5.0
#: Fewer subjects do not tell what is typical.
_FEWEST = 10
#: The times of about so many subjects are looked at.
_LOOKED_AT = 2000
#: What a model says of somebody who was event-free at entry, if that denies it.
_DENIED = {
    "curves": "a probability of 0 of being event-free at their entry",
    "times": "a time before their entry",
}


class Seen:
    """What warnings look at of predictions; chunks add up, in their order."""

    def __init__(self) -> None:
        #: How many late entries each model denies, see `check_entry`.
        self.denied: Counter[str] = Counter()
        #: Outcomes of some subjects, and what each model predicts for them, by chunk.
        self.outcomes: list[Outcomes] = []
        self.times: dict[str, list[Floats]] = {}
        #: Models that predict for some subject what the baseline does not.
        self.unlike_baseline: set[str] = set()

    @classmethod
    def of(cls, task: Task, predictions: Mapping[str, Prediction], subjects: int) -> Seen:
        """Look at a chunk of so many subjects in all, whose rows begin at ``task.start``.

        Every k-th of them is looked at, however they come in chunks; rows of weight 0 are left out.
        """
        found, y, step = cls(), task.first, max(1, -(-subjects // _LOOKED_AT))
        found.denied.update({n: denied_entries(task.y, p) for n, p in predictions.items()})
        found.unlike_baseline = set(predictions) - set(same_as_baseline(task, predictions))
        rows = np.arange(-task.start % step, len(y), step)
        rows = rows[y.weight[rows] > 0]
        if rows.size:
            found.outcomes.append(y[rows])
            for name, prediction in predictions.items():
                if prediction.has("times"):
                    found.times[name] = [_median_times(prediction[rows])]
        return found

    def merge(self, other: Seen) -> None:
        """Add what was seen of further subjects."""
        self.denied.update(other.denied)
        self.outcomes += other.outcomes
        self.unlike_baseline |= other.unlike_baseline
        for name, times in other.times.items():
            self.times.setdefault(name, []).extend(times)


def check_units(task: Task, seen: Seen) -> list[EvaluationWarning]:
    """Warn about predicted times and training times far from all that was observed."""
    y = joined(seen.outcomes) if seen.outcomes else task.y[:0]
    if len(y) < _FEWEST:
        return []
    shortest, longest = y.median_time, _longest(y)
    found = []
    for name, parts in seen.times.items():
        times = np.concatenate(parts)
        times = times[np.isfinite(times) & (times > 0)]
        typical = float(np.median(times)) if times.size else np.nan
        if typical * FAR < shortest or typical > FAR * longest:
            numbers: dict[str, Any] = {"typical": typical, "observed": shortest}
            found.append(warned("time-units", name, form="predicted", **numbers))
    if task.reference is not None:
        trained = task.reference.y.present().median_time
        if trained * FAR < shortest or trained > FAR * shortest:
            found.append(warned("time-units", form="training", typical=trained, observed=shortest))
    return found


def _longest(y: Outcomes) -> float:
    """Return the time by which half of the subjects have the event.

    Past the follow-up it is that of a constant hazard, and without events nobody knows it.
    """
    km, last = KaplanMeier.fit(y), float(y.time.max())
    left = float(km.at(last))
    if left <= 0.5:
        return float(km.median())
    return float("inf") if left == 1 else last * float(np.log(0.5) / np.log(left))


def _median_times(prediction: Prediction) -> Floats:
    """Return predicted (median) times; none where a model never predicts one of the causes."""
    incidence = prediction.incidence
    if incidence is not None and (incidence.values[:, :, -1] == 0).all(axis=0).any():
        return np.empty(0)  # the probability of no event is not meant
    curves = prediction.curves if incidence is None else incidence.survival()
    times: Floats = prediction.times if curves is None else curves.quantile(0.5)
    return times


# -- delayed entry -------------------------------------------------------------------------------


def denied_entries(y: Outcomes, prediction: Prediction) -> int:
    """Count who enters late and event-free although the model excludes that.

    >>> y = Outcomes([5, 8, 9], [1, 0, 1], entry=[0, 2, 3])
    >>> denied_entries(y, Prediction.of([1.0, 1.0, 8.0], 3))
    1
    """
    if y.entry is None or prediction.kind not in _DENIED:
        return 0
    late = (y.entry > 0) & (y.weight > 0)
    curves = prediction.curves
    if curves is None:
        return int(np.count_nonzero(late & (prediction.median <= y.entry)))
    incidence = curves.incidence if isinstance(curves, CauseCurves) else None
    free = curves.at_own(y.entry) if incidence is None else incidence.free_at_own(y.entry)
    return int(np.count_nonzero(late & (free <= 0)))


def check_entry(
    task: Task, denied: dict[str, tuple[str, int]], min_at_risk: float
) -> list[EvaluationWarning]:
    """Say how thin the first risk sets are, and who was there although a model excluded it.

    `denied` has for each model the kind of its predictions and how many entries they deny.
    """
    y, since, reference, found = task.y, task.since, task.reference, []
    if reference is not None and (y.entry is None) != (reference.given.entry is None):
        late, other = ("y_train", "y_test") if y.entry is None else ("y_test", "y_train")
        found.append(warned("entry-on-one-side", late=late, other=other))
    if y.entry is None:
        return found
    early = (y.weight > 0) & (y.time < (np.inf if since is None else since))
    if early.any():
        until = "at any time" if since is None else f"before {since:g}"
        counts = {"subjects": early.sum(), "events": (early & y.event).sum()}
        found.append(warned("thin-first-risk-sets", least=min_at_risk, until=until, **counts))
    entered = int(np.count_nonzero((y.entry > 0) & (y.weight > 0)))
    return found + [
        warned("denies-entry", name, denied=_DENIED[kind], count=gone, late=entered)
        for name, (kind, gone) in denied.items()
        if gone
    ]
