"""How many pairs of subjects have a known order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...data.outcomes import Outcomes
from ...errors import UndefinedMetricError
from ...reference.kaplan_meier import RiskTable


@dataclass(frozen=True)
class ComparablePairs:
    """How many pairs of subjects have a known order.

    Attributes
    ----------
    number, total : float
        Comparable pairs and all pairs.
    event_rate : float
        Share a of subjects with an event.
    low, high : float
        Bounds of `share` for that rate where no two times are equal: all censored before the first
        event, or all after the last.
    """

    number: float
    total: float
    event_rate: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """Comparable pairs among all pairs."""
        return self.number / self.total


def comparable_pairs(y: Any) -> ComparablePairs:
    r"""Share r of the pairs whose order is known, and its bounds.

    .. math::
        \frac{a(na-1)}{n-1} \le r \le \frac{a(na-1)}{n-1} + \frac{2na(1-a)}{n-1}

    with a the share of events among n subjects. Two events at one time are no comparable pair, so
    equal times can take r below the bound.

    Parameters
    ----------
    y : outcomes
        Anything that `Outcomes.of` reads; frequencies count as that many subjects.

    References
    ----------
    Qi et al. (2023), An Effective Meaningful Way to Evaluate Survival Models, ICML, appendix C.

    Examples
    --------
    >>> found = comparable_pairs(([2, 4, 6, 8], [1, 1, 0, 1]))
    >>> found.number, round(found.share, 4), found.low, found.high
    (5.0, 0.8333, 0.5, 1.0)
    """
    table = RiskTable.of(Outcomes.of(y))
    n, events = float(table.at_risk[0]), float(table.events.sum())
    if not n > 1:
        raise UndefinedMetricError(f"y has no pair of subjects; got {n:g} subject(s)")
    a = events / n
    number = float((table.events * (table.at_risk - table.events)).sum())
    low = a * (events - 1) / (n - 1)
    return ComparablePairs(
        number, n * (n - 1) / 2, a, max(low, 0.0), low + 2 * events * (1 - a) / (n - 1)
    )
