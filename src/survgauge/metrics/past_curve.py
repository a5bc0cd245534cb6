"""How much of what a metric reads lies past a model's last predicted time: one rule for all.

Past its last time a curve is not a prediction but an assumption (its tail), unless it has reached
zero. Metrics at one time read every curve there; integrals read it up to their end, each stretch of
time alike; scores of a subject's own time read it there. The share is an average over subjects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import UndefinedMetricError

if TYPE_CHECKING:
    from .task import Task

#: Above this share of assumed probabilities a metric has no value: a mean of numbers between 0 and
#: 1 could be off by as much, which is what separates good models from poor ones (a Brier score of
#: Kaplan-Meier is about 0.2).
MOST_PAST = 0.05
#: Below this share nothing is said: the last training event of most models lies a little before the
#: last test time, and a mean of numbers between 0 and 1 moves by less than this.
WORTH_A_WORD = 0.01

#: What a metric may read: curves at the time of interest, up to the horizon or the end of the
#: follow-up, or at subjects' own times, of all or of events.
READS = ("time", "horizon", "follow_up", "own", "event")
#: Where a metric may stop: at tau, if that is given; at the horizon; or where the follow-up ends.
STOPS = ("tau", "horizon", "follow_up")
#: What is read of curves: one of `READS`, "tau" for own times up to it, or a time of interest.
Reading = str | tuple[str, float]
#: Readings at subjects' own times: which of them.
_OWN = {"own": "own", "tau": "own", "event": "event"}
_WHAT_TO_DO = {
    "time": "predict up to that time, or pass an earlier `time`",
    "tau": "predict up to the last test time or tau, or leave the metric out",
    "horizon": "predict up to the horizon, or leave the metric out",
    "follow_up": "predict up to the last test time, or leave the metric out",
    "own": "predict up to the last test time, or leave the metric out",
    "event": "predict up to the last test event, or leave the metric out",
}


class PastCurveError(UndefinedMetricError):
    """A metric would read too much that a model did not predict.

    Attributes
    ----------
    reason : str
        How much it would read; the message also says what to do.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason


def share_past(
    curves: SurvivalCurves, until: Floats | float, weight: Floats | None = None
) -> float:
    """Share of subjects whose curve ends, above zero, before `until`.

    >>> curves = SurvivalCurves([5, 10], [[0.9, 0.6], [0.4, 0.0]])
    >>> share_past(curves, 12.0), share_past(curves, 10.0)
    (0.5, 0.0)
    """
    past = (curves.last_time < until) & (curves.last_survival > 0)
    return _average(past.astype(np.float64), weight)


def share_of_length(curves: SurvivalCurves, stop: float, weight: Floats | None = None) -> float:
    """Share of the time up to `stop` that lies past the curves, on average over subjects.

    >>> share_of_length(SurvivalCurves([5, 10], [[0.9, 0.6], [0.4, 0.0]]), 20.0)
    0.25
    """
    past = np.maximum(stop - curves.last_time, 0.0) / stop
    return _average(np.where(curves.last_survival > 0, past, 0.0), weight)


def share_of_times(curves: SurvivalCurves, times: Floats, weight: Floats | None = None) -> float:
    """Share of increasing times at which all curves are read that lies past their ends.

    >>> curves = SurvivalCurves([5, 10], [[0.9, 0.6], [0.4, 0.0]])
    >>> share_of_times(curves, np.array([5.0, 10.0, 15.0, 20.0]))
    0.25
    """
    if not times.size:
        return 0.0
    last = curves.last_time[:1] if curves.shared_grid else curves.last_time
    past = 1.0 - times.searchsorted(last, "right") / times.size
    return _average(np.where(curves.last_survival > 0, past, 0.0), weight)


def _average(values: Floats, weight: Floats | None) -> float:
    if weight is None:
        return float(values.mean())
    return float((values * weight).sum() / weight.sum())


def reading(reads: str, stops: str, task: Task) -> Reading:
    """Say what a metric reads of curves, given what its record says of that and of its horizon."""
    if reads == "time":
        return reads, task.time_used
    return "tau" if reads == "own" and stops == "tau" and task.tau is not None else reads


def ends_of(task: Task, follow_up: float) -> dict[Reading, float]:
    """Where metrics at one time and integrals read curves; `follow_up` is the last test time."""
    ends: dict[Reading, float] = {("time", at.time_used): at.time_used for at in task.at_times}
    ends |= {"horizon": task.until, "follow_up": follow_up}
    if task.errors_stop is not None:
        ends["tau"] = task.errors_stop
        ends["follow_up"] = min(task.errors_stop, follow_up)
    return ends


