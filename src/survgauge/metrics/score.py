"""A metric's value and what it can be asked for: convention, support, standard error, interval.

Most metrics are means: a subject adds a_i to the numerator and s_i to the denominator, and the
metric is sum(a) / sum(s), or its square root. Values, standard errors, paired differences, groups,
bootstraps and streams need no more than these numbers, `Terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from .._old_names import old_attribute, takes_old_arguments
from .._tools.arrays import Floats, Ints, dot, numbers, one_number, probability, stored_once
from .._tools.text import ShortRepr
from ..errors import InputError, UndefinedMetricError, numbered, one_of
from ..estimators.estimated_g import Derivative, DistributionDerivative

#: How many subjects are named one by one.
_NAMED = 5


@dataclass
class Support:
    """Support of a metric on some subjects: each number stands where it says how it merges.

    Examples
    --------
    >>> one = Support({"subjects": 4}, {"largest_weight": 2.0}, {"tail_share": (2.0, 4.0)})
    >>> one.merge(Support({"subjects": 6}, {"largest_weight": 1.0}, {"tail_share": (0.0, 6.0)}))
    >>> one.result()
    {'subjects': 10, 'largest_weight': 2.0, 'tail_share': 0.2}
    """

    #: Numbers that add up.
    counts: dict[str, Any] = field(default_factory=dict)
    #: Numbers of which the largest counts; None where there is none.
    largest: dict[str, float | None] = field(default_factory=dict)
    #: (part, whole): both add up, and the share is their ratio.
    shares: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: (part, whole, subjects) of a share that is told only where there are such subjects.
    rare_shares: dict[str, tuple[float, float, int]] = field(default_factory=dict)
    #: (sum, sum of squares) of weights: the number of equal weights that are worth as much.
    effective: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: What is the same for all subjects; None where parts differ.
    facts: dict[str, Any] = field(default_factory=dict)
    #: Why subjects were left out or changed, with counts; None where a metric has no notes.
    notes: dict[str, int] | None = None
    #: (first rows, number of rows) in the whole test set.
    rows: dict[str, tuple[list[int], int]] = field(default_factory=dict)

    def copy(self) -> Support:
        """Return a record of its own with the same numbers."""
        return Support(
            **{
                name: part.copy() if isinstance(part, dict) else part
                for name, part in vars(self).items()
            }
        )

    def name(self, key: str, rows: Ints) -> None:
        """Name some rows of the test set, if there are any."""
        if rows.size:
            self.rows[key] = rows[:_NAMED].tolist(), int(rows.size)

    def renumber(self, number: Callable[[Ints], Ints]) -> None:
        """Give rows the numbers that they have in the whole test set."""
        for key, (rows, count) in self.rows.items():
            self.rows[key] = number(np.array(rows)).tolist(), count

    def merge(self, other: Support) -> None:
        """Add the support of other subjects."""
        for key, number in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + number
        for key, value in other.largest.items():
            known = [v for v in (self.largest.get(key), value) if v is not None]
            self.largest[key] = max(known, default=None)
        for name in ("shares", "effective", "rare_shares"):
            own: dict[str, tuple[Any, ...]] = getattr(self, name)
            for key, sums in getattr(other, name).items():
                before = own.get(key, (0.0,) * len(sums))
                own[key] = tuple(a + b for a, b in zip(before, sums, strict=True))
        for key, fact in other.facts.items():
            same = key not in self.facts or self.facts[key] == fact
            unknown = same or (fact != fact and self.facts[key] != self.facts[key])
            self.facts[key] = fact if unknown else None
        if other.notes is not None:
            known_notes = self.notes or {}
            both = {**known_notes, **other.notes}
            self.notes = {k: known_notes.get(k, 0) + other.notes.get(k, 0) for k in both}
        for key, (rows, number) in other.rows.items():
            first, count = self.rows.get(key, ([], 0))
            self.rows[key] = sorted([*first, *rows])[:_NAMED], count + number

    def result(self) -> dict[str, Any]:
        """Return plain data, with sentences where there are any."""
        found: dict[str, Any] = {**self.counts, **self.facts, **self.largest}
        for key, (part, whole) in self.shares.items():
            found[key] = part / whole if whole > 0 else 0.0
        for key, (total, squares) in self.effective.items():
            found[key] = total * total / squares if squares > 0 else 0.0
        for key, (part, whole, subjects) in self.rare_shares.items():
            if subjects:
                found[key] = part / whole if whole > 0 else 0.0
        if self.notes is not None:
            found["notes"] = dict(self.notes)
        for key, (rows, number) in self.rows.items():
            found[key] = numbered(rows, total=number) if rows else ""
        return found


@dataclass(frozen=True)
class Clusters:
    """Who belongs together (subjects of a hospital, visits of a patient): sampled as a whole."""

    #: Number of the cluster of each subject; of shape (n,).
    codes: Ints
    #: How many clusters have somebody in them.
    number: int

    @classmethod
    def of(cls, labels: Any, weight: Floats | None = None) -> Clusters:
        """Number the clusters of labels; those of weight 0 do not count.

        >>> Clusters.of(np.array(["b", "a", "b"])).codes
        array([1, 0, 1])
        """
        codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
        present = codes if weight is None else codes[weight > 0]
        return cls(codes, int(np.unique(present).size))

    def __getitem__(self, rows: Any) -> Clusters:
        return Clusters.of(self.codes[rows])

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a standard error: one less than there are clusters."""
        return float(self.number - 1)

    def stderr(self, contributions: Floats) -> float:
        """Standard error from the sums of the contributions of each cluster."""
        if self.number < 2:
            return float("nan")
        sums: Floats = np.bincount(self.codes, weights=contributions).astype(np.float64)
        return float(np.sqrt(dot(sums, sums) * self.number / (self.number - 1)))


