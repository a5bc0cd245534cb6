"""Integrals over a grid of times as weights: integral / length = values @ weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._tools.arrays import Floats
from .._tools.running import chunks
from ..data.outcome_parts import SAME
from ..errors import one_of

#: Equal steps of the usual grid.
STEPS = 100
RULES = ("trapezoid", "simpson", "simpson_average")


def equal_steps(end: float) -> Floats:
    """Return equal steps from 0 to `end`, the usual grid of integrated scores."""
    return np.linspace(0.0, end, STEPS + 1)


def snapped(times: Floats, known: Sequence[Floats]) -> Floats:
    """Equal steps with those that meet a known time but for rounding moved onto it.

    Otherwise the last bit would decide whether an event at 7 days has happened by a step at 7 days,
    and results would depend on the unit of time. Of several known times the latest is taken; first
    and last step stay.

    >>> snapped(np.array([0.0, 0.3 - 1e-15, 0.5, 1.0]), [np.array([0.4, 0.3])])
    array([0. , 0.3, 0.5, 1. ])
    """
    if times.size < 3:
        return times
    inner = times[1:-1]
    low, high = inner * (1 - SAME), inner * (1 + SAME)
    if not (high[:-1] < low[1:]).all():
        return times
    met = np.full(inner.size, -np.inf)
    for values in known:
        for rows in chunks(values.size):
            part = values[rows]
            step = high.searchsorted(part)
            near = step < high.size
            near[near] = part[near] >= low[step[near]]
            np.maximum.at(met, step[near], part[near])
    return np.concatenate((times[:1], np.where(met > -np.inf, met, inner), times[-1:]))


def grid_weights(times: Floats, rule: str = "trapezoid") -> Floats:
    """Weights of the mean over [times[0], times[-1]]; one time is its own mean.

    >>> grid_weights(np.array([0.0, 1.0, 3.0]))
    array([0.16666667, 0.5       , 0.33333333])
    """
    one_of("integration", rule, RULES)
    if times.size == 1:
        return np.ones(1)
    if rule == "trapezoid" or times.size == 2:
        weights = _trapezoid(times)
    elif times.size % 2:
        weights = _simpson(times)
    elif rule == "simpson":
        weights = np.append(_simpson(times[:-1]), 0.0)
        weights[-3:] += _last_interval(times[-3:])
    else:
        line_last = np.append(_simpson(times[:-1]), 0.0)
        line_last[-2:] += _trapezoid(times[-2:])
        line_first = np.insert(_simpson(times[1:]), 0, 0.0)
        line_first[:2] += _trapezoid(times[:2])
        weights = (line_last + line_first) / 2
    return weights / (times[-1] - times[0])


def weighted_mean(values: Floats, weights: Floats) -> float:
    """Sum of values times weights, where an infinite loss counts however small its weight.

    >>> weighted_mean(np.array([1.0, np.inf, 3.0]), np.array([0.5, 0.0, 0.5]))
    2.0
    """
    used = values[weights != 0]
    return float("inf") if np.isposinf(used).any() else float(used @ weights[weights != 0])


def _trapezoid(t: Floats) -> Floats:
    weights = np.zeros(t.size)
    half = np.diff(t) / 2
    weights[:-1] += half
    weights[1:] += half
    return weights


def _simpson(t: Floats) -> Floats:
    """Parabolas through points 0-1-2, 2-3-4, ...: an odd number of points."""
    weights = np.zeros(t.size)
    h0, h1 = np.diff(t)[0::2], np.diff(t)[1::2]
    both = h0 + h1
    weights[0:-1:2] += both / 6 * (2 - h1 / h0)
    weights[1::2] += both**3 / (6 * h0 * h1)
    weights[2::2] += both / 6 * (2 - h0 / h1)
    return weights


def _last_interval(t: Floats) -> Floats:
    """Integral over the second interval of the parabola through three points."""
    h0, h1 = np.diff(t)
    both = h0 + h1
    last = h1 * (2 * h1 + 3 * h0) / (6 * both)
    middle = h1 * (h1 + 3 * h0) / (6 * h0)
    return np.array([-(h1**3) / (6 * h0 * both), middle, last])
