"""Doors from other libraries: their predictions become curves or incidence, by duck typing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from .._tools.arrays import Floats, numbers, positive, to_numpy, vector
from .._tools.frames import in_memory, table_columns
from ..errors import InputError, numbered, one_of
from .causes import cause_names
from .checks import ROUNDING, Incidence
from .curves import REPAIRS, SurvivalCurves
from .incidence import IncidenceCurves
from .interpolation import check_tail
from .tables import Table, is_number


def as_curves(obj: Any, *, tail: str | None = None, repair: str | None = None) -> SurvivalCurves:
    """Turn another library's survival predictions into `SurvivalCurves`.

    Parameters
    ----------
    obj : object
        A frame as lifelines and pycox give it (times in the index, one column per subject; read
        as steps); an Arrow table, Polars frame or DuckDB relation with one row per subject and the
        times as names of its columns (read as lines);
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
    kind = type(obj).__name__
    obj, tail = in_memory(obj, argument), tail or "linear"
    if hasattr(obj, "index") and hasattr(obj, "columns") and not callable(obj.index):
        return _from_frame(obj, tail, repair)
    if hasattr(obj, "columns"):
        grid, values = _times_in_header(obj, "the frame")
        return SurvivalCurves(grid, values, tail=tail, repair=repair)
    if isinstance(obj, tuple) and len(obj) == 2:
        if _dimensions(*obj) == (2, 1):
            raise InputError(
                f"{argument} must be a pair (times, survival); got a matrix first and a vector "
                "second: exchange the two"
            )
        return SurvivalCurves(obj[0], obj[1], tail=tail, repair=repair)
    if are_steps(obj) and all(hasattr(f, "x") and hasattr(f, "y") for f in obj):
        return _from_step_functions(list(obj), tail, repair)
    raise InputError(
        f"{argument} must be SurvivalCurves, a frame (index: times, columns: subjects), a list of "
        f"step functions, or a pair (times, survival); got {kind}{_shape_advice(obj)}"
    )


def _shape_advice(obj: Any) -> str:
    """Say which shape an array or tensor has, and what one of two dimensions lacks."""
    shape = getattr(obj, "shape", None)
    if isinstance(obj, list) and obj and hasattr(obj[0], "detach"):
        return " of tensors: join them first, with torch.cat or torch.stack"
    if not isinstance(shape, tuple):
        return ""
    told = f" of shape {tuple(shape)}"
    if len(shape) != 2:
        return told
    if shape[1] == 1:
        return f"{told}: one time per subject has shape ({shape[0]},), as predicted[:, 0] has"
    return f"{told}: probabilities go with their times, as in (times, matrix)"


def _dimensions(*arrays: Any) -> tuple[int, ...]:
    """Return how many dimensions arrays have; nothing where they are ragged."""
    try:
        return tuple(map(np.ndim, arrays))
    except ValueError:
        return ()


def are_curves(obj: Any) -> bool:
    """Whether `as_curves` reads this, whatever the numbers in it say.

    >>> are_curves(([1.0, 2.0], [[0.9, 0.4]])), are_curves((0.9, 0.4)), are_curves([[0.9, 0.4]])
    (True, False, False)
    """
    if hasattr(obj, "columns"):
        return hasattr(obj, "index") and not callable(obj.index)
    pair = isinstance(obj, tuple) and len(obj) == 2 and _dimensions(obj[1]) == (2,)
    return isinstance(obj, SurvivalCurves) or are_steps(obj) or pair


def are_steps(obj: Any) -> bool:
    """Whether these are step functions, as scikit-survival has them."""
    listed = isinstance(obj, list | tuple) or (isinstance(obj, np.ndarray) and obj.ndim == 1)
    return listed and len(obj) > 0 and hasattr(obj[0], "x") and hasattr(obj[0], "y")


def is_flat(obj: Any) -> bool:
    """Whether this is one number per subject rather than curves."""
    # Asked for the dimensions of curves, NumPy would read them one by one.
    if are_curves(obj) or isinstance(obj, IncidenceCurves):
        return False
    shape = getattr(obj, "shape", None)
    if shape is not None:
        return len(shape) == 1
    try:
        return np.ndim(obj) == 1
    except (ValueError, RuntimeError):  # ragged, or tensors with gradients: neither
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
        elif columns.size == 1:
            one = repr(columns.tolist()[0])
            hint = f"; if its column has predicted times or risks, pass the column, frame[{one}]"
        raise InputError(f"{error}{hint}") from error


