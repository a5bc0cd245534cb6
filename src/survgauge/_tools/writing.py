"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

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
