"""Estimators of scikit-learn, scikit-survival, XGBoost and lifelines behind the protocol."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from ..._tools.arrays import Floats
from ...data.adapters import as_curves, curves_from_aft
from ...data.curves import SurvivalCurves
from ...data.estimators import (
    has_survival_function,
    holds_ranking,
    is_sksurv,
    meaning_of_predict,
    objective_of,
    ranks_only,
)
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.learners import FitError, ModelFacts
from ...estimators.learners.base import SurvivalModel, flat
from ...estimators.learners.trees import (
    BaselineHazard,
    above_zero,
    hazard_curves,
    smooth_grid,
    step_times,
)


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
            f"estimator: {kind} around a model with objective {objective!r} does not see its "
            "censored subjects; wrap the model itself, sg.models.from_sklearn(XGBRegressor("
            "...)), and put that into the search or pipeline (see howto/libraries.md)"
        )
    if ranks_only(final) or holds_ranking(estimator):
        raise InputError(
            f"estimator: {kind} learns an order (objective {objective!r}), neither curves nor "
            "times, and must see censored subjects; fit it yourself and pass its predictions to "
            "evaluate as RiskScores, or give an estimator of your own a method predict_risk for "
            "searches (see howto/libraries.md)"
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

    facts = ModelFacts("sklearn_curves", "scikit-survival-like estimator")
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

    Those of scikit-survival are fitted to all rows: they support censoring.
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

    facts = ModelFacts("xgboost_cox", "booster of Cox's partial likelihood")
    handles_gaps = True

    estimator: Any

    def _fit(self, X: Floats, y: Outcomes) -> None:
        # The partial likelihood depends on the order of times alone. Ranks from 1 on carry the sign
        # that a time of 0 cannot, and keep apart what single precision would merge.
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

    facts = ModelFacts("xgboost_aft", "booster of an AFT likelihood", time=True, continuous=True)
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
        given = own.get_params()  # without a distribution of its own, what XGBoost takes by default
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


# -- lifelines -------------------------------------------------------------------------------------


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
        ignore them. Its parameters can be searched over, as ``estimator__penalizer``.
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


@dataclass(eq=False, repr=False)
class LifelinesModel(Wrapped):
    """lifelines fitter; made by `from_lifelines`."""

    facts = ModelFacts("lifelines", "lifelines fitter", extra="lifelines")

    estimator: Any
    interpolation: str = "step"
    repair: str | None = None
    fit_options: dict[str, Any] | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, and with `deep` those of the fitter too, as ``estimator__penalizer``."""
        found: dict[str, Any] = super().get_params(deep)
        inner = _fitter_parameters(self.estimator) if deep else {}
        return found | {f"estimator__{name}": value for name, value in inner.items()}

    def set_params(self, **params: Any) -> LifelinesModel:
        """Set parameters; those of the fitter with or without ``estimator__``.

        The fitter is made anew by its own class, so that it checks them itself.
        """
        own = self.get_params(deep=False)
        super().set_params(**{name: params[name] for name in params if name in own})
        inner = {k.removeprefix("estimator__"): v for k, v in params.items() if k not in own}
        if inner:
            known, kind = _fitter_parameters(self.estimator), type(self.estimator)
            for name in inner:
                one_of(f"parameter of {kind.__name__}", name, list(known))
            self.estimator = kind(**known | inner)
        return self

    @property
    def univariate(self) -> bool:
        """Whether the fitter takes no features."""
        return hasattr(self.estimator, "survival_function_at_times")

    def _fit(self, X: Floats, y: Outcomes) -> None:
        options = self.fit_options or {}
        if self.univariate:
            self._fit_clone(y.time, y.event, **options)
            return
        frame = self._frame(X)
        time, event = _free_names(frame.columns)
        self._fit_clone(frame.assign(**{time: y.time, event: y.event}), time, event, **options)

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


def _fitter_parameters(fitter: Any) -> dict[str, Any]:
    """What a lifelines fitter was made with; nothing where it does not keep all of that.

    >>> from lifelines import WeibullAFTFitter
    >>> _fitter_parameters(WeibullAFTFitter(penalizer=0.1))["penalizer"]
    0.1
    """
    found: dict[str, Any] = {}
    for kind in type(fitter).__mro__:
        given = inspect.signature(kind).parameters.values()
        names = [p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if kind is type(fitter) and not all(hasattr(fitter, name) for name in names):
            return {}
        found |= {name: getattr(fitter, name) for name in names if hasattr(fitter, name)}
        if not any(p.kind is p.VAR_KEYWORD for p in given):  # nothing goes to the next class
            break
    if found.get("knots") is not None:  # which say their own number
        found.pop("n_baseline_knots", None)
    return found


def _free_names(columns: Any) -> tuple[str, str]:
    """Names for time and event that no feature has."""
    time, event = "time", "event"
    while time in columns or event in columns:
        time, event = f"{time}_", f"{event}_"
    return time, event
