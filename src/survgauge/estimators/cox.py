"""Cox's model: of many features with a penalty, and of few columns with influences.

Everything is made of sums over the steps of an event time (see `RiskSets`):

    a = sum u/(S0 - s D0)    b = sum u (1-s)/(S0 - s D0)    c_k = sum u s^k (S0/(S0 - s D0))^2

with u = d/m, and of the means S1/S0, D1/S0; Breslow's rule has the step s = 0 alone. No p x p
matrix is kept per time: sum_j S2_j a_j = X' diag(r H) X, H the hazard that each subject lived
through.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import (
    Bools,
    Floats,
    Ints,
    combine,
    look_up,
    numbers,
    positive,
    sorting_order,
)
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError, numbered

#: Multiplications of two matrices that BLAS starts no threads for; see `combine`.
_PRODUCTS = 262_144
#: Steps of Efron's rule that are laid out at once.
MOST_STEPS = 5e6


def crossed(a: Floats, b: Floats) -> Floats:
    """a @ b.T."""
    if a.shape[0] == 1:
        return combine(a, b.T)
    size = _PRODUCTS // max(a.shape[0] ** 2, 1)
    total = np.zeros((a.shape[0], b.shape[0]))
    for start in range(0, a.shape[1], size):
        total += a[:, start : start + size] @ b[:, start : start + size].T
    return total


@dataclass(frozen=True)
class _Steps:
    """Efron's steps at the event times, one after the other."""

    start: NDArray[np.intp]
    expand: NDArray[np.intp]
    share: Floats
    unit: Floats

    @classmethod
    def of(cls, events: Floats, ties: str) -> _Steps:
        """Lay them out: as many as there are events at a time, or one."""
        steps = np.maximum(np.rint(events), 1.0) if ties == "efron" else np.ones(events.size)
        if steps.sum() > MOST_STEPS:
            raise UndefinedMetricError(
                f"Efron's rule takes a step for each of {steps.sum():.3g} events at tied times, "
                f"more than {MOST_STEPS:.0e}: make the frequencies smaller, or use ties='breslow'"
            )
        count = steps.astype(np.intp)
        start = np.cumsum(count) - count
        expand = np.repeat(np.arange(count.size), count)
        share = (np.arange(expand.size) - start[expand]) / count[expand]
        return cls(start, expand, share, (events / count)[expand])


@dataclass(frozen=True)
class RiskSets:
    """What is at risk at the event times at one beta: sums and means of r = w exp(x beta - shift).

    Attributes
    ----------
    relative : ndarray of shape (n,)
        exp(x beta - shift).
    at_risk, means, event_means : ndarray of shape (J,), (p, J) and (p, J)
        S0, S1/S0 and D1/S0.
    a, spared : ndarray of shape (J,)
        Sums of u/(S0 - s D0) over the steps of an event time, u = d/m, and of s times that: the
        part that those who have the event are not at risk in.
    c0, c1, c2 : ndarray of shape (J,)
        Sums of u s^k (S0/(S0 - s D0))^2.
    """

    relative: Floats
    at_risk: Floats
    means: Floats
    event_means: Floats
    a: Floats
    spared: Floats
    c0: Floats
    c1: Floats
    c2: Floats


TIES = ("efron", "breslow")
_MAX_STEPS = 60
_MAX_HALVINGS = 40
# Squared length of a Newton step in standard errors at which the step is the last one.
_SMALL = 1e-10
# Curvature left in the flattest direction, relative to that at the start; below it, columns
# are collinear or the likelihood rises for ever (separation).
FLAT = 1e-8
# Relative sizes that cannot be told from rounding: of a curvature, of a column's spread.
_NO_CURVATURE = 1e-15
_NO_SPREAD = 1e-13


@dataclass(frozen=True)
class LikelihoodPoint:
    """The likelihood at one beta, per standard deviation of the columns.

    Risks are w exp(x beta - shift), so that none overflows. Gradient (p,) and information (p, p),
    the negative Hessian, mean something where the value is finite.
    """

    beta: Floats
    shift: float
    value: float
    gradient: Floats
    information: Floats
    sets: RiskSets


