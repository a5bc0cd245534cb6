"""Extremely randomised survival trees (scikit-survival's ExtraSurvivalTrees)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...estimators.learners.trees import SurvivalForest
from .registry import FACTS


@dataclass(eq=False, repr=False)
class ExtraTrees(SurvivalForest):
    """A survival forest whose trees split at thresholds that are drawn, not searched.

    Its parameters are those of the random survival forest (``rsf``).

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), Extremely randomized trees, Machine Learning 63.
    """

    facts = FACTS["extra_trees"]

    def _kind(self) -> Any:
        from sksurv.ensemble import ExtraSurvivalTrees

        return ExtraSurvivalTrees
