"""Boosters of other libraries: what XGBoost and CatBoost have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive, whole_number
from ...data.adapters import curves_from_aft
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ...estimators.learners import FitError
from ...estimators.learners.base import SurvivalModel
from ...estimators.learners.trees import above_zero, smooth_grid
from .scored import varying

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
