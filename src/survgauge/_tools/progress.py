"""Progress of what takes long, told to whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Part = TypeVar("Part")
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
