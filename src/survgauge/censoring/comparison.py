"""How the data set with drawn censoring compares with the one it came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.outcomes import Outcomes
from ..metrics.logrank import log_rank_test
from ..reference.kaplan_meier import KaplanMeier


@dataclass(frozen=True)
class CensoringComparison:
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
        result = log_rank_test(self.original, self.synthetic)
        return result.statistic, result.p_value

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