def standard_error(
    contributions: Floats, frequency: Floats | None = None, clusters: Clusters | None = None
) -> float:
    """Standard error from first-order contributions: value without i is about value - c_i.

    `frequency` are the counts of identical subjects that a row stands for: a row of weight w with
    contribution contributions is w subjects with contributions/w each. Subjects of one of the
    `clusters` count together: with their sums u_g it is sqrt(G / (G - 1) sum u_g^2).

    >>> round(standard_error(np.array([0.5, -0.5, 0.25, -0.25])), 4)
    0.9129
    """
    if clusters is not None:
        return clusters.stderr(contributions)
    if frequency is None:
        n, square = float(contributions.size), dot(contributions, contributions)
    else:
        present = frequency > 0
        n, square = (
            float(frequency.sum()),
            float(np.sum(contributions[present] ** 2 / frequency[present])),
        )
    return float(np.sqrt(square * n / (n - 1))) if n > 1 else float("nan")


def freedom(contributions: Floats, frequency: Floats) -> float:
    """Degrees of freedom of a standard error: fewer than subjects where a few make most of it.

    >>> round(freedom(np.array([0.5, -0.5, 0.25, -0.25]), np.ones(4)), 2)
    22.22
    """
    present = frequency > 0
    own, copies = np.square(contributions[present] / frequency[present]), frequency[present]
    square, fourth = float(np.sum(own * copies)), float(np.sum(own * own * copies))
    left = fourth - square**2 / float(copies.sum())
    return max(2.0 * square**2 / left, 1.0) if left > 0 else float("inf")


#: A difference whose spread is a smaller part of its models' values and spreads than this is
#: constant.
_ROUNDING = 1e-13


