"""The reference set: what the training outcomes say about times, as tables with one look-up.

With event times u_1 < ... < u_K (u_0 = 0) everything that a subject censored at c needs is a
function of j, the number of event times <= c, as long as c lies inside the reference follow-up.
So each method is a table of K + 1 entries, made once, and a look-up per subject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.chunks import chunks
from ..data.outcomes import Outcomes
from ..data.tails import tail_area
from ..errors import InputError, UndefinedMetricError
from .kaplan_meier import KaplanMeier, RiskTable


class Reference:
    """Training outcomes with their estimates, each computed when first asked for.

    Every function with a `y_train` argument accepts one, so that several calls share the work.

    Parameters
    ----------
    y : outcomes
        Training outcomes; anything that `Outcomes.of` reads.
    stop : float
        Where the clock stops (`tau`): every area ends there.

    Examples
    --------
    >>> reference = Reference(([2, 4, 6, 8], [1, 0, 1, 1]))
    >>> round(reference.theta("step", "linear"), 4)
    5.75
    """

    def __init__(self, y: Any, stop: float = np.inf) -> None:
        self.y = Outcomes.of(y, "y_train").present()
        #: Where the clock stops (`tau`); every area ends there.
        self.stop = stop
        self._cache: dict[Any, Any] = {}

    @classmethod
    def of(cls, obj: Any) -> Reference:
        """Take a Reference as it is, and anything that `Outcomes.of` reads."""
        return obj if isinstance(obj, Reference) else cls(obj)

    def restricted(self, tau: float | None) -> Reference:
        """Return the same set with the clock stopped at `tau`."""
        if tau is None:
            return self
        build = lambda: Reference(self.y.restricted(tau), stop=tau)  # noqa: E731
        return self.cached(("tau", tau), build)

    def forget(self) -> None:
        """Drop what was computed; it comes back when asked for."""
        self._cache.clear()
        for name in ("event_rows", "nodes", "_steps", "table", "km", "censoring"):
            self.__dict__.pop(name, None)

    def forget_methods(self) -> None:
        """Drop what single methods of the time errors look up."""
        for key in list(self._cache):
            if key[0] not in ("rest", "tau"):
                self._cache.pop(key, None)

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what depends on options, such as tail and area."""
        known = self._cache.get(key)
        if known is None:  # read once: another thread's evaluation may forget it meanwhile
            known = self._cache[key] = build()
        return known

    @cached_property
    def size(self) -> float:
        """Number of subjects, frequencies counted."""
        return float(self.y.weight.sum()) if self.y.weighted else float(len(self.y))

    @property
    def subjects(self) -> int | float:
        """The same as a whole number, where it is one."""
        return int(self.size) if self.size.is_integer() else self.size

    @cached_property
    def table(self) -> RiskTable:
        """Counts at the distinct observed times."""
        return RiskTable.of(self.y)

    @cached_property
    def km(self) -> KaplanMeier:
        """Kaplan-Meier of the event time."""
        return KaplanMeier.from_table(self.table)

    @cached_property
    def censoring(self) -> KaplanMeier:
        """G, reverse Kaplan-Meier: events leave the risk set before censorings."""
        return KaplanMeier.from_table(self.table, censoring=True)

    @cached_property
    def last_time(self) -> float:
        """Last observed time."""
        return float(self.y.time.max())

    @property
    def last_survival(self) -> float:
        """Kaplan-Meier at the last observed time; 1 where nobody had the event."""
        return float(self.survival[-1]) if self.table.jumps(censoring=False).any() else 1.0

    @cached_property
    def event_rows(self) -> Any:
        """Rows of `table` at which somebody had the event."""
        rows = self.table.event_rows
        if rows.size == 0:
            raise UndefinedMetricError(
                "y_train has no events, so nothing is known about event times; "
                "use method='uncensored', 'hinge' or 'ipcw_d', or another reference set"
            )
        return rows

    @property
    def event_times(self) -> Floats:
        """u_1 < ... < u_K."""
        return self.nodes[1:-1]

    @cached_property
    def nodes(self) -> Floats:
        """0, u_1, ..., u_K, t_last."""
        rows = self.event_rows
        nodes = np.empty(rows.size + 2)
        np.take(self.table.times, rows, out=nodes[1:-1])
        nodes[0], nodes[-1] = 0.0, self.last_time
        return nodes

    @property
    def gaps(self) -> Floats:
        """Widths between neighbouring nodes."""
        return np.diff(self.nodes)

    def at_events(self, part: slice = slice(None)) -> tuple[Floats, Floats]:
        """Numbers at risk and of events at u_1, ..., u_K, or at a part of them."""
        return self.table.counts_in(self.event_rows[part])

    @property
    def survival(self) -> Floats:
        """Kaplan-Meier P_0 = 1, P_1, ..., P_K after each event time."""
        return self._steps[:-1]

    @cached_property
    def _steps(self) -> Floats:
        """P_0, ..., P_K, P_K: at the nodes."""
        known = self.table.survival(rows=self.event_rows)
        return np.append(known, known[-1])

    def steps(self) -> tuple[Floats, Floats]:
        """Kaplan-Meier as a curve: event times and where the tail starts, and the values there."""
        known = -1 if self.last_time == self.nodes[-2] else None
        return self.nodes[1:known], self._steps[1:known]

    def _areas(self, values: Floats, area: str, part: slice = slice(None)) -> Floats:
        """Area under a function with `values` at u_0..u_K, between neighbouring nodes: K + 1.

        Of a `part` of the nodes where the area is that of steps.
        """
        first = part.start or 0
        gaps = np.diff(self.nodes[first : first + values.size + 1])
        if area == "step":
            gaps *= values
            return gaps
        ends = np.append(values[1:], values[-1])
        return (values + ends) / 2 * gaps

    def rest(self, area: str) -> Floats:
        """Area under Kaplan-Meier from u_j to t_last, j = 0..K."""
        return self.cached(
            ("rest", area), lambda: _reverse_cumsum(self._areas(self.survival, area))
        )

    def tail(self, tail: str) -> float:
        """Area under Kaplan-Meier past t_last."""
        return float(tail_area(np.float64(self.last_time), self.survival[-1], tail, self.stop))

    def theta(self, area: str, tail: str) -> float:
        """Mean of Kaplan-Meier (restricted to `tau` on a restricted reference)."""
        return float(self.rest(area)[0]) + self.tail(tail)

    def later_mean(self, tail: str) -> Floats:
        """Mean of T given T > u_j under the steps; NaN or infinite where nothing is left."""

        def build() -> Floats:
            mean = self.rest("step") + self.tail(tail)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean /= self.survival
            mean += self.nodes[:-1]
            return mean

        return self.cached(("mean", tail), build)

    def later_trapezoids(self, tail: str) -> Floats:
        """Area from each observed time on, by trapezoids over all observed times, and the tail."""

        def build() -> Floats:
            survival = self.km.survival
            pieces = np.diff(self.table.times) * (survival[1:] + survival[:-1]) / 2
            return np.append(_reverse_cumsum(pieces), 0.0) + self.tail(tail)

        return self.cached(("trapezoids", tail), build)

    def later_event_mean(self) -> Floats:
        """Mean of the event times later than u_j; NaN where there is none."""

        def build() -> Floats:
            count = self.at_events()[1]
            number, total = np.zeros(count.size + 1), np.zeros(count.size + 1)
            np.cumsum(count[::-1], out=number[-2::-1])
            count *= self.event_times
            np.cumsum(count[::-1], out=total[-2::-1])
            with np.errstate(invalid="ignore"):
                total /= number  # 0 / 0 past the last
            return total

        return self.cached("later", build)

    def pseudo_means(self, area: str, tail: str) -> PseudoMeans:
        """Pseudo-observations of somebody who joins the set, censored."""
        return self.cached(("join", area, tail), lambda: PseudoMeans.joining(self, area, tail))

    def pseudo_means_in_sample(self, area: str, tail: str) -> PseudoMeans:
        """Pseudo-observations of the censored members of the set itself, leave-one-out."""
        return self.cached(("leave", area, tail), lambda: PseudoMeans.leaving(self, area, tail))


