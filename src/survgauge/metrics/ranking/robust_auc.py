"""AUC of the status at a time, doubly robust: cases and controls by their indicators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats, Ints
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from ..details import Details
from ..problem import Problem
from ..robust_status import happened_at, status_convention, status_support


def robust_auc(problem: Problem, prediction: Prediction, time: float) -> Details:
    r"""Return the share of pairs with and without the event by a time that a risk orders rightly.

    With the doubly robust indicators c of the event by the time,

    .. math:: AUC = \frac{\sum_{i \ne j} c_i (1 - c_j) k(r_i, r_j)}{\sum_{i \ne j} c_i (1 - c_j)}

    where k is 1 if :math:`r_i > r_j` and one half for equal risks. Contributions are the first
    order of this ratio of sums over pairs.
    """
    happened, mass = happened_at(problem, time), problem.mass
    case, control = mass * happened, mass * (1.0 - happened)
    itself = mass * happened * (1.0 - happened)  # a subject makes no pair with itself
    pairs = float(case.sum() * control.sum() - itself.sum())
    if not pairs > 0:
        raise UndefinedMetricError(
            f"there are no pairs of subjects with and without the event by time {time:g}"
        )
    risk: Any = prediction.risk
    if prediction.curves is not None:
        risk = 1.0 - prediction.curves.at(np.array([time]))[:, 0]
    level = np.unique(risk, return_inverse=True)[1].reshape(-1)
    ahead, behind = _lower(level, control), _lower(-level, case)
    value = float(case @ ahead - itself.sum() / 2) / pairs
    each = case * control.sum() + control * case.sum() - 2.0 * itself
    psi = (case * ahead + control * behind - itself - value * each) / pairs
    convention = {"time": time, **status_convention(problem, time)}
    frequency = problem.y.weight if problem.y.weighted else None
    return Details(value, convention, status_support(problem, time).result(), psi, frequency)


def _lower(level: Ints, weight: Floats) -> Floats:
    """Return the weight of the subjects on a lower level, and half of those on the same, (n,)."""
    places = level - level.min()
    on_level = np.bincount(places, weight)
    return (np.cumsum(on_level) - on_level / 2)[places]