class PartialLikelihood:
    """The likelihood on standardised columns, in O(n p) memory.

    Parameters
    ----------
    time, event, weight : ndarray of shape (n,)
        Outcomes by time, with positive frequencies and at least one event. A censored row of
        negative frequency takes a subject out of the risk sets up to its time.
    columns : ndarray of shape (p, n)
        Covariates of the same subjects, overwritten; constant ones are left out.
    ties : {"efron", "breslow"}
        With frequencies, Efron's rule counts the sum of the events' frequencies as their number
        (to the nearest whole number), so that whole frequencies equal replicated rows.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Column values at which the linear predictor is 0.
    used : ndarray of shape (p,)
        Which columns vary.
    scale : ndarray
        Standard deviations of those.
    events : float
        Number of events, frequencies counted.
    times : ndarray of shape (J,)
        Distinct event times.
    """

    def __init__(self, time: Floats, event: Bools, weight: Floats, columns: Floats, ties: str):
        self._standardise(columns, weight)
        self._weight, self._died = weight, np.flatnonzero(event)
        #: Event time of each who has the event, and the first of them at each.
        times, own = time[self._died], weight[self._died]
        self.times, self._first, self._at = np.unique(times, return_index=True, return_inverse=True)
        #: First subject at each event time, and the number of event times up to each subject's own.
        self._start = time.searchsorted(self.times)
        self._lived = self.times.searchsorted(time, "right")
        self._events = np.add.reduceat(own, self._first)
        self._steps = _Steps.of(self._events, ties)
        self.events = float(own.sum())
        self._event_sum = combine(own, self._x[:, self._died].T)

    def _standardise(self, x: Floats, weight: Floats) -> None:
        weight = np.maximum(weight, 0.0)
        # Differences from one subject: the mean of a constant must not round.
        origin = x[:, :1].copy()
        x -= origin
        shift = combine(weight, x.T) / weight.sum()
        x -= shift[:, None]
        spread = np.sqrt(np.einsum("kn,kn,n->k", x, x, weight) / weight.sum())
        self.mean: Floats = origin[:, 0] + shift
        self.used: Bools = spread > _NO_SPREAD * np.abs(self.mean)
        self.scale: Floats = spread[self.used]
        self._x = x if self.used.all() else x[self.used]
        self._x /= self.scale[:, None]

    def unscaled(self, values: Floats) -> Floats:
        """Values per unit of all columns from those per standard deviation of the used ones."""
        out = np.zeros((self.used.size, *values.shape[1:]))
        out[self.used] = (values.T / self.scale).T
        return out

    def _over_events(self, values: Floats) -> Floats:
        """Sums over those who have the event at each event time, (..., J)."""
        return np.add.reduceat(values[..., self._died], self._first, axis=-1)

    def _at_risk(self, values: Floats) -> Floats:
        """Sums over those at risk at each event time, (..., J)."""
        sums = values[..., ::-1].cumsum(axis=-1)
        return sums.take(values.shape[-1] - 1 - self._start, axis=-1)

    def _lived_through(self, steps: Floats, spared: Floats) -> Floats:
        """Sum of `steps` over the event times that each subject lived through, (..., n).

        Those who have the event are at risk in a part of its steps only: `spared` is the rest.
        """
        sums = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
        steps.cumsum(axis=-1, out=sums[..., 1:])
        total: Floats = sums.take(self._lived, axis=-1)
        total[..., self._died] -= spared.take(self._at, axis=-1)
        return total

    @np.errstate(all="ignore")
    def at(self, beta: Floats) -> LikelihoodPoint:
        """Log-likelihood at beta: minus infinity where a risk set is numerically empty."""
        predictor = combine(beta, self._x)
        shift = float(predictor.max())
        relative = np.exp(predictor - shift)
        risk, steps = relative * self._weight, self._steps
        weighted = self._x * risk
        s0 = self._at_risk(risk)
        means, event_means = self._at_risk(weighted) / s0, self._over_events(weighted) / s0
        whole = s0[steps.expand]
        left = whole - steps.share * self._over_events(risk)[steps.expand]
        first = steps.unit / left
        second = first * whole * (whole / left)
        third = second * steps.share
        terms = (first, first * steps.share, second, third, third * steps.share)
        a, spared, c0, c1, c2 = (np.add.reduceat(term, steps.start) for term in terms)
        value = float(beta @ self._event_sum) - shift * self.events
        value -= float((steps.unit * np.log(left)).sum())
        gradient = self._event_sum - combine(a * s0, means.T) + combine(spared * s0, event_means.T)
        weighted *= self._lived_through(a, spared)
        cross = crossed(means * c1, event_means)
        information = crossed(weighted, self._x) - crossed(means * c0, means) + cross + cross.T
        information -= crossed(event_means * c2, event_means)
        if not np.isfinite(value + float(a.sum())):
            value = -np.inf
        sets = RiskSets(relative, s0, means, event_means, a, spared, c0, c1, c2)
        return LikelihoodPoint(beta, shift, value, gradient, information, sets)

    def hazard(self, point: LikelihoodPoint, t: float) -> tuple[float, Floats]:
        """Sum of the steps of the baseline hazard up to t, and its derivative by beta (p,)."""
        sets, known = point.sets, self.times <= t
        rate = known / sets.at_risk
        slope = combine(sets.c1 * rate, sets.event_means.T) - combine(sets.c0 * rate, sets.means.T)
        return float((sets.a * known).sum()), slope

    @np.errstate(over="ignore", invalid="ignore")  # separated data have no bounds
    def influence(self, point: LikelihoodPoint, slope: Floats, hazard: Floats, t: float) -> Floats:
        """Derivatives with respect to each subject's frequency at fixed beta, by time: (q, n).

        Those of slope (q, p) times the gradient plus hazard (q,) times the hazard up to t.
        """
        sets, s0 = point.sets, point.sets.at_risk
        mean, event_mean = combine(slope, sets.means), combine(slope, sets.event_means)
        mean -= hazard[:, None] * (self.times <= t) / s0
        steps = (mean * sets.c0 - event_mean * sets.c1) / s0
        spared = (mean * sets.c1 - event_mean * sets.c2) / s0
        at_event = (mean * sets.a - event_mean * sets.spared) * s0 / self._events
        x = combine(slope, self._x)
        change = self._lived_through(steps, spared)
        change -= x * self._lived_through(sets.a, sets.spared)
        change *= sets.relative
        change[:, self._died] += x[:, self._died] - at_event.take(self._at, axis=-1)
        return change


