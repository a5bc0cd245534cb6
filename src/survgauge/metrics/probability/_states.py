"""Predicted probabilities of every state (event-free, or an event of a cause), block by block.

Clean arrays in, no checks. At time t a subject is in state 0 until its event and in that of its
cause from then on. Numbers for subjects whose state is not known are of no meaning: they weigh 0.
Under delayed entry at a the incidence is that given no event by then, (F(t) - F(a))/S(a).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats, stored_once
from ...data.causes import Codes
from ...data.curve_reader import GridColumns, Scratch
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes

_Reader = Callable[[slice, Scratch], Floats]


@dataclass(frozen=True)
class States:
    """What is read of predictions of all causes."""

    #: Of n subjects.
    curves: IncidenceCurves
    #: Cause of each event, counted from 1; 0: censored; of shape (n,).
    codes: Codes
    #: probability, squared, right: probability of the state that a subject is in; squared distance
    #: between the predicted probabilities and that state, added up over the states; or whether it
    #: is the most probable state (1) or not (0).
    reads: str
    #: Incidence of each cause at the entries, (causes, n), and S there; None: nobody enters late.
    at_entry: Floats | None = None
    scale: Floats | None = None

    def given_entry(self, y: Outcomes) -> States:
        """Return the same given no event by the entries of the subjects."""
        if y.entry is None:
            return self
        entry = np.where(y.weight > 0, np.minimum(y.entry, self.curves.times[-1]), 0.0)
        scale = self.curves.free_at_own(entry)
        then = np.stack([self.curves.at_own(entry, cause) for cause in self.curves.causes])
        # Where nothing is left the event comes at once, of a cause with its probability.
        then[:, (scale <= 0) | (entry == 0)] = 0.0
        return replace(self, at_entry=then, scale=np.where((scale > 0) & (entry > 0), scale, 1.0))

    def reader_of(self, times: Floats, change: NDArray[np.int32]) -> Callable[[Floats], _Reader]:
        """Reader at some of `times`, of which those before `change` find a subject event-free."""
        return lambda some: self._reader(some, times.searchsorted(some), change)

    def _reader(self, some: Floats, columns: Any, change: NDArray[np.int32]) -> _Reader:
        grid = self.curves.times
        # Past the grid nothing is asked for, unless the last values hold.
        within = np.minimum(some, grid[-1])
        places = GridColumns(grid, within, self.curves.interpolation, "hold", origin=0.0)
        kinds: dict[str, Callable[..., Floats]] = {
            "probability": self._probability,
            "squared": self._squared,
            "right": self._right,
        }
        read = kinds[self.reads]
        return lambda rows, scratch: read(rows, scratch, places, change[rows, None] > columns)

    def _causes(self, rows: slice, scratch: Scratch, places: GridColumns) -> Iterator[Floats]:
        """Incidence of one cause after the other, each in the same memory, only to be read."""
        values, own = self.curves.values, rows
        if stored_once(values):  # one row stands for all
            rows = slice(0, 1)
        for cause in range(len(self.curves.causes)):
            incidence = places.read(values[rows, cause], scratch)
            if self.at_entry is None or self.scale is None:
                yield incidence
            else:
                since = (incidence - self.at_entry[cause, own, None]) / self.scale[own, None]
                yield np.maximum(since, 0.0)

    def _probability(
        self, rows: slice, scratch: Scratch, places: GridColumns, alive: Bools
    ) -> Floats:
        own: Floats = scratch("state", alive.shape)
        free: Floats = scratch("free", alive.shape)
        own.fill(1.0)
        free.fill(1.0)
        for cause, incidence in enumerate(self._causes(rows, scratch, places), 1):
            free -= incidence
            members = np.flatnonzero(self.codes[rows] == cause)
            own[members] = incidence if len(incidence) == 1 else incidence[members]
        np.copyto(own, np.maximum(free, 0.0, out=free), where=alive)
        return own

    def _squared(self, rows: slice, scratch: Scratch, places: GridColumns, alive: Bools) -> Floats:
        loss: Floats = scratch("state", alive.shape)
        free: Floats = scratch("free", alive.shape)
        loss.fill(0.0)
        free.fill(1.0)
        for cause, incidence in enumerate(self._causes(rows, scratch, places), 1):
            free -= incidence
            happened = ~alive & (self.codes[rows, None] == cause)
            gap = np.subtract(incidence, happened, out=scratch("gap", alive.shape))
            gap *= gap
            loss += gap
        np.maximum(free, 0.0, out=free)
        free -= alive
        free *= free
        loss += free
        return loss

    def _right(self, rows: slice, scratch: Scratch, places: GridColumns, alive: Bools) -> Floats:
        """Of states that are equally probable the first is taken, event-free before all causes."""
        most: Floats = scratch("state", alive.shape)
        free: Floats = scratch("free", alive.shape)
        most.fill(-1.0)
        free.fill(1.0)
        guess = scratch("guess", alive.shape, np.int32)
        for cause, incidence in enumerate(self._causes(rows, scratch, places), 1):
            free -= incidence
            np.copyto(guess, cause, where=incidence > most)
            np.maximum(most, incidence, out=most)
        guess[np.maximum(free, 0.0, out=free) >= most] = 0
        right = guess == np.where(alive, 0, self.codes[rows, None])
        most[...] = right
        return most
