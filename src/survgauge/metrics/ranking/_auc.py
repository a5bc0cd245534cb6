"""Kernels for the cumulative/dynamic AUC and its standard error: clean arrays in, no checks.

At a time t a *case* is a subject whose event was seen at or before t, a *control* one still
event-free after t, and somebody censored before t is neither. With frequencies ``w``, case weights
``a_i = 1/G(t_i-)`` and ``K(i, j) = 1[r_i > r_j] + 1[r_i = r_j]/2`` on the risks,

    AUC(t) = sum_{i case} sum_{j control} w_i a_i w_j b_j K(i, j) / (A B),
    A = sum_{i case} w_i a_i,    B = sum_{j control} w_j b_j.

The control weights ``b_j = 1/G(t)`` are equal and cancel, unless the censoring depends on the
subject. The influence of a subject on AUC(t), with n the sum of w, has a part as a case, one as a
control and, where G was estimated from the same subjects, one through G:

    psi_i = n a_i (H_i - AUC)/A  [case]  +  n b_i (L_i - AUC)/B  [control]  +  g_i,
    H_i = sum_{j control} w_j b_j K(i, j) / B,    L_j = sum_{i case} w_i a_i K(i, j) / A,
    g_k = integral of R(u) n/(Y(u) - c(u)) dM_k(u),
    R(u) = sum_{i case, t_i > u} w_i a_i (H_i - AUC)/A,

M_k being the censoring martingale of subject k, Y(u) the number at risk of censoring and c(u) the
number censored at u [1]_. The variance of AUC(t) is sum w psi^2 / (n (n - 1)).

Subjects are kept in time order, so that cases are a prefix of the events, controls a suffix of
everybody, and the integrals over u cumulative sums. One time then costs a few passes over the
subjects, and no n x T array exists.

References
----------
.. [1] Blanche, Dartigues, Jacqmin-Gadda (2013). Estimating and comparing time-dependent areas under
   receiver operating characteristic curves for censored event times with competing risks.
   Statistics in Medicine 32(30), 5381-5397.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._tools.array_types import Floats
from ..._tools.chunks import chunks
from ._auc_design import (
    AucDesign,
    Column,
    auc_design,
    sums_around,
)
from ._auc_walk import AucWalk

__all__ = [
    "AucDesign",
    "AucParts",
    "AucPoint",
    "auc_design",
    "auc_influence",
    "auc_parts",
    "influence_variance",
    "mean_auc",
]


class AucPoint(NamedTuple):
    """AUC at one time, with each subject's influence on it (NaN where undefined)."""

    k: int  #: of times[k]
    value: float
    influence: Floats  #: (n,) psi, in the caller's order of subjects


@dataclass(frozen=True)
class AucParts:
    """AUC at all times; NaN where there is no case or no control, which the caller reports.

    The mean and its variance leave those times out; the Kaplan-Meier weights count as fixed.
    """

    values: Floats  #: (T,)
    variance: Floats | None  #: (T,) of the values
    cases: Floats  #: (T,) sum of the frequencies of the cases
    controls: Floats  #: (T,) sum of the frequencies of the controls
    case_mass: Floats  #: (T,) A, the sum of w/G over the cases
    mean: float  #: NaN without km_drop
    mean_variance: float
    mean_influence: Floats | None  #: (n,)


