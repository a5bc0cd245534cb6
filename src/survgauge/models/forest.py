"""Random survival forest, by scikit-survival through its public interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, positive
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from .base import SurvivalModel
from .facts import FACTS
from .steps import step_times

_BLOCK_ROWS = 2048
# A node keeps two numbers a time; there is about one node for every `min_samples_leaf` rows.
_NODE_BYTES = 16
_FEWEST_TIMES = 20


@dataclass(eq=False, repr=False)
class SurvivalForest(SurvivalModel):
    """Random survival forest: survival trees on bootstrap samples, averaged.

    Parameters
    ----------
    n_estimators : int
        Trees.
    min_samples_leaf : int
        Subjects in a leaf, at least.
    max_features : int, float or str
        Columns tried at a split.
    max_depth : int or None
        Depth of a tree, at most.
    memory : float or None
        Gigabytes that the curves kept in the trees' leaves may take, about; they grow with rows
        times distinct times. Where they would need more, times are rounded to as many quantiles
        as fit, which `notes_` tells. None: no limit.
    n_jobs : int or None
        Trees grown at once; -1: one per core. Does not change the result.
    random_state : int or None
        Of bootstrap and splits.
    verbose : bool
        Report on standard error.

    References
    ----------
    Ishwaran, Kogalur, Blackstone, Lauer (2008), Random survival forests, Annals of Applied
    Statistics 2.
    """

    facts = FACTS["rsf"]

    n_estimators: int = 50
    min_samples_leaf: int = 3
    max_features: Any = "sqrt"
    max_depth: int | None = None
    memory: float | None = 2.0
    n_jobs: int | None = None
    random_state: int | None = 0
    verbose: bool = False

    def _fit(self, X: Floats, y: Outcomes) -> None:
        from sksurv.ensemble import RandomSurvivalForest

        y = self._rounded(y)
        self.forest_ = RandomSurvivalForest(
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=2 * self.min_samples_leaf,
            max_features=self.max_features,
            max_depth=self.max_depth,
            n_jobs=self.n_jobs,
            random_state=self._integer_seed("forest"),
        )
        self._report(f"{self.n_estimators} trees on {len(y)} rows")
        with self._noting_warnings():
            self.forest_.fit(X, y.to_structured())
        # Threads add up the trees' curves in any order, and a rounding error at one half moves a
        # median by a step: predictions are added up by one thread.
        self.forest_.set_params(n_jobs=1)
        self.times_ = step_times(y)
        self.columns_ = np.searchsorted(self.forest_.unique_times_, self.times_)

    def _rounded(self, y: Outcomes) -> Outcomes:
        """Round times to quantiles if the forest would not fit into memory with all of them."""
        if self.memory is None:
            return y
        memory = positive(self.memory, "memory")
        nodes = self.n_estimators * max(1.0, len(y) / self.min_samples_leaf)
        allowed = max(_FEWEST_TIMES, int(memory * 1e9 / (_NODE_BYTES * nodes)))
        distinct = np.unique(y.time).size
        if distinct <= allowed:
            return y
        levels = np.linspace(0, 1, allowed)
        grid = np.unique(np.quantile(y.time, levels, method="nearest"))
        self._note(f"{distinct} distinct times rounded to {grid.size} quantiles to save memory")
        # To the nearest: rounding up would lengthen every predicted time.
        between = (grid[1:] + grid[:-1]) / 2
        return Outcomes(grid[between.searchsorted(y.time)], y.event)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = np.empty((X.shape[0], self.times_.size))
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            block = self.forest_.predict_survival_function(X[rows], return_array=True)
            survival[rows] = block[:, self.columns_]
        return SurvivalCurves(self.times_, survival, interpolation="step")
