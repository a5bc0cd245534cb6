"""The two curves of KM-calibration: the average of all predicted ones, and the observed one.

The average is a function made of lines. Observed is Kaplan-Meier, or 1 - Aalen-Johansen of a cause,
with what each subject does to it.

Under delayed entry who is in the sample changes with time, so no average of predicted curves is
what Kaplan-Meier estimates. Between two times at which somebody enters or leaves, the events to be
expected are the rises of the cumulative hazards of those at risk; over their number they add up to
A, and events over numbers at risk less A are a martingale, whatever entries and censoring are.
exp(-A) is what Kaplan-Meier estimates if the hazards are right. With several causes the integral of
exp(-A) dA_k, A_k of the cause and A of all, is what Aalen-Johansen estimates; one kind of event is
one cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, dot, sorting_order
from ..._tools.running import BLOCK_VALUES, chunks
from ...data.curves import SurvivalCurves
from ...data.interpolation import Scratch
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError
from ...estimators.aalen_johansen import AalenJohansen
from ...estimators.kaplan_meier import KaplanMeier, RiskTable
from ..score import Clusters
from .inputs import cause_hazard, refuse_unknown

_SAMPLES = 256
_TAIL_SAMPLES = 64
#: Lines that stand for one piece of a cubic.
_PIECES = 8
_BLOCK_ROWS = 4096
_SORTED_TIMES = 1_000_000


@dataclass(frozen=True)
class Lines:
    """A function made of lines between nodes, perhaps with jumps at them."""

    nodes: Floats
    #: Value just after a node, and just before it.
    right: Floats
    left: Floats

    def ends(self, breaks: Floats) -> tuple[Floats, Floats]:
        """Values at both ends of each interval between breaks; every node is a break."""
        piece = np.minimum(self.nodes.searchsorted(breaks[:-1], "right"), self.nodes.size - 1) - 1
        start, rise = self.right[piece], self.left[piece + 1] - self.right[piece]
        slope = rise / (self.nodes[piece + 1] - self.nodes[piece])
        return (
            start + slope * (breaks[:-1] - self.nodes[piece]),
            start + slope * (breaks[1:] - self.nodes[piece]),
        )


def refuse_past_grid(curves: SurvivalCurves, stop: float) -> None:
    """Refuse incidence curves that end before the follow-up: nothing is known past their end."""
    if stop > curves.times[-1] and curves.tail == "nan":
        raise UndefinedMetricError(
            f"the incidence curves end at {curves.times[-1]:g}, before the follow-up does, "
            f"{stop:g}: pass tau={curves.times[-1]:g} or earlier, or curves up to there"
        )


def mean_curve(curves: SurvivalCurves, weight: Floats, stop: float) -> tuple[Lines, str]:
    """Average of all curves on [0, stop], and how it was made."""
    share = weight / weight.sum()
    if not curves.shared_grid:
        return _sampled_mean(curves, share, stop)
    return with_tail(*shared_mean(curves, share), curves, share, stop)


def with_tail(
    grid: Floats, mean: Floats, how: str, curves: SurvivalCurves, share: Floats, stop: float
) -> tuple[Lines, str]:
    """Go on from the last grid time to `stop` with the average of the curves' tails."""
    right, left = mean, mean
    if curves.interpolation == "step":
        left = np.append(mean[:1], mean[:-1])
    if stop > grid[-1]:
        nodes, values, tail = _mean_tail(curves, share, stop)
        jumps = left is not right
        right = np.concatenate((right[:-1], values))
        left = np.concatenate((left, values[1:])) if jumps else right
        grid = np.concatenate((grid[:-1], nodes))
        how = tail if how == "exact" else how
    return Lines(grid, right, left), how


def shared_mean(curves: SurvivalCurves, share: Floats) -> tuple[Floats, Floats, str]:
    """Average at the grid times; of cubics also in between."""
    cubic = curves.interpolation == "pchip" and curves.times.size > 1
    grid = curves[:1].joined_by_lines().times if cubic else curves.times

    def sums(blocks: Iterator[slice]) -> Floats:
        part = np.zeros(grid.size)
        for rows in blocks:
            known = curves[rows].joined_by_lines() if cubic else curves[rows]
            part += np.einsum("i,ik->k", share[rows], known.survival)
        return part

    mean = np.zeros(grid.size)
    for part in curves.by_span(sums, grid.size):
        mean += part
    if grid[0] > 0:
        grid, mean = np.append(0.0, grid), np.append(1.0, mean)
    if not cubic:
        return grid, mean, "exact"
    grid, first = np.unique(grid, return_index=True)
    return grid, mean[first], f"cubics as {_PIECES} lines between grid times"


