"""How the data set with drawn censoring compares with the one it came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..errors import UndefinedMetricError
from ..nonparametric import KaplanMeier, RiskTable
from ..outcomes import Outcomes


def log_rank(y_a: Any, y_b: Any) -> tuple[float, float]:
    r"""Log-rank test of two groups: the chi-squared statistic (one degree of freedom), p-value.

    :math:`(\sum_t d_a - d n_a / n)^2 / \sum_t d \frac{n_a n_b (n - d)}{n^2 (n - 1)}` over the
    distinct event times of both groups.

    >>> statistic, p_value = log_rank(([1, 2, 3], [1, 1, 1]), ([4, 5, 6], [1, 1, 0]))
    >>> round(statistic, 3), round(p_value, 3)
    (5.052, 0.025)
    """
    tables = [RiskTable.of(Outcomes.of(y_a, "y_a")), RiskTable.of(Outcomes.of(y_b, "y_b"))]
    times = np.unique(np.concatenate([table.times[table.events > 0] for table in tables]))
    died, at_risk = np.zeros((2, times.size)), np.zeros((2, times.size))
    for group, table in enumerate(tables):
        k = table.times.searchsorted(times)
        at_risk[group] = np.append(table.at_risk, 0.0)[k]
        same = np.append(table.times, np.inf)[k] == times
        died[group] = np.where(same, np.append(table.events, 0.0)[k], 0.0)
    d, n = died.sum(axis=0), at_risk.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = d * at_risk[0] * at_risk[1] * (n - d) / (n**2 * (n - 1))
    variance = float(np.sum(spread[n > 1]))
    if not variance > 0:
        raise UndefinedMetricError("the groups are never at risk together when an event happens")
    statistic = float(np.sum(died[0] - d * at_risk[0] / n)) ** 2 / variance
    return statistic, float(chdtrc(1, statistic))


@dataclass(frozen=True)
class Comparison:
    """Event-time distribution of D'' (drawn censoring) against D (as it came) and D' (the truth).

    D'' is made of D's events, so that a difference from D is expected where D's censored
    subjects live longer; the log-rank test treats the two as independent samples and is to be
    read as a measure of distance. A difference from D' beyond chance means that the censoring is
    informative: Kaplan-Meier on D'' no longer estimates the distribution it came from.

    Attributes
    ----------
    original, synthetic, truth : Outcomes
        D, D'' and D'.
    """

    original: Outcomes
    synthetic: Outcomes
    truth: Outcomes

    @cached_property
    def curves(self) -> dict[str, KaplanMeier]:
        """Kaplan-Meier estimates of ``original``, ``synthetic`` and ``truth``."""
        return {name: KaplanMeier.fit(getattr(self, name)) for name in self.__dataclass_fields__}

    @cached_property
    def _test(self) -> tuple[float, float]:
        return log_rank(self.original, self.synthetic)

    @property
    def statistic(self) -> float:
        """Log-rank statistic of D and D''."""
        return self._test[0]

    @property
    def p_value(self) -> float:
        """Log-rank p-value of D and D''."""
        return self._test[1]

    @property
    def distance(self) -> float:
        """Largest gap between the Kaplan-Meier curves of D and D''."""
        return self._gap("original")

    @property
    def distance_from_truth(self) -> float:
        """Largest gap between the Kaplan-Meier curves of D' and D''."""
        return self._gap("truth")

    def _gap(self, other: str) -> float:
        """Largest gap up to the end of the shorter follow-up."""
        a, b = self.curves[other], self.curves["synthetic"]
        end = min(a.last_time, b.last_time)
        times = np.concatenate((a.times, b.times))
        times = times[times <= end]
        return float(np.abs(a.at(times) - b.at(times)).max(initial=0.0))
