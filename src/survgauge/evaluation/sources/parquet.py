"""Parquet files as a source: row groups are pieces of work, and every error names its file.

Rows are decoded some at a time by `pyarrow.parquet`. A scanner of `pyarrow.dataset` decodes a row
group whole: of one with a million curves of 100 values it took 1.3 GB and twice the time, against
0.26 GB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..._tools.extras import need
from ...data.tables import naming, open_parquet, parquet_files
from ...errors import InputError
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
