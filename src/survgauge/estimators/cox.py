"""Cox's model: of many features with a penalty, and of few columns with influences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._tools.arrays import (
    Bools,
    Floats,
    Ints,
    look_up,
    numbers,
    positive,
    sorting_order,
)
from ..data.outcomes import Outcomes
from ..errors import InputError, numbered
from .partial_likelihood import FLAT, PartialLikelihood, maximise


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
    return Outcomes(code, ~y.event, y.weight if y.weighted else None)


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
