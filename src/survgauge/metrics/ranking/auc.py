"""Cumulative/dynamic AUC: those who had the event by t against those still free of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, numbers, sorting_order, to_numpy
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...estimators.aalen_johansen import AalenJohansen, coded
from ...estimators.estimated_g import Derivative
from ...estimators.kaplan_meier import KaplanMeier
from ..checks import check_curves, check_times, known_until, one_cause, read_curves
from ..conventions import UNSUPPORTED, Convention
from ..ipcw import CensoringWeights
from ..past_curve import share_of_times
from ..robust_status import happened_at, status_convention, status_support
from ..score import CurveResult, Score, standard_error
from ..task import Task, supported_time
from ._concordance import as_close_as, below_half

METHODS = ("ipcw", "unweighted")
CONTROLS = ("without_event", "event_free")
STDERR = ("fixed", "estimated", "auto")


class CasesAndControls(NamedTuple):
    """Subjects in some order; (n,) each.

    A case had an event of the cause by t and weighs 1/G(t_i-). A control is event-free past t and
    weighs 1/G(t), or it had an event of another cause by t and weighs 1/G(t_j-).
    """

    time: Floats
    #: Weights as a case from the own time on, 0 of who is none.
    case: Floats
    #: Frequency times sampling weight; None: all count alike.
    weight: Floats | None
    #: Weights as a control from the own time on, of who had another event; None: nobody had.
    other: Floats | None

    def ordered(self, rows: Ints) -> CasesAndControls:
        """The same subjects in another order."""
        weight, other = (None if part is None else part[rows] for part in self[2:])
        return CasesAndControls(self.time[rows], self.case[rows], weight, other)

    def at(self, t: float, survivor_weight: Floats) -> tuple[Floats, Floats | Bools]:
        """Weights of the cases and of the controls at a time, given 1/G of those event-free then.

        Where controls weigh alike they are flags, which are counted much faster than weights are
        added up. Products with flags, because `numpy.where` takes much longer to choose at random.
        """
        seen = self.time <= t
        case = seen * self.case
        if self.weight is None and self.other is None and survivor_weight.size == 1:
            return case, ~seen & (survivor_weight > 0)
        control: Any = ~seen * (1.0 if self.weight is None else self.weight)
        control *= survivor_weight
        if self.other is not None:
            control += seen * self.other
        return case, control


@dataclass(frozen=True)
class AucSetting:
    """Outcomes, weights and the times asked for, validated."""

    y: Outcomes
    weight: Floats | None
    method: str
    convention: Convention
    weights: CensoringWeights
    asked: Floats
    on_unsupported: str
    #: None, or what the standard errors take G for.
    stderr: str | None
    #: Past this the predictions say nothing.
    predicted_until: float
    #: Cause that is predicted, and who had an event of another; None: one kind of event.
    cause: str | None = None
    competes: Bools | None = None
    #: Whether those with an event of another cause are controls.
    controls: str = "without_event"

    @cached_property
    def _other(self) -> Bools:
        """Who had an event of another cause."""
        return np.zeros(len(self.y), dtype=np.bool_) if self.competes is None else self.competes

    @cached_property
    def subjects(self) -> CasesAndControls:
        """Subjects in their own order."""
        y = self.y
        weight = 1.0 * (self.weights.event_weight if self.method == "ipcw" else y.event)
        if self.weight is not None:
            weight *= self.weight
        other, time = None, y.time
        if self._other.any() and self.controls == "without_event":
            other = np.where(self._other, weight, 0.0)
        if self.convention.censored_at_t == "event_free":
            time = np.where(y.event, time, np.nextafter(time, np.inf))
        return CasesAndControls(time, np.where(self._other, 0.0, weight), self.weight, other)

    def survivor_weight(self, t: float) -> Floats:
        """1/G(t) of subjects who are event-free past t, 0 where G = 0: one number, or one each."""
        if self.method != "ipcw":
            return np.ones(1)
        g = self.weights.survivors(t)
        return np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)

    @cached_property
    def identified_until(self) -> float:
        """Last time inside the follow-up, with G > 0 and predictions that speak."""
        end = float(self.y.present().time.max())
        if self.method == "ipcw":
            end = min(end, self.weights.identified_until)
        return min(end, self.predicted_until)

    @cached_property
    def unsupported(self) -> dict[str, Bools]:
        """Why times have no AUC, each time under its first reason."""
        asked, subjects, past = self.asked, self.subjects, self.asked > self.identified_until
        cases = asked >= np.min(subjects.time, where=subjects.case > 0, initial=np.inf)
        controls = np.zeros(asked.size, dtype=np.bool_)
        if not self.weights.by_subject:
            present = True if subjects.weight is None else subjects.weight > 0
            controls = asked < np.max(subjects.time, where=present, initial=0.0)
        for k in np.flatnonzero(~controls):
            controls[k] = subjects.at(asked[k], self.survivor_weight(asked[k]))[1].any()
        return {
            "past the identified range": past,
            "no cases": ~cases & ~past,
            "no controls": ~controls & cases & ~past,
        }

    @cached_property
    def supported(self) -> Bools:
        """Which of the times asked for have an AUC."""
        wrong = np.logical_or.reduce(list(self.unsupported.values()))
        if wrong.any() and self.on_unsupported == "raise":
            raise InputError(
                f"{self._complaint(wrong)}; drop them or pass on_unsupported='truncate'"
            )
        if wrong.all() and self.on_unsupported == "truncate":
            raise UndefinedMetricError(self._complaint(wrong))
        return ~wrong

    def _complaint(self, wrong: Bools) -> str:
        found = [
            f"{reason}: {', '.join(f'{t:g}' for t in self.asked[times][:3])}"
            + (f", ... ({int(times.sum())} in all)" if times.sum() > 3 else "")
            for reason, times in self.unsupported.items()
            if times.any()
        ]
        return (
            f"times: {int(wrong.sum())} of {wrong.size} have no AUC ({'; '.join(found)}); it needs "
            f"an event before, an event-free subject after, and is identified up to "
            f"{self.identified_until:g}"
        )

    def rises(self, times: Floats) -> Floats:
        """How far the test set's incidence of the cause rises between times."""
        y = self.y.reweighted(self.weight)
        if self.competes is None:  # the same to the last digits, without sorting again
            return -np.diff(KaplanMeier.fit(y).at(times), prepend=1.0)
        return np.diff(AalenJohansen.fit(coded(y, self.competes)).at(times, "own"), prepend=0.0)

    def describe(self, predicted: Any) -> dict[str, Any]:
        """Say which definitions the numbers follow."""
        convention: dict[str, Any] = {"method": self.method}
        if self.method == "ipcw":
            convention |= self.weights.describe()
            given = {None: None, "fixed": "G fixed", "estimated": "G estimated in sample"}
            convention["stderr"] = given[self.stderr]
        else:
            convention["convention"] = self.convention.name
            convention["censored_at_t"] = self.convention.censored_at_t
        convention["mean"] = "weighted by the fall of the test set's Kaplan-Meier"
        if self.cause is not None:
            convention |= {"cause": self.cause, "controls": self.controls}
            convention["mean"] = "weighted by the rise of the test set's Aalen-Johansen"
        if isinstance(predicted, SurvivalCurves):
            convention["interpolation"] = predicted.interpolation
            convention["curve_tail"] = predicted.tail
        return convention

    def support(self) -> dict[str, Any]:
        """Count what the data do and do not cover."""
        y, wrong = self.y, self.unsupported
        support: dict[str, Any] = {
            "subjects": y.count,
            "events": y.event_count,
            "identified_until": self.identified_until,
            "times": int(self.supported.sum()),
            "times_left_out": int((~self.supported).sum()),
        }
        last = np.max(self.asked, where=self.supported, initial=0.0)
        used = y.event & ~self._other & (y.time <= last) & (y.weight > 0)
        support["cases"] = float(y.weight[used].sum())
        support["controls"] = float(y.weight[y.time > last].sum())
        notes = {f"times left out: {why}": int(k.sum()) for why, k in wrong.items() if k.any()}
        if self.method == "ipcw":
            weight = self.weights.event_weight
            lost = int((used & (weight == 0)).sum())
            if lost:
                notes["no cases: events with G = 0"] = lost
            support["largest_weight"] = float(np.max(weight, where=used, initial=0.0))
            support["mean_weight"] = self.weights.mean_weight(float(last), self.weight)
        return support | {"notes": notes}


