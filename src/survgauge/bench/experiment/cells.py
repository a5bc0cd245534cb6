"""One cell: draw the censoring, split, fit, predict, measure; no files are read or written here."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.causes import cause_code
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.reference import Reference
from ...evaluation.scorers import SurvivalKFold
from ...metrics.registry import Metric
from ..censoring import semisynthetic
from ..datasets import Dataset, load
from .plan import Cell
from .process import ONE_CELL, CellTimeoutError, limit_threads, time_limit
from .scoring import (
    Arrays,
    Attempt,
    Questions,
    brief,
    finite,
    pack,
    pack_distribution,
    said,
    score,
    unpack,
    unpack_distribution,
)
from .specs import DatasetSpec, DistributionSpec, ModelSpec, look_in

_MOST_WARNINGS = 10


@dataclass(frozen=True)
class CellTask:
    """A cell with what a worker needs besides."""

    cell: Cell
    #: Content that the datasets must have, by name, so that all machines work on the same data.
    checksums: Mapping[str, str] = field(default_factory=dict)
    #: Metrics that the user registered: a process that is handed them has them.
    metrics: tuple[Metric, ...] = ()

    @property
    def threads(self) -> int:
        """Threads of linear algebra inside a process."""
        return self.cell.plan.threads

    def run(self, *given: Any) -> Outcome:
        """Run the cell, see `execute`."""
        return execute(self, *given)


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: ok or failed."""

    status: str
    #: One for each metric: the cell, facts about its data, how long it took, and the numbers.
    rows: list[dict[str, Any]] = field(default_factory=list)
    #: Predictions to keep of a model, or the curves of a distribution.
    arrays: Arrays | None = None
    #: What failed: the cell, or some metrics of a cell that is ok.
    failure: dict[str, Any] | None = None
    seconds: float = 0.0

    @property
    def message(self) -> str:
        """What went wrong, in a line."""
        if self.failure is None:
            return ""
        kind = f"{self.failure['error']}: " if self.status == "failed" else ""
        return f"{kind}{self.failure['message']}"


def execute(
    task: CellTask, stored: Arrays | None = None, distributions: Mapping[str, Arrays] | None = None
) -> Outcome:
    """Run a cell; whatever goes wrong becomes a record with its traceback.

    With predictions of an earlier run (`stored`, see `pack`) nothing is fitted; `distributions` are
    the fitted distributions of the fold by name, see `pack_distribution`.
    """
    cell = task.cell

    def compute() -> Outcome:
        fold = fold_of(cell, task.checksums)
        if isinstance(cell.model, DistributionSpec):
            return _fit_distribution(cell, cell.model, fold)
        return _measure_model(cell, cell.model, fold, stored, distributions or {})

    found, warned = attempted(cell, cell.plan.folder, cell.plan.threads, compute)
    for row in found.rows:
        row |= {"warnings": warned, "seconds": found.seconds}
    return found


def attempted(
    cell: Any, folder: str | None, threads: int, compute: Callable[[], Outcome]
) -> tuple[Outcome, list[str]]:
    """Compute the outcome of a cell, or the record of what went wrong; and what was warned of."""
    start = time.perf_counter()
    look_in(folder)
    with ONE_CELL, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            limit_threads(threads)
            found = compute()
        except (Exception, SystemExit, CellTimeoutError) as error:  # a model may call sys.exit
            trace = "".join(traceback.format_exception(error))
            seconds = time.perf_counter() - start
            return failed(cell, type(error).__name__, str(error), trace, seconds), []
    texts = dict.fromkeys(brief(f"{w.category.__name__}: {w.message}") for w in caught)
    return replace(found, seconds=time.perf_counter() - start), list(texts)[:_MOST_WARNINGS]


def _fit_distribution(cell: Cell, spec: DistributionSpec, fold: Fold) -> Outcome:
    with time_limit(cell.plan.timeout):
        given = fold.X_train, fold.y_train, fold.X_test, fold.questions.y
        return Outcome("ok", arrays=pack_distribution(spec.fit(*given, cell.model_seed)))


def _measure_model(
    cell: Cell,
    spec: ModelSpec,
    fold: Fold,
    stored: Arrays | None,
    distributions: Mapping[str, Arrays],
) -> Outcome:
    for name, arrays in distributions.items():
        if name not in fold.questions.distributions:
            fold.questions.distributions[name] = unpack_distribution(arrays)
    model: Any = None
    fitting = None
    if stored is None:
        model = spec.build(cell.model_seed)
        # Building imports libraries, which come with thread pools of their own.
        limit_threads(cell.plan.threads)
    # Only now: data are prepared and libraries imported for all cells of a process, not for one.
    with time_limit(cell.plan.timeout):
        if stored is not None:
            prediction = unpack(stored, fold.questions.cause)
        else:
            begun = time.perf_counter()
            model.fit(fold.X_train, fold.y_train)
            fitting = time.perf_counter() - begun
            prediction = said(model, fold.X_test, fold.questions)
        rows, wrong = score(fold.questions, prediction, cell.plan.metrics)
    curves = prediction.curves
    tail = None if curves is None else finite(np.mean(~curves.reaches(0.5)))
    facts = {f"data_{name}": value for name, value in {**fold.facts, "tail_share": tail}.items()}
    head = {**cell.names(), **facts, "seconds_fit": fitting, "seconds": None, "digest": cell.digest}
    notes = [brief(note) for note in getattr(model, "notes_", ())]
    return Outcome(
        "ok",
        [{**head, "note": None, "error": None, **row, "notes": notes} for row in rows],
        pack(prediction) if cell.plan.keep_predictions and stored is None else None,
        _failed_metrics(cell, wrong),
    )


