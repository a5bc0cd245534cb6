"""Kaplan-Meier for events and for censoring, and areas under their steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import (
    Bools,
    Floats,
    Ints,
    look_up,
    numbers,
    positive,
    probability,
    repeated,
    sorted_outcomes,
    stored_once,
    to_numpy,
)
from ..data.interpolation import check_tail, reached_by_steps, tail_area, tail_time
from ..data.outcomes import Outcomes
from ..errors import InputError, one_of

AREAS = ("step", "trapezoid")
#: Instead of nobody at risk, where a share of them is taken.
_LEAST = np.finfo(np.float64).tiny


class RiskTable:
    """Distinct observed times with the number of events, censorings and subjects at risk.

    With delayed entry a subject is at risk at t if entry < t <= time; `awaited` is then the number
    who enter at each time or later.
    """

    def __init__(
        self, times: Floats, events: Floats, total: Floats, awaited: Floats | None = None
    ) -> None:
        self.times, self.events, self._total = times, events, total
        # From the end, so that the last group is exactly its own size.
        self.at_risk: Floats = (
            np.arange(float(total.size), 0.0, -1.0)
            if stored_once(total)
            else np.cumsum(total[::-1])[::-1]
        )
        self._by_entry = awaited is not None
        if awaited is not None:
            found = self.at_risk - awaited
            # A difference of large sums of fractions: where nobody else is left, exactly nobody.
            self.at_risk = np.where(found - total <= 1e-12 * self.at_risk, total, found)

    @classmethod
    def of(cls, y: Outcomes) -> RiskTable:
        """Count in one sort; frequencies count as that many subjects."""
        y = y.present()
        if y.frequency is not None:
            order = y.order()
            time, weight = y.time[order], y.weight[order]
            died = np.where(y.event[order], weight, 0.0)
        else:
            time, event = sorted_outcomes(y.time, y.event)
            died, weight = event.astype(np.float64), repeated(1.0, time.size)
        new = np.concatenate(([True], time[1:] != time[:-1]))
        if not new.all():
            first = np.flatnonzero(new)
            died, weight = np.add.reduceat(died, first), np.add.reduceat(weight, first)
            time = time[first]
        return cls(time, died, weight, awaited(y, time))

    @property
    def censored(self) -> Floats:
        """Number of censorings at each time."""
        return self._total - self.events

    def enough_from(self, number: float) -> float | None:
        """First time with at least `number` subjects at risk; None where there is none."""
        enough = np.flatnonzero(self.at_risk >= number)
        return float(self.times[enough[0]]) if enough.size else None

    @property
    def event_rows(self) -> Ints:
        """Rows at which somebody had the event."""
        return np.flatnonzero(self.events > 0)  # zeros among floats take much longer to find

    def survival(
        self, censoring: bool = False, rows: Ints | None = None, restart: bool = False
    ) -> Floats:
        """1, then Kaplan-Meier at each time: the product of 1 - d/n.

        With `censoring` that of the censoring time: events leave the risk set first, 1 - c/(n - d).
        `rows` leaves out times at which nobody jumps.

        With delayed entry a risk set can become empty before others enter, and the product stays
        at 0. With `restart` it goes on as if nobody had left there, so that ratios of later values,
        which are the probabilities given being at risk, are right.
        """
        at = slice(None) if rows is None else rows
        n, jumps = self.at_risk[at], self.events[at]
        if censoring:
            n, jumps = n - jumps, self.censored[at]
        share = jumps / np.maximum(n, _LEAST)  # nobody may be at risk where nobody jumps
        if restart and self._by_entry:
            share[(share >= 1) & (self.times[at] < self.times[-1])] = 0.0
        padded = np.ones(n.size + 1)
        np.subtract(1.0, share, out=padded[1:])
        return np.cumprod(padded, out=padded)


def distinct_times(y: Outcomes) -> tuple[Floats, NDArray[np.int32]]:
    """Return the distinct observed times, and the place of each subject's time among them."""
    order = y.order()
    time = y.time[order]
    new = np.concatenate(([True], time[1:] != time[:-1]))
    place = np.empty(time.size, dtype=np.int32)
    place[order] = np.cumsum(new, dtype=np.int32) - 1
    return time[new], place


def awaited(y: Outcomes, times: Floats, values: Floats | None = None) -> Floats | None:
    """Return the number (or the sum of values) of who enters at each of the times or later."""
    if y.entry is None:
        return None
    late = y.entry > 0  # at 0 everybody is in
    place = look_up(times, y.entry[late], "right")  # of the first time after the entry
    sums = np.bincount(place, (y.weight if values is None else values)[late], times.size + 1)
    found: Floats = np.cumsum(sums[::-1], dtype=np.float64)[::-1][1:]
    return found


def asked_times(t: Any) -> Floats:
    """Return times at which an estimate is read, of any shape."""
    points = to_numpy(t, "t")
    points = numbers(points, "t", ndim=points.ndim).astype(np.float64, copy=False)
    if np.isnan(points).any():
        raise InputError("t must be times; got NaN")
    return points


