"""Survival-CRPS, and what scores of whole predicted curves share.

Between nodes S is a line, a step or a cubic, so (1 - S)^2 and S^2 are polynomials and every
integral is exact: closed forms for lines and steps, four Gauss-Legendre points for cubics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, look_up, positive
from ..._tools.frames import refuse_other_order
from ..._tools.running import chunks
from ...data import interpolation as kernel
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.interpolation import Scratch, tail_area, tail_survival
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError, numbered
from ..checks import check_curves
from ..past_curve import share_past
from ..score import Score, Support

# Nodes and weights of Gauss-Legendre quadrature on [0, 1].
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_POINTS, _WEIGHTS = (_POINTS + 1) / 2, _WEIGHTS / 2


def crps(y_true: Any, curves: Any, *, tau: float | None = None, sample_weight: Any = None) -> Score:
    """Survival-CRPS: squared distance between the predicted curve and what was seen, in time units.

        CRPS_i = integral_0^{t_i} (1 - S_i)^2 dt + [event] integral_{t_i}^inf S_i^2 dt

    A loss, averaged over subjects. A censored subject counts up to its censoring time only. The
    integrals are exact for the curves' interpolation and include their tail; under ``tail="hold"``
    they stop at the last grid time. A curve that never falls has an infinite loss on an event; such
    losses are counted in the details. With a horizon `tau` both integrals stop there.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves
        One curve per subject.
    tau : float, optional
        Horizon: what happens after it does not count.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    Score

    References
    ----------
    Avati et al. (2020), Countdown regression: sharp and calibrated survival predictions, UAI.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 6], [[1, 0], [1, 0]])
    >>> crps(([3, 3], [1, 1]), curves), crps(([3, 3], [0, 0]), curves)
    (0.5, 0.25)
    >>> crps(([3, 3], [1, 1]), curves, tau=3)
    0.25
    >>> found = crps(([3, 6], [1, 1]), curves)
    >>> found, round(found.stderr, 3), found.support["infinite_losses"]
    (1.25, 0.75, 0)
    """
    y, checked, weight = score_inputs(y_true, curves, sample_weight)
    stop = np.inf if tau is None else positive(tau, "tau")
    time, event = np.minimum(y.time, stop), y.event & (y.time < stop)
    if y.entry is not None:  # who enters at the horizon or later is left out
        weight = np.where(y.entry < stop, weight, 0.0)
    if checked.tail == "nan":
        read_until = np.where(event, stop, time)
        refuse_nan_tail(checked, (weight > 0) & (read_until > checked.last_time))

    def on_grid(pieces: Pieces, rows: Any) -> Floats:
        loss = pieces.crps(time[rows], event[rows])
        if stop < np.inf:
            alive = pieces.alive_after(np.full(loss.size, stop))
            loss -= np.where(event[rows], alive, 0.0)
        return loss

    loss, last, ends = by_subject(checked, on_grid), checked.last_time, checked.last_survival
    for rows in chunks(len(y)):
        own, seen = time[rows], event[rows]
        beyond = np.maximum(own, last[rows]), last[rows], ends[rows], checked.tail, stop
        if isinstance(checked, ConditionalCurves):
            before, after = given_squares(checked.scale[rows], *beyond)
        else:
            before, after = tail_squares(*beyond)
        loss[rows] += np.where(own > last[rows], before, 0.0) + np.where(seen, after, 0.0)
    convention = {"score": "crps", "direction": "lower", "tau": tau}
    return mean_score(y, weight, loss, checked, convention, until=time)


def score_inputs(
    y_true: Any, curves: Any, sample_weight: Any
) -> tuple[Outcomes, SurvivalCurves, Floats]:
    """Read outcomes, curves given entry, and what each subject counts."""
    refuse_other_order(y_true, "y_true", {"curves": curves}, curves=True)
    y, weight = Outcomes.of(y_true, "y_true", entry=True).sampled(sample_weight)
    return y, check_curves(curves, y), y.weight if weight is None else weight


def refuse_nan_tail(curves: SurvivalCurves, needed: Bools) -> None:
    """Curves that refuse to go on past their grid cannot be scored where that matters."""
    if curves.tail != "nan":
        return
    bad = np.flatnonzero(needed & (curves.last_survival > 0))
    if bad.size:
        raise UndefinedMetricError(
            "curves: this score needs them past their last grid time, where tail='nan' says "
            f"nothing, for {numbered(bad)}; choose another tail for the curves"
        )


def mean_score(
    y: Outcomes,
    weight: Floats,
    score: Floats,
    curves: SurvivalCurves,
    convention: dict[str, Any],
    note: str = "",
    until: Floats | None = None,
) -> Score:
    """Average over subjects, with contributions and counts; `note` says why it has no value.

    Curves are read until subjects' own times, or `until`.
    """
    until = y.time if until is None else until
    score = np.where(weight > 0, score, 0.0)  # of zero weight, with a score that may be infinite
    total = float(weight.sum())
    value = float((weight * score).sum()) / total if total > 0 else float("nan")
    infinite = np.flatnonzero(np.isinf(score))
    assumed = share_past(curves, until, weight)
    support = Support(
        counts={
            "subjects": y.count,
            "events": y.event_count,
            "censored": y.count - y.event_count,
            "times_past_curves": int(((until > curves.last_time) & (y.weight > 0)).sum()),
            "infinite_losses": int(infinite.size),
        },
        shares={"past_curve": (assumed * total, total)},
    )
    support.name("infinite_for", infinite)
    if note and np.isnan(value):
        support.facts["note"] = note  # a fact, so that it holds for all chunks together
    contributions = None
    if np.isfinite(value):
        contributions = score - value
        contributions *= weight
        contributions /= total
    convention |= {"interpolation": curves.interpolation, "curve_tail": curves.tail}
    found = Score(value, convention, support.result(), contributions, y.frequency, counted=support)
    if y.entry is None:
        return found
    convention["entry"] = "curves given being event-free at entry"
    return replace(found, counts_for=weight)


def node_blocks(
    curves: SurvivalCurves, blocks: Iterator[slice]
) -> Iterator[tuple[Any, Floats, Floats]]:
    """Rows with their nodes, the point (0, 1) included: (rows, times, survival).

    Times are (m,) or (rows, m).
    """
    if isinstance(curves, ConditionalCurves):
        yield from ((block, *curves.nodes(block)) for block in blocks)
        return
    times, survival = curves.times, curves.survival
    for block in blocks:
        if curves.shared_grid:
            yield block, *kernel.with_origin(times, survival[block], bool(times[0] > 0))
            continue
        late = times[block, 0] > 0
        for missing in (True, False):
            picked = block.start + np.flatnonzero(late == missing)
            if picked.size:
                yield picked, *kernel.with_origin(times[picked], survival[picked], missing)


def by_subject(curves: SurvivalCurves, score: Callable[[Pieces, Any], Floats]) -> Floats:
    """Scores of all subjects from `score(pieces, rows)`; a curve that all share is read once."""
    out = np.empty(len(curves))
    if curves.one_curve:
        nodes = kernel.with_origin(curves.times, curves.survival[:1], bool(curves.times[0] > 0))
        pieces = Pieces(*nodes, curves.interpolation)
        for rows in chunks(len(curves)):
            out[rows] = score(pieces, rows)
        return out

    def fill(blocks: Iterator[slice]) -> None:
        scratch = Scratch()
        for rows, t, s in node_blocks(curves, blocks):
            out[rows] = score(Pieces(t, s, curves.interpolation, scratch), rows)

    for _ in curves.by_span(fill):
        pass
    return out


class Pieces:
    """The intervals between the nodes of a block of curves."""

    def __init__(
        self, t: Floats, s: Floats, interpolation: str, scratch: Scratch | None = None
    ) -> None:
        self.t, self.s, self.interpolation = t, s, interpolation
        self._scratch = Scratch() if scratch is None else scratch
        self.gap = np.diff(t, axis=-1)
        #: Slopes of cubics at the nodes; lines and steps need none.
        self.slopes: Floats | None = None
        if interpolation == "pchip" and s.shape[1] > 1:
            self.slopes = kernel.pchip_slopes(t, s)

    def _rows(self, k: Ints) -> Ints:
        """Row of each subject: its own, or the only one."""
        return np.arange(k.size) if self.s.shape[0] > 1 else np.zeros(k.size, dtype=np.intp)

    def _nodes(self, k: Ints) -> tuple[Any, ...]:
        """Start, length, values and slopes of interval k[i] of each subject i."""
        row, s, slopes = self._rows(k), self.s, self.slopes
        where = k if self.t.ndim == 1 else (row, k)
        ends = (0.0, 0.0) if slopes is None else (slopes[row, k], slopes[row, k + 1])
        return self.t[where], self.gap[where], s[row, k], s[row, k + 1], *ends

    def _square(self, failed: bool, x0: Any, x1: Any, nodes: tuple[Any, ...]) -> Floats:
        """Integral of S^2, or with `failed` of (1 - S)^2, from fraction x0 to x1 of intervals."""
        gap, s0, s1, m0, m1 = nodes
        width = gap * (x1 - x0)
        if self.interpolation == "step":
            return width * np.square(1 - s0 if failed else s0)
        if self.interpolation == "linear":
            a, b = s0 + (s1 - s0) * x0, s0 + (s1 - s0) * x1
            return _square(width, 1 - a, 1 - b) if failed else _square(width, a, b)
        total = np.zeros(1)
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            value = kernel.hermite(x0 + (x1 - x0) * point, gap, s0, s1, m0, m1)
            total = total + weight * np.square(1 - value if failed else value)
        return width * total

    def _split(self, time: Floats) -> tuple[Ints, Bools, Floats, Floats]:
        """Interval of each subject's time, and whether the time lies before the last node.

        Also the integrals of (1 - S)^2 before the time, and of S^2 after it, in that interval.
        """
        last_piece = self.s.shape[1] - 2
        k = kernel.left_index(self.t, time)
        inside = k <= last_piece
        k = np.minimum(k, last_piece)
        start, gap, *values = self._nodes(k)
        x = np.clip((time - start) / gap, 0.0, 1.0)
        part = gap, *values
        return k, inside, self._square(True, 0.0, x, part), self._square(False, x, 1.0, part)

    def crps(self, time: Floats, event: Bools) -> Floats:
        """CRPS of each subject up to the last node."""
        if self.s.shape[1] < 2:
            return np.zeros(time.size)
        k, inside, first, last = self._split(time)
        if self.interpolation == "pchip" or self.s.shape[0] == 1:
            before, after = self._around(k)
            return before + first + np.where(event & inside, last + after, 0.0)
        return self._elsewhere(k, event) + first + np.where(event & inside, last, 0.0)

    def alive_after(self, time: Floats) -> Floats:
        """Integral of S^2 from each subject's time to the last node."""
        if self.s.shape[1] < 2:
            return np.zeros(time.size)
        k, inside, _, last = self._split(time)
        return np.where(inside, last + self._around(k)[1], 0.0)

    def _elsewhere(self, k: Ints, event: Bools) -> Floats:
        """CRPS over all intervals but interval k[i] of subject i (lines and steps)."""
        s = self.s if self.interpolation == "linear" else self.s[:, :-1]
        # S - 1 up to node k and S after it; nothing after it for the censored.
        new, (n, m) = self._scratch, s.shape
        nodes, k32 = np.arange(m, dtype=np.int32), k[:, None].astype(np.int32)
        error: Floats = new("error", s.shape)
        np.subtract(s, np.less_equal(nodes, k32, out=new("seen", s.shape, np.bool_)), out=error)
        np.minimum(error, np.where(event, np.inf, 0.0)[:, None], out=error)
        piece, gap = np.multiply(error, error, out=new("square", s.shape)), self.gap
        if self.interpolation == "linear":
            # Of a line from a to b the square has the mean (a^2 + ab + b^2)/3.
            both: Floats = new("both", (n, m - 1))
            np.multiply(error[:, 1:], error[:, :-1], out=both)
            both += piece[:, 1:]
            both += piece[:, :-1]
            piece, gap = both, gap / 3
        piece[np.arange(k.size), k] = 0.0
        return np.einsum("ij,j->i" if gap.ndim == 1 else "ij,ij->i", piece, gap)

    def _around(self, k: Ints) -> tuple[Floats, Floats]:
        """Integrals of (1 - S)^2 over the intervals before k, and of S^2 over those after it."""
        row = self._rows(k)
        earlier, later = self._sums
        before = np.where(k > 0, earlier[row, np.maximum(k - 1, 0)], 0.0)
        final = later.shape[1] - 1
        return before, np.where(k < final, later[row, np.minimum(k + 1, final)], 0.0)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Integrals of (1 - S)^2 up to the end, and of S^2 from the start, of each interval."""
        s, slopes = self.s, self.slopes
        ends = (0.0, 0.0) if slopes is None else (slopes[:, :-1], slopes[:, 1:])
        whole = self.gap, s[:, :-1], s[:, 1:], *ends
        failed, alive = (self._square(before, 0.0, 1.0, whole) for before in (True, False))
        np.cumsum(failed, axis=1, out=failed)
        return failed, np.cumsum(alive[:, ::-1], axis=1)[:, ::-1]

    def density(self, time: Floats) -> Floats:
        """Minus the slope at each subject's time, on the interval that ends there; not the tail."""
        if self.s.shape[1] == 1:
            return np.zeros(time.size)
        if self.t.ndim == 1:
            k = look_up(self.t, time, "left") - 1
        else:
            k = np.sum(self.t < time[:, None], axis=1) - 1
        start, gap, s0, s1, m0, m1 = self._nodes(np.clip(k, 0, self.s.shape[1] - 2))
        if self.interpolation == "linear":
            return (s0 - s1) / gap
        x = np.clip((time - start) / gap, 0.0, 1.0)
        slope = 6 * x * (1 - x) * (s1 - s0) / gap
        slope += (1 - x) * (1 - 3 * x) * m0 + x * (3 * x - 2) * m1
        return np.maximum(-slope, 0.0)


