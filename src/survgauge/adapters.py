"""Doors from other libraries: their predictions become curves, by duck typing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import numbers, to_numpy
from .curves import SurvivalCurves
from .errors import InputError


def as_curves(obj: Any, *, tail: str = "linear", repair: str | None = None) -> SurvivalCurves:
    """Turn another library's survival predictions into `SurvivalCurves`.

    Parameters
    ----------
    obj : object
        A frame as lifelines and pycox give it (index: times, one column a subject; read as steps);
        a list or array of step functions as scikit-survival gives them (read as steps);
        a pair ``(times, survival)`` with one row a subject (read as lines); or `SurvivalCurves`.
    tail, repair : str
        As for `SurvivalCurves`.

    Returns
    -------
    SurvivalCurves
        Orientation is checked, never guessed: curves that do not fall along time are refused.

    Examples
    --------
    >>> as_curves(([1.0, 2.0], [[0.9, 0.4], [0.8, 0.7]])).survival.shape
    (2, 2)
    """
    if isinstance(obj, SurvivalCurves):
        return obj
    if hasattr(obj, "index") and hasattr(obj, "columns") and not callable(obj.index):
        return _from_frame(obj, tail, repair)
    if hasattr(obj, "columns"):
        raise InputError(
            "a frame without an index cannot hold both times and subjects; "
            "pass (times, survival) with one row a subject"
        )
    if isinstance(obj, tuple) and len(obj) == 2:
        return SurvivalCurves(obj[0], obj[1], tail=tail, repair=repair)
    if isinstance(obj, (list, tuple)) or (isinstance(obj, np.ndarray) and obj.dtype == object):
        functions = list(obj)
        if functions and all(hasattr(f, "x") and hasattr(f, "y") for f in functions):
            return _from_step_functions(functions, tail, repair)
    raise InputError(
        "curves must be SurvivalCurves, a frame (index: times, columns: subjects), a list of step "
        f"functions, or a pair (times, survival); got {type(obj).__name__}"
        + (f" of shape {obj.shape}" if isinstance(obj, np.ndarray) else "")
    )


def _from_frame(frame: Any, tail: str, repair: str | None) -> SurvivalCurves:
    """Rows of the frame are times, columns are subjects."""
    try:
        times = numbers(to_numpy(frame.index, "the frame's index"), "the frame's index")
    except InputError as error:
        raise InputError(f"the frame's index must hold the times; {error}") from error
    survival = numbers(frame, "the frame", ndim=2)
    try:
        return SurvivalCurves(times, survival.T, interpolation="step", tail=tail, repair=repair)
    except InputError as error:
        columns = to_numpy(frame.columns, "the frame's columns")
        hint = ""
        if columns.dtype.kind in "fiu" and columns.size > 1 and (np.diff(survival) <= 1e-6).all():
            hint = "; its rows fall instead: transpose it (times in the index, a column a subject)"
        raise InputError(f"{error}{hint}") from error


def _from_step_functions(functions: list[Any], tail: str, repair: str | None) -> SurvivalCurves:
    """Put step functions on their common grid, where steps stay exact."""
    grids = [np.asarray(f.x, dtype=np.float64) for f in functions]
    values = [np.asarray(f.y, dtype=np.float64) for f in functions]
    first = grids[0]
    if all(grid is first or np.array_equal(grid, first) for grid in grids):
        return SurvivalCurves(first, np.stack(values), "step", tail, repair)
    ends = {float(grid[-1]) for grid in grids}
    if len(ends) > 1:
        raise InputError(
            "step functions must end at the same time, or their tails would differ; "
            f"they end between {min(ends):g} and {max(ends):g}"
        )
    union = np.unique(np.concatenate(grids))
    rows = np.empty((len(functions), union.size))
    for row, grid, value in zip(rows, grids, values, strict=True):
        at = grid.searchsorted(union, "right") - 1
        row[:] = np.where(at >= 0, value[np.maximum(at, 0)], 1.0)
    return SurvivalCurves(union, rows, "step", tail, repair)
