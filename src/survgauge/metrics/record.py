"""What a metric is: one record, which says everything that anybody asks about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._tools.arrays import Floats
from .._tools.calls import called, is_own
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..reference.surrogates import Method
from .details import Details
from .past_curve import Reading, reading
from .problem import Problem
from .record_checks import check_measured, check_record, checked_range
from .terms import Terms
from .time.terms import nobody


class Measured(Protocol):
    """What a metric gives to `evaluate`."""

    @property
    def value(self) -> float:
        """The number."""

    @property
    def convention(self) -> dict[str, Any]:
        """Which definitions it follows."""

    @property
    def support(self) -> dict[str, Any]:
        """What the data covered."""

    @property
    def psi(self) -> Floats | None:
        """Contributions of the subjects, if it has any."""

    @property
    def stderr(self) -> float:
        """Standard error, reference set fixed; NaN where there is none."""

    @property
    def frequency(self) -> Floats | None:
        """Frequencies of the subjects, if given."""


#: Name of a metric, and the time that it is read at (None: it is about no single time).
Key = tuple[str, float | None]
UNIT, POSITIVE, ANY = (0.0, 1.0), (0.0, float("inf")), (float("-inf"), float("inf"))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its names, what it needs, and how it adds up over chunks of subjects.

    `terms` and `compute` are called with a `Problem` (the subjects at hand in ``problem.y``, what
    each counts in ``problem.mass``, ``problem.time``, ``problem.tau``, ``problem.until``,
    ``problem.reference``) and a `Prediction` for these subjects (``prediction.curves``,
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
        For a metric that is a mean over subjects: ``terms(problem, prediction)`` gives the loss of
        each subject, or `Terms`, or `Details` with contributions. Everything else follows:
        intervals, comparisons, groups, weights, streams.
    compute : callable, optional
        For other metrics: ``compute(problem, prediction)`` gives the value with its support.
    keeps : tuple of {"risk", "at_time", "path"}
        What `compute` reads of a prediction, where that is so little that a stream can keep it.
    table : type, optional
        What adds up instead of `compute` in a stream; see `OwnSurvival` for its methods.
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
        The least that a prediction must offer.
    proper : str
        Whether telling the truth is optimal, and under which condition.
    reference : str
        Where it was published.
    inference : {"analytic", "bootstrap", "own", "test"}
        Where its standard error comes from; a test's value is a p-value and has none. What is
        measured with inference "own" has a `law` that gives the interval.
    interval : {"normal", "log", "logit", "own", "none"}
        On which scale its interval is symmetric; by default what keeps it in its range.
    unit : str
        "time", "time^2" or nothing.
    takes_sample_weight : bool
        Whether sampling weights are heeded; otherwise the metric is undefined where there are any.
    weights_by_g : bool
        Whether subjects are weighted by 1/G.
    reads_g : bool
        Whether G is looked at in another way, and taken as given by standard errors.
    assumes : {"", "independent", "given"}
        What it assumes of censoring: nothing, that it does not depend on covariates, or that only
        where no distributions given covariates (``problem.conditional``) are there.
    takes_dependence : bool
        Whether an assumed dependence of event and censoring time is heeded; otherwise the metric is
        undefined where there is one.
    takes_entry : bool
        Whether delayed entry (``problem.y.entry``) is heeded; otherwise the metric is undefined
        where there is any.
    causes : {"", "takes", "needs"}
        Whether it knows several causes: not, also (of one cause, ``problem.cause``), or only.
    cause_with_entry : bool
        Whether it knows delayed entry where a cause is asked about too, if it knows both.
    outcomes : {"right", "interval"}
        Which outcomes it knows: right-censored, or interval-censored.
    reads : {"time", "horizon", "follow_up", "own", "event", ""}
        Up to where curves are read: see `past_curve`. A metric that reads the "time" of interest
        has one score for each of them.
    stops : {"tau", "horizon", "follow_up", ""}
        Where the clock stops: at tau if that is given, at the horizon (tau, or the last time that
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
    terms: Callable[[Problem, Prediction], Any] | None = None
    compute: Callable[[Problem, Prediction], Measured] | None = None
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
    takes_sample_weight: bool = True
    weights_by_g: bool = False
    reads_g: bool = False
    assumes: str = ""
    takes_dependence: bool = False
    takes_entry: bool = False
    causes: str = ""
    cause_with_entry: bool = True
    outcomes: str = "right"
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
        check_record(self)
        object.__setattr__(self, "range", checked_range(self))
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

        The table of a metric may say that it knows no delayed entry (`takes_entry`), although the
        metric does.
        """
        late = by_entry and not getattr(self.table, "takes_entry", True)
        return self.adds_up == "whole" or late

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
        """Whether it is a loss that Kaplan-Meier for everybody has too, subject by subject."""
        return self.terms is not None and self.direction == "lower"

    @property
    def is_share_of_pairs(self) -> bool:
        """Whether it is a share of pairs of subjects: one half for an order by chance."""
        return self.family == "ranking" and self.range == UNIT

    @property
    def within_horizon(self) -> bool:
        """Whether it is a time error whose clock stops within what the data support."""
        return self.method is not None and self.stops == "horizon"

    def at_times(self, problem: Problem) -> list[Problem]:
        """Return the question at every time of interest that the metric is computed at."""
        return problem.at_times if self.reads == "time" else [problem]

    def time_of(self, problem: Problem) -> float | None:
        """Return the time at which the metric is read; None where it is about no single time."""
        known = self.reads == "time" and np.isfinite(problem.time_used)
        return problem.time_used if known else None

    def reading(self, problem: Problem) -> Reading:
        """Say what it reads of curves."""
        return reading(self.reads, self.stops, problem)

    @property
    def usual_error(self) -> bool:
        """Whether it is the usual time error, beside which remarks on predicted times stand."""
        return self.method is not None and self.method.usual and self.loss == "absolute"

    def key(self, problem: Problem) -> Key:
        """Name and time under which its sums are kept; a root shares those of its square."""
        return self.square or self.name, self.time_of(problem)

    def terms_of(self, problem: Problem, prediction: Prediction) -> Terms:
        """Return the terms of the subjects at hand, whose G is known."""
        if self.terms is None:
            raise InputError(f"{self.name} is no mean over subjects")
        self._check_question(problem)
        what = f"metric {self.name!r}: terms"
        return Terms.of(called(self.terms, what, problem, prediction), problem.mass, what)

    def measure(self, problem: Problem, prediction: Prediction) -> Measured:
        """Return the metric of all subjects of a problem."""
        if self.compute is not None:
            self._check_question(problem)
            found = called(self.compute, f"metric {self.name!r}: compute", problem, prediction)
            if not is_own(self.compute):
                check_measured(self.name, found, len(problem.y))
            return found
        return self.mean_of(self.terms_of(problem.with_g(), prediction), problem)

    def check_threshold(self, threshold: float | None) -> None:
        """Refuse a metric of decisions where no threshold is given."""
        if self.reads_threshold and threshold is None:
            raise InputError(
                f"{self.name} needs threshold, the predicted risk from which on a subject is "
                "treated: give one, such as threshold=0.2, or leave the metric out"
            )

    def knows(self, cause: int | str | None) -> bool:
        """Whether it can be asked about a cause; None: about one kind of event."""
        return self.causes != ("needs" if cause is None else "")

    def heeds_entry(self, cause: int | str | None) -> bool:
        """Whether it knows delayed entry: of one kind of event, or of a cause."""
        return self.takes_entry and (cause is None or self.cause_with_entry)

    def valid_under_dependence(self, problem: Problem) -> bool:
        """Whether it has its meaning where censoring depends on covariates."""
        given = problem.robust or (self.method is not None and problem.conditional is not None)
        return self.assumes == "" or (self.assumes == "given" and given)

    def check_cause(self, cause: int | str | None) -> None:
        """Refuse a metric of one kind of event where a cause is asked about, and the reverse."""
        if self.knows(cause):
            return
        if cause is None:
            raise InputError(
                f"{self.name} is about several causes: give outcomes with causes and the cause "
                "that matters, such as cause=1, or leave the metric out"
            )
        raise InputError(
            f"{self.name} knows one kind of event only; leave it out where a cause is asked about"
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
            f"{self.name} knows right-censored outcomes only; leave it out where outcomes are "
            "interval-censored (sg.available_metrics() says which outcomes a metric knows)"
        )

    def _check_question(self, problem: Problem) -> None:
        self.check_outcomes(problem.outcomes)
        self.check_threshold(problem.threshold)
        self.check_cause(problem.cause)
        if problem.by_entry and not self.heeds_entry(problem.cause):
            known = "" if problem.cause is None else " of a cause"
            raise UndefinedMetricError(
                f"knows no delayed entry{known}, so it has no value where subjects enter late"
            )
        if problem.dependence is not None and not self.takes_dependence:
            raise UndefinedMetricError(
                "knows independent censoring only, so it has no value under an assumed dependence"
            )

    def mean_of(self, terms: Terms, problem: Problem) -> Details:
        """Return the mean over all subjects of a problem, given their terms."""
        self.refuse_nobody(float(terms.s.sum()), terms.convention, terms.support.result())
        frequency = problem.y.weight if problem.y.weighted else None
        g = None
        if terms.pulls is not None and problem.contributions:
            g = problem.estimated_g(by_convention=self.method is None)
        return terms.mean(frequency, g, self.root)

    def refuse_nobody(
        self, total: float, convention: dict[str, Any], support: dict[str, Any]
    ) -> None:
        """Refuse a metric that has nobody to average over."""
        if self.method is not None and not (total > 0 and support["largest_weight"] != 0):
            raise nobody(convention, support)
        if total == 0:
            raise UndefinedMetricError("nobody counts: what it is divided by adds up to 0")

    def row(self) -> dict[str, Any]:
        """Return what users see of it."""
        shown = (
            "name", "title", "about", "direction", "target", "range", "needs", "proper",
            "inference", "interval", "takes_sample_weight", "unit", "outcomes", "reference",
        )  # fmt: skip
        return {name: getattr(self, name) for name in shown}
