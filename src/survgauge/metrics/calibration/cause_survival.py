"""What predictions say about hazards: of one cause, and of each subject since its entry."""

from __future__ import annotations

import numpy as np

from ..._tools.arrays import Floats, Ints, stored_once
from ..._tools.chunks import BLOCK_VALUES, chunks
from ..._tools.threads import run_all
from ...data.causes import cause_code
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.incidence import CauseCurves, IncidenceCurves
from .inputs import refuse_unknown

#: With less than this left free of any event, no hazard is told.
_NOBODY = 1e-12
#: The largest cumulative hazard that differences are taken of.
_LARGEST = 100.0


def cause_survival(curves: IncidenceCurves, cause: int | str, time: Floats) -> Floats:
    r"""exp(-Lambda_k(t_i)), with the hazard of the cause that all incidence curves imply.

    It is :math:`d\Lambda_k = dF_k / S`, S = 1 - the sum of all incidences: how often the cause
    strikes those who had no event yet. Where the curves are lines, the integral from S_0 to S_1 is
    (a/b) log(S_0/S_1), with a and b the rises of the cause and of all; steps are the factors
    1 - a/S_0 instead, as of Kaplan-Meier. Past the grid nothing is known: times end there.

    >>> curves = IncidenceCurves([10], [[[0.5], [0.5]]])
    >>> cause_survival(curves, 1, np.array([7.5]))
    array([0.5])
    """
    row, grid = cause_code(cause, curves.causes) - 1, curves.times
    passed = grid.searchsorted(time, "right")
    begin = np.append(0.0, grid)[passed]
    length = np.append(grid, np.inf)[passed] - begin
    share = np.zeros(time.size)
    if curves.interpolation == "linear":
        np.divide(time - begin, length, out=share, where=np.isfinite(length) & (length > 0))
    if stored_once(curves.values):  # one row is everybody's, on a grid that may be long
        return _survived(curves, row, slice(0, 1), passed, share)
    found = np.empty(time.size)

    def fill(rows: slice) -> None:
        found[rows] = _survived(curves, row, rows, passed[rows], share[rows])

    width = len(curves.causes) * grid.size
    run_all(fill, chunks(time.size, size=max(BLOCK_VALUES // width, 1)))
    return found


def hazard_since_entry(curves: SurvivalCurves, until: Floats, cause: int | None) -> Floats:
    """What the cumulative hazard of each subject rises by from its entry to `until`, (n,).

    `curves` are given entry. Those of a cause tell its hazard with the curves of all causes.
    """
    s = curves.at_own(until)
    refuse_unknown(s, "their time at risk")
    if cause is not None and isinstance(curves, CauseCurves) and curves.incidence is not None:
        s = cause_survival(curves.incidence, cause, until)
        if isinstance(curves, ConditionalCurves):
            s = given_survived(s, curves.incidence, cause, curves.entry)
            s[curves.impossible] = 0.0
    with np.errstate(divide="ignore"):
        hazard: Floats = -np.log(s) + 0.0
    return hazard


def given_survived(s: Floats, curves: IncidenceCurves, cause: int, entry: Floats) -> Floats:
    """Return what `cause_survival` gave, given no event by the entries."""
    then = np.where(entry > 0, cause_survival(curves, cause, entry), 1.0)
    return np.divide(s, then, out=np.zeros(s.size), where=then > 0)


def _survived(
    curves: IncidenceCurves, row: int, rows: slice, passed: Ints, share: Floats
) -> Floats:
    """Of some subjects, who passed so many grid times and a share of the way to the next."""
    own, rise, free, hazard = _pieces(curves, row, rows)
    who = np.arange(own.shape[0])
    at = who, np.minimum(passed, own.shape[1] - 1)
    last = _hazard(own[at], rise[at], free[at], share)
    found: Floats = np.exp(hazard[who, passed] + last)
    return found


def cause_hazards_at(curves: IncidenceCurves, cause: int, times: Floats, rows: slice) -> Floats:
    """Cumulative hazard of the cause of some subjects at common times within the grid: (rows, k).

    >>> curves = IncidenceCurves([10], [[[0.5], [0.5]]])
    >>> cause_hazards_at(curves, 1, np.array([0.0, 7.5]), slice(0, 1)).round(4)
    array([[0.    , 0.6931]])
    """
    grid = curves.times
    own, rise, free, hazard = _pieces(curves, cause - 1, rows)
    passed = grid.searchsorted(times, "right")
    at = np.minimum(passed, grid.size - 1)
    share = np.zeros(times.size)
    if curves.interpolation == "linear":
        begin = np.append(0.0, grid)[passed]
        length = grid[at] - begin
        np.divide(times - begin, length, out=share, where=length > 0)
    last = _hazard(own[:, at], rise[:, at], free[:, at], share)
    # A law that is over has no larger hazard than this, of which differences can be taken.
    return np.minimum(-(hazard[:, passed] + last), _LARGEST) + 0.0


def _pieces(curves: IncidenceCurves, row: int, rows: slice) -> tuple[Floats, ...]:
    """Rises of the cause and of all between grid times, S before, and minus the hazard so far."""
    values = curves.values[rows].astype(np.float64, copy=False)
    total = values.sum(axis=1)
    start = np.zeros((values.shape[0], 1))
    own = np.diff(values[:, row], axis=1, prepend=start)
    free = 1.0 - np.concatenate((start, total[:, :-1]), axis=1)
    rise = np.diff(total, axis=1, prepend=start) if curves.interpolation == "linear" else own
    hazard = np.cumsum(np.concatenate((start, _hazard(own, rise, free)), axis=1), axis=1)
    return own, rise, free, hazard


def _hazard(own: Floats, rise: Floats, free: Floats, share: Floats | float = 1.0) -> Floats:
    """Minus the hazard over a share of the way between two grid times."""
    told = (own > 0) & (rise > 0) & (free > _NOBODY)
    part = np.divide(share * rise, free, out=np.zeros_like(free), where=told)
    with np.errstate(divide="ignore"):
        lost = np.log1p(-np.minimum(part, 1.0))
    of_cause = np.divide(own, rise, out=np.zeros_like(free), where=told)
    return np.multiply(of_cause, lost, out=np.zeros_like(free), where=told)
