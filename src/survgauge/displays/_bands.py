"""Bands around survival functions, on the scale log(-log S) that keeps them within [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..inference import log_log_band
from ..metrics.calibration.inputs import log_log
from ..metrics.calibration.smooth_calibration import ICIResult
from ..reference.aalen_johansen import AalenJohansen
from ..reference.kaplan_meier import RiskTable
from ..reference.turnbull import Turnbull


def kaplan_meier_band(
    y: Outcomes, times: Floats, confidence: float | None
) -> tuple[Floats, Floats, Floats]:
    """Kaplan-Meier at `times` with its pointwise band (Greenwood).

    >>> y = Outcomes([1, 2, 3, 4], [1, 0, 1, 1])
    >>> [bound.round(3) for bound in kaplan_meier_band(y, np.array([1.0, 3.0]), 0.95)]
    [array([0.75 , 0.375]), array([0.128, 0.011]), array([0.961, 0.808])]
    """
    table = RiskTable.of(y)
    d, n = table.events, table.at_risk
    survival = np.concatenate(([1.0], np.multiply.accumulate(1.0 - d / n)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where all who are left have the event, S is zero and has no band.
        terms = np.where(n > d, d / (n * (n - d)), 0.0)
    variance = np.concatenate(([0.0], np.cumsum(terms)))
    at = table.times.searchsorted(times, "right")
    km, spread = survival[at], np.sqrt(variance[at])
    return km, *log_log_band(km, spread, confidence)


def turnbull_band(
    law: Turnbull, times: Floats, confidence: float | None
) -> tuple[Floats, Floats, Floats]:
    """Turnbull's estimate at `times` with its pointwise band, by the subjects' contributions.

    >>> law = Turnbull.fit(([0, 2, 2, 4], [2, 4, 4, 6]))
    >>> [bound.round(3) for bound in turnbull_band(law, np.array([2.0, 4.0]), 0.95)]
    [array([0.75, 0.25]), array([0.128, 0.009]), array([0.961, 0.665])]
    """
    s, psi = law.at(times), law.contributions(times) * law.widening(times)[:, None]
    relative = np.divide(np.sqrt(np.sum(psi**2, axis=1)), s, out=np.zeros_like(s), where=s > 0)
    return s, *log_log_band(s, relative, confidence)


def smooth_band(result: ICIResult, confidence: float | None) -> tuple[Floats, Floats]:
    """Band of the smooth calibration curve, from the smoother's first-order contributions.

    With o = 1 - exp(-H e^f) on the scale log(-log(1 - o)) = log H + f the standard error is that of
    dH/H + (x - mean x)' d beta, summed over the subjects' contributions to (beta, H).
    """
    smooth: Any = result._smooth
    beta, hazard = smooth.changes()
    n = float(smooth.weight.sum())
    if confidence is None or not (smooth.hazard > 0 and n > 1):
        unknown = np.full(result.curve_predicted.shape, np.nan)
        return unknown, unknown.copy()
    # A row of weight w stands for w subjects with the same contribution.
    parts = np.vstack((beta, hazard / smooth.hazard))
    covariance = (parts * smooth.weight) @ parts.T * (n / (n - 1))
    columns = smooth._columns(log_log(1 - result.curve_predicted)[0])
    slope = np.vstack((columns - smooth.fit.mean[:, None], np.ones(columns.shape[1])))
    variance = np.einsum("ig,ij,jg->g", slope, covariance, slope)
    survival = 1 - result.curve_observed
    inside = (survival > 0) & (survival < 1)
    s = np.where(inside, survival, 0.5)
    # Standard error of -log S is that of log(-log S) times -log S.
    relative = np.sqrt(np.maximum(variance, 0.0)) * -np.log(s)
    low, high = log_log_band(np.where(inside, survival, 1.0), relative, confidence)
    return 1 - high, 1 - low


def incidence_band(
    aj: AalenJohansen, cause: int | str, times: Floats, confidence: float | None
) -> tuple[Floats, Floats, Floats]:
    """Aalen-Johansen of a cause at `times` with its pointwise band.

    >>> aj = AalenJohansen.fit(Outcomes([1, 2, 3, 4], [1, 2, 0, 1]))
    >>> [bound.round(3) for bound in incidence_band(aj, 1, np.array([1.0, 3.0]), 0.95)]
    [array([0.25, 0.25]), array([0.039, 0.039]), array([0.872, 0.872])]
    """
    value, stderr = aj.at(times, cause), aj.stderr_at(times, cause)
    free = 1.0 - value
    relative = np.divide(stderr, free, out=np.zeros_like(free), where=free > 0)
    low, high = log_log_band(free, relative, confidence)
    return value, 1.0 - high, 1.0 - low
