"""Doors to scikit-learn: scorers for searches, and folds stratified on event and time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._tools.arrays import Ints, positive, whole_number
from ._tools.random import check_seed, stream
from .data.curves import SurvivalCurves
from .data.estimators import meaning_of_predict
from .data.outcomes import Outcomes
from .data.predictions import Prediction, RiskScores
from .errors import InputError, UndefinedMetricError, one_of
from .metrics.conventions import Convention
from .metrics.past_curve import past_remark
from .metrics.problem import Problem
from .metrics.registry import REGISTRY, Metric

#: Where estimators keep the outcomes that they were trained on.
_MEMORY = ("y_train_", "reference_")


@dataclass(frozen=True, eq=False, repr=False)
class Scorer:
    """Scikit-learn scorer of a registered metric: larger is better, losses are negated.

    Call it as ``scorer(estimator, X, y)``, or hand several to ``cross_validate`` at once. Where the
    metric is undefined on a fold the score is NaN with a warning, so that a search goes on.
    """

    metric: Metric
    y_train: Any = None
    predicts: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score a fitted estimator on a test fold."""
        outcomes = Outcomes.of(y)
        if sample_weight is not None:
            outcomes = Outcomes(outcomes.time, outcomes.event, sample_weight)
        metric = self.metric
        prediction = predict(estimator, X, self.predicts)
        if not prediction.has(metric.needs):
            raise InputError(
                f"{self.name} needs {metric.needs}, but {type(estimator).__name__} gives "
                f"{prediction.kind} only"
            )
        reference = self._reference(estimator)
        if reference is None and _uses_reference(metric):
            warnings.warn(
                f"scorer({self.name!r}): {type(estimator).__name__} does not keep the outcomes it "
                "was trained on, so each test fold is its own reference; wrap it in "
                "survgauge.models.from_sklearn(...), or give y_train to the scorer",
                UserWarning,
                stacklevel=2,
            )
        try:
            problem = Problem.of(outcomes, reference, **self.settings)
            # No score where the curves do not reach.
            past_remark(metric.reads, metric.stops, problem, prediction)
            return -metric.badness(float(metric.measure(problem, prediction).value))
        except UndefinedMetricError as error:
            message = f"{self.name} is undefined on this fold ({error}); its score is NaN"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return float("nan")

    def convention(self, estimator: Any) -> str:
        """Say which reference set this estimator would be scored against."""
        found = self._reference(estimator)
        return "test fold, in sample" if found is None else "training outcomes"

    def _reference(self, estimator: Any) -> Any:
        if self.y_train is not None:
            return self.y_train
        for part in (estimator, *_steps(estimator)):
            for name in _MEMORY:
                if getattr(part, name, None) is not None:
                    return getattr(part, name)
        return None


def _uses_reference(metric: Metric) -> bool:
    """Whether a metric's value depends on a reference set."""
    return (
        metric.weights_by_g
        or metric.reads_g
        or (metric.method is not None and metric.method.looks_up)
    )


def scorer(
    name: str,
    *,
    y_train: Any = None,
    predicts: str | None = None,
    time: float | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    min_g: float = 0.05,
    min_at_risk: float = 10,
    weighted: bool = True,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    floor: float = 0.1,
) -> Scorer:
    """Make a scikit-learn scorer for a metric.

    Parameters
    ----------
    name : str
        A metric of `available_metrics`, for instance "mae_po", "ibs", "harrell".
    y_train : outcomes, optional
        Reference set for all folds. Without it the scorer asks the estimator what it was trained on
        (`survgauge.models` remember it, as does `from_sklearn`); where the estimator does not say,
        the test fold is its own reference.
    predicts : {None, "time", "risk"}
        What the estimator's ``predict`` gives, for estimators that have no method with a plainer
        name (`predict_curves`, `predict_survival_function`, `predict_time`, `predict_risk`): times,
        or risks, higher meaning sooner. It is known for scikit-survival, for XGBoost by its
        objective, and for scikit-learn's regressors; others are refused without it.
    time, tau, convention, censoring, on_unsupported, min_g, min_at_risk
        What the metric is asked, as in `evaluate`.
    weighted, area, tail, normalize, floor
        Settings of the time errors, as in `evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> class Constant:
    ...     def fit(self, X, y):
    ...         return self
    ...     def predict_time(self, X):
    ...         return np.full(len(X), 4.0)
    >>> scorer("mae_hinge")(Constant(), np.zeros((3, 1)), ([2, 4, 7], [1, 1, 1]))
    -1.6666666666666667
    """
    one_of("name", name, REGISTRY)
    if predicts is not None:
        one_of("predicts", predicts, ("time", "risk"))
    if time is not None:
        time = positive(time, "time")  # one score, so one time
    settings = {
        "time": time, "tau": tau, "convention": convention, "censoring": censoring,
        "on_unsupported": on_unsupported, "min_g": min_g, "min_at_risk": min_at_risk,
        "weighted": weighted, "area": area, "tail": tail, "normalize": normalize, "floor": floor,
    }  # fmt: skip
    return Scorer(REGISTRY[name], y_train, predicts, settings)


