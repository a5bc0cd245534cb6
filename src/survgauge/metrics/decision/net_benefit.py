"""Net benefit: what treating by a predicted risk gains, in true positives per subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, to_numpy, vector
from ..._tools.text import ShortRepr, as_frame
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.aalen_johansen import free_at
from ...estimators.estimated_g import Derivative
from ..calibration.inputs import (
    checked_time,
    description,
    read_past,
    refuse_past_follow_up,
    taking_part,
)
from ..calibration.inputs import (
    survival_at as predicted_survival,
)
from ..checks import OneCause, one_cause, read_curves
from ..conventions import Convention
from ..ipcw import CensoringWeights
from ..probability.doubly_robust import ROUNDING
from ..score import Score, Terms, paired_error

METHODS = ("kaplan_meier", "ipcw")

#: Net benefit of treating some subjects at some odds, with contributions, and whether follow-up of
#: the treated ends before the time.
Rule = Callable[[Bools, float], tuple[float, Floats, bool]]


@dataclass(frozen=True, repr=False)
class NetBenefit(ShortRepr):
    """Result of `net_benefit`.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Predicted risks from which on a subject is treated.
    values, stderr : ndarray of shape (k,)
        Net benefit of the model, and its standard error.
    treat_all, treat_all_stderr : ndarray of shape (k,)
        Net benefit of treating all subjects. Treating none has the net benefit 0.
    gain, gain_stderr : ndarray of shape (k,)
        Net benefit of the model less that of treating all, on the same subjects.
    treated : ndarray of shape (k,)
        Share of the subjects with a risk of at least the threshold.
    incidence : float
        Observed risk of the event by `time`: the largest net benefit that there is.
    """

    thresholds: Floats
    values: Floats
    stderr: Floats
    treat_all: Floats
    treat_all_stderr: Floats
    gain: Floats
    gain_stderr: Floats
    treated: Floats
    incidence: float
    time: float
    convention: dict[str, Any] = field(default_factory=dict)
    support: dict[str, Any] = field(default_factory=dict)
    _question: Any = field(default=None, repr=False, compare=False)

    @property
    def standardised(self) -> Floats:
        """Net benefit as a share of the largest possible one, the observed risk."""
        return self.values / self.incidence if self.incidence > 0 else self.values * np.nan

    @property
    def interventions_avoided(self) -> Floats:
        """Treatments avoided per subject, compared with treating everybody, at no lost benefit.

        It is (net benefit - net benefit of treating all) (1 - p)/p.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.gain * (1 - self.thresholds) / self.thresholds

    def difference(self, other: NetBenefit) -> tuple[Floats, Floats]:
        """Net benefit of this model less that of another on the same subjects.

        Returns
        -------
        values, stderr : ndarray of shape (k,)
            Differences at each threshold and their paired standard errors.
        """
        if not isinstance(other, NetBenefit):
            raise InputError(f"other must be what net_benefit returns; got {type(other).__name__}")
        mine, theirs = self._question, other._question
        same = mine is not None and theirs is not None and mine.asks_as(theirs)
        if not same or not np.array_equal(self.thresholds, other.thresholds):
            raise InputError(
                "other must be the net benefit of another model on the same subjects at the same "
                "time and thresholds"
            )
        errors = [
            paired_error(mine.at(threshold), theirs.at(threshold)) for threshold in self.thresholds
        ]
        return self.values - other.values, np.array(errors)

    def frame(self) -> Any:
        """Return a pandas frame with one row per threshold."""
        names = (
            "thresholds", "values", "stderr", "treat_all", "gain", "gain_stderr", "treated",
            "standardised", "interventions_avoided",
        )  # fmt: skip
        columns = {name: getattr(self, name) for name in names}
        rows = zip(*columns.values(), strict=True)
        return as_frame([dict(zip(columns, map(float, row), strict=True)) for row in rows])


@dataclass(frozen=True)
class DecisionQuestion:
    """Outcomes and predicted risks by one time; `rule` values a decision."""

    y: Outcomes
    risk: Floats
    #: Time, method, and name of the cause that is treated, of several.
    asked: tuple[float, str, str | None]
    rule: Rule

    def asks_as(self, other: DecisionQuestion) -> bool:
        """Whether another question is about the same subjects, time, method and cause."""
        mine, theirs = self.y, other.y
        same = np.array_equal(mine.time, theirs.time) and np.array_equal(mine.event, theirs.event)
        return same and self.asked == other.asked

    def treated(self, threshold: float) -> Bools:
        """Whose risk is at least the threshold."""
        return self.risk >= threshold - ROUNDING

    def at(self, threshold: float, treated: Bools | None = None) -> Score:
        """Net benefit of treating subjects from a threshold on, or those that are given."""
        treated = self.treated(threshold) if treated is None else treated
        value, contributions, open_ended = self.rule(treated, threshold / (1 - threshold))
        return Score(value, {}, {"open_ended": open_ended}, contributions, self.y.frequency)


