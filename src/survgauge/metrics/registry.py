"""All metrics by name: what they need, which way is better, and how `evaluate` computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._arrays import Floats
from ..predictions import Prediction
from .problem import Problem
from .time_errors import CENSORED_METHODS, time_error_details


class Measured(Protocol):
    """What a metric gives to `evaluate`."""

    @property
    def value(self) -> float:
        """The number."""
    @property
    def convention(self) -> dict[str, Any]:
        """Which definitions it follows."""
    @property
    def support(self) -> dict[str, Any]:
        """What the data covered."""
    @property
    def psi(self) -> Floats | None:
        """Contributions of the subjects, if it has any."""
    @property
    def frequency(self) -> Floats | None:
        """Frequencies of the subjects, if given."""


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    Attributes
    ----------
    direction : {"lower", "higher"}
        Which values are better.
    needs : {"times", "curves", "risk"}
        The least that a prediction must offer.
    proper : str
        Whether telling the truth is optimal, and under which condition.
    inference : {"analytic", "bootstrap", "bootstrap-log", "test"}
        Where its interval comes from; a test's value is a p-value and has none.
    """

    name: str
    title: str
    direction: str
    range: tuple[float, float]
    needs: str
    proper: str
    reference: str
    inference: str
    unit: str
    compute: Callable[[Problem, Prediction], Measured]

    def row(self) -> dict[str, Any]:
        """Return what users see of it."""
        shown = ("name", "title", "direction", "range", "needs", "proper", "inference", "unit")
        return {**{name: getattr(self, name) for name in shown}, "reference": self.reference}


@dataclass(frozen=True)
class _Rooted:
    """A squared error's root, with contributions by the delta method."""

    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    psi: Floats | None
    frequency: Floats | None


def _time_error(method: str, loss: str) -> Callable[[Problem, Prediction], Measured]:
    def compute(problem: Problem, prediction: Prediction) -> Measured:
        return time_error_details(
            problem.y,
            prediction.times,
            y_train=problem.reference,
            method=method,
            loss=loss,
            tau=problem.tau,
            censoring=problem.censoring,
            **problem.options,
        )

    return compute


def _rooted(squared: Callable[[Problem, Prediction], Measured]) -> Any:
    def compute(problem: Problem, prediction: Prediction) -> Measured:
        details = squared(problem, prediction)
        root = float(np.sqrt(details.value))
        psi = None if details.psi is None or root == 0 else details.psi / (2 * root)
        return _Rooted(
            root, {**details.convention, "root": True}, details.support, psi, details.frequency
        )

    return compute


_METHOD_TITLES = {
    "uncensored": "events only",
    "hinge": "one-sided for censored subjects",
    "margin": "margin times",
    "ipcw_d": "events weighted by 1/G",
    "ipcw_t": "mean of later events",
    "po": "pseudo-observations",
    "pop_po": "population mean (ablation)",
    "expected": "expected loss given survival",
}
_METHOD_REFERENCES = {
    "margin": "Haider et al. (2020), JMLR 21",
    "hinge": "Shivaswamy et al. (2007), ICDM",
    "expected": "this package",
}
_QI = "Qi et al. (2023), ICML"


def _time_error_metrics() -> list[Metric]:
    metrics = []
    for method in CENSORED_METHODS:
        shared: dict[str, Any] = {
            "direction": "lower",
            "range": (0.0, float("inf")),
            "needs": "times",
            "reference": _METHOD_REFERENCES.get(method, _QI),
            "inference": "analytic",
        }
        title = _METHOD_TITLES[method]
        absolute, squared = _time_error(method, "absolute"), _time_error(method, "squared")
        median = "without censoring, for the median"
        mean = "without censoring, for the mean"
        metrics += [
            Metric(f"mae_{method}", f"Mean absolute error, {title}", proper=median, unit="time",
                   compute=absolute, **shared),
            Metric(f"mse_{method}", f"Mean squared error, {title}", proper=mean, unit="time^2",
                   compute=squared, **shared),
            Metric(f"rmse_{method}", f"Root mean squared error, {title}", proper=mean,
                   unit="time", compute=_rooted(squared), **shared),
        ]  # fmt: skip
    return metrics


REGISTRY: dict[str, Metric] = {metric.name: metric for metric in _time_error_metrics()}

#: What `evaluate` computes unless told otherwise.
DEFAULT_METRICS = tuple(name for name in REGISTRY if name.startswith("mae_"))


def available_metrics() -> list[dict[str, Any]]:
    """List the registry: name, direction, range, what it needs, whether it is proper, reference.

    >>> next(m["direction"] for m in available_metrics() if m["name"] == "mae_po")
    'lower'
    """
    return [metric.row() for metric in REGISTRY.values()]
