r"""Turnbull's estimate: the survival function of interval-censored outcomes.

Subject i has its event in one of the cells a_i, ..., b_i - 1 of m cells, so with cumulative masses
F its likelihood is F(b_i) - F(a_i). The mean log-likelihood is concave, and masses p are a maximum
if and only if the gradient

.. math:: d_k = \sum_i w_i\, 1(a_i \le k < b_i) / (F(b_i) - F(a_i)), \quad \sum_i w_i = 1

is at most 1 everywhere (Kuhn-Tucker; it is 1 on average over p). max d - 1 also bounds what the
mean log-likelihood lacks. Three kinds of steps alternate, each linear in the number of subjects and
none ever lowering the likelihood: EM, which is certain but slow; the iterative convex minorant,
which finds the cells with mass; and Newton's on those cells, which ends quickly. In F the Hessian
is that of a network: cells' bounds are nodes, subjects are edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solveh_banded
from scipy.optimize import isotonic_regression
from scipy.sparse import coo_array
from scipy.sparse.linalg import LinearOperator, cg

from .._tools.arrays import Bools, Floats, Ints, positive, probability
from ..data.curves import SurvivalCurves
from ..data.interpolation import check_tail, tail_area, tail_time
from ..data.outcomes import IntervalOutcomes
from ..errors import InputError, UndefinedMetricError, one_of
from .kaplan_meier import asked_times

#: How far the gradient may be above 1 where the search ends, and at the very most.
TOLERANCE, LOOSEST = 1e-9, 1e-8
#: Rounds of the three steps; a handful is usual.
MOST_ROUNDS = 2_000
#: Masses below this are none.
_NOTHING = 1e-14
#: Iterations of the conjugate gradients of one Newton step.
_MOST_CG = 200
#: Cells of which a matrix is made.
_FEW_CELLS = 1_000


@dataclass(frozen=True)
class Likelihood:
    """Subjects by the cells in which their event may be; equal rows are one, weights sum to 1."""

    a: Ints
    b: Ints
    w: Floats
    cells: int

    @classmethod
    def of(cls, a: Ints, b: Ints, weight: Floats, cells: int) -> Likelihood:
        """Put equal rows together."""
        code, inverse = np.unique(a * (cells + 1) + b, return_inverse=True)
        w = np.bincount(inverse.reshape(-1), weights=weight)
        return cls(code // (cells + 1), code % (cells + 1), w / w.sum(), cells)

    @property
    def single(self) -> Ints:
        """Rows with one cell only, whose mass needs no difference."""
        return np.flatnonzero(self.b - self.a == 1)

    def probabilities(self, p: Floats) -> Floats:
        """Probability of each row under masses p."""
        total = np.concatenate(([0.0], np.cumsum(p)))
        found: Floats = total[self.b] - total[self.a]
        one = self.single
        found[one] = p[self.a[one]]  # a difference of sums has fewer digits
        return found

    def value(self, p: Floats) -> float:
        """Mean log-likelihood; -inf where a row has no mass."""
        found = self.probabilities(p)
        return float(np.dot(self.w, np.log(found))) if (found > 0).all() else -np.inf

    def gradient(self, p: Floats) -> Floats:
        """Derivative of the mean log-likelihood by the mass of each cell."""
        ratio = self.w / self.probabilities(p)
        one = self.single
        alone = np.bincount(self.a[one], ratio[one], self.cells)
        ratio[one] = 0.0
        size = self.cells + 1
        change = np.bincount(self.a, ratio, size) - np.bincount(self.b, ratio, size)
        result: Floats = np.cumsum(change)[:-1] + alone
        return result

    def within(self, kept: Ints) -> Likelihood:
        """Return the same with some of the cells only."""
        rank = np.concatenate(([0], np.cumsum(np.bincount(kept, minlength=self.cells))))
        return Likelihood(rank[self.a], rank[self.b], self.w, kept.size)


def most_likely(rows: Likelihood) -> tuple[Floats, float, int]:
    """Return the masses of the cells, how far the gradient is above 1, and the rounds it took."""
    spread = np.bincount(rows.a, rows.w / (rows.b - rows.a), rows.cells + 1)
    spread -= np.bincount(rows.b, rows.w / (rows.b - rows.a), rows.cells + 1)
    p = np.maximum(np.cumsum(spread)[:-1], 0.0)  # everybody's mass evenly over its cells
    p /= p.sum()
    excess = np.inf
    for number in range(1, MOST_ROUNDS + 1):
        d = rows.gradient(p)
        excess = float(d.max()) - 1.0
        if excess <= TOLERANCE:
            return _trimmed(rows, p), excess, number
        p = p * d  # EM
        p /= p.sum()
        p = _convex_minorant(rows, p)
        p = _newton(rows, p)
    if excess > LOOSEST:
        raise UndefinedMetricError(
            f"Turnbull's estimate was not found in {MOST_ROUNDS} rounds: the gradient of the mean "
            f"log-likelihood is {excess:.1e} above its bound, where {LOOSEST:g} is asked for"
        )
    return _trimmed(rows, p), excess, MOST_ROUNDS


def _trimmed(rows: Likelihood, p: Floats) -> Floats:
    """Take masses that are nothing but rounding for none."""
    clean = np.where(p > _NOTHING, p, 0.0)
    clean /= clean.sum()
    return clean if rows.value(clean) > -np.inf else p


def _better(rows: Likelihood, p: Floats, towards: Floats) -> Floats:
    """Go from p towards other masses as far as the likelihood does not fall; halve the way."""
    before, share = rows.value(p), 1.0
    for _ in range(20):
        found = p + share * (towards - p)
        if rows.value(found) >= before:
            return found
        share /= 2
    return p


def _masses(cumulative: Floats) -> Floats:
    """Return masses of cumulative ones between 0 and 1."""
    inner = np.clip(cumulative, 0.0, 1.0)
    return np.maximum(np.diff(np.concatenate(([0.0], inner, [1.0]))), 0.0)


def _slope(rows: Likelihood, p: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives by F at the inner bounds of cells, first and (minus) second."""
    ratio = rows.w / rows.probabilities(p)
    curve = ratio * ratio / rows.w
    size = rows.cells + 1
    ends = [np.bincount(end, values, size)[1:-1].astype(np.float64)
            for values in (ratio, curve) for end in (rows.b, rows.a)]  # fmt: skip
    return ends[0] - ends[1], ends[2] + ends[3]


