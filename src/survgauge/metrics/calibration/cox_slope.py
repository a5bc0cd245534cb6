"""Calibration slope by a Cox model of the outcomes, which takes hazards to be proportional."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import vector
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, NotApplicableError, UndefinedMetricError, one_of
from ..checks import read_curves
from ..cox import TIES, CoxRegression
from ..details import Details
from .inputs import description, log_log, survival_at


def calibration_slope_cox(
    y_true: Any,
    curves: Any,
    time: float | None = None,
    *,
    ties: str = "efron",
    probability: str = "survival",
) -> float:
    r"""Calibration slope by a Cox model of the outcomes on the predicted log hazard.

    It takes hazards to be proportional. Where they are not, the true model has another slope than
    1: 0.63 to 0.81 in simulations of log-normal times, cure and crossing hazards. Then and for
    curves in general see `calibration_slope`.

    The covariate is :math:`\log(-\log S_i(t))`, for a proportional hazards model its linear
    predictor plus a constant. 1 is best; below 1 predictions are too extreme, above too tame.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. With delayed entry subjects are at risk from their entry on; curves are read
        from the beginning, as they stand for the linear predictor.
    curves : SurvivalCurves or array-like of shape (n,)
        Curves or probabilities at `time`; without `time`, linear predictors on the log hazard scale
        (higher = sooner).
    time : float, optional
        Where to read the curves.
    ties : {"efron", "breslow"}
        Rule for tied events.
    probability : {"survival", "event"}
        What an array holds when `time` is given.

    Returns
    -------
    float
        `calibration_slope_cox_details` adds a robust standard error from per-subject contributions
        and the model-based one (in `support`).

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1])
    >>> round(calibration_slope_cox(y, [1.0, 0.2, 0.6, -0.3, 0.1, -1.0]), 3)
    2.251
    """
    found = calibration_slope_cox_details(y_true, curves, time, ties=ties, probability=probability)
    return found.value


def calibration_slope_cox_details(
    y_true: Any,
    curves: Any,
    time: float | None = None,
    *,
    ties: str = "efron",
    probability: str = "survival",
) -> Details:
    """`calibration_slope_cox` with contributions, convention and support.

    Parameters
    ----------
    y_true, curves, time, ties, probability
        As for `calibration_slope_cox`.
    """
    one_of("ties", ties, TIES)
    y, curves = Outcomes.of(y_true, "y_true", entry=True), read_curves(curves)
    moved = 0
    if time is not None:
        s = survival_at(y, curves, time, probability, from_entry=False)
        x, moved = log_log(s[y.weight > 0])
    elif isinstance(curves, SurvivalCurves):
        raise InputError("time must say where to read the curves; got None")
    else:
        x = vector(curves, "curves", length=len(y), like="y_true")[y.weight > 0]
    present = y.weight > 0
    rows = y.present()
    if not rows.event.any():
        raise UndefinedMetricError(
            "calibration_slope_cox needs at least one event in y_true; got none"
        )
    if not x.max() > x.min():
        raise NotApplicableError(
            "the calibration slope needs predictions that differ between subjects; all are equal"
        )
    fit = CoxRegression(rows.time, rows.event, rows.weight, x[None, :], ties, rows.entry)
    if not fit.identified:
        raise UndefinedMetricError(
            "calibration_slope_cox is not identified by these outcomes: no finite slope is best, "
            "as when every event has the highest prediction of all who are still at risk"
        )
    psi = np.zeros(len(y))
    psi[present] = fit.influence()[0] * rows.weight
    convention, support = description(y, curves)
    convention |= {"time": time, "ties": ties, "covariate": "log(-log S)" if time is not None else
                   "given linear predictor"}  # fmt: skip
    if y.entry is not None:
        convention["entry"] = "curves from the beginning; at risk from entry on"
    support |= {
        "moved_from_0_or_1": moved,
        "converged": fit.converged,
        "model_stderr": float(np.sqrt(fit.covariance[0, 0])),
    }
    value = float(fit.beta[0])
    return Details(value, convention, support, psi, y.weight if y.weighted else None)
