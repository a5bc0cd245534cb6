"""Fitters of lifelines behind the protocol of this package."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import InputError, one_of
from .base import SurvivalModel
from .facts import ModelFacts
from .wrappers import Wrapped


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
