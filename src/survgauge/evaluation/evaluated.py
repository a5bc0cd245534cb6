"""What is asked, of whom, and the `Evaluation` with its warnings and its support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._tools.arrays import Ints
from .._tools.progress import steps
from .._tools.running import chunks, in_order
from ..data.curves import SurvivalCurves
from ..data.predictions import Prediction
from ..errors import InputError, one_of
from ..metrics.registry import REGISTRY, Metric, current_name, default_metrics, metrics_of
from ..metrics.task import Task
from .cells import TableCell, check_agreement, check_weights, passing
from .checks import (
    Seen,
    check_entry,
    check_follow_up,
    check_groups,
    check_intervals,
    check_sampling,
    check_task,
    check_units,
)
from .columns import Columns
from .data_support import SubjectCounts, support_of
from .finish import Group
from .groups import sizes_of
from .result import Evaluation
from .scoring import CHUNK_ROWS, ChunkPlan, Part, chunk_rows, part_of
from .tails import check_tails, settled, withhold_dependent
from .warnings import EvaluationWarning, warned


def chosen_metrics(
    metrics: Iterable[str] | str | None,
    n: int,
    threshold: float | None = None,
    cause: int | str | None = None,
    outcomes: str = "right",
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return metrics by name; by default all that suit the number of subjects.

    "study" stands for what a validation study reports.
    """
    if metrics is None:
        usual, chosen = (
            default_metrics(size, threshold=threshold, cause=cause, outcomes=outcomes)
            for size in (0, n)
        )
        skipped = [metric for metric in usual if metric not in chosen]
        why = "takes long for more than {:,.0f} subjects (here {:,})"
        return chosen, [
            warned("metric-skipped", name=m.name, why=why.format(m.default_until, n))
            for m in skipped
        ]
    if not isinstance(metrics, Iterable):
        raise InputError(f"metrics must be a list of names; got {metrics!r}")
    if isinstance(metrics, str) and metrics == "study":  # an array compares each entry
        known = [m for m in metrics_of(outcomes, cause).values() if m.reported]
        if not known:
            raise InputError(
                "a study reports metrics of right-censored outcomes, and these are "
                "interval-censored: use evaluate, whose table and page have the metrics of these"
            )
        return [m for m in known if threshold is not None or not m.reads_threshold], []
    names = [current_name(n) for n in ([metrics] if isinstance(metrics, str) else metrics)]
    for name in names:
        one_of("metrics", name, REGISTRY, "survgauge metrics or sg.available_metrics()")
    if not names:
        raise InputError("metrics must name at least one metric; got an empty list")
    chosen = [REGISTRY[name] for name in dict.fromkeys(names)]
    for metric in chosen:
        metric.check_threshold(threshold)
        metric.check_cause(cause)
        metric.check_outcomes(outcomes)
    return chosen, []


