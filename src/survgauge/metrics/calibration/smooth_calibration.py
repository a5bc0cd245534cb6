"""Smooth calibration at one time: Austin's spline regression, and what it sums up to (ICI)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, dot, probability
from ..._tools.chunks import chunks
from ..._tools.sorting import sorting_order
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ...reference.partial_likelihood import PartialLikelihood
from ...reference.risk_sets import combine, product
from ..checks import read_curves
from ..details import Clusters, freedom
from ._cox import TIES, CoxRegression
from .distance_intervals import SmoothGap
from .inputs import (
    checked_count,
    checked_time,
    description,
    log_log,
    read_past,
    refuse_past_follow_up,
    survival_at,
)
from .kernels import weighted_quantile

# Where Harrell puts the knots: quantiles of the covariate.
_KNOTS = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
}
#: Subjects among whom different predictions are looked for first.
_FIRST = 1_000
_CURVE_POINTS = 100
#: Subjects by which the law of the mean distance is told.
_POINTS = 64


@dataclass(frozen=True)
class ICIResult:
    """Smooth calibration at one time.

    Attributes
    ----------
    ici, e50, e90, emax : float
        Mean, median, 90 % quantile and maximum of ``|observed - predicted|`` over the subjects.
    predicted, observed : ndarray of shape (n,)
        Probability of the event by the time: as predicted, and as smoothed from the outcomes;
        NaN for subjects of weight zero.
    curve_predicted, curve_observed : ndarray of shape (100,)
        The smooth calibration curve from the lowest to the highest prediction, for plotting.
    psi : ndarray of shape (n,)
        First-order contribution of each subject to the sampling error of `ici`. Where calibration
        is almost perfect the errors are not normal any more: use `resampled`.
    frequency : ndarray of shape (n,) or None
        The outcomes' frequencies, where given.
    expected_if_calibrated : float
        What `ici` is on average for a perfect model with as many subjects: the smooth curve of the
        outcomes varies, and its distance from the diagonal is never negative. NaN without an event
        by the time.
    convention, support : dict
        Which definitions the numbers follow; what the data covered.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    predicted: Floats
    observed: Floats
    curve_predicted: Floats
    curve_observed: Floats
    psi: Floats
    frequency: Floats | None
    convention: dict[str, Any]
    support: dict[str, Any]
    _smooth: _Smooth = field(repr=False)
    #: How `ici` varies; None without an event by the time.
    law: SmoothGap | None = field(default=None, repr=False)

    @property
    def expected_if_calibrated(self) -> float:
        """What `ici` is on average for a perfect model with as many subjects."""
        return float(self.support["expected_if_calibrated"])

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits of what `ici` would be with infinitely many subjects."""
        level = probability(confidence, "confidence")
        return (float("nan"), float("nan")) if self.law is None else self.law.limits(level)

    def clustered(self, clusters: Clusters | None) -> ICIResult:
        """Say how `ici` varies if whole clusters of subjects are drawn."""
        if clusters is None:
            return self
        smooth = self._smooth
        law = smooth.law(self.ici, smooth.fit.influences(smooth.time), clusters)
        expected = float("nan") if law is None else law.expected_if_calibrated
        return replace(self, law=law, support=self.support | {"expected_if_calibrated": expected})

    def __float__(self) -> float:
        return self.ici

    @property
    def stderr(self) -> float:
        """Spread of `ici` over samples, were the curve found the true one.

        The number of `evaluate`. Close to perfect calibration `psi` alone understates it, because
        distances have a corner at zero.
        """
        return float("nan") if self.law is None else self.law.stderr

    def resampled(self, counts: Any) -> float:
        """`ici` had subject i been drawn counts[i] times: one Newton step instead of a new fit.

        Knots stay where they are. For bootstraps: costs a few passes over the subjects.
        """
        drawn = np.asarray(counts, dtype=np.float64)
        if drawn.shape != self.predicted.shape:
            raise InputError(
                f"counts must have one entry per subject: the result has {self.predicted.size}, "
                f"counts has shape {drawn.shape}"
            )
        return self._smooth.resampled(drawn)


def integrated_calibration_index(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
) -> ICIResult:
    r"""Integrated calibration index: mean distance of predictions from the smooth observed rate.

    With predicted probability p_i of the event by `time` and x_i = log(-log(1 - p_i)), a Cox model
    of the test outcomes on a restricted cubic spline f of x gives the observed probability

    .. math:: o_i = 1 - \exp(-H_0(t) e^{f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|,

    and E50, E90 are the median and the 90 % quantile of the same distances. Zero is best.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; all of their follow-up enters the Cox model.
    curves : SurvivalCurves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves.
    time : float
        Where to look; not later than the last observed time.
    knots : {3, 4, 5}
        Number of knots, at Harrell's quantiles of x. With too few different predictions for
        distinct knots, or outcomes that do not identify the spline, f is a line; with equal
        predictions it is constant, and the observed probability comes from Nelson-Aalen. The
        convention says which. Outcomes that do not identify the line either are refused.
    ties : {"efron", "breslow"}
        Rule for tied events in coefficients and baseline hazard.
    probability : {"survival", "event"}
        What an array in `curves` holds.

    Returns
    -------
    ICIResult
        Predictions within 1e-10 of 0 or 1 enter the spline as if they were that far away (and the
        distances as they are); `support` counts them.

    References
    ----------
    Austin, Harrell and van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39.

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 1], [0, 1, 1, 0, 1, 1, 1, 1])
    >>> result = integrated_calibration_index(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.2278, 0.1507, 0.429)
    """
    one_of("ties", ties, TIES)
    knots = checked_count(knots, "knots", 3)
    if knots not in _KNOTS:
        raise InputError(f"knots must be 3, 4 or 5; got {knots}")
    y = Outcomes.of(y_true, "y_true")
    time, curves = checked_time(time), read_curves(curves)
    s = survival_at(y, curves, time, probability)
    rows = _present_by_time(y)
    by_time = Outcomes._trusted(y.time[rows], y.event[rows], y.weight[rows] if y.weighted else None)
    refuse_past_follow_up(by_time, time)
    if not by_time.event.any():
        raise UndefinedMetricError(
            "integrated_calibration_index needs at least one event in y_true; got none"
        )
    convention, support = description(y, curves)
    support |= read_past(y, curves, time)
    support |= _events_by(by_time, time)
    smooth = _Smooth(by_time, s[rows], rows, time, knots, ties)
    del by_time
    grid = np.linspace(1 - smooth.s.max(), 1 - smooth.s.min(), _CURVE_POINTS)
    observed = smooth.observed()
    gap = observed - 1
    gap += smooth.s
    size = np.abs(gap)
    ici, largest = smooth.mean(size), float(size.max())
    e50, e90 = weighted_quantile(size, smooth.weights, [0.5, 0.9], overwrite=True)
    del size
    influence = smooth.fit.influences(time)
    psi = smooth.psi(observed, gap, ici, influence)
    del gap
    psi = _as_given(psi, rows, np.zeros(len(y)))
    observed = _as_given(observed, rows, np.full(len(y), np.nan))
    predicted = np.subtract(1.0, s, out=s)
    if y.weighted:
        predicted[y.weight == 0] = np.nan
    convention |= {
        "time": time,
        "smoother": "Cox model of the test outcomes on log(-log(1 - p))",
        "terms": smooth.terms,
        "knots": smooth.knots.tolist(),
        "ties": ties,
        "probability": "from curves" if isinstance(curves, SurvivalCurves) else probability,
    }
    known = {"events": support["events_by_time"], "freedom": freedom(psi, y.weight)}
    law = smooth.law(ici, influence, **known)
    del influence
    support |= {
        "moved_from_0_or_1": smooth.moved,
        "converged": smooth.fit.converged,
        "expected_if_calibrated": float("nan") if law is None else law.expected_if_calibrated,
    }
    return ICIResult(
        ici, float(e50), float(e90), largest, predicted, observed, grid,
        smooth.at(1 - grid), psi, y.weight if y.weighted else None, convention, support,
        smooth, law,
    )  # fmt: skip


def _present_by_time(y: Outcomes) -> Ints:
    """Rows by time, without subjects of weight zero."""
    order = y.order()
    if not y.weighted or (y.weight > 0).all():
        return order
    return order[y.weight[order] > 0]


def _as_given(values: Floats, rows: Ints, out: Floats) -> Floats:
    """Put values back to where the subjects came from."""
    out[rows] = values
    return out


def _events_by(by_time: Outcomes, time: float) -> dict[str, Any]:
    """How much was observed by a time."""
    died = by_time.event[: by_time.time.searchsorted(time, "right")]
    known = by_time.event[: by_time.time.searchsorted(time)]
    return {
        "events_by_time": float(by_time.weight[: died.size][died].sum()),
        "censored_before_time": int(known.size - known.sum()),
    }


class _Smooth:
    """The fitted smoother with its derivatives, so that replicates need no new fit.

    Subjects are by time; `rows` says where they came from.
    """

    def __init__(
        self, y: Outcomes, s: Floats, rows: Ints, time: float, knots: int, ties: str
    ) -> None:
        self.s, self.rows, self.time = s, rows, time
        self.weight: Floats = y.weight
        self.weights = y.weight if y.weighted else None
        x, self.moved = log_log(s)
        self.terms, self.knots = _choose_knots(x, self.weights, knots)
        self.fit = self._fitted(y, x, ties)
        if self.terms == "spline" and not self.fit.identified:
            self.terms, self.knots = "line", np.empty(0)
            self.fit = self._fitted(y, x, ties)
        if not self.fit.identified:
            raise UndefinedMetricError(
                "integrated_calibration_index is not identified by these outcomes: the curve of "
                "observed on predicted probabilities has no best slope, as when every event has "
                "the highest prediction of all who are still at risk"
            )
        self.hazard = self.fit.hazard(time)

    def _fitted(self, y: Outcomes, x: Floats, ties: str) -> CoxRegression:
        # Columns are standardised in place.
        columns = self._columns(x.copy() if self.terms == "line" else x)
        return CoxRegression.of(PartialLikelihood(y.time, y.event, y.weight, columns, ties))

    def observed(self) -> Floats:
        """Smooth observed probability of each subject."""
        return self._probability(self.fit.relative_risk(), self.hazard)

    @staticmethod
    def _probability(relative: Floats, hazard: float) -> Floats:
        """1 - exp(-hazard relative), in place."""
        relative *= -hazard
        np.expm1(relative, out=relative)
        return np.negative(relative, out=relative)

    def mean(self, values: Floats) -> float:
        """Average over subjects."""
        if self.weights is None:
            return float(values.mean())
        return float(np.average(values, weights=self.weights))

    def _columns(self, x: Floats) -> Floats:
        if self.terms == "spline":
            return restricted_cubic_spline(x, self.knots)
        return x[None, :] if self.terms == "line" else np.zeros((1, x.size))

    def at(self, s: Floats) -> Floats:
        """Smooth observed probability for predicted survival `s`."""
        columns = self._columns(log_log(s)[0])
        return self._probability(np.exp(self.fit.log_risk(columns)), self.hazard)

    @cached_property
    def _changes(self) -> Floats:
        return self.fit.influences(self.time)

    def changes(self) -> tuple[Floats, Floats]:
        """Derivatives of (beta, hazard) with respect to each frequency."""
        return self._changes[:-1], self._changes[-1]

    def psi(self, observed: Floats, gap: Floats, ici: float, influence: Floats) -> Floats:
        """First-order contributions to the mean distance; `gap` is overwritten.

        `influence` holds the derivatives of (beta, hazard) by each frequency, (p + 1, n).
        """
        total = float(self.weight.sum())
        # d observed / d hazard and / d beta, averaged with the sign of the distance.
        pull = self.fit.relative_risk()
        for part in chunks(pull.size):
            pull[part] *= (1 - observed[part]) * np.sign(gap[part]) * (self.weight[part] / total)
        size, sums = float(pull.sum()), self.fit.column_sums(pull)
        del pull
        change = combine(np.append(self.fit.per_unit(sums * self.hazard), size), influence)
        np.abs(gap, out=gap)
        gap -= ici
        gap /= total
        change += gap
        change *= self.weight
        return change

    def law(
        self, ici: float, influence: Floats, clusters: Clusters | None = None, *,
        events: float = float("inf"), freedom: float = float("inf"),
    ) -> SmoothGap | None:  # fmt: skip
        """How the mean distance varies, from subjects at even ranks of the prediction."""
        if not self.hazard > 0 or (clusters is not None and clusters.number < 2):
            return None
        s, weight = self._at_even_ranks()
        x = log_log(s)[0]
        columns = self._columns(x.copy())
        gap = self.fit.log_risk(columns) + np.log(self.hazard) - x
        change = np.vstack((columns - self.fit.mean[:, None], np.full(x.size, 1 / self.hazard))).T
        total = float(self.weight.sum())
        if clusters is not None:
            codes = clusters.codes[self.rows]
            sums = np.array([np.bincount(codes, weights=row * self.weight) for row in influence])
            covariance = np.einsum("ag,bg->ab", sums, sums) * (
                clusters.number / (clusters.number - 1)
            )
            apart = np.abs(self.observed() - (1 - self.s)) - ici
            inside = Clusters(codes, clusters.number).stderr(apart * self.weight / total)
            known = ici, x, gap, weight, change, covariance, inside
            return SmoothGap.of(*known, freedom=clusters.freedom)
        covariance = np.einsum("an,bn,n->ab", influence, influence, self.weight)
        size = np.abs(-np.expm1(-np.exp(x + gap)) - (1 - s))
        spread = np.sqrt(np.average((size - ici) ** 2, weights=weight) / total)
        if np.isfinite(events):  # the coefficients fit the events that they are judged by
            covariance *= events / max(events - influence.shape[0], 1.0)
        return SmoothGap.of(ici, x, gap, weight, change, covariance, float(spread), freedom)

    def _at_even_ranks(self) -> tuple[Floats, Floats]:
        """Predictions of some subjects at even ranks, frequencies counted, and their weights."""
        if self.weights is None:
            s, end = np.sort(self.s), np.arange(1.0, self.s.size + 1)
            weight = np.ones(s.size)
        else:
            order = sorting_order(self.s)
            s, weight = self.s[order], self.weights[order]
            end = np.cumsum(weight)
        if end[-1] <= _POINTS:
            return s, weight
        ranks = (np.arange(_POINTS) + 0.5) * (end[-1] / _POINTS)
        return s[end.searchsorted(ranks)], np.ones(_POINTS)

    def resampled(self, counts: Floats) -> float:
        """Mean distance under other frequencies, by one Newton step."""
        drawn = counts[self.rows]
        *step, rise = product(self._changes, drawn - self.weight)
        # With very few events a step may leave every bound; such a replicate counts as undefined.
        with np.errstate(over="ignore", invalid="ignore"):
            relative = self.fit.relative_risk(np.array(step))
            gap = self._probability(relative, max(self.hazard + float(rise), 0.0))
            gap -= 1.0
            gap += self.s
            np.abs(gap, out=gap)
        return dot(gap, drawn) / float(drawn.sum())


def _choose_knots(x: Floats, weight: Floats | None, knots: int) -> tuple[str, Floats]:
    """Knots at Harrell's quantiles where predictions are varied enough, else fewer terms."""
    if not x.max() > x.min():
        return "constant", np.empty(0)
    where = np.atleast_1d(weighted_quantile(x, weight, list(_KNOTS[knots])))
    # Quantiles between two values make distinct knots out of too few different predictions.
    if (np.diff(where) > 0).all() and _different(x, knots):
        return "spline", where
    return "line", np.empty(0)


