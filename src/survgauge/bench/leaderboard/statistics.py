"""Statistics over datasets: means with intervals, all pairs, who may be best, groups.

`values` are matrices of shape (datasets, models) in which higher is better; NaN is a missing cell.
Datasets are drawn at random from those that somebody may have: they are what is replicated, while
folds and repeats of one dataset are averaged before. Tests turn the signs of whole datasets: if
models do not differ, the differences on a dataset could as well have been the other way round, for
all pairs of models together. Unlike a normal distribution this takes datasets of unequal spread as
they are (`benchmarks/leaderboard_simulation.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats
from ..._tools.random import stream
from ...evaluation.audit.risks import kendall_tau
from ...evaluation.inference import critical
from ...report.experiment_words import FEWEST_BASES

#: Level of all tests, and 1 minus that of intervals.
LEVEL = 0.05
#: Turned signs: all of them up to this number of datasets, else a random sample of `FLIPS`.
_ALL_SIGNS, FLIPS = 12, 4999
#: Values that differ by less than this, relative to their size, are equal.
_SLACK = 1e-9


@dataclass(frozen=True)
class OverDatasets:
    """Mean of each model over datasets, its interval, and on how many datasets it rests."""

    mean: Floats
    low: Floats
    high: Floats
    datasets: NDArray[np.intp]


@dataclass(frozen=True)
class Pairs:
    """Differences of all pairs (the row's model minus the column's), as matrices of models.

    Limits and p-values hold for all pairs together. NaN where fewer than six datasets have both.
    """

    difference: Floats
    low: Floats
    high: Floats
    p_value: Floats
    datasets: NDArray[np.intp]

    def clear(self) -> Bools:
        """Which pairs differ clearly."""
        return np.asarray(self.p_value < LEVEL)


def over_datasets(values: Floats) -> OverDatasets:
    """Mean of each model with its t interval over datasets; missing cells are left out.

    With two datasets or more; whether there are enough for a test is another matter.

    >>> found = over_datasets(np.array([[0.1, 0.2], [0.3, 0.2], [0.2, np.nan]]))
    >>> found.mean.round(3), found.low.round(3), found.datasets
    (array([0.2, 0.2]), array([-0.048,  0.2  ]), array([3, 2]))
    """
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.where(count, count, np.nan)
    spread = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
    enough = np.where(count > 1, count, np.nan)
    stderr = np.sqrt(spread / (enough - 1) / enough)
    half = np.array([critical(1 - LEVEL, n - 1) if n > 1 else np.nan for n in count]) * stderr
    return OverDatasets(mean, mean - half, mean + half, count)


def pairs(
    values: Floats, *, against: int | None = None, flips: int = FLIPS, seed: int = 0
) -> Pairs:
    """Compare all pairs of models, or all with one of them, with adjustment for their number.

    The largest absolute t statistic of all pairs is compared with those under turned signs.

    Parameters
    ----------
    values : ndarray of shape (datasets, models)
        Higher is better.
    against : int, optional
        Number of the only model to compare the others with; fewer pairs, more power.
    flips, seed : int
        How many random signs to draw where there are too many to try all, and from which seed.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing.

    Examples
    --------
    >>> better = np.array([0.2, 0.1, 0.3, 0.2, 0.25, 0.15, 0.3, 0.2])
    >>> noise = np.array([1, -2, 3, -1, 2, -3, 1, -1]) / 100
    >>> found = pairs(np.column_stack((better, better + noise, better - 0.1 + noise)))
    >>> found.p_value[0].round(3)
    array([  nan, 1.   , 0.008])
    """
    count = values.shape[1]
    first, second = np.triu_indices(count, 1)
    if against is not None:
        first = np.array([k for k in range(count) if k != against], dtype=np.intp)
        second = np.full(first.size, against)
    gaps = values[:, first] - values[:, second]
    found = over_datasets(gaps)
    t = np.abs(_turned(gaps, flips, seed))
    most = t.max(axis=1, initial=0.0)
    p = (most[:, None] >= t[0] * (1 - _SLACK) - _SLACK).mean(axis=0)
    reach = float(np.quantile(most, 1 - LEVEL, method="higher"))
    stderr = np.sqrt(_variance(gaps) / np.maximum(found.datasets, 1))
    both = found.datasets.astype(np.float64)
    few = both < FEWEST_BASES
    # Differences that are the same everywhere have no spread: no interval is as narrow as that.
    half = np.where(few | (stderr == 0), np.nan, reach * stderr)
    p = np.where(few, np.nan, p)
    return Pairs(
        _matrix(found.mean, -found.mean, first, second, count),
        _matrix(found.mean - half, -found.mean - half, first, second, count),
        _matrix(found.mean + half, -found.mean + half, first, second, count),
        _matrix(p, p, first, second, count),
        np.nan_to_num(_matrix(both, both, first, second, count)).astype(np.intp),
    )


def p_of_being_best(values: Floats, *, flips: int = FLIPS, seed: int = 0) -> Floats:
    """p-value of each model for the hypothesis that no other model is better than it.

    Those with p of 0.05 or more are the set that has the truly best model with a probability of at
    least 95 %: each hypothesis is tested alone, because the truly best model is in danger of being
    left out by one test only (multiple comparisons with the best).

    References
    ----------
    Hsu (1996), Multiple Comparisons: Theory and Methods, chapter 4.

    Examples
    --------
    >>> one = np.array([0.2, 0.1, 0.3, 0.2, 0.25, 0.15, 0.3, 0.2])
    >>> noise = np.array([1, -2, 3, -1, 2, -3, 1, -1]) / 100
    >>> p_of_being_best(np.column_stack((one, one + noise, one - 0.1 + noise))).round(3)
    array([0.727, 0.844, 0.004])
    """
    found = np.full(values.shape[1], np.nan)
    for k in range(values.shape[1]):
        gaps = np.delete(values - values[:, [k]], k, axis=1)
        gaps = gaps[:, (~np.isnan(gaps)).sum(axis=0) >= FEWEST_BASES]
        if gaps.shape[1]:
            most = _turned(gaps, flips, seed).max(axis=1)
            found[k] = (most >= most[0] - _SLACK * (1 + abs(most[0]))).mean()
    return found


def groups(clear: Bools, mean: Floats) -> list[str]:
    """Letters of each model: two models share one if they do not differ clearly; a is the best.

    References
    ----------
    Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons,
    Journal of Computational and Graphical Statistics 13.

    Examples
    --------
    >>> clear = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    >>> groups(clear, np.array([0.3, 0.2, 0.1]))
    ['a', 'ab', 'b']
    """
    members = [frozenset(np.flatnonzero(~np.isnan(mean)).tolist())]
    for i, j in np.argwhere(np.triu(clear, 1)).tolist():
        split = [
            part
            for group in members
            for part in ((group - {i}, group - {j}) if {i, j} <= group else (group,))
        ]
        members = [g for g in dict.fromkeys(split) if not any(g < other for other in split)]
    members.sort(key=lambda group: sorted((-mean[k], k) for k in group))
    names = [_letter(k) for k in range(len(members))]
    return [
        "".join(name for name, group in zip(names, members, strict=True) if k in group)
        for k in range(mean.size)
    ]


def agreement(means: Floats) -> Floats:
    """Kendall's tau between the orders that each two columns give; rows are models.

    >>> agreement(np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])).round(2)
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """
    known = means[~np.isnan(means).any(axis=1)]
    size = means.shape[1]
    if len(known) < 2:
        return np.full((size, size), np.nan)
    return np.column_stack(
        [kendall_tau(known, np.repeat(known[:, [k]], size, axis=1)) for k in range(size)]
    )


def _letter(k: int) -> str:
    """Write the k-th letter; after z come A to Z, then numbers."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[k] if k < len(letters) else f"({k})"


