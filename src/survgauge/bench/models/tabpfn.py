"""Survival by classification with TabPFN, whose weights the user must have."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, whole_number
from ..._tools.extras import need
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...estimators.learners.base import SurvivalModel
from .registry import FACTS, find_weights


@dataclass(eq=False, repr=False)
class TabPFNSurvival(SurvivalModel):
    r"""TabPFN asked for the hazard of each of some intervals, by classification.

    Intervals end at quantiles of the event times. In each, a classifier sees the subjects who are
    at risk at its beginning and learns who has the event in it; subjects who are censored in its
    first half are left out, later ones count as free of it. Survival is the product of 1 - hazard,
    linear between the ends.

    Parameters
    ----------
    intervals : int
        How many, at most; tied quantiles make one.
    members : int
        Members of TabPFN's ensemble.
    weights : path, optional
        File with the weights of TabPFN's classifier. By default the newest in the folder where
        TabPFN keeps them. Nothing is downloaded.
    device : str
        Of torch: "cpu", "cuda" or "auto".
    random_state : int or None
        Of the ensemble.

    Notes
    -----
    TabPFN's use statistics are turned off. Its weights have licences of their own, some of them
    for non-commercial use only.

    References
    ----------
    Hollmann et al. (2025), Accurate predictions on small data with a tabular foundation model,
    Nature 637. Craig, Zhong, Tibshirani (2021), Survival stacking: casting survival analysis as a
    classification problem.
    """

    facts = FACTS["tabpfn"]

    intervals: int = 8
    members: int = 4
    weights: str | None = None
    device: str = "cpu"
    random_state: int | None = 0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        whole_number(self.intervals, "intervals", 1)
        whole_number(self.members, "members", 1)
        self.edges_ = _edges(y, self.intervals)
        self.hazards_ = [
            self._hazard(X, y, start, end)
            for start, end in zip(self.edges_[:-1], self.edges_[1:], strict=True)
        ]

    def _hazard(self, X: Floats, y: Outcomes, start: float, end: float) -> Any:
        """Learn the hazard of an interval: a classifier, or a number where all are alike."""
        happens = y.event & (y.time <= end)
        # An event at 0 belongs to the first interval.
        rows = ((y.time > start) | (start == 0)) & (happens | (y.time > (start + end) / 2))
        label = happens[rows]
        if label.all() or not label.any():
            return float(label.all() and label.size > 0)
        return self._classifier().fit(X[rows], label.astype(np.int64))

    def _classifier(self) -> Any:
        """Load TabPFN from the user's weights."""
        os.environ.setdefault("TABPFN_DISABLE_TELEMETRY", "1")
        tabpfn = need("tabpfn", "model 'tabpfn'", "tabpfn")
        return tabpfn.TabPFNClassifier(
            model_path=str(find_weights(self.weights)),
            n_estimators=self.members,
            device=self.device,
            random_state=self._integer_seed("ensemble"),
        )

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        free = np.ones((X.shape[0], self.edges_.size))
        for k, hazard in enumerate(self.hazards_):
            chance = hazard if isinstance(hazard, float) else hazard.predict_proba(X)[:, 1]
            free[:, k + 1] = free[:, k] * (1.0 - np.asarray(chance, dtype=np.float64))
        return SurvivalCurves(self.edges_, free)


def _edges(y: Outcomes, intervals: int) -> Floats:
    """Zero and quantiles of the event times.

    >>> _edges(Outcomes([1, 2, 3, 4, 9], [1, 1, 1, 1, 0]), 2)
    array([0. , 2.5, 4. ])
    """
    shares = np.linspace(0.0, 1.0, intervals + 1)[1:]
    ends = np.unique(np.quantile(y.time[y.event], shares))
    ends = ends[ends > 0]
    return np.append(0.0, ends if ends.size else max(float(y.time.max()), 1.0))