def _mean_tail(curves: SurvivalCurves, share: Floats, stop: float) -> tuple[Floats, Floats, str]:
    """Nodes from the last grid time to `stop` and the average of the tails there."""
    last, s = float(curves.times[-1]), curves.last_survival
    if curves.tail == "linear":
        return *_linear_tails(s, share, last, stop), "exact"
    if curves.tail == "exponential" and last > 0:
        nodes = np.linspace(last, stop, _TAIL_SAMPLES)
        how = f"lines between {_TAIL_SAMPLES} points past the last grid time"
        return nodes, np.array([share @ s ** (t / last) for t in nodes]), how
    nodes = np.array([last, stop])
    if curves.tail == "nan":
        refuse_unknown(np.where((s > 0) & (share > 0), np.nan, 0.0), "the end of the follow-up")
    kept = s if curves.tail == "hold" else np.where(s < 1, 0.0, 1.0)
    return nodes, np.full(2, float(share @ kept)), "exact"


def _linear_tails(s: Floats, share: Floats, last: float, stop: float) -> tuple[Floats, Floats]:
    """Average of lines from (last, s) that lead from (0, 1) down to zero.

    A line that ends at e is 1 - t/e before: what is left at t is the sum of the shares of all that
    end later, minus t times the sum of their shares over e. Curves that never fell never end.
    """
    ends = np.divide(last, 1.0 - s, out=np.full(s.size, np.inf), where=s < 1)
    order = sorting_order(ends)
    ends, share = ends[order], share[order]
    later, slope = (np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (share, share / ends))
    nodes = np.unique(np.concatenate(([last], ends[(ends > last) & (ends < stop)], [stop])))
    left = ends.searchsorted(nodes)
    return nodes, np.maximum(later[left] - nodes * slope[left], 0.0)