def _matrix(
    values: Floats, turned: Floats, first: NDArray[np.intp], second: NDArray[np.intp], size: int
) -> Floats:
    """Place numbers of pairs, and what they are the other way round."""
    found = np.full((size, size), np.nan)
    found[first, second] = values
    found[second, first] = turned
    return found


def _variance(gaps: Floats) -> Floats:
    known = ~np.isnan(gaps)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, gaps, 0.0).sum(axis=0) / count
    left = (np.where(known, gaps - mean, 0.0) ** 2).sum(axis=0)
    scale = (np.where(known, gaps, 0.0) ** 2).sum(axis=0)
    return np.where(left <= _SLACK**2 * scale, 0.0, left / np.maximum(count - 1, 1))


def _turned(gaps: Floats, flips: int, seed: int) -> Floats:
    """t statistics of columns of differences under turned signs; the first row is as observed.

    Signs leave the sum of squares as it is, so t follows from the sum alone.
    """
    known = ~np.isnan(gaps)
    count = known.sum(axis=0)
    plain = np.where(known, gaps, 0.0)
    size = np.sqrt(count * (plain**2).sum(axis=0))
    share = _signs(len(gaps), flips, seed) @ (plain / np.where(size > 0, size, 1.0))
    share = np.clip(share, -1.0, 1.0)
    rest = np.sqrt(np.maximum(1 - share**2, _SLACK**2))
    t = share * np.sqrt(np.maximum(count - 1, 0)) / rest
    t[:, count < FEWEST_BASES] = 0.0
    return np.asarray(t)


@lru_cache(4)
def _signs(n: int, flips: int, seed: int) -> Floats:
    """Signs of n datasets, a row each time; none is turned in the first row."""
    if n <= _ALL_SIGNS:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return np.asarray(1.0 - 2.0 * bits)
    drawn = stream(seed, "leaderboard", "signs", n).integers(0, 2, size=(flips + 1, n))
    drawn[0] = 0
    return np.asarray(1.0 - 2.0 * drawn)
