"""AUC of one model at one time after the other: see `_auc` for the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._tools.array_types import Bools, Floats, Ints
from ..._tools.arrays import stored_once
from ..._tools.chunks import chunks
from ._auc_censoring import add_censoring
from ._auc_design import AucDesign, Column
from ._by_risk import ByRisk, RiskSorter


class _Controls(NamedTuple):
    """The controls of one time: from which position on, and what they weigh by position."""

    cut: int
    unit: Floats | None  #: b; None: 1
    mass: Floats | None  #: w b; None: 1
    total: float  #: B


class _Passed(NamedTuple):
    """How many of the other kind stand below."""

    number: Ints  #: of each; with equal risks: below each risk, and in all
    sizes: Ints | None  #: with equal risks: how many each risk concerns


_NOBODY = np.empty(0, dtype=np.intp)


class AucWalk:
    """One model on one design, with the buffers that all times share.

    Subjects are read in order of risk, a piece at a time, with the mass of the controls and that of
    the cases below carried along. One risk per subject is sorted once for all times.
    """

    def __init__(self, design: AucDesign, risk: Floats | Column) -> None:
        self._design = design
        sort = RiskSorter(design.order, design.case_unit > 0)
        self._column: Column | None = None
        if callable(risk):
            self._column, self._sort = risk, sort
        else:
            self._found = sort(risk.astype(np.float64, copy=False))

    def at(self, k: int, psi: Floats | None = None) -> float:
        """AUC at times[k]; `psi`, finite before, is filled with the influences by position."""
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
            return _Controls(cut, None, None if equal else design.weight, total)
        unit = design.control_weight(k)[design.order]
        mass = unit * design.weight
        return _Controls(cut, unit, mass, float(mass[cut:].sum()))

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
        """Turn what the sweep left into influences, in place."""
        design, cut = self._design, controls.cut
        for rows in chunks(cut):
            part = psi[rows]
            part -= value  # H - AUC
            part *= design.case_unit[rows]
            part *= design.total / mass_a
        for rows in chunks(psi.size, cut):
            part = psi[rows]
            part /= -mass_a
            part += 1.0 - value  # L - AUC: a case not below a control is above it
            part *= design.total / controls.total
            if controls.unit is not None:
                part *= controls.unit[rows]
        if design.censoring is not None:
            add_censoring(psi, design.censoring, design.weight, cut)


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
