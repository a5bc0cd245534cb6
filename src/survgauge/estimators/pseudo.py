r"""Pseudo-observations: of the mean time that is free of the event, and of the status at a time.

Those of the mean come from tables of the reference set. With one more subject at risk throughout,
Kaplan-Meier P becomes Q, the product of 1 - d/(n+1); with one less, the product of 1 - d/(n-1). A
subject who is followed up to c changes P up to c only, and what is left past c in proportion. An
event at u takes d/(n+1) of Q(u-) in the place of d/n of P(u-), and so does one of the cause that is
asked about where there are several. The mean is the end of the follow-up less the time that each
event takes, plus the tail; its differences are summed, so that few digits cancel when they are
multiplied by N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, look_up, repeated
from ..data.interpolation import tail_area
from ..data.outcomes import Outcomes
from ..errors import InputError
from .estimated_g import Derivative, EstimatedG
from .kaplan_meier import KaplanMeier, RiskTable
from .reference import Reference
from .residual import ResidualDistribution, check_follow_up, own_hazards


@dataclass(frozen=True)
class _Tables:
    """What one subject more or less does to Kaplan-Meier and to the area under it."""

    #: 1: somebody joins the set; -1: a member leaves it.
    sign: int
    #: Where the area ends, and how Kaplan-Meier, which is at `left` there, goes on up to a horizon.
    end: np.float64
    left: np.float64
    tail: tuple[str, float]
    #: Event times, and d/n (of the cause) at each; of shape (K,).
    times: Floats
    hazard: Floats
    #: P and the size of Q/P - 1 before the first of them and after each; of shape (K + 1,).
    survival: Floats
    change: Floats
    #: Q after the last of them.
    last_changed: float
    #: Time lost past each; by how much the mean grows through the event times up to each, or falls
    #: if one leaves; of shape (K + 1,).
    later: Floats
    passed: Floats

    @classmethod
    def of(
        cls, reference: Reference, tail: str, area: str, code: int | None, leaving: bool
    ) -> _Tables:
        sign = -1 if leaving else 1
        if code is None:
            times, P = reference.event_times, reference.survival
            n, d = reference.at_events()
            steps = times if area == "step" else (reference.nodes[:-2] + times) / 2
            end, left, hazard = reference.last_time, P[-1], d / n
        else:
            check_follow_up(reference)
            times, P = reference.distribution()
            steps = times
            hazard, tail = own_hazards(reference, code), "hold"
            n, d = reference.whole.at_events() if times.size else (hazard, hazard)
            end, left = reference.stop, np.float64(0.0)
        change, last_changed = _leaving(P, n, d) if leaving else _joining(P, n, d)
        del d
        lost = P[:-1] * hazard
        lost *= np.maximum(end - steps, 0.0)
        later = np.zeros(P.size)
        np.cumsum(lost[::-1], out=later[-2::-1])
        share = 1 - n * change[:-1]
        n += sign
        lost *= np.divide(share, n, out=np.zeros(n.size), where=n > 0)
        passed = np.zeros(P.size)
        np.cumsum(lost, out=passed[1:])
        known = np.float64(end), left, (tail, reference.stop), times, hazard
        return cls(sign, *known, P, change, last_changed, later, passed)

    @property
    def changed(self) -> Floats:
        """Q before the first event time and after each."""
        changed = self.survival * (1 + self.sign * self.change)
        changed[-1] = self.last_changed
        return changed

    def censored(self) -> Floats:
        """Return the growth of the mean by a censored subject, by the event times up to its own."""
        growth: Floats = self.passed - self.change * self.later
        if self.sign < 0:
            kept = self.left * (1 - self.change)
            growth += _tail_gain(self.end, kept, self.left * self.change, *self.tail)
        elif self.left > 0:
            growth += _tail_gain(self.end, self.left, self.left * self.change, *self.tail)
        else:  # nobody was left: there is a tail only after who joins
            gain = np.array([self.last_changed])
            growth[-1:] += _tail_gain(self.end, self.left, gain, *self.tail)
        return growth


class PseudoMeans:
    """Pseudo-observations of censored subjects by the number j of event times up to their own.

    With theta the mean, a subject that joins the N others counts as (N+1) theta(D+i) - N theta(D) =
    theta + (N+1) [theta(D+i) - theta], and a member as theta + (N-1) [theta - theta(D-i)].

    Parameters
    ----------
    reference : Reference
        The set; with a cause up to a horizon.
    tail : str
        How Kaplan-Meier is extended beyond the follow-up.
    area : {"step", "trapezoid"}
        The area of trapezoids is that of steps halfway between the event times.
    code : int, optional
        Cause of which the mean time is free; None: there is one kind of event.
    leaving : bool
        Whether the subjects are members of the set, each of whom is left out in turn.
    tables : _Tables, optional
        What the others say, where it is known.
    """

    def __init__(
        self,
        reference: Reference,
        tail: str = "linear",
        area: str = "step",
        code: int | None = None,
        leaving: bool = False,
        tables: _Tables | None = None,
    ) -> None:
        if leaving:
            check_members(reference.y, ~reference.y.event, " of censored subjects")
        if tables is None:
            tables = _Tables.of(reference, tail, area, code, leaving)
        self.others = reference.size + tables.sign
        self.mean, self.beyond = float(tables.end - tables.later[0]), 0.0
        if code is None:
            self.mean, self.beyond = reference.theta(area, tail), reference.tail(tail)
        self.by_index: Floats = self.mean + self.others * tables.censored()
        # Numbers, because the reference set keeps this table.
        self._end, self._tail = tables.end, tables.tail
        self._last: tuple[float, float] | None = None
        if not leaving:
            self._last = float(tables.passed[-1]), tables.last_changed
        #: Value of the only member at the last time, where there is one.
        self.alone: float | None = None
        if leaving and code is None and reference.table.at_risk[-1] <= 1 + 1e-9:
            self.alone = self._without_the_last(tables, reference.table.times)

    @classmethod
    def of(
        cls, reference: Reference, tail: str, area: str, code: int | None, leaving: bool
    ) -> PseudoMeans:
        """Return those of a reference set, made once."""
        given = tail, area, code, leaving
        found: PseudoMeans = reference.cached((cls, *given), lambda: cls(reference, *given))
        return found

    def _without_the_last(self, tables: _Tables, observed: Floats) -> float:
        """Without the only member at the last time the follow-up ends at the time before."""
        if self.others <= 0:
            return self.mean
        previous, j = observed[-2], tables.times.searchsorted(self._end)
        kept = tables.changed[j]
        growth = tables.passed[j] + kept * (self._end - previous) + self.beyond
        growth -= float(tail_area(np.asarray(previous), np.asarray(kept), *self._tail))
        return float(self.mean + self.others * growth)

    def at(self, c: Floats, j: Ints) -> Floats:
        """Return those of subjects censored at `c`, `j` event times being <= `c`."""
        values = self.by_index[j]
        if self.alone is not None:
            values[c >= self._end] = self.alone
        past = np.flatnonzero(c > self._end)
        if past.size and self._last is not None:  # the follow-up goes on to c
            passed, left = self._last
            end, later = np.full(past.size, left), c[past]
            longer = end * (later - self._end) + tail_area(later, end, *self._tail)
            values[past] = self.mean + self.others * (passed + (longer - self.beyond))
        return values


def pseudo_of_all(
    reference: Reference,
    time: Floats,
    event: Bools,
    own: Bools,
    tail: str,
    code: int | None,
    leaving: bool,
) -> Floats:
    """Return the pseudo-observations of everybody, by their times and events (of the cause)."""
    whole = reference if code is None else reference.whole
    if leaving:
        check_members(whole.y)
    tables = _Tables.of(reference, tail, "step", code, leaving)
    means = PseudoMeans(reference, tail, "step", code, leaving, tables)
    if means.others <= 0:  # the only member
        return np.full(time.size, means.mean)
    # Observed times up to the own, and event times among the first observed ones.
    observed = look_up(whole.table.times, time, "right")
    events_among = np.append(0, np.cumsum(whole.table.events > 0, dtype=np.int32))
    values = means.at(time, events_among[observed])
    died, sign = np.flatnonzero(event), tables.sign
    t, own, until = time[died], own[died], observed[died]
    before = until - (np.append(-1.0, whole.table.times)[until] == t)
    j, passed = events_among[before], events_among[until]
    n = np.append(whole.table.at_risk, 0.0)[before]
    count = np.append(tables.hazard, 0.0)[j] * (passed > j) * n
    others = n + sign > 1e-9  # nobody else is left after somebody who was alone
    share = np.divide(1.0, n + sign, out=np.zeros(t.size), where=others)
    usual = np.divide(count, n, out=np.zeros(t.size), where=n > 0) * tables.survival[j]
    here = usual - (count + sign * own) * share * tables.changed[j]
    less = (1 - n * tables.change[j]) * share
    growth = tables.passed[j] + sign * (tables.end - t) * here + less * tables.later[passed]
    kept = np.where(others, tables.left * (1 - sign * less), 0.0)
    if leaving and code is None and whole.table.events.sum() <= 1 + 1e-9:
        kept = np.ones(t.size)  # without the only event it never falls
    growth += sign * (tail_area(np.asarray(tables.end), kept, *tables.tail) - means.beyond)
    values[died] = means.mean + means.others * growth
    if means.alone is not None:
        values[died[n <= 1 + 1e-9]] = means.alone
    return values


def check_members(y: Outcomes, rows: Any = slice(None), who: str = "") -> None:
    """Refuse members of whom no whole subject can be left out."""
    if y.frequency is None:
        return
    weight = y.weight[rows]
    if weight.size and weight.min() < 1:
        raise InputError(
            f"weight{who} must be at least 1 for pseudo-observations in sample (one unit is left "
            f"out); got {weight.min():g}; pass y_train instead"
        )


def _joining(P: Floats, n: Floats, d: Floats) -> tuple[Floats, float]:
    """Q/P - 1 at u_0, ..., u_K with one more at risk, and Q at the last.

    Where P ends at zero, Q/P has no limit there: it counts as 1, for nothing of P is left.
    """
    excess = np.zeros(P.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.expm1(np.cumsum(np.log1p(d / ((n - d) * (n + 1)))), out=excess[1:])
    if P[-1] > 0:
        return excess, float(P[-1] * (1 + excess[-1]))
    # Everybody left had the event: P_K = 0, Q_K = Q_{K-1}/(n+1).
    excess[-1] = 0.0
    return excess, float(P[-2] * (1 + excess[-2]) / (n[-1] + 1))


def _leaving(P: Floats, n: Floats, d: Floats) -> tuple[Floats, float]:
    """1 - Q/P at u_0, ..., u_K with one less at risk, and Q at the last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.log1p(d / (n * np.maximum(n - 1 - d, 0.0)))
    loss: Floats = -np.expm1(-np.concatenate(([0.0], np.cumsum(shrink))))
    return loss, float(P[-1] * (1 - loss[-1]))


