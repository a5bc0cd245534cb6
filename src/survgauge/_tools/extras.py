"""Optional packages, imported where they are needed and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtraError


def need(module: str, feature: str, extra: str = "datasets") -> Any:
    """Import an optional package, or say which extra has it.

    >>> need("json", "this").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or ""
        if missing and missing.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there but broken: its own message says more
        raise MissingExtraError(feature, extra) from error


def installed(module: str) -> bool:
    """Whether a package could be imported, without importing it."""
    return find_spec(module) is not None
