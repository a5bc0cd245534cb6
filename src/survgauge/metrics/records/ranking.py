"""Records of the metrics that rank subjects."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.predictions import Prediction
from ..ranking.auc import cumulative_dynamic_auc, robust_auc
from ..ranking.concordance import concordance_of, concordance_td
from ..ranking.royston import royston_d
from ..record import ANY, EVERYTHING, UNIT, Metric
from ..score import Score
from ..task import Task, supported_end, supported_time


def _harrell(task: Task, prediction: Prediction) -> Score:
    options = {"sample_weight": task.sample_weight, "cause": task.cause}
    return concordance_of(task.y, prediction.risk, "harrell", task.contributions, **options)


def _uno(task: Task, prediction: Prediction) -> Score:
    tau = supported_end(task)
    if tau != task.tau:
        # Anchors lie strictly before tau; the last time that the data support still counts.
        tau = float(np.nextafter(tau, np.inf))
    options = {"tau": tau, "cause": task.cause, **task.ipcw}
    return concordance_of(task.y, prediction.risk, "uno", task.contributions, **options)


def _antolini(task: Task, prediction: Prediction) -> Score:
    return concordance_td(
        task.y, prediction.curves, sample_weight=task.sample_weight, cause=task.cause
    )


def _auc(task: Task, prediction: Prediction) -> Score:
    if task.robust:
        return robust_auc(task, prediction)
    predicted = prediction.risk if prediction.curves is None else prediction.curves
    # Where nobody sees the standard error, what G adds to it takes memory for nothing.
    stderr = "auto" if task.contributions else "fixed"
    return cumulative_dynamic_auc(
        task.y,
        predicted,
        [supported_time(task)],
        stderr=stderr,
        on_unsupported=task.convention.on_unsupported,
        cause=task.cause,
        **task.ipcw,
    ).details


#: What other packages call the two C-indices of a risk.
_C = ("c_index", "ci", "c_statistic", "concordance", "concordance_index")
_RANKING: dict[str, Any] = {
    "family": "ranking", "direction": "higher", "range": UNIT, "proper": "no",
    "supports": EVERYTHING,
}  # fmt: skip


def _royston_d(task: Task, prediction: Prediction) -> Score:
    return royston_d(task.y, prediction.risk)


RECORDS: tuple[Metric, ...] = (
    Metric(
        name="harrell",
        title="Harrell's C",
        reported=True,
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
        assumes="independent",
        title="Uno's C",
        reported=True,
        other_names=(*_C, "uno_c", "concordance_index_ipcw"),
        about="Share of pairs in the right order, weighted by 1/G^2 so that censoring does not "
        "matter.",
        compute=_uno,
        keeps=("risk",),
        needs="risk",
        weights_by_g=True,
        stops="horizon",
        reference="Uno et al. (2011), Statistics in Medicine 30",
        **_RANKING,
    ),
    Metric(
        name="antolini",
        title="Antolini's C",
        other_names=("c_td", "ctd", "concordance_td", "time_dependent_concordance"),
        about="Share of pairs in which the curve of the subject with the event is lower at that "
        "time.",
        compute=_antolini,
        reads="event",
        default_until=20_000,
        reference="Antolini et al. (2005), Statistics in Medicine 24",
        **(_RANKING | {"supports": ("weights", "entry", "cause")}),
    ),
    Metric(
        name="auc",
        assumes="given",
        title="AUC",
        reported=True,
        other_names=("roc_auc", "td_auc", "time_dependent_auc", "cumulative_dynamic_auc"),
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
        name="royston_d",
        title="Royston and Sauerbrei's D",
        other_names=("d_statistic", "r2_d", "separation"),
        about="Log hazard ratio between the halves of the subjects at high and at low risk.",
        compute=_royston_d,
        keeps=("risk",),
        needs="risk",
        reference="Royston and Sauerbrei (2004), Statistics in Medicine 23",
        default=False,
        **(_RANKING | {"range": ANY, "supports": ("entry",)}),
    ),
)