def paired_error(a: Any, b: Any, clusters: Clusters | None = None) -> float:
    """Standard error of the difference of two models' values on the same subjects.

    Exactly 0 where they differ by the same amount for everybody but for rounding errors; NaN where
    one of them has no contributions.

    `a` and `b` are the `Score` of two models, or what else has a value, contributions and
    frequencies; `clusters` say who belongs together.

    Examples
    --------
    >>> one = Score(1.0, influence=np.array([0.1, -0.1, 0.2, -0.2]))
    >>> two = Score(4.0, influence=np.array([0.1, -0.1, 0.2, -0.2]) * (1 + 1e-16))
    >>> paired_error(one, two)
    0.0
    """
    own, theirs = a.contributions, b.contributions
    if own is None or theirs is None:
        return float("nan")
    size = abs(a.value) + standard_error(own, a.frequency, clusters)
    size += abs(b.value) + standard_error(theirs, b.frequency, clusters)
    found = standard_error(own - theirs, a.frequency, clusters)
    return 0.0 if found <= _ROUNDING * size else found


#: On which scale an interval is symmetric; "none": there is no interval.
INTERVALS = ("normal", "log", "logit", "none")
#: A standard error that is a smaller part of its value than this is a rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate with its standard error and confidence interval.

    `scale` says where the limits come from: "normal", "log", "logit", "edge" (the bound of a share
    that is 0 or 1 in the data), or "none" where there are no limits.
    """

    value: float
    stderr: float
    low: float
    high: float
    scale: str = "normal"

    def within(self, range: tuple[float, float]) -> Interval:
        """Cut off limits that no value can have.

        >>> Interval(0.02, 0.02, -0.02, 0.06).within((0, 1))
        Interval(value=0.02, stderr=0.02, low=0.0, high=0.06, scale='normal')
        """
        low, high = np.clip([self.low, self.high], *range).tolist()
        return replace(self, low=low, high=high)


def critical(confidence: float, freedom: float = float("inf")) -> float:
    """Two-sided quantile: of the normal distribution, or of t with `freedom` degrees of freedom.

    >>> round(critical(0.95), 4), round(critical(0.95, 19), 4)
    (1.96, 2.093)
    """
    level = 0.5 + probability(confidence, "confidence") / 2
    return float(ndtri(level) if np.isinf(freedom) else stdtrit(freedom, level))


def interval(
    value: float,
    stderr: float,
    confidence: float,
    scale: str = "normal",
    *,
    size: float = float("nan"),
    freedom: float = float("inf"),
) -> Interval:
    """Confidence interval of a metric from its value and standard error.

    On the scale "normal" the limits are value +- z stderr. On the scale "log" they are
    value exp(+- z stderr / value), so that an error or score is never negative; on the scale
    "logit" they are symmetric in log(value / (1 - value)), so that a share stays within 0 and 1.

    A standard error of zero says that the subjects do not differ, from which no width can be told:
    the limits are NaN. A share of exactly 1 among `size` independent events is the exception: its
    lower limit is the share under which that would happen with probability 1 - confidence,
    (1 - confidence)^(1 / size); a share of 0 is the mirror image.

    `size` is the number of events that a share rests on, only read where the share is 0 or 1;
    `freedom` are the degrees of freedom of the t quantile. With the scale "none" there are no
    limits.

    Examples
    --------
    >>> found = interval(0.9, 0.05, 0.95, "logit")
    >>> round(found.low, 3), round(found.high, 3)
    (0.752, 0.964)
    >>> perfect = interval(1.0, 0.0, 0.95, "logit", size=8)
    >>> round(perfect.low, 3), perfect.high, perfect.scale
    (0.688, 1.0, 'edge')
    """
    one_of("scale", scale, INTERVALS)
    nothing = Interval(value, stderr, float("nan"), float("nan"), "none")
    if scale == "none" or not np.isfinite(value):
        return nothing
    if scale == "logit" and (value <= ROUNDING or value >= 1 - ROUNDING):
        if np.isnan(stderr) or not size > 0:
            return nothing
        least = (1 - probability(confidence, "confidence")) ** (1 / size)
        low, high = (least, 1.0) if value > 0.5 else (0.0, 1 - least)
        return Interval(value, stderr, low, high, "edge")
    if not (np.isfinite(stderr) and stderr > ROUNDING * abs(value)):
        return nothing
    half = critical(confidence, freedom) * stderr
    if scale == "normal":
        return Interval(value, stderr, value - half, value + half, scale)
    if scale == "log":
        if value <= 0:
            return nothing
        with np.errstate(over="ignore"):
            spread = float(np.exp(half / value))
        return Interval(value, stderr, value / spread, value * spread, scale)
    middle, reach = float(logit(value)), half / (value * (1 - value))
    return Interval(
        value, stderr, float(expit(middle - reach)), float(expit(middle + reach)), scale
    )


def events_behind(support: dict[str, Any]) -> float:
    """How many events a share of pairs rests on: anchors, or the fewer of cases and controls."""
    counts = [support[name] for name in ("anchors", "cases", "controls") if support.get(name)]
    return float(min(counts, default=float("nan")))


AnyScore = TypeVar("AnyScore", bound="Score")


class _Number(float):
    """A float that is made from the first argument of a dataclass."""

    def __new__(cls, value: Any, *_: Any, **__: Any) -> _Number:
        return super().__new__(cls, one_number(value))


@dataclass(frozen=True, repr=False, eq=False)
class Score(_Number):
    """A metric's value, with its standard error, interval and conventions.

    It is a float, and prints and compares as one.

    A family adopts it by returning a `Score` from the public function itself: what used to be
    ``x_details`` is called ``x``, and the old name goes into ``_old_names.NAMES``. `influence` may
    be a function without arguments where making the contributions costs something; `scale` is
    the `interval` of the metric's record. A subclass with more results is a dataclass with
    ``frozen=True, repr=False, eq=False``.

    Parameters
    ----------
    value : float
        The metric.
    convention : dict
        Which definitions the number follows.
    support : dict
        What the data covered, what was left out and why.
    influence : ndarray of shape (n,), function or None
        What `contributions` are, or a function that makes them.
    frequency : ndarray of shape (n,) or None
        The outcomes' frequencies, where given.
    scale : {"normal", "log", "logit", "none"}
        On which scale its interval is symmetric.

    Examples
    --------
    >>> score = Score(2.0, influence=np.array([0.5, -0.5, 0.25, -0.25]))
    >>> score, score + 1, round(score.stderr, 4)
    (2.0, 3.0, 0.9129)
    >>> [round(limit, 2) for limit in score.interval()]
    [0.21, 3.79]
    """

    value: float
    convention: dict[str, Any] = field(default_factory=dict)
    support: dict[str, Any] = field(default_factory=dict)
    influence: Floats | Callable[[], Floats | None] | None = None
    frequency: Floats | None = None
    scale: str = field(default="normal", kw_only=True)
    #: Derivative of the weights (or of the distribution inside intervals), where G (or that
    #: distribution) is that of more
    #: subjects and `influence` takes it as known.
    derivative: Derivative | DistributionDerivative | None = field(default=None, kw_only=True)
    #: What each subject adds to the denominator of a mean; None: its weight.
    counts_for: Floats | None = field(default=None, kw_only=True)
    #: The support as counts that add up over chunks of subjects, where it was counted so.
    counted: Support | None = field(default=None, kw_only=True)

    @cached_property
    def contributions(self) -> Floats | None:
        """Contribution of each subject to the sampling error, reference set fixed."""
        return self.influence() if callable(self.influence) else self.influence

    psi = old_attribute("psi", "contributions")

    @property
    def stderr(self) -> float:
        """Analytic standard error; NaN where there is none."""
        found = self.contributions
        return float("nan") if found is None else standard_error(found, self.frequency)

    def root(self: AnyScore) -> AnyScore:
        """Return the square root of a mean of squares."""
        value = root_of(self.value)
        convention = {**self.convention, "root": True}
        return replace(self, value=value, convention=convention, influence=partial(_of_root, self))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits from the analytic standard error; NaN where there are none."""
        freedom = self.support.get("freedom", float("inf"))
        size = events_behind(self.support)
        found = interval(
            self.value, self.stderr, confidence, self.scale, size=size, freedom=freedom
        )
        return found.low, found.high


