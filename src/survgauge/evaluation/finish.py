"""From columns to scores: every metric of every model, with its interval and its baseline."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.running import steps
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..estimators.reference import Reference
from ..metrics.past_curve import ends_of
from ..metrics.record import Metric
from ..metrics.score import Score
from ..metrics.task import Task
from .cells import NAN, TableCell, check_measured, difference_error, interval_of, told, undefined
from .columns import BASELINE, Columns, ModelName
from .inference import (
    FEWEST_REPLICATES,
    bootstrap_counts,
    bootstrap_stderr,
    compare_pair,
)
from .warning_kinds import EvaluationWarning, warned


class Group:
    """All scores of a group of subjects, or of everybody.

    `columns` have their numbers; `task` and `predictions` are about the same subjects, of whose
    predictions perhaps only some numbers were kept. `confidence` is the level of the intervals
    (None for none), and `seed` that of the bootstrap; `name` is None for everybody.
    """

    def __init__(
        self,
        columns: Columns,
        task: Task,
        predictions: dict[str, Prediction],
        confidence: float | None,
        seed: int,
        name: Any = None,
    ) -> None:
        self.columns, self.confidence, self.seed, self.name = columns, confidence, seed, name
        self._given = task, predictions
        self._ends = ends_of(task, columns.last_time)
        self._warnings: list[EvaluationWarning] = []
        #: Whether any standard error comes from resampling.
        self._drew = False
        self._look_anew("")

    def _look_anew(self, family: str) -> None:
        """Begin a family of metrics: what its metrics look up together ends with it."""
        task, predictions = self._given
        rows = slice(0, len(task.y))
        self._family, self.task = family, task.subset(rows)
        together = [m for m in self.columns.plan.metrics if m.family == family and m.terms is None]
        if len(together) > 1:
            self.task.y.order(keep=True)  # one sort serves all that rank subjects by time
        self.predictions = {name: p[rows] for name, p in predictions.items()}

    def scores(self) -> tuple[list[TableCell], list[EvaluationWarning]]:
        """Return the scores by model and metric, and warnings in the same order."""
        listed: list[TableCell] = []
        metrics, told = self.columns.plan.metrics, "computing metrics"
        if self.name is not None:
            told += f" of {self.name}"
        waiting = Counter(metric.square or metric.name for metric in metrics)
        for metric in steps(metrics, len(metrics), told):  # contributions of one at a time
            if metric.family != self._family:
                self._look_anew(metric.family)
            for at in metric.at_times(self.task):
                self.task = at
                listed += self._scores_of(metric)
            waiting[metric.square or metric.name] -= 1
            if not waiting[metric.square or metric.name]:
                self.columns.drop(metric.square or metric.name)
        models = list(self.columns.kinds)
        listed.sort(key=lambda score: models.index(score.model))
        found = sorted(self._warnings, key=lambda w: models.index(str(w.model)))
        draws = self.task.convention.n_boot
        if self._drew and draws < FEWEST_REPLICATES:
            found.append(warned("few-replicates", draws=draws, least=FEWEST_REPLICATES))
        return listed, [replace(warning, group=self.name) for warning in found]

    def _scores_of(self, metric: Metric) -> list[TableCell]:
        confidence, clusters = self.confidence, self.task.clusters
        cells = {
            model: self._measured(metric, model)
            for model, kind in self.columns.kinds.items()
            if Prediction.offers(kind, metric.needs)
        }
        replicates, base = self._replicates(metric, cells), self._baseline(metric)
        self._drew |= bool(replicates)
        errors: dict[str, dict[str, float]] = {model: {} for model in cells}
        for a, b in permutations(cells, 2) if confidence is not None else ():
            errors[a][b] = self._error(cells[a], cells[b], replicates.get(a), replicates.get(b))
        shared: dict[str, Any] = {
            "baseline": NAN if base is None else float(base.value),
            "freedom": float("inf") if clusters is None else clusters.freedom,
            "time": metric.time_of(self.task),
            "until": self._ends.get(metric.stops),
            "baseline_tails": self._tails(metric, BASELINE),
        }
        scores = []
        for model, measured in cells.items():
            given = shared | {"errors": errors[model], "tails": self._tails(metric, model)}
            if measured is not None:
                given |= self._numbers(metric, measured, base, replicates.get(model), given)
            cell, found = told(TableCell(model, metric, self.name, **given))
            scores.append(cell)
            self._warn(found, metric)
        return scores

    def _numbers(
        self, metric: Metric, measured: Score, base: Score | None, drawn: Floats | None,
        shared: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        """Return value and interval of a cell, whatever its standard error comes from."""
        confidence, clusters = self.confidence, self.task.clusters
        found = {"value": float(measured.value), "convention": measured.convention,
                 "support": measured.support}  # fmt: skip
        if shared["until"] is not None:  # curves that end without a tail end the score there
            found["until"] = measured.convention.get("horizon", shared["until"])
        if confidence is None:
            return found
        if base is not None and np.isfinite(measured.value) and np.isfinite(base.value):
            stderr = difference_error(measured, base, clusters)
            known = measured.value, base.value, stderr, confidence, shared["freedom"]
            found["against_baseline"] = compare_pair(*known)
        if metric.inference != "test":
            limits = interval_of(metric, measured, drawn, confidence, clusters)
            ends = {"low": limits.low, "high": limits.high, "interval": limits.scale}
            found |= {"stderr": limits.stderr, **ends}
        return found

    def _error(
        self, a: Score | None, b: Score | None, drawn: Floats | None, other: Floats | None
    ) -> float:
        """Return the standard error of the difference between two models."""
        if a is None or b is None:
            return NAN
        if drawn is not None and other is not None:
            with np.errstate(invalid="ignore"):  # two infinite ones do not differ by a number
                return bootstrap_stderr(drawn - other)
        return difference_error(a, b, self.task.clusters)

    def _measured(self, metric: Metric, model: str) -> Score | None:
        """Return one cell; an undefined metric becomes NaN and a warning."""
        time = metric.time_of(self.task)
        try:
            if self.task.sample_weight is not None and "weights" not in metric.supports:
                raise UndefinedMetricError(
                    "takes no sampling weights (sample_weight), so it has no value here"
                )
            past = self._past(metric, model)
            table = self.columns.tables.get(metric.name)
            measured: Score
            if metric.adds_up == "mean":
                measured = self.columns.measured(metric, model, self.task)
            elif table is not None:
                measured = table.measured(model, self.task)
            else:
                measured = metric.measure(self.task, self.predictions[model].at_time(time))
        except UndefinedMetricError as error:
            self._warn([undefined(error, model, metric.name)], metric)
            return None
        self._warn(check_measured(metric, measured, model, self.task.clusters), metric)
        reads = self.columns.reads.get(model)
        if reads is not None and metric.reads:
            measured.support["past_curve"] = reads.share(metric.reading(self.task))
        if past is not None and not np.isnan(measured.value):
            share = measured.support["past_curve"]
            found = warned("past-curve", model, metric.name, affected=share, why=past)
            self._warn([found], metric)
        return measured

    def _warn(self, found: list[EvaluationWarning], metric: Metric) -> None:
        time = metric.time_of(self.task)
        self._warnings += [replace(warning, time=time) for warning in found]

    def _past(self, metric: Metric, model: ModelName) -> str | None:
        """Say how much of what the metric reads lies past the curves; refuse too much of it."""
        reads = self.columns.reads.get(model)
        return None if reads is None else reads.judge(metric.reading(self.task), self._ends)

    def _tails(self, metric: Metric, model: ModelName) -> tuple[float, ...]:
        """Return the metric under each assumed tail; nothing where there is none to assume."""
        return self.columns.tails(metric.key(self.task), model, metric.root)

    def _baseline(self, metric: Metric) -> Score | None:
        """Return the loss of one prediction for everybody; None where it is undefined."""
        try:
            self._past(metric, BASELINE)
            return self.columns.measured(metric, BASELINE, self.task)
        except (UndefinedMetricError, InputError):
            return None

    # -- bootstrap -----------------------------------------------------------------------------

    @property
    def _redrawn(self) -> bool:
        """Whether the reference set is drawn anew with the test set, of whole predictions only."""
        return self.columns.plan.resident and self.task.convention.reference == "redrawn"

    def _replicates(self, metric: Metric, cells: dict[str, Score | None]) -> dict[str, Floats]:
        """Return bootstrap replicates of the cells whose intervals come from them."""
        if not self.columns.plan.resident and metric.adds_up != "ranked":
            return {}  # the predictions are gone
        redrawn = self._redrawn
        drawn = metric.inference not in ("test", "own")
        wanted = [
            model
            for model, cell in cells.items()
            if redrawn
            or (drawn and cell is not None and np.isfinite(cell.value) and np.isnan(cell.stderr))
        ]
        enough = float(self.task.y.weight.sum()) >= 2  # one subject has no spread
        if not wanted or self.confidence is None or not enough:
            return {}
        values = np.full((self.task.convention.n_boot, len(wanted)), NAN)
        for b in range(self.task.convention.n_boot):
            self._draw(metric, wanted, b, values[b])
        return {model: values[:, k] for k, model in enumerate(wanted)}

    def _draw(self, metric: Metric, models: list[str], replicate: int, out: Floats) -> None:
        """Write the metric of subjects drawn anew; the same draw serves all models and metrics."""
        task, seed = self.task, self.seed
        counts = _counts(task, replicate, seed)
        rows = np.flatnonzero(counts > 0)
        reference = task.reference
        if self._redrawn and reference is not None:
            y = reference.given
            drawn = bootstrap_counts(len(y), replicate, seed, "reference", y.frequency)
            if not drawn.any():
                return  # nobody was drawn: the replicate is undefined
            reference = Reference(y.reweighted(drawn), causes=True)
        if not rows.size:
            return
        try:
            part = task.resampled(rows, counts[rows], reference)
        except UndefinedMetricError:
            return
        time = metric.time_of(task)
        for k, model in enumerate(models):
            try:
                out[k] = metric.measure(part, self.predictions[model].at_time(time)[rows]).value
            except UndefinedMetricError:
                continue


def _counts(task: Task, replicate: int, seed: int) -> Floats:
    """How often each subject is drawn: by itself, or with its whole cluster."""
    y, clusters = task.y, task.clusters
    if clusters is None:
        return bootstrap_counts(len(y), replicate, seed, frequency=y.frequency)
    number = int(clusters.codes.max()) + 1
    counts = bootstrap_counts(number, replicate, seed, "clusters")[clusters.codes]
    return counts if y.frequency is None else counts * y.frequency
