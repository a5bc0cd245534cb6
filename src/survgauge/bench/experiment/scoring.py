"""What models are asked on a fold, and metrics of what they say with their true counterparts."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, SupportsFloat

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.running import called
from ...data.causes import Codes
from ...data.curves import SurvivalCurves
from ...data.estimators import predict
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, SurvgaugeError, UndefinedMetricError
from ...estimators.conditional import Conditional
from ...estimators.reference import Reference
from ...metrics.registry import REGISTRY
from ...metrics.score import Terms
from ...metrics.task import Task
from .specs import HORIZON, KM, MODEL, MetricSpec

#: Arrays by name: predictions of a model, or the curves of a distribution.
Arrays = dict[str, Any]
_LONGEST_TEXT = 400


@dataclass
class Questions:
    """What all models of a fold are asked: test and training outcomes, and the hidden truth.

    Horizons, Kaplan-Meier estimates and distributions given features are made once for all models.
    """

    y: Outcomes
    reference: Reference
    true_time: Floats
    #: With several causes: the code of the one that is asked about, and those of the real events.
    cause: int | None = None
    true_cause: Codes | None = None
    #: Fitted distributions by their names.
    distributions: dict[str, Conditional] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)

    def task(self, settings: Mapping[str, Any]) -> Task:
        """Test outcomes against the training outcomes; no model and no metric sees the truth."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._tasks:
            given = dict(settings)
            distribution = given.pop("distribution", KM)
            up_to_horizon = given.get("tau") == HORIZON
            if up_to_horizon:
                del given["tau"]
            if given.get("censoring") == MODEL:
                # Where the distribution has no model of censoring, because Kaplan-Meier predicts it
                # as well, G is that of the test subjects.
                given["censoring"] = "test"
            if distribution != KM:
                given["conditional"] = self._conditional(distribution, settings)
            # G of the training set, as in the paper and in what was published of it.
            given = {"convention": "paper", "cause": self.cause, **given}
            task = Task.of(self.y, self.reference, **given)
            if up_to_horizon:
                # The largest time that the fold supports: one for all metrics, whatever G they use.
                limits = {k: v for k, v in settings.items() if k in ("min_g", "min_at_risk")}
                tau = self.task(limits).horizon
                task = replace(task, tau=tau, horizon=tau)
                if "time" not in settings:
                    task = replace(task, time=tau, times=(tau,))
            self._tasks[key] = task
        return self._tasks[key]

    def _conditional(self, name: str, settings: Mapping[str, Any]) -> Conditional | None:
        """Distribution of the fold that some settings ask for."""
        if name not in self.distributions:
            raise InputError(
                f"the distribution {name!r} of this fold could not be fitted; see the "
                "failures of the run"
            )
        return chosen(self.distributions[name], settings)

    def true_task(self, settings: dict[str, Any]) -> Task:
        """Ask the same question, same horizon and time of interest, with every event observed."""
        return self.task(settings).with_truth(self.true_time, self.true_cause)


def chosen(fitted: Conditional, settings: Mapping[str, Any]) -> Conditional | None:
    """Return the part of a fitted distribution that a metric asks for; None: there is no such part.

    Without ``censoring = "model"`` a metric takes the distribution of event times alone, and G from
    a set of subjects. A setting ``tail`` takes the place of the distribution's own.
    """
    distribution = fitted.distribution
    if distribution is not None and "tail" in settings:
        # A distribution may have times past the end of follow-up, which stand for a tail of its
        # own.
        seen = distribution.times <= fitted.how.get("follow_up", np.inf)
        distribution = SurvivalCurves(
            distribution.times[seen],
            distribution.survival[:, seen],
            distribution.interpolation,
            settings["tail"],
        )
    censoring = fitted.censoring if settings.get("censoring") == MODEL else None
    if distribution is None and censoring is None:
        return None
    return Conditional(distribution, censoring, fitted.how)


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
    def of(cls, spec: MetricSpec, question: Callable[[], Task], prediction: Prediction) -> Attempt:
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
        found = Attempt.of(spec, partial(questions.task, spec.settings), prediction)
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
    spec: MetricSpec, task: Task, prediction: Prediction
) -> tuple[float | None, float | None]:
    """Value and standard error of a metric; a function of the user's may give losses instead."""
    if task.cause is not None:
        prediction = prediction.ranked_by(task.until)
    if spec.function is None:
        result: Any = REGISTRY[spec.name].measure(task, prediction)
    else:
        what = str(spec.function)
        result = called(spec.load(), what, task, prediction)
        if isinstance(result, Terms) or np.ndim(result):
            result = Terms.of(result, task.weight, what).mean()
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
    return Attempt.of(plain, partial(questions.true_task, spec.truth_settings), prediction)


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


