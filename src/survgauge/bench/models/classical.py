"""Regression, Kaplan-Meier, Cox, Weibull regression by lifelines; models of several causes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive, whole_number
from ..._tools.extras import need
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.aalen_johansen import AalenJohansen
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
    """Kaplan-Meier of the training set for all subjects: the model without features.

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

    :math:`\log \lambda` is linear in the features, :math:`\rho` is the same for all subjects.
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


#: Log hazard ratios above this are as good as infinite; sums of their exponentials stay finite.
_LARGEST_LOG_RISK = 300.0


class AalenJohansenModel(SurvivalModel):
    """Aalen-Johansen of the training set for all subjects: the model without features.

    With one kind of event its curves are those of ``km``.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1], causes=["relapse", "death"])
    >>> model = AalenJohansenModel().fit([[0]] * 4, y)
    >>> model.predict_incidence([[7]]).at([2, 4], "relapse")
    array([[0.25, 0.75]])
    """

    facts = FACTS["aalen_johansen"]
    handles_weights = True

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.incidence_ = AalenJohansen.fit(y)

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        return self.incidence_.curves(X.shape[0])


@dataclass(eq=False, repr=False)
class CauseSpecificCox(SurvivalModel):
    r"""One Cox model of the hazard of each cause, combined to the incidence of all.

    In the model of cause k the other causes count as censored, which is right for a hazard. With
    :math:`dH_k(t \mid x) = e^{(x - \bar x)^\top \beta_k} dH_{k0}(t)`, Breslow's baseline,

    .. math:: F_k(t \mid x) = \sum_{s \le t} S(s- \mid x) \, dH_k(s \mid x), \quad
              S(t \mid x) = \prod_{s \le t} \Big(1 - \sum_k dH_k(s \mid x)\Big).

    Where the hazards of a time add up to more than 1, everybody has an event there, and its causes
    share as their hazards do. Without features this is Aalen-Johansen. A cause without an event in
    the training set has incidence 0.

    Parameters
    ----------
    penalty : float
        l2 penalty on the coefficients of standardised columns, in the model of every cause.

    Attributes
    ----------
    cox_ : tuple of CoxModel or None
        The model of each cause; None where the cause had no event.

    References
    ----------
    Benichou and Gail (1990), Estimates of absolute cause-specific risk in cohort studies,
    Biometrics 46. Ozenne et al. (2017), riskRegression: predicting the risk of an event using Cox
    regression models, The R Journal 9.

    Examples
    --------
    >>> y = Outcomes([4, 3, 2, 1], [1, 2, 1, 1], causes=["relapse", "death"])
    >>> model = CauseSpecificCox(penalty=1.0).fit([[0], [1], [0], [1]], y)
    >>> model.predict_incidence([[0], [1]]).at(2, "relapse").round(3)
    array([0.461, 0.557])
    """

    facts = FACTS["cause_specific_cox"]
    handles_weights = True

    penalty: float = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        positive(self.penalty, "penalty", zero=True)
        self.causes_ = y.causes or ("1",)
        self.times_ = step_times(y)
        self.cox_ = tuple(self._fit_cause(X, y, code) for code in range(1, len(self.causes_) + 1))

    def _fit_cause(self, X: Floats, y: Outcomes, code: int) -> CoxModel | None:
        of_cause = y if y.cause is None else y.only(code)
        name = self.causes_[code - 1]
        if not of_cause.event.any():
            self._note(f"cause {name!r} has no event, so its incidence is 0", warn=True)
            return None
        try:
            model = CoxModel.fit(X, of_cause, self.penalty)
        except InputError as error:
            raise FitError(self.label, f"cause {name!r}: {error}") from error
        for note in model.notes:
            self._note(f"cause {name!r}: {note}", warn="l2 penalty" in note)
        return model

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        values = np.zeros((X.shape[0], len(self.cox_), self.times_.size))
        for k, model in enumerate(self.cox_):
            if model is not None:
                risk = np.exp(np.minimum(model.log_risk(X), _LARGEST_LOG_RISK))
                steps = np.diff(model.cumulative_hazard, prepend=0.0)
                places = self.times_.searchsorted(model.times)
                values[:, k, places] = risk[:, None] * steps
        return IncidenceCurves(self.times_, combined(values), self.causes_, "step")


