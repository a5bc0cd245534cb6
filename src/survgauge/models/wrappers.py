"""Estimators of scikit-learn, scikit-survival and XGBoost behind the protocol of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from .._tools.arrays import Floats
from ..data.adapters import as_curves, curves_from_aft
from ..data.curves import SurvivalCurves
from ..data.estimators import (
    has_survival_function,
    holds_ranking,
    is_sksurv,
    meaning_of_predict,
    objective_of,
    ranks_only,
)
from ..data.outcomes import Outcomes
from ..errors import InputError
from .base import SurvivalModel, flat
from .errors import FitError
from .facts import ModelFacts
from .steps import BaselineHazard, above_zero, hazard_curves, smooth_grid, step_times


def from_sklearn(estimator: Any, *, repair: str | None = None) -> SurvivalModel:
    """Wrap an estimator that follows scikit-learn's conventions.

    Parameters
    ----------
    estimator : object
        One of these; its parameters are called ``estimator__...`` in a search.

        - With ``predict_survival_function``, as most of scikit-survival's have: it is fitted to
          ``(X, structured array)`` and gives curves. Those that predict times give times.
        - XGBoost with objective ``survival:cox``, alone or at the end of a pipeline: it is fitted
          to the order of the times, with the sign that tells it who was censored, and gives curves
          by Breslow's baseline of the training set.
        - XGBoost with objective ``survival:aft``: it is fitted to bounds of the times, and gives
          the curves of the distribution that its parameters name.
        - Any other regressor: it is fitted to the times of the uncensored rows, and gives times.

        A pipeline or search around the first and the last will do. What learns an order (other
        than ``survival:cox``) is refused. `X` must be numbers, with NaN if the estimator takes it.
    repair : {None, "running_minimum", "isotonic"}
        For curves that rise; None: refuse them.

    Returns
    -------
    SurvivalModel
        Unfitted; `fit` works on a clone of `estimator`, kept as ``fitted_``. Where the estimator's
        own ``predict`` gives a risk, `predict_risk` gives that.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> model = from_sklearn(KNeighborsRegressor(n_neighbors=1))
    >>> model.fit([[0], [1], [5]], ([3, 6, 9], [1, 1, 0])).predict_time([[4]])
    array([6.])
    """
    kind = type(estimator).__name__
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise InputError(f"estimator must have fit and get_params, as in scikit-learn; got {kind}")
    final = _final(estimator)
    if has_survival_function(final):
        return CurveEstimator(estimator, repair)
    if not hasattr(estimator, "predict"):
        raise InputError(
            f"estimator must have predict_survival_function or predict; {kind} has neither"
        )
    if is_sksurv(final) and meaning_of_predict(final) == "risk":
        raise InputError(
            f"{kind} gives risk scores, neither curves nor times; pass them to evaluate as "
            "RiskScores, or use it without a wrapper in searches (CoxnetSurvivalAnalysis gives "
            "curves with fit_baseline_model=True)"
        )
    objective = objective_of(final)
    if objective == "survival:cox" and final is _last_step(estimator):
        return HazardEstimator(estimator)
    if objective == "survival:aft" and final is estimator:
        return AFTEstimator(estimator)
    if objective in ("survival:cox", "survival:aft"):
        raise InputError(
            f"estimator: {kind} around a model with objective {objective!r} does not know its "
            "censored subjects; wrap the model itself, survgauge.models.from_sklearn(XGBRegressor("
            "...)), and put that into the search or pipeline (see guides/xgboost.md)"
        )
    if ranks_only(final) or holds_ranking(estimator):
        raise InputError(
            f"estimator: {kind} learns an order (objective {objective!r}), neither curves nor "
            "times, and must see censored subjects; fit it yourself and pass its predictions to "
            "evaluate as RiskScores, or give an estimator of your own a method predict_risk for "
            "searches (see guides/xgboost.md)"
        )
    return TimeEstimator(estimator)


class Wrapped(SurvivalModel):
    """An estimator of another library; errors go by its class name."""

    estimator: Any

    @property
    def label(self) -> str:
        """Class of the estimator, and what it is wrapped as."""
        return f"{type(self.estimator).__name__} ({self.facts.name})"

    def _fit_clone(self, *given: Any, **options: Any) -> None:
        self.fitted_ = clone(self.estimator, safe=False)
        with self._noting_warnings():
            self.fitted_.fit(*given, **options)

    def _gives_risk(self) -> bool:
        return meaning_of_predict(_final(self.estimator)) == "risk"

    @available_if(_gives_risk)  # type: ignore[untyped-decorator]
    def predict_risk(self, X: Any) -> Floats:
        """Risks as the estimator's own ``predict`` gives them, higher meaning sooner."""
        return self._predicted(X, lambda rows: flat(self.fitted_.predict(rows)))


