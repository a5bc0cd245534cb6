"""How many rows are worked on together, so that what is computed of them stays in the cache.

At a million subjects fresh memory costs more than arithmetic. Sums over chunks do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

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
