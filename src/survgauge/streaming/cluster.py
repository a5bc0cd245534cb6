"""`evaluate_dask`: partitions become accumulators on the workers, which merge in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from ..errors import InputError, MissingExtraError
from ..evaluation import Evaluation
from .accumulator import Accumulator
from .batches import Batch
from .call import Ask, make_plan, reference_of
from .counts import Outline
from .layout import Layout
from .plan import Plan


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
    unit: str = "",
    client: Any = None,
    **settings: Any,
) -> Evaluation:
    """Evaluate a Dask frame: every partition where it lies, with the numbers of `evaluate`.

    A partition becomes a small accumulator; accumulators merge pairwise, neighbours first, so that
    no machine holds the test set. A worker that is lost costs time only: Dask computes its
    partitions again elsewhere. Metrics that rank subjects (C-indices, AUC, 1-calibration, ICI) keep
    24 bytes a subject, which come to the caller.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame, or list of delayed frames
        The test set, with outcomes and predictions.
    client : distributed.Client, optional
        The cluster; by default Dask's current one, or its threads.
    y_train, predictions, metrics, confidence, random_state, n_boot, bootstrap, baseline, unit
        As for `evaluate_stream`, as are the columns and `settings`.

    Returns
    -------
    Evaluation
    """
    ask = Ask.of(
        metrics, confidence, random_state, n_boot, bootstrap, baseline, unit, settings, y_train
    )
    layout = Layout.of(predictions, time_column, event_column, weight_column)
    reference = reference_of(y_train, time_column, event_column)
    cluster = Cluster(client)
    parts = cluster.partitions(frame)
    layout, sizes = _look(cluster, parts, layout)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    outline: Outline | None = None
    if ask.foresight():
        keep = "km_calibration" in ask.names
        jobs = [
            cluster.delayed(outline_of)(part, layout, ask.at_risk, keep, start, k)
            for k, (part, start) in enumerate(zip(parts, starts, strict=True))
            if sizes[k]
        ]
        outline = cluster.run(tree(jobs, cluster.delayed(merge_two)))
    plan = make_plan(ask, layout, reference, outline)
    sent = cluster.delayed(plan)
    jobs = [
        cluster.delayed(score_partition)(part, sent, start, k)
        for k, (part, start) in enumerate(zip(parts, starts, strict=True))
        if sizes[k]
    ]
    if not jobs:
        raise InputError("the frame has no rows; at least one subject is needed")
    total = cluster.run(tree(jobs, cluster.delayed(merge_two)))
    return ask.finish(total, sum(sizes))


class Cluster:
    """Dask's functions, on the client that was given or on the current one."""

    def __init__(self, client: Any = None) -> None:
        try:
            dask: Any = import_module("dask")
        except ImportError as error:
            raise MissingExtraError("evaluate_dask", "dask") from error
        self._dask, self._client = dask, client

    def delayed(self, what: Any) -> Any:
        """Return a function or a value that workers see."""
        return self._dask.delayed(what)

    def partitions(self, frame: Any) -> list[Any]:
        """Return the delayed partitions of a frame."""
        if hasattr(frame, "to_delayed"):
            return list(frame.to_delayed())
        if isinstance(frame, list) and frame and all(hasattr(p, "compute") for p in frame):
            return list(frame)
        raise InputError(
            "frame must be a Dask frame or a list of delayed frames; got "
            f"{type(frame).__name__}; for other data use evaluate_stream"
        )

    def run(self, job: Any) -> Any:
        """Compute a delayed value; errors of ours come back as they were raised."""
        if self._client is None:
            return self._dask.compute(job)[0]
        return self._client.compute(job).result()


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
    import copy

    total = copy.deepcopy(one)
    total.merge(other)
    return total


def size_of(part: Any) -> int:
    """Rows of a partition."""
    return len(Batch(part))


def head_of(part: Any) -> Any:
    """Return the first rows of a partition."""
    batch = Batch(part)
    return batch.rows(0, min(8, len(batch)))._data


def outline_of(
    part: Any, layout: Layout, at_risk: float, keep: bool, start: int, number: int
) -> Outline:
    """Look at the outcomes of a partition."""
    found = Outline(at_risk, keep)
    found.update(layout.outcomes(Batch(part, f"partition {number}")), start)
    return found


def score_partition(part: Any, plan: Plan, start: int, number: int) -> Accumulator:
    """Score a partition."""
    found = Accumulator(plan)
    found.update(Batch(part, f"partition {number}"), start)
    return found


def _look(cluster: Cluster, parts: list[Any], layout: Layout) -> tuple[Layout, list[int]]:
    """Sizes of all partitions, and what the first rows say about the columns."""
    sizes = cluster.run(cluster.delayed(list)([cluster.delayed(size_of)(p) for p in parts]))
    for part, size in zip(parts, sizes, strict=True):
        if size:
            head = cluster.run(cluster.delayed(head_of)(part))
            return layout.resolved(Batch(head, "partition 0")), sizes
    raise InputError("the frame has no rows; at least one subject is needed")
