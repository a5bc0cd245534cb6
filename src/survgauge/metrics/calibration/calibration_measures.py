"""Calibration as one number: distance from Kaplan-Meier, coverage, slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive, probability, vector
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, NotApplicableError, UndefinedMetricError, one_of
from ...reference.kaplan_meier import KaplanMeier, RiskTable
from ..checks import check_curves, read_curves
from ..cox import TIES, CoxRegression
from ..details import Clusters, Details
from ..past_curve import share_of_length
from ._clustered_gap import clustered_covariance
from .distance_intervals import SquaredGap
from .inputs import (
    CONVENTIONS,
    description,
    log_log,
    own_survival,
    survival_at,
)
from .mean_curve import (
    Gap,
    Lines,
    RiskInfluence,
    gap_influence,
    gap_stderr,
    mean_curve,
    squared_gap,
    trapezoid_gap,
)


@dataclass(frozen=True, repr=False)
class KMCalibrationDetails(Details):
    """KM-calibration with the two curves that it compares.

    Attributes
    ----------
    times, mean_survival, kaplan_meier : ndarray
        Average predicted survival and Kaplan-Meier just after each of their nodes; made when
        asked for.
    psi : ndarray of shape (n,)
        First-order contributions, at 64 points of the follow-up.
    """

    _stderr: float = float("nan")
    _gap: Gap | None = None
    #: How the distance varies; None where that is not known.
    law: SquaredGap | None = None

    @property
    def _curves(self) -> tuple[Floats | None, Floats | None, Floats | None]:
        return (None, None, None) if self._gap is None else self._gap.curves()

    @property
    def times(self) -> Floats | None:
        """Where one of the curves changes."""
        return self._curves[0]

    @property
    def mean_survival(self) -> Floats | None:
        """Average predicted survival at `times`."""
        return self._curves[1]

    @property
    def kaplan_meier(self) -> Floats | None:
        """Kaplan-Meier of the test outcomes at `times`."""
        return self._curves[2]

    @property
    def stderr(self) -> float:
        """Standard error to second order, as a bootstrap of many subjects gives it."""
        return self._stderr


def km_calibration(
    y_true: Any, curves: Any, *, tau: float | None = None, convention: str = "survgauge"
) -> float:
    r"""KM-calibration: squared distance of the average predicted curve from Kaplan-Meier.

    .. math:: \frac{1}{t_{\max}} \int_0^{t_{\max}} \Big(\frac1n \sum_i S_i(t) - S_{KM}(t)\Big)^2 dt

    with Kaplan-Meier of the test outcomes and t_max their last time, or `tau` before that. Zero is
    best; the distance cannot be negative. The integral is exact for line and step curves on a
    shared grid; elsewhere the details' convention says at how many points the average was taken.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves
        Predicted survival curves.
    tau : float, optional
        Horizon of the integral; by default the last test time.
    convention : {"survgauge", "survivaleval"}
        ``survivaleval`` is what SurvivalEVAL 0.9 reports: squared gaps at zero and at the event
        times only, joined by lines, over the last event time. It knows no `tau`.

    Returns
    -------
    float
        `km_calibration_details` also gives both curves and a standard error.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 2)
    >>> round(km_calibration(([5, 10], [1, 1]), curves), 4)
    0.0833
    """
    y, curves, stop = _follow_up(y_true, curves, convention, tau)
    y, curves = _present(y, curves)
    lines, _ = mean_curve(curves, y.weight, stop)
    return _distance(lines, KaplanMeier.fit(y), stop, convention)[0]


def km_calibration_details(
    y_true: Any, curves: Any, *, tau: float | None = None, convention: str = "survgauge"
) -> KMCalibrationDetails:
    """`km_calibration` with the curves, convention, support and standard error behind it.

    Parameters
    ----------
    y_true, curves, tau, convention
        As for `km_calibration`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> details = km_calibration_details(([2, 4, 6, 9], [1, 0, 1, 1]), curves)
    >>> round(details.value, 4), round(details.stderr, 4)
    (0.0266, 0.0683)
    """
    return km_distance(y_true, curves, convention, tau=tau)


def km_distance(
    y_true: Any,
    curves: Any,
    convention: str = "survgauge",
    clusters: Clusters | None = None,
    contributions: bool = True,
    tau: float | None = None,
) -> KMCalibrationDetails:
    """`km_calibration_details` of subjects that may come in clusters, which its law heeds.

    Without `contributions` there is the value alone: its law takes longer than all the rest.
    """
    given, curves, stop = _follow_up(y_true, curves, convention, tau)
    y, curves = _present(given, curves)
    lines, how = mean_curve(curves, y.weight, stop)
    table = RiskTable.of(y)
    km = KaplanMeier.from_table(table)
    value, end, gap = _distance(lines, km, stop, convention)
    psi: Floats | None = None
    stderr = float("nan")
    law: SquaredGap | None = None
    if convention == "survgauge" and contributions:
        influence = RiskInfluence.of(table, stop, km)
        psi, points, covariance = gap_influence(y, curves, lines, influence, stop)
        if clusters is None:
            law = SquaredGap.of(value, points, covariance)
        elif clusters.number > 1:
            clusters = clusters[given.weight > 0]
            covariance = clustered_covariance(y, curves, influence, clusters)
            law = SquaredGap.of(value, points, covariance, clusters.freedom)
        stderr = float("nan") if law is None else gap_stderr(points, covariance)
        if len(y) < len(given):
            own, psi = psi, np.zeros(len(given))
            psi[given.weight > 0] = own
    described, support = description(y, curves)
    described |= {"convention": convention, "mean_curve": how, "tau": end}
    support["past_curves"] = float(np.mean(curves.last_time < stop))
    support["past_curve"] = share_of_length(curves, stop, y.weight if y.weighted else None)
    weight = given.weight if given.weighted else None
    if law is not None:
        support["expected_if_calibrated"] = law.expected_if_calibrated
    return KMCalibrationDetails(value, described, support, psi, weight, stderr, gap, law)


def _distance(
    lines: Lines, km: KaplanMeier, stop: float, convention: str
) -> tuple[float, float, Gap]:
    """Mean squared gap, the end of its integral, and the curves."""
    if convention == "survgauge":
        gap = squared_gap(lines, km, stop)
        return gap.integral / stop, stop, gap
    gap, end = trapezoid_gap(lines, km)
    if not end > 0:
        raise UndefinedMetricError("convention 'survivaleval' needs an event after time zero")
    return gap.integral / end, end, gap


def _follow_up(
    y_true: Any, curves: Any, convention: str, tau: float | None
) -> tuple[Outcomes, SurvivalCurves, float]:
    """Checked outcomes, curves and the last observed time, or the horizon before it."""
    one_of("convention", convention, CONVENTIONS)
    y = Outcomes.of(y_true, "y_true")
    stop = float(y.present().time.max())
    if not stop > 0:
        raise UndefinedMetricError("km_calibration needs a test time above zero; all are zero")
    if tau is not None:
        if convention != "survgauge":
            raise InputError(
                f"tau is no part of convention {convention!r}, which ends at the last event time; "
                "leave one of them out"
            )
        stop = min(stop, positive(tau, "tau"))
    return y, check_curves(curves, y), stop


def _present(y: Outcomes, curves: SurvivalCurves) -> tuple[Outcomes, SurvivalCurves]:
    """Leave out subjects of weight zero together with their curves."""
    rows = y.present()
    return (y, curves) if rows is y else (rows, curves[y.weight > 0])


def coverage(y_true: Any, curves: Any, level: float = 0.9) -> float:
    """Share of subjects whose time lies in the central prediction interval of their curve.

    The interval holds the times with (1 - level)/2 <= S(t) <= (1 + level)/2; a calibrated model
    covers `level` of the subjects. An event counts 1 inside and 0 outside. A subject censored at c
    counts with the mass that its own curve puts into the interval past c,
    (min(S(c), (1 + level)/2) - (1 - level)/2)/S(c), as in D-calibration (0 where S(c) = 0). So a
    wrong model is pulled towards `level` by the censored. Of step curves S(t) is read after the
    drop.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves
        Predicted survival curves.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    float
        `coverage_details` also gives the contributions and a standard error.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> round(coverage(([2, 4, 6, 9.9], [1, 0, 1, 1]), curves, level=0.8), 4)
    0.7083
    """
    return coverage_details(y_true, curves, level).value


def coverage_details(y_true: Any, curves: Any, level: float = 0.9) -> Details:
    """`coverage` with contributions, convention and support.

    Parameters
    ----------
    y_true, curves, level
        As for `coverage`.
    """
    level = probability(level, "level")
    y = Outcomes.of(y_true, "y_true", entry=True)
    curves = check_curves(curves, y)
    s = own_survival(y, curves)
    s[y.weight == 0] = 1.0  # whatever is predicted for who is absent
    low, high = (1 - level) / 2, (1 + level) / 2
    inside = ((s >= low) & (s <= high)).astype(np.float64)
    rows = np.flatnonzero(~y.event)
    known = s[rows]
    mass = np.clip(np.minimum(known, high) - low, 0.0, None)
    inside[rows] = np.divide(mass, known, out=np.zeros_like(known), where=known > 0)
    weight = y.weight / y.weight.sum()
    value = float(weight @ inside)
    convention, support = description(y, curves)
    convention |= {
        "level": level,
        "interval": "central, in probability",
        "censored": "own curve's mass in the interval past c",
    }
    support["share_from_censored"] = float(weight[rows].sum())
    return Details(
        value,
        convention,
        support,
        psi=weight * (inside - value),
        frequency=y.weight if y.weighted else None,
    )


def calibration_slope(
    y_true: Any,
    curves: Any,
    time: float | None = None,
    *,
    ties: str = "efron",
    probability: str = "survival",
) -> float:
    r"""Calibration slope: coefficient of the predicted log hazard in a Cox model of the outcomes.

    The covariate is :math:`\log(-\log S_i(t))`, for a proportional hazards model its linear
    predictor plus a constant. 1 is best; below 1 predictions are too extreme, above too tame.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves or array-like of shape (n,)
        Curves or probabilities at `time`; without `time`, linear predictors on the log hazard scale
        (higher = sooner).
    time : float, optional
        Where to read the curves.
    ties : {"efron", "breslow"}
        Rule for tied events.
    probability : {"survival", "event"}
        What an array holds when `time` is given.

    Returns
    -------
    float
        `calibration_slope_details` adds a robust standard error from per-subject contributions and
        the model-based one (in `support`).

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1])
    >>> round(calibration_slope(y, [1.0, 0.2, 0.6, -0.3, 0.1, -1.0]), 3)
    2.251
    """
    return calibration_slope_details(y_true, curves, time, ties=ties, probability=probability).value


def calibration_slope_details(
    y_true: Any,
    curves: Any,
    time: float | None = None,
    *,
    ties: str = "efron",
    probability: str = "survival",
) -> Details:
    """`calibration_slope` with contributions, convention and support.

    Parameters
    ----------
    y_true, curves, time, ties, probability
        As for `calibration_slope`.
    """
    one_of("ties", ties, TIES)
    y, curves = Outcomes.of(y_true, "y_true"), read_curves(curves)
    moved = 0
    if time is not None:
        x, moved = log_log(survival_at(y, curves, time, probability)[y.weight > 0])
    elif isinstance(curves, SurvivalCurves):
        raise InputError("time must say where to read the curves; got None")
    else:
        x = vector(curves, "curves", length=len(y), like="y_true")[y.weight > 0]
    present = y.weight > 0
    rows = y.present()
    if not rows.event.any():
        raise UndefinedMetricError("calibration_slope needs at least one event in y_true; got none")
    if not x.max() > x.min():
        raise NotApplicableError(
            "the calibration slope needs predictions that differ between subjects; all are equal"
        )
    fit = CoxRegression(rows.time, rows.event, rows.weight, x[None, :], ties)
    if not fit.identified:
        raise UndefinedMetricError(
            "calibration_slope is not identified by these outcomes: no finite slope is best, as "
            "when every event has the highest prediction of all who are still at risk"
        )
    psi = np.zeros(len(y))
    psi[present] = fit.influence()[0] * rows.weight
    convention, support = description(y, curves)
    convention |= {"time": time, "ties": ties, "covariate": "log(-log S)" if time is not None else
                   "given linear predictor"}  # fmt: skip
    support |= {
        "moved_from_0_or_1": moved,
        "converged": fit.converged,
        "model_stderr": float(np.sqrt(fit.covariance[0, 0])),
    }
    value = float(fit.beta[0])
    return Details(value, convention, support, psi, y.weight if y.weighted else None)
