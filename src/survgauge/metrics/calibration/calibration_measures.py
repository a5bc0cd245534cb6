"""KM-calibration: distance of the mean predicted curve from Kaplan-Meier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive
from ...data.conditional_curves import ConditionalCauseCurves, ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ...reference.kaplan_meier import KaplanMeier
from ..checks import check_curves
from ..details import Clusters, Details
from ..one_cause import OneCause, coded, one_cause
from ..past_curve import share_of_length
from .cause_hazard_gap import CauseHazardGap
from .distance_intervals import SquaredGap
from .gap_influence import clustered_covariance, gap_influence, gap_stderr, observed_curve
from .hazard_gap import HazardGap
from .inputs import CONVENTIONS, description
from .mean_curve import Gap, Lines, mean_curve, refuse_past_grid, squared_gap, trapezoid_gap


@dataclass(frozen=True, repr=False)
class KMCalibrationDetails(Details):
    """KM-calibration with the two curves that it compares.

    Attributes
    ----------
    times, mean_survival, kaplan_meier : ndarray
        Average predicted survival and Kaplan-Meier just after each of their nodes; made when
        asked for. With several causes they are 1 - incidence of the one that was asked for, as
        predicted on average and by Aalen-Johansen.
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
        """Kaplan-Meier of the test outcomes at `times`; of a cause 1 - Aalen-Johansen."""
        return self._curves[2]

    @property
    def stderr(self) -> float:
        """Standard error to second order, as a bootstrap of many subjects gives it."""
        return self._stderr