class KaplanMeier:
    """Kaplan-Meier estimate: a right-continuous step function that starts at 1.

    Build it with `fit` (events) or `fit_censoring` (the censoring distribution G). With delayed
    entry those at risk at t are those with entry < t <= time. Few are at risk early then, and the
    estimate can be rough or 0 from an early time on: `since` estimates it from a later time on.

    Attributes
    ----------
    times : ndarray
        Distinct observed times, event and censoring times alike.
    survival : ndarray
        Estimate at `times`; between them it keeps its value.

    Examples
    --------
    >>> km = KaplanMeier.fit(([1, 2, 3, 4], [1, 0, 1, 1]))
    >>> km.survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    >>> float(km.at(3, side="left")), float(km.at(3))
    (0.75, 0.375)
    >>> km.mean()
    2.875
    """

    def __init__(self, times: Floats, padded: Floats, jumps: Bools) -> None:
        self.times = times
        self._padded = padded  # 1 before the first time
        self.survival: Floats = padded[1:]
        self._jumps = jumps

    @classmethod
    def fit(cls, y: Any, estimator: str = "kaplan_meier") -> KaplanMeier:
        """Survival function of the event time: the product of 1 - d/n over event times.

        With ``estimator="nelson_aalen"`` it is exp(-sum of d/n) instead.
        """
        one_of("estimator", estimator, ("kaplan_meier", "nelson_aalen"))
        table = RiskTable.of(Outcomes.of(y, entry=True))
        if estimator == "kaplan_meier":
            return cls.from_table(table)
        with np.errstate(invalid="ignore"):
            falling = np.exp(-np.add.accumulate(table.events / table.at_risk))
        return cls(table.times, np.concatenate(([1.0], falling)), table.events > 0)

    @classmethod
    def since(cls, y: Any, min_at_risk: float = 10) -> KaplanMeier:
        """Kaplan-Meier given being event-free when enough subjects are at risk.

        With delayed entry the first risk sets are small. The estimate is 1 until the first time
        with `min_at_risk` subjects at risk, and from then on the probability of being event-free
        given that one was event-free just before it. Without delayed entry it is `fit`.

        >>> y = Outcomes([2, 5, 6, 7, 9], [1, 1, 0, 1, 1], entry=[1, 3, 3, 4, 0])
        >>> KaplanMeier.fit(y).survival.round(3), KaplanMeier.since(y, 3).survival.round(3)
        (array([0.5  , 0.375, 0.375, 0.188, 0.   ]), array([1.   , 0.75 , 0.75 , 0.375, 0.   ]))
        """
        outcomes = Outcomes.of(y, entry=True)
        table = RiskTable.of(outcomes)
        start = table.enough_from(min_at_risk)
        if outcomes.entry is None or start is None:
            return cls.from_table(table)
        known = np.where(table.times >= start, table.events / table.at_risk, 0.0)
        padded = np.concatenate(([1.0], np.cumprod(1.0 - known)))
        return cls(table.times, padded, table.events > 0)

    @classmethod
    def fit_censoring(cls, y: Any) -> KaplanMeier:
        """G, the survival function of the censoring time (reverse Kaplan-Meier).

        Events come before censorings at equal times, so events leave the risk set first: the
        factor is 1 - c/(n - d). This is not Kaplan-Meier on flipped flags where times are tied.
        """
        # An event of any cause ends the follow-up alike.
        known = Outcomes.of(y, causes=True, entry=True)
        return cls.from_table(RiskTable.of(known), censoring=True)

    @classmethod
    def from_table(
        cls, table: RiskTable, censoring: bool = False, restart: bool = False
    ) -> KaplanMeier:
        """Build from the counts at each distinct time; `restart` where a risk set became empty."""
        padded = table.survival(censoring, restart=restart)
        return cls(table.times, padded, (table.censored if censoring else table.events) > 0)

    def at(self, t: Any, side: str = "right") -> Floats:
        """Estimate at `t`, or just before it (``side="left"``); past the end it keeps its value."""
        one_of("side", side, ("right", "left"))
        points = asked_times(t)
        return self._padded[look_up(self.times, points.ravel(), side)].reshape(points.shape)

    @property
    def last_time(self) -> float:
        """Last observed time."""
        return float(self.times[-1])

    @property
    def last_survival(self) -> float:
        """Estimate at the last observed time."""
        return float(self.survival[-1])

    def mean(self, area: str = "step", tail: str = "linear", tau: float | None = None) -> float:
        """Mean time: area under the curve, with its tail, up to `tau` if given.

        ``area="trapezoid"`` joins the values at 0, the jump times and the last time by lines.
        """
        one_of("area", area, AREAS)
        check_tail(tail)
        stop = np.inf if tau is None else positive(tau, "tau")
        known = self.times < stop
        nodes = self.times[known] if area == "step" else self.times[known & self._jumps]
        end = min(self.last_time, stop)
        grid = np.concatenate(([0.0], nodes, [end]))
        # S(0) differs from 1 only where somebody had the event at time zero.
        values = self.at(grid)
        if area == "step":
            total = float(np.dot(values[:-1], np.diff(grid)))
        else:
            total = float(np.dot(values[:-1] + values[1:], np.diff(grid)) / 2)
        if stop > self.last_time:
            total += float(tail_area(np.float64(end), self.survival[-1], tail, stop))
        return total

    def median(self, tail: str = "linear") -> float:
        """First time with S <= 1/2, read off the tail where the steps stay above."""
        return self.quantile(0.5, tail)

    def quantile(self, q: float, tail: str = "linear") -> float:
        """First time with S <= 1 - q; a step that is above by rounding only has reached it."""
        check_tail(tail)
        p = 1 - probability(q, "q")
        reached = np.flatnonzero(self.survival <= reached_by_steps(p))
        if reached.size:
            return float(self.times[reached[0]])
        return float(tail_time(p, np.float64(self.last_time), self.survival[-1], tail))

    def __repr__(self) -> str:
        return (
            f"KaplanMeier({self.times.size} times, ends at ({self.last_time:g}, "
            f"{self.last_survival:.4g}))"
        )
