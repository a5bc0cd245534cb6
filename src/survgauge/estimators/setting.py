"""What a method for censored subjects looks at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import (
    LARGEST,
    Bools,
    Floats,
    Ints,
    flag,
    look_up,
    positive,
    read_only,
    repeated,
    vector,
)
from ..data.causes import cause_code
from ..data.curves import SurvivalCurves
from ..data.interpolation import check_tail, tail_survival
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError, one_of
from .conditional import Conditional
from .doubly_robust import DoublyRobust, FlooredG, Walk
from .estimated_g import WholeG, ask_g, g_source
from .kaplan_meier import AREAS, KaplanMeier
from .method import Method, Surrogates
from .pseudo import PseudoMeans
from .reference import Reference, reference_curves
from .residual import CauseIncidence, ResidualDistribution

_G_SOURCES = {
    "test": "reverse Kaplan-Meier of the test outcomes, events first",
    "train": "reverse Kaplan-Meier of the training outcomes, events first",
    "given": "given by the caller",
}


@dataclass(frozen=True)
class CauseTimes:
    """Times free of one cause up to a horizon, as far as they were observed."""

    #: Code of the cause.
    code: int
    #: Its name.
    name: str
    #: Time free of the cause up to the horizon; of a censored subject the censoring time; of shape
    #: (n,).
    time: Floats


def check_same_causes(y: Outcomes, reference: Reference) -> None:
    """Refuse a reference set that has other causes than the outcomes."""
    known = reference.given.causes
    if known != y.causes:
        raise InputError(f"y_train must have the causes of y_true, {y.causes}; got {known}")


def cause_times(
    y: Outcomes, reference: Reference, cause: int | str, tau: float | None, area: str
) -> CauseTimes:
    """Read the times free of a cause off outcomes of several causes."""
    if y.cause is None or y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_true has one")
    code = cause_code(cause, y.causes)
    if tau is None:
        raise InputError(
            "tau must be given with cause=: under competing risks an error in time is about the "
            "time free of the cause up to a horizon, such as tau=5"
        )
    check_same_causes(y, reference)
    if area != "step":
        raise InputError(f"area must be 'step' with cause=: Aalen-Johansen is steps; got {area!r}")
    time = np.where(y.event & (y.cause != code), tau, np.minimum(y.time, tau))
    return CauseTimes(code, y.causes[code - 1], time)


@dataclass(frozen=True)
class Setting:
    """Everything a method may look at; look-ups are shared by all methods of a call."""

    y: Outcomes
    reference: Reference
    in_sample: bool = False
    area: str = "step"
    tail: str = "linear"
    tau: float | None = None
    weighted: bool = True
    #: G as given by the caller (or of a whole stream); None: that of `g_from`.
    censoring: Any = None
    true_time: Floats | None = None
    #: Where G comes from: "test", "train" or "given".
    g_from: str = "test"
    #: Frequency times sampling weight, (n,); None: no sampling weights.
    weight: Floats | None = None
    #: Number of the first subject in the whole test set, for messages.
    start: int = 0
    #: Distributions of event and censoring time of each subject; None: Kaplan-Meier.
    conditional: Conditional | None = None
    #: Least G of the doubly robust errors; below it they rest on the distribution alone.
    floor: float = 0.1
    #: Times free of the cause that is asked for; None: there is one kind of event.
    cause: CauseTimes | None = None
    _made: dict[str, Surrogates] = field(default_factory=dict, init=False, repr=False)

    @property
    def code(self) -> int | None:
        """Code of the cause that is asked for; None: there is one kind of event."""
        return None if self.cause is None else self.cause.code

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, of the subjects or in the reference set."""
        return self.y.entry is not None or self.reference.whole.y.entry is not None

    @property
    def weighed(self) -> Outcomes:
        """The subjects, each standing for as many of the population as it was sampled for."""
        return self.y if self.weight is None else self.y.reweighted(self.weight)

    def surrogates(self, method: Method) -> Surrogates:
        """Return what each subject counts as under a method, made once for all models.

        Those of the last method are kept: metrics come method by method.
        """
        if method.name not in self._made:
            self._made.clear()
            self._made[method.name] = method(self)
        return self._made[method.name]

    def with_truth(self, true_time: Any) -> Setting:
        """Return the same setting with the known event times, up to the horizon."""
        n = len(self.y)
        truth = vector(true_time, "true_time", length=n, minimum=0.0, largest=LARGEST)
        return replace(self, true_time=truth if self.tau is None else np.minimum(truth, self.tau))

    @property
    def value(self) -> Floats:
        """What losses are taken of: the times, under competing risks those free of the cause."""
        return self.y.time if self.cause is None else self.cause.time

    @cached_property
    def censored(self) -> Ints:
        """Rows of the censored subjects."""
        return np.flatnonzero(~self.y.event)

    @cached_property
    def c(self) -> Floats:
        """Their times."""
        return self.y.time[self.censored]

    @cached_property
    def j(self) -> Ints:
        """For each of them, the number of reference event times <= c."""
        return look_up(self.reference.event_times, self.c)

    @cached_property
    def past(self) -> Ints:
        """Positions in `c` that lie past the reference follow-up."""
        return np.flatnonzero(self.c > self.reference.last_time)

    @cached_property
    def survival(self) -> Floats:
        """S(c): the step function, past the last reference time its tail."""
        return self._survival_at(self.c, self.j)

    def _survival_at(self, t: Floats, j: Ints) -> Floats:
        """S at times t, of which j reference event times are at or before."""
        ref = self.reference
        values, past = ref.survival[j], np.flatnonzero(t > ref.last_time)
        if past.size:
            last, end = np.float64(ref.last_time), np.float64(ref.last_survival)
            values[past] = tail_survival(t[past], last, end, self.tail)
        return values

    @cached_property
    def survival_at_entry(self) -> Floats:
        """S at the entries of the censored subjects; 1 where that is not delayed."""
        entry = None if self.y.entry is None else self.y.entry[self.censored]
        if entry is None:
            return repeated(1.0, self.c.size)
        distribution = self.distribution_curves
        if isinstance(distribution, SurvivalCurves):
            values = distribution[self.censored].at_own(entry)
        elif distribution is not None:
            values = distribution.curves[self.censored].free_at_own(entry)
        else:
            values = self._survival_at(entry, look_up(self.reference.event_times, entry))
        return np.where((entry > 0) & (values > 0), values, 1.0)

    @cached_property
    def confidence(self) -> Floats:
        """Weights of the censored subjects: 1 - S(c) given entry, or 1 if not weighted."""
        if not self.weighted:
            return np.ones(self.c.size)
        return 1.0 - self.survival / self.survival_at_entry

    @cached_property
    def observable(self) -> Floats:
        """G(t-), the probability that an event at t is observed, for the events in order."""
        rows, entry = np.flatnonzero(self.y.event), self.y.entry
        common = self.censoring is None or isinstance(self.censoring, KaplanMeier | WholeG)
        g = self._whole_g if common else None

        def read(t: Floats, side: str) -> Floats:
            return ask_g(self.censoring, t, side)[rows] if g is None else g.at(t[rows], side)

        values = read(self.y.time, "left")
        if entry is None:
            return values
        then = read(entry, "right")
        late = (entry[rows] > 0) & (then > 0)  # uncensored at t given that at entry
        return np.divide(values, then, out=values, where=late)

    @cached_property
    def residual(self) -> ResidualDistribution:
        """Distribution of the event time of censored subjects, given that it is later than c."""
        if self.distribution_curves is not None:
            return ResidualDistribution.of_curves(self.distribution_curves[self.censored], self.tau)
        return self._common_distribution

    @property
    def _common_distribution(self) -> ResidualDistribution:
        """Distribution of all subjects: Kaplan-Meier or Aalen-Johansen of the reference set."""
        return ResidualDistribution.of_reference(self.reference, self.tail, self.code)

    @property
    def own_distributions(self) -> bool:
        """Whether the distribution is another one than Kaplan-Meier of the reference set."""
        return self.distribution_curves is not None or self.cause is not None

    @property
    def distribution_curves(self) -> SurvivalCurves | CauseIncidence | None:
        """One distribution per subject, where they were given."""
        given = self.conditional
        if given is None or self.cause is None:
            return None if given is None else given.distribution
        return None if given.incidence is None else CauseIncidence(given.incidence, self.cause.code)

    @property
    def pseudo_means(self) -> PseudoMeans:
        """Pseudo-observations of the censored subjects."""
        return PseudoMeans.of(self.reference, self.tail, self.area, self.code, self.in_sample)

    @cached_property
    def robust(self) -> DoublyRobust:
        """Doubly robust losses of the subjects."""
        given = None if self.conditional is None else self.conditional.censoring
        g = self._whole_g if given is None else given
        distribution: SurvivalCurves | CauseIncidence | ResidualDistribution | None
        distribution = self.distribution_curves
        if self.y.entry is not None and (distribution is not None or given is not None):
            raise UndefinedMetricError(
                "a doubly robust error under delayed entry does not support distributions given "
                "features; leave conditional out, or use method='expected'"
            )
        if distribution is None and isinstance(g, KaplanMeier):
            common = self._common_distribution
            walk = Walk.of_reference(self.reference, common, g, self.floor)
            return DoublyRobust(self.y, self.value, common, walk.g, self.tau, walk)
        floored = FlooredG(g, self.floor)
        if distribution is None and floored.steps:
            distribution = self._common_distribution
        elif distribution is None and self.cause is not None:  # a curve each, stored once
            every = self.reference.incidence.curves(len(self.y))
            distribution = CauseIncidence(every, self.cause.code)
        elif distribution is None:
            distribution = reference_curves(self.reference, len(self.y), self.tail)
        return DoublyRobust(self.y, self.value, distribution, floored, self.tau)

    @property
    def _whole_g(self) -> KaplanMeier:
        """G of all subjects."""
        if self.censoring is None:
            known = self.g_from == "train" or (self.in_sample and self.weight is None)
            return (self.reference if known else Reference(self.weighed)).censoring
        if isinstance(self.censoring, WholeG):
            return self.censoring.km
        if isinstance(self.censoring, KaplanMeier):
            return self.censoring
        raise UndefinedMetricError(
            "a doubly robust error needs G at all times, and censoring is a function of one time "
            "per subject; give conditional=Conditional(censoring=curves) instead"
        )

    @property
    def g_words(self) -> str:
        """Where G comes from, for conventions."""
        return _G_SOURCES[self.g_from]

    @property
    def mean_time(self) -> float:
        """Mean of the reference set: of the event time, or of the time free of the cause."""
        if self.cause is None:
            return self.reference.theta(self.area, self.tail)
        return float(self._common_distribution.mean(np.zeros(1), np.zeros(1, dtype=np.intp))[0])

    def distribution_convention(self, method: Method) -> dict[str, Any]:
        """Say where the distribution of the event time and G come from."""
        given = self.conditional
        distribution, censoring = ("", "") if given is None else given.sources
        if self.distribution_curves is None:
            distribution = (
                f"{'Kaplan-Meier' if self.cause is None else 'Aalen-Johansen'} of the reference"
            )
        if given is None or given.censoring is None:
            censoring = self.g_words
        if not method.reads_g:
            return {} if self.distribution_curves is None else {"distribution": distribution}
        return {
            "distribution": distribution,
            "censoring": censoring,
            "floor": self.floor,
            "assumes": "censoring is independent of the event"
            + ("" if given is None else " given the features"),
            "stderr": "distribution and G fixed",
        }

    @cached_property
    def everybody(self) -> Bools:
        """True for all subjects."""
        return np.ones(len(self.y), dtype=bool)

    @property
    def ones(self) -> Floats:
        """Weights where all count alike; one number, read over and over."""
        return repeated(1.0, len(self.y))

    def fill(
        self,
        imputed: Floats,
        *,
        alike: bool = False,
        confidence: Floats | None = None,
        **more: Any,
    ) -> Surrogates:
        """Surrogates from the censored subjects' values; events keep their time and weigh 1.

        Censored subjects weigh `confidence` (by default 1 - S(c) of the reference set), or as much
        as events where all are `alike`.
        """
        if np.shape(imputed) != self.c.shape:
            raise InputError(
                f"imputed must be an array with one time for each of {self.c.size} censored "
                f"subjects; got shape {np.shape(imputed)}"
            )
        time = self.value.copy()
        time[self.censored] = imputed
        unknown, weights = np.isnan(imputed), self.ones
        if not alike:
            weights = self._paper_weights if confidence is None else self._weighing(confidence)
            unknown |= np.isnan(self.confidence if confidence is None else confidence)
        if not unknown.any():
            return Surrogates(time, weights, self.everybody, **more)
        lost, weights, defined = self.censored[unknown], weights.copy(), self.everybody.copy()
        defined[lost], weights[lost] = False, 0.0
        return Surrogates(time, weights, defined, **more)

    def _weighing(self, confidence: Floats) -> Floats:
        """Return weights of 1 for events, and those of the censored subjects."""
        weights = np.ones(len(self.y))
        weights[self.censored] = confidence
        return weights

    @cached_property
    def _paper_weights(self) -> Floats:
        """Weights of all methods that put one time in the place of a censored one."""
        return read_only(self._weighing(self.confidence))  # methods share it

    def lost(self, imputed: Floats, reason: str) -> dict[str, int]:
        """Count the censored subjects without an imputed time."""
        number = int(np.isnan(imputed).sum())
        return {reason: number} if number else {}

    def capped(self, imputed: Floats) -> tuple[Floats, dict[str, int]]:
        """Set imputed times above tau to tau, and count them."""
        above = 0 if self.tau is None else int((imputed > self.tau).sum())
        notes = self.lost(imputed, "excluded: the tail 'nan' gives no mean")
        if above:
            imputed = np.minimum(imputed, self.tau)  # type: ignore[arg-type]
            notes["imputed times above tau, set to tau"] = above
        return imputed, notes


