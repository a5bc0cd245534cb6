"""Sampling weights at the door: what each subject counts, and who is absent."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .._tools.arrays import LARGEST, Floats, vector
from ..errors import InputError
from .intervals import IntervalOutcomes
from .outcomes import Outcomes

Observed = TypeVar("Observed", Outcomes, IntervalOutcomes)


def sampled(
    y: Observed, sample_weight: Any, like: str = "y_true"
) -> tuple[Observed, Floats | None]:
    """Outcomes without those of sampling weight 0, and what everybody counts in averages and in G.

    Who has a sampling weight of 0 gets a frequency of 0, which is what absent means everywhere.
    The second is frequency times `sample_weight`, (n,); None without sampling weights.

    `like` is the name of the argument that `y` came from, for messages.

    Examples
    --------
    >>> y, mass = sampled(Outcomes([1, 2, 3], [1, 1, 0]), [0.5, 0, 2])
    >>> y.weight, mass
    (array([1., 0., 1.]), array([0.5, 0. , 2. ]))
    """
    if sample_weight is None:
        return y, None
    weight = vector(sample_weight, "sample_weight", length=len(y), like=like, minimum=0.0,
                    largest=LARGEST)  # fmt: skip
    mass = weight * y.weight
    present = mass > 0
    if not present.any():
        raise InputError(
            "sample_weight must have a positive sum over the subjects that are present; got all "
            "zeros"
        )
    if not present.all() and (y.weight[~present] > 0).any():
        y = y.reweighted(np.where(present, y.weight, 0.0))
    return y, mass
