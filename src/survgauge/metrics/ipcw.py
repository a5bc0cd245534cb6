"""Weights 1/G: how likely it was that we saw what we saw, and up to where the data support that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._tools.arrays import Floats, dot, numbers, one_number, positive
from ..data.outcome_parts import on_known
from ..data.outcomes import IntervalOutcomes, Outcomes
from ..errors import InputError
from ..estimators.conditional import Conditional
from ..estimators.estimated_g import EstimatedG, WholeG, ask_g, g_source
from ..estimators.kaplan_meier import KaplanMeier, RiskTable
from ..estimators.reference import Reference
from .conventions import Convention

#: Sources of G as results name them.
G_SOURCES = {
    "test": "test outcomes, in sample",
    "train": "training outcomes",
    "given": "given by the caller",
}


def _check_entry_limits(convention: Convention) -> None:
    """Refuse limits of G that mean nothing where subjects enter late."""
    ours = Convention("")
    for name in ("g_ties", "g_floor", "event_limit", "survivor_limit"):
        if getattr(convention, name) != getattr(ours, name):
            raise InputError(
                "delayed entry goes with our own limits of G; convention "
                f"{convention.name!r} has {name}={getattr(convention, name)!r}: leave convention "
                "or delayed entry out"
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
    weight : ndarray of shape (n,), optional
        Frequency times sampling weight, by which G of the test subjects is estimated; None: no
        sampling weights.
    """

    def __init__(
        self,
        y: Outcomes,
        y_train: Any,
        censoring: Any,
        convention: Convention,
        follow_up: float | None = None,
        contributions: bool = True,
        weight: Floats | None = None,
    ) -> None:
        self.y, self.convention, self._weight = y, convention, weight
        censoring = convention.censoring if censoring is None else censoring
        if y.entry is not None:
            _check_entry_limits(convention)
        #: "test", "train" or "given".
        self.source = g_source(censoring, y_train is not None, convention.g_source)
        self.reference = Reference(y) if y_train is None else Reference.of(y_train, entry=True)
        self.in_sample = y_train is None or self.reference.in_sample
        #: G of more subjects than these, so that it has more steps.
        self.whole = None
        if isinstance(censoring, WholeG):
            self.whole = censoring.flipped or censoring.km
        self._given: Any = censoring if self.source == "given" else None
        #: Last test time, where it was given.
        self.given_follow_up = follow_up
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
        if self.whole is not None:
            return self.whole
        # Not kept: its counts are as large as the outcomes, and only G is asked for again.
        same = self.source == "train" or (self.in_sample and self._weight is None)
        known = self.reference if same else Reference(self.y.reweighted(self._weight))
        if self.convention.g_ties == "flipped":
            # Kaplan-Meier on flipped flags: tied events stay at risk of censoring.
            y = known.y
            return KaplanMeier.fit(Outcomes(y.time, ~y.event, y.frequency))
        return known.censoring

    @property
    def own(self) -> bool:
        """Whether G was estimated from these very subjects, and from nobody else."""
        return self.source == "test" and self.whole is None

    @cached_property
    def estimated(self) -> EstimatedG | None:
        """G as estimated from these very subjects; None: not from them alone, or nobody asks."""
        if not (self.own and self.contributions):
            return None
        rules = self.convention
        return EstimatedG(
            self.y.reweighted(self._weight),
            ties=rules.g_ties,
            kind=rules.g_influence,
            event_limit=rules.event_limit,
            survivor_limit=rules.survivor_limit,
        )

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
        seen = self.y.event & (own > 0)
        # A product with flags, because to choose at random takes much longer.
        return np.divide(seen, np.maximum(own, np.finfo(np.float64).tiny), out=own)

    @property
    def by_subject(self) -> bool:
        """Whether G differs between subjects: by delayed entry, or by the caller's function."""
        given = self._given is not None and not isinstance(self._given, KaplanMeier)
        return given or self.y.entry is not None

    def survivors(self, t: float) -> Floats:
        """G for somebody event-free past `t`: scalar array, or (n,) if G depends on the subject."""
        side = self.convention.survivor_limit
        if self.km is not None:
            return self.survivors_at(np.asarray(float(t)))
        return self._read(np.full(len(self.y), float(t)), side)

    def survivors_at(self, times: Floats) -> Floats:
        """G for somebody event-free past each of the times, where it is one step function."""
        return self._read(times, self.convention.survivor_limit)

    def comparator_weight(self, t: float) -> Floats:
        """1/G of each subject with the limit for events at `t`, 0 where G = 0: (n,)."""
        g = self._read(np.full(len(self.y), float(t)), self.convention.event_limit)
        return np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)

    def mean_weight(self, t: float | None, subject_weight: Floats | None = None) -> float:
        """Mean weight of the subjects in a score at `t`; without one, of a score of all events.

        An event until `t` weighs 1/G, somebody observed longer 1/G(t), somebody censored before
        nothing. Where G describes these subjects that is 1 on average, less what cannot be seen.
        """
        p = self.y.weight if subject_weight is None else subject_weight
        weight = self.event_weight
        if t is None:
            return dot(p, weight) / float(p.sum())
        if self.y.entry is not None:  # who enters later is not in the score
            p = np.where((self.y.entry < t) | (self.y.entry == 0), p, 0.0)
            if not p.any():
                return 0.0
        g, seen = self.survivors(t), self.y.time <= t
        free = np.divide(1.0, g, out=np.zeros(g.shape), where=g > 0)
        late: Any = ~seen * free
        return (dot(p, seen * weight) + dot(p, late)) / float(p.sum())

    @cached_property
    def follow_up(self) -> float:
        """Last time of the test set."""
        given = self.given_follow_up
        return float(self.y.present().time.max()) if given is None else given

    @cached_property
    def identified_until(self) -> float:
        """Last time inside both follow-ups at which survivors still have G > 0.

        G drops to zero only at its last time, when the largest reference time is censored; then
        everything strictly before it is identified.
        """
        km, convention = self.common, self.convention
        if km is None:
            return self.follow_up
        end = min(self.follow_up, km.last_time)
        if km.last_survival > 0 or end < km.last_time or convention.g_floor > 0:
            return end
        return end if convention.survivor_limit == "left" else float(np.nextafter(end, -np.inf))

    def describe(self) -> dict[str, Any]:
        """Return the part of a result's convention that concerns G."""
        described = {**self.convention.as_dict(), "censoring": G_SOURCES[self.source]}
        if self.y.entry is not None:
            described["entry"] = "curves and G given being event-free and uncensored at entry"
        return described