_COLUMNS = 8  # times read at once: one cache line of a row of curves


def _risks(predicted: Any, setting: AucSetting, times: Any) -> Floats | Iterator[Floats]:
    """One risk per subject, or the risks at one supported time after the other."""
    n, k, keep = len(setting.y), setting.asked.size, setting.supported
    tolerance = setting.convention.auc_tolerance
    asked, read = setting.asked[keep], None
    if isinstance(predicted, SurvivalCurves):
        curves = check_curves(predicted, setting.y)

        def read(part: slice) -> Floats:
            """Minus S: the order of 1 - S without its rounding."""
            return -curves.at(asked[part])

    else:
        predicted = to_numpy(predicted, "risk_or_curves")
        risk = numbers(predicted, "risk_or_curves", ndim=2 if predicted.ndim == 2 else 1)
        if risk.shape not in ((n,), (n, k)):
            raise InputError(
                f"risk_or_curves must be curves, or risks of shape ({n},) or ({n}, {k}) for {n} "
                f"subjects and {k} times; got {risk.shape}"
            )
        if np.isnan(risk.min()):
            unknown = np.flatnonzero(np.isnan(risk).reshape(n, -1).any(axis=1))
            raise InputError(f"risk_or_curves must not be NaN; it is for {numbered(unknown)}")
        if risk.ndim == 1:
            return as_close_as(tolerance, risk.astype(np.float64))
        # Columns follow the times as given; the times have been sorted.
        order = np.argsort(np.atleast_1d(np.asarray(times, dtype=np.float64)), kind="stable")
        column = order[keep]

        def read(part: slice) -> Floats:
            return risk[:, column[part]].astype(np.float64)

    blocks = (slice(first, first + _COLUMNS) for first in range(0, asked.size, _COLUMNS))
    return (
        column
        for part in blocks
        for column in as_close_as(tolerance, np.ascontiguousarray(read(part).T))
    )


