"""CatBoost with the losses of Cox's partial likelihood and of accelerated failure time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.extras import need
from ...data.outcomes import Outcomes
from ...estimators.learners.base import flat
from .boosted import TimeBooster, check_booster
from .registry import FACTS
from .scored import ScoreModel, signed_ranks


@dataclass(eq=False, repr=False)
class _CatBoost:
    """Parameters of both."""

    n_estimators: int = 200
    learning_rate: float = 0.05
    depth: int = 4
    l2: float = 3.0
    random_state: int | None = 0

    def _check(self) -> None:
        check_booster(self)


@dataclass(eq=False, repr=False)
class CatBoostCox(_CatBoost, ScoreModel):
    """CatBoost with the loss ``Cox``, and curves by Breslow's baseline.

    Parameters
    ----------
    n_estimators, depth : int
        Trees, and their depth.
    learning_rate : float
        Shrinks every tree.
    l2 : float
        Penalty on the values of leaves.
    random_state : int or None
        Seed.

    References
    ----------
    Prokhorenkova, Gusev, Vorobev, Dorogush, Gulin (2018), CatBoost: unbiased boosting with
    categorical features, NeurIPS.
    """

    facts = FACTS["catboost_cox"]

    def _learn(self, X: Floats, y: Outcomes) -> None:
        self.booster_ = _booster(self, "Cox").fit(X, signed_ranks(y))

    def _score(self, X: Floats) -> Floats:
        return flat(self.booster_.predict(X, thread_count=1))


@dataclass(eq=False, repr=False)
class CatBoostAFT(_CatBoost, TimeBooster):
    """CatBoost with the loss ``SurvivalAft``, and the curves of its distribution.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
        Of the logarithm of the time, up to place and scale.
    scale : float
        Its scale, the same for everybody and not learnt.
    n_estimators, learning_rate, depth, l2, random_state
        As of ``catboost_cox``.
    """

    facts = FACTS["catboost_aft"]

    def _learn(self, X: Floats, lower: Floats, upper: Floats) -> None:
        self.booster_ = None
        if not self.varies_.any():  # CatBoost refuses them
            self.constant_ = float(np.log(lower).mean())
            return
        loss = f"SurvivalAft:dist={self.distribution.capitalize()};scale={self.scale:g}"
        bounds = np.column_stack([lower, np.where(np.isinf(upper), -1.0, upper)])
        self.booster_ = _booster(self, loss).fit(X, bounds)

    def _log_time(self, X: Floats) -> Floats:
        if self.booster_ is None:
            return np.full(len(X), self.constant_)
        return flat(self.booster_.predict(X, prediction_type="RawFormulaVal", thread_count=1))


def _booster(model: Any, loss: str) -> Any:
    """CatBoost on one thread, which writes no files."""
    catboost = need("catboost", f"model {model.label!r}", "catboost")
    return catboost.CatBoost(
        {
            "loss_function": loss,
            "iterations": model.n_estimators,
            "learning_rate": model.learning_rate,
            "depth": model.depth,
            "l2_leaf_reg": model.l2,
            "random_seed": model._integer_seed("boosting"),
            "thread_count": 1,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
    )
