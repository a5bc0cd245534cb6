"""Where batches come from: lists, functions, frames, queries, Parquet; each read in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError
from .batches import Batch

#: Rows of a frame or a query that are read at once.
BATCH_ROWS = 262_144


class Item(Protocol):
    """Some rows of a source, which can be read by themselves (in another thread or process)."""

    @property
    def start(self) -> int:
        """Number of the first row in the whole source."""

    def batches(self, columns: list[str] | None) -> Iterator[Batch]:
        """Read the rows in order; only some columns, or all."""


class Source(Protocol):
    """Rows in order."""

    @property
    def rows(self) -> int | None:
        """Number of rows, where it is known without reading them."""

    @property
    def again(self) -> bool:
        """Whether it can be read more than once."""

    def first(self) -> Batch:
        """Return some first rows (or none), to see which columns there are."""

    def items(self, columns: list[str] | None) -> Iterator[Item]:
        """Return pieces of work, in order."""


@dataclass(frozen=True)
class Held:
    """A batch that is in memory already."""

    batch: Batch
    start: int

    def batches(self, columns: list[str] | None) -> Iterator[Batch]:
        """Yield the batch."""
        yield self.batch


class Sequence:
    """Batches from something that can be iterated, once or again and again."""

    def __init__(self, open_: Callable[[], Iterable[Any]], again: bool, label: str) -> None:
        self._open, self.again, self._label = open_, again, label
        self.rows: int | None = None
        self._peeked: list[Any] = []
        self._iterator: Iterator[Any] | None = None
        self._mark: tuple[int, str] | None = None

    def first(self) -> Batch:
        """Return the first batch that has rows."""
        iterator = iter(self._open())
        if not self.again:
            self._iterator = iterator
        for number, data in enumerate(iterator):
            if not self.again:
                self._peeked.append(data)
            batch = Batch(data, f"{self._label} {number}")
            if len(batch):
                self._mark = _mark_of(batch)
                return batch
        raise InputError("the stream has no rows; at least one subject is needed")

    def _all(self) -> Iterator[Any]:
        if self.again:
            yield from self._open()
            return
        yield from self._peeked
        self._peeked = []
        yield from self._iterator if self._iterator is not None else self._open()

    def items(self, columns: list[str] | None) -> Iterator[Held]:
        """Yield each batch with the number of its first row."""
        start = 0
        for number, data in enumerate(self._all()):
            batch = Batch(data, f"{self._label} {number}")
            if len(batch):
                if start == 0 and self._mark not in (None, _mark_of(batch)):
                    raise InputError(
                        "batches must begin anew whenever they are asked for: the first batch was "
                        "another one before; pass the iterator itself if it can be read only once"
                    )
                yield Held(batch, start)
                start += len(batch)
        if start == 0 and self._mark is not None:
            raise InputError("batches must begin anew whenever they are asked for: none came")


def _mark_of(batch: Batch) -> tuple[int, str]:
    """Number of rows and the first value of each column, to know a batch again by."""
    return len(batch), repr([batch.head(name) for name in batch.names[:8]])


class Query:
    """A DuckDB relation or a Polars lazy frame: run anew for each pass, only the columns needed."""

    rows: int | None = None
    again = True

    def __init__(self, query: Any, size: int = BATCH_ROWS) -> None:
        self._query, self.size = query, size
        self._duck = hasattr(query, "fetch_record_batch") or hasattr(query, "to_arrow_reader")
        self._label = "DuckDB batch" if self._duck else "Polars batch"

    def first(self) -> Batch:
        """Return the first rows."""
        head = self._query.limit(64)
        batch = Batch(_arrow(head) if self._duck else head.collect(), self._label)
        if not len(batch):
            raise InputError("the query has no rows; at least one subject is needed")
        return batch

    def items(self, columns: list[str] | None) -> Iterator[Held]:
        """Run the query and yield its batches."""
        start = 0
        for data in self._run(columns):
            batch = Batch(data, f"{self._label} (rows from {start} on)")
            if len(batch):
                yield Held(batch, start)
                start += len(batch)

    def _run(self, columns: list[str] | None) -> Iterator[Any]:
        query = self._query
        if self._duck:
            if columns is not None:
                query = query.project(", ".join('"' + c.replace('"', '""') + '"' for c in columns))
            reader = getattr(query, "to_arrow_reader", None) or query.fetch_record_batch
            yield from reader(self.size)
            return
        if columns is not None:
            query = query.select(columns)
        if hasattr(query, "collect_batches"):  # older versions hold the columns in memory
            yield from query.collect_batches(chunk_size=self.size, maintain_order=True)
        else:
            yield from query.collect().iter_slices(self.size)


def _arrow(relation: Any) -> Any:
    read = getattr(relation, "to_arrow_table", None) or relation.arrow
    return read()


def as_source(
    data: Any, *, apart: Mapping[str, Any] | None = None, batch_rows: int | None = None
) -> Source:
    """Find out what batches can be read from.

    Takes a path (file, folder or glob of Parquet), a list of paths, of batches or of frames, a
    function that returns an iterator, an Arrow table, dataset or reader, a pandas or Polars frame
    (also lazy), a DuckDB relation, or an iterator, which can be read only once. Rows of files and
    queries are read `batch_rows` at a time, if that is fewer than usual.
    """
    if apart is not None and not isinstance(apart, Mapping):
        raise InputError(
            f"apart must be a mapping of a model's name to its files; got {type(apart).__name__}"
        )
    if isinstance(data, str | Path):
        from .parquet import ParquetSource

        return ParquetSource(data, apart, batch_rows)
    if isinstance(data, list | tuple) and data and all(isinstance(p, str | Path) for p in data):
        from .parquet import ParquetSource

        return ParquetSource(list(data), apart, batch_rows)
    if apart:
        raise InputError("apart: predictions in other folders need outcomes in Parquet files")
    if hasattr(data, "to_delayed"):
        raise InputError("batches is a Dask frame: use evaluate_dask")
    lazy = hasattr(data, "collect_schema") and not hasattr(data, "iter_slices")
    if lazy or hasattr(data, "fetch_record_batch"):
        return Query(data, min(batch_rows or BATCH_ROWS, BATCH_ROWS))
    if hasattr(data, "to_batches"):  # an Arrow table or dataset
        return Sequence(data.to_batches, True, "Arrow batch")
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        return Sequence(lambda: _slices(data), True, "batch")
    if callable(data):
        return Sequence(lambda: _opened(data), True, "batch")
    if isinstance(data, Iterable):
        once = isinstance(data, Iterator) or iter(data) is data
        return Sequence(lambda: data, not once, "batch")
    raise InputError(
        "batches must be a path to Parquet, a frame, a list of batches, a function that returns "
        f"an iterator, or a query; got {type(data).__name__}"
    )


def _opened(function: Callable[[], Any]) -> Iterable[Any]:
    """Call the caller's function, which may have forgotten to return something."""
    found = function()
    if not isinstance(found, Iterable):
        raise InputError(
            "batches must return an iterator of batches where it is a function; it returned "
            f"{type(found).__name__}"
        )
    return found


def _slices(data: Any) -> Iterator[Any]:
    """Cut a frame into pieces of bounded size."""
    if hasattr(data, "iter_slices"):
        yield from data.iter_slices(BATCH_ROWS)
        return
    whole = Batch(data)
    for start in range(0, len(whole), BATCH_ROWS):
        yield whole.rows(start, min(start + BATCH_ROWS, len(whole)))._data
