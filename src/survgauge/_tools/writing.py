"""Files are written whole or not at all, and results say where they come from."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that cannot be written, before work is done for it."""
    try:
        target = Path(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(target)  # pathlib would take a name that cannot exist for one that does not
        if target.is_symlink():
            target = target.resolve()  # the link stays a link
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise InputError(f"cannot write {path!r}: {error}") from error
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: folder {target.parent} does not exist")
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder")
    if target.exists() and not target.is_file():
        # Putting a file in its place would destroy, for one, the null device.
        raise InputError(f"cannot write {target}: it is a device or a pipe, not a file")
    return target


def check_outputs(
    targets: Mapping[str, str | None], inputs: Iterable[str | os.PathLike[str]]
) -> None:
    """Refuse, before any work, targets that cannot be written or that would destroy an input.

    Targets are paths by the option that names them; None and ``-`` (standard output) are left out.
    An input under another name (link, relative path, other case) counts as the same file.
    """
    taken = [(os.fspath(path), os.fspath(path)) for path in inputs]
    for option, path in targets.items():
        if path is None or path == "-":
            continue
        place = str(check_target(path))
        for other, name in taken:
            if is_same_file(place, other):
                raise InputError(f"{option} {path} would overwrite {name}; give another name")
        taken.append((place, path))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, be it through links, or to one place without a file."""
    with suppress(OSError, ValueError):  # one of them does not exist, or cannot
        return os.path.samefile(one, other)
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except (OSError, ValueError):
        return False


def write_atomically(
    path: str | Path,
    content: str | bytes | Callable[[str], object],
    *,
    make_folder: bool = False,
) -> Path:
    """Write under a temporary name beside the target, then put it in the target's place.

    `content` is text, bytes, or a function that fills the file whose name it is given. A folder
    that does not exist is made with `make_folder`, and refused without.
    """
    if make_folder:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error}") from error
    target = check_target(path)
    place = ""
    try:
        # The suffix stays at the end: writers choose the format by it.
        handle, place = tempfile.mkstemp(
            dir=target.parent, prefix=".survgauge-", suffix=target.suffix
        )
        os.close(handle)
        if callable(content):
            content(place)
        else:
            data = content.encode() if isinstance(content, str) else content
            Path(place).write_bytes(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(place, 0o666 & ~mask)  # mkstemp is stricter than a new file
        os.replace(place, target)
    except BaseException as error:
        if place:
            Path(place).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {target}: {error}") from error
        raise
    return target


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
        "computed_with": _computed_with(),
        "call": call,
        "inputs": list(inputs),
    }


@cache  # reading what a package says of itself takes milliseconds
def _computed_with() -> str:
    return f"Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}"


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


class WrittenOut:
    """An object that a call is written with: its repr is what to type."""


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
    return isinstance(value, str | bool | int | float | WrittenOut)


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
