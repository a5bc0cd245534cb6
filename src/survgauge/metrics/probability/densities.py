"""Scores of whole predicted distributions: survival-CRPS and log-likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, positive
from ..._tools.chunks import chunks
from ..._tools.places import look_up
from ...data import interpolation as kernel
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ...errors import UndefinedMetricError, numbered
from ..checks import check_curves
from ..details import Details
from ..one_cause import EveryCause, every_cause
from ..past_curve import share_past
from ..support import Support
from ._crps import Pieces, by_subject, given_squares, log_tail, tail_squares


def crps(y_true: Any, curves: Any, *, tau: float | None = None, sample_weight: Any = None) -> float:
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
    float
        `crps_details` gives the same with contributions, convention and support.

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
    """
    return crps_details(y_true, curves, tau=tau, sample_weight=sample_weight).value


def crps_details(
    y_true: Any, curves: Any, *, tau: float | None = None, sample_weight: Any = None
) -> Details:
    """`crps` with what lies behind it.

    Parameters
    ----------
    y_true, curves, tau, sample_weight
        As for `crps`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 6], [[1, 0], [1, 0]])
    >>> details = crps_details(([3, 6], [1, 1]), curves)
    >>> details.value, round(details.stderr, 3), details.support["infinite_losses"]
    (1.25, 0.75, 0)
    """
    y, checked, mass = _inputs(y_true, curves, sample_weight)
    stop = np.inf if tau is None else positive(tau, "tau")
    time, event = np.minimum(y.time, stop), y.event & (y.time < stop)
    if y.entry is not None:  # who enters at the horizon or later is absent
        mass = np.where(y.entry < stop, mass, 0.0)
    if checked.tail == "nan":
        read_until = np.where(event, stop, time)
        refuse_nan_tail(checked, (mass > 0) & (read_until > checked.last_time))

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
    return _mean(y, mass, loss, checked, convention, until=time)


def log_likelihood(y_true: Any, curves: Any, *, sample_weight: Any = None) -> float:
    """Mean log-likelihood: log density at an event, log survival at a censoring. Higher is better.

        l_i = [event] log f_i(t_i) + [censored] log S_i(t_i),  f = -dS/dt

    The density is the slope of the interpolated curve (at a grid time, of the interval that ends
    there) or of its tail. With several causes an event of cause k counts log f_k, the slope of its
    incidence F_k, and S is 1 less the incidence of all causes. An event on a flat stretch has
    density zero, and the mean is -inf: nothing is clipped; the details count such subjects. Step
    curves have no density: NaN. Values are comparable between models only where all are
    continuous, on the same outcomes.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves or IncidenceCurves
        One curve per subject; where the outcomes have several causes, incidence of all of them.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    float
        `log_likelihood_details` gives the same with contributions, convention and support.

    References
    ----------
    Rindt et al. (2022), Survival regression with proper scoring rules and monotonic neural
    networks, AISTATS.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0.5], [1, 0.5]])
    >>> round(log_likelihood(([4, 10], [1, 0]), curves), 4)  # (log 0.05 + log 0.5) / 2
    -1.8444
    """
    return log_likelihood_details(y_true, curves, sample_weight=sample_weight).value


def log_likelihood_details(y_true: Any, curves: Any, *, sample_weight: Any = None) -> Details:
    """`log_likelihood` with what lies behind it.

    Parameters
    ----------
    y_true, curves, sample_weight
        As for `log_likelihood`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 1, 0.5], [1, 0.5, 0.5]])
    >>> details = log_likelihood_details(([4, 10], [1, 0]), curves)
    >>> details.value, details.support["infinite_losses"]  # an event where the curve is flat
    (-inf, 1)
    """
    several = isinstance(curves, IncidenceCurves)
    asked = every_cause(y_true, curves, entry=True) if several else None
    if asked is not None:
        y_true, curves = asked.y, asked.curves.survival("nan")
    y, checked, mass = _inputs(y_true, curves, sample_weight)
    past = y.time > checked.last_time
    refuse_nan_tail(checked, (mass > 0) & past)
    score = log_scores(y, checked, past) if asked is None else _log_scores_of(asked, checked)
    if checked.interpolation == "step":
        score[y.event] = np.nan
    convention = {"score": "log_likelihood", "direction": "higher"}
    note = "step curves have no density"
    return _mean(y, mass, score, checked, convention, note)


