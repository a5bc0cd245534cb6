"""Checks at the door of curves: grids, order, monotone rows within [0, 1], causes that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import LARGEST, Bools, Floats, numbers, to_numpy
from .._tools.running import BLOCK_VALUES, SPAN_BLOCKS, chunks, in_order
from ..errors import InputError, numbered
from .interpolation import Curves

# Survival values may leave [0, 1] or rise by this much before it counts as a mistake.
ROUNDING = 1e-6
# Subjects that a hint is made from.
_LOOKED_AT = 2000
# Above this survival is not off by a numerical error, but something else.
_OUTSIDE = 1.1
# Cumulative hazards above this are rarer than percentages.
_CUMULATED = 20.0


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
    """Sort times and their columns, the last axis, together; a time may appear only once."""
    gaps = np.diff(grid, axis=-1)
    if (gaps < 0).any():
        order = np.argsort(grid, axis=-1, kind="stable")
        grid = np.take_along_axis(grid, order, axis=-1)
        shared = order.ndim == 1
        values = values[..., order] if shared else np.take_along_axis(values, order, axis=1)
        gaps = np.diff(grid, axis=-1)
    if (gaps == 0).any():
        where = np.argwhere(gaps == 0)[0]
        whose = f" for subject {where[0]}" if grid.ndim == 2 else ""
        raise InputError(f"times must be distinct; {grid[tuple(where)]:g} appears twice{whose}")
    return grid, values


def checked(values: Curves, repair: str | None) -> Curves:
    """Refuse or repair curves that are not survival functions; smooth out rounding errors.

    Values that are survival functions already are not copied.
    """
    size = max(1, BLOCK_VALUES // values.shape[1])

    def look(span: slice) -> tuple[list[int], bool]:
        wrong: list[int] = []
        rounded = False
        for rows in chunks(span.stop, span.start, size):
            bad, mended = _mistakes(values[rows], rows.start)
            wrong.extend(bad)
            rounded = rounded or mended
        return wrong, rounded

    found = list(in_order(look, chunks(values.shape[0], size=size * SPAN_BLOCKS)))
    wrong = [row for rows, _ in found for row in rows]
    if wrong and repair is None:
        _explain_refusal(values, wrong)
    if wrong and repair == "isotonic":
        values = _isotonic(values, wrong)
    if wrong or any(rounded for _, rounded in found):
        mended = np.empty_like(values, order="C")
        for rows in chunks(values.shape[0], size=size):
            np.minimum.accumulate(values[rows], axis=1, out=mended[rows])
            np.clip(mended[rows], 0.0, 1.0, out=mended[rows])
        return mended
    return values


def _mistakes(block: Curves, start: int) -> tuple[list[int], bool]:
    """Rows of a block that are no survival curves, and whether others are off by rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = block[:, 1:] - block[:, :-1]
    # Where nothing rises the ends are the extremes; NaN fails every comparison.
    falling = not steps.size or steps.max() <= 0
    if falling and block[:, 0].max() <= 1 and block[:, -1].min() >= 0:
        return [], False
    if not np.isfinite(block).all():
        bad = start + np.flatnonzero(~np.isfinite(block).all(axis=1))
        raise InputError(f"survival has NaN or infinite values for {numbered(bad)}")
    rise = steps.max(axis=1, initial=0.0)
    excess = np.maximum(block.max(axis=1) - 1.0, -block.min(axis=1))
    bad = start + np.flatnonzero((rise > ROUNDING) | (excess > ROUNDING))
    return bad.tolist(), bool((rise > 0).any() or (excess > 0).any())


def _explain_refusal(values: Curves, wrong: list[int]) -> None:
    row = values[wrong[0]]
    if row.max() > 1 + ROUNDING or row.min() < -ROUNDING:
        problem = f"leaves [0, 1] (from {row.min():g} to {row.max():g})"
    else:
        k = int(np.argmax(np.diff(row)))
        problem = f"rises from {row[k]:g} to {row[k + 1]:g}"
    hint = _what_to_do(values, values[wrong[:_LOOKED_AT]])
    raise InputError(
        "survival must fall from 1 towards 0 along each row; that of row "
        f"{wrong[0] + 1} {problem}; curves like that are in {numbered(wrong)}; {hint}"
    )


