"""What was observed: times, event flags and frequencies, validated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._tools.arrays import (
    LARGEST,
    Bools,
    Floats,
    Ints,
    flags,
    frozen,
    read_only,
    subject_index,
    to_numpy,
    vector,
)
from .._tools.sorting import sorting_order
from ..errors import InputError


class Outcomes:
    """Right-censored outcomes of n subjects: frozen, validated once, trusted afterwards.

    Parameters
    ----------
    time : array-like of shape (n,)
        Observed times, finite and not negative.
    event : array-like of shape (n,)
        True (or 1) where the event was observed at `time`, False (or 0) where the subject was
        censored there. A subject censored at t is still at risk at t.
    weight : array-like of shape (n,), optional
        Frequencies: a weight of 2 equals two identical rows; zero means absent.
    copy : bool
        False looks at the arrays where they are; they must not change then.

    Examples
    --------
    >>> y = Outcomes(time=[5, 8, 3], event=[1, 0, 1])
    >>> len(y), int(y.event.sum())
    (3, 2)
    >>> y[y.event].time
    array([5., 3.])
    """

    __slots__ = ("_order", "_weight", "event", "time")

    time: Floats
    event: Bools
    _weight: Floats | None
    _order: Ints | None

    def __init__(self, time: Any, event: Any, weight: Any = None, *, copy: bool = True) -> None:
        times = vector(time, "time", minimum=0.0, largest=LARGEST)
        if times.size == 0:
            raise InputError("time must have at least one subject; got an empty array")
        events = flags(event, "event")
        if events.size != times.size:
            raise InputError(
                f"time and event must have the same length; got {times.size} and {events.size}"
            )
        weights = None
        if weight is not None:
            weights = vector(weight, "weight", length=times.size, minimum=0.0, largest=LARGEST)
            if not weights.sum() > 0:
                raise InputError("weight must have a positive sum; got all zeros")
        keep = frozen if copy else read_only
        self._set(keep(times), keep(events), None if weights is None else keep(weights))

    def _set(self, time: Floats, event: Bools, weight: Floats | None) -> None:
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "_weight", weight)
        object.__setattr__(self, "_order", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Outcomes are frozen; make new ones instead of setting {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Outcomes, (self.time, self.event, self._weight))

    @classmethod
    def _trusted(cls, time: Floats, event: Bools, weight: Floats | None) -> Outcomes:
        """Build from arrays that come out of other, already validated outcomes."""
        outcomes = cls.__new__(cls)
        for array in (time, event, weight):
            if array is not None:
                array.setflags(write=False)
        outcomes._set(time, event, weight)
        return outcomes

    @classmethod
    def of(cls, obj: Any, argument: str = "y", *, copy: bool = True) -> Outcomes:
        """Read outcomes from whatever holds them.

        Accepts an `Outcomes`, a ``(time, event)`` pair, a structured array with one boolean and
        one numeric field (scikit-survival's), or a frame or mapping with columns ``time`` and
        ``event``.

        >>> Outcomes.of({"time": [2.0, 3.0], "event": [True, False]})
        Outcomes(n=2, events=1, last time=3)
        """
        if isinstance(obj, Outcomes):
            return obj
        time, event = cls._columns(obj, argument)
        try:
            return cls(time, event, copy=copy)
        except InputError as error:
            raise InputError(f"{argument}: {error}") from error

    @staticmethod
    def _columns(obj: Any, argument: str) -> tuple[Any, Any]:
        """Find the times and the flags in whatever holds them."""
        if isinstance(obj, tuple) or (isinstance(obj, list) and len(obj) == 2):
            if len(obj) != 2:
                raise InputError(f"{argument} must be a (time, event) pair; got {len(obj)} items")
            return obj[0], obj[1]
        if isinstance(obj, np.ndarray) and obj.dtype.names:
            return _structured_fields(obj, argument)
        if isinstance(obj, Mapping) or hasattr(obj, "columns"):
            columns = list(obj if isinstance(obj, Mapping) else obj.columns)
            missing = [name for name in ("time", "event") if name not in columns]
            if missing:
                raise InputError(
                    f"{argument} must have columns 'time' and 'event'; "
                    f"{' and '.join(map(repr, missing))} missing, columns are "
                    f"{[str(c) for c in columns[:8]]}"
                )
            return obj["time"], obj["event"]
        raise InputError(
            f"{argument} must be Outcomes, a (time, event) pair, a structured array, or a frame "
            f"with columns time and event; got {type(obj).__name__}"
        )

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

    def to_structured(self) -> np.ndarray[Any, Any]:
        """Structured array with fields ``event`` and ``time``, as scikit-survival takes it.

        >>> Outcomes([5, 8], [1, 0]).to_structured().dtype.names
        ('event', 'time')
        """
        array = np.empty(len(self), dtype=[("event", "?"), ("time", "f8")])
        array["event"], array["time"] = self.event, self.time
        return array

    def __len__(self) -> int:
        return int(self.time.size)

    @property
    def shape(self) -> tuple[int]:
        """(n,): scikit-learn takes what has a shape for an array, and selects rows of it."""
        return (len(self),)

    def __getitem__(self, rows: Any) -> Outcomes:
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn asks for rows of an array
        index = subject_index(rows)
        time, event = self.time[index], self.event[index]
        if time.size == 0:
            raise InputError("this selection of outcomes is empty; at least one subject is needed")
        weight = None if self._weight is None else self._weight[index]
        return Outcomes._trusted(
            time.copy(), event.copy(), None if weight is None else weight.copy()
        )

    def part(self, rows: slice) -> Outcomes:
        """Return neighbouring subjects, as views of the same arrays."""
        weight = None if self._weight is None else self._weight[rows]
        return Outcomes._trusted(self.time[rows], self.event[rows], weight)

    def __repr__(self) -> str:
        return (
            f"Outcomes(n={len(self)}, events={int(self.event.sum())}, "
            f"last time={float(self.time.max()):g})"
        )

    def own(self) -> Outcomes:
        """Return the same with arrays that nobody else can change."""
        arrays = self.time, self.event, self._weight
        if all(array is None or array.base is None for array in arrays):
            return self
        return Outcomes(*arrays)

    def reweighted(self, weight: Floats) -> Outcomes:
        """Return the same subjects with other weights, and their order where it is known.

        >>> Outcomes([5, 8, 3], [1, 0, 1]).reweighted(np.array([1.0, 0.0, 2.0])).weight
        array([1., 0., 2.])
        """
        found = Outcomes._trusted(self.time, self.event, np.array(weight, dtype=np.float64))
        object.__setattr__(found, "_order", self._order)
        return found

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

    def present(self) -> Outcomes:
        """Leave out subjects of weight zero, who count as absent."""
        if self._weight is None or (self._weight > 0).all():
            return self
        return self[self._weight > 0]

    def restricted(self, tau: float | None) -> Outcomes:
        """Stop the clock at `tau`: everybody who gets there has a known time, `tau`.

        Replaces (time, event) by (min(time, tau), event or time >= tau).

        >>> Outcomes([1, 5, 9], [0, 0, 1]).restricted(5).event
        array([False,  True,  True])
        """
        if tau is None:
            return self
        return Outcomes._trusted(
            np.minimum(self.time, tau), self.event | (self.time >= tau), self._weight
        )


def _structured_fields(array: np.ndarray[Any, Any], argument: str) -> tuple[Any, Any]:
    """Find the boolean and the numeric field of a structured array."""
    names = array.dtype.names or ()
    booleans = [name for name in names if array.dtype[name].kind == "b"]
    numeric = [name for name in names if array.dtype[name].kind in "fiu"]
    if len(booleans) != 1 or len(numeric) != 1:
        raise InputError(
            f"{argument} must have exactly one boolean and one numeric field; got fields "
            f"{ {name: str(array.dtype[name]) for name in names} }"
        )
    return to_numpy(array[numeric[0]], "time"), array[booleans[0]]