@dataclass
class PastReads:
    """How much of what each kind of metric reads lies past one model's curves; parts add up."""

    #: Weight of the subjects, and of those with an event.
    total: float = 0.0
    events: float = 0.0
    past: dict[Reading, float] = field(default_factory=dict)
    #: Latest own time of a subject, and of an event.
    latest: dict[str, float] = field(default_factory=dict)
    #: Where the first of the curves ends above zero.
    last: float = float("inf")

    def add(self, y: Outcomes, curves: SurvivalCurves, ends: dict[Reading, float]) -> None:
        """Add subjects; those of weight zero do not count."""
        weight = y.weight
        open_end = curves.last_survival > 0
        if y.frequency is not None:
            open_end = open_end & (weight > 0)
        part = PastReads(float(weight.sum()), float(weight[y.event].sum()))
        own = (weight * (open_end & (y.time > curves.last_time))).astype(np.float64)
        part.past = {"own": float(own.sum()), "event": float(own[y.event].sum())}
        for kind, end in ends.items():
            if not end > 0:  # also NaN: there is no such time
                continue
            if kind == "tau":
                found: Any = np.minimum(y.time, end) > curves.last_time
            elif isinstance(kind, tuple):
                found = curves.last_time < end
            else:
                found = np.maximum(end - curves.last_time, 0.0) / end
            part.past[kind] = float((weight * (found * open_end)).sum())
        present = y.present()
        if len(present):
            part.latest["own"] = float(present.time.max())
        if present.event.any():
            part.latest["event"] = float(present.time[present.event].max())
        if open_end.any():
            part.last = float(curves.last_time[open_end].min())
        self.merge(part)

    def merge(self, other: PastReads) -> None:
        """Add another part."""
        self.total += other.total
        self.events += other.events
        for kind, number in other.past.items():
            self.past[kind] = self.past.get(kind, 0.0) + number
        for kind, time in other.latest.items():
            self.latest[kind] = max(time, self.latest.get(kind, time))
        self.last = min(self.last, other.last)

    def share(self, kind: Reading) -> float:
        """Share of what is read that lies past the curves."""
        below = self.events if kind == "event" else self.total
        return self.past.get(kind, 0.0) / below if below > 0 else 0.0

    def judge(self, kind: Reading, ends: dict[Reading, float]) -> str | None:
        """Say how much lies past the curves where it is worth a word; refuse where it is too much.

        `kind` is what the metric reads, see `reading`. Raises `PastCurveError` above `MOST_PAST`.
        """
        share = self.share(kind) if kind else 0.0
        if share <= WORTH_A_WORD:
            return None
        read = min(ends.get(kind, np.inf), self.latest.get(_OWN.get(str(kind), ""), np.inf))
        name = kind if isinstance(kind, str) else kind[0]
        text = _sentence(name, share, read, self.last)
        if share > MOST_PAST:
            raise PastCurveError(f"{text}, so there is no value", _WHAT_TO_DO[name])
        return text  # the explanation of the warning says what to do


def _sentence(kind: str, share: float, read: float, last: float) -> str:
    end, much = f"the last predicted time is {last:g}", f"{share * 100:.3g} %"
    if kind == "time":
        return f"{end}, but the curves are read at {read:g} ({much} of them past their end)"
    if kind in ("horizon", "follow_up"):
        return f"{end}, but the curves are read up to {read:g} and {much} of that is assumed"
    who = "events" if kind == "event" else "subjects"
    return (
        f"{end}, but the curves are read at subjects' own times, up to {read:g}, and {much} of the "
        f"{who} are observed after it"
    )


def past_reads(task: Task, prediction: Any, follow_up: float | None = None) -> PastReads:
    """Return how much of what metrics read lies past the curves of one model."""
    y, reads = task.y, PastReads()
    if task.sample_weight is not None:
        y = y.reweighted(task.weight)
    end = float(y.present().time.max()) if follow_up is None else follow_up
    reads.add(y, prediction.curves, ends_of(task, end))
    return reads


def past_warning(reads: str, stops: str, task: Task, prediction: Any) -> str | None:
    """Say how much of what a metric reads lies past one model's curves; refuse too much of it."""
    if prediction.curves is None or not reads:
        return None
    end = float(task.y.present().time.max())
    kind = reading(reads, stops, task)
    return past_reads(task, prediction).judge(kind, ends_of(task, end))
