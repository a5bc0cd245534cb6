"""XGBoost with the objectives of Cox's partial likelihood and of accelerated failure time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...estimators.learners.base import flat
from .boosted import TimeBooster, check_booster
from .registry import FACTS
from .scored import ScoreModel, signed_ranks


@dataclass(eq=False, repr=False)
class _XGBoost:
    """Parameters of both."""

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int = 3
    min_child_weight: float = 1.0
    subsample: float = 1.0
    colsample: float = 1.0
    l2: float = 1.0
    random_state: int | None = 0

    def _check(self) -> None:
        check_booster(self, ("subsample", "colsample"))


@dataclass(eq=False, repr=False)
class XGBoostCox(_XGBoost, ScoreModel):
    """XGBoost with the objective ``survival:cox``, and curves by Breslow's baseline.

    Parameters
    ----------
    n_estimators, max_depth : int
        Trees, and their depth.
    learning_rate : float
        Shrinks every tree.
    min_child_weight : float
        Smallest sum of second derivatives in a leaf.
    subsample, colsample : float
        Shares of the rows and of the columns that a tree sees.
    l2 : float
        Penalty on the values of leaves.
    random_state : int or None
        Of the rows and columns that are drawn.

    References
    ----------
    Chen and Guestrin (2016), XGBoost: a scalable tree boosting system, KDD.
    """

    facts = FACTS["xgboost_cox"]

    def _learn(self, X: Floats, y: Outcomes) -> None:
        import xgboost

        data = xgboost.DMatrix(X, signed_ranks(y), nthread=1)
        self.booster_ = xgboost.train(
            {"objective": "survival:cox", **_settings(self)}, data, self.n_estimators
        )

    def _score(self, X: Floats) -> Floats:
        return _margin(self.booster_, X)


@dataclass(eq=False, repr=False)
class XGBoostAFT(_XGBoost, TimeBooster):
    """XGBoost with the objective ``survival:aft``, and the curves of its distribution.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
        Of the logarithm of the time, up to place and scale.
    scale : float
        Its scale, the same for everybody and not learnt.
    n_estimators, learning_rate, max_depth, min_child_weight, subsample, colsample, l2, random_state
        As of ``xgboost_cox``.

    References
    ----------
    Barnwal, Cho, Hocking (2022), Survival regression with accelerated failure time model in
    XGBoost, Journal of Computational and Graphical Statistics 31.
    """

    facts = FACTS["xgboost_aft"]

    def _learn(self, X: Floats, lower: Floats, upper: Floats) -> None:
        import xgboost

        data = xgboost.DMatrix(X, nthread=1)
        data.set_float_info("label_lower_bound", lower)
        data.set_float_info("label_upper_bound", upper)
        settings = {
            "objective": "survival:aft",
            "aft_loss_distribution": self.distribution,
            "aft_loss_distribution_scale": float(self.scale),
            **_settings(self),
        }
        self.booster_ = xgboost.train(settings, data, self.n_estimators)

    def _log_time(self, X: Floats) -> Floats:
        return _margin(self.booster_, X)


def _settings(model: Any) -> dict[str, Any]:
    """Parameters under XGBoost's names; one thread, whose sums keep their order."""
    return {
        "eta": model.learning_rate,
        "max_depth": model.max_depth,
        "min_child_weight": model.min_child_weight,
        "subsample": model.subsample,
        "colsample_bytree": model.colsample,
        "lambda": model.l2,
        "seed": model._integer_seed("boosting"),
        "nthread": 1,
        "verbosity": 0,
    }


def _margin(booster: Any, X: Floats) -> Floats:
    import xgboost

    data = xgboost.DMatrix(np.ascontiguousarray(X), nthread=1)
    return flat(booster.predict(data, output_margin=True))
