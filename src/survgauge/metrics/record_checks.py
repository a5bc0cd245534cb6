"""What the record of a metric must be like, and what its function must return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, one_of
from ..reference.surrogates import Method
from .past_curve import READS, STOPS

if TYPE_CHECKING:
    from .record import Metric

#: Fields that are one of a few words.
_WORDS = {
    "family": ("time", "ranking", "probability", "calibration", "decision", "own"),
    "direction": ("lower", "higher", "target"),
    "needs": ("times", "curves", "risk"),
    "inference": ("analytic", "bootstrap", "own", "test"),
    "interval": ("", "normal", "log", "logit", "own", "none"),
    "causes": ("", "takes", "needs"),
    "outcomes": ("right", "interval"),
    "reads": ("", *READS),
    "stops": ("", *STOPS),
}
#: Fields that are any text.
_TEXTS = ("title", "about", "below", "above", "unit", "reference", "proper", "square")
#: What can be kept of a subject until all are known: a risk, the probability at the time of
#: interest, or the way of the curve to that time.
KEEPS = ("risk", "at_time", "path")


def check_record(metric: Metric) -> None:
    """Refuse a record whose fields are not what they should be, or do not go together."""
    if not isinstance(metric.name, str) or not metric.name:
        raise InputError(f"name must be the name of a metric; got {metric.name!r}")
    for field in _TEXTS:
        if not isinstance(getattr(metric, field), str):
            raise _refused(metric.name, f"{field} must be text; got {getattr(metric, field)!r}")
    _check_functions(metric)
    for field, words in _WORDS.items():
        one_of(field, getattr(metric, field), words)
    if (metric.direction == "target") != isinstance(metric.target, float | int):
        raise _refused(metric.name, 'direction="target" and target, the best value, go together')
    if metric.method is not None and not isinstance(metric.method, Method):
        raise _refused(metric.name, f"method must be a Method; got {metric.method!r}")
    if metric.square and not metric.root:
        told = f"square={metric.square!r} is for roots: give root=True with it"
        raise _refused(metric.name, told)


def _refused(name: str, message: str) -> InputError:
    return InputError(f"metric {name!r}: {message}")


def _check_functions(metric: Metric) -> None:
    """Check what the metric is computed by, and what a stream keeps for it."""
    if (metric.terms is None) == (metric.compute is None):
        raise InputError(
            f"metric {metric.name!r} must have one of terms (for a mean over subjects) and "
            "compute (for other metrics)"
        )
    for function in (metric.terms, metric.compute):
        if function is not None and not callable(function):
            raise _refused(
                metric.name,
                "terms or compute must be a function of a problem and a prediction; got "
                f"{type(function).__name__}",
            )
    for field in ("keeps", "other_names"):
        given = getattr(metric, field)
        if not isinstance(given, tuple):
            raise _refused(metric.name, f"{field} must be a tuple of names; got {given!r}")
    for kept in metric.keeps:
        one_of("keeps", kept, KEEPS)
    methods = ("update", "merge", "measured")
    if metric.table is not None and not all(hasattr(metric.table, name) for name in methods):
        told = f"table must be a class with the methods {', '.join(methods)}; got {metric.table!r}"
        raise _refused(metric.name, told)
    if metric.terms is not None and (metric.keeps or metric.table is not None):
        raise _refused(metric.name, "keeps and table go with compute; terms add up by themselves")


def checked_range(metric: Metric) -> tuple[float, float]:
    """Return the least and the largest value of a metric."""
    try:
        low, high = (float(limit) for limit in metric.range)
    except (TypeError, ValueError):
        low = high = float("nan")
    if not low < high:
        told = f"range must be a pair of its least and its largest value; got {metric.range!r}"
        raise _refused(metric.name, told)
    return low, high


def check_measured(name: str, found: Any, n: int) -> None:
    """Refuse what a user's function computed, unless it is a value with its support."""
    wanted = ("value", "convention", "support", "psi", "stderr", "frequency")
    if not all(hasattr(found, field) for field in wanted):
        told = f"compute must return Details, a value with its support; got {found!r}"
        raise _refused(name, told)
    if not isinstance(found.value, float | int | np.floating | np.integer):
        raise _refused(name, f"compute must return a number as value; got {found.value!r}")
    if found.psi is not None and np.shape(found.psi) != (n,):
        raise _refused(
            name,
            f"compute must return one contribution (psi) for each of {n} subjects; got shape "
            f"{np.shape(found.psi)}",
        )
