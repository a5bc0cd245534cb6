r"""Doubly robust losses: right if the law of the event time or the model of censoring is right.

With L the loss of a prediction as a function of the event time, m(u) = E[L(T) given T > u] under
the law, and G the probability of not being censored yet, a subject observed until y counts as

    phi = d L(y) / G(y-) + (1 - d) m(y) / G(y) - sum over v of m(v) (1/G(v) - 1/G(v-)),

the sum over the jumps v of G at which it was at risk of being censored: those before y, and y
itself for a censored subject. Losses are sums of products f(t) g(p), times the sign of t - p, so
that the sum over v needs no more than partial sums of S and of the integrals of f.

1/G never falls. Where G is known by subject, it is therefore cut at the subject's own 1/G, and the
sum goes over the same times for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, look_up
from .._tools.chunks import chunks
from .._tools.threads import in_order
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from .floored_g import FlooredG
from .kaplan_meier import KaplanMeier
from .losses import Loss
from .reference import Reference
from .residual import ResidualLaw, read, value_of

#: Values of curves that are worked on together, and blocks whose tables are kept for other models.
_BLOCK_VALUES, _KEPT_BLOCKS = 100_000, 16
#: Parts of the time past the last atom of the subjects' laws in which jumps of G are put together.
_LATE_PARTS = 64


class MergedTimes:
    """Atoms of a law and jumps of G in one table: one look-up finds a time among both.

    Parameters
    ----------
    atoms, jumps : ndarray
        Rising times.
    """

    def __init__(self, atoms: Floats, jumps: Floats) -> None:
        self._jumps = jumps
        self._both = np.concatenate((atoms, jumps))
        self._both.sort(kind="stable")  # two sorted runs are merged
        # Of equals an atom comes first.
        self._jumps_until = np.zeros(self._both.size + 1, dtype=np.int32)
        self._jumps_until[1 + np.arange(jumps.size) + look_up(atoms, jumps, "right")] = 1
        np.cumsum(self._jumps_until, out=self._jumps_until)

    def find(self, t: Floats) -> tuple[Ints, Ints, Ints]:
        """Return the number of atoms <= t, of jumps < t and of jumps <= t."""
        place = look_up(self._both, t, "right")
        until: Ints = self._jumps_until[place].astype(np.intp)
        before = until
        if self._jumps.size:
            before = until - ((until > 0) & (self._jumps[until - 1] == t))
        return place - until, before, until


@dataclass(frozen=True)
class Walk:
    """Partial sums over the times at which subjects are at risk of being censored.

    Attributes
    ----------
    law : ResidualLaw
        Law of the event time.
    times : ndarray of shape (V,)
        These times, rising.
    excess : ndarray of shape (V + 1,) or (n, V + 1)
        1/G - 1 before the first of them and after each, of all subjects or of each.
    by_cell : bool
        Whether a time before the last atom of the law stands for all from it to the next.
    """

    law: ResidualLaw
    times: Floats
    excess: Floats
    by_cell: bool = False
    _sums: dict[str, Floats] = field(default_factory=dict, init=False)

    @cached_property
    def merged(self) -> MergedTimes:
        """The times together with the atoms of the law."""
        return MergedTimes(self.law.atoms, self.times)

    def _shares(self) -> tuple[Floats, Bools]:
        """Steps / S at each of the times, and whether nothing of the law lies past it."""
        alive = self.law.table("1", self.times)
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
        if name == "1":  # the integral of 1 is S
            return self.excess
        parts, over = self._shares()
        if name:
            parts *= self.law.table(name, self.times)
            if over.any():
                # Past the end of the law the event would have come at v itself.
                with np.errstate(over="ignore"):
                    there = np.diff(self.excess) * value_of(name, self.times)
                parts = np.where(over, there, parts)
        known = np.zeros(self.excess.shape)
        np.cumsum(parts, axis=-1, out=known[..., 1:])
        return known

    def expected(self, rule: Loss, p: Floats, until: Ints, at: tuple[Ints, Ints]) -> Floats:
        """Sum of m(v) (1/G(v) - 1/G(v-)) over the first `until` times of each subject.

        `at`: where p stands among the atoms of the law and among the times.
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
        return total


