"""Kaplan-Meier for events and for censoring, and areas under their steps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Bools, Floats, numbers, positive, probability, to_numpy
from .._tools.chunks import QUERIES, chunks
from .._tools.places import Places, look_up
from .._tools.sorting import sorted_outcomes
from .._tools.threads import run_all
from ..data.interpolation import reached_by_steps
from ..data.outcomes import Outcomes
from ..data.tails import check_tail, tail_area, tail_time
from ..errors import InputError, one_of

AREAS = ("step", "trapezoid")


class RiskTable:
    """Distinct observed times with the number of events, censorings and subjects at risk.

    Where every time is one subject's, `events` are flags, and nothing else is kept; without
    frequencies counts are whole numbers of half the size. With delayed entry a subject is at risk
    at t if entry < t <= time.
    """

    def __init__(
        self,
        times: Floats,
        events: NDArray[Any],
        total: NDArray[Any] | None,
        awaited: Floats | None = None,
    ) -> None:
        self.times, self._events = times, events
        #: Subjects observed at each time; None: one each.
        self._total = total
        #: Subjects who enter at each time or later; None: nobody enters late.
        self._awaited = awaited

    @classmethod
    def of(cls, y: Outcomes) -> RiskTable:
        """Count in one sort; frequencies count as that many subjects."""
        y = y.present()
        if y.weighted:
            order = y.order()
            time, weight = y.time[order], y.weight[order]
            died = np.where(y.event[order], weight, 0.0)
            first = np.flatnonzero(np.concatenate(([True], time[1:] != time[:-1])))
            counts = np.add.reduceat(died, first), np.add.reduceat(weight, first)
            return cls(time[first], *counts, awaited(y, time[first]))
        time, event = sorted_outcomes(y.time, y.event)
        new = time[1:] != time[:-1]
        if new.all():  # nobody tied: each row counts itself
            return cls(time, event, None, awaited(y, time))
        first = np.flatnonzero(np.concatenate(([True], new)))
        events = np.add.reduceat(event, first, dtype=np.int32)
        total = np.diff(first, append=time.size).astype(np.int32)
        return cls(time[first], events, total, awaited(y, time[first]))

    @property
    def events(self) -> Floats:
        """Number of events at each time."""
        counts: Floats = self._events.astype(np.float64, copy=False)
        return counts

    @property
    def censored(self) -> Floats:
        """Number of censorings at each time."""
        return (1.0 if self._total is None else self._total) - self.events

    @property
    def at_risk(self) -> Floats:
        """Number of subjects at risk: observed at each time or later, and entered before it."""
        if self._awaited is not None:
            return self._entered
        if self._total is None:
            return np.arange(self.times.size, 0, -1, dtype=np.float64)
        # From the end, so that the last group is exactly its own size.
        return self._later

    @cached_property
    def _later(self) -> Floats:
        return np.cumsum(np.asarray(self._total)[::-1], dtype=np.float64)[::-1]

    @cached_property
    def _entered(self) -> Floats:
        """Numbers at risk with delayed entry."""
        total = np.ones(self.times.size) if self._total is None else self._total
        later: Floats = np.cumsum(total[::-1], dtype=np.float64)[::-1]
        found = later - np.asarray(self._awaited)
        # A difference of large sums of fractions: where nobody else is left, exactly nobody.
        return np.where(found - total <= 1e-12 * later, total, found)

    def enough_from(self, number: float) -> float | None:
        """First time with at least `number` subjects at risk; None where there is none."""
        enough = np.flatnonzero(self.at_risk >= number)
        return float(self.times[enough[0]]) if enough.size else None

    @property
    def event_rows(self) -> NDArray[np.int32]:
        """Rows at which somebody had the event."""
        return np.flatnonzero(self._events).astype(np.int32)  # counts: none is negative

    def counts_in(self, rows: slice | NDArray[Any]) -> tuple[Floats, Floats]:
        """Numbers at risk and of events at some of the times."""
        events = self._events[rows].astype(np.float64, copy=False)
        if self._total is not None or self._awaited is not None:
            return self.at_risk[rows], events
        places = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        return self.times.size - places.astype(np.float64), events

    def jumps(self, censoring: bool) -> Bools:
        """Where the estimate falls: at events, or where somebody was censored."""
        if self._total is None:
            return self._events != censoring
        return self._events < self._total if censoring else self._events > 0

    def survival(
        self, censoring: bool = False, rows: NDArray[Any] | None = None, restart: bool = False
    ) -> Floats:
        """1, then Kaplan-Meier at each time: the product of 1 - d/n.

        With `censoring` that of the censoring time: events leave the risk set first, 1 - c/(n - d).
        `rows` leaves out times at which nobody jumps.

        With delayed entry a risk set can become empty before others enter, and the product stays
        at 0. With `restart` it goes on as if nobody had left there, so that ratios of later values,
        which are the probabilities given being at risk, are right.
        """
        padded = np.ones((self.times.size if rows is None else rows.size) + 1)
        for part in chunks(padded.size - 1):
            at = part if rows is None else rows[part]
            n, jumps = self.counts_in(at)
            if censoring:
                n = n - jumps
                jumps = (1.0 if self._total is None else self._total[at]) - jumps
            values = padded[part.start + 1 : part.stop + 1]
            values.fill(0.0)
            np.divide(jumps, n, out=values, where=jumps > 0)
            np.subtract(1.0, values, out=values)
            if restart and self._awaited is not None:
                emptied = np.arange(self.times.size)[at] < self.times.size - 1
                values[emptied & (values <= 0)] = 1.0
            values[0] *= padded[part.start]
            np.multiply.accumulate(values, out=values)
        return padded


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
    estimate can be rough or 0 from an early time on: `since` says from when on it holds.

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
        self._places = Places(times)

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
        return cls(table.times, np.concatenate(([1.0], falling)), table.jumps(censoring=False))

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
        return cls(table.times, padded, table.jumps(censoring=False))

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
        return cls(table.times, padded, table.jumps(censoring))

    def at(self, t: Any, side: str = "right") -> Floats:
        """Estimate at `t`, or just before it (``side="left"``); past the end it keeps its value."""
        one_of("side", side, ("right", "left"))
        points = asked_times(t)
        asked, values = points.ravel(), np.empty(points.size)

        def fill(part: slice) -> None:
            found = self._places.of(asked[part], side)
            self._padded.take(found, out=values[part], mode="clip")

        run_all(fill, chunks(asked.size, size=QUERIES))
        return values.reshape(points.shape)

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
