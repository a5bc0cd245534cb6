"""Models of scikit-survival, which is called where they are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.cox import CoxModel
from ...estimators.learners import FitError
from ...estimators.learners.base import flat
from ...estimators.learners.trees import SurvivalForest
from .registry import FACTS
from .scored import ScoreModel, signed_ranks, standardised

#: Penalties of Coxnet, each fit starting from the one before.
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


@dataclass(eq=False, repr=False)
class SurvivalSVM(ScoreModel):
    """A linear support vector machine that ranks subjects, by scikit-survival.

    It gives a rank score, which is no log hazard: a Cox model with the score as its only covariate
    turns it into one, and Breslow's baseline into curves.

    Parameters
    ----------
    alpha : float
        Weight of the ranking loss against the penalty.
    max_iter : int
        Steps of the optimiser, at most.
    random_state : int or None
        Breaks ties between equal times.

    References
    ----------
    Pölsterl, Navab, Katouzian (2015), Fast training of support vector machines for survival
    analysis, ECML PKDD.
    """

    facts = FACTS["svm"]

    alpha: float = 1.0
    max_iter: int = 100
    random_state: int | None = 0

    def _check(self) -> None:
        positive(self.alpha, "alpha")

    def _learn(self, X: Floats, y: Outcomes) -> None:
        from sksurv.svm import FastSurvivalSVM

        self.mean_, self.spread_ = X.mean(axis=0), X.std(axis=0)
        self.machine_ = FastSurvivalSVM(
            alpha=float(self.alpha),
            max_iter=self.max_iter,
            random_state=self._integer_seed("ties"),
        )
        order = Outcomes(abs(signed_ranks(y)), y.event)
        with self._noting_warnings():
            self.machine_.fit(standardised(X), order.to_structured())
        try:
            self.cox_ = CoxModel.fit(self._rank(X), y)
        except InputError as error:
            raise FitError(self.label, f"a Cox model of its score: {error}") from error

    def _rank(self, X: Floats) -> Floats:
        scaled = standardised(X, self.mean_, self.spread_)
        return flat(self.machine_.predict(scaled))[:, None]

    def _score(self, X: Floats) -> Floats:
        return self.cox_.log_risk(self._rank(X))
