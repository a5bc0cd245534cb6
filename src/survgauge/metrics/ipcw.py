"""Inverse probability of censoring weights: how likely it was that we saw what we saw."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Floats, dot
from ..data.entry import refuse_entry
from ..data.outcomes import Outcomes
from ..errors import InputError, one_of
from ..reference.dependence import dependence_of
from ..reference.dependent_g import DependentG, assumed_g
from ..reference.estimated_g import EstimatedG
from ..reference.g_source import WholeG, ask_g, g_source
from ..reference.kaplan_meier import KaplanMeier
from ..reference.reference import Reference
from .conventions import Convention

POLICIES = ("truncate", "raise", "nan")
#: Sources of G as results name them.
G_SOURCES = {
    "test": "test outcomes, in sample",
    "train": "training outcomes",
    "given": "given by the caller",
}


def check_policy(on_unsupported: object) -> None:
    """Refuse an unknown policy for times that the data do not support."""
    one_of("on_unsupported", on_unsupported, POLICIES)


def check_convention(convention: Convention, what: str = "dependence") -> None:
    """Refuse limits of G that mean nothing where censoring depends on the event, or entry."""
    ours = Convention("")
    for name in ("g_ties", "g_floor", "event_limit", "survivor_limit"):
        if getattr(convention, name) != getattr(ours, name):
            raise InputError(
                f"{what} goes with our own limits of G; convention {convention.name!r} has "
                f"{name}={getattr(convention, name)!r}: leave convention or {what} out"
            )


class CensoringWeights:
    """G of the test subjects (or another), read with the limits of a convention.

    Parameters
    ----------
    y : Outcomes
        Test outcomes.
    y_train : outcomes or Reference, optional
        Reference set; None: the test outcomes themselves.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G comes from; a function G(t, side) is one of one time per subject. None: where the
        convention takes it from.
    convention : Convention
        Ties, limits, and the usual source of G.
    follow_up : float, optional
        Last test time, where `y` is only a part of the test set.
    contributions : bool
        Whether what subjects contribute through their own G will be asked for; it takes memory.
    mass : ndarray of shape (n,), optional
        Frequency times sampling weight, by which G of the test subjects is estimated; None: no
        sampling weights.
    dependence : float or Dependence, optional
        Dependence of event and censoring time that is assumed; None: none.
    """

    def __init__(
        self,
        y: Outcomes,
        y_train: Any,
        censoring: Any,
        convention: Convention,
        follow_up: float | None = None,
        contributions: bool = True,
        mass: Floats | None = None,
        dependence: Any = None,
    ) -> None:
        self.y, self.convention, self._mass = y, convention, mass
        assumed = dependence_of(dependence)
        if y.entry is not None:
            check_convention(convention, "delayed entry")
        if assumed is not None:
            refuse_entry(y.entry, "y_true")
        if assumed is not None:
            check_convention(convention)
            known = None if y_train is None else Reference.of(y_train)
            given = assumed, censoring, self._weighed, known, convention.g_source
            censoring, y_train = assumed_g(*given), known
        #: "test", "train" or "given".
        self.source = g_source(censoring, y_train is not None, convention.g_source)
        self.reference = Reference(y) if y_train is None else Reference.of(y_train, entry=True)
        self.in_sample = y_train is None or self.reference.in_sample
        self._whole = None
        if isinstance(censoring, WholeG):
            self._whole = censoring.flipped or censoring.km
        self._given: Any = censoring if self.source == "given" else None
        self._follow_up = follow_up
        self.contributions = contributions

    @property
    def km(self) -> KaplanMeier | None:
        """G as one step function for all subjects; None where it depends on the subject.

        It does where the caller gave a function, and under delayed entry: somebody who was not
        censored until the entry a stays uncensored until t with probability G(t)/G(a).
        """
        return None if self.y.entry is not None else self.common

    @cached_property
    def common(self) -> KaplanMeier | None:
        """G from the beginning as a step function, or None where the caller gave a function."""
        if isinstance(self._given, KaplanMeier):
            return self._given
        if self._given is not None:
            return None
        if self._whole is not None:
            return self._whole
        known = self._followed
        if self.convention.g_ties == "flipped":
            return flipped_g(known.y)
        return known.censoring

    @property  # its counts are as large as the outcomes, and only G is asked for again
    def _followed(self) -> Reference:
        """The subjects that G is estimated from."""
        if self.source == "train" or (self.in_sample and self._mass is None):
            return self.reference
        return Reference(self._weighed)

    @property
    def _weighed(self) -> Outcomes:
        """The test subjects, each standing for as many of the population as it was sampled for."""
        return self.y if self._mass is None else self.y.reweighted(self._mass)

    @property
    def own(self) -> bool:
        """Whether G was estimated from these very subjects, and from nobody else."""
        return self.source == "test" and self._whole is None

    @property
    def of_more(self) -> bool:
        """Whether G is that of more subjects than these, whose times know its steps."""
        return self._whole is not None

    @cached_property
    def estimated(self) -> EstimatedG | None:
        """G as estimated from these very subjects; None: not from them alone, or nobody asks."""
        asked = self.own and self.contributions
        return EstimatedG(self._weighed, **g_rules(self.convention)) if asked else None

    def _read(self, t: Floats, side: str) -> Floats:
        if self.km is not None:
            values = self.km.at(t, side)
        elif self.y.entry is not None:
            values = self._since_entry(t, side)
        else:
            values = ask_g(self._given, t, side)
        floor = self.convention.g_floor
        return np.maximum(values, floor) if floor > 0 else values

    def _since_entry(self, t: Floats, side: str) -> Floats:
        """G(t)/G(a) of each subject; infinite before its entry a, where it has no weight."""
        entry, then = np.asarray(self.y.entry), self.at_entry
        now = ask_g(self._given, t, side) if self.common is None else self.common.at(t, side)
        found = np.divide(now, then, out=np.zeros(t.size), where=then > 0)
        return np.where((t > entry) | (entry == 0), found, np.inf)

    @property
    def common_at_own_time(self) -> Floats:
        """G from the beginning at each subject's own time, with the limit for events: (n,)."""
        known = self.common
        if known is None:
            return ask_g(self._given, self.y.time, self.convention.event_limit)
        return known.at(self.y.time, self.convention.event_limit)

    @cached_property
    def at_entry(self) -> Floats:
        """G at each subject's entry; 1 where that is not late."""
        entry = np.asarray(self.y.entry)
        known = self.common
        then = ask_g(self._given, entry, "right") if known is None else known.at(entry)
        return np.where(entry > 0, then, 1.0)

    @property
    def at_own_time(self) -> Floats:
        """G at each subject's own time, with the limit for events: (n,)."""
        return self._read(self.y.time, self.convention.event_limit)

    @cached_property
    def event_weight(self) -> Floats:
        """1/G for events, 0 for censored subjects and for events with G = 0: (n,)."""
        own = self.at_own_time
        own[~self.y.event | (own <= 0)] = np.inf
        return np.divide(1.0, own, out=own)

    @property
    def by_difference(self) -> bool:
        """Whether those event-free are known by difference, as censoring depends on the event."""
        return isinstance(self.km, DependentG)

    @cached_property
    def lost_events(self) -> int:
        """Events that carry no weight because G = 0 there."""
        return int((self.y.event & (self.event_weight == 0) & (self.y.weight > 0)).sum())

    @property
    def by_subject(self) -> bool:
        """Whether G differs between subjects: by delayed entry, or by the caller's function."""
        given = self._given is not None and not isinstance(self._given, KaplanMeier)
        return given or self.y.entry is not None

    @cached_property
    def last_time(self) -> float:
        """Last time that G was estimated from; infinite for a function."""
        return float("inf") if self.common is None else self.common.last_time

    def survivors(self, t: float) -> Floats:
        """G for somebody event-free past `t`: scalar array, or (n,) if G depends on the subject."""
        side = self.convention.survivor_limit
        if self.km is not None:
            return self.survivors_at(np.asarray(float(t)))
        return self._read(np.full(len(self.y), float(t)), side)

    def survivors_at(self, times: Floats) -> Floats:
        """G for somebody event-free past each of the times, where it is one step function."""
        return self._read(times, self.convention.survivor_limit)

    def partner_weight(self, t: float) -> Floats:
        """1/G of each subject with the limit for events at `t`, 0 where G = 0: (n,)."""
        g = self._read(np.full(len(self.y), float(t)), self.convention.event_limit)
        return np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)

    def mean_weight(self, t: float | None, mass: Floats | None = None) -> float:
        """Mean weight of the subjects in a score at `t`; without one, of a score of all events.

        An event until `t` weighs 1/G, somebody observed longer 1/G(t), somebody censored before
        nothing. Where G describes these subjects that is 1 on average, less what cannot be seen.
        """
        p = self.y.weight if mass is None else mass
        weight = self.event_weight
        if t is None:
            return dot(p, weight) / float(p.sum())
        if self.y.entry is not None:  # who enters later is not in the score
            p = np.where((self.y.entry < t) | (self.y.entry == 0), p, 0.0)
            if not p.any():
                return 0.0
        g, seen = self.survivors(t), self.y.time <= t
        free = np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)
        late = float(np.sum(p * free, where=~seen))
        return (float(np.sum(p * weight, where=seen)) + late) / float(p.sum())

    @cached_property
    def follow_up(self) -> float:
        """Last time of the test set."""
        given = self._follow_up
        return float(self.y.present().time.max()) if given is None else given

    @cached_property
    def identified_until(self) -> float:
        """Last time inside both follow-ups at which survivors still have G > 0."""
        return identified_until(self.common, self.convention, self.follow_up)

    def describe(self) -> dict[str, Any]:
        """Return the part of a result's convention that concerns G."""
        described = {**self.convention.as_dict(), "censoring": G_SOURCES[self.source]}
        if isinstance(self.km, DependentG):
            described["censoring"] = G_SOURCES[self.km.source]
            described["dependence"] = str(self.km.dependence)
            described["event_free"] = "everybody less the weighted events"
        if self.y.entry is not None:
            described["entry"] = "curves and G given being event-free and uncensored at entry"
        return described


