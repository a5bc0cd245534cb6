"""Features of training and test subjects as matrices of numbers with the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, numbers, to_numpy
from ..._tools.extras import installed
from ..._tools.frames import is_arrow
from ...errors import InputError, MissingExtraError, located, numbered


def matrices(fitted: Any, others: Any, names: tuple[str, str]) -> tuple[Floats, Floats, list[str]]:
    """Encode rows by what `fitted` shows: two matrices, and warnings.

    Medians and levels of the `fitted` rows fill gaps and make columns. `names` are what the two
    arguments are called in messages.
    """
    frames = _is_frame(fitted), _is_frame(others)
    for X, argument in zip((fitted, others), names, strict=True):
        if _is_frame(X):
            _check_columns(X, argument)
    if frames[0] != frames[1]:
        kinds = ["a frame" if frame else "an array" for frame in frames]
        raise InputError(
            f"{names[0]} and {names[1]} must be of one kind, so that columns can be matched; "
            f"got {kinds[0]} and {kinds[1]}"
        )
    if frames[0]:
        return _from_frames(fitted, others, names)
    first, second = _matrix(fitted, names[0]), _matrix(others, names[1])
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"{names[1]} must have the columns of {names[0]}: {first.shape[1]}; "
            f"got {second.shape[1]}"
        )
    return (*_varying(first, second), [])


def numeric_columns(X: Any, argument: str) -> Any:
    """Return features as numbers without gaps: arrays as they are, frames as columns by name."""
    if not _is_frame(X) or _plain(X) is not None:
        return X
    frame = _frame(X, argument).dropna(axis=1, how="all")
    prepare = _prepared(frame, argument)
    return dict(zip(prepare.get_feature_names_out(), prepare.transform(frame).T, strict=True))


def _check_columns(X: Any, argument: str) -> None:
    """Refuse columns that share a name or differ in length."""
    names = _names(X)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{argument} must have columns of distinct names; it has {twice!r} twice")
    sizes = {len(X[name]) for name in names} if isinstance(X, Mapping) else set()
    if len(sizes) > 1:
        raise InputError(
            f"{argument} must have columns of one length, with an entry per subject; got lengths "
            f"from {min(sizes)} to {max(sizes)}"
        )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") or isinstance(X, Mapping)


def _plain(X: Any, names: list[Any] | None = None) -> Floats | None:
    """Matrix of a frame that has numbers only and no gaps, which needs no extra; None otherwise."""
    columns = []
    for name in _names(X) if names is None else names:
        column = X[name]
        levels = getattr(getattr(column, "dtype", None), "categories", None)
        values = np.asarray(column)
        if levels is not None or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            return None
        columns.append(values.astype(np.float64))
    return np.stack(columns, axis=1) if columns else None


def _names(X: Any) -> list[Any]:
    if isinstance(X, Mapping):
        return list(X)
    return list(X.schema.names if is_arrow(X) else X.columns)


def _matrix(X: Any, argument: str) -> Floats:
    """Read an array of numbers without gaps."""
    values = to_numpy(X, argument)
    if values.ndim != 2:
        raise InputError(
            f"{argument} must have a row per subject and a column per feature; got shape "
            f"{values.shape}"
        )
    if values.dtype.kind in "OUS":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{argument} must hold numbers where it is an array; got text. Give a frame "
                "(pandas or polars), whose text columns are encoded"
            ) from None
    matrix = numbers(values, argument, ndim=2).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=0))
    if bad.size:
        raise InputError(
            f"{argument} must be finite where it is an array; there are NaN or infinite values in "
            f"{numbered(bad, 'column')}. Fill them, or give a frame, whose gaps are filled"
        )
    return matrix


def _frame(X: Any, argument: str) -> Any:
    """Read a frame of pandas, polars or Arrow, or a mapping of columns, as one of pandas."""
    if not installed("pandas") or not installed("sklearn"):
        raise MissingExtraError(f"{argument} with text or gaps", "sklearn")
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X
    if isinstance(X, Mapping):
        return pd.DataFrame(dict(X))
    to_pandas = getattr(X, "to_pandas", None)
    if not callable(to_pandas):
        raise InputError(
            f"{argument} must be an array or a frame of pandas or polars; got {type(X).__name__}"
        )
    return to_pandas()


def _from_frames(
    fitted: Any, others: Any, names: tuple[str, str]
) -> tuple[Floats, Floats, list[str]]:
    """Encode two frames; columns are matched by name."""
    expected, found = _names(fitted), _names(others)
    missing = [str(c) for c in expected if c not in set(found)]
    extra = [str(c) for c in found if c not in set(expected)]
    if missing or extra:
        raise InputError(
            f"{names[1]} must have the columns of {names[0]}; missing {missing[:5]}, not expected "
            f"{extra[:5]}"
        )
    plain = _plain(fitted, expected), _plain(others, expected)
    if plain[0] is not None and plain[1] is not None:
        return (*_varying(plain[0], plain[1]), [])
    first, second = _frame(fitted, names[0]), _frame(others, names[1])
    empty = [c for c in first.columns if first[c].isna().all()]
    notes = [f"column {c!r} of {names[0]} is empty and was left out" for c in empty]
    first, second = first.drop(columns=empty), second.drop(columns=empty)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        prepare = _prepared(first, names[0])
        with located(names[1]):
            encoded = prepare.transform(first), prepare.transform(second)
    notes += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return (*encoded, notes)


def _prepared(frame: Any, argument: str) -> Any:
    """Encoding that was learnt from the rows of a frame."""
    from ...data.preprocessing import Preprocessor

    try:
        with located(argument):
            return Preprocessor(standardize=False, drop_constant=True).fit(frame)
    except TypeError as error:  # cells that are no values, such as lists
        raise InputError(
            f"{argument} must hold numbers, text or categories, one value per cell: {error}"
        ) from error


def _varying(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Leave out columns that are constant in the rows that learners are fitted on."""
    varies = (first != first[:1]).any(axis=0)
    return first[:, varies], second[:, varies]
