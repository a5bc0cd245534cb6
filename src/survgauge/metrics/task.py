"""What all metrics of one evaluation share: outcomes, reference, horizon, time of interest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from .._old_names import old_attribute
from .._tools.arrays import Bools, Floats, Ints, positive
from ..data.causes import Codes, EventWords, cause_code
from ..data.curves import SurvivalCurves
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..data.predictions import Prediction
from ..errors import InputError, UndefinedMetricError
from ..estimators.conditional import Conditional, check_conditional
from ..estimators.estimated_g import EstimatedDistribution, EstimatedG, WholeG, ask_g, g_source
from ..estimators.kaplan_meier import KaplanMeier
from ..estimators.reference import Reference, reference_curves
from ..estimators.setting import Setting
from ..estimators.turnbull import Turnbull
from .conventions import Convention
from .grids import equal_steps, snapped
from .intervals import DistributionInside, distribution_name
from .ipcw import (
    CensoringWeights,
    observable_until,
    supported_until,
    times_of_interest,
    watched_until,
)
from .score import Clusters

#: Steps of the Kaplan-Meier baseline that are read subject by subject, under delayed entry.
_STEPS_BY_ENTRY = 1_000


@dataclass(frozen=True)
class Task:
    """Outcomes and settings; `horizon` and `time` are resolved once for all metrics.

    `horizon` is the last time that the data support, `until` where metrics that have a horizon
    stop: at tau, or at the horizon before it. `time` is the time of interest, one of `times`.

    `y` may be `IntervalOutcomes`: what a task asks of its outcomes (`time`, `event`, `weight`,
    selections) these have too. Nobody is weighted by 1/G then, and `turnbull` is the baseline and,
    unless there is a distribution per subject, the distribution inside intervals.
    """

    y: Outcomes
    reference: Reference | None
    convention: Convention
    horizon: float
    time: float
    tau: float | None = None
    #: "test" (G of `y` itself, also where that is a group or a draw), "train", or the caller's G.
    censoring: Any = None
    #: From when on enough subjects are at risk, under delayed entry; None: from the beginning.
    since: float | None = None
    #: What ends the supported range; see `supported_until`.
    horizon_reason: str = "past-follow-up"
    #: Metrics that will be asked for, so that one pass can serve several.
    asked: tuple[str, ...] = ()
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    #: Last time of the whole test set, where `y` is only a part of it.
    follow_up: float | None = None
    #: Sampling weights of the subjects, with mean 1; they multiply the frequencies in averages.
    sample_weight: Floats | None = None
    #: Who was sampled together, if anybody.
    clusters: Clusters | None = None
    #: Whether anybody will ask what each subject contributes through G.
    contributions: bool = True
    #: Which rows of the whole test set these are; None: all from row `start` on.
    rows: Ints | None = None
    start: int = 0
    #: Times of the integrated scores, on the steps of G that they meet; None: not known yet.
    grid: Floats | None = None
    #: What a first pass found about all test outcomes, where `y` is only a part of them.
    tested: Any = None
    #: Distributions of event and censoring time of each subject; None: Kaplan-Meier.
    conditional: Conditional | None = None
    #: All times of interest; `at_times` asks the question at each of them.
    times: tuple[float, ...] = ()
    #: Whether the caller gave them, or tau.
    timed: bool = False
    #: Code of the cause that is asked about, where `y` has several; None: one kind of event.
    cause: int | None = None
    #: Of interval-censored outcomes: Turnbull's estimate of the reference set.
    turnbull: Turnbull | None = None
    #: Whether that is estimated from the test outcomes themselves.
    in_sample: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @classmethod
    def of(
        cls,
        y: Outcomes | IntervalOutcomes,
        y_train: Any = None,
        sample_weight: Floats | None = None,
        /,
        **settings: Any,
    ) -> Task:
        """Resolve the horizon and the time of interest from the data."""
        return cls.open(y, y_train, sample_weight, **settings).supported()

    @classmethod
    def open(
        cls,
        y: Outcomes | IntervalOutcomes,
        y_train: Any = None,
        sample_weight: Floats | None = None,
        /,
        *,
        convention: str | Convention | None = None,
        time: float | Sequence[float] | None = None,
        tau: float | None = None,
        censoring: Any = None,
        conditional: Any = None,
        cause: int | str | None = None,
        contributions: bool = True,
        **settings: Any,
    ) -> Task:
        """Resolve all but the horizon, which only the whole test set tells.

        Other `settings` are those of the convention.
        """
        preset = Convention.of(convention, **settings)
        tau = None if tau is None else positive(tau, "tau")
        code: int | None = None
        reference: Reference | None = None
        turnbull: Turnbull | None = None
        if isinstance(y, IntervalOutcomes):
            weighed = y if sample_weight is None else y.reweighted(sample_weight * y.weight)
            known: Any = weighed if y_train is None else y_train
            turnbull, censoring = Turnbull.fit(known), "none"
        else:
            if cause is not None and y.causes is None:
                raise InputError(
                    "cause goes with outcomes of several causes; y_test has one kind of event"
                )
            if cause is None or y.causes is None:
                y.of_one_cause("y_test")
            else:
                code = cause_code(cause, y.causes)
            if y_train is not None:
                reference = Reference.of(y_train, causes=code is not None, entry=True)
            censoring = preset.censoring if censoring is None else censoring
            source = g_source(censoring, reference is not None, preset.g_source)
            if source != "given" and not isinstance(censoring, WholeG):
                censoring = source
            known = y if reference is None else reference.given
            known = known if code is None else known.only(code)
        times = times_of_interest(time, tau, known)
        if conditional is not None:
            conditional = check_conditional(conditional, len(y), getattr(y, "causes", None))
        return cls(
            cast(Outcomes, y),
            reference,
            preset,
            float("nan"),
            times[0],
            tau,
            censoring,
            sample_weight=sample_weight,
            contributions=contributions,
            conditional=conditional,
            times=times,
            timed=not (time is None and tau is None),
            cause=code,
            turnbull=turnbull,
            in_sample=y_train is None,
        )

    def supported(self) -> Task:
        """Return the same question with the horizon of these subjects."""
        limits, since = self.convention, None
        if self.outcomes == "interval":
            horizon, reason = watched_until(self.intervals, limits.min_at_risk)
        else:
            least = limits.min_g, limits.min_at_risk
            horizon, reason, since = supported_until(self.weights, *least)
            if self.conditional is not None:
                until = observable_until(self.conditional, limits.floor)
                if until < horizon:
                    horizon, reason = until, "hidden-subjects"
        found = self.again(horizon=horizon, horizon_reason=reason, since=since)
        if self.timed or not self.time > horizon > 0:
            return found
        # Nobody asked for a time that the data do not support.
        return replace(found, time=horizon, times=(horizon,))

    def again(self, **changes: Any) -> Task:
        """Return the question with other settings, about the same subjects and the same G.

        Its look-ups are its own, but for the weights 1/G where they are known.
        """
        found = replace(self, **changes)
        if "weights" in self._cache:
            found._cache["weights"] = self._cache["weights"]
        return found

    @property
    def outcomes(self) -> str:
        """What kind of outcomes these are, "right" or "interval" censored."""
        return "right" if self.turnbull is None else "interval"

    @property
    def intervals(self) -> IntervalOutcomes:
        """Interval-censored outcomes, as what they are."""
        return cast(IntervalOutcomes, self.y)

    def with_truth(self, time: Floats, cause: Codes | None = None) -> Task:
        """Return the same question, same horizon and time of interest, with every event known."""
        event = np.ones(len(self.y), dtype=bool) if cause is None else cause
        known = Outcomes(time, event, self.y.frequency, self.y.causes, self.y.entry)
        return replace(self, y=known, reference=None, censoring="test", conditional=None)

    def own(self) -> Task:
        """Return the same question with outcomes that nobody else can change."""
        known, reference = self.y.own(), self.reference
        if reference is not None and reference.given.own() is not reference.given:
            own = Reference(reference.given.own(), reference.in_sample, causes=True)
            reference = own.restricted(reference.stop)
        if known is self.y and reference is self.reference:
            return self
        return replace(self, y=known, reference=reference)

    def anew(self) -> Task:
        """Return the same question with look-ups of its own, which end with it."""
        reference = None if self.reference is None else self.reference.anew()
        return replace(self.subset(slice(0, len(self.y))), reference=reference)

    def subset(self, rows: Ints | Any) -> Task:
        """Return the same question for some of the subjects; horizon and time stay."""
        given: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[rows]
            for name in ("clusters", "sample_weight", "conditional")
        }
        y = self.y.part(rows) if isinstance(rows, slice) else self.y[rows]
        part = replace(self, y=y, censoring=self._censoring_of(rows), **given)
        if isinstance(rows, slice) and self.rows is None:
            return replace(part, start=self.start + (rows.start or 0))
        index = self.numbers(np.arange(len(self.y))[rows])
        return replace(part, rows=index, start=int(index[0]) if index.size else 0)

    def resampled(self, rows: Ints, counts: Floats, reference: Reference | None) -> Task:
        """Return the same question for subjects drawn `counts` times."""
        part = replace(self, clusters=None).subset(rows)
        return replace(part, y=part.y.reweighted(counts), reference=reference, rows=None)

    def _censoring_of(self, rows: Ints) -> Any:
        """Return G of some of the subjects: a function may depend on the subject."""
        given, n = self.censoring, len(self.y)
        if given is None or isinstance(given, str | KaplanMeier | WholeG):
            return given

        def part(t: Floats, side: str) -> Any:
            everybody = np.zeros(n)
            everybody[rows] = t
            return ask_g(given, everybody, side)[rows]

        return part

    def cached(self, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what several metrics of the call look at, whatever the time of interest."""
        if key not in self._cache:
            self._cache[key] = build()
        return self._cache[key]

    def look_up(self, prediction: Prediction, key: Any, build: Callable[[], Any]) -> Any:
        """Build once what several metrics look up of one prediction for these subjects.

        By the prediction itself, not by its id: another object may get a deleted one's.
        """
        found: dict[Any, Any]
        found = self.cached("look_up", WeakKeyDictionary).setdefault(prediction, {})
        if key not in found:
            found[key] = build()
        return found[key]

    @property
    def until(self) -> float:
        """Where metrics that have a horizon stop: at tau, or where the support ends before it."""
        return self.horizon if self.tau is None else min(self.tau, self.horizon)

    @property
    def robust(self) -> bool:
        """Whether the status at a time is read off distributions given covariates.

        Not by the definitions of other packages, and not under delayed entry, where doubly robust
        indicators are not known.
        """
        plain = self.convention.is_own and isinstance(self.censoring, str | WholeG)
        return self.conditional is not None and plain and not self.by_entry

    @property
    def errors_stop(self) -> float | None:
        """Where errors in time stop: at tau; of one cause, without tau, where the support ends."""
        usual = self.cause is None or self.tau is not None or np.isnan(self.horizon)
        return self.tau if usual else self.until

    @property
    def within_horizon(self) -> Task:
        """The same question with tau within what the data support."""
        if self.tau == self.until or not self.horizon > 0:
            return self
        stopped: Task = self.cached("stopped", lambda: replace(self, tau=self.until))
        return stopped

    @property
    def at_times(self) -> list[Task]:
        """The same question at each time of interest, with the same look-ups.

        Times that are read at the same one, because support ends before, are asked once.
        """
        found: dict[float, Task] = {}
        for time in self.times or (self.time,):
            same = time == self.time or np.isnan(time)
            at = self if same else replace(self, time=time)
            object.__setattr__(at, "_cache", self._cache)
            found.setdefault(at.time_used, at)
        return list(found.values())

    def numbers(self, rows: Ints) -> Ints:
        """Return the numbers in the whole test set of some of the subjects at hand."""
        return rows + self.start if self.rows is None else self.rows[rows]

    def with_g(self) -> Task:
        """Return the same question with G and the reference set of all its subjects.

        So it can be cut into chunks of subjects.
        """
        if self.outcomes == "interval":
            return self
        reference, censoring = self.reference, self.censoring
        if reference is None:
            reference = Reference(self.y, in_sample=True, causes=self.cause is not None)
        if censoring == "test":
            ours = self.convention.g_ties == "events_first"
            km = self.weights.km
            usual = km if ours and km is not None else Reference(self._weighed).censoring
            censoring = WholeG(usual, None if ours else km)
        return replace(self, reference=reference, censoring=censoring).with_grid()

    @property
    def inside(self) -> DistributionInside:
        """What is assumed of interval-censored event times inside their intervals."""
        if self.conditional is not None and self.conditional.distribution is not None:
            return DistributionInside(self.conditional.distribution, "one per subject, as given")
        known, name = cast(Turnbull, self.turnbull), distribution_name(self.in_sample)
        return DistributionInside(known, name, moves=self.in_sample)

    @property
    def observed(self) -> Turnbull:
        """Turnbull's estimate of the subjects at hand."""
        found: Turnbull = self.cached("observed", lambda: Turnbull.fit(self.intervals))
        return found

    @property
    def distribution_moves(self) -> bool:
        """Whether losses read a distribution that was estimated from the test subjects themselves.

        Not of right-censored outcomes, where the reference set is taken as given.
        """
        return self.turnbull is not None and self.inside.moves

    def with_grid(self) -> Task:
        """Return the same question with the times of the integrated scores."""
        km = self.weights.common
        if km is None or not self.horizon > 0:
            return self
        known, y = [km.times], self.y.present()
        if y.entry is not None:
            # Curves have no grid in common then, so that a subject of another chunk may decide
            # whether a step of the grid meets one of its curve.
            known += [y.time, y.entry]
        return replace(self, grid=snapped(equal_steps(self.until), known))

    def estimated_g(self, by_convention: bool) -> Any:
        """G as estimated from these very subjects: by the rules of the convention, or by ours.

        Of interval-censored outcomes the distribution inside intervals, from all test subjects.
        """
        if self.distribution_moves:
            rows = self.numbers(np.arange(len(self.y)))
            return EstimatedDistribution(cast(Turnbull, self.turnbull), rows, self.y.weight)
        if self.censoring != "test":
            return None
        if by_convention:
            return self.weights.estimated
        build = partial(EstimatedG, self._weighed.restricted(self.errors_stop))
        found: EstimatedG = self.cached("estimated_g", build)
        return found

    @property
    def first(self) -> Outcomes:
        """The outcomes with one kind of event: the first of whatever cause, which ends them.

        Of interval-censored ones, how long subjects were watched, and who had an event by then.
        """
        y = self.y
        if self.outcomes == "right":
            return y.any_cause()
        found = Outcomes(y.time, y.event)
        # Not by the constructor: the frequencies of a batch may all be zero.
        return found.reweighted(y.weight) if y.frequency is not None else found

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, of the subjects or in the reference set."""
        reference = self.reference
        late = reference is not None and reference.given.entry is not None
        return self.y.entry is not None or late

    @property
    def cause_name(self) -> str | None:
        """Name of the cause that is asked about; None: one kind of event."""
        causes = self.y.causes
        return None if self.cause is None or causes is None else causes[self.cause - 1]

    @property
    def words(self) -> EventWords:
        """How the event is called, and what estimates how often it happens."""
        return EventWords(self.cause_name, self.y.causes or ())

    @property
    def competes(self) -> Bools | None:
        """Who had an event of another cause; None: one kind of event."""
        return None if self.cause is None else self.y.event & (self.y.cause != self.cause)

    def baseline(self) -> Prediction:
        """What a model should beat: Kaplan-Meier (or Aalen-Johansen) of the reference set for all.

        Of intervals Turnbull's. Only where the reference set is known, as it is in `with_g`.
        """
        n = len(self.y)
        if self.turnbull is not None:
            return Prediction(self.turnbull.curves(n), None, None)
        if self.cause is None or self.reference is None:
            curves = reference_curves(self.reference, n)
            return Prediction(curves if self.y.entry is None else _thinned(curves), None, None)
        incidence = self.reference.incidence.curves(n)
        if self.y.entry is not None:
            incidence = incidence.thinned(_STEPS_BY_ENTRY)
        # Past its end the incidence keeps its value.
        curves = incidence.only(self.cause, tail="hold")
        return Prediction(curves, None, None, incidence, self.until)

    @property
    def _weighed(self) -> Outcomes:
        """The subjects, each standing for as many of the population as it was sampled for."""
        return self.first.reweighted(None if self.sample_weight is None else self.weight)

    @property
    def setting(self) -> Setting:
        """What the methods for censored subjects of all time errors look at."""
        given = self.censoring
        build = partial(
            Setting.of, self.y, self.reference, tau=self.errors_stop, cause=self.cause,
            weight=None if self.sample_weight is None else self.weight, start=self.start,
            censoring=None if isinstance(given, str) else given,
            g_from=g_source(given, self.reference is not None),
            conditional=self.conditional, **self.convention.of_times,
        )  # fmt: skip
        setting: Setting = self.cached("setting", build)
        return setting

    @property
    def weights(self) -> CensoringWeights:
        """1/G of the subjects."""
        given = self.first, self.reference, self.censoring, self.convention, self.follow_up
        weight = self.weight if self.sample_weight is not None else None
        build = partial(CensoringWeights, *given, contributions=self.contributions, weight=weight)
        weights: CensoringWeights = self.cached("weights", build)
        return weights

    @property
    def observed_g(self) -> KaplanMeier:
        """G of the subjects by our rules, since their entry and without sampling weights."""
        ours = self.censoring == "test" and self.convention.g_ties == "events_first"
        ours = ours and self.sample_weight is None
        km = self.weights.km if ours else None
        return KaplanMeier.fit_censoring(self.first.since_entry()) if km is None else km

    @property
    def threshold(self) -> float | None:
        """Predicted risk from which on a subject is treated, for metrics of decisions."""
        return self.convention.threshold

    @property
    def time_used(self) -> float:
        """Time of interest at which metrics are read: the horizon where that ends before it."""
        late = self.time > self.horizon and self.convention.on_unsupported == "truncate"
        return self.horizon if late else self.time

    @property
    def weight(self) -> Floats:
        """What each subject counts: its frequency, times its sampling weight where it has one."""
        weight = self.sample_weight
        return self.y.weight if weight is None else weight * self.y.weight

    mass = old_attribute("mass", "weight")

    @property
    def ipcw(self) -> dict[str, Any]:
        """What the metrics that weight by 1/G share."""
        return {
            "censoring": self.weights,
            "convention": self.convention,
            "sample_weight": self.sample_weight,
        }


def _thinned(curves: SurvivalCurves) -> SurvivalCurves:
    """Return a step curve of everybody with no more than a thousand steps.

    Given entry everybody has another part of it, which is read subject by subject.
    """
    size = curves.times.size
    if size <= _STEPS_BY_ENTRY:
        return curves
    places = np.linspace(0, size - 1, _STEPS_BY_ENTRY).round().astype(np.intp)
    rows = np.broadcast_to(curves.survival[0, places], (len(curves), places.size))
    return SurvivalCurves._trusted(curves.times[places], rows, "step", curves.tail)


def _check_horizon(task: Task) -> None:
    if not task.horizon > 0:
        raise UndefinedMetricError("follow-up supports no time above 0: the horizon is 0")


def supported_end(task: Task) -> float:
    """Return where metrics that have a horizon stop; refuse where there is none."""
    _check_horizon(task)
    tau, late = task.tau, task.convention.on_unsupported
    if tau is not None and tau > task.horizon and late != "truncate":
        error = InputError if late == "raise" else UndefinedMetricError
        raise error(
            f"tau {tau:g} lies past {task.horizon:g}, the last time that the data support; give "
            "an earlier tau, or on_unsupported='truncate'"
        )
    return task.until


def supported_time(task: Task) -> float:
    """Return the time at which metrics are read; refuse where there is none."""
    if not np.isfinite(task.time):
        raise UndefinedMetricError("there is no event in the reference to take the median time of")
    if task.time_used != task.time:
        _check_horizon(task)
    return task.time_used