def _what_to_do(values: Curves, wrong: Curves) -> str:
    """Say what the numbers look like, and how to make survival curves of them."""
    low, high = float(wrong.min()), float(wrong.max())
    steps = np.diff(wrong, axis=1)
    rising, falling = (steps >= -ROUNDING).all(), (steps <= ROUNDING).all()
    if low < -ROUNDING:
        return (
            "negative numbers look like logits or log-risks: pass probabilities, of logits "
            "1 / (1 + exp(-logit))"
        )
    if high > _OUTSIDE:
        if high <= 100 and (falling or high > _CUMULATED):
            whole = "value" if falling else "1 - value"
            return f"these look like percentages: pass {whole} / 100"
        if rising:
            return "numbers that rise above 1 look like cumulative hazards: pass exp(-hazard)"
    elif rising:
        return "if these are probabilities of the event, pass 1 - probability"
    columns = values[:_LOOKED_AT]
    if len(columns) > 1 and (np.diff(columns, axis=0) <= ROUNDING).all():
        return "columns fall instead: the matrix looks transposed (rows must be subjects)"
    if np.median(wrong[:, 0]) < 0.5:
        return (
            "curves that start near 0 look like hazards or probabilities of single intervals: pass "
            "the running product of 1 - hazard, or 1 - the running sum of the probabilities"
        )
    return "pass repair='running_minimum' or 'isotonic' to mend it (--repair on the command line)"


def _isotonic(values: Curves, rows: list[int]) -> Curves:
    """Replace the rows named by their closest falling curve in squared distance."""
    from scipy.optimize import isotonic_regression

    values = values.copy()
    for row in rows:  # only the curves that need it
        values[row] = isotonic_regression(values[row], increasing=False).x
    return values


#: Incidence of n subjects, some causes and m times, float32 or float64.
Incidence = NDArray[np.floating[Any]]
#: By how much causes may exceed 1 together where numbers with three digits were rounded.
_WRITTEN = 2e-3


