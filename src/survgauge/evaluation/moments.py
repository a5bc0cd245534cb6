"""Sums over subjects, of numbers and of how these spread, that can be merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._tools.arrays import Floats

_ROUNDING = 2e-15
#: Subjects at a time: fewer would fit a smaller cache, but make threads wait for each other.
_BLOCK = 65_536
#: Subjects whose mean is near enough to that of all.
_TYPICAL = 1_024


class Moments:
    """Totals of d numbers per subject, and how they and their differences spread.

    The last number is what is divided by, the others are the same quantity of several models. For
    two of these the spread of their difference is kept beside the sum of their products: where
    models are nearly equal products lose its digits, and a difference of each subject does not.

    Deviations are from the mean of all subjects, kept exact when parts are merged (Chan et al.), so
    that a small spread around a large mean loses no digits.

    Attributes
    ----------
    count : float
        Number of subjects.
    total : ndarray of shape (d,)
        Sum of each number.
    square : ndarray of shape (d, d)
        Sums of products of the deviations of two numbers.
    apart : ndarray of shape (d - 1, d - 1)
        Sums of squares of the deviations of the difference of two models' numbers.

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
        self.apart: Floats = np.zeros((size - 1, size - 1))

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
            part.square = _products(values, frequency)
            part.apart = _squares_apart(values[:-1], frequency)
        self.merge(part)

    def update_columns(
        self,
        columns: Sequence[Floats],
        last: float | None = None,
        spread: bool = True,
    ) -> None:
        """Add subjects whose numbers are columns, a block that fits the cache at a time.

        Where the last number is the same for all, it is given and has no column. Without `spread`
        the numbers are added up, but not their squares.
        """
        n, models = columns[0].size, self.total.size - 1
        if not n:
            return
        part = Moments(self.total.size)
        some = np.array([column[:_TYPICAL] for column in columns])
        room = np.empty((len(columns), min(_BLOCK, n)))
        with np.errstate(invalid="ignore"):  # an infinite loss has no spread
            shift = some.sum(axis=1) / some.shape[1]  # near the mean, so that no digits cancel
            shift[~np.isfinite(shift)] = 0.0
            for start in range(0, n, _BLOCK):
                block = room[:, : min(_BLOCK, n - start)]
                for column, typical, away in zip(columns, shift, block, strict=True):
                    np.subtract(column[start : start + _BLOCK], typical, out=away)
                part.total[: len(block)] += block.sum(axis=1)
                if spread:
                    part.square[: len(block), : len(block)] += _products(block)
                    part.apart += _squares_apart(block[:models])
            part.count = float(n)
            part.square -= np.outer(part.total, part.total) / n
            part.apart -= _squares_apart(part.total[:models, None]) / n
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
                self.square = self.square + other.square + share * np.outer(gap, gap)
                own = share * _squares_apart(gap[:-1, None])
                self.apart = self.apart + other.apart + own
                self.total = self.total + other.total
        else:
            self.square, self.total = other.square.copy(), other.total.copy()
            self.apart = other.apart.copy()
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
        own, square = pull[used], self.square[np.ix_(used, used)]
        # The same sum of squares in two ways: the one of smaller addends loses fewer digits.
        ways = (np.outer(own, own) * square).ravel(), self._by_differences(pull)
        parts = min(ways, key=lambda way: float(np.abs(way).sum()))
        variance = float(parts.sum()) + more
        # Where contributions cancel exactly only rounding errors are left: those of the numbers,
        # times what is summed of them.
        numbers = float(np.abs(own) @ np.sqrt(np.diag(square)))
        if variance <= _ROUNDING * numbers * float(np.sqrt(np.abs(parts).sum())):
            return 0.0
        return float(np.sqrt(variance * n / (n - 1)))

    def _by_differences(self, pull: Floats) -> Floats:
        """Return addends of the sum of squares of pull @ z, from spreads of differences.

        With V of a number and D of a difference, 2 cov(j, k) = V_j + V_k - D_jk. So the sum of
        squares of p @ z is sum(p) sum_k p_k V_k - sum_{j<k} p_j p_k D_jk, where the first part
        vanishes for the difference of two numbers. The last number is no model's and has products.
        """
        used = np.flatnonzero(pull[:-1] != 0)
        own, last = pull[used], pull[-1]
        between = -np.outer(own, own) * self.apart[np.ix_(used, used)] / 2
        alone = own.sum() * own * np.diag(self.square)[used]
        if last == 0:
            return np.concatenate((between.ravel(), alone))
        with_last = 2 * last * own * self.square[used, -1]
        return np.concatenate((between.ravel(), alone, with_last, [last**2 * self.square[-1, -1]]))


def _products(values: Floats, frequency: Floats | None = None) -> Floats:
    """Sums over subjects of the products of two numbers, (d, d).

    Not by BLAS: the sums would depend on its number of threads.
    """
    weighted = values if frequency is None else values * frequency
    square = np.empty((values.shape[0], values.shape[0]))
    for i in range(values.shape[0]):
        square[i, i:] = np.einsum("n,jn->j", values[i], weighted[i:])
        square[i:, i] = square[i, i:]
    return square


def _squares_apart(values: Floats, frequency: Floats | None = None) -> Floats:
    """Sums over subjects of the squares of the difference of two numbers, (d, d)."""
    d, n = values.shape
    square, room = np.zeros((d, d)), np.empty(n)
    for j in range(d):
        for k in range(j + 1, d):
            np.subtract(values[j], values[k], out=room)
            weighted = room if frequency is None else room * frequency
            square[j, k] = square[k, j] = np.einsum("n,n->", room, weighted)
    return square
