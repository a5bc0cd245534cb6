"""What all kinds of outcomes have: frequencies, an order in time, counts of who is present."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .._tools.arrays import LARGEST, Bools, Floats, Ints, repeated, subject_index, vector
from .._tools.sorting import sorting_order
from ..errors import InputError

W = TypeVar("W", bound="Weighted")


def read_weight(weight: Any, n: int) -> Floats | None:
    """Return frequencies of n subjects; None where none were given."""
    if weight is None:
        return None
    weights = vector(weight, "weight", length=n, minimum=0.0, largest=LARGEST)
    if not weights.sum() > 0:
        raise InputError("weight must have a positive sum; got all zeros")
    return weights


def some_rows(array: Any, index: Any, copy: bool) -> Any:
    """Return some rows of an array, as a copy or where they are; None where there is none."""
    return None if array is None else array[index].copy() if copy else array[index]


class Weighted:
    """Outcomes of n subjects with frequencies; subclasses set `time`, `event` and the weights."""

    __slots__ = ("_order", "_weight", "event", "time")

    time: Floats
    event: Bools
    _weight: Floats | None
    _order: Ints | None

    def _keep(self, **fields: Any) -> None:
        """Set fields once and for all; arrays are not to be written to."""
        for name, known in {"_order": None, **fields}.items():
            if isinstance(known, np.ndarray):
                known.setflags(write=False)
            object.__setattr__(self, name, known)

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
            return repeated(1.0, self.time.size)
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

    def _selected(self: W, index: Any, copy: bool) -> W:
        """Return some subjects."""
        raise NotImplementedError

    def __getitem__(self: W, rows: Any) -> W:
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn asks for rows of an array
        found = self._selected(subject_index(rows), copy=True)
        if not len(found):
            raise InputError("this selection of outcomes is empty; at least one subject is needed")
        return found

    def part(self: W, rows: slice) -> W:
        """Return neighbouring subjects, as views of the same arrays."""
        return self._selected(rows, copy=False)

    def present(self: W) -> W:
        """Leave out subjects of weight zero, who count as absent."""
        if self._weight is None or (self._weight > 0).all():
            return self
        return self[self._weight > 0]

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
