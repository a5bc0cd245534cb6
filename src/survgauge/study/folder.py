"""A folder of files that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError


def check_folder(folder: str | os.PathLike[str], overwrite: bool) -> Path:
    """Refuse, before work is done for it, a folder that cannot be written."""
    target = Path(folder)
    try:
        if target.exists() and not target.is_dir():
            raise InputError(f"cannot write into {target}: it is a file, not a folder")
        if target.is_dir() and any(target.iterdir()) and not overwrite:
            raise InputError(
                f"folder {target} has files already; name another folder, or replace those of the "
                "same names (overwrite=True, --overwrite)"
            )
        if not target.parent.is_dir():
            raise InputError(f"cannot make {target}: folder {target.parent} does not exist")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot write into {folder!r}: {error}") from error
    return target


def fill_folder(
    folder: str | os.PathLike[str], fill: Callable[[Path], object], *, overwrite: bool = False
) -> tuple[str, ...]:
    """Let `fill` write into a folder of a temporary name, then move it into its place.

    Returns the names of the files. Into a folder that exists, files are moved one by one when all
    of them are written; others in it stay.
    """
    target = check_folder(folder, overwrite)
    place = ""
    try:
        place = tempfile.mkdtemp(dir=target.parent, prefix=".survgauge-")
        made = Path(place)
        fill(made)
        names = tuple(sorted(path.name for path in made.iterdir()))
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)  # mkdtemp is stricter than a new folder
        if target.is_dir():
            for name in names:
                os.replace(made / name, target / name)
        else:
            os.rename(made, target)
    except OSError as error:
        raise InputError(f"cannot write into {target}: {error}") from error
    finally:
        if place:
            shutil.rmtree(place, ignore_errors=True)
    return names
