"""Means and integrals of losses of the status at given times, with what lies behind them.

At time t_k a subject is event-free (while k < change_i), had its event, or has left (k >= leave_i,
or an event weight of zero). With weights p, weights W and losses l of the predicted S_i(t_k),

    value_k = sum_i p_i W_ik l_ik / D_k,    D_k = sum_i p_i  or  sum_i p_i W_ik,
    W_ik = b_k where event-free, a_i after the event.

A subject's contribution to the sampling error is the derivative of the value with respect to its
weight, times its weight: p_i (W_ik l_ik - value_k) / D_k, with W_ik value_k in the second form.
Two walks: blocks of rows, which read every curve once and hold nothing but sums, and columns, which
have all subjects of one time at hand (an estimated G, weights that depend on the subject).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ..._tools.arrays import Bools, Floats, dot, one_number, shown
from ..._tools.running import chunks
from ...data.curves import SurvivalCurves
from ...data.interpolation import Scratch
from ...errors import InputError, UndefinedMetricError
from ...estimators.estimated_g import Derivative
from ..grids import weighted_mean
from ..score import CurveResult, Score, below_zero, standard_error
from ._status import Reader, Status, make_status

_COLUMN_VALUES = 500_000


#: A weighted loss W l of (survival, alive, weight), which are left as they are; no weight, no loss.
#: `out` takes the loss.
Rule = Callable[..., Floats]


def squared(
    survival: Floats,
    alive: Bools,
    weight: Floats,
    out: Floats | None = None,
) -> Floats:
    """Return W l with l = (1 - S)^2 while event-free, S^2 after the event."""
    error: Floats = np.subtract(survival, alive, out=out)
    error *= error
    error *= weight
    return error


class Logarithmic:
    """l = -log S while event-free, -log(1 - S) after the event; S within [clip, 1 - clip].

    With `of_state`, S is the probability of what happened. Counts what it clipped and the infinite
    losses that it did not.
    """

    def __init__(self, clip: float = 0.0, of_state: bool = False) -> None:
        self.clip, self._of_state = clip, of_state
        self.clipped = 0
        self.infinite = 0
        self._counting = Lock()  # several threads share a rule

    def __call__(
        self,
        survival: Floats,
        alive: Bools,
        weight: Floats,
        out: Floats | None = None,
    ) -> Floats:
        """Return W l."""
        loss: Floats = np.subtract(survival, 0.0 if self._of_state else ~alive, out=out)
        np.abs(loss, out=loss)
        clipped, infinite = 0, 0
        if self.clip > 0:
            inside = np.clip(loss, self.clip, 1.0 - self.clip)
            clipped = int(np.count_nonzero((inside != loss) & (weight > 0)))
            loss[...] = inside
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(loss, out=loss)
            loss *= weight
        np.negative(loss, out=loss)
        if not np.isfinite(loss.sum()):
            loss[weight <= 0] = 0.0
            infinite = int(np.count_nonzero(np.isinf(loss)))
        if clipped or infinite:
            with self._counting:
                self.clipped += clipped
                self.infinite += infinite
        return loss


def clip_of(status: Status, clip: float | None) -> float:
    """Return how near to 0 and 1 probabilities may come, as asked or as the convention says."""
    bound = status.convention.clip if clip is None else one_number(clip)
    if not 0 <= bound < 0.5:
        raise InputError(f"clip must lie in [0, 0.5); got {shown(clip)}")
    return bound


def _reader(status: Status, curves: SurvivalCurves, times: Floats) -> Reader:
    """Probabilities at `times` by blocks of rows, or what losses are taken of instead.

    Where the times are neighbours on a shared grid, they are the curves' own memory; a curve that
    all share is read once.
    """
    if status.reader is not None:
        return status.reader(times)
    if curves.one_curve:
        one = curves.at_block(slice(0, 1), times)
        return lambda rows, scratch: np.broadcast_to(one, (rows.stop - rows.start, times.size))
    if curves.shared_grid and curves.survival.dtype == np.float64:
        first = int(np.searchsorted(curves.times, times[0]))
        columns = slice(first, first + times.size)
        if np.array_equal(curves.times[columns], times):
            own: Any = curves.survival
            return lambda rows, scratch: own[rows, columns]
    return curves.reader(times)


class _Sums(NamedTuple):
    """Sums of several losses, a row each, where G is that of all subjects."""

    #: (rules, K) sums over subjects of p W l, and the part of those who had the event.
    total: Floats
    late: Floats
    #: (rules, n) W l @ share by subject, and the part after the event.
    own: Floats
    after: Floats


def _by_rows(
    status: Status, curves: SurvivalCurves, rules: Sequence[Rule], share: Floats | None = None
) -> _Sums:
    """Sum several losses in one pass over the curves; by subject too, given `share` (K,)."""
    size, n, apart = status.times.size, len(status.y), status.g_moves and share is not None
    found = _Sums(
        np.zeros((len(rules), size)),
        np.zeros((len(rules), size)),
        np.empty((len(rules), 0 if share is None else n)),
        np.zeros((len(rules), n if apart else 0)),
    )
    survival = _reader(status, curves, status.times)

    def sums(blocks: Iterator[slice]) -> Floats:
        total, scratch = np.zeros((2, len(rules), size)), Scratch()
        for rows in blocks:
            alive, weight = status.block(rows, scratch)
            predicted = survival(rows, scratch)
            without = status.without_event(alive, rows)
            had = np.flatnonzero(status.event_weight[rows])
            for r, rule in enumerate(rules):
                loss = rule(predicted, without, weight, out=scratch("loss", alive.shape))
                # Not BLAS: the sums would depend on its number of threads.
                total[0, r] += np.einsum("i,ik->k", status.weight[rows], loss)
                if share is not None:
                    found.own[r, rows] = np.einsum("ik,k->i", loss, share)
                if share is not None and apart:
                    late = np.where(alive[had], 0.0, loss[had])
                    total[1, r] += np.einsum("i,ik->k", status.weight[rows][had], late)
                    found.after[r, rows][had] = np.einsum("ik,k->i", late, share)
        return total

    for whole, part in curves.by_span(sums, curves.read_width(size)):
        np.add(found.total, whole, out=found.total)
        np.add(found.late, part, out=found.late)
    return found


def _divisor(status: Status) -> Floats:
    """D at all times, where G is that of all subjects."""
    if not status.by_weight:
        return np.full(status.times.size, status.weight.sum())
    total, scratch = np.zeros(status.times.size), Scratch()
    for rows in chunks(len(status.y)):
        total += np.einsum("i,ik->k", status.weight[rows], status.block(rows, scratch)[1])
    return total


def _contributions(
    status: Status, sums: _Sums, r: int, divisor: Floats
) -> tuple[Floats, Derivative | None]:
    """Contributions to one integral, and how it moves with G where that is of more subjects."""
    values, share = sums.total[r] / divisor, status.share / divisor
    own, late = sums.own[r], sums.after[r]
    if not np.isfinite(values).all():
        return np.full(len(status.y), np.nan), None
    free_sum = (sums.total[r] - sums.late[r]) * share
    if not status.by_weight:
        own -= values @ share
    else:
        drawn, scratch = values * share, Scratch()
        for rows in chunks(len(status.y)):
            alive, weight = status.block(rows, scratch)
            own[rows] -= np.einsum("ik,k->i", weight, drawn)
            if late.size:
                after = np.where(alive, 0.0, weight)
                late[rows] -= np.einsum("ik,k->i", after, drawn)
                weight -= after
                free_sum -= drawn * np.einsum("i,ik->k", status.weight[rows], weight)
    own *= status.weight
    if not status.g_moves:
        return own, None
    derivative = status.derivative(late * status.weight, free_sum, slice(None))
    if status.weights.estimated is None:
        return own, derivative
    own += status.weights.estimated.influence(derivative)
    return own, None


class Column(NamedTuple):
    """One time: the value and each subject's contribution to its sampling error."""

    k: int
    value: float
    contributions: Floats
    derivative: Derivative | None = None