@dataclass(frozen=True)
class DoublyRobust:
    """Doubly robust losses of subjects, for any loss and any prediction.

    Attributes
    ----------
    y : Outcomes
        The subjects, with the clock stopped at the horizon if there is one.
    g : FlooredG
        G of the subjects.
    walk : Walk
        Law and G at the times at which somebody can be censored.
    places : ndarray of int, shape (n,)
        Number of atoms of the law at or before the time of each subject.
    until : ndarray of int, shape (n,)
        Number of times of the walk at which each subject was at risk.
    weight : ndarray of shape (n,)
        1/G(y-) of events, 1/G(y) of censored subjects.
    """

    y: Outcomes
    g: FlooredG
    walk: Walk
    places: Ints
    until: Ints
    weight: Floats
    _looked_up: dict[str, Floats] = field(default_factory=dict, init=False)

    @classmethod
    def of_reference(
        cls, y: Outcomes, reference: Reference, tail: str, km: KaplanMeier, floor: float
    ) -> DoublyRobust:
        """Take Kaplan-Meier of the reference set as the law, and one G for all."""
        known: WeakKeyDictionary[KaplanMeier, dict[tuple[str, float], tuple[FlooredG, Walk]]]
        known = reference.cached("walks", WeakKeyDictionary)
        made = known.setdefault(km, {})
        if (tail, floor) not in made:
            made[tail, floor] = _common_walk(ResidualLaw.of_reference(reference, tail), km, floor)
        g, walk = made[tail, floor]
        places, before, until = walk.merged.find(y.time)
        until = np.where(y.event, before, until)
        return cls(y, g, walk, places, until, 1 + walk.excess[until])

    @classmethod
    def of_curves(
        cls, y: Outcomes, law: SurvivalCurves | ResidualLaw, g: FlooredG, stop: float | None
    ) -> DoublyRobust:
        """Take a law per subject and G of all or of each, or one law and a G of each with jumps."""
        weight = 1 / np.where(y.event, g.at(y.time, "left"), g.at(y.time, "right"))
        if isinstance(law, ResidualLaw):
            walk = _walk_of_jumps(law, g, weight)
        else:
            walk = _walk_of_atoms(ResidualLaw.of_curves(law, stop), g, weight, y.time.max())
        until = np.full(len(y), walk.times.size)
        return cls(y, g, walk, walk.law.places(y.time), until, weight)

    @property
    def unknown(self) -> Bools:
        """Whether the law of a subject, or of all, has no mean."""
        return self.walk.law.unknown

    def _where(self, p: Floats) -> tuple[Ints, Ints]:
        """Return the number of atoms <= p, and of times of the walk < p."""
        if self.walk.excess.ndim == 1:
            return self.walk.merged.find(p)[:2]
        return self.walk.law.places(p), look_up(self.walk.times, p, "left")

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        y, at = self.y, self._where(p)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(y.event, rule.of(y.time, p), self._ahead(rule, p, at))
            found *= self.weight
            found -= self.walk.expected(rule, p, self.until, at)
        return found

    def _ahead(self, rule: Loss, p: Floats, at: tuple[Ints, Ints]) -> Floats:
        """Return m of each censored subject at its own time; that of others may be missing."""
        law, y = self.walk.law, self.y
        # A law per subject is read row by row.
        rows = np.flatnonzero(~y.event) if law.shared else slice(None)
        found = np.zeros(len(y))
        found[rows] = law.expected(
            rule, y.time[rows], p[rows], self.places[rows], self._looked_up, at[0][rows]
        )
        return found

    @np.errstate(divide="ignore", invalid="ignore")
    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last atom of the law.

        `known` says where the observed part of a law ends that has atoms past it.
        """
        y, law, walk, at = self.y, self.walk.law, self.walk, self._where(p)
        end = law.last_atom if known is None else min(known, law.last_atom)
        last = np.full(p.size, end)
        ends, later = law.places(last), np.maximum(last, p)
        rest = np.zeros(p.size)
        for name, g in rule.terms:
            part = law.above(name, last, ends)
            if rule.signed:
                part = 2 * law.above(name, later, law.places(later)) - part
            rest += g(p) * part
        early = y.time < last
        ahead = self.weight / law.above("1", y.time, self.places)
        first = np.minimum(self.until, look_up(walk.times, last[:1], "left"))
        found = np.where(early & ~y.event, ahead, 0.0) - read(walk.sums(), first)
        # Where the law is over before its last atom, nothing comes from later.
        found = np.where(rest == 0, 0.0, found * rest)
        if not early.all():
            late = np.where(y.event, 0.0, self.weight * self._ahead(rule, p, at))
            late -= walk.expected(rule, p, self.until, at) - walk.expected(rule, p, first, at)
            found += np.where(early, 0.0, late)
        return found

    def part(self, rows: slice) -> DoublyRobust:
        """Return the same for some of the subjects, where law and G are those of all."""
        own = self.places[rows], self.until[rows], self.weight[rows]
        return DoublyRobust(self.y[rows], self.g, self.walk, *own)

    def event_free(self, t: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of subjects with `event_free_at` of them."""
        size = max(1, _BLOCK_VALUES // t.size)
        for rows in chunks(len(self.y), size=size):
            yield rows, self.part(rows).event_free_at(t)

    def event_free_at(self, t: Floats) -> Floats:
        """Return the doubly robust indicators of being event-free at times t: (n, k).

        They are phi of the loss 1(T > t); the loss of any forecast of this status is linear in it.
        """
        y, law, walk = self.y, self.walk.law, self.walk
        survival = law.table("1", t)
        later = y.time[:, None] > t
        own = law.above("1", y.time, self.places)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(own > 0, self.weight / own, 0.0)[:, None] * survival
        seen = np.broadcast_to(look_up(walk.times, t, "right"), later.shape)
        if walk.by_cell:
            # In the cell around t the status is certain, so that only the cells before it count.
            seen = seen - (later & (t < law.last_atom))
        seen = np.minimum(seen, self.until[:, None])
        found = np.where(
            later, 1 + _read_all(walk.excess, seen), np.where(y.event[:, None], 0.0, rest)
        )
        return found - survival * _read_all(walk.sums(), seen)


def _read_all(table: Floats, places: Ints) -> Floats:
    """Entries of a table at several places per subject; one with rows is read row by row."""
    return table[places] if table.ndim == 1 else np.take_along_axis(table, places, axis=1)


@dataclass(frozen=True)
class DoublyRobustByBlock:
    """`DoublyRobust` with a law or G per subject, in blocks of subjects that stay in the cache."""

    y: Outcomes
    law: SurvivalCurves | ResidualLaw
    g: FlooredG
    stop: float | None
    _blocks: dict[int, DoublyRobust] = field(default_factory=dict, init=False)

    @property
    def weight(self) -> Floats:
        """1/G of the subjects."""
        return self._together(lambda block, rows: block.weight)

    @property
    def unknown(self) -> Bools:
        """Whether the law of each subject, or of all, has no mean."""
        law = self.law
        return (
            ResidualLaw.of_curves(law, self.stop) if isinstance(law, SurvivalCurves) else law
        ).unknown

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        return self._together(lambda block, rows: block.phi(rule, p[rows]))

    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last known one of the law."""
        return self._together(lambda block, rows: block.from_tail(rule, p[rows], known))

    def event_free(self, t: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of subjects with the indicators of being event-free at times t: (n, k)."""
        for rows in self._rows():
            yield rows, self._block(rows).event_free_at(t)

    def _together(self, ask: Callable[[DoublyRobust, slice], Floats]) -> Floats:
        """Answers of the blocks one after the other."""
        answers = in_order(lambda rows: ask(self._block(rows), rows), self._rows())
        return np.concatenate(list(answers))

    def _rows(self) -> Iterator[slice]:
        curves = self.law if isinstance(self.law, SurvivalCurves) else self.g.censoring
        return chunks(len(self.y), size=max(1, _BLOCK_VALUES // curves.survival.shape[-1]))

    def _block(self, rows: slice) -> DoublyRobust:
        known = self._blocks.get(rows.start)
        if known is None:
            law = self.law[rows] if isinstance(self.law, SurvivalCurves) else self.law
            known = DoublyRobust.of_curves(self.y[rows], law, self.g.part(rows), self.stop)
            if len(self._blocks) < _KEPT_BLOCKS:
                self._blocks[rows.start] = known
        return known


def _common_walk(law: ResidualLaw, km: KaplanMeier, floor: float) -> tuple[FlooredG, Walk]:
    """Walk along the jumps of a common G under a common law."""
    g = FlooredG(km, floor)
    times = g.jumps()
    return g, Walk(law, times, np.concatenate(([0.0], 1 / g.at(times, "right") - 1)))


def _walk_of_jumps(law: ResidualLaw, g: FlooredG, weight: Floats) -> Walk:
    """Walk along the jumps of each subject's G under a common law."""
    times = g.jumps()
    excess = np.zeros((weight.size, times.size + 1))
    excess[:, 1:] = np.minimum(1 / g.table(times, "right"), weight[:, None]) - 1
    return Walk(law, times, excess)


def _walk_of_atoms(law: ResidualLaw, g: FlooredG, weight: Floats, latest: float) -> Walk:
    """Walk along the steps of each subject's law, between which m does not change."""
    atoms = law.atoms
    ends, middles = _late_parts(g, law.last_atom, latest)
    excess = np.ones((weight.size, 1 + atoms.size + ends.size))
    excess[:, 1 : atoms.size + 1] = 1 / g.table(atoms, "left")
    excess[:, atoms.size + 1 :] = 1 / g.table(ends, "right")
    np.minimum(excess, weight[:, None], out=excess)
    excess -= 1
    return Walk(law, np.concatenate(([0.0], atoms[:-1], middles)), excess, by_cell=True)


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