def log_scores(y: Outcomes, curves: SurvivalCurves, past: Bools) -> Floats:
    """Log density of events and log survival of censored subjects, (n,)."""
    density = np.zeros(len(y))
    if curves.interpolation != "step":
        density = _densities(curves, y.time)
    with np.errstate(divide="ignore"):
        score = np.log(np.where(y.event, density, curves.at_own(y.time)))
    if past.any():
        last, ends = curves.last_time[past], curves.last_survival[past]
        # A "nan" tail gets here only where the curve has reached zero, or for absent subjects.
        tail = "linear" if curves.tail == "nan" else curves.tail
        scale = curves.scale[past] if isinstance(curves, ConditionalCurves) else 1.0
        of_event, of_censored = log_tail(y.time[past], last, ends * scale, tail)
        with np.errstate(divide="ignore"):
            score[past] = np.where(y.event[past], of_event, of_censored)
            score[past] -= np.where(np.isfinite(score[past]), np.log(scale), 0.0)
    return score


def _densities(curves: SurvivalCurves, time: Floats) -> Floats:
    """Minus the slope at each subject's time, on the interval that ends there; not the tail."""
    if curves.interpolation != "linear" or not curves.shared_grid:
        return by_subject(curves, lambda pieces, rows: pieces.density(time[rows]))
    grid, values, rows = curves.times, curves.survival, np.arange(time.size)
    first, last = (-1 if grid[0] > 0 else 0), grid.size - 2
    if last < first:  # a grid of the time 0 alone
        return np.zeros(time.size)
    start = np.clip(look_up(grid, time, "left") - 1, first, last)
    t0, s0 = kernel.node(grid, values, rows, start)
    t1, s1 = kernel.node(grid, values, rows, start + 1)
    return (s0 - s1) / (t1 - t0)


def _log_scores_of(asked: EveryCause, free: SurvivalCurves) -> Floats:
    """Log density of the cause of events and log survival of censored subjects, (n,)."""
    time, event = asked.y.time, asked.y.event
    density = asked.curves.slope_at_own(time, asked.codes)
    if isinstance(free, ConditionalCurves):  # given entry
        np.divide(density, free.scale, out=density, where=free.scale > 0)
        density[free.impossible] = 0.0
    with np.errstate(divide="ignore"):
        score: Floats = np.log(np.where(event, density, free.at_own(time)))
    return score


def _inputs(
    y_true: Any, curves: Any, sample_weight: Any
) -> tuple[Outcomes, SurvivalCurves, Floats]:
    y, mass = sampled(Outcomes.of(y_true, "y_true", entry=True), sample_weight)
    return y, check_curves(curves, y), y.weight if mass is None else mass


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


def _mean(
    y: Outcomes,
    mass: Floats,
    score: Floats,
    curves: SurvivalCurves,
    convention: dict[str, Any],
    note: str = "",
    until: Floats | None = None,
) -> Details:
    """Average over subjects, with contributions and counts; `note` says why it has no value.

    Curves are read until subjects' own times, or `until`.
    """
    until = y.time if until is None else until
    score = np.where(mass > 0, score, 0.0)  # absent subjects, whose score may be infinite
    total = float(mass.sum())
    value = float((mass * score).sum()) / total if total > 0 else float("nan")
    infinite = np.flatnonzero(np.isinf(score))
    assumed = share_past(curves, until, mass)
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
    psi = None
    if np.isfinite(value):
        psi = score - value
        psi *= mass
        psi /= total
    convention |= {"interpolation": curves.interpolation, "curve_tail": curves.tail}
    frequency = y.weight if y.weighted else None
    found = Details(value, convention, support.result(), psi, frequency, counted=support)
    if y.entry is None:
        return found
    convention["entry"] = "curves given being event-free at entry"
    return replace(found, counts_for=mass)
