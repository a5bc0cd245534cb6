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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from survgauge._sorting import sorting_order
from survgauge.metrics._auc_censoring import (
    Censoring,
    CensoringTable,
    add_censoring,
    censoring_table,
)
from survgauge.metrics._auc_ranks import DenseRanker

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
Column = Callable[[int], NDArray[Any]]
Controls = Literal["later", "later_or_censored"]


@dataclass(frozen=True)
class AucDesign:
    """Who is a case and who a control at each time: everything that no model changes.

    Build it with `auc_design`. Positions count subjects in time order (events first among equal
    times); `order` maps a position to the subject.
    """

    order: IntArray  #: (n,) subject at each position
    weight: FloatArray  #: (n,) frequencies, by position
    total: float  #: sum of the frequencies
    case_position: IntArray  #: positions of the events that can be cases, ascending
    case_unit: FloatArray  #: their a_i
    case_mass: FloatArray  #: their w_i a_i
    cut: IntArray  #: (T,) the first control's position at each time
    n_cases: IntArray  #: (T,) how many of `case_position` are cases at each time
    control_weight: Column | None  #: b at times[k], by subject; None: equal
    censoring: CensoringTable | None  #: None: G is taken as known

    def __len__(self) -> int:
        """Return the number of times."""
        return int(self.cut.size)


class AucPoint(NamedTuple):
    """AUC at one time, with each subject's influence on it (NaN where undefined)."""

    k: int  #: of times[k]
    value: float
    influence: FloatArray  #: (n,) psi, in the caller's order of subjects


@dataclass(frozen=True)
class AucParts:
    """AUC at all times; NaN where there is no case or no control, which the caller reports.

    The mean and its variance leave those times out; the Kaplan-Meier weights count as fixed.
    """

    values: FloatArray  #: (T,)
    variance: FloatArray | None  #: (T,) of the values
    cases: FloatArray  #: (T,) sum of the frequencies of the cases
    controls: FloatArray  #: (T,) sum of the frequencies of the controls
    case_mass: FloatArray  #: (T,) A, the sum of w/G over the cases
    mean: float  #: NaN without km_drop
    mean_variance: float
    mean_influence: FloatArray | None  #: (n,)


def auc_design(
    time: FloatArray,
    event: BoolArray,
    case_weight: FloatArray,
    times: FloatArray,
    weight: FloatArray | None = None,
    *,
    controls: Controls = "later",
    censoring: Censoring = "fixed",
    control_weight: Column | None = None,
    order: IntArray | None = None,
) -> AucDesign:
    """Sort the subjects by time once and find the cases and controls of every time.

    Parameters
    ----------
    time, event : (n,) arrays
        The outcomes.
    case_weight : (n,) array
        1/G at the events' own times, by the caller's limit of G; not read where `event` is false,
        0 leaves an event out.
    times : (T,) array
        Any order.
    weight : (n,) array, optional
        Frequencies: an integer w equals w copies of the row.
    controls : {"later", "later_or_censored"}
        t_i > t, or also those censored exactly at t (SurvivalEVAL).
    censoring : {"fixed", "estimated", "hazard"}
        Whether the influence has the part g of a G estimated from these same subjects.
        "estimated" differentiates the events-first reverse Kaplan-Meier (left limits) exactly, ties
        included. "hazard" writes 1/Y(u) for 1/(Y(u) - c(u)) and counts events at u as at risk of
        censoring at u, as riskRegression::Score does. Values never change.
    control_weight : callable, optional
        ``control_weight(k)`` gives 1/G(times[k] | x_j) per subject, for censoring that depends on
        the subject.
    order : (n,) array, optional
        Subjects by time, where they have been sorted already.

    Returns
    -------
    AucDesign
        To be shared by all models on these subjects.
    """
    order = sorting_order(time) if order is None else order
    sorted_time = time[order]
    if (sorted_time[1:] == sorted_time[:-1]).any():  # ten times the cost, so only where it matters
        order = np.lexsort((~event, time))
    sorted_event = event[order]
    w: FloatArray = np.broadcast_to(1.0, time.size)
    if weight is not None:
        w = weight[order].astype(np.float64)
    unit = np.where(sorted_event, case_weight[order], 0.0)
    position = np.flatnonzero(unit > 0)
    cut = np.searchsorted(sorted_time, times, side="right")
    if controls == "later_or_censored":
        # Events come first among equal times, so the censored at t are the end of their group.
        seen = np.concatenate(([0], np.cumsum(sorted_event)))
        start = np.searchsorted(sorted_time, times, side="left")
        cut = start + seen[cut] - seen[start]
    table = None
    if censoring != "fixed":
        table = censoring_table(sorted_time, sorted_event, w, position, censoring)
    return AucDesign(
        order=order,
        weight=w,
        total=float(w.sum()),
        case_position=position,
        case_unit=unit[position],
        case_mass=w[position] * unit[position],
        cut=cut,
        n_cases=np.searchsorted(position, cut, side="left"),
        control_weight=control_weight,
        censoring=table,
    )


