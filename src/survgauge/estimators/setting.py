"""A method for censored subjects: what it looks at, its record, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import (
    LARGEST,
    Bools,
    Floats,
    Ints,
    look_up,
    positive,
    repeated,
    vector,
)
from .._tools.running import called
from .._tools.text import ShortRepr
from ..data.causes import cause_code
from ..data.curves import SurvivalCurves
from ..data.interpolation import check_tail, tail_survival
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError, one_of
from .conditional import Conditional
from .doubly_robust import DoublyRobust, FlooredG, RobustBlocks, Walk
from .estimated_g import WholeG, ask_g, g_source
from .kaplan_meier import AREAS, KaplanMeier
from .pseudo import PseudoMeans
from .reference import Reference, reference_curves
from .residual import CauseIncidence, ResidualDistribution

#: Where G comes from, for conventions.
G_SOURCES = {
    "test": "reverse Kaplan-Meier of the test outcomes, events first",
    "train": "reverse Kaplan-Meier of the training outcomes, events first",
    "given": "given by the caller",
}


@dataclass(frozen=True, repr=False)
class Surrogates(ShortRepr):
    """The time with which each subject enters an error, and its weight.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Event time for events, imputed time for censored subjects.
    weight : ndarray of shape (n,)
        Weight in the average; 0 where the subject does not take part.
    defined : ndarray of bool, shape (n,)
        False if the method is not defined for the subject.
    """

    time: Floats
    weight: Floats
    defined: Bools
    #: Subjects whose time is only a lower bound: predictions past it are not wrong.
    lower_bound: Bools | None = None
    #: Censored subjects count as this distribution, not as a single time.
    distribution: ResidualDistribution | None = None
    #: The loss of every subject comes from here, given the loss and the predicted times.
    robust: DoublyRobust | RobustBlocks | None = None
    #: Why subjects were left out or changed, with counts.
    notes: dict[str, int] = field(default_factory=dict)
    #: What was looked up of these subjects, for the next loss or model.
    looked_up: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A method for censored subjects: its function, and facts about it.

    Attributes
    ----------
    name : str
        By which users call it: ``method="po"``, ``mae_po``.
    function : callable
        Takes a `Setting` and returns `Surrogates`.
    title : str
        A few words after "MAE, ".
    counts_as : str
        The rest of the sentence "Each censored subject ...".
    reference : str
        Where it was published.
    imputes : bool
        Whether one time takes the place of a censored one, with the weight 1 - S(c) of the paper.
    looks_up : bool
        Whether censored subjects are looked up in the reference set.
    weights_by_g : bool
        Whether events are weighted by 1/G.
    reads_g : bool
        Whether it looks at G in another way.
    takes_distribution : bool
        Whether it takes a distribution per subject (`conditional`) where one is given.
    takes_cause : bool
        Whether it supports competing risks: it reads `Setting.value` where others read times.
    takes_entry : bool
        Whether it supports delayed entry; otherwise it is undefined where there is any.
    counts_censored : bool
        Whether censored subjects have a loss of their own.
    needs_truth : bool
        Whether it needs the true event times, which only made data have.
    extrapolates : bool
        Whether what it puts in place of a time hangs on the tail of Kaplan-Meier.
    misses_late : bool
        Whether it cannot see errors past the last reference time.
    usual : bool
        Whether warnings about predicted times stand beside its mean absolute error.
    """

    name: str
    function: Callable[[Setting], Surrogates]
    title: str
    counts_as: str
    reference: str = "Qi et al. (2023), ICML"
    imputes: bool = False
    looks_up: bool = False
    weights_by_g: bool = False
    reads_g: bool = False
    takes_distribution: bool = False
    takes_cause: bool = False
    takes_entry: bool = False
    counts_censored: bool = True
    needs_truth: bool = False
    extrapolates: bool = False
    misses_late: bool = False
    usual: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name must be the name of a method; got {self.name!r}")
        if not callable(self.function):
            raise InputError(
                f"method {self.name!r}: function must be a function of a Setting that returns "
                f"Surrogates; got {type(self.function).__name__}"
            )

    def __call__(self, setting: Setting) -> Surrogates:
        """Return what each subject of a setting counts as."""
        what = f"method {self.name!r}: function"
        if setting.by_entry and not self.takes_entry:
            raise UndefinedMetricError(
                f"method {self.name!r} does not support delayed entry, which its record would "
                "say by takes_entry=True; use a method of the package, such as 'po' or 'dr'"
            )
        found = called(self.function, what, setting)
        if not isinstance(found, Surrogates):
            raise InputError(
                f"{what} must return Surrogates, such as s.fill(times); got {type(found).__name__}"
            )
        n = len(setting.y)
        for part in ("time", "weight", "defined"):
            if np.shape(getattr(found, part)) != (n,):
                raise InputError(
                    f"{what} must return Surrogates with one {part} for each of {n} subjects; got "
                    f"shape {np.shape(getattr(found, part))}"
                )
        return found


def check_same_causes(y: Outcomes, reference: Reference) -> None:
    """Refuse a reference set that has other causes than the outcomes."""
    known = reference.given.causes
    if known != y.causes:
        raise InputError(f"y_train must have the causes of y_true, {y.causes}; got {known}")


