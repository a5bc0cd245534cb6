"""Features as they come: rows picked, leaks refused, and a numeric matrix for the Cox model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Bools, Floats, Ints, to_numpy
from ..errors import InputError

#: A text column with more levels than this is taken for an identifier and refused.
MAX_LEVELS = 50


def as_features(X: Any, n: int) -> Any:
    """Check the shape of X, keeping frames as they are; None means no features."""
    if X is None:
        return None
    if not hasattr(X, "columns"):
        X = to_numpy(X, "X")
    shape = tuple(X.shape)
    if len(shape) != 2:
        raise InputError(f"X must be a matrix or a frame, rows are subjects; got shape {shape}")
    if shape[0] != n:
        raise InputError(f"X must have one row per subject; y has {n}, X has {shape[0]}")
    return X


def take_rows(X: Any, rows: Ints) -> Any:
    """Copy the given rows, in the type that came in."""
    if X is None:
        return None
    picked = X.iloc[rows].copy() if hasattr(X, "iloc") else X[rows]
    if hasattr(picked, "attrs"):
        picked.attrs = {}  # whatever the caller hung on the frame may know the truth
    return picked


def refuse_leaks(X: Any, rows: Ints, event_time: Floats) -> None:
    """Refuse a column that holds the event times: the truth would reach the model through X."""
    if X is None or event_time.min() == event_time.max():
        return
    labels = np.asarray(getattr(X, "index", ()))
    named = [(f"column {name!r}", np.asarray(column)) for name, column in _columns(X)]
    for name, values in [*named, ("the index", labels)]:
        comparable = values.dtype.kind in "fiu" and values.shape == (X.shape[0],)
        if comparable and np.array_equal(values[rows], event_time):
            raise InputError(f"X must not hold the outcome: {name} equals the event times; drop it")


def design_matrix(X: Any) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Fill and encode all columns: (n, p) numbers, their names, and notes on what was left out.

    Gaps in numbers take the median, gaps in text the most frequent level; text becomes one
    indicator per level without the first. Text that reads as numbers counts as numbers.

    >>> matrix, names, _ = design_matrix(np.array([[1, "b"], [None, "a"], [3, "b"]], dtype=object))
    >>> matrix.tolist(), names
    ([[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], ('0', '1=b'))
    """
    parts: list[Floats] = []
    names: list[str] = []
    notes: list[str] = []
    n = X.shape[0]
    for name, column in _columns(X):
        missing, values = _parsed(column, name)
        if missing.all():
            notes.append(f"column {name!r} is empty and was left out")
        elif values.dtype.kind in "fiub":
            parts.append(_filled(values.astype(np.float64), missing, name)[:, None])
            names.append(name)
        else:
            levels, indicators = _indicators(values, missing, name)
            parts.append(indicators)
            names.extend(f"{name}={level}" for level in levels)
    matrix = np.concatenate(parts, axis=1) if parts else np.empty((n, 0))
    return matrix, tuple(names), tuple(notes)


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Name and content of each column, as it came."""
    if not hasattr(X, "columns"):
        yield from ((str(j), X[:, j]) for j in range(X.shape[1]))
    elif hasattr(X, "iloc"):  # by position: names may be repeated
        yield from ((str(name), X.iloc[:, j]) for j, name in enumerate(X.columns))
    else:
        yield from ((str(name), X[name]) for name in X.columns)


def _parsed(column: Any, name: str) -> tuple[Bools, NDArray[Any]]:
    """Gaps and values of a column; values are numbers or text."""
    if not hasattr(column, "iloc"):
        return _read(np.asarray(column), name)
    missing = np.asarray(column.isna())
    if str(column.dtype) == "category":
        return missing, _text(column.astype(object))
    if column.dtype.kind in "iufb":
        return missing, column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _read(np.asarray(column), name, missing)


def _read(
    values: NDArray[Any], name: str, missing: Bools | None = None
) -> tuple[Bools, NDArray[Any]]:
    """Gaps and values of one column, as numbers if they read as numbers and as text if not."""
    if values.dtype.kind in "fiub":
        return np.isnan(values.astype(np.float64)), values
    if values.dtype.kind not in "OUST":
        raise InputError(
            f"column {name!r} of X must be numbers or text; got dtype {values.dtype}: convert it "
            "(a date, for instance, to days since a fixed day)"
        )
    if missing is None:
        text = values.astype(object)
        nothing = np.full(text.size, None)
        missing = np.asarray((text == nothing) | (text != text), dtype=bool)
    known = values[~missing]
    try:
        figures = np.full(values.size, np.nan)
        figures[~missing] = known.astype(np.float64)
    except (TypeError, ValueError):
        return missing, _text(values)
    return np.isnan(figures), figures


def _text(values: Any) -> NDArray[Any]:
    return np.asarray(values, dtype=object).astype(str)


def _filled(values: Floats, missing: Bools, name: str) -> Floats:
    """Fill gaps with the median; infinite values are refused."""
    known = values[~missing]
    if not np.isfinite(known).all():
        raise InputError(f"column {name!r} of X has infinite values; replace them first")
    return np.where(missing, np.median(known), values)


def _indicators(values: NDArray[Any], missing: Bools, name: str) -> tuple[list[str], Floats]:
    """One column per level but the first; gaps take the most frequent level."""
    levels, codes = np.unique(values[~missing], return_inverse=True)
    if levels.size > MAX_LEVELS:
        raise InputError(
            f"column {name!r} of X has {levels.size} different texts (at most {MAX_LEVELS}); drop "
            "it if it is an identifier, encode it otherwise"
        )
    filled = np.empty(values.size, dtype=np.intp)
    filled[~missing] = codes
    filled[missing] = np.bincount(codes).argmax()
    chosen = filled[:, None] == np.arange(1, levels.size)
    return [str(level) for level in levels[1:]], chosen.astype(np.float64)
