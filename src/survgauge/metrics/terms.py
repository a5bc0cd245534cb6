"""Metrics that are means: two numbers per subject, from which everything else follows.

A subject adds a_i to the numerator and s_i to the denominator; the metric is sum(a) / sum(s), or
its square root. Values, standard errors, paired differences, groups, bootstraps and streams need no
more than these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._old_names import takes_old_arguments
from .._tools.arrays import Floats, numbers, stored_once
from ..errors import InputError, UndefinedMetricError
from ..estimators.estimated_g import Derivative, DistributionDerivative
from .score import Score, Support
from .score import root_of as root_of

_WANTED = "one number per subject of the chunk, Terms, or Score with contributions"


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
    derivative : Derivative, DistributionDerivative or None
        What of `a` moves with weights 1/G, or with the distribution inside intervals, where that is
        estimated from the test subjects.
    s_moves : bool, optional
        Whether `s` has weights 1/G too. It must be said where the metric looks at an estimated G
        and `s` is not the weight of the subjects, because the standard error hangs on it.
    """

    a: Floats
    s: Floats
    convention: dict[str, Any] = field(default_factory=dict)
    support: Support = field(default_factory=Support)
    derivative: Derivative | DistributionDerivative | None = None
    s_moves: bool | None = None

    @classmethod
    def of(cls, found: Any, weight: Floats, name: str = "terms") -> Terms:
        """Read what a metric says about subjects of the given weights.

        That is `Terms`, `Score` with contributions, or one loss per subject. Messages call it by
        `name`.

        >>> Terms.of([1.0, 3.0], np.array([1.0, 2.0])).a
        array([1., 6.])
        """
        if isinstance(found, Terms):
            found._check(weight, name)
            return found
        if isinstance(found, Score):
            if found.contributions is not None:
                _check_shape(found.contributions, weight, f"{name} (contributions of Score)")
            return cls._of_details(found, weight)
        try:
            array = np.asarray(found)
        except ValueError as error:  # rows of different lengths
            raise InputError(f"{name} must return {_WANTED}: {error}") from error
        loss = numbers(array, name, ndim=array.ndim).astype(np.float64, copy=False)
        _check_shape(loss, weight, name)
        lost = int((np.isnan(loss) & (weight > 0)).sum())
        if lost:
            raise UndefinedMetricError(
                f"{name} returned NaN for {lost} of {loss.size} subjects; return Terms with a = 0 "
                "and s = 0 for subjects that do not count"
            )
        with np.errstate(invalid="ignore"):  # somebody of weight zero, whose loss is infinite
            return cls(np.where(weight > 0, weight * loss, 0.0), weight)

    def _check(self, weight: Floats, name: str) -> None:
        """Refuse numbers that are not those of the subjects."""
        _check_shape(self.a, weight, f"{name} (a of Terms)")
        _check_shape(self.s, weight, f"{name} (s of Terms)")
        least = self.s[0] if stored_once(self.s) else self.s.min()
        if not least >= 0:
            raise InputError(f"{name}: s of Terms must be at least 0 and no NaN; got {least}")
        silent = self.s_moves is None and isinstance(self.derivative, Derivative)
        if silent and not np.array_equal(self.s, weight):
            raise InputError(
                f"{name}: s of Terms is not the weight of the subjects; say s_moves=True if it has "
                "the weights 1/G that `derivative` is about, else s_moves=False"
            )
        if not isinstance(self.support, Support) or not isinstance(self.convention, dict):
            raise InputError(
                f"{name}: Terms must have a dict as convention and a Support as support; got "
                f"{type(self.convention).__name__} and {type(self.support).__name__}"
            )

    @classmethod
    def _of_details(cls, details: Score, weight: Floats) -> Terms:
        """Return numerators from contributions: a = contributions sum(weight) + value weight.

        Of an infinite mean every subject has a part, so that it stays infinite among others.
        """
        weight = weight if details.counts_for is None else details.counts_for
        value, total = details.value, float(weight.sum())
        if details.contributions is None:
            with np.errstate(invalid="ignore"):
                a = np.where(weight > 0, weight * value, 0.0)
        else:
            a = details.contributions * total + value * weight
        derivative = details.derivative
        if derivative is not None:
            derivative = derivative.scaled(total)
        support = details.counted or Support()
        return cls(a, weight, details.convention, support, derivative)

    def mean(self, frequency: Floats | None = None, g: Any = None, root: bool = False) -> Score:
        """Return the metric with the contribution of each subject.

        Parameters
        ----------
        frequency : ndarray of shape (n,), optional
            Frequencies of the subjects.
        g : EstimatedG or EstimatedDistribution, optional
            G of the weights, or the distribution inside intervals, where it was estimated from
            these very subjects: its estimation is then part of the contributions.
        root : bool
            Whether the metric is the square root of the mean.
        """
        total, support = float(self.s.sum()), self.support.result()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(np.float64(self.a.sum()) / total) if total else float("nan")
        if not np.isfinite(value):
            return Score(value, self.convention, support, None, frequency)
        contributions = self.a - self.s * value
        contributions /= total
        if g is not None and self.derivative is not None:
            # Where weights alone move, their sum moves with them.
            ratio = Derivative.of_events(contributions)
            moved = ratio if self.s_moves else self.derivative.scaled(1.0 / total)
            contributions += g.influence(moved)
        if not root:
            return Score(value, self.convention, support, contributions, frequency)
        value = root_of(value)
        if value > 0:  # a root of exactly 0 has contributions of 0, as its square has
            contributions /= 2 * value
        return Score(value, {**self.convention, "root": True}, support, contributions, frequency)


Terms.__init__ = takes_old_arguments(Terms.__init__)  # type: ignore[method-assign]


def _check_shape(values: Any, weight: Floats, name: str) -> None:
    """Refuse what is not one number per subject."""
    if not isinstance(values, np.ndarray):
        raise InputError(f"{name} must be an array of numbers; got {type(values).__name__}")
    if values.shape != weight.shape or values.dtype.kind not in "fiub":
        raise InputError(
            f"{name} must return {_WANTED}: {weight.size} subjects; got shape {values.shape} of "
            f"{values.dtype}"
        )
