"""Where a time error stops unless a method is named: at the last time that the data support."""

from __future__ import annotations

from typing import Any

from ..._tools.arrays import vector
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ..problem import Problem
from ..supported import supported_end


def supported_tau(y_true: Any, options: dict[str, Any]) -> tuple[float, str]:
    """Return where the error stops, as ``mae_within`` of `evaluate` does, and why there.

    `options` are those of `time_error`; of them only what the horizon depends on is read.
    """
    tau, weight, cause = options["tau"], options["sample_weight"], options["cause"]
    y = Outcomes.of(y_true, "y_true", causes=True if cause is not None else None, entry=True)
    y, _ = sampled(y, weight)
    problem = Problem.of(
        y,
        options["y_train"],
        None if weight is None else vector(weight, "sample_weight"),
        tau=tau,
        censoring=options["censoring"],
        conditional=options["conditional"],
        cause=cause,
        contributions=False,
    )
    end = supported_end(problem)
    if tau is None:
        return end, "last time that the data support"
    return end, "tau" if end == tau else f"last time that the data support, before tau {tau:g}"
