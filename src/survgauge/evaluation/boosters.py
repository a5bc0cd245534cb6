"""Metrics that watch a booster while it trains: XGBoost, LightGBM and CatBoost."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._tools.arrays import Floats, positive, shown, vector
from .._tools.extras import need
from ..data.adapters import curves_from_aft
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction, RiskScores
from ..errors import InputError, one_of
from ..estimators.reference import Reference
from ..metrics.conventions import Convention
from .scorers import scorer

#: What a booster may hand over.
OUTPUTS = ("time", "log_time", "hazard_ratio", "log_hazard", "risk")


class Booster(SimpleNamespace):
    """An estimator that has predicted already: times, unless what it said is something else."""


class BoosterMetric:
    """A metric in the forms that boosters call; made by `booster_metric`.

    It is called once for each set and round, with what the booster predicts of the set. The value
    is one to be minimised in every library: what is better when larger comes with a minus sign.

    Called as a function of labels and predictions it is a metric of XGBoost's scikit-learn
    interface, ``XGBRegressor(eval_metric=metric)``.

    Attributes
    ----------
    name : str
        Name of the metric, with a minus where larger is better.
    """

    def __init__(
        self, score: Any, sets: dict[int, Outcomes], train: Outcomes, output: Any, read: Any
    ) -> None:
        self._score, self._sets, self._train = score, sets, train
        self._output, self._read = output, read
        self._baseline: tuple[Floats, Floats] | None = None
        self.name = f"{'minus_' * (score.metric.direction == 'higher')}{score.name}"
        self.__name__ = self.name  # which XGBoost prints

    def __call__(self, _: Any, predicted: Any) -> float:
        """For ``XGBRegressor(eval_metric=metric)``: labels, which are known, and predictions."""
        return self.value(predicted)

    def value(self, predicted: Any) -> float:
        """Return the value of the metric, the lower the better, for the predictions of a set.

        The set is known by its number of rows.
        """
        raw = vector(predicted, "predictions of the booster")
        y = self._sets.get(raw.size)
        if y is None:
            known = " and ".join(f"{n}" for n in self._sets)
            raise InputError(
                f"the booster asks for the metric of a set with {raw.size} rows; outcomes were "
                f"given of sets with {known}: leave other sets out of its list of sets"
            )
        said = self._read(self, raw, y is self._train)
        return float(-self._score(Booster(predict=lambda _: said), np.empty((raw.size, 0)), y))

    def xgboost(self, predicted: Any, data: Any) -> tuple[str, float]:
        """For ``xgboost.train(..., custom_metric=metric.xgboost)``."""
        if isinstance(data, np.ndarray):  # from XGBRegressor, which hands over the labels first
            raise InputError(
                "metric.xgboost is for xgboost.train; XGBRegressor takes the metric itself, "
                "eval_metric=metric"
            )
        return self.name, self.value(predicted)

    def lightgbm(self, predicted: Any, data: Any) -> tuple[str, float, bool]:
        """For ``lightgbm.train(feval=)`` and ``LGBMRegressor.fit(eval_metric=)``.

        The former hands over the predictions and a set, the latter the labels and the predictions.
        """
        shown = data if isinstance(data, np.ndarray) else predicted
        return self.name, self.value(shown), False

    @property
    def catboost(self) -> Any:
        """For ``catboost.CatBoost({"eval_metric": metric.catboost, ...})``."""
        bases: tuple[type, ...] = ()
        if self._output == "log_time":  # SurvivalAft, whose labels have two columns
            catboost = need("catboost", "a metric of SurvivalAft", "catboost")
            bases = (catboost.MultiTargetCustomMetric,)
        forms = {
            "is_max_optimal": lambda _: False,
            "evaluate": lambda _, approxes, target, weight: (self.value(approxes[0]), 1.0),
            "get_final_error": lambda _, error, weight: error / weight,
        }
        return type(self.name, bases, forms)()

    def _by_baseline(self, score: Floats, is_train: bool) -> Any:
        """Return curves of log hazards, by Breslow's baseline of the same round's training set."""
        from ..estimators.learners.trees import BaselineHazard, hazard_curves, step_times

        if is_train:
            times = step_times(self._train)
            self._baseline = times, BaselineHazard(self._train).stepped(score, times)
        if self._baseline is None:
            raise InputError(
                "the baseline hazard comes from the training set, which has not been seen yet: put "
                "it first in the booster's list of sets (XGBoost: evals=[(train, 'train'), (valid, "
                "'valid')]; LightGBM: valid_sets=[train, valid])"
            )
        return hazard_curves(score, *self._baseline)


def booster_metric(
    name: str,
    y_valid: Any,
    *,
    y_train: Any,
    output: str | Callable[[Floats], Any],
    scale: float | None = None,
    distribution: str = "normal",
    time: float | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
) -> BoosterMetric:
    """Make a metric that XGBoost, LightGBM or CatBoost watches, such as for early stopping.

    Parameters
    ----------
    name : str
        A metric of `available_metrics`, such as "mae_within" or "ibs".
    y_valid : outcomes
        Outcomes of the validation set, in the order of its rows.
    y_train : outcomes
        Outcomes of the training set, in the order of its rows: the reference set, and where the
        baseline hazard comes from. The booster may watch the training set too. Both sets are known
        by their number of rows, which must differ.
    output : {"time", "log_time", "hazard_ratio", "log_hazard", "risk"} or callable
        What the booster hands to a metric. XGBoost gives custom metrics the predictions of its own
        objectives: "time" with ``survival:aft`` and "hazard_ratio" with ``survival:cox``.
        LightGBM's custom objectives and CatBoost give the margin: "log_time" with CatBoost's
        ``SurvivalAft``, "log_hazard" with its ``Cox``. Hazards become curves by Breslow's baseline
        of the training set, which must then be the first of the sets that the booster watches.
        "risk" is only ranked. A function turns the numbers into anything else that `evaluate`
        reads.
    scale, distribution
        Of an accelerated failure time model, as in `curves_from_aft`: times then become curves, so
        that metrics of curves can be used. Without `scale` they are predicted times.
    time, tau, convention
        What the metric is asked, as in `evaluate`.

    Returns
    -------
    BoosterMetric
        ``.xgboost``, ``.lightgbm`` and ``.catboost`` are what these take as a metric, and
        ``XGBRegressor`` takes the object itself. Lower is better. Where the metric is undefined
        its value is NaN, with a warning.

    Examples
    --------
    >>> y_train, y_valid = ([1, 3, 4, 6, 9], [1, 1, 0, 1, 1]), ([2, 5, 7], [1, 0, 1])
    >>> metric = booster_metric("mae_within", y_valid, y_train=y_train, output="time", tau=8)
    >>> name, value = metric.xgboost([3.0, 5.0, 6.0], None)
    >>> name, round(value, 3)
    ('mae_within', 1.333)
    """
    if not isinstance(name, str):
        raise InputError(f"name must be one metric, such as 'mae_within'; got {shown(name)}")
    train, valid = Outcomes.of(y_train, "y_train"), Outcomes.of(y_valid, "y_valid")
    if len(train) == len(valid):
        raise InputError(
            f"y_train and y_valid must differ in their number of rows, by which the booster's sets "
            f"are known; both have {len(train)}: leave one row out"
        )
    if not callable(output):
        one_of("output", output, OUTPUTS)
    if scale is not None:
        positive(scale, "scale")
        if output not in ("time", "log_time"):
            raise InputError(f"scale goes with output='time' or 'log_time'; got output={output!r}")
    settings: Any = {"time": time, "tau": tau, "convention": convention}
    score = scorer(name, y_train=Reference(train), predicts="time", **settings)
    if not callable(output):
        kind = _kind_of(output, scale)
        if not Prediction.offers(kind, score.metric.needs):
            raise InputError(
                f"{name} needs {score.metric.needs}, but output={output!r} gives {kind} only"
                + (": give scale too" if output in ("time", "log_time") else "")
            )
    sets = {len(train): train, len(valid): valid}
    return BoosterMetric(score, sets, train, output, _reader(output, train, scale, distribution))


def _kind_of(output: str, scale: float | None) -> str:
    """Return what an output is read as: risk, times or curves."""
    if output == "risk":
        return "risk"
    return "times" if output in ("time", "log_time") and scale is None else "curves"


def _reader(output: Any, train: Outcomes, scale: float | None, distribution: str) -> Any:
    """Return what turns numbers of the booster into a prediction."""
    from ..estimators.learners.trees import smooth_grid  # which needs scikit-learn

    grid = smooth_grid(train.time, 10 * float(train.time.max()), 200)

    def read(metric: BoosterMetric, raw: Floats, is_train: bool) -> Any:
        if callable(output):
            return output(raw)
        if output == "risk":
            return RiskScores(raw)
        if output in ("hazard_ratio", "log_hazard"):
            log = raw if output == "log_hazard" else np.log(np.maximum(raw, 1e-300))
            return metric._by_baseline(log, is_train)
        with np.errstate(over="ignore"):  # an infinite time is refused
            times = np.exp(raw) if output == "log_time" else raw
        if scale is None:
            return times
        return curves_from_aft(times, scale, grid, distribution=distribution)

    return read
