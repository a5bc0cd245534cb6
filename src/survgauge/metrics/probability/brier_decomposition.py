"""Brier score at one time, split into calibration and refinement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, whole_number
from ..._tools.short_repr import ShortRepr
from ...data.outcomes import Outcomes
from ...errors import InputError
from ..conventions import Convention
from ._status import make_status


@dataclass(frozen=True, repr=False)
class BrierDecomposition(ShortRepr):
    """Brier score at one time as calibration + refinement + within.

    Attributes
    ----------
    brier : float
        The score that is split.
    calibration : float
        Mean squared distance between the predicted and the observed rate of events of the groups.
    refinement : float
        Mean of observed (1 - observed): how far the groups are from all or nothing.
    within : float
        What is left because predictions differ within groups; 0 where they do not.
    predicted, observed, weight : ndarray of shape (groups,)
        Mean predicted and observed probability of an event, and share of the (weighted) subjects.
    convention, support : dict
        As in other results.
    """

    brier: float
    calibration: float
    refinement: float
    within: float
    predicted: Floats
    observed: Floats
    weight: Floats
    convention: dict[str, Any]
    support: dict[str, Any]


def brier_decomposition(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    bins: int | None = 10,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    censoring_times: Any = None,
    on_unsupported: str = "truncate",
    sample_weight: Any = None,
) -> BrierDecomposition:
    """Split the Brier score at `time` into calibration and refinement (DeGroot, Fienberg 1983).

    With groups k of predicted probabilities of the event, n_k their weight, p_k the mean prediction
    and lambda_k the observed rate of events,

        BS = 1/N sum n_k (lambda_k - p_k)^2 + 1/N sum n_k lambda_k (1 - lambda_k) + within.

    Parameters
    ----------
    y_true, curves
        As for `brier_score`.
    time : float
        The time of interest.
    bins : int or None
        Groups of equal width on [0, 1]; None: a group per distinct prediction, and `within` is 0.
    y_train, method, convention, censoring, censoring_times, on_unsupported, sample_weight
        As for `brier_score`.

    Examples
    --------
    >>> from survgauge.data.curves import SurvivalCurves
    >>> curves = SurvivalCurves([4], [[0.2], [0.2], [0.8], [0.8]])
    >>> split = brier_decomposition(([2, 9, 9, 9], [1, 1, 1, 1]), curves, 4)
    >>> [round(float(x), 3) for x in (split.brier, split.calibration, split.refinement)]
    [0.19, 0.065, 0.125]
    """
    if bins is not None:
        bins = whole_number(bins, "bins", 1, "None or a whole number")
    status, checked = make_status(
        Outcomes.of(y_true, "y_true"), curves, time, y_train=y_train, method=method,
        convention=convention, censoring=censoring, censoring_times=censoring_times,
        on_unsupported=on_unsupported, sample_weight=sample_weight,
    )  # fmt: skip
    if status.times.size + status.left_out.size != 1:
        raise InputError(f"time must be one time; got {status.times.size + status.left_out.size}")
    scheme = status.scheme
    alive, weight = scheme.column(0)
    weight = weight * scheme.mass
    event = (~alive).astype(np.float64)
    risk = 1.0 - checked.at(float(status.times[0]))
    if bins is None:
        _, group = np.unique(risk, return_inverse=True)
    else:
        group = np.minimum((risk * bins).astype(np.intp), bins - 1)
    total = np.bincount(group, weight)
    used = np.flatnonzero(total > 0)
    scale = float(weight.sum() if scheme.by_weight else scheme.mass.sum())
    size = np.where(total > 0, total, 1.0)
    predicted = np.bincount(group, weight * risk) / size
    observed = np.bincount(group, weight * event) / size
    off, noise = risk - predicted[group], event - observed[group]
    return BrierDecomposition(
        brier=float((weight * (risk - event) ** 2).sum()) / scale,
        calibration=float((total * (observed - predicted) ** 2).sum()) / scale,
        refinement=float((total * observed * (1.0 - observed)).sum()) / scale,
        within=float((weight * off * (off - 2.0 * noise)).sum()) / scale,
        predicted=predicted[used],
        observed=observed[used],
        weight=total[used] / scale,
        convention=status.describe(checked) | {"bins": bins},
        support=status.support(checked).result(),
    )
