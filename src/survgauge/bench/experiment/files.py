"""Files of a store: each says what was written into it, or is known to be damaged.

Records are JSON with a checksum, results of cells Parquet with the name of the cell and a checksum
of what the rows say, predictions NumPy archives with a checksum after their end.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from ..._tools.extras import need
from ...data.tables import open_parquet

#: Arrays by name: predictions of a model, or the curves of a distribution.
Arrays = dict[str, Any]


class DamagedError(Exception):
    """A file does not say what was written into it."""


def _checksum(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def packed_json(record: Mapping[str, Any]) -> bytes:
    """Write a record and its checksum.

    >>> read_json(packed_json({"value": 0.1}))
    {'value': 0.1}
    """
    sealed = {**record, "checksum": _checksum(record)}
    return (json.dumps(sealed, indent=2, allow_nan=False) + "\n").encode()


def read_json(content: bytes) -> dict[str, Any]:
    """Read what `packed_json` wrote.

    >>> read_json(packed_json({"value": 0.1}).replace(b"0.1", b"0.3"))
    Traceback (most recent call last):
    survgauge.bench.experiment.files.DamagedError: its content does not match its checksum
    """
    try:
        record: dict[str, Any] = dict(json.loads(content.decode("utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError("it is empty" if not content else f"no JSON: {error}") from error
    if record.pop("checksum", None) != _checksum(record):
        raise DamagedError("its content does not match its checksum")
    return record


def packed_table(rows: list[dict[str, Any]], cell: str) -> Any:
    """Rows of a cell as a table of Arrow that says which cell it is about, and what it holds."""
    pa = need("pyarrow", "writing Parquet", "experiment")
    about = {"cell": cell, "sha256": _checksum([cell, rows])}
    return pa.Table.from_pylist(rows).replace_schema_metadata(about)


def parquet_bytes(table: Any) -> bytes:
    """Write a table as Parquet whose pages carry checksums."""
    parquet = need("pyarrow.parquet", "writing Parquet", "experiment")
    content = io.BytesIO()
    parquet.write_table(table, content, write_page_checksum=True)
    return content.getvalue()


def read_table(content: bytes, cell: str) -> Any:
    """Read the table of a cell.

    >>> table = packed_table([{"metric": "mae_po", "value": 0.1}], "a/b")
    >>> read_table(parquet_bytes(table), "a/b").to_pylist()
    [{'metric': 'mae_po', 'value': 0.1}]
    """
    pa = need("pyarrow", "reading Parquet", "experiment")
    try:
        with open_parquet(pa.BufferReader(content), extra="experiment") as file:
            table = file.read(use_threads=False)
        found = _checksum([cell, table.to_pylist()])
    except Exception as error:  # whatever Arrow makes of bytes that nobody wrote
        reason = " ".join(str(error).split())
        raise DamagedError(f"no Parquet: {reason}" if content else "it is empty") from error
    about = table.schema.metadata or {}
    if about.get(b"cell") != cell.encode():
        raise DamagedError("it is about another cell")
    if about.get(b"sha256") != found.encode():
        raise DamagedError("its content does not match its checksum")
    return table


def packed_arrays(arrays: Arrays, cell: str) -> bytes:
    """Write arrays as an archive, and after it a checksum of it and of the name of the cell."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    archive = content.getvalue()
    return archive + sha256(cell.encode() + archive).digest()


def read_arrays(content: bytes, cell: str) -> Arrays:
    """Read what `packed_arrays` wrote.

    >>> read_arrays(packed_arrays({"risk": np.array([1.0, 2.0])}, "a/b"), "a/b")
    {'risk': array([1., 2.])}
    """
    archive, seal = content[:-32], content[-32:]
    if sha256(cell.encode() + archive).digest() != seal:
        raise DamagedError("its content does not match its checksum, or it is of another cell")
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
