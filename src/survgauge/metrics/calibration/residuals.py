"""Residuals of predicted survival curves: Cox-Snell, martingale, deviance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.short_repr import ShortRepr
from ...data.outcomes import Outcomes
from ...errors import one_of
from ..checks import check_curves
from .inputs import description, own_survival

KINDS = ("cox_snell", "martingale", "deviance")


@dataclass(frozen=True, repr=False)
class ResidualDetails(ShortRepr):
    """Residuals with what lies behind them.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        One per subject.
    convention, support : dict
        Which residual, how curves were read; how many subjects have S = 0 or S = 1 at their own
        time, how many residuals are infinite.
    """

    residuals: Floats
    convention: dict[str, Any]
    support: dict[str, Any]


def cox_snell_residuals(y_true: Any, curves: Any) -> Floats:
    """Cox-Snell residuals: the predicted cumulative hazard H_i = -log S_i(t_i) at the own time.

    Under the true model they are a sample from the unit exponential law, censored where the subject
    is; so Nelson-Aalen of (residual, event) follows the diagonal. Infinite where S_i(t_i) = 0.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves
        Predicted survival curves.

    Returns
    -------
    ndarray of shape (n,)
        `residual_details` also counts infinite ones.

    References
    ----------
    Cox and Snell (1968), A general definition of residuals, JRSS B 30.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    >>> cox_snell_residuals(([2, 5, 10], [1, 0, 1]), curves).round(3)
    array([0.223, 0.693,   inf])
    """
    return residual_details(y_true, curves, kind="cox_snell").residuals


def martingale_residuals(y_true: Any, curves: Any) -> Floats:
    """Martingale residuals: observed minus predicted events, event_i - H_i.

    At most 1; under the true model they have mean zero. Minus infinity where S_i(t_i) = 0.

    Parameters
    ----------
    y_true, curves
        As for `cox_snell_residuals`.

    References
    ----------
    Barlow and Prentice (1988), Residuals for relative risk regression, Biometrika 75.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    >>> martingale_residuals(([2, 5, 10], [1, 0, 1]), curves).round(3)
    array([ 0.777, -0.693,   -inf])
    """
    return residual_details(y_true, curves, kind="martingale").residuals


def deviance_residuals(y_true: Any, curves: Any) -> Floats:
    r"""Deviance residuals: martingale residuals made about symmetric.

    .. math:: d_i = \mathrm{sign}(m_i) \sqrt{-2 (m_i + \delta_i \log(\delta_i - m_i))}

    with martingale residual m and event flag delta. Minus infinity where S_i(t_i) = 0; plus
    infinity for an event where S_i(t_i) = 1, which the curve excludes.

    Parameters
    ----------
    y_true, curves
        As for `cox_snell_residuals`.

    References
    ----------
    Therneau, Grambsch and Fleming (1990), Martingale-based residuals for survival models,
    Biometrika 77.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    >>> deviance_residuals(([2, 5, 0], [1, 0, 1]), curves).round(3)
    array([ 1.203, -1.177,    inf])
    """
    return residual_details(y_true, curves, kind="deviance").residuals


def residual_details(y_true: Any, curves: Any, *, kind: str = "cox_snell") -> ResidualDetails:
    """Residuals of one kind with convention and support.

    Parameters
    ----------
    y_true, curves
        As for `cox_snell_residuals`.
    kind : {"cox_snell", "martingale", "deviance"}
        Which residual.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 3)
    >>> residual_details(([2, 5, 10], [1, 0, 1]), curves).support["infinite"]
    1
    """
    one_of("kind", kind, KINDS)
    y = Outcomes.of(y_true, "y_true", entry=True)
    curves = check_curves(curves, y)
    s = own_survival(y, curves)
    with np.errstate(divide="ignore"):
        hazard = -np.log(s) + 0.0  # no negative zero where S = 1
    residuals = _KERNELS[kind](y.event.astype(np.float64), hazard)
    convention, support = description(y, curves)
    convention |= {"residual": kind, "infinite": "where S = 0, or an event where S = 1 (deviance)"}
    support |= {
        "survival_zero": int((s <= 0).sum()),
        "survival_one": int((s >= 1).sum()),
        "infinite": int(np.isinf(residuals).sum()),
    }
    return ResidualDetails(residuals, convention, support)


def _cox_snell(event: Floats, hazard: Floats) -> Floats:
    return hazard


def _martingale(event: Floats, hazard: Floats) -> Floats:
    return event - hazard


def _deviance(event: Floats, hazard: Floats) -> Floats:
    # m + log(1 - m) = (1 - H) + log H for events, m = -H for the censored.
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(event > 0, 1.0 - hazard + np.log(hazard), -hazard)
    inside[np.isinf(hazard)] = -np.inf
    # Near H = 1 rounding can leave a positive zero.
    return np.sign(event - hazard) * np.sqrt(-2.0 * np.minimum(inside, 0.0)) + 0.0


_KERNELS = {"cox_snell": _cox_snell, "martingale": _martingale, "deviance": _deviance}
