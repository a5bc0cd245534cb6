"""Records of the metrics of calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...data.predictions import Prediction
from ..calibration.a_calibration import ExpectedEvents, a_calibration
from ..calibration.calibration import d_calibration, one_calibration
from ..calibration.calibration_measures import km_distance
from ..calibration.cox_slope import calibration_slope_cox_details
from ..calibration.mean_curve_sums import MeanCurveSums
from ..calibration.observed_expected import observed_expected
from ..calibration.own_survival import OwnSurvival
from ..calibration.own_times import read_curves_of
from ..calibration.robust import robust_observed_expected
from ..calibration.smooth_calibration import ICIResult, smooth_hazards, smooth_status
from ..calibration.status import StatusAtTime
from ..calibration.weak_calibration import intercept_of, slope_of
from ..details import Details
from ..problem import Problem
from ..record import ANY, POSITIVE, UNIT, Measured, Metric
from ..supported import supported_time


def _d_calibration(problem: Problem, prediction: Prediction) -> Measured:
    curves, cause = read_curves_of(problem, prediction)
    result = d_calibration(problem.y, curves, cause=cause)
    return Details(result.p_value, result.convention, result.support)


def _one_calibration(problem: Problem, prediction: Prediction) -> Measured:
    time, cause = supported_time(problem), problem.cause
    result = one_calibration(problem.y, prediction.curves, time, cause=cause)
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
        tau=problem.errors_stop,
        cause=problem.cause,
    )


def _ici(problem: Problem, prediction: Prediction) -> Measured:
    status = StatusAtTime.asked(problem, prediction)
    return _distance(problem, smooth_status(status, contributions=problem.contributions))


def _ici_cox(problem: Problem, prediction: Prediction) -> Measured:
    given = problem.y, prediction.curves, supported_time(problem)
    return _distance(problem, smooth_hazards(*given, contributions=problem.contributions))


def _distance(problem: Problem, found: ICIResult) -> Distance:
    r = found.clustered(problem.clusters)
    return Distance(r.ici, r.convention, r.support, r.psi, r.frequency, r.law)


def _slope_cox(problem: Problem, prediction: Prediction) -> Measured:
    return calibration_slope_cox_details(problem.y, prediction.curves, supported_time(problem))


def _observed_expected(problem: Problem, prediction: Prediction) -> Measured:
    time, cause = supported_time(problem), problem.cause
    if problem.robust:
        return robust_observed_expected(problem, prediction, time)
    return observed_expected(problem.y, prediction.curves, time, cause=cause)


def _intercept(problem: Problem, prediction: Prediction) -> Measured:
    return intercept_of(StatusAtTime.asked(problem, prediction), problem.contributions)


def _slope(problem: Problem, prediction: Prediction) -> Measured:
    return slope_of(StatusAtTime.asked(problem, prediction), problem.contributions)


def _a_calibration(problem: Problem, prediction: Prediction) -> Measured:
    curves, cause = read_curves_of(problem, prediction)
    result = a_calibration(problem.y, curves, cause=cause)
    return Details(result.p_value, result.convention, result.support)


_CALIBRATION: dict[str, Any] = {
    "family": "calibration", "needs": "curves", "range": UNIT, "proper": "no",
    "takes_sample_weight": False,
}  # fmt: skip
#: Measures at a time that have a right value instead of a best one.
_AIMED: dict[str, Any] = {
    **_CALIBRATION, "range": ANY, "direction": "target", "reads": "time", "keeps": ("at_time",),
}  # fmt: skip

RECORDS = (
    Metric(
        name="d_calibration",
        title="D-calibration",
        takes_entry=True,
        other_names=(
            "d_cal",
            "dcal",
            "distribution_calibration",
        ),
        about="Test of whether predicted survival at the subjects' own times (of a cause, by its "
        "hazard) is uniform (Kolmogorov-Smirnov).",
        compute=_d_calibration,
        table=OwnSurvival,
        direction="higher",
        reads="own",
        inference="test",
        reference="Haider et al. (2020), JMLR 21",
        causes="takes",
        **_CALIBRATION,
    ),
    Metric(
        name="one_calibration",
        assumes="independent",
        title="1-calibration",
        takes_entry=True,
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
        causes="takes",
        **_CALIBRATION,
    ),
    Metric(
        name="km_calibration",
        assumes="independent",
        title="KM-calibration",
        takes_entry=True,
        about="Squared distance of the mean predicted curve from Kaplan-Meier (of a cause, from "
        "Aalen-Johansen) of the test subjects.",
        compute=_km_calibration,
        table=MeanCurveSums,
        reads="follow_up",
        stops="follow_up",
        inference="own",
        reference="Qi et al. (2023)",
        causes="takes",
        **_CALIBRATION,
    ),
    Metric(
        name="ici",
        assumes="given",
        title="Integrated calibration index (ICI)",
        takes_entry=True,
        reported=True,
        other_names=("integrated_calibration_index",),
        about="Mean distance of predicted from observed probabilities at the time, smoothed "
        "through pseudo-observations.",
        compute=_ici,
        keeps=("at_time",),
        reads="time",
        inference="own",
        reference="Austin et al. (2020), Statistics in Medicine 39; Gerds et al. (2014)",
        causes="takes",
        **_CALIBRATION,
    ),
    Metric(
        name="calibration_slope",
        assumes="given",
        title="Calibration slope",
        takes_entry=True,
        reported=True,
        other_names=("slope", "weak_calibration"),
        about="Slope of the observed on the predicted log(-log S) at the time.",
        below="predicted risks differ too much between subjects",
        above="predicted risks differ too little between subjects",
        compute=_slope,
        target=1.0,
        reference="van Geloven et al. (2022), BMJ 377",
        causes="takes",
        **_AIMED,
    ),
    Metric(
        name="observed_expected",
        assumes="given",
        title="Observed over expected events (O/E)",
        takes_entry=True,
        reported=True,
        other_names=("oe", "o_e", "oe_ratio", "eo_ratio", "calibration_in_the_large"),
        about="Observed risk of the event by the time (Kaplan-Meier; of a cause, Aalen-Johansen) "
        "over the mean predicted risk.",
        below="predicted risks are too high on average",
        above="predicted risks are too low on average",
        compute=_observed_expected,
        target=1.0,
        reference="Debray et al. (2017), BMJ 356",
        causes="takes",
        **(_AIMED | {"range": POSITIVE}),
    ),
    Metric(
        name="calibration_intercept",
        assumes="given",
        title="Calibration intercept at the time",
        takes_entry=True,
        reported=True,
        other_names=("intercept", "citl", "calibration_in_the_large"),
        about="What has to be added to every predicted log(-log S) at the time for risks that are "
        "right on average.",
        below="predicted risks are too high on average",
        above="predicted risks are too low on average",
        compute=_intercept,
        target=0.0,
        reference="van Geloven et al. (2022), BMJ 377",
        default=False,
        causes="takes",
        **_AIMED,
    ),
    Metric(
        name="ici_cox",
        title="ICI by a Cox model",
        about="Mean distance of predicted from observed probabilities at the time, smoothed by a "
        "Cox model, which takes hazards to be proportional.",
        other_names=("integrated_calibration_index_cox", "austin"),
        compute=_ici_cox,
        keeps=("at_time",),
        reads="time",
        inference="own",
        reference="Austin et al. (2020), Statistics in Medicine 39",
        default=False,
        **_CALIBRATION,
    ),
    Metric(
        name="calibration_slope_cox",
        title="Calibration slope by a Cox model",
        takes_entry=True,
        about="Slope of the observed on the predicted log hazard over the whole follow-up, which "
        "takes hazards to be proportional.",
        below="predicted hazards differ too much between subjects, or are not proportional",
        above="predicted hazards differ too little between subjects, or are not proportional",
        compute=_slope_cox,
        target=1.0,
        reference="van Houwelingen (2000), Statistics in Medicine 19",
        default=False,
        **_AIMED,
    ),
    Metric(
        name="a_calibration",
        title="A-calibration",
        takes_entry=True,
        other_names=("a_cal", "acal"),
        about="Test of whether events come as often as each subject's own curve says, in bins of "
        "the predicted distribution.",
        compute=_a_calibration,
        table=ExpectedEvents,
        direction="higher",
        reads="own",
        inference="test",
        reference="Simonsen and Waagepetersen (2025)",
        default=False,
        causes="takes",
        **_CALIBRATION,
    ),
)
