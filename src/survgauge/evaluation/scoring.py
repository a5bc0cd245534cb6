"""From a chunk of subjects to numbers of each of them, by every metric and model.

A mean gives numerator and denominator of each subject (`Terms`). Of predictions that metrics need
of all subjects at once, but only a number or two of each, these are kept: C-indices need a risk,
AUC and ICI the probability at one time, and 1-calibration those at a few times before it. Where
subjects enter late, everybody's probabilities at its own entry and at its own time are kept too, as
these are what curves are conditioned on and read at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..metrics.calibration.risk_rates import curve_nodes
from ..metrics.past_curve import PastReads, past_reads
from ..metrics.record import Key, Metric
from ..metrics.task import Task
from ..metrics.terms import Terms
from .tails import ASSUMPTIONS, goes_on, left_open, open_ended, reads_distribution, under

#: Subjects that are scored together: with fewer, threads would wait for the interpreter more often.
CHUNK_ROWS = 131_072
#: Values of curves that are scored together.
CHUNK_VALUES = 23 * CHUNK_ROWS


class Baseline(Enum):
    """Kaplan-Meier of the reference set among the models: no model can be called the same."""

    KAPLAN_MEIER = "Kaplan-Meier"


BASELINE = Baseline.KAPLAN_MEIER
ModelName = str | Baseline
#: Terms of all models on the subjects of a chunk; an error where a metric is undefined there.
TermsByModel = dict[ModelName, Terms | UndefinedMetricError]


def chunk_rows(widths: Iterable[int], asked: int | None = None) -> int:
    """Return how many subjects are scored together, whose curves have so many values each."""
    widest, most = max(widths, default=0), asked or CHUNK_ROWS
    return most if not widest else min(most, max(1024, CHUNK_VALUES // widest))


@dataclass(frozen=True)
class ChunkPlan:
    """What is asked of every chunk."""

    #: All metrics, in their order.
    metrics: tuple[Metric, ...]
    #: Whether all predictions are at hand in the end, so that nothing of them has to be kept.
    resident: bool = False
    #: Whether standard errors will be asked for; else sums over the chunk stand for its subjects.
    spread: bool = True
    #: Whether Kaplan-Meier of the reference set is scored beside the models by metrics that read
    #: past curves, which look at all of its many steps.
    reads_baseline: bool = True
    #: Whether some of the subjects enter late, perhaps not in every chunk.
    by_entry: bool = False

    def kind(self, adds_up: str) -> list[Metric]:
        """Return the metrics that add up in one way."""
        return [metric for metric in self.metrics if metric.adds_up == adds_up]

    def scores_baseline(self, metric: Metric) -> bool:
        """Whether Kaplan-Meier of the reference set is scored by a metric."""
        return metric.has_baseline and (self.reads_baseline or not metric.reads)


@dataclass
class Part:
    """What a chunk says: plain data, which can be pickled."""

    kinds: dict[str, str]
    #: Last time of a subject.
    last_time: float = 0.0
    terms: dict[Key, TermsByModel] = field(default_factory=dict)
    #: Sums of numerators and denominators under each assumed tail.
    tails: dict[tuple[Key, ModelName, str], Floats] = field(default_factory=dict)
    #: What metrics read past the models' curves.
    reads: dict[ModelName, PastReads] = field(default_factory=dict)
    #: Numbers of each subject by model, see `_numbers`, and models that have no risk.
    kept: dict[str, dict[Any, Any]] = field(default_factory=dict)
    undefined: dict[str, str] = field(default_factory=dict)
    #: What adds up in tables, by metric.
    tables: dict[str, Any] = field(default_factory=dict)


def part_of(plan: ChunkPlan, task: Task, predictions: dict[str, Prediction]) -> Part:
    """Score a chunk of subjects; those of weight zero are left out."""
    part = Part({name: p.kind for name, p in predictions.items()})
    if task.y.weighted and not task.y.weight.all():
        rows = np.flatnonzero(task.y.weight)
        if not rows.size:
            return part
        task, predictions = task.subset(rows), {n: p[rows] for n, p in predictions.items()}
    if plan.by_entry and task.y.entry is None:
        task = replace(task, y=task.y.entering())
    part.last_time = float(task.y.time.max())
    _score_means(part, plan, task, predictions)
    if plan.resident:
        return part
    curves = {name: p for name, p in predictions.items() if p.curves is not None}
    for metric in plan.kind("count"):
        if curves and metric.table is not None:
            part.tables[metric.name] = metric.table()
            part.tables[metric.name].update(task, curves)
    keeps = {kept for metric in plan.kind("ranked") for kept in metric.keeps}
    if keeps:
        for name, prediction in predictions.items():
            part.kept[name] = _numbers(part, keeps, task, name, prediction)
    return part


# -- means -------------------------------------------------------------------------------------


def _score_means(
    part: Part, plan: ChunkPlan, task: Task, predictions: dict[str, Prediction]
) -> None:
    """Score the means of each family: what its metrics look up together ends with it.

    Time errors that stop within what the data support look up times of their own.
    """
    metrics = plan.kind("mean")
    models: dict[ModelName, Prediction] = dict(predictions.items())
    if any(map(plan.scores_baseline, metrics)):
        models[BASELINE] = task.baseline()
    if any(metric.reads for metric in plan.metrics):
        part.reads = {
            name: past_reads(task, prediction, task.follow_up)
            for name, prediction in models.items()
            if prediction.curves is not None and (plan.reads_baseline or name is not BASELINE)
        }
    by_family = attrgetter("family", "within_horizon")
    for _, family in groupby(sorted(metrics, key=by_family), by_family):
        own = task.subset(slice(0, len(task.y)))
        for metric in family:
            for at in metric.at_times(own):
                key = metric.key(at)
                if key in part.terms:  # a root shares the terms of its square
                    continue
                scored = {
                    model: prediction
                    for model, prediction in models.items()
                    if prediction.has(metric.needs)
                    and (model is not BASELINE or plan.scores_baseline(metric))
                }
                found = _terms(metric, at, scored)
                if not found:
                    continue
                if open_ended(metric, at):
                    _score_tails(part, key, metric, at, scored, found)
                part.terms[key] = found if plan.spread else _summed(found)


def _terms(metric: Metric, task: Task, models: dict[ModelName, Prediction]) -> TermsByModel:
    """Return the terms of every model; the Kaplan-Meier baseline may be undefined in any way."""
    found: TermsByModel = {}
    for model, prediction in models.items():
        try:
            found[model] = metric.terms_of(task, prediction)
        except UndefinedMetricError as error:
            found[model] = error
        except InputError as error:
            if model is not BASELINE:
                raise
            found[model] = UndefinedMetricError(str(error))
    return found


def _summed(found: TermsByModel) -> TermsByModel:
    """Let one number stand for all subjects of the chunk: enough for a value."""
    return {
        model: terms
        if isinstance(terms, UndefinedMetricError)
        else Terms(
            terms.a.sum(keepdims=True), terms.s.sum(keepdims=True), terms.convention, terms.support
        )
        for model, terms in found.items()
    }


def _score_tails(
    part: Part,
    key: Key,
    metric: Metric,
    task: Task,
    models: dict[ModelName, Prediction],
    given: TermsByModel,
) -> None:
    """Score again under each assumed tail, as far as it changes anything."""
    distribution = reads_distribution(metric) and left_open(task)
    for tail in ASSUMPTIONS:
        asked = under(task, tail) if distribution else task
        others = {model: goes_on(p, metric, task, tail) for model, p in models.items()}
        same = asked is task
        moved = {m: p for m, p in others.items() if not same or p is not models[m]}
        for model, terms in {**given, **_terms(metric, asked, moved)}.items():
            sums = np.full(2, np.nan)
            if not isinstance(terms, UndefinedMetricError):
                sums[:] = terms.a.sum(), terms.s.sum()
            part.tails[key, model, tail] = sums


# -- numbers of predictions ---------------------------------------------------------------------


def _numbers(
    part: Part, keeps: set[str], task: Task, model: str, prediction: Prediction
) -> dict[Any, Any]:
    """Return the numbers that are kept of each subject: copies, not views of what was read."""
    found: dict[Any, Any] = {}
    curves, y = prediction.curves, task.y
    if "risk" in keeps or curves is None:
        try:
            found["risk"] = np.array(prediction.risk)
        except UndefinedMetricError as error:
            part.undefined[model] = str(error)
            found["risk"] = np.full(len(prediction), np.nan)
    if curves is None:
        return found
    found["like"] = type(curves), curves.interpolation, curves.tail
    read = keeps & {"path", "at_time"}
    times = [at.time_used for at in task.at_times] if read else []
    for time in times:
        if np.isfinite(time) and time > 0:
            grid = _grid(curves, time, "path" in keeps)
            found["grid", time], found["survival", time] = grid, curves.at(grid)
            if y.entry is not None:
                found["own", time], found["own survival", time] = _at_own_times(curves, y, time)
    return found


def _grid(curves: SurvivalCurves, time: float, path: bool) -> Floats:
    """Where curves are read: at one time, and for 1-calibration on the way there."""
    last = float(curves.times[-1])
    times = curve_nodes(curves, time) if path else np.array([time])
    # Where curves end matters: past it their tail is read, as from the whole curve. If that is
    # unknown it matters to AUC also if it lies later.
    ends = [last] if time > last or curves.tail == "nan" else []
    return np.union1d(times[times <= last], ends)


def _at_own_times(curves: SurvivalCurves, y: Outcomes, time: float) -> tuple[Floats, Floats]:
    """Read curves at each subject's entry, and at its own time or `time` before it: (n, 2) each."""
    # Past the end of a curve its tail is read, as from the whole curve.
    own = np.stack((np.asarray(y.entry), y.time), axis=1)
    own = np.minimum(own, np.minimum(curves.last_time, time)[:, None])
    return own, np.stack([curves.at_own(t) for t in own.T], axis=1)
