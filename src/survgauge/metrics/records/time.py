"""Records of the time errors: three for every method for censored subjects, and the headline."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...data.predictions import Prediction
from ...estimators.residual import LOSSES
from ...estimators.surrogates import METHODS, Method
from ..record import EVERYTHING, POSITIVE, Metric
from ..score import Terms
from ..task import Task, supported_end
from ..time.terms import Point, time_convention, time_terms


def _time_error(task: Task, prediction: Prediction, *, method: str, loss: str) -> Terms:
    if task.cause is not None and task.tau is None:
        supported_end(task)
    setting, rule, normalize = task.setting, LOSSES[loss], task.convention.normalize
    point: Point = task.look_up(
        prediction, rule.point, lambda: Point.of(setting, prediction.times, rule.point)
    )
    rules = time_convention(setting, method, rule, prediction.times, normalize)
    return time_terms(setting, point, method, rule, normalize, rules)


def _within(task: Task, prediction: Prediction) -> Terms:
    supported_end(task)
    return _time_error(task.within_horizon, prediction, method="dr", loss="absolute")


def _assumes(method: Method) -> str:
    """Say what a method for censored subjects assumes of censoring."""
    if method.needs_truth:
        return ""
    return "given" if method.takes_distribution else "independent"


def _supports(method: Method) -> set[str]:
    """Say which questions can be asked of the errors of a method."""
    entry, cause = method.takes_entry, method.takes_cause
    asked = {"entry": entry, "cause": cause, "entry of a cause": entry and cause}
    return {"weights"} | {name for name, can in asked.items() if can}


def errors_of(method: Method) -> tuple[Metric, ...]:
    """Return the mean absolute error of a method, and its (root) squared error."""
    median, mean = "without censoring, for the median", "without censoring, for the mean"
    shared: dict[str, Any] = {
        "family": "time",
        "range": POSITIVE,
        "needs": "times",
        "reference": method.reference,
        "assumes": _assumes(method),
        "weights_by_g": method.weights_by_g,
        "reads_g": method.reads_g,
        "supports": _supports(method),
        "stops": "tau",
        "method": method,
    }
    absolute, squared = (
        partial(_time_error, method=method.name, loss=loss) for loss in ("absolute", "squared")
    )
    mae = Metric(
        name=f"mae_{method.name}",
        title=f"MAE, {method.title}",
        about=f"Mean absolute error; each censored subject {method.counts_as}.",
        terms=absolute,
        loss="absolute",
        unit="time",
        proper=median,
        **shared,
    )
    shared |= {"terms": squared, "loss": "squared", "proper": mean, "default": False}
    mse = Metric(
        name=f"mse_{method.name}",
        title=f"MSE, {method.title}",
        other_names=("mse", "mean_squared_error") if method.name == "dr" else (),
        about=f"Mean squared error; each censored subject {method.counts_as}.",
        unit="time^2",
        **shared,
    )
    rmse = Metric(
        name=f"rmse_{method.name}",
        title=f"RMSE, {method.title}",
        other_names=("rmse", "root_mean_squared_error") if method.name == "dr" else (),
        about=f"Root of the mean squared error; each censored subject {method.counts_as}.",
        unit="time",
        root=True,
        square=f"mse_{method.name}",
        **shared,
    )
    return mae, mse, rmse


WITHIN: Metric = Metric(
    name="mae_within",
    title="MAE within the horizon",
    reported=True,
    other_names=("mae", "l1", "mean_absolute_error"),
    about="Doubly robust mean absolute error up to tau or the last time the data support.",
    terms=_within,
    loss="absolute",
    unit="time",
    proper="if the distribution or G is right, for the median",
    family="time",
    range=POSITIVE,
    needs="times",
    reference=METHODS["dr"].reference,
    assumes="given",
    reads_g=True,
    supports=EVERYTHING,
    method=METHODS["dr"],
    stops="horizon",
)
