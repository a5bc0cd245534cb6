"""Standard errors, intervals and comparisons: from contributions, or by a seeded bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import factorial, ndtr, stdtr

from .._tools.arrays import Floats, positive, probability, vector
from ..errors import InputError
from ..metrics.score import ROUNDING as ROUNDING
from ..metrics.score import Interval as Interval
from ..metrics.score import critical as critical
from ..metrics.score import interval as interval

#: Fewer bootstrap draws than this give no standard error.
FEWEST_REPLICATES = 10


@dataclass(frozen=True)
class Withheld:
    """Why a number has no interval and no test, and what it is under other assumptions."""

    reason: str
    #: Least and largest value over the assumptions.
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A difference between two models on the same subjects."""

    difference: float
    stderr: float
    low: float
    high: float
    p_value: float
    #: Degrees of freedom of the t distribution; infinite for the normal one.
    freedom: float = float("inf")
    #: Why there is neither an interval nor a p-value, where an assumption decides.
    withheld: Withheld | None = None

    def without_test(self, withheld: Withheld) -> Comparison:
        """Return the difference alone, because an assumption decides."""
        nothing = float("nan")
        return replace(
            self, stderr=nothing, low=nothing, high=nothing, p_value=nothing, withheld=withheld
        )


def log_log_band(
    survival: Floats, relative: Floats, confidence: float | None
) -> tuple[Floats, Floats]:
    """Bounds S^exp(+-z s) with s the standard error of log(-log S).

    `relative` is the standard error of -log S (Greenwood's sum, rooted). NaN where S is 0 or 1:
    the data do not say how surely.

    >>> low, high = log_log_band(np.array([0.5]), np.array([0.1]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.399]), array([0.593]))
    """
    if confidence is None:
        unknown = np.full(survival.shape, np.nan)
        return unknown, unknown.copy()
    inside = (survival > 0) & (survival < 1)
    s = np.where(inside, survival, 0.5)
    with np.errstate(over="ignore"):
        factor = np.exp(critical(confidence) * relative / -np.log(s))
    low, high = s**factor, s ** (1.0 / factor)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def compare_values(
    difference: float, stderr: float, confidence: float, freedom: float = float("inf")
) -> Comparison:
    """Interval and two-sided p-value of a paired difference: normal, or t with `freedom`.

    Two models that say the same differ by exactly 0, without doubt: the interval is [0, 0] and p is
    1. Where they differ by the same amount for everybody, no spread can be told: limits and p-value
    are NaN.

    >>> compare_values(-2.0, 1.0, 0.95).p_value < 0.05, compare_values(0.0, 0.0, 0.95).p_value
    (True, 1.0)
    """
    if stderr > 0:
        reached = -abs(difference) / stderr
        p = float(2 * (ndtr(reached) if np.isinf(freedom) else stdtr(freedom, reached)))
        half = critical(confidence, freedom) * stderr
    else:
        same = stderr == 0 and difference == 0
        p, half = (1.0, 0.0) if same else (float("nan"), float("nan"))
    return Comparison(difference, stderr, difference - half, difference + half, p, freedom)


def compare_pair(
    a: float, b: float, stderr: float, confidence: float, freedom: float = float("inf")
) -> Comparison:
    """`compare_values` of two models' values, which are the same where only rounding tells them.

    >>> compare_pair(0.3, 0.1 + 0.2, 0.0, 0.95).p_value
    1.0
    """
    difference = a - b
    if stderr == 0 and abs(difference) <= ROUNDING * (abs(a) + abs(b)):
        difference = 0.0
    return compare_values(difference, stderr, confidence, freedom)


def simultaneous(found: Comparison, confidence: float, family: int) -> tuple[float, float]:
    """Limits that hold for all of `family` comparisons together (Bonferroni).

    >>> low, high = simultaneous(compare_values(-2.0, 1.0, 0.95), 0.95, 10)
    >>> round(low, 2), round(high, 2)
    (-4.81, 0.81)
    """
    level = 1 - (1 - confidence) / max(family, 1)
    wide = compare_values(found.difference, found.stderr, level, found.freedom)
    return wide.low, wide.high