def auc_parts(
    design: AucDesign,
    risk: FloatArray | Column,
    *,
    stderr: bool = False,
    km_drop: FloatArray | None = None,
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
    mean_influence = np.zeros(design.order.size)
    walk = _Walk(design, risk)
    for k in _defined(design):
        values[k], psi = walk.at(k, influence=stderr)
        if psi is not None:
            variance[k] = influence_variance(psi, design.weight)
            if km_drop is not None:
                mean_influence += km_drop[k] * psi
    mean, mean_variance = np.nan, np.nan
    if km_drop is not None:
        mean = mean_auc(values, km_drop)
        # An undefined mean (no defined time, or no drop at any) has no influence either.
        mean_influence /= km_drop[np.isfinite(values)].sum() if np.isfinite(mean) else np.nan
        mean_variance = influence_variance(mean_influence, design.weight) if stderr else np.nan
    until = np.concatenate(([0.0], np.cumsum(design.weight[design.case_position])))
    return AucParts(
        values=values,
        variance=variance if stderr else None,
        cases=until[design.n_cases],
        controls=_control_frequency(design),
        case_mass=np.concatenate(([0.0], np.cumsum(design.case_mass)))[design.n_cases],
        mean=mean,
        mean_variance=mean_variance,
        mean_influence=_by_subject(design, mean_influence)
        if stderr and km_drop is not None
        else None,
    )


def auc_at_times(
    time: FloatArray,
    event: BoolArray,
    case_weight: FloatArray,
    risk: FloatArray | Column,
    times: FloatArray,
    weight: FloatArray | None = None,
    *,
    stderr: bool = False,
    km_drop: FloatArray | None = None,
    controls: Controls = "later",
    censoring: Censoring = "fixed",
    control_weight: Column | None = None,
) -> AucParts:
    """`auc_design` and `auc_parts` in one call, for a single model.

    Examples
    --------
    The risk may change with time: here the order of the second and third subject does.

    >>> time, event = np.array([1.0, 2.0, 4.0, 5.0]), np.array([True, True, True, False])
    >>> columns = np.array([[9.0, 9.0], [4.0, 6.0], [5.0, 5.0], [1.0, 1.0]])
    >>> times = np.array([1.5, 3.0])
    >>> auc_at_times(time, event, np.ones(4), lambda k: columns[:, k], times).values
    array([1., 1.])
    """
    design = auc_design(
        time,
        event,
        case_weight,
        times,
        weight,
        controls=controls,
        censoring=censoring,
        control_weight=control_weight,
    )
    return auc_parts(design, risk, stderr=stderr, km_drop=km_drop)


def auc_influence(design: AucDesign, risk: FloatArray | Column) -> Iterator[AucPoint]:
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
    walk = _Walk(design, risk)
    defined = set(_defined(design))
    for k in range(len(design)):
        value, psi = walk.at(k, influence=True) if k in defined else (np.nan, None)
        if psi is None:
            psi = np.full(design.order.size, np.nan)
        yield AucPoint(k, value, _by_subject(design, psi))


def mean_auc(values: FloatArray, km_drop: FloatArray) -> float:
    """Mean AUC, sum AUC(t_k) d_k / sum d_k over the times with a defined AUC; NaN if none weighs.

    Examples
    --------
    >>> round(mean_auc(np.array([0.8, 0.6, np.nan]), np.array([0.3, 0.1, 0.2])), 3)
    0.75
    """
    defined = np.isfinite(values)
    total = km_drop[defined].sum()
    return float((values[defined] * km_drop[defined]).sum() / total) if total > 0 else np.nan


def influence_variance(influence: FloatArray, weight: FloatArray | None = None) -> float:
    """Variance sum w psi^2 / (n (n - 1)) of an estimate from its centred influences, n = sum w.

    Examples
    --------
    >>> influence_variance(np.array([0.5, -0.5, -0.5, 0.5]))
    0.08333333333333333
    """
    if weight is None:
        weight = np.ones(influence.size)
    n = weight.sum()
    return float((weight * np.square(influence)).sum() / (n * (n - 1))) if n > 1 else np.nan


def _defined(design: AucDesign) -> list[int]:
    """Find the times with at least one weighing case and control."""
    mass = np.concatenate(([0.0], np.cumsum(design.case_mass)))[design.n_cases]
    return [int(k) for k in np.flatnonzero((mass > 0) & (_control_frequency(design) > 0))]


def _control_frequency(design: AucDesign) -> FloatArray:
    """Sum of the frequencies from each cut on, summed from the end so that none gives exactly 0."""
    after: FloatArray = np.concatenate((np.cumsum(design.weight[::-1])[::-1], [0.0]))[design.cut]
    return after


def _by_subject(design: AucDesign, by_position: FloatArray) -> FloatArray:
    out = np.empty_like(by_position)
    out[design.order] = by_position
    return out


class _Walk:
    """One model on one design: its ranks, and the buffers that all times share.

    Ranks instead of sorted arrays: counts per rank make ties exact without a special case, and one
    risk per subject is ranked once for all times.
    """

    def __init__(self, design: AucDesign, risk: FloatArray | Column) -> None:
        n = design.order.size
        self._design = design
        self._ranker = DenseRanker(n)
        self._column: Column | None = None
        self._by_time, self._cumulative, self._psi = np.empty(n), np.empty(n), np.empty(n)
        self._share = np.empty(int(design.n_cases.max(initial=0)))
        if callable(risk):
            self._column = risk
            self._case_subject = design.order[design.case_position]
        else:
            self._rank, self._distinct = self._ranker(risk[design.order].astype(np.float64))
            self._case_rank = self._rank[design.case_position]

    def _ranks(self, k: int) -> tuple[IntArray, IntArray, int]:
        """Ranks of the cases and of the controls at times[k], and the number of distinct ones."""
        m, cut = self._design.n_cases[k], self._design.cut[k]
        if self._column is None:
            return self._case_rank[:m], self._rank[cut:], self._distinct
        by_subject = np.asarray(self._column(k), dtype=np.float64)
        # Those censored before t are in no pair: not sorting them saves their share.
        values = self._by_time[: m + self._design.order.size - cut]
        np.take(by_subject, self._case_subject[:m], out=values[:m], mode="clip")
        np.take(by_subject, self._design.order[cut:], out=values[m:], mode="clip")
        rank, distinct = self._ranker(values)
        return rank[:m], rank[m:], distinct

    def at(self, k: int, *, influence: bool) -> tuple[float, FloatArray | None]:
        """AUC at times[k] and, on request, psi by position, valid until the next call."""
        design = self._design
        case_rank, control_rank, distinct = self._ranks(k)
        m, cut = design.n_cases[k], design.cut[k]
        case_mass, control_mass, control_unit = design.case_mass[:m], design.weight[cut:], None
        if design.control_weight is not None:
            control_unit = design.control_weight(k)[design.order[cut:]]
            control_mass = control_mass * control_unit
        mass_a, mass_b = case_mass.sum(), control_mass.sum()

        below = self._mass_below(control_rank, control_mass, distinct)
        excess = np.take(below, case_rank, out=self._share[:m], mode="clip")
        excess /= mass_b
        # Not a BLAS dot: its threads would wait for each other, and the sum depend on their number.
        value = float(np.multiply(case_mass, excess, out=self._by_time[:m]).sum() / mass_a)
        if not influence:
            return value, None
        excess -= value  # H - AUC

        psi, cases = self._psi, design.case_position[:m]
        below = self._mass_below(case_rank, case_mass, distinct)
        np.take(below, control_rank, out=psi[cut:], mode="clip")
        psi[cut:] /= -mass_a
        psi[cut:] += 1.0 - value  # L - AUC: a case not below a control is above it
        psi[cut:] *= design.total / mass_b
        if control_unit is not None:
            psi[cut:] *= control_unit
        psi[:cut] = 0.0
        psi[cases] = design.case_unit[:m] * excess * (design.total / mass_a)
        if design.censoring is not None:
            excess *= case_mass
            excess /= mass_a
            add_censoring(psi, design.censoring, excess, int(cut), design.total)
        return value, psi

    def _mass_below(self, rank: IntArray, mass: FloatArray, distinct: int) -> FloatArray:
        """Mass at lower ranks plus half the mass at the same rank, for every rank."""
        tied = np.bincount(rank, mass, minlength=distinct).astype(np.float64, copy=False)
        below = np.cumsum(tied, out=self._cumulative[:distinct])
        tied *= 0.5
        below -= tied
        return below
