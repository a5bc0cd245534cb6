r"""How a score moves with Turnbull's masses, where these are estimated.

A score reads the distribution S at points x, as S(x) itself or as the areas of S(t) and t S(t) up
to x. Each of these is linear in the masses: for cell k with its time U spread evenly over (l, r] it
is the mean of 1(U > x), of min(U, x) and of min(U, x)^2 / 2. Points that lie before a cell, in it
and after it are added up apart, so that n points and m cells take n log m + m steps, and chunks of
subjects add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._tools.arrays import Floats, Ints
from .turnbull import Turnbull

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
