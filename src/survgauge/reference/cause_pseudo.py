"""Pseudo-observations of the mean time free of one cause up to a horizon, by Aalen-Johansen.

With one more at risk up to c, Kaplan-Meier P of any event becomes Q, an event of the cause at u
takes d/(n+1) of Q(u-) instead of d/n of P(u-), and what is left past c changes in proportion; with
one less the same, the other way. The differences are summed, so that no digits cancel when they are
multiplied by N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Bools, Floats, Ints
from .._tools.places import look_up
from .cause_law import CauseLaw, check_follow_up, own_hazards
from .pseudo_means import PseudoMeans, check_members, joined, left_out
from .reference import Reference


@dataclass(frozen=True)
class _Tables:
    """What one subject more or less does to the mean time free of a cause."""

    #: 1: somebody joins the reference set; -1: a member leaves it.
    sign: int
    atoms: Floats
    #: P and Q before the first event time and after each; of shape (K + 1,).
    survival: Floats
    changed: Floats
    #: Size of Q/P - 1; 0 where P is 0; of shape (K + 1,).
    change: Floats
    #: d/n of the cause at each event time; of shape (K,).
    hazard: Floats
    #: Time lost to the cause past each event time; of shape (K + 1,).
    later: Floats
    #: By how much the mean grows through events up to each time, or falls if a member leaves; of
    #: shape (K + 1,).
    passed: Floats
    mean: float
    others: float

    @classmethod
    def of(cls, reference: Reference, code: int, leaving: bool) -> _Tables:
        check_follow_up(reference)
        whole, atoms = reference.whole, reference.law()[0].table
        hazard, sign = own_hazards(reference, code), -1 if leaving else 1
        survival = changed = np.ones(atoms.size + 1)
        change = np.zeros(atoms.size + 1)
        if atoms.size and leaving:
            survival, change = whole.survival, left_out(whole)
            changed = survival * (1 - change)
        elif atoms.size:
            survival = whole.survival
            change, gain = joined(whole)
            changed = survival + gain
        lost = survival[:-1] * np.where(atoms < reference.stop, reference.stop - atoms, 0) * hazard
        later = np.append(np.cumsum(lost[::-1])[::-1], 0.0)
        n = whole.at_events()[0] if atoms.size else np.empty(0)
        steps = np.divide(1 - n * change[:-1], n + sign, out=np.zeros(n.size), where=n + sign > 0)
        passed = np.append(0.0, np.cumsum(lost * steps))
        mean, others = float(reference.stop - later[0]), whole.size + sign
        return cls(sign, atoms, survival, changed, change, hazard, later, passed, mean, others)

    def censored(self) -> Floats:
        """Return the pseudo-observations of censored subjects by the number of times passed."""
        return self.mean + self.others * (self.passed - self.change * self.later)

    def events(self, t: Floats, own: Bools, n: Floats, stop: float) -> Floats:
        """Return those of subjects with an event at t, of the cause (`own`) or another.

        n are at risk in the reference set at t.
        """
        j = look_up(self.atoms, t, "left")
        passed = look_up(self.atoms, t, "right")
        count = np.where(passed > j, np.append(self.hazard, 0.0)[j], 0.0) * n
        left = n + self.sign
        share = np.divide(1.0, left, out=np.zeros(t.size), where=left > 1e-9)
        usual = np.divide(count, n, out=np.zeros(t.size), where=n > 0) * self.survival[j]
        here = usual - (count + self.sign * own) * share * self.changed[j]
        # Nobody else is left after somebody who was alone.
        rest = (1 - n * self.change[j]) * share * self.later[passed]
        growth = self.passed[j] + self.sign * (stop - t) * here + rest
        return self.mean + self.others * growth


def pseudo_times(reference: Reference, code: int, leaving: bool) -> PseudoMeans:
    """Return the table of pseudo-observations of subjects censored before the horizon.

    Of somebody who joins the reference set, or (`leaving`) of its own members, leave-one-out.
    """

    def build() -> PseudoMeans:
        if leaving:
            check_members(reference.whole)
        return PseudoMeans(_Tables.of(reference, code, leaving).censored())

    found: PseudoMeans = reference.cached((pseudo_times, code, leaving), build)
    return found


def pseudo_times_given_entry(
    reference: Reference, code: int, entry: Floats, time: Floats
) -> Floats:
    r"""Pseudo-observations of subjects at risk from entry a to censoring at c, to first order.

    With m(u) the mean time free of the cause given no event by u, h and h' the hazards of the cause
    and of the others, and G the probability of not being censored yet, it is

    .. math:: m(a) + \sum_{a < u \le c} \{(m(u) - u) h(u) + (m(u) - \tau) h'(u)\} G(a) / G(u-)

    over the event times u before the horizon: an event of the cause leaves u, another one tau.
    """
    law, stop = CauseLaw.of_set(reference, code), reference.stop
    times = law.atoms[law.atoms < stop]
    own = own_hazards(reference, code)[: times.size]
    n, d = reference.whole.at_events(slice(0, times.size)) if times.size else (own, own)
    places = np.arange(1, times.size + 1)
    mean, left = law.mean(times, places), law.alive(times, places)
    # No event counts where the law goes on as if nobody had left.
    other = np.where(left < law.alive(times, places - 1), d / n - own, 0.0)
    worth = (mean - times) * own + (mean - stop) * other
    before = reference.censoring.at(times, side="left")
    worth = np.divide(worth, before, out=np.zeros(times.size), where=(before > 0) & (left > 0))
    sums = np.concatenate(([0.0], np.cumsum(worth)))
    first = np.where(entry > 0, look_up(times, entry, "right"), 0)
    gained = sums[look_up(times, time, "right")] - sums[first]
    scale = np.where(entry > 0, reference.censoring.at(entry), 1.0)
    start: Floats = law.mean(entry, first)
    return start + scale * gained


def pseudo_times_of_all(
    reference: Reference, code: int, leaving: bool, time: Floats, free: Floats, seen: Bools
) -> Floats:
    """Return the pseudo-observations of everybody.

    The clock of `reference` stops at the horizon; `leaving` says whether the subjects are its own.
    `time` and `free` are the observed times and those free of the cause, both up to the horizon,
    and `seen` who had an event of any cause or reached the horizon.
    """
    whole, stop = reference.whole, reference.stop
    if leaving:
        check_members(whole, events=True)
    tables = _Tables.of(reference, code, leaving)
    # Who reaches the horizon is at risk all the time, as if censored there.
    values: Floats = tables.censored()[look_up(tables.atoms, time, "right")]
    rows: Ints = np.flatnonzero(seen & (time < stop))
    if rows.size:
        at_risk = np.append(whole.table.at_risk, 0.0)
        n = at_risk[look_up(whole.table.times, time[rows], "left")]
        values[rows] = tables.events(time[rows], free[rows] < stop, n, stop)
    return values
