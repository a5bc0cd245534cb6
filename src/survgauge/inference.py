"""Standard errors, intervals and comparisons: from contributions, or by a seeded bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, factorial, logit, ndtr, ndtri, stdtr, stdtrit

from ._tools.arrays import Bools, Floats, positive, probability, vector
from .errors import InputError, one_of

#: Fewer bootstrap draws than this give no standard error.
FEWEST_REPLICATES = 10


#: On which scale an interval is symmetric; "none": there is no interval.
INTERVALS = ("normal", "log", "logit", "none")
#: A standard error that is a smaller part of its value than this is a rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate with its standard error and confidence interval.

    `scale` says where the limits come from: "normal", "log", "logit", "edge" (the bound of a share
    that is 0 or 1 in the data), or "none" where there are no limits.
    """

    value: float
    stderr: float
    low: float
    high: float
    scale: str = "normal"

    def within(self, range: tuple[float, float]) -> Interval:
        """Cut off limits that no value can have.

        >>> Interval(0.02, 0.02, -0.02, 0.06).within((0, 1))
        Interval(value=0.02, stderr=0.02, low=0.0, high=0.06, scale='normal')
        """
        low, high = np.clip([self.low, self.high], *range).tolist()
        return replace(self, low=low, high=high)


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


def critical(confidence: float, freedom: float = float("inf")) -> float:
    """Two-sided quantile: of the normal distribution, or of t with `freedom` degrees of freedom.

    >>> round(critical(0.95), 4), round(critical(0.95, 19), 4)
    (1.96, 2.093)
    """
    level = 0.5 + probability(confidence, "confidence") / 2
    return float(ndtri(level) if np.isinf(freedom) else stdtrit(freedom, level))


def interval(
    value: float,
    stderr: float,
    confidence: float,
    scale: str = "normal",
    *,
    size: float = float("nan"),
    freedom: float = float("inf"),
) -> Interval:
    """Confidence interval of a metric from its value and standard error.

    On the scale "normal" the limits are value +- z stderr. On the scale "log" they are
    value exp(+- z stderr / value), so that an error or score is never negative; on the scale
    "logit" they are symmetric in log(value / (1 - value)), so that a share stays within 0 and 1.

    A standard error of zero says that the subjects do not differ, from which no width can be told:
    the limits are NaN. A share of exactly 1 among `size` independent events is the exception: its
    lower limit is the share under which that would happen with probability 1 - confidence,
    (1 - confidence)^(1 / size); a share of 0 is the mirror image.

    `size` is the number of events that a share rests on, only read where the share is 0 or 1;
    `freedom` are the degrees of freedom of the t quantile. With the scale "none" there are no
    limits.

    Examples
    --------
    >>> found = interval(0.9, 0.05, 0.95, "logit")
    >>> round(found.low, 3), round(found.high, 3)
    (0.752, 0.964)
    >>> perfect = interval(1.0, 0.0, 0.95, "logit", size=8)
    >>> round(perfect.low, 3), perfect.high, perfect.scale
    (0.688, 1.0, 'edge')
    """
    one_of("scale", scale, INTERVALS)
    nothing = Interval(value, stderr, float("nan"), float("nan"), "none")
    if scale == "none" or not np.isfinite(value):
        return nothing
    if scale == "logit" and (value <= ROUNDING or value >= 1 - ROUNDING):
        if np.isnan(stderr) or not size > 0:
            return nothing
        least = (1 - probability(confidence, "confidence")) ** (1 / size)
        low, high = (least, 1.0) if value > 0.5 else (0.0, 1 - least)
        return Interval(value, stderr, low, high, "edge")
    if not (np.isfinite(stderr) and stderr > ROUNDING * abs(value)):
        return nothing
    half = critical(confidence, freedom) * stderr
    if scale == "normal":
        return Interval(value, stderr, value - half, value + half, scale)
    if scale == "log":
        if value <= 0:
            return nothing
        with np.errstate(over="ignore"):
            spread = float(np.exp(half / value))
        return Interval(value, stderr, value / spread, value * spread, scale)
    middle, reach = float(logit(value)), half / (value * (1 - value))
    return Interval(
        value, stderr, float(expit(middle - reach)), float(expit(middle + reach)), scale
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
    from ._tools.random import counter_words

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
    bounds, table, split = _poisson_table()
    high = (words >> np.uint64(48)).astype(np.intp)
    drawn = table[high]
    # Few words share their leading bits with a bound; only these need a comparison.
    close = np.flatnonzero(split[high])
    drawn[close] = bounds.searchsorted(words[close], "right")
    return drawn


@cache
def _poisson_table() -> tuple[NDArray[np.uint64], Floats, Bools]:
    """Bounds of the words that give 0, 1, ...; the number, and whether it is open, by 16 bits."""
    cumulative = np.cumsum(1.0 / factorial(np.arange(17))) * np.exp(-1.0)
    below = [min(int(p * 2.0**64), 2**64 - 1) for p in cumulative]
    bounds = np.array(below, dtype=np.uint64)
    starts = np.arange(65536, dtype=np.uint64) << np.uint64(48)
    split = np.zeros(65536, dtype=bool)
    split[(bounds >> np.uint64(48)).astype(np.intp)] = True
    return bounds, bounds.searchsorted(starts, "right").astype(np.float64), split


def bootstrap(
    statistic: Callable[[Floats], Sequence[float]], n: int, *, replicates: int, seed: int
) -> Floats:
    """Replicates of several statistics of resampled subjects: (replicates, k).

    `statistic` takes the number of times each subject was drawn. A replicate on which it is
    undefined gives NaN.
    """
    return np.array([statistic(bootstrap_counts(n, b, seed)) for b in range(replicates)])


def bootstrap_stderr(replicates: Floats) -> float:
    """Spread of the replicates that are defined; NaN with too few of them."""
    known = replicates[np.isfinite(replicates)]
    return float(np.std(known, ddof=1)) if known.size >= FEWEST_REPLICATES else float("nan")