def combined(hazards: Floats) -> Floats:
    """Incidence of each cause from the steps of their hazards, (n, causes, times), overwritten.

    >>> combined(np.array([[[0.5, 0.0, 0.5], [0.0, 0.5, 1.5]]]))
    array([[[0.5   , 0.5   , 0.5625],
            [0.    , 0.25  , 0.4375]]])
    """
    total = hazards.sum(axis=1)
    free = np.cumprod(1.0 - np.minimum(total, 1.0), axis=1)
    before = np.concatenate((np.ones((len(free), 1)), free[:, :-1]), axis=1)
    hazards *= (before / np.maximum(total, 1.0))[:, None]
    return np.cumsum(hazards, axis=2, out=hazards)


@dataclass(eq=False, repr=False)
class SurvivalBoostModel(SurvivalModel):
    """SurvivalBoost of the package hazardous: boosted trees of the incidence of all causes.

    Time is one of the features of its trees, so that its curves may fall a little; they take their
    running maximum here.

    Parameters
    ----------
    n_iter, max_leaf_nodes, min_samples_leaf, n_time_grid_steps : int
        Of SurvivalBoost: stages, leaves of a tree, rows of a leaf, times of the grid.
    learning_rate : float
        Of SurvivalBoost.
    random_state : int or None
        Seed.

    References
    ----------
    J. Alberge, V. Maladiere, O. Grisel, J. Abecassis, G. Varoquaux. Survival models: proper scoring
    rule and stochastic optimization with competing risks. AISTATS 2025.
    """

    facts = FACTS["survival_boost"]

    n_iter: int = 100
    learning_rate: float = 0.05
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 50
    n_time_grid_steps: int = 100
    random_state: int | None = 0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        for name in ("n_iter", "max_leaf_nodes", "min_samples_leaf", "n_time_grid_steps"):
            whole_number(getattr(self, name), name, 1)
        hazardous = need("hazardous", "model 'survival_boost'", "hazardous")
        codes = y.event.astype(np.int64) if y.cause is None else y.cause.astype(np.int64)
        self.causes_ = y.causes or ("1",)
        self.times_ = self._grid(y)
        # Learnt as 1, 2, ... of those that occur: the others have incidence 0.
        self.present_, learnt = np.unique(np.append(0, codes), return_inverse=True)
        self.model_ = hazardous.SurvivalBoost(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            n_time_grid_steps=self.n_time_grid_steps,
            show_progressbar=False,
            random_state=self._integer_seed("boosting"),
        ).fit(_columns(X), {"event": learnt[1:], "duration": y.time})

    def _grid(self, y: Outcomes) -> Floats:
        """Distinct quantiles of the event times after 0, where incidence starts, and the end."""
        shares = np.linspace(0.0, 1.0, self.n_time_grid_steps)
        grid = np.append(np.quantile(y.time[y.event], shares), y.time.max())
        grid = np.unique(grid[grid > 0])
        return grid if grid.size else np.ones(1)

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        found = self.model_.predict_cumulative_incidence(_columns(X), times=self.times_)
        values = np.zeros((X.shape[0], len(self.causes_), self.times_.size))
        values[:, self.present_[1:] - 1] = np.asarray(found)[:, 1:]
        return IncidenceCurves(self.times_, values, self.causes_, repair="running_maximum")


def _columns(X: Floats) -> Floats:
    """Features, or one column of zeros where there are none."""
    return X if X.shape[1] else np.zeros((X.shape[0], 1))
