"""What curves say at subjects' own times: residuals, and coverage of prediction intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, probability
from ..._tools.frames import refuse_other_order
from ..._tools.text import ShortRepr
from ...data.outcomes import Outcomes
from ...errors import one_of
from ..checks import check_curves
from ..score import Score
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

    Under the true model they are a sample from the unit exponential distribution, censored where
    the subject is; so Nelson-Aalen of (residual, event) follows the diagonal. Infinite where
    S_i(t_i) = 0.

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
    refuse_other_order(y_true, "y_true", {"curves": curves}, curves=True)
    y = Outcomes.of(y_true, "y_true", entry=True)
    curves = check_curves(curves, y)
    s = own_survival(curves, y.time)
    with np.errstate(divide="ignore"):
        hazard = -np.log(s) + 0.0  # no negative zero where S = 1
    event = y.event.astype(np.float64)
    residuals = hazard if kind == "cox_snell" else event - hazard
    if kind == "deviance":
        residuals = _deviance(event, hazard)
    convention, support = description(y, curves)
    convention |= {"residual": kind, "infinite": "where S = 0, or an event where S = 1 (deviance)"}
    support |= {
        "survival_zero": int((s <= 0).sum()),
        "survival_one": int((s >= 1).sum()),
        "infinite": int(np.isinf(residuals).sum()),
    }
    return ResidualDetails(residuals, convention, support)


def _deviance(event: Floats, hazard: Floats) -> Floats:
    # m + log(1 - m) = (1 - H) + log H for events, m = -H for the censored.
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(event > 0, 1.0 - hazard + np.log(hazard), -hazard)
    inside[np.isinf(hazard)] = -np.inf
    # Near H = 1 rounding can leave a positive zero.
    return np.sign(event - hazard) * np.sqrt(-2.0 * np.minimum(inside, 0.0)) + 0.0


def coverage(y_true: Any, curves: Any, level: float = 0.9) -> Score:
    """Share of subjects with their time inside the central prediction interval of their curve.

    The interval holds the times with (1 - level)/2 <= S(t) <= (1 + level)/2; a calibrated model
    covers `level` of the subjects. An event counts 1 inside and 0 outside. A subject censored at c
    counts with the weight that its own curve puts into the interval past c,
    (min(S(c), (1 + level)/2) - (1 - level)/2)/S(c), as in D-calibration (0 where S(c) = 0). So a
    wrong model is pulled towards `level` by the censored. Of step curves S(t) is read after the
    drop.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves
        Predicted survival curves.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    Score

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> round(coverage(([2, 4, 6, 9.9], [1, 0, 1, 1]), curves, level=0.8), 4)
    0.7083
    """
    level = probability(level, "level")
    refuse_other_order(y_true, "y_true", {"curves": curves}, curves=True)
    y = Outcomes.of(y_true, "y_true", entry=True)
    curves = check_curves(curves, y)
    s = own_survival(curves, y.time)
    s[y.weight == 0] = 1.0  # whatever is predicted for who has zero weight
    low, high = (1 - level) / 2, (1 + level) / 2
    inside = ((s >= low) & (s <= high)).astype(np.float64)
    rows = np.flatnonzero(~y.event)
    known = s[rows]
    share = np.clip(np.minimum(known, high) - low, 0.0, None)
    inside[rows] = np.divide(share, known, out=np.zeros_like(known), where=known > 0)
    weight = y.weight / y.weight.sum()
    value = float(weight @ inside)
    convention, support = description(y, curves)
    convention |= {
        "level": level,
        "interval": "central, in probability",
        "censored": "own curve's share in the interval past c",
    }
    support["share_from_censored"] = float(weight[rows].sum())
    return Score(
        value,
        convention,
        support,
        influence=weight * (inside - value),
        frequency=y.frequency,
    )
