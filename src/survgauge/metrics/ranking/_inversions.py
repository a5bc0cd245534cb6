"""Counting inversions per element in O(n log n), and the array tools that go with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.array_types import Ints
from ..._tools.threads import run_all

Counts = NDArray[Any]

# In nodes of at most 2**4 elements, comparing every pair costs less than passes over all elements.
_LEAF_BITS = 4
_LEAF_ROWS = 1 << 16  # elements of leaves that are compared together
# Nodes of at most 2**12 leaves fit the cache; larger ones are worked on in pieces of that size.
_NODE_BITS = 12
_PIECE = 1 << (_NODE_BITS + _LEAF_BITS)


def inversions(
    rank: NDArray[np.int32], left: Counts | None, right: Counts | None
) -> tuple[Counts, Counts]:
    """Per element of a permutation, the later smaller and the earlier greater elements.

    The first result sums `right` over later smaller elements (None: counts them), the second sums
    `left` over earlier greater ones (None: not wanted). Ranks are split in halves again and again
    down to leaves of at most 16. Padded to equal leaves, every node holds as many elements of its
    upper as of its lower half, so that how far an element moves when its node is split says how
    many of the other half it passes, and no search is needed. Nodes that fit the cache are split to
    the end one after the other.
    """
    later, earlier = _by_rank(rank, left, right)
    return _moved(later, rank), earlier if left is None else _moved(earlier, rank)


def _by_rank(
    rank: NDArray[np.int32], left: Counts | None, right: Counts | None
) -> tuple[Counts, Counts]:
    """Inversions in order of rank, with some padding at the end."""
    n = rank.size
    depth = max(0, (max(n, 1) - 1).bit_length() - _LEAF_BITS)
    leaf, low = max(1, -(-n >> depth)), min(depth, _NODE_BITS)
    codes = np.arange(leaf << depth, dtype=np.int32)  # the padding comes last and ranks highest
    codes[:n] = rank
    if leaf != 1 << _LEAF_BITS:  # full leaves number themselves
        codes = codes // leaf << _LEAF_BITS | codes % leaf
    state = _State.of(codes, left, right)
    del codes
    for level in reversed(range(low, depth)):
        state.split(1 << (level + _LEAF_BITS), leaf << level)
    # What was summed of a node is read before the node's results are written over it.
    later, earlier = state.later, state.earlier

    def split_to_the_end(start: int) -> None:
        rows = slice(start, start + (leaf << low))
        node = state.part(rows)
        for level in reversed(range(low)):
            node.split(1 << (level + _LEAF_BITS), leaf << level)
        node.finish(leaf)
        place = (node.code >> _LEAF_BITS) * leaf + (node.code & ((1 << _LEAF_BITS) - 1)) - start
        # A node that was never split still shares its memory with what is written here, and an
        # assignment by index reads what it has just written (NumPy before 2 does).
        _put(node.later, later[rows], place)
        if left is not None:
            _put(node.earlier, earlier[rows], place)

    run_all(split_to_the_end, range(0, later.size, leaf << low))
    return later, earlier


@dataclass
class _State:
    """Elements grouped by the halves of the ranks that they lie in, by position in each group."""

    code: NDArray[np.int32]
    left: Counts | None
    right: Counts | None
    later: Counts
    earlier: Counts

    @classmethod
    def of(cls, code: NDArray[np.int32], left: Counts | None, right: Counts | None) -> _State:
        """All elements in one group; the padding may be missing from `left` and `right`."""
        if left is not None and left.dtype == np.bool_:
            left = left.astype(np.int32)
        later = np.zeros(code.size, dtype=np.int32 if right is None else np.float64)
        earlier = np.zeros(
            0 if left is None else code.size, dtype=np.int32 if left is None else left.dtype
        )
        return cls(code, left, right, later, earlier)

    def part(self, rows: slice) -> _State:
        """Some of the groups."""
        left = None if self.left is None else self.left[rows]
        right = None if self.right is None else self.right[rows]
        return _State(self.code[rows], left, right, self.later[rows], self.earlier[rows])

    def split(self, bit: int, half: int) -> None:
        """Put the lower half before the upper one in every node, counting on the way."""
        is_upper = (self.code & bit) != 0
        lower, upper = (~is_upper).nonzero()[0], is_upper.nonzero()[0]
        shape = (lower.size // half, 2, half)
        order = np.empty(shape, dtype=np.intp if is_upper.size <= _PIECE else np.int32)
        order[:, 0], order[:, 1] = lower.reshape(-1, half), upper.reshape(-1, half)
        del is_upper, lower, upper
        moves = order.reshape(-1)
        self.code = _moved(self.code, moves)
        self.later = _moved(self.later, moves)
        later = self.later.reshape(shape)[:, 1]
        # Elements are counted over all nodes up to one's own; a node's own begin at `node`.
        if self.right is None:
            for tile, node, k in _tiles(shape):
                later[tile] += (node + half + k - order[:, 1][tile]).astype(np.int32)
        else:
            self.right = _moved(self.right, moves)
            total = cumulative(self.right.reshape(shape)[:, 0].ravel())
            for tile, node, k in _tiles(shape):
                later[tile] += total[node + half] - total.take(order[:, 1][tile] - k)
        if self.left is not None:
            self.left = _moved(self.left, moves)
            self.earlier = _moved(self.earlier, moves)
            earlier = self.earlier.reshape(shape)[:, 0]
            total = cumulative(self.left.reshape(shape)[:, 1].ravel())
            for tile, node, k in _tiles(shape):
                earlier[tile] += total.take(order[:, 0][tile] - k) - total[node]

    def finish(self, leaf: int) -> None:
        """Compare all pairs inside the leaves, some leaves at a time."""
        size = max(1, _LEAF_ROWS // leaf) * leaf
        for start in range(0, self.code.size, size):
            part = slice(start, start + size)
            code, later, earlier = (
                np.ascontiguousarray(array[part].reshape(-1, leaf).T)
                for array in (self.code, self.later, self.earlier)
            )
            right = None if self.right is None else self.right[part].reshape(-1, leaf).T.copy()
            left = None if self.left is None else self.left[part].reshape(-1, leaf).T.copy()
            for a in range(leaf - 1):
                greater = code[a] > code[a + 1 :]
                if right is None:
                    later[a] += greater.view(np.uint8).sum(axis=0, dtype=np.uint8)
                else:
                    later[a] += (greater * right[a + 1 :]).sum(axis=0)
                if left is not None:
                    earlier[a + 1 :] += greater * left[a]
            self.later[part] = later.T.ravel()
            if left is not None:
                self.earlier[part] = earlier.T.ravel()


def cumulative(values: Counts) -> Counts:
    """Sums of the first 0, 1, ..., n values; exact for integers and flags."""
    kind = np.int64 if values.dtype == np.bool_ else values.dtype
    total = np.zeros(values.size + 1, dtype=kind)
    np.cumsum(values, out=total[1:])
    return total


def run_bounds(ids: Counts) -> tuple[Ints, Ints]:
    """First and past-the-last index of the run of equal values that each entry lies in."""
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    ends = np.append(starts[1:], ids.size)
    lengths = ends - starts
    return np.repeat(starts, lengths), np.repeat(ends, lengths)


def back(values: Counts, order: Ints) -> Counts:
    """Undo a reordering: entry k of `values` belongs to index order[k]."""
    original = np.empty_like(values)
    original[order] = values
    return original


def _put(values: Counts, out: Counts, place: Counts) -> None:
    """Values to their places in `out`, which may be the same memory."""
    out[place] = values.copy() if np.may_share_memory(values, out) else values


def _moved(values: Counts, order: Counts) -> Counts:
    """Values in another order, zero for those that `values` leaves out at the end.

    In pieces, for indices must be made 64 bits wide. Clipping what is in bounds is quicker than
    checking that it is.
    """
    moved = np.empty(order.size, dtype=values.dtype)
    for start in range(0, order.size, _PIECE):
        part = slice(start, start + _PIECE)
        values.take(order[part], out=moved[part], mode="clip")
    if values.size < order.size:  # the padding stays behind everybody
        moved[values.size :] = 0
    return moved


def _tiles(shape: tuple[int, ...]) -> Iterator[tuple[tuple[slice, slice], Ints, Ints]]:
    """Parts of one half of all nodes, with where nodes begin among these halves, and places there.

    >>> [(tile, node.tolist(), k.tolist()) for tile, node, k in _tiles((2, 2, 3))]
    [((slice(0, 2, None), slice(0, 3, None)), [[0], [3]], [[0, 1, 2], [3, 4, 5]])]
    """
    nodes, _, half = shape
    width, height = min(half, _PIECE), max(1, _PIECE // half)
    for top in range(0, nodes, height):
        bottom = min(top + height, nodes)
        for start in range(0, half, width):
            stop = min(start + width, half)
            k = np.arange(top * half + start, (bottom - 1) * half + stop).reshape(bottom - top, -1)
            yield (
                (slice(top, bottom), slice(start, stop)),
                half * np.arange(top, bottom)[:, None],
                k,
            )