def _convex_minorant(rows: Likelihood, p: Floats) -> Floats:
    """Take one step of the iterative convex minorant algorithm (Groeneboom; Jongbloed)."""
    if rows.cells < 2:
        return p
    first, second = _slope(rows, p)
    second = np.maximum(second, 1e-12 * second.max())
    wanted = np.cumsum(p)[:-1] + first / second
    return _better(rows, p, _masses(isotonic_regression(wanted, weights=second).x))


def _newton(rows: Likelihood, p: Floats) -> Floats:
    """Take one Newton step on the cells with mass; those that it empties are pooled."""
    kept = np.flatnonzero(p > _NOTHING)
    inside = rows.within(kept)
    if kept.size < 2:
        return p
    q = p[kept] / p[kept].sum()
    if not (inside.b > inside.a).all():
        return p
    found = np.zeros_like(p)
    slope, weights = _slope(inside, q)
    wanted = np.cumsum(q)[:-1] + network_solver(inside, q)(slope)
    if np.diff(np.concatenate(([0.0], wanted, [1.0]))).min() < 0:
        wanted = isotonic_regression(wanted, weights=np.maximum(weights, 1e-300)).x
    found[kept] = _better(inside, q, _masses(wanted))
    return found if rows.value(found) >= rows.value(p) else p