def cause_times(
    y: Outcomes, reference: Reference, cause: int | str, tau: float | None, area: str
) -> tuple[int, str, Floats]:
    """Code and name of a cause, and the times free of it up to `tau`, as far as observed.

    Of a censored subject the censoring time.
    """
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
    return code, y.causes[code - 1], time


@dataclass(frozen=True)
class Setting:
    """Everything a method may look at; look-ups are shared by all methods of a call."""

    y: Outcomes
    reference: Reference
    #: What losses are taken of: the times, under competing risks those free of the cause; (n,).
    value: Floats
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
    #: Code and name of the cause that is asked for; None: there is one kind of event.
    code: int | None = None
    cause: str | None = None
    _made: dict[str, Surrogates] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        y: Outcomes,
        reference: Reference | None,
        *,
        weight: Floats | None,
        tau: float | None,
        cause: int | str | None,
        area: str,
        **settings: Any,
    ) -> Setting:
        """Take validated outcomes up to the horizon; without a reference set they are their own."""
        own = Reference(y, causes=cause is not None) if reference is None else reference
        code, name, value = None, None, None
        if cause is not None:
            code, name, value = cause_times(y, own, cause, tau, area)
        if weight is not None and tau is not None and y.entry is not None:
            weight = np.where(y.entry < tau, weight, 0.0)  # who enters later is left out
        stopped = y.any_cause().restricted(tau)
        return cls(
            stopped,
            own.restricted(tau),
            stopped.time if value is None else value,
            in_sample=reference is None or reference.in_sample,
            area=area,
            tau=tau,
            weight=weight,
            code=code,
            cause=name,
            **settings,
        )

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, of the subjects or in the reference set."""
        return self.y.entry is not None or self.reference.whole.y.entry is not None

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
        if self.y.entry is None:
            return repeated(1.0, self.c.size)
        entry = self.entry
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
        if given is None or self.code is None:
            return None if given is None else given.distribution
        return None if given.incidence is None else CauseIncidence(given.incidence, self.code)

    @property
    def pseudo_means(self) -> PseudoMeans:
        """Pseudo-observations of the censored subjects."""
        return PseudoMeans.of(self.reference, self.tail, self.area, self.code, self.in_sample)

    @cached_property
    def robust(self) -> DoublyRobust | RobustBlocks:
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
            return DoublyRobust.of_walk(self.y, self.value, walk)
        floored = FlooredG(g, self.floor)
        if distribution is None and floored.steps:
            distribution = self._common_distribution
        elif distribution is None and self.code is not None:  # a curve each, stored once
            every = self.reference.incidence.curves(len(self.y))
            distribution = CauseIncidence(every, self.code)
        elif distribution is None:
            distribution = reference_curves(self.reference, len(self.y), self.tail)
        return RobustBlocks(self.y, self.value, distribution, floored, self.tau)

    @property
    def _whole_g(self) -> KaplanMeier:
        """G of all subjects."""
        if self.censoring is None:
            known = self.g_from == "train" or (self.in_sample and self.weight is None)
            return (
                self.reference if known else Reference(self.y.reweighted(self.weight))
            ).censoring
        if isinstance(self.censoring, WholeG):
            return self.censoring.km
        if isinstance(self.censoring, KaplanMeier):
            return self.censoring
        raise UndefinedMetricError(
            "a doubly robust error needs G at all times, and censoring is a function of one time "
            "per subject; give conditional=Conditional(censoring=curves) instead"
        )

    @property
    def entry(self) -> Floats:
        """Entries of the censored subjects; 0 where these are not delayed."""
        return np.zeros(self.c.size) if self.y.entry is None else self.y.entry[self.censored]

    def distribution_convention(self, method: Method) -> dict[str, Any]:
        """Say where the distribution of the event time and G come from."""
        given = self.conditional
        distribution, censoring = ("", "") if given is None else given.sources
        if self.distribution_curves is None:
            distribution = (
                f"{'Kaplan-Meier' if self.cause is None else 'Aalen-Johansen'} of the reference"
            )
        if given is None or given.censoring is None:
            censoring = G_SOURCES[self.g_from]
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
            confidence = self.confidence if confidence is None else confidence
            weights = np.ones(len(self.y))
            weights[self.censored] = confidence
            unknown |= np.isnan(confidence)
        if not unknown.any():
            return Surrogates(time, weights, self.everybody, **more)
        lost, weights, defined = self.censored[unknown], weights.copy(), self.everybody.copy()
        defined[lost], weights[lost] = False, 0.0
        return Surrogates(time, weights, defined, **more)

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
    tau: float | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    cause: int | str | None = None,
    entry: bool = False,
    area: str = "step",
    tail: str = "linear",
    **settings: Any,
) -> Setting:
    """Validate what the methods look at, up to the horizon `tau`.

    `entry` says that delayed entry is allowed; `settings` are further fields of `Setting`.
    """
    tau = None if tau is None else positive(tau, "tau")
    one_of("area", area, AREAS)
    check_tail(tail)
    several = cause is not None
    given = Outcomes.of(y_true, "y_true", causes=several or None, entry=entry)
    y, weight = given.sampled(sample_weight)
    reference = None if y_train is None else Reference.of(y_train, several, entry)
    source = g_source(censoring, y_train is not None)
    return Setting.of(
        y,
        reference,
        weight=weight,
        tau=tau,
        cause=cause,
        area=area,
        tail=tail,
        censoring=None if isinstance(censoring, str) else censoring,
        g_from=source,
        **settings,
    )
