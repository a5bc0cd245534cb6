"""One cell: draw the censoring, split, fit, predict, measure. Nothing here knows of stores."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from ..censoring import SemiSynthetic, semisynthetic
from ..data.causes import cause_code
from ..data.folds import SurvivalKFold
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..datasets import Dataset, load
from ..errors import InputError
from ..metrics.registry import Metric
from ..reference.reference import Reference
from .grid import Cell, LawCell, Place
from .imports import look_in
from .laws import pack_law
from .limits import ONE_CELL, CellTimeoutError, limit_threads, time_limit
from .packed import pack, said, unpack
from .scoring import Attempt, Questions, brief, finite, score
from .specs import DatasetSpec

_MOST_WARNINGS = 10


class Recent:
    """The last few things that were built, so that memory stays bounded.

    >>> recent = Recent(1)
    >>> recent.get("a", lambda: 1), recent.get("a", lambda: 2), recent.get("b", lambda: 3)
    (1, 1, 3)
    >>> recent.get("a", lambda: 4)
    4
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, build: Callable[[], Any]) -> Any:
        """Return what was built for a key, or build it."""
        if key not in self.items:
            # Room first: the new thing and the old one need not fit into memory together.
            while len(self.items) >= self.size:
                self.items.popitem(last=False)
            self.items[key] = build()
        self.items.move_to_end(key)
        return self.items[key]


@dataclass(frozen=True)
class Loaded:
    """A data set and the checksum of its content."""

    data: Dataset
    checksum: str


@dataclass(frozen=True)
class Drawn:
    """A semi-synthetic data set and the fold of each subject."""

    data: SemiSynthetic
    fold: Ints
    prepare: Callable[[], Any]


@dataclass(frozen=True)
class SplitData:
    """Training and test part, filled, encoded and standardised from training rows alone."""

    X_train: Floats
    y_train: Outcomes
    X_test: Floats
    questions: Questions
    facts: dict[str, Any]


@dataclass
class Memory:
    """What a process keeps between cells."""

    datasets: Recent = field(default_factory=lambda: Recent(2))
    outcomes: Recent = field(default_factory=lambda: Recent(2))
    drawn: Recent = field(default_factory=lambda: Recent(1))
    folds: Recent = field(default_factory=lambda: Recent(1))


#: Of this process. Every entry is a pure function of its key.
MEMORY = Memory()