def make_setting(
    y_true: Any,
    y_train: Any = None,
    *,
    area: str = "step",
    tail: str = "linear",
    tau: float | None = None,
    weighted: bool = True,
    censoring: Any = None,
    sample_weight: Any = None,
    start: int = 0,
    conditional: Conditional | None = None,
    floor: float = 0.1,
    cause: int | str | None = None,
    entry: bool = False,
) -> Setting:
    """Validate what the methods look at, up to the horizon `tau`.

    Delayed entry is refused unless `entry` says that the caller supports it.
    """
    one_of("area", area, AREAS)
    check_tail(tail)
    tau = None if tau is None else positive(tau, "tau")
    several = cause is not None
    given = Outcomes.of(y_true, "y_true", causes=several or None, entry=entry)
    y, weight = given.sampled(sample_weight)
    if y_train is None:
        reference = Reference(y, causes=several)
    else:
        reference = Reference.of(y_train, several, entry)
    times = None if cause is None else cause_times(y, reference, cause, tau, area)
    y = y.any_cause()
    source = g_source(censoring, y_train is not None)
    if weight is not None and tau is not None and y.entry is not None:
        weight = np.where(y.entry < tau, weight, 0.0)  # who enters later is left out
    return Setting(
        y.restricted(tau),
        reference.restricted(tau),
        in_sample=y_train is None or reference.in_sample,
        area=area,
        tail=tail,
        tau=tau,
        weighted=flag(weighted, "weighted"),
        censoring=None if isinstance(censoring, str) else censoring,
        g_from=source,
        weight=weight,
        start=start,
        conditional=conditional,
        floor=floor,
        cause=times,
    )
