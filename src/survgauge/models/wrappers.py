"""Other people's models behind the protocol of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.adapters import as_curves
from ..data.curves import SurvivalCurves
from ..data.estimators import objective_of, ranks_only
from ..data.outcomes import Outcomes
from ..errors import InputError
from .base import SurvivalModel
from .facts import ModelFacts


def from_sklearn(estimator: Any, *, repair: str | None = None) -> SurvivalModel:
    """Wrap an estimator that follows scikit-learn's conventions.

    Parameters
    ----------
    estimator : object
        With ``predict_survival_function``, as scikit-survival's have: it is fitted to
        ``(X, structured array)`` and gives curves. Otherwise a regressor whose ``predict`` gives
        times: it is fitted to the uncensored rows. One whose objective learns an order
        (XGBoost's ``survival:cox``) is refused. A pipeline or search around either will do; `X`
        must be numbers without gaps all the same.
    repair : {None, "running_minimum", "isotonic"}
        For curves that rise; None: refuse them.

    Returns
    -------
    SurvivalModel
        Unfitted; `fit` works on a clone of `estimator`, kept as ``fitted_``.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> model = from_sklearn(KNeighborsRegressor(n_neighbors=1))
    >>> model.fit([[0], [1], [5]], ([3, 6, 9], [1, 1, 0])).predict_time([[4]])
    array([6.])
    """
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise InputError(
            f"estimator must have fit and get_params, as in scikit-learn; got "
            f"{type(estimator).__name__}"
        )
    if hasattr(_final(estimator), "predict_survival_function"):
        return CurveEstimator(estimator, repair)
    if not hasattr(estimator, "predict"):
        raise InputError(
            f"estimator must have predict_survival_function or predict; "
            f"{type(estimator).__name__} has neither"
        )
    if type(_final(estimator)).__module__.partition(".")[0] == "sksurv":
        raise InputError(
            f"{type(estimator).__name__} gives risk scores, neither curves nor times; pass them to "
            "evaluate as RiskScores"
        )
    if ranks_only(_final(estimator)):
        raise InputError(
            f"estimator: {type(estimator).__name__} with objective "
            f"{objective_of(_final(estimator))!r} learns an order, neither curves nor times, and "
            "must see censored subjects; fit it yourself and pass its predictions to evaluate as "
            "RiskScores, or give an estimator of your own a method predict_risk for searches (see "
            "guides/xgboost.md)"
        )
    if objective_of(_final(estimator)) == "survival:aft":
        raise InputError(
            f"estimator: {type(estimator).__name__} with objective 'survival:aft' is fitted to "
            "bounds of times, which cannot be handed over here; fit it with xgboost.train and make "
            "curves with curves_from_aft (see guides/xgboost.md)"
        )
    return TimeEstimator(estimator)


def from_lifelines(
    fitter: Any,
    *,
    interpolation: str = "step",
    repair: str | None = None,
    fit_options: dict[str, Any] | None = None,
) -> SurvivalModel:
    """Wrap a lifelines fitter, for regression or for one curve.

    Parameters
    ----------
    fitter : object
        Unfitted; `fit` works on a copy, kept as ``fitted_``. Regression fitters see a frame with
        the names of the columns (``x0``, ``x1``, ... for arrays); fitters without features
        ignore them.
    interpolation : {"step", "linear", "pchip"}
        Between the times of its curves: "step" for Cox and Kaplan-Meier, "linear" for parametric
        models.
    repair : {None, "running_minimum", "isotonic"}
        For curves that rise, as those of Aalen's additive model can; None: refuse them.
    fit_options : dict, optional
        Passed on to its ``fit``, for instance ``{"formula": "age + sex"}``.

    Examples
    --------
    >>> from lifelines import CoxPHFitter
    >>> model = from_lifelines(CoxPHFitter(penalizer=0.1))
    >>> model.fit([[0], [1], [0], [1]], ([4, 3, 2, 1], [1, 1, 1, 1])).predict_time([[0], [1]])
    array([3., 2.])
    """
    if not hasattr(fitter, "fit"):
        raise InputError(f"fitter must be a lifelines fitter; got {type(fitter).__name__}")
    return LifelinesModel(fitter, interpolation, repair, fit_options)


class _Wrapped(SurvivalModel):
    """An estimator of another library; errors go by its class name."""

    estimator: Any

    @property
    def label(self) -> str:
        return f"{type(self.estimator).__name__} ({self.facts.name})"

    def _clone(self) -> Any:
        from sklearn.base import clone

        return clone(self.estimator, safe=False)


@dataclass(eq=False, repr=False)
class CurveEstimator(_Wrapped):
    """Estimator in the manner of scikit-survival; made by `from_sklearn`."""

    facts = ModelFacts("sklearn_curves", "scikit-survival-like estimator", home="wrappers")

    estimator: Any
    repair: str | None = None

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.fitted_ = self._clone()
        with self._noting_warnings():
            self.fitted_.fit(X, y.to_structured())

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return as_curves(self.fitted_.predict_survival_function(X), repair=self.repair)


@dataclass(eq=False, repr=False)
class TimeEstimator(_Wrapped):
    """Regressor of times, fitted to the uncensored rows; made by `from_sklearn`."""

    facts = ModelFacts(
        "sklearn_times", "regressor of times", curves=False, time=True, continuous=None
    )

    estimator: Any

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.fitted_ = self._clone()
        with self._noting_warnings():
            self.fitted_.fit(X[y.event], y.time[y.event])

    def _predict_time(self, X: Floats) -> Floats:
        return np.asarray(self.fitted_.predict(X), dtype=np.float64).reshape(-1)


@dataclass(eq=False, repr=False)
class LifelinesModel(_Wrapped):
    """lifelines fitter; made by `from_lifelines`."""

    facts = ModelFacts("lifelines", "lifelines fitter", extra="lifelines")

    estimator: Any
    interpolation: str = "step"
    repair: str | None = None
    fit_options: dict[str, Any] | None = None

    @property
    def univariate(self) -> bool:
        """Whether the fitter takes no features."""
        return hasattr(self.estimator, "survival_function_at_times")

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.fitted_ = self._clone()
        options = dict(self.fit_options or {})
        with self._noting_warnings():
            if self.univariate:
                self.fitted_.fit(y.time, y.event, **options)
                return
            frame = self._frame(X)
            names = _free_names(frame.columns)
            frame = frame.assign(**{names[0]: y.time, names[1]: y.event})
            self.fitted_.fit(frame, names[0], names[1], **options)

    def _frame(self, X: Floats) -> Any:
        import pandas as pd

        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{k}" for k in range(X.shape[1])] if names is None else list(names)
        return pd.DataFrame(X, columns=columns)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        if self.univariate:
            times = np.unique(self.fitted_.timeline)
            times = times[times >= 0]
            row = np.asarray(self.fitted_.survival_function_at_times(times), dtype=np.float64)
            survival = np.broadcast_to(row, (X.shape[0], times.size))
        else:
            table = self.fitted_.predict_survival_function(self._frame(X))
            times = np.asarray(table.index, dtype=np.float64)
            survival = np.asarray(table, dtype=np.float64).T
        return SurvivalCurves(times, survival, self.interpolation, repair=self.repair)


def _final(estimator: Any) -> Any:
    """Last step of a pipeline, or of the pipeline that a search would fit."""
    estimator = getattr(estimator, "estimator", estimator)
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator


def _free_names(columns: Any) -> tuple[str, str]:
    """Names for time and event that no feature has."""
    time, event = "time", "event"
    while time in columns or event in columns:
        time, event = f"{time}_", f"{event}_"
    return time, event
