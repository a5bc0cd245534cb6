"""Parquet files as a source: row groups are pieces of work, and every error names its file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._tools.extras import need
from ..data.tables import naming, open_parquet, parquet_files
from ..errors import InputError, did_you_mean
from .batches import Batch
from .layout import Layout

#: Rows decoded at once.
BATCH_ROWS = 65_536
#: Bytes of a column that are read at once.
_BUFFER = 1 << 16
#: Between the name of a model and a column of its own files.
SEPARATOR = "/"


def _open(path: Path) -> Any:
    with naming(path):
        found = path.stat()
        known = _metadata(path, found.st_mtime_ns, found.st_size)
        # Buffered: otherwise all of a row group's bytes are read before its first rows.
        return open_parquet(path, metadata=known, buffer_size=_BUFFER, pre_buffer=False)


@lru_cache(maxsize=256)
def _metadata(path: Path, changed: int, size: int) -> Any:
    """Footer of a file, read once: each row group is a piece of work that opens the file anew."""
    return need("pyarrow.parquet", "reading Parquet", "parquet").read_metadata(path)


@dataclass(frozen=True)
class Group:
    """One row group."""

    path: Path
    number: int
    start: int
    rows: int

    def read(self, columns: list[str] | None, size: int) -> Iterator[Any]:
        """Decode the row group, `size` rows at a time."""
        file = _open(self.path)
        with file, naming(self.path):
            _check_columns(self.path, file.schema_arrow.names, columns)
            options = {"columns": columns, "use_threads": False}
            done = 0
            for batch in file.iter_batches(size, row_groups=[self.number], **options):
                done += batch.num_rows
                yield batch
        if done != self.rows:
            raise InputError(f"{self.path}: row group {self.number} has {done} of {self.rows} rows")


def _check_columns(path: Path, names: list[str], columns: list[str] | None) -> None:
    twice = [name for name in columns or () if names.count(name) > 1]
    if twice:
        raise InputError(f"{path}: column {twice[0]!r} appears {names.count(twice[0])} times")
    missing = [name for name in columns or () if name not in names]
    if missing:
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        hint = did_you_mean(missing[0], names)
        raise InputError(f"{path}: no column {missing[0]!r}{hint}; columns are {shown}")


class Rows:
    """All row groups of some files, numbered through."""

    def __init__(self, where: Any) -> None:
        self.where = str(where[0] if isinstance(where, list) and where else where)
        self.groups: list[Group] = []
        self.paths = parquet_files(where)
        start = 0
        for path in self.paths:
            with _open(path) as file:
                metadata = file.metadata
                for number in range(metadata.num_row_groups):
                    rows = int(metadata.row_group(number).num_rows)
                    if rows:
                        self.groups.append(Group(path, number, start, rows))
                        start += rows
        self.rows = start
        self._starts = [group.start for group in self.groups]

    def names(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield each file with its columns."""
        for path in self.paths:
            with _open(path) as file:
                yield path, list(file.schema_arrow.names)

    def between(
        self, start: int, stop: int, columns: list[str] | None, size: int
    ) -> Iterator[tuple[Path, Any]]:
        """Rows `start` to `stop`, in Arrow batches, each with its file."""
        k = bisect_right(self._starts, start) - 1
        while k < len(self.groups) and self.groups[k].start < stop:
            group, at = self.groups[k], self.groups[k].start
            for batch in group.read(columns, size):
                first, last = max(start - at, 0), min(stop - at, batch.num_rows)
                at += batch.num_rows
                if first < last:
                    yield group.path, batch.slice(first, last - first)
                if at >= stop:
                    break
            k += 1

    def schema_batch(self) -> tuple[Path, Any]:
        """Return all columns without rows: reading some of every column may take much memory."""
        pa = need("pyarrow", "reading Parquet", "parquet")
        path = self.groups[0].path if self.groups else self.paths[0]
        with _open(path) as file, naming(path):
            schema = file.schema_arrow
            columns = [pa.nulls(0, field.type) for field in schema]
            return path, pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class ParquetItem:
    """Rows of the outcomes' files with the same rows of other files."""

    main: Rows
    apart: dict[str, Rows]
    start: int
    stop: int
    size: int

    def batches(self, columns: list[str] | None) -> Iterator[Batch]:
        """Read the rows in order."""
        own, others = split_columns(columns, self.apart)
        streams = {"": self.main.between(self.start, self.stop, own, self.size)}
        for name, rows in self.apart.items():
            if others is None or others.get(name):
                wanted = None if others is None else others[name]
                streams[name] = rows.between(self.start, self.stop, wanted, self.size)
        start = self.start
        for labels, tables in _side_by_side(streams):
            last = start + next(iter(tables.values())).num_rows
            yield Batch(_joined(tables), f"{', '.join(dict.fromkeys(map(str, labels)))}"
                        f" (rows {start} to {last - 1})")  # fmt: skip
            start = last


