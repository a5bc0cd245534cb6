"""Outcomes that come in batches, kept as counts, of which a reference set is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..errors import InputError
from .kaplan_meier import KaplanMeier, RiskTable
from .reference import Reference


class OutcomeCounts:
    """Events and subjects at each distinct time: small where times are tied, mergeable always.

    Everything that Kaplan-Meier, the censoring distribution and the reference set of an evaluation
    need of the outcomes. With several causes the events of each are counted.

    Examples
    --------
    >>> one, two = OutcomeCounts(), OutcomeCounts()
    >>> one.update(([1, 2], [1, 0]))
    >>> two.update(([3, 4], [1, 1]))
    >>> one.merge(two)
    >>> one.kaplan_meier().survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    """

    def __init__(self) -> None:
        self.times: Floats = np.empty(0)
        self.total: Floats = np.empty(0)
        #: Names of the causes, as the outcomes have them; None: one kind of event.
        self.causes: tuple[str, ...] | None = None
        #: Events of each cause, (times, causes).
        self._events: Floats = np.empty((0, 1))
        self._waiting: list[tuple[Floats, Floats, Floats]] = []
        self._size = 0

    def update(self, y: Any) -> None:
        """Add outcomes: anything that `Outcomes.of` reads, and several causes."""
        found = Outcomes.of(y, causes=isinstance(y, Outcomes) or None).present()
        self._same_causes(found.causes)
        happened = found.event[:, None]
        if found.cause is not None and found.causes is not None:
            happened = found.cause[:, None] == np.arange(1, len(found.causes) + 1)
        events = happened * found.weight[:, None] if found.weighted else happened
        self._add(found.time + 0.0, events, found.weight)  # one zero only

    def _same_causes(self, causes: tuple[str, ...] | None) -> None:
        """Learn the causes from the first outcomes; all others have the same."""
        empty = not self.times.size and not self._waiting
        if empty and causes is not None and self.causes is None:
            self.causes, self._events = causes, np.empty((0, len(causes)))
        if causes != self.causes:
            raise InputError(f"causes must be the same in all parts; got {self.causes}, {causes}")

    @property
    def events(self) -> Floats:
        """Events of whatever cause at each time."""
        return self._events.sum(axis=1)

    def merge(self, other: OutcomeCounts) -> None:
        """Add the counts of another part."""
        other._settle()
        if not other.times.size:
            return
        self._same_causes(other.causes)
        self._add(other.times, other._events, other.total)

    def _add(self, times: Floats, events: NDArray[Any], total: Floats) -> None:
        self._waiting.append(_grouped(times, events, total))
        self._size += self._waiting[-1][0].size
        # Sorted together once as much is waiting as is there: n log n in all, not n^2.
        if self._size > max(self.times.size, 1 << 17):
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        parts = [(self.times, self._events, self.total), *self._waiting]
        times, events, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        self.times, self._events, self.total = _grouped(times, events, total)
        self._waiting, self._size = [], 0

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def __len__(self) -> int:
        self._settle()
        return int(self.times.size)

    def table(self) -> RiskTable:
        """Counts at the distinct times."""
        self._settle()
        if not self.times.size:
            raise InputError("there are no outcomes: at least one subject is needed")
        return RiskTable(self.times, self.events, self.total)

    def kaplan_meier(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        return KaplanMeier.from_table(self.table())

    def censoring(self) -> KaplanMeier:
        """G, the distribution of the censoring time."""
        return KaplanMeier.from_table(self.table(), censoring=True)

    def outcomes(self) -> Outcomes:
        """Return outcomes with frequencies that have these counts, events first at equal times."""
        table = self.table()
        codes = np.arange(self._events.shape[1] + 1, dtype=np.int32)
        codes = np.append(codes[1:], codes[0]).repeat(table.times.size)  # censored last
        time = np.tile(table.times, self._events.shape[1] + 1)
        weight = np.concatenate((self._events.T.ravel(), table.censored))
        kept = weight > 0
        time, codes, weight = time[kept], codes[kept], weight[kept]
        plain = bool((weight == 1).all())
        cause = None if self.causes is None else codes
        return Outcomes._trusted(time, codes > 0, None if plain else weight, cause, self.causes)

    def reference(self) -> Reference:
        """Return the reference set with these counts."""
        return Reference(self.outcomes(), causes=True)


def _grouped(times: Floats, events: NDArray[Any], total: Floats) -> tuple[Floats, Floats, Floats]:
    """Add up what has the same time; the times come back rising.

    >>> _grouped(np.array([2.0, 1.0, 2.0]), np.array([[1], [0], [0]]), np.ones(3))
    (array([1., 2.]), array([[0.], [1.]]), array([1., 2.]))
    """
    distinct, place = np.unique(times, return_inverse=True)
    size = distinct.size
    cells = [np.bincount(place, column, size) for column in events.T]
    found = np.bincount(place, total, size).astype(np.float64, copy=False)
    return distinct, np.stack(cells, 1).astype(np.float64, copy=False), found
