"""Counting inversions per element in O(n log n), and the array tools that go with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._threads import run_all

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
Counts = NDArray[Any]

# In nodes of at most 2**4 elements, comparing every pair costs less than passes over all elements.
_LEAF_BITS = 4
_LEAF_ROWS = 1 << 16  # elements of leaves that are compared together
# Nodes of at most 2**12 leaves fit the cache.
_NODE_BITS = 12


def inversions(
    rank: NDArray[np.int32], left: Counts | None, right: Counts | None
) -> tuple[Counts, Counts]:
    """Per element of a permutation, the later smaller and the earlier greater elements.

    The first result sums `right` over later smaller elements (None: counts them), the second sums
    `left` over earlier greater ones (None: not wanted). Ranks are split in halves again and again
    down to leaves of at most 16. Padded to equal leaves, every node holds as many elements of its
    upper as of its lower half, so that the k-th upper element of a node, at place p, has p - k
    lower ones before it, and no search is needed. Nodes that fit the cache are split to the end one
    after the other.
    """
    n = rank.size
    depth = max(0, (max(n, 1) - 1).bit_length() - _LEAF_BITS)
    leaf = max(1, -(-n >> depth))
    full = np.arange(leaf << depth, dtype=np.int32)  # the padding comes last and ranks highest
    full[:n] = rank
    # Full leaves number themselves.
    codes = full if leaf == 1 << _LEAF_BITS else full // leaf << _LEAF_BITS | full % leaf
    state = _State.of(codes, left, right)
    low = min(depth, _NODE_BITS)
    for level in reversed(range(low, depth)):
        state.split(1 << (level + _LEAF_BITS), leaf << level)

    later = np.empty(1 << (depth + _LEAF_BITS), dtype=state.later.dtype)
    earlier = np.empty(0 if left is None else later.size, dtype=state.earlier.dtype)

    def split_to_the_end(start: int) -> None:
        node = state.part(slice(start, start + (leaf << low)))
        for level in reversed(range(low)):
            node.split(1 << (level + _LEAF_BITS), leaf << level)
        node.finish(leaf)
        later[node.code] = node.later
        if left is not None:
            earlier[node.code] = node.earlier

    run_all(split_to_the_end, range(0, full.size, leaf << low))
    return later[codes[:n]], earlier if left is None else earlier[codes[:n]]


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
        """All elements in one group."""
        size = code.size
        left = None if left is None else _padded(left, size)
        right = None if right is None else _padded(right, size)
        later = np.zeros(size, dtype=np.int32 if right is None else np.float64)
        earlier = np.zeros(0 if left is None else size, np.int32 if left is None else left.dtype)
        return cls(code, left, right, later, earlier)

    def part(self, rows: slice) -> _State:
        """Some of the groups."""
        left = None if self.left is None else self.left[rows]
        right = None if self.right is None else self.right[rows]
        return _State(self.code[rows], left, right, self.later[rows], self.earlier[rows])

    def split(self, bit: int, half: int) -> None:
        """Put the lower half before the upper one in every node, counting on the way."""
        is_upper = (self.code & bit) != 0
        k = np.arange(self.code.size >> 1, dtype=np.int32)
        upper, lower = np.flatnonzero(is_upper), np.flatnonzero(~is_upper)
        # Sizes are counted over all nodes up to the element's own; `node` is where that begins.
        lower_before = (upper - k).reshape(-1, half)
        node = np.arange(0, upper.size, half)[:, None]
        later = _split(self.later, lower, upper, half)
        if self.right is None:
            np.subtract(node + half, lower_before, out=lower_before)
            later[:, 1] += lower_before.astype(np.int32)
        else:
            right = _split(self.right, lower, upper, half)
            total = cumulative(right[:, 0].ravel())
            later[:, 1] += total[node + half] - total[lower_before]
            self.right = right.ravel()
        self.later = later.ravel()
        del later, lower_before
        if self.left is not None:
            left = _split(self.left, lower, upper, half)
            total = cumulative(left[:, 1].ravel())
            self.left = left.ravel()
            del left
            earlier = _split(self.earlier, lower, upper, half)
            earlier[:, 0] += total[(lower - k).reshape(-1, half)] - total[node]
            self.earlier = earlier.ravel()
        self.code = _split(self.code, lower, upper, half).ravel()

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


def _padded(values: Counts, size: int) -> Counts:
    kind = np.float64 if values.dtype == np.float64 else np.int32
    padded = np.zeros(size, dtype=kind)
    padded[: values.size] = values
    return padded


def _split(array: Counts, lower: Ints, upper: Ints, half: int) -> Counts:
    """Rearrange to (node, lower or upper, `half` elements)."""
    moved = np.empty((array.size // (2 * half), 2, half), dtype=array.dtype)
    moved[:, 0] = array[lower].reshape(-1, half)
    moved[:, 1] = array[upper].reshape(-1, half)
    return moved
