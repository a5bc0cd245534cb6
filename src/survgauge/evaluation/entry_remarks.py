"""Remarks on delayed entry: from when on estimates hold, and predictions that deny an entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.incidence import CauseCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from .warnings import EvaluationWarning

#: What a model says of somebody who was event-free at entry, if that denies it.
_DENIED = {
    "curves": "a probability of 0 of being event-free at their entry",
    "times": "a time before their entry",
}


def denied_entries(y: Outcomes, prediction: Prediction) -> int:
    """Count who enters late and event-free although the model excludes that.

    >>> y = Outcomes([5, 8, 9], [1, 0, 1], entry=[0, 2, 3])
    >>> denied_entries(y, Prediction.of([1.0, 1.0, 8.0], 3))
    1
    """
    if y.entry is None or prediction.kind not in _DENIED:
        return 0
    late = (y.entry > 0) & (y.weight > 0)
    curves = prediction.curves
    if curves is not None:
        if isinstance(curves, CauseCurves) and curves.incidence is not None:
            free = curves.incidence.free_at_own(y.entry)
        else:
            free = curves.at_own(y.entry)
        return int(np.count_nonzero(late & (free <= 0)))
    return int(np.count_nonzero(late & (prediction.median <= y.entry)))


def check_entry(
    problem: Problem, denied: dict[str, tuple[str, int]], min_at_risk: float
) -> list[EvaluationWarning]:
    """Say how thin the first risk sets are, and who was there although a model excluded it.

    `denied` has for each model the kind of its predictions and how many entries they deny.
    """
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
    late = int(np.count_nonzero((y.entry > 0) & (y.weight > 0)))
    for name, (kind, gone) in denied.items():
        if gone:
            message = (
                f"the model predicts {_DENIED[kind]} for {gone} of {late} subjects who enter late "
                "and event-free"
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
