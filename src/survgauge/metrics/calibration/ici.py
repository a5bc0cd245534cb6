"""ICI: mean distance of predictions from a smooth curve of the observed risk at one time.

The smoother is a regression of what was observed on a spline of the prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import (
    Bools,
    Floats,
    Ints,
    combine,
    dot,
    repeated,
    sorting_order,
    whole_number,
)
from ..._tools.frames import refuse_other_order
from ..._tools.running import chunks
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.cox import TIES, CoxRegression
from ..checks import read_curves
from ..score import Clusters, freedom
from .distance_intervals import Distance, SmoothGap, SmoothRiskGap
from .inputs import (
    Pseudo,
    StatusAtTime,
    checked_time,
    description,
    events_by,
    log_log,
    put_back,
    read_past,
    refuse_past_follow_up,
    survival_at,
)
from .weak_calibration import LeastSquares

# Where Harrell puts the knots: quantiles of the covariate.
KNOTS = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
}
#: Subjects by which the distribution of the mean distance is told.
_POINTS = 64
#: Least eigenvalue of the correlation of columns that outcomes tell apart.
_FLAT = 1e-10


class PseudoRegression:
    """Regression of pseudo-observations on few columns, read like `CoxRegression`.

    The hazard that it tells is that of the one time, exp of the constant at the columns' means.

    Attributes
    ----------
    beta, mean : ndarray of shape (p,)
        Coefficients per unit of the columns, 0 for constant ones; weighted means of the columns.
    converged, identified : bool
        Whether there is one best fit.
    """

    def __init__(self, pseudo: Pseudo, columns: Floats) -> None:
        """Fit; `columns` are overwritten."""
        weight, total = pseudo.weight, float(pseudo.weight.sum())
        self._weight = weight
        self.mean: Floats = np.array([dot(column, weight) for column in columns]) / total
        columns -= self.mean[:, None]
        spread = np.sqrt(np.array([dot(column**2, weight) / total for column in columns]))
        self._used: Bools = spread > 0
        self._scale: Floats = spread[self._used]
        self.beta: Floats = np.zeros(self.mean.size)
        self._hazard = -np.log(pseudo.survival)
        self.converged = self.identified = False
        #: The standardised columns.
        self._design: Floats = columns if self._used.all() else columns[self._used]
        self._design /= self._scale[:, None]
        if not _tells_apart(self._design, weight):
            return
        start = np.append(np.zeros(self._scale.size), np.log(self._hazard))
        try:
            self._fit = LeastSquares.fit(pseudo, self._design, repeated(0.0, weight.size), start)
            np.linalg.inv(self._fit.information)
        except (UndefinedMetricError, np.linalg.LinAlgError):
            return
        self.converged = self.identified = True
        self.beta[self._used] = self._fit.beta[:-1] / self._scale
        self._hazard = float(np.exp(self._fit.beta[-1]))

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        risk: Floats = self.beta @ columns - float(self.beta @ self.mean)
        return risk

    def hazard(self, t: float) -> float:
        """-log of the probability to be free of the event at the one time."""
        return self._hazard

    def influences(self, t: float) -> Floats:
        """Derivatives of `beta` and of the hazard by each subject's frequency: (p + 1, n)."""
        moved = self._fit.influence()
        moved /= self._weight
        moved[:-1] /= self._scale[:, None]
        moved[-1] *= self._hazard
        if self._used.all():
            return moved
        found = np.zeros((self.mean.size + 1, self._weight.size))
        found[np.append(self._used, True)] = moved
        return found


def _tells_apart(columns: Floats, weight: Floats) -> bool:
    """Whether no standardised column is a combination of the others."""
    if not columns.shape[0]:
        return True
    correlation = (columns * (weight / weight.sum())) @ columns.T
    return bool(np.linalg.eigvalsh(correlation)[0] > _FLAT)


#: A fit of what was observed to few columns of subjects.
Regress = Callable[[Floats], CoxRegression | PseudoRegression]


