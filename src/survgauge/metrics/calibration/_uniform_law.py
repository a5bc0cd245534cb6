"""Laws of D-calibration's distance where the limit law is not good: few subjects, few events."""

from __future__ import annotations

import numpy as np

from ..._tools.arrays import Bools, Floats
from ..._tools.random import stream
from ...reference.kaplan_meier import KaplanMeier

#: Without censoring the law is exact up to this many subjects.
EXACT_LAW = 100
#: With fewer events than this among censored subjects the law is drawn, up to so many subjects; the
#: limit law rejects true models in up to 20 % instead of 5 % there.
FEW_EVENTS, DRAWN_LAW = 10, 200
#: Samples that are drawn.
DRAWS = 1999
#: A distance this close to another one is the same.
_SAME = 1e-12


def exact_tail(n: int, d: float) -> float:
    """Probability that Kolmogorov's distance of n uniform numbers reaches d.

    >>> round(exact_tail(1, 0.975), 3), round(exact_tail(10, 0.409), 3)
    (0.05, 0.05)
    """
    from scipy.stats import kstwo  # takes long to load, and only small samples ask for it

    return float(kstwo.sf(d, n))


def drawn_tail(n: int, censoring: KaplanMeier, d: float) -> float:
    """Probability that the weighted distance of n censored uniform numbers reaches d.

    Censoring times are drawn from `censoring`, the reverse Kaplan-Meier of u. The same numbers are
    drawn whatever the subjects and their order. So few subjects say little about their censoring:
    where no censoring at all would make such a distance more likely, that counts.
    """
    numbers = stream(0, "D-calibration", n).random((2, DRAWS, n))
    fallen = np.append(1.0 - censoring.survival, np.inf)
    ends = np.append(censoring.times, np.inf)[fallen.searchsorted(numbers[0], "right")]
    u, event = np.minimum(numbers[1], ends), numbers[1] <= ends
    drawn = float((1 + np.sum(_distances(u, event) >= d - _SAME)) / (DRAWS + 1))
    return max(drawn, exact_tail(n, d))


def _distances(u: Floats, event: Bools) -> Floats:
    """Weighted distance of each row of censored numbers from the uniform law."""
    order = u.argsort(axis=1, kind="stable")
    u, event = np.take_along_axis(u, order, 1), np.take_along_axis(event, order, 1)
    at_risk = np.arange(u.shape[1], 0, -1, dtype=np.float64)
    left = np.where(event, 1.0 - 1.0 / at_risk, 1.0)
    after, g = 1.0 - left.cumprod(axis=1), np.where(event, 1.0, 1.0 - 1.0 / at_risk).cumprod(axis=1)
    growth = 1.0 / (1.0 - _before(u, 0.0))
    clock = np.cumsum((1.0 / (1.0 - u) - growth) / _before(g, 1.0), axis=1)
    gap = np.maximum(np.abs(after - u), np.abs(_before(after, 0.0) - u))
    distances: Floats = (gap / ((1.0 - u) * (1.0 + clock))).max(axis=1)
    return distances


def _before(values: Floats, first: float) -> Floats:
    """Values one place earlier in each row."""
    return np.concatenate((np.full((values.shape[0], 1), first), values[:, :-1]), axis=1)
