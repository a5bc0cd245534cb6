"""What a censored subject counts as: one function a method, and nothing about losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import LARGEST, Bools, Floats, Ints, flag, look_up, positive, vector
from ..data.outcomes import Outcomes
from ..data.sampling import sampled
from ..data.tails import check_tail, tail_area, tail_survival
from ..errors import InputError, one_of
from .estimated_g import EstimatedG
from .g_source import WholeG, ask_g, g_source
from .kaplan_meier import AREAS, KaplanMeier
from .reference import Reference
from .residual import ResidualLaw


@dataclass(frozen=True)
class Surrogates:
    """What each subject counts as, and how much.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Event time for events, surrogate for censored subjects.
    weight : ndarray of shape (n,)
        Weight in the average; 0 where the subject does not take part.
    defined : ndarray of bool, shape (n,)
        False where the method has nothing to say about the subject.
    """

    time: Floats
    weight: Floats
    defined: Bools
    #: Subjects whose time is only a lower bound: predictions past it are not wrong.
    lower_bound: Bools | None = None
    #: Censored subjects count as this law, not as a single time.
    law: ResidualLaw | None = None
    #: Why subjects were left out or changed, with counts.
    notes: dict[str, int] = field(default_factory=dict)


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
    #: Whether anybody will ask what each subject contributes through G.
    contributions: bool = True
    #: Frequency times sampling weight, (n,); None: no sampling weights.
    mass: Floats | None = None

    @property
    def weighed(self) -> Outcomes:
        """The subjects, each standing for as many of the population as it was sampled for."""
        return self.y if self.mass is None else self.y.reweighted(self.mass)

    @property
    def divisible(self) -> bool:
        """Whether a part of the subjects can be looked at alone: G may be a function of all."""
        return self.censoring is None or isinstance(self.censoring, KaplanMeier | WholeG)

    @cached_property
    def estimated_g(self) -> EstimatedG | None:
        """G as estimated from these very subjects; None: not, or not from them alone."""
        if self.g_from != "test" or self.censoring is not None or not self.contributions:
            return None
        return EstimatedG(self.weighed)

    def part(self, rows: slice) -> Setting:
        """Return the same question about some of the subjects, with what is known of them."""
        truth = None if self.true_time is None else self.true_time[rows]
        mass = None if self.mass is None else self.mass[rows]
        part = replace(self, y=self.y[rows], true_time=truth, mass=mass)
        if "j" in self.__dict__:
            start, stop = self.censored.searchsorted((rows.start, rows.stop))
            found = self.censored[start:stop] - rows.start, self.c[start:stop], self.j[start:stop]
            part.__dict__.update(zip(("censored", "c", "j"), found, strict=True))
        if "observable" in self.__dict__:
            start, stop = np.array((rows.start, rows.stop)) - self.censored.searchsorted(
                (rows.start, rows.stop)
            )
            part.__dict__["observable"] = self.observable[start:stop]
        return part

    def forget_methods(self) -> None:
        """Drop what single methods look at."""
        for name in ("observable", "estimated_g"):
            self.__dict__.pop(name, None)
        self.reference.forget_methods()

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
        return look_up(self.reference.event_times, self.c, "right")

    @cached_property
    def past(self) -> Ints:
        """Positions in `c` that lie past the reference follow-up."""
        return np.flatnonzero(self.c > self.reference.last_time)

    @cached_property
    def survival(self) -> Floats:
        """S(c): the step function, past the last reference time its tail."""
        ref = self.reference
        values = ref.survival[self.j]
        if self.past.size:
            last, end = np.float64(ref.last_time), np.float64(ref.last_survival)
            values[self.past] = tail_survival(self.c[self.past], last, end, self.tail)
        return values

    @cached_property
    def confidence(self) -> Floats:
        """Weights of the censored subjects: 1 - S(c), or 1 if not weighted."""
        if not self.weighted:
            return np.ones(self.c.size)
        return 1.0 - self.survival

    @cached_property
    def observable(self) -> Floats:
        """G(t-), the probability that an event at t is observed, for the events in order."""
        times = self.y.time[self.y.event]
        if self.censoring is None:
            own = self.g_from == "test" and not (self.in_sample and self.mass is None)
            known = Reference(self.weighed) if own else self.reference
            return known.censoring.at(times, side="left")
        if isinstance(self.censoring, KaplanMeier):
            return self.censoring.at(times, side="left")
        if isinstance(self.censoring, WholeG):
            return self.censoring.km.at(times, side="left")
        values = ask_g(self.censoring, self.y.time, "left")
        return values[self.y.event]

    @cached_property
    def everybody(self) -> Bools:
        """True for all subjects."""
        return np.ones(len(self.y), dtype=bool)

    @property
    def ones(self) -> Floats:
        """Weights where all count alike; one number, read over and over."""
        return np.broadcast_to(np.float64(1.0), len(self.y))

    @cached_property
    def confidence_of_all(self) -> Floats:
        """Weights where everybody has a surrogate: 1 for events, `confidence` for the others."""
        weights = np.ones(len(self.y))
        weights[self.censored] = self.confidence
        return weights

    def fill(self, surrogate: Floats, *, alike: bool = False, **more: Any) -> Surrogates:
        """Surrogates from the censored subjects' values; events keep their time and weigh 1.

        Censored subjects weigh their `confidence`, or as much as events where all are `alike`.
        """
        time = self.y.time.copy()
        time[self.censored] = surrogate
        known = ~np.isnan(surrogate if alike else surrogate + self.confidence)
        weights = self.ones if alike else self.confidence_of_all
        if known.all():
            return Surrogates(time, weights, self.everybody, **more)
        lost, weights, defined = self.censored[~known], weights.copy(), self.everybody.copy()
        defined[lost], weights[lost] = False, 0.0
        return Surrogates(time, weights, defined, **more)

    def lost(self, surrogate: Floats, reason: str) -> dict[str, int]:
        """Count the censored subjects without a surrogate."""
        number = int(np.isnan(surrogate).sum())
        return {reason: number} if number else {}

    def capped(self, surrogate: Floats) -> tuple[Floats, dict[str, int]]:
        """Set surrogates above tau to tau, and count them."""
        above = 0 if self.tau is None else int((surrogate > self.tau).sum())
        notes = self.lost(surrogate, "excluded: the tail 'nan' gives no mean")
        if above:
            surrogate = np.minimum(surrogate, self.tau)  # type: ignore[arg-type]
            notes["surrogates above tau, set to tau"] = above
        return surrogate, notes


def uncensored(s: Setting) -> Surrogates:
    """Events only."""
    weight = s.y.event.astype(np.float64)
    return Surrogates(s.y.time, weight, s.y.event)


def hinge(s: Setting) -> Surrogates:
    """A prediction for a censored subject is wrong only if it is earlier than c."""
    return Surrogates(s.y.time, s.ones, s.everybody, lower_bound=~s.y.event)


def margin(s: Setting) -> Surrogates:
    """c + (integral of S from c on) / S(c): the mean of T given T > c."""
    ref = s.reference
    if s.area == "step":
        # Between event times the mean of T given T > c does not depend on c.
        guess = np.where(s.survival > 0, ref.later_mean(s.tail)[s.j], s.c)
    else:
        guess = _margin_trapezoid(s)
    if s.past.size:
        c, survival = s.c[s.past], s.survival[s.past]
        area = tail_area(c, survival, s.tail, ref.stop)
        with np.errstate(divide="ignore", invalid="ignore"):
            guess[s.past] = np.where(survival == 0, c, c + area / survival)
    return s.fill(guess, notes=s.lost(guess, "excluded: the tail 'nan' gives no mean"))


def _margin_trapezoid(s: Setting) -> Floats:
    """Trapezoids over all observed times later than c, from the step value at c."""
    times, survival = s.reference.table.times, s.reference.km.survival
    rest = s.reference.later_trapezoids(s.tail)
    following = np.minimum(look_up(times, s.c, "right"), times.size - 1)
    first = np.maximum(times[following] - s.c, 0.0) * (s.survival + survival[following]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        guess = s.c + (first + rest[following]) / s.survival
    return np.where(s.survival > 0, guess, s.c)


def ipcw_d(s: Setting) -> Surrogates:
    """Events only, each standing for 1/G(t-) subjects."""
    weight, defined = np.zeros(len(s.y)), s.y.event.copy()
    seen = s.observable > 0
    rows = np.flatnonzero(s.y.event)
    weight[rows[seen]] = 1.0 / s.observable[seen]
    defined[rows[~seen]] = False
    lost = int((~seen & (s.y.weight[rows] > 0)).sum())
    notes = {"excluded: events with G(t-) = 0": lost} if lost else {}
    return Surrogates(s.y.time, weight, defined, notes=notes)


def ipcw_t(s: Setting) -> Surrogates:
    """Mean of the reference event times later than c."""
    guess = s.reference.later_event_mean()[s.j]
    notes = s.lost(guess, "excluded: no later event in the reference")
    return s.fill(guess, notes=notes)


def po(s: Setting) -> Surrogates:
    """Pseudo-observation: (N+1) theta(D+i) - N theta(D); in sample, leave-one-out."""
    ref = s.reference
    table = ref.pseudo_means_in_sample if s.in_sample else ref.pseudo_means
    guess, notes = s.capped(table(s.area, s.tail).at(s.c, s.j, ref.last_time))
    return s.fill(guess, notes=notes)


def pop_po(s: Setting) -> Surrogates:
    """theta(D), the same for everybody: the paper's ablation."""
    theta = s.reference.theta(s.area, s.tail)
    guess, notes = s.capped(np.full(s.c.size, theta))
    return s.fill(guess, notes=notes)


