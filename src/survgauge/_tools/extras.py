"""Optional packages, imported where they are needed and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import InputError, MissingExtraError


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


def connect(scheduler: str | None, worker: str, timeout: float = 20.0) -> Any:
    """Connect to a scheduler; `worker` is the command that starts a worker, for the message."""
    distributed = need("distributed", "engine 'dask'", "dask")
    if not scheduler:
        raise InputError(
            "engine 'dask' needs the address of a scheduler (--scheduler tcp://HOST:8786); "
            f"`dask scheduler` starts one, `{worker}` its workers"
        )
    try:
        if not scheduler.startswith("inproc://"):
            # A client of an address that cannot be is made all the same, and ends in a traceback.
            import_module("distributed.comm").get_address_host_port(scheduler)
        return distributed.Client(scheduler, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler}: {error}") from error