def _square(width: Any, a: Any, b: Any) -> Floats:
    """Integral of the square of a line from `a` to `b`."""
    total: Floats = width * (a * a + a * b + b * b) / 3
    return total


def tail_squares(
    x: Floats, last: Floats, s: Floats, tail: str, stop: float = np.inf
) -> tuple[Floats, Floats]:
    """Integrals past the last node: (1 - S)^2 from `last` to `x`, S^2 from `x` to `stop`.

    No `x` lies before `last`, nor past a `stop` that comes later than `last`. `hold` has no time
    past the last node, so both are zero; "nan" is refused by the caller unless the curve has
    reached zero.
    """
    zero = np.zeros(x.shape)
    if tail == "hold":
        return zero, zero
    width, left = x - last, np.maximum(stop, last) - x
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = tail_survival(x, last, s, tail)
        if tail == "exponential":
            rate = -np.log(s) / last
            before = (1 - s) ** 2 * width + _rising(rate * width, s) / rate
            after = value**2 * -np.expm1(-2 * rate * left) / (2 * rate)
        else:
            end = last / (1 - s)
            reached = np.minimum(x, end)
            before = _square(reached - last, 1 - s, 1 - value) + np.maximum(x - end, 0.0)
            at_stop = tail_survival(x + left, last, s, tail)
            after = _square(np.maximum(np.minimum(x + left, end) - x, 0.0), value, at_stop)
    down = (s <= 0) | (last <= 0)
    before, after = np.where(down, width, before), np.where(down | (left <= 0), 0.0, after)
    return np.where(s >= 1, 0.0, before), np.where(s >= 1, left, after)


