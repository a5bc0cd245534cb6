"""Kernels for scores of the status at given times: clean arrays in, no checks.

At time t_k a subject is event-free (while k < change_i), had its event, or has left (k >= leave_i,
or an event weight of zero). With masses p, weights W and losses l of the predicted S_i(t_k),

    value_k = sum_i p_i W_ik l_ik / D_k,    D_k = sum_i p_i  or  sum_i p_i W_ik,
    W_ik = b_k where event-free, a_i after the event.

A subject's contribution to the sampling error is the derivative of the value with respect to its
mass, times its mass: p_i (W_ik l_ik - value_k) / D_k, with W_ik value_k in the second form.
Two walks: blocks of rows, which read every curve once and hold nothing but sums, and columns, which
have all subjects of one time at hand (an estimated G, weights that depend on the subject).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._tools.arrays import Bools, Floats, Ints, dot
from ..._tools.chunks import chunks
from ...data.curve_reader import Scratch
from ...data.curves import SurvivalCurves
from ...reference.estimated_g import Pulls
from ._g_influence import ThroughG
from ._status_losses import Rule

_COLUMN_VALUES = 500_000
#: Numbers of a block of rows, (rows, times), not to be written to.
Reader = Callable[[slice, Scratch], Floats]


@dataclass(frozen=True)
class Scheme:
    """Who counts at each time, and how much: everything that no model changes."""

    times: Floats
    #: (n,) first column at which the subject is not known to be event-free.
    change: NDArray[np.int32]
    #: (n,) first column at which the subject is out of the average; None: never.
    leave: Ints | None
    #: (n,) a, the weight after the event; zero for censored subjects.
    event_weight: Floats
    #: (K,) b, the weight while event-free.
    survivor_weight: Floats
    #: (n,) p.
    mass: Floats
    #: Whether D is the sum of p W instead of the sum of p.
    by_weight: bool
    #: Instead of b, where that depends on the subject: (n,) at times[k]. Columns only.
    own_survivor_weight: Callable[[int], Floats] | None = None
    #: Whether those event-free are everybody less the weighted events. Columns only.
    by_difference: bool = False
    #: (n,) whose event was of another cause: weighted like an event, but never the one predicted.
    competes: Bools | None = None
    #: Instead of the probability of being event-free, what rules are given: a reader of the times.
    reader: Callable[[Floats], Reader] | None = None
    #: (n,) first column at which the subject has entered; None: all from the first. Columns only.
    enter: Ints | None = None

    def mass_at(self, k: int) -> Floats:
        """p at times[k]: 0 for who has not entered yet."""
        return self.mass if self.enter is None else np.where(self.enter <= k, self.mass, 0.0)

    def weights(self, rows: slice, scratch: Scratch | None = None) -> tuple[Bools, Floats]:
        """Who is event-free, and W, of a block of rows at all times (b shared by all)."""
        new = Scratch() if scratch is None else scratch
        columns = np.arange(self.times.size, dtype=np.int32)
        change = self.change[rows, None]
        alive = np.greater(change, columns, out=new("alive", (len(change), columns.size), np.bool_))
        weight: Floats = new("weight", alive.shape)
        weight[...] = self.event_weight[rows, None]
        np.copyto(weight, self.survivor_weight, where=alive)
        if self.leave is not None:
            weight[self.leave[rows, None] <= columns] = 0.0
        return alive, weight

    def without_event(self, alive: Bools, rows: slice = slice(None)) -> Bools:
        """Who of `alive` and the others had no event of the cause that is predicted."""
        if self.competes is None:
            return alive
        competes = self.competes[rows]
        return alive | (competes[:, None] if alive.ndim == 2 else competes)

    def changes(self, rows: slice) -> tuple[Ints, Ints, Floats]:
        """When subjects stop to be event-free and when they leave, and a where that is later."""
        change, size = self.change[rows].astype(np.intp), self.times.size
        stop = np.broadcast_to(size, change.size) if self.leave is None else self.leave[rows]
        change = np.minimum(change, stop)
        return change, stop, np.where(change < stop, self.event_weight[rows], 0.0)

    def column(self, k: int) -> tuple[Bools, Floats]:
        """Who is event-free, and W, of all subjects at times[k]."""
        own = self.own_survivor_weight
        alive = self.change > k
        free = self.survivor_weight[k] if own is None else own(k)
        weight = np.where(alive, free, self.event_weight)
        if self.leave is not None:
            weight[self.leave <= k] = 0.0
        return alive, weight

    def divisor(self) -> Floats:
        """D at all times (b shared by all)."""
        size = self.times.size
        if not self.by_weight:
            return np.full(size, self.mass.sum())
        free, after = np.zeros(size + 1), np.zeros(size + 1)
        for rows in chunks(self.mass.size):
            change, stop, seen = self.changes(rows)
            p = self.mass[rows]
            free += _sums(change, p, size)
            after += _sums(change, p * seen, size) - _sums(stop, p * seen, size)
        # Sums from the end, so that nobody left gives exactly zero.
        free = np.cumsum(free[::-1])[::-1]
        return free[1:] * self.survivor_weight + np.cumsum(after)[:-1]


def by_rows(scheme: Scheme, curves: SurvivalCurves, rule: Rule) -> Floats:
    """Sums over subjects of p W l at each time."""
    return by_rows_together(scheme, curves, (rule,)).total[0]


@dataclass(frozen=True)
class Sums:
    """Sums of several losses, a row each."""

    #: (rules, K) sums over subjects of p W l, and the part of those who had the event.
    total: Floats
    late: Floats
    #: (rules, n) W l @ share by subject, and the part after the event.
    own: Floats
    after: Floats


def by_rows_together(
    scheme: Scheme,
    curves: SurvivalCurves,
    rules: Sequence[Rule],
    share: Floats | None = None,
    apart: bool = False,
) -> Sums:
    """Sums for several losses in one pass over the curves.

    Given `share` (K,), W l @ share by subject too and, if `apart`, what comes after the events.
    """
    size, n = scheme.times.size, scheme.mass.size
    found = Sums(
        np.zeros((len(rules), size)),
        np.zeros((len(rules), size)),
        np.empty((len(rules), 0 if share is None else n)),
        np.zeros((len(rules), n if apart else 0)),
    )
    if curves.one_curve and scheme.competes is None and scheme.reader is None:
        return _one_curve_for_all(scheme, curves, rules, share, found)
    survival = _reader(scheme, curves, scheme.times)

    def sums(blocks: Iterator[slice]) -> tuple[Floats, Floats]:
        total, scratch = np.zeros((2, len(rules), size)), Scratch()
        for rows in blocks:
            alive, weight = scheme.weights(rows, scratch)
            predicted = survival(rows, scratch)
            without = scheme.without_event(alive, rows)
            had = np.flatnonzero(scheme.event_weight[rows]) if apart else None
            for r, rule in enumerate(rules):
                loss = rule(predicted, without, weight, out=scratch("loss", alive.shape))
                # Not BLAS: the sums would depend on its number of threads.
                total[0, r] += np.einsum("i,ik->k", scheme.mass[rows], loss)
                if share is not None:
                    found.own[r, rows] = np.einsum("ik,k->i", loss, share)
                if share is not None and had is not None:
                    late = np.where(alive[had], 0.0, loss[had])
                    total[1, r] += np.einsum("i,ik->k", scheme.mass[rows][had], late)
                    found.after[r, rows][had] = np.einsum("ik,k->i", late, share)
        return total[0], total[1]

    for whole, part in curves.by_span(sums, curves.read_width(size)):
        np.add(found.total, whole, out=found.total)
        np.add(found.late, part, out=found.late)
    return found


def _one_curve_for_all(
    scheme: Scheme,
    curves: SurvivalCurves,
    rules: Sequence[Rule],
    share: Floats | None,
    found: Sums,
) -> Sums:
    """Where all subjects have the same curve two losses a time suffice: O(n + K)."""
    size, n = scheme.times.size, scheme.mass.size
    parts = list(chunks(n))
    # Mass and number of those event-free, and of those with the event, at each time.
    mass, number = np.zeros((2, size + 1)), np.zeros((2, size + 1))
    for rows in parts:
        change, stop, seen = scheme.changes(rows)
        p = scheme.mass[rows]
        for sums, free, event in ((mass, p, p * seen), (number, None, seen > 0)):
            sums[0] += _sums(change, free, size)
            sums[1] += _sums(change, event, size) - _sums(stop, event, size)
    mass, number = (
        np.stack((np.cumsum(sums[0][::-1])[::-1][1:], np.cumsum(sums[1])[:-1]))
        for sums in (mass, number)
    )
    survival = np.broadcast_to(curves.at_block(slice(0, 1), scheme.times), (2, size))
    alive = np.repeat([[True], [False]], size, axis=1)
    # Nobody's loss must not count, least of all an infinite one.
    weight = np.where(number > 0, np.stack((scheme.survivor_weight, np.ones(size))), 0.0)
    for r, rule in enumerate(rules):
        loss = rule(survival, alive, weight, number)
        with np.errstate(invalid="ignore"):
            summed = np.where(number > 0, loss * mass, 0.0)
            found.total[r], found.late[r] = summed.sum(axis=0), summed[1]
            if share is not None:
                free, after = _from_zero(loss[0] * share), _from_zero(loss[1] * share)
                for rows in parts:
                    change, stop, seen = scheme.changes(rows)
                    late = seen * (after[stop] - after[change])
                    found.own[r, rows] = free[change] + late
                    if found.after.size:
                        found.after[r, rows] = late
    return found


class Integral(NamedTuple):
    """Values at each time, the contributions to their weighted mean, and the pulls of its weights.

    The contributions include those through G where that was estimated from these subjects alone.
    The pulls are there where it was estimated from more.
    """

    values: Floats
    psi: Floats
    pulls: Pulls | None


def integrals_with_influence(
    scheme: Scheme,
    curves: SurvivalCurves,
    rules: Sequence[Rule],
    share: Floats,
    g: ThroughG | None = None,
) -> list[Integral]:
    """Integrals value @ share of several losses in one pass over the curves."""
    divisor = scheme.divisor()
    sums = by_rows_together(scheme, curves, rules, share / divisor, apart=g is not None)
    return [_integral(scheme, sums, r, share, divisor, g) for r in range(len(rules))]


def _integral(
    scheme: Scheme, sums: Sums, r: int, share: Floats, divisor: Floats, g: ThroughG | None
) -> Integral:
    values, own = sums.total[r] / divisor, sums.own[r]
    n = scheme.mass.size
    if not np.isfinite(values).all():
        return Integral(values, np.full(n, np.nan), None)
    late = sums.after[r] if g is not None else None
    free_sum = (sums.total[r] - sums.late[r]) * (share / divisor)
    if not scheme.by_weight:
        own -= values @ (share / divisor)
    else:
        # sum_k share_k value_k W_ik / D_k, from running sums over the columns.
        pull = share * values / divisor
        free, after = _from_zero(pull * scheme.survivor_weight), _from_zero(pull)
        mass = np.zeros(scheme.times.size + 1)
        for rows in chunks(n):
            change, stop, seen = scheme.changes(rows)
            mass += _sums(change, scheme.mass[rows], scheme.times.size)
            drawn = seen * (after[stop] - after[change])
            own[rows] -= free[change] + drawn
            if late is not None:
                late[rows] -= drawn
        free_sum -= pull * scheme.survivor_weight * np.cumsum(mass[::-1])[::-1][1:]
    own *= scheme.mass
    if g is None or late is None:
        return Integral(values, own, None)
    late *= scheme.mass
    pulls = g.pulls(late, free_sum)
    own += g.influence(pulls)
    return Integral(values, own, pulls if g.estimated is None else None)


class Column(NamedTuple):
    """One time: the value and each subject's contribution to its sampling error."""

    k: int
    value: float
    psi: Floats
    pulls: Pulls | None = None


