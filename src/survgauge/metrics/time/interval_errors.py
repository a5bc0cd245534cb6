"""Errors in time where the event is known to lie between two visits only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, positive, vector
from ...data.adapters import are_curves
from ...data.curves import SurvivalCurves
from ...data.outcomes import IntervalOutcomes
from ...errors import UndefinedMetricError, numbered, one_of
from ...estimators.estimated_g import DerivativeSums, DistributionDerivative
from ...estimators.turnbull import Turnbull
from ..checks import check_curves
from ..intervals import DistributionInside, Inside, Subjects
from ..score import Score, Support

METHODS = ("hinge", "expected")
LOSSES = ("absolute", "squared")
#: Points that stand for a subject's own distribution inside its interval, closer to each other in
#: probability the later they are: squares of late times count most.
_NODES = 128


def interval_error(
    y_true: Any,
    predicted: Any,
    *,
    method: str = "expected",
    loss: str = "absolute",
    distribution: Any = None,
    y_train: Any = None,
    tau: float | None = None,
    tail: str = "linear",
    sample_weight: Any = None,
) -> Score:
    r"""Mean absolute or squared error of predicted times for interval-censored outcomes.

    With `method` "hinge" a prediction p is right anywhere in the interval [l, u], and otherwise off
    by the distance to its nearest bound: a lower limit of the error. With "expected" it is the
    expected error given that the event lies in the interval,

    .. math:: E[\,|T - p|\ \mid l < T \le u] = \frac{\int_l^q (S(l) - S(t))\,dt
              + \int_q^u (S(t) - S(u))\,dt}{S(l) - S(u)} + |p - q|,
              \quad q = \min(\max(p, l), u)

    under a distribution S of the event time, and likewise with the squared error, whose second
    moment is that of the same distribution. A known event time (l = u) has the plain error in both.
    The hinge error is not proper: its mean is least where an event is as likely found before as
    known to come after the prediction, and that is not the median. Do not rank models by it.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    predicted : array-like of shape (n,) or curves
        Predicted times, or curves, of which the median is taken, or for the squared loss the mean
        (up to `tau`).
    method : {"expected", "hinge"}
        What a prediction inside the interval is charged.
    loss : {"absolute", "squared"}
        Whether errors are squared.
    distribution : Turnbull, curves or Conditional, optional
        Distribution of the event time for "expected", for everybody or one per subject; by default
        Turnbull's of `y_train`, or of the test outcomes themselves. One distribution for everybody
        does not depend on the subject: it draws expected errors towards those of a model that does
        not either.
    y_train : outcomes, optional
        Reference set of the distribution: interval-censored, or right-censored `Outcomes`.
    tau : float, optional
        Horizon: predicted and event times count as at most `tau`.
    tail : {"linear", "hold"}
        Where Turnbull's weight after the last time lies; see `Turnbull.closed`.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    Score
        Its standard error takes a distribution of other subjects as given; the estimation of
        Turnbull's distribution from the test outcomes themselves is part of it.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 9], [4, 8, 9])
    >>> interval_error(y, [5, 7, 11], method="hinge")  # off by 1, 0 and 2
    1.0
    >>> round(interval_error(y, [2, 6, 9]), 6)  # a quarter of the interval's length, twice, and 0
    0.666667
    """
    one_of("method", method, METHODS)
    one_of("loss", loss, LOSSES)
    one_of("tail", tail, ("linear", "hold"))
    who = Subjects.of(y_true, sample_weight)
    stop = np.inf if tau is None else positive(tau, "tau")
    times = np.minimum(_times(predicted, who, loss, tau), stop)
    described: dict[str, Any] = {
        "score": "interval_error", "method": method, "loss": loss, "tau": tau,
    }  # fmt: skip
    y, power = who.y, 1 + (loss == "squared")
    if method == "hinge":
        gap = np.maximum(np.minimum(y.lower, stop) - times, times - np.minimum(y.upper, stop))
        return who.mean(np.maximum(gap, 0.0) ** power, described, Support())
    source = DistributionInside.given(distribution, who, y_train)
    described["distribution"] = source.of
    derivative = None
    at, known = np.minimum(y.lower, stop), y.exact | (y.lower >= stop)
    if isinstance(source.distribution, Turnbull):
        described |= {"tail": tail, "within": "uniform"}
        closed = (
            source.distribution
            if stop <= source.distribution.last_time
            else source.distribution.closed(tail)
        )
        inside = DistributionInside(closed, source.of).inside(y)
        parts = _parts(inside, closed, times, stop, loss)
        found = parts.loss
        if source.moves:
            derivative = parts.derivative(np.where(known | inside.silent, 0.0, who.weight))
    else:
        described |= {"tail": source.distribution.tail, "points": _NODES}
        inside = source.inside(y)
        found = _expected_by_points(inside, source.distribution, times, stop, power)
    found = np.where(inside.silent, _evenly(y, times, stop, power), found)
    found = np.where(known, np.abs(times - at) ** power, found)
    return who.mean(found, described, inside.support(who.weight), source, derivative)


def _times(predicted: Any, who: Subjects, loss: str, tau: float | None) -> Floats:
    """One predicted time per subject: as given, or the median or mean of its curve."""
    y, weight = who.y, who.weight
    if not are_curves(predicted):
        return vector(predicted, "predicted", length=len(y), like="y_true")
    curves = check_curves(predicted, y)
    if loss == "absolute":
        times, point = curves.median(), "median"
    else:
        times, point = curves.mean() if tau is None else curves.rmst(tau), "mean"
    bad = np.flatnonzero(~np.isfinite(times) & (weight > 0))
    if bad.size:
        raise UndefinedMetricError(
            f"the curves have no finite {point} for {numbered(bad)}; give the curves another tail, "
            "or predicted times"
        )
    return np.where(weight > 0, times, 0.0)


@dataclass(frozen=True)
class _Parts:
    """Expected errors under one distribution for everybody: what they read of the distribution S.

    The error of a subject is `outside` + N / (S(l) - S(u)), where N is linear in S(l), S(u) and the
    areas of S(t) (1) and t S(t) (2) up to some points.
    """

    inside: Inside
    distribution: Turnbull
    outside: Floats
    on_lower: Floats
    on_upper: Floats
    #: Points, factors, and which area.
    areas: tuple[tuple[Floats, Floats, int], ...]

    @property
    def _given(self) -> Floats:
        """Probability of the interval."""
        inside = self.inside
        known = inside.silent | inside.y.exact
        return np.where(known, 1.0, inside.at_lower - inside.at_upper)

    @cached_property
    def expected(self) -> Floats:
        """N / (S(l) - S(u))."""
        total = self.on_lower * self.inside.at_lower + self.on_upper * self.inside.at_upper
        for points, factor, area in self.areas:
            total += factor * (
                self.distribution.area(points) if area == 1 else self.distribution.moment(points)
            )
        return total / self._given

    @property
    def loss(self) -> Floats:
        """Expected error of each subject."""
        return self.outside + self.expected

    def derivative(self, weight: Floats) -> DistributionDerivative:
        """What the sum of the errors moves with the distribution."""
        sums, y, each = DerivativeSums(self.distribution), self.inside.y, weight / self._given
        sums.add(y.lower, each * (self.on_lower - self.expected))
        ends = np.isfinite(y.upper)
        sums.add(y.upper[ends], (each * (self.on_upper + self.expected))[ends])
        for points, factor, area in self.areas:
            sums.add(points, each * factor, area)
        return DistributionDerivative(sums.by_weight()[0])


def _parts(inside: Inside, distribution: Turnbull, p: Floats, stop: float, loss: str) -> _Parts:
    """Return what expected errors read of a distribution that ends, or does at `stop`."""
    y = inside.y
    end = min(stop, max(distribution.last_time, float(y.lower.max())))
    # What lies past `end` counts as at `end`.
    low, high = np.minimum(y.lower, end), np.minimum(y.upper, end)
    one = np.ones(len(y))
    areas: tuple[tuple[Floats, Floats, int], ...]
    if loss == "squared":  # E (T - p)^2 by parts
        areas = ((high, 2 * one, 2), (low, -2 * one, 2), (high, -2 * p, 1), (low, 2 * p, 1))
        return _Parts(inside, distribution, 0 * one, (low - p) ** 2, -((high - p) ** 2), areas)
    q = np.clip(p, low, high)  # until q the loss falls, after it rises
    areas = ((low, one, 1), (q, -2 * one, 1), (high, one, 1))
    return _Parts(inside, distribution, np.abs(p - q), q - low, q - high, areas)


def _expected_by_points(
    inside: Inside, distribution: SurvivalCurves, p: Floats, stop: float, power: int
) -> Floats:
    """Expected error under a distribution per subject, by points inside the interval."""
    y, rows = inside.y, np.arange(len(inside.y))
    total = np.zeros(len(y))
    for k in range(_NODES):
        later = 1 - (k + 0.5) / _NODES
        level = inside.at_upper + later**2 * (inside.at_lower - inside.at_upper)
        with np.errstate(invalid="ignore"):
            time = np.clip(distribution.times_at(rows, level), y.lower, y.upper)
        total += 2 * later * np.abs(np.minimum(time, stop) - p) ** power
    _refuse_endless(total, inside.silent | y.exact | (y.lower >= stop))
    return total / _NODES


def _refuse_endless(total: Floats, ignored: Bools) -> None:
    bad = np.flatnonzero(~np.isfinite(total) & ~ignored)
    if bad.size:
        raise UndefinedMetricError(
            f"the distribution has no finite times after the lower bound of {numbered(bad)}; give "
            "it "
            "another tail, or give tau"
        )


def _evenly(y: IntervalOutcomes, p: Floats, stop: float, power: int) -> Floats:
    """Expected error where the time lies evenly in the interval, or right after an open one."""
    low = np.minimum(y.lower, stop)
    high = np.where(np.isfinite(y.upper), y.upper, low)
    width = np.maximum(high - low, 1e-300)
    end = np.minimum(high, stop)

    def until(t: Floats) -> Floats:
        return (t - p) * np.abs(t - p) ** power / (power + 1)

    # The part past `stop` counts as at `stop`.
    inner = until(end) - until(low) + (high - end) * np.abs(end - p) ** power
    return np.where(high > low, inner / width, np.abs(low - p) ** power)
