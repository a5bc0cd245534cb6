"""Net benefit as a score of the status at a time: what treating by a predicted risk gains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ..score import Score
from ._status import make_status
from .status_scores import score_curve

#: Risks below a threshold by no more than this are equal to it: 1 - 0.8 is below 0.2 by rounding.
ROUNDING = 1e-12


class Treated:
    """What a subject that is treated gains: 1 with the event, minus the odds while event-free."""

    def __init__(self, threshold: float, everybody: bool = False) -> None:
        self.threshold, self.odds = threshold, threshold / (1 - threshold)
        self._everybody = everybody

    def treats(self, survival: Floats) -> Bools:
        """Whose risk is at least the threshold."""
        found: Bools = 1.0 - survival >= self.threshold - ROUNDING
        return found | self._everybody

    def __call__(
        self, survival: Floats, alive: Bools, weight: Floats, out: Floats | None = None
    ) -> Floats:
        """Return W l."""
        gain = np.where(alive, -self.odds, 1.0) * self.treats(survival)
        gain *= weight
        return gain


def treatment_score(
    y_true: Any, curves: Any, time: float, threshold: float, **options: Any
) -> Score:
    """Net benefit at a time of treating who has at least the threshold as risk, by 1/G.

    A mean over subjects: a treated subject with the event by `time` gains 1/G(T-), one that is
    event-free past it loses the odds of the threshold over G(t). The support has the share of those
    treated and the net benefit of treating everybody. `options` are those of `brier_score`.

    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 4, 8], [[1, 0.2, 0], [1, 0.5, 0.2], [1, 0.9, 0.8]])
    >>> found = treatment_score(([2, 5, 8], [1, 1, 1]), curves, 4.0, 0.2)
    >>> round(found.value, 4), round(found.support["treat_all"], 4)
    (0.25, 0.1667)
    """
    status, checked = make_status(y_true, curves, [time], **options)
    rule = Treated(threshold)
    found = score_curve(status, checked, rule, "net benefit").details
    everybody = score_curve(
        status, checked, Treated(threshold, everybody=True), "net benefit"
    ).details
    weight = status.weight_at(status.times.size - 1)
    total = float(weight.sum())
    treated = rule.treats(checked.at(float(status.times[-1])))
    if found.counted is not None:
        found.counted.shares |= {
            "treated": (float(weight @ treated), total),
            "treat_all": (everybody.value * total, total),
        }
    convention = {k: v for k, v in found.convention.items() if k != "loss"}
    convention |= {"threshold": threshold, "treated": "risk at least the threshold"}
    support = {} if found.counted is None else found.counted.result()
    return replace(found, convention=convention, support=support)
