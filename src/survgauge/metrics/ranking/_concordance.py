"""From arguments to pairs: who is compared with whom in a concordance, and with which weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, positive
from ...data.outcomes import Outcomes
from ...data.sampling import sampled
from ...errors import InputError, UndefinedMetricError, one_of
from ...reference.dependence import dependence_of
from ...reference.estimated_g import Pulls
from ..conventions import Convention, convention_of
from ..details import Details, standard_error
from ..ipcw import CensoringWeights
from ..one_cause import one_cause
from ._by_difference import tally_by_difference
from ._competing_pairs import competing_pairs
from ._entered_pairs import Count, entered_counts
from ._pairs import PairCounts
from ._same_time import same_time_pairs
from ._subject_pairs import subject_pair_counts
from ._tally import TIES, Tally, counts_events, tally_adjusted, tally_counts, tally_events

METHODS = ("harrell", "uno", "margin")
METHODS_TD = ("antolini", "ipcw")
#: With fewer events a C below one half is no sign of anything.
_FEW_EVENTS = 10


def as_close_as(tolerance: float, risk: Floats) -> Floats:
    """Round risks where a convention ties close ones; elsewhere only equal risks are tied."""
    if not tolerance > 0:
        return risk
    decimals = -round(float(np.log10(tolerance)))
    return np.round(risk, decimals)


def below_half(value: float, psi: Floats, frequency: Floats | None, events: int) -> bool:
    """Whether an order is worse than random by more than chance: the sign may be wrong."""
    high = value + 1.96 * standard_error(psi, frequency)
    return bool(high < 0.5) and events >= _FEW_EVENTS


@dataclass(frozen=True)
class Question:
    """Everything but the prediction, validated: which pairs there are and what they weigh."""

    y: Outcomes
    mass: Floats | None
    method: str
    ties: str
    tau: float | None
    convention: Convention
    weights: CensoringWeights
    #: Cause that is predicted, and who had an event of another; None: one kind of event.
    cause: str | None = None
    competes: Bools | None = None

    @cached_property
    def anchor(self) -> Bools:
        """Events before `tau`; later ones stay partners, as do the censored."""
        anchor = self.y.event & self.before_tau(self.y.time)
        return anchor if self.competes is None else anchor & ~self.competes

    def before_tau(self, time: Floats) -> Bools:
        """Whether a pair may start at these times."""
        if self.tau is None:
            return np.ones(time.size, dtype=np.bool_)
        return time <= self.tau if self.convention.anchors_at_tau else time < self.tau

    @property
    def weighted(self) -> bool:
        """Whether pairs are weighted by G."""
        return self.method in ("uno", "ipcw")

    @property
    def subject_g(self) -> bool:
        """Whether G depends on the subject, so that a pair weighs 1/(G_i G_j) and not 1/G^2."""
        return self.weighted and self.weights.by_subject

    @property
    def anchor_weight(self) -> Floats | None:
        """1/G^2 of the anchors, zero where G = 0; None where all weigh 1. Made anew each time.

        1/G where that depends on the subject: the other factor is the partner's.
        """
        if not self.weighted:
            return None
        own = self.weights.event_weight
        return (own if self.subject_g else np.square(own)) * self.anchor

    def subject_counts(self, risk: Any, tolerance: float = 0.0) -> PairCounts:
        """Count the pairs with weights 1/(G_i(t_i-) G_j(t_i-))."""
        given = self.weights.event_weight, self.weights.partner_weight, self.mass
        return subject_pair_counts(self.y.time, self.anchor, risk, *given, tolerance)

    def competing(self, risk: Floats, competes: Bools) -> Tally:
        """Sum up the pairs of one cause; who had an event of another never has it.

        Under delayed entry a pair weighs by G(a_i) G(a_j) too, as in `entered`.
        """
        n = len(self.y)
        weight = self.weights.event_weight if self.weighted else np.ones(n)
        mass = np.ones(n) if self.mass is None else self.mass
        if self.weighted and self.y.entry is not None:
            g, mass = self.weights.common_at_own_time, mass * self.weights.at_entry
            weight = np.divide(1.0, g, out=np.zeros(n), where=self.y.event & (g > 0))
        given = self.y.time, self.anchor, competes, risk, weight, mass
        return competing_pairs(*given, self.y.entry)

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, and alike in all else that G depends on."""
        known = not self.weighted or self.weights.common is not None
        return self.y.entry is not None and known

    def entered(self, count: Count) -> Tally:
        """Sum up the pairs that were at risk together, under delayed entry.

        Both were uncensored at t_i given that they were at their entries, so a pair weighs
        G(a_i) G(a_j) / G(t_i-)^2: the entries are the subjects', the rest is the anchor's.
        """
        weight, mass = None, np.ones(len(self.y)) if self.mass is None else self.mass
        if self.weighted:
            g, mass = self.weights.common_at_own_time, mass * self.weights.at_entry
            weight = np.divide(1.0, np.square(g), out=np.zeros(g.size), where=g > 0) * self.anchor
        given = self.y.time, self.anchor, weight, mass, np.asarray(self.y.entry)
        tally = tally_counts(entered_counts(count, *given), self.ties, anchored=True)
        return self._with_same_time(tally)

    def difference(self, risk: Floats, details: bool) -> Tally:
        """Sum up the pairs where censoring depends on the event."""
        given = self.y.time, self.anchor, risk, self.weights.event_weight, self.mass
        return tally_by_difference(*given, details)

    @property
    def own_g(self) -> bool:
        """Whether anchors weigh by a G that was estimated from these very subjects."""
        return self.weighted and self.weights.source == "test"

    @cached_property
    def unit(self) -> Floats | None:
        """What one copy of a row weighs (`sample_weight`); None: 1."""
        if self.mass is None or not self.y.weighted:
            return self.mass
        weight = self.y.weight
        return np.divide(self.mass, weight, out=np.zeros(len(self.y)), where=weight > 0)

    def tally(self, counts: PairCounts, risk_at_own: Any) -> Tally:
        """Sum up the pairs by the rule for ties; `risk_at_own()` compares subjects of one time."""
        return self._with_same_time(tally_counts(counts, self.ties, self.own_g), risk_at_own)

    def _with_same_time(self, tally: Tally, risk_at_own: Any = None) -> Tally:
        """Add the pairs of subjects with the event at one time, where the rule counts them."""
        if counts_events(self.ties):
            a, mass, unit = self.anchor_weight, self.mass, self.unit
            if self.subject_g and a is not None:  # two events at one time weigh 1/(G_i G_j) too
                mass, unit = a if mass is None else a * mass, a if unit is None else a * unit
                a = None
            tally += tally_events(self.y.time, self.anchor, a, mass, unit)
        elif self.ties == "adjusted":
            options = {"anchor_weight": self.anchor_weight, "weight": self.mass}
            same = same_time_pairs(self.y.time, self.anchor, risk_at_own(), **options)
            tally += tally_adjusted(same)
        return tally

    def details(self, tally: Tally, **convention: Any) -> Details:
        """Value, contributions, and what stands behind them."""
        if not tally.pairs > 0:
            self._refuse()
        psi = self._contributions(tally)
        frequency = self.y.weight if self.y.weighted else None
        support = self._support()
        support["pair_weight"] = float(tally.pairs)
        support["tied_share"] = float(tally.level / tally.pairs)
        if psi is not None:
            wrong = below_half(tally.value, psi, frequency, support["events"])
            support["sign_may_be_wrong"] = wrong
        described: dict[str, Any] = {"method": self.method, "ties": self.ties, "tau": self.tau}
        if self.y.entry is not None:
            described["pairs"] = "at risk together: entered before the event of the first"
        if self.cause is not None:
            described["cause"] = self.cause
        if self.tau is not None:
            described["anchors"] = "t <= tau" if self.convention.anchors_at_tau else "t < tau"
        if self.weighted:
            how = "1/(G_i G_j)" if self.subject_g else "1/G^2"
            if self.weights.by_difference:
                how = "1/P(C >= t | T = t)"
            described |= {"anchor_weight": how, **self.weights.describe()}
            described["stderr"] = "G estimated in sample" if self.own_g else "G fixed"
        else:
            described["convention"] = self.convention.name
        return Details(tally.value, {**described, **convention}, support, psi, frequency)

    def _contributions(self, tally: Tally) -> Floats | None:
        """Contributions of the subjects, with those through a G estimated from them."""
        psi, pull = tally.psi, tally.anchor_pull
        estimated = self.weights.estimated if self.own_g else None
        if psi is None or pull is None or estimated is None:
            return psi
        if self.convention.g_floor > 0:  # at the floor weights do not move
            pull = np.where(self.weights.at_own_time > self.convention.g_floor, pull, 0.0)
        if self.y.entry is not None:  # G(a_i) G(a_j)/G(t_i-)^2: psi has the pairs of both roles
            pulls = Pulls(2.0 * pull, np.empty(0), np.empty(0), psi - 2.0 * pull)
            return psi + estimated.influence(pulls)
        psi += estimated.influence(Pulls.of_events(2.0 * pull))  # 1/G^2
        return psi

    def _support(self) -> dict[str, Any]:
        y, weights = self.y, self.weights
        present = y.weight > 0
        events, anchors = y.event_count, int((self.anchor & present).sum())
        support: dict[str, Any] = {"subjects": y.count, "events": events, "notes": {}}
        support["anchors"] = float(y.weight[self.anchor].sum())
        if self.tau is not None:
            support["events_past_tau"] = events - anchors
        if self.weighted:
            lost = int((self.anchor & present & (weights.event_weight == 0)).sum())
            if lost:
                support["notes"]["no anchors: events with G = 0"] = lost
            if not weights.by_subject:
                past = self.anchor & present & (y.time > weights.last_time)
                support["events_past_reference"] = int(past.sum())
            support["largest_weight"] = float(
                np.max(weights.event_weight, where=self.anchor & present, initial=0)
            )
            support["mean_weight"] = weights.mean_weight(self.tau, self.mass)
        return support

    def _refuse(self) -> None:
        y, support = self.y, self._support()
        reasons = "".join(f"; {note}: {count}" for note, count in support["notes"].items())
        if support.get("events_past_tau"):
            reasons += f"; events at or after tau = {self.tau:g}: {support['events_past_tau']}"
        raise UndefinedMetricError(
            f"method '{self.method}' has no pair to compare among {y.count} subject(s) with "
            f"{support['events']} event(s): it takes an event and somebody observed longer{reasons}"
        )


