"""Log-likelihood of predicted curves: log density of events, log survival of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...data.conditional_curves import ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.interpolation import tail_survival
from ...data.outcomes import IntervalOutcomes, Outcomes
from ..checks import EveryCause, check_curves, every_cause
from ..intervals import Subjects
from ..score import Score, Support
from .crps import by_subject, mean_score, refuse_nan_tail, score_inputs


def log_likelihood(y_true: Any, curves: Any, *, sample_weight: Any = None) -> Score:
    """Mean log-likelihood: log density at an event, log survival at a censoring. Higher is better.

        l_i = [event] log f_i(t_i) + [censored] log S_i(t_i),  f = -dS/dt

    The density is the slope of the interpolated curve (at a grid time, of the interval that ends
    there) or of its tail. With several causes an event of cause k counts log f_k, the slope of its
    incidence F_k, and S is 1 less the incidence of all causes. An event on a flat stretch has
    density zero, and the mean is -inf: nothing is clipped; the details count such subjects. Step
    curves have no density: NaN. Values are comparable between models only where all are
    continuous, on the same outcomes.

    Of interval-censored outcomes it is log(S_i(l_i) - S_i(u_i)), S_i(infinity) = 0, and the log
    density where the time is known exactly. It needs no distribution of the event time and no model
    of the visits, and the true curves have the largest mean as long as visits do not depend on the
    event: the one proper score without further assumptions.

    Parameters
    ----------
    y_true : outcomes or IntervalOutcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : SurvivalCurves or IncidenceCurves
        One curve per subject; where the outcomes have several causes, incidence of all of them.
    sample_weight : array-like of shape (n,), optional
        Weights of the average; multiplied with the outcomes' frequencies.

    Returns
    -------
    Score

    References
    ----------
    Rindt et al. (2022), Survival regression with proper scoring rules and monotonic neural
    networks, AISTATS.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1, 0.5], [1, 0.5]])
    >>> round(log_likelihood(([4, 10], [1, 0]), curves), 4)  # (log 0.05 + log 0.5) / 2
    -1.8444
    >>> y = IntervalOutcomes([2, 4], [6, float("inf")])
    >>> round(log_likelihood(y, curves), 4)  # of 0.2 and 0.8
    -0.9163
    >>> curves = SurvivalCurves([0, 5, 10], [[1, 1, 0.5], [1, 0.5, 0.5]])
    >>> found = log_likelihood(([4, 10], [1, 0]), curves)
    >>> found, found.support["infinite_losses"]  # an event where the curve is flat
    (-inf, 1)
    """
    if isinstance(y_true, IntervalOutcomes):
        return interval_log_likelihood(y_true, curves, sample_weight=sample_weight)
    several = isinstance(curves, IncidenceCurves)
    asked = every_cause(y_true, curves, entry=True) if several else None
    if asked is not None:
        y_true, curves = asked.y, asked.curves.survival("nan")
    y, checked, weight = score_inputs(y_true, curves, sample_weight)
    past = y.time > checked.last_time
    refuse_nan_tail(checked, (weight > 0) & past)
    score = log_scores(y, checked, past) if asked is None else _log_scores_of(asked, checked)
    if checked.interpolation == "step":
        score[y.event] = np.nan
    convention = {"score": "log_likelihood", "direction": "higher"}
    note = "step curves have no density"
    return mean_score(y, weight, score, checked, convention, note)


def interval_log_likelihood(y_true: Any, curves: Any, *, sample_weight: Any = None) -> Score:
    """`log_likelihood` of anything that `IntervalOutcomes.of` reads."""
    who = Subjects.of(y_true, sample_weight)
    y, checked = who.y, check_curves(curves, who.y)
    past = y.time > checked.last_time
    refuse_nan_tail(checked, (who.weight > 0) & past)
    between = y.event & ~y.exact
    score = log_scores(Outcomes(y.lower, y.exact), checked, y.lower > checked.last_time)
    chance = checked.at_own(y.lower) - checked.at_own(np.where(between, y.upper, y.lower))
    with np.errstate(divide="ignore"):
        score = np.where(between, np.log(np.maximum(chance, 0.0)), score)
    support = Support(counts={"times_past_curves": int((past & (y.weight > 0)).sum())})
    if checked.interpolation == "step" and y.exact.any():
        score[y.exact] = np.nan
        support.facts["note"] = "step curves have no density, and some event times are exact"
    infinite = np.flatnonzero(np.isneginf(score) & (who.weight > 0))
    support.counts["infinite_losses"] = int(infinite.size)
    support.name("infinite_for", infinite)
    described = {
        "score": "interval_log_likelihood", "direction": "higher",
        "interpolation": checked.interpolation, "curve_tail": checked.tail,
    }  # fmt: skip
    return who.mean(score, described, support)


def log_scores(y: Outcomes, curves: SurvivalCurves, past: Bools) -> Floats:
    """Log density of events and log survival of censored subjects, (n,)."""
    density = np.zeros(len(y))
    if curves.interpolation != "step":
        density = by_subject(curves, lambda pieces, rows: pieces.density(y.time[rows]))
    with np.errstate(divide="ignore"):
        score = np.log(np.where(y.event, density, curves.at_own(y.time)))
    if past.any():
        last, ends = curves.last_time[past], curves.last_survival[past]
        # A "nan" tail gets here only where the curve has reached zero, or for zero weights.
        tail = "linear" if curves.tail == "nan" else curves.tail
        scale = curves.scale[past] if isinstance(curves, ConditionalCurves) else 1.0
        of_event, of_censored = log_tail(y.time[past], last, ends * scale, tail)
        with np.errstate(divide="ignore"):
            score[past] = np.where(y.event[past], of_event, of_censored)
            score[past] -= np.where(np.isfinite(score[past]), np.log(scale), 0.0)
    return score


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


def log_tail(time: Floats, last: Floats, s: Floats, tail: str) -> tuple[Floats, Floats]:
    """Logarithms of density and survival at times past the last node (tail not "nan")."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if tail == "exponential":
            falls = (s > 0) & (s < 1) & (last > 0)
            # Not the logarithm of S, which underflows long before its logarithm does.
            survival = np.where(falls, time / last * np.log(s), np.where(s >= 1, 0.0, -np.inf))
            return np.where(falls, np.log(-np.log(s) / last) + survival, -np.inf), survival
        value = tail_survival(time, last, s, tail)
        slope = np.where((value > 0) & (tail == "linear"), (1 - s) / last, 0.0)
        return np.log(slope), np.log(value)