def expected(s: Setting) -> Surrogates:
    """The whole law of T given T > c, not one time; `time` holds its mean."""
    law = s.reference.cached(("law", s.tail), lambda: ResidualLaw(s.reference, s.tail))
    mean = law.mean(s.c, s.j)
    notes = s.lost(mean, "excluded: the tail 'nan' gives no mean")
    return s.fill(mean, alike=True, law=law, notes=notes)


def true(s: Setting) -> Surrogates:
    """Known event times."""
    if s.true_time is None:
        raise InputError("true_time must be given for method='true': the known event times")
    return Surrogates(s.true_time, s.ones, s.everybody)


METHODS: dict[str, Callable[[Setting], Surrogates]] = {
    function.__name__: function
    for function in (uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po, expected, true)
}


def make_setting(
    y_true: Any,
    y_train: Any = None,
    *,
    area: str = "step",
    tail: str = "linear",
    tau: float | None = None,
    weighted: bool = True,
    censoring: Any = None,
    true_time: Any = None,
    contributions: bool = True,
    sample_weight: Any = None,
) -> Setting:
    """Validate what the methods look at, with the clock stopped at `tau`."""
    one_of("area", area, AREAS)
    check_tail(tail)
    tau = None if tau is None else positive(tau, "tau")
    y, mass = sampled(Outcomes.of(y_true, "y_true"), sample_weight)
    reference = Reference(y) if y_train is None else Reference.of(y_train)
    source = g_source(censoring, y_train is not None)
    truth = None
    if true_time is not None:
        truth = vector(true_time, "true_time", length=len(y), minimum=0.0, largest=LARGEST)
        truth = truth if tau is None else np.minimum(truth, tau)
    return Setting(
        y.restricted(tau),
        reference.restricted(tau),
        in_sample=y_train is None,
        area=area,
        tail=tail,
        tau=tau,
        weighted=flag(weighted, "weighted"),
        censoring=None if isinstance(censoring, str) else censoring,
        true_time=truth,
        g_from=source,
        contributions=contributions,
        mass=mass,
    )


