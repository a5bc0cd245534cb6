"""Turnbull's estimate: the survival function of interval-censored outcomes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, positive, probability
from ..data.curves import SurvivalCurves
from ..data.interpolation import check_tail, tail_area, tail_time
from ..data.outcomes import IntervalOutcomes
from ..errors import InputError, UndefinedMetricError, one_of
from .kaplan_meier import asked_times
from .npmle import Likelihood, influences, leverages, most_likely

#: Where in its interval a mass may lie: spread evenly, or at one of its ends.
WITHIN = ("uniform", "left", "right")
#: 95 % of the estimates at a time whose neighbours were pooled with it lie within 2.124 standard
#: errors of the block, not 1.96 (Deng, Han, Zhang 2021; slope of the greatest convex minorant of
#: Brownian motion plus a parabola, times the root of the length of its piece, in 20,000 draws).
POOLED = 2.124 / 1.960


class Turnbull:
    """Turnbull's nonparametric estimate of a survival function.

    The data say how much mass lies in each of some intervals, but not where in them: `at` spreads
    it evenly, and its `within` gives the two extremes, between which the estimate is open.

    Attributes
    ----------
    intervals : ndarray of shape (m, 2)
        Intervals (left, right] with mass, in order; left = right is a point, and the last may end
        at infinity.
    mass : ndarray of shape (m,)
        Their masses, which sum to 1.
    times, survival : ndarray
        Finite ends of the intervals, and the estimate there.
    excess : float
        How far the gradient of the mean log-likelihood is above its bound, by which the estimate is
        known to be the maximum (Kuhn and Tucker): 0 but for rounding.
    log_likelihood : float
        Of all subjects.
    rounds : int
        Rounds of the algorithm.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 2, 0, 4, 6], [4, 6, 2, 6, float("inf")])
    >>> distribution = Turnbull.fit(y)
    >>> distribution.intervals
    array([[ 0.,  2.],
           [ 4.,  6.],
           [ 6., inf]])
    >>> distribution.mass.round(6)
    array([0.4, 0.4, 0.2])
    >>> [round(float(distribution.at(5, within)), 6) for within in ("uniform", "left", "right")]
    [0.4, 0.2, 0.6]
    >>> distribution.median()
    4.5
    """

    def __init__(
        self,
        intervals: Floats,
        mass: Floats,
        excess: float = 0.0,
        log_likelihood: float = float("nan"),
        rounds: int = 0,
        subjects: Likelihood | None = None,
        pooled: Bools | None = None,
        end_moves: float = 0.0,
    ) -> None:
        self.intervals, self.mass = intervals, mass
        self.excess, self.log_likelihood, self.rounds = excess, log_likelihood, rounds
        #: Which of the intervals with mass each subject's event may be in.
        self._subjects = subjects
        #: Between which intervals with mass several times of visits were pooled: (m + 1,).
        self._pooled = np.zeros(mass.size + 1, dtype=bool) if pooled is None else pooled
        #: How fast the end of the tail moves with the mass there.
        self.end_moves = end_moves
        self._last: tuple[Floats, Floats] | None = None

    @classmethod
    def fit(cls, y: Any) -> Turnbull:
        """Return the estimate of outcomes: anything that `IntervalOutcomes.of` reads.

        Without intervals it is Kaplan-Meier.
        """
        known = IntervalOutcomes.of(y)
        present = known.present()
        left, right, a, b = _cells(present)
        rows = Likelihood.of(a, b, present.weight, left.size)
        mass, excess, rounds = most_likely(rows)
        kept = mass > 0
        total = float(present.weight.sum())
        value = rows.value(mass) * total
        everybody = np.zeros((2, len(known)), dtype=np.intp)
        everybody[:, known.weight > 0] = a, b
        subjects = Likelihood(everybody[0], everybody[1], known.weight / total, left.size)
        return cls(
            np.stack([left[kept], right[kept]], axis=1), mass[kept], excess, value, rounds,
            subjects.within(np.flatnonzero(kept)), _pooled(present, left[kept], right[kept]),
        )  # fmt: skip

    # -- values ----------------------------------------------------------------------------------

    @cached_property
    def _knots(self) -> tuple[Floats, Floats, Floats]:
        """Finite ends in order, and the estimate just before and at them: lines lie in between."""
        left, right = self.intervals.T
        open_end = not np.isfinite(right[-1])
        times = np.unique(np.concatenate(([0.0], left, right[: right.size - open_end])))
        total = np.concatenate(([0.0], np.cumsum(self.mass)))
        if not open_end:
            total[-1] = 1.0  # not but for rounding
        point = left == right
        ended = right.searchsorted(times, "right")
        at = 1.0 - total[ended]
        at = np.maximum(at, 0.0)
        before = at.copy()
        rows = times.searchsorted(right[point])
        before[rows] = np.concatenate(([1.0], at))[rows]  # no interval ends at a point with mass
        return times, before, at

    @property
    def times(self) -> Floats:
        """Finite ends of the intervals."""
        return self._knots[0]

    @property
    def survival(self) -> Floats:
        """Estimate at `times`."""
        return self._knots[2]

    @property
    def last_time(self) -> float:
        """Last time at which the estimate is known."""
        return float(self.times[-1])

    @property
    def last_survival(self) -> float:
        """Estimate at the last time."""
        return float(self.survival[-1])

    def at(self, t: Any, within: str = "uniform") -> Floats:
        """Estimate at `t`; past the end it keeps its value.

        Parameters
        ----------
        t : float or array-like
            Times, 0 or more.
        within : {"uniform", "left", "right"}
            Where in each interval its mass lies. "left" and "right" are the least and the largest
            estimate that the data allow.
        """
        one_of("within", within, WITHIN)
        return self._at(asked_times(t), within)

    def _at(self, t: Floats, within: str = "uniform") -> Floats:
        times, before, at = self._knots
        place = times.searchsorted(t, "right") - 1
        here = at[place]  # the first time is 0
        following = np.minimum(place + 1, times.size - 1)
        inside = (t > times[place]) & (following > place)
        if within == "right":
            return here
        after = before[following]
        if within == "left":
            return np.where(inside, after, here)
        width = np.where(inside, times[following] - times[place], 1.0)
        share = np.where(inside, (t - times[place]) / width, 0.0)
        return here + np.where(inside, after - here, 0.0) * share

    # -- areas -----------------------------------------------------------------------------------

    def area(self, t: Floats) -> Floats:
        """Area under the estimate from 0 to each of `t`; past the end the estimate is kept."""
        times, before, at = self._knots
        parts = np.diff(times) * (at[:-1] + before[1:]) / 2
        total = np.concatenate(([0.0], np.cumsum(parts)))
        place = times.searchsorted(t, "right") - 1
        result: Floats = total[place] + (t - times[place]) * (at[place] + self._at(t)) / 2
        # Exactly at a knot the width is 0; inside a piece both ends lie on its line.
        return result

    def moment(self, t: Floats) -> Floats:
        """Area under time times the estimate, from 0 to each of `t`, like `area`."""
        times, before, at = self._knots
        total = np.concatenate(([0.0], np.cumsum(_moments(times[:-1], times[1:], at[:-1],
                                                          before[1:]))))  # fmt: skip
        place = times.searchsorted(t, "right") - 1
        result: Floats = total[place] + _moments(times[place], t, at[place], self._at(t))
        return result

    def mean(self, tail: str = "linear", tau: float | None = None) -> float:
        """Mean time: area under the estimate, with its tail, up to `tau` if given."""
        check_tail(tail)
        stop = np.inf if tau is None else positive(tau, "tau")
        end = min(stop, self.last_time)
        total = float(self.area(np.array([end]))[0])
        if stop > self.last_time:
            total += float(tail_area(np.float64(end), self.survival[-1], tail, stop))
        return total

    def median(self, tail: str = "linear") -> float:
        """First time with an estimate of at most 1/2, read off the tail where it stays above."""
        return self.quantile(0.5, tail)

    def quantile(self, q: float, tail: str = "linear") -> float:
        """First time with an estimate of at most 1 - q; masses lie evenly in their intervals."""
        check_tail(tail)
        p = 1 - probability(q, "q")
        level = p * (1 + 1e-9)  # a sum of masses that is above by rounding only has reached it
        times, before, at = self._knots
        reached = np.flatnonzero(at <= level)
        if not reached.size:
            return float(tail_time(p, np.float64(self.last_time), at[-1], tail))
        k = int(reached[0])
        if k == 0 or before[k] > level:  # at a point with mass
            return float(times[k])
        drop = at[k - 1] - before[k]
        if not drop > 0:
            return float(times[k])
        share = min((at[k - 1] - p) / drop, 1.0)
        return float(times[k - 1] + share * (times[k] - times[k - 1]))

    # -- sampling error ----------------------------------------------------------------------------

    def contributions(self, t: Any) -> Floats:
        """What each subject adds to the sampling error of the estimate at times `t`: (k, n).

        Which intervals have mass is taken as given. That is exact for many subjects on common
        visits, and for averages over times; `widening` mends it for single times where every
        subject has visits of its own.
        """
        points = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if self._last is not None and np.array_equal(self._last[0], points):
            return self._last[1]
        left, right = self.intervals.T
        point = left == right
        width = np.where(point | np.isinf(right), 1.0, right - left)
        done = np.clip((points[:, None] - left) / width, 0.0, 1.0)  # (k, m), of lines
        done = np.where(point, points[:, None] >= right, np.where(np.isinf(right), 0.0, done))
        found = self.contributions_of(1.0 - done)
        found.setflags(write=False)
        self._last = points, found  # several models are held against one estimate
        return found

    def widening(self, t: Any) -> Floats:
        """Factors that standard errors from `contributions` lack at single times: (k,).

        Where every subject has visits of its own, the estimate pools neighbouring visits and
        converges with the cube root of n. Over the standard error of its block it has a
        distribution without unknowns, whose 95 % are 8 % wider than those of a normal distribution
        (Deng, Han and Zhang 2021). Where visits took place at common times, or event times are
        exact, the factor is 1.
        """
        points = np.atleast_1d(np.asarray(t, dtype=np.float64))
        left, right = self.intervals.T
        ended = right.searchsorted(points, "right")
        begun = np.maximum(left.searchsorted(points, "left"), ended)
        return np.where(self._pooled[ended] | self._pooled[begun], POOLED, 1.0)

    def contributions_of(self, shares: Floats) -> Floats:
        """What each subject adds to the sampling error of sums `shares` @ `mass`: (k, n)."""
        present, members = self._members
        found = np.zeros((shares.shape[0], present.size))
        found[:, present] = influences(members, self.mass, shares)
        return found

    @property
    def _members(self) -> tuple[Bools, Likelihood]:
        """Who of the subjects is present, and the intervals that their events may be in."""
        rows = self._subjects
        if rows is None:
            raise InputError("this distribution was not estimated from subjects: use Turnbull.fit")
        present = rows.w > 0
        a, b, w = rows.a[present], rows.b[present], rows.w[present]
        return present, Likelihood(a, b, w, rows.cells)

    @cached_property
    def leverage(self) -> Floats:
        """How much each subject decides the probability of its own interval: (n,), 0 to 1.

        0 where all of that is the mass of an exact event time, which somebody has to have.
        """
        present, members = self._members
        found = np.zeros(present.size)
        point = np.append(self.intervals[:, 0] == self.intervals[:, 1], False)
        exact = point[members.a] & (members.b - members.a == 1)
        found[present] = np.where(exact, 0.0, leverages(members, self.mass))
        return found

    def closed(self, tail: str = "linear") -> Turnbull:
        """Return the same with the mass past the last time placed there: everything ends.

        With tail "linear" it lies evenly up to where the line from (0, 1) through the last point
        reaches zero, with "hold" at the last time.
        """
        one_of("tail", tail, ("linear", "hold"))
        left, right = self.intervals.T
        if np.isfinite(right[-1]):
            return self
        last, survival = float(left[-1]), float(self.mass[-1])
        if survival >= 1:
            raise UndefinedMetricError(
                "no event was seen, so nothing is known of event times: give a distribution, or tau"
            )
        ends = self.intervals.copy()
        ends[-1] = (last, last) if tail == "hold" else (last, last / (1 - survival))
        moves = 0.0 if tail == "hold" else last / (1 - survival) ** 2
        return Turnbull(ends, self.mass, subjects=self._subjects, end_moves=moves)

    def curves(self, n: int, tail: str = "linear") -> SurvivalCurves:
        """Return the estimate as the prediction for n subjects, stored once.

        A point with mass becomes a fall between two neighbouring numbers, as lines join the others.
        """
        check_tail(tail)
        times, before, at = self._knots
        left, right = self.intervals[np.isfinite(self.intervals[:, 1])].T
        if (left == right).all():
            grid, values, kind = times, at, "step"
        else:
            jump = (before > at) & (times > 0)
            grid = np.concatenate((times, np.nextafter(times[jump], 0.0)))
            values, kind = np.concatenate((at, before[jump])), "linear"
            order = np.argsort(grid, kind="stable")
            grid, values = grid[order], values[order]
        rows = np.broadcast_to(np.minimum.accumulate(values), (n, values.size))
        return SurvivalCurves._trusted(grid, rows, kind, tail)

    def __repr__(self) -> str:
        return (
            f"Turnbull({self.mass.size} intervals, ends at ({self.last_time:g}, "
            f"{self.last_survival:.4g}))"
        )


def _cells(y: IntervalOutcomes) -> tuple[Floats, Floats, Any, Any]:
    """Return the intervals that can have mass, and the first and one past the last of each subject.

    These are the maximal intersections: a left end of somebody, followed by a right end of somebody
    without any end in between. At one time the ends come in this order: left ends of exact times
    (which contain it), right ends (which do, too), left ends of intervals (which do not).
    """
    values, ranks = np.unique(np.concatenate((y.lower, y.upper)), return_inverse=True)
    ranks = ranks.reshape(-1)
    n = len(y)
    left = 3 * ranks[:n] + np.where(y.exact, 0, 2)
    right = 3 * ranks[n:] + 1
    is_left = np.zeros(3 * values.size, dtype=bool)
    is_left[left] = True
    ends = np.unique(np.concatenate((left, right)))
    starts = np.flatnonzero(is_left[ends[:-1]] & ~is_left[ends[1:]])
    first, last = ends[starts], ends[starts + 1]
    return (
        values[first // 3],
        values[last // 3],
        first.searchsorted(left),
        last.searchsorted(right, "right"),
    )


def _pooled(y: IntervalOutcomes, left: Floats, right: Floats) -> Bools:
    """Whether several visits of events lie between neighbouring intervals with mass: (m + 1,).

    Next to a point with mass (an exact event time) nothing has to be pooled.
    """
    found = y.event & ~y.exact
    visits = np.unique(np.concatenate((y.lower[found], y.upper[found])))
    after, before = np.append(left, np.inf), np.append(0.0, right)
    number = visits.searchsorted(after, "right") - visits.searchsorted(before, "left")
    point = left == right
    result: Bools = (number > 1) & ~(np.append(point, False) | np.append(False, point))
    return result


def _moments(a: Floats, b: Floats, first: Floats, last: Floats) -> Floats:
    """Areas under t times the line from (a, first) to (b, last); Simpson's rule is exact."""
    result: Floats = (b - a) * (a * first + (a + b) * (first + last) + b * last) / 6
    return result