def _tail_gain(last: Any, s: Any, gain: Floats, tail: str, stop: float) -> Floats:
    """tail_area(last, s + gain) - tail_area(last, s) without cancellation."""
    moved = slice(None) if tail == "nan" else np.flatnonzero(gain > 0)
    change, gain, s = np.zeros(gain.shape), gain[moved], np.broadcast_to(s, gain.shape)[moved]
    more = s + gain
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(stop) and tail == "linear":
            found = 0.5 * last * gain * (s + more - s * more) / ((1 - s) * (1 - more))
        elif np.isinf(stop) and tail == "exponential":
            top = gain * -np.log(s) + s * np.log1p(gain / s)
            found = last * top / (np.log(s) * np.log(more))
            found = np.where(s > 0, found, tail_area(last, more, tail))
        else:
            found = tail_area(last, more, tail, stop) - tail_area(last, s, tail, stop)
    change[moved] = found
    return change


# -- under delayed entry ----------------------------------------------------------------------


def pseudo_given_entry(
    reference: Reference,
    entry: Floats,
    time: Floats,
    tail: str,
    area: str = "step",
    code: int | None = None,
    event: Bools | None = None,
) -> Floats:
    r"""Pseudo-observations of subjects at risk from entry a to the time y, to first order.

    With m(u) the mean of T given T > u, h the hazard of the reference set, and G the probability of
    not being censored yet, it is

    .. math:: m(a) + \sum_{a < u \le y} (m(u) - u) \, h(u) \, \frac{G(a)}{G(u-)}
              - 1(\text{event at } y) (m(y) - y) \, \frac{G(a)}{G(y-)}

    over the event times u: each event that it did not have is worth the time that was ahead. It is
    what one subject more adds to the mean given entry, per share of it; given entry and features
    its mean is that of T given T > a. `event` None: all are censored.

    With the code of a cause it is that of the time free of it up to tau: an event of another cause
    leaves tau, so that it is worth m(u) - tau. With trapezoids it is the trapezoid area under the
    pseudo-observations of survival, whose first node is the entry: an event at u also takes half of
    what lies between it and the node before.
    """
    distribution, stop = ResidualDistribution.of_reference(reference, tail, code), reference.stop
    g, survival = reference.censoring, reference.distribution()[1]
    times = distribution.atoms[distribution.atoms < stop]
    n, d = reference.whole.at_events(slice(0, times.size)) if times.size else (times, times)
    left = survival[1 : times.size + 1]
    # Where a risk set became empty before others entered, nobody counts as having left.
    hazard = np.where(left < survival[: times.size], d / n, 0.0)
    mean = distribution.mean(times, np.arange(1, times.size + 1))
    own = hazard if code is None else own_hazards(reference, code)[: times.size]
    ahead = mean - times
    if area != "step":
        rest = reference.rest(area)[1 : times.size + 1] + reference.tail(tail)
        ahead = np.divide(rest, left, out=np.zeros(left.size), where=left > 0)
        ahead += np.diff(reference.nodes)[: times.size] / 2
    worth = ahead * own if code is None else ahead * own + (mean - stop) * (hazard - own)
    at_risk = g.at(times, side="left")
    counts = (at_risk > 0) & (left > 0)
    worth = np.divide(worth, at_risk, out=np.zeros(times.size), where=counts)
    first = np.where(entry > 0, look_up(times, entry, "right"), 0)
    last = look_up(times, time, "right")
    sums = np.concatenate(([0.0], np.cumsum(worth)))
    gained = sums[last] - sums[first]
    if area != "step":
        # The node before the first event after the entry is the entry.
        late = np.flatnonzero(last > first)
        nearest = first[late]
        rate = np.divide(hazard, at_risk, out=np.zeros(times.size), where=at_risk > 0)[nearest]
        gained[late] -= (entry[late] - reference.nodes[nearest]) / 2 * rate
    if event is not None:
        died = np.flatnonzero(event)
        at, then = time[died], g.at(time[died], side="left")
        gone = distribution.mean(at, distribution.places(at)) - at
        gained[died] -= np.divide(gone, then, out=np.zeros(died.size), where=then > 0)
    start = mean_given_entry(reference, entry, tail, area, code)
    found: Floats = start + np.where(entry > 0, g.at(entry), 1.0) * gained
    return found


