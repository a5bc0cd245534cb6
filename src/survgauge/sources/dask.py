"""`evaluate_dask`: partitions become accumulators on the workers, which merge in a tree."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from .._tools.extras import need
from .._tools.provenance import call_text, provenance
from ..errors import InputError
from ..evaluation import Evaluation
from ..evaluation.interval_call import refuse_settings
from ..metrics.conventions import Convention
from ..reference.kaplan_meier import KaplanMeier
from .accumulator import Accumulator
from .arrow import Held, Item, are_paths
from .batches import Batch
from .call import OF_STREAMS, opened, outline_item, score_item
from .finish import finish
from .layout import Layout
from .outline import Outline
from .parquet import ParquetItem, ParquetSource
from .question import Request, Scoring, scoring_of


def evaluate_dask(
    frame: Any,
    *,
    y_train: Any,
    predictions: Mapping[str, Any] | Any,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = 0.95,
    random_state: int | None = 0,
    n_boot: int = 100,
    bootstrap: bool = False,
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
    threshold: float | None = None,
    convention: str | Convention | None = None,
    censoring: str | KaplanMeier | None = None,
    on_unsupported: str = "truncate",
    min_g: float = 0.05,
    min_at_risk: float = 10,
    weighted: bool = True,
    area: str = "step",
    tail: str = "linear",
    normalize: str = "n",
    floor: float = 0.1,
    cause: int | str | None = None,
) -> Evaluation:
    """Evaluate a Dask frame: every partition where it lies, with the numbers of `evaluate`.

    A partition becomes a small accumulator; accumulators merge pairwise, neighbours first, so that
    no machine holds the test set. A worker that is lost costs time only: Dask computes its
    partitions again elsewhere. Metrics that rank subjects (C-indices, AUC, 1-calibration, ICI) keep
    24 bytes per subject and model, which come to the caller.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame, list of delayed frames, or path to Parquet
        The test set, with outcomes and predictions. Of Parquet every row group is a piece of work;
        all workers must see the files.
    y_train, predictions, metrics, confidence, random_state, n_boot, bootstrap, baseline
        As for `evaluate_stream`.
    time_column, event_column, weight_column, entry_column, outcomes
        As for `evaluate_stream`.
    by, apart, unit, conditional
        As for `evaluate_stream`.
    client : distributed.Client, optional
        The cluster; by default Dask's current one, or its threads.
    time, tau, threshold, convention, censoring, on_unsupported, min_g, min_at_risk, cause
        As for `evaluate_stream`.
    weighted, area, tail, normalize, floor
        Settings of the time errors, as for `time_error`.

    Returns
    -------
    Evaluation
    """
    given = dict(locals())
    made = provenance(call_text(evaluate_dask, given))
    settings = {
        "time": time, "tau": tau, "threshold": threshold, "convention": convention,
        "censoring": censoring,
        "on_unsupported": on_unsupported, "min_g": min_g, "min_at_risk": min_at_risk,
        "weighted": weighted, "area": area, "tail": tail, "normalize": normalize, "floor": floor,
        "cause": cause,
    }  # fmt: skip
    asked = partial(
        Request.of,
        metrics,
        confidence=confidence,
        random_state=random_state,
        n_boot=n_boot,
        bootstrap=bootstrap,
        baseline=baseline,
        unit=unit,
        settings=settings,
    )
    columns = time_column, event_column, weight_column
    layout = Layout.of(predictions, *columns, by, conditional, entry_column, outcomes)
    cluster = Cluster(client)
    pieces: FramePieces | FilePieces
    if are_paths(frame):
        pieces = FilePieces(cluster, ParquetSource(frame, apart))
    else:
        pieces = FramePieces(cluster, cluster.partitions(frame))
    layout, reference = opened(layout, y_train, pieces.first(), cause)
    request = asked(layout=layout)
    if layout.are_intervals:
        refuse_settings(evaluate_dask, given, OF_STREAMS)
    pieces.check(layout)
    outline: Outline | None = None
    scoring: Any = None
    if not request.kept:
        scoring = scoring_of(request, layout, reference, None)
    if request.kept or request.foresight():
        found = pieces.merged(outline_item, layout, request)
        request = request.under_entry(found, reference) if request.kept else request
        scoring, outline = scoring_of(request, layout, reference, found), found
    total: Accumulator = pieces.merged(score_detached, cluster.delayed(scoring))
    ev = finish(request, total.attach(scoring), pieces.rows, outline)
    return replace(ev, provenance=made)


class Cluster:
    """Dask's functions, on the client that was given or on the current one."""

    def __init__(self, client: Any = None) -> None:
        self._dask, self._client = need("dask", "evaluate_dask", "dask"), client

    def delayed(self, what: Any) -> Any:
        """Return a function or a value that workers see."""
        return self._dask.delayed(what, pure=False)

    def partitions(self, frame: Any) -> list[Any]:
        """Return the delayed partitions of a frame."""
        if hasattr(frame, "to_delayed"):
            return list(frame.to_delayed())
        if isinstance(frame, list) and frame and all(hasattr(p, "compute") for p in frame):
            return list(frame)
        raise InputError(
            "frame must be a Dask frame, a list of delayed frames or a path to Parquet; got "
            f"{type(frame).__name__}; for other data use evaluate_stream"
        )

    def run(self, job: Any) -> Any:
        """Compute a delayed value; errors of ours come back as they were raised."""
        if self._client is None:
            return self._dask.compute(job)[0]
        return self._client.compute(job).result()

    def merged(self, jobs: list[Any]) -> Any:
        """Merge the results of all jobs in a tree."""
        if not jobs:
            raise InputError("there are no rows; at least one subject is needed")
        return self.run(tree(jobs, self.delayed(merge_two)))


