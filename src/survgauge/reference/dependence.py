"""An assumed dependence between event and censoring time, as users give it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._tools.arrays import one_number, shown
from ..errors import InputError, one_of
from .copulas import FAMILIES, Archimedean, check_tau


@dataclass(frozen=True)
class Dependence:
    """How closely event and censoring time are assumed to be tied, given by Kendall's tau.

    Parameters
    ----------
    kendall_tau : float
        Strictly between -1 and 1. Positive: those who are censored early would have had the event
        early. 0: independent censoring, which all metrics assume otherwise.
    copula : {"clayton", "frank", "gumbel"}
        Kind of dependence between the two survival probabilities: Clayton ties late times most
        closely, Gumbel early ones, Frank all alike. Frank alone takes negative values.

    Examples
    --------
    >>> Dependence(0.3)
    Dependence(kendall_tau=0.3, copula='clayton')
    """

    kendall_tau: float
    copula: str = "clayton"

    def __post_init__(self) -> None:
        one_of("copula", self.copula, FAMILIES)
        tau = check_tau(self.copula, self.kendall_tau)
        object.__setattr__(self, "kendall_tau", tau)

    @cached_property
    def archimedean(self) -> Archimedean:
        """The copula with its parameter."""
        return Archimedean.of(self.copula, self.kendall_tau)

    def __str__(self) -> str:
        return f"assumed, {self.copula.capitalize()} copula with Kendall's tau {self.kendall_tau:g}"


def dependence_of(given: Any) -> Dependence | None:
    """Read the argument `dependence`: None for independent censoring, also where tau is 0.

    >>> dependence_of(0.3).copula, dependence_of(-0.3).copula, dependence_of(0)
    ('clayton', 'frank', None)
    """
    if given is None:
        return None
    if not isinstance(given, Dependence):
        if not -1 < one_number(given) < 1:
            raise InputError(
                "dependence must be Kendall's tau of event and censoring time, a number strictly "
                f"between -1 and 1, or a Dependence(kendall_tau, copula); got {shown(given)}"
            )
        given = Dependence(given, "frank" if one_number(given) < 0 else "clayton")
    return None if given.kendall_tau == 0 else given


def refuse_features(conditional: Any) -> None:
    """Refuse laws given features beside an assumed dependence."""
    if conditional is not None:
        raise InputError(
            "dependence cannot be given together with conditional: it is assumed between the times "
            "of all subjects, whatever their features; leave one of the two out"
        )