def _points(
    setting: AucSetting, risk: Floats | Iterator[Floats], contributions: bool
) -> Iterator[tuple[float, Floats | None]]:
    """AUC at one supported time after the other, with what each subject contributes to it.

    One risk per subject is sorted once for all times; of curves, those who are a case or a control
    are sorted at each time.
    """
    subjects, n = setting.subjects, len(setting.y)
    columns, rows, first = None, np.arange(n), None
    if isinstance(risk, np.ndarray):
        rows, first = _by_risk(risk)
        subjects = subjects.ordered(rows)
    else:
        columns = risk
    for t in setting.asked[setting.supported].tolist():
        free = setting.survivor_weight(t)
        case, control = subjects.at(t, free[rows] if columns is None and free.size > 1 else free)
        if columns is not None:
            rows = np.flatnonzero((case > 0) | control.astype(np.bool_, copy=False))
            order, first = _by_risk(next(columns)[rows])
            rows = rows[order]
            case, control = case[rows], control[rows]
        value, parts = _compared(case, control, first, contributions)
        if parts is None:
            yield value, None
            continue
        influence = np.zeros(n)
        influence[rows] = parts
        influence += _through_g(setting, influence, t)
        yield value, influence


def _by_risk(risk: Floats) -> tuple[Ints, Ints | None]:
    """Rows in rising order of risk, and where each risk begins; None: all differ."""
    order = sorting_order(risk)
    ordered = risk[order]
    new = ordered[1:] != ordered[:-1]
    return order, None if new.all() else np.flatnonzero(np.concatenate(([True], new)))


