"""From sums, counts and columns to an `Evaluation`, by the rules of `evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..evaluation.call import ANTOLINI_LIMIT, support_of
from ..evaluation.cells import evaluate_group, score_of
from ..evaluation.censoring_remarks import check_follow_up, check_weights
from ..evaluation.census import Census
from ..evaluation.coarse_grid import coarse_grids
from ..evaluation.result import NAN, Evaluation, Score
from ..evaluation.verdict import BASELINE as BASELINE_NAME
from ..evaluation.warnings import (
    TAIL_SHARE,
    EvaluationWarning,
    check_groups,
    check_measured,
    check_problem,
    check_sampling,
    tails_that_decide,
    undefined,
)
from ..inference import (
    FEWEST_REPLICATES,
    Comparison,
    compare_values,
)
from ..metrics.past_curve import READS
from ..metrics.problem import Problem
from ..metrics.registry import REGISTRY, Metric
from ..reference.g_source import WholeG
from .layout import CurveColumns
from .plan import Plan, make_problem
from .sums import BASELINE, ModelName, SumCells, SumMeasured, is_sum, key_of

if TYPE_CHECKING:
    from .accumulator import Accumulator

Cell = tuple[str, str]


def assemble(
    parts: Accumulator,
    confidence: float | None,
    unit: str,
    *,
    n_boot: int = 100,
    rows: int | None = None,
) -> Evaluation:
    """Put the evaluation together; `rows` is how many there should be."""
    plan = parts.plan
    _check_rows(parts, rows)
    if rows is not None and plan.digest not in (None, parts.outline.digest):
        raise InputError("the outcomes changed between the two passes over them; run it again")
    if plan.problem.reference is None:
        raise InputError("a stream needs a reference set")
    known = None if plan.follow else plan.problem.censoring
    problem = make_problem(parts.outline, plan.problem.reference, plan.settings, known)
    census = _census(parts, problem)
    warnings = check_problem(problem, census) + check_sampling(parts.outline.fractional)
    grids = {
        name: (spec.times, spec.interpolation)
        for name, spec in plan.layout.predictions.items()
        if isinstance(spec, CurveColumns)
    }
    warnings += coarse_grids(problem, grids)
    warnings += plan.remarks
    if plan.counted:
        counted = parts.outline.counts().outcomes()
        warnings += check_follow_up(counted, problem, plan.metrics)
    sizes = {
        str(group): {"subjects": part.subjects, "events": part.events}
        for group, part in parts.parts()
        if group is not None
    }
    warnings += check_groups(sizes)
    scores: list[Score] = []
    for group, part in parts.parts():
        work = _Work(part, problem, confidence, n_boot, group)
        found, remarks = work.all_cells()
        scores += found
        warnings += remarks
    warnings += check_weights(scores)
    if plan.tails:
        warnings += _tails(parts, confidence or 0.95)
    models = tuple(plan.layout.predictions)
    support = support_of(problem, census, scores)
    if sizes:
        support["groups"] = sizes
    y: Any = None
    if parts.columns is not None:
        y = parts.columns.outcomes()
    whole = _of_all(problem, y)
    return Evaluation(scores, whole, confidence, support, warnings, plan.seed, models, {}, unit)


def _check_rows(parts: Accumulator, rows: int | None) -> None:
    """Refuse an evaluation with holes."""
    seen = parts.seen
    if not seen:
        raise InputError("the stream has no rows; at least one subject is needed")
    whole = seen[0][0] == 0 and len(seen) == 1
    if not whole or (rows is not None and parts.rows != rows):
        expected = "" if rows is None else f" of {rows}"
        raise InputError(
            f"rows are missing: {parts.rows}{expected} came, in the ranges "
            f"{', '.join(f'{a} to {b - 1}' for a, b in seen[:5])}; did the data change?"
        )


def _census(parts: Accumulator, problem: Problem) -> Census:
    past: tuple[int, int] | None = parts.past
    if problem.horizon != parts.plan.threshold:
        past = parts.outline.past(problem.horizon)
    if past is None:
        raise InputError("the horizon changed while the stream was read; did the data change?")
    return Census(parts.subjects, parts.events, past[0], past[1], parts.outline.last_time)


def _of_all(problem: Problem, y: Any) -> Problem:
    """Return the question with all subjects at hand, whose G is then their own."""
    given = "test" if isinstance(problem.censoring, WholeG) else problem.censoring
    return replace(problem, y=y, follow_up=None, censoring=given)


class _Work:
    """All cells of a group (or of all subjects), one after the other."""

    def __init__(
        self,
        parts: Accumulator,
        problem: Problem,
        confidence: float | None,
        n_boot: int,
        group: Any = None,
    ) -> None:
        self.parts, self.problem, self.confidence = parts, problem, confidence
        self.n_boot, self.group = n_boot, group
        self.plan: Plan = parts.plan
        self.scores: dict[Cell, Score] = {}
        self.remarks: list[EvaluationWarning] = []

    def all_cells(self) -> tuple[list[Score], list[EvaluationWarning]]:
        """Scores and remarks by model and metric, in the order of `evaluate`."""
        self._kept_cells()
        for model in self.plan.layout.predictions:
            for name in self.plan.metrics:
                if (model, name) in self.scores or not self._offers(model, REGISTRY[name].needs):
                    continue
                build = self._builder(model, name)
                if build is not None:
                    self._measure(model, REGISTRY[name], build)
        order = [(m, k) for m in self.plan.layout.predictions for k in self.plan.metrics]
        remarks = [w for w in self.remarks if w.model is not None]
        remarks.sort(key=lambda w: order.index((str(w.model), str(w.metric))))
        remarks += [w for w in self.remarks if w.model is None]
        remarks = [replace(remark, group=self.group) for remark in remarks]
        return [self.scores[cell] for cell in order if cell in self.scores], remarks

    def _offers(self, model: str, needs: str) -> bool:
        kinds = {"curves": ("curves",), "times": ("curves", "times")}
        return self.parts.kinds[model] in kinds.get(needs, ("curves", "times", "risk"))

    def _builder(self, model: str, name: str) -> Callable[[], Any] | None:
        parts, plan = self.parts, self.plan
        if is_sum(name):
            cells = parts.sums[key_of(name)]
            return lambda: cells.measured(model, root=name.startswith("rmse_"))
        if name == "d_calibration":
            return parts.bins[model].measured
        means, follow_up = parts.means, plan.follow_up
        if name == "km_calibration" and means is not None and follow_up is not None:
            return lambda: means.measured(model, follow_up)
        return None

    def _measure(self, model: str, metric: Metric, build: Callable[[], Any]) -> None:
        """One cell from sums or counts."""
        try:
            past = self._past(model, metric.name)
            measured = build()
        except UndefinedMetricError as error:
            self.remarks.append(undefined(error, model, metric.name))
            empty = Score(model, metric, self.group, None, *self._base(metric))
            self.scores[model, metric.name] = empty
            return
        self.remarks += check_measured(metric, measured, model)
        reads = self.parts.reads.get(model)
        if reads is not None and metric.name in READS:
            measured.support["past_curve"] = reads.share(READS[metric.name])
        if past is not None:
            self.remarks.append(EvaluationWarning("past-curve", past, model, metric.name))
        replicates = None
        base, against = NAN, None
        if isinstance(measured, SumMeasured):
            replicates = measured.cells.replicates_of(measured)
            base, against = self._against_baseline(measured, metric.name)
        self.scores[model, metric.name] = score_of(
            model, metric, self.group, measured, replicates, base, against, self.confidence
        )

    def _past(self, model: ModelName, metric: str) -> str | None:
        """Say how much of what the metric reads lies past the curves; refuse too much of it."""
        reads = self.parts.reads.get(model)
        return None if reads is None else reads.judge(metric, self.plan.ends)

    def _base(self, metric: Metric) -> tuple[Any, ...]:
        """Fields of a score that is undefined: no interval, but the baseline's loss."""
        base = NAN
        if is_sum(metric.name):
            km = self._baseline(self.parts.sums[key_of(metric.name)], metric.name)
            base = NAN if km is None else km.value
        return NAN, NAN, NAN, None, base

    def _baseline(self, cells: SumCells, name: str) -> SumMeasured | None:
        if BASELINE not in cells.models:
            return None
        try:
            self._past(BASELINE, name)
            return cells.measured(BASELINE, root=name.startswith("rmse_"))
        except UndefinedMetricError:
            return None

    def _against_baseline(
        self, measured: SumMeasured, name: str
    ) -> tuple[float, Comparison | None]:
        km = self._baseline(measured.cells, name)
        if km is None:
            return NAN, None
        finite = np.isfinite(measured.value) and np.isfinite(km.value)
        if self.confidence is None or not finite:
            return km.value, None
        stderr = measured.stderr_against(km)
        return km.value, compare_values(measured.value - km.value, stderr, self.confidence)

    def _kept_cells(self) -> None:
        """Metrics of columns and of whole curves, by the functions of `evaluate` itself."""
        parts, plan = self.parts, self.plan
        if parts.columns is not None:
            metrics = [REGISTRY[name] for name in plan.kept]
            predictions = parts.columns.predictions()
            self._group(parts.columns.outcomes(), predictions, metrics)
        if plan.keep_curves and parts.curves and plan.follow_up is not None:
            self._group(_outcomes(plan, parts), parts.whole_curves(), [REGISTRY["km_calibration"]])

    def _group(self, y: Outcomes, predictions: dict[str, Any], metrics: list[Metric]) -> None:
        remarks: list[EvaluationWarning] = []
        scores = evaluate_group(
            _of_all(self.problem, y),
            predictions,
            self.group,
            metrics=metrics,
            confidence=self.confidence,
            seed=self.plan.seed,
            n_boot=self.n_boot,
            redrawn=False,
            warnings=remarks,
        )
        for score in scores:
            self.scores[score.model, score.metric.name] = score
        for remark in remarks:
            if remark not in self.remarks:
                self.remarks.append(remark)


