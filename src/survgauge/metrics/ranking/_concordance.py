"""From arguments to pairs: who is compared with whom in a concordance, and with which weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, positive, repeated, sorting_order
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, one_of
from ...estimators.estimated_g import Derivative
from ..checks import one_cause
from ..conventions import Convention
from ..ipcw import CensoringWeights
from ..score import Score, standard_error
from ._every_pair import every_pair_counts
from ._pairs import (
    TIES,
    Count,
    PairCounts,
    PairSums,
    Role,
    count_by_risk,
    counts_events,
    sum_events,
    sum_pairs,
)

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


def below_half(value: float, influence: Floats, frequency: Floats | None, events: int) -> bool:
    """Whether an order is worse than random by more than chance: the sign may be wrong."""
    high = value + 1.96 * standard_error(influence, frequency)
    return bool(high < 0.5) and events >= _FEW_EVENTS


@dataclass(frozen=True)
class Question:
    """Everything but the prediction, validated: which pairs there are and what they weigh."""

    y: Outcomes
    weight: Floats | None
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
        """Events before `tau`; later ones stay comparators, as do the censored."""
        anchor = self.y.event & self.before_tau(self.y.time)
        return anchor if self.competes is None else anchor & ~self.competes

    def before_tau(self, time: Floats) -> Bools:
        """Whether a pair may start at these times."""
        if self.tau is None:
            return np.ones(time.size, dtype=np.bool_)
        return time <= self.tau if self.convention.anchors_at_tau else time < self.tau

    @cached_property
    def _by_time(self) -> Ints:
        """Rows by time."""
        return self.y.order()

    def rows_by_time(self, time: Floats) -> Ints:
        """Rows by some times; the subjects' own are sorted once."""
        return self._by_time if time is self.y.time else sorting_order(time)

    @property
    def weighted(self) -> bool:
        """Whether pairs are weighted by G."""
        return self.method in ("uno", "ipcw")

    @property
    def subject_g(self) -> bool:
        """Whether G depends on the subject, so that a pair weighs 1/(G_i G_j) and not 1/G^2."""
        return self.weighted and self.weights.by_subject

    @cached_property
    def event_weight(self) -> Floats | None:
        """1/G of the events from the beginning, 0 where G = 0; None where pairs weigh 1."""
        if not self.weighted:
            return None
        if not self.by_entry:
            return self.weights.event_weight
        g = self.weights.common.at(self.y.time, self.convention.event_limit)  # type: ignore[union-attr]
        return np.divide(1.0, g, out=np.zeros(g.size), where=self.y.event & (g > 0))

    @property
    def by_entry(self) -> bool:
        """Whether entry is delayed, and alike in all else that G depends on."""
        alike = not self.weighted or self.weights.common is not None
        return self.y.entry is not None and alike

    def sums(
        self, source: SurvivalCurves | Floats, comparators: bool = True, tolerance: float = 0.0
    ) -> PairSums:
        """Sum up all pairs by the rule for ties.

        A pair weighs 1/G(t_i-)^2 of its anchor i. Under delayed entry both were uncensored at t_i
        given that they were at their entries: it weighs G(a_i) G(a_j) / G(t_i-)^2. With one kind of
        event nobody has another, and where nobody enters late all entries are 0.

        Parameters
        ----------
        source : ndarray of shape (n,) or SurvivalCurves
            Risks, or curves, which are compared at the anchor's time.
        comparators : bool
            Whether to count pairs by the later subject too, for contributions.
        tolerance : float
            Values of curves closer than this are tied.
        """
        y, inverse, subject, anchor = self.y, self.event_weight, self.weight, self.anchor
        entry = repeated(0.0, len(y)) if y.entry is None else y.entry
        competes = np.zeros(len(y), dtype=np.bool_) if self.competes is None else self.competes

        def count_by_curve(
            rows: Ints | None, time: Floats, anchor: Bools, a: Floats | None, w: Floats | None
        ) -> PairCounts:
            given: Any = {"anchor_weight": a, "weight": w, "rows": rows, "tolerance": tolerance}
            return every_pair_counts(time, anchor, source, **given)

        count: Count = count_by_curve
        if not isinstance(source, SurvivalCurves):
            count = count_by_risk(source, comparators, self.rows_by_time)
        if self.subject_g and not self.by_entry:
            counts = every_pair_counts(
                y.time, anchor, source, anchor_weight=self.weights.event_weight * anchor,
                weight=subject, tolerance=tolerance,
                comparator_weight=self.weights.comparator_weight,
            )  # fmt: skip
            return self._with_events(sum_pairs(counts, self.ties))
        if self.weighted and self.by_entry:
            subject = self.weights.at_entry * (1.0 if subject is None else subject)
        time, square = y.time, None if inverse is None else np.square(inverse) * anchor
        alone = inverse is None and y.entry is None
        if competes.any():
            # Who had another event has none of this cause ever. Where pairs with it have other
            # weights, or were at risk at another time, they come by themselves.
            never = 2.0 * time.max() + 1.0 if alone else np.nextafter(time, -np.inf)
            time = np.where(competes, never, time)
        found = sum_pairs(_entered_counts(count, time, anchor, square, subject, entry), self.ties)
        if competes.any() and not alone:
            weight = np.ones(len(y)) if inverse is None else inverse
            given = competes, weight, subject, entry
            found += _pairs_with_other_events(count, y.time, anchor, *given)
        if self.ties != "adjusted":
            return self._with_events(found)
        # As pycox counts: pairs of an event and somebody censored then from both sides, and pairs
        # of two events twice, as 1 if their risks are equal and as 1/2 otherwise.
        left_before = np.where(y.event, y.time, np.nextafter(y.time, -np.inf))
        later = sum_pairs(count(None, left_before, anchor, square, subject), "risk")
        own = source.at_own(y.time) if isinstance(source, SurvivalCurves) else source
        alike: Any = np.unique(np.stack((y.time, own)), axis=1, return_inverse=True)[1].reshape(-1)
        pairs, equal = (
            sum_events(moment, anchor, square, subject, None).level for moment in (y.time, alike)
        )
        return found + found - later + PairSums(2 * equal, 0, 2 * (pairs - equal))

    @property
    def own_g(self) -> bool:
        """Whether anchors weigh by a G that was estimated from these very subjects."""
        return self.weighted and self.weights.source == "test"

    @cached_property
    def unit(self) -> Floats | None:
        """What one copy of a row weighs (`sample_weight`); None: 1."""
        if self.weight is None or self.y.frequency is None:
            return self.weight
        weight = self.y.weight
        return np.divide(self.weight, weight, out=np.zeros(len(self.y)), where=weight > 0)

    def _with_events(self, found: PairSums) -> PairSums:
        """Add the pairs of two events at one time, where the rule counts them."""
        if not counts_events(self.ties):
            return found
        weight, unit, a = self.weight, self.unit, None
        if self.weighted:
            a = self.weights.event_weight * self.anchor
            if self.subject_g:  # two events at one time weigh 1/(G_i G_j) too
                weight, unit = a if weight is None else a * weight, a if unit is None else a * unit
            a = None if self.subject_g else np.square(a)
        return found + sum_events(self.y.time, self.anchor, a, weight, unit)

    def details(self, found: PairSums, **convention: Any) -> Score:
        """Value, contributions, and what stands behind them."""
        if not found.pairs > 0:
            self._refuse()
        influence = self.contributions(found)
        support = self._support()
        support["pair_weight"] = float(found.pairs)
        support["tied_share"] = float(found.level / found.pairs)
        support["sign_may_be_wrong"] = influence is not None and below_half(
            found.value, influence, self.y.frequency, support["events"]
        )
        described: dict[str, Any] = {"method": self.method, "ties": self.ties, "tau": self.tau}
        if self.y.entry is not None:
            described["pairs"] = "at risk together: entered before the event of the first"
        if self.cause is not None:
            described["cause"] = self.cause
        if self.tau is not None:
            described["anchors"] = "t <= tau" if self.convention.anchors_at_tau else "t < tau"
        if self.weighted:
            how = "1/(G_i G_j)" if self.subject_g else "1/G^2"
            described |= {"anchor_weight": how, **self.weights.describe()}
            described["stderr"] = "G estimated in sample" if self.own_g else "G fixed"
        else:
            described["convention"] = self.convention.name
        return Score(
            found.value,
            {**described, **convention},
            support,
            influence,
            self.y.frequency,
            scale="logit",
        )

    def contributions(self, found: PairSums) -> Floats | None:
        """Contributions of the subjects, with those through a G estimated from them."""
        influence, estimated = found.influence, self.weights.estimated if self.own_g else None
        if influence is None or found.anchored is None or estimated is None:
            return influence
        # How C changes with the logarithm of each anchor's weight.
        derivative = (found.anchored[0] - found.value * found.anchored[1]) / found.pairs
        if self.convention.g_floor > 0:  # at the floor weights do not move
            moves = self.weights.at_own_time > self.convention.g_floor
            derivative = np.where(moves, derivative, 0.0)
        # G(a_i) G(a_j)/G(t_i-)^2: the influence has the pairs of both roles.
        none = np.empty(0)
        through_g = Derivative(2.0 * derivative, none, none, influence - 2.0 * derivative)
        return influence + estimated.influence(through_g)

    def _support(self) -> dict[str, Any]:
        y, weights = self.y, self.weights
        present = y.weight > 0
        events, anchors = y.event_count, int((self.anchor & present).sum())
        support: dict[str, Any] = {"subjects": y.count, "events": events, "notes": {}}
        support["anchors"] = float((y.weight * self.anchor).sum())
        if self.tau is not None:
            support["events_past_tau"] = events - anchors
        if self.weighted:
            lost = int((self.anchor & present & (weights.event_weight == 0)).sum())
            if lost:
                support["notes"]["no anchors: events with G = 0"] = lost
            if not weights.by_subject:
                past = self.anchor & present & (y.time > weights.common.last_time)  # type: ignore[union-attr]
                support["events_past_reference"] = int(past.sum())
            used = weights.event_weight * (self.anchor & present)
            support["largest_weight"] = float(used.max(initial=0.0))
            support["mean_weight"] = weights.mean_weight(self.tau, self.weight)
        return support

    def _refuse(self) -> None:
        y, support = self.y, self._support()
        reasons = "".join(f"; {note}: {count}" for note, count in support["notes"].items())
        if support.get("events_past_tau"):
            reasons += f"; events at or after tau = {self.tau:g}: {support['events_past_tau']}"
        raise UndefinedMetricError(
            f"method '{self.method}' has no pair to compare among {y.count} subject(s) with "
            f"{support['events']} event(s): it needs an event and a subject seen longer{reasons}"
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
    cause: int | str | None = None,
) -> Question:
    """Check all arguments but the prediction; `censoring` may be 1/G of the subjects."""
    preset = Convention.of(convention)
    rule = ties
    if rule is None:
        rule = preset.td_ties if method in METHODS_TD else "risk"
    one_of("ties", rule, TIES)
    tau = None if tau is None else positive(tau, "tau")
    # Pairs of a cause are compared at the time of the one, and were at risk at that of the other.
    heeds_entry = method in ("harrell", "uno") or (method in METHODS_TD and cause is None)
    asked_for = one_cause(y_true, None, y_train, cause, entry=heeds_entry)
    y_train = asked_for.y_train
    y, sampling = asked_for.y.sampled(sample_weight)
    if rule == "adjusted" and (sample_weight is not None or method == "margin"):
        raise InputError("ties='adjusted' supports neither sample_weight nor method='margin'")
    weight = y.frequency if sampling is None else sampling
    weights = censoring
    if not isinstance(censoring, CensoringWeights):
        weights = CensoringWeights(y, y_train, censoring, preset, weight=sampling)
    question = Question(
        y, weight, method, rule, tau, preset, weights, asked_for.name, asked_for.competes
    )
    by_subject = question.subject_g and not question.by_entry
    if cause is not None and (method == "margin" or rule != "risk" or by_subject):
        methods = "'antolini' or 'ipcw'" if method in METHODS_TD else "'harrell' or 'uno'"
        raise InputError(
            f"cause goes with method={methods}, ties='risk' and one G for all subjects; got method "
            f"{method!r}, ties {rule!r}, censoring {censoring!r}"
        )
    if y.entry is not None and rule == "adjusted":
        raise InputError("ties='adjusted' supports no delayed entry; use other ties")
    if rule == "adjusted" and question.subject_g:
        raise InputError(
            "ties='adjusted' supports no G that depends on the subject; pass a KaplanMeier as "
            "censoring, or other ties"
        )
    return question


