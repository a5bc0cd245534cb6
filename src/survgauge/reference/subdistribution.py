"""Weights of the subdistribution: how much of a subject is at risk of one cause at each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats, vector
from ..data.causes import cause_code
from ..data.outcomes import Outcomes
from .kaplan_meier import KaplanMeier


def subdistribution_weights(y: Any, times: Any, cause: int | str = 1) -> Floats:
    """Return how much each subject is at risk of a cause at each time, as Fine and Gray weigh it.

    A subject is at risk (1) up to its own time. Who had a competing event stays at risk
    afterwards, with the probability of not being censored meanwhile, G(t-)/G(T-), because without
    the event the subject might have been censored; G is that of these subjects. Who was censored,
    or had the event, is not (0).

    Parameters
    ----------
    y : outcomes
        With several causes; anything that ``Outcomes.of(y, causes=True)`` reads.
    times : array-like of shape (k,)
        Times.
    cause : int or str
        Code or name of the cause.

    Returns
    -------
    ndarray of shape (n, k)

    References
    ----------
    Fine and Gray (1999), A proportional hazards model for the subdistribution of a competing risk,
    Journal of the American Statistical Association 94.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [2, 0, 1, 1])
    >>> subdistribution_weights(y, [1, 3, 4], cause=1).round(3)
    array([[1.   , 0.667, 0.667],
           [1.   , 0.   , 0.   ],
           [1.   , 1.   , 0.   ],
           [1.   , 1.   , 1.   ]])
    """
    outcomes = Outcomes.of(y, causes=True)
    grid = vector(times, "times", minimum=0.0)
    code = cause_code(cause, outcomes.causes or ("1",))
    g = KaplanMeier.fit_censoring(outcomes)
    weights = (outcomes.time[:, None] >= grid).astype(np.float64)
    if outcomes.cause is not None:
        rows = np.flatnonzero(outcomes.event & (outcomes.cause != code))
        stays = g.at(grid, "left") / g.at(outcomes.time[rows], "left")[:, None]
        weights[rows] = np.where(weights[rows] > 0, 1.0, stays)
    return weights