def holm(p_values: Sequence[float]) -> Floats:
    """Holm's step-down adjustment of p-values; NaN stays NaN and does not count.

    Parameters
    ----------
    p_values : sequence of float
        Raw p-values of one family of tests.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = vector(p_values, "p_values", finite=False)
    if (p < 0).any() or (p > 1).any():
        raise InputError(f"p_values must lie in [0, 1]; got {p[(p < 0) | (p > 1)][0]:g}")
    adjusted = np.full(p.size, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def compare_folds(
    scores_a: Any, scores_b: Any, *, n_train: float, n_test: float, confidence: float = 0.95
) -> Comparison:
    """Compare two models over cross-validation folds with the Nadeau-Bengio correction.

    Folds share training data, so the variance of the mean difference is not s^2/k but
    s^2 (1/k + n_test/n_train); the statistic has k - 1 degrees of freedom.

    Parameters
    ----------
    scores_a, scores_b : array-like of shape (k,)
        The metric of both models on the same folds.
    n_train, n_test : float
        Subjects in the training and test part of a fold.
    confidence : float
        Level of the interval.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> c = compare_folds([3.0, 3.2, 2.9], [3.1, 3.5, 3.0], n_train=80, n_test=40)
    >>> round(c.difference, 3), round(c.p_value, 3)
    (-0.167, 0.255)
    """
    a = vector(scores_a, "scores_a")
    b = vector(scores_b, "scores_b", length=a.size, like="scores_a")
    if a.size < 2:
        raise InputError(f"scores_a must have at least two folds; got {a.size}")
    share = positive(n_test, "n_test") / positive(n_train, "n_train")
    level = probability(confidence, "confidence")
    difference = float(np.mean(a - b))
    stderr = float(np.sqrt(np.var(a - b, ddof=1) * (1 / a.size + share)))
    freedom = a.size - 1
    if stderr <= ROUNDING * abs(difference):  # folds that differ by rounding errors only
        stderr = 0.0
    return compare_values(difference, stderr, level, freedom)


def bootstrap_counts(
    n: int,
    replicate: int,
    seed: int,
    name: str = "test",
    frequency: Floats | None = None,
    start: int = 0,
) -> Floats:
    """How often each of n subjects is drawn in a replicate: the same for every model and metric.

    A Poisson bootstrap: subject i is drawn a Poisson(1) number of times, by itself, so that the
    subjects from row `start` on can be drawn without the others. The number comes from word i of a
    counter-based generator (Philox) whose key is the seed and the replicate. A row of frequency w
    stands for w subjects: Poisson(w).

    >>> whole = bootstrap_counts(10, 0, seed=1)
    >>> part = bootstrap_counts(3, 0, seed=1, start=6)
    >>> bool((whole[6:9] == part).all())
    True
    """
    from .._tools.random import counter_words

    words = counter_words(n, start, seed, "bootstrap", name, replicate=replicate)
    if frequency is None:
        return _poisson_one(words)
    from scipy.special import pdtrik

    # Inverse distribution function: the smallest k with P(count <= k) > u.
    share = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn = np.zeros(n)
    present = frequency > 0
    count = np.ceil(pdtrik(share[present], frequency[present]))
    drawn[present] = np.where(share[present] <= np.exp(-frequency[present]), 0.0, count)
    return drawn


def _poisson_one(words: NDArray[np.uint64]) -> Floats:
    """Poisson(1) numbers from uniform 64-bit words, by the inverse distribution function."""
    return _poisson_bounds().searchsorted(words, "right").astype(np.float64)


@cache
def _poisson_bounds() -> NDArray[np.uint64]:
    """Bounds of the 64-bit words that give 0, 1, ... events of a Poisson(1) number."""
    cumulative = np.cumsum(1.0 / factorial(np.arange(17))) * np.exp(-1.0)
    return np.array([min(int(p * 2.0**64), 2**64 - 1) for p in cumulative], dtype=np.uint64)


def bootstrap_stderr(replicates: Floats) -> float:
    """Spread of the replicates that are defined; NaN with too few of them."""
    known = replicates[np.isfinite(replicates)]
    return float(np.std(known, ddof=1)) if known.size >= FEWEST_REPLICATES else float("nan")


def withheld_columns(found: Withheld | None) -> dict[str, Any]:
    """Return the columns that say why there is no interval, and the range over assumptions."""
    if found is None:
        return {"withheld": "", "tail_low": float("nan"), "tail_high": float("nan")}
    return {"withheld": found.reason, "tail_low": found.low, "tail_high": found.high}


def adjusted(
    family: list[tuple[dict[str, Any], Comparison]], confidence: float | None
) -> list[dict[str, Any]]:
    """Rows of comparisons, each with what holds for all of the family together."""
    adjusted = holm([found.p_value for _, found in family])
    number = int(np.sum(~np.isnan(adjusted)))
    rows = []
    for (labels, found), p in zip(family, adjusted, strict=True):
        low, high = simultaneous(found, confidence or 0.95, number)
        rows.append(
            {
                **labels,
                "difference": found.difference,
                "low": found.low,
                "high": found.high,
                "p_value": found.p_value,
                "p_holm": float(p),
                "low_simultaneous": low,
                "high_simultaneous": high,
                "p_simultaneous": float(np.minimum(1.0, max(number, 1) * found.p_value)),
                "family": number,
                **withheld_columns(found.withheld),
            }
        )
    return rows
