"""Records of the metrics that rank subjects."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.predictions import Prediction
from ..problem import Problem
from ..ranking.discrimination import (
    concordance_of,
    concordance_td_details,
)
from ..ranking.dynamic_auc import auc_curve
from ..ranking.robust_auc import robust_auc
from ..ranking.royston import royston_d
from ..record import ANY, UNIT, Measured, Metric
from ..supported import supported_end, supported_time


def _harrell(problem: Problem, prediction: Prediction) -> Measured:
    options = {"sample_weight": problem.sample_weight, "cause": problem.cause}
    return concordance_of(problem.y, prediction.risk, "harrell", problem.contributions, **options)


def _uno(problem: Problem, prediction: Prediction) -> Measured:
    tau = supported_end(problem)
    if tau != problem.tau:
        # Anchors lie strictly before tau; the last time that the data support still counts.
        tau = float(np.nextafter(tau, np.inf))
    options = {"tau": tau, "cause": problem.cause, **problem.ipcw}
    return concordance_of(problem.y, prediction.risk, "uno", problem.contributions, **options)


def _antolini(problem: Problem, prediction: Prediction) -> Measured:
    return concordance_td_details(
        problem.y, prediction.curves, sample_weight=problem.sample_weight, cause=problem.cause
    )


def _auc(problem: Problem, prediction: Prediction) -> Measured:
    if problem.robust:
        return robust_auc(problem, prediction, supported_time(problem))
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    # Where nobody sees the standard error, what G adds to it takes memory for nothing.
    stderr = "auto" if problem.contributions else "fixed"
    return auc_curve(
        problem.y,
        predicted,
        [supported_time(problem)],
        stderr,
        on_unsupported=problem.on_unsupported,
        cause=problem.cause,
        **problem.ipcw,
    ).details


#: What other packages call the two C-indices of a risk.
_C = ("c_index", "ci", "c_statistic", "concordance", "concordance_index")
_RANKING: dict[str, Any] = {
    "family": "ranking", "direction": "higher", "range": UNIT, "proper": "no",
}  # fmt: skip


def _royston_d(problem: Problem, prediction: Prediction) -> Measured:
    return royston_d(problem.y, prediction.risk)


RECORDS = (
    Metric(
        name="harrell",
        title="Harrell's C",
        takes_entry=True,
        reported=True,
        other_names=(*_C, "harrell_c", "concordance_index_censored"),
        about="Share of comparable pairs of subjects that are in the right order.",
        compute=_harrell,
        keeps=("risk",),
        needs="risk",
        reference="Harrell et al. (1996), Statistics in Medicine 15",
        causes="takes",
        **_RANKING,
    ),
    Metric(
        name="uno",
        assumes="independent",
        title="Uno's C",
        takes_entry=True,
        reported=True,
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
        causes="takes",
        **_RANKING,
    ),
    Metric(
        name="antolini",
        title="Antolini's C",
        takes_entry=True,
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
        causes="takes",
        cause_with_entry=False,
        **_RANKING,
    ),
    Metric(
        name="auc",
        assumes="given",
        title="AUC",
        takes_entry=True,
        reported=True,
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
        causes="takes",
        **_RANKING,
    ),
    Metric(
        name="royston_d",
        title="Royston and Sauerbrei's D",
        takes_entry=True,
        other_names=("d_statistic", "r2_d", "separation"),
        about="Log hazard ratio between the halves of the subjects at high and at low risk.",
        compute=_royston_d,
        keeps=("risk",),
        needs="risk",
        takes_sample_weight=False,
        reference="Royston and Sauerbrei (2004), Statistics in Medicine 23",
        default=False,
        **(_RANKING | {"range": ANY}),
    ),
)
