"""Tables of other libraries: lazy frames, queries, tensors, and what speaks Arrow's C interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .extras import need

if TYPE_CHECKING:
    import pandas as pd

#: What lazy frames of Polars, Arrow's streams, DuckDB relations (old ones too) and tensors have.
LAZY = ("collect_schema", "__arrow_c_stream__", "to_arrow_table", "detach")


def in_memory(obj: Any, argument: str = "a table") -> Any:
    """Return what a query, a reader, a lazy frame or a tensor has; anything else as it is.

    >>> in_memory({"time": [1, 2]})
    {'time': [1, 2]}
    """
    if callable(getattr(obj, "detach", None)):  # a torch tensor, perhaps on another device
        return _read(lambda: _array_of_tensor(obj), argument)
    if is_arrow(obj) and hasattr(obj, "schema") and not hasattr(obj, "combine_chunks"):
        return need("pyarrow", "reading Arrow batches", "parquet").Table.from_batches([obj])
    if isinstance(obj, Mapping) or hasattr(obj, "__array__"):
        return obj
    if hasattr(obj, "collect_schema") and hasattr(obj, "collect"):  # a lazy frame of Polars
        return _read(obj.collect, argument)
    if hasattr(obj, "to_arrow_table"):  # a DuckDB relation; old ones have no Arrow interface
        need("pyarrow", "reading DuckDB relations", "parquet")
        return _read(obj.to_arrow_table, argument)
    if hasattr(obj, "__arrow_c_stream__"):
        pa = need("pyarrow", "reading Arrow streams", "parquet")
        return _read(lambda: pa.table(obj), argument)
    return obj


def _array_of_tensor(tensor: Any) -> Any:
    found = tensor.detach().cpu()
    if str(found.dtype) == "torch.bfloat16":  # which NumPy has not
        found = found.float()
    return found.numpy(force=True) if hasattr(found, "resolve_neg") else np.asarray(found)


def _read(read: Callable[[], Any], argument: str) -> Any:
    """Read what another library holds; whatever it raises becomes one sentence."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # each library has errors of its own: closed connections, typos
        told = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{argument} could not be read: {told}") from error


def table_columns(obj: Any, argument: str) -> dict[Any, Any] | None:
    """Return columns by name, of a mapping or a table of any library; None: it is neither.

    >>> table_columns({"time": [1, 2]}, "y"), table_columns([1, 2], "y")
    ({'time': [1, 2]}, None)
    """
    obj = in_memory(obj, argument)
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


def column_or_table(obj: Any, argument: str = "a query") -> Any:
    """Return what a query gives, as a vector if it has one column; anything else as it is.

    DuckDB relations and lazy frames have no columns to pick: one is a table with one column.
    """
    table = in_memory(obj, argument)
    if table is obj or isinstance(table, np.ndarray) or table.shape[1] != 1:
        return table
    return np.asarray(next(iter((table_columns(table, argument) or {}).values())))


def array_of_query(obj: Any, argument: str) -> Any:
    """Return a query with one column as a vector and with several as a matrix; else the same."""
    table = column_or_table(obj, argument)
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


def refuse_other_order(
    rows: Any, argument: str, others: Mapping[str, Any], curves: bool = False
) -> None:
    """Refuse tables that have the row labels of `rows` in another order, as rows go by position.

    Labels that are other ones say nothing, and most tables have none. Frames of `curves` have
    subjects in their columns.

    >>> refuse_other_order([1.0, 2.0], "y_test", {"by": ["f", "m"]})
    """
    expected = _row_labels(rows[0] if isinstance(rows, tuple) and rows else rows)
    for name, given in others.items():
        found = None if expected is None else _row_labels(given, curves)
        if found is None or len(found) != len(expected) or found.equals(expected):
            continue
        if found.isin(expected).all() and expected.isin(found).all():
            raise InputError(
                f"{name} must have the subjects in the order of {argument}: it has the same row "
                "labels in another order, and rows are matched by position; sort one like the "
                "other, as .loc does, or drop the labels with .to_numpy() where the order is right"
            )


def _row_labels(obj: Any, curves: bool = False) -> Any:
    """Return the labels of subjects in a series or frame of pandas; None: it is neither."""
    index = getattr(obj, "index", None)
    if not hasattr(index, "get_indexer"):
        return None
    return obj.columns if curves and hasattr(obj, "columns") else index


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
