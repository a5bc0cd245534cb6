"""Models that need no survival library: linear regression, Kaplan-Meier, Cox."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Floats, positive
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..errors import InputError
from ..reference.cox import CoxModel
from ..reference.kaplan_meier import KaplanMeier
from .base import SurvivalModel
from .errors import FitError
from .facts import FACTS
from .steps import step_times


@dataclass(eq=False, repr=False)
class LinearTime(SurvivalModel):
    """Linear regression of the event time on the uncensored rows; times out, no curves.

    Censored rows are left out, so that times are underestimated: the model is a yardstick.
    Collinear columns share their effect (the shortest solution on standardised columns).

    Parameters
    ----------
    floor : float or None
        Predicted times below it are raised to it, since a line knows no zero; None: no limit.

    Examples
    --------
    >>> model = LinearTime().fit([[1], [2], [3], [9]], ([10, 20, 30, 5], [1, 1, 1, 0]))
    >>> model.predict_time([[4], [-3]]).round(6)
    array([40.,  0.])
    """

    facts = FACTS["lr"]
    handles_weights = True

    floor: float | None = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        if self.floor is not None and not np.isfinite(self.floor):
            raise InputError(f"floor must be a finite number or None; got {self.floor}")
        rows, time, weight = X[y.event], y.time[y.event], y.weight[y.event]
        self.means_ = np.average(rows, axis=0, weights=weight)
        centred = rows - self.means_
        spread = np.sqrt(np.average(centred**2, axis=0, weights=weight))
        # Rounding leaves some spread in columns that are constant.
        varies = spread > 1e-10 * np.abs(rows).max(axis=0, initial=0.0)
        self.intercept_ = float(np.average(time, weights=weight))
        root = np.sqrt(weight)
        design = centred[:, varies] / spread[varies] * root[:, None]
        slopes, *_ = np.linalg.lstsq(design, (time - self.intercept_) * root, rcond=1e-10)
        self.coefficients_ = np.zeros(X.shape[1])
        self.coefficients_[varies] = slopes / spread[varies]

    def _predict_time(self, X: Floats) -> Floats:
        time: Floats = self.intercept_ + (X - self.means_) @ self.coefficients_
        return time if self.floor is None else np.maximum(time, self.floor)


class KaplanMeierModel(SurvivalModel):
    """Kaplan-Meier of the training set for everybody: what a model without features knows.

    Examples
    --------
    >>> model = KaplanMeierModel().fit([[0]] * 4, ([1, 2, 3, 4], [1, 0, 1, 1]))
    >>> model.predict_curves([[7]]).at([1, 3])
    array([[0.75 , 0.375]])
    """

    facts = FACTS["km"]
    handles_weights = True

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.times_ = step_times(y)
        self.survival_ = KaplanMeier.fit(y).at(self.times_)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = np.broadcast_to(self.survival_, (X.shape[0], self.times_.size))
        return SurvivalCurves(self.times_, survival, interpolation="step")


@dataclass(eq=False, repr=False)
class CoxPH(SurvivalModel):
    r"""Cox proportional hazards with Breslow's baseline, by Newton's method.

    :math:`S(t \mid x) = \exp(-H_0(t) \exp((x - \bar x)^\top \beta))`; see `reference.cox`.
    Where the partial likelihood has no single finite maximum (collinear columns, separation) a
    ridge penalty takes over, with a `FitWarning`.

    Parameters
    ----------
    penalty : float
        l2 penalty on the coefficients of standardised columns.

    References
    ----------
    Cox (1972), Regression models and life-tables, JRSS B 34. Breslow (1974), Covariance analysis
    of censored survival data, Biometrics 30.

    Examples
    --------
    >>> model = CoxPH().fit([[0], [1], [0], [1]], ([4, 3, 2, 1], [1, 1, 1, 1]))
    >>> model.predict_time([[0], [1]])
    array([4., 2.])
    """

    facts = FACTS["coxph"]
    handles_weights = True

    penalty: float = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        positive(self.penalty, "penalty", zero=True)
        try:
            self.cox_ = CoxModel.fit(X, y, self.penalty)
        except InputError as error:
            raise FitError(self.label, str(error)) from error
        for note in self.cox_.notes:
            self._note(note, warn="l2 penalty" in note)
        self.times_ = step_times(y)

    def _predict_curves(self, X: Floats) -> SurvivalCurves:
        survival = self.cox_.survival(X, self.times_)
        return SurvivalCurves(self.times_, survival, interpolation="step")
