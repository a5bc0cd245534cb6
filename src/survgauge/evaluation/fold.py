"""The fold: chunks of subjects go in, parts merge, and every metric's state is there in the end.

What a state is follows from the record of the metric: sums (or terms) of a mean, a table of counts,
a few columns of a ranked metric, or nothing where all subjects are at hand anyway.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from ..data.event_words import events_by_cause
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..metrics.past_curve import PastReads, past_reads
from ..metrics.problem import Problem
from ..metrics.record import Key, Metric
from .chunk import Chunk
from .columns import Columns
from .means import BASELINE, KeptMeans, Means, ModelName, SummedMeans, TermsByModel
from .tails import ASSUMPTIONS, TailSums, goes_on, left_open, open_ended, reads_law, under


@dataclass(frozen=True)
class FoldPlan:
    """What is asked of every chunk."""

    #: All metrics, in their order.
    metrics: tuple[Metric, ...]
    #: Whether all subjects are at hand in the end, so that nothing has to be kept for metrics that
    #: need them together.
    resident: bool = False
    #: Whether terms are kept subject by subject, for contributions; otherwise sums.
    keep_terms: bool = False
    #: Whether standard errors will be asked for.
    spread: bool = True
    #: beside, apart, alone, none: whether Kaplan-Meier of the reference set is scored beside the
    #: models, or by a fold of its own, which has it alone: reading a whole curve of many steps for
    #: every chunk takes long, and is only needed where differences are compared.
    baseline: str = "beside"
    #: Bootstrap of the means, where that is asked for.
    seed: int = 0
    n_boot: int = 0
    #: Whether G is estimated from the test subjects.
    by_g: bool = False
    #: Whether some of the subjects enter late, perhaps not in every chunk.
    by_entry: bool = False

    def scores_baseline(self, metric: Metric) -> bool:
        """Whether Kaplan-Meier is scored here by a metric."""
        if not metric.has_baseline or self.baseline == "none":
            return False
        apart = bool(metric.reads) and not self.spread
        return self.baseline == "beside" or apart == (self.baseline == "alone")

    def keeps_terms(self, metric: Metric) -> bool:
        """Whether terms of a mean are kept for what subjects contribute through G."""
        mean = metric.adds_up == "mean" and metric.weights_by_g
        return self.by_g and mean and self.spread

    def kind(self, adds_up: str) -> list[Metric]:
        """Return the metrics that add up in one way."""
        return [metric for metric in self.metrics if metric.adds_up == adds_up]


class Fold:
    """States of all metrics over the chunks so far; parts of a test set merge."""

    def __init__(self, plan: FoldPlan) -> None:
        self.plan = plan
        self.means: dict[Key, Means] = {}
        counted, ranked = ([] if plan.resident else plan.kind(how) for how in ("count", "ranked"))
        self.tables = {m.name: m.table() for m in counted if m.table is not None}
        outcomes = not plan.resident and any(map(plan.keeps_terms, plan.metrics))
        self.columns = Columns(ranked, plan.by_entry) if ranked or outcomes else None
        #: What metrics read past the models' curves.
        self.reads: dict[ModelName, PastReads] = {}
        self.kinds: dict[str, str] = {}
        #: Where Kaplan-Meier of the reference set was scored alone.
        self.base: Fold | None = None
        #: Errors without a horizon under each assumed tail.
        self.tails = TailSums()
        self.subjects = self.events = 0
        #: Events of each cause, where there are several.
        self.by_cause: dict[str, int] = {}
        #: Last time of a subject.
        self.last_time = 0.0

    # -- in ------------------------------------------------------------------------------------

    def add(self, chunk: Chunk) -> None:
        """Add a chunk of subjects."""
        plan = self.plan
        found = chunk.drawn(plan.n_boot, plan.seed).present()
        self.kinds |= {name: p.kind for name, p in chunk.predictions.items()}
        if found is None:
            return
        if plan.by_entry and found.y.entry is None:
            found = replace(found, problem=replace(found.problem, y=found.y.entering()))
        self._add_means(found)
        curves = {name: p for name, p in found.predictions.items() if p.curves is not None}
        for table in self.tables.values():
            if curves:
                table.update(found.problem, curves)
        if self.columns is not None:
            self.columns.update(found)

    def _count(self, events: dict[str, int]) -> None:
        """Add events of each cause."""
        for name, count in events.items():
            self.by_cause[name] = self.by_cause.get(name, 0) + count

    def _note(self, problem: Problem, models: dict[ModelName, Prediction]) -> None:
        """Count what metrics read past the curves, also past Kaplan-Meier of the reference."""
        self.subjects += problem.y.count
        self.events += problem.y.event_count
        self._count(events_by_cause(problem.y))
        self.last_time = max(self.last_time, float(problem.y.time.max()))
        if not any(metric.reads for metric in self.plan.metrics):
            return
        for name, prediction in models.items():
            if prediction.curves is None:
                continue
            reads = self.reads.setdefault(name, PastReads())
            reads.merge(past_reads(problem, prediction, problem.follow_up))

    def _add_means(self, chunk: Chunk) -> None:
        metrics = self.plan.kind("mean")
        problem = chunk.problem
        models: dict[ModelName, Prediction] = dict(chunk.predictions.items())
        if any(map(self.plan.scores_baseline, metrics)):
            models[BASELINE] = problem.baseline()
        self._note(problem, models)
        by_family = attrgetter("family")
        for _, family in groupby(sorted(metrics, key=by_family), by_family):
            self._add_family(list(family), models, chunk)

    def _add_family(
        self, metrics: list[Metric], models: dict[ModelName, Prediction], chunk: Chunk
    ) -> None:
        """Add the means of a family: what its metrics look up together ends with it."""
        problem, done = chunk.problem.subset(slice(0, len(chunk))), set()
        for metric in metrics:
            for at in metric.at_times(problem):
                key = metric.key(at)
                if key in done:  # a root shares the sums of its square
                    continue
                done.add(key)
                scored = self._scored(metric, models)
                found = _terms(metric, at, scored)
                if not found:
                    continue
                self._add_terms(key, metric, found, chunk)
                if open_ended(metric, at):
                    self._add_tails(key, metric, at, scored, found)

    def _add_tails(
        self,
        key: Key,
        metric: Metric,
        problem: Problem,
        models: dict[ModelName, Prediction],
        given: TermsByModel,
    ) -> None:
        """Score again under each assumed tail, as far as it changes anything."""
        law = reads_law(metric) and left_open(problem)
        for tail in ASSUMPTIONS:
            asked = under(problem, tail) if law else problem
            others = {model: goes_on(p, metric, problem, tail) for model, p in models.items()}
            same = asked is problem
            moved = {m: p for m, p in others.items() if not same or p is not models[m]}
            self.tails.add(key, tail, {**given, **_terms(metric, asked, moved)})

    def _scored(
        self, metric: Metric, models: dict[ModelName, Prediction]
    ) -> dict[ModelName, Prediction]:
        """Return the models that a metric scores."""
        baseline = self.plan.scores_baseline(metric)
        return {
            model: prediction
            for model, prediction in models.items()
            if prediction.has(metric.needs) and (baseline or model is not BASELINE)
        }

    def _add_terms(self, key: Key, metric: Metric, found: TermsByModel, chunk: Chunk) -> None:
        plan = self.plan
        if plan.keep_terms:
            self.means[key] = KeptMeans(found)
            return
        means = self.means.get(key)
        if not isinstance(means, SummedMeans):
            how = plan.keeps_terms(metric), plan.spread
            means = self.means[key] = SummedMeans(found, plan.n_boot, *how)
        means.add(found, chunk.y, chunk.counts, chunk.problem.start)

    # -- together ------------------------------------------------------------------------------

    def merge(self, other: Fold) -> None:
        """Add the subjects of another part, which stays as it is."""
        for key, means in other.means.items():
            known = self.means.get(key)
            if isinstance(known, SummedMeans) and isinstance(means, SummedMeans):
                known.merge(means)
            else:
                self.means[key] = deepcopy(means)
        for name, table in other.tables.items():
            self.tables[name].merge(table)
        if self.columns is not None and other.columns is not None:
            self.columns.merge(other.columns)
        for model, reads in other.reads.items():
            self.reads.setdefault(model, PastReads()).merge(reads)
        self.kinds |= other.kinds
        self.subjects += other.subjects
        self.events += other.events
        self._count(other.by_cause)
        self.tails.merge(other.tails)
        self.last_time = max(self.last_time, other.last_time)


def _terms(metric: Metric, problem: Problem, models: dict[ModelName, Prediction]) -> TermsByModel:
    """Return the terms of every model; Kaplan-Meier for everybody may be undefined in any way."""
    found: TermsByModel = {}
    for model, prediction in models.items():
        try:
            found[model] = metric.terms_of(problem, prediction)
        except UndefinedMetricError as error:
            found[model] = error
        except InputError as error:
            if model is not BASELINE:
                raise
            found[model] = UndefinedMetricError(str(error))
    return found