def check_shapes(grid_shape: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Compare the grid of times with values of shape (n, causes, times)."""
    if 0 in shape:
        raise InputError(
            f"values must have at least one subject, cause and time; got shape {shape}"
        )
    if grid_shape == (shape[2],):
        return
    hint = ""
    if grid_shape in ((shape[0],), (shape[1],)):
        axis = 0 if grid_shape == (shape[0],) else 1
        hint = f"; times lie along axis {axis} of values, and have to be moved to the last one"
    raise InputError(
        f"values must have shape (subjects, causes, times) with {grid_shape[0]} times; got {shape}"
        f"{hint}"
    )


def checked_incidence(values: Incidence, names: tuple[str, ...], repair: str | None) -> Incidence:
    """Refuse or repair what is no incidence; values that are right already are not copied."""
    n, causes, m = values.shape
    wrong: list[int] = []
    rounded = False
    for rows in chunks(n, size=max(1, BLOCK_VALUES // (causes * m))):
        bad, off = _cause_mistakes(values[rows], rows.start, names)
        wrong.extend(bad)
        rounded = rounded or off
    if wrong and repair is None:
        _explain_cause_refusal(values, wrong, names)
    if not wrong and not rounded:
        return values
    mended = np.clip(np.maximum.accumulate(values, axis=2), 0.0, 1.0)
    total = mended[:, :, -1].sum(axis=1)
    # Curves that end above 1 together keep their shares.
    return mended / np.maximum(total, 1.0)[:, None, None].astype(mended.dtype)


def _cause_mistakes(block: Incidence, start: int, names: tuple[str, ...]) -> tuple[list[int], bool]:
    """Rows of a block that are no incidence, and whether others are off by rounding."""
    finite = np.isfinite(block)
    if not finite.all():
        cause = int(np.flatnonzero(~finite.all(axis=(0, 2)))[0])
        bad = start + np.flatnonzero(~finite[:, cause].all(axis=1))
        raise InputError(
            f"values has NaN or infinite values of cause {cause + 1} ({names[cause]!r}) for "
            f"{numbered(bad)}"
        )
    off = _excess(block)
    return (start + np.flatnonzero(off > ROUNDING)).tolist(), bool((off > 0).any())


def _excess(block: Incidence) -> Floats:
    """By how much each subject's curves fall, leave [0, 1] or add up to more than 1."""
    fall = -np.diff(block, axis=2).min(axis=(1, 2), initial=0.0)
    below = -block.min(axis=(1, 2))
    # Where nothing falls the sum is largest at the end.
    above = block.sum(axis=1, dtype=np.float64).max(axis=1) - 1.0
    # Shares that add up to 1 do so up to the last bit of their type.
    above = np.where(above < block.shape[1] * np.finfo(block.dtype).eps, 0.0, above)
    off: Floats = np.maximum(np.maximum(fall, below), above).astype(np.float64)
    return off


def _explain_cause_refusal(values: Incidence, wrong: list[int], names: tuple[str, ...]) -> None:
    row = values[wrong[0]].astype(np.float64)
    cause, problem = _problem(row)
    whose = f"that of cause {cause + 1} ({names[cause]!r})" if cause >= 0 else "the sum"
    raise InputError(
        "incidence must rise from 0 along the times and add up to at most 1 over the causes; "
        f"{whose} in row {wrong[0] + 1} {problem}; curves like that are in {numbered(wrong)}; "
        f"{_what_to_do_with_causes(values, values[wrong[:2000]])}"
    )


def _problem(row: Floats) -> tuple[int, str]:
    """Cause (-1: their sum) and description of what is wrong with one subject."""
    outside: Bools = (row < -ROUNDING) | (row > 1 + ROUNDING)
    if outside.any():
        cause = int(np.flatnonzero(outside.any(axis=1))[0])
        return cause, f"leaves [0, 1] (from {row[cause].min():g} to {row[cause].max():g})"
    steps = np.diff(row, axis=1)
    if steps.size and steps.min() < -ROUNDING:
        cause, k = (int(i) for i in np.unravel_index(np.argmin(steps), steps.shape))
        return cause, f"falls from {row[cause, k]:g} to {row[cause, k + 1]:g}"
    return -1, f"reaches {row.sum(axis=0).max():g}"


def _what_to_do_with_causes(values: Incidence, wrong: Incidence) -> str:
    """Say what the numbers look like, and how to make incidence of them."""
    low, high = float(wrong.min()), float(wrong.max())
    total = values[:2000].sum(axis=1, dtype=np.float64)
    if high > 1.1 and high <= 100 and low >= -ROUNDING:
        return "these look like percentages: pass values / 100"
    if low < -ROUNDING or high > 1 + ROUNDING:
        return "pass probabilities"
    if values.shape[1] > 1 and np.abs(total - 1.0).max() < 1e-3:
        return (
            "at every time the causes add up to 1, so one of them is survival: "
            "as_incidence(..., layout='hazardous') reads it from the first place"
        )
    if np.abs(total.sum(axis=1)).max() <= 1 + 1e-3:
        return (
            "all numbers of a subject add up to at most 1, so they look like probabilities of "
            "single intervals: as_incidence(..., layout='pmf_rows') adds them up"
        )
    if (np.diff(wrong, axis=2) <= ROUNDING).all():
        return "values that fall along the times look like survival: pass 1 - values"
    if (np.diff(wrong, axis=2) >= -ROUNDING).all():
        if wrong.sum(axis=1, dtype=np.float64).max() <= 1 + _WRITTEN:
            return (
                "that little looks like numbers that were rounded when they were written: pass "
                "repair='running_maximum' to scale them"
            )
        return (
            "causes that add up to more than 1 are often one model per cause with the others as "
            "censored (1 - survival): predict the cumulative incidence from all of them together"
        )
    return "pass repair='running_maximum' to mend it"