class FramePieces:
    """Partitions of a Dask frame."""

    def __init__(self, cluster: Cluster, parts: list[Any]) -> None:
        self._cluster = cluster
        sizes = cluster.delayed(list)([cluster.delayed(size_of)(part) for part in parts])
        bounds = list(accumulate(cluster.run(sizes), initial=0))
        self.rows = bounds[-1]
        #: Partitions that have rows: number, first row, data.
        self._parts = [
            (k, start, part)
            for k, (part, (start, stop)) in enumerate(zip(parts, pairwise(bounds), strict=True))
            if start < stop
        ]

    def first(self) -> Batch:
        """Return some first rows."""
        if not self._parts:
            raise InputError("the frame has no rows; at least one subject is needed")
        number, _, part = self._parts[0]
        head = self._cluster.run(self._cluster.delayed(head_of)(part))
        return Batch(head, f"partition {number}")

    def check(self, layout: Layout) -> None:
        """Every partition is checked where it is scored."""

    def merged(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a function to every partition and merge the results."""
        work = self._cluster.delayed(on_frame)
        jobs = [work(part, start, k, function, *arguments) for k, start, part in self._parts]
        return self._cluster.merged(jobs)


class FilePieces:
    """Row groups of Parquet files that every worker can open."""

    def __init__(self, cluster: Cluster, source: ParquetSource) -> None:
        self._cluster, self._source = cluster, source
        self.rows = source.main.rows
        self._sent = cluster.delayed(source)

    def first(self) -> Batch:
        """Return some first rows."""
        return self._source.first()

    def check(self, layout: Layout) -> None:
        """Refuse files whose columns are not those of the first."""
        self._source.check(layout)

    def merged(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a function to every row group and merge the results."""
        work = self._cluster.delayed(on_rows)
        jobs = [
            work(self._sent, group.start, group.start + group.rows, function, *arguments)
            for group in self._source.main.groups
        ]
        return self._cluster.merged(jobs)


def tree(jobs: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge neighbours, then their merges, until one is left.

    >>> tree(["a", "b", "c", "d", "e"], lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    while len(jobs) > 1:
        pairs = [merge(jobs[k], jobs[k + 1]) for k in range(0, len(jobs) - 1, 2)]
        jobs = pairs + ([jobs[-1]] if len(jobs) % 2 else [])
    return jobs[0]


def merge_two(one: Any, other: Any) -> Any:
    """Merge on a worker; inputs stay as they are, as Dask may need them again."""
    total = copy.deepcopy(one)
    total.merge(copy.deepcopy(other))
    return total


def score_detached(item: Item, scoring: Scoring) -> Accumulator:
    """Score a piece; the result leaves the reference set, which is large, on the worker."""
    return score_item(item, scoring).detach()


def size_of(part: Any) -> int:
    """Rows of a partition."""
    return len(Batch(part))


def head_of(part: Any) -> Any:
    """Return the first rows of a partition."""
    batch = Batch(part)
    return batch.rows(0, min(8, len(batch)))._data


def on_frame(
    part: Any, start: int, number: int, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Apply a function to a partition, on a worker."""
    return function(Held(Batch(part, f"partition {number}"), start), *arguments)


def on_rows(
    source: ParquetSource, start: int, stop: int, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Apply a function to rows of files, on a worker."""
    return function(ParquetItem(source, start, stop), *arguments)
