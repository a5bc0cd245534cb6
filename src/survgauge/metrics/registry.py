"""All metrics by name, each with its record."""

from __future__ import annotations

import copyreg
from dataclasses import fields
from typing import Any
from warnings import warn

from ..errors import InputError
from ..estimators.surrogates import METHODS, Method
from .record import Metric
from .records import calibration, interval, probability, ranking
from .records.time import WITHIN, errors_of

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
