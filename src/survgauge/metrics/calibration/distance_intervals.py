"""Intervals of calibration distances, which cannot be negative and are biased upwards near zero.

A distance between an estimated and a predicted curve is positive even for a perfect model, by about
what the estimate varies. So the interval is made of the distances under which one as observed is
likely: the distribution of the estimate is known for any true gap in the direction that was found,
and the limits are the true gaps at which the observed distance would be too large or too small. The
lower limit is 0 where a perfect model may give such a distance. The upper one divides by what a
perfect model does (CLs, as of bounds on small signals), so that a distance smaller than chance does
not make an interval of no width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammainc, ndtri, stdtrit

from ..._tools.arrays import Floats, probability
from ..._tools.random import stream
from ..score import Score

_QUADRATURE = ndtri((np.arange(400) + 0.5) / 400)
_HALVINGS = 20
_DRAWS = 1_000
#: More than the rounding error of a distance between probabilities.
_ROUNDING = 1e-12
#: Logarithms of hazards beyond this are as good as infinite.
_LARGE = 700.0


def inverted(
    above: Callable[[float], float], below: Callable[[float], float], start: float, alpha: float
) -> tuple[float, float]:
    """Smallest and largest size of the gap that the observed distance does not refute.

    `above` and `below` are the probabilities, given the size, of distances not smaller and not
    larger than the observed one; `start` is a size to look from.
    """
    half = alpha / 2
    low = 0.0 if above(0.0) >= half else _crossing(lambda size: above(size) >= half, start)
    least = half * below(0.0)
    high = _crossing(lambda size: below(size) <= least, max(start, low))
    return low, high


def _crossing(true_above: Callable[[float], bool], start: float) -> float:
    """Where a condition that holds for large sizes begins to hold."""
    low, high = 0.0, start
    for _ in range(60):
        if true_above(high):
            break
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if true_above(middle) else (middle, high)
    return high


def _widening(confidence: float, freedom: float) -> float:
    """What a variance is multiplied with so that normal quantiles become those of Student's t."""
    upper = (1 + confidence) / 2
    return float((stdtrit(freedom, upper) / ndtri(upper)) ** 2)