def _times_in_header(table: Any, argument: str) -> tuple[Floats, Floats]:
    """Return times and a row per subject of a table without an index: Arrow, Polars, DuckDB."""
    from .files import header_numbers  # which imports this module

    columns = table_columns(table, argument) or {}
    names = header_numbers([str(name) for name in columns])
    odd = [name for name in names if not is_number(name)]
    if odd or not names:
        raise InputError(
            f"{argument} has no index, so it must have one row per subject and the times as names "
            f"of its columns; got {', '.join(map(repr, odd[:5]))}: "
            + (
                "pass the column itself if it has the predicted times"
                if len(names) == 1
                else "leave other columns out, or pass (times, survival)"
            )
        )
    values = [vector(column, f"column {name!r}") for name, column in columns.items()]
    return np.array([float(name) for name in names]), np.column_stack(values)


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
        How the curves are extended beyond the highest level.

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
    normal, logistic or extreme (the distribution of the logarithm of a unit exponential).

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
        How the curves are extended beyond the grid.

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


#: How the axes of an array lie, and what its numbers are.
LAYOUTS = {
    "incidence": "(subjects, causes, times), cumulative",
    "hazardous": "(subjects, 1 + causes, times), cumulative, survival first",
    "pmf": "(causes, times, subjects), probabilities of single intervals",
    "pmf_rows": "(subjects, causes, times), probabilities of single intervals",
}


def as_incidence(
    obj: Any,
    times: Any = None,
    *,
    layout: str = "incidence",
    causes: Any = None,
    interpolation: str | None = None,
    repair: str | None = None,
) -> IncidenceCurves:
    """Turn another library's predictions under competing risks into `IncidenceCurves`.

    Parameters
    ----------
    obj : object
        An array of three dimensions, see `layout`; a list with one entry per cause, or a mapping
        from the name of each cause to its entry; or `IncidenceCurves`. The entry of a cause is a
        matrix with one row per subject; a frame, as `as_curves` reads it; a list of step functions
        with ``x`` and ``y``, one per subject; or the path of a CSV or Parquet file with times in
        the header and one row per subject (in R, ``write.csv(predictRisk(fit, data, times, cause =
        1), row.names = FALSE)`` after naming the columns by their times).
    times : array-like of shape (m,), optional
        Times of an array or of matrices; the other forms have their own.
    layout : {"incidence", "hazardous", "pmf", "pmf_rows"}
        Layout of an array: cumulative incidence (subjects, causes, times); as hazardous predicts
        it, (subjects, 1 + causes, times) with survival first; or probabilities of single intervals
        as of DeepHit, (causes, times, subjects) as pycox has them or (subjects, causes, times). It
        is checked and never guessed.
    causes : sequence of str, optional
        Names of the causes; those of a mapping are its keys.
    interpolation : {"linear", "step"}, optional
        Step functions and frames are read as steps, all others as lines, unless given.
    repair : {None, "running_maximum"}
        As for `IncidenceCurves`.

    Returns
    -------
    IncidenceCurves

    Examples
    --------
    >>> survival_first = [[[0.7, 0.2], [0.2, 0.5], [0.1, 0.3]]]
    >>> as_incidence(survival_first, [1, 2], layout="hazardous").at(2, cause=1)
    array([0.5])
    >>> as_incidence({"relapse": [[0.2, 0.5]], "death": [[0.1, 0.3]]}, [1, 2]).causes
    ('relapse', 'death')
    """
    one_of("layout", layout, tuple(LAYOUTS))
    if isinstance(obj, IncidenceCurves):
        return obj
    if isinstance(obj, list | tuple):
        obj = [in_memory(entry) for entry in obj]
    by_cause = isinstance(obj, list) and (not obj or _is_entry(obj[0]))
    if isinstance(obj, Mapping):
        by_cause = True
        if obj and causes is not None and cause_names(causes) != tuple(map(str, obj)):
            raise InputError(
                f"causes must be the keys of the mapping, {list(obj)}, or be left out; got {causes}"
            )
        causes, obj = [str(name) for name in obj], [in_memory(entry) for entry in obj.values()]
    if by_cause:
        grid, values, steps = _joined(list(obj), times)
    else:
        values, steps = _laid_out(obj, layout), False
        if times is None:
            raise InputError("times must be given with an array of incidence; got None")
        grid = times
    if interpolation is None:
        interpolation = "step" if steps else "linear"
    return IncidenceCurves(grid, values, causes, interpolation, repair)


