"""How work is cut into chunks and run on threads, which changes no result, and how far it is."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from ..errors import InputError, SurvgaugeError

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


def in_order(
    work: Callable[[Part], Result],
    parts: Iterable[Part],
    threads: int | None = None,
    ahead: int = 0,
) -> Iterator[Result]:
    """Yield work(part) in the order of the parts; few results wait at a time.

    With a number of `threads` parts are drawn no faster than `ahead` results can wait; without one
    they are listed, and as many threads work as this call may have.

    >>> list(in_order(lambda x: x * x, [1, 2, 3]))
    [1, 4, 9]
    >>> list(in_order(lambda x: x + 1, iter([1, 2, 3]), 2, ahead=2))
    [2, 3, 4]
    """
    if threads is None:
        listed = parts = list(parts)
        threads = min(thread_count(), len(listed)) if len(listed) > 1 else 1
        ahead = 2 * threads
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


#: Rows (subjects, times) in a chunk.
CHUNK = 32_768
#: Look-ups made together: neighbours then find each other's memory in the cache.
QUERIES = 131_072
#: Values of curves in a block of rows, and blocks that one thread takes in a row.
BLOCK_VALUES, SPAN_BLOCKS = 100_000, 7


def chunks(stop: int, start: int = 0, size: int | None = None) -> Iterator[slice]:
    """Slices of rows from `start` to `stop`, `CHUNK` rows each unless `size` says otherwise.

    >>> list(chunks(5, size=2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = CHUNK if size is None else size
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


_PACKAGE = __name__.partition(".")[0]


def is_own(function: Any) -> bool:
    """Whether a function is one of the package, also with some of its arguments fixed.

    >>> is_own(partial(is_own, 1)), is_own(len)
    (True, False)
    """
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", "")).partition(".")[0] == _PACKAGE


def called(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Return what a function gives; an error in a user's function becomes an `InputError`.

    Errors of the package's own functions stay as they are: nobody else can mend them.

    >>> called(divmod, "terms", 1, 0)
    Traceback (most recent call last):
        ...
    survgauge.errors.InputError: terms failed with ZeroDivisionError: ...
    """
    try:
        return function(*arguments)
    except (SurvgaugeError, MemoryError):
        raise
    except Exception as error:
        if is_own(function):
            raise
        raise InputError(f"{what} failed with {type(error).__name__}: {error}") from error


#: Is called with what is done, how much there is (None: not known), and what is being done.
Tell = Callable[[int, int | None, str], None]

_TELL: ContextVar[Tell | None] = ContextVar("survgauge_progress", default=None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Let `tell` hear the progress of what is done inside.

    >>> with telling(print):
    ...     list(steps("ab", 2, "reading"))
    1 2 reading
    2 2 reading
    ['a', 'b']
    """
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def steps(parts: Iterable[Part], total: int, name: str) -> Iterator[Part]:
    """Yield the parts; once each of them has been worked on, say how many are done."""
    tell = _TELL.get()
    for done, part in enumerate(parts, 1):
        yield part
        if tell is not None:
            tell(done, total, name)
