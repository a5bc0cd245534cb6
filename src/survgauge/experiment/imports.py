"""Things that a plan names by where they can be imported from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from ..errors import InputError


def look_in(folder: str | None) -> bool:
    """Put a folder first on the import path, as Python does with the folder of a script.

    Returns whether it was not there yet.
    """
    if folder is None or folder in sys.path:
        return False
    sys.path.insert(0, folder)
    invalidate_caches()  # files may be newer than what Python knows of the folder
    return True


@contextmanager
def looking_in(folder: str | None) -> Iterator[None]:
    """Look for modules in a folder for a while.

    Modules that lie in it are forgotten afterwards: the next run reads them as they are then, and
    another plan may have modules of the same names beside it.
    """
    before, added = set(sys.modules), look_in(folder)
    try:
        yield
    finally:
        if added:
            sys.path.remove(str(folder))
            for name in set(sys.modules) - before:
                # Not packages of an environment that happens to lie below the folder.
                base = Path(str(folder), name.partition(".")[0])
                if base.with_suffix(".py").is_file() or (base / "__init__.py").is_file():
                    del sys.modules[name]


def imported(path: str, what: str) -> Any:
    """Import ``module:name``.

    >>> imported("math:floor", "it")(2.5)
    2
    """
    module, separator, name = path.partition(":")
    if not separator:
        raise InputError(f"{what} must be 'module:name'; got {path!r}")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # a module of the user's can raise anything
        raise InputError(
            f"{what} {path!r} cannot be imported ({type(error).__name__}: {error}); modules are "
            "looked for beside the plan and where Python finds packages"
        ) from error
