"""Doors from other libraries: their predictions become curves, by duck typing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from .._tools.arrays import numbers, positive, to_numpy, vector
from ..errors import InputError, numbered, one_of
from .curves import REPAIRS, SurvivalCurves
from .tails import check_tail


def as_curves(obj: Any, *, tail: str | None = None, repair: str | None = None) -> SurvivalCurves:
    """Turn another library's survival predictions into `SurvivalCurves`.

    Parameters
    ----------
    obj : object
        A frame as lifelines and pycox give it (times in the index, one column per subject; read
        as steps);
        a list or array of step functions as scikit-survival gives them (read as steps);
        a pair ``(times, survival)`` with one row per subject (read as lines); or `SurvivalCurves`.
    tail : str, optional
        As for `SurvivalCurves`: "linear" unless given. `SurvivalCurves` keep theirs without it, and
        are read with the one given otherwise.
    repair : {None, "running_minimum", "isotonic"}
        As for `SurvivalCurves`, which have nothing left to repair.

    Returns
    -------
    SurvivalCurves
        Orientation is checked, never guessed: curves that do not fall along time are refused.

    Examples
    --------
    >>> as_curves(([1.0, 2.0], [[0.9, 0.4], [0.8, 0.7]])).survival.shape
    (2, 2)
    """
    return as_curves_named(obj, "curves", tail, repair)


def as_curves_named(
    obj: Any, argument: str, tail: str | None = None, repair: str | None = None
) -> SurvivalCurves:
    """`as_curves` for an argument with a name of its own, which the message then says."""
    if tail is not None:
        check_tail(tail)
    if repair is not None:
        one_of("repair", repair, REPAIRS)
    if isinstance(obj, SurvivalCurves):
        if tail is None or tail == obj.tail:
            return obj
        return SurvivalCurves._trusted(obj.times, obj.survival, obj.interpolation, tail)
    tail = tail or "linear"
    if hasattr(obj, "index") and hasattr(obj, "columns") and not callable(obj.index):
        return _from_frame(obj, tail, repair)
    if hasattr(obj, "columns"):
        raise InputError(
            "a frame without an index cannot hold both times and subjects; "
            "pass (times, survival) with one row per subject"
        )
    if isinstance(obj, tuple) and len(obj) == 2:
        if _exchanged(*obj):
            raise InputError(
                f"{argument} must be a pair (times, survival); got a matrix first and a vector "
                "second: exchange the two"
            )
        return SurvivalCurves(obj[0], obj[1], tail=tail, repair=repair)
    if are_steps(obj) and all(hasattr(f, "x") and hasattr(f, "y") for f in obj):
        return _from_step_functions(list(obj), tail, repair)
    raise InputError(
        f"{argument} must be SurvivalCurves, a frame (index: times, columns: subjects), a list of "
        f"step functions, or a pair (times, survival); got {type(obj).__name__}"
        + (f" of shape {obj.shape}" if isinstance(obj, np.ndarray) else "")
    )


def _exchanged(times: Any, survival: Any) -> bool:
    """Whether a matrix stands where times are meant, and a vector where probabilities are."""
    try:
        return np.ndim(times) == 2 and np.ndim(survival) == 1
    except ValueError:  # ragged: neither
        return False


def are_curves(obj: Any) -> bool:
    """Whether `as_curves` reads this, whatever the numbers in it say.

    >>> are_curves(([1.0, 2.0], [[0.9, 0.4]])), are_curves((0.9, 0.4)), are_curves([[0.9, 0.4]])
    (True, False, False)
    """
    if hasattr(obj, "columns"):
        return hasattr(obj, "index") and not callable(obj.index)
    return isinstance(obj, SurvivalCurves) or are_steps(obj) or _is_pair(obj)


def are_steps(obj: Any) -> bool:
    """Whether these are step functions, as scikit-survival has them."""
    listed = isinstance(obj, list | tuple) or (isinstance(obj, np.ndarray) and obj.ndim == 1)
    return listed and len(obj) > 0 and hasattr(obj[0], "x") and hasattr(obj[0], "y")


def _is_pair(obj: Any) -> bool:
    """Whether this is a pair with a matrix as its second."""
    try:
        return isinstance(obj, tuple) and len(obj) == 2 and np.ndim(obj[1]) == 2
    except ValueError:  # ragged: neither a matrix nor numbers
        return False


def is_flat(obj: Any) -> bool:
    """Whether this is one number per subject rather than curves."""
    frame = hasattr(obj, "columns") and hasattr(obj, "index")
    if frame or are_steps(obj) or _is_pair(obj):
        return False
    shape = getattr(obj, "shape", None)
    if shape is not None:
        return len(shape) == 1
    try:
        return np.ndim(obj) == 1
    except ValueError:  # ragged: neither times nor a matrix
        return False


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
            hint = "; its rows fall instead: transpose it (index: times, one column per subject)"
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


def curves_from_quantiles(levels: Any, quantiles: Any, *, tail: str = "linear") -> SurvivalCurves:
    """Curves from predicted quantiles of the event time, one row per subject.

    Parameters
    ----------
    levels : array-like of shape (k,)
        Probabilities strictly between 0 and 1.
    quantiles : array-like of shape (n, k)
        Times by which the event has happened with those probabilities, not falling along a row.
    tail : str
        How the curves go on past the highest level.

    Examples
    --------
    >>> curves_from_quantiles([0.25, 0.5, 0.75], [[2.0, 5.0, 9.0]]).median()
    array([5.])
    """
    p = vector(levels, "levels")
    times = numbers(quantiles, "quantiles", ndim=2).astype(np.float64)
    if p.size == 0 or p.min() <= 0 or p.max() >= 1 or np.unique(p).size != p.size:
        raise InputError(f"levels must be distinct and strictly between 0 and 1; got {levels!r}")
    if times.shape[1] != p.size:
        raise InputError(
            f"quantiles must have a column per level: {p.size}; got shape {times.shape}"
        )
    order = np.argsort(p, kind="stable")
    p, times = p[order], times[:, order]
    crossing = np.flatnonzero((np.diff(times, axis=1) < 0).any(axis=1) | (times[:, 0] < 0))
    if crossing.size:
        raise InputError(
            "quantiles must be times that do not fall from one level to the next; they do for "
            f"{numbered(crossing)}: sort them along the row if that is meant"
        )
    # Equal quantiles are a jump: the later level holds, a hair after the earlier one.
    for k in range(1, p.size):
        times[:, k] = np.maximum(times[:, k], np.nextafter(times[:, k - 1], np.inf))
    return SurvivalCurves(times, np.tile(1.0 - p, (len(times), 1)), tail=tail)


_AFT = {
    "normal": lambda z: ndtr(-z),
    "logistic": lambda z: expit(-z),
    "extreme": lambda z: np.exp(-np.exp(z)),
}


def curves_from_aft(
    time: Any, scale: float, times: Any, *, distribution: str = "normal", tail: str = "linear"
) -> SurvivalCurves:
    """Curves of an accelerated failure time model, such as XGBoost's ``survival:aft``.

    The model is log T = log(time) + scale * Z, so S(t) = P(Z > (log t - log time) / scale), with Z
    normal, logistic or extreme (the law of the logarithm of a unit exponential).

    Parameters
    ----------
    time : array-like of shape (n,)
        Predicted times, as ``predict`` gives them; positive.
    scale : float
        ``aft_loss_distribution_scale``.
    times : array-like of shape (m,)
        Grid of the curves.
    distribution : {"normal", "logistic", "extreme"}
        ``aft_loss_distribution``.
    tail : str
        How the curves go on past the grid.

    Examples
    --------
    >>> curves_from_aft([10.0, 20.0], 0.5, [5, 10, 20]).at(10.0).round(3)
    array([0.5  , 0.917])
    """
    one_of("distribution", distribution, _AFT)
    centre = vector(time, "time")
    grid = vector(times, "times", minimum=0.0)
    if not centre.size or not grid.size:
        empty = "times" if centre.size else "time"
        raise InputError(f"{empty} must have at least one entry; got an empty array")
    if not centre.min() > 0:
        raise InputError(f"time must be positive; got {centre.min():g}")
    scale = positive(scale, "scale")
    with np.errstate(divide="ignore", over="ignore"):
        z = (np.log(grid) - np.log(centre)[:, None]) / scale
        return SurvivalCurves(grid, _AFT[distribution](z), tail=tail)
