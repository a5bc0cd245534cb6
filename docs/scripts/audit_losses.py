"""What does a choice of models cost, by each metric and by an audit? On one set of known truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from survgauge._tools.arrays import Floats
from survgauge.data.outcomes import Outcomes
from survgauge.data.predictions import Prediction
from survgauge.errors import UndefinedMetricError
from survgauge.evaluation.audit import Audit, audit
from survgauge.metrics.record import Metric
from survgauge.metrics.registry import REGISTRY
from survgauge.metrics.task import Task

#: Choices by what an audit finds, beside always taking the same metric.
LEAST = "least loss in the scenarios"
CLEAR = "mae_within unless clearly beaten"
#: How choices by an error without a horizon are marked.
FREE = " without a horizon"


def audit_losses(
    predictions: Mapping[str, Prediction],
    y_test: Outcomes,
    y_train: Outcomes,
    true_time: Floats,
    *,
    draws: int = 30,
) -> dict[str, Any]:
    """Return what is lost by every fixed mean absolute error, and by rules that heed an audit.

    The loss of a choice is the true mean absolute error of the model that it picks on the real,
    censored data, minus that of the best model, as a share of the latter; the true errors are those
    within the horizon ("within") and without one ("free"). The audit sees what a user sees, never
    `true_time`. A metric without a value picks at random.

    `LEAST` takes the metric whose expected loss over the scenarios of the audit is least, `CLEAR`
    takes `mae_within` unless another metric loses less beyond the Monte Carlo error in more than
    half of the scenarios.
    """
    errors = _errors()
    found = audit(
        predictions,
        y_test,
        y_train=y_train,
        draws=draws,
        metrics=[metric.name for metric in errors],
        dependence=(),
    )
    advice = {LEAST: _least(found), CLEAR: _clear(found)}
    task, horizon = Task.of(y_test, y_train), found.horizon
    said = {
        metric.name: _said(task, horizon, metric, predictions)
        for metric in errors
        if metric.within_horizon or not metric.method.reads_g  # the two are the same
    }
    said |= {
        f"{metric.name}{FREE}": _said(task, None, metric, predictions)
        for metric in errors
        if not metric.within_horizon
    }
    said |= {rule: said[metric] for rule, metric in advice.items()}
    losses = {}
    for label, stop in (("within", horizon), ("free", None)):
        true = {name: _true_error(p, true_time, stop) for name, p in predictions.items()}
        losses[label] = {choice: _loss(values, true) for choice, values in said.items()}
    return {"horizon": horizon, "advice": advice, **losses}


def _errors() -> list[Metric]:
    """Mean absolute errors that can be computed without the truth."""
    found = (m for m in REGISTRY.values() if m.method is not None and not m.method.needs_truth)
    return [metric for metric in found if metric.loss == "absolute"]


def _least(found: Audit) -> str:
    rows = [row for row in found.summary() if row["horizon"] == found.horizon]
    known = [row for row in rows if np.isfinite(row["relative_loss"])]
    best = min(known, key=lambda row: (row["relative_loss"], row["metric"] != found.recommended))
    return str(best["metric"])


def _clear(found: Audit) -> str:
    counts = Counter(found.asked.better.values())
    scenarios = len(found.results.scenarios)
    return next((m for m, k in counts.items() if k > scenarios / 2), str(found.recommended))


def _said(
    task: Task, tau: float | None, metric: Metric, predictions: Mapping[str, Prediction]
) -> dict[str, float]:
    """Return the error of each model; NaN where it has none."""
    asked = replace(task, tau=tau, contributions=False)
    try:
        return {name: float(metric.measure(asked, p).value) for name, p in predictions.items()}
    except UndefinedMetricError:
        return dict.fromkeys(predictions, float("nan"))


def _true_error(prediction: Prediction, true_time: Floats, stop: float | None) -> float:
    times = prediction.times
    predicted = times.median() if prediction.curves is not None else times
    end = np.inf if stop is None else stop
    return float(np.mean(np.abs(np.minimum(predicted, end) - np.minimum(true_time, end))))


def _loss(said: Mapping[str, float], true: Mapping[str, float]) -> float:
    """Relative loss of the model with the least error; ties and a choice by NaN are random."""
    best, least = min(true.values()), min(said.values())
    known = np.isfinite(list(said.values())).all()
    picked = [true[name] for name in said if not known or said[name] == least]
    return (float(np.mean(picked)) - best) / best
