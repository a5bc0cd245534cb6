"""Where batches come from: lists, functions, frames, queries and datasets, each read in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from .batches import Batch
from .layout import Layout
from .parquet import ParquetItem, ParquetSource

#: Rows of a frame or a query that make one piece of work.
ITEM_ROWS = 262_144
#: Rows of a query that are looked at before it runs.
_HEAD_ROWS = 64

#: Begins anew and returns the batches; given the columns that are needed, or None for all.
Open = Callable[[list[str] | None], Iterable[Any]]


@dataclass(frozen=True)
class Held:
    """A batch that is in memory already, and the number of its first row in the whole source."""

    batch: Batch
    start: int

    def batches(self, columns: list[str] | None, most: int | None = None) -> Iterator[Batch]:
        """Yield the batch."""
        yield self.batch


class BatchSource:
    """Batches from something that can be iterated, once or again and again.

    Parameters
    ----------
    open_ : function
        Begins anew and returns the batches. It is called with the columns that are needed (None:
        all), and may leave out the others.
    label : str
        What to call a batch in messages.
    head : function, optional
        Returns some first rows, where that is less work than to begin.
    again : bool
        Whether `open_` can be called more than once.
    """

    #: Number of rows, where it is known without reading them.
    rows: int | None = None

    def __init__(
        self,
        open_: Open,
        label: str = "batch",
        *,
        head: Callable[[], Any] | None = None,
        again: bool = True,
    ) -> None:
        self._open, self._label, self._head, self.again = open_, label, head, again
        #: Batches of an iterator that were read to see the first rows.
        self._peeked: list[Any] = []
        #: What the first batch is known again by, if it has been seen.
        self._mark: tuple[int, str] | None = None

    def first(self) -> Batch:
        """Return the first batch that has rows."""
        for number, data in enumerate(self._open(None) if self._head is None else [self._head()]):
            if not self.again:
                self._peeked.append(data)
            batch = Batch(data, f"{self._label} {number}")
            if len(batch):
                self._mark = _mark_of(batch) if self._head is None else None
                return batch
        raise InputError("the stream has no rows; at least one subject is needed")

    def _all(self, columns: list[str] | None) -> Iterator[Any]:
        yield from self._peeked
        self._peeked = []
        yield from self._open(columns)

    def items(self, columns: list[str] | None) -> Iterator[Held]:
        """Yield each batch with the number of its first row."""
        if self._head is not None:  # whoever leaves columns out has to have those that are needed
            self.first().require(columns or [])
        start = 0
        for number, data in enumerate(self._all(columns)):
            where = f" (rows from {start} on)" if self._head is not None else ""
            batch = Batch(data, f"{self._label} {number}{where}")
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

    def check(self, layout: Layout) -> None:
        """Every batch is checked where it is scored."""

    def check_alike(self, column: str) -> None:
        """Every batch is checked where it is read."""


#: Some rows of a source, which can be read by themselves (in another thread or process).
Item = Held | ParquetItem
#: Rows in order.
RowSource = BatchSource | ParquetSource


def _mark_of(batch: Batch) -> tuple[int, str]:
    """Number of rows and the first value of each column, to know a batch again by."""
    return len(batch), repr([batch.head(name) for name in batch.names[:8]])


def as_source(
    data: Any, *, apart: Mapping[str, Any] | None = None, batch_rows: int | None = None
) -> RowSource:
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
    if are_paths(data):
        return ParquetSource(data, apart, batch_rows)
    if apart:
        raise InputError("apart: predictions in other folders need outcomes in Parquet files")
    if hasattr(data, "to_delayed"):
        raise InputError("batches is a Dask frame: use evaluate_dask")
    size = min(batch_rows or ITEM_ROWS, ITEM_ROWS)
    if hasattr(data, "collect_schema") and not hasattr(data, "iter_slices"):
        return _of_lazy_frame(data, size)
    if hasattr(data, "fetch_record_batch"):
        return _of_relation(data, size)
    if hasattr(data, "scanner"):
        return _of_dataset(data, size)
    if hasattr(data, "to_batches"):  # an Arrow table
        return BatchSource(lambda _: data.to_batches(), "Arrow batch")
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        return BatchSource(lambda _: _slices(data))
    if callable(data):
        return BatchSource(lambda _: _opened(data))
    if isinstance(data, Iterable):
        once = isinstance(data, Iterator) or iter(data) is data
        return BatchSource(lambda _: data, again=not once)
    raise InputError(
        "batches must be a path to Parquet, a frame, a list of batches, a function that returns "
        f"an iterator, or a query; got {type(data).__name__}"
    )


def are_paths(data: Any) -> bool:
    """Whether this is a path, or a list of paths.

    >>> are_paths("test/"), are_paths(["a.parquet", "b.parquet"]), are_paths([])
    (True, True, False)
    """
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(item, str | Path) for item in data)
    return isinstance(data, str | Path)


def _of_relation(relation: Any, size: int) -> BatchSource:
    """Return the rows of a DuckDB relation, which is run anew for each pass."""

    def run(columns: list[str] | None) -> Any:
        query = relation
        if columns is not None:
            query = query.project(", ".join('"' + c.replace('"', '""') + '"' for c in columns))
        reader = getattr(query, "to_arrow_reader", None) or query.fetch_record_batch
        return reader(size)

    def head() -> Any:
        few = relation.limit(_HEAD_ROWS)
        read = getattr(few, "to_arrow_table", None) or few.arrow
        return read()

    return BatchSource(run, "DuckDB batch", head=head)


def _of_lazy_frame(frame: Any, size: int) -> BatchSource:
    """Return the rows of a lazy frame of Polars, which is run anew for each pass."""

    def run(columns: list[str] | None) -> Any:
        query = frame if columns is None else frame.select(columns)
        if hasattr(query, "collect_batches"):  # older versions hold the columns in memory
            return query.collect_batches(chunk_size=size, maintain_order=True)
        return query.collect().iter_slices(size)

    return BatchSource(run, "Polars batch", head=lambda: frame.limit(_HEAD_ROWS).collect())


def _of_dataset(dataset: Any, size: int) -> BatchSource:
    """Return the rows of an Arrow dataset, with the columns that are needed."""
    return BatchSource(
        lambda columns: dataset.to_batches(columns=columns, batch_size=size),
        "Arrow batch",
        head=lambda: dataset.head(_HEAD_ROWS),
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
        yield from data.iter_slices(ITEM_ROWS)
        return
    whole = Batch(data)
    for start in range(0, len(whole), ITEM_ROWS):
        yield whole.rows(start, min(start + ITEM_ROWS, len(whole)))._data
