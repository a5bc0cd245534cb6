"""Where batches come from: lists, functions, frames, queries, and files of Parquet, read in order.

Row groups of Parquet are pieces of work, and every error names its file. Rows are decoded some at a
time by `pyarrow.parquet`. A scanner of `pyarrow.dataset` decodes a row group whole: of one with a
million curves of 100 values it took 1.3 GB and twice the time, against 0.26 GB.
"""

from __future__ import annotations

import pickle
import tempfile
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..._tools.extras import need
from ...data.outcomes import IntervalOutcomes
from ...data.tables import naming, open_parquet, parquet_files
from ...errors import InputError
from ...estimators.reference import OutcomeCounts, Reference
from ..reading import joined, training_intervals, wrong_training
from .batches import Batch, require
from .layout import Layout

#: Rows decoded at once.
READ_ROWS = 131_072
#: Bytes of a column that are read at once.
_BUFFER = 1 << 16
#: Between the name of a model and a column of its own files.
SEPARATOR = "/"


def _arrow(module: str = "pyarrow") -> Any:
    return need(module, "reading Parquet", "parquet")


@lru_cache(maxsize=256)
def _footer(path: Path, changed: int, size: int) -> Any:
    """Metadata of a file, read once: each row group is a piece of work that opens it anew."""
    return _arrow("pyarrow.parquet").read_metadata(path)


def _metadata(path: Path) -> Any:
    with naming(path):
        found = path.stat()
        return _footer(path, found.st_mtime_ns, found.st_size)


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file."""

    path: Path
    number: int
    #: Number of its first row in all files.
    start: int
    rows: int

    def read(self, columns: list[str] | None, size: int) -> Iterator[Any]:
        """Decode the row group, `size` rows at a time."""
        done = 0
        # Buffered: otherwise all bytes of the row group are read before its first rows.
        options: dict[str, Any] = {"buffer_size": _BUFFER, "pre_buffer": False}
        metadata = _metadata(self.path)
        with naming(self.path), open_parquet(self.path, metadata=metadata, **options) as file:
            require(columns or (), file.schema_arrow.names, self.path)
            for batch in file.iter_batches(
                size, row_groups=[self.number], columns=columns, use_threads=False
            ):
                done += batch.num_rows
                yield batch
        if done != self.rows:
            raise InputError(f"{self.path}: row group {self.number} has {done} of {self.rows} rows")


class ParquetRows:
    """All row groups of some files, numbered through."""

    def __init__(self, where: Any) -> None:
        self.where = str(where[0] if isinstance(where, list) and where else where)
        self.paths = parquet_files(where)
        self.groups: list[RowGroup] = []
        self.rows = 0
        for path in self.paths:
            metadata = _metadata(path)
            for number in range(metadata.num_row_groups):
                rows = int(metadata.row_group(number).num_rows)
                if rows:
                    self.groups.append(RowGroup(path, number, self.rows, rows))
                    self.rows += rows

    def names(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield each file with its columns."""
        for path in self.paths:
            with naming(path):
                schema = _metadata(path).schema.to_arrow_schema()
            yield path, list(schema.names)

    def schema(self) -> tuple[Path, Any]:
        """Return the first file that has rows, and its schema."""
        path = self.groups[0].path if self.groups else self.paths[0]
        with naming(path):
            return path, _metadata(path).schema.to_arrow_schema()

    def between(
        self, start: int, stop: int, columns: list[str] | None, size: int
    ) -> Iterator[tuple[Path, Any]]:
        """Rows `start` to `stop`, in Arrow batches, each with its file."""
        for k in range(self._group_of(start), self._group_of(stop - 1) + 1):
            group, at = self.groups[k], self.groups[k].start
            for batch in group.read(columns, size):
                first, last = max(start - at, 0), min(stop - at, batch.num_rows)
                at += batch.num_rows
                if first < last:
                    yield group.path, batch.slice(first, last - first)
                if at >= stop:
                    break

    def _group_of(self, row: int) -> int:
        """Which row group a row belongs to."""
        return bisect_right(self.groups, row, key=lambda group: group.start) - 1


