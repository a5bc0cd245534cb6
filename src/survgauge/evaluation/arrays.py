"""The source of `evaluate`: arrays in memory, whole or cut into chunks of subjects."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._tools.chunks import chunks
from .._tools.threads import in_order
from ..data.curves import SurvivalCurves
from ..data.predictions import Prediction
from ..metrics.problem import Problem
from ..metrics.registry import Metric
from .censoring_remarks import check_agreement, check_weights
from .chunk import BASELINE_PARTS, LEAST_ROWS, Chunk, chunk_rows
from .condensed import CONTRIBUTIONS_LIMIT, passing
from .finish import Asked, Group
from .fold import Fold, FoldPlan
from .score import Score
from .tails import tail_remarks, withhold
from .warnings import EvaluationWarning


def fold_arrays(
    problem: Problem,
    predictions: dict[str, Prediction],
    metrics: list[Metric],
    asked: Asked,
    groups: list[tuple[Any, Any]],
) -> tuple[list[Score], list[EvaluationWarning]]:
    """Return the scores of everybody and of every group of subjects, and remarks."""
    scores: list[Score] = []
    remarks: list[EvaluationWarning] = []
    for name, rows in [(None, None), *groups]:
        part, members = _present(problem, predictions, rows)
        fold = folded(part, members, metrics, asked.confidence)
        found, said = Group(fold, part, members, asked, name).scores()
        scores += found
        remarks += said
    remarks += check_weights(scores) + check_agreement(scores)
    remarks += tail_remarks(scores, asked.confidence, problem.words.baseline)
    return withhold(scores), remarks


def _present(
    problem: Problem, predictions: dict[str, Prediction], rows: Any
) -> tuple[Problem, dict[str, Prediction]]:
    """Return a group without absent subjects, with look-ups of its own that end with it."""
    y = problem.y
    if y.weighted and not y.weight.all():
        present = np.flatnonzero(y.weight)
        rows = present if rows is None else rows[y.weight[rows] > 0]
    if rows is None:
        return problem.again(), {name: p[0 : len(y)] for name, p in predictions.items()}
    return problem.subset(rows), {name: p[rows] for name, p in predictions.items()}


def _end_together(curves: SurvivalCurves) -> bool:
    """Whether some of the curves end the scores where all of them do."""
    if curves.tail != "nan":
        return True
    open_end = curves.last_survival > 0
    return curves.shared_grid and bool(open_end.all() or not open_end.any())


def folded(
    problem: Problem,
    predictions: dict[str, Prediction],
    metrics: list[Metric],
    confidence: float | None,
) -> Fold:
    """Return the states of all metrics that add up over subjects.

    Contributions of single subjects are kept where they are few, or where sums do not tell the
    standard error (clusters, sampling weights, a law that is estimated from the subjects); then
    all subjects are one chunk.
    """
    n, spread = len(problem.y), confidence is not None
    sampled = problem.clusters is not None or problem.sample_weight is not None
    sampled = sampled or problem.law_moves
    kept = spread and (n <= CONTRIBUTIONS_LIMIT or sampled)
    curves = [p.curves for p in predictions.values() if p.curves is not None]
    whole = passing(problem).with_g()
    plan = FoldPlan(
        tuple(metrics),
        resident=True,
        keep_terms=kept,
        spread=spread,
        by_g=problem.censoring == "test" and problem.dependence is None,
        by_entry=problem.y.entry is not None,
    )
    # A convention may divide scores at each time by weights that only all subjects tell, and the
    # first curve that ends without a tail ends the scores of all subjects.
    together = kept or (any(m.uses_divisor for m in metrics) and problem.convention.divisor != "n")
    together = together or not all(map(_end_together, curves))
    size = n if together else min(chunk_rows(c.width for c in curves), max(n // 32, LEAST_ROWS))

    total = Fold(plan)
    if size >= n:
        total.add(Chunk(whole, predictions))
        return total
    whole = replace(whole, follow_up=float(problem.y.time.max()))
    plan = replace(plan, baseline="apart")
    total, total.base = Fold(plan), Fold(replace(plan, baseline="alone"))

    def scored(rows: slice, by: FoldPlan, models: dict[str, Prediction]) -> Fold:
        part = Fold(by)
        members = {name: p[rows] for name, p in models.items()}
        part.add(Chunk(whole.subset(rows), members))  # whose look-ups end with it
        return part

    few = max(n // BASELINE_PARTS, LEAST_ROWS)
    for fold, models, rows in ((total.base, {}, few), (total, predictions, size)):
        score = partial(scored, by=fold.plan, models=models)
        score(slice(0, 1))  # the reference's tables, before several threads look at them
        for part in in_order(score, chunks(n, size=rows)):
            fold.merge(part)
    return total
