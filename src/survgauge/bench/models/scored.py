"""Models that learn a score, and have curves by Breslow's baseline of the training set."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...estimators.learners.base import SurvivalModel
from ...estimators.learners.trees import BaselineHazard, hazard_curves, step_times


class ScoreModel(SurvivalModel):
    """Hazards are exp(score) * H0(t); a subclass learns the scores.

    Columns that are constant in training are left out, because several libraries refuse them. With
    none left everybody has score 0.
    """

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self._check()
        self.varies_ = varying(X)
        if self.varies_.any():
            self._learn(X[:, self.varies_], y)
        self.times_ = step_times(y)
        self.log_hazard_ = BaselineHazard(y).stepped(self._scores(X), self.times_)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._scores(X), self.times_, self.log_hazard_)

    def _scores(self, X: Floats) -> Floats:
        return self._score(X[:, self.varies_]) if self.varies_.any() else np.zeros(X.shape[0])

    def _check(self) -> None:
        """Refuse parameters."""

    def _learn(self, X: Floats, y: Outcomes) -> None:
        """Learn from columns that vary."""
        raise NotImplementedError

    def _score(self, X: Floats) -> Floats:
        """Log hazard of rows, up to a constant."""
        raise NotImplementedError


def varying(X: Floats) -> Bools:
    """Which columns vary by more than rounding."""
    spread: Bools = np.ptp(X, axis=0) > 1e-10 * np.abs(X).max(axis=0)
    return spread


def signed_ranks(y: Outcomes) -> Ints:
    """Ranks of the times from 1 on, negative if censored, as boosters read them.

    The partial likelihood depends on the order of the times alone; ranks carry a sign where a time
    of 0 cannot, and keep apart what single precision would merge.

    >>> signed_ranks(Outcomes([0, 5, 5], [0, 1, 0]))
    array([-1,  2, -2])
    """
    rank = np.unique(y.time, return_inverse=True)[1].reshape(-1) + 1
    return np.asarray(np.where(y.event, rank, -rank))


def standardised(X: Floats, mean: Any = None, spread: Any = None) -> Floats:
    """Columns with mean 0 and standard deviation 1, or by those of other rows."""
    mean = X.mean(axis=0) if mean is None else mean
    spread = X.std(axis=0) if spread is None else spread
    scaled: Floats = (X - mean) / spread
    return scaled
