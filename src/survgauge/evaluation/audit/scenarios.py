"""Scenarios: distributions of event and censoring time; what metrics say of draws from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from ..._tools.arrays import LARGEST, Floats, Ints, look_up
from ..._tools.random import stream
from ..._tools.running import steps
from ...data.curves import SurvivalCurves
from ...data.interpolation import tail_time
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ...estimators.copulas import parameter, second_given_first
from ...estimators.kaplan_meier import KaplanMeier
from ...estimators.reference import Reference
from ...estimators.residual import LOSSES, Loss
from ...estimators.surrogates import Method
from ...metrics.record import Metric
from ...metrics.score import Support
from ...metrics.task import Task
from ...metrics.time.terms import Point, predicted_times, time_terms

#: Kinds of scenarios, and what each takes the event times from.
KINDS = {
    "models": "the models' own curves",
    "kaplan_meier": "Kaplan-Meier of the reference set",
    "conditional": "the distribution given the features",
    "dependent": "censoring that depends on the event time",
}
#: Survival at the end of Kaplan-Meier from which it matters how it goes on.
_OPEN_END = 0.01


class TimeDistribution(Protocol):
    """What the times of a scenario are drawn from.

    Every distribution turns a *level*, a uniform number in (0, 1], into the first time at which the
    subject's survival function is at or below it.
    """

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return one time for each of `rows`, subjects of the test set; a row may come twice."""


@dataclass(frozen=True)
class CurveDistribution:
    """A curve of its own for every test subject."""

    curves: SurvivalCurves

    @classmethod
    def of(cls, curves: SurvivalCurves, tail: str | None = None) -> CurveDistribution:
        """Take curves as distributions, with another `tail` if one is given.

        Monotone cubics are replaced by lines between denser points, once for all draws. Curves
        whose tail refuses to say how they go on (`nan`) go on linearly.
        """
        if curves.interpolation == "pchip":
            curves = curves.joined_by_lines()
        tail = tail or ("linear" if curves.tail == "nan" else curves.tail)
        return cls(curves if tail == curves.tail else curves.with_tail(tail))

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time at which each row's curve has come down to its level."""
        return self.curves.times_at(rows, level)


@dataclass(frozen=True)
class StepDistribution:
    """One Kaplan-Meier estimate for everybody, with a tail past its last time."""

    km: KaplanMeier
    tail: str

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time at which the estimate has come down to each level."""
        survival, known = self.km.survival, self.km.times
        place = look_up(-survival, -level, "left")
        found = known.take(np.minimum(place, known.size - 1))
        past = place == known.size
        if past.any():
            end = np.full(int(past.sum()), survival[-1])
            found[past] = tail_time(level[past], np.full(end.size, known[-1]), end, self.tail)
        return found


@dataclass(frozen=True)
class NeverDistribution:
    """Nobody is censored."""

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return infinite times."""
        return np.full(rows.size, np.inf)


@dataclass(frozen=True)
class MixtureDistribution:
    """For every subject one of several distributions, each as likely as the others."""

    distributions: tuple[TimeDistribution, ...]

    def times(self, rows: Ints, level: Floats, rng: np.random.Generator) -> Floats:
        """Return the time under the distribution that was drawn for each subject."""
        which = rng.integers(len(self.distributions), size=rows.size)
        found = np.empty(rows.size)
        for k, distribution in enumerate(self.distributions):
            mine = np.flatnonzero(which == k)
            found[mine] = distribution.times(rows[mine], level[mine], rng)
        return found


