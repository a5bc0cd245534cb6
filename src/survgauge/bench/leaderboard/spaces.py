"""What a search draws the parameters of each model from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import one_of


@dataclass(frozen=True)
class LogUniform:
    """Numbers between two limits, equally often in every decade; whole ones if `whole`."""

    low: float
    high: float
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> float | int:
        """Draw one."""
        value = float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))
        return round(value) if self.whole else value


@dataclass(frozen=True)
class Choice:
    """One of some values, each equally often."""

    values: tuple[Any, ...]

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw one."""
        return self.values[int(rng.integers(len(self.values)))]


_PENALTY = LogUniform(1e-3, 1e3)
_RATE = LogUniform(0.01, 0.3)
_STAGES = LogUniform(30, 500, whole=True)
_DEPTH = Choice((1, 2, 3, 4, 5, 6))
_LEAF = LogUniform(3, 60, whole=True)
_TREES: dict[str, LogUniform | Choice] = {
    "n_estimators": Choice((100,)),
    "min_samples_leaf": _LEAF,
    "max_features": Choice(("sqrt", 0.3, 0.6, 1.0)),
}
_XGBOOST: dict[str, LogUniform | Choice] = {
    "n_estimators": _STAGES,
    "learning_rate": _RATE,
    "max_depth": _DEPTH,
    "min_child_weight": LogUniform(1, 30),
    "subsample": Choice((0.5, 0.7, 1.0)),
    "colsample": Choice((0.5, 0.7, 1.0)),
    "l2": LogUniform(0.1, 30),
}
_CATBOOST: dict[str, LogUniform | Choice] = {
    "n_estimators": _STAGES,
    "learning_rate": _RATE,
    "depth": _DEPTH,
    "l2": LogUniform(0.3, 30),
}
_NETWORK: dict[str, LogUniform | Choice] = {
    "learning_rate": LogUniform(1e-4, 1e-2),
    "weight_decay": LogUniform(1e-5, 1e-1),
    "batch_size": Choice((64, 128, 256)),
}
#: By model: parameters, and what they are drawn from. Models without an entry have nothing to tune.
SPACES: Mapping[str, Mapping[str, LogUniform | Choice]] = {
    "coxph": {"penalty": _PENALTY},
    "aft": {"penalty": LogUniform(1e-4, 1.0)},
    "coxnet": {
        "strength": LogUniform(0.003, 1.0),
        "l1_ratio": Choice((0.01, 0.25, 0.5, 0.75, 1.0)),
    },
    "gbm_c": {"n_estimators": _STAGES, "learning_rate": _RATE},
    "gbm_tree": {
        "n_estimators": _STAGES,
        "learning_rate": _RATE,
        "max_depth": _DEPTH,
        "min_samples_leaf": _LEAF,
    },
    "rsf": _TREES,
    "extra_trees": _TREES,
    "svm": {"alpha": LogUniform(1e-7, 1.0)},
    "xgboost_cox": _XGBOOST,
    "xgboost_aft": {
        **_XGBOOST,
        "distribution": Choice(("normal", "logistic", "extreme")),
        "scale": LogUniform(0.3, 3.0),
    },
    "catboost_cox": _CATBOOST,
    "catboost_aft": {
        **_CATBOOST,
        "distribution": Choice(("normal", "logistic", "extreme")),
        "scale": LogUniform(0.3, 3.0),
    },
    "survival_boost": {
        "n_iter": LogUniform(20, 200, whole=True),
        "learning_rate": _RATE,
        "max_leaf_nodes": Choice((4, 8, 16, 31)),
        "min_samples_leaf": LogUniform(10, 100, whole=True),
    },
    "mtlr": {**_NETWORK, "l2": LogUniform(0.01, 100), "smoothness": LogUniform(0.01, 100)},
    "deephit": _NETWORK,
    "deepsurv": {**_NETWORK, "hidden": Choice(((32,), (64,), (32, 32), (64, 64)))},
}


def draw(model: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw parameters of a model, in the order of its space.

    >>> sorted(draw("coxph", np.random.default_rng(0)))
    ['penalty']
    """
    one_of("model", model, SPACES, "the models with a search space")
    return {name: space.draw(rng) for name, space in SPACES[model].items()}
