"""What a metric can be asked for besides its value: convention, support, standard error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import Floats, dot


def standard_error(psi: Floats, frequency: Floats | None = None) -> float:
    """Standard error from first-order contributions: value_without_i is about value - psi_i.

    `frequency` are the counts of identical subjects that a row stands for: a row of weight w with
    contribution psi is w subjects with psi/w each.

    >>> round(standard_error(np.array([0.5, -0.5, 0.25, -0.25])), 4)
    0.9129
    """
    if frequency is None:
        n, square = float(psi.size), dot(psi, psi)
    else:
        present = frequency > 0
        n, square = float(frequency.sum()), float(np.sum(psi[present] ** 2 / frequency[present]))
    return float(np.sqrt(square * n / (n - 1))) if n > 1 else float("nan")


@dataclass(frozen=True)
class Details:
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

    def __float__(self) -> float:
        return self.value

    @property
    def stderr(self) -> float:
        """Analytic standard error; NaN where there is none."""
        return float("nan") if self.psi is None else standard_error(self.psi, self.frequency)


@dataclass(frozen=True)
class CurveResult:
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
