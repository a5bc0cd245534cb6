"""Kaplan-Meier of the reference set as a prediction for everybody: what every model should beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import whole_number
from ..data.curves import SurvivalCurves
from ..data.tails import check_tail
from .reference import Reference


def reference_curves(y_train: Any, n: int, tail: str = "linear") -> SurvivalCurves:
    """Kaplan-Meier of the reference set as the prediction for n subjects, stored once.

    Parameters
    ----------
    y_train : outcomes or Reference
        Reference set.
    n : int
        Number of subjects, all with the same curve.
    tail : str
        How curves go on past the last time; see `SurvivalCurves`.

    Examples
    --------
    >>> reference_curves(([1, 2, 3, 4], [1, 0, 1, 1]), 1000)
    SurvivalCurves(1000 subjects x 3 times, shared grid, step, tail linear)
    """
    check_tail(tail)
    n = whole_number(n, "n", 1, "a whole number of subjects")
    reference = Reference.of(y_train, entry=True)
    if reference.table.jumps(censoring=False).any():
        times, survival = reference.steps()
    else:  # no event: it stays at one
        times, survival = np.array([reference.last_time]), np.ones(1)
    rows = np.broadcast_to(survival, (n, survival.size))
    return SurvivalCurves._trusted(times, rows, "step", tail)