def maximise(
    likelihood: PartialLikelihood, penalty: float = 0.0, *, single: bool = True
) -> tuple[LikelihoodPoint, bool]:
    """Newton's method from zero, halving steps that lose; says whether a maximum was found.

    The objective is the likelihood minus penalty/2 times the squared length of beta. Where it is
    flat in a direction there is no finite or no single maximum: `single` gives up, otherwise beta
    stays put in that direction.
    """
    point = likelihood.at(np.zeros(likelihood.scale.size))
    ridge = penalty * np.eye(likelihood.scale.size)
    scale: Floats | None = None
    for _ in range(_MAX_STEPS):
        gradient, information = point.gradient - penalty * point.beta, point.information + ridge
        if scale is None:
            scale = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
        curvature, basis = np.linalg.eigh(information / np.outer(scale, scale))
        if single and (curvature < FLAT).any():
            return point, False
        along = basis.T @ (gradient / scale)
        curved = curvature > _NO_CURVATURE
        move = np.where(curved, along, 0.0) / np.where(curved, curvature, 1.0)
        following = _line_search(likelihood, point, (basis @ move) / scale, penalty)
        if following is None:
            return point, False
        point = following
        if along @ move < _SMALL:
            return point, True
    return point, False


def _line_search(
    likelihood: PartialLikelihood, start: LikelihoodPoint, step: Floats, penalty: float
) -> LikelihoodPoint | None:
    """Halve a step until it does not lose."""

    def objective(point: LikelihoodPoint) -> float:
        return point.value - penalty / 2 * float(point.beta @ point.beta)

    least = objective(start) - 1e-12 * (1 + abs(start.value))
    for halving in range(_MAX_HALVINGS):
        point = likelihood.at(start.beta + step / 2**halving)
        if objective(point) >= least:
            return point
    return None