def root_of(mean: float) -> float:
    """Return the square root of a mean of squares; refuse one that is negative."""
    if mean < 0:
        raise UndefinedMetricError(f"the mean of its terms is {mean:g}, which has no square root")
    return float(np.sqrt(mean))


def _of_root(square: Score) -> Floats | None:
    """Contributions to the root of a mean; where that is exactly 0, as to the mean."""
    found, root = square.contributions, root_of(square.value)
    return found if found is None or not root > 0 else found / (2 * root)


@dataclass(frozen=True, repr=False)
class CurveResult(ShortRepr):
    """A metric as a function of time.

    Attributes
    ----------
    times, values : ndarray of shape (k,)
        The metric at each time; NaN where it is undefined.
    mean : float
        Its summary over the times (the convention says which).
    stderr : ndarray of shape (k,) or None
        Analytic standard errors, reference set fixed.
    details : Score
        The summary with convention, support and contributions.
    """

    times: Floats
    values: Floats
    mean: float
    stderr: Floats | None
    details: Score

    @property
    def convention(self) -> dict[str, Any]:
        """Which definitions the numbers follow."""
        return self.details.convention

    @property
    def support(self) -> dict[str, Any]:
        """What the data covered."""
        return self.details.support


def below_zero(value: float, robust: bool = False) -> str:
    """What is wrong with a mean of losses below zero, and what to do."""
    if robust:
        return (
            f"the value {value:.3g} lies below 0, where no error can be: too few events carry the "
            "doubly robust mean, or the distribution of the event time and G are both wrong"
        )
    return (
        f"the value {value:.3g} lies below 0, where no such score can be: Simpson's rule of the "
        "convention gives negative weights on uneven times; take evenly spaced times or another "
        "convention"
    )


