"""What every metric says of every model on a draw, and what it should have said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..._tools.arrays import LARGEST, Floats
from ..._tools.progress import steps
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ...estimators.residual import LOSSES, Loss
from ...estimators.surrogates import Method
from ...metrics.record import Metric
from ...metrics.score import Support
from ...metrics.task import Task
from ...metrics.time.terms import Point, predicted_times, time_terms
from .scenarios import Draw, DrawnSubjects, Scenario


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
