"""How much memory this process holds, and giving back what it does not use."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

#: Taken for what a process holds where the system does not say: Python, NumPy, SciPy and Arrow.
_UNKNOWN = 200_000_000


def resident() -> int:
    """Bytes of memory that this process holds now (its peak, where only that is known).

    >>> resident() > 10_000_000
    True
    """
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return _UNKNOWN
    peak = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else peak * 1024


def give_back() -> None:
    """Return free memory to the system: that of Arrow, and that of the C library (glibc)."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        with suppress(AttributeError):
            arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