def _laid_out(obj: Any, layout: str) -> Incidence:
    """Turn an array to (subjects, causes, times), cumulative."""
    array = numbers(obj, "incidence", ndim=3)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if layout == "incidence":
        return array
    if layout == "hazardous":
        return _without_survival(array)
    parts = array.transpose(2, 0, 1) if layout == "pmf" else array
    total = parts.sum(axis=(1, 2), dtype=np.float64)
    if (parts < -ROUNDING).any() or (total > 1 + 1e-4).any():
        worst = int(np.argmax(total))
        raise InputError(
            f"with layout={layout!r} the array must be {LAYOUTS[layout]}: not negative, and of "
            f"each subject at most 1 together; those of subject {worst + 1} of {total.size} add "
            f"up to {total[worst]:g} (shape {array.shape})"
        )
    # In double precision: thousands of small steps would drift in single precision.
    return np.minimum(np.cumsum(parts, axis=2, dtype=np.float64), 1.0)


def _without_survival(array: Incidence) -> Incidence:
    """Check that the first of the causes is survival, and leave it out."""
    total = array.sum(axis=1, dtype=np.float64)
    falls = (np.diff(array[:, 0], axis=1) <= ROUNDING).all()
    if array.shape[1] < 2 or not falls or np.abs(total - 1.0).max(initial=0.0) > 1e-3:
        raise InputError(
            f"with layout='hazardous' the array must be {LAYOUTS['hazardous']}, and add up to 1 "
            f"over axis 1 at every time; got shape {array.shape}, sums from {total.min():g} to "
            f"{total.max():g}, and a first entry that {'falls' if falls else 'does not fall'}"
        )
    return array[:, 1:]


def _is_entry(entry: Any) -> bool:
    """Whether this is the prediction of one cause, rather than of one subject in an array."""
    if isinstance(entry, str | Path) or hasattr(entry, "columns"):
        return True
    return are_steps(entry) or isinstance(entry, np.ndarray) or hasattr(entry, "detach")


def _joined(entries: list[Any], times: Any) -> tuple[Any, Incidence, bool]:
    """Put the predictions of all causes together; also their times, and whether they are steps."""
    if not entries:
        raise InputError("incidence must have at least one cause; got an empty list")
    parts = [_one_cause(entry, times, k) for k, entry in enumerate(entries, 1)]
    grid, first, steps = parts[0]
    for k, (other, values, _) in enumerate(parts[1:], 2):
        if values.shape != first.shape or not np.array_equal(other, grid):
            raise InputError(
                "all causes must have the same subjects and times; cause 1 has shape "
                f"{first.shape} up to time {grid[-1]:g}, cause {k} {values.shape} up to "
                f"{other[-1]:g}"
            )
    return grid, np.stack([values for _, values, _ in parts], axis=1), steps


def _one_cause(entry: Any, times: Any, k: int) -> tuple[Floats, Floats, bool]:
    """Read times and a matrix with one row per subject, and whether they are steps."""
    if isinstance(entry, str | Path):
        from .files import UNNAMED, header_times  # which imports this module

        table = Table(entry)
        names = table.names[1:] if table.names[0] in UNNAMED else table.names
        grid = header_times(table.path, names)
        return grid, np.column_stack([table.numbers(name) for name in names]), False
    if hasattr(entry, "columns") and not hasattr(entry, "index"):
        return *_times_in_header(entry, f"the frame of cause {k}"), False
    if hasattr(entry, "columns"):
        values = numbers(entry, f"the frame of cause {k}", ndim=2)
        _refuse_turned(entry, values, k)
        return vector(entry.index, "the frame's index"), values.T, True
    if are_steps(entry):
        grid = vector(entry[0].x, "x of the step functions")
        if not all(np.array_equal(f.x, grid) for f in entry):
            raise InputError(f"step functions of cause {k} must all have the same times x")
        return grid, np.stack([vector(f.y, "y of the step functions") for f in entry]), True
    if times is None:
        raise InputError("times must be given with matrices of incidence; got None")
    return vector(times, "times"), numbers(entry, f"the matrix of cause {k}", ndim=2), False


def _refuse_turned(frame: Any, values: Floats, k: int) -> None:
    """Refuse a frame with its times in the header: incidence rises along rows, not down columns."""
    down, along = ((np.diff(values, axis=axis) >= -ROUNDING).all() for axis in (0, 1))
    from .files import header_numbers

    names = header_numbers([str(name) for name in frame.columns])
    if not down and along and all(map(is_number, names)):
        raise InputError(
            f"the frame of cause {k} has its times in the header, as incidence rises along its "
            "rows; times belong in the index, and subjects in the columns: pass frame.T, or the "
            "matrix frame.to_numpy() with times=frame.columns"
        )
