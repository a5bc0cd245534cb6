"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .errors import InputError


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


def write_atomically(path: str | Path, content: str | bytes | Callable[[str], object]) -> Path:
    """Write under a temporary name beside the target, then put it in the target's place.

    `content` is text, bytes, or a function that fills the file whose name it is given.
    """
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
