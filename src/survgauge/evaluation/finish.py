"""From states to scores: every metric of every model, with its interval and its baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..inference import Comparison, Interval, bootstrap_counts, compare_pair
from ..metrics.details import Clusters
from ..metrics.past_curve import ends_of
from ..metrics.problem import Problem
from ..metrics.record import Measured, Metric
from ..reference.reference import Reference
from .condensed import CONTRIBUTIONS_LIMIT, condensed
from .fold import Fold
from .intervals import few_replicates, interval_of, told
from .means import BASELINE, ModelName, SummedMeans
from .score import NAN, Score, difference_error
from .warnings import EvaluationWarning, check_measured, undefined


@dataclass(frozen=True)
class Asked:
    """How intervals come about."""

    #: Level of the intervals; None for none.
    confidence: float | None
    #: Bootstrap, where a metric has no analytic standard error.
    seed: int = 0
    n_boot: int = 100
    #: Whether the reference set is drawn anew with the test set.
    redrawn: bool = False


Cells = dict[str, Measured | None]


class Group:
    """All scores of a group of subjects, or of everybody.

    `fold` has the states of the metrics over all chunks; `problem` and `predictions` are about all
    subjects, or about those whose columns were kept. `name` is None for everybody.
    """

    def __init__(
        self,
        fold: Fold,
        problem: Problem,
        predictions: dict[str, Prediction],
        asked: Asked,
        name: Any = None,
    ) -> None:
        self.fold, self.asked, self.name = fold, asked, name
        self._given = problem, predictions
        self._ends = ends_of(problem, fold.last_time)
        self._remarks: list[EvaluationWarning] = []
        self._look_anew("")

    def _look_anew(self, family: str) -> None:
        """Begin a family of metrics: what its metrics look up together ends with it."""
        problem, predictions = self._given
        rows = slice(0, len(problem.y))
        self._family, self.problem = family, problem.subset(rows)
        together = [m for m in self.fold.plan.metrics if m.family == family and m.terms is None]
        if len(together) > 1:
            self.problem.y.order(keep=True)  # one sort serves all that rank subjects by time
        self.predictions = {name: p[rows] for name, p in predictions.items()}

    def scores(self) -> tuple[list[Score], list[EvaluationWarning]]:
        """Return the scores by model and metric, and remarks in the same order."""
        listed: list[Score] = []
        for metric in self.fold.plan.metrics:  # only one metric's contributions are held at a time
            if metric.family != self._family:
                self._look_anew(metric.family)
            for at in metric.at_times(self.problem):
                self.problem = at
                listed += self._scores_of(metric)
        models = list(self.fold.kinds)
        listed.sort(key=lambda score: models.index(score.model))
        remarks = sorted(self._remarks, key=lambda w: models.index(str(w.model)))
        if any(score.replicates is not None for score in listed):
            remarks += few_replicates(self.asked.n_boot)
        return listed, [replace(remark, group=self.name) for remark in remarks]

    def _scores_of(self, metric: Metric) -> list[Score]:
        confidence, clusters = self.asked.confidence, self.problem.clusters
        cells: Cells = {
            model: self._measured(metric, model)
            for model, kind in self.fold.kinds.items()
            if Prediction.offers(kind, metric.needs)
        }
        until = self._ends.get(metric.stops)
        replicates = self._replicates(metric, cells)
        base = self._baseline(metric)
        against = {model: self._against(cell, base) for model, cell in cells.items()}
        if len(self.problem.y) > CONTRIBUTIONS_LIMIT:
            cells = condensed(cells, clusters)
        value, open_base = _value(base), self._tails(metric, BASELINE)
        scores = []
        for model, cell in cells.items():
            drawn, beside = replicates.get(model), against[model]
            given = model, metric, self.name, cell, drawn, value, beside, confidence, clusters
            score, remarks = told(_score(*given, metric.time_of(self.problem), until))
            score = replace(score, tails=self._tails(metric, model), baseline_tails=open_base)
            scores.append(score)
            self._remark(remarks, metric)
        return scores

    def _measured(self, metric: Metric, model: str) -> Measured | None:
        """Return one cell; an undefined metric becomes NaN and a remark."""
        try:
            if self.problem.sample_weight is not None and not metric.takes_sample_weight:
                raise UndefinedMetricError(
                    "takes no sampling weights (sample_weight), so it has no value here; leave it "
                    "out of `metrics`, or evaluate it without them"
                )
            past = self._past(self.fold, metric, model)
            measured = self._compute(metric, model)
        except UndefinedMetricError as error:
            self._remark([undefined(error, model, metric.name)], metric)
            return None
        self._remark(check_measured(metric, measured, model, self.problem.clusters), metric)
        reads = self.fold.reads.get(model)
        if reads is not None and metric.reads:
            measured.support["past_curve"] = reads.share(metric.reading(self.problem))
        if past is not None and not np.isnan(measured.value):
            share = measured.support["past_curve"]
            found = EvaluationWarning("past-curve", past, model, metric.name, affected=share)
            self._remark([found], metric)
        return measured

    def _remark(self, found: list[EvaluationWarning], metric: Metric) -> None:
        time = metric.time_of(self.problem)
        self._remarks += [replace(warning, time=time) for warning in found]

    def _past(self, fold: Fold, metric: Metric, model: ModelName) -> str | None:
        """Say how much of what the metric reads lies past the curves; refuse too much of it."""
        reads = fold.reads.get(model)
        return None if reads is None else reads.judge(metric.reading(self.problem), self._ends)

    def _compute(self, metric: Metric, model: str) -> Measured:
        if metric.adds_up == "mean":
            means = self.fold.means[metric.key(self.problem)]
            return means.measured(model, metric, self.problem)
        table = self.fold.tables.get(metric.name)
        if table is not None:
            found: Measured = table.measured(model, self.problem)
            return found
        return metric.measure(self.problem, self._prediction(metric, model))

    def _prediction(self, metric: Metric, model: str) -> Prediction:
        return self.predictions[model].at_time(metric.time_of(self.problem))

    def _tails(self, metric: Metric, model: ModelName) -> tuple[float, ...]:
        """Return the metric under each assumed tail; nothing where there is none to assume."""
        key = metric.key(self.problem)
        own = self.fold.tails.values(key, model, metric.root)
        if own or self.fold.base is None:
            return own
        return self.fold.base.tails.values(key, model, metric.root)

    def _baseline(self, metric: Metric) -> Measured | None:
        """Return the loss of one prediction for everybody; None where it is undefined."""
        beside = self.fold.plan.scores_baseline(metric) or self.fold.base is None
        fold = self.fold if beside else self.fold.base
        means = None if fold is None else fold.means.get(metric.key(self.problem))
        if fold is None or means is None or BASELINE not in means.models:
            return None
        try:
            self._past(fold, metric, BASELINE)
            return means.measured(BASELINE, metric, self.problem)
        except (UndefinedMetricError, InputError):
            return None

    def _against(self, measured: Measured | None, km: Measured | None) -> Comparison | None:
        """Compare a model with the baseline on the same subjects."""
        confidence, clusters = self.asked.confidence, self.problem.clusters
        if confidence is None or measured is None or km is None:
            return None
        if not (np.isfinite(measured.value) and np.isfinite(km.value)):
            return None
        stderr = difference_error(measured, km, clusters)
        freedom = float("inf") if clusters is None else clusters.freedom
        return compare_pair(measured.value, km.value, stderr, confidence, freedom)

    # -- bootstrap -----------------------------------------------------------------------------

    def _replicates(self, metric: Metric, cells: Cells) -> dict[str, Floats]:
        """Return bootstrap replicates of the cells whose intervals come from them."""
        found = {}
        means = self.fold.means.get(metric.key(self.problem))
        for model, cell in cells.items():
            if isinstance(means, SummedMeans) and np.isfinite(_value(cell)):
                drawn = means.replicates_of(model, metric.root)
                if drawn is not None:
                    found[model] = drawn
        if not self.fold.plan.resident and metric.adds_up != "ranked":
            return found  # the subjects are gone
        redrawn = self.asked.redrawn
        wanted = [m for m, cell in cells.items() if redrawn or _needs_bootstrap(metric, cell)]
        enough = float(self.problem.y.weight.sum()) >= 2  # one subject has no spread
        if found or not wanted or self.asked.confidence is None or not enough:
            return found
        values = np.full((self.asked.n_boot, len(wanted)), NAN)
        for b in range(self.asked.n_boot):
            self._draw(metric, wanted, b, values[b])
        return {model: values[:, k] for k, model in enumerate(wanted)}

    def _draw(self, metric: Metric, models: list[str], replicate: int, out: Floats) -> None:
        """Write the metric of subjects drawn anew; the same draw serves all models and metrics."""
        problem, seed = self.problem, self.asked.seed
        counts = _counts(problem, replicate, seed)
        rows = np.flatnonzero(counts > 0)
        reference = problem.reference
        if self.asked.redrawn and reference is not None:
            reference = _redraw(reference, replicate, seed)
            if reference is None:
                return  # nobody was drawn: the replicate is undefined
        if not rows.size:
            return
        try:
            part = problem.resampled(rows, counts[rows], reference)
        except UndefinedMetricError:
            return
        for k, model in enumerate(models):
            try:
                out[k] = metric.measure(part, self._prediction(metric, model)[rows]).value
            except UndefinedMetricError:
                continue


def _needs_bootstrap(metric: Metric, measured: Measured | None) -> bool:
    """Whether a cell's interval comes from resampling although the reference is fixed."""
    if measured is None or metric.inference in ("test", "own") or not np.isfinite(measured.value):
        return False
    return bool(np.isnan(measured.stderr))


