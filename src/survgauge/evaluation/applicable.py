"""Default metrics that apply to no model's predictions: left out, with one remark each."""

from __future__ import annotations

from .score import Score
from .warnings import EvaluationWarning


def leave_out(
    scores: list[Score], warnings: list[EvaluationWarning]
) -> tuple[list[Score], list[EvaluationWarning]]:
    """Leave out metrics that nobody named and that have a value for no model of this kind.

    Step curves have no density, for example: where all models predict step curves, a table without
    the log-likelihood says as much as one with a column of gaps.
    """
    told = {(w.group, w.model, w.metric): w.message for w in warnings if w.code == "not-applicable"}
    cells = [(score, (score.group, score.model, score.metric.name)) for score in scores]
    kept = {name for score, (_, _, name) in cells if (score.group, score.model, name) not in told}
    gone = {name: why for (_, _, name), why in told.items() if name not in kept}
    remarks = [
        EvaluationWarning("not-applicable", f"{why}; the metric is left out", metric=name)
        for name, why in gone.items()
    ]
    return (
        [score for score in scores if score.metric.name not in gone],
        [w for w in warnings if w.metric not in gone] + remarks,
    )
