"""Where a result comes from: date, version, call, and the files that it was made of."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy
import scipy

from .. import __version__
from ..errors import InputError

#: Bytes that are read for a checksum; the checksum of larger inputs is left out.
MOST_BYTES = 4 * 2**30
_PIECE = 2**20
#: Arguments that the numbers do not depend on.
_MEANS = ("workers", "batch_rows", "progress", "client")


def provenance(call: str, inputs: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return the record of a result: date (UTC), versions, call, and the files it was made of.

    The environment variable ``SOURCE_DATE_EPOCH`` (seconds since 1970) fixes the date, so that the
    same input gives the same bytes.
    """
    return {
        "date": now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": __version__,
        "computed_with": (
            f"Python {platform.python_version()}, NumPy {numpy.__version__}, "
            f"SciPy {scipy.__version__}"
        ),
        "call": call,
        "inputs": list(inputs),
    }


def now() -> datetime:
    """Return the time, or what `SOURCE_DATE_EPOCH` says."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        return datetime.now(timezone.utc)
    try:
        return datetime.fromtimestamp(int(given), timezone.utc)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"SOURCE_DATE_EPOCH must be a number of seconds since 1970; got {given!r}"
        ) from error


def call_text(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Write a call with the settings that differ from the default; data are only named.

    >>> def f(x, y=None, *, tau=None, unit=""): ...
    >>> call_text(f, {"x": [1, 2], "y": [3], "tau": 4.0, "unit": ""})
    'survgauge.f(x, y=..., tau=4.0)'
    """
    parts = []
    for name, parameter in inspect.signature(function).parameters.items():
        value, default = arguments[name], parameter.default
        if name in _MEANS:
            continue
        if default is inspect.Parameter.empty:
            parts.append(repr(value) if isinstance(value, str) else name)
        elif _is_setting(value):
            if value != default:
                parts.append(f"{name}={value!r}")
        elif value is not default:
            parts.append(f"{name}=...")
    return f"survgauge.{function.__name__}({', '.join(parts)})"


def _is_setting(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) <= 40 and all(isinstance(item, str | int | float) for item in value)
    return isinstance(value, str | bool | int | float)


def input_record(name: str | os.PathLike[str], files: Iterable[Path]) -> dict[str, Any]:
    """Describe an input: its name, files, bytes and SHA-256 checksum.

    Of several files it is the checksum of lines ``<checksum>  <name>`` in the order of their names,
    as ``sha256sum * | sha256sum`` gives it.
    """
    found = sorted(files, key=lambda path: path.name)
    size = sum(path.stat().st_size for path in found)
    record = {"name": Path(name).name, "files": len(found), "bytes": size, "sha256": None}
    if size <= MOST_BYTES:
        sums = [_checksum(path) for path in found]
        lines = "".join(f"{s}  {p.name}\n" for s, p in zip(sums, found, strict=True))
        several = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
        record["sha256"] = sums[0] if len(sums) == 1 else several
    return record


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
