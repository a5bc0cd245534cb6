"""Sums over subjects, of numbers and of how these spread, that can be merged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._tools.arrays import Floats

_ROUNDING = 2e-15
#: Subjects at a time: fewer would fit a smaller cache, but make threads wait for each other.
_BLOCK = 65_536


class Moments:
    """Totals of d numbers per subject, and how they and their differences spread.

    The last number is what is divided by, the others are the same quantity of several models. For
    two of these the spread of their difference is kept, not the sum of their products: it tells as
    much, but where two models are nearly equal it loses no digits, as the difference is taken
    subject by subject. With the last number, which counts something else, products are kept.

    Deviations are from the mean of all subjects, kept exact when parts are merged (Chan et al.), so
    that a small spread around a large mean loses no digits.

    Attributes
    ----------
    count : float
        Number of subjects.
    total : ndarray of shape (d,)
        Sum of each number.
    square : ndarray of shape (d, d)
        Sums of squares of deviations: of number k at (k, k), and of the difference of numbers j and
        k at (j, k). In the last row and column sums of products of the deviations of two numbers.

    Examples
    --------
    >>> one, two = Moments(1), Moments(1)
    >>> one.update(np.array([[1.0, 2.0]]))
    >>> two.update(np.array([[6.0]]))
    >>> one.merge(two)
    >>> one.count, float(one.total[0]), float(one.square[0, 0])
    (3.0, 9.0, 14.0)
    """

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.total: Floats = np.zeros(size)
        self.square: Floats = np.zeros((size, size))

    def update(self, values: Floats, frequency: Floats | None = None) -> None:
        """Add subjects: `values` (d, n) are theirs, or one copy's where `frequency` is given.

        They are overwritten.
        """
        part = Moments(self.total.size)
        if frequency is None:
            part.count = float(values.shape[1])
            part.total = values.sum(axis=1)
        else:
            part.count = float(frequency.sum())
            part.total = np.einsum("in,n->i", values, frequency)
        if not part.count > 0:
            return
        mean = part.total / part.count
        with np.errstate(invalid="ignore"):  # an infinite loss has no spread
            values -= np.where(np.isfinite(mean), mean, 0.0)[:, None]
            part.square = _squares(values, frequency)
        self.merge(part)

    def update_by(
        self,
        fill: Callable[[slice, Floats], None],
        n: int,
        last: float | None = None,
        spread: bool = True,
    ) -> None:
        """Add n subjects whose numbers `fill` writes, a block that fits the cache at a time.

        Where the last number is the same for all, it is given and not written. Without `spread`
        the numbers are added up, but not their squares.
        """
        size = self.total.size
        part = Moments(size)
        room = np.empty((size - (last is not None), min(_BLOCK, n)))
        shift: Floats | None = None
        with np.errstate(invalid="ignore"):  # an infinite loss has no spread
            for start in range(0, n, _BLOCK):
                rows = slice(start, min(start + _BLOCK, n))
                block = room[:, : rows.stop - start]
                fill(rows, block)
                if shift is None:  # near the mean, so that no digits cancel
                    shift = block.sum(axis=1) / block.shape[1]
                    shift[~np.isfinite(shift)] = 0.0
                block -= shift[:, None]
                part.total[: len(block)] += block.sum(axis=1)
                if spread:
                    part.square += _squares(block, None, size)
            if shift is None:
                return
            part.count = float(n)
            part.square -= _squares(part.total[:, None]) / n
            part.total[: shift.size] += n * shift
        if last is not None:
            part.total[-1] = n * last  # a constant has no spread
        self.merge(part)

    def merge(self, other: Moments) -> None:
        """Add the subjects of another part."""
        if not other.count > 0:
            return
        if self.count > 0:
            with np.errstate(invalid="ignore"):
                gap = other.total / other.count - self.total / self.count
                share = self.count * (other.count / (self.count + other.count))
                self.square = self.square + other.square + share * _squares(gap[:, None])
                self.total = self.total + other.total
        else:
            self.square, self.total = other.square.copy(), other.total.copy()
        self.count += other.count

    def ratio(self, k: int) -> float:
        """Total of number k over that of the last one; NaN where that is zero."""
        below = float(self.total[-1])
        return float(self.total[k]) / below if below != 0 else float("nan")

    def ratio_pull(self, k: int) -> Floats:
        """What one subject's numbers change in `ratio`: (d,), by the delta method."""
        pull = np.zeros(self.total.size)
        pull[k], pull[-1] = 1.0, -self.ratio(k)
        return pull / self.total[-1]

    def stderr(self, pull: Floats, more: float = 0.0) -> float:
        """Standard error of a statistic to which a subject's numbers z contribute pull @ z.

        That is sqrt(n/(n-1) sum psi^2) with psi = pull @ z, whose sum is zero; `more` is added to
        the sum of squares.
        """
        n = self.count
        if not n > 1:
            return float("nan")
        parts = self._parts(pull)
        variance = float(parts.sum()) + more
        # Where contributions cancel exactly only rounding errors are left.
        if variance <= _ROUNDING * float(np.abs(parts).sum()):
            return 0.0
        return float(np.sqrt(variance * n / (n - 1)))

    def _parts(self, pull: Floats) -> Floats:
        """Return what adds up to the sum of squares of pull @ z, one addend for each sum.

        With V of a number and D of a difference, 2 cov(j, k) = V_j + V_k - D_jk. So the sum of
        squares of p @ z is sum(p) sum_k p_k V_k - sum_{j<k} p_j p_k D_jk, where the first part
        vanishes for the difference of two numbers.
        """
        used = np.flatnonzero(pull[:-1] != 0)  # numbers of other models may be undefined
        own, square = pull[used], self.square[np.ix_(used, used)]
        between = -np.outer(own, own) * square / 2
        np.fill_diagonal(between, own.sum() * own * np.diag(square))
        with_last = 2 * pull[-1] * own * self.square[used, -1] if pull[-1] else np.zeros(0)
        last = pull[-1:] ** 2 * self.square[-1, -1]
        return np.concatenate((between.ravel(), with_last, last))


def _squares(values: Floats, frequency: Floats | None = None, size: int | None = None) -> Floats:
    """Sums of squares of `values` (d, n), of their differences, and products with the last.

    They go where `Moments.square` has them. With `size` d + 1 the last number is not among the
    values and its sums are zero. Not by BLAS: the sums would depend on its number of threads.
    """
    d, n = values.shape
    size = d if size is None else size
    models = size - 1
    square, room = np.zeros((size, size)), np.empty(n)
    for j in range(d):
        square[j, j] = _dot(values[j], values[j], frequency)
        for k in range(j + 1, d):
            if k < models:
                np.subtract(values[j], values[k], out=room)
                found = _dot(room, room, frequency)
            else:
                found = _dot(values[j], values[k], frequency)
            square[j, k] = square[k, j] = found
    return square


def _dot(one: Floats, other: Floats, frequency: Floats | None) -> float:
    if frequency is None:
        return float(np.einsum("n,n->", one, other))
    return float(np.einsum("n,n,n->", one, other, frequency))
