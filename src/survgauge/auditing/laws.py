"""Laws that times are drawn from: curves per subject, one step function, or a mixture.

Every law turns a *level*, a uniform number in (0, 1], into the first time at which the subject's
survival function is at or below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._tools.arrays import Floats, Ints, look_up
from ..data.curves import SurvivalCurves
from ..data.tails import tail_time
from ..reference.kaplan_meier import KaplanMeier


class TimeLaw(Protocol):
    """What the times of a world are drawn from."""

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return one time for each of `rows`, subjects of the test set; a row may come twice."""


@dataclass(frozen=True)
class CurveLaw:
    """A curve of its own for every test subject."""

    curves: SurvivalCurves

    @classmethod
    def of(cls, curves: SurvivalCurves, tail: str | None = None) -> CurveLaw:
        """Take curves as laws, with another `tail` if one is given.

        Monotone cubics are replaced by lines between denser points, once for all draws. Curves
        whose tail refuses to say how they go on (`nan`) go on linearly.
        """
        if curves.interpolation == "pchip":
            curves = curves.joined_by_lines()
        tail = tail or ("linear" if curves.tail == "nan" else curves.tail)
        return cls(curves if tail == curves.tail else curves.with_tail(tail))

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time at which each row's curve has come down to its level."""
        return self.curves.times_at(rows, level)


@dataclass(frozen=True)
class StepLaw:
    """One Kaplan-Meier estimate for everybody, with a tail past its last time."""

    km: KaplanMeier
    tail: str

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time at which the estimate has come down to each level."""
        survival, known = self.km.survival, self.km.times
        place = look_up(-survival, -level, "left")
        found = known.take(np.minimum(place, known.size - 1))
        past = place == known.size
        if past.any():
            end = np.full(int(past.sum()), survival[-1])
            found[past] = tail_time(level[past], np.full(end.size, known[-1]), end, self.tail)
        return found


@dataclass(frozen=True)
class NeverLaw:
    """Nobody is censored."""

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return infinite times."""
        return np.full(rows.size, np.inf)


@dataclass(frozen=True)
class MixtureLaw:
    """For every subject one of several laws, each as likely as the others."""

    laws: tuple[TimeLaw, ...]

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time under the law that was drawn for each subject."""
        which = rng.integers(len(self.laws), size=rows.size)
        found = np.empty(rows.size)
        for k, law in enumerate(self.laws):
            mine = np.flatnonzero(which == k)
            found[mine] = law.times(rows[mine], level[mine], rng)
        return found
