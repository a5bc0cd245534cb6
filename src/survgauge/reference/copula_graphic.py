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

from .._tools.arrays import Floats, Ints
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
        # Without the rises that rounding makes.
        self._s = np.minimum.accumulate(copula.inverse(self._log_s))
        self._g = np.minimum.accumulate(copula.inverse(self._log_g))
        self.law = KaplanMeier(self.times, self._s, table.jumps(censoring=False))
        self.censoring = KaplanMeier(self.times, self._g, table.jumps(censoring=True))

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

    def observed(self) -> tuple[Floats, Floats]:
        """Probabilities of being observed by the number of observed times that have passed, 0..m.

        Of an event at the next event time, and of somebody event-free by now; see
        `survgauge.reference.dependent_g`.
        """
        s, alive = self._s, np.concatenate(([1.0], self._after))
        following = self._next_events()
        # Where no event follows, all that is left lies ahead.
        log_next = np.where(following < s.size, self._log_s[following % s.size], np.inf)
        s_next = np.where(following < s.size, s[following % s.size], 0.0)
        beyond = self._copula.inverse(np.logaddexp(log_next, self._log_g))
        with np.errstate(divide="ignore", invalid="ignore"):
            event, free = (alive - beyond) / (s - s_next), alive / s
        over = s <= s_next  # nothing of the law is left
        event[over] = event[~over][-1]
        free[s <= 0] = event[s <= 0]
        return np.clip(event, 0.0, 1.0), np.clip(free, 0.0, 1.0)

    def _next_events(self) -> Ints:
        """Place in the law (0: before all) of the first event time not before each of the times.

        One past the end where there is none.
        """
        size = self.times.size
        places = np.where(self._table.jumps(censoring=False), np.arange(size), size)
        following = np.minimum.accumulate(places[::-1])[::-1]
        return np.append(following, size) + 1

    def given_censored(self, start: Ints, end: Ints) -> Floats:
        """Survival of the event time given that censoring came after `start` times until `end`.

        P(T > t | G falls from G(start) to G(end)) = [H(S(t), G(start)) - H(S(t), G(end))] /
        [G(start) - G(end)] after no event time, and after each: (groups, K + 1). An `end` past the
        last time stands for infinity.
        """
        rows = np.flatnonzero(np.append(True, self._table.jumps(censoring=False)))
        log_s, g = self._log_s[rows], self._g
        last = end >= g.size
        end = np.minimum(end, g.size - 1)
        found = self._copula.inverse(np.logaddexp(log_s, self._log_g[start][:, None]))
        later = self._copula.inverse(np.logaddexp(log_s, self._log_g[end][:, None]))
        found -= np.where(last[:, None], 0.0, later)
        found /= (g[start] - np.where(last, 0.0, g[end]))[:, None]
        return np.clip(np.minimum.accumulate(found, axis=1), 0.0, 1.0)


def _sums(log_steps: Floats) -> Floats:
    """Log of 0, and of the sums of steps that are given by their logs."""
    return np.concatenate(([-np.inf], np.logaddexp.accumulate(log_steps)))