#: Share of the subjects after whose loss, without an event, metrics of intervals stop: one
#: distribution stands for them.
MOST_LOST = 0.25
#: Share of the subjects that may be event-free and hardly ever observed at the horizon.
HIDDEN = 0.1


def times_of_interest(
    given: float | Sequence[float] | None,
    tau: float | None,
    reference: Outcomes | IntervalOutcomes,
) -> tuple[float, ...]:
    """Return the times given, else tau, else the median observed time of the reference set.

    Then half of the subjects are still observed, whatever share of them is censored. There is no
    such time where nobody had the event.
    """
    if given is not None:
        if (
            np.isfinite(one_number(given))
            or isinstance(given, str)
            or not hasattr(given, "__len__")
        ):
            return (positive(given, "time"),)
        times = [positive(time, "time") for time in numbers(given, "time").tolist()]
        if not times:
            raise InputError("time must be one or several times; got none")
        return tuple(dict.fromkeys(times))
    if tau is not None:
        return (tau,)
    known = reference.present()
    if not known.event.any():
        return (float("nan"),)
    # The middle between two times may be one of a third subject, but for rounding.
    return (on_known(known.median_time, known.time),)


def supported_until(
    weights: CensoringWeights, min_g: float, min_at_risk: float
) -> tuple[float, str, float | None]:
    """Largest time with G(t-) >= `min_g` and at least `min_at_risk` test subjects at risk.

    Where no time qualifies, the range that is identified at all. Also says what ends it:
    "thin-risk-set", "g-below-floor" or "past-follow-up"; and, under delayed entry, from when on
    there are enough subjects at risk (None: from the beginning).
    """
    y = weights.y.present()
    ends = {"past-follow-up": weights.identified_until}
    table = RiskTable.of(y)
    enough = np.flatnonzero(table.at_risk >= min_at_risk)
    if enough.size:
        ends["thin-risk-set"] = float(table.times[enough[-1]])
    km = weights.common
    since = None if y.entry is None else table.enough_from(min_at_risk)
    if km is not None:
        least = min_g if since is None else min_g * float(km.at(since, side="left"))
        low = np.flatnonzero(km.survival < least)
        if low.size:  # G(t-) falls below the floor just after the first time at which G does
            ends["g-below-floor"] = float(km.times[low[0]])
    reason = min(ends, key=lambda name: ends[name])
    return ends[reason], reason, since


def observable_until(given: Conditional, floor: float) -> float:
    """Last time at which nearly all subjects who are event-free could still be observed.

    From then on more than `HIDDEN` of all subjects are expected to be event-free with a G(t|x)
    below the `floor`, so that what is said about them rests on the distribution of T alone.
    Infinite where censoring does not depend on the subject.
    """
    if given.censoring is None:
        return float("inf")
    times = given.censoring.times
    hidden: Any = given.censoring.survival < floor
    if given.distribution is not None:
        hidden = hidden * given.distribution.at(times)
    elif given.incidence is not None:
        hidden = hidden * given.incidence.survival().at(
            np.minimum(times, given.incidence.times[-1])
        )
    late = np.flatnonzero(hidden.mean(axis=0) > HIDDEN)
    return float(times[late[0]]) if late.size else float("inf")


def watched_until(y: IntervalOutcomes, number: float) -> tuple[float, str]:
    """Last time until which enough subjects were watched and few were lost, and what ends it."""
    known = y.present()
    order = known.order()
    time, weight = known.time[order], known.weight[order]
    ends = {"past-follow-up": float(time[-1])}
    enough = np.flatnonzero(np.cumsum(weight[::-1])[::-1] >= number)
    if enough.size:
        ends["thin-risk-set"] = float(time[enough[-1]])
    lost = np.cumsum(np.where(known.event[order], 0.0, weight)) > MOST_LOST * weight.sum()
    if lost.any():
        ends["lost"] = float(time[np.argmax(lost)])
    reason = min(ends, key=lambda name: ends[name])
    return ends[reason], reason
