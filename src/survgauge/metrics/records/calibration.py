"""Records of the metrics of calibration, and of what decisions by a predicted risk are worth."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from ...data.predictions import Prediction
from ..calibration.d_calibration import OwnEvents, OwnTimes, a_calibration, d_calibration, tested
from ..calibration.ici import smooth_hazards, smooth_status
from ..calibration.inputs import StatusAtTime
from ..calibration.km_calibration import MeanCurveSums, km_distance
from ..calibration.observed_expected import ratio_of
from ..calibration.one_calibration import one_calibration
from ..calibration.weak_calibration import calibration_slope_cox, intercept_of, slope_of
from ..probability.doubly_robust import treatment_score, treatment_terms
from ..record import ANY, EVERYTHING, POSITIVE, UNIT, Metric
from ..score import Score, Terms
from ..task import Task, supported_time


def _one_calibration(task: Task, prediction: Prediction) -> Score:
    time, cause = supported_time(task), task.cause
    result = one_calibration(task.y, prediction.curves, time, cause=cause)
    return Score(result.p_value, result.convention, result.support)


def _km_calibration(task: Task, prediction: Prediction) -> Score:
    found = km_distance(
        task.y,
        prediction.curves,
        clusters=task.clusters,
        tau=task.errors_stop,
        cause=task.cause,
    )
    return found.kept(task.contributions)


def _ici(task: Task, prediction: Prediction) -> Score:
    status, asked = StatusAtTime.asked(task, prediction), task.contributions
    found = smooth_status(status, contributions=asked, clusters=task.clusters)
    return found.kept(asked)


def _ici_cox(task: Task, prediction: Prediction) -> Score:
    given, asked = (task.y, prediction.curves, supported_time(task)), task.contributions
    found = smooth_hazards(*given, contributions=asked, clusters=task.clusters)
    return found.kept(asked)


def _slope_cox(task: Task, prediction: Prediction) -> Score:
    return calibration_slope_cox(task.y, prediction.curves, supported_time(task))


def _observed_expected(task: Task, prediction: Prediction) -> Score:
    return ratio_of(StatusAtTime.asked(task, prediction))


def _intercept(task: Task, prediction: Prediction) -> Score:
    return intercept_of(StatusAtTime.asked(task, prediction), task.contributions)


def _slope(task: Task, prediction: Prediction) -> Score:
    return slope_of(StatusAtTime.asked(task, prediction), task.contributions)


def _net_benefit(task: Task, prediction: Prediction) -> Score | Terms:
    threshold = cast(float, task.threshold)  # the record says that there is one
    if task.robust:
        return treatment_terms(task, prediction, threshold)
    return treatment_score(
        task.y,
        prediction.curves,
        supported_time(task),
        threshold,
        on_unsupported=task.convention.on_unsupported,
        cause=task.cause,
        **task.ipcw,
    )


_CALIBRATION: dict[str, Any] = {
    "family": "calibration", "needs": "curves", "range": UNIT, "proper": "no",
    "supports": EVERYTHING - {"weights"},
}  # fmt: skip
#: Measures at a time that have a right value instead of a best one.
_AIMED: dict[str, Any] = {
    **_CALIBRATION, "range": ANY, "direction": "target", "reads": "time", "keeps": ("at_time",),
}  # fmt: skip

RECORDS: tuple[Metric, ...] = (
    Metric(
        name="d_calibration",
        title="D-calibration",
        other_names=("d_cal", "dcal", "distribution_calibration"),
        about="Test of whether predicted survival at the subjects' own times (of a cause, by its "
        "hazard) is uniform (Kolmogorov-Smirnov).",
        compute=partial(tested, test=d_calibration),
        table=OwnTimes,
        direction="higher",
        reads="own",
        inference="test",
        reference="Haider et al. (2020), JMLR 21",
        **_CALIBRATION,
    ),
    Metric(
        name="one_calibration",
        assumes="independent",
        title="1-calibration",
        other_names=("1_calibration", "hosmer_lemeshow"),
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
        assumes="independent",
        title="KM-calibration",
        about="Squared distance of the mean predicted curve from Kaplan-Meier (of a cause, from "
        "Aalen-Johansen) of the test subjects.",
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
        assumes="given",
        title="Integrated calibration index (ICI)",
        reported=True,
        other_names=("integrated_calibration_index",),
        about="Mean distance of predicted from observed probabilities at the time, smoothed "
        "through pseudo-observations.",
        compute=_ici,
        keeps=("at_time",),
        reads="time",
        inference="own",
        reference="Austin et al. (2020), Statistics in Medicine 39; Gerds et al. (2014)",
        **_CALIBRATION,
    ),
    Metric(
        name="calibration_slope",
        assumes="given",
        title="Calibration slope",
        reported=True,
        other_names=("slope", "weak_calibration"),
        about="Slope of the observed on the predicted log(-log S) at the time.",
        below="predicted risks differ too much between subjects",
        above="predicted risks differ too little between subjects",
        compute=_slope,
        target=1.0,
        reference="van Geloven et al. (2022), BMJ 377",
        **_AIMED,
    ),
    Metric(
        name="observed_expected",
        assumes="given",
        title="Observed over expected events (O/E)",
        reported=True,
        other_names=("oe", "o_e", "oe_ratio", "eo_ratio", "calibration_in_the_large"),
        about="Observed risk of the event by the time (Kaplan-Meier; of a cause, Aalen-Johansen) "
        "over the mean predicted risk.",
        below="predicted risks are too high on average",
        above="predicted risks are too low on average",
        compute=_observed_expected,
        target=1.0,
        reference="Debray et al. (2017), BMJ 356",
        **(_AIMED | {"range": POSITIVE}),
    ),
    Metric(
        name="calibration_intercept",
        assumes="given",
        title="Calibration intercept at the time",
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
        **(_CALIBRATION | {"supports": ()}),
    ),
    Metric(
        name="calibration_slope_cox",
        title="Calibration slope by a Cox model",
        about="Slope of the observed on the predicted log hazard over the whole follow-up, which "
        "takes hazards to be proportional.",
        below="predicted hazards differ too much between subjects, or are not proportional",
        above="predicted hazards differ too little between subjects, or are not proportional",
        compute=_slope_cox,
        target=1.0,
        reference="van Houwelingen (2000), Statistics in Medicine 19",
        default=False,
        **(_AIMED | {"supports": ("entry",)}),
    ),
    Metric(
        name="a_calibration",
        title="A-calibration",
        other_names=("a_cal", "acal"),
        about="Test of whether events come as often as each subject's own curve says, in bins of "
        "the predicted distribution.",
        compute=partial(tested, test=a_calibration),
        table=OwnEvents,
        direction="higher",
        reads="own",
        inference="test",
        reference="Simonsen and Waagepetersen (2025)",
        default=False,
        **_CALIBRATION,
    ),
    Metric(
        name="net_benefit",
        assumes="given",
        title="Net benefit",
        supports=EVERYTHING,
        reported=True,
        other_names=("decision_curve", "dca", "clinical_utility", "nb"),
        about="What treating subjects with at least the threshold as predicted risk by the time "
        "gains, in true positives per subject.",
        terms=_net_benefit,
        family="decision",
        direction="higher",
        range=(float("-inf"), 1.0),
        needs="curves",
        weights_by_g=True,
        reads="time",
        reads_threshold=True,
        uses_divisor=True,
        proper="not strictly, under independent censoring",
        default=False,
        reference="Vickers and Elkin (2006), Medical Decision Making 26",
    ),
)
