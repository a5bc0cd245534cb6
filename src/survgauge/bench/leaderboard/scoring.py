"""Scores of all models on a dataset, from the predictions for subjects who were held out.

Every subject has one prediction, of the model that was fitted without its fold, and all of them are
evaluated together: one call gives values, standard errors and paired differences of all models. The
reference set, and G, are all outcomes of the dataset: the same for every model, and seen by none
while it was fitted on the other folds. Standard errors are those of the subjects; that models of
two folds share most of their training subjects, and so err alike, is not in them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..._tools.running import telling
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError
from ...evaluation.call import evaluate
from ...evaluation.cells import TableCell
from ...evaluation.inference import Comparison, compare_values, critical
from ..experiment.scoring import Arrays
from .fitting import pooled
from .problems import Problem
from .results import BASELINE, METRICS, RELATIVE

#: Model and settings.
Name = tuple[str, str]
#: Predictions of each fold, None where the model failed.
Folds = Sequence[Arrays | None]
_CONFIDENCE = 0.95
_BASELINE: Name = (BASELINE, "default")
_Rows = list[dict[str, Any]]


def scored(
    problem: Problem, repeat: int, models: Mapping[Name, Folds]
) -> tuple[_Rows, _Rows, dict[Name, str]]:
    """Return rows of the tables of scores and of pairs, and why models could not be scored.

    Kaplan-Meier has to be among the models.
    """
    where = problem.folds[repeat]
    rows = [np.flatnonzero(where == fold) for fold in range(problem.design.folds)]
    known = {name: folds for name, folds in models.items() if any(f is not None for f in folds)}
    gone = [k for k, f in enumerate(models.get(_BASELINE, [None])) if f is None]
    if gone:
        raise InputError(
            f"Kaplan-Meier, with which models are compared, has no predictions for fold {gone[0]} "
            f"of dataset {problem.name} ({problem.track}); go on with the run (--retry-failed, "
            "with a longer --timeout if there was one)"
        )
    predictions = {
        name: _together(problem, rows, folds, known[_BASELINE]) for name, folds in known.items()
    }
    wrong = _not_scored(problem, predictions)
    known = {name: folds for name, folds in known.items() if name not in wrong}
    predictions = {name: predictions[name] for name in known}
    found = _evaluated(problem, predictions, problem.y)
    truth = _truth(problem, predictions)
    place = {"track": problem.track, "dataset": problem.name, "repeat": repeat}
    counts = {"n": len(problem.y), "events": int(problem.y.event.sum())}
    scores, pairs = _Rows(), _Rows()
    for name, folds in models.items():
        own = {"model": name[0], "settings": name[1]}
        for metric in METRICS:
            row = {**place, **own, "metric": metric, **counts}
            row["failed_folds"] = sum(f is None or name in wrong for f in folds)
            cell = found.get((name, metric))
            if name == _BASELINE and metric == "calibration_slope":
                continue  # curves that hardly differ have no slope
            if cell is not None:
                row |= _numbers(cell, found.get((_BASELINE, metric)))
                row["truth"] = truth.get((name, metric), np.nan)
            if cell is not None or name not in known:
                scores.append(row)
    for metric in METRICS:
        cells = {name: found[name, metric] for name in known if (name, metric) in found}
        for a, b in combinations(cells, 2):
            if not cells[a].metric.ranks_models:
                break
            own = {"model_a": a[0], "settings_a": a[1], "model_b": b[0], "settings_b": b[1]}
            compared = _compared(cells[a], cells[b], found.get((_BASELINE, metric)))
            pairs.append({**place, **own, "metric": metric, **compared})
    return scores, pairs, wrong


def _not_scored(problem: Problem, predictions: Mapping[Name, Prediction]) -> dict[Name, str]:
    """Find models whose predictions no metric can read, by evaluating each alone."""
    wrong = {}
    for name, prediction in predictions.items():
        try:
            _evaluated(problem, {name: prediction}, problem.y, None, METRICS[:1])
        except Exception as error:  # one model's predictions must not end the run of all
            wrong[name] = f"its predictions cannot be scored: {type(error).__name__}: {error}"
    return wrong


def _together(problem: Problem, rows: list[Any], folds: Folds, baseline: Folds) -> Prediction:
    """Put folds together; where a model failed, Kaplan-Meier's prediction stands for its own."""
    there = next(f for f in folds if f is not None)
    (kind,) = there
    parts = []
    for k, arrays in enumerate(folds):
        instead = baseline[k]
        if arrays is None and instead is not None:
            arrays = _as_kind(instead, kind, problem)
        if arrays is not None:
            parts.append((rows[k], arrays))
    return pooled(parts, len(problem.y), problem.grid)