def _compared(
    case: Floats, control: Floats | Bools, first: Ints | None, contributions: bool
) -> tuple[float, Floats | None]:
    """Share of the pairs of case and control in which the case has the higher risk (ties: half).

    Also what each subject contributes: its own share less the mean, as a case and as a control
    [1]_. Subjects are in order of risk.

    .. [1] Blanche, Dartigues, Jacqmin-Gadda (2013). Estimating and comparing time-dependent areas
       under receiver operating characteristic curves for censored event times with competing risks.
       Statistics in Medicine 32(30), 5381-5397.
    """
    # Of many subjects every array counts: each is made when it is needed, and changed in place.
    (parts, controls), cases = _below(control, first), float(case.sum())
    parts *= case
    value = float(parts.sum()) / cases
    if not contributions:
        return value, None
    parts -= value * case
    parts /= cases
    above, _ = _below(case, first)
    np.subtract(1.0 - value, above, out=above)
    above *= control
    above /= controls
    return value, np.add(parts, above, out=parts)


def _below(weight: Floats | Bools, first: Ints | None) -> tuple[Floats, float]:
    """Share of the weight that is below each subject in risk, with half of what is level; and all.

    Where all risks differ a subject's own weight is whole: as a rule it is in one role only.
    """
    kind: Any = np.int32 if weight.dtype == np.bool_ else np.float64
    level: Any = weight if first is None else np.add.reduceat(weight, first, dtype=kind)
    below: Any = np.cumsum(level, dtype=kind)
    total = float(below[-1])  # the last of these sums, so that all is exactly 1
    if first is not None:
        below = np.repeat(below - level / 2, np.diff(first, append=weight.size))
    return below / total, total


def _through_g(setting: AucSetting, influence: Floats, t: float) -> Floats | float:
    """What subjects contribute through a G that was estimated from them.

    Who was seen by t weighs 1/G(T-) and who is event-free 1/G(t), under delayed entry times G(a).
    """
    g = setting.weights.estimated
    if g is None or setting.stderr != "estimated":
        return 0.0
    event = np.where(setting.y.time <= t, influence, 0.0)
    free = np.array([influence.sum() - event.sum()])
    own = None if setting.y.entry is None else influence - event
    return g.influence(Derivative(event, free, np.array([t]), own))


