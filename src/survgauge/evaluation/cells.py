"""One cell at a time: a metric on a model's predictions, with its interval and baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..inference import (
    FEWEST_REPLICATES,
    Comparison,
    Interval,
    bootstrap_counts,
    bootstrap_stderr,
    compare_values,
    interval,
)
from ..metrics.details import Clusters, paired_error, standard_error
from ..metrics.past_curve import past_remark, past_share
from ..metrics.problem import Problem
from ..metrics.registry import Measured, Metric
from ..metrics.skill import reference_curves
from ..reference.reference import Reference
from .condensed import CONTRIBUTIONS_LIMIT, Condensed, condensed, contributions
from .result import NAN, Score
from .warnings import EvaluationWarning, check_measured, undefined

#: Above this many subjects the bootstrap gives way to contributions where a metric has them.
BOOTSTRAP_LIMIT = 5_000


def evaluate_group(
    problem: Problem,
    predictions: dict[str, Prediction],
    group: Any,
    *,
    metrics: list[Metric],
    confidence: float | None,
    seed: int,
    n_boot: int,
    redrawn: bool,
    warnings: list[EvaluationWarning],
) -> list[Score]:
    """Measure every metric on every model that offers what it needs, with intervals."""
    problem, predictions = present(problem, predictions)
    many = len(problem.y) > CONTRIBUTIONS_LIMIT
    # Of many subjects only one metric's contributions are held at a time, and what metrics share
    # is let go after the last of them.
    batches = [[metric] for metric in sorted(metrics, key=_stage)] if many else [metrics]
    plan = _Plan(confidence, seed, n_boot, redrawn, many)
    scores: list[Score] = []
    remarks: list[EvaluationWarning] = []
    done = 0
    for batch in batches:
        if many:
            _let_go(done, _stage(batch[0]), problem, predictions)
            done = _stage(batch[0])
        if any(metric.needs == "risk" or metric.name == "ici" for metric in batch):
            problem.y.order(keep=True)  # one sort serves all that rank subjects by time
        scores += _evaluate_batch(problem, predictions, group, batch, plan, remarks)
    models, names = list(predictions), [metric.name for metric in metrics]

    def place(model: str | None, metric: str | None) -> tuple[int, int]:
        return models.index(str(model)), names.index(str(metric))

    remarks.sort(key=lambda remark: place(remark.model, remark.metric))
    warnings += [replace(remark, group=group) for remark in remarks]
    bootstrapped = any(score.replicates is not None for score in scores)
    if bootstrapped and n_boot < FEWEST_REPLICATES:
        message = f"n_boot={n_boot}: bootstrap intervals need at least {FEWEST_REPLICATES} draws"
        warnings.append(EvaluationWarning("few-replicates", message, group=group))
    return sorted(scores, key=lambda score: place(score.model, score.metric.name))


def present(
    problem: Problem, predictions: dict[str, Prediction]
) -> tuple[Problem, dict[str, Prediction]]:
    """Leave out subjects of weight zero: whatever was predicted for them, they are absent."""
    y = problem.y
    if not y.weighted or y.weight.all():
        return problem, predictions
    rows = np.flatnonzero(y.weight)
    return problem.subset(rows), {name: p[rows] for name, p in predictions.items()}


def _stage(metric: Metric) -> int:
    """Time errors, ranks of medians, losses with a baseline, curves alone: one after the other."""
    if metric.needs == "times":
        return 0
    if metric.needs == "risk":
        return 1
    return 2 if _has_baseline(metric) else 3


def _let_go(done: int, stage: int, problem: Problem, predictions: dict[str, Prediction]) -> None:
    """Drop what no metric from this stage on looks at."""
    if done == 0:
        problem.forget_methods()
    if stage > 0:
        problem.forget_times()
    if done < 1 == stage:
        problem.y.order(keep=True)  # the weights are looked up by it too
        problem.forget_tables()
        for prediction in predictions.values():
            prediction.forget_times()
    if done < 2 <= stage:  # nobody ranks by medians any more
        problem.y.forget_order()
        for prediction in predictions.values():
            prediction.forget()
    if done < 3 <= stage:
        problem.forget()


Cell = tuple[str, Metric, Measured | None]


@dataclass(frozen=True)
class _Plan:
    """How intervals come about, and whether cells keep contributions afterwards."""

    confidence: float | None
    seed: int
    n_boot: int
    redrawn: bool
    many: bool


def _evaluate_batch(
    problem: Problem,
    predictions: dict[str, Prediction],
    group: Any,
    metrics: list[Metric],
    plan: _Plan,
    remarks: list[EvaluationWarning],
) -> list[Score]:
    cells: list[Cell] = [
        (model, metric, _measure(metric, problem, prediction, model, remarks))
        for model, prediction in predictions.items()
        for metric in metrics
        if prediction.has(metric.needs)
    ]
    confidence = plan.confidence
    replicates: dict[tuple[str, str], Floats] = {}
    if confidence is not None and problem.y.weight.sum() >= 2:  # one subject has no spread
        drawn = [cell for cell in cells if plan.redrawn or _needs_bootstrap(*cell[1:])]
        replicates = _replicates(problem, predictions, drawn, plan)
    clusters = problem.clusters
    if plan.many and confidence is None:  # nothing will be compared with the baseline
        cells = _condensed(cells, clusters)
    baseline = _baselines(problem, metrics) if cells else {}
    against = {
        (model, metric.name): _against(measured, baseline.get(metric.name), confidence, clusters)
        for model, metric, measured in cells
    }
    losses = {name: _value(km) for name, km in baseline.items()}
    del baseline
    if plan.many and confidence is not None:
        cells = _condensed(cells, clusters)
    scores = []
    for model, metric, measured in cells:
        known = replicates.get((model, metric.name))
        km = losses.get(metric.name, NAN)
        beside = against[model, metric.name]
        cell = model, metric, group, measured, known, km, beside, confidence, clusters
        scores.append(score_of(*cell))
    return scores


def score_of(
    model: str,
    metric: Metric,
    group: Any,
    measured: Measured | None,
    replicates: Floats | None,
    baseline: float,
    against: Comparison | None,
    confidence: float | None,
    clusters: Clusters | None = None,
) -> Score:
    """A cell with its interval, whatever its standard error comes from."""
    found = Interval(_value(measured), NAN, NAN, NAN, "none")
    if confidence is not None and measured is not None and metric.inference != "test":
        if replicates is None:
            stderr = clustered_stderr(measured, clusters)
        else:
            stderr = bootstrap_stderr(replicates)
        size, freedom = _events(measured.support), float("inf")
        if clusters is not None:
            size, freedom = min(size, float(clusters.number)), clusters.freedom
        law = getattr(measured, "law", None)
        if metric.interval == "own":  # such a law knows of clusters
            low, high = (NAN, NAN) if law is None else law.limits(confidence)
            found = Interval(found.value, measured.stderr, low, high, "own")
        else:
            arguments = found.value, stderr, confidence, metric.interval
            found = interval(*arguments, size=size, freedom=freedom)
    return Score(
        model,
        metric,
        group,
        measured,
        found.stderr,
        found.low,
        found.high,
        replicates,
        baseline,
        against,
        found.scale,
        clusters,
    )


def clustered_stderr(measured: Measured, clusters: Clusters | None) -> float:
    """Standard error of a value; NaN where subjects are clustered and it has no contributions."""
    if clusters is None or isinstance(measured, Condensed):  # which knows of its clusters
        return measured.stderr
    psi = measured.psi
    return NAN if psi is None else standard_error(psi, measured.frequency, clusters)


def _events(support: dict[str, Any]) -> float:
    """How many events a share of pairs rests on: anchors, or the fewer of cases and controls."""
    counts = [support[name] for name in ("anchors", "cases", "controls") if support.get(name)]
    return float(min(counts, default=NAN))


def _condensed(cells: list[Cell], clusters: Clusters | None) -> list[Cell]:
    """Let the contributions of a batch of one metric go."""
    slim = condensed({model: cell for model, _, cell in cells}, clusters)
    return [(model, metric, slim[model]) for model, metric, _ in cells]


def _value(measured: Measured | None) -> float:
    return NAN if measured is None else float(measured.value)


def _against(
    measured: Measured | None,
    km: Measured | None,
    confidence: float | None,
    clusters: Clusters | None,
) -> Comparison | None:
    """Compare a model with the baseline on the same subjects."""
    if confidence is None or measured is None or km is None:
        return None
    own, theirs = contributions(measured), contributions(km)
    if own is None or theirs is None:
        return None
    stderr = paired_error(own, theirs, clusters)
    freedom = float("inf") if clusters is None else clusters.freedom
    return compare_values(measured.value - km.value, stderr, confidence, freedom)


def _measure(
    metric: Metric,
    problem: Problem,
    prediction: Prediction,
    model: str,
    remarks: list[EvaluationWarning],
) -> Measured | None:
    """Compute one cell; an undefined metric becomes NaN and a warning."""
    try:
        if problem.sample_weight is not None and not metric.takes_sample_weight:
            raise UndefinedMetricError(
                "takes no sampling weights (sample_weight), so it has no value here; leave it out "
                "of `metrics`, or evaluate it without them"
            )
        past = past_remark(metric.name, problem, prediction)
        measured = metric.compute(problem, prediction)
    except UndefinedMetricError as error:
        remarks.append(undefined(error, model, metric.name))
        return None
    remarks += check_measured(metric, measured, model, problem.clusters)
    share = past_share(metric.name, problem, prediction)
    if share is not None:
        measured.support["past_curve"] = share
    if past is not None:
        remarks.append(EvaluationWarning("past-curve", past, model, metric.name))
    return measured


def _has_baseline(metric: Metric) -> bool:
    return metric.direction == "lower" and metric.inference == "analytic"


def _baselines(problem: Problem, metrics: list[Metric]) -> dict[str, Measured]:
    """Losses of the reference set's Kaplan-Meier for everybody; undefined ones are left out."""
    losses: dict[str, Measured] = {}
    compared = [metric for metric in metrics if _has_baseline(metric)]
    if not compared:
        return losses
    curves = problem.cached("baseline", partial(_baseline, problem))
    for metric in compared:
        try:
            past_remark(metric.name, problem, curves)
            losses[metric.name] = metric.compute(problem, curves)
        except (UndefinedMetricError, InputError):
            continue
    return losses