class SmoothFit:
    """The fitted smoother with its derivatives, so that replicates need no new fit.

    `rows` says where the subjects came from, `weights` how often each is there, and `gap` how the
    mean distance of such a fit varies.
    """

    def __init__(
        self, s: Floats, weights: Floats | None, rows: Ints, time: float, knots: int,
        regress: Regress, gap: type[SmoothGap],
    ) -> None:  # fmt: skip
        self._gap = gap
        self.s, self.rows, self.time = s, rows, time
        self.weight: Floats = repeated(1.0, s.size) if weights is None else weights
        self.weights = weights
        x, self.moved = log_log(s)
        self.terms, self.knots = _choose_knots(x, weights, knots)
        self.fit = regress(self._columns(x))
        if self.terms == "spline" and not self.fit.identified:
            self.terms, self.knots = "line", np.empty(0)
            self.fit = regress(self._columns(x))
        if not self.fit.identified:
            raise UndefinedMetricError(
                "the smooth calibration curve is not identified by these outcomes: observed on "
                "predicted probabilities has no best slope, as when the events are those of the "
                "highest predictions"
            )
        self.hazard = self.fit.hazard(time)

    def _columns(self, x: Floats) -> Floats:
        """Columns of a fit, which may standardise them in place."""
        if self.terms == "spline":
            return restricted_cubic_spline(x, self.knots)
        return x[None, :].copy() if self.terms == "line" else np.zeros((1, x.size))

    def at(self, s: Floats) -> Floats:
        """Smooth observed probability for predicted survival `s`."""
        relative = np.exp(self.fit.log_risk(self._columns(log_log(s)[0])))
        relative *= -self.hazard
        np.expm1(relative, out=relative)
        return np.negative(relative, out=relative)

    def influence(self, observed: Floats, gap: Floats, ici: float, influence: Floats) -> Floats:
        """First-order contributions to the mean distance; `gap` is overwritten.

        `influence` holds the derivatives of (beta, hazard) by each frequency, (p + 1, n).
        """
        total = float(self.weight.sum())
        # d observed / d hazard and / d beta, averaged with the sign of the distance.
        columns = self._columns(log_log(self.s)[0])
        slope = np.exp(self.fit.log_risk(columns))
        slope *= (1 - observed) * np.sign(gap) * self.weight / total
        columns -= self.fit.mean[:, None]
        size, sums = float(slope.sum()), combine(slope, columns.T)
        del slope, columns
        change = combine(np.append(sums * self.hazard, size), influence)
        np.abs(gap, out=gap)
        gap -= ici
        gap /= total
        change += gap
        change *= self.weight
        return change

    def distribution(
        self, ici: float, influence: Floats, clusters: Clusters | None = None, *,
        events: float = float("inf"), freedom: float = float("inf"),
    ) -> SmoothGap | None:  # fmt: skip
        """How the mean distance varies, from subjects at even ranks of the prediction."""
        if not self.hazard > 0 or (clusters is not None and clusters.number < 2):
            return None
        s, weight = self._at_even_ranks()
        x = log_log(s)[0]
        columns = self._columns(x)
        gap = self.fit.log_risk(columns) + np.log(self.hazard) - x
        change = np.vstack((columns - self.fit.mean[:, None], np.full(x.size, 1 / self.hazard))).T
        total = float(self.weight.sum())
        # The coefficients fit the events that they are judged by.
        fitted = influence.shape[0]
        less = events / max(events - fitted, 1.0) if np.isfinite(events) else 1.0
        if clusters is not None:
            codes = clusters.codes[self.rows]
            sums = np.array([np.bincount(codes, weights=row * self.weight) for row in influence])
            less *= clusters.number / (clusters.number - 1)
            covariance = less * np.einsum("ag,bg->ab", sums, sums)
            apart = np.abs(self.at(self.s) - (1 - self.s)) - ici
            inside = Clusters(codes, clusters.number).stderr(apart * self.weight / total)
            known = ici, x, gap, weight, change, covariance, inside
            return self._gap.of(*known, freedom=clusters.freedom, clustered=True)
        covariance = less * np.einsum("an,bn,n->ab", influence, influence, self.weight)
        size = np.abs(-np.expm1(-np.exp(x + gap)) - (1 - s))
        spread = np.sqrt(np.average((size - ici) ** 2, weights=weight) / total)
        return self._gap.of(ici, x, gap, weight, change, covariance, float(spread), freedom)

    def _at_even_ranks(self) -> tuple[Floats, Floats]:
        """Predictions of some subjects at even ranks, frequencies counted, and their weights."""
        order = sorting_order(self.s)
        s, weight = self.s[order], self.weight[order]
        end = np.cumsum(weight)
        if end[-1] <= _POINTS:
            return s, weight
        ranks = (np.arange(_POINTS) + 0.5) * (end[-1] / _POINTS)
        return s[end.searchsorted(ranks)], np.ones(_POINTS)


def weighted_quantile(
    values: Floats, weight: Floats | None, q: Any, *, overwrite: bool = False
) -> Floats:
    """Quantiles with lines between order statistics (R's type 7), each repeated `weight` times."""
    if weight is None:
        return np.asarray(np.quantile(values, q, overwrite_input=overwrite))
    order = sorting_order(values)
    w, ordered = weight[order], values[order]
    # An order statistic holds its value over w places; where w < 1 it keeps a point of the scale.
    end = np.cumsum(w)
    centre, half = end - (1.0 + w) / 2, np.maximum(w - 1.0, 0.0) / 2
    places = np.stack((centre - half, centre + half), axis=1).ravel()
    return np.interp(np.asarray(q) * (end[-1] - 1.0), places, np.repeat(ordered, 2))


