"""Test sets that do not fit into memory, and predictions that come batch by batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..._tools.arrays import whole_number
from ..._tools.extras import need
from ..._tools.running import in_order, thread_count
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, did_you_mean
from ...estimators.reference import Reference
from ...metrics.checks import with_causes
from ...metrics.conventions import SETTINGS, Convention, takes_settings
from ...metrics.registry import REGISTRY
from .. import Evaluation, evaluate
from ..call import chosen_metrics
from ..reading import joined, joined_predictions, named_models, read_predictions
from .arrow import Held, Item, ParquetItem, ParquetSource, are_paths, as_source
from .batches import Batch
from .layout import Layout
from .stream import evaluate_source

#: Told how many rows are done, of how many (or None), in which pass.
Progress = Callable[[int, int | None, str], None]


@takes_settings
def evaluate_stream(
    batches: Any,
    *,
    y_train: Any,
    predictions: Mapping[str, Any] | Any,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    baseline: bool = True,
    time_column: str = "time",
    event_column: str = "event",
    weight_column: str | None = None,
    entry_column: str | None = None,
    outcomes: str | None = None,
    by: str | None = None,
    apart: Mapping[str, Any] | None = None,
    unit: str = "",
    conditional: Mapping[str, Any] | None = None,
    workers: int | None = None,
    batch_rows: int | None = None,
    progress: Progress | None = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    cause: int | str | None = None,
) -> Evaluation:
    """Evaluate a test set that comes in batches: the numbers of `evaluate`, in bounded memory.

    Parameters
    ----------
    batches : path, frame, query, list or function
        Parquet (file, folder, glob, or a list of these), an Arrow table or dataset, a pandas or
        Polars frame (also lazy), a DuckDB relation, a list of batches, an iterator over them, or
        a function that returns one. A batch is a mapping of columns, a frame or an Arrow batch.
    y_train : outcomes, path or function
        Reference set: anything that `Outcomes.of` reads, or batches like the above, with their
        frequencies if they have `weight_column`. It must be given.
    predictions : mapping of name to column
        The name of a column of times or of curves (lists, or ``"prefix*"``), or `TimeColumn`,
        `RiskColumn`, `CurveColumns`, which say more; `IncidenceColumns` with a cause.
    metrics : names, optional
        By default all but the squared errors and antolini, which cannot be streamed.
    confidence : float or None
        Level of the intervals; None for none.
    random_state : int
        Seed of the bootstrap.
    baseline : bool
        Whether losses are compared with Kaplan-Meier of the reference set (the column `skill`).
    time_column, event_column, weight_column : str
        Columns of the outcomes; weights are frequencies.
    entry_column : str, optional
        Column with the time from which on a subject was observed (delayed entry), by default
        ``entry`` if there is one; `y_train` has it too. As for `evaluate`, predictions and G are
        conditioned on it, and metrics that support no entry are left out of the default ones.
    outcomes : {"right", "interval"}, optional
        Which outcomes to read: times and events, or the columns ``lower`` and ``upper`` of
        interval-censored ones. By default what the columns say; where there are both, it must be
        given. The distribution of the event time is then Turnbull's of `y_train`, and settings that
        only right-censored outcomes have are refused.
    by : str, optional
        Column with the group of each subject (text, whole numbers, flags, categories). Groups are
        evaluated each by itself against the same reference and horizon.
    apart : mapping of name to path, optional
        Parquet files with a model's predictions, row by row those of the outcomes' files. Their
        columns are called ``name/column`` in `predictions`.
    unit : str
        What times are counted in ("days").
    conditional : mapping of {"distribution", "censoring"} to column, optional
        Columns of curves (their names, or `CurveColumns`) that hold the distribution of the event
        time and G of each subject, for the doubly robust metrics; by default Kaplan-Meier.
    workers : int, optional
        Threads; by default one per core. The numbers do not depend on it.
    batch_rows : int, optional
        How many subjects each thread scores together: fewer take less memory. By default
        131,072, and fewer where curves have more than 25 values. The numbers do not depend on it.
    progress : function, optional
        Called with the number of rows done, of all rows (or None), and the name of the pass.
    time : float or several, optional
        Times of interest of brier, auc, one_calibration and ici, as for `evaluate`; by default
        `tau`, or else the median observed time of the reference set.
    tau : float, optional
        Horizon of all metrics that stop at one, as for `evaluate`.
    convention : str or Convention, optional
        Definitions of another package or of the paper, and settings, as for `evaluate`.
    cause : int or str, optional
        With several causes, the one that the evaluation is about, as for `evaluate`; `y_train` is
        then outcomes in memory, which say what the causes are, and the event column has their codes
        or names.

    Returns
    -------
    Evaluation
        Like that of `evaluate`, without the predictions; all numbers agree to 1e-9.

    Notes
    -----
    The rows are read twice: first their outcomes, which are kept (9 bytes per subject, 17 with
    entries or intervals), then with the predictions, of which chunks of `batch_rows` make a number
    or two for each subject, metric and model: about 90 to 240 bytes per subject and model, and with
    one_calibration up to 264 more. Where these are many they lie in a temporary folder (the
    environment variable TMPDIR says where). What is then done is what `evaluate` does. More than
    one machine can read runs on several with `evaluate_dask`. An iterator, which can be read only
    once, is written to a temporary file first.

    Examples
    --------
    >>> y_train = ([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0])
    >>> batches = [
    ...     {"time": [2, 5], "event": [1, 0], "a": [3, 5], "b": [5, 5]},
    ...     {"time": [7, 8], "event": [1, 1], "a": [6, 9], "b": [5, 5]},
    ... ]
    >>> ev = evaluate_stream(batches, y_train=y_train, predictions={"a": "a", "b": "b"},
    ...                      metrics=["mae_po", "mae_hinge"])
    >>> {(r["model"], r["metric"]): round(r["value"], 2) for r in ev.rows()[:2]}
    {('a', 'mae_po'): 1.34, ('a', 'mae_hinge'): 0.75}
    """
    given = dict(locals())
    batch_rows = None if batch_rows is None else whole_number(batch_rows, "batch_rows", 1)
    threads = thread_count() if workers is None else whole_number(workers, "workers", 1)
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function; got {type(progress).__name__}")
    columns = time_column, event_column, weight_column
    layout = Layout.of(predictions, *columns, by, conditional, entry_column, outcomes)
    source = as_source(batches, apart=apart, batch_rows=batch_rows)

    def run(
        name: str, columns: list[str], most: int, work: Callable[..., Any], *about: Any
    ) -> Iterator[Any]:
        def worked(piece: tuple[Batch, int]) -> tuple[int, Any]:
            batch, start = piece
            return start + len(batch), work(batch, start, *about)

        pieces = (piece for item in source.items(columns) for piece in cut(item, columns, most))
        for done, found in in_order(worked, pieces, threads, ahead=threads):
            yield found
            if progress is not None:
                progress(done, source.rows, name)

    return evaluate_source(evaluate_stream, given, layout, source, run, batch_rows)


def cut(item: Item, columns: list[str], most: int) -> Iterator[tuple[Batch, int]]:
    """Yield the batches of a piece, each with the number of its first row, no longer than asked."""
    start = item.start
    for batch in item.batches(columns, most):
        for first in range(0, len(batch), most):
            part = batch
            if len(batch) > most:
                part = batch.rows(first, min(first + most, len(batch)))
                part.label = f"{batch.label}, from row {start + first} on"
            yield part, start + first
        start += len(batch)


#: Partitions whose numbers wait for the caller.
_TOGETHER = 64


@takes_settings
def evaluate_dask(
    frame: Any,
    *,
    y_train: Any,
    predictions: Mapping[str, Any] | Any,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    baseline: bool = True,
    time_column: str = "time",
    event_column: str = "event",
    weight_column: str | None = None,
    entry_column: str | None = None,
    outcomes: str | None = None,
    by: str | None = None,
    apart: Mapping[str, Any] | None = None,
    unit: str = "",
    conditional: Mapping[str, Any] | None = None,
    client: Any = None,
    time: float | Sequence[float] | None = None,
    tau: float | None = None,
    convention: str | Convention | None = None,
    cause: int | str | None = None,
) -> Evaluation:
    """Evaluate a Dask frame, every partition on its worker, with the numbers of `evaluate`.

    Workers reduce each partition to the numbers that metrics need of its subjects (see
    `evaluate_stream`: about 90 to 240 bytes per subject and model), which come to the caller some
    partitions at a time. A worker that is lost costs time only: Dask computes its partitions again
    elsewhere.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame, list of delayed frames, or path to Parquet
        The test set, with outcomes and predictions. Of Parquet every row group is a piece of work;
        all workers must see the files.
    y_train, predictions, metrics, confidence, random_state, baseline
        As for `evaluate_stream`.
    time_column, event_column, weight_column, entry_column, outcomes
        As for `evaluate_stream`.
    by, apart, unit, conditional
        As for `evaluate_stream`.
    client : distributed.Client, optional
        The cluster; by default Dask's current one, or its threads.
    time, tau, convention, cause
        As for `evaluate_stream`.

    Returns
    -------
    Evaluation
    """
    given = dict(locals())
    columns = time_column, event_column, weight_column
    layout = Layout.of(predictions, *columns, by, conditional, entry_column, outcomes)
    dask = need("dask", "evaluate_dask", "dask")
    delayed = partial(dask.delayed, pure=False)
    compute = partial(dask.compute, scheduler=client)  # None: the current client, or threads
    source: Partitions | ParquetSource
    make: Callable[..., Item]
    if are_paths(frame):
        source, make = ParquetSource(frame, apart), ParquetItem
        sent = delayed(source)
        pieces = [(sent, item.start, item.stop) for item in source.items(None)]
    else:
        source, make = Partitions(frame, delayed, compute), held
        pieces = source.pieces

    def run(
        _name: str, columns: list[str], most: int, work: Callable[..., Any], *about: Any
    ) -> Iterator[Any]:
        sent, worked = [delayed(argument) for argument in about], delayed(on_worker)
        jobs = [worked(make, piece, columns, most, work, *sent) for piece in pieces]
        for start in range(0, len(jobs), _TOGETHER):  # so that few wait for the caller
            for parts in compute(*jobs[start : start + _TOGETHER]):
                yield from parts

    return evaluate_source(evaluate_dask, given, layout, source, run)


class Partitions:
    """Partitions of a Dask frame, as a source; `compute` is Dask's."""

    def __init__(
        self, frame: Any, delayed: Callable[..., Any], compute: Callable[..., Any]
    ) -> None:
        if hasattr(frame, "to_delayed"):
            frame = frame.to_delayed()
        elif not (isinstance(frame, list) and frame and all(hasattr(p, "compute") for p in frame)):
            raise InputError(
                "frame must be a Dask frame, a list of delayed frames or a path to Parquet; got "
                f"{type(frame).__name__}; for other data use evaluate_stream"
            )
        seen = compute(*(delayed(size_and_head)(part) for part in frame))
        bounds = list(accumulate((size for size, _ in seen), initial=0))
        self.rows = bounds[-1]
        #: Partitions that have rows: data, first row, number.
        self.pieces = [
            (part, start, k)
            for k, (part, (start, stop)) in enumerate(zip(frame, pairwise(bounds), strict=True))
            if start < stop
        ]
        self._heads = [head for _, head in seen]

    def first(self) -> Batch:
        """Return some first rows."""
        if not self.pieces:
            raise InputError("the frame has no rows; at least one subject is needed")
        number = self.pieces[0][2]
        return Batch(self._heads[number], f"partition {number}")

    def check(self, layout: Layout) -> None:
        """Every partition is checked where it is scored."""


