"""What a metric is: one record, which says everything that anybody asks about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._old_names import takes_old_support
from .._tools.running import called, is_own
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError, one_of
from ..estimators.surrogates import Method
from .past_curve import READS, STOPS, Reading, reading
from .score import Score, Terms
from .task import Task
from .time.terms import nobody

#: Name of a metric, and the time that it is read at (None: it is about no single time).
Key = tuple[str, float | None]
#: What a metric supports that can be asked everything about right-censored outcomes.
EVERYTHING: frozenset[str] = frozenset({"weights", "entry", "cause", "entry of a cause"})
UNIT, ANY = (0.0, 1.0), (float("-inf"), float("inf"))
POSITIVE: tuple[float, float] = (0.0, float("inf"))


#: Fields that are one of a few words.
_WORDS = {
    "family": ("time", "ranking", "probability", "calibration", "decision", "own"),
    "direction": ("lower", "higher", "target"),
    "needs": ("times", "curves", "risk"),
    "inference": ("analytic", "bootstrap", "own", "test"),
    "interval": ("", "normal", "log", "logit", "own", "none"),
    "reads": ("", *READS),
    "stops": ("", *STOPS),
}
_SUPPORTS = (*sorted(EVERYTHING), "all causes", "intervals")
#: Fields that are any text.
_TEXTS = ("title", "about", "below", "above", "unit", "reference", "proper", "square")
#: What can be kept of a subject until all are known: a risk, the probability at the time of
#: interest, or the way of the curve to that time.
KEEPS = ("risk", "at_time", "path")


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its names, what it needs, and how it adds up over chunks of subjects.

    `terms` and `compute` are called with a `Task` (the subjects at hand in ``task.y``, what
    each counts in ``task.weight``, ``task.time``, ``task.tau``, ``task.until``,
    ``task.reference``) and a `Prediction` for these subjects (``prediction.curves``,
    ``prediction.times``, ``prediction.risk``).

    Attributes
    ----------
    name, title : str
        By which programs call it, and its name for people, in tables, axes and sentences.
    other_names : tuple of str
        Other names by which people look for it: a wrong name leads to this metric.
    about : str
        A sentence that says what it measures.
    terms : callable, optional
        For a metric that is a mean over subjects: ``terms(task, prediction)`` gives the loss of
        each subject, or `Terms`, or `Score` with contributions. Everything else follows:
        intervals, comparisons, groups, weights, streams.
    compute : callable, optional
        For other metrics: ``compute(task, prediction)`` gives the value with its support.
    keeps : tuple of {"risk", "at_time", "path"}
        What `compute` reads of a prediction, where that is so little that a stream can keep it.
    table : type, optional
        What adds up instead of `compute` in a stream; see `OwnTimes` for its methods.
    family : {"time", "ranking", "probability", "calibration", "decision", "own"}
        With which other metrics it is shown.
    direction : {"lower", "higher", "target"}
        Which values are better; "target": those near `target`.
    target : float, optional
        The best value, where both lower and higher values are worse.
    below, above : str
        What values below and above the target mean.
    range : pair of float
        Least and largest value.
    needs : {"times", "curves", "risk"}
        The minimum that a prediction must offer.
    proper : str
        Whether telling the truth is optimal, and under which condition.
    reference : str
        Where it was published.
    inference : {"analytic", "bootstrap", "own", "test"}
        Where its standard error comes from; a test's value is a p-value and has none. What is
        measured with inference "own" has a `distribution` that gives the interval.
    interval : {"normal", "log", "logit", "own", "none"}
        On which scale its interval is symmetric; by default what keeps it in its range.
    unit : str
        "time", "time^2" or nothing.
    supports : iterable of {"weights", "entry", "cause", "entry of a cause", "all causes", \
            "intervals"}
        Which questions it supports, besides that about right-censored outcomes of one kind of
        event: with sampling weights or delayed entry (``task.y.entry``; it is undefined elsewhere),
        about one cause of several (``task.cause``), also with delayed entry; "all causes" and
        "intervals": about nothing but outcomes of several causes, or interval-censored ones.
    weights_by_g : bool
        Whether subjects are weighted by 1/G.
    reads_g : bool
        Whether G is looked at in another way, and taken as given by standard errors.
    assumes : {"", "independent", "given"}
        What it assumes of censoring: nothing, that it does not depend on covariates, or that only
        where no distributions given covariates (``task.conditional``) are there.
    reads : {"time", "horizon", "follow_up", "own", "event", ""}
        Up to where curves are read: see `past_curve`. A metric that reads the "time" of interest
        has one score for each of them.
    stops : {"tau", "horizon", "follow_up", ""}
        Where it stops: at tau if that is given, at the horizon (tau, or the last time that
        the data support before it), at the last test time or tau before it, or nowhere.
    reads_threshold : bool
        Whether it is about the decision at a `threshold` of the predicted risk: it is refused where
        none is given, and belongs to the default metrics where one is.
    uses_divisor : bool
        Whether the convention's divisor of the scores at each time enters.
    root : bool
        Whether the metric is the square root of the mean of its terms.
    square : str
        Name of the metric whose terms these are, for a root.
    method, loss : Method and str, optional
        What a time error is made of.
    default : bool
        Whether it is computed unless metrics are named.
    reported : bool
        Whether a validation study reports it: ``metrics="study"``, Table 2.
    default_until : float
        Number of subjects up to which it belongs to the default metrics.
    """

    name: str
    title: str
    about: str = ""
    terms: Callable[[Task, Prediction], Any] | None = None
    compute: Callable[[Task, Prediction], Score] | None = None
    other_names: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    table: type[Any] | None = None
    family: str = "own"
    direction: str = "lower"
    target: float | None = None
    below: str = ""
    above: str = ""
    range: tuple[float, float] = ANY
    needs: str = "curves"
    proper: str = "not known"
    reference: str = ""
    inference: str = "analytic"
    interval: str = ""
    unit: str = ""
    supports: Iterable[str] = ("weights",)
    weights_by_g: bool = False
    reads_g: bool = False
    assumes: str = ""
    reads: str = ""
    stops: str = ""
    reads_threshold: bool = False
    uses_divisor: bool = False
    root: bool = False
    square: str = ""
    method: Method | None = None
    loss: str = ""
    default: bool = True
    reported: bool = False
    default_until: float = float("inf")

    def __post_init__(self) -> None:
        _check_record(self)
        object.__setattr__(self, "range", _checked_range(self))
        object.__setattr__(self, "supports", frozenset(self.supports))
        if not self.interval:
            object.__setattr__(self, "interval", self._usual_interval())

    def _usual_interval(self) -> str:
        if self.inference in ("test", "own"):
            return "none" if self.inference == "test" else "own"
        if self.range == POSITIVE:
            return "log"
        return "logit" if self.range == UNIT else "normal"

    @property
    def adds_up(self) -> str:
        """How the metric adds up over chunks of subjects: mean, count, ranked, or whole (not)."""
        if self.terms is not None:
            return "mean"
        if self.table is not None:
            return "count"
        return "ranked" if self.keeps else "whole"

    def needs_all(self, by_entry: bool = False) -> bool:
        """Whether it needs all subjects at once, which a stream does not have.

        The table of a metric may say that it supports no delayed entry (`takes_entry`),
        although the metric does.
        """
        late = by_entry and not getattr(self.table, "takes_entry", True)
        return self.adds_up == "whole" or late

    @property
    def outcomes(self) -> str:
        """Which outcomes it is about: "right" or "interval" censored."""
        return "interval" if "intervals" in self.supports else "right"

    @property
    def better(self) -> str:
        """Which values are better, in words."""
        if self.inference == "test":
            return "small p-values mean miscalibrated"
        return f"{self.direction} is better" if self.target is None else f"{self.target:g} is best"

    @property
    def ranks_models(self) -> bool:
        """Whether one model can be better by it than another: neither a p-value nor a target."""
        return self.inference != "test" and self.target is None

    def badness(self, value: float) -> float:
        """Return a value so that lower is better, whatever the direction."""
        if self.target is not None:
            return abs(value - self.target)
        return value if self.direction == "lower" else -value

    @property
    def has_baseline(self) -> bool:
        """Whether it is a loss that the Kaplan-Meier baseline has too, subject by subject."""
        return self.terms is not None and self.direction == "lower"

    @property
    def is_share_of_pairs(self) -> bool:
        """Whether it is a share of pairs of subjects: one half for an order by chance."""
        return self.family == "ranking" and self.range == UNIT

    @property
    def within_horizon(self) -> bool:
        """Whether it is a time error that stops within what the data support."""
        return self.method is not None and self.stops == "horizon"

    def at_times(self, task: Task) -> list[Task]:
        """Return the question at every time of interest that the metric is computed at."""
        return task.at_times if self.reads == "time" else [task]

    def time_of(self, task: Task) -> float | None:
        """Return the time at which the metric is read; None where it is about no single time."""
        known = self.reads == "time" and np.isfinite(task.time_used)
        return task.time_used if known else None

    def reading(self, task: Task) -> Reading:
        """Say what it reads of curves."""
        return reading(self.reads, self.stops, task)

    @property
    def usual_error(self) -> bool:
        """Whether it is the usual time error, beside which warnings about predicted times stand."""
        return self.method is not None and self.method.usual and self.loss == "absolute"

    def key(self, task: Task) -> Key:
        """Name and time under which its sums are kept; a root shares those of its square."""
        return self.square or self.name, self.time_of(task)

    def terms_of(self, task: Task, prediction: Prediction) -> Terms:
        """Return the terms of the subjects at hand, whose G is known."""
        if self.terms is None:
            raise InputError(f"{self.name} is not a mean over subjects")
        self._check_question(task)
        what = f"metric {self.name!r}: terms"
        return Terms.of(called(self.terms, what, task, prediction), task.weight, what)

    def measure(self, task: Task, prediction: Prediction) -> Score:
        """Return the metric of all subjects of a task."""
        if self.compute is not None:
            self._check_question(task)
            found = called(self.compute, f"metric {self.name!r}: compute", task, prediction)
            if not is_own(self.compute):
                _check_measured(self.name, found, len(task.y))
            return found
        return self.mean_of(self.terms_of(task.with_g(), prediction), task)

    def check_threshold(self, threshold: float | None) -> None:
        """Refuse a metric of decisions where no threshold is given."""
        if self.reads_threshold and threshold is None:
            raise InputError(
                f"{self.name} needs threshold, the predicted risk from which on a subject is "
                "treated: give one, such as threshold=0.2, or leave the metric out"
            )

    def supports_cause(self, cause: int | str | None) -> bool:
        """Whether it can be asked about a cause; None: about one kind of event."""
        every = "all causes" in self.supports
        return not every if cause is None else every or "cause" in self.supports

    def supports_entry(self, cause: int | str | None) -> bool:
        """Whether it supports delayed entry: of one kind of event, or of a cause."""
        return ("entry" if cause is None else "entry of a cause") in self.supports

    def valid_under_dependence(self, task: Task) -> bool:
        """Whether it has its meaning where censoring depends on covariates."""
        given = task.robust or (self.method is not None and task.conditional is not None)
        return self.assumes == "" or (self.assumes == "given" and given)

    def check_cause(self, cause: int | str | None) -> None:
        """Refuse a metric of one kind of event where a cause is asked about, and the reverse."""
        if self.supports_cause(cause):
            return
        if cause is None:
            raise InputError(
                f"{self.name} is about several causes: give outcomes with causes and the cause "
                "that matters, such as cause=1, or leave the metric out"
            )
        raise InputError(
            f"{self.name} supports only one kind of event; leave it out, or leave out cause="
        )

    def check_outcomes(self, kind: str) -> None:
        """Refuse a metric of other outcomes."""
        if self.outcomes == kind:
            return
        if kind == "right":
            raise InputError(
                f"{self.name} is for interval-censored outcomes: pass IntervalOutcomes (those of "
                "right-censored ones are IntervalOutcomes.of(y)), or leave the metric out"
            )
        raise InputError(
            f"{self.name} supports right-censored outcomes only; leave it out where outcomes are "
            "interval-censored (sg.available_metrics() says which outcomes a metric supports)"
        )

    def _check_question(self, task: Task) -> None:
        self.check_outcomes(task.outcomes)
        self.check_threshold(task.threshold)
        self.check_cause(task.cause)
        if task.by_entry and not self.supports_entry(task.cause):
            of = "" if task.cause is None else " of a cause"
            raise UndefinedMetricError(
                f"supports no delayed entry{of}, so it has no value where subjects enter late"
            )

    def mean_of(self, terms: Terms, task: Task) -> Score:
        """Return the mean over all subjects of a task, given their terms."""
        total, support = float(terms.s.sum()), terms.support.result()
        if self.method is not None and not (total > 0 and support["largest_weight"] != 0):
            raise nobody(terms.convention, support)
        if total == 0:
            raise UndefinedMetricError("no subject counts: the denominator is 0")
        g = None
        if terms.derivative is not None and task.contributions:
            g = task.estimated_g(by_convention=self.method is None)
        return terms.mean(task.y.frequency, g, self.root)

    def row(self) -> dict[str, Any]:
        """Return what users see of it."""
        shown = (
            "name", "title", "about", "direction", "target", "range", "needs", "proper",
            "inference", "interval", "unit", "outcomes", "reference",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in shown}
        return {**found, "takes_sample_weight": "weights" in self.supports}


