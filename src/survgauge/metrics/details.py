"""What a metric can be asked for besides its value: convention, support, standard error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints, dot
from .._tools.short_repr import ShortRepr
from ..reference.estimated_g import Pulls
from ..reference.law_pulls import LawPulls
from .support import Support


@dataclass(frozen=True)
class Clusters:
    """Who belongs together (subjects of a hospital, visits of a patient): sampled as a whole."""

    #: Number of the cluster of each subject; of shape (n,).
    codes: Ints
    #: How many clusters have somebody in them.
    number: int

    @classmethod
    def of(cls, labels: Any, weight: Floats | None = None) -> Clusters:
        """Number the clusters of labels; subjects of weight 0 are absent.

        >>> Clusters.of(np.array(["b", "a", "b"])).codes
        array([1, 0, 1])
        """
        codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
        present = codes if weight is None else codes[weight > 0]
        return cls(codes, int(np.unique(present).size))

    def __getitem__(self, rows: Any) -> Clusters:
        return Clusters.of(self.codes[rows])

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a standard error: one less than there are clusters."""
        return float(self.number - 1)

    def stderr(self, psi: Floats) -> float:
        """Standard error from the sums of the contributions of each cluster."""
        if self.number < 2:
            return float("nan")
        sums: Floats = np.bincount(self.codes, weights=psi).astype(np.float64)
        return float(np.sqrt(dot(sums, sums) * self.number / (self.number - 1)))


def standard_error(
    psi: Floats, frequency: Floats | None = None, clusters: Clusters | None = None
) -> float:
    """Standard error from first-order contributions: value_without_i is about value - psi_i.

    `frequency` are the counts of identical subjects that a row stands for: a row of weight w with
    contribution psi is w subjects with psi/w each. Subjects of one of the `clusters` count
    together: with their sums u_g it is sqrt(G / (G - 1) sum u_g^2).

    >>> round(standard_error(np.array([0.5, -0.5, 0.25, -0.25])), 4)
    0.9129
    """
    if clusters is not None:
        return clusters.stderr(psi)
    if frequency is None:
        n, square = float(psi.size), dot(psi, psi)
    else:
        present = frequency > 0
        n, square = float(frequency.sum()), float(np.sum(psi[present] ** 2 / frequency[present]))
    return float(np.sqrt(square * n / (n - 1))) if n > 1 else float("nan")


def freedom(psi: Floats, frequency: Floats) -> float:
    """Degrees of freedom of a standard error: fewer than subjects where a few make most of it.

    >>> round(freedom(np.array([0.5, -0.5, 0.25, -0.25]), np.ones(4)), 2)
    22.22
    """
    present = frequency > 0
    own, copies = np.square(psi[present] / frequency[present]), frequency[present]
    square, fourth = float(np.sum(own * copies)), float(np.sum(own * own * copies))
    left = fourth - square**2 / float(copies.sum())
    return max(2.0 * square**2 / left, 1.0) if left > 0 else float("inf")


#: A difference whose spread is a smaller part of its models' values and spreads than this is
#: constant.
_ROUNDING = 1e-13


def paired_error(a: Any, b: Any, clusters: Clusters | None = None) -> float:
    """Standard error of the difference of two models' values on the same subjects.

    Exactly 0 where they differ by the same amount for everybody but for rounding errors; NaN where
    one of them has no contributions.

    `a` and `b` are the `Details` of two models, or what else has a value, contributions and
    frequencies; `clusters` say who belongs together.

    Examples
    --------
    >>> one = Details(1.0, psi=np.array([0.1, -0.1, 0.2, -0.2]))
    >>> two = Details(4.0, psi=np.array([0.1, -0.1, 0.2, -0.2]) * (1 + 1e-16))
    >>> paired_error(one, two)
    0.0
    """
    own, theirs = a.psi, b.psi
    if own is None or theirs is None:
        return float("nan")
    spread = (
        standard_error(own, a.frequency, clusters),
        standard_error(theirs, b.frequency, clusters),
    )
    found = standard_error(own - theirs, a.frequency, clusters)
    return unless_rounding(found, spread, (a.value, b.value))


def unless_rounding(
    stderr: float, spread: tuple[float, float], values: tuple[float, float]
) -> float:
    """Return the standard error of a difference, 0 where it is nothing but rounding errors.

    `spread` and `values` are the standard errors and the values of the two models.
    """
    size = sum(map(abs, values)) + sum(spread)
    return 0.0 if stderr <= _ROUNDING * size else stderr


@dataclass(frozen=True, repr=False)
class Details(ShortRepr):
    """A metric's value with what lies behind it.

    Attributes
    ----------
    value : float
        The metric.
    convention : dict
        Which definitions the number follows.
    support : dict
        What the data covered, what was left out and why.
    psi : ndarray of shape (n,) or None
        Contribution of each subject to the sampling error, reference set fixed.
    frequency : ndarray of shape (n,) or None
        The outcomes' frequencies, where given.
    """

    value: float
    convention: dict[str, Any] = field(default_factory=dict)
    support: dict[str, Any] = field(default_factory=dict)
    psi: Floats | None = None
    frequency: Floats | None = None
    #: Pulls of the weights (or of the law inside intervals), where G (or that law) is that of more
    #: subjects and `psi` takes it as known.
    pulls: Pulls | LawPulls | None = field(default=None, kw_only=True)
    #: What each subject adds to the denominator of a mean; None: its mass.
    counts_for: Floats | None = field(default=None, kw_only=True, repr=False)
    #: The support as counts that add up over chunks of subjects, where it was counted so.
    counted: Support | None = field(default=None, kw_only=True, repr=False)

    def __float__(self) -> float:
        return self.value

    @property
    def stderr(self) -> float:
        """Analytic standard error; NaN where there is none."""
        return float("nan") if self.psi is None else standard_error(self.psi, self.frequency)


@dataclass(frozen=True, repr=False)
class CurveResult(ShortRepr):
    """A metric as a function of time.

    Attributes
    ----------
    times, values : ndarray of shape (k,)
        The metric at each time; NaN where it is undefined.
    mean : float
        Its summary over the times (the convention says which).
    stderr : ndarray of shape (k,) or None
        Analytic standard errors, reference set fixed.
    details : Details
        The summary with convention, support and contributions.
    """

    times: Floats
    values: Floats
    mean: float
    stderr: Floats | None
    details: Details

    @property
    def convention(self) -> dict[str, Any]:
        """Which definitions the numbers follow."""
        return self.details.convention

    @property
    def support(self) -> dict[str, Any]:
        """What the data covered."""
        return self.details.support


def below_zero(value: float, robust: bool = False) -> str:
    """What is wrong with a mean of losses below zero, and what to do."""
    if robust:
        return (
            f"the value {value:.3g} lies below 0, where no error can be: too few events carry the "
            "doubly robust mean, or the law of the event time and G are both wrong"
        )
    return (
        f"the value {value:.3g} lies below 0, where no such score can be: Simpson's rule of the "
        "convention gives negative weights on uneven times; take evenly spaced times or another "
        "convention"
    )
