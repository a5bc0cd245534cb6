"""Features as they come: rows picked, leaks refused, and a numeric matrix for the Cox model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, numbers, to_numpy
from ..errors import InputError, numbered

#: A text column with more levels than this, and with fewer rows a level than `ROWS_A_LEVEL`, is
#: taken for an identifier and refused.
MAX_LEVELS = 50
ROWS_A_LEVEL = 20


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


def design_matrix(X: Any, fill: Mapping[str, Any] | None = None) -> tuple[Floats, tuple[str, ...]]:
    """Fill and encode all rows: (n, p) numbers and their names.

    Frames go through `survgauge.datasets.encoding`: gaps take the value of `fill`, else the median
    or the most frequent level; text becomes indicators without the first level. Gaps in arrays of
    numbers take the median.

    >>> design_matrix(np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]]))
    (array([[1., 5.], [2., 6.], [3., 7.]]), ('x0', 'x1'))
    """
    if hasattr(X, "columns"):
        return _encoded(X, fill)
    values = numbers(X, "X", ndim=2).astype(np.float64)
    missing = np.isnan(values)
    if np.isinf(values).any() or missing.all(axis=0).any():
        bad = np.flatnonzero(np.isinf(values).any(axis=0) | missing.all(axis=0))
        raise InputError(
            f"X must have numbers in every column; empty or infinite: {numbered(bad, 'column')}"
        )
    if missing.any():
        values = np.where(missing, np.nanmedian(values, axis=0), values)
    return values, tuple(f"x{j}" for j in range(values.shape[1]))


def _encoded(X: Any, fill: Mapping[str, Any] | None) -> tuple[Floats, tuple[str, ...]]:
    from ..datasets.encoding import Encoding

    frame = X if hasattr(X, "iloc") else X.to_pandas()
    for name, column in _columns(frame):
        levels = column.dtype.kind == "O" and not getattr(column.dtype, "ordered", False)
        most = max(MAX_LEVELS, len(frame) // ROWS_A_LEVEL)
        if levels and column.nunique() > most:
            raise InputError(
                f"column {name!r} of X has {column.nunique()} different texts in {len(frame)} rows "
                f"(at most {most}); drop it if it is an identifier, encode it otherwise"
            )
    plan = Encoding.fit(frame, fill=fill)
    return plan.transform(frame), plan.names


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Name and content of each column, as it came."""
    if not hasattr(X, "columns"):
        yield from ((str(j), X[:, j]) for j in range(X.shape[1]))
    elif hasattr(X, "iloc"):  # by position: names may be repeated
        yield from ((str(name), X.iloc[:, j]) for j, name in enumerate(X.columns))
    else:
        yield from ((str(name), X[name]) for name in X.columns)
