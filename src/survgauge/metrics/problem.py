"""What all metrics of one evaluation share: outcomes, reference, horizon, time of interest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, positive, probability
from ..data.causes import Codes, cause_code
from ..data.curves import SurvivalCurves
from ..data.event_words import EventWords
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..reference.conditional import Conditional, check_conditional
from ..reference.dependence import Dependence, dependence_of, refuse_features
from ..reference.dependent_g import assumed_g
from ..reference.estimated_g import EstimatedG
from ..reference.g_source import WholeG, ask_g, g_source
from ..reference.kaplan_meier import KaplanMeier
from ..reference.reference import Reference, reference_curves
from ..reference.surrogates import Setting, make_setting
from .clock import observable_until, supported_since, supported_until, times_of_interest
from .conventions import CONVENTIONS, Convention, convention_of
from .details import Clusters
from .grids import equal_steps, snapped
from .ipcw import CensoringWeights, check_convention, check_policy

#: Settings that only the time errors take.
_TIME_ERROR_OPTIONS = ("weighted", "area", "tail", "normalize", "floor")

#: Steps of Kaplan-Meier for everybody that are read subject by subject, under delayed entry.
_STEPS_BY_ENTRY = 1_000


@dataclass(frozen=True)
class Problem:
    """Outcomes and settings; `horizon` and `time` are resolved once for all metrics.

    `horizon` is the last time that the data support, `until` where metrics that have a horizon
    stop: at tau, or at the horizon before it. `time` is the time of interest, one of `times`.
    """

    #: What kind of outcomes `y` are; metrics say which kind they know.
    outcomes: ClassVar[str] = "right"

    y: Outcomes
    reference: Reference | None
    convention: Convention
    horizon: float
    time: float
    on_unsupported: str = "truncate"
    tau: float | None = None
    #: "test" (G of `y` itself, also where that is a group or a draw), "train", or the caller's G.
    censoring: Any = None
    options: dict[str, Any] = field(default_factory=dict)
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
    #: Laws of event and censoring time of each subject; None: Kaplan-Meier.
    conditional: Conditional | None = None
    #: Assumed dependence of event and censoring time; None: independent.
    dependence: Dependence | None = None
    #: All times of interest; `at_times` asks the question at each of them.
    times: tuple[float, ...] = ()
    #: Whether the caller gave them, or tau.
    timed: bool = False
    #: Predicted risk from which on a subject is treated, for metrics of decisions.
    threshold: float | None = None
    #: Code of the cause that is asked about, where `y` has several; None: one kind of event.
    cause: int | None = None
    #: Whether `y` are a part of the test subjects whose G nobody has estimated, as in a stream.
    g_unknown: bool = False
    #: Look-ups to share with another question, which must not differ but in its time.
    look_ups: InitVar[dict[Any, Any] | None] = None

    def __post_init__(self, look_ups: dict[Any, Any] | None) -> None:
        if look_ups is not None:
            object.__setattr__(self, "_cache", look_ups)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @classmethod
    def of(
        cls,
        y: Outcomes,
        y_train: Any = None,
        sample_weight: Floats | None = None,
        /,
        *,
        min_g: float = 0.05,
        min_at_risk: float = 10,
        **settings: Any,
    ) -> Problem:
        """Resolve the horizon and the time of interest from the data."""
        return cls.open(y, y_train, sample_weight, **settings).supported(min_g, min_at_risk)

    @classmethod
    def open(
        cls,
        y: Outcomes,
        y_train: Any = None,
        sample_weight: Floats | None = None,
        /,
        *,
        convention: str | Convention | None = None,
        time: float | Sequence[float] | None = None,
        tau: float | None = None,
        on_unsupported: str = "truncate",
        censoring: Any = None,
        conditional: Any = None,
        dependence: Any = None,
        threshold: float | None = None,
        cause: int | str | None = None,
        contributions: bool = True,
        **options: Any,
    ) -> Problem:
        """Resolve all but the horizon, which only the whole test set tells."""
        check_policy(on_unsupported)
        check_options(options)
        preset = convention_of(convention)
        if dependence_of(dependence) is not None:
            check_convention(preset)
            refuse_features(conditional)
        code = _cause_of(y, cause, dependence)
        reference = y_train
        if y_train is not None:
            reference = Reference.of(y_train, causes=code is not None, entry=True)
        source = g_source(censoring, reference is not None, preset.g_source)
        if source != "given" and not isinstance(censoring, WholeG):
            censoring = source
        tau = None if tau is None else positive(tau, "tau")
        known = y if reference is None else reference.given
        times = times_of_interest(time, tau, known if code is None else known.only(code))
        return cls(
            y,
            reference,
            preset,
            float("nan"),
            times[0],
            on_unsupported,
            tau,
            censoring,
            {"normalize": "n", **options},
            sample_weight=sample_weight,
            contributions=contributions,
            conditional=check_conditional(conditional, len(y), y.causes),
            dependence=dependence_of(dependence),
            times=times,
            timed=not (time is None and tau is None),
            threshold=None if threshold is None else probability(threshold, "threshold"),
            cause=code,
        )

    def supported(self, min_g: float, min_at_risk: float) -> Problem:
        """Return the same question with the horizon of these subjects.

        Under dependence it stays that of independent censoring.
        """
        asked = self if self.dependence is None else replace(self, dependence=None)
        horizon, reason = supported_until(asked.weights, min_g, min_at_risk)
        if self.conditional is not None:
            until = observable_until(self.conditional, self.options.get("floor", 0.1))
            if until < horizon:
                horizon, reason = until, "hidden-subjects"
        since = supported_since(self.first, min_at_risk)
        found = self.again(horizon=horizon, horizon_reason=reason, since=since)
        if self.timed or not self.time > horizon > 0:
            return found
        # Nobody asked for a time that the data do not support.
        return replace(found, time=horizon, times=(horizon,))

    def again(self, **changes: Any) -> Problem:
        """Return the question with other settings, about the same subjects and the same G.

        Its look-ups are its own, but for the weights 1/G where they are known.
        """
        known = {key: self._cache[key] for key in ("weights",) if key in self._cache}
        return replace(self, **changes, look_ups=known)

    def with_truth(self, time: Floats, cause: Codes | None = None) -> Problem:
        """Return the same question, same horizon and time of interest, with every event known."""
        event = np.ones(len(self.y), dtype=bool) if cause is None else cause
        known = Outcomes(time, event, self._frequency, self.y.causes, self.y.entry)
        seen = replace(self, y=known, reference=None, censoring="test")
        return replace(seen, conditional=None, dependence=None)

    @property
    def _frequency(self) -> Floats | None:
        return self.y.weight if self.y.weighted else None

    def own(self) -> Problem:
        """Return the same question with outcomes that nobody else can change."""
        known, reference = self.y.own(), self.reference
        if reference is not None and reference.given.own() is not reference.given:
            own = Reference(reference.given.own(), reference.in_sample, causes=True)
            reference = own.restricted(reference.stop)
        if known is self.y and reference is self.reference:
            return self
        return replace(self, y=known, reference=reference)

    def anew(self) -> Problem:
        """Return the same question with look-ups of its own, which end with it."""
        reference = None if self.reference is None else self.reference.anew()
        return replace(self.subset(slice(0, len(self.y))), reference=reference)

    def subset(self, rows: Ints | Any) -> Problem:
        """Return the same question for some of the subjects; horizon and time stay."""
        clusters = None if self.clusters is None else self.clusters[rows]
        y = self.y.part(rows) if isinstance(rows, slice) else self.y[rows]
        part = replace(self, y=y, clusters=clusters, **self._given_of(rows))
        if isinstance(rows, slice) and self.rows is None:
            return replace(part, start=self.start + (rows.start or 0))
        index = self.numbers(np.arange(len(self.y))[rows])
        return replace(part, rows=index, start=int(index[0]) if index.size else 0)

    def resampled(self, rows: Ints, counts: Floats, reference: Reference | None) -> Problem:
        """Return the same question for subjects drawn `counts` times."""
        drawn = {"y": self.y[rows].reweighted(counts), **self._given_of(rows)}
        return replace(self, reference=reference, rows=None, clusters=None, **drawn)

    def _given_of(self, rows: Any) -> dict[str, Any]:
        """Return what was given of each subject, for some of them."""
        weight, laws = self.sample_weight, self.conditional
        return {
            "censoring": self._censoring_of(rows),
            "sample_weight": None if weight is None else weight[rows],
            "conditional": None if laws is None else laws[rows],
        }

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
        known: WeakKeyDictionary[Prediction, dict[Any, Any]]
        known = self.cached("look_up", WeakKeyDictionary)
        found = known.setdefault(prediction, {})
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
        plain = self.convention == CONVENTIONS["survgauge"] and isinstance(
            self.censoring, str | WholeG
        )
        return self.conditional is not None and plain and not self.by_entry

    @property
    def errors_stop(self) -> float | None:
        """Where errors in time stop: at tau; of one cause, without tau, where the support ends."""
        return self.until if self.cause is not None and self.tau is None else self.tau

    @property
    def within_horizon(self) -> Problem:
        """The same question with the clock stopped within what the data support."""
        if self.tau == self.until or not self.horizon > 0:
            return self
        stopped: Problem = self.cached("stopped", lambda: replace(self, tau=self.until))
        return stopped

    @property
    def at_times(self) -> list[Problem]:
        """The same question at each time of interest, with the same look-ups.

        Times that are read at the same one, because support ends before, are asked once.
        """
        found: dict[float, Problem] = {}
        for time in self.times or (self.time,):
            same = time == self.time or np.isnan(time)
            at = self if same else replace(self, time=time, look_ups=self._cache)
            found.setdefault(at.time_used, at)
        return list(found.values())

    def numbers(self, rows: Ints) -> Ints:
        """Return the numbers in the whole test set of some of the subjects at hand."""
        return rows + self.start if self.rows is None else self.rows[rows]

    def with_g(self) -> Problem:
        """Return the same question with G and the reference set of all its subjects.

        So it can be cut into chunks of subjects.
        """
        reference, censoring = self.reference, self.censoring
        if reference is None:
            reference = Reference(self.y, in_sample=True, causes=self.cause is not None)
        if self.dependence is not None:
            censoring = self.assumed_g
        elif censoring == "test":
            ours = self.convention.g_ties == "events_first"
            km = self.weights.km
            usual = km if ours and km is not None else Reference(self._weighed).censoring
            censoring = WholeG(usual, None if ours else km)
        return replace(self, reference=reference, censoring=censoring).with_grid()

    @property
    def law_moves(self) -> bool:
        """Whether losses read a law that was estimated from the test subjects themselves.

        Not of right-censored outcomes, where the reference set is taken as given.
        """
        return False

    def with_grid(self) -> Problem:
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
        """G as estimated from these very subjects: by the rules of the convention, or by ours."""
        if self.censoring != "test" or self.dependence is not None:
            return None
        if by_convention:
            return self.weights.estimated
        build = partial(EstimatedG, self._weighed.restricted(self.errors_stop))
        found: EstimatedG = self.cached("estimated_g", build)
        return found

    @property
    def first(self) -> Outcomes:
        """The outcomes with one kind of event: the first of whatever cause, which ends them."""
        return self.y.any_cause()

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, of the subjects or in the reference set."""
        known = self.reference
        return self.y.entry is not None or (known is not None and known.given.entry is not None)

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

        Only where the reference set is known, as it is in `with_g`.
        """
        n = len(self.y)
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
        return self.first if self.sample_weight is None else self.first.reweighted(self.mass)

    @property
    def assumed_g(self) -> Any:
        """G of the weights, or what stands for it under the assumed dependence."""
        given = self.dependence, self.censoring
        build = partial(assumed_g, *given, self._weighed, self.reference, self.convention.g_source)
        return self.censoring if self.dependence is None else self.cached("assumed_g", build)

    @property
    def setting(self) -> Setting:
        """What the surrogates of all time errors look at."""
        setting: Setting = self.cached("setting", self._make_setting)
        return setting

    def _make_setting(self) -> Setting:
        options = {k: v for k, v in self.options.items() if k != "normalize"}
        return make_setting(
            self.y,
            self.reference,
            tau=self.errors_stop,
            censoring=self.assumed_g,
            sample_weight=self.sample_weight,
            dependence=self.dependence,
            cause=self.cause,
            entry=True,
            start=self.start,
            conditional=self.conditional,
            **options,
        )

    @property
    def weights(self) -> CensoringWeights:
        """1/G of the subjects."""
        if self.g_unknown:
            raise InputError(
                "a metric reads problem.weights (1/G), but its record does not say so, and G of "
                "all subjects was not estimated; say weights_by_g=True in the record of the metric"
            )
        given = self.first, self.reference, self.assumed_g, self.convention, self.follow_up
        mass = self.mass if self.sample_weight is not None else None
        build = partial(CensoringWeights, *given, contributions=self.contributions, mass=mass)
        weights: CensoringWeights = self.cached("weights", build)
        return weights

    @property
    def observed_g(self) -> KaplanMeier:
        """G of the subjects by our rules, since their entry and without sampling weights."""
        ours = self.censoring == "test" and self.convention.g_ties == "events_first"
        ours = ours and self.dependence is None and self.sample_weight is None
        km = self.weights.km if ours else None
        return KaplanMeier.fit_censoring(self.first.since_entry()) if km is None else km

    @property
    def time_used(self) -> float:
        """Time of interest at which metrics are read: the horizon where that ends before it."""
        late = self.time > self.horizon and self.on_unsupported == "truncate"
        return self.horizon if late else self.time

    @property
    def mass(self) -> Floats:
        """What each subject counts: its frequency, times its sampling weight where it has one."""
        weight = self.sample_weight
        return self.y.weight if weight is None else weight * self.y.weight

    @property
    def ipcw(self) -> dict[str, Any]:
        """What the metrics that weight by 1/G share."""
        return {
            "weights": self.weights,
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


def _cause_of(y: Outcomes, cause: Any, dependence: Any) -> int | None:
    """Return the code of the cause that is asked about; None: one kind of event."""
    if cause is None:
        y.of_one_cause("y_test")
        return None
    if y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_test has one kind of event")
    if dependence is not None:
        raise InputError("dependence goes with one kind of event; leave it or cause out")
    return cause_code(cause, y.causes)


def check_options(options: dict[str, Any]) -> None:
    """Refuse settings that no metric takes."""
    unknown = [name for name in options if name not in _TIME_ERROR_OPTIONS]
    if unknown:
        raise InputError(
            f"unknown setting {unknown[0]!r}; settings are time, tau, threshold, convention, "
            f"censoring, on_unsupported, min_g, min_at_risk, {', '.join(_TIME_ERROR_OPTIONS)}"
        )