def _entered_counts(
    count: Count,
    time: Floats,
    anchor: Bools,
    anchor_weight: Floats | None,
    weight: Floats | None,
    entry: Floats,
) -> PairCounts:
    """Count the pairs of an anchor i and j with entry_j < t_i, who outlives it, by subject.

    Somebody who enters at a is at risk at t if a < t <= time. These are all with t <= time, less
    all with t <= a; so a subject is a comparator at its time, and one of negative weight, censored,
    at its entry. Where no comparators are counted, rows are those of `count`, of which the totals
    are the same.

    The third enters at 4, after the event of the first:

    >>> time, event = np.array([3.0, 6.0, 8.0]), np.array([True, False, True])
    >>> count, entry = count_by_risk(np.array([2.0, 1.0, 9.0])), np.array([0.0, 0.0, 4.0])
    >>> _entered_counts(count, time, event, None, None, entry).totals()
    PairTotals(comparable=1.0, concordant=1.0, discordant=0.0, tied=0.0)
    """
    n, late = time.size, np.flatnonzero(entry > 0)
    if not late.size:
        return count(None, time, anchor, anchor_weight, weight)
    weight = np.ones(n) if weight is None else weight
    twice = np.concatenate((np.arange(n), late))
    found = count(
        twice,
        np.concatenate((time, entry[late])),
        np.concatenate((anchor, np.zeros(late.size, dtype=np.bool_))),
        None if anchor_weight is None else anchor_weight[twice],
        np.concatenate((weight, -weight[late])),
    )
    if found.comparator is None:  # the totals alone are asked for
        return found
    roles: tuple[Any, Any] = found.anchor, found.comparator
    anchors, comparators = (Role(*(part[:n].astype(np.float64) for part in role)) for role in roles)
    for own, part in zip(comparators, roles[1], strict=True):
        own[late] -= part[n:]
    return PairCounts(anchors, comparators, anchor_weight, weight)