@dataclass(frozen=True)
class SquaredGap:
    """Distribution of the mean squared gap of two curves whose difference is estimated.

    The estimate is |D + e|^2 / m at m points, e normal with covariance V. Along D it is a square of
    a normal number, and the rest is about a gamma number; mean and variance are exact.
    """

    value: float
    #: Variance of the gap along its own direction, over m; mean and variance of all the rest.
    along: float
    rest_mean: float
    rest_variance: float
    #: Degrees of freedom of the covariance.
    freedom: float = float("inf")
    #: Whether the lower limit takes what the upper one leaves of the error, which is all of it near
    #: zero: intervals of small distances then hold as often as they say, not more often.
    exact: bool = False
    #: Standard error of the estimate, to second order.
    stderr: float = float("nan")

    @classmethod
    def of(
        cls,
        value: float,
        gap: Floats,
        covariance: Floats,
        freedom: float = float("inf"),
        exact: bool = False,
    ) -> SquaredGap:
        """Take the distribution from the gap at m points and its covariance."""
        m = gap.size
        total, square = float(np.trace(covariance)), float(np.sum(covariance**2))
        length = float(gap @ gap)
        along = float(gap @ covariance @ gap) / length if length > 0 else 0.0
        if not along > 0:
            along = square / total if total > 0 else 0.0
        along = min(along, total)
        rest = max(square - along**2, 0.0)
        variance = max(4.0 * float(gap @ covariance @ gap) + 2.0 * square, 0.0)
        known = along / m, (total - along) / m, 2.0 * rest / m**2
        return cls(value, *known, freedom, exact, float(np.sqrt(variance)) / m)

    @property
    def expected_if_calibrated(self) -> float:
        """Mean of the estimate where there is no gap."""
        return self.along + self.rest_mean

    def limits(self, confidence: float) -> tuple[float, float]:
        """Confidence limits of the mean squared gap, within 0 and 1."""
        if np.isfinite(self.freedom):
            return self._widened(_widening(confidence, self.freedom)).limits(confidence)
        # Without events nothing varies but rounding errors, from which no width can be told.
        if not (self.along > 1e-12 * self.value and np.isfinite(self.value)):
            return float("nan"), float("nan")
        scale = np.sqrt(self.along)
        start = float(np.sqrt(self.value) + scale)
        alpha = 1.0 - confidence
        low, high = inverted(lambda size: 1.0 - self._below(size), self._below, start, alpha)
        if self.exact:
            low = self._lowest(alpha, start)
        low, high = min(low * low, self.value), max(high * high, self.value)
        return low, min(high, 1.0)

    def _widened(self, factor: float) -> SquaredGap:
        return SquaredGap(
            self.value, self.along * factor, self.rest_mean * factor,
            self.rest_variance * factor**2, exact=self.exact,
        )  # fmt: skip

    def _lowest(self, alpha: float, start: float) -> float:
        """Smallest size that is not refuted at what the upper limit leaves of alpha."""

        def holds(size: float) -> bool:
            return 1.0 - self._below(size) >= alpha - self._missed(size, alpha)

        return 0.0 if holds(0.0) else _crossing(holds, start)

    def _missed(self, size: float, alpha: float) -> float:
        """Probability that the upper limit misses `size`, if that is the truth.

        It does where the observed value is at most the one at which the probability of no more
        under `size` is alpha / 2 times that of a perfect model.
        """
        if size == 0:
            return 0.0
        low, high = 0.0, (size + 6 * np.sqrt(self.along)) ** 2 + 9 * self.rest_mean
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            missed = self._below(size, middle) <= alpha / 2 * self._below(0.0, middle)
            low, high = (middle, high) if missed else (low, middle)
        return self._below(size, low)

    def _below(self, size: float, value: float | None = None) -> float:
        """Probability of at most the (observed) value if the root mean squared gap is `size`."""
        left = (self.value if value is None else value) - (
            size + np.sqrt(self.along) * _QUADRATURE
        ) ** 2
        if not self.rest_variance > 0 or not self.rest_mean > 0:
            return float(np.mean(left >= self.rest_mean))
        shape = self.rest_mean**2 / self.rest_variance
        part = gammainc(shape, np.maximum(left, 0.0) * (self.rest_mean / self.rest_variance))
        return float(np.mean(part))


