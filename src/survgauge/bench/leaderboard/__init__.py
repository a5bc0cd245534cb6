"""A leaderboard: the same folds for every model, scores with intervals, submissions by file."""

from __future__ import annotations

from .results import Board
from .running import run

__all__ = ["Board", "run"]