def _kaplan_meier_rule(asked: OneCause, time: float) -> Rule:
    """Kaplan-Meier (or Aalen-Johansen) of the treated tells how many of them have the event."""
    y, competes = asked.y, asked.competes
    total = float(y.weight.sum())
    # In the order of time once: looking up 100 thresholds is then ten times as fast.
    order = y.order()
    by_time = y[order]
    others = None if competes is None else competes[order]
    everybody = free_at(by_time, others, time)

    def rule(treated: Bools, odds: float) -> tuple[float, Floats, bool]:
        contributions = np.zeros(len(y))
        chosen = treated[order]
        rows = order[chosen]
        share = float(y.weight[rows].sum()) / total
        if share == 0:
            return 0.0, contributions, False
        found = everybody
        if not chosen.all():
            found = free_at(by_time[chosen], None if others is None else others[chosen], time)
        each = 1 - found.value * (1 + odds)
        value = share * each
        contributions[rows] = (
            y.weight[rows] * each / total - share * (1 + odds) * found.contributions
        )
        contributions -= y.weight * value / total
        return value, contributions, found.open_ended

    return rule


def _ipcw_rule(asked: OneCause, time: float, censoring: Any) -> Rule:
    """Subjects whose status is known stand for those who were censored before."""
    y, competes = asked.y, asked.competes
    weights = CensoringWeights(y, asked.y_train, censoring, Convention())
    known = np.where(y.event & (y.time <= time), weights.event_weight, 0.0)
    # Who had a competing event has none of the cause, and is treated in vain.
    had = known if competes is None else np.where(competes, 0.0, known)
    vain = known - had
    g = weights.survivors(time)
    free = np.divide((y.time > time) * 1.0, g, out=np.zeros(len(y)), where=g > 0)
    estimated = weights.estimated if weights.source == "test" else None
    everybody = y.weight * taking_part(y, time)

    def rule(treated: Bools, odds: float) -> tuple[float, Floats, bool]:
        weight = everybody * treated
        event, survivor = weight * (had - odds * vain), -odds * weight * free
        own = None if y.entry is None else survivor
        derivative = Derivative(event, np.array([survivor.sum()]), np.array([time]), own)
        found = Terms(event + survivor, everybody, derivative=derivative).mean(None, estimated)
        return found.value, found.contributions, False  # type: ignore[return-value]

    return rule


