"""KM-calibration: distance of the mean predicted curve from Kaplan-Meier."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..._tools.arrays import Floats, positive
from ...data.conditional_curves import ConditionalCauseCurves, ConditionalCurves
from ...data.curves import SurvivalCurves
from ...data.outcomes import IntervalOutcomes, Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, SurvgaugeError, UndefinedMetricError, one_of
from ...estimators.aalen_johansen import coded
from ..checks import check_curves, one_cause
from ..past_curve import share_of_length
from ..score import Clusters
from ..task import Task
from .curve_gap import (
    POINTS,
    HazardGap,
    Lines,
    MeanGap,
    ObservedCurve,
    breaks_of,
    cross_products,
    falls,
    gap_spread,
    middles,
    refuse_past_grid,
    shared_mean,
    squared_gap,
    trapezoid_gap,
    with_tail,
)
from .distance_intervals import Distance, SquaredGap
from .inputs import CONVENTIONS, description
from .interval_calibration import TurnbullCalibration, turnbull_calibration

_ROWS = 4096
#: A spread that is a smaller part of its sum of squares than this is a rounding error.
_ROUNDING = 1e-14


@dataclass(frozen=True, repr=False, eq=False)
class KMCalibration(Distance):
    """KM-calibration with the two curves that it compares.

    Attributes
    ----------
    times, mean_survival, kaplan_meier : ndarray
        Average predicted survival and Kaplan-Meier just after each of their nodes; made when
        asked for. With several causes they are 1 - incidence of the one that was asked for, as
        predicted on average and by Aalen-Johansen.
    contributions : ndarray of shape (n,)
        First-order contributions, at 64 points of the follow-up.
    stderr : float
        Standard error to second order, as a bootstrap of many subjects gives it.
    distribution, expected_if_calibrated
        As of `Distance`.
    """

    found: MeanGap | HazardGap | None = None
    #: Beginning and end of the comparison; None: at zero and the event times, as SurvivalEVAL.
    _ends: tuple[float, float] | None = None
    #: Weights of all subjects, also of those who are not there, and who belongs together.
    _weight: Floats | None = None
    _clusters: Clusters | None = None

    @cached_property
    def times(self) -> Floats | None:
        """Where one of the curves changes."""
        if self.found is None:
            return None
        lines, km = self.found.lines, self.found.observed.km
        if self._ends is None:
            return np.unique(np.append(0.0, falls(km)))
        return breaks_of(lines, km, self._ends[1])[:-1]

    @property
    def mean_survival(self) -> Floats | None:
        """Average predicted survival at `times`."""
        if self.found is None or self.times is None:
            return None
        return self.found.lines.ends(np.append(self.times, self.times[-1]))[0]

    @property
    def kaplan_meier(self) -> Floats | None:
        """Kaplan-Meier of the test outcomes at `times`; of a cause 1 - Aalen-Johansen."""
        if self.found is None or self.times is None:
            return None
        return self.found.observed.km.at(self.times)

    @cached_property
    def _spread(self) -> tuple[Floats, Floats, Floats] | None:
        """Contributions of all subjects; the gap at points, and its covariance."""
        found, weight, ends, clusters = self.found, self._weight, self._ends, self._clusters
        if found is None or weight is None or ends is None:
            return None
        if clusters is not None:
            if clusters.number < 2:
                return None
            clusters = clusters[weight > 0]
        points = middles(*ends)
        gap, influence = found.observed.gap(found.lines, points), np.zeros(weight.size)
        influence[weight > 0], covariance = gap_spread(found, points, gap, clusters)
        return influence, gap, covariance

    @cached_property
    def contributions(self) -> Floats | None:
        """First-order contributions, at 64 points of the follow-up."""
        return None if self._spread is None else self._spread[0]

    @cached_property
    def distribution(self) -> SquaredGap | None:
        """How the distance varies; None where that is not known."""
        if self._spread is None:
            return None
        freedom = float("inf") if self._clusters is None else self._clusters.freedom
        return SquaredGap.of(self.value, *self._spread[1:], freedom)


def km_calibration(
    y_true: Any,
    curves: Any,
    *,
    tau: float | None = None,
    convention: str = "survgauge",
    cause: int | str | None = None,
) -> KMCalibration | TurnbullCalibration:
    r"""KM-calibration: squared distance of the average predicted curve from Kaplan-Meier.

    .. math:: \frac{1}{t_{\max}} \int_0^{t_{\max}} \Big(\frac1n \sum_i S_i(t) - S_{KM}(t)\Big)^2 dt

    with Kaplan-Meier of the test outcomes and t_max their last time, or `tau` before that. Zero is
    best; the distance cannot be negative. The integral is exact for line and step curves on a
    shared grid; elsewhere the convention says at how many points the average was taken.

    With several causes it is Aalen-Johansen calibration: the squared distance of the average
    predicted incidence of one cause from Aalen-Johansen.

    With delayed entry Kaplan-Meier is compared with exp(-A), where A adds up the mean predicted
    hazard of those at risk, because the sample changes with time. It begins when 10 are at risk.
    Aalen-Johansen is compared with the incidence that the hazards of all causes add up to likewise.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. Of `IntervalOutcomes` it is `turnbull_calibration`.
    curves : SurvivalCurves or IncidenceCurves
        Predicted survival curves; with `cause` the predicted incidence.
    tau : float, optional
        Horizon of the integral; by default the last test time.
    convention : {"survgauge", "survivaleval"}
        ``survivaleval`` is what SurvivalEVAL 0.9 reports: squared gaps at zero and at the event
        times only, joined by lines, over the last event time. It has no `tau` and no `cause`.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted. Incidence curves say
        nothing past their last time: `tau` must not be later.

    Returns
    -------
    KMCalibration
        A `Score` that also has both curves and `expected_if_calibrated`.

    Examples
    --------
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> score = km_calibration(([2, 4, 6, 9], [1, 0, 1, 1]), curves)
    >>> round(score, 4), round(score.stderr, 4)
    (0.0266, 0.0683)
    """
    if isinstance(y_true, IntervalOutcomes):
        return turnbull_calibration(y_true, curves, tau=tau)
    return km_distance(y_true, curves, convention, tau=tau, cause=cause)


def km_distance(
    y_true: Any,
    curves: Any,
    convention: str = "survgauge",
    clusters: Clusters | None = None,
    tau: float | None = None,
    cause: int | str | None = None,
) -> KMCalibration:
    """`km_calibration` of subjects that may come in clusters, which its distribution heeds."""
    one_of("convention", convention, CONVENTIONS)
    asked = one_cause(y_true, curves, None, cause, entry=True)
    given, competes = asked.y, asked.competes
    stop = _follow_up(float(given.present().time.max()))
    for argument, value in (("tau", tau), ("cause", asked.name), ("delayed entry", given.entry)):
        if value is not None and convention != "survgauge":
            raise InputError(
                f"{argument} is no part of convention {convention!r}, which ends at the last event "
                "time and supports one kind of event; leave one of them out"
            )
    stop = stop if tau is None else min(stop, positive(tau, "tau"))
    curves = check_curves(asked.curves, given)
    if competes is not None:
        refuse_past_grid(curves.base if isinstance(curves, ConditionalCurves) else curves, stop)
        given = coded(given, competes)
    y = given.present()
    curves = curves if y is given else curves[given.weight > 0]
    described, support = description(y, curves, asked)
    support["past_curves"] = float(np.mean(curves.last_time < stop))
    support["past_curve"] = share_of_length(curves, stop, y.frequency)
    found: MeanGap | HazardGap
    begin, given_entry = 0.0, competes is None or isinstance(curves, ConditionalCauseCurves)
    if given.entry is not None and given_entry:
        found = HazardGap.of(y, curves, stop, asked.code)
        described["since"] = begin = float(found.nodes[0])
    else:
        found = MeanGap.of(y, curves, stop, None if competes is None else 1)
    described |= {"convention": convention, "mean_curve": found.how, "tau": stop}
    ends: tuple[float, float] | None = (begin, stop)
    if convention == "survgauge":
        value = squared_gap(found.lines, found.observed.km, stop) / (stop - begin)
    else:
        integral, end = trapezoid_gap(found.lines, found.observed.km)
        if not end > 0:
            raise UndefinedMetricError("convention 'survivaleval' needs an event after time zero")
        value, described["tau"], ends = integral / end, end, None
    return KMCalibration(
        value, described, support, None, given.frequency, found=found,
        _ends=ends, _weight=given.weight, _clusters=clusters,
    )  # fmt: skip


def _follow_up(stop: float) -> float:
    if not stop > 0:
        raise UndefinedMetricError("km_calibration needs a test time above zero; all are zero")
    return stop


@dataclass
class _MeanSum:
    """Sum of the curves of one model."""

    #: One of the curves, for the grid and what goes on past it.
    like: SurvivalCurves
    grid: Floats
    how: str
    total: Floats
    #: Ends of the curves where the follow-up goes on past them: (start, weight, survival).
    ends: list[tuple[int, Floats, Floats]]

    def lines(self, weight: float, stop: float) -> Lines:
        """Average of the curves up to `stop`."""
        like, ends = self.like, sorted(self.ends, key=lambda part: part[0])
        share, last = np.ones(1), np.zeros(1)
        if ends:
            share, last = (np.concatenate([part[k] for part in ends]) for k in (1, 2))
        known = like.times[-1:], last[:, None], like.interpolation, like.tail
        mean, tails = self.total / weight, SurvivalCurves._trusted(*known)
        return with_tail(self.grid, mean, self.how, tails, share / share.sum(), stop)[0]


@dataclass
class MeanCurveSums:
    """KM-calibration of chunks: average curves of all models, and the joint spread of subjects.

    At the points of the follow-up a subject adds u_i(t) of a model to mean curve - Kaplan-Meier.
    The sums of u and of the products of two models' u give every standard error once the gaps are
    known, which is at the end.
    """

    #: Under delayed entry who is at risk changes with time, and there is no average curve.
    takes_entry: ClassVar[bool] = False

    models: dict[str, _MeanSum] = field(default_factory=dict)
    weight: float = 0.0
    #: Subjects, events of any cause, and those of other causes.
    counts: Any = 0
    #: Sums over subjects of the u of all models, and of their products.
    average: Any = 0.0
    square: Any = 0.0

    def update(self, task: Task, predictions: dict[str, Prediction]) -> None:
        """Add a chunk of present subjects with the predictions of all models that have curves."""
        y, observed, total = task.y, _observed(task), float(task.y.weight.sum())
        others = 0 if task.competes is None else int(task.competes.sum())
        part = MeanCurveSums({}, total, np.array([y.count, y.event_count, others]))
        readers: list[SurvivalCurves] = []
        for model, prediction in predictions.items():
            curves: Any = prediction.curves
            readers.append(curves)
            grid, mean, how = shared_mean(curves, y.weight / total)
            # Copies: a view would keep the chunk in memory.
            first, rules = np.array(curves.survival[:1]), (curves.interpolation, curves.tail)
            ends = []
            if observed.stop > grid[-1]:
                ends = [(task.start, y.weight.copy(), np.array(curves.last_survival))]
            like = SurvivalCurves._trusted(curves.times, first, *rules)
            part.models[model] = _MeanSum(like, grid, how, total * mean, ends)
        points = middles(0.0, observed.stop)
        for start in range(0, len(y), _ROWS):
            rows = slice(start, min(start + _ROWS, len(y)))
            moves, known = observed.moves(points, y[rows]), y.weight[rows, None]
            read = [curves.at_block(rows, points) / observed.total + moves for curves in readers]
            units = np.concatenate(read, axis=1)
            weighted = units * known if y.frequency is not None else units
            part.average = part.average + weighted.sum(axis=0)
            part.square = part.square + cross_products(weighted, units)
        self.merge(part)

    def merge(self, other: MeanCurveSums) -> None:
        """Add the subjects of another part."""
        self.weight += other.weight
        self.counts = self.counts + other.counts
        self.average, self.square = self.average + other.average, self.square + other.square
        for model, part in other.models.items():
            if model in self.models:
                known = self.models[model]
                known.total, known.ends = known.total + part.total, known.ends + part.ends
            else:
                self.models[model] = part

    def measured(self, model: str, task: Task) -> GapMeasured:
        """Return KM-calibration of one model; raise where it is undefined."""
        observed, known = _observed(task), self.models[model]
        stop = _follow_up(observed.stop)
        if task.cause is not None:
            refuse_past_grid(known.like, stop)
        lines = known.lines(self.weight, stop)
        value = squared_gap(lines, observed.km, stop) / stop
        gap = observed.gap(lines, middles(0.0, stop))
        described, _ = description(Outcomes([1.0], [True]), known.like)
        described |= {"convention": "survgauge", "mean_curve": known.how, "tau": stop}
        subjects, events, competing = map(int, self.counts)
        support = {
            "subjects": subjects,
            "events": events,
            "censored": subjects - events,
            "past_curves": float(known.like.times[-1] < stop),
        }
        if task.cause is not None:
            described["cause"] = task.cause_name
            support["competing"] = competing
        distribution = SquaredGap.of(value, gap, self.covariance(model, model))
        support["expected_if_calibrated"] = distribution.expected_if_calibrated
        return GapMeasured(
            value, described, support, known=distribution, sums=self, model=model, gap=gap
        )

    def covariance(self, a: str, b: str) -> Floats:
        """Joint spread of two models' gaps at the points."""
        names = list(self.models)
        i, j = (slice(k * POINTS, (k + 1) * POINTS) for k in map(names.index, (a, b)))
        square = self.square[i, j]
        found: Floats = square - np.outer(self.average[i], self.average[j]) / self.weight
        # Where all subjects are alike only rounding errors are left.
        found[np.abs(found) <= _ROUNDING * np.abs(square)] = 0.0
        return found


@dataclass(frozen=True, repr=False, eq=False)
class GapMeasured(Distance):
    """KM-calibration from sums."""

    sums: MeanCurveSums = field(default_factory=MeanCurveSums)
    model: str = ""
    gap: Any = None

    def stderr_against(self, other: Any) -> float:
        """Standard error of the difference from another model, to first order."""
        n, mine, theirs = self.sums.weight, (self.model, self.gap), (other.model, other.gap)
        if not n > 1:
            return float("nan")
        variance = sum(
            sign * (a[1] @ self.sums.covariance(a[0], b[0]) @ b[1])
            for sign, a, b in ((1, mine, mine), (-2, mine, theirs), (1, theirs, theirs))
        )
        return float(np.sqrt(max(variance, 0.0) * n / (n - 1))) * 2.0 / self.gap.size


def _observed(task: Task) -> ObservedCurve:
    """Kaplan-Meier of all test outcomes, or 1 - Aalen-Johansen, known before curves are read."""
    if not isinstance(task.tested, ObservedCurve):
        raise SurvgaugeError("km_calibration needs a first pass over the outcomes")
    return task.tested
