"""Kaplan-Meier for events and for censoring, and areas under their steps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ._arrays import Floats, Ints, look_up, numbers, positive, probability, to_numpy
from .errors import InputError, one_of
from .outcomes import Outcomes
from .tails import check_tail, tail_area, tail_time

AREAS = ("step", "trapezoid")


class RiskTable:
    """Distinct observed times with the number of events, censorings and subjects at risk."""

    def __init__(self, times: Floats, events: Floats, total: Floats | None) -> None:
        self.times, self.events = times, events
        #: Subjects observed at each time; None: one each.
        self._total = total

    @classmethod
    def of(cls, y: Outcomes) -> RiskTable:
        """Count in one sort; frequencies count as that many subjects."""
        y = y.present()
        order = y.order()
        time = y.time[order]
        new = time[1:] != time[:-1]
        if not y.weighted and new.all():  # nobody tied: each row counts itself
            return cls(time, y.event[order].astype(np.float64), None)
        first = np.flatnonzero(np.concatenate(([True], new)))
        if y.weighted:
            weight = y.weight[order]
            died = np.where(y.event[order], weight, 0.0)
            return cls(time[first], np.add.reduceat(died, first), np.add.reduceat(weight, first))
        events = np.add.reduceat(y.event[order].astype(np.float64), first)
        return cls(time[first], events, np.diff(first, append=time.size).astype(np.float64))

    @property
    def censored(self) -> Floats:
        """Number of censorings at each time."""
        return (1.0 if self._total is None else self._total) - self.events

    @property
    def at_risk(self) -> Floats:
        """Number of subjects observed at each time or later."""
        if self._total is None:
            return np.arange(self.times.size, 0, -1, dtype=np.float64)
        # From the end, so that the last group is exactly its own size.
        return self._later

    @cached_property
    def _later(self) -> Floats:
        return np.cumsum(np.asarray(self._total)[::-1])[::-1]

    def at_risk_in(self, rows: Ints) -> Floats:
        """Number at risk at some of the times."""
        if self._total is None:
            return self.times.size - rows.astype(np.float64)
        return self.at_risk[rows]


class KaplanMeier:
    """Kaplan-Meier estimate: a right-continuous step function that starts at 1.

    Build it with `fit` (events) or `fit_censoring` (the censoring distribution G).

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

    def __init__(self, times: Floats, survival: Floats, jumps: Floats) -> None:
        self.times = times
        self._padded = np.concatenate(([1.0], survival))
        self.survival: Floats = self._padded[1:]
        self._jumps = jumps > 0

    @classmethod
    def fit(cls, y: Any, estimator: str = "kaplan_meier") -> KaplanMeier:
        """Survival function of the event time: the product of 1 - d/n over event times.

        With ``estimator="nelson_aalen"`` it is exp(-sum of d/n) instead.
        """
        one_of("estimator", estimator, ("kaplan_meier", "nelson_aalen"))
        table = RiskTable.of(Outcomes.of(y))
        return cls.from_counts(table.times, table.events, table.at_risk, estimator)

    @classmethod
    def fit_censoring(cls, y: Any) -> KaplanMeier:
        """G, the survival function of the censoring time (reverse Kaplan-Meier).

        Events come before censorings at equal times, so events leave the risk set first: the
        factor is 1 - c/(n - d). This is not Kaplan-Meier on flipped flags where times are tied.
        """
        table = RiskTable.of(Outcomes.of(y))
        return cls.from_counts(table.times, table.censored, table.at_risk - table.events)

    @classmethod
    def from_counts(
        cls, times: Floats, jumps: Floats, at_risk: Floats, estimator: str = "kaplan_meier"
    ) -> KaplanMeier:
        """Build from the number of jumps and of subjects at risk at each distinct time."""
        with np.errstate(invalid="ignore", divide="ignore"):
            hazard: Floats = np.where(jumps > 0, jumps / at_risk, 0.0)
        if estimator == "nelson_aalen":
            falling = np.exp(-np.add.accumulate(hazard))
            return cls(times, falling, jumps)
        return cls(times, np.multiply.accumulate(1.0 - hazard), jumps)

    def at(self, t: Any, side: str = "right") -> Floats:
        """Estimate at `t`, or just before it (``side="left"``); past the end it keeps its value."""
        one_of("side", side, ("right", "left"))
        points = to_numpy(t, "t")
        points = numbers(points, "t", ndim=points.ndim).astype(np.float64, copy=False)
        if np.isnan(points).any():
            raise InputError("t must be times; got NaN")
        found = look_up(self.times, points.ravel(), side).reshape(points.shape)
        return self._padded[found]

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
        """First time with S <= 1 - q."""
        check_tail(tail)
        p = 1 - probability(q, "q")
        reached = np.flatnonzero(self.survival <= p)
        if reached.size:
            return float(self.times[reached[0]])
        return float(tail_time(p, np.float64(self.last_time), self.survival[-1], tail))

    def __repr__(self) -> str:
        return (
            f"KaplanMeier({self.times.size} times, ends at ({self.last_time:g}, "
            f"{self.last_survival:.4g}))"
        )
