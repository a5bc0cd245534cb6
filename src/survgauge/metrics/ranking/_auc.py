"""Kernel of the cumulative/dynamic AUC with the subjects' contributions: clean arrays, no checks.

At a time t a *case* is a subject whose event was seen at or before t, a *control* one still
event-free after t, and somebody censored before t is neither. With frequencies ``w``, case weights
``a_i = 1/G(t_i-)`` and ``K(i, j) = 1[r_i > r_j] + 1[r_i = r_j]/2`` on the risks,

    AUC(t) = sum_{i case} sum_{j control} w_i a_i w_j b_j K(i, j) / (A B),
    A = sum_{i case} w_i a_i,    B = sum_{j control} w_j b_j.

The control weights ``b_j = 1/G(t)`` are equal and cancel, unless the censoring depends on the
subject. A subject contributes to AUC(t) as a case, as a control and, where G was estimated from the
same subjects, through G:

    psi_i = w_i a_i (H_i - AUC)/A  [case]  +  w_i b_i (L_i - AUC)/B  [control]  +  w_i g_i,
    H_i = sum_{j control} w_j b_j K(i, j) / B,    L_j = sum_{i case} w_i a_i K(i, j) / A,
    g_k = integral of R(u)/(Y(u) - c(u)) dM_k(u),
    R(u) = sum_{i case, t_i > u} w_i a_i (H_i - AUC)/A,

M_k being the censoring martingale of subject k, Y(u) the number at risk of censoring and c(u) the
number censored at u [1]_.

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
from typing import NamedTuple

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.arrays import stored_once
from ..._tools.chunks import chunks
from ._auc_censoring import add_censoring
from ._auc_design import AucDesign, Column
from ._by_risk import ByRisk, RiskSorter


class AucPoint(NamedTuple):
    """AUC at one time, with what each subject contributes to it."""

    k: int  #: of times[k]
    value: float
    psi: Floats | None  #: (n,) by position, until the next point; None: not asked for


def auc_points(
    design: AucDesign, risk: Floats | Column, *, contributions: bool = True
) -> Iterator[AucPoint]:
    """Yield AUC and contributions at one time after the other, in the design's order of times.

    Parameters
    ----------
    design : AucDesign
        From `auc_design`; every time has a case and a control.
    risk : (n,) array or callable
        Higher means sooner. One risk per subject, or ``risk(k)``: the (n,) risks at times[k] (for
        curves 1 - S(times[k] | x)), called once per time, so one column lives at a time.
    contributions : bool
        Whether contributions are asked for.

    Examples
    --------
    Two cases at t = 3 with risks 9 and 4, two controls with risks 5 and 1: three of the four pairs
    are in order.

    >>> from survgauge.metrics.ranking._auc_design import auc_design
    >>> time, event = np.array([1.0, 2.0, 4.0, 5.0]), np.array([True, True, True, False])
    >>> design = auc_design(time, event, np.ones(4), np.array([3.0]))
    >>> point = next(auc_points(design, np.array([9.0, 4.0, 5.0, 1.0])))
    >>> point.value, point.psi
    (0.75, array([ 0.125, -0.125, -0.125,  0.125]))
    """
    walk, psi = _Walk(design, risk), np.zeros(design.order.size) if contributions else None
    for k in range(len(design)):
        yield AucPoint(k, walk.at(k, psi), psi)


class _Controls(NamedTuple):
    """The controls of one time: from which position on, and what they weigh by position."""

    cut: int
    mass: Floats | None  #: w b; None: 1
    total: float  #: B


class _Passed(NamedTuple):
    """How many of the other kind stand below."""

    number: Ints  #: of each; with equal risks: below each risk, and in all
    sizes: Ints | None  #: with equal risks: how many each risk concerns


_NOBODY = np.empty(0, dtype=np.intp)


class _Walk:
    """One model on one design, with the buffers that all times share.

    Subjects are read in order of risk, a piece at a time, with the mass of the controls and that of
    the cases below carried along. One risk per subject is sorted once for all times.
    """

    def __init__(self, design: AucDesign, risk: Floats | Column) -> None:
        self._design = design
        sort = RiskSorter(design.order, design.case_mass > 0)
        self._column: Column | None = None
        if callable(risk):
            self._column, self._sort = risk, sort
        else:
            self._found = sort(risk.astype(np.float64, copy=False))

    def at(self, k: int, psi: Floats | None = None) -> float:
        """AUC at times[k]; `psi`, finite before, is filled with contributions by position."""
        cut = int(self._design.cut[k])
        if self._column is not None:
            # Those censored before t are in no pair: not sorting them saves their share.
            self._found = self._sort(self._column(k).astype(np.float64, copy=False), cut)
        controls = self._controls(k, cut)
        value, mass_a = self._sweep(self._found, controls, psi)
        if psi is not None:
            self._finish(psi, controls, value, mass_a)
        return value

    def _controls(self, k: int, cut: int) -> _Controls:
        design = self._design
        if design.control_weight is None:
            equal = stored_once(design.weight)
            total = float(design.controls_total[k])
            return _Controls(cut, None if equal else design.weight, total)
        mass = design.control_weight(k)[design.order] * design.weight
        return _Controls(cut, mass, float(mass[cut:].sum()))

    def _sweep(self, found: ByRisk, controls: _Controls, psi: Floats | None) -> tuple[float, float]:
        """AUC and A; puts H of the cases and the cases' mass below the controls into `psi`."""
        inside = mass_a = controls_below = 0.0
        both = psi is not None or controls.mass is not None
        for part in found.pieces():
            position = found.position[part]
            is_control = position >= controls.cut
            places = (~is_control).nonzero()[0], is_control.nonzero()[0] if both else _NOBODY
            case, control = position.take(places[0]), position.take(places[1])
            passed, met = _passed(
                places, is_control, None if found.new is None else found.new[part]
            )
            mass, weight = _taken(self._design.case_mass, case), None
            if controls.mass is not None:
                weight = _taken(controls.mass, control)
            share = _below(passed, weight, controls_below)
            share /= controls.total
            if psi is not None:
                psi[case] = share
                psi[control] = _below(met, mass, mass_a)
            # Not a BLAS dot: its threads would wait, and the sum depend on their number.
            mass_a += float(mass.sum())
            controls_below += is_control.size - case.size if weight is None else float(weight.sum())
            share *= mass
            inside += float(share.sum())
        return inside / mass_a, mass_a

    def _finish(self, psi: Floats, controls: _Controls, value: float, mass_a: float) -> None:
        """Turn what the sweep left into contributions, in place."""
        for rows in chunks(controls.cut):
            part = psi[rows]
            part -= value  # H - AUC
            part *= self._design.case_mass[rows]
            part *= 1.0 / mass_a
        for rows in chunks(psi.size, controls.cut):
            part = psi[rows]
            part *= -1.0 / mass_a
            part += 1.0 - value  # L - AUC: a case not below a control is above it
            part *= 1.0 / controls.total
            if controls.mass is not None:
                part *= controls.mass[rows]
        if self._design.censoring is not None:
            add_censoring(psi, self._design.censoring, self._design.weight, controls.cut)


