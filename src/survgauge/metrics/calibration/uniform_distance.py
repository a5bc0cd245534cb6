"""How far censored numbers are from uniform: Kolmogorov and Smirnov under censoring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import kolmogorov, ndtr

from ..._tools.arrays import Bools, Floats
from ..._tools.random import stream
from ...data.outcomes import Outcomes
from ...estimators.kaplan_meier import KaplanMeier, RiskTable

#: Without censoring the distribution is exact up to this many subjects.
EXACT_DISTRIBUTION = 100
#: With fewer events than this among censored subjects the distribution is drawn, up to so many
#: subjects; the
#: limit distribution rejects true models in up to 20 % instead of 5 % there.
FEW_EVENTS, DRAWN_DISTRIBUTION = 10, 200
#: Samples that are drawn.
DRAWS = 1999
#: A distance this close to another one is the same.
_SAME = 1e-12


@dataclass(frozen=True)
class UniformDistance:
    """How far Kaplan-Meier of u = 1 - S(t) lies from the uniform distribution."""

    statistic: float
    distance: float
    p_value: float
    #: Time scale of the Brownian bridge at the last u; 1 without censoring.
    coverage: float
    #: Largest u that was observed, and Kaplan-Meier's weight there.
    last: float
    km: KaplanMeier
    #: Where the p-value comes from.
    distribution: str


EXACT = "Kolmogorov's distribution for so many subjects, exact"
DRAWN = f"the larger of {DRAWS} drawn samples with the censoring found and the exact distribution"
LIMIT = "Brownian bridge up to bridge_time, Stephens' factor"


def uniform_distance(y: Outcomes, s: Floats) -> UniformDistance:
    """Largest |F(u) - u|, weighted so that its limit is a Brownian bridge (Hall and Wellner)."""
    u = Outcomes._trusted(1.0 - s, y.event, y.weight if y.weighted else None)
    table = RiskTable.of(u)
    km = KaplanMeier.from_table(table)
    reverse = KaplanMeier.from_table(table, censoring=True)
    before_g = shifted(reverse.survival, 1.0)
    # C(u) = integral of dv / ((1-v)^2 G(v-)); only the last u can be 1, where C is infinite.
    inside = int(table.times.searchsorted(1.0))
    growth = 1.0 / (1.0 - np.concatenate(([0.0], table.times[:inside])))
    bridge = np.cumsum(np.diff(growth) / before_g[:inside])
    coverage = float(bridge[-1] / (1.0 + bridge[-1])) if inside == table.times.size else 1.0
    bridge += 1.0
    before_g[:inside] = growth[1:] / bridge
    del growth, bridge  # of many subjects each is as large as the outcomes
    after = 1.0 - km.survival
    gap = np.maximum(np.abs(after - table.times), np.abs(shifted(after, 0.0) - table.times))
    statistic = float((gap * before_g).max())
    p, distribution = _tail(table, reverse, statistic, coverage)
    last = float(table.times[-1])
    return UniformDistance(statistic, float(gap.max()), p, coverage, last, km, distribution)


def _tail(
    table: RiskTable, reverse: KaplanMeier, statistic: float, coverage: float
) -> tuple[float, str]:
    """Probability of such a distance if the model is right, and which distribution says so."""
    total, events = float(table.at_risk[0]), float(table.events.sum())
    whole = total.is_integer()  # no other number of subjects can be drawn
    if whole and events == total and total <= EXACT_DISTRIBUTION:
        return exact_tail(int(total), statistic), EXACT
    if whole and events < min(FEW_EVENTS, total) and total <= DRAWN_DISTRIBUTION:
        return drawn_tail(int(total), reverse, statistic), DRAWN
    # Stephens' factor makes the limit distribution good from a few subjects on.
    root = np.sqrt(total)
    return bridge_tail((root + 0.12 + 0.11 / root) * statistic, coverage), LIMIT


def shifted(values: Floats, first: float) -> Floats:
    """Left limits of a step function at its jumps, from its values there."""
    return np.concatenate(([first], values[:-1]))


def bridge_tail(d: float, a: float) -> float:
    """Probability that a Brownian bridge leaves (-d, d) before time `a`.

    With W(s) = (1+s) B(s/(1+s)) the band becomes the lines +-d(1+s), and the images of the start at
    2kd, of weight (-1)^k exp(-2 k^2 d^2), cancel W on both lines.

    >>> round(bridge_tail(1.358, 1.0), 3), round(bridge_tail(1.273, 0.5), 3)
    (0.05, 0.05)
    """
    if not a > 0:
        return 1.0
    if a >= 1:
        return float(kolmogorov(d))
    k = np.arange(1, 201)
    edge, image = d / np.sqrt(a * (1 - a)), 2 * k * d * np.sqrt((1 - a) / a)
    sign = np.where(k % 2 == 1, 1.0, -1.0)
    terms = sign * np.exp(-2.0 * (k * d) ** 2) * (ndtr(edge - image) - ndtr(-edge - image))
    return float(np.clip(2 * ndtr(-edge) + 2 * terms.sum(), 0.0, 1.0))


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
    """Weighted distance of each row of censored numbers from the uniform distribution."""
    order = u.argsort(axis=1, kind="stable")
    u, event = np.take_along_axis(u, order, 1), np.take_along_axis(event, order, 1)
    at_risk = np.arange(u.shape[1], 0, -1, dtype=np.float64)
    left = np.where(event, 1.0 - 1.0 / at_risk, 1.0)
    after, g = 1.0 - left.cumprod(axis=1), np.where(event, 1.0, 1.0 - 1.0 / at_risk).cumprod(axis=1)
    growth = 1.0 / (1.0 - _before(u, 0.0))
    bridge = np.cumsum((1.0 / (1.0 - u) - growth) / _before(g, 1.0), axis=1)
    gap = np.maximum(np.abs(after - u), np.abs(_before(after, 0.0) - u))
    distances: Floats = (gap / ((1.0 - u) * (1.0 + bridge))).max(axis=1)
    return distances


def _before(values: Floats, first: float) -> Floats:
    """Values one place earlier in each row."""
    return np.concatenate((np.full((values.shape[0], 1), first), values[:, :-1]), axis=1)
