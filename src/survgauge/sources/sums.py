"""Metrics that are ratios of sums over subjects: time errors, Brier family, CRPS, likelihood.

A metric's own function scores a chunk; what it says about each subject, a_i for the numerator and
s_i for the denominator, goes into `Moments`: one vector (a of every model, s) a subject. From these
come the values, their analytic standard errors, and the paired comparisons of any two models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, SurvgaugeError, UndefinedMetricError
from ..inference import bootstrap_counts
from ..metrics.problem import Problem
from ..metrics.registry import REGISTRY, Metric
from ..metrics.support import SupportSum, renumbered
from ..metrics.time import terms as time_error
from ..reference.estimated_g import Pulls
from ..reference.losses import LOSSES
from ..reference.surrogates import METHODS, Setting, Surrogates, make_setting
from .chunks import Chunk
from .g_sums import GBins, GSums
from .moments import Moments


class Baseline(Enum):
    """Kaplan-Meier of the reference set among the models: no model can be called the same."""

    KAPLAN_MEIER = "Kaplan-Meier"


BASELINE = Baseline.KAPLAN_MEIER
ModelName = str | Baseline

_LOSS_OF = {"mae": "absolute", "mse": "squared", "rmse": "squared"}
_MEANS = ("brier", "ibs", "ibll", "crps", "log_likelihood")


def time_error_of(name: str) -> tuple[str, str] | None:
    """Loss and method of a time error; None for other metrics.

    >>> time_error_of("rmse_po"), time_error_of("ibs")
    (('squared', 'po'), None)
    """
    prefix, _, method = name.partition("_")
    return (_LOSS_OF[prefix], method) if prefix in _LOSS_OF and method in METHODS else None


def is_sum(name: str) -> bool:
    """Whether a metric is a ratio of sums over subjects."""
    return name in _MEANS or time_error_of(name) is not None


@dataclass
class Part:
    """What a metric says about the subjects of a chunk, for one model."""

    #: a is the product of the two.
    weight: Floats | float
    loss: Floats | None
    s: Floats | None
    convention: dict[str, Any]
    support: dict[str, Any]
    undefined: str | None = None
    #: What of a moves with weights 1/G: pulls, True for all of it, or None.
    moving: Any = None
    #: Whether s is the weight itself.
    share_moves: bool = False

    def write(self, rows: slice, out: Floats) -> None:
        """Write a of some subjects."""
        if self.loss is None:
            out[:] = np.nan
            return
        weight = self.weight if isinstance(self.weight, float) else self.weight[rows]
        np.multiply(weight, self.loss[rows], out=out)

    @classmethod
    def nothing(cls, why: str) -> Part:
        """Return what there is of a metric that is undefined."""
        return cls(1.0, None, None, {}, {}, why)


class SamePrediction(Prediction):
    """One curve for everybody, whose median and mean are known."""

    def __init__(self, curves: SurvivalCurves, points: dict[str, float]) -> None:
        super().__init__(curves, None, None)
        self.points = points


def points_of(curves: SurvivalCurves, tau: float | None) -> dict[str, float]:
    """Median and mean of a single curve as time errors read them; undefined ones are left out."""
    found = {}
    for name in ("median", "mean"):
        with suppress(SurvgaugeError):
            found[name] = float(time_error.predicted_times(curves, 1, name, tau)[0][0])
    return found


class SumCells:
    """All models under one metric (all models' a_i and the shared s_i), over all chunks so far."""

    def __init__(
        self,
        models: Iterable[ModelName],
        n_boot: int = 0,
        bins: GBins | None = None,
        rules: dict[str, str] | None = None,
    ) -> None:
        self.models = tuple(models)
        #: What an estimated G needs; None where G is not that of the test subjects.
        self.bins, self._rules = bins, rules or {}
        self.by_time = None if bins is None else GSums(len(self.models) + 1, bins)
        self.moments = Moments(len(self.models) + 1)
        self.convention: dict[ModelName, dict[str, Any]] = {}
        self.support = {model: SupportSum() for model in self.models}
        self.undefined: dict[ModelName, str] = {}
        #: Sums of resampled subjects, (n_boot, models + 1).
        self.replicates: Floats = np.zeros((n_boot, len(self.models) + 1))

    def update(
        self, parts: dict[ModelName, Part], chunk: Chunk, counts: Floats | None, n: int
    ) -> None:
        """Add a chunk; `counts` (n_boot, n) say how often its subjects are drawn."""
        shared: Floats | None = None
        for model in self.models:
            part = parts[model]
            if part.loss is None or part.s is None:
                self.undefined.setdefault(model, str(part.undefined))
                continue
            same = shared is None or shared is part.s or np.array_equal(shared, part.s)
            if not same:
                raise RuntimeError("models of one metric must share what they are divided by")
            shared = part.s
            self.convention.setdefault(model, part.convention)
            mass = float(chunk.y.weight.sum())
            self.support[model].add(renumbered(part.support, chunk.rows), chunk.start, mass)
        listed = [parts[model] for model in self.models]
        self._add_by_time(listed, shared, chunk.y)

        def fill(rows: slice, out: Floats) -> None:
            for k, part in enumerate(listed):
                part.write(rows, out[k])
            if len(out) > len(listed):
                out[-1] = np.nan if shared is None else shared[rows]

        if counts is None and not chunk.y.weighted:
            alike = None if shared is None or shared.strides != (0,) else float(shared[0])
            self.moments.update_by(fill, n, alike)
            return
        values = np.empty((len(self.models) + 1, n))
        with np.errstate(invalid="ignore"):  # no weight, infinite loss
            fill(slice(0, n), values)
            if counts is not None:
                self.replicates += np.einsum("bn,dn->bd", counts, values)
        if not chunk.y.weighted:
            self.moments.update(values)
            return
        present = chunk.y.weight > 0
        frequency = chunk.y.weight[present]
        self.moments.update(values[:, present] / frequency, frequency)

    def _add_by_time(self, parts: list[Part], shared: Floats | None, y: Outcomes) -> None:
        """Add to the sums by time and status, if G is estimated from the stream's subjects."""
        if self.bins is None or self.by_time is None or shared is None:
            return
        # Under a horizon later outcomes are events at tau.
        tau = next((p.convention.get("tau") for p in parts if p.loss is not None), None)
        seen = y.restricted(tau)
        time, event = seen.time, seen.event
        rows: Any = slice(None)
        alike = shared.strides == (0,)
        if alike and all(part.moving is True for part in parts if part.loss is not None):
            rows = np.flatnonzero(event)  # nobody else weighs anything
            time, event = time[rows], event[rows]
        place = self.bins.place(time)
        moving: Any = None
        values = np.empty(len(y))
        for k, part in enumerate(parts):
            if part.loss is not None:
                with np.errstate(invalid="ignore"):
                    part.write(slice(0, len(y)), values)
                self.by_time.update(k, place, event, values[rows], part.moving)
                moving = True if part.share_moves else None
        if alike:
            self.by_time.alike = float(shared[0])
        else:
            self.by_time.update(len(parts), place, event, shared, moving)

    def stderr(self, pull: Floats) -> float:
        """Standard error of a statistic to which a subject's numbers z contribute pull @ z."""
        if self.bins is None or self.by_time is None:
            return self.moments.stderr(pull)
        return self.moments.stderr(pull, self.by_time.more_variance(pull, self.bins, self._rules))

    def merge(self, other: SumCells) -> None:
        """Add the chunks of another part."""
        self.moments.merge(other.moments)
        if self.by_time is not None and other.by_time is not None:
            self.by_time.merge(other.by_time)
        for model in self.models:
            self.support[model].merge(other.support[model])
            if model in other.convention:
                self.convention.setdefault(model, other.convention[model])
            if model in other.undefined:
                self.undefined.setdefault(model, other.undefined[model])
        self.replicates = self.replicates + other.replicates

    def measured(self, model: ModelName, root: bool = False) -> SumMeasured:
        """Return the metric of one model; raise where it is undefined."""
        if model in self.undefined:
            raise UndefinedMetricError(self.undefined[model])
        k = self.models.index(model)
        total = float(self.moments.total[k])
        support = self.support[model].result(total)
        convention = dict(self.convention.get(model, {}))
        if "method" in convention and not self._anybody(support):
            time_error.refuse_empty(convention["method"], support)
        value = self.moments.ratio(k)
        if root:
            value, convention["root"] = float(np.sqrt(value)), True
        return SumMeasured(value, convention, support, self, k, root)

    def _anybody(self, support: dict[str, Any]) -> bool:
        below = float(self.moments.total[-1])
        return below != 0 and bool(support.get("largest_weight", 1.0) != 0)

    def replicates_of(self, measured: SumMeasured) -> Floats | None:
        """Bootstrap replicates of a metric; None where none were drawn."""
        if not self.replicates.shape[0] or not np.isfinite(measured.value):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.replicates[:, measured.index] / self.replicates[:, -1]
            return np.sqrt(values) if measured.root else values


@dataclass(frozen=True)
class SumMeasured:
    """A metric from sums: what `evaluate` needs of it, without the subjects."""

    value: float
    convention: dict[str, Any]
    support: dict[str, Any]
    cells: SumCells
    index: int
    root: bool = False
    psi: None = None
    frequency: None = None

    @property
    def pull(self) -> Floats:
        """What one subject's numbers change in the value."""
        pull = self.cells.moments.ratio_pull(self.index)
        # A root of exactly 0 has contributions of 0, as its square has: nobody has a loss.
        return pull / (2 * self.value) if self.root and self.value > 0 else pull

    @property
    def stderr(self) -> float:
        """Analytic standard error, reference set fixed."""
        if not np.isfinite(self.value):
            return float("nan")
        return self.cells.stderr(self.pull)

    def stderr_against(self, other: Any) -> float:
        """Standard error of the difference from another model on the same subjects."""
        if not (np.isfinite(self.value) and np.isfinite(other.value)):
            return float("nan")
        return self.cells.stderr(self.pull - other.pull)


# -- a chunk -----------------------------------------------------------------------------------


Scored = dict[str, dict[ModelName, Part]]


def score_chunk(
    problem: Problem, predictions: dict[ModelName, Prediction], metrics: Iterable[Metric]
) -> Scored:
    """Score all models under all metrics of the kind: {key of the metric: {model: part}}.

    Kaplan-Meier for everybody, if it is among the models, is scored by losses only.
    """
    listed = list(metrics)
    found: Scored = {}
    losses: dict[str, list[str]] = {}
    for metric in listed:
        kind = time_error_of(metric.name)
        if kind is None:
            found[metric.name] = {
                model: _mean_part(metric, problem, prediction, strict=model != BASELINE)
                for model, prediction in predictions.items()
                if prediction.has(metric.needs)
                and (model != BASELINE or metric.direction == "lower")
            }
        elif kind[1] not in losses.setdefault(kind[0], []):
            losses[kind[0]].append(kind[1])
    if losses:
        found |= _time_errors(problem, predictions, losses)
    return found


def key_of(name: str) -> str:
    """Where the sums of a metric are kept; a root shares those of its square."""
    return "mse" + name[4:] if name.startswith("rmse_") else name


def _mean_part(metric: Metric, problem: Problem, prediction: Prediction, strict: bool) -> Part:
    """Numerators and denominators from a metric's contributions: a = total psi + value s.

    What cannot be scored is an error only where this is `strict`.
    """
    try:
        details = metric.compute(problem, prediction)
    except SurvgaugeError as error:
        if strict and isinstance(error, InputError):
            raise
        return Part.nothing(str(error))
    mass = problem.y.weight
    value = float(details.value)
    if details.psi is None:
        with np.errstate(invalid="ignore"):
            a = np.where(mass > 0, mass * value, 0.0)
    else:
        a = details.psi * mass.sum() + value * mass
    pulls = getattr(details, "pulls", None)
    if pulls is not None:
        total = mass.sum()
        pulls = Pulls(pulls.event * total, pulls.survivors * total, pulls.times)
    return Part(1.0, a, mass, details.convention, details.support, moving=pulls)


def _time_errors(
    problem: Problem, predictions: dict[ModelName, Prediction], losses: dict[str, list[str]]
) -> Scored:
    """All time errors of all models; surrogates and look-ups are made once for all."""
    options = {name: value for name, value in problem.options.items() if name != "normalize"}
    normalize = problem.options.get("normalize", "n")
    setting = make_setting(
        problem.y, problem.reference, tau=problem.tau, censoring=problem.censoring, **options
    )
    surrogates: dict[str, Surrogates | UndefinedMetricError] = {}
    names = dict.fromkeys(method for methods in losses.values() for method in methods)
    for method in names:
        surrogates[method] = _attempt(lambda m=method: METHODS[m](setting))  # type: ignore[misc]
    found: Scored = {}
    for loss, methods in losses.items():
        prefix = "mae" if loss == "absolute" else "mse"
        scored: Scored = {f"{prefix}_{method}": {} for method in methods}
        for model, prediction in predictions.items():
            if prediction.has("times"):
                predicted = _predicted(prediction, LOSSES[loss].point)
                strict = model != BASELINE
                made = _model_errors(
                    setting, surrogates, predicted, loss, methods, normalize, strict
                )
                for method, part in made:
                    scored[f"{prefix}_{method}"][model] = part
        found |= scored
    return found


def _predicted(prediction: Prediction, point: str) -> Any:
    """What a time error reads: curves or times."""
    if isinstance(prediction, SamePrediction) and point in prediction.points:
        return np.full(len(prediction), prediction.points[point])
    return prediction.times


def _attempt(build: Callable[[], Any]) -> Any:
    try:
        return build()
    except UndefinedMetricError as error:
        return error


def _model_errors(
    setting: Setting,
    surrogates: dict[str, Surrogates | UndefinedMetricError],
    predicted: Any,
    loss: str,
    methods: list[str],
    normalize: str,
    strict: bool,
) -> Iterable[tuple[str, Part]]:
    rule, tau = LOSSES[loss], setting.tau
    try:
        times, tail = time_error.predicted_times(predicted, len(setting.y), rule.point, tau)
        shared = time_error.support(setting, time_error.Point(times, tail))
    except SurvgaugeError as error:
        if strict and isinstance(error, InputError):
            raise
        for method in methods:
            yield method, Part.nothing(str(error))
        return
    average = time_error.average_weight(setting)
    for method in methods:
        made = surrogates[method]
        if isinstance(made, UndefinedMetricError):
            yield method, Part.nothing(str(made))
            continue
        rules = time_error.convention(setting, method, rule, predicted, normalize)
        details = time_error.combine(
            setting, made, rule, times, average, normalize, rules, dict(shared), part=True
        )
        share = details.weight if details.share is None else details.share
        moves = method == "ipcw_d" and setting.g_from == "test"
        yield (
            method,
            Part(
                details.weight,
                details.loss,
                share,
                rules,
                details.support,
                moving=True if moves else None,
                share_moves=moves and details.share is None,
            ),
        )


def draws(chunk: Chunk, n_boot: int, seed: int) -> Floats | None:
    """How often each subject of a chunk is drawn: (n_boot, n)."""
    if not n_boot:
        return None
    y = chunk.y
    frequency = y.weight if y.weighted else None
    counts = np.empty((n_boot, len(y)))
    for b in range(n_boot):
        counts[b] = bootstrap_counts(len(y), b, seed, frequency=frequency, start=chunk.start)
    if frequency is not None:
        # Sums carry the frequency already; a row drawn c times counts c/w of it.
        np.divide(counts, frequency, out=counts, where=frequency > 0)
    return counts


def sum_metrics(names: Iterable[str]) -> list[Metric]:
    """Metrics of this kind among the names."""
    return [REGISTRY[name] for name in names if is_sum(name)]