def _baseline(problem: Problem) -> Prediction:
    reference = problem.weights.reference
    return Prediction(reference_curves(reference, len(problem.y)), None, None)


def _needs_bootstrap(metric: Metric, measured: Measured | None) -> bool:
    """Whether a cell's interval comes from resampling although the reference is fixed."""
    if measured is None or metric.inference == "test" or not np.isfinite(measured.value):
        return False
    return metric.inference != "own" and bool(np.isnan(measured.stderr))


def _replicates(
    problem: Problem,
    predictions: dict[str, Prediction],
    drawn: list[tuple[str, Metric, Measured | None]],
    plan: _Plan,
) -> dict[tuple[str, str], Floats]:
    """Bootstrap replicates of the cells named, all on the same draws."""
    seed, n_boot, redrawn = plan.seed, plan.n_boot, plan.redrawn
    values = np.full((n_boot, len(drawn)), NAN)
    frequency = problem.y.weight if problem.y.weighted else None
    for b in range(n_boot if drawn else 0):
        counts = _draw(problem, b, seed, frequency)
        rows = np.flatnonzero(counts > 0)
        reference = problem.reference
        if redrawn and reference is not None:
            reference = _redraw(reference, b, seed)
        if rows.size == 0 or (redrawn and problem.reference is not None and reference is None):
            continue  # nobody was drawn: the replicate is undefined
        part: Problem | None = None
        members: dict[str, Prediction] = {}
        for k, (model, metric, _) in enumerate(drawn):
            try:
                if part is None:
                    part = problem.resampled(rows, counts[rows], reference)
                if model not in members:
                    members[model] = predictions[model][rows]
                values[b, k] = metric.compute(part, members[model]).value
            except UndefinedMetricError:
                continue
    return {(model, metric.name): values[:, k] for k, (model, metric, _) in enumerate(drawn)}


def _draw(problem: Problem, replicate: int, seed: int, frequency: Floats | None) -> Floats:
    """How often each subject is drawn: by itself, or with its whole cluster."""
    clusters = problem.clusters
    if clusters is None:
        return bootstrap_counts(len(problem.y), replicate, seed, frequency=frequency)
    number = int(clusters.codes.max()) + 1
    counts = bootstrap_counts(number, replicate, seed, "clusters")[clusters.codes]
    return counts if frequency is None else counts * frequency


def _redraw(reference: Reference, replicate: int, seed: int) -> Reference | None:
    """Draw the reference set anew; None where nobody was drawn."""
    y = reference.y
    frequency = y.weight if y.weighted else None
    counts = bootstrap_counts(len(y), replicate, seed, "reference", frequency)
    return Reference(Outcomes(y.time, y.event, counts)) if counts.any() else None
