"""What the support of an evaluation says of causes: which is asked about, and how often each is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.event_words import events_by_cause
from ..metrics.problem import Problem
from ..reference.aalen_johansen import AalenJohansen


def cause_support(problem: Problem, all_outcomes: bool = True) -> dict[str, Any]:
    """Name the cause that is asked about, count the events of each, and estimate their incidence.

    The incidence at the times of interest needs all outcomes; nothing where there is one kind of
    event.
    """
    if problem.cause is None:
        return {}
    found: dict[str, Any] = {
        "cause": problem.cause_name,
        "events_by_cause": events_by_cause(problem.y),
    }
    if problem.reference is not None:
        found["training_events_by_cause"] = events_by_cause(problem.reference.given)
    if all_outcomes:
        found["incidence"] = _incidence(problem)
    return found


def _incidence(problem: Problem) -> list[dict[str, Any]]:
    """Aalen-Johansen of every cause in the test set at the times of interest."""
    aj = AalenJohansen.fit(problem.y)
    times = [at.time_used for at in problem.at_times]
    return [
        {
            "cause": name,
            "time": time,
            "value": float(aj.at(time, code)),
            "stderr": float(aj.stderr_at(time, code)),
        }
        for time in times
        if np.isfinite(time)
        for code, name in enumerate(aj.causes, 1)
    ]
