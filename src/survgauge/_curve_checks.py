"""Checks at the door of `SurvivalCurves`: grids, order, monotone rows within [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import LARGEST, Floats, numbers, to_numpy
from ._interpolation import Curves
from .errors import InputError, name_some

# Survival values may leave [0, 1] or rise by this much before it counts as a mistake.
ROUNDING = 1e-6
#: Values looked at in one go: they fit the cache.
BLOCK_VALUES = 40_000


def grid_of(times: Any, shape: tuple[int, ...]) -> Floats:
    """Check the grid of times against the shape of the survival matrix."""
    array = to_numpy(times, "times")
    grid = numbers(array, "times", ndim=2 if array.ndim == 2 else 1).astype(np.float64)
    n, m = shape
    if n == 0 or m == 0:
        raise InputError(f"survival must have at least one subject and one time; got shape {shape}")
    if grid.shape not in ((m,), (n, m)):
        hint = ""
        if grid.shape in ((n,), (m, n)):
            hint = "; it looks transposed: rows must be subjects, columns times"
        raise InputError(
            f"times must have shape ({m},) or ({n}, {m}) to match survival of shape {shape}; "
            f"got {grid.shape}{hint}"
        )
    if not np.isfinite(grid).all() or grid.min() < 0:
        bad = grid[~(np.isfinite(grid) & (grid >= 0))]
        raise InputError(f"times must be finite and not negative; got {bad[0]:g}")
    if grid.max() > LARGEST:
        raise InputError(f"times must be at most {LARGEST:g}; got {grid.max():g}; change the unit")
    return grid


def sorted_together(grid: Floats, values: Curves) -> tuple[Floats, Curves]:
    """Sort times and their columns together; a time may appear only once."""
    gaps = np.diff(grid, axis=-1)
    if (gaps < 0).any():
        order = np.argsort(grid, axis=-1, kind="stable")
        grid = np.take_along_axis(grid, order, axis=-1)
        shared = order.ndim == 1
        values = values[:, order] if shared else np.take_along_axis(values, order, axis=1)
        gaps = np.diff(grid, axis=-1)
    if (gaps == 0).any():
        where = np.argwhere(gaps == 0)[0]
        whose = f" for subject {where[0]}" if grid.ndim == 2 else ""
        raise InputError(f"times must be distinct; {grid[tuple(where)]:g} appears twice{whose}")
    return grid, values


def checked(values: Curves, repair: str | None) -> Curves:
    """Refuse or repair curves that are not survival functions; smooth out rounding errors."""
    size = max(1, BLOCK_VALUES // values.shape[1])
    wrong: list[int] = []
    rounded = False
    for start in range(0, values.shape[0], size):
        block = values[start : start + size]
        if not np.isfinite(block).all():
            bad = start + np.flatnonzero(~np.isfinite(block).all(axis=1))
            raise InputError(f"survival has NaN or infinite values for subject(s) {name_some(bad)}")
        rise = np.diff(block, axis=1).max(axis=1, initial=0.0)
        excess = np.maximum(block.max(axis=1) - 1.0, -block.min(axis=1))
        bad = np.flatnonzero((rise > ROUNDING) | (excess > ROUNDING))
        if bad.size:
            wrong.extend(start + bad)
        rounded = rounded or bool((rise > 0).any() or (excess > 0).any())
    if wrong and repair is None:
        _explain_refusal(values, wrong)
    if wrong and repair == "isotonic":
        values = _isotonic(values, wrong)
    if wrong or rounded:
        values = np.clip(np.minimum.accumulate(values, axis=1), 0.0, 1.0)
    return values


def _explain_refusal(values: Curves, wrong: list[int]) -> None:
    row = values[wrong[0]]
    if row.max() > 1 + ROUNDING or row.min() < -ROUNDING:
        problem = f"leaves [0, 1] (from {row.min():g} to {row.max():g})"
    else:
        k = int(np.argmax(np.diff(row)))
        problem = f"rises from {row[k]:g} to {row[k + 1]:g}"
    hint = "pass repair='running_minimum' or 'isotonic' to mend it"
    columns = values[: min(len(values), 2000)]
    if (np.diff(row) >= -ROUNDING).all():
        hint = "if these are probabilities of the event, pass 1 - probability"
    elif values.shape[0] > 1 and (np.diff(columns, axis=0) <= ROUNDING).all():
        hint = "columns fall instead: the matrix looks transposed (rows must be subjects)"
    raise InputError(
        f"survival must fall from 1 towards 0 along each row; that of subject {wrong[0]} {problem} "
        f"(subjects concerned: {name_some(wrong)}); {hint}"
    )


def _isotonic(values: Curves, rows: list[int]) -> Curves:
    """Replace the rows named by their closest falling curve in squared distance."""
    from scipy.optimize import isotonic_regression

    values = values.copy()
    for row in rows:  # only the curves that need it
        values[row] = isotonic_regression(values[row], increasing=False).x
    return values
