"""Sums over subjects, of numbers and of their products, that can be merged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._tools.arrays import Floats

_ROUNDING = 2e-15
_DIGITS = 1e-3
#: Subjects at a time: fewer would fit a smaller cache, but make threads wait for each other.
_BLOCK = 65_536


class Moments:
    """Totals of d numbers per subject and the sums of products of their deviations.

    Deviations are from the mean of all subjects, kept exact when parts are merged (Chan et al.), so
    that a small spread around a large mean loses no digits.

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

        They may be overwritten.
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
            whole = _products(values, frequency)
            part.square = whole - part.count * np.outer(mean, mean)
            # Where most of a square is its mean, subtracting that afterwards would cost digits.
            close = ~(np.diag(part.square) > _DIGITS * np.diag(whole)) & np.isfinite(mean)
            if close.any():
                values[close] -= mean[close, None]
                mean = np.where(close, 0.0, mean)
                part.square = _products(values, frequency) - part.count * np.outer(mean, mean)
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
        the numbers are added up, but not their products.
        """
        size = self.total.size - (last is not None)
        part = Moments(size)
        room = np.empty((size, min(_BLOCK, n)))
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
                part.total += block.sum(axis=1)
                if spread:
                    part.square += _products(block, None)
            if shift is None:
                return
            part.count = float(n)
            part.square -= np.outer(part.total, part.total) / n
            part.total += n * shift
        if last is not None:
            part.total = np.append(part.total, n * last)
            part.square = np.pad(part.square, (0, 1))  # a constant has no spread
        self.merge(part)

    def merge(self, other: Moments) -> None:
        """Add the subjects of another part."""
        if not other.count > 0:
            return
        if self.count > 0:
            with np.errstate(invalid="ignore"):
                gap = other.total / other.count - self.total / self.count
                share = self.count * (other.count / (self.count + other.count))
                self.square = self.square + other.square + share * np.outer(gap, gap)
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
        used = np.flatnonzero(pull != 0)  # numbers of other models may be undefined
        part, square = pull[used], self.square[np.ix_(used, used)]
        variance = float(part @ square @ part) + more
        # Where contributions cancel exactly only rounding errors are left.
        noise = _ROUNDING * float(np.abs(part) @ np.abs(square) @ np.abs(part))
        if variance <= noise:
            return 0.0
        return float(np.sqrt(variance * n / (n - 1)))


def _products(values: Floats, frequency: Floats | None) -> Floats:
    """Sums over subjects of the products of two numbers, (d, d).

    Not by BLAS: the sums would depend on its number of threads.
    """
    weighted = values if frequency is None else values * frequency
    square = np.empty((values.shape[0], values.shape[0]))
    for i in range(values.shape[0]):
        square[i, i:] = np.einsum("n,jn->j", values[i], weighted[i:])
        square[i:, i] = square[i, i:]
    return square
