"""Metrics that are means: two numbers per subject, from which everything else follows.

A subject adds a_i to the numerator and s_i to the denominator; the metric is sum(a) / sum(s), or
its square root. Values, standard errors, paired differences, groups, bootstraps and streams need no
more than these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError
from ..reference.estimated_g import EstimatedG, Pulls
from .details import Details
from .support import Support


@dataclass(frozen=True)
class Terms:
    """What the subjects of a chunk add to a mean.

    Attributes
    ----------
    a, s : ndarray of shape (n,)
        Numerator and denominator of each subject, with its frequency and sampling weight.
    convention : dict
        Which definitions the numbers follow.
    support : Support
        What the data covered.
    pulls : Pulls or None
        What of `a` moves with weights 1/G, where G is estimated from the test subjects.
    s_moves : bool
        Whether `s` moves with them too, because it is the weight of the subject.
    """

    a: Floats
    s: Floats
    convention: dict[str, Any] = field(default_factory=dict)
    support: Support = field(default_factory=Support)
    pulls: Pulls | None = None
    s_moves: bool = False

    @property
    def all_moves(self) -> bool:
        """Whether all of `a` moves with the weights, as where nobody but events has one."""
        return self.pulls is not None and self.pulls.event is self.a

    @classmethod
    def of(cls, found: Any, mass: Floats) -> Terms:
        """Read what a metric says about subjects of the given masses.

        That is `Terms`, `Details` with contributions, or one loss per subject.

        >>> Terms.of([1.0, 3.0], np.array([1.0, 2.0])).a
        array([1., 6.])
        """
        if isinstance(found, Terms):
            return found
        if isinstance(found, Details):
            return cls._of_details(found, mass)
        loss = np.asarray(found, dtype=np.float64)
        if loss.shape != mass.shape:
            raise InputError(
                "terms must return one number per subject of the chunk, Terms, or Details with "
                f"contributions: {mass.size} subjects; got shape {loss.shape}"
            )
        with np.errstate(invalid="ignore"):  # somebody absent, whose loss is infinite
            return cls(np.where(mass > 0, mass * loss, 0.0), mass)

    @classmethod
    def _of_details(cls, details: Details, mass: Floats) -> Terms:
        """Return numerators from contributions: a = psi sum(mass) + value mass.

        Of an infinite mean every subject has a part, so that it stays infinite among others.
        """
        value, total = details.value, float(mass.sum())
        if details.psi is None:
            with np.errstate(invalid="ignore"):
                a = np.where(mass > 0, mass * value, 0.0)
        else:
            a = details.psi * total + value * mass
        pulls = details.pulls
        if pulls is not None:
            pulls = Pulls(pulls.event * total, pulls.survivors * total, pulls.times)
        support = details.counted or Support()
        return cls(a, mass, details.convention, support, pulls)

    def mean(
        self, frequency: Floats | None = None, g: EstimatedG | None = None, root: bool = False
    ) -> Details:
        """Return the metric with the contribution of each subject.

        Parameters
        ----------
        frequency : ndarray of shape (n,), optional
            Frequencies of the subjects.
        g : EstimatedG, optional
            G of the weights, where it was estimated from these very subjects: its estimation is
            then part of the contributions.
        root : bool
            Whether the metric is the square root of the mean.
        """
        total, support = float(self.s.sum()), self.support.result()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(np.float64(self.a.sum()) / total) if total else float("nan")
        if not np.isfinite(value):
            return Details(value, self.convention, support, None, frequency)
        psi = self.a - self.s * value
        psi /= total
        if g is not None and self.pulls is not None:
            psi += g.influence(self._pulls_of_ratio(psi, total))
        if not root:
            return Details(value, self.convention, support, psi, frequency)
        value = float(np.sqrt(value))
        if value > 0:  # a root of exactly 0 has contributions of 0, as its square has
            psi /= 2 * value
        return Details(value, {**self.convention, "root": True}, support, psi, frequency)

    def _pulls_of_ratio(self, psi: Floats, total: float) -> Pulls:
        """Return what of the ratio moves with the weights."""
        if self.s_moves:  # weights only: as they change, so does their sum
            return Pulls.of_events(psi)
        pulls = self.pulls
        return Pulls(pulls.event / total, pulls.survivors / total, pulls.times)  # type: ignore[union-attr]