class ParquetSource:
    """Outcomes in Parquet, with predictions beside them or in files of their own."""

    def __init__(
        self, where: Any, apart: Mapping[str, Any] | None = None, batch_rows: int | None = None
    ) -> None:
        self.main = ParquetRows(where)
        self.apart = {name: ParquetRows(path) for name, path in (apart or {}).items()}
        self.rows: int | None = self.main.rows
        self.size = min(batch_rows or READ_ROWS, READ_ROWS)
        for name, rows in self.apart.items():
            if rows.rows != self.main.rows:
                raise InputError(
                    f"predictions of {name!r} must have one row per subject: {self.main.where} has "
                    f"{self.main.rows}, {rows.where} has {rows.rows}"
                )
        if not self.main.rows:
            raise InputError(f"{self.main.where}: no rows; at least one subject is needed")

    def first(self) -> Batch:
        """Return all columns without rows: reading some of every column may take much memory."""
        path, schema = self.main.schema()
        apart = {name: rows.schema()[1] for name, rows in self.apart.items()}
        schema = _joined_schema({"": schema, **apart})
        columns = [_arrow().nulls(0, field.type) for field in schema]
        return Batch(_arrow().RecordBatch.from_arrays(columns, schema=schema), str(path))

    def items(self, columns: list[str] | None) -> Iterator[ParquetItem]:
        """Yield the row groups of the outcomes' files."""
        for group in self.main.groups:
            yield ParquetItem(self, group.start, group.start + group.rows)

    def split(self, columns: list[str] | None) -> dict[str, list[str] | None]:
        """Columns of the outcomes' files (""), and of each model's own; None: all of them."""
        if columns is None:
            return dict.fromkeys(("", *self.apart))
        found: dict[str, list[str]] = {name: [] for name in ("", *self.apart)}
        for column in columns:
            name, mark, rest = column.partition(SEPARATOR)
            if mark and name in self.apart:
                found[name].append(rest)
            else:
                found[""].append(column)
        return {**found}

    def check(self, layout: Layout) -> None:
        """Refuse files that lack a column, or have more curves, before hours of work."""
        wanted = self.split(layout.columns())
        for name, rows in {"": self.main, **self.apart}.items():
            prefix = f"{name}{SEPARATOR}" if name else ""
            for path, names in rows.names():
                require(wanted[name] or (), names, path)
                layout.refuse_more([prefix + column for column in names], str(path))

    def check_alike(self, column: str) -> None:
        """Refuse a column that some files have and others have not."""
        having = {path: column in names for path, names in self.main.names()}
        if len(set(having.values())) > 1:
            path = next(path for path, has in having.items() if not has)
            raise InputError(f"{path}: no column {column!r}, which other files have")


@dataclass(frozen=True)
class ParquetItem:
    """Rows of the outcomes' files with the same rows of other files."""

    source: ParquetSource
    start: int
    stop: int

    def batches(self, columns: list[str] | None, most: int = READ_ROWS) -> Iterator[Batch]:
        """Read the rows in order, at most so many at once."""
        source, wanted = self.source, self.source.split(columns)
        size = min(source.size, most)
        streams = {
            name: rows.between(self.start, self.stop, wanted[name], size)
            for name, rows in {"": source.main, **source.apart}.items()
            if name == "" or wanted[name] != []
        }
        start = self.start
        for paths, parts in _side_by_side(streams):
            last = start + parts[""].num_rows
            files = ", ".join(dict.fromkeys(map(str, paths)))
            yield Batch(_joined(parts), f"{files} (rows {start} to {last - 1})")
            start = last


def _side_by_side(
    streams: dict[str, Iterator[tuple[Path, Any]]],
) -> Iterator[tuple[list[Path], dict[str, Any]]]:
    """Cut batches of several files so that their rows match."""
    held: dict[str, tuple[Path, Any]] = {}
    while True:
        for name, stream in streams.items():
            if name not in held:
                found = next(stream, None)
                if found is None:
                    return
                held[name] = found
        rows = min(batch.num_rows for _, batch in held.values())
        yield (
            [path for path, _ in held.values()],
            {name: batch.slice(0, rows) for name, (_, batch) in held.items()},
        )
        held = {
            name: (path, batch.slice(rows))
            for name, (path, batch) in held.items()
            if batch.num_rows > rows
        }


def _joined(parts: dict[str, Any]) -> Any:
    """Put the columns of several batches side by side."""
    if len(parts) == 1:
        return parts[""]
    schema = _joined_schema({name: batch.schema for name, batch in parts.items()})
    columns = [column for batch in parts.values() for column in batch.columns]
    return _arrow().RecordBatch.from_arrays(columns, schema=schema)


