"""Sums over the times at which subjects are at risk of being censored, for doubly robust losses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.sorting import look_up
from ..data.curves import SurvivalCurves
from .kaplan_meier import KaplanMeier
from .losses import Loss
from .reference import Reference
from .residual import ResidualDistribution, read, value_of


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


#: Parts of the time past the last atom of the subjects' distributions in which jumps of G are put
#: together.
_LATE_PARTS = 64


@dataclass(frozen=True)
class Walk:
    """Partial sums over the times at which subjects are at risk of being censored."""

    #: Distribution of the event time, of all subjects or of each.
    distribution: ResidualDistribution
    #: G of all subjects or of each.
    g: FlooredG
    #: V times at which somebody can be censored, rising, (V,).
    times: Floats
    #: 1/G - 1 before the first of them and after each; of shape (V + 1,) or (n, V + 1).
    excess: Floats
    #: Whether a time before the last atom of the distribution stands for all from it to the next.
    by_cell: bool = False
    _sums: dict[str, Floats] = field(default_factory=dict, init=False)

    @classmethod
    def of_reference(
        cls, reference: Reference, distribution: ResidualDistribution, km: KaplanMeier, floor: float
    ) -> Walk:
        """Walk along the jumps of one G for all, under a distribution of the reference set."""
        known: WeakKeyDictionary[KaplanMeier, dict[tuple[float, ResidualDistribution], Walk]]
        known = reference.whole.cached(Walk, WeakKeyDictionary)
        made, key = known.setdefault(km, {}), (floor, distribution)
        if key not in made:
            # Neither the tail, the cause nor the horizon changes the jumps.
            alike = next((walk for other, walk in made.items() if other[0] == floor), None)
            made[key] = (
                cls._of_all(distribution, km, floor)
                if alike is None
                else replace(alike, distribution=distribution)
            )
        return made[key]

    @classmethod
    def _of_all(cls, distribution: ResidualDistribution, km: KaplanMeier, floor: float) -> Walk:
        g = FlooredG(km, floor)
        times, values = g.falls(km)
        excess = np.concatenate(([0.0], 1 / values - 1))
        return cls(distribution, g, times, excess)

    @classmethod
    def of_jumps(cls, distribution: ResidualDistribution, g: FlooredG, weight: Floats) -> Walk:
        """Walk along the jumps of each subject's G under a common distribution."""
        times = g.jumps()
        excess = np.zeros((weight.size, times.size + 1))
        excess[:, 1:] = np.minimum(1 / g.table(times, "right"), weight[:, None]) - 1
        return cls(distribution, g, times, excess)

    @classmethod
    def of_atoms(
        cls, distribution: ResidualDistribution, g: FlooredG, weight: Floats, latest: float
    ) -> Walk:
        """Walk along the steps of each subject's distribution, between which m does not change."""
        atoms = distribution.atoms
        ends, middles = _late_parts(g, distribution.last_atom, latest)
        excess = np.ones((weight.size, 1 + atoms.size + ends.size))
        excess[:, 1 : atoms.size + 1] = 1 / g.table(atoms, "left")
        excess[:, atoms.size + 1 :] = 1 / g.table(ends, "right")
        np.minimum(excess, weight[:, None], out=excess)
        excess -= 1
        times = np.concatenate(([0.0], atoms[:-1], middles))
        return cls(distribution, g, times, excess, by_cell=True)

    def find(self, t: Floats, side: str) -> tuple[Ints, Ints]:
        """Count atoms of the distribution and times before t, or also at t ("right")."""
        return self.distribution.passed(t, side), look_up(self.times, t, side)

    def _ahead(self, name: str) -> Floats:
        """Integrals of f past each of the times."""
        return self.distribution.table(name, self.times)

    def _shares(self) -> tuple[Floats, Bools]:
        """Steps / S at each of the times, and whether nothing of the distribution lies past it."""
        alive = self.distribution.alive_table(self.times)
        over = self.distribution.over(self.times, alive)
        shares = np.diff(self.excess)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares /= alive
        np.copyto(shares, 0.0, where=over)
        return shares, over

    def sums(self, name: str = "") -> Floats:
        """Sums of steps / S up to each time, times the integrals of f if it is named."""
        known = self._sums.get(name)
        if known is None:
            known = self._summed(name)
            self._sums[name] = known  # complete: other threads may share the walk
        return known

    def _summed(self, name: str) -> Floats:
        if name == "1" and not self.distribution.by_cause:  # the integral of 1 is S
            return self.excess
        parts, over = self._shares()
        if name:
            parts *= self._ahead(name)
            if over.any():
                # Past the end of the distribution the event would have come at v itself.
                with np.errstate(over="ignore"):
                    there = np.diff(self.excess) * value_of(name, self.times)
                there *= self.distribution.share[..., None]
                parts = np.where(over, there, parts)
        known = np.zeros(self.excess.shape)
        np.cumsum(parts, axis=-1, out=known[..., 1:])
        return known

    def expected(self, rule: Loss, p: Floats, until: Ints, at: tuple[Ints, Ints]) -> Floats:
        """Sum of m(v) (1/G(v) - 1/G(v-)) over the first `until` times of each subject.

        `at`: the number of atoms of the distribution and of times before p.
        """
        total = np.zeros_like(p)
        places, early = at[0], np.minimum(at[1], until)
        number = read(self.sums(), early) if rule.signed else total
        for name, g in rule.terms:
            sums = self.sums(name)
            part = read(sums, until)
            if rule.signed:
                part += 2 * (self.distribution.above(name, p, places) * number - read(sums, early))
            total += g(p) * part
        if self.distribution.by_cause:
            # Who does not get the event of the cause has its loss at the horizon.
            others = read(self.excess, until) - read(self.sums("1"), until)
            total += rule.of(np.asarray(self.distribution.stop), p) * others
        return total


def _late_parts(g: FlooredG, last: float, latest: float) -> tuple[Floats, Floats]:
    """Parts of the time past the last atom, where m changes all the time.

    Returns their ends, and the times at which m is read for them. A part is a jump of G, unless
    there are many jumps or G falls all the time.
    """
    jumps = g.jumps()
    if g.steps:
        jumps = jumps[jumps >= last]
        edges = np.arange(-1, jumps.size)
        if jumps.size > _LATE_PARTS:
            edges = np.linspace(-1, jumps.size - 1, _LATE_PARTS + 1).round().astype(np.intp)
        ends, middles = jumps[edges[1:]], jumps[(edges[:-1] + 1 + edges[1:]) // 2]
    else:
        bounds = np.linspace(last, max(last, jumps[-1]), _LATE_PARTS + 1)
        ends, middles = bounds[1:], (bounds[:-1] + bounds[1:]) / 2
    # Nobody is at risk in parts that begin later than everybody's last time.
    used = int(look_up(ends, np.array([latest]), "left")[0]) + 1 if latest >= last else 0
    return ends[:used], middles[:used]