def split_columns(
    columns: list[str] | None, apart: Mapping[str, Any]
) -> tuple[list[str] | None, dict[str, list[str]] | None]:
    """Columns of the outcomes' files and of each model's own."""
    if columns is None:
        return None, None
    others: dict[str, list[str]] = {name: [] for name in apart}
    own = []
    for column in columns:
        name, mark, rest = column.partition(SEPARATOR)
        if mark and name in others:
            others[name].append(rest)
        else:
            own.append(column)
    return own, others


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


def _joined(tables: dict[str, Any]) -> Any:
    """Put the columns of several batches side by side, others' under `model/column`."""
    if len(tables) == 1:
        return tables[""]
    pa = need("pyarrow", "reading Parquet", "parquet")
    fields, arrays = [], []
    for name, batch in tables.items():
        for k, field in enumerate(batch.schema):
            prefix = f"{name}{SEPARATOR}" if name else ""
            metadata = field.metadata or batch.schema.metadata
            fields.append(pa.field(prefix + field.name, field.type, metadata=metadata))
            arrays.append(batch.column(k))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


class ParquetSource:
    """Outcomes in Parquet, with predictions beside them or in files of their own."""

    again = True

    def __init__(
        self, where: Any, apart: Mapping[str, Any] | None = None, batch_rows: int | None = None
    ) -> None:
        self.main = Rows(where)
        self.apart = {name: Rows(path) for name, path in (apart or {}).items()}
        self.rows: int | None = self.main.rows
        self.size = min(batch_rows or BATCH_ROWS, BATCH_ROWS)
        for name, rows in self.apart.items():
            if rows.rows != self.main.rows:
                raise InputError(
                    f"predictions of {name!r} must have one row per subject: {self.main.where} has "
                    f"{self.main.rows}, {rows.where} has {rows.rows}"
                )
        if not self.main.rows:
            raise InputError(f"{self.main.where}: no rows; at least one subject is needed")

    def first(self) -> Batch:
        """Return all columns, without rows."""
        path, batch = self.main.schema_batch()
        tables = {"": batch}
        for name, rows in self.apart.items():
            tables[name] = rows.schema_batch()[1]
        return Batch(_joined(tables), str(path))

    def items(self, columns: list[str] | None) -> Iterator[ParquetItem]:
        """Yield the row groups of the outcomes' files."""
        for group in self.main.groups:
            stop = group.start + group.rows
            yield ParquetItem(self.main, self.apart, group.start, stop, self.size)

    def check(self, layout: Layout) -> None:
        """Refuse files that lack a column, or have more curves, before hours of work."""
        own, others = split_columns(layout.columns(), self.apart)
        for name, rows in {"": self.main, **self.apart}.items():
            wanted = (others or {}).get(name) if name else own
            for path, names in rows.names():
                _check_columns(path, names, wanted)
                prefix = f"{name}{SEPARATOR}" if name else ""
                layout.refuse_more([prefix + column for column in names], str(path))

    def check_alike(self, column: str) -> None:
        """Refuse a column that some files have and others have not."""
        having = {path: column in names for path, names in self.main.names()}
        if len(set(having.values())) > 1:
            path = next(path for path, has in having.items() if not has)
            raise InputError(f"{path}: no column {column!r}, which other files have")