def said(model: Any, X: Floats, questions: Questions) -> Prediction:
    """Ask a model for the most that it can say; where a cause is asked about, for incidence."""
    if questions.cause is None:
        return predict(model, X)
    name = type(model).__name__
    if not hasattr(model, "predict_incidence"):
        raise InputError(f"{name} must have predict_incidence where a plan asks about a cause")
    causes = questions.y.causes or ()
    return Prediction.of_cause(model.predict_incidence(X), len(X), name, causes, questions.cause)


def pack(prediction: Prediction) -> Arrays:
    """Predictions as arrays."""
    incidence = prediction.incidence
    if incidence is not None:
        how = np.array([incidence.interpolation, *incidence.causes])
        return {"times": incidence.times, "incidence": incidence.values, "how": how}
    if prediction.curves is not None:
        return pack_curves(prediction.curves)
    if prediction.kind == "times":
        return {"predicted": prediction.times}
    return {"risk": prediction.risk}


def unpack(arrays: Arrays, cause: int | None = None) -> Prediction:
    """Read what `pack` made; of several causes, for the one with this code.

    >>> unpack(pack(Prediction.of([3.0, 4.0], 2, "m"))).times
    array([3., 4.])
    """
    if "incidence" in arrays:
        how, *causes = map(str, arrays["how"])
        incidence = IncidenceCurves(arrays["times"], arrays["incidence"], causes, how)
        return Prediction(incidence.only(cause or 1), None, None, incidence)
    return Prediction(unpack_curves(arrays), arrays.get("predicted"), arrays.get("risk"))


def pack_distribution(fitted: Conditional) -> Arrays:
    """Curves as arrays, with how they were made."""
    return {
        "about": np.array(json.dumps(fitted.how, default=str)),
        **pack_curves(fitted.distribution, "distribution_"),
        **pack_curves(fitted.censoring, "censoring_"),
    }


def unpack_distribution(arrays: Arrays) -> Conditional:
    """Read what `pack_distribution` made.

    >>> distribution = SurvivalCurves([1, 2], [[0.5, 0.25]], "step", "hold")
    >>> given = Conditional(distribution, how={"distribution": "mine"})
    >>> unpack_distribution(pack_distribution(given))
    Conditional(1 subjects, distribution: mine, censoring: Kaplan-Meier)
    """
    distribution = unpack_curves(arrays, "distribution_")
    censoring = unpack_curves(arrays, "censoring_")
    return Conditional(distribution, censoring, json.loads(str(arrays["about"])))


def pack_curves(curves: SurvivalCurves | None, part: str = "") -> Arrays:
    """Curves as arrays, whose names begin with `part`."""
    if curves is None:
        return {}
    how = np.array([curves.interpolation, curves.tail])
    return {f"{part}times": curves.times, f"{part}survival": curves.survival, f"{part}how": how}


def unpack_curves(arrays: Arrays, part: str = "") -> SurvivalCurves | None:
    """Read what `pack_curves` made; None where there are no curves."""
    if f"{part}survival" not in arrays:
        return None
    times, survival, how = (arrays[f"{part}{name}"] for name in ("times", "survival", "how"))
    return SurvivalCurves(times, survival, *map(str, how))
