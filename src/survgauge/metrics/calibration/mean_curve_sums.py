"""KM-calibration from sums of curves: the average curve, and what each subject does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._tools.arrays import Floats
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import SurvgaugeError, UndefinedMetricError
from ...reference.kaplan_meier import KaplanMeier
from ..details import Details
from ..problem import Problem
from .distance_intervals import SquaredGap
from .gap_influence import Influence, cross_products, gap_stderr, observed_curve
from .inputs import description
from .mean_curve import Lines, refuse_past_grid, shared_mean, squared_gap, with_tail

_ROWS = 4096
#: A spread that is a smaller part of its sum of squares than this is a rounding error.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class FollowUp:
    """Kaplan-Meier of all test outcomes, or 1 - Aalen-Johansen, known before curves are read."""

    observed: KaplanMeier
    influence: Influence
    stop: float

    @classmethod
    def of(cls, y: Outcomes, tau: float | None = None, cause: int | None = None) -> FollowUp:
        """Count the outcomes; the clock stops at their last time, or at `tau` before that."""
        stop = float(y.present().time.max())
        stop = stop if tau is None else min(stop, tau)
        observed, influence = observed_curve(y, cause)
        return cls(observed, influence(stop), stop)


class MeanCurveSums:
    """Average curves of all models with curves, and the joint spread of their subjects.

    At the points of the follow-up a subject adds u_i(t) of a model to mean curve - Kaplan-Meier.
    The sums of u and of the products of two models' u give every standard error once the gaps are
    known, which is at the end.
    """

    #: Under delayed entry who is at risk changes with time, and there is no average curve.
    takes_entry: ClassVar[bool] = False

    def __init__(self) -> None:
        self.models: tuple[str, ...] = ()
        self.weight = 0.0
        self.subjects = self.events = self.competing = 0
        self.sums: dict[str, Floats] = {}
        self.grids: dict[str, tuple[Floats, str]] = {}
        self.like: dict[str, SurvivalCurves] = {}
        #: Ends of the curves where the follow-up goes on past them: (start, weight, survival).
        self.ends: dict[str, list[tuple[int, Floats, Floats]]] = {}
        self.average: Floats = np.zeros(0)
        self.square: Floats = np.zeros((0, 0))

    def _begin(self, models: tuple[str, ...], points: int) -> None:
        """Learn from the first chunk which models there are."""
        if not self.models:
            self.models = models
            self.ends = {model: [] for model in models}
            size = points * len(models)
            self.average, self.square = np.zeros(size), np.zeros((size, size))

    def update(self, problem: Problem, predictions: dict[str, Prediction]) -> None:
        """Add a chunk of subjects with the predictions of all models that have curves."""
        follow_up = _tested(problem)
        self._begin(tuple(predictions), follow_up.influence.points.size)
        y, weight = problem.y, problem.y.weight
        total = float(weight.sum())
        self.subjects += y.count
        self.events += y.event_count
        if problem.competes is not None:
            self.competing += int((problem.competes & (weight > 0)).sum())
        if not total > 0:
            return
        for model in self.models:
            curves = _curves(predictions[model])
            grid, mean, how = shared_mean(curves, weight / total)
            self.grids[model] = grid, how
            self.sums[model] = self.sums.get(model, 0.0) + total * mean
            if model not in self.like:  # a copy: a view would keep the chunk in memory
                first = np.array(curves.survival[:1])
                rules = curves.interpolation, curves.tail
                self.like[model] = SurvivalCurves._trusted(curves.times, first, *rules)
            if follow_up.stop > grid[-1]:
                ends = problem.start, weight.copy(), np.array(curves.last_survival)
                self.ends[model].append(ends)
        self.weight += total
        self._spread(y, [_curves(predictions[m]) for m in self.models], follow_up.influence)

    def _spread(self, y: Outcomes, readers: list[SurvivalCurves], influence: Influence) -> None:
        size, weight = influence.points.size, y.weight if y.weighted else None
        status = influence.status(y)
        for start in range(0, len(y), _ROWS):
            rows = slice(start, min(start + _ROWS, len(y)))
            own = y.time[rows], status[rows]
            units = [influence.units(*own, c.at_block(rows, influence.points)) for c in readers]
            for i, unit in enumerate(units):
                weighted = unit if weight is None else unit * weight[rows, None]
                here = slice(i * size, (i + 1) * size)
                self.average[here] += weighted.sum(axis=0)
                for j in range(i, len(units)):
                    block = cross_products(weighted, units[j])
                    self.square[here, j * size : (j + 1) * size] += block

    def merge(self, other: MeanCurveSums) -> None:
        """Add the subjects of another part."""
        if not other.models:
            return
        self._begin(other.models, other.average.size // len(other.models))
        self.weight += other.weight
        self.subjects += other.subjects
        self.events += other.events
        self.competing += other.competing
        for model in self.models:
            if model in other.sums:
                self.grids.setdefault(model, other.grids[model])
                self.like.setdefault(model, other.like[model])
                self.sums[model] = self.sums.get(model, 0.0) + other.sums[model]
            self.ends[model] = self.ends[model] + other.ends[model]
        self.average = self.average + other.average
        self.square = self.square + other.square

    def measured(self, model: str, problem: Problem) -> GapMeasured:
        """Return KM-calibration of one model; raise where it is undefined."""
        tested = _tested(problem)
        stop, influence = tested.stop, tested.influence
        if not stop > 0:
            raise UndefinedMetricError("km_calibration needs a test time above zero; all are zero")
        if problem.cause is not None:
            refuse_past_grid(self.like[model], stop)
        lines, how = self._lines(model, stop)
        value = squared_gap(lines, tested.observed, stop).integral / stop
        gap = influence.gap(lines, stop)
        curves = self.like[model]
        described, _ = description(Outcomes([1.0], [True]), curves)
        described |= {"convention": "survgauge", "mean_curve": how, "tau": stop}
        support = {
            "subjects": self.subjects,
            "events": self.events,
            "censored": self.subjects - self.events,
            "past_curves": float(curves.times[-1] < stop),
        }
        if problem.cause is not None:
            described["cause"] = problem.cause_name
            support["competing"] = self.competing
        law = SquaredGap.of(value, gap, self.covariance(model, model))
        support["expected_if_calibrated"] = law.expected_if_calibrated
        return GapMeasured(value, described, support, None, None, self, model, gap, law)

    def _lines(self, model: str, stop: float) -> tuple[Lines, str]:
        grid, how = self.grids[model]
        curves = self.like[model]
        ends = sorted(self.ends[model], key=lambda part: part[0])
        weight, last = np.ones(1), np.zeros(1)
        if ends:
            weight = np.concatenate([w for _, w, _ in ends])
            last = np.concatenate([s for _, _, s in ends])
        tails = SurvivalCurves._trusted(
            curves.times[-1:], last[:, None], curves.interpolation, curves.tail
        )
        mean = self.sums[model] / self.weight
        return with_tail(grid, mean, how, tails, weight / weight.sum(), stop)

    def covariance(self, a: str, b: str) -> Floats:
        """Joint spread of two models' gaps at the points."""
        size = self.average.size // len(self.models)
        first, second = sorted(map(self.models.index, (a, b)))
        i, j = (slice(k * size, (k + 1) * size) for k in (first, second))
        means = np.outer(self.average[i], self.average[j]) / self.weight
        square = self.square[i, j]
        found: Floats = square - means
        # Where all subjects are alike only rounding errors are left.
        found[np.abs(found) <= _ROUNDING * np.abs(square)] = 0.0
        return found if first == self.models.index(a) else found.T