@dataclass(frozen=True)
class Task:
    """A cell, or a law of a fold, with what a worker has to know besides."""

    cell: Cell | LawCell
    #: Content that the data sets must have, by name, so that all machines work on the same data.
    checksums: Mapping[str, str] = field(default_factory=dict)
    keep_predictions: bool = False
    timeout: float | None = None
    threads: int = 1
    #: False: measure stored predictions only; laws that are not stored are fitted all the same.
    fit: bool = True
    #: Metrics that the user registered: a process that is handed them knows them.
    metrics: tuple[Metric, ...] = ()
    #: Where modules of the user's are looked for, besides where Python finds packages.
    folder: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: status is ok, failed or missing (nothing to measure).

    `predictions` are those to keep of a model, or the curves of a law. `failure` is the record of
    the metrics that failed in a cell that is ok.
    """

    status: str
    record: dict[str, Any]
    predictions: bytes | None = None
    failure: dict[str, Any] | None = None


def execute(
    task: Task, stored: bytes | None = None, laws: Mapping[str, bytes] | None = None
) -> Outcome:
    """Run a cell; whatever goes wrong becomes a record with its traceback.

    With predictions of an earlier run (`stored`, see `pack`) nothing is fitted; `laws` are the
    fitted laws of the fold by name, see `laws.pack_law`.
    """
    if stored is None and not task.fit and isinstance(task.cell, Cell):
        return Outcome("missing", _heading(task.cell))
    start = time.perf_counter()
    look_in(task.folder)
    with ONE_CELL, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if isinstance(task.cell, LawCell):
                found = _run_law(task, task.cell)
            else:
                found = _run(task, task.cell, stored, laws or {})
        except (Exception, CellTimeoutError) as error:
            trace = "".join(traceback.format_exception(error))
            seconds = time.perf_counter() - start
            return failure(task.cell, type(error).__name__, str(error), trace, seconds)
    texts = dict.fromkeys(brief(f"{w.category.__name__}: {w.message}") for w in caught)
    found.record["warnings"] = list(texts)[:_MOST_WARNINGS]
    found.record["seconds"]["total"] = time.perf_counter() - start
    return found


def _run_law(task: Task, cell: LawCell) -> Outcome:
    clock = _Clock()
    limit_threads(task.threads)
    fold = fold_of(cell, task.checksums)
    clock.lap("prepare")
    with time_limit(task.timeout):
        given = fold.X_train, fold.y_train, fold.X_test, fold.questions.y
        fitted = cell.model.fit(*given, cell.model_seed)
    clock.lap("fit")
    record = {**_heading(cell), "seconds": clock.laps}
    return Outcome("ok", record, pack_law(fitted, clock.laps["fit"]))


def _run(task: Task, cell: Cell, stored: bytes | None, laws: Mapping[str, bytes]) -> Outcome:
    clock = _Clock()
    limit_threads(task.threads)
    fold = fold_of(cell, task.checksums)
    fold.questions.take_laws(laws)
    clock.lap("prepare")
    model = None
    if stored is None:
        model = cell.model.build(cell.model_seed)
        # Building imports libraries, which come with thread pools of their own.
        limit_threads(task.threads)
        clock.lap("build")
    # Only now: data are prepared and libraries imported for all cells of a process, not for one.
    with time_limit(task.timeout):
        if model is None:
            prediction = unpack(stored or b"", fold.questions.cause)
            clock.lap("read")
        else:
            model.fit(fold.X_train, fold.y_train)
            clock.lap("fit")
            prediction = said(model, fold.X_test, fold.questions)
            clock.lap("predict")
        rows, failed = score(fold.questions, prediction, cell.common.metrics)
        clock.lap("metrics")
    notes = tuple(getattr(model, "notes_", ()))
    record = {
        **_heading(cell),
        "data": {**fold.facts, "tail_share": _tail_share(prediction)},
        "seconds": clock.laps,
        "notes": [brief(note) for note in notes],
        "metrics": rows,
    }
    kept = pack(prediction) if task.keep_predictions and stored is None else None
    return Outcome("ok", record, kept, _failed_metrics(cell, failed))


def loaded(spec: DatasetSpec) -> Loaded:
    """Load a data set, or take it from memory."""

    def build() -> Loaded:
        data = load(spec.label, spec.path, **spec.settings)
        return Loaded(data, content_checksum(data))

    return MEMORY.datasets.get((spec.label, spec.path, str(spec.settings)), build)


def fold_of(cell: Place, checksums: Mapping[str, str] | None = None) -> SplitData:
    """Training and test part of a cell; the same for all models and laws."""
    known = checksums or {}
    # A worker may outlive a run, and a file change between two of them.
    content = tuple(known.get(spec.label) for spec in (cell.dataset, cell.external) if spec)
    return MEMORY.folds.get((cell.fold_key, content), lambda: _fold(cell, known, content))


def _fold(cell: Place, checksums: Mapping[str, str], content: tuple[str | None, ...]) -> SplitData:
    key = (cell.data_key, cell.common.folds, content)
    drawn: Drawn = MEMORY.drawn.get(key, lambda: _draw(cell, checksums))
    ss = drawn.data
    train, test = np.flatnonzero(drawn.fold != cell.fold), np.flatnonzero(drawn.fold == cell.fold)
    y_train, y_test = ss.y[train], ss.y[test]
    # A level that is missing from a fold would leave a constant column, which some models refuse.
    prepare = drawn.prepare().fit(ss.X.iloc[train])
    X_train, X_test = (_with_column(prepare.transform(ss.X.iloc[rows])) for rows in (train, test))
    facts = {
        "subjects": len(ss),
        "censored": ss.censoring_rate,
        "dropped": ss.dropped,
        "train": len(y_train),
        "test": len(y_test),
        "test_events": int(y_test.event.sum()),
        "past_reference": int((y_test.time > y_train.time.max()).sum()),
        "features": int(X_train.shape[1]),
    }
    code = _cause(cell, ss.y)
    questions = Questions(y_test, Reference(y_train, causes=code is not None), ss.true_time[test])
    if code is not None and ss.true_cause is not None:
        questions.cause, questions.true_cause = code, ss.true_cause[test]
    return SplitData(X_train, y_train, X_test, questions, facts)


def _cause(cell: Place, y: Outcomes) -> int | None:
    """Code of the cause that the plan asks about; None: one kind of event."""
    wanted, data = cell.common.cause, cell.dataset.label
    if y.causes is None and wanted is None:
        return None
    if y.causes is None:
        raise InputError(f"plan: cause is {wanted!r}, but data set {data!r} has one kind of event")
    if wanted is None:
        names = ", ".join(map(repr, y.causes))
        raise InputError(
            f"data set {data!r} has several causes; say in the plan which one matters: "
            f"cause = {y.causes[0]!r} or a code from 1 to {len(y.causes)} ({names})"
        )
    return cause_code(wanted, y.causes, f"data set {data!r}: cause")


def _draw(cell: Place, checksums: Mapping[str, str]) -> Drawn:
    external = None
    if cell.external is not None:
        other = cell.external
        key = (other.label, checksums.get(other.label))
        external = MEMORY.outcomes.get(key, lambda: _checked(other, checksums).data.y)
    base = _checked(cell.dataset, checksums).data
    ss = semisynthetic(
        base.X,
        base.y,
        cell.censoring.kind,
        cell.censoring_seed,
        external,
        fill=base.fill,
        **cell.censoring.settings,
    )
    folds = SurvivalKFold(cell.common.folds, cell.split_seed).folds(ss.y)
    return Drawn(ss, folds, lambda: base.preprocessor(drop_constant=True))


def _checked(spec: DatasetSpec, checksums: Mapping[str, str]) -> Loaded:
    found = loaded(spec)
    expected = checksums.get(spec.label)
    if expected is not None and found.checksum != expected:
        MEMORY.datasets.items.clear()  # perhaps read before the file changed
        found = loaded(spec)
    if expected is not None and found.checksum != expected:
        raise InputError(
            f"data set {spec.label!r} differs from the one that the run began with: its content "
            f"has checksum {found.checksum}, expected {expected}"
        )
    return found


def _with_column(X: Floats) -> Floats:
    """Features that are all constant leave one column of zeros, so that every model can be fit."""
    return X if X.shape[1] else np.zeros((X.shape[0], 1))


def content_checksum(data: Dataset) -> str:
    """SHA-256 of what a data set holds, whatever file or package it came from."""
    digest = sha256()
    codes = data.y.event if data.y.cause is None else data.y.cause
    for array in (data.y.time, codes.astype(np.float64)):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    for name in data.X.columns:
        column = data.X[name]
        digest.update(f"|{name}|".encode())
        if column.dtype.kind in "fiub":
            digest.update(np.ascontiguousarray(column.to_numpy(), dtype="<f8").tobytes())
        else:
            digest.update("\x1f".join(map(str, column.tolist())).encode())
    return digest.hexdigest()


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name], self._last = now - self._last, now


def _heading(cell: Place) -> dict[str, Any]:
    return {"cell": cell.names(), "digest": cell.digest}


def failure(cell: Place, error: str, message: str, trace: str, seconds: float = 0.0) -> Outcome:
    """Record of a cell that failed: type and message of the error, and its traceback."""
    record = {
        **_heading(cell),
        "error": error,
        "message": brief(message),
        "traceback": trace,
        "seconds": {"total": seconds},
    }
    return Outcome("failed", record)


def _failed_metrics(cell: Place, failed: Mapping[str, Attempt]) -> dict[str, Any] | None:
    """Record of the metrics that failed in a cell that has a result; None if there are none."""
    if not failed:
        return None
    message = "; ".join(f"{name}: {found.error}" for name, found in failed.items())
    trace = "\n".join(f"{name}\n{found.trace}" for name, found in failed.items())
    return failure(cell, "MetricError", message, trace).record


def _tail_share(prediction: Prediction) -> float | None:
    if prediction.curves is None:
        return None
    return finite(np.mean(~prediction.curves.reaches(0.5)))
