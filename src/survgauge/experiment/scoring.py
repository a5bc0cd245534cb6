"""Metrics of one fold with their true counterparts, computed with the real event times."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, SupportsFloat

import numpy as np

from .._tools.arrays import Floats
from .._tools.calls import called
from ..data.causes import Codes
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, SurvgaugeError, UndefinedMetricError
from ..metrics.problem import Problem
from ..metrics.registry import REGISTRY
from ..metrics.terms import Terms
from ..reference.conditional import Conditional
from ..reference.reference import Reference
from .laws import KM, MODEL, chosen, unpack_law
from .metric_specs import HORIZON, MetricSpec

_LONGEST_TEXT = 400


@dataclass
class Questions:
    """What all models of a fold are asked: test and training outcomes, and the hidden truth.

    Horizons, Kaplan-Meier estimates and laws given features are made once for all models.
    """

    y: Outcomes
    reference: Reference
    true_time: Floats
    #: With several causes: the code of the one that is asked about, and those of the real events.
    cause: int | None = None
    true_cause: Codes | None = None
    _problems: dict[str, Problem] = field(default_factory=dict)
    _laws: dict[str, Conditional] = field(default_factory=dict)

    def take_laws(self, packed: Mapping[str, bytes]) -> None:
        """Take fitted laws by their names, see `laws.pack_law`."""
        for name, content in packed.items():
            if name not in self._laws:
                self._laws[name] = unpack_law(content)

    def problem(self, settings: dict[str, Any]) -> Problem:
        """Test outcomes against the training outcomes; no model and no metric sees the truth."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._problems:
            given = {k: v for k, v in settings.items() if not (k == "tau" and v == HORIZON)}
            given |= self._law(settings)
            given.pop("law", None)
            # G of the training set, as in the paper and in what was published of it.
            given = {"convention": "paper", "cause": self.cause, **given}
            problem = Problem.of(self.y, self.reference, **given)
            if settings.get("tau") == HORIZON:
                tau = self._horizon(settings)
                problem = replace(problem, tau=tau, horizon=tau)
                if "time" not in settings:
                    problem = replace(problem, time=tau, times=(tau,))
            self._problems[key] = problem
        return self._problems[key]

    def _horizon(self, settings: dict[str, Any]) -> float:
        """Largest time that the fold supports: one for all metrics, whatever G they use."""
        limits = {k: v for k, v in settings.items() if k in ("min_g", "min_at_risk")}
        return self.problem(limits).horizon

    def _law(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a `Problem` that the law of some settings stands for."""
        name = settings.get("law", KM)
        if name == KM:
            return {}
        if name not in self._laws:
            raise InputError(
                f"the law {name!r} of this fold could not be fitted; see the failures of the run"
            )
        # Where the law has no model of censoring, because Kaplan-Meier predicts it as well.
        source = {"censoring": "test"} if settings.get("censoring") == MODEL else {}
        return {**source, "conditional": chosen(self._laws[name], settings)}

    def true_problem(self, settings: dict[str, Any]) -> Problem:
        """Ask the same question, same horizon and time of interest, with every event known."""
        return self.problem(settings).with_truth(self.true_time, self.true_cause)


@dataclass(frozen=True)
class Attempt:
    """What became of a metric: a value, or why there is none.

    `note` is the reason where it is undefined on the fold, `error` and `trace` where it failed.
    """

    value: float | None = None
    stderr: float | None = None
    note: str | None = None
    error: str | None = None
    trace: str = ""

    @classmethod
    def of(
        cls, spec: MetricSpec, question: Callable[[], Problem], prediction: Prediction
    ) -> Attempt:
        """Compute a metric; whatever it raises is its own affair and not that of the others."""
        try:
            return cls(*_number(spec, question(), prediction))
        except UndefinedMetricError as error:
            return cls(note=str(error))
        except Exception as error:
            kind = "" if isinstance(error, SurvgaugeError) else f"{type(error).__name__}: "
            trace = "".join(traceback.format_exception(error))
            return cls(error=brief(f"{kind}{error}"), trace=trace)


def score(
    questions: Questions, prediction: Prediction, metrics: tuple[MetricSpec, ...]
) -> tuple[list[dict[str, Any]], dict[str, Attempt]]:
    """Compute all metrics that the prediction allows, each with its truth.

    Returns
    -------
    rows : list of dict
        metric, value, stderr, truth, true_value, true_stderr and, where a metric is undefined on
        the fold, a note, and where it or its truth failed, the error; numbers are None where they
        do not exist.
    failed : dict
        Metrics, or truths of metrics, that failed.
    """
    rows, failed = [], {}
    truths: dict[str, Attempt] = {}
    for spec in metrics:
        if not spec.offered_by(prediction):
            continue
        found = Attempt.of(spec, partial(questions.problem, spec.settings), prediction)
        label = spec.truth_label
        if label and label not in truths:
            truths[label] = _true(spec, questions, prediction)
        true = truths.get(label, Attempt())
        row = {"metric": spec.label, "value": found.value, "stderr": found.stderr, "truth": label}
        row |= {"true_value": true.value, "true_stderr": true.stderr}
        for what, part in ((spec.label, found), (f"truth of {spec.label}", true)):
            if part.error is not None:
                failed[what] = part
                row.setdefault("error", part.error if part is found else f"its truth: {part.error}")
        rows.append(row if found.note is None else {**row, "note": found.note})
    return rows, failed


def _number(
    spec: MetricSpec, problem: Problem, prediction: Prediction
) -> tuple[float | None, float | None]:
    """Value and standard error of a metric; a function of the user's may give losses instead."""
    if problem.cause is not None:
        prediction = prediction.ranked_by(problem.until)
    if spec.function is None:
        result: Any = REGISTRY[spec.name].measure(problem, prediction)
    else:
        what = str(spec.function)
        result = called(spec.load(), what, problem, prediction)
        if isinstance(result, Terms) or np.ndim(result):
            result = Terms.of(result, problem.mass, what).mean()
        elif not isinstance(result, SupportsFloat):
            raise InputError(
                f"{what} must return a number, or one number per subject; got {result!r}"
            )
    stderr = getattr(result, "stderr", None)
    return finite(float(result)), None if stderr is None else finite(stderr)


def _true(spec: MetricSpec, questions: Questions, prediction: Prediction) -> Attempt:
    """Compute the truth; without censoring every time error of a family is the plain error."""
    plain = spec.truth_spec
    if plain is None or not plain.offered_by(prediction):
        return Attempt()
    return Attempt.of(plain, partial(questions.true_problem, spec.truth_settings), prediction)


def brief(text: str) -> str:
    """Put a text on one line, and cut it where nobody would read on."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def finite(value: Any) -> float | None:
    """Return a finite number, or None, which JSON has a word for.

    >>> finite(float("nan")), finite(np.float64(2))
    (None, 2.0)
    """
    found = float(value)
    return found if np.isfinite(found) else None
