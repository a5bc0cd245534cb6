"""Samples and folds of an internal validation: who is fitted to, and who tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Ints, numbers, whole_number
from .._tools.random import stream
from ..data.outcomes import Outcomes
from ..errors import InputError

#: Bootstrap samples, and repeats of the cross-validation, unless the caller says.
_USUAL = {"bootstrap": 200, "cv": 10}


@dataclass(frozen=True)
class Split:
    """One fit: number of the sample (or repeat), rows to fit to, rows to test, an inner sample."""

    number: int
    fitted: Ints
    test: Ints
    inner: Ints | None = None


def all_splits(
    method: str, resamples: Any, folds: int, y: Outcomes, seed: int, inner: bool
) -> list[Split]:
    """Rows to fit to and rows to test, of every fit."""
    n, everybody = len(y), np.arange(len(y))
    folds = whole_number(folds, "folds", 2)
    if resamples is None:
        resamples = _USUAL[method]
    if isinstance(resamples, list | tuple) or np.ndim(resamples) == 2:
        drawn = [_labels(given, n, method, k) for k, given in enumerate(resamples)]
        if not drawn:
            raise InputError("resamples must hold at least one array; got none")
    else:
        number = whole_number(resamples, "resamples", 1, "a whole number, or a list of arrays")
        if method == "bootstrap":
            rng = stream(seed, "validate")
            drawn = [rng.integers(0, n, n) for _ in range(number)]
        else:
            drawn = [_folds(y, folds, stream(seed, "validate", k)) for k in range(number)]
    if method == "bootstrap":
        again = stream(seed, "validate", "inner")
        return [
            Split(k, rows, everybody, rows[again.integers(0, n, n)] if inner else None)
            for k, rows in enumerate(drawn)
        ]
    return [
        Split(k, np.flatnonzero(fold != label), np.flatnonzero(fold == label))
        for k, fold in enumerate(drawn)
        for label in np.unique(fold)
    ]


def _folds(y: Outcomes, folds: int, rng: np.random.Generator) -> Ints:
    """Fold of each subject: equal numbers of events and of censored subjects, at random.

    Not `SurvivalKFold`: folds that are alike in times too have no pairs of subjects with close
    times, which are the hardest to order, so that C-indices come out too high (0.007 in folds of
    20 subjects).
    """
    if len(y) < folds:
        raise InputError(f"y must have at least folds = {folds} subjects; got {len(y)}")
    order = rng.permutation(len(y))
    order = order[np.argsort(~y.event[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    fold[order] = np.arange(len(y)) % folds
    return fold


def _labels(given: Any, n: int, method: str, number: int) -> Ints:
    """Rows of a bootstrap sample, or the fold of every subject, as a caller gives them."""
    name = f"resamples[{number}]"
    labels = numbers(given, name)
    if labels.shape != (n,) or (labels != np.round(labels)).any():
        raise InputError(
            f"{name} must hold {n} whole numbers, one per subject; got shape {labels.shape}"
        )
    if method == "bootstrap" and not (labels.min() >= 0 and labels.max() < n):
        raise InputError(f"{name} must hold rows from 0 to {n - 1}; got {labels.max():g}")
    if method == "cv" and np.unique(labels).size < 2:
        raise InputError(f"{name} must have at least two folds; got one")
    return labels.astype(np.intp)
