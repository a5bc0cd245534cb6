"""Does an audit's advice pay? On one fold, where the truth is known: what each choice loses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from survgauge._tools.arrays import Floats
from survgauge._tools.random import stream
from survgauge.auditing import Audit, audit
from survgauge.data.outcomes import Outcomes
from survgauge.data.predictions import Prediction
from survgauge.errors import UndefinedMetricError
from survgauge.experiment.scoring import finite
from survgauge.metrics.problem import Problem
from survgauge.metrics.record import Metric
from survgauge.metrics.registry import REGISTRY

#: What the audit's own choice is called among the choices.
ADVICE = "audit"


def audit_losses(
    predictions: Mapping[str, Prediction],
    y_test: Outcomes,
    y_train: Outcomes,
    true_time: Floats,
    *,
    draws: int = 30,
    most: int = 1000,
) -> dict[str, Any]:
    """Return what is lost by every fixed mean absolute error and by the audit's advice.

    The loss of a metric is the true mean absolute error (without a horizon) of the model that it
    picks on the real, censored data, minus that of the best model, as a share of the latter. The
    audit sees what a user sees, never `true_time`. Where it recommends nothing without a horizon,
    the metric that it names for a choice all the same is taken.

    `predictions` are those of a fold, all with times or curves, and `true_time` the event times of
    its test subjects. The audit takes at most `most` test and training subjects, drawn at random.

    Returns
    -------
    dict
        "losses" by choice (metric, metric within the horizon, "audit"), "advice" (metric, horizon,
        whether it was recommended or only named all the same), "truth" by model, "summary" of the
        audit.
    """
    true = {name: _true_error(prediction, true_time) for name, prediction in predictions.items()}
    rng = stream(0, "audit losses")
    rows, train = (_some(len(y), most, rng) for y in (y_test, y_train))
    seen = audit(
        {name: prediction[rows] for name, prediction in predictions.items()},
        y_test[rows],
        y_train=y_train[train],
        draws=draws,
        random_state=0,
        metrics=[metric.name for metric in _errors() if not metric.within_horizon],
        dependence=(),
    )
    problem = Problem.of(y_test, y_train)
    horizon = seen.supported
    losses = {}
    for metric in _errors():
        losses[metric.name] = _loss(problem, None, metric, predictions, true)
        if horizon is not None:
            label = f"{metric.name} (horizon)"
            losses[label] = _loss(problem, horizon, metric, predictions, true)
    advice = _advice(seen)
    if advice["metric"] is not None:
        label = advice["metric"] + ("" if advice["horizon"] is None else " (horizon)")
        losses[ADVICE] = losses[label]
    return {
        "losses": losses,
        "advice": advice,
        "truth": true,
        "summary": seen.to_dict()["summary"],
    }


def _errors() -> list[Metric]:
    """Mean absolute errors that can be computed without the truth."""
    found = (m for m in REGISTRY.values() if m.method is not None and not m.method.needs_truth)
    return [metric for metric in found if metric.loss == "absolute"]


def _some(n: int, most: int, rng: np.random.Generator) -> Any:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _advice(seen: Audit) -> dict[str, Any]:
    """What somebody does who must choose without a horizon."""
    found = seen.asked
    return {
        "metric": found.metric or found.otherwise,
        "horizon": found.horizon,
        "recommended": seen.recommended is not None,
    }


def _true_error(prediction: Prediction, true_time: Floats) -> float:
    times = prediction.times
    predicted = times.median() if prediction.curves is not None else times
    return float(np.mean(np.abs(predicted - true_time)))


def _loss(
    problem: Problem,
    tau: float | None,
    metric: Metric,
    predictions: Mapping[str, Prediction],
    true: Mapping[str, float],
) -> float | None:
    """Relative loss of the model with the least error; None where the metric has no value."""
    asked = replace(problem, tau=tau, contributions=False)
    try:
        said = {name: float(metric.measure(asked, p).value) for name, p in predictions.items()}
    except UndefinedMetricError:
        return None
    best = min(true.values())
    least = min(said.values())
    picked = [true[name] for name in said if said[name] == least]
    return finite((float(np.mean(picked)) - best) / best)
