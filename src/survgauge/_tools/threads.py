"""Work on blocks of subjects by several threads, with the same result for any number of them.

NumPy lets go of the interpreter while it computes, so threads suffice. What is done to a block
depends on the block alone, and results are taken in the order of the blocks; so sums come out the
same, bit for bit, however many threads there are.

The number of threads is ``SURVGAUGE_THREADS`` if that is set. Otherwise it is the number of cores
that this process may use, at most ``OMP_NUM_THREADS`` if that is set, and one inside the workers of
joblib, Dask and multiprocessing (a child process, or a thread that is not the main one), who share
the cores already.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from ..errors import InputError

_here = threading.local()

Part = TypeVar("Part")
Result = TypeVar("Result")

VARIABLE = "SURVGAUGE_THREADS"


def thread_count() -> int:
    """How many threads may work for this call; one where this is one of them.

    >>> thread_count() >= 1
    True
    """
    if getattr(_here, "helping", False):
        return 1
    asked = os.environ.get(VARIABLE, "").strip()
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise InputError(f"{VARIABLE} must be a whole number, at least 1; got {asked!r}")
        return int(asked)
    if threading.current_thread() is not threading.main_thread():
        return 1
    if multiprocessing.parent_process() is not None:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "").strip()
    cores = _cores()
    return min(cores, max(1, int(limit))) if limit.isdecimal() else cores


def _help() -> None:
    _here.helping = True


def _cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield work(part) in the order of the parts; few results wait at a time.

    >>> list(in_order(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    """
    listed = list(parts)
    threads = min(thread_count(), len(listed)) if len(listed) > 1 else 1
    return drawn_in_order(work, listed, threads, ahead=2 * threads)


def drawn_in_order(
    work: Callable[[Part], Result], parts: Iterable[Part], threads: int, *, ahead: int
) -> Iterator[Result]:
    """Yield work(part) in order, drawing parts no faster than `ahead` results can wait.

    >>> list(drawn_in_order(lambda x: x + 1, iter([1, 2, 3]), 2, ahead=2))
    [2, 3, 4]
    """
    if threads == 1:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads, "survgauge", initializer=_help) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for part in parts:
                # With the caller's context, where NumPy keeps what to do on overflow.
                waiting.append(pool.submit(copy_context().run, work, part))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def run_all(work: Callable[[Part], object], parts: Iterable[Part]) -> None:
    """Call work(part) for every part, for what it writes.

    >>> seen = []
    >>> run_all(seen.append, [1])
    >>> seen
    [1]
    """
    for _ in in_order(work, parts):
        pass
