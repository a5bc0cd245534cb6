"""Survival support vector machine (scikit-survival's FastSurvivalSVM)."""

from __future__ import annotations

from dataclasses import dataclass

from ..._tools.arrays import Floats, positive
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.cox import CoxModel
from ...estimators.learners import FitError
from ...estimators.learners.base import flat
from .registry import FACTS
from .scored import ScoreModel, signed_ranks, standardised


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
