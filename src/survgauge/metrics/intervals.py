"""What metrics of interval-censored outcomes are given: subjects, and their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._tools.arrays import Bools, Floats
from ..data.curves import SurvivalCurves
from ..data.outcomes import IntervalOutcomes
from ..errors import InputError
from ..estimators.conditional import Conditional
from ..estimators.estimated_g import DistributionDerivative, EstimatedDistribution
from ..estimators.turnbull import Turnbull
from .checks import check_curves
from .score import Score, Support

#: A distribution that gives an interval less than this says nothing about the time inside it.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Subjects:
    """Interval-censored subjects, and what each counts in averages."""

    y: IntervalOutcomes
    weight: Floats

    @classmethod
    def of(cls, y_true: Any, sample_weight: Any = None) -> Subjects:
        """Read outcomes and sampling weights."""
        y, weight = IntervalOutcomes.of(y_true, "y_true").sampled(sample_weight)
        return cls(y, y.weight if weight is None else weight)

    def mean(
        self,
        loss: Floats,
        convention: dict[str, Any],
        support: Support,
        distribution: DistributionInside | None = None,
        derivative: DistributionDerivative | None = None,
    ) -> Score:
        """Average a loss of each subject, with contributions and counts.

        `derivative` are those of the sum of the losses on a distribution that was estimated from
        the subjects.
        """
        y, weight = self.y, self.weight
        loss = np.where(weight > 0, loss, 0.0)  # where it is zero a loss may be infinite
        total = float(weight.sum())
        value = float((weight * loss).sum()) / total
        contributions = weight * (loss - value) / total if np.isfinite(value) else None
        derivative = None if derivative is None else derivative.scaled(1.0 / total)
        if (
            derivative is not None
            and contributions is not None
            and distribution is not None
            and distribution.here
        ):
            whose = EstimatedDistribution(
                cast(Turnbull, distribution.distribution), np.arange(len(y)), y.weight
            )
            contributions, derivative = contributions + whose.influence(derivative), None
        exact = int(np.count_nonzero(y.exact & (y.weight > 0)))
        support.counts |= {
            "subjects": y.count,
            "events": y.event_count,
            "exact": exact,
            "intervals": y.event_count - exact,
            "censored": y.count - y.event_count,
        }
        result = support.result()
        return Score(
            value,
            convention,
            result,
            contributions,
            y.frequency,
            derivative=derivative,
            counted=support,
        )


def refuse_options(given: dict[str, Any]) -> None:
    """Refuse options of right-censored outcomes where outcomes are interval-censored."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} does not go with IntervalOutcomes; leave it out, or pass right-censored "
                "outcomes"
            )


def distribution_name(in_sample: bool) -> str:
    """Say whose distribution Turnbull's is."""
    return f"Turnbull's, {'test outcomes in sample' if in_sample else 'training outcomes'}"


@dataclass(frozen=True)
class DistributionInside:
    """What is assumed of the event time inside each subject's interval.

    Attributes
    ----------
    distribution : Turnbull or SurvivalCurves
        One distribution for everybody, or one per subject.
    of : str
        Whose it is, for the convention.
    moves : bool
        Whether Turnbull's was estimated from test subjects: then that is part of sampling errors.
    here : bool
        Whether these are the subjects at hand, and not more.
    """

    distribution: Turnbull | SurvivalCurves
    of: str
    moves: bool = False
    here: bool = False

    @classmethod
    def given(cls, distribution: Any, who: Subjects, y_train: Any = None) -> DistributionInside:
        """Read the distribution: Turnbull's of training or test outcomes unless one is given."""
        if isinstance(distribution, DistributionInside):
            return distribution
        if isinstance(distribution, Conditional):
            distribution = distribution.distribution
        if isinstance(distribution, Turnbull):
            return cls(distribution, "Turnbull's, as given")
        if distribution is not None:
            if y_train is not None:
                raise InputError(
                    "give distribution or y_train, not both: y_train serves Turnbull's distribution"
                )
            return cls(check_curves(distribution, who.y), "one per subject, as given")
        if y_train is not None:
            return cls(
                Turnbull.fit(IntervalOutcomes.of(y_train, "y_train")), distribution_name(False)
            )
        known = Turnbull.fit(who.y.reweighted(who.weight))
        return cls(known, distribution_name(True), moves=True, here=True)

    def at(self, t: Floats) -> Floats:
        """Survival of each subject at its own time; 0 at infinity."""
        finite = np.isfinite(t)
        known = np.where(finite, t, 0.0)
        distribution = self.distribution
        found = (
            distribution.at(known)
            if isinstance(distribution, Turnbull)
            else distribution.at_own(known)
        )
        return np.where(finite, found, 0.0)

    def inside(self, y: IntervalOutcomes) -> Inside:
        """Look up the distribution at both ends of every interval."""
        return Inside(y, self, self.at(y.lower), self.at(y.upper))


@dataclass(frozen=True)
class Inside:
    """The distribution given the interval of each subject."""

    y: IntervalOutcomes
    distribution: DistributionInside
    at_lower: Floats
    at_upper: Floats

    @property
    def silent(self) -> Bools:
        """Whose interval has probability 0, so that nothing is said about the time inside."""
        return (self.at_lower - self.at_upper <= _NOTHING) & ~self.y.exact

    def support(self, weight: Floats) -> Support:
        """Count those about whom the distribution says nothing."""
        found = int(np.count_nonzero(self.silent & (weight > 0)))
        return Support(counts={"outside_distribution": found})

    def happened(self, t: Floats, survival: Floats, rows: slice | Any = slice(None)) -> Floats:
        r"""Probability that the event has happened by each of `t`, given the interval: (rows, k).

        `survival` is the distribution at `t`, (k,) or (rows, k). Known where t <= lower (0) and t
        >= upper (1); in between (S(l) - S(t)) / (S(l) - S(u)). Where the distribution gives the
        interval no weight, the time is taken as spread evenly over it, or, without an upper bound,
        as right after it.
        """
        lower, upper = self.y.lower[rows, None], self.y.upper[rows, None]
        first, last = self.at_lower[rows, None], self.at_upper[rows, None]
        silent, bounded = self.silent[rows, None], np.isfinite(upper)
        width = np.where(bounded & (upper > lower), upper - lower, 1.0)
        evenly = np.where(bounded, (t - lower) / width, 1.0)
        share = (first - survival) / np.where(silent | (lower == upper), 1.0, first - last)
        share = np.clip(np.where(silent, evenly, share), 0.0, 1.0)
        result: Floats = np.where(t >= upper, 1.0, np.where(t <= lower, 0.0, share))
        return result