def surrogate_times(
    y_true: Any,
    *,
    y_train: Any = None,
    method: str = "po",
    area: str = "step",
    tail: str = "linear",
    tau: float | None = None,
) -> Surrogates:
    """What each subject counts as under a method, and how much.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    y_train : outcomes, optional
        Reference set. Without it the test outcomes are their own reference (for ``po``:
        leave-one-out).
    method : str
        uncensored, hinge, margin, ipcw_d, ipcw_t, po, pop_po or expected.
    area : {"step", "trapezoid"}
        How areas under Kaplan-Meier are taken.
    tail : {"linear", "exponential", "hold", "nan"}
        How Kaplan-Meier goes on where it does not reach zero.
    tau : float, optional
        Horizon: the clock stops there for everybody.

    Returns
    -------
    Surrogates
        `time`, `weight` and `defined`, each of shape (n,).

    Examples
    --------
    >>> s = surrogate_times(([1, 2, 3, 4], [1, 0, 1, 1]), method="margin")
    >>> s.time
    array([1. , 3.5, 3. , 4. ])
    >>> s.weight
    array([1.  , 0.25, 1.  , 1.  ])
    """
    one_of("method", method, [name for name in METHODS if name != "true"])
    setting = make_setting(y_true, y_train, area=area, tail=tail, tau=tau)
    return METHODS[method](setting)
