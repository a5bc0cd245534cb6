"""Means and integrals of losses of the status at given times, with what lies behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, one_number, shown
from ...data.curves import SurvivalCurves
from ...errors import InputError, UndefinedMetricError
from ...reference.estimated_g import Pulls
from ..details import CurveResult, Details, below_zero, standard_error
from ..grids import weighted_mean
from ._brier import Integral, by_columns, by_rows, integrals_with_influence
from ._status import Status, make_status
from ._status_losses import Logarithmic, Rule, Squared


def logarithmic(status: Status, clip: float | None) -> Logarithmic:
    """Return the logarithmic loss, clipped as asked or as the convention says."""
    return Logarithmic(clip_of(status, clip))


def clip_of(status: Status, clip: float | None) -> float:
    """Return how near to 0 and 1 probabilities may come, as asked or as the convention says."""
    bound = status.convention.clip if clip is None else one_number(clip)
    if not 0 <= bound < 0.5:
        raise InputError(f"clip must lie in [0, 0.5); got {shown(clip)}")
    return bound


def score_curve(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> CurveResult:
    """All times one by one, with their standard errors."""
    frequency = status.y.weight if status.y.weighted else None
    values, stderr = np.empty(status.times.size), np.empty(status.times.size)
    psi, event, survivors = np.zeros(len(status.y)), np.zeros(len(status.y)), np.zeros(values.size)
    through = status.through_g
    part = through is not None and through.estimated is None  # G is that of more subjects
    if status.scheme.enter is not None:
        return _entered_curve(status, curves, rule, loss)
    for column in by_columns(status.scheme, curves, rule, through):
        k, share = column.k, status.share[column.k]
        values[k] = column.value
        stderr[k] = standard_error(column.psi, frequency)
        np.multiply(column.psi, share, out=column.psi)
        psi += column.psi
        if column.pulls is not None and part:
            event += share * column.pulls.event
            survivors[k] = share * column.pulls.survivors[0]
    pulls = Pulls(event, survivors, status.times) if part else None
    mean = weighted_mean(values, status.share)
    times = status.times
    if status.on_unsupported == "nan" and status.left_out.size:
        times = np.concatenate((times, status.left_out))
        values, stderr = _padded(values, times.size), _padded(stderr, times.size)
        mean = float("nan")
    details = _details(status, curves, rule, loss, mean, psi, pulls)
    return CurveResult(times, values, mean, stderr, details)


def _entered_curve(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> CurveResult:
    """All times one by one under delayed entry; their mean is one over subjects who have entered.

    A subject adds its losses after its entry to the numerator and the time since to the
    denominator of the mean, so that times at which few have entered weigh little.
    """
    scheme, share, n = status.scheme, status.share, len(status.y)
    frequency = status.y.weight if status.y.weighted else None
    values, stderr = np.full(share.size, np.nan), np.full(share.size, np.nan)
    a, s = np.zeros(n), np.zeros(n)
    event, own, survivors = np.zeros(n), np.zeros(n), np.zeros(share.size)
    for column in by_columns(scheme, curves, rule, status.through_g):
        p = scheme.mass_at(column.k)
        if not p.any():  # nobody has entered yet
            continue
        values[column.k] = column.value
        s += share[column.k] * p
        if not np.isfinite(column.value):  # an infinite loss, which the mean has too
            a[0] = column.value
            continue
        found = column.psi
        if column.pulls is not None and status.weights.estimated is not None:
            found = found + status.weights.estimated.influence(column.pulls)
        stderr[column.k] = standard_error(found, frequency)
        part = share[column.k] * p.sum()
        a += part * column.psi + share[column.k] * p * column.value
        if column.pulls is not None and column.pulls.own is not None:
            event += part * column.pulls.event
            own += part * column.pulls.own
            survivors[column.k] = part * column.pulls.survivors[0]
    times, total = status.times, float(s.sum())
    mean = float(a.sum()) / total if total > 0 else float("nan")
    if status.on_unsupported == "nan" and status.left_out.size:
        times = np.concatenate((times, status.left_out))
        values, stderr = _padded(values, times.size), _padded(stderr, times.size)
        mean = float("nan")
    with np.errstate(invalid="ignore"):
        psi = (a - mean * s) / (total or 1.0)
    pulls = None
    if status.through_g is not None:
        pulls = Pulls(event, survivors, status.times, own).scaled(1.0 / (total or 1.0))
        g = status.weights.estimated
        if g is not None:
            psi, pulls = psi + g.influence(pulls), None
    details = _details(status, curves, rule, loss, mean, psi, pulls)
    return CurveResult(times, values, mean, stderr, replace(details, counts_for=s))


def _padded(values: Floats, size: int) -> Floats:
    return np.concatenate((values, np.full(size - values.size, np.nan)))


def _check_integrable(status: Status) -> None:
    if status.times.size + status.left_out.size < 2:
        raise InputError("times must have at least two times to integrate over; got one")
    if status.times.size < 2 and not status.undefined:
        raise UndefinedMetricError(
            f"only one of the times ({status.times[0]:g}) can be scored, so there is nothing to "
            f"integrate over; the score is identified until {status.horizon:g}"
        )


def integral(status: Status, curves: SurvivalCurves, rule: Rule) -> float:
    """Value alone: one walk over the rows, unless the weights depend on the subject."""
    _check_integrable(status)
    if status.undefined:
        return float("nan")
    if status.scheme.enter is not None:
        return score_curve(status, curves, rule, "").mean
    if not status.common_g:
        columns = by_columns(status.scheme, curves, rule)
        return float(sum(status.share[column.k] * column.value for column in columns))
    total = by_rows(status.scheme, curves, rule)
    return float((total / status.scheme.divisor()) @ status.share)


def integral_details(status: Status, curves: SurvivalCurves, rule: Rule, loss: str) -> Details:
    """Return the integral of one loss with what lies behind it."""
    return _all_integrals(status, curves, {loss: rule})[loss]


def _all_integrals(
    status: Status, curves: SurvivalCurves, rules: dict[str, Rule]
) -> dict[str, Details]:
    """Integrals of several losses: in one pass over the rows unless G depends on the subject."""
    _check_integrable(status)
    if not status.common_g:
        return {
            loss: score_curve(status, curves, rule, loss).details for loss, rule in rules.items()
        }
    given = status.scheme, curves, list(rules.values()), status.share, status.through_g
    found: list[Integral] = integrals_with_influence(*given)
    details = {}
    for (loss, rule), (values, psi, pulls) in zip(rules.items(), found, strict=True):
        mean = float("nan") if status.undefined else weighted_mean(values, status.share)
        details[loss] = _details(status, curves, rule, loss, mean, psi, pulls)
    return details


def brier_curve(y_true: Any, curves: Any, times: Any, **options: Any) -> CurveResult:
    """`brier_score`, for a chunk of the subjects too, whose weights may be known.

    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> round(brier_curve(([2, 5, 8], [1, 0, 1]), curves, [4.0]).mean, 4)
    0.1
    """
    status, checked = make_status(y_true, curves, times, **options)
    return score_curve(status, checked, Squared(), "squared")


def integrated_scores(
    y_true: Any, curves: Any, times: Any, losses: Sequence[str], **options: Any
) -> dict[str, Details]:
    """Integrals of several losses ("squared", "log") in one pass over the curves.

    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = integrated_scores(([2, 5, 8], [1, 0, 1]), curves, [1, 3, 5, 7], ("squared", "log"))
    >>> [round(details.value, 4) for details in found.values()]
    [0.0467, 0.2108]
    """
    status, checked = make_status(y_true, curves, times, **options)
    rules: dict[str, Rule] = {
        loss: Squared() if loss == "squared" else logarithmic(status, None) for loss in losses
    }
    return _all_integrals(status, checked, rules)


def _details(
    status: Status,
    curves: SurvivalCurves,
    rule: Rule,
    loss: str,
    value: float,
    psi: Floats,
    pulls: Pulls | None = None,
) -> Details:
    convention = status.describe(curves) | {"loss": loss}
    counted = status.support(curves)
    if isinstance(rule, Logarithmic):
        convention["clip"] = rule.clip
        counted.counts |= {"clipped": rule.clipped, "infinite_losses": rule.infinite}
    support = counted.result()
    if value < 0:
        support["negative_score"] = below_zero(value)
    frequency = status.y.weight if status.y.weighted else None
    finite = np.isfinite(value)
    return Details(
        value,
        convention,
        support,
        psi if finite else None,
        frequency,
        pulls=pulls if finite else None,
        counted=counted,
    )
