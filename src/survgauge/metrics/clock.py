"""The clock of an evaluation: the times of interest, and the last time that the data support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tools.arrays import LARGEST, Floats, numbers, one_number, positive, shown
from .._tools.sorting import sorting_order
from ..data.intervals import IntervalOutcomes
from ..data.outcomes import Outcomes
from ..data.since import on_known
from ..errors import InputError
from ..reference.conditional import Conditional
from ..reference.kaplan_meier import RiskTable
from .ipcw import CensoringWeights, below_floor

#: Share of the subjects that may be event-free and hardly ever observed at the horizon.
HIDDEN = 0.1


def times_of_interest(
    given: float | Sequence[float] | None,
    tau: float | None,
    reference: Outcomes | IntervalOutcomes,
) -> tuple[float, ...]:
    """Return the times given, else tau, else the median observed time of the reference set.

    Then half of the subjects are still observed, whatever share of them is censored. There is no
    such time where nobody had the event.
    """
    if given is not None:
        if (
            np.isfinite(one_number(given))
            or isinstance(given, str)
            or not hasattr(given, "__len__")
        ):
            return (positive(given, "time"),)
        times = [positive(time, "time") for time in numbers(given, "time").tolist()]
        if not times:
            raise InputError("time must be one or several times; got none")
        return tuple(dict.fromkeys(times))
    if tau is not None:
        return (tau,)
    known = reference.present()
    if not known.event.any():
        return (float("nan"),)
    # The middle between two times may be one of a third subject, but for rounding.
    return (on_known(_median(known.time, known.weight if known.weighted else None), known.time),)


def _median(times: Floats, weight: Floats | None) -> float:
    """Median of times that stand for `weight` subjects each."""
    if weight is None:
        return float(np.median(times))
    order = sorting_order(times)
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    middle = reached.searchsorted(half, "left"), reached.searchsorted(half, "right")
    return float(times[order][list(middle)].mean())


def checked_at_risk(number: Any) -> float:
    """Return how many subjects must be at risk at the horizon."""
    if not 1 <= one_number(number) <= LARGEST:
        raise InputError(f"min_at_risk must be a number of at least 1; got {shown(number)}")
    return float(number)


def supported_until(
    weights: CensoringWeights, min_g: float, min_at_risk: float
) -> tuple[float, str]:
    """Largest time with G(t-) >= `min_g` and at least `min_at_risk` test subjects at risk.

    Where no time qualifies, the range that is identified at all. Also says what ends it:
    "thin-risk-set", "g-below-floor" or "past-follow-up".
    """
    if not 0 <= one_number(min_g) < 1:
        raise InputError(f"min_g must be a probability below 1; got {shown(min_g)}")
    min_g, min_at_risk = float(min_g), checked_at_risk(min_at_risk)
    y = weights.y.present()
    ends = {"past-follow-up": weights.identified_until}
    table = RiskTable.of(y)
    enough = np.flatnonzero(table.at_risk >= min_at_risk)
    if enough.size:
        ends["thin-risk-set"] = float(table.times[enough[-1]])
    floor = below_floor(weights.common, min_g, supported_since(y, min_at_risk))
    if np.isfinite(floor):
        ends["g-below-floor"] = floor
    reason = min(ends, key=lambda name: ends[name])
    return ends[reason], reason


def observable_until(given: Conditional, floor: float) -> float:
    """Last time at which nearly all subjects who are event-free could still be observed.

    From then on more than `HIDDEN` of all subjects are expected to be event-free with a G(t|x)
    below the `floor`, so that what is said about them rests on the distribution of T alone.
    Infinite where censoring does not depend on the subject.
    """
    if given.censoring is None:
        return float("inf")
    times = given.censoring.times
    hidden: Any = given.censoring.survival < floor
    if given.law is not None:
        hidden = hidden * given.law.at(times)
    elif given.incidence is not None:
        hidden = hidden * given.incidence.survival().at(
            np.minimum(times, given.incidence.times[-1])
        )
    late = np.flatnonzero(hidden.mean(axis=0) > HIDDEN)
    return float(times[late[0]]) if late.size else float("inf")


def supported_since(y: Outcomes, min_at_risk: float) -> float | None:
    """First time with enough subjects at risk under delayed entry; None: from the beginning."""
    if y.entry is None:
        return None
    return RiskTable.of(y).enough_from(min_at_risk)
