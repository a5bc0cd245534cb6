"""Columns of one batch as arrays: Arrow without copies, frames and mappings by duck typing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Ints
from ...errors import InputError, did_you_mean


def _holds_lists(kind: Any) -> bool:
    return str(kind).startswith(("list<", "large_list<", "fixed_size_list<", "list_view<"))


#: Arrow's names of types whose memory NumPy can share.
_SHARED = {"double", "float"} | {f"{u}int{size}" for u in ("", "u") for size in (8, 16, 32, 64)}


def _array(column: Any) -> NDArray[Any]:
    """Return an Arrow column as an array, without a copy where that is possible.

    Not by `to_numpy` where it can be helped: that imports pandas, which takes 40 MB.
    """
    kind = str(column.type)
    if not column.null_count and len(column) and kind == "bool":
        return np.from_dlpack(column.cast("uint8")).view(np.bool_)
    if not column.null_count and len(column) and kind in _SHARED:
        return np.from_dlpack(column)
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def require(wanted: Iterable[str], names: list[str], label: Any) -> None:
    """Refuse columns that are not among the names, or twice."""
    for name in wanted:
        count = names.count(name)
        if count > 1:
            raise InputError(f"{label}: column {name!r} appears {count} times")
        if not count:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            hint = did_you_mean(name, names)
            raise InputError(f"{label}: no column {name!r}{hint}; columns are {shown}")


class Batch:
    """Named columns of some rows; `label` says where they come from, for messages."""

    def __init__(self, data: Any, label: str = "batch") -> None:
        self.label = label
        self._arrow = False
        if hasattr(data, "to_arrow") and hasattr(data, "columns"):  # a polars frame
            data = data.to_arrow()
        if hasattr(data, "column_names") or hasattr(data, "schema"):
            self._arrow = True
            self.names = [str(name) for name in data.schema.names]
        elif isinstance(data, Mapping):
            self.names = [str(name) for name in data]
        elif hasattr(data, "columns") and hasattr(data, "__getitem__"):
            self.names = [str(name) for name in data.columns]
        else:
            raise InputError(
                f"{label}: a batch must be a mapping of columns, a frame or an Arrow batch; got "
                f"{type(data).__name__}"
            )
        self._data = data
        if len(set(self.names)) < len(self.names):
            twice, count = min(item for item in Counter(self.names).items() if item[1] > 1)
            raise InputError(f"{label}: column {twice!r} appears {count} times")
        if isinstance(data, Mapping):
            self._check_lengths(data)

    def _check_lengths(self, data: Mapping[Any, Any]) -> None:
        lengths = {}
        for name, column in data.items():
            if not hasattr(column, "__len__"):
                raise InputError(
                    f"{self.label}: column {name!r} must hold one entry per subject; got {column!r}"
                )
            lengths[name] = len(column)
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {size}" for name, size in list(lengths.items())[:8])
            raise InputError(
                f"{self.label}: columns must have the same number of rows; got {shown}"
            )

    def __len__(self) -> int:
        if self._arrow:
            return int(self._data.num_rows)
        if isinstance(self._data, Mapping):
            return len(next(iter(self._data.values()))) if self._data else 0
        return len(self._data)

    def refuse(self, name: str) -> None:
        """Refuse a column that the first batch did not have."""
        if name in self.names:
            raise InputError(f"{self.label}: column {name!r} was not there in the first batch")

    def rows(self, start: int, stop: int) -> Batch:
        """Some of the rows, as a view where the data allow it."""
        data = self._data
        if self._arrow:
            part = data.slice(start, stop - start)
        elif isinstance(data, Mapping):
            part = {name: column[start:stop] for name, column in data.items()}
        else:
            part = data.iloc[start:stop]
        return Batch(part, self.label)

    def require(self, names: Iterable[str]) -> None:
        """Refuse columns that are not there."""
        require(names, self.names, self.label)

    def _found(self, name: str) -> Any:
        self.require([name])
        column = self._data.column(name) if self._arrow else self._data[name]
        if self._arrow and hasattr(column, "combine_chunks"):  # a chunked column of a table
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
            if hasattr(column, "num_chunks"):
                column = column.chunk(0)
        return column

    def _column(self, name: str) -> Any:
        column = self._found(name)
        if self._arrow and column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(f"{self.label}: column {name!r} has no value in row {row + 1}")
        return column

    def head(self, name: str) -> Any:
        """Return the first value of a column as plain data."""
        column = self._data.column(name) if self._arrow else self._data[name]
        first = column[:1]
        return first.to_pylist() if self._arrow else np.asarray(first).tolist()

    def is_curves(self, name: str) -> bool:
        """Whether a column holds several numbers a row."""
        column = self._column(name)
        if self._arrow:
            return _holds_lists(column.type)
        if getattr(column, "ndim", 1) == 2:
            return True
        return len(column) > 0 and np.ndim(np.asarray(column[:1])[0]) == 1

    def metadata(self, name: str, key: str) -> bytes | None:
        """Return metadata of a column or, failing that, of the whole schema."""
        if not self._arrow:
            return None
        schema = self._data.schema
        for found in (schema.field(name).metadata, schema.metadata):
            value = (found or {}).get(key.encode())
            if value is not None:
                return bytes(value)
        return None

    def vector(self, name: str) -> NDArray[Any]:
        """Return a column with one number or flag a row."""
        column = self._column(name)
        if not self._arrow:
            array = np.asarray(column)
        elif _holds_lists(column.type):
            raise InputError(f"{self.label}: column {name!r} holds lists, not one number per row")
        else:
            array = _array(column)
        if array.dtype.kind in "mM":
            raise InputError(
                f"{self.label}: column {name!r} must be numbers; it holds dates or durations "
                f"({array.dtype}): choose a unit"
            )
        if array.dtype.kind not in "fiub":
            array = self._numbers(array, name)
        return array

    def codes(self, name: str) -> tuple[Ints, list[Any]]:
        """Return labels as (codes, values): values[codes[i]] is that of row i, -1 is a gap."""
        column = self._found(name)
        if self._arrow:
            if _holds_lists(column.type):
                raise InputError(f"{self.label}: column {name!r} holds lists, not labels")
            coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
            indices = _array(coded.indices.cast("int64").fill_null(-1))
            return indices.astype(np.intp), coded.dictionary.to_pylist()
        if hasattr(column, "factorize"):  # of a pandas frame
            codes, values = column.factorize()
            return np.asarray(codes, dtype=np.intp), list(values)
        array = column if isinstance(column, np.ndarray) else np.array(list(column), dtype=object)
        if array.ndim != 1:
            raise InputError(f"{self.label}: column {name!r} holds lists, not labels")
        if array.dtype != object:
            values, codes = np.unique(array, return_inverse=True)
            # Dates as they are: lists of fine ones hold bare numbers.
            return codes, list(values) if array.dtype.kind == "M" else values.tolist()
        known: dict[Any, int] = {}
        try:
            numbers = [known.setdefault(label, len(known)) for label in array.tolist()]
        except TypeError as error:
            raise InputError(f"{self.label}: column {name!r} must hold labels; {error}") from error
        return np.array(numbers, dtype=np.intp), list(known)

    def _numbers(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """Read Python objects as numbers; text is refused."""
        kind = type(array.flat[0]).__name__ if array.size else "nothing"
        try:
            if array.dtype != object or isinstance(array.flat[0], str | bytes):
                raise TypeError
            return array.astype(np.float64)
        except (TypeError, ValueError, IndexError):
            raise InputError(f"{self.label}: column {name!r} must be numbers; got {kind}") from None

    def matrix(self, name: str) -> NDArray[Any]:
        """Return a column of lists, all of one length, as a matrix with one row per subject."""
        column = self._column(name)
        if not self._arrow:
            return self._stacked(column, name)
        if not _holds_lists(column.type):
            raise InputError(
                f"{self.label}: column {name!r} must hold curves as lists; got {column.type}"
            )
        rows, values = len(column), column.flatten()
        if values.null_count:
            raise InputError(f"{self.label}: column {name!r} has curves with missing values")
        if hasattr(column, "offsets"):
            lengths = np.diff(_array(column.offsets))
            odd = np.flatnonzero(lengths != lengths[0]) if rows else lengths
            if odd.size:
                raise InputError(
                    f"{self.label}: column {name!r} has curves of different lengths: "
                    f"{lengths[0]} in row 1, {lengths[odd[0]]} in row {odd[0] + 1}"
                )
        array = _array(values)
        if array.dtype.kind not in "fiu":
            raise InputError(f"{self.label}: column {name!r} must hold lists of numbers")
        return array.reshape(rows, -1) if rows else array.reshape(0, 0)

    def _stacked(self, column: Any, name: str) -> NDArray[Any]:
        try:
            array = np.asarray(column)
            if array.dtype == object:
                array = np.stack(list(array))
        except ValueError as error:
            raise InputError(
                f"{self.label}: column {name!r} has curves of different lengths ({error})"
            ) from error
        if array.dtype.kind in "US":
            raise InputError(
                f"{self.label}: column {name!r} must hold curves; it holds text. Dask turns lists "
                "into text unless dask.config.set({'dataframe.convert-string': False})"
            )
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise InputError(
                f"{self.label}: column {name!r} must hold curves, one row of numbers per subject; "
                f"got shape {array.shape} of {array.dtype}"
            )
        return array
