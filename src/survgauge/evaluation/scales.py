"""Scales on which values of several groups or imputations are averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

SCALES = ("normal", "log", "logit")


def scale_of(interval: str) -> str:
    """Scale on which values of a metric are averaged, from where its interval is symmetric."""
    return interval if interval in SCALES else "normal"


def on_scale(value: Any, scale: str) -> Any:
    """Whether values lie inside the range of a scale.

    >>> bool(on_scale(1.0, "logit")), bool(on_scale(1.0, "log"))
    (False, True)
    """
    known = np.isfinite(value)
    if scale == "normal":
        return known
    return known & (value > 0) if scale == "log" else known & (value > 0) & (value < 1)


def to_scale(value: Any, stderr: Any, scale: str) -> tuple[Any, Any]:
    """Values inside the range of a scale, and their standard errors, on that scale.

    >>> [float(x) for x in to_scale(0.5, 0.1, "logit")]
    [0.0, 0.4]
    """
    if scale == "log":
        return np.log(value), stderr / value
    if scale == "logit":
        return logit(value), stderr / (value * (1 - value))
    return value, stderr


def from_scale(value: Any, scale: str) -> Any:
    """Values on a scale, back where they come from."""
    if scale == "log":
        with np.errstate(over="ignore"):  # a limit that is as good as none
            return np.exp(value)
    return expit(value) if scale == "logit" else value
