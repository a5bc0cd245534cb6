"""AUC of one model at one time after the other: see `_auc` for the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._curve_reader import Scratch
from ._auc_censoring import add_censoring
from ._auc_design import AucDesign, Column, FloatArray, IntArray
from ._by_risk import PIECE, ByRisk, RiskSorter


class _Controls(NamedTuple):
    """The controls of one time: from which position on, and what they weigh by position."""

    cut: int
    unit: FloatArray | None  #: b; None: 1
    mass: FloatArray | None  #: w b; None: 1
    total: float  #: B


class Walk:
    """One model on one design, with the buffers that all times share.

    Subjects are read in order of risk, a piece at a time, with the mass of the controls and that of
    the cases below carried along. One risk per subject is sorted once for all times.
    """

    def __init__(self, design: AucDesign, risk: FloatArray | Column) -> None:
        self._design, self._scratch = design, Scratch()
        sort = RiskSorter(design.order, design.case_unit > 0)
        self._column: Column | None = None
        if callable(risk):
            self._column, self._sort = risk, sort
        else:
            self._found = sort(risk.astype(np.float64, copy=False))

    def at(self, k: int, psi: FloatArray | None = None) -> float:
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
            equal = design.weight.strides[0] == 0
            total = float(design.controls_total[k])
            return _Controls(cut, None, None if equal else design.weight, total)
        unit = design.control_weight(k)[design.order]
        mass = unit * design.weight
        return _Controls(cut, unit, mass, float(mass[cut:].sum()))

    def _sweep(
        self, found: ByRisk, controls: _Controls, psi: FloatArray | None
    ) -> tuple[float, float]:
        """AUC and A; puts H of the cases and the cases' mass below the controls into `psi`."""
        inside = mass_a = cases_below = controls_below = 0.0
        for part in found.pieces():
            position = found.position[part]
            is_control = position >= controls.cut
            case, control = np.flatnonzero(~is_control), np.flatnonzero(is_control)
            level = None if found.new is None else np.cumsum(found.new[part], dtype=np.int32)
            where = position.take(case)
            mass = self._take("case", self._design.case_mass, where)
            control_mass = None
            if controls.mass is not None:
                control_mass = controls.mass.take(position.take(control))
            share, controls_below = _below(case, control, control_mass, level, controls_below)
            share /= controls.total
            # Not a BLAS dot: its threads would wait, and the sum depend on their number.
            product = np.multiply(mass, share, out=self._scratch("product", mass.shape))
            inside += float(product.sum())
            mass_a += float(mass.sum())
            if psi is not None:
                psi[where] = share
                lower, cases_below = _below(control, case, mass, level, cases_below)
                psi[position.take(control)] = lower
        return inside / mass_a, mass_a

    def _take(self, name: str, values: FloatArray, places: IntArray) -> FloatArray:
        """Values at some places, in memory that is used again."""
        out: FloatArray = self._scratch(name, places.shape)
        return values.take(places, out=out, mode="clip")

    def _finish(self, psi: FloatArray, controls: _Controls, value: float, mass_a: float) -> None:
        """Turn what the sweep left into influences, in place."""
        design, cut = self._design, controls.cut
        for start in range(0, cut, PIECE):
            part = psi[start : min(start + PIECE, cut)]
            part -= value  # H - AUC
            part *= design.case_unit[start : start + part.size]
            part *= design.total / mass_a
        for start in range(cut, psi.size, PIECE):
            part = psi[start : start + PIECE]
            part /= -mass_a
            part += 1.0 - value  # L - AUC: a case not below a control is above it
            part *= design.total / controls.total
            if controls.unit is not None:
                part *= controls.unit[start : start + PIECE]
        if design.censoring is not None:
            add_censoring(psi, design.censoring, design.weight, cut)


def _below(
    mine: IntArray,
    others: IntArray,
    mass: FloatArray | None,
    level: NDArray[np.int32] | None,
    before: float,
) -> tuple[FloatArray, float]:
    """Others' mass at lower risks plus half of that at the same one, and their mass in all.

    `mine` and `others` share out the places of a piece, `mass` is what the others weigh (None: 1
    each), `level` numbers the risks of all places from 1 on (None: they all differ), and `before`
    is the others' mass before the piece.
    """
    if level is None:
        passed = mine - np.arange(mine.size)  # so many others come before
        if mass is None:
            return np.add(passed, before, dtype=np.float64), before + others.size
        until: FloatArray = np.concatenate(([before], mass))
        np.cumsum(until, out=until)
        return until.take(passed), float(until[-1])
    at_level = np.bincount(level.take(others), mass, minlength=level[-1] + 1)
    until = at_level.astype(np.float64, copy=False)
    until[0] = before
    np.cumsum(until, out=until)
    middle = until[:-1] + until[1:]
    middle *= 0.5
    return middle.take(level.take(mine) - 1), float(until[-1])
