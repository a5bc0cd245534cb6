"""Weak calibration at a time: intercept and slope of observed on predicted risks, by one link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.short_repr import ShortRepr
from ...data.outcomes import Outcomes
from ...errors import NotApplicableError, UndefinedMetricError
from ...reference.pseudo_survival import PseudoSurvival
from ..checks import read_curves
from ..details import Details
from .inputs import (
    checked_time,
    description,
    log_log,
    read_past,
    refuse_past_follow_up,
    survival_at,
)

_STEPS, _EXACT, _HALVINGS = 100, 1e-12, 40
#: Near the solution a step changes the loss by less than it can be computed.
_ROUNDING = 1e-9
#: A coefficient beyond this stands for none: risks of exp(-exp(30)) and 1 - exp(-exp(-30)).
_FAR = 30.0


@dataclass(frozen=True, repr=False)
class WeakCalibration(ShortRepr):
    """Result of `weak_calibration`.

    Attributes
    ----------
    intercept : Details
        Calibration in the large: what has to be added to every log(-log S) so that risks are right
        on average; 0 is best. Above 0 predicted risks are too low.
    slope : Details
        Coefficient of log(-log S); 1 is best. Below 1 predicted risks differ too much.
    """

    intercept: Details
    slope: Details


def weak_calibration(
    y_true: Any, curves: Any, time: float, *, probability: str = "survival"
) -> WeakCalibration:
    r"""Calibration intercept and slope at a time, by regression of pseudo-observations.

    With the pseudo-observation :math:`\theta_i` of the risk of the event by `time`, and
    :math:`x_i = \log(-\log S_i(t))`, two models with the complementary log-log link are fitted by
    least squares:

    .. math:: 1 - \exp(-e^{a + x_i}) \text{ (intercept } a) \quad\text{and}\quad
              1 - \exp(-e^{a' + b x_i}) \text{ (slope } b).

    Parameters
    ----------
    y_true : outcomes
        Test outcomes.
    curves : curves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves.
    time : float
        By when events count; not later than the last observed time.
    probability : {"survival", "event"}
        What an array in `curves` holds.

    Returns
    -------
    WeakCalibration
        `intercept` and `slope`, each with a standard error from the subjects' contributions, which
        count that pseudo-observations are estimated from the same subjects.

    References
    ----------
    van Geloven et al. (2022), Validation of prediction models in the presence of competing risks,
    BMJ 377, e069249. Andersen, Klein and Rosthoj (2003), Biometrika 90.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 0, 1, 0, 0, 1, 1, 0])
    >>> found = weak_calibration(y, [0.3, 0.8, 0.7, 0.6, 0.4, 0.8, 0.7, 0.9], 4.5)
    >>> round(found.intercept.value, 3), round(found.slope.value, 3)
    (-0.338, 1.089)
    """
    asked = Regression.of(y_true, curves, time, probability)
    return WeakCalibration(asked.intercept(), asked.slope())


@dataclass(frozen=True)
class Regression:
    """Pseudo-observations of present subjects and what was predicted for them."""

    y: Outcomes
    rows: Outcomes
    pseudo: PseudoSurvival
    x: Floats
    convention: dict[str, Any]
    support: dict[str, Any]

    @classmethod
    def of(cls, y_true: Any, curves: Any, time: float, probability: str = "survival") -> Regression:
        """Check the arguments; refuse where everybody or nobody has the event by the time."""
        y = Outcomes.of(y_true, "y_true")
        time, predicted = checked_time(time), read_curves(curves)
        s = survival_at(y, predicted, time, probability)
        x, moved = log_log(s[y.weight > 0])
        rows = y.present()
        refuse_past_follow_up(rows, time)
        pseudo = PseudoSurvival.of(rows, time)
        if not 0 < pseudo.survival < 1:
            who = "nobody" if pseudo.survival == 1 else "everybody"
            raise UndefinedMetricError(
                f"{who} has the event by time {time:g}, so no finite intercept is best"
            )
        convention, support = description(y, predicted)
        convention |= {
            "time": time,
            "observed": "pseudo-observations of Kaplan-Meier (infinitesimal jackknife)",
            "link": "complementary log-log, least squares",
        }
        support |= {**read_past(y, predicted, time), "moved_from_0_or_1": moved}
        return cls(y, rows, pseudo, x, convention, support)

    def intercept(self) -> Details:
        """Calibration in the large: predictions as they are, but for a constant."""
        return self._details(np.ones((1, self.x.size)), self.x, np.zeros(1), 0)

    def slope(self) -> Details:
        """Coefficient of the predictions, beside a constant."""
        if not self.x.max() > self.x.min():
            raise NotApplicableError(
                "the calibration slope needs predictions that differ between subjects; all are "
                "equal"
            )
        middle = float(np.average(self.x, weights=self.rows.weight))
        design = np.stack((np.ones(self.x.size), self.x - middle))
        return self._details(design, np.zeros(self.x.size), np.array([middle, 1.0]), 1)

    def _details(self, design: Floats, offset: Floats, start: Floats, which: int) -> Details:
        beta = self._fitted(design, offset, start)
        mean, first, second = _risk(beta @ design + offset)
        weight, gap = self.rows.weight, 1.0 - self.pseudo.values - mean
        information = _weighted(design, weight * (first**2 - second * gap))
        # What a subject adds to the equations: its own part, and what it moves in the others'.
        score = np.stack(
            [weight * row * first * gap - self.pseudo.pulled(row * first) for row in design]
        )
        psi = np.zeros(len(self.y))
        psi[self.y.weight > 0] = np.linalg.solve(information, score)[which]
        frequency = self.y.weight if self.y.weighted else None
        return Details(
            float(beta[which]), dict(self.convention), dict(self.support), psi, frequency
        )

    def _fitted(self, design: Floats, offset: Floats, beta: Floats) -> Floats:
        """Return the least squares by Gauss and Newton, with shorter steps where they overshoot."""
        weight, risk = self.rows.weight, 1.0 - self.pseudo.values

        def at(beta: Floats) -> tuple[Floats, Floats, float]:
            mean, first, _ = _risk(beta @ design + offset)
            gap = risk - mean
            return gap, first, float(weight @ gap**2)

        gap, first, loss = at(beta)
        for _ in range(_STEPS):
            information = _weighted(design, weight * first**2)
            try:
                step = np.linalg.solve(information, design @ (weight * first * gap))
            except np.linalg.LinAlgError:
                break
            limit = loss + _ROUNDING * loss
            for _ in range(_HALVINGS):
                gap, first, loss = at(beta + step)
                if loss <= limit:
                    break
                step = step / 2
            beta = beta + step
            if np.abs(beta).max() > _FAR:
                break
            if np.abs(step).max() < _EXACT * (1 + np.abs(beta).max()):
                return beta
        raise UndefinedMetricError(
            "the regression of pseudo-observations on the predictions has no finite solution"
        )


def _weighted(design: Floats, weight: Floats) -> Floats:
    found: Floats = (design * weight) @ design.T
    return found


def _risk(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """1 - exp(-exp(eta)) with its first two derivatives."""
    hazard = np.exp(np.minimum(eta, 700.0))
    first = hazard * np.exp(-hazard)
    first = np.where(hazard < 700.0, first, 0.0)
    return -np.expm1(-hazard), first, np.where(first > 0, first * (1.0 - hazard), 0.0)
