"""The door of metrics for interval-censored outcomes: subjects, and the law inside an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._tools.arrays import Bools, Floats
from ..data.curves import SurvivalCurves
from ..data.intervals import IntervalOutcomes
from ..data.sampling import sampled
from ..errors import InputError
from ..reference.conditional import Conditional
from ..reference.law_pulls import EstimatedLaw, LawPulls
from ..reference.turnbull import Turnbull
from .checks import check_curves
from .details import Details
from .support import Support

#: A law that gives an interval less than this says nothing about the time inside it.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Subjects:
    """Interval-censored subjects, and what each counts in averages."""

    y: IntervalOutcomes
    mass: Floats

    @classmethod
    def of(cls, y_true: Any, sample_weight: Any = None) -> Subjects:
        """Read outcomes and sampling weights."""
        y, mass = sampled(IntervalOutcomes.of(y_true, "y_true"), sample_weight)
        return cls(y, y.weight if mass is None else mass)

    def mean(
        self,
        loss: Floats,
        convention: dict[str, Any],
        support: Support,
        law: LawInside | None = None,
        pulls: LawPulls | None = None,
    ) -> Details:
        """Average a loss of each subject, with contributions and counts.

        `pulls` are those of the sum of the losses on a law that was estimated from the subjects.
        """
        y, mass = self.y, self.mass
        loss = np.where(mass > 0, loss, 0.0)  # absent subjects, whose loss may be infinite
        total = float(mass.sum())
        value = float((mass * loss).sum()) / total
        psi = mass * (loss - value) / total if np.isfinite(value) else None
        pulls = None if pulls is None else pulls.scaled(1.0 / total)
        if pulls is not None and psi is not None and law is not None and law.here:
            whose = EstimatedLaw(cast(Turnbull, law.law), np.arange(len(y)), y.weight)
            psi, pulls = psi + whose.influence(pulls), None
        exact = int(np.count_nonzero(y.exact & (y.weight > 0)))
        support.counts |= {
            "subjects": y.count,
            "events": y.event_count,
            "exact": exact,
            "intervals": y.event_count - exact,
            "censored": y.count - y.event_count,
        }
        frequency = y.weight if y.weighted else None
        result = support.result()
        return Details(value, convention, result, psi, frequency, pulls=pulls, counted=support)


def law_name(in_sample: bool) -> str:
    """Say whose law Turnbull's is."""
    return f"Turnbull's, {'test outcomes in sample' if in_sample else 'training outcomes'}"


@dataclass(frozen=True)
class LawInside:
    """What is assumed of the event time inside each subject's interval.

    Attributes
    ----------
    law : Turnbull or SurvivalCurves
        One law for everybody, or one per subject.
    of : str
        Whose it is, for the convention.
    moves : bool
        Whether Turnbull's was estimated from test subjects: then that is part of sampling errors.
    here : bool
        Whether these are the subjects at hand, and not more.
    """

    law: Turnbull | SurvivalCurves
    of: str
    moves: bool = False
    here: bool = False

    @classmethod
    def given(cls, law: Any, who: Subjects, y_train: Any = None) -> LawInside:
        """Read the law: Turnbull's of the training or the test outcomes unless one is given."""
        if isinstance(law, LawInside):
            return law
        if isinstance(law, Conditional):
            law = law.law
        if isinstance(law, Turnbull):
            return cls(law, "Turnbull's, as given")
        if law is not None:
            if y_train is not None:
                raise InputError("give law or y_train, not both: y_train serves Turnbull's law")
            return cls(check_curves(law, who.y), "one per subject, as given")
        if y_train is not None:
            return cls(Turnbull.fit(IntervalOutcomes.of(y_train, "y_train")), law_name(False))
        known = Turnbull.fit(who.y.reweighted(who.mass))
        return cls(known, law_name(True), moves=True, here=True)

    def at(self, t: Floats) -> Floats:
        """Survival of each subject at its own time; 0 at infinity."""
        finite = np.isfinite(t)
        known = np.where(finite, t, 0.0)
        law = self.law
        found = law.at(known) if isinstance(law, Turnbull) else law.at_own(known)
        return np.where(finite, found, 0.0)

    def inside(self, y: IntervalOutcomes) -> Inside:
        """Look up the law at both ends of every interval."""
        return Inside(y, self, self.at(y.lower), self.at(y.upper))


@dataclass(frozen=True)
class Inside:
    """The law given the interval of each subject."""

    y: IntervalOutcomes
    law: LawInside
    at_lower: Floats
    at_upper: Floats

    @property
    def silent(self) -> Bools:
        """Whose interval the law gives no mass, so that it says nothing about the time inside."""
        return (self.at_lower - self.at_upper <= _NOTHING) & ~self.y.exact

    def support(self, mass: Floats) -> Support:
        """Count those about whom the law says nothing."""
        found = int(np.count_nonzero(self.silent & (mass > 0)))
        return Support(counts={"outside_law": found})

    def happened(self, t: Floats, survival: Floats, rows: slice | Any = slice(None)) -> Floats:
        r"""Probability that the event has happened by each of `t`, given the interval: (rows, k).

        `survival` is the law at `t`, (k,) or (rows, k). Known where t <= lower (0) and t >= upper
        (1); in between (S(l) - S(t)) / (S(l) - S(u)). Where the law gives the interval no mass, the
        time is taken as spread evenly over it, or, without an upper bound, as right after it.
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
