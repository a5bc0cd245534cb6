"""Smooth calibration at one time: Austin's spline regression, and what it sums up to (ICI)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, probability, whole_number
from ..._tools.short_repr import ShortRepr
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ..checks import read_curves
from ..cox import TIES
from ..details import Clusters, freedom
from ..one_cause import one_cause
from .distance_intervals import SmoothGap
from .inputs import (
    checked_time,
    description,
    read_past,
    refuse_past_follow_up,
    survival_at,
    taking_part,
)
from .kernels import weighted_quantile
from .pseudo_regression import Pseudo, pseudo_observations
from .smooth_fit import KNOTS, SmoothFit

_CURVE_POINTS = 100


@dataclass(frozen=True, repr=False)
class ICIResult(ShortRepr):
    """Smooth calibration at one time.

    Attributes
    ----------
    ici, e50, e90, emax : float
        Mean, median, 90 % quantile and maximum of ``|observed - predicted|`` over the subjects.
    predicted, observed : ndarray of shape (n,)
        Probability of the event by the time: as predicted, and as smoothed from the outcomes;
        NaN for subjects of weight zero and those who enter at the time or later.
    curve_predicted, curve_observed : ndarray of shape (100,)
        The smooth calibration curve from the lowest to the highest prediction, for plotting.
    psi : ndarray of shape (n,) or None
        First-order contribution of each subject to the sampling error of `ici`. Where calibration
        is almost perfect the errors are not normal any more: use `resampled`. None only in
        `evaluate` of many subjects without intervals, where nobody asks for them.
    frequency : ndarray of shape (n,) or None
        The outcomes' frequencies, where given.
    expected_if_calibrated : float
        What `ici` is on average for a perfect model with as many subjects: the smooth curve of the
        outcomes varies, and its distance from the diagonal is never negative. NaN without an event
        by the time.
    convention, support : dict
        Which definitions the numbers follow; what the data covered.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    predicted: Floats
    observed: Floats
    curve_predicted: Floats
    curve_observed: Floats
    psi: Floats | None
    frequency: Floats | None
    convention: dict[str, Any]
    support: dict[str, Any]
    _smooth: SmoothFit = field(repr=False)
    #: How `ici` varies; None without an event by the time.
    law: SmoothGap | None = field(default=None, repr=False)

    @property
    def expected_if_calibrated(self) -> float:
        """What `ici` is on average for a perfect model with as many subjects."""
        return float(self.support["expected_if_calibrated"])

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Confidence limits of what `ici` would be with infinitely many subjects."""
        level = probability(confidence, "confidence")
        return (float("nan"), float("nan")) if self.law is None else self.law.limits(level)

    def clustered(self, clusters: Clusters | None) -> ICIResult:
        """Say how `ici` varies if whole clusters of subjects are drawn."""
        if clusters is None:
            return self
        smooth = self._smooth
        law = smooth.law(self.ici, smooth.fit.influences(smooth.time), clusters)
        expected = float("nan") if law is None else law.expected_if_calibrated
        return replace(self, law=law, support=self.support | {"expected_if_calibrated": expected})

    def __float__(self) -> float:
        return self.ici

    @property
    def stderr(self) -> float:
        """Spread of `ici` over samples, were the curve found the true one.

        The number of `evaluate`. Close to perfect calibration `psi` alone understates it, because
        distances have a corner at zero.
        """
        return float("nan") if self.law is None else self.law.stderr

    def resampled(self, counts: Any) -> float:
        """`ici` had subject i been drawn counts[i] times: one Newton step instead of a new fit.

        Knots stay where they are. For bootstraps: costs a few passes over the subjects.
        """
        drawn = np.asarray(counts, dtype=np.float64)
        if drawn.shape != self.predicted.shape:
            raise InputError(
                f"counts must have one entry per subject: the result has {self.predicted.size}, "
                f"counts has shape {drawn.shape}"
            )
        return self._smooth.resampled(drawn)


def integrated_calibration_index(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
    cause: int | str | None = None,
) -> ICIResult:
    r"""Integrated calibration index: mean distance of predictions from the smooth observed rate.

    With predicted probability p_i of the event by `time` and x_i = log(-log(1 - p_i)), a Cox model
    of the test outcomes on a restricted cubic spline f of x gives the observed probability

    .. math:: o_i = 1 - \exp(-H_0(t) e^{f(x_i)}), \qquad ICI = \frac1n \sum_i |o_i - p_i|,

    and E50, E90 are the median and the 90 % quantile of the same distances. Zero is best.

    With several causes p_i is the predicted incidence of one of them, and the curve
    :math:`o_i = 1 - \exp(-e^{a + f(x_i)})` is fitted by least squares to the pseudo-observations of
    Aalen-Johansen at `time`. Unlike a Fine-Gray model on the same spline, it assumes nothing about
    other times.

    With delayed entry those who entered before `time` take part. Their p_i is that given being
    event-free at entry, and the curve is fitted by least squares likewise, to pseudo-observations
    given entry.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; all of their follow-up enters the Cox model.
    curves : SurvivalCurves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves (under delayed entry, given
        being event-free at entry).
    time : float
        Where to look; not later than the last observed time.
    knots : {3, 4, 5}
        Number of knots, at Harrell's quantiles of x. With too few different predictions for
        distinct knots, or outcomes that do not identify the spline, f is a line; with equal
        predictions it is constant, and the observed probability comes from Nelson-Aalen. The
        convention says which. Outcomes that do not identify the line either are refused.
    ties : {"efron", "breslow"}
        Rule for tied events in coefficients and baseline hazard.
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
    calibration index (ICI) for survival models, Statistics in Medicine 39. Austin et al. (2022),
    ... for competing risk models, Diagnostic and Prognostic Research 6. Gerds, Andersen and Kattan
    (2014), Calibration plots for risk prediction models in the presence of competing risks,
    Statistics in Medicine 33 (pseudo-observations).

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3]
    >>> y = ([9, 4, 8, 6, 7, 3, 2, 1], [0, 1, 1, 0, 1, 1, 1, 1])
    >>> result = integrated_calibration_index(y, survival, 5.0)
    >>> round(result.ici, 4), round(result.e50, 4), round(result.e90, 4)
    (0.2278, 0.1507, 0.429)
    """
    return smooth_calibration(y_true, curves, time, knots, ties, probability, cause)


def smooth_calibration(
    y_true: Any,
    curves: Any,
    time: float,
    knots: int = 3,
    ties: str = "efron",
    probability: str = "survival",
    cause: int | str | None = None,
    contributions: bool = True,
) -> ICIResult:
    """`integrated_calibration_index`, without its spread where nobody asks for contributions."""
    one_of("ties", ties, TIES)
    knots = whole_number(knots, "knots", 3)
    if knots not in KNOTS:
        raise InputError(f"knots must be 3, 4 or 5; got {knots}")
    asked = one_cause(y_true, curves, None, cause, entry=True)
    y = asked.y
    time, curves = checked_time(time), read_curves(asked.curves)
    s = survival_at(y, curves, time, probability)
    rows = _present_by_time(y, time)
    weight = y.weight[rows] if y.weighted else None
    entry = None if y.entry is None else y.entry[rows]
    by_time = Outcomes._trusted(y.time[rows], y.event[rows], weight, entry=entry)
    refuse_past_follow_up(by_time, time)
    if not by_time.event.any():
        raise UndefinedMetricError(
            "integrated_calibration_index needs at least one event in y_true; got none"
        )
    convention, support = description(y, curves, asked)
    support |= read_past(y, curves, time)
    competes = None if asked.competes is None else asked.competes[rows]
    support |= _events_by(by_time, time, competes)
    smoother, pseudo = _smoother(by_time, competes, time)
    smooth = SmoothFit(by_time, s[rows], rows, time, knots, ties, pseudo)
    del by_time
    grid = np.linspace(1 - smooth.s.max(), 1 - smooth.s.min(), _CURVE_POINTS)
    observed = smooth.observed()
    gap = observed - 1
    gap += smooth.s
    size = np.abs(gap)
    ici, largest = smooth.mean(size), float(size.max())
    e50, e90 = weighted_quantile(size, smooth.weights, [0.5, 0.9], overwrite=True)
    del size
    psi: Floats | None = None
    law: SmoothGap | None = None
    if contributions:
        influence = smooth.fit.influences(time)
        psi = smooth.psi(observed, gap, ici, influence)
        del gap
        psi = _as_given(psi, rows, np.zeros(len(y)))
        known = {"events": support["events_by_time"], "freedom": freedom(psi, y.weight)}
        law = smooth.law(ici, influence, **known)
        del influence
    observed = _as_given(observed, rows, np.full(len(y), np.nan))
    predicted = np.subtract(1.0, s, out=s)
    if rows.size < len(y):
        predicted[np.isnan(observed)] = np.nan
    convention |= {
        "time": time,
        "smoother": f"{smoother} on log(-log(1 - p))",
        "terms": smooth.terms,
        "knots": smooth.knots.tolist(),
        "ties": ties if pseudo is None else "none: the status at one time",
        "probability": "from curves" if isinstance(curves, SurvivalCurves) else probability,
    }
    support |= {
        "moved_from_0_or_1": smooth.moved,
        "converged": smooth.fit.converged,
        "expected_if_calibrated": float("nan") if law is None else law.expected_if_calibrated,
    }
    return ICIResult(
        ici, float(e50), float(e90), largest, predicted, observed, grid,
        smooth.at(1 - grid), psi, y.weight if y.weighted else None, convention, support,
        smooth, law,
    )  # fmt: skip


def _present_by_time(y: Outcomes, time: float) -> Ints:
    """Rows by time, without subjects of weight zero and those who enter too late."""
    order, present = y.order(), taking_part(y, time)
    return order if present.all() else order[present[order]]


def _smoother(y: Outcomes, competes: Bools | None, time: float) -> tuple[str, Pseudo | None]:
    """Words for the smoother, and the pseudo-observations that it goes through, if any."""
    if y.entry is None and competes is None:
        return "Cox model of the test outcomes", None
    estimate = "Kaplan-Meier" if competes is None else "Aalen-Johansen"
    estimate += "" if y.entry is None else ", given entry,"
    words = f"least squares of pseudo-observations of {estimate}"
    return words, pseudo_observations(y, competes, time)


def _as_given(values: Floats, rows: Ints, out: Floats) -> Floats:
    """Put values back to where the subjects came from."""
    out[rows] = values
    return out


def _events_by(by_time: Outcomes, time: float, competes: Bools | None) -> dict[str, Any]:
    """How much was observed by a time; of several causes the events of one."""
    died = by_time.event[: by_time.time.searchsorted(time, "right")]
    if competes is not None:
        died = died & ~competes[: died.size]
    known = by_time.event[: by_time.time.searchsorted(time)]
    return {
        "events_by_time": float(by_time.weight[: died.size][died].sum()),
        "censored_before_time": int(known.size - known.sum()),
    }