def mean_given_entry(
    reference: Reference, entry: Floats, tail: str, area: str = "step", code: int | None = None
) -> Floats:
    """Mean of T (with a cause, of the time free of it) given T > entry under the reference set.

    Trapezoids end where the follow-up does; past it there is the tail alone.
    """
    if code is None:
        reference.tail(tail)  # refuses a set that tells nothing about event times
    distribution = ResidualDistribution.of_reference(reference, tail, code)
    first = np.where(entry > 0, distribution.places(entry), 0)
    plain: Floats = distribution.mean(entry, first)
    if area == "step":
        return plain
    first = np.minimum(first, reference.event_times.size)
    survival = np.append(reference.survival, reference.survival[-1])
    rest = np.append(reference.rest(area), 0.0) + reference.tail(tail)
    here, following = survival[first], survival[first + 1]
    beside = (reference.nodes[first + 1] - entry) * (here + following) / 2 + rest[first + 1]
    known = (entry < reference.last_time) & (here > 0)
    return entry + np.divide(beside, here, out=plain - entry, where=known)


@dataclass(frozen=True)
class PseudoIncidence:
    r"""Pseudo-observations of the status free of a cause at a time t, given no event at the entry.

    With V(u) the incidence of the cause by t given no event by u, h and h' the hazards of the cause
    and of the others, and G the probability of not being censored yet, that of somebody seen from a
    to y is 1 less

    .. math:: V(a) + \sum_{a < u \le \min(y, t)} \{V(u) h'(u) - (1 - V(u)) h(u)\} \frac{G(a)}{G(u-)}
              + \{(1 - V(y)) 1_k - V(y) 1_o\} \frac{G(a)}{G(y-)}

    over the event times u; the last part is of an event at y by t, of the cause or of another.
    Given entry and features it has the right mean, whatever h and h' are. Of one kind of event 1 -
    V(u) is S(t)/S(u). Where nobody enters late N S(u-) G(u-) are at risk at u, and these are the
    usual pseudo-observations 1 - (F + N dF/dw_i), with F Aalen-Johansen of the cause at t
    (infinitesimal jackknife).

    Attributes
    ----------
    survival : float
        Mean of 1 - V(a).
    values : ndarray of shape (n,)
        Pseudo-observations.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4, 5], [1, 0, 1, 1, 0], entry=[0, 0, 0, 2, 1])
    >>> competes = np.array([False, False, False, True, False])
    >>> PseudoIncidence.of(y, competes, 3.5).values.round(3)
    array([ 0.   ,  0.667, -0.333,  1.   ,  1.167])
    >>> y = Outcomes([1, 3, 4, 5], [1, 1, 0, 1], entry=[0, 2, 0, 0])
    >>> PseudoIncidence.of(y, None, 3.5).values.round(3) + 0.0
    array([0., 0., 1., 1.])
    """

    survival: float
    values: Floats
    weight: Floats
    _y: Outcomes
    #: At the event times up to the time: at risk, hazards of the cause and of others, G(u-).
    _at_risk: Floats
    _own: Floats
    _other: Floats
    _g: Floats
    #: V before the first of them and after each, and the probability of no event there.
    _ahead: Floats
    _free: Floats
    #: G(a), the numbers of these times up to the entry and the own time, events of both kinds.
    _scale: Floats
    _missed: Ints
    _lived: Ints
    _cases: Ints
    _others: Ints

    @classmethod
    def of(cls, y: Outcomes, competes: Bools | None, time: float) -> PseudoIncidence:
        """Return those of subjects who are all present and entered before the time.

        `competes` says who had an event of another cause; None: there is one kind of event.
        """
        competes = np.zeros(len(y), dtype=bool) if competes is None else competes
        table = RiskTable.of(y)
        rows = table.event_rows
        rows = rows[table.times[rows] <= time]
        times, at_risk, events = table.times[rows], table.at_risk[rows], table.events[rows]
        free = table.survival(rows=rows, restart=True)
        g = KaplanMeier.from_table(table, True, restart=True)
        lived, had = times.searchsorted(y.time, "right"), y.event & (y.time <= time)
        cases, others = np.flatnonzero(had & ~competes), np.flatnonzero(had & competes)
        # Where a risk set became empty before others entered, nobody counts as having left.
        counts = free[1:] < free[:-1]
        count = np.bincount(lived[cases] - 1, y.weight[cases], times.size)
        own, every = (np.where(counts, part / at_risk, 0.0) for part in (count, events))
        so_far = np.concatenate(([0.0], np.cumsum(free[:-1] * own)))
        ahead = np.divide(so_far[-1] - so_far, free, out=np.zeros(free.size), where=free > 0)
        missed, scale = np.zeros(len(y), dtype=np.intp), repeated(1.0, len(y))
        if y.entry is not None:
            late = y.entry > 0
            missed = np.where(late, times.searchsorted(y.entry, "right"), 0)
            scale = np.where(late, g.at(y.entry), 1.0)
        before = g.at(times, side="left")
        del table, g  # of many subjects every array counts
        left, others_hazard = ahead[1:], np.maximum(every - own, 0.0)
        sums = np.concatenate(
            ([0.0], np.cumsum((left * others_hazard - (1.0 - left) * own) / before))
        )
        gained = sums[lived] - sums[missed]
        gained[cases] += ((1.0 - left) / before)[lived[cases] - 1]
        gained[others] -= (left / before)[lived[others] - 1]
        start = ahead[missed]
        return cls(
            1.0 - float(np.average(start, weights=y.weight)), 1.0 - start - scale * gained,
            y.weight, y, at_risk, own, others_hazard, before, ahead, free, scale, missed, lived,
            cases, others,
        )  # fmt: skip

    def pulled(self, h: Floats) -> Floats:
        r"""What each subject's presence changes in the sum of w h pseudo-observations of others.

        That is :math:`w_j \sum_i w_i h_i \partial \theta_i / \partial w_j`, through the hazards and
        through G.

        >>> y = Outcomes([1, 2, 3, 4, 5], [1, 0, 1, 1, 0], entry=[0, 0, 0, 2, 1])
        >>> competes = np.array([False, False, False, True, False])
        >>> found = PseudoIncidence.of(y, competes, 3.5)
        >>> found.pulled(np.ones(5)).round(3) + 0.0
        array([ 0.   , -0.167,  0.083,  0.   ,  0.083])
        """
        moved_by, size, ahead = self.weight * h, self._own.size, self._ahead[1:]
        scaled = moved_by * self._scale
        seen = np.bincount(self._missed, scaled, size + 1)
        seen = seen - np.bincount(self._lived, scaled, size + 1)
        at_risk = np.cumsum(seen)[:size] / self._g
        cases, others = (
            np.bincount(self._lived[rows] - 1, scaled[rows], size) / self._g
            for rows in (self._cases, self._others)
        )
        # What the sum gains where the incidence ahead of each event time does, all later ones told.
        direct = np.bincount(self._missed, moved_by, size + 1).astype(np.float64)
        direct[1:] += at_risk * (self._own + self._other) - cases - others
        free = self._free[:-1]
        gains = free * np.cumsum(direct[:-1] / free) - at_risk
        by_case, by_other = (1.0 - ahead) * gains, -ahead * gains
        expected = (by_case * self._own + by_other * self._other) / self._at_risk
        sums = np.concatenate(([0.0], np.cumsum(expected)))
        moved = sums[self._missed] - sums[self._lived]
        for rows, part in ((self._cases, by_case), (self._others, by_other)):
            place = self._lived[rows] - 1
            counts = (self._own + self._other)[place] > 0
            moved[rows] += np.where(counts, (part / self._at_risk)[place], 0.0)
        here = at_risk * (ahead * self._other - (1.0 - ahead) * self._own)
        here += (1.0 - ahead) * cases - ahead * others
        gained = 1.0 - self.values - self._ahead[self._missed]
        return -self.weight * moved - self._through_g(here, moved_by * gained)

    def _through_g(self, here: Floats, by_subject: Floats) -> Floats:
        """The same through G, by which everything but V(a) is weighted."""
        event, died = np.zeros(by_subject.size), np.concatenate((self._cases, self._others))
        place, weight = self._lived[died] - 1, self.weight[died]
        event[died] = (here / np.bincount(place, weight, here.size))[place] * weight
        derivative = Derivative(event, np.empty(0), np.empty(0), by_subject - event)
        return EstimatedG(self._y).influence(derivative)
