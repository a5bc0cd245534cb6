"""Observed rates of groups of subjects at a time, with their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from .._tools.arrays import Floats, Ints
from ..data.outcomes import Outcomes
from ..inference import log_log_band
from ..metrics.calibration.kernels import GroupRates, group_rates
from ..metrics.calibration.pseudo_regression import pseudo_observations
from ..reference.aalen_johansen import AalenJohansen
from ._bands import incidence_band


def rates_with_band(
    y: Outcomes,
    s: Floats,
    rows: list[Ints],
    time: float,
    confidence: float | None,
    cause: int | None = None,
) -> tuple[GroupRates, Floats, Floats]:
    """Return the rates of groups of subjects, and the bounds of the observed ones."""
    if y.entry is not None:
        return _entered_rates(y, s, rows, time, confidence, cause)
    if cause is not None:
        return _cause_rates(y, s, rows, time, confidence, cause)
    rates = group_rates(y, s, rows, time)
    survival = 1 - rates.observed
    relative = np.sqrt(rates.greenwood) / np.where(survival > 0, survival, 1.0)
    low, high = log_log_band(survival, relative, confidence)
    return rates, 1 - high, 1 - low


def _entered_rates(
    y: Outcomes, s: Floats, rows: list[Ints], time: float, confidence: float | None, cause: Any
) -> tuple[GroupRates, Floats, Floats]:
    """Rates given entry by the means of pseudo-observations, and their bounds."""
    chosen = np.concatenate(rows)
    known = y[chosen]
    competes = None if cause is None else known.event & (known.cause != cause)
    risk = np.full(len(y), np.nan)
    risk[chosen] = 1.0 - pseudo_observations(known.any_cause(), competes, time).values
    had = y.event if cause is None else y.cause == cause
    columns = []
    for group in rows:
        weight, total = y.weight[group], float(y.weight[group].sum())
        mean, expected = (np.average(v[group], weights=weight) for v in (risk, 1.0 - s))
        variance = np.average((risk[group] - mean) ** 2, weights=weight) / max(total - 1.0, 1.0)
        events = weight[(had & (y.time <= time))[group]].sum()
        columns.append((total, mean, expected, variance, events))
    size, observed, predicted, variances, events = np.array(columns, dtype=np.float64).T
    z = np.nan if confidence is None else ndtri(0.5 + confidence / 2)
    low, high = (np.clip(observed + k * z * np.sqrt(variances), 0.0, 1.0) for k in (-1, 1))
    return GroupRates(size, observed, predicted, variances, events, 0), low, high


def _cause_rates(
    y: Outcomes, s: Floats, rows: list[Ints], time: float, confidence: float | None, cause: int
) -> tuple[GroupRates, Floats, Floats]:
    """Rates of a cause in groups of subjects by Aalen-Johansen, and their bounds."""
    columns, ends = [], []
    for chosen in rows:  # a handful of groups
        group = y[chosen]
        aj, weight = AalenJohansen.fit(group), group.weight
        value, low, high = incidence_band(aj, cause, np.array([time]), confidence)
        ends.append((low[0], high[0]))
        had = (group.cause == cause) & (group.time <= time)
        expected = 1.0 - np.average(s[chosen], weights=weight)
        variance = float(aj.stderr_at(time, cause)) ** 2
        columns.append((weight.sum(), value[0], expected, variance, weight[had].sum()))
    size, observed, predicted, variances, events = np.array(columns, dtype=np.float64).T
    low, high = np.array(ends).T
    return GroupRates(size, observed, predicted, variances, events, 0), low, high
