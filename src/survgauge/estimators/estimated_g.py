"""G, the distribution of the censoring time: where it comes from, and what subjects move by it.

If G was estimated from the scored subjects themselves, each of them moves a score through it.
Subject i moves -log G(s) by the integral up to s of dM_i(u) / (Y(u) - c(u)): M_i its censoring
martingale, Y(u) the number at risk of censoring, c(u) the number censored at u. A score
whose derivative by the logarithm of a weight 1/G(s) is h then moves by h times that. So everything
needed is H(u), the sum of the derivatives by all weights that G's factor at u enters, and what a
subject contributes depends on nothing but its time and whether it was censored: one number for
events and one for censorings at each distinct time.

Under delayed entry a weight is G(a)/G(s), which only the factors after the entry a enter, and a
subject is at risk of being censored after its own entry only.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._tools.arrays import Floats, Ints, look_up, vector
from .._tools.running import called
from ..data.outcomes import Outcomes
from ..errors import InputError, one_of
from .kaplan_meier import KaplanMeier, RiskTable, awaited, distinct_times
from .turnbull import Turnbull


@dataclass(frozen=True)
class Derivative:
    """How a score changes with the logarithm of its weights 1/G."""

    #: By subject, of the weight after its event; 0 where it has none; of shape (n,).
    event: Floats
    #: Of the weights of everybody event-free past each of the times; of shape (K,).
    survivors: Floats
    times: Floats
    #: Under delayed entry, what of `survivors` is each subject's; of shape (n,).
    own: Floats | None = None

    def scaled(self, factor: float) -> Derivative:
        """Return the derivative of a score that is `factor` times as large."""
        own = None if self.own is None else self.own * factor
        return Derivative(self.event * factor, self.survivors * factor, self.times, own)

    @property
    def by_subject(self) -> Floats:
        """By the logarithms of all weights of each subject, (n,)."""
        return self.event if self.own is None else self.event + self.own

    @classmethod
    def of_events(cls, event: Floats) -> Derivative:
        """Derivative of a score that weights nobody but events."""
        return cls(event, np.empty(0), np.empty(0))


class EstimatedG:
    """In-sample G of all subjects of a score, differentiated.

    Parameters
    ----------
    y : Outcomes
        The subjects that G was estimated from, who are also those scored.
    ties : {"events_first", "flipped"}
        Whether tied events have left when G's factor is taken.
    kind : {"estimated", "hazard"}
        The exact derivative; or 1/Y for 1/(Y - c) with tied events at risk (riskRegression).
    event_limit, survivor_limit : {"left", "right"}
        Limits at which G is read.
    """

    def __init__(
        self,
        y: Outcomes,
        *,
        ties: str = "events_first",
        kind: str = "estimated",
        event_limit: str = "left",
        survivor_limit: str = "right",
    ) -> None:
        self._y, self._limits = y, (event_limit, survivor_limit)
        #: Distinct times, and the place of each subject's time among them.
        self._times, self._place = distinct_times(y)
        times = self._times
        total = _sums(self._place, y.weight, times.size)
        events = _sums(self._place, y.weight * y.event, times.size)
        table = RiskTable(times, events, total, awaited(y, times))
        at_risk, censored = table.at_risk, table.censored
        after = at_risk - total
        after[after < 1e-9 * at_risk] = 0.0  # nobody, but for rounding
        self._events_first = ties == "events_first" and kind != "hazard"
        exposed = censored + after if self._events_first else at_risk
        left = exposed if kind == "hazard" else after if self._events_first else after + events
        with np.errstate(divide="ignore", invalid="ignore"):
            # Nobody left means no weight after u: H(u) = 0, and so is its product with zero.
            self._jump = np.where(left > 0, 1.0 / left, 0.0)
            self._hazard = np.where(exposed > 0, censored / exposed, 0.0)

    def influence(self, derivative: Derivative) -> Floats:
        """Contribution of each subject through G: (n,)."""
        y, place, times = self._y, self._place, self._times
        # The sums of the derivatives by the number of factors of G that enter their weights.
        ends = np.zeros(times.size + 1)
        start = 0 if self._limits[0] == "left" else 1
        ends[start : start + times.size] = _sums(place, derivative.event, times.size)
        np.add.at(ends, look_up(times, derivative.times, self._limits[1]), derivative.survivors)
        total = np.cumsum(ends[::-1])[::-1][1:]  # H
        waiting = awaited(y, times, derivative.by_subject)
        if waiting is not None:
            total = total - waiting
        moved = total * self._jump
        expected = np.append(0.0, np.cumsum(moved * self._hazard))
        gone = expected[:-1] if self._events_first else expected[1:]
        # Those of who was censored and of who had the event in one table, for one look-up.
        each = np.concatenate((moved - expected[1:], -gone))
        found = each[place + times.size * y.event]
        if y.entry is not None:
            before = expected[times.searchsorted(y.entry, "right")]
            found += np.where(y.entry > 0, before, 0.0)
        return found * y.weight if y.frequency is not None else found


def _sums(place: NDArray[np.int32], values: Floats, size: int) -> Floats:
    return np.bincount(place, values, size).astype(np.float64, copy=False)


#: Sets of subjects that G can be estimated from.
G_SETS = ("test", "train")
#: A smaller G from a caller's function is taken for 0: nobody could stand for so many subjects, and
#: the squares of such weights are no numbers.
SMALLEST_G = 1e-50


@dataclass(frozen=True)
class WholeG:
    """G of a whole test set, where only a part of its subjects is at hand."""

    km: KaplanMeier
    #: The same with tied events at risk of censoring, where the convention wants that.
    flipped: KaplanMeier | None = None


def g_source(censoring: Any, trained: bool, usual: str = "test") -> str:
    """Say where G comes from: "test", "train", or "given" by the caller.

    `usual` is the source of the convention; without training outcomes it is the test subjects.

    Examples
    --------
    >>> g_source(None, trained=True), g_source(None, True, "train"), g_source(None, False, "train")
    ('test', 'train', 'test')
    """
    if censoring is None:
        return "train" if usual == "train" and trained else "test"
    if isinstance(censoring, str):
        one_of("censoring", censoring, G_SETS)
        if censoring == "train" and not trained:
            raise InputError(
                "censoring='train' takes G from the training outcomes, but y_train is missing; "
                "give y_train, or leave censoring out to take G from the test subjects"
            )
        return censoring
    if isinstance(censoring, WholeG):
        return "test"
    if isinstance(censoring, KaplanMeier):
        return "given"
    if callable(censoring):
        _check_function(censoring)
        return "given"
    raise InputError(
        "censoring must be 'test', 'train', a KaplanMeier or a function G(t, side); "
        f"got {type(censoring).__name__}"
    )


def _check_function(censoring: Any) -> None:
    """Refuse a function that cannot be called as G is."""
    try:
        known = signature(censoring)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        known.bind(None, "left")
    except TypeError as error:
        name = getattr(censoring, "__name__", type(censoring).__name__)
        raise InputError(
            "censoring must be a function G(t, side): it is called with t, an array with one time "
            "for each subject, and side, 'left' for G(t-) or 'right' for G(t), and returns one "
            f"probability for each subject; {name}{known} cannot be called so ({error})"
        ) from error


def ask_g(censoring: Any, t: Floats, side: str) -> Floats:
    """G of each subject at one time each, from a caller's function, checked.

    >>> ask_g(lambda t, side: np.exp(-t), np.array([0.0, 1.0, 500.0]), "left").round(3)
    array([1.   , 0.368, 0.   ])
    """
    name = "censoring(t, side)"
    values = vector(called(censoring, name, t, side), name, length=t.size)
    if values.min() < 0 or values.max() > 1:
        raise InputError(
            "censoring(t, side) must return probabilities in [0, 1]; "
            f"got {values.min():g} to {values.max():g}"
        )
    return np.where(values < SMALLEST_G, 0.0, values)


#: Leverage from which on it counts no more.
MOST_LEVERAGE = 0.75


@dataclass(frozen=True)
class DistributionDerivative:
    """Derivative of a score by the masses of the distribution that it reads.

    Attributes
    ----------
    by_weight : ndarray of shape (m,)
        Up to a constant, because masses sum to 1.
    """

    by_weight: Floats

    def scaled(self, factor: float) -> DistributionDerivative:
        """Return the derivative of a score that is `factor` times as large."""
        return DistributionDerivative(self.by_weight * factor)


@dataclass(frozen=True)
class EstimatedDistribution:
    """Turnbull's estimate of the test subjects, some of whom are at hand.

    Attributes
    ----------
    distribution : Turnbull
        The estimate of all of them.
    rows : ndarray of integers
        Which of its subjects are at hand.
    frequency : ndarray of shape (n,)
        How many subjects each of these rows stands for.
    """

    distribution: Turnbull
    rows: Ints
    frequency: Floats

    def influence(self, derivative: DistributionDerivative) -> Floats:
        """What each of the subjects at hand moves a score through the distribution."""
        return self.influences(derivative.by_weight[None])[0]

    def influences(self, by_weight: Floats) -> Floats:
        """What each of the subjects at hand moves several scores: (scores, n).

        A subject that decides much of its own probability, its leverage h, moves the estimate less
        than another one in its place would: divided by the root of 1 - h the squares add up to the
        variance (HC2 of linear regression). Near h = 1 that says nothing, so it ends at 3/4.
        """
        copies = np.where(self.frequency > 0, self.frequency, 1.0)
        own = np.minimum(self.distribution.leverage[self.rows] / copies, MOST_LEVERAGE)
        found: Floats = self.distribution.contributions_of(by_weight)[:, self.rows] / np.sqrt(
            1 - own
        )
        return found


class DerivativeSums:
    """Sums over points of derivative on the distribution there, for one or several scores.

    Parameters
    ----------
    distribution : Turnbull
        What is read.
    scores : int
        How many scores read it.

    Examples
    --------
    >>> distribution = Turnbull.fit(([0, 2, 2, 4], [2, 4, 4, 6]))
    >>> sums = DerivativeSums(distribution)
    >>> sums.add(np.array([3.0]), np.array([1.0]))  # the score is S(3)
    >>> sums.by_weight()[0], distribution.mass  # half of the mass in (2, 4] lies after 3
    (array([0. , 0.5, 1. ]), array([0.25, 0.5 , 0.25]))
    """

    def __init__(self, distribution: Turnbull, scores: int = 1) -> None:
        self._distribution, (left, self._right) = distribution, distribution.intervals.T
        # Time without end lies after all points.
        self._left = np.where(np.isinf(self._right), np.inf, left)
        cells = distribution.mass.size
        self._before = np.zeros((cells + 1, scores))
        self._inside = np.zeros((cells, scores))
        #: Of points after a cell, on areas of S(t) and of t S(t).
        self._after = np.zeros((2, cells + 1, scores))

    def add(self, points: Floats, derivative: Floats, area: int = 0) -> None:
        """Add points: derivative on S there, or on the area of S (1) or t S(t) (2) up to there.

        `derivative` has a number for each point, or a row for each with a number per score.
        """
        derivative = derivative.reshape(points.size, self._before.shape[1])
        ended = self._right.searchsorted(points, "right")
        begun = np.maximum(self._left.searchsorted(points, "left"), ended)
        power = points**area / max(area, 1)
        self._before += _summed(begun, derivative * power[:, None], len(self._before))
        if area:
            self._after[area - 1] += _summed(ended, derivative, len(self._before))
        within = np.flatnonzero(begun > ended)
        cell = ended[within]
        held = _held(self._left[cell], self._right[cell], points[within], area)
        self._inside += _summed(cell, derivative[within] * held[:, None], len(self._inside))
        if self._distribution.end_moves:
            self._inside[-1] += self._moved_end(points, area) @ derivative

    def _moved_end(self, points: Floats, area: int) -> Floats:
        """What moves with the end of a tail, which depends on the mass there."""
        left, right, mass = self._left[-1], self._right[-1], self._distribution.mass[-1]
        x = np.clip(points, left, right)
        share = (x - left) / (right - left)
        if area == 0:
            change = np.where(points < right, share / (right - left), 0.0)
        else:
            change = share**2 / 2 if area == 1 else share**2 * (2 * x + left) / 6
        return np.asarray(self._distribution.end_moves * mass * change)

    def by_weight(self) -> Floats:
        """Derivatives of the scores by the masses: (scores, cells)."""
        found = np.cumsum(self._before, axis=0)[:-1] + self._inside
        ends = np.isfinite(self._right)
        left, right = (np.where(ends, side, 0.0) for side in (self._left, self._right))
        whole = (left + right) / 2, (left**2 + left * right + right**2) / 6
        for sums, mean in zip(self._after, whole, strict=True):
            found += np.cumsum(sums[::-1], axis=0)[::-1][1:] * mean[:, None]
        return found.T


def _held(left: Floats, right: Floats, x: Floats, area: int) -> Floats:
    """Return means of 1(U > x), min(U, x) or min(U, x)^2 / 2 for U even on (left, right] with x."""
    width = right - left
    if area == 0:
        return (right - x) / width
    if area == 1:
        return x - (x - left) ** 2 / (2 * width)
    return x**2 / 2 - (x - left) ** 2 * (2 * x + left) / (6 * width)


def _summed(place: Ints, values: Floats, size: int) -> Floats:
    """Add up rows of values by place: (size, columns)."""
    if values.shape[1] == 1:
        return np.bincount(place, values[:, 0], size)[:, None].astype(np.float64)
    table: Any = csr_array((np.ones(place.size), (place, np.arange(place.size))),
                           shape=(size, place.size))  # fmt: skip
    found: Floats = table @ values
    return found
