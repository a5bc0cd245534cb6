"""ICI: mean distance of predictions from a smooth curve of the observed risk at one time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, whole_number
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.cox import CoxRegression
from ...estimators.partial_likelihood import TIES
from ..checks import read_curves
from ..score import Clusters, freedom
from .distance_intervals import Distance, SmoothGap, SmoothRiskGap
from .inputs import (
    StatusAtTime,
    checked_time,
    description,
    events_by,
    put_back,
    read_past,
    refuse_past_follow_up,
    survival_at,
)
from .smooth_fit import KNOTS, PseudoRegression, SmoothFit, weighted_quantile

_CURVE_POINTS = 100


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ICIResult(Distance):
    """Smooth calibration at one time; a `Score` whose value is `ici`.

    Attributes
    ----------
    ici, e50, e90, emax : float
        Mean, median, 90 % quantile and maximum of ``|observed - predicted|`` over the subjects.
    predicted, observed : ndarray of shape (n,)
        Probability of the event by the time: as predicted, and as smoothed from the outcomes;
        NaN for subjects of weight zero and those who enter at the time or later.
    curve_predicted, curve_observed : ndarray of shape (100,)
        The smooth calibration curve from the lowest to the highest prediction, for plotting.
    contributions : ndarray of shape (n,) or None
        First-order contribution of each subject to the sampling error of `ici`. Where calibration
        is almost perfect the errors are not normal any more, and `stderr` is larger.
    expected_if_calibrated : float
        What `ici` is on average for a perfect model with as many subjects: the smooth curve of the
        outcomes varies, and its distance from the diagonal is never negative. NaN without an event
        by the time.
    """

    e50: float
    e90: float
    emax: float
    predicted: Floats
    observed: Floats
    curve_predicted: Floats
    curve_observed: Floats
    _smooth: SmoothFit

    @property
    def ici(self) -> float:
        """Mean distance of observed from predicted probabilities."""
        return self.value


def integrated_calibration_index(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    probability: str = "survival",
    cause: int | str | None = None,
) -> ICIResult:
    r"""Integrated calibration index: mean distance of predictions from the smooth observed risk.

    With predicted probability p_i of the event by `time` and x_i = log(-log(1 - p_i)), a curve
    through the pseudo-observations of the status at `time` gives the observed probability

    .. math:: o_i = 1 - \exp(-e^{a + f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|,

    with a restricted cubic spline f, fitted by least squares. E50 and E90 are the median and the
    90 % quantile of the same distances. Zero is best. Nothing is assumed about other times: the
    ICI of the true model tends to 0, whatever the shape of its hazards.

    Pseudo-observations are those of Kaplan-Meier. With several causes they are those of
    Aalen-Johansen, and p_i is the predicted incidence of one cause. With delayed entry those who
    entered before `time` take part; their p_i and pseudo-observations are given being event-free
    at entry.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; what happened after `time` does not count.
    curves : SurvivalCurves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves (under delayed entry, given
        being event-free at entry).
    time : float
        Where to look; not later than the last observed time.
    knots : {3, 4, 5}
        Number of knots, at Harrell's quantiles of x. With too few different predictions for
        distinct knots, or outcomes that do not identify the spline, f is a line; with equal
        predictions it is constant. The convention says which. Outcomes that do not identify the
        line either are refused.
    probability : {"survival", "event"}
        What an array in `curves` holds.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`.

    Returns
    -------
    ICIResult
        Predictions within 1e-10 of 0 or 1 enter the spline as if they were that far away (and the
        distances as they are); `support` counts them.

    References
    ----------
    Austin, Harrell and van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39; their smoother is that
    of `integrated_calibration_index_cox`. Gerds, Andersen and Kattan (2014), Calibration plots for
    risk prediction models in the presence of competing risks, Statistics in Medicine 33
    (pseudo-observations).

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.7, 0.65, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 5.5], [0, 1, 1, 0, 1, 1, 0, 1])
    >>> result = integrated_calibration_index(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.1749, 0.1262, 0.3761)
    """
    return smooth_status(StatusAtTime.of(y_true, curves, time, probability, cause), knots)


def smooth_status(
    status: StatusAtTime,
    knots: int = 3,
    contributions: bool = True,
    clusters: Clusters | None = None,
) -> ICIResult:
    """`integrated_calibration_index`, without its spread where nobody asks for contributions."""
    status = status.regressed()
    weights = status.pseudo.weight if status.y.weighted else None
    regress = partial(PseudoRegression, status.pseudo)
    known = status.s, weights, status.rows, status.time, _checked_knots(knots), regress
    smooth = SmoothFit(*known, SmoothRiskGap)
    convention = status.convention | {"smoother": "spline of log(-log(1 - p))"}
    return _result(status.y, smooth, convention, dict(status.support), contributions, clusters)


def integrated_calibration_index_cox(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
) -> ICIResult:
    r"""Integrated calibration index by a Cox model of the test outcomes, as Austin et al. have it.

    It takes hazards to be proportional between predictions, over the whole follow-up. Where they
    are not, the index of the true model does not tend to 0, but to 0.014 to 0.067 in simulations
    of log-normal times, cure and crossing hazards: `integrated_calibration_index` does.

    With x_i = log(-log(1 - p_i)) a Cox model on a restricted cubic spline f of x gives

    .. math:: o_i = 1 - \exp(-H_0(t) e^{f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes of one kind of event, without delayed entry; all of their follow-up enters
        the Cox model.
    curves, time, knots, probability
        As for `integrated_calibration_index`.
    ties : {"efron", "breslow"}
        Rule for tied events in coefficients and baseline hazard.

    References
    ----------
    Austin, Harrell and van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39.

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 1], [0, 1, 1, 0, 1, 1, 1, 1])
    >>> result = integrated_calibration_index_cox(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.2278, 0.1507, 0.429)
    """
    return smooth_hazards(y_true, curves, time, knots, ties, probability)


def smooth_hazards(
    y_true: Any,
    curves: Any,
    time: float,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
    contributions: bool = True,
    clusters: Clusters | None = None,
) -> ICIResult:
    """`integrated_calibration_index_cox`, without its spread where nobody asks for it."""
    one_of("ties", ties, TIES)
    knots = _checked_knots(knots)
    y, curves = Outcomes.of(y_true, "y_true"), read_curves(curves)
    time = checked_time(time)
    s = survival_at(y, curves, time, probability)
    rows, present = np.flatnonzero(y.weight > 0), y.present()
    refuse_past_follow_up(present, time)
    if not present.event.any():
        raise UndefinedMetricError(
            "integrated_calibration_index_cox needs at least one event in y_true; got none"
        )

    def regress(columns: Floats) -> CoxRegression:
        return CoxRegression(present.time, present.event, present.weight, columns, ties)

    weights = present.weight if y.weighted else None
    smooth = SmoothFit(s[rows], weights, rows, time, knots, regress, SmoothGap)
    convention, support = description(y, curves)
    convention |= {
        "time": time,
        "smoother": "Cox model of the test outcomes on log(-log(1 - p))",
        "ties": ties,
        "probability": "from curves" if isinstance(curves, SurvivalCurves) else probability,
    }
    support |= read_past(y, curves, time) | events_by(present, None, time)
    return _result(y, smooth, convention, support, contributions, clusters)


def _checked_knots(knots: int) -> int:
    knots = whole_number(knots, "knots", 3)
    if knots not in KNOTS:
        raise InputError(f"knots must be 3, 4 or 5; got {knots}")
    return knots


def _result(
    y: Outcomes,
    smooth: SmoothFit,
    convention: dict[str, Any],
    support: dict[str, Any],
    contributions: bool,
    clusters: Clusters | None,
) -> ICIResult:
    """Sum up a smooth curve; its spread takes longer than all the rest."""
    rows, n = smooth.rows, len(y)
    grid = np.linspace(1 - smooth.s.max(), 1 - smooth.s.min(), _CURVE_POINTS)
    observed = smooth.at(smooth.s)
    gap = observed - 1
    gap += smooth.s
    size = np.abs(gap)
    ici, largest = float(np.average(size, weights=smooth.weights)), float(size.max())
    e50, e90 = weighted_quantile(size, smooth.weights, [0.5, 0.9], overwrite=True)
    del size
    contributed: Floats | None = None
    distribution: SmoothGap | None = None
    if contributions:
        influence = smooth.fit.influences(smooth.time)
        contributed = put_back(smooth.influence(observed, gap, ici, influence), rows, n, 0.0)
        del gap
        events = support["events_by_time"]
        distribution = smooth.distribution(
            ici, influence, clusters, events=events, freedom=freedom(contributed, y.weight)
        )
        del influence
    convention |= {"terms": smooth.terms, "knots": smooth.knots.tolist()}
    support |= {"moved_from_0_or_1": smooth.moved, "converged": smooth.fit.converged}
    return ICIResult(
        ici, convention, support, contributed, y.weight if y.weighted else None, known=distribution,
        e50=float(e50), e90=float(e90), emax=largest,
        predicted=put_back(1 - smooth.s, rows, n, np.nan),
        observed=put_back(observed, rows, n, np.nan),
        curve_predicted=grid, curve_observed=smooth.at(1 - grid), _smooth=smooth,
    )  # fmt: skip
