"""Standard errors, intervals and comparisons: from contributions, or by a seeded bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ._arrays import Floats, positive, probability, vector
from .errors import InputError

#: Fewer bootstrap draws than this give no standard error.
FEWEST_REPLICATES = 10


@dataclass(frozen=True)
class Interval:
    """An estimate with its standard error and confidence interval."""

    value: float
    stderr: float
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


def critical(confidence: float) -> float:
    """Two-sided normal quantile.

    >>> round(critical(0.95), 4)
    1.96
    """
    return float(ndtri(0.5 + probability(confidence, "confidence") / 2))


def normal_interval(
    value: float, stderr: float, confidence: float, *, log_scale: bool = False
) -> Interval:
    """Interval value +- z stderr; on the log scale for distances that cannot be negative.

    >>> normal_interval(10.0, 1.0, 0.95).low < 8.05
    True
    """
    z = critical(confidence)
    if log_scale:
        if not (value > 0 and np.isfinite(stderr)):
            return Interval(value, stderr, float("nan"), float("nan"))
        spread = float(np.exp(z * stderr / value))
        return Interval(value, stderr, value / spread, value * spread)
    return Interval(value, stderr, value - z * stderr, value + z * stderr)


def compare_values(difference: float, stderr: float, confidence: float) -> Comparison:
    """Normal interval and two-sided p-value of a paired difference."""
    z = critical(confidence)
    if stderr > 0:
        p = float(2 * ndtr(-abs(difference) / stderr))
    else:  # identical predictions: no difference, and no doubt about it
        p = 1.0 if difference == 0 else float("nan")
    return Comparison(difference, stderr, difference - z * stderr, difference + z * stderr, p)


def holm(p_values: Sequence[float]) -> Floats:
    """Holm's step-down adjustment of p-values; NaN stays NaN and does not count.

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
    from scipy.special import stdtrit

    t = float(stdtrit(freedom, 0.5 + level / 2))
    p = float(2 * stdtr(freedom, -abs(difference) / stderr)) if stderr > 0 else float("nan")
    if stderr == 0 and difference == 0:
        p = 1.0
    return Comparison(difference, stderr, difference - t * stderr, difference + t * stderr, p)


def bootstrap_counts(
    n: int, replicate: int, seed: int, name: str = "test", frequency: Floats | None = None
) -> Floats:
    """How often each of n subjects is drawn in a replicate: the same for every model and metric.

    A row of frequency w stands for w subjects, each of whom is drawn by itself.
    """
    from ._random import stream

    rng = stream(seed, "bootstrap", name, str(replicate))
    if frequency is not None:
        total = float(frequency.sum())
        drawn = rng.multinomial(max(1, round(total)), frequency / total)
        return drawn.astype(np.float64)
    return np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)


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
