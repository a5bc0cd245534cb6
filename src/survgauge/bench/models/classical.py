"""Linear regression, Kaplan-Meier, Cox, and Weibull regression fitted by lifelines."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive, whole_number
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.cox import CoxModel
from ...estimators.kaplan_meier import KaplanMeier
from ...estimators.learners import FitError, describe
from ...estimators.learners.base import SurvivalModel
from ...estimators.learners.trees import above_zero, smooth_grid, step_times
from .registry import FACTS

_LARGEST_PENALTY = 1.0


@dataclass(eq=False, repr=False)
class LinearTime(SurvivalModel):
    """Linear regression of the event time on the uncensored rows; times out, no curves.

    Censored rows are left out, so that times are underestimated: the model is a yardstick.
    Collinear columns share their effect (the shortest solution on standardised columns).

    Parameters
    ----------
    floor : float or None
        Predicted times below it are raised to it, since a line has no limit; None: keep them.

    Examples
    --------
    >>> model = LinearTime().fit([[1], [2], [3], [9]], ([10, 20, 30, 5], [1, 1, 1, 0]))
    >>> model.predict_time([[4], [-3]]).round(6)
    array([40.,  0.])
    """

    facts = FACTS["lr"]
    handles_weights = True

    floor: float | None = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        if self.floor is not None and not np.isfinite(self.floor):
            raise InputError(f"floor must be a finite number or None; got {self.floor}")
        rows, time, weight = X[y.event], y.time[y.event], y.weight[y.event]
        self.means_ = np.average(rows, axis=0, weights=weight)
        centred = rows - self.means_
        spread = np.sqrt(np.average(centred**2, axis=0, weights=weight))
        # Rounding leaves some spread in columns that are constant.
        varies = spread > 1e-10 * np.abs(rows).max(axis=0, initial=0.0)
        self.intercept_ = float(np.average(time, weights=weight))
        root = np.sqrt(weight)
        design = centred[:, varies] / spread[varies] * root[:, None]
        slopes, *_ = np.linalg.lstsq(design, (time - self.intercept_) * root, rcond=1e-10)
        self.coefficients_ = np.zeros(X.shape[1])
        self.coefficients_[varies] = slopes / spread[varies]

    def _predict_time(self, X: Floats) -> Floats:
        time: Floats = self.intercept_ + (X - self.means_) @ self.coefficients_
        return time if self.floor is None else np.maximum(time, self.floor)


class KaplanMeierModel(SurvivalModel):
    """Kaplan-Meier of the training set for everybody: the model without features.

    Examples
    --------
    >>> model = KaplanMeierModel().fit([[0]] * 4, ([1, 2, 3, 4], [1, 0, 1, 1]))
    >>> model.predict_curves([[7]]).at([1, 3])
    array([[0.75 , 0.375]])
    """

    facts = FACTS["km"]
    handles_weights = True

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.times_ = step_times(y)
        self.survival_ = KaplanMeier.fit(y).at(self.times_)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = np.broadcast_to(self.survival_, (X.shape[0], self.times_.size))
        return SurvivalCurves(self.times_, survival, interpolation="step")


@dataclass(eq=False, repr=False)
class CoxPH(SurvivalModel):
    r"""Cox proportional hazards with Breslow's baseline, by Newton's method.

    :math:`S(t \mid x) = \exp(-H_0(t) \exp((x - \bar x)^\top \beta))`; see `reference.cox`.
    Where the partial likelihood has no single finite maximum (collinear columns, separation) a
    ridge penalty takes over, with a `FitWarning`.

    Parameters
    ----------
    penalty : float
        l2 penalty on the coefficients of standardised columns.

    References
    ----------
    Cox (1972), Regression models and life-tables, JRSS B 34. Breslow (1974), Covariance analysis
    of censored survival data, Biometrics 30.

    Examples
    --------
    >>> model = CoxPH().fit([[0], [1], [0], [1]], ([4, 3, 2, 1], [1, 1, 1, 1]))
    >>> model.predict_time([[0], [1]])
    array([4., 2.])
    """

    facts = FACTS["coxph"]
    handles_weights = True

    penalty: float = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        positive(self.penalty, "penalty", zero=True)
        try:
            self.cox_ = CoxModel.fit(X, y, self.penalty)
        except InputError as error:
            raise FitError(self.label, str(error)) from error
        for note in self.cox_.notes:
            self._note(note, warn="l2 penalty" in note)
        self.times_ = step_times(y)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = self.cox_.survival(X, self.times_)
        return SurvivalCurves(self.times_, survival, interpolation="step")


@dataclass(eq=False, repr=False)
class WeibullAFT(SurvivalModel):
    r"""Weibull regression: :math:`S(t \mid x) = \exp(-(t / \lambda(x))^\rho)`.

    :math:`\log \lambda` is linear in the features, :math:`\rho` is the same for everybody.
    `predict_time` is the closed-form median :math:`\lambda (\log 2)^{1/\rho}`; curves are given on
    a grid chosen while fitting, fine where there are observations and coarser beyond.

    Parameters
    ----------
    penalty : float
        l2 penalty (lifelines' `penalizer`). Where the fit does not converge, ten times as much is
        tried, up to 1, with a `FitWarning`.
    grid_size : int
        Points of the grid up to the last observed time; a quarter as many follow beyond.

    References
    ----------
    Kalbfleisch and Prentice (2002), The statistical analysis of failure time data, chapter 3.

    Examples
    --------
    >>> X = [[0], [0], [0], [1], [1], [1]]
    >>> model = WeibullAFT().fit(X, ([8, 10, 12, 2, 3, 4], [1, 1, 1, 1, 1, 0]))
    >>> model.predict_time([[0], [1]]).round(1)
    array([9.6, 3.4])
    """

    facts = FACTS["aft"]

    penalty: float = 0.01
    grid_size: int = 400

    def _fit(self, X: Floats, y: Outcomes) -> None:
        positive(self.penalty, "penalty", zero=True)
        whole_number(self.grid_size, "grid_size", 2)
        if np.ptp(y.time) == 0:
            raise FitError(self.label, f"all observed times are equal ({y.time[0]:g})")
        time, note = above_zero(y.time)
        if note:
            self._note(note, warn=True)
        self.means_, self.spread_ = X.mean(axis=0), X.std(axis=0)
        # Rounding leaves some spread in columns that are constant.
        varies = self.spread_ > 1e-10 * np.abs(X).max(axis=0)
        self.spread_[~varies] = np.inf
        unit = float(time.mean())
        columns = ((X - self.means_) / self.spread_)[:, varies]
        lambdas, self.intercept_, self.log_rho_ = self._parameters(columns, time / unit, y.event)
        self.intercept_ += np.log(unit)
        self.coefficients_ = np.zeros(X.shape[1])
        self.coefficients_[varies] = lambdas
        self.times_ = self._grid(X, y.time)

    def _parameters(self, X: Floats, time: Floats, event: Any) -> tuple[Floats, float, float]:
        """Coefficients, intercept and log rho of lifelines' fit."""
        import pandas as pd
        from lifelines import WeibullAFTFitter
        from lifelines.exceptions import ConvergenceError

        names = [f"x{k}" for k in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names)
        frame = frame.assign(time=time, event=event)
        penalty = self.penalty
        while True:
            fitter = WeibullAFTFitter(penalizer=penalty)
            try:
                with warnings.catch_warnings():
                    # Only standard errors suffer from what lifelines warns of here: a flat
                    # Hessian, or columns that tell events from censorings. Nobody reads them.
                    warnings.simplefilter("ignore")
                    fitter.fit(frame, "time", "event")
                scale = fitter.params_["lambda_"]
                found = scale[names].to_numpy(dtype=np.float64) if names else np.zeros(0)
                ends = float(scale["Intercept"]), float(fitter.params_["rho_"]["Intercept"])
                if np.isfinite(found).all() and np.isfinite(ends).all():
                    break
                cause = "parameters are not finite"
            except ConvergenceError as error:
                cause = describe(error).partition(" Try the following")[0]
            if penalty >= _LARGEST_PENALTY:
                raise FitError(self.label, f"{cause} (with l2 penalty {penalty:g})")
            penalty = min(max(10 * penalty, 0.001), _LARGEST_PENALTY)
        if penalty != self.penalty:
            self._note(f"no convergence; l2 penalty {penalty:g} used instead", warn=True)
        return found, *ends

    def _grid(self, X: Floats, time: Floats) -> Floats:
        """Grid up to where curves have come down."""
        last = float(time.max())
        # 1 % of survival left for the longest-lived training subject, within reason.
        end = np.max(self._log_scale(X)) + np.log(-np.log(0.01)) * np.exp(-self.log_rho_)
        far = np.exp(np.clip(end, np.log(last), np.log(1e3 * last)))
        return smooth_grid(time, far, self.grid_size)

    def _log_scale(self, X: Floats) -> Floats:
        return self.intercept_ + ((X - self.means_) / self.spread_) @ self.coefficients_

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        with np.errstate(divide="ignore", over="ignore"):
            log_hazard = np.log(self.times_) - self._log_scale(X)[:, None]
            survival = np.exp(-np.exp(np.exp(self.log_rho_) * log_hazard))
        return SurvivalCurves(self.times_, survival, interpolation="linear")

    def _predict_time(self, X: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(self._log_scale(X) + np.log(np.log(2)) * np.exp(-self.log_rho_))