def under_entry(
    chosen: list[Metric], named: bool, cause: int | str | None = None
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return the metrics that support delayed entry; refuse others that were named."""
    kept = [metric for metric in chosen if metric.supports_entry(cause)]
    others = ", ".join(metric.name for metric in chosen if metric not in kept)
    of = "" if cause is None else " of a cause"
    if others and named:
        lacks, it = ("support", "them") if "," in others else ("supports", "it")
        raise InputError(
            f"metrics: {others} {lacks} no delayed entry{of}; leave {it} out, or give landmark=, "
            "which counts time from one time on for those at risk then"
        )
    return kept, [warned("knows-no-entry", metrics=others, of=of)] if others else []


def offered(metrics: Iterable[Metric], kinds: dict[str, str]) -> list[Metric]:
    """Return the metrics that some model offers what they need; `kinds` are those of the models."""
    return [m for m in metrics if any(Prediction.offers(kind, m.needs) for kind in kinds.values())]


@dataclass(frozen=True)
class Request:
    """Who is asked about, and what."""

    task: Task
    metrics: list[Metric]
    #: Whether they are those that nobody named.
    usual: bool
    #: Level of the intervals (None: none), and seed of the bootstrap.
    confidence: float | None
    seed: int
    #: What kind of predictions each model gives.
    kinds: dict[str, str]
    #: Rows of each group by its name, the columns that they are by, and (`supported`) their sizes.
    groups: list[tuple[Any, Ints]] = field(default_factory=list)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    by: Sequence[str] = ()
    unit: str = ""
    #: Of metrics that were left out.
    warnings: list[EvaluationWarning] = field(default_factory=list)

    def supported(self) -> Request:
        """Leave out metrics that do not support delayed entry, where there is any."""
        task, chosen, warnings = self.task, self.metrics, self.warnings
        if task.by_entry:
            chosen, more = under_entry(chosen, not self.usual, task.cause)
            warnings = [*warnings, *more]
        had = tuple(metric.name for metric in offered(chosen, self.kinds))
        task = passing(task.again(asked=had))
        sizes = sizes_of(task.y, self.groups, task.cause)
        return replace(self, task=task, metrics=chosen, warnings=warnings, sizes=sizes)


def evaluated(
    question: Request,
    seen: Seen,
    scores: list[TableCell],
    *,
    found: list[EvaluationWarning],
    grids: list[EvaluationWarning],
    made: dict[str, Any],
    y_train: Any = None,
    predictions: dict[str, Prediction] | None = None,
    features: bool = False,
    members: list[EvaluationWarning] | None = None,
    dependent: list[EvaluationWarning] | None = None,
) -> Evaluation:
    """Return the evaluation, with all warnings in their order.

    Parameters
    ----------
    question, seen, scores
        What was asked, and what came out.
    found, grids, dependent, members
        Warnings about scores, on coarse grids, on censoring that depends on features, and on models
        that are part of a distribution given features.
    made
        Provenance.
    y_train
        Training outcomes, where they are intervals.
    predictions
        What the models said, where it is in memory.
    features
        Whether there are features by which censoring can be described.
    """
    task = question.task
    intervals, sampled = task.outcomes == "interval", task.sample_weight is not None
    counts, sizes = SubjectCounts.of(task), question.sizes
    warnings = list(question.warnings)
    if task.by_entry:
        denied = {name: (kind, seen.denied[name]) for name, kind in question.kinds.items()}
        warnings += check_entry(task, denied, task.convention.min_at_risk)
    warnings += (check_intervals if intervals else check_task)(task, counts)
    warnings += check_sampling(task.y.fractional, task.clusters)
    warnings += grids + check_units(task, seen)
    # The test behind it is one of subjects who count alike, observed from the beginning.
    if not sampled and not intervals and not task.by_entry:
        warnings += check_follow_up(passing(task), question.metrics)
    warnings += (dependent or []) + (members or []) + check_groups(sizes)
    warnings += found + check_weights(scores) + check_agreement(scores)
    warnings += check_tails(scores, question.confidence, task.words.baseline)
    scores = [settled(score) for score in scores]
    if dependent:
        scores = withhold_dependent(scores, task)
    if question.usual:
        scores, warnings = leave_out(scores, warnings)
    support = support_of(task, counts, scores, predictions or {}, y_train, features)
    if sizes:
        support |= {"groups": sizes, "by": list(question.by)}
    return Evaluation(
        scores,
        task.own(),
        question.confidence,
        support,
        warnings,
        question.seed,
        tuple(question.kinds),
        predictions or {},
        question.unit,
        provenance=made,
    )


#: In memory a chunk is no more than a small part of the subjects, but at least so many of them:
#: what threads hold of chunks is to be little beside the input.
LEAST_ROWS = CHUNK_ROWS // 8


def score_arrays(
    question: Request, predictions: dict[str, Prediction]
) -> tuple[list[TableCell], list[EvaluationWarning]]:
    """Return the scores of everybody and of every group of subjects, and warnings."""
    task, metrics, confidence = question.task, question.metrics, question.confidence
    scores: list[TableCell] = []
    warnings: list[EvaluationWarning] = []
    for name, rows in [(None, None), *question.groups]:
        part, rows = present(task, rows)
        members = {name: p[rows] for name, p in predictions.items()}
        columns = columns_of_arrays(part, members, metrics, confidence is not None)
        found, said = Group(columns, part, members, confidence, question.seed, name).scores()
        scores += found
        warnings += said
    return scores, warnings


def present(task: Task, rows: Any = None) -> tuple[Task, Any]:
    """Return the question about a group (None: all) without those of weight zero, and its rows.

    It has look-ups of its own, which end with it.
    """
    weight = task.y.weight
    if task.y.weighted and not weight.all():
        rows = np.flatnonzero(weight) if rows is None else rows[weight[rows] > 0]
    if rows is None:
        return task.again(), slice(0, len(task.y))
    return task.subset(rows), rows


def columns_of_arrays(
    task: Task, predictions: dict[str, Prediction], metrics: list[Metric], spread: bool
) -> Columns:
    """Return the numbers of all subjects, scored in chunks where they are many."""
    n = len(task.y)
    by_entry = task.y.entry is not None
    metrics = offered(metrics, {name: p.kind for name, p in predictions.items()})
    plan = ChunkPlan(tuple(metrics), resident=True, spread=spread, by_entry=by_entry)
    curves = [p.curves for p in predictions.values() if p.curves is not None]
    # A distribution inside intervals may be that of the subjects, a convention may divide scores at
    # each time by weights that only all subjects tell, and the first curve that ends without a tail
    # ends the scores of all subjects.
    together = task.distribution_moves or not all(map(_end_together, curves))
    together |= task.convention.divisor != "n" and any(m.uses_divisor for m in metrics)
    size = min(chunk_rows(c.width for c in curves), max(n // 32, LEAST_ROWS))
    size = n if together else min(size, n)
    whole = passing(task).with_g()
    if size < n:
        whole = replace(whole, follow_up=float(task.y.time.max()))

    def scored(rows: slice, plan: ChunkPlan, models: dict[str, Prediction]) -> Part:
        members = {name: p[rows] for name, p in models.items()}  # look-ups end with the chunk
        return part_of(plan, whole.subset(rows) if size < n else whole, members)

    columns = Columns(plan)
    if size >= n:
        columns.add(scored(slice(0, n), plan, predictions))
        return columns
    # What one part holds need not be held with that of the next: metrics that look at all steps of
    # the baseline score it first, in few chunks, and time errors, with their tables of the
    # reference set, come last.
    reading = replace(plan, metrics=tuple(metric for metric in metrics if metric.reads))
    last = tuple(m for m in metrics if m.family == "time" and not m.reads)
    others = tuple(metric for metric in metrics if metric not in last)
    beside, errors = (replace(plan, metrics=own, reads_baseline=False) for own in (others, last))
    few = max(n // 8, LEAST_ROWS)
    for own, models, most in (
        (reading, {}, few), (beside, predictions, size), (errors, predictions, size),
    ):  # fmt: skip
        if not own.metrics:
            continue
        score = partial(scored, plan=own, models=models)
        score(slice(0, 1))  # the reference's tables, before several threads look at them
        parts = list(chunks(n, size=most))
        for part in steps(in_order(score, parts), len(parts), "scoring subjects"):
            columns.add(part)
    return columns


def _end_together(curves: SurvivalCurves) -> bool:
    """Whether some of the curves end the scores where all of them do."""
    if curves.tail != "nan":
        return True
    open_end = curves.last_survival > 0
    return curves.shared_grid and bool(open_end.all() or not open_end.any())


def leave_out(
    scores: list[TableCell], warnings: list[EvaluationWarning]
) -> tuple[list[TableCell], list[EvaluationWarning]]:
    """Leave out metrics that nobody named and that have a value for no model of this kind.

    Step curves have no density, for example: where all models predict step curves, a table without
    the log-likelihood says as much as one with a column of gaps.
    """
    told = {(w.group, w.model, w.metric): w.message for w in warnings if w.code == "not-applicable"}
    cells = [(score, (score.group, score.model, score.metric.name)) for score in scores]
    kept = {name for score, (_, _, name) in cells if (score.group, score.model, name) not in told}
    gone = {name: why for (_, _, name), why in told.items() if name not in kept}
    others = [
        warned("not-applicable", metric=name, why=f"{why}; the metric is left out")
        for name, why in gone.items()
    ]
    return (
        [score for score in scores if score.metric.name not in gone],
        [w for w in warnings if w.metric not in gone] + others,
    )
