"""Groups of predicted risk: Kaplan-Meier, numbers at risk and restricted mean times of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..._tools.arrays import Floats, Ints, numbers, positive, to_numpy, vector, whole_number
from ..._tools.arrays import probability as checked_probability
from ..._tools.text import as_frame
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError
from ...estimators.aalen_johansen import AalenJohansen, free_at
from ...estimators.kaplan_meier import KaplanMeier
from ..calibration.risk_rates import risk_groups as equal_groups
from ..group_tests import log_rank_test

#: What groups are by, where no time is given, by what a model predicts.
_RISKS = {"curves": "minus the median", "times": "minus the predicted time", "risk": "as given"}


@dataclass(frozen=True)
class RiskGroups:
    """Result of `risk_groups`; groups are in the order of rising risk.

    Attributes
    ----------
    label : ndarray of shape (n,)
        Group of each subject, 0 for the lowest risk.
    names : tuple of str
        "low", "medium", "high", or numbers where there are more than three groups.
    subjects, events : ndarray of shape (k,)
        Counts of each group.
    curves : tuple of KaplanMeier
        Kaplan-Meier of each group.
    tau : float
        Where restricted mean times stop.
    survival, survival_stderr : ndarray of shape (k,)
        Kaplan-Meier of each group at `tau`.
    rmst, rmst_stderr : ndarray of shape (k,)
        Restricted mean time up to `tau` of each group.
    log_rank, freedom, p_value : float
        Log-rank test between the groups.
    """

    label: Ints
    names: tuple[str, ...]
    subjects: Floats
    events: Floats
    curves: tuple[KaplanMeier, ...]
    tau: float
    survival: Floats
    survival_stderr: Floats
    rmst: Floats
    rmst_stderr: Floats
    log_rank: float
    freedom: int
    p_value: float
    convention: dict[str, Any] = field(default_factory=dict)
    _y: Any = field(default=None, repr=False, compare=False)

    def at_risk(self, times: Any) -> Floats:
        """Return the number of subjects at risk in each group at each time, shape (k, times)."""
        grid = vector(np.atleast_1d(to_numpy(times, "times")), "times")
        counts = np.empty((len(self.names), grid.size))
        for k in range(len(self.names)):
            own = self.label == k
            time, weight = self._y.time[own], self._y.weight[own]
            counts[k] = [float(weight[time >= t].sum()) for t in grid]
        return counts

    def rmst_differences(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """Return restricted mean times of the other groups less that of the lowest risk.

        Plain dictionaries: group, difference, stderr, low, high, p_value.
        """
        z = float(ndtri(0.5 + checked_probability(confidence, "confidence") / 2))
        rows = []
        for k in range(1, len(self.names)):
            gap = float(self.rmst[k] - self.rmst[0])
            error = float(np.hypot(self.rmst_stderr[k], self.rmst_stderr[0]))
            p_value = 2 * float(ndtr(-abs(gap) / error)) if error > 0 else float("nan")
            rows.append(
                {
                    "group": self.names[k],
                    "difference": gap,
                    "stderr": error,
                    "low": gap - z * error if error > 0 else float("nan"),
                    "high": gap + z * error if error > 0 else float("nan"),
                    "p_value": p_value,
                }
            )
        return rows

    def frame(self) -> Any:
        """Return a pandas frame with one row per group."""
        names = ("subjects", "events", "survival", "survival_stderr", "rmst", "rmst_stderr")
        return as_frame(
            [
                {"group": group, **{name: float(getattr(self, name)[k]) for name in names}}
                for k, group in enumerate(self.names)
            ]
        )


def risk_groups(
    y_true: Any,
    prediction: Any,
    *,
    groups: int = 3,
    cuts: Any = None,
    time: float | None = None,
    tau: float | None = None,
) -> RiskGroups:
    """Kaplan-Meier, restricted mean time and log-rank test by group of predicted risk.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    prediction : curves, times or RiskScores
        Predictions of one model, as for `evaluate`. Curves are ranked by their risk 1 - S(time) if
        `time` is given, otherwise by minus their median.
    groups : int
        Number of groups of about equal size; equal predictions stay in one group, so there may be
        fewer.
    cuts : array-like, optional
        Risks at which groups begin, instead of groups of equal size. They are on the scale of the
        risk that subjects are ranked by: 1 - S(time), minus a time, or the scores as given. A
        subject whose risk equals a cut belongs to the group above it.
    time : float, optional
        Time at which curves are read.
    tau : float, optional
        Where restricted mean times stop. It must not lie past the last time of a group whose
        Kaplan-Meier is still above 0 there; by default the largest such time.

    Returns
    -------
    RiskGroups
        With `at_risk(times)`, `rmst_differences()` and `frame()`.

    Notes
    -----
    Standard errors are Greenwood's. Groups are made from the predictions alone, so the log-rank
    test has its usual distribution for subjects that the model was not fitted to.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 1, 0, 1, 1, 0, 1])
    >>> found = risk_groups(y, [1, 3, 2, 4, 6, 7, 8, 5], groups=2)
    >>> found.names, found.subjects, found.rmst.round(2), round(found.p_value, 3)
    (('low', 'high'), array([4., 4.]), array([4. , 2.5]), 0.04)
    """
    y = Outcomes.of(y_true, "y_true")
    predicted = Prediction.of(prediction, len(y))
    risk, kind = _risk_at(predicted, time)
    present = np.flatnonzero(y.weight > 0)
    label = np.full(len(y), -1)
    rows = rows_by_risk(y, risk, present, groups, cuts)
    for k, members in enumerate(rows):
        label[members] = k
    parts = [y[members] for members in rows]
    if len(parts) < 2:
        if cuts is None:
            raise UndefinedMetricError(f"the predicted risks ({kind}) are the same for all")
        raise UndefinedMetricError(
            f"the predicted risks ({kind}) lie between {risk[present].min():g} and "
            f"{risk[present].max():g}, on one side of the cuts {cuts}"
        )
    curves = tuple(KaplanMeier.fit(part) for part in parts)
    end = _tau(curves, tau)
    at_end = [free_at(part, None, end) for part in parts]
    until = end or np.finfo(np.float64).tiny  # everybody left at time 0
    estimates = [AalenJohansen.fit(part) for part in parts]
    test = log_rank_test(*parts)
    return RiskGroups(
        label,
        group_names(len(parts)),
        np.array([float(part.weight.sum()) for part in parts]),
        np.array([float(part.weight[part.event].sum()) for part in parts]),
        curves,
        end,
        np.array([found.value for found in at_end]),
        np.array([found.stderr for found in at_end]),
        np.array([end - found.rmtl(until, 1) for found in estimates]),
        np.array([found.rmtl_stderr(until, 1) for found in estimates]),
        test.statistic,
        test.freedom,
        test.p_value,
        {"risk": kind, "tau": end},
        y,
    )


def _risk_at(predicted: Prediction, time: float | None) -> tuple[Floats, str]:
    """Return the risk that groups are by, and what it is."""
    if time is None:
        return predicted.risk, _RISKS[predicted.kind]
    if predicted.curves is None:
        raise InputError("time says where to read curves; the prediction has none: leave time out")
    return 1.0 - predicted.curves.at(positive(time, "time")), f"1 - S({time:g})"


def rows_by_risk(
    y: Outcomes, risk: Floats, present: Ints, groups: Any, cuts: Any = None
) -> list[Ints]:
    """Rows of each group among those who are present, from low to high risk."""
    if cuts is None:
        number = whole_number(groups, "groups", 2)
        weight = y.weight[present] if y.frequency is not None else None
        return [present[rows] for rows in equal_groups(-risk[present], weight, number)]
    edges = np.unique(numbers(np.atleast_1d(to_numpy(cuts, "cuts")), "cuts"))
    if not edges.size or not np.isfinite(edges).all():
        raise InputError(f"cuts must be at least one finite risk; got {cuts!r}")
    group = edges.searchsorted(risk[present], "right")
    return [present[group == k] for k in np.unique(group)]


def _tau(curves: tuple[KaplanMeier, ...], tau: float | None) -> float:
    """Where restricted means stop: as asked, if every group's Kaplan-Meier is known there."""
    known = min(
        (km.last_time for km in curves if km.last_survival > 0),
        default=max(km.last_time for km in curves),
    )
    if tau is None:
        return float(known)
    end = positive(tau, "tau")
    if end > known:
        raise UndefinedMetricError(
            f"tau {end:g} lies past {known:g}, where follow-up of a group ends while its "
            "Kaplan-Meier is above 0; give a smaller tau or fewer groups"
        )
    return end


def group_names(number: int) -> tuple[str, ...]:
    """Names of groups of risk: low, medium and high, or numbers."""
    usual = {2: ("low", "high"), 3: ("low", "medium", "high")}
    return usual.get(number, tuple(str(k + 1) for k in range(number)))
