"""All metrics by name, each with its record."""

from __future__ import annotations

import copyreg
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..reference.losses import LOSSES
from ..reference.surrogates import METHODS, Method
from .calibration.calibration import d_calibration, one_calibration
from .calibration.calibration_measures import calibration_slope_details, km_distance
from .calibration.mean_curve_sums import MeanCurveSums
from .calibration.own_survival import OwnSurvival
from .calibration.smooth_calibration import integrated_calibration_index
from .details import Details
from .grids import equal_steps
from .probability.densities import crps_details, log_likelihood_details
from .probability.doubly_robust import brier_terms, integrated_terms
from .probability.probability import brier_curve, integrated_scores
from .problem import Problem
from .ranking.discrimination import (
    concordance_index_details,
    concordance_of,
    concordance_td_details,
)
from .ranking.dynamic_auc import auc_curve
from .record import ANY, POSITIVE, UNIT, Measured, Metric
from .terms import Terms
from .time.terms import Point, convention, time_terms

__all__ = [
    "REGISTRY", "Measured", "Metric", "available_metrics", "default_metrics", "register_method",
    "register_metric", "supported_end", "supported_time",
]  # fmt: skip

REGISTRY: dict[str, Metric] = {}


def _taken_apart(metric: Metric) -> tuple[Any, ...]:
    """Say how to pickle a metric: a process that is handed one knows it from then on."""
    return _restored, ({one.name: getattr(metric, one.name) for one in fields(metric)},)


copyreg.pickle(Metric, _taken_apart)


def _restored(values: dict[str, Any]) -> Metric:
    """Return the metric of another process: the registered one of that name, or this."""
    metric = Metric(**values)
    if metric.method is not None:
        METHODS.setdefault(metric.method.name, metric.method)
    return REGISTRY.setdefault(metric.name, metric)


