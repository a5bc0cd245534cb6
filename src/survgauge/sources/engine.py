"""Pieces of work in threads of this machine, merged in the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from .._tools.arrays import whole_number
from .._tools.threads import drawn_in_order, thread_count

Piece = TypeVar("Piece")
Found = TypeVar("Found")


def checked_workers(workers: int | None) -> int:
    """Return the number of threads: as asked for, or as many as cores."""
    if workers is None:
        return thread_count()
    return whole_number(workers, "workers", 1)


def in_turn(
    work: Callable[[Piece], Found], pieces: Iterable[Piece], workers: int
) -> Iterator[Found]:
    """Yield work(piece) in the order of the pieces, which are drawn no faster than needed.

    >>> list(in_turn(lambda x: x + 1, iter([1, 2, 3]), 2))
    [2, 3, 4]
    """
    return drawn_in_order(work, pieces, workers, ahead=workers)


def merged(parts: Iterable[Any]) -> Any:
    """Merge parts one after the other, in their order; None where there is none."""
    total = None
    for part in parts:
        if total is None:
            total = part
        else:
            total.merge(part)
    return total