def given_squares(
    scale: Floats, x: Floats, last: Floats, s: Floats, tail: str, stop: float = np.inf
) -> tuple[Floats, Floats]:
    """`tail_squares` of S/scale, a curve given being event-free: `s` is its value at `last`.

    The tail is that of S. (1 - S/c)^2 is 1 - 2 S/c + (S/c)^2.
    """
    ends, width = s * scale, x - last
    before, after = tail_squares(x, last, ends, tail, stop)
    if tail == "hold":
        return before, after
    with np.errstate(divide="ignore", invalid="ignore"):
        value = tail_survival(x, last, ends, tail)
        area = tail_area(last, ends, tail) - tail_area(x, value, tail)
        square = before - width + 2 * area
        before = np.where(ends >= 1, before, width - 2 * area / scale + square / scale**2)
        after = after / scale**2
    return np.where(scale > 0, before, width), np.where(scale > 0, after, 0.0)


def _rising(z: Floats, s: Floats) -> Floats:
    """2 (1 - s) s (z - 1 + e^-z) + s^2 (z - 2 (1 - e^-z) + (1 - e^-2z)/2), without cancellation."""
    first = np.where(z < 0.2, _series(z, 2, lambda n, f: 1 / f), z + np.expm1(-z))
    second = np.where(
        z < 0.2,
        _series(z, 3, lambda n, f: (2 - 2.0 ** (n - 1)) / f),
        z + 2 * np.expm1(-z) - np.expm1(-2 * z) / 2,
    )
    return 2 * (1 - s) * s * first + s * s * second


def _series(z: Floats, start: int, coefficient: Callable[[int, float], float]) -> Floats:
    """Sum over n >= start of (-z)^n coefficient(n, n!), for small z."""
    total, power, factorial = np.zeros_like(z), np.ones_like(z), 1.0
    for n in range(1, 16):
        power, factorial = power * -np.minimum(z, 0.2), factorial * n
        if n >= start:
            total = total + power * coefficient(n, factorial)
    return total
