"""Sums over the times at which subjects are at risk of being censored, for doubly robust losses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.places import Places, look_up
from .floored_g import FlooredG
from .kaplan_meier import KaplanMeier
from .losses import Loss
from .reference import Reference
from .residual import ResidualLaw, read, value_of

#: Parts of the time past the last atom of the subjects' laws in which jumps of G are put together.
_LATE_PARTS = 64


@dataclass(frozen=True)
class Walk:
    """Partial sums over the times at which subjects are at risk of being censored."""

    #: Law of the event time, of all subjects or of each.
    law: ResidualLaw
    #: G of all subjects or of each.
    g: FlooredG
    #: V times at which somebody can be censored, rising.
    places: Places
    #: 1/G - 1 before the first of them and after each; of shape (V + 1,) or (n, V + 1).
    excess: Floats
    #: Whether a time before the last atom of the law stands for all from it to the next.
    by_cell: bool = False
    _sums: dict[str, Floats] = field(default_factory=dict, init=False)

    @classmethod
    def of_reference(
        cls, reference: Reference, law: ResidualLaw, km: KaplanMeier, floor: float
    ) -> Walk:
        """Walk along the jumps of one G for all, under a law of the reference set."""
        known: WeakKeyDictionary[KaplanMeier, dict[tuple[float, ResidualLaw], Walk]]
        known = reference.whole.cached(Walk, WeakKeyDictionary)
        made, key = known.setdefault(km, {}), (floor, law)
        if key not in made:
            # Neither the tail, the cause nor where the clock stops changes the jumps.
            alike = next((walk for other, walk in made.items() if other[0] == floor), None)
            made[key] = cls._of_all(law, km, floor) if alike is None else replace(alike, law=law)
        return made[key]

    @classmethod
    def _of_all(cls, law: ResidualLaw, km: KaplanMeier, floor: float) -> Walk:
        g = FlooredG(km, floor)
        times, values = g.falls(km)
        excess = np.concatenate(([0.0], 1 / values - 1))
        return cls(law, g, Places(times), excess)

    @classmethod
    def of_jumps(cls, law: ResidualLaw, g: FlooredG, weight: Floats) -> Walk:
        """Walk along the jumps of each subject's G under a common law."""
        times = g.jumps()
        excess = np.zeros((weight.size, times.size + 1))
        excess[:, 1:] = np.minimum(1 / g.table(times, "right"), weight[:, None]) - 1
        return cls(law, g, Places(times), excess)

    @classmethod
    def of_atoms(cls, law: ResidualLaw, g: FlooredG, weight: Floats, latest: float) -> Walk:
        """Walk along the steps of each subject's law, between which m does not change."""
        atoms = law.atoms
        ends, middles = _late_parts(g, law.last_atom, latest)
        excess = np.ones((weight.size, 1 + atoms.size + ends.size))
        excess[:, 1 : atoms.size + 1] = 1 / g.table(atoms, "left")
        excess[:, atoms.size + 1 :] = 1 / g.table(ends, "right")
        np.minimum(excess, weight[:, None], out=excess)
        excess -= 1
        times = np.concatenate(([0.0], atoms[:-1], middles))
        return cls(law, g, Places(times), excess, by_cell=True)

    @property
    def times(self) -> Floats:
        """Times at which somebody can be censored, of shape (V,)."""
        return self.places.table

    def find(self, t: Floats, side: str) -> tuple[Ints, Ints]:
        """Return the number of atoms of the law and of times before t, or also at t ("right")."""
        return self.law.passed(t, side), self.places.of(t, side)

    def _ahead(self, name: str) -> Floats:
        """Integrals of f past each of the times."""
        return self.law.table(name, self.times)

    def _shares(self) -> tuple[Floats, Bools]:
        """Steps / S at each of the times, and whether nothing of the law lies past it."""
        alive = self.law.alive_table(self.times)
        over = self.law.over(self.times, alive)
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
        if name == "1" and not self.law.by_cause:  # the integral of 1 is S
            return self.excess
        parts, over = self._shares()
        if name:
            parts *= self._ahead(name)
            if over.any():
                # Past the end of the law the event would have come at v itself.
                with np.errstate(over="ignore"):
                    there = np.diff(self.excess) * value_of(name, self.times)
                there *= self.law.share[..., None]
                parts = np.where(over, there, parts)
        known = np.zeros(self.excess.shape)
        np.cumsum(parts, axis=-1, out=known[..., 1:])
        return known

    def expected(self, rule: Loss, p: Floats, until: Ints, at: tuple[Ints, Ints]) -> Floats:
        """Sum of m(v) (1/G(v) - 1/G(v-)) over the first `until` times of each subject.

        `at`: the number of atoms of the law and of times before p.
        """
        total = np.zeros_like(p)
        places, early = at[0], np.minimum(at[1], until)
        number = read(self.sums(), early) if rule.signed else total
        for name, g in rule.terms:
            sums = self.sums(name)
            part = read(sums, until)
            if rule.signed:
                part += 2 * (self.law.above(name, p, places) * number - read(sums, early))
            total += g(p) * part
        if self.law.by_cause:
            # Who does not get the event of the cause has its loss where the clock stops.
            others = read(self.excess, until) - read(self.sums("1"), until)
            total += rule.of(np.asarray(self.law.stop), p) * others
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
