"""Where metrics stop and are read; refused where the data support nothing."""

from __future__ import annotations

import numpy as np

from ..errors import InputError, UndefinedMetricError
from .problem import Problem


def _check_horizon(problem: Problem) -> None:
    if not problem.horizon > 0:
        raise UndefinedMetricError("follow-up supports no time above 0: the horizon is 0")


def supported_end(problem: Problem) -> float:
    """Return where metrics that have a horizon stop; refuse where there is none."""
    _check_horizon(problem)
    tau, late = problem.tau, problem.on_unsupported
    if tau is not None and tau > problem.horizon and late != "truncate":
        error = InputError if late == "raise" else UndefinedMetricError
        raise error(
            f"tau {tau:g} lies past {problem.horizon:g}, the last time that the data support; give "
            "an earlier tau, or on_unsupported='truncate'"
        )
    return problem.until


def supported_time(problem: Problem) -> float:
    """Return the time at which metrics are read; refuse where there is none."""
    if not np.isfinite(problem.time):
        raise UndefinedMetricError("there is no event in the reference to take the median time of")
    if problem.time_used != problem.time:
        _check_horizon(problem)
    return problem.time_used