def by_columns(status: Status, curves: SurvivalCurves, rule: Rule) -> Iterator[Column]:
    """Walk the times one by one."""
    n, size = len(curves), status.times.size
    width = max(1, min(size, _COLUMN_VALUES // n))
    for start in range(0, size, width):
        picked = np.arange(start, min(start + width, size))
        survival, read = np.empty((picked.size, n)), _reader(status, curves, status.times[picked])
        scratch = Scratch()
        for rows in curves.blocks(curves.read_width(picked.size)):
            survival[:, rows] = read(rows, scratch).T
        for k in picked.tolist():
            alive, weight = status.column(k)
            loss = rule(survival[k - start], status.without_event(alive), weight)
            yield _column(status, k, alive, weight, loss)


def _column(status: Status, k: int, alive: Bools, weight: Floats, loss: Floats) -> Column:
    p = status.weight_at(k)
    divisor = dot(p, weight) if status.by_weight else float(p.sum())
    with np.errstate(invalid="ignore"):  # an infinite loss
        value = dot(p, loss) / divisor if divisor > 0 else float("nan")
    if not np.isfinite(value):
        return Column(k, value, np.full(p.size, np.nan))
    contributions = loss
    if status.by_weight:
        weight *= value
        contributions -= weight
    contributions *= p
    contributions /= divisor
    derivative = None
    if status.g_moves:
        free = np.array([contributions[alive].sum()])
        own = None if status.enter is None else np.where(alive, contributions, 0.0)
        event = np.where(alive, 0.0, contributions)
        derivative = status.derivative(event, free, slice(k, k + 1), own)
    if not status.by_weight:
        contributions -= p * (value / divisor)
    if derivative is not None and status.weights.estimated is not None:
        contributions += status.weights.estimated.influence(derivative)
    return Column(k, value, contributions, derivative)


def score_curve(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> CurveResult:
    """All times one by one, with their standard errors.

    A subject adds its losses after its entry to the numerator and the time since to the
    denominator of the mean, so that under delayed entry times at which few have entered weigh
    little.
    """
    n = len(status.y)
    values, stderr = np.full(status.share.size, np.nan), np.full(status.share.size, np.nan)
    # By time and by subject: weights of the mean, contributions, and what moves with G.
    weight, counts_for, contributions = np.zeros(values.size), np.zeros(n), np.zeros(n)
    event, own, survivors = np.zeros(n), np.zeros(n), np.zeros(values.size)
    for column in by_columns(status, curves, rule):
        k, p = column.k, status.weight_at(column.k)
        if not p.any():  # nobody has entered yet
            continue
        values[k], weight[k] = column.value, status.share[k] * p.sum()
        counts_for += status.share[k] * p
        if not np.isfinite(column.value):  # an infinite loss, which the mean has too
            continue
        stderr[k] = standard_error(column.contributions, status.y.frequency)
        contributions += weight[k] * column.contributions + status.share[k] * p * column.value
        if column.derivative is not None:
            event += weight[k] * column.derivative.event
            survivors[k] = weight[k] * column.derivative.survivors[0]
            if column.derivative.own is not None:
                own += weight[k] * column.derivative.own
    total = float(counts_for.sum()) or 1.0
    mean, times = weighted_mean(values, weight / total), status.times
    if not weight.any() or status.undefined:
        mean = float("nan")
    if status.undefined:
        times, gap = np.append(times, status.left_out), np.full(status.left_out.size, np.nan)
        values, stderr = np.append(values, gap), np.append(stderr, gap)
    derivative = None
    if status.g_moves and status.weights.estimated is None:  # G is that of more subjects
        entered = None if status.enter is None else own
        derivative = Derivative(event, survivors, status.times, entered).scaled(1.0 / total)
    with np.errstate(invalid="ignore"):
        contributions = (contributions - mean * counts_for) / total
    details = _details(status, curves, rule, loss, mean, contributions, derivative)
    if status.enter is not None:
        details = replace(details, counts_for=counts_for)
    return CurveResult(times, values, mean, stderr, details)


def _check_integrable(status: Status) -> None:
    if status.times.size + status.left_out.size < 2:
        raise InputError("times must have at least two times to integrate over; got one")
    if status.times.size < 2 and not status.undefined:
        raise UndefinedMetricError(
            f"only one of the times ({status.times[0]:g}) can be scored, so there is nothing to "
            f"integrate over; the score is identified until {status.horizon:g}"
        )


def integral(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> Score:
    """Integral of one loss, whose contributions take another walk over the rows, if asked for."""
    _check_integrable(status)
    if status.undefined or not status.common_g:
        return integrals(status, curves, {loss: rule})[loss]
    values = _by_rows(status, curves, [rule]).total[0] / _divisor(status)
    found = _details(status, curves, rule, loss, weighted_mean(values, status.share), None)
    if not np.isfinite(found.value):
        return found
    return replace(
        found, influence=lambda: integrals(status, curves, {loss: rule})[loss].contributions
    )


def integrals(status: Status, curves: SurvivalCurves, rules: dict[str, Rule]) -> dict[str, Score]:
    """Integrals of several losses: in one pass over the rows unless G depends on the subject."""
    _check_integrable(status)
    if not status.common_g:
        return {
            loss: score_curve(status, curves, rule, loss).details for loss, rule in rules.items()
        }
    divisor = _divisor(status)
    sums = _by_rows(status, curves, list(rules.values()), status.share / divisor)
    found = {}
    for r, (loss, rule) in enumerate(rules.items()):
        values = sums.total[r] / divisor
        mean = float("nan") if status.undefined else weighted_mean(values, status.share)
        contributions, derivative = _contributions(status, sums, r, divisor)
        found[loss] = _details(status, curves, rule, loss, mean, contributions, derivative)
    return found


def integrated_scores(
    y_true: Any, curves: Any, times: Any, losses: Sequence[str], **options: Any
) -> dict[str, Score]:
    """Integrals of several losses ("squared", "log") in one pass over the curves.

    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = integrated_scores(([2, 5, 8], [1, 0, 1]), curves, [1, 3, 5, 7], ("squared", "log"))
    >>> [round(details.value, 4) for details in found.values()]
    [0.0467, 0.2108]
    """
    status, checked = make_status(y_true, curves, times, **options)
    rules: dict[str, Rule] = {
        loss: squared if loss == "squared" else Logarithmic(clip_of(status, None))
        for loss in losses
    }
    return integrals(status, checked, rules)


def brier_at(y_true: Any, curves: Any, time: float, **options: Any) -> Score:
    """`brier_score` at one time; `options` are those of `make_status`."""
    status, checked = make_status(y_true, curves, [time], **options)
    return score_curve(status, checked, squared, "squared").details


def _details(
    status: Status,
    curves: SurvivalCurves,
    rule: Rule,
    loss: str,
    value: float,
    contributions: Floats | None,
    derivative: Derivative | None = None,
) -> Score:
    convention = status.describe(curves) | {"loss": loss}
    counted = status.support(curves)
    if isinstance(rule, Logarithmic):
        convention["clip"] = rule.clip
        counted.counts |= {"clipped": rule.clipped, "infinite_losses": rule.infinite}
    support = counted.result()
    if value < 0:
        support["negative_score"] = below_zero(value)
    finite = np.isfinite(value)
    return Score(
        value,
        convention,
        support,
        contributions if finite else None,
        status.y.frequency,
        derivative=derivative if finite else None,
        counted=counted,
        scale="log",
    )