def _passed(
    places: tuple[Ints, Ints], is_control: Bools, new: Bools | None
) -> tuple[_Passed, _Passed]:
    """How many controls each case has below it, and cases each control.

    With equal risks, how many there are below each risk and in all, and how many it concerns.
    """
    if new is None:
        cases, controls = (own - np.arange(own.size) for own in places)
        return _Passed(cases, None), _Passed(controls, None)
    start = np.append(np.flatnonzero(new), is_control.size)
    if start.size < is_control.size // 16:  # a search for each risk costs less than a pass
        cases = places[0].searchsorted(start)
        controls = start - cases
    else:
        controls = np.cumsum(is_control, dtype=np.int32).take(start - 1).astype(np.intp)
        controls[0] = 0
        cases = start - controls
    return _Passed(controls, np.diff(cases)), _Passed(cases, np.diff(controls))


def _below(passed: _Passed, mass: Floats | None, before: float) -> Floats:
    """Mass of those passed, that `before` the piece included, plus half of those level.

    `mass` is what each of the others in the piece weighs; None: 1.
    """
    number, sizes = passed
    if mass is None:  # 1 each
        below = np.add(number, before, dtype=np.float64)
    else:
        until = np.concatenate(([before], mass))
        np.cumsum(until, out=until)
        below = until.take(number)
    if sizes is None:
        return below
    middle = below[1:] + below[:-1]
    middle *= 0.5
    return np.repeat(middle, sizes)


def _taken(values: Floats, places: Ints) -> Floats:
    """Values at some places; to clip what is in bounds is quicker than to check that it is."""
    return values.take(places, out=np.empty(places.size), mode="clip")