def _counts(problem: Problem, replicate: int, seed: int) -> Floats:
    """How often each subject is drawn: by itself, or with its whole cluster."""
    y, clusters = problem.y, problem.clusters
    frequency = y.weight if y.weighted else None
    if clusters is None:
        return bootstrap_counts(len(y), replicate, seed, frequency=frequency)
    number = int(clusters.codes.max()) + 1
    counts = bootstrap_counts(number, replicate, seed, "clusters")[clusters.codes]
    return counts if frequency is None else counts * frequency


def _redraw(reference: Reference, replicate: int, seed: int) -> Reference | None:
    """Draw the reference set anew; None where nobody was drawn."""
    y = reference.given
    frequency = y.weight if y.weighted else None
    counts = bootstrap_counts(len(y), replicate, seed, "reference", frequency)
    return Reference(y.reweighted(counts), causes=True) if counts.any() else None


# -- one cell ----------------------------------------------------------------------------------


def _score(
    model: str,
    metric: Metric,
    group: Any,
    measured: Measured | None,
    replicates: Floats | None,
    baseline: float,
    against: Comparison | None,
    confidence: float | None,
    clusters: Clusters | None,
    time: float | None,
    until: float | None,
) -> Score:
    """Return a cell with its interval, whatever its standard error comes from."""
    found = Interval(_value(measured), NAN, NAN, NAN, "none")
    if confidence is not None and measured is not None and metric.inference != "test":
        found = interval_of(metric, measured, replicates, confidence, clusters)
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
        time,
        _stopped(measured, until),
    )


def _stopped(measured: Measured | None, until: float | None) -> float | None:
    """Return where a score stopped: curves that end without a tail end it there."""
    if measured is None or until is None:
        return until
    end: float = measured.convention.get("horizon", until)
    return end


def _value(measured: Measured | None) -> float:
    return NAN if measured is None else float(measured.value)
