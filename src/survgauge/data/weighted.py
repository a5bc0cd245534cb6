"""What all kinds of outcomes have: frequencies, an order in time, counts of who is present."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.sorting import sorting_order


class Weighted:
    """Outcomes of n subjects with frequencies; subclasses set `time`, `event` and the weights."""

    __slots__ = ("_order", "_weight", "event", "time")

    time: Floats
    event: Bools
    _weight: Floats | None
    _order: Ints | None

    def __setattr__(self, name: str, value: object) -> None:
        kind = type(self).__name__
        raise AttributeError(f"{kind} are frozen; make new ones instead of setting {name!r}")

    @property
    def fractional(self) -> bool:
        """Whether there are frequencies that are not whole numbers."""
        return self._weight is not None and not np.array_equal(self._weight, np.rint(self._weight))

    @property
    def weight(self) -> Floats:
        """Frequencies, ones where none were given; not to be written to."""
        if self._weight is None:
            return np.broadcast_to(np.float64(1.0), self.time.size)
        return self._weight

    @property
    def weighted(self) -> bool:
        """Whether frequencies were given."""
        return self._weight is not None

    def order(self, keep: bool = False) -> Ints:
        """Rows by time, equal times as they come; `keep` the sorting for whoever asks next.

        >>> from survgauge import Outcomes
        >>> Outcomes([5, 8, 3], [1, 0, 1]).order()
        array([2, 0, 1])
        """
        known = self._order
        if known is not None:
            return known
        order = sorting_order(self.time)
        if keep:
            order.setflags(write=False)
            object.__setattr__(self, "_order", order)
        return order

    def __len__(self) -> int:
        return int(self.time.size)

    @property
    def shape(self) -> tuple[int]:
        """(n,): scikit-learn takes what has a shape for an array, and selects rows of it."""
        return (len(self),)

    @property
    def count(self) -> int:
        """Number of rows that are present: those of weight zero are not."""
        return len(self) if self._weight is None else int(np.count_nonzero(self._weight))

    @property
    def event_count(self) -> int:
        """Number of rows with an event among those present."""
        if self._weight is None:
            return int(np.count_nonzero(self.event))
        return int(np.count_nonzero(self.event & (self._weight > 0)))
