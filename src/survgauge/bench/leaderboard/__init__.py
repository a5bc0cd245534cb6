"""A leaderboard: the same folds for every model, scores with intervals, submissions by file.

>>> from survgauge import leaderboard
>>> leaderboard.run(["coxph", "rsf"], ["veteran"], store="run")  # doctest: +SKIP
Board(3 models and settings, 1 datasets)
"""

from __future__ import annotations

from .results import Board
from .running import run
from .submission import submit, tasks

__all__ = ["Board", "run", "submit", "tasks"]
