"""Archimedean copulas by Kendall's tau: generator, inverse and joint survival, in logarithms.

With the generator phi, decreasing and with phi(1) = 0, two times of survival functions S and G
have the joint survival P(T > t, C > c) = phi^-1(phi(S(t)) + phi(G(c))). A strong dependence makes
phi smaller or larger than any number that a computer holds, so everybody here speaks of log phi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    >>> copula.joint(np.array([0.5]), np.array([1.0, 0.5])).round(4)
    array([0.5  , 0.378])
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
        return self.log_rise(np.float64(1.0), u)

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

    def joint(self, u: Floats, v: Floats) -> Floats:
        """Return the joint survival of two times whose survival functions are at `u` and `v`."""
        return self.inverse(np.logaddexp(self.log_phi(u), self.log_phi(v)))