def net_benefit(
    y_true: Any,
    risk_or_curves: Any,
    time: float,
    *,
    thresholds: Any = None,
    y_train: Any = None,
    method: str | None = None,
    censoring: Any = None,
    cause: int | str | None = None,
) -> NetBenefit:
    r"""Net benefit of treating subjects whose predicted risk is at least a threshold.

    A threshold p says how a decision weighs harm: treating 1/p subjects to prevent one event is
    just worth it. Treating by the model then gains

    .. math:: NB(p) = P(r \ge p, T \le t) - \frac{p}{1 - p} P(r \ge p, T > t)

    true positives per subject, false positives counted at the odds of the threshold. A model is
    worth using at thresholds where it is above both treating none (0) and treating all.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads. With delayed entry those who entered
        before `time` count, and risks are those given being event-free at entry.
    risk_or_curves : array-like of shape (n,) or curves
        Predicted risks of the event by `time`, between 0 and 1, or curves, whose risk is 1 - S(t)
        (under delayed entry at a, 1 - S(t)/S(a)).
    time : float
        By when the event counts; not later than the last observed time.
    thresholds : array-like, optional
        Risks from 0 up to, not including, 1; by default 0.01, 0.02, ..., 0.99.
    y_train : outcomes, optional
        Reference set; only read by ``censoring="train"``.
    method : {"kaplan_meier", "ipcw"}, optional
        How censored subjects count; by default the first, under delayed entry the second, which
        alone goes with it. ``kaplan_meier``: by Kaplan-Meier of the treated at `time`
        (Vickers et al. 2008), so censoring may depend on who is treated. ``ipcw``: events weigh
        1/G(T-), those event-free past `time` 1/G(t), with one G for all subjects.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G of ``ipcw`` comes from; by default the test subjects.
    cause : int or str, optional
        With several causes, code or name of the one that is treated; predictions are then its
        incidence by `time`, or `IncidenceCurves`. Aalen-Johansen takes the place of Kaplan-Meier,
        and subjects with an event of another cause are treated in vain.

    Returns
    -------
    NetBenefit
        Values with standard errors, those of treating all, gains and shares; `difference`
        compares two models, `standardised` and `interventions_avoided` are other scales.

    Notes
    -----
    Standard errors come from the subjects' contributions; those of ``ipcw`` include the estimation
    of G from the test subjects. Where the treated were all censored before `time`, Kaplan-Meier
    keeps its last value, and ``support["open_ended_thresholds"]`` counts such thresholds. One
    subject alone has no standard error, which ``support["note"]`` says.

    References
    ----------
    Vickers and Elkin (2006), Medical Decision Making 26. Vickers, Cronin, Elkin and Gonen (2008),
    BMC Medical Informatics and Decision Making 8 (censored outcomes).

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 0, 0])
    >>> found = net_benefit(y, [0.9, 0.7, 0.2, 0.6, 0.3, 0.1], 4.5, thresholds=[0.25, 0.5])
    >>> found.values.round(3), found.treat_all.round(3)
    (array([0.444, 0.5  ]), array([0.407, 0.111]))
    """
    asked = one_cause(y_true, risk_or_curves, y_train, cause, entry=True)
    y = asked.y
    if method is None:
        method = "kaplan_meier" if y.entry is None else "ipcw"
    one_of("method", method, METHODS)
    if method == "kaplan_meier" and y.entry is not None:
        raise InputError(
            "method 'kaplan_meier' does not go with delayed entry: who is treated depends on when "
            "they entered, so that Kaplan-Meier of the treated mixes risk sets that are not alike; "
            "use method='ipcw', or leave method out"
        )
    time, predicted = checked_time(time), read_curves(asked.curves)
    # Probabilities come back as they are, whatever they are of: 1 - (1 - r) would lose a digit.
    risk = predicted_survival(y, predicted, time, "survival", "risk_or_curves")
    risk = 1.0 - risk if isinstance(predicted, SurvivalCurves) else risk
    past = read_past(y, predicted, time)
    refuse_past_follow_up(y.present(), time)
    if censoring is not None and method != "ipcw":
        raise InputError(f"censoring is read by method='ipcw' only; got method={method!r}")
    levels = _thresholds(thresholds)
    ipcw = method == "ipcw"
    rule = _ipcw_rule(asked, time, censoring) if ipcw else _kaplan_meier_rule(asked, time)
    question, everybody = DecisionQuestion(y, risk, (time, method, asked.name), rule), y.weight >= 0
    weight = y.weight * taking_part(y, time)
    rows = []
    for p in levels:  # one after the other: contributions of all at once would fill the memory
        model, treat_all = question.at(p), question.at(p, everybody)
        share = float(np.average(question.treated(p), weights=weight))
        errors = model.stderr, treat_all.stderr, paired_error(model, treat_all)
        rows.append((model.value, treat_all.value, *errors, share, model.support["open_ended"]))
    values, all_values, stderr, all_stderr, gain_stderr, treated, open_ended = np.array(rows).T
    described, support = description(y, predicted, asked)
    described |= {"method": method, "time": time, "treated": "risk at least the threshold"}
    support |= past
    support["open_ended_thresholds"] = int(open_ended.sum())
    if y.count < 2:
        support["note"] = "there is one subject only, so net benefits have no standard error"
    return NetBenefit(
        levels, values, stderr, all_values, all_stderr, values - all_values, gain_stderr, treated,
        question.at(0.0, everybody).value, time, described, support, question,
    )  # fmt: skip


def _thresholds(given: Any) -> Floats:
    if given is None:
        return np.arange(1, 100) / 100
    levels = vector(np.atleast_1d(to_numpy(given, "thresholds")), "thresholds", minimum=0.0)
    if levels.size == 0:
        raise InputError("thresholds must have at least one risk; got none")
    if (levels >= 1).any():
        raise InputError(
            "thresholds must be risks of at least 0 and below 1 (a share, not a percentage); got "
            f"{levels.max():g}"
        )
    return levels
