"""Checks at the door of `IncidenceCurves`: rising, within [0, 1], at most 1 together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Bools, Floats
from .._tools.chunks import BLOCK_VALUES, chunks
from ..errors import InputError, numbered
from .curve_checks import ROUNDING

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
        bad, off = _mistakes(values[rows], rows.start, names)
        wrong.extend(bad)
        rounded = rounded or off
    if wrong and repair is None:
        _explain_refusal(values, wrong, names)
    if not wrong and not rounded:
        return values
    mended = np.clip(np.maximum.accumulate(values, axis=2), 0.0, 1.0)
    total = mended[:, :, -1].sum(axis=1)
    # Curves that end above 1 together keep their shares.
    return mended / np.maximum(total, 1.0)[:, None, None].astype(mended.dtype)


def _mistakes(block: Incidence, start: int, names: tuple[str, ...]) -> tuple[list[int], bool]:
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


def _explain_refusal(values: Incidence, wrong: list[int], names: tuple[str, ...]) -> None:
    row = values[wrong[0]].astype(np.float64)
    cause, problem = _problem(row)
    whose = f"that of cause {cause + 1} ({names[cause]!r})" if cause >= 0 else "the sum"
    raise InputError(
        "incidence must rise from 0 along the times and add up to at most 1 over the causes; "
        f"{whose} in row {wrong[0] + 1} {problem}; curves like that are in {numbered(wrong)}; "
        f"{_what_to_do(values, values[wrong[:2000]])}"
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


def _what_to_do(values: Incidence, wrong: Incidence) -> str:
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
