"""Pictures that explain the metrics, by name: each function draws one figure from toy data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import calibration, decision, errors, evidence, intervals, probability, ranking
from .style import save

__all__ = ["PICTURES", "save"]

PICTURES: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for module in (errors, ranking, probability, calibration, decision, evidence, intervals)
    for function in module.ALL
}