def _joined_schema(schemas: dict[str, Any]) -> Any:
    """Put the fields of several schemas side by side, others' under `model/column`."""
    if len(schemas) == 1:
        return schemas[""]
    pa = _arrow()
    return pa.schema(
        [
            pa.field(
                f"{name}{SEPARATOR}{field.name}" if name else field.name,
                field.type,
                metadata=field.metadata or schema.metadata,
            )
            for name, schema in schemas.items()
            for field in schema
        ]
    )


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
    """

    #: Number of rows, where it is known without reading them.
    rows: int | None = None

    def __init__(
        self,
        open_: Open,
        label: str = "batch",
        *,
        head: Callable[[], Any] | None = None,
    ) -> None:
        self._open, self._label, self._head = open_, label, head
        #: What the first batch is known again by, if it has been seen.
        self._mark: tuple[int, str] | None = None

    def first(self) -> Batch:
        """Return the first batch that has rows."""
        for number, data in enumerate(self._open(None) if self._head is None else [self._head()]):
            batch = Batch(data, f"{self._label} {number}")
            if len(batch):
                self._mark = _mark_of(batch) if self._head is None else None
                return batch
        raise InputError("the stream has no rows; at least one subject is needed")

    def items(self, columns: list[str] | None) -> Iterator[Held]:
        """Yield each batch with the number of its first row."""
        if self._head is not None:  # of a query, which reads the columns asked for
            self.first().require(columns or [])
        start = 0
        for number, data in enumerate(self._open(columns)):
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
        return BatchSource(SpooledBatches(data).again if once else lambda _: data)
    raise InputError(
        "batches must be a path to Parquet, a frame, a list of batches, a function that returns "
        f"an iterator, or a query; got {type(data).__name__}"
    )


class SpooledBatches:
    """Batches of an iterator, which are written to a temporary file to be read again."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches: Iterable[Any] | None = batches
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def again(self, _columns: list[str] | None) -> Iterator[Any]:
        """Begin anew."""
        if self._batches is not None:
            for batch in self._batches:
                pickle.dump(batch, self._file, pickle.HIGHEST_PROTOCOL)
            self._batches = None
        size, place = self._file.seek(0, 2), 0
        while place < size:
            self._file.seek(place)
            yield pickle.load(self._file)
            place = self._file.tell()


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


def reference_of(
    y_train: Any,
    time: str = "time",
    event: str = "event",
    weight: str | None = None,
    causes: bool = False,
    entry: str | None = None,
    intervals: bool = False,
) -> Any:
    """Return the reference set: outcomes, or those of batches.

    Batches count with the frequencies in column `weight`, if they have it; all or none must.
    Several causes have to be known before the first batch, so they come with outcomes only. With
    `intervals` the result is `IntervalOutcomes`; right-censored outcomes are a special case.
    """
    if y_train is None:
        raise InputError(
            "y_train must be given: a stream is evaluated against a fixed reference set, as "
            "its own outcomes are not known before the end"
        )
    if isinstance(y_train, OutcomeCounts):
        y_train = y_train.reference()
    if isinstance(y_train, Reference):
        return IntervalOutcomes.of(y_train.given, "y_train") if intervals else y_train
    if not _is_stream(y_train):
        if intervals:
            return training_intervals(y_train)
        if isinstance(y_train, IntervalOutcomes):
            raise wrong_training()
        return Reference(y_train, causes=causes)
    if causes:
        raise InputError(
            "y_train must be outcomes in memory where a cause is asked for, such as "
            "sg.Outcomes(time, event, causes=[...]), which say what the causes are; got "
            f"{type(y_train).__name__}"
        )
    source = as_source(y_train)
    first = source.first()
    weighted = weight is not None and weight in first.names
    entry = entry if entry is None or entry in first.names else None
    layout = Layout({}, time, event, weight if weighted else None, entry=entry).resolved(first)
    source.check(layout)
    if weight is not None:
        source.check_alike(weight)
    unless = weight if not weighted else None
    parts = _read(source, layout, unless)
    if layout.are_intervals or intervals:
        if layout.are_intervals and not intervals:
            raise wrong_training(first.label)
        return training_intervals(joined(list(parts)))
    return Reference(joined(list(parts)))


def _read(source: RowSource, layout: Layout, without: str | None) -> Iterator[Any]:
    """Yield the outcomes of all batches, none of which may have the column `without`."""
    columns = layout.outcome_columns
    for item in source.items(columns):
        for batch in item.batches(columns):
            if len(batch):
                if without is not None:
                    batch.refuse(without)
                yield layout.outcomes(batch)


#: What frames and queries of Arrow, DuckDB and Polars have, and outcomes have not.
_OF_BATCHES = ("fetch_record_batch", "to_batches", "collect_schema", "read_next_batch")


def _is_stream(y_train: Any) -> bool:
    """Whether these are batches, not outcomes such as a (time, event) pair."""
    if isinstance(y_train, list):
        return bool(y_train) and all(_is_batch(item) for item in y_train)
    is_made = isinstance(y_train, str | Path | Iterator) or callable(y_train)
    return is_made or any(hasattr(y_train, name) for name in _OF_BATCHES)


def _is_batch(item: Any) -> bool:
    """Whether an item of a list is a batch, or a path to some."""
    is_named = isinstance(item, str | Path | Mapping)
    return is_named or hasattr(item, "columns") or hasattr(item, "schema")
