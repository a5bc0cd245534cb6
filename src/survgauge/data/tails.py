"""How a survival function goes on past its last known point (last, s): one place for all.

`linear` follows the line from (0, 1) through the last point down to zero, `exponential` keeps the
constant hazard through both points, `hold` keeps the probability and lets no time be read past the
last one, `nan` refuses to say.
"""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats
from ..errors import one_of

TAILS = ("linear", "exponential", "hold", "nan")


def check_tail(tail: object) -> None:
    """Refuse an unknown tail."""
    one_of("tail", tail, TAILS)


def tail_survival(t: Floats, last: Floats, s: Floats, tail: str) -> Floats:
    """Survival at `t` >= `last`, where the known part ends at (`last`, `s`)."""
    if tail == "hold":
        return np.broadcast_to(s, np.broadcast(t, s).shape)
    if tail == "nan":
        return np.where(s > 0, np.nan, np.zeros(np.broadcast(t, s).shape))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(last > 0, t / last, np.inf)
        if tail == "linear":
            value = np.maximum(0.0, 1.0 - ratio * (1.0 - s))
        else:
            value = np.power(s, ratio)
    # A curve that never fell stays at one; one that reached zero stays at zero.
    return np.where(s >= 1, 1.0, np.where(s <= 0, 0.0, value))


def tail_area(last: Floats, s: Floats, tail: str, stop: float = np.inf) -> Floats:
    """Area under the tail from `last` to `stop` (infinite where the curve never falls)."""
    last, s = np.asarray(last, dtype=np.float64), np.asarray(s, dtype=np.float64)
    width = np.maximum(stop - last, 0.0)
    if tail == "hold":
        return np.zeros(np.broadcast(last, s).shape)
    if tail == "nan":
        return np.where((s > 0) & (width > 0), np.nan, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if tail == "linear":
            end = last / (1.0 - s)
            whole = 0.5 * last * s * s / (1.0 - s)
            if np.isinf(stop):
                area = whole
            else:
                part = 0.5 * width * (s + 1.0 - stop * (1.0 - s) / last)
                area = np.where(stop >= end, whole, part)
        else:
            at_stop = 0.0 if np.isinf(stop) else np.power(s, stop / last)
            area = last * (s - at_stop) / -np.log(s)
    area = np.where((s <= 0) | (width <= 0) | (last <= 0), 0.0, area)
    return np.where(s >= 1, width, area)


def tail_time(p: float | Floats, last: Floats, s: Floats, tail: str) -> Floats:
    """First time at which the tail is at or below `p`, for curves that end above it (`s` > `p`)."""
    if tail == "hold":
        return np.broadcast_to(last, s.shape)
    if tail == "nan":
        return np.full(s.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        time = last * (1.0 - p) / (1.0 - s) if tail == "linear" else last * np.log(p) / np.log(s)
    return np.where(s >= 1, np.inf, time)
