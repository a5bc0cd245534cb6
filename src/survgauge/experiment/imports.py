"""Things that a plan names by where they can be imported from."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import InputError


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
    except (ImportError, AttributeError) as error:
        raise InputError(f"{what} {path!r} cannot be imported: {error}") from error
