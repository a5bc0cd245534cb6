"""Copulas that tie the censoring time to the event time by a given Kendall's tau."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, wrightomega

from .._tools.arrays import Floats
from ..errors import one_of
from ..reference.copulas import FAMILIES, check_tau

#: Copulas that times can be drawn from; all but the Gaussian have a generator.
COPULAS = (*FAMILIES, "gaussian")
_TINY = 2.0**-53


def check_copula(copula: str, kendall_tau: float) -> None:
    """Refuse unknown copulas and values of Kendall's tau that they cannot have."""
    one_of("copula", copula, COPULAS)
    check_tau(copula, kendall_tau, "'gaussian' or 'frank'")


def parameter(copula: str, kendall_tau: float) -> float:
    r"""Copula parameter with the given Kendall's tau; Gaussian: :math:`\sin(\pi\tau/2)`.

    >>> parameter("clayton", 0.5)
    2.0
    >>> round(parameter("frank", 0.5), 3)
    5.736
    """
    if copula == "gaussian":
        return float(np.sin(np.pi * kendall_tau / 2))
    return FAMILIES[copula].parameter(kendall_tau)


def second_given_first(copula: str, theta: float, first: Floats, uniform: Floats) -> Floats:
    """Second coordinate of a pair of the copula whose first is `first`; `uniform` is independent.

    Inverts the conditional distribution function; arrays broadcast.

    >>> second_given_first("gaussian", 0.0, np.array([0.1]), np.array([0.7])).round(6)
    array([0.7])
    """
    w: Floats = np.clip(first, _TINY, 1 - _TINY)
    v: Floats = np.clip(uniform, _TINY, 1 - _TINY)
    if theta == (1 if copula == "gumbel" else 0):
        return np.array(np.broadcast_to(v, np.broadcast_shapes(w.shape, v.shape)))
    second: Floats
    if copula == "gaussian":
        second = ndtr(theta * ndtri(w) + np.sqrt(1 - theta**2) * ndtri(v))
    elif copula == "clayton":
        # ((v^(-theta/(1+theta)) - 1) w^(-theta) + 1)^(-1/theta), in logarithms against overflow.
        inner = np.log(np.expm1(-theta / (1 + theta) * np.log(v))) - theta * np.log(w)
        second = np.exp(-np.logaddexp(inner, 0.0) / theta)
    elif copula == "gumbel":
        second = _gumbel(theta, w, v)
    else:
        tilted = np.log1p(-v) - theta * w
        top = np.logaddexp(np.log(v) - theta, tilted)
        second = (np.logaddexp(np.log(v), tilted) - top) / theta
    second = np.clip(second, 0.0, 1 - _TINY)
    return second


def _gumbel(theta: float, w: Floats, v: Floats) -> Floats:
    """Second coordinate under the Gumbel copula, theta > 1.

    The joint probability exp(-y) solves y^(theta - 1) e^y = a^(theta - 1) e^a / v, a = -log w.
    """
    a, shape = -np.log(w), theta - 1
    logarithm = shape * np.log(a) + a - np.log(v)
    y = np.maximum(shape * wrightomega(logarithm / shape - np.log(shape)), a)
    # a share that is just 1 was left by rounding: the second time is then at its end
    with np.errstate(divide="ignore"):
        rest = -np.expm1(theta * np.log(a / y))
    return np.exp(-y * rest ** (1 / theta))


def survival_ranks(time: Floats, keys: Floats) -> Floats:
    """Share of subjects with a later event, 1 - F(T) made continuous: ties ordered by `keys`.

    >>> survival_ranks(np.array([3.0, 1.0, 3.0, 2.0]), np.array([0.9, 0.2, 0.1, 0.4]))
    array([0.125, 0.875, 0.375, 0.625])
    """
    ranks = np.empty(time.size)
    ranks[np.lexsort((keys, time))] = np.arange(time.size) + 0.5
    return 1.0 - ranks / time.size
