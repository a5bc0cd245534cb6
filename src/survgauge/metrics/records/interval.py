"""Records of the metrics of interval-censored outcomes."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...data.predictions import Prediction
from ..calibration.interval_calibration import turnbull_calibration
from ..calibration.observed_expected import interval_ratio
from ..grids import equal_steps
from ..probability.interval_scores import (
    interval_brier_score,
    interval_integrated_brier_score,
)
from ..probability.log_likelihood import interval_log_likelihood
from ..ranking.concordance import interval_concordance
from ..record import POSITIVE, UNIT, Metric
from ..score import Score
from ..task import Task, supported_end, supported_time
from ..time.interval_errors import interval_error


def _error(task: Task, prediction: Prediction, *, method: str, loss: str = "absolute") -> Score:
    return interval_error(
        task.intervals, prediction.times, method=method, loss=loss, distribution=task.inside,
        tau=supported_end(task),
        tail=task.convention.tail, sample_weight=task.sample_weight,
    )  # fmt: skip


def _concordance(task: Task, prediction: Prediction) -> Score:
    weight = task.sample_weight
    return interval_concordance(task.intervals, prediction.risk, sample_weight=weight)


def _brier(task: Task, prediction: Prediction) -> Score:
    return interval_brier_score(
        task.intervals, prediction.curves, [supported_time(task)], distribution=task.inside,
        sample_weight=task.sample_weight,
    ).details  # fmt: skip


def _ibs(task: Task, prediction: Prediction) -> Score:
    return interval_integrated_brier_score(
        task.intervals, prediction.curves, equal_steps(supported_end(task)),
        distribution=task.inside,
        sample_weight=task.sample_weight,
    )  # fmt: skip


def _log_likelihood(task: Task, prediction: Prediction) -> Score:
    weight = task.sample_weight
    found = interval_log_likelihood(task.intervals, prediction.curves, sample_weight=weight)
    if found.counted is not None:
        found.counted.renumber(task.numbers)
    return found


def _observed_expected(task: Task, prediction: Prediction) -> Score:
    time = supported_time(task)
    return interval_ratio(task.intervals, prediction.curves, time, known=task.observed)


def _turnbull_calibration(task: Task, prediction: Prediction) -> Score:
    return turnbull_calibration(
        task.intervals, prediction.curves, tau=supported_end(task), clusters=task.clusters,
        observed=task.observed,
    )  # fmt: skip


_INTERVAL: dict[str, Any] = {"supports": ("weights", "intervals"), "reference": "this package"}
_TIME: dict[str, Any] = {
    "family": "time", "needs": "times", "range": POSITIVE, "stops": "horizon", **_INTERVAL,
}  # fmt: skip
_SQUARED: dict[str, Any] = {
    "terms": partial(_error, method="expected", loss="squared"), "default": False, **_TIME,
}  # fmt: skip
_DISTRIBUTION = "if visits do not depend on the event and the distribution is right"

RECORDS: tuple[Metric, ...] = (
    Metric(
        name="interval_mae_expected",
        title="Expected MAE, interval-censored",
        about="Expected distance of the predicted time from the event time, given its interval.",
        terms=partial(_error, method="expected"),
        unit="time",
        proper=_DISTRIBUTION,
        **_TIME,
    ),
    Metric(
        name="interval_mse_expected",
        title="Expected MSE, interval-censored",
        about="Expected squared distance of the predicted time from the event time, given its "
        "interval.",
        unit="time^2",
        proper=_DISTRIBUTION,
        **_SQUARED,
    ),
    Metric(
        name="interval_rmse_expected",
        title="Expected RMSE, interval-censored",
        about="Root of the expected squared distance of the predicted time from the event time, "
        "given its interval.",
        unit="time",
        root=True,
        square="interval_mse_expected",
        proper=_DISTRIBUTION,
        **_SQUARED,
    ),
    Metric(
        name="interval_mae_hinge",
        title="Hinge MAE, interval-censored",
        about="Distance of the predicted time from the interval of the event time; 0 inside it. "
        "A lower limit of the error; do not rank models by it.",
        terms=partial(_error, method="hinge"),
        unit="time",
        proper="no",
        **_TIME,
    ),
    Metric(
        name="interval_c",
        title="C-index, interval-censored",
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
        title="Interval log-likelihood",
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
        title="Brier score, interval-censored",
        about="Expected squared error of the predicted probability at the time, given the "
        "interval of each subject.",
        terms=_brier,
        family="probability",
        range=POSITIVE,
        reads="time",
        proper=_DISTRIBUTION,
        **_INTERVAL,
    ),
    Metric(
        name="interval_ibs",
        title="Integrated Brier score, interval-censored",
        about="Mean of the Brier score, interval-censored over all times up to the horizon.",
        terms=_ibs,
        family="probability",
        range=POSITIVE,
        reads="horizon",
        stops="horizon",
        proper=_DISTRIBUTION,
        **_INTERVAL,
    ),
    Metric(
        name="interval_observed_expected",
        title="Observed over expected events (O/E), interval-censored",
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
        proper="no",
        **(_INTERVAL | {"supports": ("intervals",)}),
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
        proper="no",
        **(_INTERVAL | {"supports": ("intervals",)}),
    ),
)
