r"""Doubly robust losses: right if the distribution of the event time or G is.

With L the loss of a prediction as a function of the event time, m(u) = E[L(T) given T > u] under
the distribution, and G the probability of not being censored yet, a subject observed until y counts
as

    phi = d L(y) / G(y-) + (1 - d) m(y) / G(y) - sum over v of m(v) (1/G(v) - 1/G(v-)),

the sum over the jumps v of G at which it was at risk of being censored: those before y, and y
itself for a censored subject. Losses are sums of products f(t) g(p), times the sign of t - p, so
that the sum over v needs no more than partial sums of S and of the integrals of f.

Under delayed entry the sum goes over the jumps after the entry a, and all is multiplied by G(a):
the subject was uncensored then.

1/G never falls. Where G is known by subject, it is therefore cut at the subject's own 1/G, and the
sum goes over the same times for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, look_up
from .._tools.running import chunks, in_order
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from .kaplan_meier import KaplanMeier
from .reference import Reference
from .residual import CauseIncidence, Loss, ResidualDistribution, read, value_of


class FlooredG:
    """G that stops falling before it gets below a floor: from there on nobody is censored.

    `censoring` is G of all subjects, or of each; past its last time it keeps its value.
    """

    def __init__(self, censoring: KaplanMeier | SurvivalCurves, floor: float) -> None:
        if isinstance(censoring, SurvivalCurves):
            censoring = censoring.held()
        self.censoring = censoring
        self.floor = floor
        #: Whether G falls by jumps alone.
        self.steps = isinstance(censoring, KaplanMeier) or censoring.interpolation == "step"
        values = censoring.survival
        kept = np.where(values >= floor, values, 1.0).min(axis=-1, initial=1.0)
        if not self.steps:
            # A curve that falls all the time gets down to the floor itself.
            kept = np.where(values[:, -1] < floor, floor, kept)
        self._lowest: Floats = np.asarray(kept, dtype=np.float64)

    def part(self, rows: slice) -> FlooredG:
        """Return G of some of the subjects."""
        if isinstance(self.censoring, KaplanMeier):
            return self
        return FlooredG(self.censoring[rows], self.floor)

    def without_floor(self, t: Floats, side: str) -> Floats:
        """Return G of each subject at its own time, or just before it, however small."""
        if isinstance(self.censoring, KaplanMeier):
            return self.censoring.at(t, side=side)
        values = self.censoring.at_own(t if side == "right" else _just_before(t))
        return np.where((t > 0) | (side == "right"), values, 1.0)

    def at(self, t: Floats, side: str) -> Floats:
        """Return G of each subject at its own time, or just before it."""
        values = self.without_floor(t, side)
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
            g = FlooredG(km, floor)
            times, values = g.falls(km)
            made[key] = cls(distribution, g, times, np.concatenate(([0.0], 1 / values - 1)))
        return made[key]

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
        return look_up(self.distribution.atoms, t, side), look_up(self.times, t, side)

    def sums(self, name: str = "") -> Floats:
        """Sums of steps / S up to each time, times the integrals of f if it is named."""
        known = self._sums.get(name)
        if name == "1" and not self.distribution.by_cause:  # the integral of 1 is S
            known = self.excess
        if known is None:
            alive = self.distribution.alive_table(self.times)
            over = self.distribution.over(self.times, alive)
            parts = np.diff(self.excess)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts /= alive
            np.copyto(parts, 0.0, where=over)
            if name:
                parts *= self.distribution.table(name, self.times)
                if over.any():
                    # Past the end of the distribution the event would have come at v itself.
                    with np.errstate(over="ignore"):
                        there = np.diff(self.excess) * value_of(name, self.times)
                    there *= self.distribution.share[..., None]
                    parts = np.where(over, there, parts)
            known = np.zeros(self.excess.shape)
            np.cumsum(parts, axis=-1, out=known[..., 1:])
            self._sums[name] = known  # complete: other threads may share the walk
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


@dataclass(frozen=True)
class DoublyRobust:
    """Doubly robust losses of subjects, for any loss and any prediction."""

    #: The subjects, up to the horizon if there is one.
    y: Outcomes
    #: The times that losses of events are taken of: those of `y`, with competing risks the times
    #: free of the cause; of shape (n,).
    value: Floats
    #: Distribution and G at the times at which somebody can be censored.
    walk: Walk
    #: Number of atoms of the distribution at or before the time of each subject; of shape (n,).
    places: Ints
    #: Number of times of the walk at which each subject was at risk; of shape (n,).
    until: Ints
    #: 1/G(y-) of events, 1/G(y) of censored subjects; of shape (n,).
    weight: Floats
    #: Number of times of the walk up to the entry, and G there; None: nobody enters late.
    entered: Ints | None = None
    scale: Floats | None = None
    _looked_up: dict[str, Floats] = field(default_factory=dict, init=False)

    @classmethod
    def of_walk(cls, y: Outcomes, value: Floats, walk: Walk) -> DoublyRobust:
        """Take the distribution and G of all subjects."""
        places, until = walk.find(y.time, "right")
        if walk.times.size:  # at its own time an event is no longer at risk of being censored
            until -= y.event & (walk.times[until - 1] == y.time)
        weight = 1 + walk.excess[until]
        if y.entry is None:
            return cls(y, value, walk, places, until, weight)
        entered = np.where(y.entry > 0, walk.find(y.entry, "right")[1], 0)
        scale = 1 / (1 + walk.excess[entered])
        return cls(y, value, walk, places, until, weight * scale, entered, scale)

    @classmethod
    def of_curves(
        cls, y: Outcomes, value: Floats, distribution: ResidualDistribution, g: FlooredG
    ) -> DoublyRobust:
        """Take distributions of subjects and any G, or one of all and a G of each with jumps."""
        weight = 1 / np.where(y.event, g.at(y.time, "left"), g.at(y.time, "right"))
        if distribution.shared:
            walk = Walk.of_jumps(distribution, g, weight)
        else:
            walk = Walk.of_atoms(distribution, g, weight, y.time.max())
        until = np.full(len(y), walk.times.size)
        return cls(y, value, walk, walk.distribution.places(y.time), until, weight)

    @property
    def g(self) -> FlooredG:
        """G of all subjects, or of each."""
        return self.walk.g

    @property
    def unknown(self) -> Bools:
        """Whether the distribution of each subject, or of all, has no mean."""
        return self.walk.distribution.unknown

    def happened(self, t: Floats, own: Bools | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of subjects with the indicators of an event by times t: (n, k).

        `own`: whose event, if any, is of the cause; None: everybody's.
        """
        for rows in chunks(len(self.y), size=max(1, _BLOCK_VALUES // t.size)):
            per_subject = "y", "value", "places", "until", "weight"
            parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in per_subject}
            part = replace(self, **parts, entered=None, scale=None)
            yield rows, part.happened_by(t, None if own is None else own[rows])

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        at = self.walk.find(p, "left")
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self._at_own_time(rule, p, at[0])
            found *= self.weight
            expected = self.walk.expected(rule, p, self.until, at)
            if self.entered is not None and self.scale is not None:
                expected = self.scale * (expected - self.walk.expected(rule, p, self.entered, at))
        found -= expected
        return found

    def _at_own_time(self, rule: Loss, p: Floats, places: Ints) -> Floats:
        """Return the loss of each event, and m of each censored subject at its own time."""
        distribution, y, found = self.walk.distribution, self.y, rule.of(self.value, p)
        # A distribution per subject is read row by row.
        rows = np.flatnonzero(~y.event) if distribution.shared else slice(None)
        ahead = distribution.expected(
            rule, y.time[rows], p[rows], self.places[rows], self._looked_up, places[rows]
        )
        if distribution.shared:
            found[rows] = ahead
        return found if distribution.shared else np.where(y.event, found, ahead)

    @np.errstate(divide="ignore", invalid="ignore")
    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last atom of the distribution.

        `known` says where the observed part of a distribution ends that has atoms past it.
        """
        y, distribution, walk = self.y, self.walk.distribution, self.walk
        end = min(distribution.observed_until, np.inf if known is None else known)
        if end == np.inf:
            return np.zeros(p.size)
        first = np.minimum(self.until, look_up(walk.times, np.array([end]), "left"))
        early, found = y.time < end, np.zeros(p.size)
        past = self._past(rule, p, end)
        # Where the distribution is over before its last atom, nothing comes from later.
        if past.any():
            ahead = self.weight / distribution.above("1", y.time, self.places)
            seen = np.where(early & ~y.event, ahead, 0.0) - read(walk.sums(), first)
            found = np.where(past == 0, 0.0, seen * past)
        late = ~early & (~y.event | (self.until > first))
        if late.any():
            at = walk.find(p, "left")
            own = np.where(y.event, 0.0, self.weight * self._at_own_time(rule, p, at[0]))
            own -= walk.expected(rule, p, self.until, at) - walk.expected(rule, p, first, at)
            found += np.where(late, own, 0.0)
        return found

    def _past(self, rule: Loss, p: Floats, end: float) -> Floats:
        """Return the expected loss from times past `end`."""
        distribution, found = self.walk.distribution, np.zeros(p.size)
        last, later = np.array([end]), np.maximum(p, end)
        beyond = rule.signed and bool((later > end).any())
        for name, g in rule.terms:
            part = distribution.above(name, last, distribution.places(last))
            if beyond:
                part = 2 * distribution.above(name, later, distribution.places(later)) - part
            found += g(p) * part
        return found

    def happened_by(self, t: Floats, own: Bools | None = None) -> Floats:
        """Return the doubly robust indicators of an event (of the cause) by times t: (n, k).

        They are phi of the loss 1(T <= t); the loss of any forecast of this status is linear in it.
        """
        y, distribution, walk = self.y, self.walk.distribution, self.walk
        ahead = distribution.table("1", t)
        later = y.time[:, None] > t
        alive = distribution.alive(y.time, self.places)[:, None]
        between = distribution.above("1", y.time, self.places)[:, None] - ahead
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where nothing of the distribution is left, the event comes at once.
            given = np.where(
                alive > 0,
                between / alive,
                np.broadcast_to(distribution.share, y.time.shape)[:, None],
            )
        seen = np.broadcast_to(look_up(walk.times, t, "right"), later.shape)
        if walk.by_cell:
            # In the cell around t the status is certain, so that only the cells before it count.
            seen = seen - (later & (t < distribution.last_atom))
        seen = np.minimum(seen, self.until[:, None])
        mine = y.event if own is None else y.event & own
        status = np.where(y.event[:, None], mine[:, None], given) * self.weight[:, None]
        expected = _read_all(walk.sums("1"), seen) - ahead * _read_all(walk.sums(), seen)
        return np.where(later, 0.0, status) - expected


#: Values of curves that are worked on together, and blocks whose tables are kept for other models.
_BLOCK_VALUES, _KEPT_BLOCKS = 100_000, 16


@dataclass(frozen=True)
class RobustBlocks:
    """Doubly robust losses of subjects where the distribution or G is that of each."""

    #: As in `DoublyRobust`.
    y: Outcomes
    value: Floats
    #: Distribution of the event time of all subjects, or of each.
    distribution: SurvivalCurves | CauseIncidence | ResidualDistribution
    #: G of all subjects, or of each.
    g: FlooredG
    #: The horizon.
    stop: float | None = None
    _blocks: dict[int, DoublyRobust] = field(default_factory=dict, init=False)

    @property
    def weight(self) -> Floats:
        """1/G(y-) of events, 1/G(y) of censored subjects."""
        return self._together(lambda block, rows: block.weight)

    @property
    def unknown(self) -> Bools:
        """Whether the distribution of each subject, or of all, has no mean."""
        return self._residual(slice(None)).unknown

    def phi(self, rule: Loss, p: Floats) -> Floats:
        """Return the doubly robust loss of each subject for its predicted time."""
        return self._together(lambda block, rows: block.phi(rule, p[rows]))

    def from_tail(self, rule: Loss, p: Floats, known: float | None = None) -> Floats:
        """Return what of the losses comes from times past the last atom of the distribution."""
        return self._together(lambda block, rows: block.from_tail(rule, p[rows], known))

    def happened(self, t: Floats, own: Bools | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of subjects with the indicators of an event by times t: (n, k)."""
        for rows in self._rows():
            yield rows, self._block(rows).happened_by(t, None if own is None else own[rows])

    def _together(self, ask: Callable[[DoublyRobust, slice], Floats]) -> Floats:
        """Answers of the blocks one after the other."""
        return np.concatenate(
            list(in_order(lambda rows: ask(self._block(rows), rows), self._rows()))
        )

    def _rows(self) -> Iterator[slice]:
        """Blocks of subjects."""
        curves = self.distribution
        if isinstance(curves, ResidualDistribution):
            width = self.g.censoring.times.shape[-1]
        else:
            width = curves.times.shape[-1]
        return chunks(len(self.y), size=max(1, _BLOCK_VALUES // width))

    def _residual(self, rows: slice) -> ResidualDistribution:
        if isinstance(self.distribution, ResidualDistribution):
            return self.distribution
        return ResidualDistribution.of_curves(self.distribution[rows], self.stop)

    def _block(self, rows: slice) -> DoublyRobust:
        known = self._blocks.get(rows.start)
        if known is None:
            given = self.y[rows], self.value[rows], self._residual(rows), self.g.part(rows)
            known = DoublyRobust.of_curves(*given)
            if len(self._blocks) < _KEPT_BLOCKS:
                self._blocks[rows.start] = known
        return known


def _read_all(table: Floats, places: Ints) -> Floats:
    """Entries of a table at several places per subject; one with rows is read row by row."""
    return table[places] if table.ndim == 1 else np.take_along_axis(table, places, axis=1)
