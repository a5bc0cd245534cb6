"""How a law goes on past the end of follow-up, where nothing was observed."""

from __future__ import annotations

import numpy as np

from .._tools.arrays import Floats
from ..data.tails import tail_survival

#: Times past the end of follow-up, and how many follow-ups they reach.
POINTS, REACH = 30, 40.0
#: Shapes of a Weibull that are believed: a few late events can suggest any.
_SHAPES = 0.7, 3.0
_LEAST = 1e-12


def continued(times: Floats, survival: Floats) -> tuple[Floats, Floats]:
    r"""Return step curves that go on past their last time T by the mean of two extrapolations.

    One is the straight line through (0, 1) and (T, S(T)), which ends soon. The other keeps the
    shape of the second half of the follow-up: :math:`S(T)^{(t / T)^k}`, the Weibull through S(T/2)
    and S(T). A line ends too early for laws with long tails, an estimated shape too late for
    others; the mean of both was closer to the truth than either, and than constant hazards.

    Parameters
    ----------
    times : ndarray of shape (m,)
        Times of the steps; the last one is the end of follow-up.
    survival : ndarray of shape (n, m)
        Values from there on.
    """
    last, s = times[-1], survival[:, -1]
    if not last > 0:
        return times, survival
    edges = last * np.geomspace(1.0, REACH, POINTS + 1)
    ratio = edges[1:] / last
    line = tail_survival(edges[1:], np.full((s.size, 1), last), s[:, None], "linear")
    hazard = -np.log(np.maximum(s, _LEAST))[:, None]
    weibull = np.exp(-hazard * ratio ** _shapes(times, survival)[:, None])
    beyond = np.where(s[:, None] > 0, (line + weibull) / 2, 0.0)
    middle = (edges[1:] + edges[:-1]) / 2
    return np.concatenate((times, middle)), np.concatenate((survival, beyond), axis=1)


def _shapes(times: Floats, survival: Floats) -> Floats:
    """Shape of the Weibull through the middle and the end of each curve; 1 where it has none."""
    middle = int(times.searchsorted(times[-1] / 2))
    if middle >= times.size - 1 or times[middle] <= 0:
        return np.ones(survival.shape[0])
    ends = -np.log(np.maximum(survival[:, [middle, -1]], _LEAST))
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = np.log(ends[:, 1] / ends[:, 0]) / np.log(times[-1] / times[middle])
    return np.where(np.isfinite(shape), np.clip(shape, *_SHAPES), 1.0)
