"""`evaluate_dask`: partitions become accumulators on the workers, which merge in a tree."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from .._tools.extras import need
from ..errors import InputError
from ..evaluation import Evaluation
from ..metrics.conventions import Convention
from ..reference.kaplan_meier import KaplanMeier
from .accumulator import Accumulator
from .arrow import Held, Item, are_paths
from .batches import Batch
from .call import evaluate_source
from .layout import Layout
from .parquet import ParquetItem, ParquetSource


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
    24 bytes per subject and model, and scores with weights 1/G of the test subjects 8 to 16 per
    metric, subject and model, which come to the caller.

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
    columns = time_column, event_column, weight_column
    layout = Layout.of(predictions, *columns, by, conditional, entry_column, outcomes)
    cluster = Cluster(client)
    source: Partitions | ParquetSource
    make: Callable[..., Item]
    if are_paths(frame):
        source, make = ParquetSource(frame, apart), ParquetItem
        sent = cluster.delayed(source)
        pieces = [(sent, item.start, item.stop) for item in source.items(None)]
    else:
        source, make = Partitions(cluster, frame), held
        pieces = source.pieces

    def run(_name: str, _columns: list[str], work: Callable[..., Any], *about: Any) -> Any:
        sent = [cluster.delayed(argument) for argument in about]
        scored = cluster.delayed(on_worker)
        jobs = [scored(make, piece, work, *sent) for piece in pieces]
        return cluster.run(tree(jobs, cluster.delayed(merge_two)))

    return evaluate_source(evaluate_dask, given, layout, source, run)


class Cluster:
    """Dask's functions, on the client that was given or on the current one."""

    def __init__(self, client: Any = None) -> None:
        self._dask, self._client = need("dask", "evaluate_dask", "dask"), client

    def delayed(self, what: Any) -> Any:
        """Return a function or a value that workers see."""
        return self._dask.delayed(what, pure=False)

    def run(self, job: Any) -> Any:
        """Compute a delayed value; errors of ours come back as they were raised."""
        if self._client is None:
            return self._dask.compute(job)[0]
        return self._client.compute(job).result()


class Partitions:
    """Partitions of a Dask frame, as a source."""

    again = True

    def __init__(self, cluster: Cluster, frame: Any) -> None:
        self._cluster = cluster
        parts = _partitions(frame)
        sizes = cluster.delayed(list)([cluster.delayed(size_of)(part) for part in parts])
        bounds = list(accumulate(cluster.run(sizes), initial=0))
        self.rows = bounds[-1]
        #: Partitions that have rows: data, first row, number.
        self.pieces = [
            (part, start, k)
            for k, (part, (start, stop)) in enumerate(zip(parts, pairwise(bounds), strict=True))
            if start < stop
        ]

    def first(self) -> Batch:
        """Return some first rows."""
        if not self.pieces:
            raise InputError("the frame has no rows; at least one subject is needed")
        part, _, number = self.pieces[0]
        head = self._cluster.run(self._cluster.delayed(head_of)(part))
        return Batch(head, f"partition {number}")

    def check(self, layout: Layout) -> None:
        """Every partition is checked where it is scored."""


def _partitions(frame: Any) -> list[Any]:
    """Return the delayed partitions of a frame."""
    if hasattr(frame, "to_delayed"):
        return list(frame.to_delayed())
    if isinstance(frame, list) and frame and all(hasattr(p, "compute") for p in frame):
        return list(frame)
    raise InputError(
        "frame must be a Dask frame, a list of delayed frames or a path to Parquet; got "
        f"{type(frame).__name__}; for other data use evaluate_stream"
    )


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


def size_of(part: Any) -> int:
    """Rows of a partition."""
    return len(Batch(part))


def head_of(part: Any) -> Any:
    """Return the first rows of a partition."""
    batch = Batch(part)
    return batch.rows(0, min(8, len(batch)))._data


def held(part: Any, start: int, number: int) -> Held:
    """Return a partition as an item."""
    return Held(Batch(part, f"partition {number}"), start)


def on_worker(
    make: Callable[..., Item], piece: tuple[Any, ...], work: Callable[..., Any], *about: Any
) -> Any:
    """Work on a piece; the reference set, which is large, stays on the worker."""
    found = work(make(*piece), *about)
    return found.detach() if isinstance(found, Accumulator) else found
