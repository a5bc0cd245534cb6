"""All metrics by name: what they need, which way is better, and how `evaluate` computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Floats
from ..data.predictions import Prediction
from ..errors import UndefinedMetricError
from ..reference.losses import LOSSES
from .calibration.calibration import d_calibration, one_calibration
from .calibration.calibration_measures import km_distance
from .calibration.smooth_calibration import integrated_calibration_index
from .details import Details
from .probability._status import STEPS
from .probability.densities import crps_details, log_likelihood_details
from .probability.probability import (
    brier_score,
    integrated_scores,
)
from .problem import Problem
from .ranking.discrimination import concordance_index_details, concordance_td_details
from .ranking.dynamic_auc import cumulative_dynamic_auc_details
from .support import renumbered
from .time.terms import Point, predicted_times
from .time.time_errors import CENSORED_METHODS, errors_of


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
    def stderr(self) -> float:
        """Standard error, reference set fixed; NaN where there is none."""

    @property
    def frequency(self) -> Floats | None:
        """Frequencies of the subjects, if given."""


_UNIT, _POSITIVE, _ANY = (0.0, 1.0), (0.0, float("inf")), (float("-inf"), float("inf"))


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
    inference : {"analytic", "bootstrap", "own", "test"}
        Where its standard error comes from; a test's value is a p-value and has none. What is
        measured with inference "own" has a `law` that gives the interval.
    interval : {"normal", "log", "logit", "own", "none"}
        On which scale its interval is symmetric; by default what keeps it in its range.
    takes_sample_weight : bool
        Whether `compute` heeds the sampling weights of the problem; otherwise the metric is
        undefined where there are any.
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
    interval: str = ""
    takes_sample_weight: bool = False

    def __post_init__(self) -> None:
        if not self.interval:
            object.__setattr__(self, "interval", self._usual_interval())

    def _usual_interval(self) -> str:
        if self.inference == "test":
            return "none"
        low, high = self.range
        if self.inference == "own":
            return "own"
        if (low, high) == _POSITIVE:
            return "log"
        return "logit" if (low, high) == _UNIT else "normal"

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: `compute` may be a closure, which cannot be pickled.
        return registered, (self.name,)

    def row(self) -> dict[str, Any]:
        """Return what users see of it."""
        shown = (
            "name", "title", "direction", "range", "needs", "proper", "inference", "interval",
            "takes_sample_weight", "unit", "reference",
        )  # fmt: skip
        return {name: getattr(self, name) for name in shown}


Compute = Callable[[Problem, Prediction], Measured]


def _time_error(method: str, loss: str) -> Compute:
    rule = LOSSES[loss]

    def compute(problem: Problem, prediction: Prediction) -> Measured:
        setting, predicted = problem.setting, prediction.times
        n, tau = len(problem.y), problem.tau
        point = prediction.cached(
            (rule.point, tau), lambda: Point(*predicted_times(predicted, n, rule.point, tau))
        )
        normalize = problem.options.get("normalize", "n")
        return errors_of(setting, point, predicted, (method,), rule, normalize)[method]

    return compute


def _rooted(squared: Compute) -> Compute:
    """Take the root, with contributions by the delta method.

    A root of exactly 0 has contributions of 0, as its square has: nobody has a loss.
    """

    def compute(problem: Problem, prediction: Prediction) -> Measured:
        details = squared(problem, prediction)
        root = float(np.sqrt(details.value))
        psi = details.psi  # made anew when asked for
        if psi is not None and root > 0:
            psi /= 2 * root
        convention = {**details.convention, "root": True}
        return Details(root, convention, details.support, psi, details.frequency)

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
            "takes_sample_weight": True,
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


# -- how `evaluate` calls the other metrics ----------------------------------------------------


def _harrell(problem: Problem, prediction: Prediction) -> Measured:
    return concordance_index_details(
        problem.y, prediction.risk, sample_weight=problem.sample_weight
    )


def _check_horizon(problem: Problem) -> None:
    if not problem.horizon > 0:
        raise UndefinedMetricError("follow-up supports no time above 0: the horizon is 0")


def _uno(problem: Problem, prediction: Prediction) -> Measured:
    _check_horizon(problem)
    # Anchors lie strictly before tau; the horizon itself is still supported.
    tau = float(np.nextafter(problem.horizon, np.inf))
    return concordance_index_details(
        problem.y, prediction.risk, method="uno", tau=tau, **problem.ipcw
    )


def _antolini(problem: Problem, prediction: Prediction) -> Measured:
    return concordance_td_details(problem.y, prediction.curves, sample_weight=problem.sample_weight)


def _supported_time(problem: Problem) -> float:
    if not np.isfinite(problem.time):
        raise UndefinedMetricError("there is no event in the reference to take the median time of")
    if problem.time_used != problem.time:
        _check_horizon(problem)
    return problem.time_used


def _auc(problem: Problem, prediction: Prediction) -> Measured:
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    return cumulative_dynamic_auc_details(
        problem.y,
        predicted,
        [_supported_time(problem)],
        on_unsupported=problem.on_unsupported,
        # Where nobody sees the standard error, what G adds to it takes memory for nothing.
        stderr="auto" if problem.contributions else "fixed",
        **problem.ipcw,
    )


def _brier(problem: Problem, prediction: Prediction) -> Measured:
    return brier_score(
        problem.y,
        prediction.curves,
        [_supported_time(problem)],
        on_unsupported=problem.on_unsupported,
        follow_up=problem.follow_up,
        **problem.ipcw,
    ).details


#: Integrated scores by name, and the loss that each integrates.
_INTEGRATED = {"ibs": "squared", "ibll": "log"}


def _integrated(name: str) -> Compute:
    """One of the integrated scores; the others that were asked for come from the same pass."""

    def compute(problem: Problem, prediction: Prediction) -> Measured:
        # By the prediction itself, not by its id: another object may get a deleted one's.
        shared: WeakKeyDictionary[Prediction, dict[str, Measured]]
        shared = problem.cached("integrated", WeakKeyDictionary)
        waiting = shared.setdefault(prediction, {})
        if name not in waiting:
            _check_horizon(problem)
            losses = [_INTEGRATED[k] for k in _INTEGRATED if k == name or k in problem.asked]
            times = np.linspace(0.0, problem.horizon, STEPS + 1)
            options = {"follow_up": problem.follow_up, "snap": True, **problem.ipcw}
            found = integrated_scores(problem.y, prediction.curves, times, losses, **options)
            waiting.update({k: found[v] for k, v in _INTEGRATED.items() if v in found})
        return waiting.pop(name)  # whoever asks again gets it anew

    return compute


def _weighted_curve(details: Callable[..., Measured]) -> Compute:
    def compute(problem: Problem, prediction: Prediction) -> Measured:
        found = details(problem.y, prediction.curves, sample_weight=problem.sample_weight)
        found.support.update(renumbered(found.support, problem.rows))
        return found

    return compute


def _d_calibration(problem: Problem, prediction: Prediction) -> Measured:
    result = d_calibration(problem.y, prediction.curves)
    return Details(result.p_value, result.convention, result.support)


def _one_calibration(problem: Problem, prediction: Prediction) -> Measured:
    result = one_calibration(problem.y, prediction.curves, _supported_time(problem))
    return Details(result.p_value, result.convention, result.support)


@dataclass(frozen=True)
class Distance(Details):
    """Details of a distance that cannot be negative, with the law that its interval comes from."""

    law: Any = None

    @property
    def stderr(self) -> float:
        """Spread of the estimate, were the gap found the true one."""
        return float("nan") if self.law is None else float(self.law.stderr)


def _km_calibration(problem: Problem, prediction: Prediction) -> Measured:
    clusters, contributions = problem.clusters, problem.contributions
    return km_distance(problem.y, prediction.curves, clusters=clusters, contributions=contributions)


def _ici(problem: Problem, prediction: Prediction) -> Measured:
    r = integrated_calibration_index(problem.y, prediction.curves, _supported_time(problem))
    r = r.clustered(problem.clusters)
    return Distance(r.ici, r.convention, r.support, r.psi, r.frequency, r.law)


_GRAF = "Graf et al. (1999), Statistics in Medicine 18"

#: name, title, direction, range, needs, proper, reference, inference, unit, compute
_OTHERS: tuple[tuple[Any, ...], ...] = (
    ("harrell", "Harrell's C: pairs in the right order", "higher", _UNIT, "risk", "no",
     "Harrell et al. (1996), Statistics in Medicine 15", "analytic", "", _harrell),
    ("uno", "Uno's C: pairs weighted by 1/G^2, up to the horizon", "higher", _UNIT, "risk", "no",
     "Uno et al. (2011), Statistics in Medicine 30", "analytic", "", _uno),
    ("antolini", "Antolini's time-dependent C", "higher", _UNIT, "curves", "no",
     "Antolini et al. (2005), Statistics in Medicine 24", "analytic", "", _antolini),
    ("auc", "Cumulative/dynamic AUC at the time of interest", "higher", _UNIT, "risk", "no",
     "Blanche et al. (2013), Statistics in Medicine 32", "analytic", "", _auc),
    ("brier", "Brier score at the time of interest", "lower", _POSITIVE, "curves",
     "under independent censoring", _GRAF, "analytic", "", _brier),
    ("ibs", "Integrated Brier score up to the horizon", "lower", _POSITIVE, "curves",
     "under independent censoring", _GRAF, "analytic", "",
     _integrated("ibs")),
    ("ibll", "Integrated binomial log-loss up to the horizon", "lower", _POSITIVE, "curves",
     "under independent censoring", _GRAF, "analytic", "",
     _integrated("ibll")),
    ("crps", "Survival-CRPS", "lower", _POSITIVE, "curves", "without censoring",
     "Avati et al. (2020), UAI", "analytic", "time", _weighted_curve(crps_details)),
    ("log_likelihood", "Mean log-likelihood", "higher", _ANY, "curves", "yes",
     "Rindt et al. (2022), AISTATS", "analytic", "", _weighted_curve(log_likelihood_details)),
    ("d_calibration", "D-calibration (Kolmogorov-Smirnov), p-value", "higher", _UNIT, "curves",
     "no", "Haider et al. (2020), JMLR 21", "test", "", _d_calibration),
    ("one_calibration", "1-calibration at the time of interest, p-value", "higher", _UNIT,
     "curves", "no", "D'Agostino and Nam (2003), variance under the prediction", "test", "",
     _one_calibration),
    ("km_calibration", "Squared distance of the mean curve from Kaplan-Meier", "lower",
     _UNIT, "curves", "no", "Qi et al. (2023)", "own", "",
     _km_calibration),
    ("ici", "Integrated calibration index at the time of interest", "lower", _UNIT, "curves",
     "no", "Austin et al. (2020), Statistics in Medicine 39", "own", "", _ici),
)  # fmt: skip

_TAKES_SAMPLE_WEIGHT = (
    "harrell", "uno", "antolini", "auc", "brier", "ibs", "ibll", "crps", "log_likelihood",
)  # fmt: skip

REGISTRY: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *_time_error_metrics(),
        *(
            replace(Metric(*fields), takes_sample_weight=fields[0] in _TAKES_SAMPLE_WEIGHT)
            for fields in _OTHERS
        ),
    )
}

#: What `evaluate` computes unless told otherwise: all but the squared errors.
DEFAULT_METRICS = tuple(name for name in REGISTRY if not name.startswith(("mse_", "rmse_")))


def registered(name: str) -> Metric:
    """Return the metric of that name."""
    return REGISTRY[name]


def available_metrics() -> list[dict[str, Any]]:
    """List the registry: name, direction, range, what it needs, whether it is proper, reference.

    >>> next(m["direction"] for m in available_metrics() if m["name"] == "mae_po")
    'lower'
    """
    return [metric.row() for metric in REGISTRY.values()]
