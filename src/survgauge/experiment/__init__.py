"""Experiments on data whose truth is known: which metric ranks models, and which is close.

>>> from survgauge import experiment
>>> experiment.shipped_plans()
['demo', 'paper', 'truth', 'wide']

`run` runs a plan into a store and returns `Results`.
"""

from __future__ import annotations

from .comparisons import CriticalDifference
from .grid import Cell
from .plan import Plan, shipped_plans
from .published import read_published, side_by_side
from .results import Results
from .runner import run
from .store import Store

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
