"""Experiments on data whose truth is known: which metric ranks models, and which is close.

>>> from survgauge import experiment
>>> experiment.shipped_plans()
['demo', 'paper', 'wide']

`run` runs a plan into a store and returns `Results`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Cell": "plan",
    "CriticalDifference": "comparisons",
    "Plan": "plan",
    "Results": "results",
    "Store": "store",
    "read_published": "published",
    "run": "runner",
    "shipped_plans": "plan",
    "side_by_side": "published",
}

__all__ = [
    "Cell",
    "CriticalDifference",
    "Plan",
    "Results",
    "Store",
    "read_published",
    "run",
    "shipped_plans",
    "side_by_side",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'survgauge.experiment' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