class CoxRegression:
    """Cox's model of few columns; see `PartialLikelihood` for the parameters, in any order.

    Under delayed entry a subject is at risk at t if entry < t <= time. These are all with
    t <= time, less all with t <= entry: so it is a row at its time, and one of negative weight,
    censored, at its entry.

    Parameters
    ----------
    entry : ndarray of shape (n,), optional
        Delayed entry.

    Attributes
    ----------
    beta : ndarray of shape (p,)
        Coefficients per unit of the columns; 0 for constant ones.
    mean : ndarray of shape (p,)
        Weighted mean of each column.
    covariance : ndarray of shape (p, p)
        Inverse of the information.
    converged : bool
        False where the likelihood has no maximum that Newton's method finds.
    identified : bool
        False where the likelihood is flat at what was found: it does not depend on some combination
        of the columns, or rises for ever along it (separated outcomes).
    """

    #: Number of subjects, and the rows of those who enter late; None: nobody does.
    _late: tuple[int, Ints] | None = None

    def __init__(
        self,
        time: Floats,
        event: Bools,
        weight: Floats,
        columns: Floats,
        ties: str,
        entry: Floats | None = None,
    ) -> None:
        if entry is not None:
            late = np.flatnonzero(entry > 0)
            self._late = time.size, late
            time = np.concatenate((time, entry[late]))
            event = np.concatenate((event, np.zeros(late.size, dtype=np.bool_)))
            weight = np.concatenate((weight, -weight[late]))
            columns = np.concatenate((columns, columns[:, late]), axis=1)
        self._order = order = sorting_order(time)
        columns = columns.take(order, axis=1)
        likelihood = PartialLikelihood(time[order], event[order], weight[order], columns, ties)
        self._likelihood = likelihood
        self._hazards: dict[float, tuple[float, Floats]] = {}
        self._point, self.converged = maximise(likelihood, single=False)
        self.identified = self._point_is_single()
        inverse = np.linalg.pinv(self._point.information, hermitian=True)
        self._inverse: Floats = inverse.astype(np.float64, copy=False)
        self.mean = likelihood.mean
        self.beta: Floats = likelihood.unscaled(self._point.beta)
        self.covariance: Floats = likelihood.unscaled(likelihood.unscaled(self._inverse).T)

    def _point_is_single(self) -> bool:
        # Columns are standardised: at beta = 0 an event adds about one to the information.
        information = self._point.information / self._likelihood.events
        if not information.size:
            return True
        known = self.converged and bool(np.isfinite(information).all())
        return known and bool(np.linalg.eigvalsh(information)[0] > FLAT)

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        centre = float(self.beta @ self.mean) + self._point.shift
        risk: Floats = self.beta @ columns
        risk -= centre
        return risk

    def hazard(self, t: float) -> float:
        """Baseline cumulative hazard at `t`."""
        return self._hazard(t)[0]

    def _hazard(self, t: float) -> tuple[float, Floats]:
        """The hazard and its derivative by beta; callers of one often need the other."""
        if t not in self._hazards:
            self._hazards[t] = self._likelihood.hazard(self._point, t)
        return self._hazards[t]

    def influence(self) -> Floats:
        """Derivative of `beta` with respect to each subject's frequency: (p, n)."""
        slope = self._likelihood.unscaled(self._inverse)
        return self._influence(slope, np.zeros(self.beta.size), 0.0)

    def influences(self, t: float) -> Floats:
        """Derivatives of `beta` and of `hazard(t)` by each subject's frequency: (p + 1, n)."""
        by_beta = self._hazard(t)[1]
        slope = np.vstack((self._likelihood.unscaled(self._inverse), by_beta @ self._inverse))
        return self._influence(slope, np.append(np.zeros(self.beta.size), 1.0), t)

    def _influence(self, slope: Floats, hazard: Floats, t: float) -> Floats:
        found = np.empty((hazard.size, self._order.size))
        found[:, self._order] = self._likelihood.influence(self._point, slope, hazard, t)
        if self._late is None:
            return found
        number, late = self._late
        found[:, late] -= found[:, number:]
        return found[:, :number]