def size_and_head(part: Any) -> tuple[int, Any]:
    """Return the number of rows of a partition, and the first of them."""
    batch = Batch(part)
    return len(batch), batch.rows(0, min(8, len(batch)))._data


def held(part: Any, start: int, number: int) -> Held:
    """Return a partition as an item."""
    return Held(Batch(part, f"partition {number}"), start)


def on_worker(
    make: Callable[..., Item],
    piece: tuple[Any, ...],
    columns: list[str],
    most: int,
    work: Callable[..., Any],
    *about: Any,
) -> list[Any]:
    """Work on the batches of a piece."""
    batches = cut(make(*piece), columns, most)
    return [work(batch, start, *about) for batch, start in batches if len(batch)]


#: What `evaluate` takes once per subject, which a batch cannot know, and what batches bring.
_OF_SUBJECTS = (
    "predictions", "y_test", "by", "sample_weight", "cluster", "X_test", "X_train", "conditional",
)  # fmt: skip


class Evaluator:
    """Evaluation of predictions that come batch by batch: `update`, `compute`, `reset`.

    Batches are kept, as NumPy arrays, and `compute` hands all of them to `evaluate`: the numbers
    are the same, whatever the batches. (Predictions that do not fit into memory go to
    `evaluate_stream`.)

    Parameters
    ----------
    y_train : outcomes, optional
        Reference set, as for `evaluate`.
    **settings
        Anything else that `evaluate` takes but what has one entry per subject: `metrics`, `tau`,
        `time`, `unit`, `confidence`, ... (``confidence=None`` is quickest).

    Examples
    --------
    >>> evaluator = Evaluator(([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0]), metrics=["mae_po"])
    >>> evaluator.update([3, 5], ([2, 5], [1, 0]))
    >>> evaluator.update([6, 9], ([7, 8], [1, 1]))
    >>> len(evaluator), round(evaluator.compute().rows()[0]["value"], 2)
    (4, 1.34)
    >>> evaluator.reset()
    >>> len(evaluator)
    0
    """

    def __init__(self, y_train: Any = None, **settings: Any) -> None:
        known = [n for n in inspect.signature(evaluate).parameters if n not in _OF_SUBJECTS]
        known += SETTINGS
        for name in settings:
            if name not in known:
                raise InputError(
                    f"{name} is no setting of an Evaluator{did_you_mean(name, known)}; settings "
                    f"are {', '.join(known)}"
                )
        cause, metrics = settings.get("cause"), settings.get("metrics")
        kind = _outcomes_of(y_train, metrics)
        chosen_metrics(metrics, 0, cause=cause, outcomes=kind)  # now, not after an epoch
        self.settings, self._unit = settings, settings.get("unit", "")
        self._causes = None if cause is None else True
        if not (y_train is None or isinstance(y_train, Reference | IntervalOutcomes)):
            y_train = self._right_censored(y_train, "y_train")
        self.y_train = y_train
        self.reset()

    def _right_censored(self, y: Any, argument: str = "y") -> Outcomes:
        """Read outcomes, with all causes where one is asked about."""
        return Outcomes.of(y, argument, causes=self._causes, entry=True, unit=self._unit)

    def reset(self) -> None:
        """Leave all batches behind, to begin anew."""
        self._outcomes: list[Any] = []
        self._predictions: dict[str, list[Prediction]] = {}

    def __len__(self) -> int:
        return sum(len(y) for y in self._outcomes)

    def update(self, predictions: Mapping[str, Any] | Any, y: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        predictions : mapping of name to predictions
            As for `evaluate`: curves, one time per subject or `RiskScores`, also as tensors, of the
            same models in every batch. A single prediction is called "model". Curves must have the
            same grid of times in all batches, or a grid for each subject.
        y : outcomes
            Outcomes of the batch, such as a ``(time, event)`` pair of tensors, `Outcomes` with
            delayed entry, or `IntervalOutcomes`.
        """
        label = f"batch {len(self._outcomes) + 1}"
        outcomes = self._read(y)
        named, cause = named_models(predictions), self.settings.get("cause")
        read = read_predictions(named, outcomes, cause, self._unit)
        # A copy: loops write the next batch where this one is.
        batch = {name: prediction[np.arange(len(outcomes))] for name, prediction in read.items()}
        if self._outcomes:
            self._check_alike(batch, label)
        self._outcomes.append(outcomes)
        for name, prediction in batch.items():
            self._predictions.setdefault(name, []).append(prediction)

    def _read(self, y: Any) -> Any:
        """Read the outcomes of a batch, which need not have events of every cause."""
        if self._outcomes and isinstance(y, IntervalOutcomes) != isinstance(
            self._outcomes[0], IntervalOutcomes
        ):
            raise InputError(
                "y must be of one kind in all batches, Outcomes or IntervalOutcomes; got "
                f"{type(y).__name__} after {type(self._outcomes[0]).__name__}"
            )
        if isinstance(y, IntervalOutcomes):
            return y
        train = self.y_train.given if isinstance(self.y_train, Reference) else self.y_train
        if self._causes and train is not None and train.causes:
            return with_causes(y, "y", train.causes, entry=True, unit=self._unit)
        return self._right_censored(y)

    def _check_alike(self, batch: dict[str, Prediction], label: str) -> None:
        """Refuse a batch of other models, or with predictions of another kind."""
        if set(batch) != set(self._predictions):
            raise InputError(
                f"predictions of {label} must be those of the models of batch 1, "
                f"{sorted(self._predictions)}; got {sorted(batch)}"
            )
        for name, prediction in batch.items():
            first = self._predictions[name][0]
            if _kind(prediction) != _kind(first):
                advice = ""
                if _kind(prediction)[3:] == _kind(first)[3:] != ():  # only the grids differ
                    read = first.curves.interpolation  # type: ignore[union-attr]
                    advice = (
                        f": choose one grid, sg.SurvivalCurves(grid, curves.at(grid), {read!r})"
                    )
                raise InputError(
                    f"predictions of {name!r} must be alike in all batches, and curves on the same "
                    f"grid of times; batch 1 has {_described(first)}, {label} has "
                    f"{_described(prediction)}" + advice
                )

    def compute(self) -> Evaluation:
        """Evaluate all batches together; more may follow."""
        if not self._outcomes:
            raise InputError("there is nothing to compute: give a batch to `update` first")
        predictions = {name: joined_predictions(parts) for name, parts in self._predictions.items()}
        return evaluate(predictions, joined(self._outcomes), y_train=self.y_train, **self.settings)


def _outcomes_of(y_train: Any, metrics: Any) -> str:
    """Say which outcomes will come: those of the training set, or of the first metric."""
    if y_train is not None or not isinstance(metrics, str | list | tuple) or not metrics:
        return "interval" if isinstance(y_train, IntervalOutcomes) else "right"
    known = REGISTRY.get(metrics if isinstance(metrics, str) else metrics[0])
    return "right" if known is None else known.outcomes


def _kind(prediction: Prediction) -> tuple[Any, ...]:
    """What has to be the same in all batches."""
    curves = prediction.curves
    if curves is None:
        return (prediction.kind,)
    grid = curves.times.tobytes() if curves.shared_grid else "own"
    return "curves", curves.times.shape[-1], grid, curves.interpolation, curves.tail


def _described(prediction: Prediction) -> str:
    return prediction.kind if prediction.curves is None else repr(prediction.curves)
