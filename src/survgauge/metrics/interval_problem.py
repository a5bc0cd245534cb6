"""The question about interval-censored subjects: a `Problem` without G, with Turnbull's law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from .._tools.arrays import Floats, positive
from ..data.intervals import IntervalOutcomes
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..reference.conditional import Conditional, check_conditional
from ..reference.law_pulls import EstimatedLaw
from ..reference.turnbull import Turnbull
from .clock import checked_at_risk, times_of_interest
from .conventions import convention_of
from .intervals import LawInside, law_name
from .problem import Problem

#: Share of the subjects after whose loss, without an event, metrics stop: one law stands for them.
MOST_LOST = 0.25


@dataclass(frozen=True)
class IntervalProblem(Problem):
    """Interval-censored outcomes and settings.

    `y` is an `IntervalOutcomes`: what a `Problem` asks of its outcomes (`time`, `event`, `weight`,
    selections) it has too. Nobody is weighted by 1/G. `law` is Turnbull's of the reference set, the
    baseline and, unless there is a law per subject, the law inside intervals.
    """

    outcomes: ClassVar[str] = "interval"

    law: Turnbull | None = None
    #: Whether it is that of the test outcomes themselves.
    in_sample: bool = True

    @classmethod
    def ask(
        cls,
        y: IntervalOutcomes,
        y_train: IntervalOutcomes | None,
        sample_weight: Floats | None,
        *,
        time: float | Sequence[float] | None = None,
        tau: float | None = None,
        min_at_risk: float = 10,
        tail: str = "linear",
        conditional: Conditional | None = None,
    ) -> IntervalProblem:
        """Resolve law, times of interest and horizon from the data."""
        known = y if sample_weight is None else y.reweighted(sample_weight * y.weight)
        reference = known if y_train is None else y_train
        law = Turnbull.fit(reference)
        tau = None if tau is None else positive(tau, "tau")
        times = times_of_interest(time, tau, reference)
        horizon, reason = _watched_until(y, checked_at_risk(min_at_risk))
        timed = not (time is None and tau is None)
        if not timed and times[0] > horizon > 0:
            times = (horizon,)
        return cls(
            cast(Any, y),
            None,
            convention_of(None),
            horizon,
            times[0],
            tau=tau,
            censoring="none",
            options={"tail": tail},
            horizon_reason=reason,
            sample_weight=sample_weight,
            conditional=check_conditional(conditional, len(y)),
            times=times,
            timed=timed,
            law=law,
            in_sample=y_train is None,
        )

    @property
    def intervals(self) -> IntervalOutcomes:
        """The outcomes, as what they are."""
        return cast(IntervalOutcomes, self.y)

    @property
    def observed(self) -> Turnbull:
        """Turnbull's estimate of the subjects at hand."""
        found: Turnbull = self.cached("observed", lambda: Turnbull.fit(self.intervals))
        return found

    @property
    def inside(self) -> LawInside:
        """What is assumed of the event time inside an interval."""
        if self.conditional is not None and self.conditional.law is not None:
            return LawInside(self.conditional.law, "one per subject, as given")
        return LawInside(cast(Turnbull, self.law), law_name(self.in_sample), moves=self.in_sample)

    @property
    def law_moves(self) -> bool:
        """Whether the law inside intervals was estimated from the test subjects themselves."""
        return self.inside.moves

    @property
    def first(self) -> Outcomes:
        """How long subjects were watched, and who was seen to have an event by then."""
        y = self.intervals
        return Outcomes(y.time, y.event, y.weight if y.weighted else None)

    def baseline(self) -> Prediction:
        """Turnbull's estimate of the reference set for everybody."""
        return Prediction(cast(Turnbull, self.law).curves(len(self.y)), None, None)

    def with_g(self) -> Problem:
        """Return the same: there is no G."""
        return self

    def estimated_g(self, by_convention: bool) -> Any:
        """No weight is estimated; the law inside intervals may be, from all test subjects."""
        if not self.law_moves:
            return None
        rows = self.numbers(np.arange(len(self.y)))
        return EstimatedLaw(cast(Turnbull, self.law), rows, self.y.weight)


def _watched_until(y: IntervalOutcomes, number: float) -> tuple[float, str]:
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
