"""Gradient boosting of Cox's partial likelihood, with linear or tree base learners.

Every stage fits the martingale residuals, the slope of Breslow's partial likelihood in the scores.
The residuals come from cumulative sums over sorted times, so a stage takes O(n p), not O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats, whole_number
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import InputError
from .base import SurvivalModel
from .errors import FitError
from .facts import FACTS
from .steps import BaselineHazard, hazard_curves, step_times


class _CoxBoosting(SurvivalModel):
    """Stages of base learners on residuals; subclasses say what a stage learns."""

    handles_weights = True
    n_estimators: int
    learning_rate: float

    def _prepare(self, X: Floats, y: Outcomes) -> None:
        raise NotImplementedError

    def _stage(self, X: Floats, residual: Floats, weight: Floats, number: int) -> Floats:
        """Learn from the residuals; return the change of the scores of `X`."""
        raise NotImplementedError

    def _score(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _fit(self, X: Floats, y: Outcomes) -> None:
        whole_number(self.n_estimators, "n_estimators", 1)
        if not 0 < self.learning_rate <= 1:
            raise InputError(f"learning_rate must lie in (0, 1]; got {self.learning_rate}")
        baseline = BaselineHazard(y)
        self._prepare(X, y)
        score = np.zeros(len(y))
        for number in range(self.n_estimators):
            with np.errstate(over="ignore", invalid="ignore"):
                residual = baseline.residual(score)
            if not np.isfinite(residual).all():
                raise FitError(
                    self.label,
                    f"scores diverged at stage {number + 1}; look for extreme values in X or "
                    f"lower learning_rate={self.learning_rate:g}",
                )
            score += self._stage(X, residual, y.weight, number)
            if (number + 1) % 25 == 0:
                self._report(f"stage {number + 1} of {self.n_estimators}")
        self.times_ = step_times(y)
        self.log_hazard_ = baseline.stepped(score, self.times_)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._score(X), self.times_, self.log_hazard_)


@dataclass(eq=False, repr=False)
class ComponentwiseBoosting(_CoxBoosting):
    """Boosting with component-wise least squares: each stage moves one coefficient.

    A stage regresses the residuals on every (centred) column alone and takes a small step along
    the column that explains most, so that few columns get a coefficient.

    Parameters
    ----------
    n_estimators : int
        Stages.
    learning_rate : float
        Share of the least-squares step that is taken.
    verbose : bool
        Report stages on standard error.

    References
    ----------
    Hothorn, Bühlmann, Dudoit, Molinaro, van der Laan (2006), Survival ensembles,
    Biostatistics 7.

    Examples
    --------
    >>> X = [[0, 5], [1, 5], [0, 5], [1, 5]]
    >>> model = ComponentwiseBoosting().fit(X, ([4, 3, 2, 1], [1, 1, 1, 1]))
    >>> model.coefficients_.round(2)
    array([0.94, 0.  ])
    """

    facts = FACTS["gbm_c"]

    n_estimators: int = 100
    learning_rate: float = 0.1
    verbose: bool = False

    def _prepare(self, X: Floats, y: Outcomes) -> None:
        self.coefficients_ = np.zeros(X.shape[1])
        self.means_ = np.average(X, axis=0, weights=y.weight)
        self._columns = X - self.means_
        self._squares = y.weight @ self._columns**2
        size = np.abs(X).max(axis=0, initial=0.0)
        # Rounding leaves some spread in columns that are constant; they explain nothing.
        constant = self._squares <= y.weight.sum() * (1e-10 * size) ** 2
        self._squares[constant] = np.inf

    def _fit(self, X: Floats, y: Outcomes) -> None:
        super()._fit(X, y)
        del self._columns, self._squares

    def _stage(self, X: Floats, residual: Floats, weight: Floats, number: int) -> Floats:
        if not X.shape[1]:
            return np.zeros(X.shape[0])
        products = (weight * residual) @ self._columns
        best = int(np.argmax(products**2 / self._squares))
        step = self.learning_rate * products[best] / self._squares[best]
        self.coefficients_[best] += step
        return step * self._columns[:, best]

    def _score(self, X: Floats) -> Floats:
        return (X - self.means_) @ self.coefficients_


@dataclass(eq=False, repr=False)
class TreeBoosting(_CoxBoosting):
    """Boosting with regression trees.

    Parameters
    ----------
    n_estimators : int
        Stages, one tree each.
    learning_rate : float
        Shrinks every tree.
    max_depth, min_samples_leaf
        Size of the trees.
    random_state : int or None
        Breaks ties between equally good splits.
    verbose : bool
        Report stages on standard error.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29. Ridgeway (1999), The state of boosting, Computing Science and Statistics 31.

    Examples
    --------
    >>> model = TreeBoosting().fit([[0], [1], [0], [1]], ([4, 3, 2, 1], [1, 1, 1, 1]))
    >>> model.predict_time([[0], [1]])
    array([4., 2.])
    """

    facts = FACTS["gbm_tree"]

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int | None = 3
    min_samples_leaf: int = 1
    random_state: int | None = 0
    verbose: bool = False

    def _prepare(self, X: Floats, y: Outcomes) -> None:
        self.trees_: list[Any] = []

    def _stage(self, X: Floats, residual: Floats, weight: Floats, number: int) -> Floats:
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self._integer_seed("tree", number),
        )
        tree.fit(X, residual, sample_weight=weight)
        self.trees_.append(tree)
        return self.learning_rate * np.asarray(tree.predict(X))

    def _score(self, X: Floats) -> Floats:
        score = np.zeros(X.shape[0])
        for tree in self.trees_:
            score += self.learning_rate * tree.predict(X)
        return score
