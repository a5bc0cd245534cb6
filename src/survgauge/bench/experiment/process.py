"""What a cell may use of its process, threads and time; and what the process itself is."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

#: Packages whose thread pools exist only after they are imported.
_WITH_POOLS = ("numpy", "scipy.linalg", "sklearn", "sksurv", "torch", "numexpr")
_limited: dict[str, Any] = {}
#: One cell at a time in a process: thread limits and caught warnings belong to the process.
ONE_CELL = threading.RLock()


class CellTimeoutError(BaseException):
    """A cell took longer than the plan allows.

    Not an `Exception`, because libraries that try one thing after another would swallow it.
    """


def limit_threads(threads: int) -> None:
    """Limit linear algebra, OpenMP and torch in this process, again after new imports."""
    loaded = tuple(name for name in _WITH_POOLS if name in sys.modules)
    if _limited.get("state") == (threads, loaded):
        return
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        pass
    else:
        # Kept alive: an object that is thrown away may take its limits with it.
        _limited["pools"] = threadpool_limits(limits=threads)
    if "torch" in sys.modules:
        import torch

        _limited.setdefault("torch", torch.get_num_threads())
        torch.set_num_threads(threads)
    _limited["state"] = (threads, loaded)


def restore_threads() -> None:
    """Undo `limit_threads` in a process that goes on with something else."""
    pools = _limited.pop("pools", None)
    if pools is not None:
        pools.restore_original_limits()
    before = _limited.pop("torch", None)
    if before is not None:
        import torch

        torch.set_num_threads(before)
    _limited.clear()


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `CellTimeoutError` in this thread after so many seconds.

    It strikes when Python gets the word: a single call into compiled code ends first.
    """
    if seconds is None:
        yield
    elif threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _by_signal(seconds):
            yield
    else:
        with _by_exception(seconds):
            yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def strike(number: int, frame: Any) -> None:
        raise CellTimeoutError(f"the cell took longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _by_exception(seconds: float) -> Iterator[None]:
    """For threads other than the main one, which signals do not reach."""
    target = ctypes.c_ulong(threading.get_ident())
    guard = threading.Lock()
    state = {"done": False, "struck": False}

    def strike() -> None:
        with guard:
            if not state["done"]:
                state["struck"] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    target, ctypes.py_object(CellTimeoutError)
                )

    timer = threading.Timer(seconds, strike)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            with guard:
                state["done"] = True
            timer.cancel()
    except CellTimeoutError as error:
        # The interpreter raised it without a message.
        raise CellTimeoutError(f"the cell took longer than {seconds:g} seconds") from error


# -- versions, machine, locks ----------------------------------------------------------------------

_PACKAGES = (
    "survgauge", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "lifelines",
    "scikit-survival", "torch", "xgboost", "xgboost-cpu", "catboost", "hazardous", "tabpfn",
    "joblib", "dask", "distributed", "threadpoolctl", "SurvSet",
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


def is_ours(file: Any) -> bool:
    """Lock a file; False where another process has done so."""
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