def register_metric(metric: Metric) -> Metric:
    """Add a metric of your own: `evaluate`, streams, scorers, experiments and reports then know it.

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
    >>> import survgauge as sg
    >>> def pinball(problem, prediction):
    ...     gap = problem.y.time - prediction.curves.quantile(0.8)
    ...     return np.where(problem.y.event, np.maximum(0.8 * gap, -0.2 * gap), 0.0)
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


# -- time errors -------------------------------------------------------------------------------


def _time_error(problem: Problem, prediction: Prediction, *, method: str, loss: str) -> Terms:
    setting, rule, normalize = problem.setting, LOSSES[loss], problem.options["normalize"]
    point: Point = problem.look_up(
        prediction, rule.point, lambda: Point.of(setting, prediction.times, rule.point)
    )
    rules = convention(setting, method, rule, prediction.times, normalize)
    return time_terms(setting, point, method, rule, normalize, rules)


def register_method(method: Method) -> Method:
    """Add a way to count censored subjects, with its mean absolute and (root) squared errors.

    Parameters
    ----------
    method : Method
        Its record; the name must be a new one.
    """
    if not isinstance(method, Method):
        raise InputError(f"method must be a Method; got {type(method).__name__}")
    taken = [f"{kind}_{method.name}" for kind in ("mae", "mse", "rmse")]
    taken = [name for name in taken if name in REGISTRY]
    if METHODS.get(method.name, method) is not method or taken:
        known = f", with the metric {taken[0]!r}" if taken else ""
        raise InputError(
            f"there is a method called {method.name!r} already{known}; choose another name"
        )
    METHODS[method.name] = method
    median, mean = "without censoring, for the median", "without censoring, for the mean"
    shared: dict[str, Any] = {
        "family": "time",
        "range": POSITIVE,
        "needs": "times",
        "reference": method.reference,
        "weights_by_g": method.weights_by_g,
        "reads_g": method.reads_g,
        "takes_dependence": method.takes_dependence,
        "stops": "tau",
        "method": method,
    }
    absolute, squared = (
        partial(_time_error, method=method.name, loss=loss) for loss in ("absolute", "squared")
    )
    register_metric(
        Metric(
            name=f"mae_{method.name}",
            title=f"MAE, {method.title}",
            other_names=("mae", "l1", "mean_absolute_error") if method.usual else (),
            about=f"Mean absolute error; each censored subject {method.counts_as}.",
            terms=absolute,
            loss="absolute",
            unit="time",
            proper=median,
            **shared,
        )
    )
    shared |= {"terms": squared, "loss": "squared", "proper": mean, "default": False}
    register_metric(
        Metric(
            name=f"mse_{method.name}",
            title=f"MSE, {method.title}",
            other_names=("mse", "mean_squared_error") if method.usual else (),
            about=f"Mean squared error; each censored subject {method.counts_as}.",
            unit="time^2",
            **shared,
        )
    )
    register_metric(
        Metric(
            name=f"rmse_{method.name}",
            title=f"RMSE, {method.title}",
            other_names=("rmse", "root_mean_squared_error") if method.usual else (),
            about=f"Root of the mean squared error; each censored subject {method.counts_as}.",
            unit="time",
            root=True,
            square=f"mse_{method.name}",
            **shared,
        )
    )
    return method


for _method in list(METHODS.values()):
    if not _method.needs_truth:
        register_method(_method)


def _within(problem: Problem, prediction: Prediction) -> Terms:
    supported_end(problem)
    return _time_error(problem.within_horizon, prediction, method="dr", loss="absolute")


register_metric(
    Metric(
        name="mae_within",
        title="MAE within the horizon",
        other_names=("mae", "l1", "mean_absolute_error"),
        about="Doubly robust mean absolute error up to tau or the last time the data support.",
        terms=_within,
        loss="absolute",
        unit="time",
        proper="if the law or G is right, for the median",
        family="time",
        range=POSITIVE,
        needs="times",
        reference=METHODS["dr"].reference,
        reads_g=True,
        method=METHODS["dr"],
        stops="horizon",
    )
)


# -- how the other metrics are called ------------------------------------------------------------


def _harrell(problem: Problem, prediction: Prediction) -> Measured:
    return concordance_index_details(
        problem.y, prediction.risk, sample_weight=problem.sample_weight
    )


def _check_horizon(problem: Problem) -> None:
    if not problem.horizon > 0:
        raise UndefinedMetricError("follow-up supports no time above 0: the horizon is 0")


def supported_end(problem: Problem) -> float:
    """Return where metrics that have a horizon stop; refuse where there is none."""
    _check_horizon(problem)
    tau, late = problem.tau, problem.on_unsupported
    if tau is not None and tau > problem.horizon and late != "truncate":
        error = InputError if late == "raise" else UndefinedMetricError
        raise error(
            f"tau {tau:g} lies past {problem.horizon:g}, the last time that the data support; give "
            "an earlier tau, or on_unsupported='truncate'"
        )
    return problem.until


def _uno(problem: Problem, prediction: Prediction) -> Measured:
    tau = supported_end(problem)
    if tau != problem.tau:
        # Anchors lie strictly before tau; the last time that the data support still counts.
        tau = float(np.nextafter(tau, np.inf))
    return concordance_of(problem.y, prediction.risk, "uno", True, tau=tau, **problem.ipcw)


def _antolini(problem: Problem, prediction: Prediction) -> Measured:
    return concordance_td_details(problem.y, prediction.curves, sample_weight=problem.sample_weight)


def supported_time(problem: Problem) -> float:
    """Return the time at which metrics are read; refuse where there is none."""
    if not np.isfinite(problem.time):
        raise UndefinedMetricError("there is no event in the reference to take the median time of")
    if problem.time_used != problem.time:
        _check_horizon(problem)
    return problem.time_used


def _auc(problem: Problem, prediction: Prediction) -> Measured:
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    # Where nobody sees the standard error, what G adds to it takes memory for nothing.
    stderr = "auto" if problem.contributions else "fixed"
    return auc_curve(
        problem.y,
        predicted,
        [supported_time(problem)],
        stderr,
        on_unsupported=problem.on_unsupported,
        **problem.ipcw,
    ).details


def _brier(problem: Problem, prediction: Prediction) -> Details:
    return brier_curve(
        problem.y,
        prediction.curves,
        [supported_time(problem)],
        on_unsupported=problem.on_unsupported,
        follow_up=problem.follow_up,
        **problem.ipcw,
    ).details


def _brier_dr(problem: Problem, prediction: Prediction) -> Terms:
    return brier_terms(problem, prediction, supported_time(problem))


def _ibs_dr(problem: Problem, prediction: Prediction) -> Terms:
    return integrated_terms(problem, prediction, supported_end(problem), mean=True)


def _crps_dr(problem: Problem, prediction: Prediction) -> Terms:
    return integrated_terms(problem, prediction, supported_end(problem), mean=False)


#: Integrated scores by name, and the loss that each integrates.
_INTEGRATED = {"ibs": "squared", "ibll": "log"}


def _integrated(problem: Problem, prediction: Prediction, *, name: str) -> Details:
    """Return one of the integrated scores; others that were asked for come from the same pass."""

    def both() -> dict[str, Details]:
        end = supported_end(problem)
        losses = [_INTEGRATED[k] for k in _INTEGRATED if k == name or k in problem.asked]
        times = equal_steps(end) if problem.grid is None else problem.grid
        options = {"follow_up": problem.follow_up, "snap": True, **problem.ipcw}
        return integrated_scores(problem.y, prediction.curves, times, losses, **options)

    found: dict[str, Details] = problem.look_up(prediction, "integrated", both)
    if _INTEGRATED[name] not in found:
        found |= both()
    return found[_INTEGRATED[name]]


def _crps(problem: Problem, prediction: Prediction) -> Details:
    weight, tau = problem.sample_weight, problem.tau
    found = crps_details(problem.y, prediction.curves, tau=tau, sample_weight=weight)
    return _numbered(found, problem)


def _log_likelihood(problem: Problem, prediction: Prediction) -> Details:
    weight = problem.sample_weight
    found = log_likelihood_details(problem.y, prediction.curves, sample_weight=weight)
    return _numbered(found, problem)


def _numbered(found: Details, problem: Problem) -> Details:
    """Name subjects by their numbers in the whole test set."""
    if found.counted is not None:
        found.counted.renumber(problem.numbers)
    return found


def _d_calibration(problem: Problem, prediction: Prediction) -> Measured:
    result = d_calibration(problem.y, prediction.curves)
    return Details(result.p_value, result.convention, result.support)


def _one_calibration(problem: Problem, prediction: Prediction) -> Measured:
    result = one_calibration(problem.y, prediction.curves, supported_time(problem))
    return Details(result.p_value, result.convention, result.support)


@dataclass(frozen=True, repr=False)
class Distance(Details):
    """Details of a distance that cannot be negative, with the law that its interval comes from."""

    law: Any = None

    @property
    def stderr(self) -> float:
        """Spread of the estimate, were the gap found the true one."""
        return float("nan") if self.law is None else float(self.law.stderr)


def _km_calibration(problem: Problem, prediction: Prediction) -> Measured:
    return km_distance(
        problem.y,
        prediction.curves,
        clusters=problem.clusters,
        contributions=problem.contributions,
        tau=problem.tau,
    )


def _ici(problem: Problem, prediction: Prediction) -> Measured:
    r = integrated_calibration_index(problem.y, prediction.curves, supported_time(problem))
    r = r.clustered(problem.clusters)
    return Distance(r.ici, r.convention, r.support, r.psi, r.frequency, r.law)


def _calibration_slope(problem: Problem, prediction: Prediction) -> Measured:
    return calibration_slope_details(problem.y, prediction.curves, supported_time(problem))


_GRAF = "Graf et al. (1999), Statistics in Medicine 18"
_CENSORING = "under independent censoring"

#: What other packages call the two C-indices of a risk.
_C = ("c_index", "ci", "c_statistic", "concordance", "concordance_index")
_RANKING: dict[str, Any] = {
    "family": "ranking", "direction": "higher", "range": UNIT, "proper": "no",
}  # fmt: skip
_PROBABILITY: dict[str, Any] = {"family": "probability", "needs": "curves"}
_ROBUST: dict[str, Any] = {
    "range": POSITIVE, "reads_g": True, "default": False,
    "proper": "if the law or G is right", "reference": "this package", **_PROBABILITY,
}  # fmt: skip
_CALIBRATION: dict[str, Any] = {
    "family": "calibration", "needs": "curves", "range": UNIT, "proper": "no",
    "takes_sample_weight": False,
}  # fmt: skip

for _metric in (
    Metric(
        name="harrell",
        title="Harrell's C",
        other_names=(*_C, "harrell_c", "concordance_index_censored"),
        about="Share of comparable pairs of subjects that are in the right order.",
        compute=_harrell,
        keeps=("risk",),
        needs="risk",
        reference="Harrell et al. (1996), Statistics in Medicine 15",
        **_RANKING,
    ),
    Metric(
        name="uno",
        title="Uno's C",
        other_names=(*_C, "uno_c", "concordance_index_ipcw"),
        about="Share of pairs in the right order, weighted by 1/G^2 so that censoring does not "
        "matter.",
        compute=_uno,
        keeps=("risk",),
        needs="risk",
        weights_by_g=True,
        takes_dependence=True,
        stops="horizon",
        reference="Uno et al. (2011), Statistics in Medicine 30",
        **_RANKING,
    ),
    Metric(
        name="antolini",
        title="Antolini's C",
        other_names=(
            "c_td",
            "ctd",
            "concordance_td",
            "time_dependent_concordance",
        ),
        about="Share of pairs in which the curve of the subject with the event is lower at that "
        "time.",
        compute=_antolini,
        reads="event",
        default_until=100_000,
        reference="Antolini et al. (2005), Statistics in Medicine 24",
        **_RANKING,
    ),
    Metric(
        name="auc",
        title="AUC",
        other_names=(
            "roc_auc",
            "td_auc",
            "time_dependent_auc",
            "cumulative_dynamic_auc",
        ),
        about="Share of pairs with and without an event by the time that are in the right order "
        "(cumulative/dynamic).",
        compute=_auc,
        keeps=("at_time",),
        needs="risk",
        weights_by_g=True,
        reads="time",
        reference="Blanche et al. (2013), Statistics in Medicine 32",
        **_RANKING,
    ),
    Metric(
        name="brier",
        title="Brier score",
        other_names=(
            "brier_score",
            "bs",
        ),
        about="Mean squared error of the predicted probability at the time.",
        terms=_brier,
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="time",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        **_PROBABILITY,
    ),
    Metric(
        name="ibs",
        title="Integrated Brier score",
        other_names=(
            "integrated_brier",
            "integrated_brier_score",
        ),
        about="Brier score averaged over all times up to the horizon.",
        terms=partial(_integrated, name="ibs"),
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="horizon",
        stops="horizon",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        **_PROBABILITY,
    ),
    Metric(
        name="ibll",
        title="Integrated log loss",
        other_names=(
            "inbll",
            "integrated_nbll",
            "integrated_binomial_log_likelihood",
        ),
        about="Logarithmic loss of the predicted probabilities, averaged over all times up to "
        "the horizon.",
        terms=partial(_integrated, name="ibll"),
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="horizon",
        stops="horizon",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        **_PROBABILITY,
    ),
    Metric(
        name="crps",
        title="Survival CRPS",
        about="Squared distance of each curve from the observed course, added up over time.",
        terms=_crps,
        range=POSITIVE,
        reads="own",
        stops="tau",
        unit="time",
        proper="without censoring",
        reference="Avati et al. (2020), UAI",
        **_PROBABILITY,
    ),
    Metric(
        name="brier_dr",
        title="Brier score, doubly robust",
        about="Brier score at the time, right if the law of the event time or G is right.",
        terms=_brier_dr,
        reads="time",
        **_ROBUST,
    ),
    Metric(
        name="ibs_dr",
        title="Integrated Brier score, doubly robust",
        about="Integrated Brier score, right if the law of the event time or G is right.",
        terms=_ibs_dr,
        reads="horizon",
        stops="horizon",
        **_ROBUST,
    ),
    Metric(
        name="crps_dr",
        title="CRPS, doubly robust",
        about="CRPS up to the horizon, right if the law of the event time or G is right.",
        terms=_crps_dr,
        reads="horizon",
        stops="horizon",
        unit="time",
        **_ROBUST,
    ),
    Metric(
        name="log_likelihood",
        title="Log-likelihood",
        other_names=(
            "loglik",
            "nll",
            "log_loss",
            "likelihood",
        ),
        about="Mean logarithm of the predicted density at events and of the survival at censoring.",
        terms=_log_likelihood,
        direction="higher",
        reads="own",
        proper="yes",
        reference="Rindt et al. (2022), AISTATS",
        **_PROBABILITY,
    ),
    Metric(
        name="d_calibration",
        title="D-calibration",
        other_names=(
            "d_cal",
            "dcal",
            "distribution_calibration",
        ),
        about="Test of whether predicted survival at the subjects' own times is uniform "
        "(Kolmogorov-Smirnov).",
        compute=_d_calibration,
        table=OwnSurvival,
        direction="higher",
        reads="own",
        inference="test",
        reference="Haider et al. (2020), JMLR 21",
        **_CALIBRATION,
    ),
    Metric(
        name="one_calibration",
        title="1-calibration",
        other_names=(
            "1_calibration",
            "hosmer_lemeshow",
        ),
        about="Test of whether predicted and observed risks agree at the time, in groups of risk.",
        compute=_one_calibration,
        keeps=("path",),
        direction="higher",
        reads="time",
        inference="test",
        reference="D'Agostino and Nam (2003), variance under the prediction",
        **_CALIBRATION,
    ),
    Metric(
        name="km_calibration",
        title="KM-calibration",
        about="Squared distance of the mean predicted curve from Kaplan-Meier of the test "
        "subjects.",
        compute=_km_calibration,
        table=MeanCurveSums,
        reads="follow_up",
        stops="follow_up",
        inference="own",
        reference="Qi et al. (2023)",
        **_CALIBRATION,
    ),
    Metric(
        name="ici",
        title="Integrated calibration index (ICI)",
        other_names=("integrated_calibration_index",),
        about="Mean distance of predicted from observed (smoothed) probabilities at the time.",
        compute=_ici,
        keeps=("at_time",),
        reads="time",
        inference="own",
        reference="Austin et al. (2020), Statistics in Medicine 39",
        **_CALIBRATION,
    ),
    Metric(
        name="calibration_slope",
        title="Calibration slope",
        about="Slope of the observed on the predicted log hazard.",
        below="predicted differences between subjects are too large",
        above="predicted differences between subjects are too small",
        compute=_calibration_slope,
        keeps=("at_time",),
        direction="target",
        target=1.0,
        reads="time",
        reference="van Houwelingen (2000), Statistics in Medicine 19",
        **(_CALIBRATION | {"range": ANY}),
    ),
):
    register_metric(_metric)


def default_metrics(subjects: int = 0, streamed: bool = False) -> list[Metric]:
    """Return what is computed unless metrics are named, for so many subjects."""
    return [
        metric
        for metric in REGISTRY.values()
        if metric.default
        and subjects <= metric.default_until
        and not (streamed and metric.adds_up == "whole")
    ]


def available_metrics() -> list[dict[str, Any]]:
    """List the registry: name, direction, range, what it needs, whether it is proper, reference.

    >>> next(m["direction"] for m in available_metrics() if m["name"] == "mae_po")
    'lower'
    """
    return [metric.row() for metric in REGISTRY.values()]