def _choose_knots(x: Floats, weight: Floats | None, knots: int) -> tuple[str, Floats]:
    """Knots at Harrell's quantiles where predictions are varied enough, else fewer terms."""
    if not x.max() > x.min():
        return "constant", np.empty(0)
    where = np.atleast_1d(weighted_quantile(x, weight, list(KNOTS[knots])))
    # Quantiles between two values make distinct knots out of too few different predictions.
    if (np.diff(where) > 0).all() and np.unique(x).size >= knots:
        return "spline", where
    return "line", np.empty(0)


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


_CURVE_POINTS = 100


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ICIResult(Distance):
    """Smooth calibration at one time; a `Score` whose value is `ici`.

    Attributes
    ----------
    ici, e50, e90, emax : float
        Mean, median, 90 % quantile and maximum of ``|observed - predicted|`` over the subjects.
    predicted, observed : ndarray of shape (n,)
        Probability of the event by the time: as predicted, and as smoothed from the outcomes;
        NaN for subjects of weight zero and those who enter at the time or later.
    curve_predicted, curve_observed : ndarray of shape (100,)
        The smooth calibration curve from the lowest to the highest prediction, for plotting.
    contributions : ndarray of shape (n,) or None
        First-order contribution of each subject to the sampling error of `ici`. Where calibration
        is almost perfect the errors are not normal any more, and `stderr` is larger.
    expected_if_calibrated : float
        What `ici` is on average for a perfect model with as many subjects: the smooth curve of the
        outcomes varies, and its distance from the diagonal is never negative. NaN without an event
        by the time.
    """

    e50: float
    e90: float
    emax: float
    predicted: Floats
    observed: Floats
    curve_predicted: Floats
    curve_observed: Floats
    _smooth: SmoothFit

    @property
    def ici(self) -> float:
        """Mean distance of observed from predicted probabilities."""
        return self.value


def integrated_calibration_index(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    probability: str = "survival",
    cause: int | str | None = None,
) -> ICIResult:
    r"""Integrated calibration index: mean distance of predictions from the smooth observed risk.

    With predicted probability p_i of the event by `time` and x_i = log(-log(1 - p_i)), a curve
    through the pseudo-observations of the status at `time` gives the observed probability

    .. math:: o_i = 1 - \exp(-e^{a + f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|,

    with a restricted cubic spline f, fitted by least squares. E50 and E90 are the median and the
    90 % quantile of the same distances. Zero is best. Nothing is assumed about other times: the
    ICI of the true model tends to 0, whatever the shape of its hazards.

    Pseudo-observations are those of Kaplan-Meier. With several causes they are those of
    Aalen-Johansen, and p_i is the predicted incidence of one cause. With delayed entry those who
    entered before `time` take part; their p_i and pseudo-observations are given being event-free
    at entry.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; what happened after `time` does not count.
    curves : SurvivalCurves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves (under delayed entry, given
        being event-free at entry).
    time : float
        Time of interest; not later than the last observed time.
    knots : {3, 4, 5}
        Number of knots, at Harrell's quantiles of x. With too few different predictions for
        distinct knots, or outcomes that do not identify the spline, f is a line; with equal
        predictions it is constant. The convention says which. Outcomes that do not identify the
        line either are refused.
    probability : {"survival", "event"}
        What an array in `curves` holds.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`.

    Returns
    -------
    ICIResult
        Predictions within 1e-10 of 0 or 1 enter the spline as if they were that far away (and the
        distances as they are); `support` counts them.

    References
    ----------
    Austin, Harrell and van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39; their smoother is that
    of `integrated_calibration_index_cox`. Gerds, Andersen and Kattan (2014), Calibration plots for
    risk prediction models in the presence of competing risks, Statistics in Medicine 33
    (pseudo-observations).

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.7, 0.65, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 5.5], [0, 1, 1, 0, 1, 1, 0, 1])
    >>> result = integrated_calibration_index(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.1749, 0.1262, 0.3761)
    """
    return smooth_status(StatusAtTime.of(y_true, curves, time, probability, cause), knots)


def smooth_status(
    status: StatusAtTime,
    knots: int = 3,
    contributions: bool = True,
    clusters: Clusters | None = None,
) -> ICIResult:
    """`integrated_calibration_index`, without its spread where nobody asks for contributions."""
    status = status.regressed()
    weights = status.pseudo.weight if status.y.frequency is not None else None
    regress = partial(PseudoRegression, status.pseudo)
    known = status.s, weights, status.rows, status.time, _checked_knots(knots), regress
    smooth = SmoothFit(*known, SmoothRiskGap)
    convention = status.convention | {"smoother": "spline of log(-log(1 - p))"}
    return _result(status.y, smooth, convention, dict(status.support), contributions, clusters)


