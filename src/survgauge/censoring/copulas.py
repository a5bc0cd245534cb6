"""Copulas that tie the censoring time to the event time by a given Kendall's tau."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from .._tools.arrays import Floats, one_number, shown
from ..errors import InputError, one_of

COPULAS = ("clayton", "frank", "gaussian")
_TINY = 2.0**-53


def check_copula(copula: str, kendall_tau: float) -> None:
    """Refuse unknown copulas and values of Kendall's tau that they cannot have."""
    one_of("copula", copula, COPULAS)
    if not -1 < one_number(kendall_tau) < 1:
        raise InputError(
            f"kendall_tau must lie strictly between -1 and 1; got {shown(kendall_tau)}"
        )
    if copula == "clayton" and kendall_tau < 0:
        raise InputError(
            f"copula 'clayton' has positive dependence only; got kendall_tau {kendall_tau}: use "
            "'gaussian' or 'frank'"
        )


def parameter(copula: str, kendall_tau: float) -> float:
    r"""Copula parameter with the given Kendall's tau.

    Clayton: :math:`2\tau / (1 - \tau)`; Gaussian: :math:`\sin(\pi\tau/2)`; Frank: the root of
    :math:`\tau = 1 - 4 (1 - D_1(\theta)) / \theta` with Debye's function :math:`D_1`.

    >>> parameter("clayton", 0.5)
    2.0
    >>> round(parameter("frank", 0.5), 3)
    5.736
    """
    if copula == "clayton":
        return 2 * kendall_tau / (1 - kendall_tau)
    if copula == "gaussian":
        return float(np.sin(np.pi * kendall_tau / 2))
    if abs(kendall_tau) < 1e-4:
        return 9 * kendall_tau  # the integral below would lose all its digits
    from scipy.optimize import brentq

    size = abs(kendall_tau)
    # tau lies below theta / 9 and above 1 - 4 / theta.
    root = brentq(lambda theta: _frank_tau(theta) - size, size, 4 / (1 - size) + 1, xtol=1e-12)
    return float(np.copysign(root, kendall_tau))


def _frank_tau(theta: float) -> float:
    from scipy.integrate import quad

    area = quad(lambda x: x / np.expm1(x) if x else 1.0, 0.0, min(theta, 50.0), epsabs=1e-12)[0]
    return float(1 - 4 * (1 - area / theta) / theta)


def second_given_first(copula: str, theta: float, first: Floats, uniform: Floats) -> Floats:
    """Second coordinate of a pair of the copula whose first is `first`; `uniform` is independent.

    Inverts the conditional distribution function; arrays broadcast.

    >>> second_given_first("gaussian", 0.0, np.array([0.1]), np.array([0.7])).round(6)
    array([0.7])
    """
    w: Floats = np.clip(first, _TINY, 1 - _TINY)
    v: Floats = np.clip(uniform, _TINY, 1 - _TINY)
    if theta == 0:
        return np.array(np.broadcast_to(v, np.broadcast_shapes(w.shape, v.shape)))
    second: Floats
    if copula == "gaussian":
        second = ndtr(theta * ndtri(w) + np.sqrt(1 - theta**2) * ndtri(v))
    elif copula == "clayton":
        # ((v^(-theta/(1+theta)) - 1) w^(-theta) + 1)^(-1/theta), in logarithms against overflow.
        inner = np.log(np.expm1(-theta / (1 + theta) * np.log(v))) - theta * np.log(w)
        second = np.exp(-np.logaddexp(inner, 0.0) / theta)
    else:
        tilted = np.log1p(-v) - theta * w
        top = np.logaddexp(np.log(v) - theta, tilted)
        second = (np.logaddexp(np.log(v), tilted) - top) / theta
    second = np.clip(second, 0.0, 1 - _TINY)
    return second


def survival_ranks(time: Floats, keys: Floats) -> Floats:
    """Share of subjects with a later event, 1 - F(T) made continuous: ties ordered by `keys`.

    >>> survival_ranks(np.array([3.0, 1.0, 3.0, 2.0]), np.array([0.9, 0.2, 0.1, 0.4]))
    array([0.125, 0.875, 0.375, 0.625])
    """
    ranks = np.empty(time.size)
    ranks[np.lexsort((keys, time))] = np.arange(time.size) + 0.5
    return 1.0 - ranks / time.size
