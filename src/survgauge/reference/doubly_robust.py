r"""Doubly robust losses: right if the law of the event time or the model of censoring is right.

With L the loss of a prediction as a function of the event time, m(u) = E[L(T) given T > u] under
the law, and G the probability of not being censored yet, a subject observed until y counts as

    phi = d L(y) / G(y-) + (1 - d) m(y) / G(y) - sum over v of m(v) (1/G(v) - 1/G(v-)),

the sum over the jumps v of G at which it was at risk of being censored: those before y, and y
itself for a censored subject. Losses are sums of products f(t) g(p), times the sign of t - p, so
that the sum over v needs no more than partial sums of S and of the integrals of f.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, look_up
from .._tools.chunks import chunks
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from .kaplan_meier import KaplanMeier
from .losses import Loss
from .reference import Reference
from .residual import ResidualLaw, read, value_of

#: Values of curves that are worked on together, and blocks whose tables are kept for other models.
_BLOCK_VALUES, _KEPT_BLOCKS = 200_000, 8
#: Jumps of G past the last atom of a subject's law that are told apart; more are put together.
_LATE_JUMPS = 64


class FlooredG:
    """G that stops falling before it gets below a floor: from there on nobody is censored.

    Parameters
    ----------
    censoring : KaplanMeier or SurvivalCurves
        G of all subjects, or of each.
    floor : float
        Least value, at most 1.
    """

    def __init__(self, censoring: KaplanMeier | SurvivalCurves, floor: float) -> None:
        self.censoring = censoring
        self.floor = floor
        values = censoring.survival
        kept = np.where(values >= floor, values, 1.0).min(axis=-1, initial=1.0)
        if isinstance(censoring, SurvivalCurves) and censoring.interpolation != "step":
            # A curve that falls all the time gets down to the floor itself.
            kept = np.where(values[:, -1] < floor, floor, kept)
        self._lowest: Floats = np.asarray(kept, dtype=np.float64)

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
        """Return the times at which G of anybody may fall without getting below the floor."""
        if isinstance(self.censoring, SurvivalCurves):
            return self.censoring.times
        before = np.concatenate(([1.0], self.censoring.survival[:-1]))
        fell = (self.censoring.survival < before) & (self.censoring.survival >= self.floor)
        return self.censoring.times[fell]

    def below(self, t: Floats) -> Bools:
        """Whether G without the floor is below it just before the time of each subject."""
        if isinstance(self.censoring, KaplanMeier):
            return self.censoring.at(t, side="left") < self.floor
        return self.censoring.at_own(_just_before(t)) < self.floor


def _just_before(t: Floats) -> Floats:
    return np.maximum(np.nextafter(t, -np.inf), 0.0)


@dataclass(frozen=True)
class Walk:
    """Partial sums over the times at which subjects are at risk of being censored.

    Attributes
    ----------
    law : ResidualLaw
        Law of the event time.
    times : ndarray of shape (V,)
        These times, rising.
    step : ndarray of shape (V,) or (n, V)
        1/G(v) - 1/G(v-) at each, of all subjects or of each.
    by_cell : bool
        Whether a time before the last atom of the law stands for all from it to the next.
    """

    law: ResidualLaw
    times: Floats
    step: Floats
    by_cell: bool = False
    _sums: dict[str, Floats] = field(default_factory=dict, init=False)

    def sums(self, name: str = "") -> Floats:
        """Sums of steps / S up to each time, times the integrals of f if it is named."""
        known = self._sums.get(name)
        if known is None:
            alive = self.law.table("1", self.times)
            lasts = ~self.law.over(self.times, alive)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = np.where(lasts, self.step / alive, 0.0)
            if name:
                # Past the end of the law the event would have come at v itself.
                there = self.step * value_of(name, self.times)
                parts = np.where(lasts, parts * self.law.table(name, self.times), there)
            known = np.zeros((*parts.shape[:-1], parts.shape[-1] + 1))
            np.cumsum(parts, axis=-1, out=known[..., 1:])
            self._sums[name] = known  # complete: other threads may share the walk
        return known

    def expected(self, rule: Loss, p: Floats, until: Ints) -> Floats:
        """Sum of m(v) (1/G(v) - 1/G(v-)) over the first `until` times of each subject."""
        total = np.zeros_like(p)
        if rule.signed:
            places = self.law.places(p)
            early = np.minimum(look_up(self.times, p, "left"), until)
            number = read(self.sums(), early)
        for name, g in rule.terms:
            sums = self.sums(name)
            part = read(sums, until)
            if rule.signed:
                part = part - 2 * read(sums, early) + 2 * self.law.above(name, p, places) * number
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
    until : ndarray of int, shape (n,)
        Number of these times at which each subject was at risk.
    """

    y: Outcomes
    g: FlooredG
    walk: Walk
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
        until = look_up(walk.times, y.time, "left")
        rows = np.flatnonzero(~y.event)
        until[rows] = look_up(walk.times, y.time[rows], "right")
        return cls(y, g, walk, until, _weight(y, g))

    @classmethod
    def of_curves(
        cls, y: Outcomes, law: SurvivalCurves, g: FlooredG, stop: float | None
    ) -> DoublyRobust:
        """Take a law per subject, and G of all or of each."""
        weight = _weight(y, g)
        walk = _own_walk(ResidualLaw.of_curves(law, stop), g, weight, float(y.time.max()))
        return cls(y, g, walk, np.full(len(y), walk.times.size), weight)

    @property
    def unknown(self) -> Bools:
        """Whether the law of a subject, or of all, has no mean."""
        return self.walk.law.unknown

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        y = self.y
        with np.errstate(divide="ignore", invalid="ignore"):
            found = rule.of(y.time, p)
        rows = np.flatnonzero(~y.event)
        law, c = self.walk.law.part(rows), y.time[rows]
        found[rows] = law.expected(rule, c, p[rows], law.places(c), self._looked_up)
        found *= self.weight
        found -= self.walk.expected(rule, p, self.until)
        return found

    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last atom of the law.

        `known` says where the observed part of a law ends that has atoms past it.
        """
        y, law, walk = self.y, self.walk.law, self.walk
        end = float(law.atoms[-1])
        last = np.full(p.size, end if known is None else min(known, end))
        ends = law.places(last)
        part = np.zeros(p.size)
        for name, g in rule.terms:
            rest = law.above(name, last, ends)
            if rule.signed:
                later = np.maximum(last, p)
                rest = 2 * law.above(name, later, law.places(later)) - rest
            part += g(p) * rest
        early = ~y.event & (y.time < last)
        alive = law.above("1", y.time, law.places(y.time))
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = np.where(early, self.weight / alive, 0.0)
        until = np.minimum(self.until, look_up(walk.times, last[:1], "left"))
        part *= ahead - read(walk.sums(), until)
        rows = np.flatnonzero(~y.event & (y.time >= last))
        if rows.size:
            late, c = law.part(rows), y.time[rows]
            part[rows] += self.weight[rows] * late.expected(rule, c, p[rows], late.places(c))
        return part

    def part(self, rows: slice) -> DoublyRobust:
        """Return the same for some of the subjects, where law and G are those of all."""
        return DoublyRobust(self.y[rows], self.g, self.walk, self.until[rows], self.weight[rows])

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
        own = law.above("1", y.time, law.places(y.time))
        later = y.time[:, None] > t
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(own > 0, self.weight / own, 0.0)[:, None] * survival
        seen = np.broadcast_to(look_up(walk.times, t, "right"), later.shape)
        known = 1 / self.g.table(t, "right")
        if walk.by_cell:
            # In the cell around t the status is certain, so that only the cells before it count.
            inside = t < law.atoms[-1]
            start = walk.times[seen[0] - 1]
            known = np.where(inside, 1 / self.g.table(start, "left"), known)
            seen = seen - (later & inside)
        found = np.where(later, known, np.where(y.event[:, None], 0.0, rest))
        seen = np.minimum(seen, self.until[:, None])
        sums = walk.sums()
        spent = sums[seen] if sums.ndim == 1 else np.take_along_axis(sums, seen, axis=1)
        return found - survival * spent


@dataclass(frozen=True)
class DoublyRobustByBlock:
    """`DoublyRobust` with a law per subject, in blocks of subjects that stay in the cache."""

    y: Outcomes
    law: SurvivalCurves
    g: FlooredG
    stop: float | None
    _blocks: dict[int, DoublyRobust] = field(default_factory=dict, init=False)

    @property
    def weight(self) -> Floats:
        """1/G of the subjects."""
        return _weight(self.y, self.g)

    @property
    def unknown(self) -> Bools:
        """Whether the law of each subject has no mean."""
        return np.concatenate([self._block(rows).unknown for rows in self._rows()])

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        return np.concatenate([self._block(rows).phi(rule, p[rows]) for rows in self._rows()])

    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last known one of the law."""
        blocks = [self._block(rows).from_tail(rule, p[rows], known) for rows in self._rows()]
        return np.concatenate(blocks)

    def event_free(self, t: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of subjects with the indicators of being event-free at times t: (n, k)."""
        for rows in self._rows():
            yield rows, self._block(rows).event_free_at(t)

    def _rows(self) -> list[slice]:
        size = max(1, _BLOCK_VALUES // self.law.survival.shape[1])
        return list(chunks(len(self.y), size=size))

    def _block(self, rows: slice) -> DoublyRobust:
        known = self._blocks.get(rows.start)
        if known is None:
            given = self.y[rows], self.law[rows], self.g.part(rows), self.stop
            known = DoublyRobust.of_curves(*given)
            if len(self._blocks) < _KEPT_BLOCKS:
                self._blocks[rows.start] = known
        return known


def _weight(y: Outcomes, g: FlooredG) -> Floats:
    """1/G(y-) of events, 1/G(y) of censored subjects."""
    return 1 / np.where(y.event, g.at(y.time, "left"), g.at(y.time, "right"))


def _common_walk(law: ResidualLaw, km: KaplanMeier, floor: float) -> tuple[FlooredG, Walk]:
    """Walk along the jumps of a common G under a common law."""
    g = FlooredG(km, floor)
    times = g.jumps()
    return g, Walk(law, times, 1 / g.at(times, "right") - 1 / g.at(times, "left"))


def _own_walk(law: ResidualLaw, g: FlooredG, weight: Floats, latest: float) -> Walk:
    """Walk along the steps of each subject's law, between which m does not change.

    1/G never falls, so that the part of a step at which a subject was at risk ends at its weight.
    Past the last atom m changes between the atoms too: there the jumps of G are walked along.
    """
    atoms = law.atoms
    jumps = g.jumps()
    late = jumps[(jumps >= atoms[-1]) & (jumps <= latest)]
    if late.size > _LATE_JUMPS:
        late = late[np.linspace(0, late.size - 1, _LATE_JUMPS).round().astype(np.intp)]
    reached = [np.ones((weight.size, 1))]
    for times, side in ((atoms, "left"), (late, "right")):
        at_times = 1 / g.table(times, side)
        reached.append(np.broadcast_to(at_times, (weight.size, times.size)))
    edges = np.minimum(np.concatenate(reached, axis=1), weight[:, None])
    times = np.concatenate(([0.0], atoms[:-1], late))
    return Walk(law, times, np.diff(edges, axis=1), by_cell=True)
