"""One run at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError


@contextmanager
def locked_file(folder: Path, name: str) -> Iterator[None]:
    """Make a folder and hold a file of it; the system lets go if this process dies."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"store must be a folder; {folder} is a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / name).open("w")
    except OSError as error:
        raise InputError(f"store {folder} cannot be written: {error}") from error
    with file:
        if not _is_ours(file):
            raise InputError(
                f"store {folder} is in use by another run; wait for it or give another"
            )
        yield


def _is_ours(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows; two runs would repeat work but not damage anything
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another run may have removed the file between our opening and locking it.
        return os.path.samestat(os.fstat(file.fileno()), os.stat(file.name))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # a file system without locks
