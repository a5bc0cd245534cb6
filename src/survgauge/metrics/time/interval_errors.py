"""Errors in time where the event is known to lie between two visits only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, positive, vector
from ...data.adapters import are_curves
from ...data.curves import SurvivalCurves
from ...data.intervals import IntervalOutcomes
from ...errors import UndefinedMetricError, numbered, one_of
from ...reference.turnbull import Turnbull
from ..checks import check_curves
from ..details import Details
from ..intervals import Inside, LawInside, Subjects
from ..support import Support

METHODS = ("hinge", "expected")
#: Points of equal probability that stand for a subject's own law inside its interval.
_NODES = 128


def interval_error(
    y_true: Any,
    predicted: Any,
    *,
    method: str = "expected",
    law: Any = None,
    y_train: Any = None,
    tau: float | None = None,
    tail: str = "linear",
    sample_weight: Any = None,
) -> float:
    r"""Mean absolute error of predicted times for interval-censored outcomes.

    With `method` "hinge" a prediction p is right anywhere in the interval [l, u], and otherwise off
    by the distance to its nearest bound: a lower limit of the error. With "expected" it is the
    expected error given that the event lies in the interval,

    .. math:: E[\,|T - p|\ \mid l < T \le u] = \frac{\int_l^q (S(l) - S(t))\,dt
              + \int_q^u (S(t) - S(u))\,dt}{S(l) - S(u)} + |p - q|,
              \quad q = \min(\max(p, l), u)

    under a law S of the event time. A known event time (l = u) has the plain error in both.

    Parameters
    ----------
    y_true : interval-censored outcomes
        Test outcomes; anything that `IntervalOutcomes.of` reads.
    predicted : array-like of shape (n,) or curves
        Predicted times, or curves, of which the median is taken.
    method : {"expected", "hinge"}
        What a prediction inside the interval is charged.
    law : Turnbull, curves or Conditional, optional
        Law of the event time for "expected", for everybody or one per subject; by default
        Turnbull's of `y_train`, or of the test outcomes themselves. One law for everybody knows
        nothing of the subjects: it draws expected errors towards those of a model that does not
        either.
    y_train : outcomes, optional
        Reference set of the law: interval-censored, or right-censored `Outcomes`.
    tau : float, optional
        Horizon: predicted and event times count as at most `tau`.
    tail : {"linear", "hold"}
        Where Turnbull's mass after the last time lies; see `Turnbull.closed`.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    float
        `interval_error_details` gives the same with contributions, convention and support.

    Examples
    --------
    >>> y = IntervalOutcomes([0, 4, 9], [4, 8, 9])
    >>> interval_error(y, [5, 7, 11], method="hinge")  # off by 1, 0 and 2
    1.0
    >>> round(interval_error(y, [2, 6, 9]), 6)  # a quarter of the interval's length, twice, and 0
    0.666667
    """
    return interval_error_details(
        y_true, predicted, method=method, law=law, y_train=y_train, tau=tau, tail=tail,
        sample_weight=sample_weight,
    ).value  # fmt: skip


def interval_error_details(
    y_true: Any,
    predicted: Any,
    *,
    method: str = "expected",
    law: Any = None,
    y_train: Any = None,
    tau: float | None = None,
    tail: str = "linear",
    sample_weight: Any = None,
) -> Details:
    """`interval_error` with its convention, support and standard error (law taken as given).

    Parameters
    ----------
    y_true, predicted, method, law, y_train, tau, tail, sample_weight
        As for `interval_error`.

    Examples
    --------
    >>> d = interval_error_details(([0, 4, 8], [4, 8, 8]), [5, 7, 10], method="hinge")
    >>> d.value, d.support["intervals"], d.support["exact"]
    (1.0, 2, 1)
    """
    one_of("method", method, METHODS)
    one_of("tail", tail, ("linear", "hold"))
    who = Subjects.of(y_true, sample_weight)
    stop = np.inf if tau is None else positive(tau, "tau")
    times = np.minimum(_times(predicted, who), stop)
    described: dict[str, Any] = {"score": "interval_error", "method": method, "tau": tau}
    y = who.y
    if method == "hinge":
        loss = np.maximum(np.minimum(y.lower, stop) - times, times - np.minimum(y.upper, stop))
        return who.mean(np.maximum(loss, 0.0), described, Support())
    source = LawInside.given(law, y, y_train)
    described["law"] = source.of
    if isinstance(source.law, Turnbull):
        described |= {"tail": tail, "within": "uniform"}
        closed = source.law if stop <= source.law.last_time else source.law.closed(tail)
        inside = LawInside(closed, source.of).inside(y)
        loss = _expected(inside, closed, times, stop)
    else:
        described |= {"tail": source.law.tail, "points": _NODES}
        inside = source.inside(y)
        loss = _expected_by_points(inside, source.law, times, stop)
    loss = np.where(inside.silent, _evenly(y, times, stop), loss)
    at = np.minimum(y.lower, stop)
    loss = np.where(y.exact | (y.lower >= stop), np.abs(times - at), loss)
    return who.mean(loss, described, inside.support(who.mass))


def _times(predicted: Any, who: Subjects) -> Floats:
    """One predicted time per subject: as given, or the median of its curve."""
    y, mass = who.y, who.mass
    if not are_curves(predicted):
        return vector(predicted, "predicted", length=len(y), like="y_true")
    times = check_curves(predicted, y).median()
    bad = np.flatnonzero(~np.isfinite(times) & (mass > 0))
    if bad.size:
        raise UndefinedMetricError(
            f"the curves have no finite median for {numbered(bad)}; give the curves another tail, "
            "or predicted times"
        )
    return np.where(mass > 0, times, 0.0)


def _expected(inside: Inside, law: Turnbull, p: Floats, stop: float) -> Floats:
    """Expected error under one law for everybody, exactly; the law ends, or does at `stop`."""
    y = inside.y
    end = min(stop, max(law.last_time, float(y.lower.max())))
    low, high = np.minimum(y.lower, end), np.minimum(y.upper, end)
    q = np.clip(p, low, high)
    area = law.area(np.concatenate((low, q, high))).reshape(3, -1)
    # Until q the loss falls, after it rises; what lies past `end` counts as at `end`.
    before = (q - low) * inside.at_lower - (area[1] - area[0])
    after = (area[2] - area[1]) - (high - q) * inside.at_upper
    mass = np.where(inside.silent | y.exact, 1.0, inside.at_lower - inside.at_upper)
    return np.abs(p - q) + (before + after) / mass


def _expected_by_points(inside: Inside, law: SurvivalCurves, p: Floats, stop: float) -> Floats:
    """Expected error under a law per subject, by times of equal probability inside the interval."""
    y, rows = inside.y, np.arange(len(inside.y))
    total = np.zeros(len(y))
    for k in range(_NODES):
        share = (k + 0.5) / _NODES
        level = inside.at_lower + share * (inside.at_upper - inside.at_lower)
        with np.errstate(invalid="ignore"):
            time = np.clip(law.times_at(rows, level), y.lower, y.upper)
        total += np.abs(np.minimum(time, stop) - p)
    _refuse_endless(total, inside.silent | y.exact | (y.lower >= stop))
    return total / _NODES


def _refuse_endless(total: Floats, ignored: Bools) -> None:
    bad = np.flatnonzero(~np.isfinite(total) & ~ignored)
    if bad.size:
        raise UndefinedMetricError(
            f"the law has no finite times after the lower bound of {numbered(bad)}; give it "
            "another tail, or give tau"
        )


def _evenly(y: IntervalOutcomes, p: Floats, stop: float) -> Floats:
    """Expected error where the time lies evenly in the interval, or right after an open one."""
    low = np.minimum(y.lower, stop)
    high = np.where(np.isfinite(y.upper), y.upper, low)
    width = np.maximum(high - low, 1e-300)
    end = np.minimum(high, stop)
    q = np.clip(p, low, end)
    # The part past `stop` counts as at `stop`.
    inner = ((q - low) ** 2 + (end - q) ** 2) / 2 + (high - end) * (end - q)
    return np.abs(p - q) + np.where(high > low, inner / width, 0.0)