def _pairs_with_other_events(
    count: Count,
    time: Floats,
    anchor: Bools,
    competes: Bools,
    event_weight: Floats,
    weight: Floats | None,
    entry: Floats,
) -> PairSums:
    """Sum up the pairs of an anchor and who had an event of another cause by then.

    An anchor i should have a higher risk than such a j, who will never have the event (Wolbers et
    al. 2014). The pair weighs 1/(G(t_i-) G(t_j-)); under delayed entry both were at risk at t_j.
    These are all pairs with another event, less those in which it comes later than t_i, and less
    those in which it came before the entry of i.

    >>> time, cause = np.array([1.0, 2.0, 3.0]), np.array([2, 1, 0])
    >>> count, ones = count_by_risk(np.array([3.0, 2.0, 1.0])), np.ones(3)
    >>> _pairs_with_other_events(count, time, cause == 1, cause == 2, ones, None, 0 * ones).behind
    1.0
    """
    own = np.where(competes, event_weight, 1.0) * (1.0 if weight is None else weight)
    given = competes, event_weight, own
    found = _other_events_by(count, time, time, anchor, *given)
    late = anchor & (entry > 0)
    return found - _other_events_by(count, time, entry, late, *given) if late.any() else found


def _other_events_by(
    count: Count,
    time: Floats,
    until: Floats,
    anchor: Bools,
    competes: Bools,
    event_weight: Floats,
    weight: Floats,
) -> PairSums:
    """Sum up the pairs of an anchor and another event at or before a time of the anchor's."""
    rows = np.flatnonzero(anchor | competes)
    moment, others = until[rows], competes[rows]
    given = anchor[rows], (anchor * event_weight)[rows], weight[rows]
    # Another event at the very time came before.
    never, then = 2.0 * time.max() + 1.0, np.nextafter(time[rows], -np.inf)
    both = [
        sum_pairs(count(rows, np.where(others, at, moment), *given), "risk") for at in (never, then)
    ]
    found = both[0] - both[1]
    if found.credit is None:
        return found
    parts = np.zeros((2, time.size))
    parts[:, rows] = found.credit, found.total
    # One factor 1/G of each of the two, where other pairs have both of the anchor.
    return replace(found, credit=parts[0], total=parts[1], anchored=parts / 2)