def _as_kind(arrays: Arrays, kind: str, problem: Problem) -> Arrays:
    """Kaplan-Meier's predictions as curves, as their median, or as equal risks."""
    if kind == "survival":
        return arrays
    n = len(arrays["survival"])
    if kind == "risk":
        return {"risk": np.zeros(n)}
    return {"time": SurvivalCurves(problem.grid, arrays["survival"]).median()}


def _evaluated(
    problem: Problem,
    predictions: Mapping[Name, Prediction],
    y: Outcomes,
    confidence: float | None = _CONFIDENCE,
    metrics: tuple[str, ...] = METRICS,
) -> dict[tuple[Name, str], TableCell]:
    """Evaluate all models together; scores by model and metric."""
    labels = {_label(name): name for name in predictions}
    with warnings.catch_warnings(), telling(lambda *_: None):  # each call is short
        warnings.simplefilter("ignore")
        ev = evaluate(
            {_label(name): prediction for name, prediction in predictions.items()},
            y,
            y_train=y,
            metrics=metrics,
            confidence=confidence,
            tau=problem.horizon,
            time=problem.time,
        )
    return {(labels[cell.model], cell.metric.name): cell for cell in ev.scores}


def _label(name: Name) -> str:
    return " | ".join(name)


def _truth(
    problem: Problem, predictions: Mapping[Name, Prediction]
) -> dict[tuple[Name, str], float]:
    """Return the same scores with all event times known; nothing where they are not."""
    if problem.true_time is None:
        return {}
    known = Outcomes(problem.true_time, np.ones(len(problem.y), dtype=bool))
    found = _evaluated(problem, predictions, known, None)
    return {key: cell.value for key, cell in found.items()}


def _numbers(cell: TableCell, base: TableCell | None) -> dict[str, float]:
    """Value, limits and, of a loss, its skill with limits."""
    row = {k: getattr(cell, k) for k in ("value", "stderr", "low", "high")}
    if cell.metric.name not in RELATIVE or base is None or not base.value > 0:
        return row
    ratio = cell.value / base.value
    row["skill"] = 1.0 - ratio
    if cell is base:
        return row | {"skill_low": 0.0, "skill_high": 0.0}
    # Of log(a / k), by the delta method; the two losses are of the same subjects.
    a, k = cell.value, base.value
    variance = (cell.stderr / a) ** 2 + (base.stderr / k) ** 2 - 2 * _covariance(cell, base) / a / k
    spread = critical(_CONFIDENCE) * np.sqrt(max(variance, 0.0))
    limits = ratio * np.exp(spread), ratio * np.exp(-spread)
    return row | {"skill_low": 1.0 - limits[0], "skill_high": 1.0 - limits[1]}


def _covariance(a: TableCell, b: TableCell) -> float:
    """Of two models' values, from the standard error of their difference."""
    if a is b:
        return a.stderr**2
    return float(a.stderr**2 + b.stderr**2 - a.errors.get(b.model, np.nan) ** 2) / 2


def _compared(a: TableCell, b: TableCell, base: TableCell | None) -> dict[str, float]:
    """Difference of two models, of losses relative to the loss of Kaplan-Meier."""
    difference, stderr = a.value - b.value, a.errors.get(b.model, np.nan)
    if a.metric.name in RELATIVE and base is not None and base.value > 0:
        k = base.value
        share = difference / k
        shared = _covariance(a, base) - _covariance(b, base)
        variance = stderr**2 + share**2 * base.stderr**2 - 2 * share * shared
        difference, stderr = share, float(np.sqrt(max(variance, 0.0)) / k)
    if np.isclose(difference, 0.0, atol=1e-12):
        difference = 0.0
    found: Comparison = compare_values(float(difference), float(stderr), _CONFIDENCE)
    return {k: getattr(found, k) for k in ("difference", "stderr", "low", "high", "p_value")}
