"""Cox regression of a few columns: coefficients and baseline with each subject's influence."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, stored_once
from .._tools.sorting import sorting_order
from ..estimators.partial_likelihood import FLAT, TIES, PartialLikelihood, maximise

__all__ = ["TIES", "CoxRegression"]


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
        order = sorting_order(time)
        weight = weight if stored_once(weight) else weight[order]
        columns = columns.take(order, axis=1)
        self._fit(PartialLikelihood(time[order], event[order], weight, columns, ties), order)

    @classmethod
    def of(cls, likelihood: PartialLikelihood) -> CoxRegression:
        """Fit a likelihood; what is said of its subjects is by time."""
        fit = cls.__new__(cls)
        fit._fit(likelihood, None)
        return fit

    def _fit(self, likelihood: PartialLikelihood, order: Ints | None) -> None:
        self._likelihood, self._order = likelihood, order
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

    def _as_given(self, values: Floats) -> Floats:
        if self._order is None:
            return values
        out = np.empty_like(values)
        out[..., self._order] = values
        return out

    def relative_risk(self) -> Floats:
        """exp of `log_risk` of the subjects that the model was fitted to."""
        relative = self._likelihood.relative_risk(self._point.beta, self._point.shift)
        found = self._as_given(relative)
        return found if self._late is None else found[: self._late[0]]

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
        found = self._as_given(self._likelihood.influence(self._point, slope, hazard, t))
        if self._late is None:
            return found
        number, late = self._late
        found[:, late] -= found[:, number:]
        return found[:, :number]

    def column_sums(self, values: Floats) -> Floats:
        """Sums of the centred columns, times values: (p,)."""
        if self._late is not None:
            values = np.concatenate((values, np.zeros(self._late[1].size)))
        likelihood, found = self._likelihood, np.zeros(self.beta.size)
        sums = likelihood.column_sums(values if self._order is None else values[self._order])
        found[likelihood.used] = sums * likelihood.scale
        return found
