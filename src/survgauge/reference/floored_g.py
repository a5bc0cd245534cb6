"""G of doubly robust losses: that of all subjects or of each, with a floor."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Bools, Floats
from ..data.curves import SurvivalCurves
from .kaplan_meier import KaplanMeier


class FlooredG:
    """G that stops falling before it gets below a floor: from there on nobody is censored.

    `censoring` is G of all subjects, or of each; past its last time it keeps its value.
    """

    def __init__(self, censoring: KaplanMeier | SurvivalCurves, floor: float) -> None:
        if isinstance(censoring, SurvivalCurves):
            censoring = censoring.held()
        self.censoring = censoring
        self.floor = floor
        values = censoring.survival
        kept = np.where(values >= floor, values, 1.0).min(axis=-1, initial=1.0)
        if not self.steps:
            # A curve that falls all the time gets down to the floor itself.
            kept = np.where(values[:, -1] < floor, floor, kept)
        self._lowest: Floats = np.asarray(kept, dtype=np.float64)
        #: When G of all gets below the floor.
        self._reached = np.inf
        if isinstance(censoring, KaplanMeier) and censoring.last_survival < floor:
            self._reached = float(censoring.times[np.argmax(values < floor)])

    @property
    def steps(self) -> bool:
        """Whether G falls by jumps alone."""
        return isinstance(self.censoring, KaplanMeier) or self.censoring.interpolation == "step"

    def part(self, rows: slice) -> FlooredG:
        """Return G of some of the subjects."""
        if isinstance(self.censoring, KaplanMeier):
            return self
        return FlooredG(self.censoring[rows], self.floor)

    def at(self, t: Floats, side: str) -> Floats:
        """Return G of each subject at its own time, or just before it."""
        if isinstance(self.censoring, KaplanMeier):
            values = self.censoring.at(t, side=side)
        else:
            values = self.censoring.at_own(t if side == "right" else _just_before(t))
            values = np.where((t > 0) | (side == "right"), values, 1.0)
        return np.where(values >= self.floor, values, self._lowest)

    def table(self, t: Floats, side: str) -> Floats:
        """Return G at common times, or just before them: (V,), or (n, V) by subject."""
        if isinstance(self.censoring, KaplanMeier):
            return self.at(t, side)
        values = self.censoring.at(t if side == "right" else _just_before(t))
        values = np.where((t > 0) | (side == "right"), values, 1.0)
        return np.where(values >= self.floor, values, self._lowest[:, None])

    def jumps(self) -> Floats:
        """Return the times at which G of anybody may jump without getting below the floor."""
        if isinstance(self.censoring, SurvivalCurves):
            return self.censoring.times
        return self.falls(self.censoring)[0]

    def falls(self, km: KaplanMeier) -> tuple[Floats, Floats]:
        """Return the times at which G of all falls without getting below the floor, and G there."""
        values = km.survival
        before = np.concatenate(([1.0], values[:-1]))
        fell = np.flatnonzero((values < before) & (values >= self.floor))
        return km.times[fell], values[fell]

    def below(self, t: Floats) -> Bools:
        """Whether G without the floor is below it just before the time of each subject."""
        if isinstance(self.censoring, KaplanMeier):
            return t > self._reached
        return self.censoring.at_own(_just_before(t)) < self.floor


def _just_before(t: Floats) -> Floats:
    return np.maximum(np.nextafter(t, -np.inf), 0.0)
