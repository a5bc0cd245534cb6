"""Groups of predicted risk: their rates, and what these vary by if the model is right.

In a group whose mean predicted curve is S, Kaplan-Meier at t has about the variance
S(t)^2 times the integral to t of dLambda(u)/Y(u), Lambda = -log S, Y the number at risk. It needs
no event to have been seen, so it is good where Greenwood's estimate is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, sorting_order
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...estimators.aalen_johansen import AalenJohansen, coded
from ...estimators.kaplan_meier import KaplanMeier, RiskTable

#: Intervals between the times at which curves on long grids are read.
NODES = 32
#: Numbers of groups that are tried by default, the first that leaves enough in every group,
USUAL_GROUPS = (10, 8, 6, 5, 4, 3, 2, 1)
#: which is this many subjects expected to have, and not to have, the event. Censored subjects count
#: as much as they tell.
ENOUGH = 3.0
#: Least number of expected events of every group under delayed entry, for the chi-squared
#: distribution.
ENOUGH_EVENTS = 5.0
#: A gap between observed and predicted survival that is rounding.
_ROUNDING = 1e-12

#: Cumulative hazard at times in order.
Hazard = Callable[[Floats], Floats]


@dataclass(frozen=True)
class StoppedRates:
    """Observed and predicted survival of each group, and the variance under the prediction."""

    observed: Floats
    expected: Floats
    variance: Floats
    #: Whether the group's follow-up ended before the time; it is then compared where it ended.
    stopped: Floats

    def thin(self) -> int:
        """Count groups with too few expected events or survivors for the chi-squared limit."""
        open_groups = self.variance > 0
        s, variance = self.expected[open_groups], self.variance[open_groups]
        # As many uncensored subjects would have this variance.
        number = s * (1.0 - s) / variance
        return int((number * np.minimum(s, 1.0 - s) < ENOUGH).sum())

    def test(self) -> tuple[float, int]:
        """Statistic, and how many groups it has: those for which the model leaves a doubt."""
        gap, open_groups = self.observed - self.expected, self.variance > 0
        # A curve that has fallen to 0 while its subject was at risk is refuted, as is an event that
        # no curve allows for.
        refuted = not np.isfinite(self.expected).all()
        if refuted or (np.abs(gap[~open_groups]) > _ROUNDING).any():
            return float("inf"), int(open_groups.sum())
        terms = gap[open_groups] ** 2 / self.variance[open_groups]
        return float(terms.sum()), int(open_groups.sum())


class EnteredRates(StoppedRates):
    """Under delayed entry: 1 - events, and 1 - those expected while at risk, per subject.

    A subject expects what its curve's cumulative hazard rises by while it is at risk, from its
    entry to its own time or the time looked at. Groups are made by what is known at entry, so that
    events less expected ones are a martingale in each, with the expected events as its variation.
    """

    @classmethod
    def of(cls, y: Outcomes, happened: Bools, hazard: Floats, rows: list[Ints]) -> EnteredRates:
        """Count events of the groups, and add up what the subjects expect."""
        seen, awaited, size = (
            np.array([part[members].sum() for members in rows])
            for part in (y.weight * happened, y.weight * hazard, y.weight)
        )
        variance = awaited / size**2
        return cls(1.0 - seen / size, 1.0 - awaited / size, variance, np.zeros(size.size))

    def thin(self) -> int:
        """Count groups with too few expected events."""
        rate, known = 1.0 - self.expected, (self.variance > 0) & np.isfinite(self.variance)
        events = np.where(self.variance > 0, np.inf, 0.0)
        np.divide(rate**2, self.variance, out=events, where=known)
        return int((events < ENOUGH_EVENTS).sum())


def stopped_rates(
    y: Outcomes,
    rows: list[Ints],
    hazards: list[Hazard],
    time: float,
    competes: Bools | None = None,
) -> StoppedRates:
    """Kaplan-Meier and prediction at `time`, or where the group's last subject left before.

    With `competes`, 1 - Aalen-Johansen of the cause.
    """
    columns: list[tuple[Any, ...]] = []
    for members, hazard in zip(rows, hazards, strict=True):  # a handful of groups
        if competes is not None:
            columns.append(_incidence_rate(y[members], competes[members], hazard, time))
            continue
        table = RiskTable.of(y[members])
        at_risk, events = table.at_risk, table.events
        # Y is the number at risk from just after one observed time up to the next.
        last = min(int(table.times.searchsorted(time)), table.times.size - 1)
        ends = np.minimum(table.times[: last + 1], time)
        known = table.times[: last + 1] <= time
        observed = np.prod(1.0 - (events / at_risk)[: last + 1][known])
        risen = hazard(ends)
        expected = np.exp(-risen[-1])
        growth = np.sum(np.diff(risen, prepend=0.0) / at_risk[: last + 1]) if expected else 0.0
        columns.append((observed, expected, expected**2 * growth, ends[-1] < time))
    return StoppedRates(*np.array(columns, dtype=np.float64).T)


def _incidence_rate(
    y: Outcomes, competes: Bools, hazard: Hazard, time: float
) -> tuple[float, float, float, bool]:
    r"""1 - Aalen-Johansen of one group, the prediction, and the variance if that is right.

    Without censoring it is that of a share, F (1 - F)/n. Who is censored at u takes away what was
    still unknown then: with p(u) = (F(t) - F(u))/S(u), the probability of the event by t of who is
    event-free at u, the integral of S p (1 - p) d(1/G) is added to F (1 - F). The model says F;
    S, of any event, and G are those of the group.
    """
    found = AalenJohansen.fit(coded(y, competes))
    until = min(time, float(found.times[-1]))
    before = found.times < until
    times, left = found.times[before], found.survival[before]
    risen = -np.expm1(-hazard(np.append(times, until)))
    end = risen[-1]
    open_ = left > 0
    p = np.divide(end - risen[:-1], left, out=np.zeros(left.size), where=open_)
    p = np.clip(p, 0.0, 1.0)
    g = KaplanMeier.fit_censoring(y).survival[: times.size]
    unknown = np.diff(1.0 / g, prepend=1.0)
    variance = end * (1.0 - end) + float(np.sum(left * p * (1.0 - p) * unknown))
    observed = 1.0 - float(found.at(until, 1))
    return observed, 1.0 - end, variance / float(y.weight.sum()), until < time


def curve_nodes(curves: SurvivalCurves, time: float) -> Floats:
    """Times from 0 to `time` at which curves are read: their own if these are few, else even ones.

    A stream keeps the values at these times, and finds the same times from what it kept.
    """
    if own_nodes(curves, time):
        inside = curves.times[(curves.times > 0) & (curves.times < time)]
        return np.concatenate(([0.0], inside, [time])) if time > 0 else np.zeros(1)
    return np.arange(NODES + 1) * time / NODES


def own_nodes(curves: SurvivalCurves, time: float) -> bool:
    """Whether between the grid times up to `time` the mean curve is a line or a step."""
    if not curves.shared_grid or curves.interpolation == "pchip" or time > curves.times[-1]:
        return False
    return int(((curves.times > 0) & (curves.times < time)).sum()) < NODES - 1


def curve_hazards(
    y: Outcomes, curves: SurvivalCurves, rows: list[Ints], time: float
) -> list[Hazard]:
    """Lambda = -log of the mean predicted curve of each group."""
    nodes, exact = curve_nodes(curves, time), own_nodes(curves, time)
    means = [np.average(curves[k].at(nodes), axis=0, weights=y.weight[k]) for k in rows]
    return [_hazard(nodes, mean, curves.interpolation if exact else "log") for mean in means]


def _hazard(nodes: Floats, mean: Floats, between: str) -> Hazard:
    """-log of a curve at times in order; `between` nodes it is linear, a step, or exponential."""

    def hazard(t: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            if between == "step":
                return -np.log(mean[nodes.searchsorted(t, "right") - 1]) + 0.0
            if between == "linear":
                return -np.log(np.interp(t, nodes, mean)) + 0.0
        risen: Floats = np.interp(t, nodes, -np.log(np.maximum(mean, 1e-300)))
        return risen

    return hazard


def shared_shape(
    y: Outcomes, s: Floats, rows: list[Ints], time: float, competes: Bools | None = None
) -> list[Hazard]:
    """-log of the mean probability at `time`, reached as Nelson-Aalen of all subjects rises.

    For probabilities at one time, which say nothing about the way there. Of a cause they rise as
    -log(1 - Aalen-Johansen) does.
    """
    if competes is None:
        table = RiskTable.of(y)
        known = table.times <= time
        risen = np.cumsum((table.events / table.at_risk)[known])
        times = table.times[known]
    else:
        found = AalenJohansen.fit(coded(y, competes))
        times = found.times[found.times <= time]
        risen = -np.log(np.maximum(1.0 - found.at(times, 1), 1e-300))
    if not (risen.size and risen[-1] > 0):  # no event yet: evenly
        times, risen = np.array([time]), np.ones(1)

    def of_group(members: Ints) -> Hazard:
        with np.errstate(divide="ignore"):
            total = -np.log(np.average(s[members], weights=y.weight[members])) + 0.0

        def hazard(t: Floats) -> Floats:
            share = np.append(0.0, risen / risen[-1])[times.searchsorted(t, "right")]
            share[t >= time] = 1.0
            return np.where(share > 0, total, 0.0) * np.where(share > 0, share, 1.0)

        return hazard

    return [of_group(members) for members in rows]


def risk_groups(s: Floats, weight: Floats | None, groups: int) -> list[Ints]:
    """Rows of about equally many subjects, from low to high risk; tied predictions stay together.

    A block of tied predictions goes where its middle lies, so neither the order of the subjects nor
    the way frequencies are written changes the groups. Groups that would be empty are left out.
    """
    order = sorting_order(-s)
    sorted_s = s[order]
    first = np.flatnonzero(np.concatenate(([True], sorted_s[1:] != sorted_s[:-1])))
    del sorted_s
    if weight is None:
        size = np.diff(first, append=s.size).astype(np.float64)
    else:
        size = np.add.reduceat(weight[order], first)
    middle = np.cumsum(size)
    total = middle[-1]
    middle -= size / 2
    middle /= total
    middle *= groups
    label = np.minimum(middle.astype(np.int32), groups - 1)
    return np.split(order, first[1:][label[1:] != label[:-1]])


@dataclass(frozen=True)
class GroupRates:
    """Predicted and observed probability of the event by a time, per group."""

    size: Floats
    observed: Floats
    expected: Floats
    #: Greenwood's variance of the observed rate.
    variance: Floats
    events: Floats
    #: Groups whose follow-up ends before the time with the rate still open.
    open_ended: int


def group_rates(y: Outcomes, s: Floats, rows: list[Ints], time: float) -> GroupRates:
    """Kaplan-Meier at `time` in each group."""
    columns: list[tuple[float, ...]] = []
    for members in rows:  # a handful of groups, never subjects
        group, w = y[members], y.weight[members]
        table = RiskTable.of(group)
        known = table.times <= time
        n, d = table.at_risk[known], table.events[known]
        with np.errstate(divide="ignore"):  # where all had the event
            free, spread = np.prod(1 - d / n), np.sum(d / (n * (n - d)))
        expected = 1 - np.average(s[members], weights=w)
        variance = free**2 * spread if free > 0 else 0.0
        open_ended = bool(table.times[-1] < time and free > 0)
        columns.append((w.sum(), 1 - free, expected, variance, d.sum(), open_ended))
    size, observed, expected, variance, events, open_ended = np.array(columns, dtype=np.float64).T
    return GroupRates(size, observed, expected, variance, events, int(open_ended.sum()))
