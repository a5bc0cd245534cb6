"""Regression of pseudo-observations on predictions, with the complementary log-log link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._tools.arrays import Bools, Floats
from ...errors import UndefinedMetricError
from .status import Pseudo

_STEPS, _EXACT, _HALVINGS = 100, 1e-12, 40
#: Near the solution a step changes the loss by less than it can be computed.
_ROUNDING = 1e-9
#: Least eigenvalue of the curvature, over Gauss's trace, from which on Newton's step is taken.
_CONVEX = 1e-3
#: A coefficient beyond this stands for none: risks of exp(-exp(30)) and 1 - exp(-exp(-30)).
_FAR = 30.0
#: Least eigenvalue of the information, over the largest, of coefficients that the outcomes tell.
_FLAT = 1e-10


@dataclass(frozen=True)
class LeastSquares:
    """Pseudo-observed risks on 1 - exp(-exp(beta @ design + offset)), by least squares."""

    pseudo: Pseudo
    design: Floats
    offset: Floats
    beta: Floats

    @classmethod
    def fit(cls, pseudo: Pseudo, design: Floats, offset: Floats, start: Floats) -> LeastSquares:
        """Go from `start` by Newton's steps, with shorter ones where they overshoot."""
        weight, risk, beta = pseudo.weight, 1.0 - pseudo.values, start

        def at(beta: Floats) -> tuple[Floats, Floats, Floats, float]:
            mean, first, second = _risk(beta @ design + offset)
            gap = risk - mean
            return gap, first, second, float(weight @ gap**2)

        gap, first, second, loss = at(beta)
        for _ in range(_STEPS):
            curved = _weighted(design, weight * (first**2 - second * gap))
            flat = _weighted(design, weight * first**2)
            try:  # Gauss's information where the loss is not convex
                step = np.linalg.solve(
                    curved if np.linalg.eigvalsh(curved)[0] > _CONVEX * np.trace(flat) else flat,
                    design @ (weight * first * gap),
                )
            except np.linalg.LinAlgError:
                break
            limit = loss + _ROUNDING * loss
            for _ in range(_HALVINGS):
                gap, first, second, loss = at(beta + step)
                if loss <= limit:
                    break
                step = step / 2
            beta = beta + step
            if np.abs(beta).max() > _FAR:
                break
            if np.abs(step).max() < _EXACT * (1 + np.abs(beta).max()):
                return cls(pseudo, design, offset, beta)
        raise UndefinedMetricError(
            "the regression of pseudo-observations on the predictions has no finite solution"
        )

    def influence(self) -> Floats:
        """What each subject, with its weight, adds to the coefficients: (p, n)."""
        mean, first, second = _risk(self.beta @ self.design + self.offset)
        weight, gap = self.pseudo.weight, 1.0 - self.pseudo.values - mean
        information = _weighted(self.design, weight * (first**2 - second * gap))
        # What a subject adds to the equations: its own part, and what it moves in the others'.
        score = np.stack(
            [weight * row * first * gap - self.pseudo.pulled(row * first) for row in self.design]
        )
        found: Floats = np.linalg.solve(information, score)
        return found


class PseudoRegression:
    """Regression of pseudo-observations on few columns, read like `CoxRegression`.

    The hazard that it tells is that of the one time, exp of the constant at the columns' means.

    Attributes
    ----------
    beta, mean : ndarray of shape (p,)
        Coefficients per unit of the columns, 0 for constant ones; weighted means of the columns.
    converged, identified : bool
        Whether there is one best fit.
    """

    def __init__(self, pseudo: Pseudo, columns: Floats) -> None:
        weight = pseudo.weight
        self._weight = weight
        self.mean: Floats = np.average(columns, axis=1, weights=weight)
        self._centred: Floats = columns - self.mean[:, None]
        spread = np.sqrt(np.average(self._centred**2, axis=1, weights=weight))
        self._used: Bools = spread > 0
        self._scale: Floats = spread[self._used]
        self.beta: Floats = np.zeros(self.mean.size)
        self._hazard = -np.log(pseudo.survival)
        self.converged = self.identified = False
        scaled = self._centred[self._used] / self._scale[:, None]
        if not _tells_apart(scaled, weight):
            return
        design = np.vstack((scaled, np.ones(weight.size)))
        start = np.append(np.zeros(self._scale.size), np.log(self._hazard))
        try:
            self._fit = LeastSquares.fit(pseudo, design, np.zeros(weight.size), start)
            self._influences = self._told(self._fit.influence() / weight)
        except (UndefinedMetricError, np.linalg.LinAlgError):
            return
        self.converged = self.identified = True
        self.beta[self._used] = self._fit.beta[:-1] / self._scale
        self._hazard = float(np.exp(self._fit.beta[-1]))

    def _told(self, influence: Floats) -> Floats:
        """Derivatives of `beta` and of the hazard by each frequency, from those of the fit."""
        found = np.zeros((self.mean.size + 1, influence.shape[1]))
        found[:-1][self._used] = influence[:-1] / self._scale[:, None]
        found[-1] = influence[-1] * np.exp(self._fit.beta[-1])
        return found

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        risk: Floats = self.beta @ columns - float(self.beta @ self.mean)
        return risk

    def relative_risk(self, step: Floats | None = None) -> Floats:
        """exp of `log_risk` of the subjects that the model was fitted to, had beta moved."""
        beta = self.beta if step is None else self.beta + step
        return np.exp(beta @ self._centred)

    def hazard(self, t: float) -> float:
        """-log of the probability to be free of the event at the one time."""
        return self._hazard

    def influences(self, t: float) -> Floats:
        """Derivatives of `beta` and of the hazard by each subject's frequency: (p + 1, n)."""
        return self._influences

    def column_sums(self, values: Floats) -> Floats:
        """Sums of the centred columns, times values: (p,)."""
        found: Floats = self._centred @ values
        return found

    def per_unit(self, along: Floats) -> Floats:
        """Coefficients of `beta` from those of `column_sums`: the same."""
        return along


def _tells_apart(columns: Floats, weight: Floats) -> bool:
    """Whether no standardised column is a combination of the others."""
    if not columns.shape[0]:
        return True
    return bool(np.linalg.eigvalsh(_weighted(columns, weight / weight.sum()))[0] > _FLAT)


def _weighted(design: Floats, weight: Floats) -> Floats:
    found: Floats = (design * weight) @ design.T
    return found


def _risk(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """1 - exp(-exp(eta)) with its first two derivatives."""
    hazard = np.exp(np.minimum(eta, 700.0))
    first = hazard * np.exp(-hazard)
    first = np.where(hazard < 700.0, first, 0.0)
    return -np.expm1(-hazard), first, np.where(first > 0, first * (1.0 - hazard), 0.0)
