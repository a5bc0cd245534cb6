"""1-calibration under delayed entry: events of groups of risk against those that were expected.

A subject expects what its curve's cumulative hazard rises by while it is at risk, from its entry to
its own time or the time looked at. Groups are made by what is known at entry, so that events less
expected ones are a martingale in each, with the expected events as its variation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..._tools.arrays import Floats, Ints
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError
from ..checks import check_curves
from ..one_cause import OneCause
from . import kernels as kernel
from .cause_survival import hazard_since_entry
from .inputs import description, read_past, refuse_past_follow_up, refuse_unknown
from .result import CalibrationResult

#: Least number of expected events of every group, for the chi-squared law.
ENOUGH = 5.0


def entered_groups(
    asked_for: OneCause, predicted: Any, time: float, method: str, choices: tuple[int, ...]
) -> CalibrationResult:
    """Test whether events of groups are as many as expected while at risk, by `time`.

    Of a cause its own hazard counts, and subjects with another event are at risk no longer.
    """
    y = asked_for.y
    if method != "predicted" or not isinstance(predicted, SurvivalCurves):
        raise InputError(
            "one_calibration under delayed entry goes with method 'predicted' and curves, which "
            "say what was expected between a subject's entry and its own time"
        )
    refuse_past_follow_up(y.present(), time)
    past = read_past(y, predicted, time)
    entry, curves = np.asarray(y.entry), check_curves(predicted, y)
    rows = np.flatnonzero((y.weight > 0) & ((entry < time) | (entry == 0)))
    if not rows.size:
        raise UndefinedMetricError(f"one_calibration has no subject who entered before {time:g}")
    y, curves = y[rows], curves[rows]
    s = curves.at(time)
    refuse_unknown(s, f"time {time}")
    hazard = hazard_since_entry(curves, np.minimum(y.time, time), asked_for.code)
    groups, asked = _groups(y, s, hazard, choices)
    own = y.event if asked_for.competes is None else y.event & ~asked_for.competes[rows]
    seen = y.weight * (own & (y.time <= time))
    observed, expected, size = (
        np.array([part[members].sum() for members in groups])
        for part in (seen, y.weight * hazard, y.weight)
    )
    statistic, freedom = _statistic(observed, expected)
    described, support = description(y, predicted, asked_for)
    described |= {
        "method": method,
        "time": time,
        "groups": asked,
        "ties": "kept in one group",
        "variance": "expected events of the group while at risk",
        "probability": "from curves",
    }
    support |= past | {
        "groups": len(groups),
        "status_unknown": int(((y.time < time) & ~y.event).sum()),
        "left_out": 0,
        "groups_past_follow_up": 0,
        "events_by_time": float(seen.sum()),
        "thin_groups": int((expected < ENOUGH).sum()),
    }
    edges = np.array([[1 - s[members].max(), 1 - s[members].min()] for members in groups])
    p_value = float(chdtrc(freedom, statistic)) if freedom else float(statistic == 0)
    return CalibrationResult(
        p_value, statistic, observed / size, expected / size, edges, size, method, freedom,
        described, support,
    )  # fmt: skip


def _groups(
    y: Outcomes, s: Floats, hazard: Floats, choices: tuple[int, ...]
) -> tuple[list[Ints], int]:
    """Groups of risk given entry, the most of which all expect enough events."""
    for asked in choices:
        groups = kernel.risk_groups(s, y.weight if y.weighted else None, asked)
        if min(float(y.weight[rows] @ hazard[rows]) for rows in groups) >= ENOUGH:
            break
    return groups, asked


def _statistic(observed: Floats, expected: Floats) -> tuple[float, int]:
    """Statistic, and the number of groups in which the model expects events."""
    doubtful = expected > 0
    # A curve that has fallen to 0 while its subject was at risk is refuted, as is an event that no
    # curve allows for.
    if not np.isfinite(expected).all() or observed[~doubtful].any():
        return float("inf"), int(doubtful.sum())
    gap = (observed - expected)[doubtful]
    return float(np.sum(gap**2 / expected[doubtful])), int(doubtful.sum())
