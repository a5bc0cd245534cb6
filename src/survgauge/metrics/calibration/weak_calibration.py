"""Weak calibration at a time: intercept and slope of observed on predicted risks, by one link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats
from ..._tools.short_repr import ShortRepr
from ...data.outcomes import Outcomes
from ...errors import NotApplicableError
from ..checks import read_curves
from ..details import Details
from ..one_cause import one_cause
from .inputs import (
    checked_time,
    description,
    log_log,
    read_past,
    refuse_past_follow_up,
    survival_at,
    taking_part,
)
from .pseudo_regression import LeastSquares, Pseudo, pseudo_observations


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
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    cause: int | str | None = None,
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
        Test outcomes. With delayed entry those who entered before `time` take part, with
        predictions and pseudo-observations given being event-free at entry.
    curves : curves or array-like of shape (n,)
        Predicted curves, or the probabilities at `time` themselves (under delayed entry, given
        being event-free at entry).
    time : float
        By when events count; not later than the last observed time.
    probability : {"survival", "event"}
        What an array in `curves` holds.
    cause : int or str, optional
        With several causes, code or name of the one that is predicted, by `IncidenceCurves` or by
        probabilities at `time`; pseudo-observations are then those of Aalen-Johansen, and S is
        1 - incidence of the cause.

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
    asked = Regression.of(y_true, curves, time, probability, cause)
    return WeakCalibration(asked.intercept(), asked.slope())


@dataclass(frozen=True)
class Regression:
    """Pseudo-observations of present subjects and what was predicted for them."""

    y: Outcomes
    #: Who takes part, and their outcomes.
    present: Bools
    rows: Outcomes
    pseudo: Pseudo
    x: Floats
    convention: dict[str, Any]
    support: dict[str, Any]

    @classmethod
    def of(
        cls,
        y_true: Any,
        curves: Any,
        time: float,
        probability: str = "survival",
        cause: int | str | None = None,
    ) -> Regression:
        """Check the arguments; refuse where everybody or nobody has the event by the time."""
        asked = one_cause(y_true, curves, None, cause, entry=True)
        y = asked.y
        time, predicted = checked_time(time), read_curves(asked.curves)
        s = survival_at(y, predicted, time, probability)
        present = taking_part(y, time)
        x, moved = log_log(s[present])
        rows = y if present.all() else y[present]
        refuse_past_follow_up(rows, time)
        competes = None if asked.competes is None else asked.competes[present]
        pseudo = pseudo_observations(rows, competes, time)
        convention, support = description(y, predicted, asked)
        estimate = "Kaplan-Meier" if competes is None else "Aalen-Johansen"
        how = "infinitesimal jackknife" if y.entry is None else "given entry"
        convention |= {
            "time": time,
            "observed": f"pseudo-observations of {estimate} ({how})",
            "link": "complementary log-log, least squares",
        }
        support |= {**read_past(y, predicted, time), "moved_from_0_or_1": moved}
        return cls(y, present, rows, pseudo, x, convention, support)

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
        fit = LeastSquares.fit(self.pseudo, design, offset, start)
        psi = np.zeros(len(self.y))
        psi[self.present] = fit.influence()[which]
        frequency = self.y.weight if self.y.weighted else None
        return Details(
            float(fit.beta[which]), dict(self.convention), dict(self.support), psi, frequency
        )