@dataclass(frozen=True)
class SmoothGap:
    """Distribution of the mean distance of a smooth calibration curve from the diagonal.

    On the scale log(-log S) the curve is the prediction x plus a gap that is estimated with normal
    errors, `change` times numbers of covariance V. True gaps are taken as multiples of the one
    found. The distributions are those of the same 1,000 drawn errors for every size.
    """

    value: float
    x: Floats
    gap: Floats
    weight: Floats
    #: Errors of the gap at the points are `basis` (points, q) times standard normal numbers.
    basis: Floats
    #: Standard error of the mean over the subjects, were the gaps known.
    spread: float
    #: Degrees of freedom of the covariance.
    freedom: float = float("inf")
    #: Mean of the estimate for a perfect model.
    expected_if_calibrated: float = float("nan")
    #: Spread of the estimate, were the curve found the true one.
    stderr: float = float("nan")
    #: Whether the upper limit also takes true gaps that lie along the largest error.
    clustered: bool = False

    @classmethod
    def of(
        cls, value: float, x: Floats, gap: Floats, weight: Floats, change: Floats,
        covariance: Floats, spread: float, freedom: float = float("inf"),
        clustered: bool = False,
    ) -> SmoothGap:  # fmt: skip
        """Errors are `change` (points, q) times numbers of the covariance (q, q)."""
        if np.isfinite(covariance).all():
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
        else:  # a fit of so few subjects that it ran away says nothing about its errors
            root = np.full_like(covariance, np.nan)
        basis = np.einsum("pk,kq->pq", change, root)
        known = value, x, gap, weight / weight.sum(), basis, spread, freedom
        distribution = cls(*known, clustered=clustered)
        hazards, error = distribution._draws()
        expected = float(distribution._distance(0.0, hazards).mean())
        stderr = float(np.std(distribution._drawn(1.0, hazards, error), ddof=1))
        return replace(distribution, expected_if_calibrated=expected, stderr=stderr)

    def distance(self, size: float) -> float:
        """Mean distance of a curve with `size` times the gap."""
        return float(self._distance(size, self._moved(np.zeros_like(self.x))))

    def _moved(self, errors: Floats) -> Floats:
        """What `_distance` reads of errors (..., points): hazards that they belong to."""
        errors += self.x
        with np.errstate(over="ignore"):
            return np.exp(errors, out=errors)

    def _distance(self, size: float, moved: Floats) -> Floats:
        """Mean distances with errors at the points, (..., points), and `size` times the gap."""
        with np.errstate(over="ignore", invalid="ignore"):
            survival = moved * -np.exp(size * self.gap)
            np.exp(survival, out=survival)
        survival -= np.exp(-np.exp(self.x))
        np.abs(survival, out=survival)
        mean: Floats = np.einsum("...p,p->...", survival, self.weight)
        return mean

    def _errors(self) -> tuple[Floats, Floats]:
        """Drawn errors at the points, (draws, points); errors of the mean."""
        size = self.basis.shape[1] + 1
        numbers = stream(0, "smooth calibration").standard_normal((_DRAWS, size))
        return np.einsum("dq,pq->dp", numbers[:, :-1], self.basis), self.spread * numbers[:, -1]

    def _draws(self) -> tuple[Floats, Floats]:
        """Drawn errors at the points as `_moved`, (draws, points); errors of the mean."""
        errors, error = self._errors()
        return self._moved(errors), error

    def _drawn(self, size: float, hazards: Floats, error: Floats) -> Floats:
        return np.maximum(self._distance(size, hazards) + min(size, 1.0) * error, 0.0)

    def limits(self, confidence: float) -> tuple[float, float]:
        """Confidence limits of the mean distance, within 0 and 1."""
        if not (np.isfinite(self.basis).all() and np.any(self.basis)):
            return float("nan"), float("nan")
        if np.isfinite(self.freedom):
            root = float(np.sqrt(_widening(confidence, self.freedom)))
            wide = replace(self, basis=self.basis * root, spread=self.spread * root)
            return replace(wide, freedom=float("inf")).limits(confidence)
        hazards, error = self._draws()
        alpha = 1.0 - confidence
        # How rare a distance is that hardly any draw of a perfect model stays below is not known
        # from the draws. Its upper limit is at least that of the least distance that they show.
        perfect = self._drawn(0.0, hazards, error)
        known = float(np.quantile(perfect, min(2.0 / (alpha * _DRAWS), 0.5)))
        low, high = self._sizes(self.value, alpha, hazards, error)
        if self.value < known:
            high = max(high, self._sizes(known, alpha, hazards, error)[1])
        low, high = self.distance(low), self.distance(high)
        if self.clustered:
            value = max(self.value, known)
            high = max(high, self._turned(value, alpha, float(np.mean(perfect <= value))))
        return min(low, self.value), min(max(high, self.value), 1.0)

    def _turned(self, value: float, alpha: float, least: float) -> float:
        """Largest distance that `value` does not refute of the gap found plus some largest error.

        What the members of a cluster share moves the whole curve up or down, far more than it
        bends it. A gap of that kind is easily hidden, and the gap that is found then is of another
        kind, whose multiples would be refuted too early. `least` is the probability of no more
        than the value for a perfect model.
        """
        steep = np.exp(np.minimum(self.x + self.gap, _LARGE))
        steep *= np.exp(-steep) * np.sqrt(self.weight)
        main = np.linalg.svd(self.basis * steep[:, None], full_matrices=False)[2][0]
        turn = self.basis @ main
        errors, error = self._errors()

        def refuted(by: float) -> bool:
            distance = self._distance(1.0, self._moved(errors + by * turn)) + error
            return bool(np.mean(np.maximum(distance, 0.0) <= value) <= alpha / 2 * least)

        ends = _crossing(refuted, 1.0), -_crossing(lambda by: refuted(-by), 1.0)
        return max(float(self._distance(1.0, self._moved(by * turn))) for by in ends)

    def _sizes(
        self, value: float, alpha: float, hazards: Floats, error: Floats
    ) -> tuple[float, float]:
        """Smallest and largest size of the gap that a distance does not refute.

        A distance far from the value stays on its side when the size changes a little: exp(-z)
        with z = hazard exp(size gap) changes by at most |gap| z exp(-z) <= |gap| / e for each
        unit of size. Only the draws that may have changed sides are computed anew.
        """
        steepest = float(np.abs(self.gap) @ self.weight) / np.e + np.abs(error)
        found, sizes = self._drawn(0.0, hazards, error), np.zeros(error.size)

        def drawn(size: float) -> Floats:
            reach = steepest * np.abs(sizes - size) + _ROUNDING
            near = np.flatnonzero(~(np.abs(found - value) > reach))
            found[near] = self._drawn(size, hazards[near], error[near])
            sizes[near] = size
            return found

        return inverted(
            lambda size: float(np.mean(drawn(size) >= value)),
            lambda size: float(np.mean(drawn(size) <= value)),
            1.0,
            alpha,
        )


