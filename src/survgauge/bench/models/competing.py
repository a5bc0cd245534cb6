"""Models of several causes: Aalen-Johansen, one Cox model a cause, hazardous' SurvivalBoost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Floats, positive, whole_number
from ..._tools.extras import need
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError
from ...estimators.aalen_johansen import AalenJohansen
from ...estimators.cox import CoxModel
from ...estimators.learners import FitError
from ...estimators.learners.base import SurvivalModel
from ...estimators.learners.trees import step_times
from .registry import FACTS

#: Log hazard ratios above this are as good as infinite; sums of their exponentials stay finite.
_LARGEST_LOG_RISK = 300.0


class AalenJohansenModel(SurvivalModel):
    """Aalen-Johansen of the training set for everybody: the model without features.

    With one kind of event its curves are those of ``km``.

    Examples
    --------
    >>> y = Outcomes([1, 2, 3, 4], [1, 2, 0, 1], causes=["relapse", "death"])
    >>> model = AalenJohansenModel().fit([[0]] * 4, y)
    >>> model.predict_incidence([[7]]).at([2, 4], "relapse")
    array([[0.25, 0.75]])
    """

    facts = FACTS["aalen_johansen"]
    handles_weights = True

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.incidence_ = AalenJohansen.fit(y)

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        return self.incidence_.curves(X.shape[0])


@dataclass(eq=False, repr=False)
class CauseSpecificCox(SurvivalModel):
    r"""One Cox model of the hazard of each cause, combined to the incidence of all.

    In the model of cause k the other causes count as censored, which is right for a hazard. With
    :math:`dH_k(t \mid x) = e^{(x - \bar x)^\top \beta_k} dH_{k0}(t)`, Breslow's baseline,

    .. math:: F_k(t \mid x) = \sum_{s \le t} S(s- \mid x) \, dH_k(s \mid x), \quad
              S(t \mid x) = \prod_{s \le t} \Big(1 - \sum_k dH_k(s \mid x)\Big).

    Where the hazards of a time add up to more than 1, everybody has an event there, and its causes
    share as their hazards do. Without features this is Aalen-Johansen. A cause without an event in
    the training set has incidence 0.

    Parameters
    ----------
    penalty : float
        l2 penalty on the coefficients of standardised columns, in the model of every cause.

    Attributes
    ----------
    cox_ : tuple of CoxModel or None
        The model of each cause; None where the cause had no event.

    References
    ----------
    Benichou and Gail (1990), Estimates of absolute cause-specific risk in cohort studies,
    Biometrics 46. Ozenne et al. (2017), riskRegression: predicting the risk of an event using Cox
    regression models, The R Journal 9.

    Examples
    --------
    >>> y = Outcomes([4, 3, 2, 1], [1, 2, 1, 1], causes=["relapse", "death"])
    >>> model = CauseSpecificCox(penalty=1.0).fit([[0], [1], [0], [1]], y)
    >>> model.predict_incidence([[0], [1]]).at(2, "relapse").round(3)
    array([0.461, 0.557])
    """

    facts = FACTS["cause_specific_cox"]
    handles_weights = True

    penalty: float = 0.0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        positive(self.penalty, "penalty", zero=True)
        self.causes_ = y.causes or ("1",)
        self.times_ = step_times(y)
        self.cox_ = tuple(self._fit_cause(X, y, code) for code in range(1, len(self.causes_) + 1))

    def _fit_cause(self, X: Floats, y: Outcomes, code: int) -> CoxModel | None:
        of_cause = y if y.cause is None else y.only(code)
        name = self.causes_[code - 1]
        if not of_cause.event.any():
            self._note(f"cause {name!r} has no event, so its incidence is 0", warn=True)
            return None
        try:
            model = CoxModel.fit(X, of_cause, self.penalty)
        except InputError as error:
            raise FitError(self.label, f"cause {name!r}: {error}") from error
        for note in model.notes:
            self._note(f"cause {name!r}: {note}", warn="l2 penalty" in note)
        return model

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        values = np.zeros((X.shape[0], len(self.cox_), self.times_.size))
        for k, model in enumerate(self.cox_):
            if model is not None:
                risk = np.exp(np.minimum(model.log_risk(X), _LARGEST_LOG_RISK))
                steps = np.diff(model.cumulative_hazard, prepend=0.0)
                places = self.times_.searchsorted(model.times)
                values[:, k, places] = risk[:, None] * steps
        return IncidenceCurves(self.times_, combined(values), self.causes_, "step")


def combined(hazards: Floats) -> Floats:
    """Incidence of each cause from the steps of their hazards, (n, causes, times), overwritten.

    >>> combined(np.array([[[0.5, 0.0, 0.5], [0.0, 0.5, 1.5]]]))
    array([[[0.5   , 0.5   , 0.5625],
            [0.    , 0.25  , 0.4375]]])
    """
    total = hazards.sum(axis=1)
    free = np.cumprod(1.0 - np.minimum(total, 1.0), axis=1)
    before = np.concatenate((np.ones((len(free), 1)), free[:, :-1]), axis=1)
    hazards *= (before / np.maximum(total, 1.0))[:, None]
    return np.cumsum(hazards, axis=2, out=hazards)


@dataclass(eq=False, repr=False)
class SurvivalBoostModel(SurvivalModel):
    """SurvivalBoost of the package hazardous: boosted trees of the incidence of all causes.

    Time is one of the features of its trees, so that its curves may fall a little; they take their
    running maximum here.

    Parameters
    ----------
    n_iter, max_leaf_nodes, min_samples_leaf, n_time_grid_steps : int
        Of SurvivalBoost: stages, leaves of a tree, rows of a leaf, times of the grid.
    learning_rate : float
        Of SurvivalBoost.
    random_state : int or None
        Seed.

    References
    ----------
    J. Alberge, V. Maladiere, O. Grisel, J. Abecassis, G. Varoquaux. Survival models: proper scoring
    rule and stochastic optimization with competing risks. AISTATS 2025.
    """

    facts = FACTS["survival_boost"]

    n_iter: int = 100
    learning_rate: float = 0.05
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 50
    n_time_grid_steps: int = 100
    random_state: int | None = 0

    def _fit(self, X: Floats, y: Outcomes) -> None:
        for name in ("n_iter", "max_leaf_nodes", "min_samples_leaf", "n_time_grid_steps"):
            whole_number(getattr(self, name), name, 1)
        hazardous = need("hazardous", "model 'survival_boost'", "hazardous")
        codes = y.event.astype(np.int64) if y.cause is None else y.cause.astype(np.int64)
        self.causes_ = y.causes or ("1",)
        self.times_ = self._grid(y)
        # Learnt as 1, 2, ... of those that occur: the others have incidence 0.
        self.present_, learnt = np.unique(np.append(0, codes), return_inverse=True)
        self.model_ = hazardous.SurvivalBoost(
            n_iter=self.n_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            n_time_grid_steps=self.n_time_grid_steps,
            show_progressbar=False,
            random_state=self._integer_seed("boosting"),
        ).fit(_columns(X), {"event": learnt[1:], "duration": y.time})

    def _grid(self, y: Outcomes) -> Floats:
        """Distinct quantiles of the event times after 0, where incidence starts, and the end."""
        shares = np.linspace(0.0, 1.0, self.n_time_grid_steps)
        grid = np.append(np.quantile(y.time[y.event], shares), y.time.max())
        grid = np.unique(grid[grid > 0])
        return grid if grid.size else np.ones(1)

    def _predict_incidence(self, X: Floats) -> IncidenceCurves:
        found = self.model_.predict_cumulative_incidence(_columns(X), times=self.times_)
        values = np.zeros((X.shape[0], len(self.causes_), self.times_.size))
        values[:, self.present_[1:] - 1] = np.asarray(found)[:, 1:]
        return IncidenceCurves(self.times_, values, self.causes_, repair="running_maximum")


def _columns(X: Floats) -> Floats:
    """Features, or one column of zeros where there are none."""
    return X if X.shape[1] else np.zeros((X.shape[0], 1))
