"""Folds stratified on event and time, for scikit-learn's searches and validations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._tools.arrays import Ints, whole_number
from .._tools.random import check_seed, stream
from ..errors import InputError
from .intervals import IntervalOutcomes
from .outcomes import Outcomes


class SurvivalKFold:
    """Folds that are alike in events, censorings and their times.

    Events and censored subjects are each sorted by time and dealt out in rounds, one to every
    fold, in an order drawn at random for each round.

    Small folds therefore have few pairs of close times, and C-indices computed within them come
    out slightly too high: by 0.007 in simulated folds of 20 subjects. All models of a search are
    concerned alike; `validate` draws its folds without regard to the times.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    random_state : int
        Seed.

    Examples
    --------
    >>> y = Outcomes(range(1, 9), [1, 1, 1, 1, 0, 0, 0, 0])
    >>> [int(y.event[test].sum()) for _, test in SurvivalKFold(2).split(y, y)]
    [2, 2]
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = 0) -> None:
        self.n_splits = whole_number(n_splits, "n_splits", 2)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def folds(self, y: Any) -> Ints:
        """Return the fold of each subject."""
        known = isinstance(y, IntervalOutcomes)
        outcomes: Any = y if known else Outcomes.of(y, causes=True, entry=True)
        n, k = len(outcomes), self.n_splits
        if n < k:
            raise InputError(f"y must have at least n_splits = {k} subjects; got {n}")
        rng = stream(check_seed(self.random_state), "folds")
        shuffled = rng.permutation(n)  # ties in time fall in random order
        kinds = outcomes.event if outcomes.cause is None else outcomes.cause
        keys = (outcomes.time[shuffled], kinds[shuffled])
        order = shuffled[np.lexsort(keys)]
        rounds = -(-n // k)
        deal = np.concatenate([rng.permutation(k) for _ in range(rounds)])[:n]
        fold = np.empty(n, dtype=np.intp)
        fold[order] = deal
        return fold

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the training and test rows of each fold."""
        if y is None:
            raise InputError("y must be given: folds are stratified on event and time")
        fold = self.folds(y)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
