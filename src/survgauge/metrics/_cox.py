"""Cox regression for calibration: coefficients and baseline with each subject's influence."""

from __future__ import annotations

import numpy as np

from .._arrays import Bools, Floats, Ints
from .._partial_likelihood import TIES, PartialLikelihood, maximise

__all__ = ["TIES", "CoxRegression"]


class CoxRegression:
    """Cox's model of few columns; see `PartialLikelihood` for the parameters.

    Attributes
    ----------
    beta : ndarray of shape (p,)
        Coefficients per unit of the columns; 0 for constant ones.
    covariance : ndarray of shape (p, p)
        Inverse of the information.
    converged : bool
        False where the likelihood has no maximum that Newton's method finds.
    """

    def __init__(
        self,
        time: Floats,
        event: Bools,
        weight: Floats,
        columns: Floats,
        ties: str,
        order: Ints | None = None,
    ):
        self._fit(PartialLikelihood(time, event, weight, columns, ties, order))

    @classmethod
    def of(cls, likelihood: PartialLikelihood) -> CoxRegression:
        """Fit a likelihood that has its columns already."""
        fit = cls.__new__(cls)
        fit._fit(likelihood)
        return fit

    def _fit(self, likelihood: PartialLikelihood) -> None:
        self._likelihood = likelihood
        self._point, self.converged = maximise(likelihood, single=False)
        self._slopes = likelihood.slopes(self._point)
        inverse = np.linalg.pinv(self._slopes.information, hermitian=True)
        self._inverse: Floats = inverse.astype(np.float64, copy=False)
        self.beta: Floats = likelihood.unscaled(self._point.beta)
        self.covariance: Floats = likelihood.unscaled(likelihood.unscaled(self._inverse).T)

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        centre = float(self.beta @ self._likelihood.mean) + self._point.shift
        risk: Floats = self.beta @ columns
        risk -= centre
        return risk

    def relative_risk(self) -> Floats:
        """exp of `log_risk` of the subjects that the model was fitted to."""
        return self._likelihood.relative_risk(self._point)

    def column_sums(self, values: Floats) -> Floats:
        """Sum of the columns' distances from their means times `values`: (p,); 0 if constant."""
        return self._likelihood.column_sums(values)

    def hazard(self, t: float) -> float:
        """Baseline cumulative hazard at `t`."""
        return float(self._point.hazard_steps @ (self._likelihood.times <= t))

    def influence(self) -> Floats:
        """Derivative of `beta` with respect to each subject's frequency: (p, n)."""
        change = self._likelihood.gradient_influence(self._point, self._slopes)
        influence: Floats = self._likelihood.unscaled(self._inverse) @ change
        return influence

    def influence_along(self, t: float, hazard: float, beta: Floats) -> Floats:
        """Influence on hazard * `hazard(t)` + beta' `beta`, without those on each: (n,)."""
        likelihood = self._likelihood
        scaled, change = likelihood.hazard_influence(self._point, self._slopes, t)
        along = hazard * scaled
        along += beta[likelihood.used] / likelihood.scale
        change *= hazard
        change += likelihood.gradient_influence(self._point, self._slopes, along @ self._inverse)
        return change

    def hazard_influence(self, t: float, influence: Floats) -> tuple[Floats, Floats]:
        """Derivatives of `hazard(t)`: by beta (p,), and by each frequency (n,), in all."""
        likelihood = self._likelihood
        by_beta = np.zeros(self.beta.size)
        scaled, change = likelihood.hazard_influence(self._point, self._slopes, t)
        by_beta[likelihood.used] = scaled * likelihood.scale
        return by_beta, change + by_beta @ influence