_WANTED = "one number per subject of the chunk, Terms, or Score with contributions"


@dataclass(frozen=True)
class Terms:
    """What the subjects of a chunk add to a mean.

    Attributes
    ----------
    a, s : ndarray of shape (n,)
        Numerator and denominator of each subject, with its frequency and sampling weight.
    convention : dict
        Which definitions the numbers follow.
    support : Support
        What the data covered.
    derivative : Derivative, DistributionDerivative or None
        What of `a` moves with weights 1/G, or with the distribution inside intervals, where that is
        estimated from the test subjects.
    s_moves : bool, optional
        Whether `s` has weights 1/G too. It must be said where the metric looks at an estimated G
        and `s` is not the weight of the subjects, because the standard error hangs on it.
    """

    a: Floats
    s: Floats
    convention: dict[str, Any] = field(default_factory=dict)
    support: Support = field(default_factory=Support)
    derivative: Derivative | DistributionDerivative | None = None
    s_moves: bool | None = None

    @classmethod
    def of(cls, found: Any, weight: Floats, name: str = "terms") -> Terms:
        """Read what a metric says about subjects of the given weights.

        That is `Terms`, `Score` with contributions, or one loss per subject. Messages call it by
        `name`.

        >>> Terms.of([1.0, 3.0], np.array([1.0, 2.0])).a
        array([1., 6.])
        """
        if isinstance(found, Terms):
            found._check(weight, name)
            return found
        if isinstance(found, Score):
            if found.contributions is not None:
                _check_shape(found.contributions, weight, f"{name} (contributions of Score)")
            return cls._of_details(found, weight)
        try:
            array = np.asarray(found)
        except ValueError as error:  # rows of different lengths
            raise InputError(f"{name} must return {_WANTED}: {error}") from error
        loss = numbers(array, name, ndim=array.ndim).astype(np.float64, copy=False)
        _check_shape(loss, weight, name)
        lost = int((np.isnan(loss) & (weight > 0)).sum())
        if lost:
            raise UndefinedMetricError(
                f"{name} returned NaN for {lost} of {loss.size} subjects; return Terms with a = 0 "
                "and s = 0 for subjects that do not count"
            )
        with np.errstate(invalid="ignore"):  # somebody of weight zero, whose loss is infinite
            return cls(np.where(weight > 0, weight * loss, 0.0), weight)

    def _check(self, weight: Floats, name: str) -> None:
        """Refuse numbers that are not those of the subjects."""
        _check_shape(self.a, weight, f"{name} (a of Terms)")
        _check_shape(self.s, weight, f"{name} (s of Terms)")
        least = self.s[0] if stored_once(self.s) else self.s.min()
        if not least >= 0:
            raise InputError(f"{name}: s of Terms must be at least 0 and no NaN; got {least}")
        silent = self.s_moves is None and isinstance(self.derivative, Derivative)
        if silent and not np.array_equal(self.s, weight):
            raise InputError(
                f"{name}: s of Terms is not the weight of the subjects; say s_moves=True if it has "
                "the weights 1/G that `derivative` is about, else s_moves=False"
            )
        if not isinstance(self.support, Support) or not isinstance(self.convention, dict):
            raise InputError(
                f"{name}: Terms must have a dict as convention and a Support as support; got "
                f"{type(self.convention).__name__} and {type(self.support).__name__}"
            )

    @classmethod
    def _of_details(cls, details: Score, weight: Floats) -> Terms:
        """Return numerators from contributions: a = contributions sum(weight) + value weight.

        Of an infinite mean every subject has a part, so that it stays infinite among others.
        """
        weight = weight if details.counts_for is None else details.counts_for
        value, total = details.value, float(weight.sum())
        if details.contributions is None:
            with np.errstate(invalid="ignore"):
                a = np.where(weight > 0, weight * value, 0.0)
        else:
            a = details.contributions * total + value * weight
        derivative = details.derivative
        if derivative is not None:
            derivative = derivative.scaled(total)
        support = details.counted or Support()
        return cls(a, weight, details.convention, support, derivative)

    def mean(self, frequency: Floats | None = None, g: Any = None, root: bool = False) -> Score:
        """Return the metric with the contribution of each subject.

        Parameters
        ----------
        frequency : ndarray of shape (n,), optional
            Frequencies of the subjects.
        g : EstimatedG or EstimatedDistribution, optional
            G of the weights, or the distribution inside intervals, where it was estimated from
            these very subjects: its estimation is then part of the contributions.
        root : bool
            Whether the metric is the square root of the mean.
        """
        total, support = float(self.s.sum()), self.support.result()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(np.float64(self.a.sum()) / total) if total else float("nan")
        if not np.isfinite(value):
            return Score(value, self.convention, support, None, frequency)
        contributions = self.a - self.s * value
        contributions /= total
        if g is not None and self.derivative is not None:
            # Where weights alone move, their sum moves with them.
            ratio = Derivative.of_events(contributions)
            moved = ratio if self.s_moves else self.derivative.scaled(1.0 / total)
            contributions += g.influence(moved)
        if not root:
            return Score(value, self.convention, support, contributions, frequency)
        value = root_of(value)
        if value > 0:  # a root of exactly 0 has contributions of 0, as its square has
            contributions /= 2 * value
        return Score(value, {**self.convention, "root": True}, support, contributions, frequency)


Terms.__init__ = takes_old_arguments(Terms.__init__)  # type: ignore[method-assign]


def _check_shape(values: Any, weight: Floats, name: str) -> None:
    """Refuse what is not one number per subject."""
    if not isinstance(values, np.ndarray):
        raise InputError(f"{name} must be an array of numbers; got {type(values).__name__}")
    if values.shape != weight.shape or values.dtype.kind not in "fiub":
        raise InputError(
            f"{name} must return {_WANTED}: {weight.size} subjects; got shape {values.shape} of "
            f"{values.dtype}"
        )