@dataclass(frozen=True)
class Scenario:
    """A distribution of T and of C for every test subject, and how the two depend on each other."""

    name: str
    kind: str
    distribution: TimeDistribution
    censoring: TimeDistribution
    copula: str = "clayton"
    kendall_tau: float = 0.0

    @property
    def independent(self) -> bool:
        """Whether event and censoring times are independent given the subject."""
        return self.kendall_tau == 0

    def times(self, rows: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw event and censoring times of some of the test subjects."""
        level, other = 1.0 - rng.random(rows.size), 1.0 - rng.random(rows.size)
        if not self.independent:
            other = second_given_first(
                self.copula, parameter(self.copula, self.kendall_tau), level, other
            )
        return self.distribution.times(rows, level, rng), self.censoring.times(rows, other, rng)


@dataclass(frozen=True)
class Draw:
    """Event times of all test subjects, what would be seen of them, and a reference set."""

    time: Floats
    y: Outcomes
    reference: Reference | None


@dataclass(frozen=True)
class DrawnSubjects:
    """Who is drawn: the test subjects, and a reference set of them."""

    y: Outcomes
    #: Number of subjects in the reference set; None: the test subjects are their own.
    reference_size: int | None
    #: Frequency times sampling weight, by which the reference set is drawn from the test subjects.
    weight: Floats

    def draws(self, scenario: Scenario, number: int, seed: int) -> Iterator[Draw]:
        """Draw a scenario `number` times; draw k does not depend on how many there are."""
        everybody = np.arange(len(self.y))
        weight = self.y.frequency
        for k in range(number):
            rng = stream(seed, "audit", scenario.kind, scenario.name, k)
            time, censored = scenario.times(everybody, rng)
            y = _observed(time, censored, weight)
            reference = None
            if self.reference_size is not None:
                reached = np.cumsum(self.weight)  # each as likely as what it stands for
                drawn_at = rng.random(self.reference_size) * reached[-1]
                rows = np.searchsorted(reached, drawn_at, side="right")
                reference = Reference(_observed(*scenario.times(rows, rng), None))
            yield Draw(time, y, reference)


def _observed(time: Floats, censored: Floats, weight: Floats | None) -> Outcomes:
    """What is seen of event and censoring times; events come first at equal times."""
    seen = np.minimum(np.minimum(time, censored), LARGEST)
    return Outcomes(seen, time <= censored, weight, copy=False)


def scenarios(
    predictions: Mapping[str, Prediction],
    y: Outcomes,
    reference: Reference,
    conditional: Any,
    dependence: Sequence[float],
    copula: str,
) -> list[Scenario]:
    """Return all scenarios of an audit, those of one kind one after the other.

    Parameters
    ----------
    predictions : mapping of name to Prediction
        The models; those with curves give a scenario each.
    y : Outcomes
        Test outcomes, each standing for as many subjects as it was sampled for.
    reference : Reference
        Reference set, whose Kaplan-Meier estimate gives a scenario; two where it ends above zero.
    conditional : Conditional, optional
        Distribution and censoring given the features.
    dependence : sequence of float
        Kendall's tau of event and censoring times in the dependent scenarios.
    copula : str
        How they depend on each other.
    """
    censoring = _censoring(y, conditional)
    found = [
        Scenario(f"curves of {name}", "models", CurveDistribution.of(prediction.curves), censoring)
        for name, prediction in predictions.items()
        if prediction.curves is not None
    ]
    base: TimeDistribution | None = (
        MixtureDistribution(tuple(scenario.distribution for scenario in found)) if found else None
    )
    marginal = _kaplan_meier(reference, censoring)
    found += marginal
    if base is None and marginal:
        base = marginal[0].distribution
    if conditional is not None and conditional.distribution is not None:
        base = CurveDistribution.of(conditional.distribution)
        found.append(Scenario("distribution given the features", "conditional", base, censoring))
    if base is None or isinstance(censoring, NeverDistribution):
        return found
    plain = Scenario("", "dependent", base, censoring, copula)
    return found + [
        replace(plain, name=f"{copula}, Kendall's tau {tau:g}", kendall_tau=float(tau))
        for tau in dependence
    ]


def _censoring(y: Outcomes, conditional: Any) -> TimeDistribution:
    """Distribution of the censoring time: given, or reverse Kaplan-Meier of the test subjects.

    Where G does not reach zero, the rest is censored at the last time, so that no subject is
    followed for longer than the test subjects were. Without a censored subject nobody is censored.
    """
    if conditional is not None and conditional.censoring is not None:
        return CurveDistribution.of(conditional.censoring, "hold")
    if y.present().event.all():
        return NeverDistribution()
    return StepDistribution(Reference(y).censoring, "hold")


def _kaplan_meier(reference: Reference, censoring: TimeDistribution) -> list[Scenario]:
    """Kaplan-Meier of the reference set; where it ends above zero, with two tails."""
    left = reference.last_survival
    if left >= 1:
        return []  # no event: Kaplan-Meier says nothing about event times
    names = {"linear": "Kaplan-Meier"}
    if left > _OPEN_END:
        names = {tail: f"Kaplan-Meier, {tail} tail" for tail in ("linear", "exponential")}
    return [
        Scenario(name, "kaplan_meier", StepDistribution(reference.km, tail), censoring)
        for tail, name in names.items()
    ]


@dataclass(frozen=True)
class AuditQuestion:
    """A metric, asked with or without a horizon."""

    metric: Metric
    #: Up to which time it looks; None: to the end, or where the data support ends.
    horizon: float | None
    #: Time that the metric is read at; None: it is about no single time.
    time: float | None = None
    #: Whether it is asked at other times too.
    several: bool = False

    @property
    def asks(self) -> str:
        """What the metric estimates: time errors with the same loss estimate the same number."""
        if self.metric.method is None:
            name = self.metric.name
            return f"{name} at {self.time:g}" if self.several and self.time is not None else name
        return f"root {self.metric.loss}" if self.metric.root else self.metric.loss

    @property
    def lower(self) -> bool:
        """Whether lower values are better."""
        return self.metric.direction == "lower"

    @property
    def recommended(self) -> bool:
        """Whether it is the error that evidence supports: doubly robust, within a horizon."""
        return self.by_times and self.method.reads_g and self.horizon is not None

    @property
    def by_times(self) -> bool:
        """Whether it is a time error that is computed for all models at once."""
        if self.metric.method is None:
            return False
        return self.rule.domain is None and not self.rule.normalised

    @property
    def method(self) -> Method:
        """What censored subjects count as in a time error."""
        return cast(Method, self.metric.method)

    @property
    def rule(self) -> Loss:
        """Loss of a time error."""
        return LOSSES[self.metric.loss]


class AuditScorer:
    """All questions about all models, with what does not change from draw to draw looked up once.

    `task` is the question about the real data, whose settings every draw shares. A question that
    some model cannot answer is left out, see `left_out`.
    """

    def __init__(
        self,
        task: Task,
        predictions: Mapping[str, Prediction],
        questions: Iterable[AuditQuestion],
    ) -> None:
        self._task = replace(task, contributions=False)
        self._predictions = list(predictions.values())
        self._times: dict[tuple[str, float | None], Floats] = {}
        #: Why questions are not asked, by what they ask and the horizon.
        self.left_out: dict[tuple[str, float | None], str] = {}
        self.questions = [question for question in questions if self._usable(question)]

    def _usable(self, question: AuditQuestion) -> bool:
        """Read predicted times off once; without a finite one there is no time error."""
        if question.metric.method is None:
            return True
        point, tau = question.rule.point, question.horizon
        if (point, tau) in self._times:
            return True
        try:
            read = [
                predicted_times(prediction.times, len(self._task.y), point, tau)[0]
                for prediction in self._predictions
            ]
        except UndefinedMetricError as error:
            self.left_out[question.asks, tau] = str(error)
            return False
        self._times[point, tau] = np.stack(read)
        return True

    def scores(
        self, scenario: Scenario, subjects: DrawnSubjects, number: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Return values and truths of `number` draws of a scenario: (draws, models, questions)."""
        shape = number, len(self._predictions), len(self.questions)
        values, truths = np.empty(shape), np.empty(shape)
        drawn = steps(subjects.draws(scenario, number, seed), number, f"scenario {scenario.name}")
        for k, draw in enumerate(drawn):
            values[k], truths[k] = self.score(draw)
        return values, truths

    def score(self, draw: Draw) -> tuple[Floats, Floats]:
        """Return values and truths of one draw: (models, questions) each."""
        shape = len(self._predictions), len(self.questions)
        values, truths = np.empty(shape), np.empty(shape)
        asked: dict[float | None, _Asked] = {}
        for place, question in enumerate(self.questions):
            tau = question.horizon
            if tau not in asked:
                asked[tau] = _Asked(replace(self._task, tau=tau), draw)
            if question.by_times:
                times = self._times[question.rule.point, tau]
                values[:, place], truths[:, place] = asked[tau].time_errors(question, times)
            else:
                for k, prediction in enumerate(self._predictions):
                    pair = asked[tau].measured(question, prediction)
                    values[k, place], truths[k, place] = pair
        return values, truths


class _Asked:
    """A draw, asked with one horizon; square and root share their means."""

    def __init__(self, settings: Task, draw: Draw) -> None:
        self.draw, self.tau = draw, settings.tau
        self.task = replace(settings, y=draw.y, reference=draw.reference)
        self._known: dict[Any, Any] = {}

    def time_errors(self, question: AuditQuestion, times: Floats) -> tuple[Floats, Floats]:
        """Return the error of each model as estimated, and its true error."""
        method, rule = question.method, question.rule
        key = method.name, rule.name
        if key not in self._known:
            self._known[key] = self._estimated(method, rule, times)
        if rule.name not in self._known:
            actual = self.draw.time if self.tau is None else np.minimum(self.draw.time, self.tau)
            self._known[rule.name] = self._mean(rule.of(actual, times))
        found, true = self._known[key], self._known[rule.name]
        # A doubly robust mean may be negative; its root is not defined then.
        with np.errstate(invalid="ignore"):
            return (np.sqrt(found), np.sqrt(true)) if question.metric.root else (found, true)

    def _estimated(self, method: Method, rule: Loss, times: Floats) -> Floats:
        normalize, found = self.task.convention.normalize, np.full(times.shape[0], np.nan)
        for k, own in enumerate(times):
            try:
                point = Point(own, Support())
                terms = time_terms(self.task.setting, point, method.name, rule, normalize, {})
            except UndefinedMetricError:
                continue
            total = float(terms.s.sum())
            if total > 0 and terms.weight.any():
                found[k] = float(terms.a.sum()) / total
        return found

    def _mean(self, loss: Floats) -> Floats:
        """Mean over the subjects, by their frequencies and sampling weights."""
        weight = self.task.weight
        return np.einsum("kn,n->k", loss, weight) / weight.sum()

    def measured(self, question: AuditQuestion, prediction: Prediction) -> tuple[float, float]:
        """Return any other metric of one model, and its value had nobody been censored."""
        if "known" not in self._known:
            self._known["known"] = self.task.with_truth(np.minimum(self.draw.time, LARGEST))
        known = self._known["known"]
        return _value(question, self.task, prediction), _value(question, known, prediction)


def _value(question: AuditQuestion, task: Task, prediction: Prediction) -> float:
    metric, time = question.metric, question.time
    at = next(at for at in metric.at_times(task) if metric.time_of(at) == time)
    try:
        return float(metric.measure(at, prediction).value)
    except UndefinedMetricError:
        return float("nan")