@dataclass(eq=False, repr=False)
class CurveEstimator(Wrapped):
    """Estimator in the manner of scikit-survival; made by `from_sklearn`."""

    facts = ModelFacts("sklearn_curves", "scikit-survival-like estimator", home="wrappers")
    handles_gaps = True

    estimator: Any
    repair: str | None = None

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self._fit_clone(X, y.to_structured())

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return as_curves(self.fitted_.predict_survival_function(X), repair=self.repair)


@dataclass(eq=False, repr=False)
class TimeEstimator(Wrapped):
    """Regressor of times, fitted to the uncensored rows; made by `from_sklearn`.

    Those of scikit-survival are fitted to all rows: they know what censoring is.
    """

    facts = ModelFacts(
        "sklearn_times", "regressor of times", curves=False, time=True, continuous=None
    )
    handles_gaps = True

    estimator: Any

    def _fit(self, X: Floats, y: Outcomes) -> None:
        if is_sksurv(_final(self.estimator)):
            self._fit_clone(X, y.to_structured())
        else:
            self._fit_clone(X[y.event], y.time[y.event])

    def _predict_time(self, X: Floats) -> Floats:
        return flat(self.fitted_.predict(X))


@dataclass(eq=False, repr=False)
class HazardEstimator(Wrapped):
    """XGBoost with Cox's objective, and Breslow's baseline; made by `from_sklearn`."""

    facts = ModelFacts("xgboost_cox", "booster of Cox's partial likelihood", home="wrappers")
    handles_gaps = True

    estimator: Any

    def _fit(self, X: Floats, y: Outcomes) -> None:
        # The partial likelihood knows nothing but the order of times. Ranks from 1 on carry the
        # sign that a time of 0 cannot, and keep apart what single precision would merge.
        rank = np.unique(y.time, return_inverse=True)[1].reshape(-1) + 1
        self._fit_clone(X, np.where(y.event, rank, -rank))
        self.times_ = step_times(y)
        self.log_hazard_ = BaselineHazard(y).stepped(self._score(X), self.times_)

    def _score(self, X: Floats) -> Floats:
        return flat(self.fitted_.predict(X, output_margin=True))

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._score(X), self.times_, self.log_hazard_)


@dataclass(eq=False, repr=False)
class AFTEstimator(Wrapped):
    """XGBoost with the objective ``survival:aft``; made by `from_sklearn`."""

    facts = ModelFacts(
        "xgboost_aft", "booster of an AFT likelihood", time=True, continuous=True, home="wrappers"
    )
    handles_gaps = True

    estimator: Any

    def _fit(self, X: Floats, y: Outcomes) -> None:
        import xgboost

        if not y.time.any():
            raise FitError(self.label, "all observed times are 0")
        lower, note = above_zero(y.time)
        if note:
            self._note(note, warn=True)
        own = clone(self.estimator, safe=False)
        given = own.get_params()  # without a law of its own, what XGBoost takes by default
        scale = given.get("aft_loss_distribution_scale")
        self.scale_ = 1.0 if scale is None else float(scale)
        self.distribution_ = str(given.get("aft_loss_distribution") or "normal")
        data = self._matrix(X)
        data.set_float_info("label_lower_bound", lower)
        data.set_float_info("label_upper_bound", np.where(y.event, lower, np.inf))
        with self._noting_warnings():
            self.fitted_ = xgboost.train(
                own.get_xgb_params(),
                data,
                own.get_num_boosting_rounds(),
                early_stopping_rounds=own.early_stopping_rounds,  # refused by XGBoost itself
                callbacks=own.callbacks,
            )
        # Where 1 % of a logistic curve is left, for the longest-lived training subject.
        far = float(self._times(X).max()) * np.exp(4.6 * self.scale_)
        self.times_ = smooth_grid(y.time, min(far, 1e3 * float(y.time.max())), 400)

    def _matrix(self, X: Floats) -> Any:
        import xgboost

        return xgboost.DMatrix(X, missing=self.estimator.missing, nthread=self.estimator.n_jobs)

    def _times(self, X: Floats) -> Floats:
        return flat(self.fitted_.predict(self._matrix(X)))

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        times = self._times(X)
        return curves_from_aft(times, self.scale_, self.times_, distribution=self.distribution_)

    def _predict_time(self, X: Floats) -> Floats:
        median = np.log(2.0) ** self.scale_ if self.distribution_ == "extreme" else 1.0
        return self._times(X) * median


def _final(estimator: Any) -> Any:
    """Last step of a pipeline, or of the pipeline that a search would fit."""
    return _last_step(getattr(estimator, "estimator", estimator))


def _last_step(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator
