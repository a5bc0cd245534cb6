"""Cox model with an elastic net penalty (scikit-survival's Coxnet)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...errors import InputError
from .registry import FACTS
from .scored import ScoreModel, signed_ranks, standardised

_PATH = 20


@dataclass(eq=False, repr=False)
class Coxnet(ScoreModel):
    """Cox's partial likelihood with an elastic net penalty, by scikit-survival.

    Columns are standardised. The penalty is a share of the smallest one under which all
    coefficients are 0, so that it means the same in every dataset.

    Parameters
    ----------
    strength : float
        That share, between 0 and 1: at 1 no column has an effect.
    l1_ratio : float
        Share of the lasso in the penalty, above 0 and at most 1; the rest is ridge.

    References
    ----------
    Simon, Friedman, Hastie, Tibshirani (2011), Regularization paths for Cox's proportional hazards
    model via coordinate descent, Journal of Statistical Software 39.
    """

    facts = FACTS["coxnet"]

    strength: float = 0.05
    l1_ratio: float = 0.5

    def _check(self) -> None:
        for name in ("strength", "l1_ratio"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; got {getattr(self, name)}")

    def _learn(self, X: Floats, y: Outcomes) -> None:
        from sksurv.linear_model import CoxnetSurvivalAnalysis

        self.mean_, self.spread_ = X.mean(axis=0), X.std(axis=0)
        self.coefficients_ = np.zeros(X.shape[1])
        if self.strength == 1:
            return
        # From the largest penalty down, each fit starting from the one before.
        path = CoxnetSurvivalAnalysis(
            n_alphas=_PATH, alpha_min_ratio=float(self.strength), l1_ratio=float(self.l1_ratio)
        )
        order = Outcomes(np.abs(signed_ranks(y)), y.event)
        with self._noting_warnings():
            path.fit(standardised(X), order.to_structured())
        self.coefficients_ = np.asarray(path.coef_, dtype=np.float64)[:, -1]

    def _score(self, X: Floats) -> Floats:
        return standardised(X, self.mean_, self.spread_) @ self.coefficients_