def make_question(
    y_true: Any,
    *,
    method: str,
    y_train: Any = None,
    tau: float | None = None,
    ties: str | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    dependence: Any = None,
    weights: CensoringWeights | None = None,
    cause: int | str | None = None,
) -> Question:
    """Check all arguments but the prediction; `weights`: 1/G of the subjects, where it is known."""
    preset = convention_of(convention)
    rule = ties
    if rule is None:
        rule = preset.td_ties if method in METHODS_TD else "risk"
    one_of("ties", rule, TIES)
    tau = None if tau is None else positive(tau, "tau")
    # Pairs of a cause are compared at the time of the one, and were at risk at that of the other.
    heeds_entry = method in ("harrell", "uno") or (method in METHODS_TD and cause is None)
    asked_for = one_cause(y_true, None, y_train, cause, entry=heeds_entry)
    y_train = asked_for.y_train
    y, sampling = sampled(asked_for.y, sample_weight)
    if rule == "adjusted" and (sample_weight is not None or method == "margin"):
        raise InputError("ties='adjusted' knows neither sample_weight nor method='margin'")
    mass = y.weight if sampling is None and y.weighted else sampling
    if dependence_of(dependence) is not None and (method != "uno" or rule != "risk"):
        raise InputError(
            "dependence goes with method='uno' and ties='risk', which weight pairs by 1/G; got "
            f"method {method!r} and ties {rule!r}"
        )
    if weights is None:
        given = y, y_train, censoring, preset
        weights = CensoringWeights(*given, mass=sampling, dependence=dependence)
    question = Question(
        y, mass, method, rule, tau, preset, weights, asked_for.name, asked_for.competes
    )
    by_subject = question.subject_g and not question.by_entry
    if cause is not None and (
        method == "margin" or rule != "risk" or by_subject or weights.by_difference
    ):
        known = "'antolini' or 'ipcw'" if method in METHODS_TD else "'harrell' or 'uno'"
        raise InputError(
            f"cause goes with method={known}, ties='risk', one G for all subjects and "
            f"without dependence; got method {method!r}, ties {rule!r}, censoring {censoring!r}, "
            f"dependence {dependence!r}"
        )
    if y.entry is not None and rule == "adjusted":
        raise InputError("ties='adjusted' knows no delayed entry; use other ties")
    if rule == "adjusted" and question.subject_g:
        raise InputError(
            "ties='adjusted' knows no G that depends on the subject; pass a KaplanMeier as "
            "censoring, or other ties"
        )
    return question