def auc_parts(
    design: AucDesign,
    risk: Floats | Column,
    *,
    stderr: bool = False,
    km_drop: Floats | None = None,
) -> AucParts:
    """AUC at every time of the design, with variances on request and the mean over the times.

    Parameters
    ----------
    design : AucDesign
        From `auc_design`.
    risk : (n,) array or callable
        Higher means sooner. One risk per subject, or ``risk(k)``: the (n,) risks at times[k] (for
        curves 1 - S(times[k] | x)), called once per defined time, so one column lives at a time.
    stderr : bool
        Fill `variance` and, with `km_drop`, `mean_variance` and `mean_influence`.
    km_drop : (T,) array, optional
        Weights of the mean: how far the test set's Kaplan-Meier falls in each time's interval.

    Examples
    --------
    Two cases at t = 3 with risks 9 and 4, two controls with risks 5 and 1: three of the four pairs
    are in order.

    >>> time, event = np.array([1.0, 2.0, 4.0, 5.0]), np.array([True, True, True, False])
    >>> design = auc_design(time, event, np.ones(4), np.array([3.0]))
    >>> auc_parts(design, np.array([9.0, 4.0, 5.0, 1.0])).values
    array([0.75])
    """
    values = np.full(len(design), np.nan)
    variance = np.full(len(design), np.nan)
    psi = np.zeros(design.order.size) if stderr else None
    mean_influence = np.zeros(design.order.size) if stderr and km_drop is not None else None
    walk = AucWalk(design, risk)
    for k in _defined(design):
        values[k] = walk.at(k, psi)
        if psi is not None:
            variance[k] = influence_variance(psi, design.weight)
            if mean_influence is not None and km_drop is not None:
                _add(mean_influence, psi, km_drop[k])
    del walk, psi
    mean, mean_variance = np.nan, np.nan
    if km_drop is not None:
        mean = mean_auc(values, km_drop)
    if mean_influence is not None and km_drop is not None:
        # An undefined mean (no defined time, or no drop at any) has no influence either.
        mean_influence /= km_drop[np.isfinite(values)].sum() if np.isfinite(mean) else np.nan
        mean_variance = influence_variance(mean_influence, design.weight)
        mean_influence = _by_subject(design, mean_influence)
    return AucParts(
        values=values,
        variance=variance if stderr else None,
        cases=sums_around(np.where(design.case_unit > 0, design.weight, 0.0), design.cut)[0],
        controls=design.controls_total,
        case_mass=design.cases_total,
        mean=mean,
        mean_variance=mean_variance,
        mean_influence=mean_influence,
    )


def auc_influence(design: AucDesign, risk: Floats | Column) -> Iterator[AucPoint]:
    """Yield AUC and the influences at one time after the other, in the design's order of times.

    Two models on the same design can be walked together; the influence of their difference is the
    difference of the influences. The design's `weight` is in time order, so pass the caller's own
    frequencies to `influence_variance` along with these.

    Examples
    --------
    >>> time, event = np.array([1.0, 2.0, 4.0, 5.0]), np.array([True, True, True, False])
    >>> design = auc_design(time, event, np.ones(4), np.array([3.0]))
    >>> next(auc_influence(design, np.array([9.0, 4.0, 5.0, 1.0]))).influence
    array([ 0.5, -0.5, -0.5,  0.5])
    """
    walk, psi = AucWalk(design, risk), np.zeros(design.order.size)
    defined = set(_defined(design))
    for k in range(len(design)):
        if k in defined:
            value = walk.at(k, psi)
            yield AucPoint(k, value, _by_subject(design, psi))
        else:
            yield AucPoint(k, np.nan, np.full(psi.size, np.nan))


def mean_auc(values: Floats, km_drop: Floats) -> float:
    """Mean AUC, sum AUC(t_k) d_k / sum d_k over the times with a defined AUC; NaN if none weighs.

    Examples
    --------
    >>> round(mean_auc(np.array([0.8, 0.6, np.nan]), np.array([0.3, 0.1, 0.2])), 3)
    0.75
    """
    defined = np.isfinite(values)
    total = km_drop[defined].sum()
    return float((values[defined] * km_drop[defined]).sum() / total) if total > 0 else np.nan


def influence_variance(influence: Floats, weight: Floats | None = None) -> float:
    """Variance sum w psi^2 / (n (n - 1)) of an estimate from its centred influences, n = sum w.

    Examples
    --------
    >>> influence_variance(np.array([0.5, -0.5, -0.5, 0.5]))
    0.08333333333333333
    """
    n = float(influence.size) if weight is None else float(weight.sum())
    square = 0.0
    for rows in chunks(influence.size):
        part = np.square(influence[rows])
        if weight is not None:
            part *= weight[rows]
        square += float(part.sum())
    return square / (n * (n - 1)) if n > 1 else np.nan


def _defined(design: AucDesign) -> list[int]:
    """Find the times with at least one weighing case and control."""
    return [int(k) for k in np.flatnonzero((design.cases_total > 0) & (design.controls_total > 0))]


def _add(total: Floats, psi: Floats, factor: float) -> None:
    """Add factor * psi in place, without an array of its size."""
    for rows in chunks(psi.size):
        total[rows] += factor * psi[rows]


def _by_subject(design: AucDesign, by_position: Floats) -> Floats:
    out = np.empty_like(by_position)
    out[design.order] = by_position
    return out
