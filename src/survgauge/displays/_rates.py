"""Observed rates of groups of subjects at a time, with their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from ..inference import critical, log_log_band
from ..metrics.calibration.kernels import group_rates
from ..metrics.calibration.status import pseudo_observations
from ..reference.aalen_johansen import AalenJohansen
from ._bands import incidence_band

#: What is known of a group: mean prediction, observed rate with its bounds, subjects and events.
_NAMES = ("predicted", "observed", "low", "high", "n", "events")


def rates_with_band(
    y: Outcomes,
    s: Floats,
    rows: list[Ints],
    time: float,
    confidence: float | None,
    cause: int | None = None,
) -> dict[str, Floats]:
    """Return what is known of groups of subjects, by name: an array with a value for each group."""
    if y.entry is not None:
        columns = _entered_rates(y, s, rows, time, confidence, cause)
    elif cause is not None:
        columns = _cause_rates(y, s, rows, time, confidence, cause)
    else:
        rates = group_rates(y, s, rows, time)
        survival = 1 - rates.observed
        relative = np.sqrt(rates.greenwood) / np.where(survival > 0, survival, 1.0)
        low, high = log_log_band(survival, relative, confidence)
        columns = rates.expected, rates.observed, 1 - high, 1 - low, rates.size, rates.events
    return dict(zip(_NAMES, columns, strict=True))


def _entered_rates(
    y: Outcomes, s: Floats, rows: list[Ints], time: float, confidence: float | None, cause: Any
) -> Any:
    """Rates given entry by the means of pseudo-observations, and their bounds."""
    chosen = np.concatenate(rows)
    known = y[chosen]
    competes = None if cause is None else known.event & (known.cause != cause)
    risk = np.full(len(y), np.nan)
    risk[chosen] = 1.0 - pseudo_observations(known.any_cause(), competes, time).values
    had = y.event if cause is None else y.cause == cause
    z = np.nan if confidence is None else critical(confidence)
    found = []
    for group in rows:
        weight, total = y.weight[group], float(y.weight[group].sum())
        mean, expected = (np.average(v[group], weights=weight) for v in (risk, 1.0 - s))
        variance = np.average((risk[group] - mean) ** 2, weights=weight) / max(total - 1.0, 1.0)
        low, high = (np.clip(mean + k * z * np.sqrt(variance), 0.0, 1.0) for k in (-1, 1))
        events = weight[(had & (y.time <= time))[group]].sum()
        found.append((expected, mean, low, high, total, events))
    return np.array(found).T


def _cause_rates(
    y: Outcomes, s: Floats, rows: list[Ints], time: float, confidence: float | None, cause: int
) -> Any:
    """Rates of a cause in groups of subjects by Aalen-Johansen, and their bounds."""
    found = []
    for chosen in rows:  # a handful of groups
        group = y[chosen]
        weight, at = group.weight, np.array([time])
        band = incidence_band(AalenJohansen.fit(group), cause, at, confidence)
        had = (group.cause == cause) & (group.time <= time)
        expected = 1.0 - np.average(s[chosen], weights=weight)
        found.append((expected, *np.ravel(band), weight.sum(), weight[had].sum()))
    return np.array(found).T
