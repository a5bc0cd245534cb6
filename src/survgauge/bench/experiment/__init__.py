"""Experiments on data whose truth is known: which metric ranks models, and which is close.

>>> from survgauge import experiment
>>> experiment.shipped_plans()
['demo', 'paper', 'truth', 'wide']

`run` runs a plan into a store and returns `Results`.
"""

from __future__ import annotations

from .plan import Cell, Plan, shipped_plans
from .results import Results
from .runner import run
from .store import Store

__all__ = [
    "Cell",
    "Plan",
    "Results",
    "Store",
    "run",
    "shipped_plans",
]