#: Penalty on standardised coefficients that takes over where the likelihood has no maximum.
FALLBACK_PENALTY = 1.0


@dataclass(frozen=True)
class CoxModel:
    r"""Proportional hazards: :math:`H(t \mid x) = H_0(t) \exp((x - \bar x)^\top \beta)`.

    The coefficients maximise Breslow's partial likelihood, in which tied events share one risk
    set, minus :math:`\tfrac{\lambda}{2} \lVert \beta \cdot sd \rVert^2`; the baseline is
    :math:`H_0(t) = \sum_{t_k \le t} d_k / \sum_{j: t_j \ge t_k} \exp((x_j - \bar x)^\top \beta)`.

    Attributes
    ----------
    coefficients : ndarray of shape (p,)
        Log hazard ratio per unit of each column; 0 for constant columns.
    means : ndarray of shape (p,)
        Feature values at which the baseline holds.
    times, cumulative_hazard : ndarray
        Distinct event times and the baseline there.
    log_likelihood : float
        Partial log-likelihood at the maximum, without the penalty.
    penalty : float
        The l2 penalty in use: the one asked for, or `FALLBACK_PENALTY` where the likelihood has
        no maximum without.
    notes : tuple of str
        What was done about constant columns, collinearity or separation.

    Examples
    --------
    >>> model = CoxModel.fit([[0], [1], [0], [1]], ([4, 3, 2, 1], [1, 1, 1, 1]))
    >>> model.coefficients.round(3)
    array([0.941])
    >>> model.log_risk([[0], [1]]).round(3)
    array([-0.47,  0.47])
    """

    coefficients: Floats
    means: Floats
    times: Floats
    cumulative_hazard: Floats
    log_likelihood: float
    penalty: float = 0.0
    notes: tuple[str, ...] = ()

    @classmethod
    def fit(cls, X: Any, y: Any, penalty: float = 0.0) -> CoxModel:
        """Fit by Newton steps, halved where they overshoot.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Numbers without gaps. Columns are standardised inside; scale does not matter.
        y : outcomes
            Anything that `Outcomes.of` reads; weights are frequencies.
        penalty : float
            l2 penalty on the standardised coefficients.
        """
        positive(penalty, "penalty", zero=True)
        features, outcomes = _checked(X, y)
        outcomes, columns = _by_time(outcomes, features)
        likelihood = PartialLikelihood(
            outcomes.time, outcomes.event, outcomes.weight, columns, "breslow"
        )
        notes: list[str] = []
        if not likelihood.used.all():
            constant = numbered(np.flatnonzero(~likelihood.used), "column")
            notes.append(f"constant {constant} left out (coefficient 0)")
        best, found = maximise(likelihood, penalty)
        if not found and penalty < FALLBACK_PENALTY:
            penalty = FALLBACK_PENALTY
            notes.append(
                "the likelihood has no finite or no single maximum (collinear columns or "
                f"separation); l2 penalty {penalty:g} on standardised columns used"
            )
            best, found = maximise(likelihood, penalty)
        if not found:
            raise InputError(
                "X does not allow a Cox fit: Newton's method found no maximum; look for extreme "
                f"values or ask for a penalty larger than {penalty:g}"
            )
        hazard = np.cumsum(best.sets.a) * np.exp(-best.shift)
        return cls(
            likelihood.unscaled(best.beta), likelihood.mean, likelihood.times, hazard, best.value,
            penalty, tuple(notes),
        )  # fmt: skip

    @classmethod
    def fit_censoring(cls, X: Any, y: Any, penalty: float = 0.0) -> CoxModel:
        """Model of the censoring time: censorings count, events end the observation.

        At equal times events leave the risk set first, as in `KaplanMeier.fit_censoring`: without
        features the baseline is the sum of c/(n - d).
        """
        outcomes = Outcomes.of(y)
        if outcomes.event.all():
            raise InputError("y must have at least one censored subject; got events only")
        distinct = np.unique(outcomes.time)
        model = cls.fit(X, censoring_outcomes(outcomes, distinct), penalty)
        return replace(model, times=distinct[(model.times // 2).astype(np.intp)])

    def log_risk(self, X: Any) -> Floats:
        """Log hazard ratio against a subject with average features: (n,)."""
        features = feature_matrix(X)
        if features.shape[1] != self.coefficients.size:
            raise InputError(
                f"X must have {self.coefficients.size} columns, as in fit; got {features.shape[1]}"
            )
        return (features - self.means) @ self.coefficients

    def survival(self, X: Any, times: Any = None) -> Floats:
        """Survival probability at `times` (default: the event times): (n, m)."""
        grid = self.times if times is None else numbers(times, "times").astype(np.float64)
        steps = np.concatenate(([0.0], self.cumulative_hazard))
        hazard = steps[self.times.searchsorted(grid, "right")]
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = np.exp(self.log_risk(X))[:, None] * hazard
        # An infinite risk times no hazard: nothing has happened yet.
        survival: Floats = np.exp(-np.where(np.isnan(exponent), 0.0, exponent))
        return survival

    def time_at(self, X: Any, amount: Any) -> Floats:
        """First time at which subject i has gathered more cumulative hazard than amount[i].

        Infinite where the baseline ends before that: with unit exponential amounts this draws from
        the model, subject by subject, without an n x m matrix.
        """
        amounts = numbers(amount, "amount").astype(np.float64)
        risk = self.log_risk(X)
        if amounts.shape != risk.shape:
            raise InputError(f"amount must have one entry per row of X; got {amounts.shape}")
        with np.errstate(divide="ignore"):
            wanted = np.log(amounts) - risk
            table = np.log(self.cumulative_hazard)
        ends = np.concatenate((self.times, [np.inf]))
        return ends[look_up(table, wanted, "right")]


def censoring_outcomes(y: Outcomes, grid: Floats) -> Outcomes:
    """Outcomes of the censoring time, coded on a grid of times: events just before censorings."""
    code = 2.0 * look_up(grid, y.time, "left") + ~y.event
    return Outcomes(code, ~y.event, y.frequency)


def feature_matrix(X: Any) -> Floats:
    """Read features: a matrix of finite numbers."""
    features = numbers(X, "X", ndim=2).astype(np.float64, copy=False)
    if not np.isfinite(features).all():
        columns = np.flatnonzero(~np.isfinite(features).all(axis=0))
        raise InputError(
            "X must be finite; there are NaN or infinite values in "
            f"{numbered(columns, 'column')}: fill them first"
        )
    return features


def _checked(X: Any, y: Any) -> tuple[Floats, Outcomes]:
    """Check features against outcomes; leave out subjects of weight zero."""
    features, outcomes = feature_matrix(X), Outcomes.of(y)
    if features.shape[0] != len(outcomes):
        raise InputError(
            f"X must have one row per subject; y has {len(outcomes)}, X has {features.shape[0]}"
        )
    present = outcomes.present()
    if present is not outcomes:
        features = features[outcomes.weight > 0]
    if not present.event.any():
        raise InputError("y must have at least one event to fit a Cox model; got none")
    return features, present


def _by_time(outcomes: Outcomes, features: Floats) -> tuple[Outcomes, Floats]:
    """Outcomes by time, and the columns of the same subjects: (p, n)."""
    order = outcomes.order()
    return outcomes[order], features.T.take(order, axis=1)
