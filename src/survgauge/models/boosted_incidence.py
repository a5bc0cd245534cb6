"""Boosted trees for several causes: hazardous' SurvivalBoost behind the protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, whole_number
from .._tools.extras import need
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from .base import SurvivalModel
from .facts import FACTS


@dataclass(eq=False, repr=False)
class SurvivalBoostModel(SurvivalModel):
    """SurvivalBoost of the package hazardous: boosted trees of the incidence of all causes.

    Time is one of the features of its trees, so that its curves may fall a little; they take their
    running maximum here.

    Parameters
    ----------
    n_iter, max_leaf_nodes, min_samples_leaf, n_time_grid_steps : int
        Of SurvivalBoost: stages, leaves of a tree, rows of a leaf, times of the grid.
    learning_rate : float
        Of SurvivalBoost.
    random_state : int or None
        Seed.

    References
    ----------
    J. Alberge, V. Maladiere, O. Grisel, J. Abecassis, G. Varoquaux. Survival models: proper scoring
    rule and stochastic optimization with competing risks. AISTATS 2025.
    """

    facts = FACTS["survival_boost"]

    n_iter: int = 100
    learning_rate: float = 0.05
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 50
    n_time_grid_steps: int = 100
    random_state: int | None = 0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        for name in ("n_iter", "max_leaf_nodes", "min_samples_leaf", "n_time_grid_steps"):
            whole_number(getattr(self, name), name, 1)
        hazardous = need("hazardous", "model 'survival_boost'", "hazardous")
        codes = y.event.astype(np.int64) if y.cause is None else y.cause.astype(np.int64)
        self.causes_ = y.causes or ("1",)
        self.times_ = self._grid(y)
        # Learnt as 1, 2, ... of those that occur: the others have incidence 0.
        self.present_, learnt = np.unique(np.append(0, codes), return_inverse=True)
        self.model_ = hazardous.SurvivalBoost(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            n_time_grid_steps=self.n_time_grid_steps,
            show_progressbar=False,
            random_state=self._integer_seed("boosting"),
        ).fit(_columns(X), {"event": learnt[1:], "duration": y.time})

    def _grid(self, y: Outcomes) -> Floats:
        """Distinct quantiles of the event times after 0, where incidence starts, and the end."""
        shares = np.linspace(0.0, 1.0, self.n_time_grid_steps)
        grid = np.append(np.quantile(y.time[y.event], shares), y.time.max())
        grid = np.unique(grid[grid > 0])
        return grid if grid.size else np.ones(1)

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        found = self.model_.predict_cumulative_incidence(_columns(X), times=self.times_)
        values = np.zeros((X.shape[0], len(self.causes_), self.times_.size))
        values[:, self.present_[1:] - 1] = np.asarray(found)[:, 1:]
        return IncidenceCurves(self.times_, values, self.causes_, repair="running_maximum")


def _columns(X: Floats) -> Floats:
    """Features, or one column of zeros where there are none."""
    return X if X.shape[1] else np.zeros((X.shape[0], 1))
