"""The protocol that every model keeps: `fit`, then curves or times out, nothing undefined."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..._tools.arrays import Floats, numbers
from ..._tools.random import check_seed, stream
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, MissingExtraError, numbered
from ..reference import Reference
from . import FitError, FitWarning, ModelError, ModelFacts, PredictionError, describe

try:
    from sklearn.base import BaseEstimator
except ImportError as missing:
    raise MissingExtraError("survgauge.models", "sklearn") from missing

_Errors = tuple[type[Exception], ...]
_Found = TypeVar("_Found", bound=Sized)


class SurvivalModel(BaseEstimator):  # type: ignore[misc]
    """Base of all models; a model of your own needs `_fit` and one of two methods.

    A subclass keeps its parameters under their own names (scikit-learn's rule, so that ``clone``
    and ``get_params`` work; ``@dataclass(eq=False, repr=False)`` does it) and defines

    - ``_fit(X, y)``: a float matrix without gaps, `Outcomes` with at least one event;
    - ``_predict_curves(X)`` or, with ``facts.curves`` false, ``_predict_time(X)``. A model that
      has both a curve and a time of its own defines both; the default time is the median;
    - or, with ``facts.incidence`` true, ``_predict_incidence(X)``: `y` may have several causes
      then, and curves are those of an event of any cause.

    What `_fit` raises comes out as a `FitError` that names the model, but for an `InputError`
    about a parameter. Randomness comes from
    ``self._stream("purpose")`` after a parameter `random_state` (an integer or None).

    Attributes
    ----------
    facts : ModelFacts
        The model's line in the table of models.
    handles_weights : bool
        Whether `_fit` reads ``y.weight``; if not, whole weights are turned into repeated rows.
    handles_gaps : bool
        Whether `X` may have NaN.
    y_train_ : Outcomes
        What the model was fitted on.
    reference_ : Reference
        The same for metrics: pass it as `y_train` and several calls share their work.
    notes_ : tuple of str
        What was done about awkward data; things done differently from what was asked also come
        as a `FitWarning`.
    n_features_in_, feature_names_in_
        As in scikit-learn; names only if all columns had one.

    Examples
    --------
    >>> class Always(SurvivalModel):
    ...     facts = ModelFacts("always", "The mean of the observed times", curves=False, time=True)
    ...     def _fit(self, X, y):
    ...         self.mean_ = y.time.mean()
    ...     def _predict_time(self, X):
    ...         return np.full(len(X), self.mean_)
    >>> Always().fit([[0.0], [1.0]], ([2, 4], [1, 1])).predict_time([[5.0]])
    array([3.])
    """

    facts: ClassVar[ModelFacts] = ModelFacts("model", "A survival model")
    handles_weights: ClassVar[bool] = False
    handles_gaps: ClassVar[bool] = False

    y_train_: Outcomes
    reference_: Reference
    n_features_in_: int
    seed_: int

    # -- what users call -------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to features and outcomes.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Numbers without gaps; see `survgauge.data.preprocessing` for filling and encoding.
        y : outcomes
            Anything that `Outcomes.of` reads, also scikit-survival's structured arrays; of several
            causes where the model has `predict_incidence`.

        Returns
        -------
        self
        """
        names = _names(X)
        features = matrix(X, gaps=self.handles_gaps)
        outcomes = Outcomes.of(y, causes=self.facts.incidence or None)
        if features.shape[0] != len(outcomes):
            raise InputError(
                f"X must have one row per subject; y has {len(outcomes)}, X has {features.shape[0]}"
            )
        rows, used = self._counted(features, outcomes)
        if not used.event.any():
            raise FitError(self.label, "y has no event, so event times cannot be learnt")
        # An earlier fit is dropped, so that a failure does not leave a mixture of two behind.
        self._notes: list[str] = []
        for name in ("y_train_", "reference_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self.n_features_in_ = features.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        self.seed_ = check_seed(getattr(self, "random_state", 0))
        with self._naming(FitError, (InputError,)):
            self._fit(rows, used)
        self.y_train_ = outcomes
        self.reference_ = Reference(outcomes.any_cause())
        return self

    def predict_curves(self, X: Any) -> SurvivalCurves:
        """Survival curves, one row per subject."""
        if not self.gives_curves:
            raise InputError(
                f"{self.label} predicts times and has no survival curves; use predict_time"
            )
        return self._predicted(X, self._predict_curves)

    def predict_incidence(self, X: Any) -> IncidenceCurves:
        """Probabilities of an event of each cause by each time, one row per subject."""
        if not self.facts.incidence:
            raise InputError(
                f"{self.label} takes one kind of event and predicts no incidence of several "
                "causes; others do, such as cause_specific_cox"
            )
        return self._predicted(X, self._predict_incidence)

    def predict_time(self, X: Any) -> Floats:
        """Predicted times, (n,): by default the medians of the curves.

        A time is infinite where a curve never falls, and never NaN.
        """
        time = self._predicted(X, lambda rows: flat(self._predict_time(rows)))
        if np.isnan(time).any():
            bad = numbered(np.flatnonzero(np.isnan(time)))
            raise PredictionError(self.label, f"NaN for {bad}")
        return time

    def predict(self, X: Any) -> Floats:
        """Same as `predict_time`, under the name that scikit-learn looks for."""
        return self.predict_time(X)

    @property
    def label(self) -> str:
        """What errors and warnings call this model: its class, if it has no facts of its own."""
        return type(self).__name__ if self.facts is SurvivalModel.facts else self.facts.name

    @property
    def gives_curves(self) -> bool:
        """Whether `predict_curves` has something to give; `survgauge.scorer` asks."""
        own = (
            getattr(type(self), name) is not getattr(SurvivalModel, name)
            for name in ("_predict_curves", "_predict_incidence")
        )
        return self.facts.curves and any(own)

    @property
    def notes_(self) -> tuple[str, ...]:
        """What was done about awkward data while fitting."""
        self._check_fitted()
        return tuple(self._notes)

    # -- what a model defines --------------------------------------------------------------

    def _fit(self, X: Floats, y: Outcomes) -> None:
        """Learn from clean rows."""
        raise NotImplementedError

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        """Curves of clean rows; those of an event of any cause where there is incidence."""
        return self._predict_incidence(X).survival()

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        """Incidence of clean rows."""
        raise NotImplementedError("define _predict_curves or _predict_time")

    def _predict_time(self, X: Floats) -> Floats:
        """Times of clean rows."""
        return self._predict_curves(X).median()

    # -- what a model may use --------------------------------------------------------------

    def _stream(self, *purpose: str | int) -> np.random.Generator:
        """Random numbers of this model for one purpose; the same after every `fit`."""
        return stream(self.seed_, "models", self.facts.name, *purpose)

    def _integer_seed(self, *purpose: str | int) -> int:
        """Seed for libraries that take nothing better."""
        return int(self._stream(*purpose).integers(2**31 - 1))

    @contextmanager
    def _naming(self, kind: type[ModelError], passed_on: _Errors = ()) -> Iterator[None]:
        """Turn whatever a library raises into one type of error that says which model failed."""
        try:
            yield
        except (ModelError, MissingExtraError):
            raise
        except passed_on:
            raise
        except Exception as error:
            raise kind(self.label, describe(error)) from error

    @contextmanager
    def _noting_warnings(self) -> Iterator[None]:
        """Keep what other libraries warn of, once each, and pass it on under this model's name."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(describe(entry.message) for entry in caught):  # type: ignore[arg-type]
            self._note(text, warn=True)

    def _note(self, text: str, *, warn: bool = False) -> None:
        """Keep what was done about awkward data; warn if it is not what was asked for."""
        self._notes.append(text)
        if warn:
            warnings.warn(f"{self.label}: {text}", FitWarning, stacklevel=4)

    def _report(self, text: str) -> None:
        """Progress on standard error, for models with a `verbose` parameter that is on."""
        if getattr(self, "verbose", False):
            print(f"{self.label}: {text}", file=sys.stderr, flush=True)

    # -- checks ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "y_train_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"{self.label} is not fitted; call fit(X, y) first")

    def _predicted(self, X: Any, predict: Callable[[Floats], _Found]) -> _Found:
        """Predict for rows like those of `fit`; errors name the model, and no row is left out."""
        features = self._new_rows(X)
        with self._naming(PredictionError):
            found = predict(features)
        if len(found) != len(features):
            raise PredictionError(self.label, f"{len(found)} predictions for {len(features)} rows")
        return found

    def _counted(self, X: Floats, y: Outcomes) -> tuple[Floats, Outcomes]:
        """Leave out subjects of weight zero; repeat rows where `_fit` takes no weights."""
        if y.frequency is None:
            return X, y
        present = y.weight > 0
        X, y = X[present], y.present()
        if self.handles_weights:
            return X, y
        count = y.weight.astype(np.intp)
        if not (count == y.weight).all():
            raise InputError(
                f"{self.label} takes whole weights only (a weight of 2 is two equal rows); "
                f"got {y.weight[count != y.weight][0]:g}"
            )
        rows = np.repeat(np.arange(count.size), count)
        codes = y.event if y.cause is None else y.cause
        return X[rows], Outcomes(y.time[rows], codes[rows], causes=y.causes)

    def _new_rows(self, X: Any) -> Floats:
        """Check rows to predict for against those of `fit`."""
        self._check_fitted()
        names, features = _names(X), matrix(X, gaps=self.handles_gaps)
        if features.shape[1] != self.n_features_in_:
            raise InputError(
                f"X must have {self.n_features_in_} columns, as in fit; got {features.shape[1]}"
            )
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None and not np.array_equal(known, names):
            where = int(np.flatnonzero(known != names)[0])
            raise InputError(
                "X must have the columns of fit, in the same order; "
                f"column {where} was {known[where]!r} and is {names[where]!r}"
            )
        return features


def flat(values: Any) -> Floats:
    """Read one number per subject, whatever shape and type a library gives them."""
    return np.asarray(values, dtype=np.float64).reshape(-1)


def matrix(X: Any, gaps: bool = False) -> Floats:
    """Read features: a matrix of finite numbers, or NaN where `gaps` may be, with a row or more.

    >>> matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if getattr(X, "ndim", 2) == 1:
        raise InputError(
            "X must have 2 dimensions, one row per subject; got 1. "
            "Use X.reshape(1, -1) for a single subject, X.reshape(-1, 1) for a single feature"
        )
    if hasattr(X, "toarray"):
        X = X.toarray()
    features: Floats = np.asarray(numbers(X, "X", ndim=2), dtype=np.float64)
    if features.shape[0] == 0:
        raise InputError("X must have at least one row; got none")
    odd = np.isinf(features) if gaps else ~np.isfinite(features)
    if odd.any():
        bad = np.flatnonzero(odd.any(axis=0))
        names = _names(X)
        columns = numbered(bad, "column")
        if names is not None:
            columns = f"column(s) {', '.join(map(repr, names[bad[:5]]))}"
        raise InputError(
            f"X must be finite; there are {'' if gaps else 'NaN or '}infinite values in {columns}: "
            "fill them first (survgauge.data.preprocessing does it inside a fold)"
        )
    return features


def _names(X: Any) -> Any:
    """Column names if all are text, as scikit-learn keeps them; else None."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)
