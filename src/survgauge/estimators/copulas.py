"""Copulas by Kendall's tau: times drawn under them, and generators, in logarithms.

With the generator phi, decreasing and with phi(1) = 0, two times of survival functions S and G
have the joint survival P(T > t, C > c) = phi^-1(phi(S(t)) + phi(G(c))). A strong dependence makes
phi smaller or larger than any number that a computer holds, so everybody here speaks of log phi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, wrightomega

from .._tools.arrays import Floats, one_number, shown
from ..errors import InputError, one_of


def clayton_parameter(kendall_tau: float) -> float:
    r"""Parameter :math:`2\tau / (1 - \tau)`."""
    return 2 * kendall_tau / (1 - kendall_tau)


def gumbel_parameter(kendall_tau: float) -> float:
    r"""Parameter :math:`1 / (1 - \tau)`."""
    return 1 / (1 - kendall_tau)


def frank_parameter(kendall_tau: float) -> float:
    r"""Root of :math:`\tau = 1 - 4 (1 - D_1(\theta)) / \theta` with Debye's function :math:`D_1`.

    >>> round(frank_parameter(0.5), 3)
    5.736
    """
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


#: log(1 + e^x) is e^x, to all digits, below this x.
_SMALL = -40.0

# -- log(phi(low) - phi(high)) without cancellation, and phi^-1(exp(x)) -------------------------


def _clayton_rise(theta: float, high: Floats, low: Floats) -> Floats:
    # phi(u) = (u^-theta - 1) / theta
    ratio = theta * np.log(low / high)
    return np.log(-np.expm1(ratio)) - theta * np.log(low) - np.log(theta)


def _clayton_inverse(theta: float, x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, x + np.log(theta)) / theta)


def _log_expm1(x: Any) -> Any:
    """log|e^x - 1|, which overflows for no x."""
    return np.maximum(x, 0.0) + np.log(-np.expm1(-np.abs(x)))


def _frank_rise(theta: float, high: Floats, low: Floats) -> Floats:
    # phi(u) = -log(expm1(-theta u) / expm1(-theta)), which rises by log(1 + r)
    log_r = _log_expm1(-theta * (high - low)) - _log_expm1(-theta * low) - theta * low
    return np.where(log_r < _SMALL, log_r, np.log(np.logaddexp(0.0, log_r)))


def _frank_inverse(theta: float, x: Floats) -> Floats:
    fallen = np.exp(x)
    if theta < 0:
        return -np.logaddexp(0.0, _log_expm1(-theta) - fallen) / theta
    inner = np.expm1(-theta) * np.exp(-fallen)
    # The two are the same; each keeps the digits that the other loses.
    close = np.logaddexp(-theta - fallen, np.where(x < _SMALL, x, np.log(-np.expm1(-fallen))))
    return -np.where(inner > -0.5, np.log1p(np.maximum(inner, -0.5)), close) / theta


def _gumbel_rise(theta: float, high: Floats, low: Floats) -> Floats:
    # phi(u) = (-log u)^theta
    depth = -np.log(low)
    share = np.where(np.isinf(depth), -1.0, np.log(low / high) / depth)
    return np.log(-np.expm1(theta * np.log1p(np.maximum(share, -1.0)))) + theta * np.log(depth)


def _gumbel_inverse(theta: float, x: Floats) -> Floats:
    return np.exp(-np.exp(x / theta))


# -- log(-phi'(u)) ------------------------------------------------------------------------------


def _clayton_slope(theta: float, u: Floats) -> Floats:
    return -(theta + 1) * np.log(u)


def _frank_slope(theta: float, u: Floats) -> Floats:
    return np.log(abs(theta)) - _log_expm1(theta * u)


def _gumbel_slope(theta: float, u: Floats) -> Floats:
    depth = -np.log(u)
    return np.log(theta) + (theta - 1) * np.log(depth) + depth


@dataclass(frozen=True)
class Family:
    """One family of copulas: its parameter by Kendall's tau, and its generator."""

    parameter: Callable[[float], float]
    rise: Callable[[float, Floats, Floats], Floats]
    inverse: Callable[[float, Floats], Floats]
    slope: Callable[[float, Floats], Floats]
    #: Whether event and censoring time may run against each other.
    negative: bool = False


FAMILIES = {
    "clayton": Family(clayton_parameter, _clayton_rise, _clayton_inverse, _clayton_slope),
    "frank": Family(frank_parameter, _frank_rise, _frank_inverse, _frank_slope, negative=True),
    "gumbel": Family(gumbel_parameter, _gumbel_rise, _gumbel_inverse, _gumbel_slope),
}


def check_tau(copula: str, kendall_tau: object, also: str = "'frank'") -> float:
    """Return Kendall's tau; refuse a value that the copula cannot have.

    `also` names the copulas that take negative values.
    """
    tau = one_number(kendall_tau)
    if not -1 < tau < 1:
        raise InputError(
            f"kendall_tau must lie strictly between -1 and 1; got {shown(kendall_tau)}"
        )
    if tau < 0 and copula in FAMILIES and not FAMILIES[copula].negative:
        raise InputError(
            f"copula '{copula}' has positive dependence only; got kendall_tau {tau:g}: use {also}"
        )
    return tau


@dataclass(frozen=True)
class Archimedean:
    """Copula of one family with its parameter, for probabilities in [0, 1].

    Examples
    --------
    >>> copula = Archimedean.of("clayton", 0.5)
    >>> copula.theta
    2.0
    >>> copula.inverse(copula.log_phi(np.array([0.5, 0.9]))).round(4)
    array([0.5, 0.9])
    """

    name: str
    theta: float

    @classmethod
    def of(cls, name: str, kendall_tau: float) -> Archimedean:
        """Build the copula with a Kendall's tau other than zero."""
        one_of("copula", name, FAMILIES)
        return cls(name, FAMILIES[name].parameter(check_tau(name, kendall_tau)))

    def log_rise(self, high: Floats, low: Floats) -> Floats:
        """Return log(phi(low) - phi(high)): infinite for low = 0, minus infinite for no step."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = FAMILIES[self.name].rise(self.theta, high, low)
        return np.where(low >= high, -np.inf, np.where(low <= 0, np.inf, found))

    def log_phi(self, u: Floats) -> Floats:
        """Return log phi(u)."""
        return self.log_rise(np.ones_like(u), u)

    def inverse(self, log_phi: Floats) -> Floats:
        """Return the probability with this log phi."""
        with np.errstate(divide="ignore", over="ignore"):
            found = FAMILIES[self.name].inverse(self.theta, log_phi)
        return np.clip(np.where(log_phi == np.inf, 0.0, found), 0.0, 1.0)

    def log_slope(self, u: Floats) -> Floats:
        """Return log(-phi'(u)).

        >>> Archimedean.of("clayton", 0.5).log_slope(np.array([0.9, 0.5])).round(4)
        array([0.3161, 2.0794])
        """
        with np.errstate(divide="ignore"):
            return FAMILIES[self.name].slope(self.theta, u)


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
