"""Where something was computed: versions and machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "survgauge", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "lifelines",
    "scikit-survival", "torch", "joblib", "dask", "distributed", "threadpoolctl", "SurvSet",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Describe where something was computed."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "executable": Path(sys.executable).name,
        "packages": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Versions of the packages that numbers depend on.

    >>> "numpy" in package_versions()
    True
    """
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def is_environment(found: Mapping[str, Any]) -> bool:
    """Whether a record describes data sets and sessions."""
    data, sessions = found.get("data"), found.get("sessions")
    if not isinstance(data, dict) or not isinstance(sessions, list):
        return False
    return all(isinstance(f, dict) and {"checksum", "rows"} <= set(f) for f in data.values())