def failed(cell: Cell, error: str, message: str, trace: str, seconds: float = 0.0) -> Outcome:
    """Outcome of a cell that failed: type and message of the error, and its traceback."""
    record = {
        "cell": cell.names(),
        "digest": cell.digest,
        "error": error,
        "message": brief(message),
        "traceback": trace,
        "seconds": seconds,
    }
    return Outcome("failed", failure=record, seconds=seconds)


def _failed_metrics(cell: Cell, wrong: Mapping[str, Attempt]) -> dict[str, Any] | None:
    """Record of the metrics that failed in a cell that has a result; None if there are none."""
    if not wrong:
        return None
    message = "; ".join(f"{name}: {found.error}" for name, found in wrong.items())
    trace = "\n".join(f"{name}\n{found.trace}" for name, found in wrong.items())
    return failed(cell, "MetricError", message, trace).failure


# -- data of a fold --------------------------------------------------------------------------------


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


#: What a process keeps between cells; every entry is a pure function of its key.
DATASETS, OUTCOMES, DRAWN, FOLDS = Recent(2), Recent(2), Recent(1), Recent(1)


@dataclass(frozen=True)
class Fold:
    """Training and test part, filled, encoded and standardised from training rows alone."""

    X_train: Floats
    y_train: Outcomes
    X_test: Floats
    questions: Questions
    facts: dict[str, Any]


def fold_of(cell: Cell, checksums: Mapping[str, str] | None = None) -> Fold:
    """Training and test part of a cell; the same for all models and distributions."""
    expected = checksums or {}
    # A worker may outlive a run, and a file change between two of them.
    content = tuple(expected.get(spec.label) for spec in (cell.dataset, cell.external) if spec)

    def build() -> Fold:
        key = (cell.data_key, cell.plan.folds, content)
        return _split(cell, *DRAWN.get(key, lambda: _draw(cell, expected)))

    found: Fold = FOLDS.get((cell.fold_key, content), build)
    return found


def _draw(cell: Cell, checksums: Mapping[str, str]) -> tuple[Any, ...]:
    """Semi-synthetic dataset, fold of each subject, and the dataset that it came from."""
    other, external = cell.external, None
    if other is not None:
        key = (other.label, checksums.get(other.label))
        external = OUTCOMES.get(key, lambda: _checked(other, checksums).y)
    base = _checked(cell.dataset, checksums)
    settings = {"fill": base.fill, **cell.censoring.settings}
    kind, seed = cell.censoring.kind, cell.censoring_seed
    drawn = semisynthetic(base.X, base.y, kind, seed, external, **settings)
    return drawn, SurvivalKFold(cell.plan.folds, cell.split_seed).folds(drawn.y), base


def _split(cell: Cell, drawn: Any, fold: Any, base: Dataset) -> Fold:
    train, test = np.flatnonzero(fold != cell.fold), np.flatnonzero(fold == cell.fold)
    y_train, y_test = drawn.y[train], drawn.y[test]
    X_train, X_test, _ = base.prepared(drawn.X.iloc[train], drawn.X.iloc[test])
    facts = {
        "subjects": len(drawn),
        "censored": drawn.censoring_rate,
        "dropped": drawn.dropped,
        "train": len(y_train),
        "test": len(y_test),
        "test_events": int(y_test.event.sum()),
        "past_reference": int((y_test.time > y_train.time.max()).sum()),
        "features": int(X_train.shape[1]),
    }
    code = _cause(cell, drawn.y)
    reference = Reference(y_train, causes=code is not None)
    questions = Questions(y_test, reference, drawn.true_time[test])
    if code is not None and drawn.true_cause is not None:
        questions.cause, questions.true_cause = code, drawn.true_cause[test]
    return Fold(X_train, y_train, X_test, questions, facts)


def _cause(cell: Cell, y: Outcomes) -> int | None:
    """Code of the cause that the plan asks about; None: one kind of event."""
    wanted, data = cell.plan.cause, cell.dataset.label
    if y.causes is None and wanted is None:
        return None
    if y.causes is None:
        raise InputError(f"plan: cause is {wanted!r}, but dataset {data!r} has one kind of event")
    if wanted is None:
        names = ", ".join(map(repr, y.causes))
        raise InputError(
            f"dataset {data!r} has several causes; say in the plan which one matters: "
            f"cause = {y.causes[0]!r} or a code from 1 to {len(y.causes)} ({names})"
        )
    return cause_code(wanted, y.causes, f"dataset {data!r}: cause")


def loaded(spec: DatasetSpec) -> tuple[Dataset, str]:
    """Load a dataset, or take it from memory; with the checksum of its content."""

    def build() -> tuple[Dataset, str]:
        data = load(spec.label, spec.path, **spec.settings)
        return data, content_checksum(data)

    found: tuple[Dataset, str] = DATASETS.get((spec.label, spec.path, str(spec.settings)), build)
    return found


def _checked(spec: DatasetSpec, checksums: Mapping[str, str]) -> Dataset:
    data, found = loaded(spec)
    expected = checksums.get(spec.label, found)
    if found != expected:
        DATASETS.items.clear()  # perhaps read before the file changed
        data, found = loaded(spec)
    if found != expected:
        raise InputError(
            f"dataset {spec.label!r} differs from the one that the run began with: its content "
            f"has checksum {found}, expected {expected}"
        )
    return data


def content_checksum(data: Dataset) -> str:
    """SHA-256 of what a dataset holds, whatever file or package it came from."""
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
