"""How well metrics tell the truth: small pure functions on matrices.

Everywhere `values` and `truth` are arrays of shape (..., models, metrics): what each metric says of
each model, and what it should have said. `lower` has one flag per metric, true where lower is
better. Leading axes are for replicates: the same question asked many times. A metric that lacks a
value for one of the models (NaN) has no answer, NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..._tools.arrays import Bools, Floats
from ...evaluation.audit.risks import kendall_tau as kendall_tau
from ...evaluation.audit.risks import same_shape
from ...evaluation.inference import critical

#: How many of the best models a metric is asked for.
TOP = 3


def distances(values: Any, truth: Any, *, relative: bool = False) -> Floats:
    """Distance of each metric from the truth, model by model: |v - t|, or |v - t| / |t|.

    >>> distances([[3.0], [8.0]], [[4.0], [5.0]], relative=True)
    array([[0.25],
           [0.6 ]])
    """
    v, t = same_shape(values, truth)
    gap = np.abs(v - t)
    if not relative:
        return gap
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(t == 0, np.where(gap == 0, 0.0, np.inf), gap / np.abs(t))


def proximity(values: Any, truth: Any, *, relative: bool = False) -> Floats:
    r"""Mean distance over models, :math:`\frac{1}{M}\sum_m |v_m - t_m|`, one number per metric.

    >>> proximity([[3.0, 4.0], [8.0, 5.0]], [[4.0, 4.0], [5.0, 5.0]])
    array([2., 0.])
    """
    return distances(values, truth, relative=relative).mean(axis=-2)


def bias(values: Any, truth: Any) -> Floats:
    """Mean of v - t over models: negative where a metric flatters the models.

    >>> bias([[3.0], [8.0]], [[4.0], [5.0]])
    array([1.])
    """
    v, t = same_shape(values, truth)
    return np.asarray((v - t).mean(axis=-2))


def ranks(values: Any, lower: Any = True, axis: int = -2) -> Floats:
    """Ranks from 1 for the best; ties share the mean of their places.

    >>> ranks([[5.0], [3.0], [5.0]]).ravel()
    array([2.5, 1. , 2.5])
    """
    v = np.asarray(values, dtype=np.float64) * np.where(np.asarray(lower), 1.0, -1.0)
    return np.asarray(rankdata(v, axis=axis, nan_policy="omit"))


def top_shares(values: Any, lower: Any = True, k: int = TOP) -> Floats:
    """How far each model belongs to the best k: 1, 0, or a share where a tie lies across the line.

    >>> top_shares([[1.0], [2.0], [2.0], [3.0]], k=2).ravel()
    array([1. , 0.5, 0.5, 0. ])
    """
    v = np.asarray(values, dtype=np.float64)
    v = v * np.where(np.asarray(lower), 1.0, -1.0)
    better = (v[..., None, :, :] < v[..., :, None, :]).sum(axis=-2)
    tied = (v[..., None, :, :] == v[..., :, None, :]).sum(axis=-2)
    # NaN is not equal to itself, so that its `tied` is zero.
    shares = np.clip((k - better) / np.maximum(tied, 1), 0.0, 1.0)
    return np.where(np.isnan(v), np.nan, shares)


def top_overlap(values: Any, truth: Any, lower: Any = True) -> Floats:
    """How many of the truly best three models are among the best three by the metric.

    >>> truth = [[1.0], [2.0], [3.0], [4.0]]
    >>> top_overlap([[2.0], [1.0], [9.0], [4.0]], truth)
    array([2.])
    """
    v, t = same_shape(values, truth)
    return np.asarray(np.minimum(top_shares(v, lower), top_shares(t, lower)).sum(axis=-2))


def top_order(values: Any, truth: Any, lower: Any = True) -> Floats:
    """How many of the first three places are held by the right model.

    >>> truth = [[1.0], [2.0], [3.0], [4.0]]
    >>> top_order([[2.0], [1.0], [3.0], [4.0]], truth)
    array([1.])
    """
    v, t = same_shape(values, truth)
    by_metric, true = ranks(v, lower), ranks(t, lower)
    right = ((true <= TOP) & (by_metric == true)).sum(axis=-2).astype(np.float64)
    return np.where(np.isnan(v).any(axis=-2) | np.isnan(t).any(axis=-2), np.nan, right)


def winners(overlap: Any, distance: Any) -> Bools:
    """Best metrics by the explicit rule: top-k overlap first, then proximity, ties shared.

    They come from `top_overlap` and `proximity`, metrics last; a metric with NaN in either does not
    take part.

    Examples
    --------
    >>> winners([3, 3, 2], [5.0, 4.0, 0.1])
    array([False,  True, False])
    """
    o, d = same_shape(overlap, distance)
    known = ~(np.isnan(o) | np.isnan(d))
    o = np.where(known, o, -np.inf)
    first = known & (o >= o.max(axis=-1, keepdims=True) - 1e-9)
    d = np.where(first, d, np.inf)
    least = d.min(axis=-1, keepdims=True)
    # Rounding in the mean over models must not part what is tied.
    return first & (d <= least + 1e-12 * np.abs(np.where(np.isfinite(least), least, 0.0)))


def resampled_runs(repeat: Any, rng: np.random.Generator, replicates: int) -> Floats:
    """Weights of the runs in bootstrap replicates: repeats are redrawn, then folds within them.

    `repeat` says which repeat each run (one fold of one repeat) belongs to.

    Returns
    -------
    ndarray of shape (replicates, runs)
        Rows sum to one, so that a product with values gives means.

    Examples
    --------
    >>> w = resampled_runs([0, 0, 1, 1], np.random.default_rng(0), 100)
    >>> w.shape, bool(np.allclose(w.sum(axis=1), 1))
    ((100, 4), True)
    """
    labels, group = np.unique(np.asarray(repeat), return_inverse=True)
    members = [np.flatnonzero(group == g) for g in range(labels.size)]
    weights = np.zeros((replicates, group.size))
    for b in range(replicates):
        for g in rng.integers(labels.size, size=labels.size):
            drawn = members[g][rng.integers(members[g].size, size=members[g].size)]
            np.add.at(weights[b], drawn, 1.0 / (members[g].size * labels.size))
    return weights


def interval(
    estimate: Any, replicates: Any, least: float = -np.inf, most: float = np.inf
) -> tuple[Floats, Floats]:
    """95 % interval: the estimate give or take 1.96 standard deviations of the replicates.

    Not their percentiles: means over redrawn runs are noisier than the estimate, noise lowers every
    tau and raises every distance, so that percentiles would lie to one side of the estimate.

    >>> low, high = interval([0.9], [[0.7], [0.8], [0.9]], most=1.0)
    >>> round(float(low[0]), 3), float(high[0])
    (0.704, 1.0)
    """
    centre = np.asarray(estimate, dtype=np.float64)
    half = critical(0.95) * np.std(np.asarray(replicates, dtype=np.float64), axis=0, ddof=1)
    return np.maximum(centre - half, least), np.minimum(centre + half, most)
