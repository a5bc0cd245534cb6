"""Files of a store carry a checksum of what they say, so that damage never passes for a result."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from .grid import Place

KEY = "checksum"
_MARK = b"survgauge sha256 "
_HEADING = {"cell", "digest", "seconds"}
_RESULT = _HEADING | {"data", "notes", "metrics", "warnings"}
_FAILURE = _HEADING | {"error", "message", "traceback"}
_NUMBERS = ("value", "stderr", "true_value", "true_stderr")
_TEXTS = ("note", "error")
_ROW = {"metric", "truth", *_TEXTS, *_NUMBERS}


class DamagedError(Exception):
    """A file does not say what was written into it."""


def seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """Add the checksum of a record.

    >>> unseal(json.dumps(seal({"value": 0.1})).encode())
    {'value': 0.1}
    """
    return {**record, KEY: _checksum(record)}


def unseal(content: bytes, strict: bool = True) -> dict[str, Any]:
    """Read a record and compare its checksum; without `strict` it need not have one.

    Raises
    ------
    DamagedError
        With the reason.

    Examples
    --------
    >>> unseal(json.dumps(seal({"value": 0.1})).replace("0.1", "0.3").encode())
    Traceback (most recent call last):
    survgauge.experiment.sealed.DamagedError: its content does not match its checksum
    """
    try:
        record = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedError("it is empty" if not content else f"no JSON: {error}") from error
    if not isinstance(record, dict):
        raise DamagedError(f"it holds a {type(record).__name__}, not a record")
    if KEY not in record:
        if strict:
            raise DamagedError("it has no checksum")
        return record
    expected = record.pop(KEY)
    if expected != _checksum(record):
        raise DamagedError("its content does not match its checksum")
    return record


def _checksum(record: Mapping[str, Any]) -> str:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def seal_archive(content: bytes, name: str) -> bytes:
    """Put the checksum of a NumPy archive, and of its name, where zip files have their comment."""
    seal_ = _MARK + _archive_checksum(content, name)
    # Two bytes at the end of a zip file give the length of the comment that follows them.
    return content[:-2] + len(seal_).to_bytes(2, "little") + seal_


def check_archive(content: bytes, name: str, strict: bool = True) -> None:
    """Compare the checksum of an archive; without `strict` it need not have one."""
    length = len(_MARK) + 64
    seal_ = content[-length:]
    if not seal_.startswith(_MARK):
        if strict or not content:
            raise DamagedError("it has no checksum" if content else "it is empty")
        return
    bare = content[: -length - 2] + b"\0\0"
    if seal_[len(_MARK) :] != _archive_checksum(bare, name):
        raise DamagedError("its content does not match its checksum")


def _archive_checksum(content: bytes, name: str) -> bytes:
    return sha256(name.encode() + b"\0" + content).hexdigest().encode()


# -- shapes: files of earlier versions have no checksum, and a checksum fits any JSON -------------


def check_result(record: Mapping[str, Any], cell: Place) -> None:
    """Refuse what is not the result of this cell."""
    _check_heading(record, cell, _RESULT)
    data, rows = record.get("data"), record.get("metrics")
    if not isinstance(data, dict) or not all(map(_is_number, data.values())):
        raise DamagedError("it has no facts about the data")
    truths = {spec.label: spec.truth_label for spec in cell.common.metrics}
    if not isinstance(rows, list) or not all(_is_row(row, truths) for row in rows):
        raise DamagedError("its metrics are not those of the plan")
    if len({row["metric"] for row in rows}) < len(rows):
        raise DamagedError("it has a metric twice")


def check_failure(record: Mapping[str, Any], cell: Place) -> None:
    """Refuse what is not the record of this cell's failure."""
    _check_heading(record, cell, _FAILURE)
    if not all(isinstance(record.get(k), str) for k in ("error", "message", "traceback")):
        raise DamagedError("it does not say what failed")


def _check_heading(record: Mapping[str, Any], cell: Place, keys: set[str]) -> None:
    strange = sorted(set(record) - keys)
    if strange:
        raise DamagedError(f"it has an entry {strange[0]!r} that no record has")
    if record.get("digest") != cell.digest or record.get("cell") != cell.names():
        raise DamagedError("it is about another cell")
    seconds: Any = record.get("seconds")
    known = isinstance(seconds, dict) and all(map(_is_number, seconds.values()))
    if not known or "total" not in seconds:
        raise DamagedError("it does not say how long the cell took")


def _is_row(row: Any, truths: dict[str, str]) -> bool:
    if not isinstance(row, dict) or not {"metric", "truth", *_NUMBERS} <= set(row) <= _ROW:
        return False
    if not isinstance(row["metric"], str) or truths.get(row["metric"]) != row["truth"]:
        return False
    texts = all(isinstance(row.get(k), str | None) for k in _TEXTS)
    return texts and all(_is_number(row[k]) for k in _NUMBERS)


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number, or None, which stands for one that does not exist."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