def cumulative_dynamic_auc(
    y_true: Any,
    risk_or_curves: Any,
    times: Any,
    *,
    y_train: Any = None,
    method: str = "ipcw",
    convention: str | Convention | None = None,
    censoring: Any = None,
    on_unsupported: str = "truncate",
    stderr: str | None = None,
    sample_weight: Any = None,
    cause: int | str | None = None,
    controls: str = "without_event",
) -> CurveResult:
    r"""How well a risk separates those with the event by t from those without it, at each t.

    .. math::
        AUC(t) = \frac{\sum_{i: e_i, t_i \le t} \sum_{j: t_j > t} G(t_i-)^{-1}
        [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}
        {\sum_{i: e_i, t_i \le t} G(t_i-)^{-1} \sum_{j: t_j > t} 1}

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    risk_or_curves : array-like of shape (n,) or (n, k), or SurvivalCurves
        One risk per subject (higher means earlier), one at each of `times`, or curves, whose risk
        at t is 1 - S(t). Only equal values are tied; under the presets of packages that tie values
        closer than 1e-8 (scikit-survival, torchsurv) they are rounded to that.
    times : array-like of shape (k,)
        Distinct times, in any order; they are returned sorted.
    y_train : outcomes, optional
        Training outcomes: where G comes from under ``censoring="train"``.
    method : {"ipcw", "unweighted"}
        With or without the weights 1/G.
    convention : str or Convention, optional
        Another package's limits of G and controls: sksurv, torchsurv, survivaleval (somebody
        censored at t is a control), riskregression.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G comes from: by default the test subjects; "train": `y_train`; a function G(t, side)
        of one time per subject, in which case controls weigh 1/G(t | x).
    on_unsupported : {"truncate", "raise", "nan"}
        What to do with times past the identified range, without cases or without controls: leave
        them out, refuse them, or return NaN there and for a mean that would need them.
    stderr : {None, "fixed", "estimated", "auto"}
        Standard errors that take G as given, or as estimated from these subjects; "auto": the
        latter wherever it is.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of its two weights; frequencies of the outcomes multiply. G of
        the test subjects is estimated with them. Subjects of weight 0 are left out.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or
        risks. Cases are those with an event of this cause by t.
    controls : {"without_event", "event_free"}
        With `cause`: all without an event of it by t, so that those with an event of another cause
        are controls and weigh 1/G(t_j-) (as in riskRegression); or only those without any event.

    Returns
    -------
    CurveResult
        `times`, `values`, `mean` (weighted by how far the test set's Kaplan-Meier falls, or the
        incidence of the cause rises, from one time to the next), `stderr`, `convention`, `support`.

    References
    ----------
    Hung and Chiang (2010), Canadian Journal of Statistics 38. Blanche, Dartigues and
    Jacqmin-Gadda (2013), Statistics in Medicine 32.

    Examples
    --------
    >>> y = ([1, 2, 4, 5, 7], [1, 1, 1, 0, 1])
    >>> result = cumulative_dynamic_auc(y, [9, 4, 5, 1, 2], [0, 1.5, 3, 7])
    >>> result.times, result.values
    (array([1.5, 3. ]), array([1.        , 0.83333333]))
    >>> round(result.mean, 4), result.support["notes"]
    (0.9167, {'times left out: no cases': 1, 'times left out: no controls': 1})
    """
    one_of("method", method, METHODS)
    one_of("on_unsupported", on_unsupported, UNSUPPORTED)
    preset = Convention.of(convention)
    one_of("controls", controls, CONTROLS)
    asked_for = one_cause(y_true, risk_or_curves, y_train, cause, entry=method == "ipcw")
    predicted = read_curves(asked_for.curves)
    y, sampling = asked_for.y.sampled(sample_weight)
    weight = y.frequency if sampling is None else sampling
    weights = censoring
    if not isinstance(censoring, CensoringWeights):
        weights = CensoringWeights(y, asked_for.y_train, censoring, preset, weight=sampling)
    if stderr is not None:
        one_of("stderr", stderr, STDERR)
    own = weights.own and preset.g_ties == "events_first"
    own &= preset.event_limit == "left" and preset.censored_at_t != "event_free"
    own &= preset.g_floor == 0 and method == "ipcw"
    if stderr == "auto":
        stderr = "estimated" if own else "fixed"
    if stderr == "estimated" and not own:
        raise InputError(
            "stderr='estimated' needs method='ipcw', G from the test subjects themselves, and left "
            "limits of G; use stderr='fixed'"
        )
    until = np.inf
    if isinstance(predicted, SurvivalCurves):
        until = known_until(check_curves(predicted, y))
    setting = AucSetting(
        y, weight, method, preset, weights, check_times(times), on_unsupported, stderr, until,
        asked_for.name, asked_for.competes, controls,
    )  # fmt: skip
    return _scored(setting, predicted, times)