def _sampled_mean(curves: SurvivalCurves, share: Floats, stop: float) -> tuple[Lines, str]:
    """Average at the grids' own times where they are few, else at evenly spaced ranks of them."""
    most = _SAMPLES if curves.interpolation != "pchip" else _SAMPLES // 4
    nodes = np.unique(curves.times[:: 1 + curves.times.size // _SORTED_TIMES])
    exact = nodes.size <= most and curves.interpolation != "pchip"
    few = nodes.size <= most
    if not few:
        nodes = np.interp(np.linspace(0, nodes.size - 1, most), np.arange(nodes.size), nodes)
    if curves.interpolation == "pchip":
        nodes = _bends(nodes, few)
    past = np.linspace(float(curves.last_time.min()), stop, _TAIL_SAMPLES)
    nodes = np.concatenate(([0.0], nodes[nodes < stop], past[past < stop], [stop]))
    nodes = np.unique(nodes)
    jumps = curves.interpolation == "step"
    right, left = np.zeros(nodes.size), np.zeros(nodes.size)
    for rows in curves.blocks(block_width(curves, nodes.size)):
        values = curves.at_block(rows, nodes)
        refuse_unknown(values[share[rows] > 0], "the whole follow-up")
        right += share[rows] @ values
        if jumps:
            left += share[rows] @ curves.at_block(rows, np.nextafter(nodes, 0.0))
    how = "exact on the grids" if exact else f"lines between {nodes.size} points"
    return Lines(nodes, right, left if jumps else right), how


def _bends(nodes: Floats, everywhere: bool) -> Floats:
    """Points between nodes where cubics bend; many nodes need them only before the first one.

    There every cubic comes down from one at time zero, however late its own grid begins.
    """
    nodes = np.unique(np.append(0.0, nodes))
    x = np.arange(_PIECES) / _PIECES
    if everywhere:
        inner = nodes[:-1, None] + np.diff(nodes)[:, None] * x
    else:
        inner = np.linspace(0.0, nodes[1], 2 * _PIECES, endpoint=False)
    return np.unique(np.append(inner.ravel(), nodes))


def block_width(curves: SurvivalCurves, width: int) -> int:
    """Values a row in the blocks for `at_block`; few where it goes column by column."""
    if curves.shared_grid and curves.interpolation != "pchip":
        return width + curves.survival.shape[1]
    return BLOCK_VALUES // _BLOCK_ROWS


def squared_gap(lines: Lines, km: KaplanMeier, stop: float) -> float:
    """Integrate (lines - km)^2 on [0, stop] exactly: between breaks it is the square of a line."""
    breaks = breaks_of(lines, km, stop)
    steps = np.append(1.0, km.survival)[km.times.searchsorted(breaks[:-1], "right")]
    first, last = (values - steps for values in lines.ends(breaks))
    return dot(np.diff(breaks), first * first + first * last + last * last) / 3.0


def breaks_of(lines: Lines, km: KaplanMeier, stop: float) -> Floats:
    """Where one of the curves changes in [0, stop], both ends included."""
    every = np.unique(np.concatenate(([0.0], lines.nodes, falls(km), [stop])))
    return every[every <= stop]


def falls(km: KaplanMeier) -> Floats:
    """Times at which Kaplan-Meier falls."""
    return km.times[np.diff(km.survival, prepend=1.0) != 0]


def trapezoid_gap(lines: Lines, km: KaplanMeier) -> tuple[float, float]:
    """Squared gaps at zero and the event times, joined by lines (SurvivalEVAL's integral)."""
    times = np.unique(np.append(0.0, falls(km)))
    square = (lines.ends(np.append(times, times[-1]))[0] - km.at(times)) ** 2
    return float(np.diff(times) @ (square[1:] + square[:-1])) / 2.0, float(times[-1])


#: Points at which curves are compared for their spread.
POINTS = 64
_FEW_ROWS = 64
#: Times between which hazards are added up.
_NODES = 512
#: Subjects in a block.
_ROWS = 512
#: A curve that falls by more than this factor between two times counts as falling by it.
_LEAST_RATIO = 0.05
#: No hazard of a cause is told where less than this is left event-free.
_LEAST = 1e-12
#: How many have to be at risk when the comparison begins.
_ENOUGH = 10


@dataclass(frozen=True)
class ObservedCurve:
    """Kaplan-Meier, or 1 - Aalen-Johansen of a cause; of one kind of event they are the same.

    One more subject adds P - F(t) B to the incidence F(t), where P and B rise from its entry on and
    stand still from its own time on.
    """

    estimate: AalenJohansen
    #: 1 - F.
    km: KaplanMeier
    #: Last observed time, or the horizon before it.
    stop: float
    #: Code of the cause in the outcomes; None: there is one kind of event.
    code: int | None = None

    @classmethod
    def of(cls, y: Outcomes, code: int | None = None, tau: float | None = None) -> ObservedCurve:
        """Estimate it from subjects who are present."""
        found, row = AalenJohansen.fit(y), 0 if code is None else code - 1
        free = found.survival if code is None else np.maximum(1.0 - found.incidence[row], 0.0)
        falls = found.events[row] > 0
        stop = float(found.times[-1])
        km = KaplanMeier(found.times, np.append(1.0, free), falls)
        return cls(found, km, stop if tau is None else min(stop, tau), code)

    @property
    def total(self) -> float:
        """How many subjects there are."""
        return float(self.estimate.at_risk[0])

    @cached_property
    def _rises(self) -> tuple[Floats, Floats, Floats]:
        """P and B of those at risk up to each time, 0 first; what any event and an own one add.

        Of one kind of event P - F(t) B is (1 - F(t)) B, so B is enough.
        """
        rows = slice(1 if self.code is None else 0, None)
        at_risk, any_event, own_event = self.estimate.derivative(self.code or 1)
        at_risk = np.insert(at_risk[rows], 0, 0.0, axis=1)
        return at_risk, any_event[rows], own_event[rows]

    def moves(self, points: Floats, y: Outcomes) -> Floats:
        """What one copy of each subject adds to the incidence at points: (n, points)."""
        times, (at_risk, any_event, own_event) = self.estimate.times, self._rises
        own = y.event if self.code is None else y.cause == self.code
        at = times.searchsorted(y.time, "right")
        ended = at_risk[:, at] + any_event[:, at - 1] * y.event + own_event[:, at - 1] * own
        level = at_risk[:, times.searchsorted(points, "right")]
        since, seen = np.zeros((len(level), 1)), points < y.time[:, None]
        if y.entry is not None:
            since = at_risk[:, times.searchsorted(y.entry, "right")] * (y.entry > 0)
        moved = [
            np.where(seen, now, last[:, None]) - before[:, None]
            for now, last, before in zip(level, ended, since, strict=True)
        ]
        free = self.km.at(points)
        found: Floats = moved[0] * free if self.code is None else moved[0] - (1.0 - free) * moved[1]
        return found if y.entry is None else np.where(points > y.entry[:, None], found, 0.0)

    def gap(self, lines: Lines, points: Floats) -> Floats:
        """Predicted less observed curve at the points."""
        return lines.ends(np.append(points, points[-1]))[0] - self.km.at(points)


def middles(begin: float, stop: float) -> Floats:
    """Middles of even parts of the follow-up: the points."""
    return begin + (np.arange(POINTS) + 0.5) / POINTS * (stop - begin)


def cross_products(a: Floats, b: Floats) -> Floats:
    """a.T @ b over many rows, in products too small for the linear algebra to start threads."""
    whole, size = a.shape[0] // _FEW_ROWS * _FEW_ROWS, a.shape[1]
    shape = (-1, _FEW_ROWS, size)
    parts = a[:whole].reshape(shape).transpose(0, 2, 1) @ b[:whole].reshape(shape)
    rest: Floats = a[whole:].T @ b[whole:]
    return parts.sum(axis=0) + rest


#: What one copy of each of some subjects adds to the gap at the points: (rows, points).
Units = Callable[[slice, Scratch], Floats]
#: Adds up over some blocks of subjects.
Add = Callable[[Iterator[slice]], tuple[Floats, Floats]]


@dataclass(frozen=True)
class MeanGap:
    """The average predicted curve of present subjects beside the observed curve."""

    y: Outcomes
    curves: SurvivalCurves
    observed: ObservedCurve
    lines: Lines
    how: str

    @classmethod
    def of(cls, y: Outcomes, curves: SurvivalCurves, stop: float, code: int | None) -> MeanGap:
        """Average the curves up to `stop`."""
        observed = ObservedCurve.of(y, code)
        return cls(y, curves, observed, *mean_curve(curves, y.weight, stop))

    def units(self, points: Floats) -> Units:
        """Say what one copy of each subject adds to mean curve - observed at the points."""
        read, total = self.curves.reader(points), self.observed.total
        return lambda rows, scratch: (
            read(rows, scratch) / total + self.observed.moves(points, self.y[rows])
        )

    def spans(self, add: Add, together: bool) -> Iterable[tuple[Floats, Floats]]:
        """Add up over all subjects, in parts by threads unless `together`."""
        width = block_width(self.curves, POINTS)
        return [add(self.curves.blocks(width))] if together else self.curves.by_span(add, width)


def gap_spread(
    found: MeanGap | HazardGap, points: Floats, gap: Floats, clusters: Clusters | None
) -> tuple[Floats, Floats]:
    """First-order contributions to the mean squared gap, and the covariance of the gap.

    At points t_1..t_T the gap D is a mean of contributions u_i(t), so about normal with covariance
    V = sum u u'; with the sums u_g of G clusters it is G / (G - 1) sum u_g u_g'. The mean of D^2
    then has the variance (4 D'VD + 2 tr V^2)/T^2; the second term is what is left where calibration
    is perfect. It is the limit of the bootstrap's variance.
    """
    y, size, units = found.y, gap.size, found.units(points)
    influence, weight = np.empty(len(y)), y.weight
    codes = None if clusters is None else clusters.codes
    shape = (size if codes is None else int(codes.max()) + 1, size)

    def add(blocks: Iterator[slice]) -> tuple[Floats, Floats]:
        total, square, scratch = np.zeros(size), np.zeros(shape), Scratch()
        for rows in blocks:
            unit = units(rows, scratch)
            weighted = unit * weight[rows, None] if y.frequency is not None else unit
            influence[rows] = np.einsum("ik,k->i", weighted, gap)
            total += weighted.sum(axis=0)
            if codes is None:
                square += cross_products(weighted, unit)
            else:
                np.add.at(square, codes[rows], weighted)
        return total, square

    total, square = np.zeros(size), np.zeros(shape)
    for part in found.spans(add, codes is not None):
        total, square = total + part[0], square + part[1]
    # Contributions are deviations from their average.
    average = total / float(weight.sum())
    influence -= weight * float(average @ gap)
    influence *= 2.0 / size
    if clusters is None or codes is None:
        return influence, square - float(weight.sum()) * np.outer(average, average)
    square -= np.bincount(codes, weights=weight)[:, None] * average
    return influence, cross_products(square, square) * (clusters.number / (clusters.number - 1))


@dataclass(frozen=True)
class HazardGap:
    """What the predicted hazards of subjects with delayed entry say of Kaplan-Meier.

    Or of 1 - Aalen-Johansen of a cause: subjects in `y` have then the code 1 of it, or 2 of
    another, and curves are `ConditionalCauseCurves`.
    """

    y: Outcomes
    curves: Any
    #: Code of the cause in the predictions; None: there is one kind of event.
    code: int | None
    #: Times at which somebody enters or leaves, from the beginning to the end of the comparison; of
    #: shape (K + 1,).
    nodes: Floats
    #: Whether nobody enters or leaves between the nodes.
    exact: bool
    #: Mean number at risk between them, and predicted hazards of those, of the cause and of any
    #: event; of shape (K,).
    at_risk: Floats
    hazard: Floats
    every: Floats

    @classmethod
    def of(
        cls, y: Outcomes, curves: SurvivalCurves, stop: float, code: int | None = None
    ) -> HazardGap:
        """Add up the predicted hazards of present subjects, whose curves are given their entry."""
        nodes, exact = _nodes(y, stop)
        if code is None:
            refuse_unknown(curves.at_own(y.time), "their own time")
        sums = np.zeros((3, nodes.size - 1))
        for rows in chunks(len(y), size=_ROWS):
            sums += [y.weight[rows] @ part for part in _rises(y, curves, code, nodes, rows)]
        at_risk = sums[2]
        found = np.divide(sums[:2], at_risk, out=np.zeros((2, at_risk.size)), where=at_risk > 0)
        return cls(y, curves, code, nodes, exact, at_risk, *found)

    @property
    def how(self) -> str:
        """How the predicted curve was made."""
        between = "every entry and exit" if self.exact else f"{self.nodes.size} of them"
        return f"predicted hazards of those at risk, between {between}"

    @cached_property
    def observed(self) -> ObservedCurve:
        """Kaplan-Meier or 1 - Aalen-Johansen given no event when the comparison begins."""
        return ObservedCurve.of(self._later, None if self.code is None else 1)

    @cached_property
    def _later(self) -> Outcomes:
        """Outcomes of which only events after the beginning count."""
        y = self.y
        later = (y.time > self.nodes[0]) | (self.nodes[0] == 0)
        if y.cause is None:
            return y._with_event(y.event & later)
        return Outcomes(y.time, np.where(later, y.cause, 0), y.weight, y.causes, y.entry)

    @cached_property
    def _states(self) -> tuple[Floats, Floats]:
        """Predicted probability of no event, and of one of the cause, at the nodes."""
        free = np.exp(-np.concatenate(([0.0], np.cumsum(self.every))))
        gone = -np.diff(free)
        share = np.divide(self.hazard, self.every, out=np.zeros(gone.size), where=self.every > 0)
        return free, np.concatenate(([0.0], np.cumsum(gone * share)))

    @cached_property
    def lines(self) -> Lines:
        """What the observed curve estimates if the hazards are right, from 1 at time zero on."""
        nodes, free = self.nodes, 1.0 - self._states[1]
        if nodes[0] > 0:
            nodes, free = np.append(0.0, nodes), np.append(1.0, free)
        return Lines(nodes, free, free)

    def spans(self, add: Add, together: bool) -> Iterable[tuple[Floats, Floats]]:
        """Add up over all subjects."""
        return [add(chunks(len(self.y), size=_ROWS))]

    def units(self, points: Floats) -> Units:
        """Say what one copy of each subject adds to predicted - observed at the points."""
        nodes, later = self.nodes, self._later
        # Between neighbouring numbers the middles are the numbers themselves.
        place = np.minimum(nodes.searchsorted(points, "right"), nodes.size - 1) - 1
        part = (points - nodes[place]) / (nodes[place + 1] - nodes[place])
        incidence = np.interp(points, nodes, self._states[1])
        free, had = ((states[1:] + states[:-1]) / 2 for states in self._states)

        def until(added: Floats) -> Floats:
            """Sums of what was added between the nodes, up to each of the points."""
            risen = np.zeros((added.shape[0], nodes.size))
            np.cumsum(added, axis=1, out=risen[:, 1:])
            return risen[:, place] * (1.0 - part) + risen[:, place + 1] * part

        def of(rows: slice, scratch: Scratch) -> Floats:
            *rises, shares = _rises(self.y, self.curves, self.code, nodes, rows)
            own, every = (
                np.divide(rise - shares * mean, self.at_risk, out=np.zeros_like(rise),
                          where=self.at_risk > 0)
                for rise, mean in zip(rises, (self.hazard, self.every), strict=True)
            )  # fmt: skip
            moved = until(free * own + had * every) - incidence * until(every)
            return self.observed.moves(points, later[rows]) - moved

        return of


def _nodes(y: Outcomes, stop: float) -> tuple[Floats, bool]:
    """Times at which somebody enters or leaves, or even ranks of them; whether these are all."""
    changes = np.unique(np.concatenate(([0.0], np.asarray(y.entry), y.time)))
    enough = RiskTable.of(y).enough_from(_ENOUGH)
    # Who is at risk at a time has been since the last change before it.
    place = 0 if enough is None else max(int(changes.searchsorted(enough)) - 1, 0)
    begin = float(np.asarray(y.entry).min()) if enough is None else float(changes[place])
    if not begin < stop:
        raise UndefinedMetricError(
            f"km_calibration has no time to cover: {_ENOUGH} subjects are at risk since "
            f"{begin:g}, and the comparison ends at {stop:g}; use a later tau"
        )
    changes = np.append(changes[(changes >= begin) & (changes < stop)], stop)
    if changes.size <= _NODES + 1:
        return changes, True
    ranks = np.linspace(0, changes.size - 1, _NODES + 1).round().astype(np.intp)
    return changes[ranks], False


def _rises(
    y: Outcomes, curves: Any, code: int | None, nodes: Floats, rows: slice
) -> tuple[Floats, Floats, Floats]:
    """What hazards of the cause and of any rise by between nodes while at risk, and its share.

    All are of shape (rows, K). Nothing more is expected of a curve that has fallen to 0.
    """
    time, entry = y.time[rows], np.asarray(y.entry)[rows]
    span = np.minimum(time[:, None], nodes[1:]) - np.maximum(entry[:, None], nodes[:-1])
    shares, known = np.maximum(span, 0.0) / np.diff(nodes), curves[rows]

    def risen(hazard: Floats, first: Floats, last: Floats) -> Floats:
        until = np.clip(hazard, first[:, None], last[:, None])
        return np.minimum(np.diff(until, axis=1), -np.log(_LEAST_RATIO))

    if code is None:
        own = known.at_own(time)
        s = np.where(nodes < time[:, None], curves.at_block(rows, nodes), own[:, None])
        refuse_unknown(s, "their time at risk")
        every = risen(_cumulative(s), np.zeros(time.size), _cumulative(own))
        return every, every, shares
    incidence = known.incidence
    ends = np.minimum(np.stack((entry, time)), incidence.times[-1])
    of_all = 1.0 - np.sum([incidence.at(nodes, k) for k in incidence.causes], axis=0)
    every = risen(_cumulative(of_all), *(_cumulative(incidence.free_at_own(t)) for t in ends))
    hazards = [cause_hazard(incidence, code, t) for t in (nodes[None, :], *ends[:, :, None])]
    nodal, first, last = (np.minimum(hazard, -np.log(_LEAST)) for hazard in hazards)
    rises = risen(nodal, first[:, 0], last[:, 0])
    return np.minimum(rises, every), every, shares


def _cumulative(survival: Floats) -> Floats:
    found: Floats = -np.log(np.maximum(survival, _LEAST)) + 0.0
    return found
