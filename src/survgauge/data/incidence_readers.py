"""Doors from other libraries: their cumulative incidence becomes `IncidenceCurves`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._tools.arrays import Floats, numbers, vector
from ..errors import InputError, one_of
from .adapters import are_steps
from .causes import cause_names
from .curve_checks import ROUNDING
from .curve_tables import UNNAMED, header_numbers, header_times
from .incidence import IncidenceCurves
from .incidence_checks import Incidence
from .tables import Table, is_number

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
        matrix with one row per subject; a frame with times in the index and one column per
        subject; a list of step functions with ``x`` and ``y``, one per subject; or the path of a
        CSV or Parquet file with times in the header and one row per subject (in R,
        ``write.csv(predictRisk(fit, data, times, cause = 1), row.names = FALSE)`` after naming
        the columns by their times).
    times : array-like of shape (m,), optional
        Times of an array or of matrices; the other forms have their own.
    layout : {"incidence", "hazardous", "pmf", "pmf_rows"}
        How an array lies: cumulative incidence (subjects, causes, times); as hazardous predicts it,
        (subjects, 1 + causes, times) with survival first; or probabilities of single intervals as
        of DeepHit, (causes, times, subjects) as pycox has them or (subjects, causes, times). It is
        checked and never guessed.
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
    by_cause = isinstance(obj, list | tuple) and (not obj or _is_entry(obj[0]))
    if isinstance(obj, Mapping):
        by_cause = True
        if obj and causes is not None and cause_names(causes) != tuple(map(str, obj)):
            raise InputError(
                f"causes must be the keys of the mapping, {list(obj)}, or be left out; got {causes}"
            )
        causes, obj = [str(name) for name in obj], list(obj.values())
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
        table = Table(entry)
        names = table.names[1:] if table.names[0] in UNNAMED else table.names
        grid = header_times(table.path, names)
        return grid, np.column_stack([table.numbers(name) for name in names]), False
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
    names = header_numbers([str(name) for name in frame.columns])
    if not down and along and all(map(is_number, names)):
        raise InputError(
            f"the frame of cause {k} has its times in the header, as incidence rises along its "
            "rows; times belong in the index, and subjects in the columns: pass frame.T, or the "
            "matrix frame.to_numpy() with times=frame.columns"
        )
