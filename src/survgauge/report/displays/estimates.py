"""What was observed, with bands and counts, and what was predicted on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints
from ..._tools.running import BLOCK_VALUES, chunks
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...estimators.aalen_johansen import AalenJohansen, coded
from ...estimators.kaplan_meier import KaplanMeier
from ...estimators.pseudo import PseudoIncidence
from ...estimators.turnbull import Turnbull
from ...evaluation.inference import critical, log_log_band
from ...metrics.calibration.curve_gap import HazardGap
from ...metrics.calibration.ici import ICIResult
from ...metrics.calibration.inputs import log_log
from ...metrics.checks import check_curves

#: What is known of a group: mean prediction, observed rate with its bounds, subjects and events.
_NAMES = ("predicted", "observed", "low", "high", "n", "events")


def observed_band(
    y: Outcomes | Turnbull, code: int | None, times: Floats, confidence: float | None
) -> tuple[Floats, Floats, Floats]:
    """Kaplan-Meier at `times` with its pointwise band; of a cause, its Aalen-Johansen.

    Of interval-censored outcomes, their Turnbull estimate.

    >>> y = Outcomes([1, 2, 3, 4], [1, 0, 1, 1])
    >>> [bound.round(3) for bound in observed_band(y, None, np.array([1.0, 3.0]), 0.95)]
    [array([0.75 , 0.375]), array([0.128, 0.011]), array([0.961, 0.808])]
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1])
    >>> [bound.round(3) for bound in observed_band(y, 1, np.array([1.0, 3.0]), 0.95)]
    [array([0.25, 0.25]), array([0.039, 0.039]), array([0.872, 0.872])]
    >>> distribution = Turnbull.fit(([0, 2, 2, 4], [2, 4, 4, 6]))
    >>> [bound.round(3) for bound in observed_band(distribution, None, np.array([2.0, 4.0]), 0.95)]
    [array([0.75, 0.25]), array([0.128, 0.009]), array([0.961, 0.665])]
    """
    if isinstance(y, Turnbull):
        free = y.at(times)
        contributions = y.contributions(times) * y.widening(times)[:, None]
        stderr = np.sqrt(np.sum(contributions**2, axis=1))
    else:
        found = AalenJohansen.fit(y if code is not None else y.any_cause())
        free, stderr = 1.0 - found.at(times, code or 1), found.stderr_at(times, code or 1)
    free = np.where(free > 1e-12, free, 0.0)  # less is rounding
    relative = np.divide(stderr, free, out=np.zeros_like(free), where=free > 0)
    low, high = log_log_band(free, relative, confidence)
    return (free, low, high) if code is None else (1.0 - free, 1.0 - high, 1.0 - low)


def smooth_band(result: ICIResult, confidence: float | None) -> tuple[Floats, Floats]:
    """Band of the smooth calibration curve, from the smoother's first-order contributions.

    With o = 1 - exp(-H e^f) on the scale log(-log(1 - o)) = log H + f the standard error is that of
    dH/H + (x - mean x)' d beta, summed over the subjects' contributions to (beta, H).
    """
    smooth: Any = result._smooth
    changes = smooth.fit.influences(smooth.time)
    n = float(smooth.weight.sum())
    if confidence is None or not (smooth.hazard > 0 and n > 1):
        unknown = np.full(result.curve_predicted.shape, np.nan)
        return unknown, unknown.copy()
    # A row of weight w stands for w subjects with the same contribution.
    parts = np.vstack((changes[:-1], changes[-1] / smooth.hazard))
    covariance = (parts * smooth.weight) @ parts.T * (n / (n - 1))
    columns = smooth._columns(log_log(1 - result.curve_predicted)[0])
    slope = np.vstack((columns - smooth.fit.mean[:, None], np.ones(columns.shape[1])))
    variance = np.einsum("ig,ij,jg->g", slope, covariance, slope)
    survival = 1 - result.curve_observed
    inside = (survival > 0) & (survival < 1)
    s = np.where(inside, survival, 0.5)
    # Standard error of -log S is that of log(-log S) times -log S.
    relative = np.sqrt(np.maximum(variance, 0.0)) * -np.log(s)
    low, high = log_log_band(np.where(inside, survival, 1.0), relative, confidence)
    return 1 - high, 1 - low


def rates_with_band(
    y: Outcomes,
    s: Floats,
    rows: list[Ints],
    time: float,
    confidence: float | None,
    cause: int | None = None,
) -> dict[str, Floats]:
    """Return what is known of groups of subjects, by name: an array with a value for each group.

    Under delayed entry risks are given entry, and what was observed is the mean of
    pseudo-observations.
    """
    chosen = np.concatenate(rows)
    own = y[chosen]
    competes = None if cause is None else own.event & (own.cause != cause)
    had = (y.event if cause is None else y.cause == cause) & (y.time <= time)
    risk = np.full(len(y), np.nan)
    if y.entry is not None:
        risk[chosen] = 1.0 - PseudoIncidence.of(own.any_cause(), competes, time).values
    z = np.nan if confidence is None else critical(confidence)
    found = []
    for group in rows:  # a handful of groups, never subjects
        weight, total = y.weight[group], float(y.weight[group].sum())
        if y.entry is None:
            free, low, high = observed_band(y[group], cause, np.array([time]), confidence)
            bounds = (free, low, high) if cause is not None else (1 - free, 1 - high, 1 - low)
            seen = [float(bound[0]) for bound in bounds]
        else:
            mean = np.average(risk[group], weights=weight)
            variance = np.average((risk[group] - mean) ** 2, weights=weight) / max(total - 1, 1.0)
            spread = z * np.sqrt(variance)
            seen = [mean, *np.clip((mean - spread, mean + spread), 0.0, 1.0)]
        expected = 1.0 - np.average(s[group], weights=weight)
        found.append((expected, *seen, total, weight[had[group]].sum()))
    return dict(zip(_NAMES, np.array(found).T, strict=True))


#: Of a grid of times.
_POINTS = 151


def time_grid(y: Outcomes) -> Floats:
    """Return equal steps, and the steps of Kaplan-Meier where they are few."""
    known = y.present()
    falls = np.unique(known.time[known.event])
    even = np.linspace(0.0, float(known.time.max()) or 1.0, _POINTS)
    return np.union1d(even, falls) if falls.size < 2 * _POINTS else even


def at_risk(y: Outcomes, times: Floats) -> Floats:
    """Return the number of subjects who are observed at `times`: entered by then, and not gone.

    >>> at_risk(Outcomes([1, 2, 3, 4], [1, 0, 1, 1]), np.array([0.0, 2.0, 3.5]))
    array([4., 3., 1.])
    """

    def later(moments: Floats, side: Any) -> Floats:
        order = np.argsort(moments, kind="stable")
        left = np.append(np.cumsum(y.weight[order][::-1])[::-1], 0.0)
        return left[moments[order].searchsorted(times, side)]

    return later(y.time, "left") - (0.0 if y.entry is None else later(y.entry, "right"))


def so_far(y: Outcomes, happened: Any, times: Floats) -> Floats:
    """Return the number of subjects up to `times` to whom it happened.

    >>> so_far(Outcomes([1, 2, 3, 4], [1, 0, 1, 1]), [True, False, True, True], np.array([0, 3.0]))
    array([0., 2.])
    """
    rows = np.flatnonzero(happened)
    rows = rows[np.argsort(y.time[rows], kind="stable")]
    sums = np.concatenate(([0.0], np.cumsum(y.weight[rows])))
    return sums[y.time[rows].searchsorted(times, "right")]


def mean_predicted(prediction: Prediction, y: Outcomes, code: int | None, times: Floats) -> Floats:
    """Return the mean of the predicted curves: of survival, or of the incidence of a cause.

    Under delayed entry, what the predicted hazards of those at risk say of the estimate; it begins
    where the estimate is when enough are at risk, and is NaN before.
    """
    found: Any = prediction.curves if code is None else prediction.incidence
    if found is None:
        return np.full(times.size, np.nan)
    if getattr(y, "entry", None) is None:
        return mean_curve(found, y.weight, code, times)
    present = y.weight > 0
    known, found = y[present], found[present]
    if code is None:
        gap: Any = HazardGap.of(known, check_curves(found, known), float(known.time.max()))
        free = np.interp(times, gap.lines.nodes, gap.lines.right)
        begin = gap.nodes[0]
        return np.where(times >= begin, free * KaplanMeier.fit(known).at(begin), np.nan)
    competes = known.event & (np.asarray(known.cause) != code)
    only: Any = check_curves(found.only(code), known)
    stop = min(float(known.time.max()), float(found.times[-1]))
    gap = HazardGap.of(coded(known.any_cause(), competes), only, stop, code)
    begin, aj = gap.nodes[0], AalenJohansen.fit(known)
    still = 1.0 - sum(float(aj.at(begin, cause)) for cause in aj.causes)
    since = 1.0 - np.interp(times, gap.lines.nodes, gap.lines.right)
    inside = (times >= begin) & (times <= stop)
    return np.where(inside, float(aj.at(begin, code)) + still * since, np.nan)


def mean_curve(found: Any, weight: Floats, code: int | None, times: Floats) -> Floats:
    """Return the mean of survival curves, or of the incidence of a cause, in blocks of rows.

    >>> from survgauge import IncidenceCurves
    >>> made = IncidenceCurves([1, 2], [[[0.2, 0.5]], [[0.0, 0.1]]])
    >>> mean_curve(made, np.array([1.0, 1.0]), 1, np.array([2.0]))
    array([0.3])
    """
    share, total = weight / weight.sum(), np.zeros(times.size)
    width = times.size + np.shape(found.times)[-1]
    for rows in chunks(share.size, size=max(BLOCK_VALUES // width, 1)):
        known = np.flatnonzero(share[rows] > 0)
        block = found[rows][known]
        at = block.at(times) if code is None else block.at(times, code)
        total += share[rows][known] @ at
    return total