@dataclass(frozen=True, repr=False)
class GapMeasured(Details):
    """KM-calibration from sums."""

    sums: MeanCurveSums | None = None
    model: str = ""
    gap: Any = None
    law: SquaredGap | None = None

    @property
    def stderr(self) -> float:
        """Standard error to second order."""
        if self.sums is None:
            return float("nan")
        return gap_stderr(self.gap, self.sums.covariance(self.model, self.model))

    def stderr_against(self, other: Any) -> float:
        """Standard error of the difference from another model, to first order."""
        if self.sums is None or not self.sums.weight > 1:
            return float("nan")
        a, b, sums = self.gap, other.gap, self.sums
        variance = (
            a @ sums.covariance(self.model, self.model) @ a
            - 2 * a @ sums.covariance(self.model, other.model) @ b
            + b @ sums.covariance(other.model, other.model) @ b
        )
        n = sums.weight
        return float(np.sqrt(max(variance, 0.0) * n / (n - 1))) * 2.0 / self.gap.size


def _tested(problem: Problem) -> FollowUp:
    if not isinstance(problem.tested, FollowUp):
        raise SurvgaugeError("km_calibration needs a first pass over the outcomes")
    return problem.tested


def _curves(prediction: Prediction) -> SurvivalCurves:
    if prediction.curves is None:
        raise UndefinedMetricError("km_calibration needs curves")
    return prediction.curves
