"""The law of the event time given when a subject was censored, under an assumed dependence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .._tools.arrays import Floats, Ints
from .._tools.places import look_up
from .copula_graphic import CopulaGraphic
from .dependence import Dependence
from .losses import Loss
from .reference import Reference
from .residual import ResidualLaw

#: Probabilities that are held; where there would be more, neighbouring censoring times share a law.
_MOST = 4_000_000
_FEWEST_GROUPS = 64
#: With more subjects than this by law, each law is made by itself; else so many numbers at a time.
_MANY, _BLOCK = 32, 1_000_000


class DependentLaw:
    """Expected losses given T > c and C = c: one `ResidualLaw` for each censoring time.

    A subject censored at c has the law of the first reference censoring time not before c, and past
    the last one that of somebody censored later than all of them. Past the reference follow-up the
    tail rule applies to this law. Without dependence it would be Kaplan-Meier for everybody.
    """

    def __init__(self, reference: Reference, dependence: Dependence, tail: str) -> None:
        laws = CopulaGraphic(reference.table, dependence)
        self.atoms = reference.event_times
        rows = np.flatnonzero(reference.table.jumps(censoring=True))
        known = np.append(laws.censoring.survival[rows] > 0, True)
        before = np.concatenate(([0], rows + 1))  # times passed before each censoring time
        if not known[:-1].all():  # nobody is left after the last censoring
            before, known = before[:-1], known[:-1]
        after = np.append(rows + 1, laws.times.size + 1)[: before.size]
        groups = max(_FEWEST_GROUPS, _MOST // (self.atoms.size + 1))
        groups = min(groups, before.size)
        edges = np.linspace(0, before.size, groups + 1).astype(np.intp)
        self._times = laws.times[rows]
        self._group = np.repeat(np.arange(groups), np.diff(edges))
        self._tables = laws.given_censored(before[edges[:-1]], after[edges[1:] - 1])
        self._ends = reference.last_time, tail, reference.stop

    @classmethod
    def of_reference(cls, reference: Reference, dependence: Dependence, tail: str) -> DependentLaw:
        """Return the law of a reference set, made once for all models."""
        key = DependentLaw, dependence, tail
        found: DependentLaw = reference.cached(key, lambda: cls(reference, dependence, tail))
        return found

    def _parts(self, c: Floats) -> Iterator[tuple[Ints, ResidualLaw]]:
        """Yield subjects and their laws: those who share one, or blocks with one each."""
        place = np.minimum(look_up(self._times, c, "left"), self._group.size - 1)
        group = self._group[place]
        order = np.argsort(group, kind="stable")
        shared = c.size > _MANY * self._tables.shape[0]
        width = max(1, _BLOCK // self._tables.shape[1])
        starts = np.arange(0, c.size, width)
        if shared:
            starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        for rows in np.split(order, starts[1:]) if order.size else []:
            table = self._tables[group[rows[0]] if shared else group[rows]]
            yield rows, ResidualLaw(self.atoms, table, *self._ends)

    def places(self, x: Floats) -> Ints:
        """For each time, the number of event times at or before it."""
        return look_up(self.atoms, x, "right")

    def _each(self, c: Floats, ask: Callable[[ResidualLaw, Ints], Floats]) -> Floats:
        """One number per subject, from its law."""
        found = np.empty(c.size)
        for rows, law in self._parts(c):
            found[rows] = ask(law, rows)
        return found

    def alive(self, x: Floats, j: Ints) -> Floats:
        """Probability of being event-free at x, of somebody censored there."""
        return self._each(x, lambda law, rows: law.alive(x[rows], j[rows]))

    def expected(
        self, loss: Loss, c: Floats, p: Floats, j: Ints, known: dict[str, Floats] | None = None
    ) -> Floats:
        """E[loss(T, p) given T > c and C = c]."""
        return self._each(c, lambda law, rows: law.expected(loss, c[rows], p[rows], j[rows]))

    def mean(self, c: Floats, j: Ints) -> Floats:
        """E[T given T > c and C = c]."""
        return self._each(c, lambda law, rows: law.mean(c[rows], j[rows]))
