"""A model on one fold: its fit, what it predicts for the subjects held out, and their scores.

Every subject has one prediction, of the model that was fitted without its fold, and all of them are
evaluated together: one call gives values, standard errors and paired differences of all models. The
reference set, and G, are all outcomes of the dataset: the same for every model, and seen by none
while it was fitted on the other folds. Standard errors are those of the subjects; that models of
two folds share most of their training subjects, and so err alike, is not in them.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..._tools.arrays import Floats
from ..._tools.running import telling
from ...data.curves import SurvivalCurves
from ...data.estimators import predict
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...evaluation.call import evaluate
from ...evaluation.cells import TableCell
from ...evaluation.inference import Comparison, compare_values, critical
from ...evaluation.scorers import SurvivalKFold
from ...metrics.registry import REGISTRY
from ...metrics.task import Task
from ..experiment.cells import Outcome, attempted
from ..experiment.plan import digest, slug
from ..experiment.process import limit_threads, time_limit
from ..experiment.scoring import Arrays
from .entrants import Entrant, draw
from .problems import Design, PreparedFold, Problem, problem_of
from .results import BASELINE, METRICS, RELATIVE

#: As a model comes, and after a search for the least IBS or the least time error.
SETTINGS = ("default", "tuned-ibs", "tuned-mae")
#: What each search minimises.
_CRITERIA = {"tuned-ibs": "ibs", "tuned-mae": "mae_within"}
#: Parameters that a search tries, the first of which are the defaults, and its folds.
DRAWS, INNER_FOLDS = 8, 3
_NO_LOSS = "no set of parameters has an integrated Brier score or a time error on the inner folds"
#: Goes up when fits come to different numbers, so that old cells are not reused.
_VERSION = 1


@dataclass(frozen=True)
class BoardCell:
    """A model on one fold; with `tuned` both searches, which share their fits."""

    design: Design
    track: str
    dataset: str
    repeat: int
    fold: int
    model: Any
    tuned: bool
    #: Checksum of the data and of the fold.
    content: str
    #: As the store asks: it holds no distribution.
    is_distribution = False

    @cached_property
    def digest(self) -> str:
        """What the result depends on."""
        search = [DRAWS, INNER_FOLDS] if self.tuned else None
        parts = [_VERSION, self.design.seed, self.content, self.model.identity(), search]
        return digest([*parts, self.track, self.dataset, self.repeat, self.fold])

    @property
    def path(self) -> str:
        """Name of its file in a store, without the ending."""
        label = slug(f"{self.model.label}{'-tuned' if self.tuned else ''}")
        where = f"{slug(self.dataset)}/{self.track}"
        return f"{where}/r{self.repeat}-f{self.fold}-{label}-{self.digest}"

    @property
    def prediction_path(self) -> str:
        """Name of the file with its predictions: another one, so that neither passes for both."""
        return f"{self.path}-held-out"

    def distributions(self) -> list[Any]:
        """None: a fit needs nothing of the store."""
        return []

    def names(self) -> dict[str, Any]:
        """What it is about."""
        return {
            "track": self.track,
            "dataset": self.dataset,
            "repeat": self.repeat,
            "fold": self.fold,
            "model": self.model.label,
        }

    @property
    def settings(self) -> tuple[str, ...]:
        """Settings that its predictions are for."""
        return SETTINGS[1:] if self.tuned else SETTINGS[:1]

    def integer(self, purpose: str, *more: str | int) -> int:
        """Seed of this fit for one purpose."""
        where = (self.track, self.dataset, self.repeat, self.fold, self.model.label)
        return self.design.integer(purpose, *where, *more)

    def __str__(self) -> str:
        where = f"{self.dataset} ({self.track}) / repeat {self.repeat} / fold {self.fold}"
        return f"{where} / {self.model.label}{', tuned' if self.tuned else ''}"


@dataclass(frozen=True)
class FitTask:
    """What a worker is handed."""

    cell: Any
    #: Checksum of the dataset, so that all machines work on the same data.
    checksum: str
    timeout: float | None = None
    #: Where modules of the caller's are looked for.
    folder: str | None = None
    threads: int = 1

    def run(self, *_: Any) -> Outcome:
        """Fit and predict; whatever goes wrong becomes a record with its traceback."""
        return attempted(self.cell, self.folder, self.threads, self._fits)[0]

    def _fits(self) -> Outcome:
        cell = self.cell
        problem = problem_of(cell.design, cell.track, cell.dataset)
        if problem.checksum != self.checksum:
            raise InputError(
                f"dataset {cell.dataset!r} differs from the one that the run began with: its "
                f"checksum is {problem.checksum[:16]}, expected {self.checksum[:16]}"
            )
        split = problem.split(cell.repeat, cell.fold)
        cell.model.build(0)  # imports libraries, which take time and bring thread pools
        limit_threads(self.threads)
        rows, arrays = [], dict[str, Any]()
        with time_limit(self.timeout):
            for settings, fit in _chosen(cell, problem, split).items():
                row = {**cell.names(), "settings": settings, "digest": cell.digest}
                rows.append({**row, **fit.row()})
                arrays |= {f"{settings}.{kind}": values for kind, values in fit.arrays.items()}
        return Outcome("ok", rows, arrays)


@dataclass(frozen=True)
class _Fit:
    """Predictions for the held-out subjects, and what they cost."""

    arrays: Arrays
    seconds_fit: float
    seconds_predict: float
    params: Mapping[str, Any]

    def row(self) -> dict[str, Any]:
        """What the table of fits says."""
        chosen = json.dumps(dict(self.params), sort_keys=True, default=repr)
        spent = {"seconds_fit": self.seconds_fit, "seconds_predict": self.seconds_predict}
        return {"status": "ok", "message": "", **spent, "chosen": chosen}


def _chosen(cell: BoardCell, problem: Problem, split: PreparedFold) -> dict[str, _Fit]:
    """Fit with the parameters of each setting; equal parameters are fitted once."""
    seed = cell.integer("model")

    def fit(params: Mapping[str, Any]) -> _Fit:
        return _fitted(
            cell.model, params, seed, split.X_train, split.y_train, split.X_test, problem
        )

    if not cell.tuned:
        return {"default": fit({})}
    begun = time.perf_counter()
    best = _search(cell, problem, split)
    spent = time.perf_counter() - begun
    fits = dict[str, _Fit]()
    for settings, params in best.items():
        known = next((f for f in fits.values() if f.params == params), None)
        found = fit(params) if known is None else known
        add = spent if known is None else 0.0
        fits[settings] = _Fit(
            found.arrays, found.seconds_fit + add, found.seconds_predict, found.params
        )
    return fits


def _fitted(
    entrant: Entrant,
    params: Mapping[str, Any],
    seed: int,
    X: Floats,
    y: Outcomes,
    X_test: Floats,
    problem: Problem,
) -> _Fit:
    model = entrant.build(seed, **params)
    begun = time.perf_counter()
    model.fit(X, y)
    between = time.perf_counter()
    arrays = read_off(predict(model, X_test), problem.grid)
    return _Fit(arrays, between - begun, time.perf_counter() - between, params)


def _search(cell: BoardCell, problem: Problem, split: PreparedFold) -> dict[str, Mapping[str, Any]]:
    """Parameters with the least loss on inner folds of the training rows, for each criterion."""
    rng = cell.design.stream("search", *map(str, cell.names().values()))
    draws = [{}, *(draw(cell.model.name, rng) for _ in range(DRAWS - 1))]
    folds = SurvivalKFold(INNER_FOLDS, cell.integer("inner folds")).folds(split.y_train)
    task = Task.of(split.y_train, split.y_train, tau=problem.horizon)
    losses = list[dict[str, float]]()
    last: Exception = UndefinedMetricError(_NO_LOSS)
    for number, params in enumerate(draws):
        try:
            held_out = _held_out(cell, params, number, folds, problem, split)
            losses.append(_losses(task, held_out))
        except Exception as error:  # a draw that cannot be fitted loses
            last = error
            losses.append(dict.fromkeys(_CRITERIA.values(), np.inf))
    best = dict[str, Mapping[str, Any]]()
    for settings, metric in _CRITERIA.items():
        each = [loss[metric] for loss in losses]
        if not np.isfinite(min(each)):
            if all(not np.isfinite(v) for loss in losses for v in loss.values()):
                raise last
            continue  # a model without curves has no Brier score
        best[settings] = draws[int(np.argmin(each))]
    return best


def _held_out(
    cell: BoardCell,
    params: Mapping[str, Any],
    number: int,
    folds: Any,
    problem: Problem,
    split: PreparedFold,
) -> Prediction:
    """Predictions for all training subjects, each from the inner fold that held it out."""
    X, y, parts = split.X_train, split.y_train, list[tuple[Any, Arrays]]()
    for inner in range(INNER_FOLDS):
        train, test = np.flatnonzero(folds != inner), np.flatnonzero(folds == inner)
        seed = cell.integer("inner model", number, inner)
        fit = _fitted(cell.model, params, seed, X[train], y[train], X[test], problem)
        parts.append((test, fit.arrays))
    return pooled(parts, len(y), problem.grid)


def _losses(task: Task, prediction: Prediction) -> dict[str, float]:
    """Loss of each criterion; infinite where the prediction offers none."""
    found = {}
    for metric in _CRITERIA.values():
        record, value = REGISTRY[metric], float("inf")
        with suppress(UndefinedMetricError):
            if prediction.has(record.needs):
                value = record.measure(task, prediction).value
        found[metric] = value if np.isfinite(value) else np.inf
    return found


# -- predictions as arrays -------------------------------------------------------------------------


def read_off(prediction: Prediction, grid: Floats) -> Arrays:
    """Read curves at the times of the grid; times and risks are kept as they are."""
    if prediction.curves is not None:
        curves = prediction.curves
        if curves.tail == "nan":
            curves = curves.with_tail("hold")
        values = np.clip(curves.at(grid), 0.0, 1.0)
        if np.isnan(values).any():
            raise InputError("predicted curves have NaN")
        return {"survival": np.minimum.accumulate(values, axis=1).astype(np.float32)}
    kind = "time" if prediction.kind == "times" else "risk"
    numbers = np.asarray(prediction.times if kind == "time" else prediction.risk, dtype=np.float64)
    unknown = np.flatnonzero(np.isnan(numbers))
    if unknown.size:
        raise InputError(f"the predicted {kind} is NaN for {numbered(unknown)}")
    return {kind: numbers}


def pooled(parts: Iterable[tuple[Any, Arrays]], n: int, grid: Floats) -> Prediction:
    """Put the predictions of all folds together, one for each subject.

    Risks of different folds have no common scale, so each counts by its rank in its fold; folds are
    alike in their outcomes.
    """
    parts = list(parts)
    kinds = {kind for _, arrays in parts for kind in arrays}
    one_of("kind of prediction", next(iter(kinds)), ("survival", "time", "risk"))
    if len(kinds) > 1:
        raise InputError(f"folds have predictions of different kinds: {', '.join(sorted(kinds))}")
    (kind,) = kinds
    width: tuple[int, ...] = (n, len(grid)) if kind == "survival" else (n,)
    whole: Any = np.full(width, np.nan, dtype=np.float32 if kind == "survival" else np.float64)
    for rows, arrays in parts:
        values = arrays[kind]
        whole[rows] = _ranks(values) if kind == "risk" else values
    if kind == "survival":
        return Prediction(SurvivalCurves(grid, whole), None, None)
    return Prediction(None, whole, None) if kind == "time" else Prediction(None, None, whole)


def _ranks(risk: Floats) -> Floats:
    return (rankdata(risk) - 0.5) / len(risk)


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