def by_columns(
    scheme: Scheme, curves: SurvivalCurves, rule: Rule, g: ThroughG | None = None
) -> Iterator[Column]:
    """Walk the times one by one; `g` adds what comes through G."""
    n, size = len(curves), scheme.times.size
    width = max(1, min(size, _COLUMN_VALUES // n))
    for start in range(0, size, width):
        picked = np.arange(start, min(start + width, size))
        survival, read = np.empty((picked.size, n)), _reader(scheme, curves, scheme.times[picked])
        scratch = Scratch()
        for rows in curves.blocks(curves.read_width(picked.size)):
            survival[:, rows] = read(rows, scratch).T
        for k in picked:
            alive, weight = scheme.column(int(k))
            if scheme.by_difference:
                loss = _by_difference(scheme, rule, survival[k - start], alive, weight)
            else:
                loss = rule(survival[k - start], scheme.without_event(alive), weight)
            yield _column(scheme, int(k), alive, weight, loss, g)


def _by_difference(
    scheme: Scheme, rule: Rule, survival: Floats, alive: Bools, weight: Floats
) -> Floats:
    """W l where everybody counts as event-free, and W events as the difference to that."""
    everybody = np.ones(alive.size, dtype=np.bool_)
    weight[alive] = 0.0
    free = rule(survival, everybody, (scheme.mass > 0).astype(np.float64))
    with np.errstate(invalid="ignore"):  # a predicted probability of zero, and its logarithm
        loss = free - rule(survival, everybody, weight) + rule(survival, ~everybody, weight)
    loss[np.isnan(loss)] = np.inf
    weight[...] = 1.0  # what a subject counts in the divisor
    return loss


def _column(
    scheme: Scheme, k: int, alive: Bools, weight: Floats, loss: Floats, g: ThroughG | None
) -> Column:
    p = scheme.mass_at(k)
    divisor = dot(p, weight) if scheme.by_weight else float(p.sum())
    with np.errstate(invalid="ignore"):  # an infinite loss
        value = dot(p, loss) / divisor if divisor > 0 else float("nan")
    if not np.isfinite(value):
        return Column(k, value, np.full(p.size, np.nan))
    psi = loss
    if scheme.by_weight:
        weight *= value
        psi -= weight
    psi *= p
    psi /= divisor
    pulls = None
    if g is not None:
        pulls = g.pulls(np.where(alive, 0.0, psi), np.array([psi[alive].sum()]), k)
        if scheme.enter is not None:
            pulls = replace(pulls, own=np.where(alive, psi, 0.0))
    if not scheme.by_weight:
        psi -= p * (value / divisor)
    if g is not None and pulls is not None:
        psi += g.influence(pulls)
    return Column(k, value, psi, pulls)


def _reader(scheme: Scheme, curves: SurvivalCurves, times: Floats) -> Reader:
    """Probabilities at `times` by blocks of rows, or what the scheme reads instead.

    Where the times are neighbours on a shared grid, they are the curves' own memory.
    """
    if scheme.reader is not None:
        return scheme.reader(times)
    if curves.shared_grid and curves.survival.dtype == np.float64:
        first = int(np.searchsorted(curves.times, times[0]))
        columns = slice(first, first + times.size)
        if np.array_equal(curves.times[columns], times):
            own: Any = curves.survival
            return lambda rows, scratch: own[rows, columns]
    return curves.reader(times)


def _sums(column: Ints, values: Floats | Bools | None, size: int) -> Floats:
    """Sum of `values` (None: ones) by column, where `size` itself stands for never."""
    return np.bincount(column, values, size + 1).astype(np.float64, copy=False)


def _from_zero(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))