def _scored(setting: AucSetting, predicted: Any, times: Any) -> CurveResult:
    """AUC at the supported times, and their mean."""
    stderr = setting.stderr
    risk = _risks(predicted, setting, times)
    asked, supported = setting.asked, setting.supported
    scored = asked[supported]
    # At a supported time there are cases, so the incidence has risen; what is one time's share is
    # all.
    rise = setting.rises(scored) if scored.size > 1 else np.ones(scored.size)
    values, spread, contributions = np.empty(scored.size), np.empty(scored.size), np.zeros(1)
    for k, (value, part) in enumerate(_points(setting, risk, stderr is not None)):
        values[k] = value
        if part is not None:
            spread[k] = standard_error(part, setting.y.frequency)
            contributions = contributions + rise[k] * part
    described = setting.describe(predicted)
    support = setting.support()
    if isinstance(predicted, SurvivalCurves):
        support["past_curve"] = share_of_times(predicted, scored, setting.weight)
    mean, total = float("nan"), float(rise.sum())
    # By policy, the mean is over the supported times or over all that were asked for.
    defined = setting.on_unsupported == "truncate" or bool(
        supported.any() and not setting.rises(asked)[~supported].any()
    )
    if defined and total > 0:
        mean = float((values * rise).sum() / total)
    own: Floats | None = None
    if stderr is not None and not np.isnan(mean):
        own = contributions / total
        support["sign_may_be_wrong"] = below_half(mean, own, setting.y.frequency, support["events"])
    details = Score(mean, described, support, own, setting.y.frequency, scale="logit")
    errors = None if stderr is None else spread
    if setting.on_unsupported == "truncate":
        return CurveResult(scored, values, mean, errors, details)
    full = np.full((2, asked.size), np.nan)
    full[:, supported] = values, spread
    return CurveResult(asked, full[0], mean, None if errors is None else full[1], details)


def cumulative_dynamic_auc_details(
    y_true: Any, risk_or_curves: Any, times: Any, *, stderr: str = "auto", **options: Any
) -> Score:
    """Mean of `cumulative_dynamic_auc` (of one time, that AUC) with its standard error."""
    return cumulative_dynamic_auc(y_true, risk_or_curves, times, stderr=stderr, **options).details


def robust_auc(task: Task, prediction: Prediction) -> Score:
    r"""Return the share of pairs with and without the event by a time that a risk orders rightly.

    With the doubly robust indicators c of the event by the time,

    .. math:: AUC = \frac{\sum_{i \ne j} c_i (1 - c_j) k(r_i, r_j)}{\sum_{i \ne j} c_i (1 - c_j)}

    where k is 1 if :math:`r_i > r_j` and one half for equal risks. Contributions are the first
    order of this ratio of sums over pairs.
    """
    time = supported_time(task)
    happened, weight = happened_at(task, time), task.weight
    case, control = weight * happened, weight * (1.0 - happened)
    itself = weight * happened * (1.0 - happened)  # a subject makes no pair with itself
    pairs = float(case.sum() * control.sum() - itself.sum())
    if not pairs > 0:
        raise UndefinedMetricError(
            f"there are no pairs of subjects with and without the event by time {time:g}"
        )
    risk: Any = prediction.risk
    if prediction.curves is not None:
        risk = 1.0 - prediction.curves.at(np.array([time]))[:, 0]
    order, first = _by_risk(np.asarray(risk, dtype=np.float64))
    first = np.arange(order.size) if first is None else first
    ahead, behind = np.empty(happened.size), np.empty(happened.size)
    ahead[order] = _below(control[order], first)[0] * control.sum()
    behind[order] = case.sum() * (1.0 - _below(case[order], first)[0])
    value = float(case @ ahead - itself.sum() / 2) / pairs
    each = case * control.sum() + control * case.sum() - 2.0 * itself
    contributions = (case * ahead + control * behind - itself - value * each) / pairs
    convention = {"time": time, **status_convention(task, time)}
    return Score(
        value, convention, status_support(task, time).result(), contributions, task.y.frequency
    )
