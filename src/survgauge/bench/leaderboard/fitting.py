"""One fit: a model on one fold, and what it predicts for the subjects who were held out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.estimators import predict
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...evaluation.scorers import SurvivalKFold
from ...metrics.registry import REGISTRY
from ...metrics.task import Task
from ..experiment.cells import Outcome, attempted
from ..experiment.plan import digest, slug
from ..experiment.process import limit_threads, time_limit
from ..experiment.scoring import Arrays
from .entrants import Entrant, draw
from .problems import Design, PreparedFold, Problem, problem_of

#: As a model comes, and after a search for the least IBS or the least time error.
SETTINGS = ("default", "tuned-ibs", "tuned-mae")
#: What each search minimises.
_CRITERIA = {"tuned-ibs": "ibs", "tuned-mae": "mae_within"}
#: Parameters that a search tries, the first of which are the defaults, and its folds.
DRAWS, INNER_FOLDS = 8, 3
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
    losses, last = list[dict[str, float]](), Exception("no parameters were tried")
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