def km_calibration(
    y_true: Any,
    curves: Any,
    *,
    tau: float | None = None,
    convention: str = "survgauge",
    cause: int | str | None = None,
) -> float:
    r"""KM-calibration: squared distance of the average predicted curve from Kaplan-Meier.

    .. math:: \frac{1}{t_{\max}} \int_0^{t_{\max}} \Big(\frac1n \sum_i S_i(t) - S_{KM}(t)\Big)^2 dt

    with Kaplan-Meier of the test outcomes and t_max their last time, or `tau` before that. Zero is
    best; the distance cannot be negative. The integral is exact for line and step curves on a
    shared grid; elsewhere the details' convention says at how many points the average was taken.

    With several causes it is Aalen-Johansen calibration: the squared distance of the average
    predicted incidence of one cause from Aalen-Johansen.

    With delayed entry Kaplan-Meier is compared with exp(-A), where A adds up the mean predicted
    hazard of those at risk: who is in the sample changes with time. It begins when 10 are at risk.
    Aalen-Johansen is compared with the incidence that the hazards of all causes add up to likewise.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : SurvivalCurves or IncidenceCurves
        Predicted survival curves; with `cause` the predicted incidence.
    tau : float, optional
        Horizon of the integral; by default the last test time.
    convention : {"survgauge", "survivaleval"}
        ``survivaleval`` is what SurvivalEVAL 0.9 reports: squared gaps at zero and at the event
        times only, joined by lines, over the last event time. It knows no `tau` and no `cause`.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted. Incidence curves say
        nothing past their last time: `tau` must not be later.

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
    return km_distance(y_true, curves, convention, contributions=False, tau=tau, cause=cause).value


def km_calibration_details(
    y_true: Any,
    curves: Any,
    *,
    tau: float | None = None,
    convention: str = "survgauge",
    cause: int | str | None = None,
) -> KMCalibrationDetails:
    """`km_calibration` with the curves, convention, support and standard error behind it.

    Parameters
    ----------
    y_true, curves, tau, convention, cause
        As for `km_calibration`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> details = km_calibration_details(([2, 4, 6, 9], [1, 0, 1, 1]), curves)
    >>> round(details.value, 4), round(details.stderr, 4)
    (0.0266, 0.0683)
    """
    return km_distance(y_true, curves, convention, tau=tau, cause=cause)


def km_distance(
    y_true: Any,
    curves: Any,
    convention: str = "survgauge",
    clusters: Clusters | None = None,
    contributions: bool = True,
    tau: float | None = None,
    cause: int | str | None = None,
) -> KMCalibrationDetails:
    """`km_calibration_details` of subjects that may come in clusters, which its law heeds.

    Without `contributions` there is the value alone: its law takes longer than all the rest.
    """
    asked = one_cause(y_true, curves, None, cause, entry=True)
    given, curves, stop = _follow_up(asked, convention, tau)
    y, curves = _present(given, curves)
    if given.entry is not None:
        found = HazardGap.of(y, curves, stop) if asked.code is None else None
        if asked.code is not None and isinstance(curves, ConditionalCauseCurves):
            found = CauseHazardGap.of_cause(y, curves, stop, asked.code)
        if found is not None:
            return _entered_distance(given, asked, found, stop, clusters, contributions)
    lines, how = mean_curve(curves, y.weight, stop)
    km, influence_until = observed_curve(y, None if asked.competes is None else 1)
    value, end, gap = _distance(lines, km, stop, convention)
    psi: Floats | None = None
    stderr = float("nan")
    law: SquaredGap | None = None
    if convention == "survgauge" and contributions:
        influence = influence_until(stop)
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
    described, support = description(y, curves, asked)
    described |= {"convention": convention, "mean_curve": how, "tau": end}
    support["past_curves"] = float(np.mean(curves.last_time < stop))
    support["past_curve"] = share_of_length(curves, stop, y.weight if y.weighted else None)
    weight = given.weight if given.weighted else None
    if law is not None:
        support["expected_if_calibrated"] = law.expected_if_calibrated
    return KMCalibrationDetails(value, described, support, psi, weight, stderr, gap, law)


def _entered_distance(
    given: Outcomes,
    asked: OneCause,
    found: HazardGap,
    stop: float,
    clusters: Clusters | None,
    contributions: bool,
) -> KMCalibrationDetails:
    """Kaplan-Meier or Aalen-Johansen against the hazards of those at risk."""
    y, curves = found.y, found.curves
    value, gap = found.distance()
    psi, stderr, law = None, float("nan"), None
    if contributions and (clusters is None or clusters.number > 1):
        clusters = None if clusters is None else clusters[given.weight > 0]
        own, points, covariance = found.influence(clusters)
        freedom = float("inf") if clusters is None else clusters.freedom
        law = SquaredGap.of(value, points, covariance, freedom)
        stderr, psi = gap_stderr(points, covariance), np.zeros(len(given))
        psi[given.weight > 0] = own
    described, support = description(y, curves, asked)
    between = "every entry and exit" if found.exact else f"{found.nodes.size} of them"
    described |= {
        "mean_curve": f"predicted hazards of those at risk, between {between}",
        "since": float(found.nodes[0]),
        "tau": stop,
    }
    support["past_curves"] = float(np.mean(curves.last_time < stop))
    support["past_curve"] = share_of_length(curves, stop, y.weight if y.weighted else None)
    if law is not None:
        support["expected_if_calibrated"] = law.expected_if_calibrated
    weight = given.weight if given.weighted else None
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
    asked: OneCause, convention: str, tau: float | None
) -> tuple[Outcomes, SurvivalCurves, float]:
    """Checked outcomes, curves and the last observed time, or the horizon before it."""
    one_of("convention", convention, CONVENTIONS)
    y = asked.y
    stop = float(y.present().time.max())
    if not stop > 0:
        raise UndefinedMetricError("km_calibration needs a test time above zero; all are zero")
    for argument, given in (("tau", tau), ("cause", asked.name), ("delayed entry", y.entry)):
        if given is not None and convention != "survgauge":
            raise InputError(
                f"{argument} is no part of convention {convention!r}, which ends at the last event "
                "time and knows one kind of event; leave one of them out"
            )
    stop = stop if tau is None else min(stop, positive(tau, "tau"))
    curves = check_curves(asked.curves, y)
    if asked.competes is None:
        return y, curves, stop
    refuse_past_grid(curves.base if isinstance(curves, ConditionalCurves) else curves, stop)
    return coded(y, asked.competes), curves, stop


def _present(y: Outcomes, curves: SurvivalCurves) -> tuple[Outcomes, SurvivalCurves]:
    """Leave out subjects of weight zero together with their curves."""
    rows = y.present()
    return (y, curves) if rows is y else (rows, curves[y.weight > 0])