def integrated_calibration_index_cox(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
) -> ICIResult:
    r"""Integrated calibration index by a Cox model of the test outcomes, as Austin et al. have it.

    It takes hazards to be proportional between predictions, over the whole follow-up. Where they
    are not, the index of the true model does not tend to 0, but to 0.014 to 0.067 in simulations
    of log-normal times, cure and crossing hazards: `integrated_calibration_index` does.

    With x_i = log(-log(1 - p_i)) a Cox model on a restricted cubic spline f of x gives

    .. math:: o_i = 1 - \exp(-H_0(t) e^{f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes of one kind of event, without delayed entry; all of their follow-up enters
        the Cox model.
    curves, time, knots, probability
        As for `integrated_calibration_index`.
    ties : {"efron", "breslow"}
        Rule for tied events in coefficients and baseline hazard.

    References
    ----------
    Austin, Harrell and van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39.

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 1], [0, 1, 1, 0, 1, 1, 1, 1])
    >>> result = integrated_calibration_index_cox(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.2278, 0.1507, 0.429)
    """
    return smooth_hazards(y_true, curves, time, knots, ties, probability)


def smooth_hazards(
    y_true: Any,
    curves: Any,
    time: float,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
    contributions: bool = True,
    clusters: Clusters | None = None,
) -> ICIResult:
    """`integrated_calibration_index_cox`, without its spread where nobody asks for it."""
    one_of("ties", ties, TIES)
    knots = _checked_knots(knots)
    refuse_other_order(y_true, "y_true", {"curves": curves}, curves=True)
    y, curves = Outcomes.of(y_true, "y_true"), read_curves(curves)
    time = checked_time(time)
    s = survival_at(y, curves, time, probability)
    rows, present = np.flatnonzero(y.weight > 0), y.present()
    refuse_past_follow_up(present, time)
    if not present.event.any():
        raise UndefinedMetricError(
            "integrated_calibration_index_cox needs at least one event in y_true; got none"
        )

    def regress(columns: Floats) -> CoxRegression:
        return CoxRegression(present.time, present.event, present.weight, columns, ties)

    weights = present.weight if y.frequency is not None else None
    smooth = SmoothFit(s[rows], weights, rows, time, knots, regress, SmoothGap)
    convention, support = description(y, curves)
    convention |= {
        "time": time,
        "smoother": "Cox model of the test outcomes on log(-log(1 - p))",
        "ties": ties,
        "probability": "from curves" if isinstance(curves, SurvivalCurves) else probability,
    }
    support |= read_past(y, curves, time) | events_by(present, None, time)
    return _result(y, smooth, convention, support, contributions, clusters)


def _checked_knots(knots: int) -> int:
    knots = whole_number(knots, "knots", 3)
    if knots not in KNOTS:
        raise InputError(f"knots must be 3, 4 or 5; got {knots}")
    return knots


def _result(
    y: Outcomes,
    smooth: SmoothFit,
    convention: dict[str, Any],
    support: dict[str, Any],
    contributions: bool,
    clusters: Clusters | None,
) -> ICIResult:
    """Sum up a smooth curve; its spread takes longer than all the rest."""
    rows, n = smooth.rows, len(y)
    grid = np.linspace(1 - smooth.s.max(), 1 - smooth.s.min(), _CURVE_POINTS)
    observed = smooth.at(smooth.s)
    gap = observed - 1
    gap += smooth.s
    size = np.abs(gap)
    ici, largest = float(np.average(size, weights=smooth.weights)), float(size.max())
    e50, e90 = weighted_quantile(size, smooth.weights, [0.5, 0.9], overwrite=True)
    del size
    contributed: Floats | None = None
    distribution: SmoothGap | None = None
    if contributions:
        influence = smooth.fit.influences(smooth.time)
        contributed = put_back(smooth.influence(observed, gap, ici, influence), rows, n, 0.0)
        del gap
        events = support["events_by_time"]
        distribution = smooth.distribution(
            ici, influence, clusters, events=events, freedom=freedom(contributed, y.weight)
        )
        del influence
    convention |= {"terms": smooth.terms, "knots": smooth.knots.tolist()}
    support |= {"moved_from_0_or_1": smooth.moved, "converged": smooth.fit.converged}
    return ICIResult(
        ici, convention, support, contributed, y.frequency, known=distribution,
        e50=float(e50), e90=float(e90), emax=largest,
        predicted=put_back(1 - smooth.s, rows, n, np.nan),
        observed=put_back(observed, rows, n, np.nan),
        curve_predicted=grid, curve_observed=smooth.at(1 - grid), _smooth=smooth,
    )  # fmt: skip
