"""Agreement of a metric's order of the models with the true one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError


def kendall_tau(values: Any, truth: Any) -> Floats:
    r"""Kendall's tau-b between a metric's and the true order of the models, one number per metric.

    :math:`\tau_b = \sum_{a<b} s_{ab} s'_{ab} / \sqrt{\sum s_{ab}^2 \sum s'^2_{ab}}` with s the
    signs of the differences; 0 where all models are tied in one of the two.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems, Biometrika 33.

    Examples
    --------
    >>> kendall_tau([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    array([ 1.        , -0.33333333])
    """
    v, t = same_shape(values, truth)
    first, second = np.triu_indices(v.shape[-2], 1)
    with np.errstate(invalid="ignore"):  # infinite truths have no difference
        s = np.sign(v[..., first, :] - v[..., second, :])
        u = np.sign(t[..., first, :] - t[..., second, :])
        scale = np.sqrt((s * s).sum(axis=-2) * (u * u).sum(axis=-2))
        return np.where(scale == 0, 0.0, (s * u).sum(axis=-2) / np.where(scale == 0, 1.0, scale))


def same_shape(values: Any, truth: Any) -> tuple[Floats, Floats]:
    """Return two arrays of numbers; refuse them where their shapes differ."""
    v, t = np.asarray(values, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if v.shape != t.shape:
        raise InputError(f"both arrays must have the same shape; got {v.shape} and {t.shape}")
    return v, t
