"""How a law goes on past the end of follow-up, where nothing was observed."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats
from ..data.tails import tail_survival
from ..reference.kaplan_meier import KaplanMeier

#: Times past the end of follow-up, and how many follow-ups they reach.
POINTS, REACH = 30, 40.0
#: Shapes of a Weibull that are believed: a few late events can suggest any.
_SHAPES = 0.7, 3.0
_LEAST = 1e-12


def continued(times: Floats, survival: Floats, shape: float) -> tuple[Floats, Floats]:
    r"""Return step curves that go on past their last time T by the mean of two extrapolations.

    One is the straight line through (0, 1) and (T, S(T)), which ends soon. The other is the Weibull
    :math:`S(T)^{(t / T)^k}`. A line ends too early for laws with long tails, an estimated shape
    too late for others; the mean of both was closer to the truth than either, and than constant
    hazards.

    The last of the `times` is the end of follow-up; `survival` has a row per curve, and `shape` is
    k, see `late_shape`.
    """
    last, s = times[-1], survival[:, -1]
    if not last > 0:
        return times, survival
    edges = last * np.geomspace(1.0, REACH, POINTS + 1)
    ratio = edges[1:] / last
    line = tail_survival(edges[1:], np.full((s.size, 1), last), s[:, None], "linear")
    hazard = -np.log(np.maximum(s, _LEAST))[:, None]
    weibull = np.exp(-hazard * ratio**shape)
    beyond = np.where(s[:, None] > 0, (line + weibull) / 2, 0.0)
    middle = (edges[1:] + edges[:-1]) / 2
    return np.concatenate((times, middle)), np.concatenate((survival, beyond), axis=1)


def late_shape(km: KaplanMeier, last: float) -> float:
    """Shape of the Weibull through Kaplan-Meier at the middle and the end of the follow-up.

    1, a constant hazard, where there were no events before the middle or none after it.
    """
    middle, end = -np.log(np.maximum(km.at(np.array([last / 2, last])), _LEAST))
    if not end > middle > 0:
        return 1.0
    return float(np.clip(np.log2(end / middle), *_SHAPES))
