"""1-calibration under the prediction: what Kaplan-Meier of a group varies by if the model is right.

In a group whose mean predicted curve is S, Kaplan-Meier at t has about the variance
S(t)^2 times the integral to t of dLambda(u)/Y(u), Lambda = -log S, Y the number at risk. It needs
no event to have been seen, so it is good where Greenwood's estimate is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints
from ...data.curve_reader import Scratch
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...reference.kaplan_meier import RiskTable

#: Intervals between the times at which curves on long grids are read.
NODES = 32
#: Numbers of groups that are tried by default, the first that leaves enough in every group,
USUAL_GROUPS = (10, 8, 6, 5, 4, 3, 2, 1)
#: which is this many subjects expected to have, and not to have, the event. Censored subjects count
#: as much as they tell.
ENOUGH = 3.0
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
        """Count groups with too few expected events or survivors for the chi-squared law."""
        open_groups = self.variance > 0
        s, variance = self.expected[open_groups], self.variance[open_groups]
        # As many uncensored subjects would have this variance.
        number = s * (1.0 - s) / variance
        return int((number * np.minimum(s, 1.0 - s) < ENOUGH).sum())

    def test(self) -> tuple[float, int]:
        """Statistic, and how many groups it has: those for which the model leaves a doubt."""
        gap, open_groups = self.observed - self.expected, self.variance > 0
        if (np.abs(gap[~open_groups]) > _ROUNDING).any():
            return float("inf"), int(open_groups.sum())
        terms = gap[open_groups] ** 2 / self.variance[open_groups]
        return float(terms.sum()), int(open_groups.sum())


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
    table, survival, found = _incidence(y, competes)
    until = min(time, float(table.times[-1]))
    before = table.times < until
    times, left = table.times[before], survival[1:][before]
    risen = -np.expm1(-hazard(np.append(times, until)))
    end = risen[-1]
    open_ = left > 0
    p = np.divide(end - risen[:-1], left, out=np.zeros(left.size), where=open_)
    p = np.clip(p, 0.0, 1.0)
    unknown = np.diff(1.0 / table.survival(censoring=True)[: times.size + 1])
    variance = end * (1.0 - end) + float(np.sum(left * p * (1.0 - p) * unknown))
    observed = 1.0 - found[np.count_nonzero(table.times <= until) - 1]
    return float(observed), 1.0 - end, variance / float(y.weight.sum()), until < time


def _incidence(y: Outcomes, competes: Bools) -> tuple[RiskTable, Floats, Floats]:
    """Counts of any event, 1 and Kaplan-Meier of it, and Aalen-Johansen of the cause."""
    table, own = RiskTable.of(y), RiskTable.of(y._with_event(y.event & ~competes))
    survival = table.survival()
    return table, survival, np.cumsum(survival[:-1] * own.events / own.at_risk)


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
    nodes = curve_nodes(curves, time)
    means = _group_means(y, curves, rows, nodes)
    exact = own_nodes(curves, time)
    return [_hazard(nodes, mean, curves.interpolation if exact else "log") for mean in means]


def _group_means(
    y: Outcomes, curves: SurvivalCurves, rows: list[Ints], nodes: Floats
) -> list[Floats]:
    """Mean curve of each group at the nodes, without all curves at once."""
    label = np.full(len(y), len(rows))
    for k, members in enumerate(rows):
        label[members] = k
    weight, read, size = y.weight, curves.reader(nodes), len(rows) + 1

    def sums(blocks: Iterator[slice]) -> Floats:
        part, scratch = np.zeros((nodes.size, size)), Scratch()
        for block in blocks:
            values = read(block, scratch)
            for j in range(nodes.size):
                part[j] += np.bincount(label[block], values[:, j] * weight[block], size)
        return part

    total = np.bincount(label, weight, size)
    found = np.zeros((nodes.size, size))
    for part in curves.by_span(sums, curves.read_width(nodes.size)):
        found += part
    return [found[:, k] / total[k] for k in range(len(rows))]


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
        table, _, found = _incidence(y, competes)
        known = table.times <= time
        risen = -np.log(np.maximum(1.0 - found[known], 1e-300))
        times = table.times[known]
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
