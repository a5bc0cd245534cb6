"""The average of all predicted curves, as lines, and its distance from Kaplan-Meier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats, dot, sorting_order
from ..._tools.running import BLOCK_VALUES
from ...data.curves import SurvivalCurves
from ...errors import UndefinedMetricError
from ...estimators.kaplan_meier import KaplanMeier
from .inputs import refuse_unknown

_SAMPLES = 256
_TAIL_SAMPLES = 64
#: Lines that stand for one piece of a cubic.
_PIECES = 8
_ROWS = 4096
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
    return BLOCK_VALUES // _ROWS


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
