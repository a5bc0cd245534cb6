"""Weak calibration at a time: intercept and slope of observed on predicted risks, by one link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import repeated
from ..._tools.short_repr import ShortRepr
from ...errors import NotApplicableError
from ..details import Details, freedom
from .inputs import log_log
from .pseudo_regression import LeastSquares
from .status import StatusAtTime


@dataclass(frozen=True, repr=False)
class WeakCalibration(ShortRepr):
    """Result of `weak_calibration`.

    Attributes
    ----------
    intercept : Details
        Calibration in the large: what has to be added to every log(-log S) so that risks are right
        on average; 0 is best. Above 0 predicted risks are too low.
    slope : Details
        Coefficient of log(-log S); 1 is best. Below 1 predicted risks differ too much.
    """

    intercept: Details
    slope: Details


def weak_calibration(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    cause: int | str | None = None,
) -> WeakCalibration:
    r"""Calibration intercept and slope at a time, by regression of pseudo-observations.

    With the pseudo-observation :math:`\theta_i` of the risk of the event by `time`, and
    :math:`x_i = \log(-\log S_i(t))`, two models with the complementary log-log link are fitted by
    least squares:

    .. math:: 1 - \exp(-e^{a + x_i}) \text{ (intercept } a) \quad\text{and}\quad
              1 - \exp(-e^{a' + b x_i}) \text{ (slope } b).

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. With delayed entry those who entered before `time` take part, with
        predictions and pseudo-observations given being event-free at entry.
    curves : curves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves (under delayed entry, given
        being event-free at entry).
    time : float
        By when events count; not later than the last observed time.
    probability : {"survival", "event"}
        What an array in `curves` holds.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`; pseudo-observations are then those of Aalen-Johansen, and S is
        1 - incidence of the cause.

    Returns
    -------
    WeakCalibration
        `intercept` and `slope`, each with a standard error from the subjects' contributions, which
        count that pseudo-observations are estimated from the same subjects.

    References
    ----------
    van Geloven et al. (2022), Validation of prediction models in the presence of competing risks,
    BMJ 377, e069249. Andersen, Klein and Rosthoj (2003), Biometrika 90.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 0, 1, 0, 0, 1, 1, 0])
    >>> found = weak_calibration(y, [0.3, 0.8, 0.7, 0.6, 0.4, 0.8, 0.7, 0.9], 4.5)
    >>> round(found.intercept.value, 3), round(found.slope.value, 3)
    (-0.338, 1.089)
    """
    status = StatusAtTime.of(y_true, curves, time, probability, cause)
    return WeakCalibration(intercept_of(status), slope_of(status))


def calibration_slope(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    cause: int | str | None = None,
) -> float:
    """Calibration slope at a time: coefficient of the predicted log(-log S) of observed risks.

    1 is best; below 1 predicted risks differ too much between subjects, above 1 too little. What
    was observed are pseudo-observations at `time`, so that hazards need not be proportional: the
    true model has slope 1, whatever the shape of its hazards. See `weak_calibration` for the
    regression, and `calibration_slope_cox` for the slope by a Cox model.

    Parameters
    ----------
    y_true, curves, time, probability, cause
        As for `weak_calibration`.

    Returns
    -------
    float
        `calibration_slope_details` adds a standard error from the subjects' contributions.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 0, 1, 0, 0, 1, 1, 0])
    >>> round(calibration_slope(y, [0.3, 0.8, 0.7, 0.6, 0.4, 0.8, 0.7, 0.9], 4.5), 3)
    1.089
    """
    return slope_of(StatusAtTime.of(y_true, curves, time, probability, cause)).value


def calibration_slope_details(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    cause: int | str | None = None,
) -> Details:
    """`calibration_slope` with contributions, convention and support.

    Parameters
    ----------
    y_true, curves, time, probability, cause
        As for `weak_calibration`.
    """
    return slope_of(StatusAtTime.of(y_true, curves, time, probability, cause))


def intercept_of(status: StatusAtTime, contributions: bool = True) -> Details:
    """Calibration in the large: predictions as they are, but for a constant."""
    x, moved = log_log(status.s)
    fit = LeastSquares.fit(status.pseudo, np.empty((0, x.size)), x, np.zeros(1))
    return _details(status, moved, fit, contributions)


def slope_of(status: StatusAtTime, contributions: bool = True) -> Details:
    """Coefficient of the predictions, beside a constant."""
    x, moved = log_log(status.s)
    if not x.max() > x.min():
        raise NotApplicableError(
            "the calibration slope needs predictions that differ between subjects; all are equal"
        )
    middle = float(np.average(x, weights=status.pseudo.weight))
    given = (x - middle)[None], repeated(0.0, x.size), np.array([1.0, middle])
    return _details(status, moved, LeastSquares.fit(status.pseudo, *given), contributions)


def _details(status: StatusAtTime, moved: int, fit: LeastSquares, contributions: bool) -> Details:
    """Tell the first coefficient of a fit."""
    value, convention = float(fit.beta[0]), dict(status.convention)
    support = status.support | {"moved_from_0_or_1": moved}
    if not contributions:
        return Details(value, convention, support, None, status.frequency)
    psi = status.to_all(fit.influence()[0], 0.0)
    support["freedom"] = freedom(psi, status.y.weight)
    return Details(value, convention, support, psi, status.frequency)
