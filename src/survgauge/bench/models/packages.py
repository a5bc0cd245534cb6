"""Models of scikit-survival, XGBoost and CatBoost, which are called where they are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, Ints, positive, whole_number
from ..._tools.extras import need
from ...data.adapters import curves_from_aft
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.cox import CoxModel
from ...estimators.learners import FitError
from ...estimators.learners.base import SurvivalModel, flat
from ...estimators.learners.trees import (
    BaselineHazard,
    SurvivalForest,
    above_zero,
    hazard_curves,
    smooth_grid,
    step_times,
)
from .registry import FACTS


class ScoreModel(SurvivalModel):
    """Hazards are exp(score) * H0(t); a subclass learns the scores.

    Columns that are constant in training are left out, because several libraries refuse them. With
    none left everybody has score 0.
    """

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self._check()
        self.varies_ = varying(X)
        if self.varies_.any():
            self._learn(X[:, self.varies_], y)
        self.times_ = step_times(y)
        self.log_hazard_ = BaselineHazard(y).stepped(self._scores(X), self.times_)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return hazard_curves(self._scores(X), self.times_, self.log_hazard_)

    def _scores(self, X: Floats) -> Floats:
        return self._score(X[:, self.varies_]) if self.varies_.any() else np.zeros(X.shape[0])

    def _check(self) -> None:
        """Refuse parameters."""

    def _learn(self, X: Floats, y: Outcomes) -> None:
        """Learn from columns that vary."""
        raise NotImplementedError

    def _score(self, X: Floats) -> Floats:
        """Log hazard of rows, up to a constant."""
        raise NotImplementedError


def varying(X: Floats) -> Bools:
    """Which columns vary by more than rounding."""
    spread: Bools = np.ptp(X, axis=0) > 1e-10 * np.abs(X).max(axis=0)
    return spread


def signed_ranks(y: Outcomes) -> Ints:
    """Ranks of the times from 1 on, negative if censored, as boosters read them.

    The partial likelihood depends on the order of the times alone; ranks carry a sign where a time
    of 0 cannot, and keep apart what single precision would merge.

    >>> signed_ranks(Outcomes([0, 5, 5], [0, 1, 0]))
    array([-1,  2, -2])
    """
    rank = np.unique(y.time, return_inverse=True)[1].reshape(-1) + 1
    return np.asarray(np.where(y.event, rank, -rank))


def standardised(X: Floats, mean: Any = None, spread: Any = None) -> Floats:
    """Columns with mean 0 and standard deviation 1, or by those of other rows."""
    mean = X.mean(axis=0) if mean is None else mean
    spread = X.std(axis=0) if spread is None else spread
    scaled: Floats = (X - mean) / spread
    return scaled


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


_GRID = 400
#: Times beyond this many times the last observed one count as that.
_REACH = 1e3


@dataclass(eq=False, repr=False)
class TimeBooster(SurvivalModel):
    """Accelerated failure time: log T = f(x) + scale * Z; a subclass learns f."""

    distribution: str = "normal"
    scale: float = 1.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self._check()
        one_of("distribution", self.distribution, ("normal", "logistic", "extreme"))
        positive(self.scale, "scale")
        if not y.time.any():
            raise FitError(self.label, "all observed times are 0")
        time, note = above_zero(y.time)
        if note:
            self._note(note, warn=True)
        # In units of the mean time: libraries begin from a median of about 1.
        self.unit_, self.last_ = float(time.mean()), float(y.time.max())
        self.varies_ = varying(X)
        columns = X[:, self.varies_] if self.varies_.any() else np.zeros((len(X), 1))
        upper = np.where(y.event, time / self.unit_, np.inf)
        self._learn(columns, time / self.unit_, upper)
        # Where 1 % of a logistic curve is left, for the longest-lived training subject.
        far = float(self._median(X).max()) * np.exp(4.6 * self.scale)
        self.times_ = smooth_grid(y.time, min(far, _REACH * self.last_), _GRID)

    def _check(self) -> None:
        """Refuse parameters."""

    def _learn(self, X: Floats, lower: Floats, upper: Floats) -> None:
        """Learn from bounds of the times."""
        raise NotImplementedError

    def _log_time(self, X: Floats) -> Floats:
        """Predict f, for times in the unit of `_learn`."""
        raise NotImplementedError

    def _centre(self, X: Floats) -> Floats:
        columns = X[:, self.varies_] if self.varies_.any() else np.zeros((len(X), 1))
        limit = np.log(_REACH * self.last_ / self.unit_)
        return self.unit_ * np.exp(np.clip(self._log_time(columns), -50.0, limit))

    def _median(self, X: Floats) -> Floats:
        factor = np.log(2.0) ** self.scale if self.distribution == "extreme" else 1.0
        return self._centre(X) * factor

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        return curves_from_aft(
            self._centre(X), self.scale, self.times_, distribution=self.distribution
        )

    def _predict_time(self, X: Floats) -> Floats:
        return self._median(X)


def check_booster(model: Any, shares: tuple[str, ...] = ()) -> None:
    """Refuse parameters that boosters share."""
    whole_number(model.n_estimators, "n_estimators", 1)
    positive(model.l2, "l2", zero=True)
    for name in ("learning_rate", *shares):
        if not 0 < getattr(model, name) <= 1:
            raise InputError(f"{name} must lie in (0, 1]; got {getattr(model, name)}")


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
        Its scale, the same for all subjects and not learnt.
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
        Its scale, the same for all subjects and not learnt.
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
