"""Copula-graphic estimates: laws of event and censoring time under an assumed dependence.

Whatever the dependence, the share pi(t) of subjects under observation past t is the joint survival
phi^-1(phi(S(t)) + phi(G(t))). Events make S fall and censorings make G fall, one after the other
(events first at equal times), so that phi(S) rises at every event time, and phi(G) at every
censoring time, by what phi(pi) rises there (Rivest and Wells 2001, in closed form; Zheng and Klein
1995). With phi = -log, independence, these are Kaplan-Meier and reverse Kaplan-Meier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from .dependence import Dependence, dependence_of
from .kaplan_meier import KaplanMeier, RiskTable


class CopulaGraphic:
    """Survival functions of event and censoring time under an assumed dependence.

    Build it with `fit`; without dependence it holds Kaplan-Meier and reverse Kaplan-Meier.

    Attributes
    ----------
    times : ndarray
        Distinct observed times.
    law, censoring : KaplanMeier
        Step functions of the event time and of the censoring time.

    References
    ----------
    Zheng and Klein (1995), Biometrika 82. Rivest and Wells (2001), Journal of Multivariate
    Analysis 79.

    Examples
    --------
    >>> y = ([1, 2, 3, 4], [1, 0, 1, 1])
    >>> CopulaGraphic.fit(y, 0.0).law.survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    >>> CopulaGraphic.fit(y, 0.5).law.survival.round(3)
    array([0.75 , 0.75 , 0.269, 0.   ])
    """

    def __init__(self, table: RiskTable, dependence: Dependence | None) -> None:
        self.times, self.dependence = table.times, dependence
        if dependence is None:
            self.law = KaplanMeier.from_table(table)
            self.censoring = KaplanMeier.from_table(table, censoring=True)
            return
        self._table = table
        copula = self._copula = dependence.archimedean
        at_risk, events = table.at_risk, table.events
        total = at_risk[0]
        after_events = at_risk - events
        #: Shares under observation before the events of each time, after them, and in the end.
        self._before, self._between = at_risk / total, after_events / total
        self._after = np.append(self._before[1:], 0.0)
        self._log_s = _sums(copula.log_rise(self._before, self._between))
        self._log_g = _sums(copula.log_rise(self._between, self._after))
        law = _monotone(copula.inverse(self._log_s))
        g = _monotone(copula.inverse(self._log_g))
        self.law = KaplanMeier(self.times, law, table.jumps(censoring=False))
        self.censoring = KaplanMeier(self.times, g, table.jumps(censoring=True))

    @classmethod
    def fit(cls, y: Any, dependence: Any) -> CopulaGraphic:
        """Estimate both laws from outcomes.

        Parameters
        ----------
        y : outcomes
            Anything that `Outcomes.of` reads; frequencies count as that many subjects.
        dependence : float or Dependence
            Kendall's tau of event and censoring time, by a Clayton copula (Frank where it is
            negative); or a `Dependence` with another copula.
        """
        return cls(RiskTable.of(Outcomes.of(y)), dependence_of(dependence))


def _sums(log_steps: Floats) -> Floats:
    """Log of 0, and of the sums of steps that are given by their logs."""
    return np.concatenate(([-np.inf], np.logaddexp.accumulate(log_steps)))


def _monotone(survival: Floats) -> Floats:
    """Survival without the rises that rounding makes."""
    return np.minimum.accumulate(survival)
