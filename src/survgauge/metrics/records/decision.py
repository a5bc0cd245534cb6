"""Records of what decisions by a predicted risk are worth."""

from __future__ import annotations

from typing import cast

from ...data.predictions import Prediction
from ..details import Details
from ..probability.doubly_robust import treatment_terms
from ..probability.treatment import treatment_score
from ..problem import Problem
from ..record import Metric
from ..supported import supported_time
from ..terms import Terms


def _net_benefit(problem: Problem, prediction: Prediction) -> Details | Terms:
    threshold = cast(float, problem.threshold)  # the record says that there is one
    if problem.robust:
        return treatment_terms(problem, prediction, supported_time(problem), threshold)
    return treatment_score(
        problem.y,
        prediction.curves,
        supported_time(problem),
        threshold,
        on_unsupported=problem.on_unsupported,
        cause=problem.cause,
        follow_up=problem.follow_up,
        **problem.ipcw,
    )


RECORDS = (
    Metric(
        name="net_benefit",
        assumes="given",
        title="Net benefit",
        takes_entry=True,
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
        takes_dependence=True,
        reads="time",
        reads_threshold=True,
        uses_divisor=True,
        proper="not strictly, under independent censoring",
        causes="takes",
        default=False,
        reference="Vickers and Elkin (2006), Medical Decision Making 26",
    ),
)
