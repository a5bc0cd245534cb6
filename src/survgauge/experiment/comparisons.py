"""Do metrics differ over data sets? Friedman, Nemenyi and Wilcoxon with Holm, and paired t-tests.

`scores` are matrices of shape (data sets, metrics), lower is better; rows with NaN are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import chdtrc, stdtr

from .._tools.arrays import Bools, Floats
from ..errors import InputError
from ..inference import holm
from .meta import ranks


@dataclass(frozen=True)
class CriticalDifference:
    """Metrics compared by their ranks over data sets.

    Attributes
    ----------
    metrics : tuple of str
        Names, in the order of the columns.
    ranks : ndarray
        Mean rank of each metric, 1 for always best.
    blocks : int
        Data sets that were compared.
    statistic, p_value : float
        Friedman's test that all metrics rank alike.
    distance : float
        Nemenyi's critical difference: mean ranks further apart differ at level `alpha`.
    pairs : list of dict
        metric_a, metric_b, difference of mean ranks, p_value (Wilcoxon signed-rank), p_holm.
    """

    metrics: tuple[str, ...]
    ranks: Floats
    blocks: int
    statistic: float
    p_value: float
    distance: float
    alpha: float
    pairs: list[dict[str, Any]]

    def groups(self) -> list[tuple[str, ...]]:
        """Metrics, best first, that the critical difference does not tell apart: maximal runs."""
        order = np.argsort(self.ranks, kind="stable")
        found: list[tuple[int, int]] = []
        for i in range(order.size):
            j = i
            while (
                j + 1 < order.size
                and self.ranks[order[j + 1]] - self.ranks[order[i]] <= self.distance
            ):
                j += 1
            if j > i and not any(a <= i and j <= b for a, b in found):
                found.append((i, j))
        return [tuple(self.metrics[k] for k in order[a : b + 1]) for a, b in found]


def compare(scores: Any, metrics: tuple[str, ...], alpha: float = 0.05) -> CriticalDifference:
    """Compare metrics over data sets.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7. Benavoli
    et al. (2016), Should we really use post-hoc tests based on mean-ranks?, JMLR 17.

    Examples
    --------
    >>> scores = np.array([[1.0, 2.0, 3.0]] * 6)
    >>> result = compare(scores, ("a", "b", "c"))
    >>> result.ranks, round(result.p_value, 4), result.groups()
    (array([1., 2., 3.]), 0.0025, [('a', 'b'), ('b', 'c')])
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(metrics):
        raise InputError(
            f"scores must be a matrix with a column for each of {len(metrics)} metrics; "
            f"got shape {matrix.shape}"
        )
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    n, k = matrix.shape
    if n < 2 or k < 2:
        raise InputError(
            f"a comparison needs at least two data sets and two metrics; got {n} and {k}"
        )
    placed = ranks(matrix, axis=1)
    statistic, p_value = friedman(placed)
    return CriticalDifference(
        tuple(metrics),
        placed.mean(axis=0),
        n,
        statistic,
        p_value,
        nemenyi_distance(k, n, alpha),
        alpha,
        _pairs(matrix, placed, tuple(metrics)),
    )


def friedman(placed: Floats) -> tuple[float, float]:
    r"""Friedman's chi-square on ranks (data sets x metrics), corrected for ties.

    :math:`\chi^2 = (k-1) \sum_j (R_j - n\frac{k+1}{2})^2 / \sum_{ij} (r_{ij} - \frac{k+1}{2})^2`.

    >>> friedman(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]))
    (0.3333333333333333, 0.5637028616507731)
    """
    n, k = placed.shape
    centre = (k + 1) / 2
    spread = float(((placed - centre) ** 2).sum())
    if spread == 0:
        return 0.0, 1.0
    between = float(((placed.sum(axis=0) - n * centre) ** 2).sum())
    # Sums of squares within blocks are n k (k^2 - 1) / 12 without ties.
    statistic = (k - 1) * between / spread
    return statistic, float(chdtrc(k - 1, statistic))


def nemenyi_distance(k: int, n: int, alpha: float = 0.05) -> float:
    r"""Critical difference of mean ranks, :math:`q_\alpha \sqrt{k(k+1)/(6n)}`.

    >>> round(nemenyi_distance(5, 30), 3)
    1.114
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie strictly between 0 and 1; got {alpha}")
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - alpha, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def _pairs(matrix: Floats, placed: Floats, metrics: tuple[str, ...]) -> list[dict[str, Any]]:
    mean = placed.mean(axis=0)
    couples = list(combinations(range(len(metrics)), 2))
    p_values = [wilcoxon(matrix[:, a] - matrix[:, b]) for a, b in couples]
    return [
        {
            "metric_a": metrics[a],
            "metric_b": metrics[b],
            "difference": float(mean[a] - mean[b]),
            "p_value": p,
            "p_holm": float(adjusted),
        }
        for (a, b), p, adjusted in zip(couples, p_values, holm(p_values), strict=True)
    ]


def wilcoxon(differences: Any) -> float:
    """Two-sided p-value of the signed-rank test, exact also with ties; zeros are left out.

    The distribution of the sum of positive ranks over all signs, one rank at a time.

    References
    ----------
    Wilcoxon (1945), Individual comparisons by ranking methods, Biometrics Bulletin 1.

    Examples
    --------
    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    0.03125
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    # Mean ranks of ties are halves: twice a rank is a whole number.
    doubled = np.rint(2 * ranks(np.abs(d), axis=0)).astype(np.intp)
    chance = np.ones(1)
    for rank in doubled:
        shifted = np.zeros(chance.size + rank)
        shifted[: chance.size] += chance / 2
        shifted[rank:] += chance / 2
        chance = shifted
    positive = int(doubled[d > 0].sum())
    tail = min(chance[: positive + 1].sum(), chance[positive:].sum())
    return min(1.0, 2 * float(tail))


def paired_t(first: Any, second: Any) -> float:
    """Two-sided p-value of the paired t-test; NaN with fewer than two pairs.

    >>> round(paired_t([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0, 5.0]), 4)
    0.0154
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if d.size < 2 or not np.isfinite(d).all():
        return float("nan")
    if not d.any():
        return 1.0
    stderr = float(d.std(ddof=1)) / np.sqrt(d.size)
    if stderr == 0:
        return 0.0
    return float(2 * stdtr(d.size - 1, -abs(float(d.mean())) / stderr))


def next_best(distance: Floats) -> list[int | None]:
    """For each metric, the one that follows it in proximity; None for the last and for NaN.

    >>> next_best(np.array([3.0, 1.0, np.nan, 2.0]))
    [None, 3, None, 0]
    """
    known: Bools = ~np.isnan(distance)
    order = [int(i) for i in np.argsort(distance, kind="stable") if known[i]]
    following: list[int | None] = [None] * distance.size
    for here, there in zip(order, order[1:], strict=False):
        following[here] = there
    return following
