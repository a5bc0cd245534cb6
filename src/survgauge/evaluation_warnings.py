"""Coded remarks on what a result can be trusted for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .metrics.details import standard_error
from .metrics.problem import Problem
from .metrics.registry import Measured, Metric

#: Share of predicted times read off a tail above which it is worth a word.
TAIL_SHARE = 0.10
#: Largest weight above which a handful of subjects may decide.
LARGE_WEIGHT = 20.0
_C_INDICES = ("harrell", "uno", "antolini", "auc")


@dataclass(frozen=True)
class EvaluationWarning:
    """A remark with a code for programs and a message for people."""

    code: str
    message: str
    model: str | None = None
    metric: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        where = " ".join(part for part in (self.model, self.metric) if part)
        return f"[{self.code}] {where + ': ' if where else ''}{self.message}"


def check_problem(problem: Problem) -> list[EvaluationWarning]:
    """Remarks on the data, before any model."""
    y, found = problem.y, []
    if problem.reference is None:
        found.append(
            EvaluationWarning(
                "in-sample-reference",
                "no y_train: the test outcomes are their own reference set",
            )
        )
    last = float(y.time.max())
    past = int((y.time > problem.horizon).sum())
    if past:
        found.append(
            EvaluationWarning(
                "horizon",
                f"metrics that weight by 1/G stop at {problem.horizon:g}, where follow-up still "
                f"supports them; {past} of {len(y)} subjects are observed longer (up to {last:g})",
            )
        )
    if np.isfinite(problem.time) and problem.time > problem.horizon:
        found.append(
            EvaluationWarning(
                "time-past-horizon",
                f"the time of interest {problem.time:g} lies past the horizon {problem.horizon:g}",
            )
        )
    if len(y) < 30 or int(y.event.sum()) < 10:
        found.append(
            EvaluationWarning(
                "few-events",
                f"{len(y)} subjects with {int(y.event.sum())} events: intervals are rough",
            )
        )
    return found


def check_measured(metric: Metric, measured: Measured, model: str) -> list[EvaluationWarning]:
    """Remarks on one number."""
    support, found = measured.support, []

    def remark(code: str, message: str) -> None:
        found.append(EvaluationWarning(code, message, model, metric.name))

    share = support.get("tail_share")
    if metric.name == "mae_po" and share is not None and share > TAIL_SHARE:
        remark("tail-times", f"{share:.0%} of the predicted times are read off the curves' tail")
    past = support.get("censored_past_reference")
    if metric.name.endswith("_po") and not metric.name.endswith("pop_po") and past:
        remark(
            "past-reference",
            f"{past} subjects are censored after the last reference time; their "
            "pseudo-observations multiply an arbitrary tail by the reference size: give tau",
        )
    for note, count in (support.get("notes") or {}).items():
        remark("excluded", f"{note} ({count})")
    if np.isinf(measured.value):
        remark(
            "infinite",
            "the model gave probability zero to something that happened (a curve that is flat, or "
            "still at 1 or already at 0, at an event)",
        )
    largest = support.get("largest_weight")
    if largest is not None and largest > LARGE_WEIGHT:
        remark("large-weight", f"one subject stands for {largest:.0f}: G is small there")
    if metric.name in _C_INDICES and measured.psi is not None:
        stderr = standard_error(measured.psi, measured.frequency)
        if measured.value + 2 * stderr < 0.5:
            remark(
                "c-below-half",
                f"{measured.value:.3f} is significantly below 0.5: is the sign of the risk right "
                "(higher must mean earlier)?",
            )
    return found
