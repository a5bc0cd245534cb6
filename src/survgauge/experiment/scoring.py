"""Metrics of one fold with their true counterparts, computed with the real event times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..metrics.problem import Problem
from ..metrics.registry import REGISTRY
from ..reference.conditional import Conditional
from ..reference.reference import Reference
from .imports import imported
from .laws import KM, MODEL, chosen, unpack_law
from .specs import HORIZON, PLAIN_ERRORS, MetricSpec


@dataclass
class Questions:
    """What all models of a fold are asked: test and training outcomes, and the hidden truth.

    Horizons, Kaplan-Meier estimates and laws given features are made once for all models.
    """

    y: Outcomes
    reference: Reference
    true_time: Floats
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
            problem = Problem.of(self.y, self.reference, **{"convention": "paper", **given})
            if settings.get("tau") == HORIZON:
                problem = replace(problem, tau=self._horizon(settings))
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
        return self.problem(settings).with_truth(self.true_time)


def score(
    questions: Questions, prediction: Prediction, metrics: tuple[MetricSpec, ...]
) -> list[dict[str, Any]]:
    """Compute all metrics that the prediction allows, each with its truth.

    Returns
    -------
    list of dict
        metric, value, stderr, truth, true_value, true_stderr and, where a metric is undefined on
        the fold, a note; numbers are None where they do not exist.
    """
    rows = []
    truths: dict[str, dict[str, Any]] = {}
    for spec in metrics:
        if spec.function is None and not prediction.has(REGISTRY[spec.name].needs):
            continue
        measured = _measure(spec, questions.problem(spec.settings), prediction)
        label = spec.truth_label
        if label and label not in truths:
            truths[label] = _true(spec, questions, prediction)
        row = {"metric": spec.label, **measured, "truth": label}
        rows.append({**row, **truths.get(label, {"true_value": None, "true_stderr": None})})
    return rows


def _measure(spec: MetricSpec, problem: Problem, prediction: Prediction) -> dict[str, Any]:
    try:
        if spec.function is not None:
            result = imported(spec.function, f"metric {spec.name!r}: function")(problem, prediction)
        else:
            result = REGISTRY[spec.name].measure(problem, prediction)
    except UndefinedMetricError as error:
        return {"value": None, "stderr": None, "note": str(error)}
    stderr = getattr(result, "stderr", None)
    return {"value": finite(float(result)), "stderr": None if stderr is None else finite(stderr)}


def _true(spec: MetricSpec, questions: Questions, prediction: Prediction) -> dict[str, Any]:
    """Without censoring every time error of a family is the plain error."""
    name = PLAIN_ERRORS.get(spec.truth, spec.truth)
    if not prediction.has(REGISTRY[name].needs):
        return {"true_value": None, "true_stderr": None}
    plain = MetricSpec(spec.truth, name)
    found = _measure(plain, questions.true_problem(spec.truth_settings), prediction)
    return {"true_value": found["value"], "true_stderr": found["stderr"]}


def finite(value: Any) -> float | None:
    """Return a finite number, or None, which JSON has a word for.

    >>> finite(float("nan")), finite(np.float64(2))
    (None, 2.0)
    """
    found = float(value)
    return found if np.isfinite(found) else None
