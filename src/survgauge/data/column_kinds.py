"""Columns of frames: what they hold, and their levels. Needs no scikit-learn, as lists do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd


#: Objects of Python that databases and Arrow give, by pandas' names of them.
_NO_LEVELS = ("date", "datetime", "timedelta", "time", "decimal", "period", "interval")


def kinds_of(X: pd.DataFrame) -> list[str]:
    """Tell for each column whether it holds a number, ordered levels or unordered levels."""
    from pandas.api.types import infer_dtype

    seen: dict[Any, str | None] = {}  # by type: thousands of columns share a few
    kinds = []
    for number, (name, dtype) in enumerate(X.dtypes.items()):
        if dtype not in seen:
            seen[dtype] = _kind(dtype)
        kind = seen[dtype]
        held = infer_dtype(X.iloc[:, number]) if dtype == "object" else None
        if kind is None or held in _NO_LEVELS:
            raise InputError(
                f"column {name!r} must hold numbers, text or categories; got {held or dtype}. Drop "
                "it or turn it into a number first"
            )
        kinds.append(kind)
    return kinds


def _kind(dtype: Any) -> str | None:
    from pandas.api import types

    if getattr(dtype, "categories", None) is not None:
        return "ordered" if dtype.ordered else "unordered"
    if types.is_bool_dtype(dtype) or (
        types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    ):
        return "number"
    is_text = types.is_object_dtype(dtype) or types.is_string_dtype(dtype)
    return "unordered" if is_text else None


def levels_of(column: pd.Series) -> list[Any]:
    """Levels in their order: those of the type if it is a category, else the sorted values."""
    if getattr(column.dtype, "categories", None) is not None:
        return list(column.dtype.categories)
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)
