"""Remarks on delayed entry: from when on estimates hold, and predictions that deny an entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.incidence import CauseCurves
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from .warnings import EvaluationWarning


def check_entry(
    problem: Problem, predictions: dict[str, Prediction], min_at_risk: float
) -> list[EvaluationWarning]:
    """Say how thin the first risk sets are, and who was there although a model excluded it."""
    y = problem.y
    found = _on_one_side(problem)
    if y.entry is None:
        return found
    early = (y.weight > 0) & (y.time < (np.inf if problem.since is None else problem.since))
    if early.any():
        until = "at any time" if problem.since is None else f"before {problem.since:g}"
        message = (
            f"fewer than {min_at_risk:g} subjects are at risk {until}, because entry is delayed; "
            f"{int(early.sum())} subjects with {int((early & y.event).sum())} events are observed "
            "in these risk sets alone, so numbers about that time are rough, and all others are "
            "about who is event-free then"
        )
        found.append(EvaluationWarning("thin-first-risk-sets", message))
    for name, prediction in predictions.items():
        late = (y.entry > 0) & (y.weight > 0)
        if prediction.curves is not None:
            curves = prediction.curves
            if isinstance(curves, CauseCurves) and curves.incidence is not None:
                free = curves.incidence.free_at_own(y.entry)
            else:
                free = curves.at_own(y.entry)
            gone = int(np.count_nonzero(late & (free <= 0)))
            what = "a probability of 0 of being event-free at their entry"
        elif prediction.has("times"):
            gone = int(np.count_nonzero(late & (prediction.median <= y.entry)))
            what = "a time before their entry"
        else:
            continue
        if gone:
            message = (
                f"the model predicts {what} for {gone} of {int(late.sum())} subjects who enter "
                "late and event-free"
            )
            found.append(EvaluationWarning("denies-entry", message, name))
    return found


def _on_one_side(problem: Problem) -> list[EvaluationWarning]:
    """Remark on entries that only the test or only the training outcomes have."""
    known = problem.reference
    if known is None or (problem.y.entry is None) == (known.given.entry is None):
        return []
    late, other = ("y_train", "y_test") if problem.y.entry is None else ("y_test", "y_train")
    message = (
        f"{late} has delayed entry and {other} has none, so all of its subjects count as observed "
        "from the beginning"
    )
    return [EvaluationWarning("entry-on-one-side", message)]


def entry_support(problem: Problem) -> dict[str, Any]:
    """Return how many enter late, when, and from when on enough are at risk."""
    y = problem.y.present()
    if y.entry is None:
        return {}
    late = y.entry[y.entry > 0]
    return {
        "delayed_entry": int(late.size),
        "median_entry": float(np.median(late)),
        "last_entry": float(late.max()),
        "at_risk_since": problem.since,
    }
