"""Tables of other libraries: lazy frames, queries, and whatever speaks Arrow's C interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from .extras import need

#: What lazy frames of Polars, Arrow's streams and DuckDB relations (old ones too) have.
LAZY = ("collect_schema", "__arrow_c_stream__", "to_arrow_table")


def in_memory(obj: Any) -> Any:
    """Return the table that a query, a reader or a lazy frame gives; anything else as it is.

    >>> in_memory({"time": [1, 2]})
    {'time': [1, 2]}
    """
    if is_arrow(obj) and hasattr(obj, "schema") and not hasattr(obj, "combine_chunks"):
        return need("pyarrow", "reading Arrow batches", "parquet").Table.from_batches([obj])
    if isinstance(obj, Mapping) or hasattr(obj, "__array__"):
        return obj
    if hasattr(obj, "collect_schema") and hasattr(obj, "collect"):  # a lazy frame of Polars
        return obj.collect()
    if hasattr(obj, "to_arrow_table"):  # a DuckDB relation; old ones have no Arrow interface
        need("pyarrow", "reading DuckDB relations", "parquet")
        return obj.to_arrow_table()
    if hasattr(obj, "__arrow_c_stream__"):
        return need("pyarrow", "reading Arrow streams", "parquet").table(obj)
    return obj


def table_columns(obj: Any, argument: str) -> dict[Any, Any] | None:
    """Return columns by name, of a mapping or a table of any library; None: it is neither.

    >>> table_columns({"time": [1, 2]}, "y"), table_columns([1, 2], "y")
    ({'time': [1, 2]}, None)
    """
    obj = in_memory(obj)
    if isinstance(obj, Mapping):
        return dict(obj)
    if is_arrow(obj) and hasattr(obj, "schema"):
        names, columns = list(obj.schema.names), obj.columns
    elif hasattr(obj, "columns") and hasattr(obj, "__getitem__"):  # pandas, Polars
        names, columns = list(obj.columns), None
    else:
        return None
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{argument} must have columns of distinct names; it has {twice!r} twice")
    if columns is None:
        return {name: obj[name] for name in names}
    return dict(zip(names, columns, strict=True))


def shown_columns(columns: Mapping[Any, Any]) -> str:
    """Name the first columns of a table, and say how many there are beside them.

    >>> shown_columns({"days": 1, "died": 2})
    "'days', 'died'"
    """
    more = len(columns) - 8
    return ", ".join(repr(str(name)) for name in list(columns)[:8]) + (
        f" and {more} more" if more > 0 else ""
    )


def is_arrow(obj: Any) -> bool:
    """Whether this is a table, a batch or a column of Arrow."""
    return hasattr(obj, "to_pylist")


def column_or_table(obj: Any) -> Any:
    """Return what a query gives, as a vector if it has one column; anything else as it is.

    DuckDB relations and lazy frames have no columns to pick: one is a table with one column.
    """
    table = in_memory(obj)
    if table is obj or table.shape[1] != 1:
        return table
    return np.asarray(next(iter((table_columns(table, "a query") or {}).values())))


def array_of_query(obj: Any, argument: str) -> Any:
    """Return a query with one column as a vector and with several as a matrix; else the same."""
    table = column_or_table(obj)
    if table is obj or isinstance(table, np.ndarray):
        return table
    columns = table_columns(table, argument) or {}
    return np.column_stack([np.asarray(column) for column in columns.values()])


def rows_of(table: Any, rows: Any) -> Any:
    """Return some rows of an array, or of a table or column of any library.

    >>> rows_of(np.array([5, 6, 7]), [0, 2])
    array([5, 7])
    """
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.take(rows) if is_arrow(table) else table[rows]
