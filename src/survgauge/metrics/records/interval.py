"""Records of the metrics of interval-censored outcomes."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from ...data.predictions import Prediction
from ..calibration.interval_calibration import (
    interval_observed_expected,
    turnbull_calibration_details,
)
from ..details import Details
from ..grids import equal_steps
from ..interval_problem import IntervalProblem
from ..probability.interval_scores import (
    interval_brier_score,
    interval_integrated_brier_score_details,
    interval_log_likelihood_details,
)
from ..problem import Problem
from ..ranking.interval_concordance import interval_concordance_details
from ..record import POSITIVE, UNIT, Measured, Metric
from ..supported import supported_end, supported_time
from ..time.interval_errors import interval_error_details


def _asked(problem: Problem) -> IntervalProblem:
    return cast(IntervalProblem, problem)  # the record's `outcomes` sees to it


def _error(
    problem: Problem, prediction: Prediction, *, method: str, loss: str = "absolute"
) -> Details:
    known = _asked(problem)
    return interval_error_details(
        known.intervals, prediction.times, method=method, loss=loss, law=known.inside,
        tau=supported_end(problem),
        tail=known.options["tail"], sample_weight=known.sample_weight,
    )  # fmt: skip


def _concordance(problem: Problem, prediction: Prediction) -> Measured:
    weight = problem.sample_weight
    return interval_concordance_details(
        _asked(problem).intervals, prediction.risk, sample_weight=weight
    )


def _brier(problem: Problem, prediction: Prediction) -> Details:
    known = _asked(problem)
    return interval_brier_score(
        known.intervals, prediction.curves, [supported_time(problem)], law=known.inside,
        sample_weight=known.sample_weight,
    ).details  # fmt: skip


def _ibs(problem: Problem, prediction: Prediction) -> Details:
    known = _asked(problem)
    return interval_integrated_brier_score_details(
        known.intervals, prediction.curves, equal_steps(supported_end(problem)), law=known.inside,
        sample_weight=known.sample_weight,
    )  # fmt: skip


def _log_likelihood(problem: Problem, prediction: Prediction) -> Details:
    weight = problem.sample_weight
    found = interval_log_likelihood_details(
        _asked(problem).intervals, prediction.curves, sample_weight=weight
    )
    if found.counted is not None:
        found.counted.renumber(problem.numbers)
    return found


def _observed_expected(problem: Problem, prediction: Prediction) -> Measured:
    known = _asked(problem)
    return interval_observed_expected(
        known.intervals, prediction.curves, supported_time(problem), observed=known.observed
    )


def _turnbull_calibration(problem: Problem, prediction: Prediction) -> Measured:
    known = _asked(problem)
    return turnbull_calibration_details(
        known.intervals, prediction.curves, tau=supported_end(problem), clusters=problem.clusters,
        observed=known.observed,
    )  # fmt: skip


_INTERVAL: dict[str, Any] = {"outcomes": "interval", "reference": "this package"}
_TIME: dict[str, Any] = {
    "family": "time", "needs": "times", "range": POSITIVE, "stops": "horizon", **_INTERVAL,
}  # fmt: skip
_SQUARED: dict[str, Any] = {
    "terms": partial(_error, method="expected", loss="squared"), "default": False, **_TIME,
}  # fmt: skip
_LAW = "if visits do not depend on the event and the law is right"

RECORDS = (
    Metric(
        name="interval_mae_expected",
        title="MAE of intervals, expected",
        about="Expected distance of the predicted time from the event time, given its interval.",
        terms=partial(_error, method="expected"),
        unit="time",
        proper=_LAW,
        **_TIME,
    ),
    Metric(
        name="interval_mse_expected",
        title="MSE of intervals, expected",
        about="Expected squared distance of the predicted time from the event time, given its "
        "interval.",
        unit="time^2",
        proper=_LAW,
        **_SQUARED,
    ),
    Metric(
        name="interval_rmse_expected",
        title="RMSE of intervals, expected",
        about="Root of the expected squared distance of the predicted time from the event time, "
        "given its interval.",
        unit="time",
        root=True,
        square="interval_mse_expected",
        proper=_LAW,
        **_SQUARED,
    ),
    Metric(
        name="interval_mae_hinge",
        title="MAE of intervals, hinge",
        about="Distance of the predicted time from the interval of the event time; 0 inside it. "
        "A lower limit of the error; do not rank models by it.",
        terms=partial(_error, method="hinge"),
        unit="time",
        proper="no",
        **_TIME,
    ),
    Metric(
        name="interval_c",
        title="C of intervals",
        other_names=("interval_concordance",),
        about="Share of the pairs whose order is known that the predicted risk puts in that order.",
        compute=_concordance,
        keeps=("risk",),
        family="ranking",
        needs="risk",
        direction="higher",
        range=UNIT,
        proper="no",
        **_INTERVAL,
    ),
    Metric(
        name="interval_log_likelihood",
        title="Log-likelihood of intervals",
        about="Mean logarithm of the probability that a model gave to the interval of the event.",
        terms=_log_likelihood,
        family="probability",
        direction="higher",
        reads="own",
        proper="if visits do not depend on the event",
        **_INTERVAL,
    ),
    Metric(
        name="interval_brier",
        title="Brier score of intervals",
        about="Expected squared error of the predicted probability at the time, given the "
        "interval of each subject.",
        terms=_brier,
        family="probability",
        range=POSITIVE,
        reads="time",
        proper=_LAW,
        **_INTERVAL,
    ),
    Metric(
        name="interval_ibs",
        title="Integrated Brier score of intervals",
        about="Mean of the Brier score of intervals over all times up to the horizon.",
        terms=_ibs,
        family="probability",
        range=POSITIVE,
        reads="horizon",
        stops="horizon",
        proper=_LAW,
        **_INTERVAL,
    ),
    Metric(
        name="interval_observed_expected",
        title="Observed over expected events (O/E) of intervals",
        about="Events by the time by Turnbull's estimate, over those that the model expects.",
        compute=_observed_expected,
        keeps=("at_time",),
        family="calibration",
        direction="target",
        target=1.0,
        below="predicted risks are too high on average",
        above="predicted risks are too low on average",
        range=POSITIVE,
        reads="time",
        takes_sample_weight=False,
        proper="no",
        **_INTERVAL,
    ),
    Metric(
        name="turnbull_calibration",
        title="Turnbull calibration",
        about="Squared distance of the mean predicted curve from Turnbull's estimate of the test "
        "subjects.",
        compute=_turnbull_calibration,
        family="calibration",
        range=UNIT,
        reads="horizon",
        stops="horizon",
        inference="own",
        takes_sample_weight=False,
        proper="no",
        **_INTERVAL,
    ),
)