@dataclass(frozen=True)
class _Past:
    """What a subject censored past the follow-up needs: numbers, for the set keeps the table."""

    #: Change of theta by somebody censored at t_last, and where the tail starts then.
    change: float
    end: float
    theta: float
    size: float
    last_time: float
    tail: str
    stop: float

    def means(self, c: Floats) -> Floats:
        """Follow-up of D + i ends at c instead of t_last."""
        usual = tail_area(np.float64(self.last_time), np.float64(self.end), self.tail, self.stop)
        later = tail_area(c, np.full(c.size, self.end), self.tail, self.stop)
        longer = self.end * (c - self.last_time) + later
        return self.theta + self.size * (self.change + (longer - usual))


class PseudoMeans:
    """Table of pseudo-observations of censored subjects, by the number j of event times <= c.

    With theta the mean of Kaplan-Meier, a subject that joins the N others counts as
    (N+1) theta(D+i) - N theta(D) = theta + (N+1) [theta(D+i) - theta], and a member as
    theta + (N-1) [theta - theta(D-i)]. The bracket is summed from differences of the two curves,
    which all have the same sign, so no digits cancel when it is multiplied by N.
    """

    def __init__(
        self, by_index: Floats, last_member: float | None = None, past: _Past | None = None
    ) -> None:
        self.by_index = by_index
        self.last_member = last_member
        self._past = past

    @classmethod
    def joining(cls, ref: Reference, area: str, tail: str) -> PseudoMeans:
        """Others' at-risk numbers grow by one up to c: Q_k = product of 1 - d/(n+1)."""
        P, rest = ref.survival, ref.rest(area)
        theta, by_index = ref.theta(area, tail), np.empty(P.size)
        # Sums go on where the chunk before ended; trapezoids need the value after it.
        size = None if area == "step" else P.size
        grown, before, previous = 0.0, 0.0, 0.0
        change = gain = end = np.empty(0)
        for part in chunks(P.size, size=size):
            excess, grown = _excess(ref, part, grown)
            with np.errstate(invalid="ignore"):
                gain = P[part] * excess  # Q - P
            if part.stop == P.size and P[-1] == 0:
                # Everybody left had the event: P_K = 0, Q_K = Q_{K-1}/(n+1).
                nearly = gain[-2] if gain.size > 1 else previous
                left = ref.at_events(slice(-1, None))[0][0]
                excess[-1], gain[-1] = 0.0, (P[-2] + nearly) / (left + 1)
            change = excess * rest[part]
            passed = np.concatenate(([before], ref._areas(gain, area, part)))
            np.cumsum(passed, out=passed)
            change += passed[:-1]
            before, previous = float(passed[-1]), float(gain[-1])
            if P[-1] > 0:
                end = P[-1] * excess
                change += _tail_gain(ref.last_time, P[-1], end, tail, ref.stop)
                end += P[-1]  # S_e, where the tail starts
            elif part.stop == P.size:
                end = gain[-1:]
                change[-1:] += _tail_gain(ref.last_time, 0.0, end, tail, ref.stop)
            by_index[part] = theta + (ref.size + 1) * change
        # Past the follow-up all event times lie behind.
        last = float(change[-1]), float(end[-1])
        return cls(by_index, past=_Past(*last, theta, ref.size + 1, ref.last_time, tail, ref.stop))

    @classmethod
    def leaving(cls, ref: Reference, area: str, tail: str) -> PseudoMeans:
        """Others' at-risk numbers shrink by one up to c: Q_k = product of 1 - d/(n-1)."""
        members = ref.y.weight[~ref.y.event] if ref.y.weighted else np.ones(1)
        if members.size and members.min() < 1:
            raise InputError(
                "weight of censored subjects must be at least 1 for pseudo-observations in sample "
                f"(one unit is left out); got {members.min():g}; pass y_train instead"
            )
        P, n, d = ref.survival, *ref.at_events()
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = np.log1p(d / (n * np.maximum(n - 1 - d, 0.0)))
        loss = -np.expm1(-np.concatenate(([0.0], np.cumsum(shrink))))  # 1 - Q/P
        before = np.concatenate(([0.0], np.cumsum(ref._areas(P * loss, area)[:-1])))
        kept = P[-1] * (1 - loss)
        change = before + loss * ref.rest(area)
        change += _tail_gain(ref.last_time, kept, P[-1] * loss, tail, ref.stop)
        theta, others = ref.theta(area, tail), ref.size - 1
        last_member = None
        if ref.table.at_risk[-1] - 1 < 1e-9 and P[-1] > 0:
            # The only one at the last time: without it the follow-up ends at the time before.
            previous = float(ref.table.times[-2])
            step = before[-1] + P[-1] * loss[-1] * (previous - ref.event_times[-1])
            step += P[-1] * (ref.last_time - previous) + ref.tail(tail)
            step -= float(tail_area(np.float64(previous), kept[-1], tail, ref.stop))
            last_member = float(theta + others * step)
        return cls(theta + others * change, last_member)

    def at(self, c: Floats, j: Any, last_time: float) -> Floats:
        """Pseudo-observations of subjects censored at `c`, `j` event times being <= `c`."""
        values = self.by_index[j]
        if self._past is not None:
            past = np.flatnonzero(c > last_time)
            if past.size:
                values[past] = self._past.means(c[past])
        elif self.last_member is not None:
            values[c >= last_time] = self.last_member
        return values


