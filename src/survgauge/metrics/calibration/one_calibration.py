"""1-calibration: observed against predicted event rates at one time, in groups of risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..._tools.arrays import Bools, Floats, Ints, whole_number
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ..checks import check_curves, one_cause, read_curves
from .d_calibration import CalibrationResult
from .inputs import (
    CONVENTIONS,
    checked_time,
    description,
    own_survival,
    read_past,
    refuse_past_follow_up,
    survival_at,
    taking_part,
)
from .risk_rates import (
    USUAL_GROUPS,
    EnteredRates,
    GroupRates,
    StoppedRates,
    curve_hazards,
    group_rates,
    risk_groups,
    shared_shape,
    stopped_rates,
)

#: Degrees of freedom that each method gives away.
_LOST = {"predicted": 0, "dn": 1, "gnd": 1, "uncensored": 2}


def one_calibration(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    groups: int | None = None,
    method: str | None = None,
    probability: str = "survival",
    convention: str = "survgauge",
    cause: int | str | None = None,
) -> CalibrationResult:
    r"""1-calibration: observed against predicted event rates at one time, in groups of risk.

    Subjects are sorted by predicted risk into K groups of about equal size. Kaplan-Meier in group k
    is compared with the group's mean predicted curve S_k by the variance that it has if the
    prediction is right,

    .. math:: X^2 = \sum_k (KM_k(t) - S_k(t))^2 / V_k, \qquad
              V_k = S_k(t)^2 \int_0^t \frac{d\Lambda_k(u)}{Y_k(u)}, \quad \Lambda_k = -\log S_k,

    with Y_k the number at risk and K degrees of freedom: the subjects must not be those that the
    model was fitted to. A group whose last subject leaves before `time` is compared at that moment
    (`support` counts such groups). Groups in which the model has no doubt, V_k = 0, count no degree
    of freedom; where it is wrong there, the statistic is infinite and the p-value 0.

    Tied predictions stay in one group, so there may be fewer groups than asked for.

    With several causes the observed risk of one of them is that of Aalen-Johansen in the group. If
    the group's mean predicted incidence F is right, it has the variance

    .. math:: V_k = \frac{1}{n_k} \Big( F(t)(1 - F(t)) + \int_0^t S(u)\, p_u (1 - p_u)\,
              d\frac{1}{G(u)} \Big), \qquad p_u = \frac{F(t) - F(u)}{S(u)},

    where S(u), no event of any cause yet, and G are Kaplan-Meier's in the group: the test is about
    the cause alone, and the others need no prediction.

    With delayed entry, groups are made by the risk given entry, of those who entered before
    `time`. Events O_k are compared with what the cumulative hazards rise by while at risk, E_k:
    :math:`X^2 = \sum_k (O_k - E_k)^2 / E_k`, with K degrees of freedom. `observed` and
    `expected` are events per subject, and by default every group expects at least 5.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : curves or array-like of shape (n,)
        Predicted curves (anything that `as_curves` reads), or the probabilities at `time`
        themselves. Probabilities do not say how they were reached: Lambda_k then rises to its value
        at `time` as Nelson-Aalen of all test subjects does. Curves with more than 30 grid times
        before `time` are read at 32 even steps, and Lambda_k is a line between them.
    time : float
        Time of interest; not later than the last observed time.
    groups : int, optional
        Number of groups K. None: with ``predicted`` the largest of 10, 8, 6, 5, 4, 3, 2 and 1 that
        leaves in every group at least 3 subjects expected to have, and 3 not to have, the event
        by `time` (censored subjects count by their information), else 1; with the other methods 10.
        `support["thin_groups"]` counts groups with fewer, in which the distribution is not good.
    method : {"predicted", "dn", "gnd", "uncensored"}, optional
        ``predicted`` (default): the test above. The others reject true models under censoring far
        too often, and are here to reproduce published numbers. With n_k subjects, observed rate O_k
        and mean prediction P_k they sum n_k (O_k - P_k)^2 / (P_k (1 - P_k)).
        ``dn``: O_k is 1 - Kaplan-Meier (D'Agostino and Nam), K - 1 degrees of freedom.
        ``gnd``: the same divided by Greenwood's variance (Demler et al.), K - 1.
        ``uncensored``: only subjects whose status at `time` is known (censored earlier: left out),
        the test of Hosmer and Lemeshow, K - 2.
    probability : {"survival", "event"}
        What an array in `curves` holds: of surviving `time`, or of the event by then.
    convention : {"survgauge", "survivaleval"}
        ``survivaleval`` is what SurvivalEVAL 0.9 reports: equal parts of the sorted predictions
        (ties split by position; ``uncensored`` drops subjects afterwards), the variance of the
        observed rate (Greenwood, or O(1 - O)/n), K degrees of freedom, NaN where a variance is 0.
        Its default method is ``dn``.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`. It goes with method ``predicted``.

    Returns
    -------
    CalibrationResult

    References
    ----------
    D'Agostino and Nam (2003), Handbook of Statistics 23. Demler, Paynter and Cook (2015), Tests of
    calibration and goodness-of-fit in the survival setting, Statistics in Medicine 34. Hosmer and
    Lemeshow (1980), Communications in Statistics 9.

    Examples
    --------
    >>> survival = [0.9, 0.8, 0.7, 0.4, 0.3, 0.2]
    >>> y = ([9, 9, 3, 9, 2, 1], [0, 0, 1, 1, 1, 1])
    >>> result = one_calibration(y, survival, 5.0, groups=2)
    >>> result.observed.round(3), result.expected, round(result.p_value, 3)
    (array([0.333, 0.667]), array([0.2, 0.7]), 0.823)
    """
    one_of("convention", convention, CONVENTIONS)
    peer = convention == "survivaleval"
    if method is None:
        method = "dn" if peer else "predicted"
    one_of("method", method, tuple(_LOST))
    if peer and method == "predicted":
        raise InputError(
            "method 'predicted' is not one of convention 'survivaleval': pass method='dn' or "
            "'uncensored', or leave the convention out"
        )
    if cause is not None and method != "predicted":
        raise InputError(f"cause goes with method 'predicted', which supports it; got {method!r}")
    lost = _LOST[method]
    choices: tuple[int, ...] = USUAL_GROUPS if method == "predicted" else USUAL_GROUPS[:1]
    if groups is not None:
        choices = (whole_number(groups, "groups", lost + 1),)
    asked_for = one_cause(y_true, curves, None, cause, entry=True)
    y = asked_for.y
    time, curves = checked_time(time), read_curves(asked_for.curves)
    entered, from_curves = y.entry is not None, isinstance(curves, SurvivalCurves)
    if entered and not (method == "predicted" and from_curves):
        raise InputError(
            "one_calibration under delayed entry goes with method 'predicted' and curves, which "
            "say what was expected between a subject's entry and its own time"
        )
    s, past = survival_at(y, curves, time, probability), read_past(y, curves, time)
    refuse_past_follow_up(y.present(), time)
    present = np.flatnonzero(taking_part(y, time))
    curves = check_curves(curves, y)[present] if entered else curves
    if present.size < len(y):
        curves = curves[present] if from_curves and not entered else curves
        y, s = y[present], s[present]
    competes = None if asked_for.competes is None else asked_for.competes[present]
    happened = y.event & (y.time <= time)
    happened = happened if competes is None else happened & ~competes
    known = y.event | (y.time >= time) if method == "uncensored" else np.ones(len(y), dtype=bool)
    hazard = np.zeros(0)
    if entered:
        with np.errstate(divide="ignore"):
            own = own_survival(curves, np.minimum(y.time, time), asked_for.code)
            hazard = -np.log(own) + 0.0
    found: StoppedRates | None = None
    for asked in choices:
        rows = _groups(y, s, asked, known, peer)
        if method == "predicted" and rows:
            if entered:
                found = EnteredRates.of(y, happened, hazard, rows)
            else:  # probabilities alone have no path to them
                hazards = (
                    curve_hazards(y, curves, rows, time)
                    if from_curves
                    else shared_shape(y, s, rows, time, competes)
                )
                found = stopped_rates(y, rows, hazards, time, competes)
            if not found.thin():
                break
    if len(rows) <= lost:
        raise UndefinedMetricError(
            f"one_calibration with method {method!r} needs at least {lost + 1} group(s) of "
            f"different predictions; got {len(rows)} from {int(known.sum())} subjects with "
            f"{np.unique(s[known]).size} distinct predictions"
        )
    greenwood = method == "gnd" or (peer and method == "dn")
    if found is not None:
        observed, expected = 1.0 - found.observed, 1.0 - found.expected
        stopped = int(found.stopped.sum())
        statistic, freedom = found.test()
        p_value = float(chdtrc(freedom, statistic)) if freedom else float(statistic == 0)
    else:
        rates = group_rates(y, s, rows, time)
        observed, expected, stopped = rates.observed, rates.expected, rates.open_ended
        statistic, p_value, freedom = _grouped_test(rates, greenwood, peer, lost)
    described, support = description(y, curves, asked_for)
    support |= past
    described |= {
        "convention": convention,
        "method": method,
        "time": time,
        "groups": asked,
        "ties": "split by position" if peer else "kept in one group",
        "variance": _variance_name(method, greenwood, peer, entered, asked_for.name),
        "probability": "from curves" if isinstance(curves, SurvivalCurves) else probability,
    }
    support |= {
        "groups": len(rows),
        "status_unknown": int(((y.time < time) & ~y.event).sum()),
        "left_out": int((~known).sum()),
        "groups_past_follow_up": stopped,
        "events_by_time": float(sum(y.weight[r][happened[r]].sum() for r in rows)),
        "thin_groups": 0 if found is None else found.thin(),
    }
    edges = np.array([[1 - s[r].max(), 1 - s[r].min()] for r in rows])
    size = np.array([y.weight[r].sum() for r in rows])
    return CalibrationResult(
        p_value, statistic, observed, expected, edges, size, method, freedom, described,
        support,
    )  # fmt: skip


def _groups(y: Outcomes, s: Floats, groups: int, known: Bools, peer: bool) -> list[Ints]:
    """Rows of each group, from low to high risk."""
    if peer:
        parts = np.array_split(np.argsort(s, kind="stable"), groups)[::-1]
        return [part[known[part]] for part in parts if known[part].any()]
    if known.all():
        return risk_groups(s, y.frequency, groups)
    members = np.flatnonzero(known)  # never nobody: the last observed time is not before `time`
    weight = y.weight[members] if y.frequency is not None else None
    return [members[rows] for rows in risk_groups(s[members], weight, groups)]


def _grouped_test(
    rates: GroupRates, greenwood: bool, peer: bool, lost: int
) -> tuple[float, float, int]:
    """Statistic, p-value and degrees of freedom of grouped rates."""
    rate = rates.observed if peer else rates.expected
    variance = rates.variance if greenwood else rate * (1 - rate) / rates.size
    if greenwood and not peer and not (variance > 0).all():
        raise UndefinedMetricError(
            "method 'gnd' needs events and survivors in every group: Greenwood's variance is zero "
            f"in {int((variance <= 0).sum())} of {variance.size}; use fewer groups or method='dn'"
        )
    gap = (rates.observed - rates.expected) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(gap > 0, gap / variance, 0.0)
    statistic = float(terms.sum())
    freedom = rates.size.size - (0 if peer else lost)
    if peer and not (variance > 0).all():
        return float("inf"), float("nan"), freedom
    return statistic, float(chdtrc(freedom, statistic)), freedom


def _variance_name(
    method: str, greenwood: bool, peer: bool, entered: bool, cause: str | None
) -> str:
    if entered:
        return "expected events of the group while at risk"
    if cause is not None:
        return "of Aalen-Johansen if the group's mean incidence is right"
    if method == "predicted":
        return "of Kaplan-Meier if the group's mean curve is right"
    if greenwood:
        return "Greenwood's, of the observed rate"
    return "binomial, of the observed rate" if peer else "binomial, of the mean prediction"