Metric.__init__ = takes_old_support(Metric.__init__)  # type: ignore[method-assign]


def _check_record(metric: Metric) -> None:
    """Refuse a record whose fields are not what they should be, or do not go together."""
    if not isinstance(metric.name, str) or not metric.name:
        raise InputError(f"name must be the name of a metric; got {metric.name!r}")
    for field in _TEXTS:
        if not isinstance(getattr(metric, field), str):
            raise _refused(metric.name, f"{field} must be text; got {getattr(metric, field)!r}")
    _check_functions(metric)
    for field, words in _WORDS.items():
        one_of(field, getattr(metric, field), words)
    for word in metric.supports:
        one_of("supports", word, _SUPPORTS)
    if (metric.direction == "target") != isinstance(metric.target, float | int):
        raise _refused(metric.name, 'direction="target" and target, the best value, go together')
    if metric.method is not None and not isinstance(metric.method, Method):
        raise _refused(metric.name, f"method must be a Method; got {metric.method!r}")
    if metric.square and not metric.root:
        told = f"square={metric.square!r} is for roots: give root=True with it"
        raise _refused(metric.name, told)


def _refused(name: str, message: str) -> InputError:
    return InputError(f"metric {name!r}: {message}")


def _check_functions(metric: Metric) -> None:
    """Check what the metric is computed by, and what a stream keeps for it."""
    if (metric.terms is None) == (metric.compute is None):
        raise InputError(
            f"metric {metric.name!r} must have one of terms (for a mean over subjects) and "
            "compute (for other metrics)"
        )
    for function in (metric.terms, metric.compute):
        if function is not None and not callable(function):
            raise _refused(
                metric.name,
                "terms or compute must be a function of a task and a prediction; got "
                f"{type(function).__name__}",
            )
    for field in ("keeps", "other_names"):
        given = getattr(metric, field)
        if not isinstance(given, tuple):
            raise _refused(metric.name, f"{field} must be a tuple of names; got {given!r}")
    for kept in metric.keeps:
        one_of("keeps", kept, KEEPS)
    methods = ("update", "merge", "measured")
    if metric.table is not None and not all(hasattr(metric.table, name) for name in methods):
        told = f"table must be a class with the methods {', '.join(methods)}; got {metric.table!r}"
        raise _refused(metric.name, told)
    if metric.terms is not None and (metric.keeps or metric.table is not None):
        raise _refused(metric.name, "keeps and table go with compute; terms add up by themselves")


def _checked_range(metric: Metric) -> tuple[float, float]:
    """Return the least and the largest value of a metric."""
    try:
        low, high = (float(limit) for limit in metric.range)
    except (TypeError, ValueError):
        low = high = float("nan")
    if not low < high:
        told = f"range must be a pair of its least and its largest value; got {metric.range!r}"
        raise _refused(metric.name, told)
    return low, high


def _check_measured(name: str, found: Any, n: int) -> None:
    """Refuse what a user's function computed, unless it is a value with its support."""
    wanted = ("value", "convention", "support", "contributions", "stderr", "frequency")
    if not all(hasattr(found, field) for field in wanted):
        told = f"compute must return a Score, a value with its support; got {found!r}"
        raise _refused(name, told)
    if not isinstance(found.value, float | int | np.floating | np.integer):
        raise _refused(name, f"compute must return a number as value; got {found.value!r}")
    if found.contributions is not None and np.shape(found.contributions) != (n,):
        raise _refused(
            name,
            f"compute must return one contribution for each of {n} subjects; got shape "
            f"{np.shape(found.contributions)}",
        )
