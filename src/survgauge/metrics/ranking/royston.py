"""Royston and Sauerbrei's D: how far a risk spreads the subjects' prognoses apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..._tools.arrays import Floats, sorting_order
from ..._tools.frames import refuse_other_order
from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError, one_of
from ...estimators.cox import TIES, CoxRegression
from ..score import Score
from .concordance import checked_risk

#: The mean distance of two standard normal numbers' halves: rankits over it have the spread of D.
KAPPA = float(np.sqrt(8 / np.pi))
#: Variance of the error of a proportional hazards model on the log scale.
_NOISE = np.pi**2 / 6


@dataclass(frozen=True, repr=False, eq=False)
class RoystonD(Score):
    """Result of `royston_d`.

    Attributes
    ----------
    value : float
        D, the log hazard ratio between the halves of low and high risk.
    r_squared : float
        Share of the variation of the outcome (on the log hazard scale) that the risk explains.
    model_stderr : float
        Standard error of D by Cox's information; `stderr` is the robust one.
    """

    r_squared: float = float("nan")
    model_stderr: float = float("nan")


def royston_d(y_true: Any, risk: Any, *, ties: str = "efron") -> RoystonD:
    r"""Royston and Sauerbrei's D, with the explained variation R^2_D.

    Risks are replaced by what normal numbers of the same ranks are expected to be (Blom's scores),
    divided by :math:`\kappa = \sqrt{8/\pi}`; D is their coefficient in a Cox model of the outcomes,
    and

    .. math:: R^2_D = \frac{D^2/\kappa^2}{\pi^2/6 + D^2/\kappa^2}.

    exp(D) is about the hazard ratio between the half of the subjects at high and the half at low
    risk. 0 means no separation.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. With delayed entry subjects are at risk from their entry on.
    risk : array-like of shape (n,)
        Higher means earlier. Only the order counts; tied risks share the mean of their scores.
    ties : {"efron", "breslow"}
        Rule for tied events.

    Returns
    -------
    RoystonD

    References
    ----------
    Royston and Sauerbrei (2004), A new measure of prognostic separation in survival data,
    Statistics in Medicine 23.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1])
    >>> found = royston_d(y, [1.0, 0.2, 0.6, -0.3, 0.1, -1.0])
    >>> round(found.value, 3), round(found.r_squared, 3)
    (3.209, 0.711)
    """
    one_of("ties", ties, TIES)
    refuse_other_order(y_true, "y_true", {"risk": risk})
    y = Outcomes.of(y_true, "y_true", entry=True)
    values = checked_risk(risk, len(y))
    present = y.weight > 0
    rows = y.present()
    scores = _rankits(values[present], rows.weight) / KAPPA
    if not rows.event.any():
        raise UndefinedMetricError("royston_d needs at least one event in y_true; got none")
    if not scores.max() > scores.min():
        raise UndefinedMetricError("royston_d needs different risks; all are equal")
    fit = CoxRegression(rows.time, rows.event, rows.weight, scores[None, :], ties, rows.entry)
    if not fit.identified:
        raise UndefinedMetricError(
            "royston_d is not identified by these outcomes: no finite coefficient is best, as when "
            "every event has the highest risk of all who are still at risk"
        )
    value = float(fit.beta[0])
    contributions = np.zeros(len(y))
    contributions[present] = fit.influence()[0] * rows.weight
    derivative = _derivative(rows, scores, value) * fit.covariance[0, 0]
    contributions[present] += _through_ranks(values[present], scores, derivative, rows.weight)
    explained = value**2 / KAPPA**2
    convention = {"scores": "Blom, tied risks share their mean", "ties": ties}
    share = explained / (_NOISE + explained)
    support = {"subjects": y.count, "events": y.event_count, "converged": fit.converged}
    return RoystonD(
        value, convention, {**support, "r_squared": share}, contributions,
        y.frequency,
        r_squared=share,
        model_stderr=float(np.sqrt(fit.covariance[0, 0])),
    )  # fmt: skip


def _derivative(y: Outcomes, scores: Floats, beta: float) -> Floats:
    """Derivative of Cox's equation for beta by the score of each subject.

    Tied events count by Breslow's rule, which is near enough for a standard error.
    """
    order = sorting_order(y.time)
    time, z = y.time[order], scores[order]
    risk = np.exp(beta * (z - z.max()))
    weight, died = y.weight[order], y.event[order]
    times, place = np.unique(time[died], return_inverse=True)
    first = time.searchsorted(times, "left")
    parts = [weight * risk * x for x in (np.ones(z.size), z)]
    later, sums = (np.cumsum(part[::-1])[::-1][first] for part in parts)
    lived, missed = times.searchsorted(time, "right"), np.zeros(z.size, dtype=np.intp)
    if y.entry is not None:  # less who has not entered yet
        entry = y.entry[order]
        late = np.flatnonzero(entry > 0)
        missed[late] = times.searchsorted(entry[late], "right")
        for sums_of, part in zip((later, sums), parts, strict=True):
            outside = np.bincount(missed[late], part[late], times.size + 1)
            sums_of -= np.cumsum(outside[::-1])[::-1][1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.bincount(place, weight[died], times.size) / later
    hazard, moved = (
        table[lived] - table[missed]
        for table in (np.concatenate(([0.0], np.cumsum(x))) for x in (steps, steps * sums / later))
    )
    found = np.empty(z.size)
    found[order] = weight * (died - risk * hazard - beta * risk * (z * hazard - moved))
    return found


def _through_ranks(values: Floats, scores: Floats, derivative: Floats, weight: Floats) -> Floats:
    """What each subject adds by moving the normal scores of the others."""
    total = float(weight.sum()) + 0.25
    own = np.sqrt(2 * np.pi) * np.exp((KAPPA * scores) ** 2 / 2) / KAPPA * derivative
    _, place = np.unique(values, return_inverse=True)
    place = place.reshape(-1)
    tied = np.bincount(place, own)
    below = np.cumsum(tied)
    above = below[-1] - below + tied / 2  # sums over higher risks, and half of the same one
    middle = float(own @ ndtr(KAPPA * scores))
    return weight * (above[place] - middle) / total


def _rankits(values: Floats, weight: Floats) -> Floats:
    """Blom's normal scores; the mean over the places that tied values take together.

    >>> _rankits(np.array([3.0, 1.0, 3.0]), np.ones(3)).round(3)
    array([ 0.435, -0.869,  0.435])
    """
    order = sorting_order(values)
    ordered = values[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.cumsum(np.add.reduceat(weight[order], first))
    starts = np.concatenate(([0.0], ends[:-1]))
    total = ends[-1]
    whole = np.arange(1, int(np.ceil(total)) + 1)
    sums = np.concatenate(([0.0], np.cumsum(ndtri((whole - 0.375) / (total + 0.25)))))
    # Frequencies that are not whole take parts of places.
    between = np.interp(np.concatenate((starts, ends)), np.arange(sums.size), sums)
    mean = (between[first.size :] - between[: first.size]) / (ends - starts)
    found = np.empty(values.size)
    found[order] = np.repeat(mean, np.diff(first, append=values.size))
    return found