def predict(estimator: Any, X: Any, predicts: str | None = None) -> Prediction:
    """Ask an estimator for the most that it can say: curves, times, or a risk.

    `predicts` ("time" or "risk") says what plain `predict` gives where it is not known.
    """
    *before, final = _steps(estimator)
    for step in before:
        X = step.transform(X)
    n = int(np.shape(X)[0])
    name = type(final).__name__
    if hasattr(final, "predict_curves") and getattr(final, "gives_curves", True):
        return Prediction.of(final.predict_curves(X), n, name)
    if hasattr(final, "predict_survival_function"):
        return Prediction.of(final.predict_survival_function(X), n, name)
    if hasattr(final, "predict_time"):
        return Prediction.of(_plain(final.predict_time(X)), n, name)
    if hasattr(final, "predict_risk"):
        return Prediction.of(_as_risk(final.predict_risk(X)), n, name)
    if not hasattr(final, "predict"):
        raise InputError(
            f"{name} must have predict_curves, predict_survival_function, predict_time, "
            "predict_risk or predict"
        )
    given = _plain(final.predict(X))
    if isinstance(given, RiskScores | SurvivalCurves):
        return Prediction.of(given, n, name)
    meaning = predicts or meaning_of_predict(final)
    if meaning is None:
        raise InputError(
            f"{name}.predict may give times or risks, and nothing says which; name the method "
            "predict_time or predict_risk, return RiskScores, or give "
            'predicts="time" or predicts="risk" to the scorer'
        )
    return Prediction.of(_as_risk(given) if meaning == "risk" else given, n, name)


def _plain(given: Any) -> Any:
    """An array, unless it says itself what it is."""
    return given if isinstance(given, RiskScores | SurvivalCurves) else np.asarray(given)


def _as_risk(given: Any) -> RiskScores:
    return given if isinstance(given, RiskScores) else RiskScores(np.asarray(given))


def _steps(estimator: Any) -> list[Any]:
    """Parts of a pipeline, or of the best pipeline of a search."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    steps = getattr(estimator, "steps", None)
    if not isinstance(steps, list):
        return [estimator]
    return [step for _, step in steps if step is not None and step != "passthrough"]


class SurvivalKFold:
    """Folds that are alike in events, censorings and their times.

    Events and censored subjects are each sorted by time and dealt out in rounds, one to every
    fold, in an order drawn at random for each round.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int
        Seed.

    Examples
    --------
    >>> y = Outcomes(range(1, 9), [1, 1, 1, 1, 0, 0, 0, 0])
    >>> [int(y.event[test].sum()) for _, test in SurvivalKFold(2).split(y, y)]
    [2, 2]
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = 0) -> None:
        self.n_splits = whole_number(n_splits, "n_splits", 2)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def folds(self, y: Any) -> Ints:
        """Return the fold of each subject."""
        outcomes = Outcomes.of(y)
        n, k = len(outcomes), self.n_splits
        if n < k:
            raise InputError(f"y must have at least n_splits = {k} subjects; got {n}")
        rng = stream(check_seed(self.random_state), "folds")
        shuffled = rng.permutation(n)  # ties in time fall in random order
        keys = (outcomes.time[shuffled], outcomes.event[shuffled])
        order = shuffled[np.lexsort(keys)]
        rounds = -(-n // k)
        deal = np.concatenate([rng.permutation(k) for _ in range(rounds)])[:n]
        fold = np.empty(n, dtype=np.intp)
        fold[order] = deal
        return fold

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the training and test rows of each fold."""
        if y is None:
            raise InputError("y must be given: folds are stratified on event and time")
        fold = self.folds(y)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