def identified_until(km: KaplanMeier | None, convention: Convention, follow_up: float) -> float:
    """Last time up to the end of the follow-up at which survivors still have G > 0.

    G drops to zero only at its last time, when the largest reference time is censored; then
    everything strictly before it is identified.
    """
    if km is None:
        return follow_up
    end = min(follow_up, km.last_time)
    if km.last_survival > 0 or end < km.last_time or convention.g_floor > 0:
        return end
    return end if convention.survivor_limit == "left" else float(np.nextafter(end, -np.inf))


def below_floor(km: KaplanMeier | None, min_g: float, since: float | None = None) -> float:
    """Last time at which G(t-) is not below its floor; infinite where it never is.

    Under delayed entry G counts from the time `since` which enough subjects are at risk.
    """
    if km is not None and since is not None:
        min_g *= float(km.at(since, side="left"))
    low = np.empty(0) if km is None else np.flatnonzero(km.survival < min_g)
    # G(t-) falls below the floor just after the first time at which G does.
    return float(km.times[low[0]]) if km is not None and low.size else float("inf")


def end_of_g(weights: CensoringWeights, min_g: float) -> float:
    """Horizon as far as G alone decides it, had the test subjects been followed for ever."""
    km = weights.common
    until = identified_until(km, weights.convention, float("inf"))
    return min(until, below_floor(km, min_g))


def g_rules(convention: Convention) -> dict[str, str]:
    """Ties and limits of G, as `EstimatedG` takes them."""
    return {
        "ties": convention.g_ties,
        "kind": convention.g_influence,
        "event_limit": convention.event_limit,
        "survivor_limit": convention.survivor_limit,
    }


def flipped_g(y: Outcomes) -> KaplanMeier:
    """Kaplan-Meier on flipped flags: tied events stay at risk of censoring."""
    return KaplanMeier.fit(Outcomes(y.time, ~y.event, y.weight if y.weighted else None))
