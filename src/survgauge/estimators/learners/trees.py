"""Random survival forest, and gradient boosting of Cox's partial likelihood.

The forest is scikit-survival's, through its public interface. Every stage of boosting fits the
martingale residuals, the slope of Breslow's partial likelihood in the scores. The residuals come
from cumulative sums over sorted times, so a stage takes O(n p), not O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints, positive, whole_number
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError
from . import LEARNERS, FitError
from .base import SurvivalModel

#: Curves of networks in continuous time go on to this many times the last observed time.
REACH = 10.0


def step_times(y: Outcomes) -> Floats:
    """Distinct event times and the last observed time, where every step curve ends.

    A curve is known up to the last time even if nobody had the event there; its tail starts there.
    """
    return np.union1d(y.time[y.event], y.time.max())


class BaselineHazard:
    """Breslow's H0 of a training set for any scores, where hazards are exp(score) * H0(t).

    All sums are sums of logarithms, so that scores far apart neither overflow nor vanish.
    """

    def __init__(self, y: Outcomes) -> None:
        self.times, group = np.unique(y.time, return_inverse=True)
        self.group: Ints = group.reshape(-1)
        self.event = y.event
        with np.errstate(divide="ignore"):
            self.log_weight: Floats = np.log(y.weight)
            self._log_events = np.log(np.bincount(self.group, y.weight * y.event))

    def log_hazard(self, score: Floats) -> Floats:
        r"""Log of Breslow's :math:`H_0(t) = \sum_{t_k \le t} d_k / \sum_{t_j \ge t_k} e^{f_j}`."""
        largest = np.full(self.times.size, -np.inf)
        total = score + self.log_weight
        np.maximum.at(largest, self.group, total)
        at_time = largest + np.log(np.bincount(self.group, np.exp(total - largest[self.group])))
        log_sums = np.logaddexp.accumulate(at_time[::-1])[::-1]
        return np.logaddexp.accumulate(self._log_events - log_sums)

    def residual(self, score: Floats) -> Floats:
        r"""Martingale residual :math:`\delta_i - e^{f_i} H_0(t_i)`: minus the slope of the loss."""
        return self.event - np.exp(score + self.log_hazard(score)[self.group])

    def stepped(self, score: Floats, times: Floats) -> Floats:
        """Log of H0 at `times`, which are among those of the training set."""
        return self.log_hazard(score)[self.times.searchsorted(times)]


def hazard_curves(score: Floats, times: Floats, log_hazard: Floats) -> SurvivalCurves:
    """Curves exp(-exp(score) * H0) with steps at `times`."""
    with np.errstate(over="ignore"):
        survival = np.exp(-np.exp(score[:, None] + log_hazard))
    return SurvivalCurves(times, survival, interpolation="step")


def smooth_grid(time: Floats, end: float, size: int) -> Floats:
    """Grid of smooth curves: 0, quantiles of the observed times, then growing steps to `end`.

    >>> smooth_grid(np.array([2.0, 4.0]), 16.0, 4)
    array([ 0. ,  2.5,  3. ,  3.5,  4. ,  8. , 16. ])
    """
    inside = np.quantile(time, np.linspace(0, 1, size + 1)[1:])
    last = float(time.max())
    beyond = np.geomspace(last, max(end, 2 * last), size // 4 + 2)[1:]
    return np.unique(np.concatenate(([0.0], inside, beyond)))


def far_grid(y: Outcomes) -> Floats:
    """Zero, quantiles of the observed times, equal steps, and growing steps up to `REACH`.

    Quantiles resolve the times where many subjects are, equal steps the sparse end.

    >>> grid = far_grid(Outcomes([1, 2, 4], [1, 1, 0]))
    >>> float(grid[0]), float(grid[-1]), bool((np.diff(grid) > 0).all())
    (0.0, 40.0, True)
    """
    last = float(y.time.max()) or 1.0
    quantiles = np.quantile(y.time, np.linspace(0.0, 1.0, 100))
    beyond = np.geomspace(last, REACH * last, 31)
    grid = np.unique(np.concatenate([quantiles, np.linspace(0.0, last, 100), beyond]))
    # Times that differ by rounding only would make needles of steps.
    return grid[np.diff(grid, prepend=-np.inf) > 1e-9 * last]


def above_zero(time: Floats) -> tuple[Floats, str]:
    """Move times of zero, which have no logarithm, to half the next one; say so.

    >>> above_zero(np.array([0.0, 3.0]))
    (array([1.5, 3. ]), '1 time(s) of 0 count as 1.5')
    """
    zero = time == 0
    if not zero.any():
        return time, ""
    moved = float(time[~zero].min()) / 2
    return np.where(zero, moved, time), f"{int(zero.sum())} time(s) of 0 count as {moved:g}"


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

    facts = LEARNERS["rsf"]

    n_estimators: int = 50
    min_samples_leaf: int = 3
    max_features: Any = "sqrt"
    max_depth: int | None = None
    memory: float | None = 2.0
    n_jobs: int | None = None
    random_state: int | None = 0
    verbose: bool = False

    def _fit(self, X: Floats, y: Outcomes) -> None:
        y = self._rounded(y)
        self.forest_ = self._kind()(
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

    def _kind(self) -> Any:
        """Class of the forest."""
        from sksurv.ensemble import RandomSurvivalForest

        return RandomSurvivalForest

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

    facts = LEARNERS["gbm_c"]

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

    facts = LEARNERS["gbm_tree"]

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
