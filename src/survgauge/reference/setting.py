"""What a method for censored subjects looks at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Bools, Floats, Ints, read_only, repeated
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.tails import tail_survival
from ..data.weighted import some_rows
from ..errors import InputError, UndefinedMetricError
from .cause_law import CauseLaw, CauseTimes, IncidenceLaw
from .cause_pseudo import pseudo_times
from .conditional import Conditional
from .dependence import Dependence
from .dependent_g import DependentG
from .dependent_law import DependentLaw
from .doubly_robust import DoublyRobust, residual_law
from .floored_g import FlooredG
from .g_source import WholeG, ask_g
from .kaplan_meier import KaplanMeier
from .method import Method, Surrogates
from .pseudo_entry import mean_given_entry
from .pseudo_means import PseudoMeans
from .reference import Reference, reference_curves
from .residual import ResidualLaw

_G_SOURCES = {
    "test": "reverse Kaplan-Meier of the test outcomes, events first",
    "train": "reverse Kaplan-Meier of the training outcomes, events first",
    "given": "given by the caller",
}


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
    mass: Floats | None = None
    #: Number of the first subject in the whole test set, for messages.
    start: int = 0
    #: Laws of event and censoring time of each subject; None: Kaplan-Meier.
    conditional: Conditional | None = None
    #: Least G of the doubly robust errors; below it they rest on the law alone.
    floor: float = 0.1
    #: Assumed dependence of event and censoring time; None: independent.
    dependence: Dependence | None = None
    #: Times free of the cause that is asked for; None: there is one kind of event.
    cause: CauseTimes | None = None
    _made: dict[str, Surrogates] = field(default_factory=dict, init=False, repr=False)

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, of the subjects or in the reference set."""
        return self.y.entry is not None or self.reference.whole.y.entry is not None

    @property
    def weighed(self) -> Outcomes:
        """The subjects, each standing for as many of the population as it was sampled for."""
        return self.y if self.mass is None else self.y.reweighted(self.mass)

    def with_g(self) -> Setting:
        """Return the same question with G of all its subjects, so that it can be cut."""
        if self.censoring is not None or self.g_from != "test":
            return self
        return replace(self, censoring=WholeG(self._own_g))

    def part(self, rows: slice) -> Setting:
        """Return the same question about some of the subjects, once it has its G."""
        given = {
            name: some_rows(getattr(self, name), rows, copy=False)
            for name in ("true_time", "mass", "conditional", "cause")
        }
        return replace(self, y=self.y[rows], start=rows.start, **given)

    @property
    def _own_g(self) -> KaplanMeier:
        """G of the test subjects."""
        sampled_in = self.in_sample and self.mass is None
        return (self.reference if sampled_in else Reference(self.weighed)).censoring

    def surrogates(self, method: Method) -> Surrogates:
        """Return what each subject counts as under a method, made once for all models.

        Those of the last method are kept: metrics come method by method.
        """
        if method.name not in self._made:
            self._made.clear()
            self._made[method.name] = method(self)
        return self._made[method.name]

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
        return self.reference.event_places.of(self.c)

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
        law = self.law_curves
        if isinstance(law, SurvivalCurves):
            values = law[self.censored].at_own(entry)
        elif law is not None:
            values = law.curves[self.censored].free_at_own(entry)
        else:
            values = self._survival_at(entry, self.reference.event_places.of(entry))
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
    def residual(self) -> ResidualLaw | DependentLaw:
        """Law of the event time of the censored subjects, given that it is later than c."""
        if self.dependence is not None:
            return DependentLaw.of_reference(self.reference, self.dependence, self.tail)
        if self.law_curves is not None:
            return residual_law(self.law_curves[self.censored], self.tau)
        return self._common_law

    @property
    def _common_law(self) -> ResidualLaw:
        """Law of all subjects: Kaplan-Meier or Aalen-Johansen of the reference set."""
        if self.cause is not None:
            return CauseLaw.of_set(self.reference, self.cause.code)
        return ResidualLaw.of_reference(self.reference, self.tail)

    @property
    def own_laws(self) -> bool:
        """Whether the law of censored subjects is not Kaplan-Meier of the reference set."""
        given = self.law_curves, self.dependence, self.cause
        return any(part is not None for part in given)

    @property
    def law_curves(self) -> SurvivalCurves | IncidenceLaw | None:
        """One law per subject, where they were given."""
        given = self.conditional
        if given is None or self.cause is None:
            return None if given is None else given.law
        return None if given.incidence is None else IncidenceLaw(given.incidence, self.cause.code)

    @property
    def pseudo_means(self) -> PseudoMeans:
        """Pseudo-observations of the censored subjects."""
        ref = self.reference
        if self.cause is not None:
            return pseudo_times(ref, self.cause.code, self.in_sample)
        return ref.pseudo_means(self.area, self.tail, self.in_sample)

    @cached_property
    def robust(self) -> DoublyRobust:
        """Doubly robust losses of the subjects."""
        given = None if self.conditional is None else self.conditional.censoring
        g = self._whole_g if given is None else given
        law, value = self.law_curves, None if self.cause is None else self.value
        if self.y.entry is not None and (law is not None or given is not None):
            raise UndefinedMetricError(
                "a doubly robust error under delayed entry knows no laws given features; leave "
                "conditional out, or use method='expected'"
            )
        if law is None and isinstance(g, KaplanMeier):
            common = self._common_law
            return DoublyRobust.of_reference(self.y, self.reference, common, g, self.floor, value)
        floored = FlooredG(g, self.floor)
        if law is None:
            known = self._common_law if floored.steps else self._repeated_law()
            return DoublyRobust(self.y, known, floored, self.tau, value=value)
        return DoublyRobust(self.y, law, floored, self.tau, value=value)

    def _repeated_law(self) -> SurvivalCurves | IncidenceLaw:
        """Law of the reference set, as one curve per subject that is stored once."""
        if self.cause is None:
            return reference_curves(self.reference, len(self.y), self.tail)
        return IncidenceLaw(self.reference.incidence.curves(len(self.y)), self.cause.code)

    @property
    def _whole_g(self) -> KaplanMeier:
        """G of all subjects."""
        if self.censoring is None:
            return self._own_g if self.g_from == "test" else self.reference.censoring
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
        if isinstance(self.censoring, DependentG):
            return f"copula-graphic estimate of the {self.censoring.source} outcomes"
        return _G_SOURCES[self.g_from]

    @property
    def mean_time(self) -> float:
        """Mean of the reference set: of the event time, or of the time free of the cause."""
        if self.cause is None:
            return self.reference.theta(self.area, self.tail)
        return float(self._common_law.mean(np.zeros(1), np.zeros(1, dtype=np.intp))[0])

    def mean_time_past(self, entry: Floats) -> Floats:
        """Return the same mean of those who are event-free at their entry, (n,)."""
        if self.cause is None:
            return mean_given_entry(self.reference, entry, self.tail, self.area)
        law = self._common_law
        return law.mean(entry, law.places(entry))

    def law_convention(self, method: Method) -> dict[str, Any]:
        """Say where the law of the event time and G come from, for a method that takes a law."""
        given = self.conditional
        law, censoring = ("", "") if given is None else given.sources
        if self.law_curves is None:
            law = f"{'Kaplan-Meier' if self.cause is None else 'Aalen-Johansen'} of the reference"
        if given is None or given.censoring is None:
            censoring = self.g_words
        if not method.reads_g:
            return {} if self.law_curves is None else {"law": law}
        return {
            "law": law,
            "censoring": censoring,
            "floor": self.floor,
            "assumes": "censoring is independent of the event"
            + ("" if given is None else " given the features"),
            "stderr": "law and G fixed",
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
        surrogate: Floats,
        *,
        alike: bool = False,
        confidence: Floats | None = None,
        **more: Any,
    ) -> Surrogates:
        """Surrogates from the censored subjects' values; events keep their time and weigh 1.

        Censored subjects weigh `confidence` (by default 1 - S(c) of the reference set), or as much
        as events where all are `alike`.
        """
        if np.shape(surrogate) != self.c.shape:
            raise InputError(
                f"surrogate must be an array with one time for each of {self.c.size} censored "
                f"subjects; got shape {np.shape(surrogate)}"
            )
        time = self.value.copy()
        time[self.censored] = surrogate
        unknown, weights = np.isnan(surrogate), self.ones
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