def _excess(ref: Reference, part: slice, grown: float) -> tuple[Floats, float]:
    """Q/P - 1 at u_j for the j of `part`, from its logarithm so far; and that logarithm."""
    excess = np.zeros(part.stop - part.start)
    first = max(part.start, 1)  # at u_0 = 0 nothing has happened
    events = slice(first - 1, part.stop - 1)
    if events.stop > events.start:
        n, d = ref.at_events(events)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = n - d
            step *= n + 1
            np.divide(d, step, out=step)
            np.log1p(step, out=step)
            step[0] += grown
            np.cumsum(step, out=step)
            grown = float(step[-1])
            np.expm1(step, out=excess[first - part.start :])
    return excess, grown


def _tail_gain(last: float, s: Any, gain: Floats, tail: str, stop: float) -> Floats:
    """tail_area(last, s + gain) - tail_area(last, s) without cancellation."""
    s = np.broadcast_to(s, gain.shape)
    change = np.zeros(gain.shape)
    moved = slice(None) if tail == "nan" else np.flatnonzero(gain > 0)
    change[moved] = _tail_change(np.float64(last), s[moved], gain[moved], tail, stop)
    return change


def _tail_change(last: Any, s: Floats, gain: Floats, tail: str, stop: float) -> Floats:
    more = s + gain
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(stop) and tail == "linear":
            return 0.5 * last * gain * (s + more - s * more) / ((1 - s) * (1 - more))
        if np.isinf(stop) and tail == "exponential":
            top = gain * -np.log(s) + s * np.log1p(gain / s)
            change = last * top / (np.log(s) * np.log(more))
            return np.where(s > 0, change, tail_area(last, more, tail))
        return tail_area(last, more, tail, stop) - tail_area(last, s, tail, stop)


def _reverse_cumsum(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]
