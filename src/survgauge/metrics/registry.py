"""All metrics by name, and the records of the time errors: three for every method."""

from __future__ import annotations

import copyreg
from dataclasses import fields
from functools import partial
from typing import Any
from warnings import warn

from ..data.predictions import Prediction
from ..errors import InputError
from ..estimators.residual import LOSSES
from ..estimators.surrogates import METHODS, Method
from .record import EVERYTHING, POSITIVE, Metric
from .records import calibration, interval, probability, ranking
from .score import Terms
from .task import Task, supported_end
from .time.terms import Point, time_convention, time_terms

__all__ = [
    "REGISTRY", "Metric", "available_metrics", "default_metrics", "register_method",
    "register_metric",
]  # fmt: skip

REGISTRY: dict[str, Metric] = {}

#: Metrics that were renamed: former name, and the one that replaces it for a version.
RENAMED = {"calibration_slope_at": "calibration_slope"}


def current_name(name: Any) -> Any:
    """Return the name that a metric has now; anything else as it is.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     current_name("calibration_slope_at"), current_name("ibs"), str(told[0].message)
    ('calibration_slope', 'ibs', "the metric 'calibration_slope_at' is now 'calibration_slope'")
    """
    now = RENAMED.get(name) if isinstance(name, str) else None
    if now is None:
        return name
    warn(f"the metric {name!r} is now {now!r}", DeprecationWarning, stacklevel=2)
    return now


def _taken_apart(metric: Metric) -> tuple[Any, ...]:
    """Say how to pickle a metric: a process that is handed one has it from then on."""
    return _restored, ({one.name: getattr(metric, one.name) for one in fields(metric)},)


copyreg.pickle(Metric, _taken_apart)


def _restored(values: dict[str, Any]) -> Metric:
    """Return the metric of another process: the registered one of that name, or this."""
    metric = Metric(**values)
    if metric.method is not None:
        METHODS.setdefault(metric.method.name, metric.method)
    return REGISTRY.setdefault(metric.name, metric)


def register_metric(metric: Metric) -> Metric:
    """Add a metric of your own: `evaluate`, streams, scorers, experiments and reports then have it.

    Parameters
    ----------
    metric : Metric
        Its record; the name must be a new one.

    Returns
    -------
    Metric
        The same record.

    Examples
    --------
    >>> import numpy as np
    >>> import survgauge as sg
    >>> def pinball(task, prediction):
    ...     gap = task.y.time - prediction.curves.quantile(0.8)
    ...     return np.where(task.y.event, np.maximum(0.8 * gap, -0.2 * gap), 0.0)
    >>> mine = sg.Metric(name="pinball_80", title="Pinball loss of events at 80 %", terms=pinball)
    >>> _ = sg.register_metric(mine)
    >>> curves = sg.SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    >>> ev = sg.evaluate(curves, ([2, 5, 9], [1, 1, 1]), metrics="pinball_80")
    >>> round(ev.scores[0].value, 3)
    0.867
    >>> del REGISTRY["pinball_80"]  # as it was
    """
    if not isinstance(metric, Metric):
        raise InputError(f"metric must be a Metric; got {type(metric).__name__}")
    if metric.name in REGISTRY:
        raise InputError(f"there is a metric called {metric.name!r} already; choose another name")
    REGISTRY[metric.name] = metric
    return metric


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


def register_method(method: Method) -> Method:
    """Add a way to count censored subjects, with its mean absolute and (root) squared errors.

    Parameters
    ----------
    method : Method
        Its record; the name must be a new one.
    """
    if not isinstance(method, Method):
        raise InputError(f"method must be a Method; got {type(method).__name__}")
    metrics = errors_of(method)
    taken = [metric.name for metric in metrics if metric.name in REGISTRY]
    if METHODS.get(method.name, method) is not method or taken:
        known = f", with the metric {taken[0]!r}" if taken else ""
        raise InputError(
            f"there is a method called {method.name!r} already{known}; choose another name"
        )
    METHODS[method.name] = method
    for metric in metrics:
        register_metric(metric)
    return method


for _method in list(METHODS.values()):
    if not _method.needs_truth:
        register_method(_method)

for _metric in (
    WITHIN,
    *ranking.RECORDS,
    *probability.RECORDS,
    *calibration.RECORDS,
    *interval.RECORDS,
):
    register_metric(_metric)


def metrics_of(outcomes: str = "right", cause: int | str | None = None) -> dict[str, Metric]:
    """Return metrics by name: of right- or interval-censored outcomes, of one event or a cause."""
    known = (m for m in REGISTRY.values() if m.outcomes == outcomes and m.supports_cause(cause))
    return {metric.name: metric for metric in known}


def default_metrics(
    subjects: int = 0,
    streamed: bool = False,
    threshold: float | None = None,
    cause: int | str | None = None,
    outcomes: str = "right",
) -> list[Metric]:
    """Return what is computed unless metrics are named, for so many subjects."""
    return [
        metric
        for metric in metrics_of(outcomes, cause).values()
        if (metric.default or (metric.reads_threshold and threshold is not None))
        and subjects <= metric.default_until
        and not (streamed and metric.needs_all())
    ]


def available_metrics() -> list[dict[str, Any]]:
    """List the registry: name, direction, range, what it needs, whether it is proper, reference.

    >>> next(m["direction"] for m in available_metrics() if m["name"] == "mae_po")
    'lower'
    """
    return [metric.row() for metric in REGISTRY.values()]