def _network(rows: Likelihood, p: Floats) -> tuple[Floats, Ints, Ints, Floats]:
    """Minus the Hessian by F as a network: its diagonal, both ends of the edges and their sizes."""
    second = _slope(rows, p)[1] * (1 + 1e-10)  # some nodes may hang together with neither end
    curve = rows.w / rows.probabilities(p) ** 2
    inner = (rows.a > 0) & (rows.b < rows.cells)
    return second, rows.a[inner] - 1, rows.b[inner] - 1, curve[inner]


def network_solver(rows: Likelihood, p: Floats) -> Callable[[Floats], Floats]:
    """Return what solves H x = g for minus the Hessian H by F, by conjugate gradients.

    Edges between neighbours are the preconditioner.
    """
    second, a, b, c = _network(rows, p)
    n = second.size
    if n == 1:
        return lambda g: g / second
    ends = np.concatenate((a, b)), np.concatenate((b, a))
    off = coo_array((np.concatenate((c, c)), ends), shape=(n, n)).tocsr()
    near = b - a == 1
    band = np.zeros((2, n))
    band[1] = second
    band[0, 1:] = -np.bincount(a[near], c[near], n)[: n - 1]
    system = LinearOperator((n, n), matvec=lambda x: second * x - off @ x)
    close = LinearOperator((n, n), matvec=lambda x: solveh_banded(band, x))

    def solve(g: Floats) -> Floats:
        found, _ = cg(system, g, rtol=1e-10, maxiter=_MOST_CG, M=close)
        return np.asarray(found, dtype=np.float64)

    return solve


def influences(rows: Likelihood, p: Floats, shares: Floats) -> Floats:
    """Return what each row adds to sums of masses by its share in the sampling error.

    A sum is `shares` @ p, (k, cells) @ (cells,); the result is (k, rows). All cells have mass, and
    which cells do is taken as given.
    """
    found = np.zeros((shares.shape[0], rows.a.size))
    if rows.cells < 2:
        return found
    scale, sides = rows.w / rows.probabilities(p), shares[:, :-1] - shares[:, 1:]
    if rows.cells <= _FEW_CELLS:
        solved = cho_solve(cho_factor(_hessian(rows, p)), sides.T).T
    else:
        solve = network_solver(rows, p)
        solved = np.stack([solve(side) for side in sides])
    for k, inner in enumerate(solved):
        z = np.concatenate(([0.0], inner, [0.0]))
        found[k] = scale * (z[rows.b] - z[rows.a])
    return found


def leverages(rows: Likelihood, p: Floats) -> Floats:
    """Return how much each row decides its own probability; 0 where there are too many cells.

    The sum over rows is the number of cells less one, and a row of one subject has at most 1.
    """
    if not 2 <= rows.cells <= _FEW_CELLS:
        return np.zeros(rows.a.size)
    inverse = np.zeros((rows.cells + 1, rows.cells + 1))
    inverse[1:-1, 1:-1] = cho_solve(cho_factor(_hessian(rows, p)), np.eye(rows.cells - 1))
    a, b = rows.a, rows.b
    spread = inverse[a, a] + inverse[b, b] - 2 * inverse[a, b]
    found: Floats = np.clip(rows.w * spread / rows.probabilities(p) ** 2, 0.0, 1.0)
    return found


def _hessian(rows: Likelihood, p: Floats) -> Floats:
    """Minus the Hessian by F, as a matrix."""
    second, a, b, c = _network(rows, p)
    size = second.size
    off = np.bincount(a * size + b, c, size * size).reshape(size, size)
    result: Floats = np.diag(second) - off - off.T
    return result


#: Where in its interval a mass may lie: spread evenly, or at one of its ends.
WITHIN = ("uniform", "left", "right")
#: 95 % of the estimates at a time whose neighbours were pooled with it lie within 2.124 standard
#: errors of the block, not 1.96 (Deng, Han, Zhang 2021; slope of the greatest convex minorant of
#: Brownian motion plus a parabola, times the root of the length of its piece, in 20,000 draws).
POOLED = 2.124 / 1.960


class Turnbull:
    """Turnbull's nonparametric estimate of a survival function.

    The data determine the mass in each of some intervals, but not where in them: `at` spreads
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