def _tails(parts: Accumulator, confidence: float) -> list[EvaluationWarning]:
    """Pairs of models whose comparison in days is decided by the curves' tails."""
    from .accumulator import HELD

    held, given = parts.all_sums(HELD), parts.all_sums("mae_po")
    if held is None or given is None:
        return []
    if max(parts.shares.values()) / parts.weight <= TAIL_SHARE / 2:
        return []
    names = {m: BASELINE_NAME if m is BASELINE else str(m) for m in held.models}
    if BASELINE_NAME in held.models:  # a model takes its place
        names.pop(BASELINE, None)
    try:
        usual = {name: given.measured(model) for model, name in names.items()}
        stopped = {name: held.measured(model) for model, name in names.items()}
    except UndefinedMetricError:
        return []
    return tails_that_decide(usual, stopped, lambda a, b: a.stderr_against(b), confidence)


def _outcomes(plan: Plan, parts: Accumulator) -> Outcomes:
    """Outcomes of a test set so small that all of it was kept."""
    if parts.columns is not None:
        return parts.columns.outcomes()
    return parts.outline.outcomes().present()


def few_replicates(n_boot: int) -> list[EvaluationWarning]:
    """Say that there are too few draws for intervals."""
    if n_boot >= FEWEST_REPLICATES:
        return []
    message = f"n_boot={n_boot}: bootstrap intervals need at least {FEWEST_REPLICATES} draws"
    return [EvaluationWarning("few-replicates", message)]


def without_antolini(rows: int, curves: bool) -> list[EvaluationWarning]:
    """Say that the default metrics are not all of them; of many subjects `evaluate` says it too."""
    if not (curves or rows > ANTOLINI_LIMIT):
        return []
    message = (
        "antolini compares every curve with every other and is left out of a stream's default "
        "metrics; `evaluate(..., metrics=['antolini'])` has it for curves in memory"
    )
    return [EvaluationWarning("antolini-skipped", message)]