def _different(x: Floats, least: int) -> bool:
    """Whether there are that many different values; the first ones usually tell."""
    return any(np.unique(some).size >= least for some in (x[:_FIRST], x))


def restricted_cubic_spline(x: Floats, knots: Floats) -> Floats:
    """Columns of a cubic spline that is linear outside its knots: (K - 1, n), x itself first.

    With knots k_1 < ... < k_K and (u)+ the positive part, column j is
    [(x-k_j)+^3 - (x-k_{K-1})+^3 (k_K-k_j)/(k_K-k_{K-1}) + (x-k_K)+^3 (k_{K-1}-k_j)/(k_K-k_{K-1})]
    over (k_K - k_1)^2.

    >>> restricted_cubic_spline(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    array([[0.  , 1.  , 3.  ],
           [0.  , 0.25, 3.  ]])
    """
    columns = np.empty((knots.size - 1, x.size))
    columns[0] = x
    last, previous = knots[-1], knots[-2]
    for part in chunks(x.size):  # so that the powers fit the cache
        past = [np.maximum(x[part] - knot, 0.0) for knot in knots]
        past = [u * u * u for u in past]  # a power takes ten times as long
        for column, knot, cube in zip(columns[1:], knots[:-2], past[:-2], strict=True):
            share = (last - knot) / (last - previous)
            bend = cube - past[-2] * share + past[-1] * (share - 1)
            column[part] = bend / (last - knots[0]) ** 2
    return columns
