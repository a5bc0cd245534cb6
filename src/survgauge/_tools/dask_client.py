"""A connection to a Dask cluster, or one line that says why there is none."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import InputError
from .extras import need


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