class SmoothRiskGap(SmoothGap):
    """The same where the curve was fitted to risks by least squares.

    Its errors are normal on the scale of risks: a low risk that is known to a factor of ten is
    nevertheless known to a few per cent, as a fit to outcomes would notice more.
    """

    def _moved(self, errors: Floats) -> Floats:
        """Errors of the risk, to first order at the curve found."""
        with np.errstate(over="ignore", under="ignore"):
            hazard = np.exp(np.minimum(self.x + self.gap, _LARGE))
            errors *= hazard * np.exp(-hazard)
        return errors

    def _distance(self, size: float, moved: Floats) -> Floats:
        """Mean distances with errors of the risks, and `size` times the gap."""
        with np.errstate(over="ignore"):
            gap = np.exp(-np.exp(self.x)) - np.exp(-np.exp(self.x + size * self.gap))
        mean: Floats = np.einsum("...p,p->...", np.abs(moved + gap), self.weight)
        return mean


@dataclass(frozen=True, repr=False, eq=False)
class Distance(Score):
    """A distance that cannot be negative, with what its interval comes from.

    Attributes
    ----------
    distribution : SquaredGap or SmoothGap
        How the estimate varies; None where that is not known.
    expected_if_calibrated : float
        What a perfect model has on average with as many subjects.
    """

    known: SquaredGap | SmoothGap | None = None

    @property
    def distribution(self) -> SquaredGap | SmoothGap | None:
        """How the estimate varies; None where that is not known."""
        return self.known

    @property
    def stderr(self) -> float:
        """Spread of the estimate, were the gap found the true one."""
        return float("nan") if self.distribution is None else self.distribution.stderr

    @property
    def expected_if_calibrated(self) -> float:
        """What a perfect model has on average with as many subjects."""
        return (
            float("nan") if self.distribution is None else self.distribution.expected_if_calibrated
        )

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits of what it would be with infinitely many subjects."""
        level = probability(confidence, "confidence")
        return (
            (float("nan"), float("nan"))
            if self.distribution is None
            else self.distribution.limits(level)
        )

    def kept(self, contributions: bool) -> Score:
        """Return what an evaluation keeps: the contributions, if asked for, without the curves."""
        if not contributions:
            return Score(self.value, self.convention, self.support)
        known = {"expected_if_calibrated": self.expected_if_calibrated} if self.distribution else {}
        return Distance(
            self.value, self.convention, self.support | known, self.contributions, self.frequency,
            known=self.distribution,
        )  # fmt: skip
