"""The average of all predicted curves, as lines, and its distance from Kaplan-Meier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ..._tools import chunks as sizes
from ..._tools.arrays import Floats, dot, stored_once
from ..._tools.chunks import BLOCK_VALUES, chunks
from ..._tools.sorting import sorting_order
from ...data import interpolation as kernel
from ...data.curves import SurvivalCurves
from ...errors import UndefinedMetricError
from ...reference.kaplan_meier import KaplanMeier
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
    total = weight.sum()
    same = stored_once(weight)
    share = np.broadcast_to(weight[0] / total, weight.size) if same else weight / total
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
    """Average at the grid times; of cubics also in between, as their slopes average too."""
    grid, missing = curves.times, bool(curves.times[0] > 0)
    mean: Floats = np.zeros(grid.size + missing)
    slopes = np.zeros_like(mean)
    cubic = curves.interpolation == "pchip" and mean.size > 1

    def sums(blocks: Iterator[slice]) -> tuple[Floats, Floats]:
        part, steep = np.zeros_like(mean), np.zeros_like(mean)
        for rows in blocks:
            if cubic:
                t, s = kernel.with_origin(grid, curves.survival[rows], missing)
                part += np.einsum("i,ik->k", share[rows], s)
                steep += np.einsum("i,ik->k", share[rows], kernel.pchip_slopes(t, s))
            else:
                part[int(missing) :] += np.einsum("i,ik->k", share[rows], curves.survival[rows])
        return part, steep

    for part, steep in curves.by_span(sums):
        mean += part
        slopes += steep
    if missing:
        grid, mean[0] = np.append(0.0, grid), 1.0
    if not cubic:
        return grid, mean, "exact"
    x = np.arange(_PIECES) / _PIECES
    gap = np.diff(grid)[:, None]
    ends = (values[:, None] for values in (mean[:-1], mean[1:], slopes[:-1], slopes[1:]))
    inner = kernel.hermite(x, gap, *ends)
    nodes = grid[:-1, None] + gap * x
    how = f"cubics as {_PIECES} lines between grid times"
    return np.append(nodes.ravel(), grid[-1]), np.append(inner.ravel(), mean[-1]), how


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
    """Average of lines from (last, s) that lead from (0, 1) down to zero; `s` is overwritten.

    A line that ends at e is 1 - t/e before: what is left at t is the sum of the shares of all that
    end later, minus t times the sum of their shares over e.
    """
    ends = np.subtract(1.0, s, out=s)
    # Curves that never fell have a flat tail; those that ended at zero have none.
    flat = ends <= 0
    np.divide(last, ends, out=ends, where=~flat)
    ends[flat] = np.inf
    scale = 1.0
    if stored_once(share):
        ends.sort()
        # Ones add up without rounding.
        scale, share = share[0], np.broadcast_to(1.0, ends.size)
    else:
        order = sorting_order(ends)
        ends, share = ends[order], share[order]
    first, past = int(ends.searchsorted(last, "right")), int(ends.searchsorted(stop))
    nodes = np.concatenate(([last], ends[first:past], [stop]))
    values = np.empty(nodes.size)
    later = float(share[past:].sum())
    slope = sum((float((share[k] / ends[k]).sum()) for k in chunks(ends.size, past)), 0.0)
    values[-1] = later - stop * slope
    for rows in reversed(list(chunks(past - first))):
        own, end = share[first:past][rows][::-1], nodes[1:-1][rows][::-1]
        # A line counts nothing where it ends: there it may count or not.
        shares, slopes = np.cumsum(own), np.cumsum(own / end)
        values[1:-1][rows] = (later + shares - end * (slope + slopes))[::-1]
        later, slope = later + shares[-1], slope + slopes[-1]
    values[0] = later - last * slope
    values *= scale
    np.maximum(values, 0.0, out=values)
    new = nodes[1:] != nodes[:-1]
    if not new.all():
        keep = np.concatenate(([True], new))
        nodes, values = nodes[keep], values[keep]
    return nodes, values


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


@dataclass(frozen=True)
class Gap:
    """The integral of the squared difference of two curves."""

    integral: float
    #: Where they change, and both just after.
    curves: Callable[[], tuple[Floats, Floats, Floats]]


def squared_gap(lines: Lines, km: KaplanMeier, stop: float) -> Gap:
    """Integrate (lines - km)^2 on [0, stop] exactly: between breaks it is the square of a line."""
    integral = 0.0
    for breaks in _breaks(lines, km, stop):
        steps, (first, last) = _steps(km, breaks[:-1]), lines.ends(breaks)
        first -= steps
        last -= steps
        integral += dot(np.diff(breaks), first * first + first * last + last * last)
    return Gap(integral / 3.0, partial(_at_breaks, lines, km, stop))


def _at_breaks(lines: Lines, km: KaplanMeier, stop: float) -> tuple[Floats, Floats, Floats]:
    parts = [(b[:-1], lines.ends(b)[0], _steps(km, b[:-1])) for b in _breaks(lines, km, stop)]
    times, mean, steps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return times, mean, steps


def _breaks(lines: Lines, km: KaplanMeier, stop: float) -> Iterator[Floats]:
    """Where one of the curves changes in [0, stop], in parts that share their ends."""
    both = lines.nodes, _falls(km)
    some = np.concatenate(([0.0], *(times[:: sizes.CHUNK] for times in both), [stop]))
    ends = np.unique(some[some <= stop])
    for low, high in pairwise(ends):
        inside = [times[slice(*times.searchsorted((low, high)))] for times in both]
        yield np.unique(np.concatenate(([low], *inside, [high])))


def _falls(km: KaplanMeier) -> Floats:
    """Times at which Kaplan-Meier falls."""
    s = km.survival
    return km.times[np.concatenate((s[:1] != 1.0, s[1:] != s[:-1]))]


def _steps(km: KaplanMeier, t: Floats) -> Floats:
    """Kaplan-Meier at times in order."""
    found = km.times.searchsorted(t, "right")
    return np.where(found > 0, km.survival[found - 1], 1.0)


def trapezoid_gap(lines: Lines, km: KaplanMeier) -> tuple[Gap, float]:
    """Squared gaps at zero and the event times, joined by lines (SurvivalEVAL's integral)."""
    times, mean, steps = _at_falls(lines, km)
    square = (mean - steps) ** 2
    integral = float(np.diff(times) @ (square[1:] + square[:-1])) / 2.0
    return Gap(integral, partial(_at_falls, lines, km)), float(times[-1])


def _at_falls(lines: Lines, km: KaplanMeier) -> tuple[Floats, Floats, Floats]:
    times = np.unique(np.append(0.0, _falls(km)))
    return times, lines.ends(np.append(times, times[-1]))[0], _steps(km, times)
