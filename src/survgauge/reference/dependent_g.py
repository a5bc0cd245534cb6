"""How likely it is to be observed, where censoring depends on the event by an assumed copula.

Independent censoring has one answer, G. A dependent one has two, which both are G where there is
no dependence. With S and G of `CopulaGraphic`, H the joint survival and t- just before t:

- an event at t is observed with P(C >= t | T = t) = [H(S(t-), G(t-)) - H(S(t), G(t-))] / [S(t-) -
  S(t)]; where the reference has no event at t, its next event time stands for it;
- somebody event-free at t is known to be so with P(C > t | T > t) = H(S(t), G(t)) / S(t).

Only the first is a weight. Those known to be event-free at t are no fair sample of all who are: the
censoring of each depends on how much longer it lives. Scores count them by difference instead, as
everybody less the weighted events (`LateByDifference`), which is right wherever censoring depends
on the event time and, given that, on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.outcomes import Outcomes
from ..errors import InputError
from .copula_graphic import CopulaGraphic
from .dependence import Dependence
from .g_source import WholeG, g_source
from .kaplan_meier import KaplanMeier, RiskTable
from .losses import Loss
from .reference import Reference


class DependentG(KaplanMeier):
    """Probabilities of being observed, read where G is: G(t-) for events, G(t) for survivors.

    Attributes
    ----------
    dependence : Dependence
        What was assumed.
    source : {"test", "train"}
        Whose outcomes both laws were estimated from.
    """

    def __init__(self, laws: CopulaGraphic, source: str) -> None:
        if laws.dependence is None:
            raise InputError("dependence must not be 0 here: use Kaplan-Meier")
        self.dependence, self.source = laws.dependence, source
        event, free = laws.observed()
        never = np.zeros(laws.times.size, dtype=bool)
        super().__init__(laws.times, free, never)
        self._event = KaplanMeier(laws.times, event, never)

    def at(self, t: Any, side: str = "right") -> Floats:
        """Probability for somebody event-free at `t`; with ``side="left"`` for an event at `t`."""
        return self._event.at(t, side) if side == "left" else super().at(t, side)


@dataclass(frozen=True)
class LateByDifference:
    """Losses where everybody counts as an event at tau, and events as the difference to that."""

    #: Event times; of shape (n,).
    time: Floats
    #: What the events before tau weigh, 0 for everybody else; of shape (n,).
    weight: Floats
    #: Horizon.
    tau: float

    def phi(self, rule: Loss, times: Floats) -> Floats:
        """Loss of each subject; single ones may be negative."""
        late = rule.of(np.full(times.size, self.tau), times)
        return late + self.weight * (rule.of(self.time, times) - late)


def assumed_g(
    dependence: Dependence | None,
    censoring: Any,
    y: Outcomes,
    reference: Reference | None,
    usual: str = "test",
) -> Any:
    """Return `censoring` as it is, or what stands for G under an assumed dependence.

    Parameters
    ----------
    dependence : Dependence, optional
        None: independent censoring.
    censoring : {"test", "train"}, optional
        Whose outcomes the laws are estimated from; the caller's own G is refused.
    y : Outcomes
        Test outcomes, with what each subject counts as weight.
    reference : Reference, optional
        Training outcomes.
    usual : {"test", "train"}
        The convention's source.
    """
    if dependence is None or isinstance(censoring, DependentG):
        return censoring
    source = g_source(censoring, reference is not None, usual)
    if source == "given" or isinstance(censoring, WholeG):
        raise InputError(
            "dependence needs laws of event and censoring time that it estimates itself: "
            "censoring must be 'test' or 'train' with it, not a G of your own"
        )
    table = reference.table if source == "train" and reference else RiskTable.of(y)
    return DependentG(CopulaGraphic(table, dependence), source)
