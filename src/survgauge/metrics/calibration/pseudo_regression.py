"""Regression of pseudo-observations on predictions, with the complementary log-log link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._tools.arrays import Bools, Floats, dot, repeated
from ..._tools.chunks import chunks
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
    """Pseudo-observed risks on 1 - exp(-exp(beta @ design + offset)), by least squares.

    The last coefficient is that of a constant, which `design` does not hold. `information` holds
    the second derivatives of half the loss at `beta`.
    """

    pseudo: Pseudo
    design: Floats
    offset: Floats
    beta: Floats
    information: Floats

    @classmethod
    def fit(cls, pseudo: Pseudo, design: Floats, offset: Floats, start: Floats) -> LeastSquares:
        """Go from `start` by Newton's steps, with shorter ones where they overshoot."""
        beta, sums = start, _Sums.of(pseudo, design, offset, start)
        for _ in range(_STEPS):
            try:
                step = sums.step()
            except np.linalg.LinAlgError:
                break
            limit = sums.loss + _ROUNDING * sums.loss
            for _ in range(_HALVINGS):
                sums = _Sums.of(pseudo, design, offset, beta + step)
                if sums.loss <= limit:
                    break
                step = step / 2
            beta = beta + step
            if np.abs(beta).max() > _FAR:
                break
            if np.abs(step).max() < _EXACT * (1 + np.abs(beta).max()):
                return cls(pseudo, design, offset, beta, sums.curved)
        raise UndefinedMetricError(
            "the regression of pseudo-observations on the predictions has no finite solution"
        )

    def influence(self) -> Floats:
        """What each subject, with its weight, adds to the coefficients: (p, n)."""
        pseudo, slope = self.pseudo, np.empty(self.design.shape[1])
        score = np.empty((self.beta.size, slope.size))
        for part in chunks(slope.size):
            columns = _columns(part, self.design)
            gap, first, _ = _at(part, columns, pseudo, self.offset, self.beta)
            slope[part] = first
            score[:, part] = columns * (pseudo.weight[part] * first * gap)
        # What a subject adds to the equations: its own part, and what it moves in the others'.
        for own, row in zip(score, self.design, strict=False):
            own -= pseudo.pulled(row * slope)
        score[-1] -= pseudo.pulled(slope)
        for part in chunks(slope.size):
            score[:, part] = np.linalg.solve(self.information, score[:, part])
        return score


@dataclass(frozen=True)
class _Sums:
    """Loss at some coefficients, and half its derivatives: downhill, exact and Gauss's second."""

    loss: float
    downhill: Floats
    curved: Floats
    flat: Floats

    @classmethod
    def of(cls, pseudo: Pseudo, design: Floats, offset: Floats, beta: Floats) -> _Sums:
        """Add up over chunks of subjects, so that nothing of their size is made."""
        loss, downhill = 0.0, np.zeros(beta.size)
        curved, flat = np.zeros((2, beta.size, beta.size))
        for part in chunks(design.shape[1]):
            columns, weight = _columns(part, design), pseudo.weight[part]
            gap, first, second = _at(part, columns, pseudo, offset, beta)
            loss += float(weight @ gap**2)
            downhill += columns @ (weight * first * gap)
            curved += _weighted(columns, weight * (first**2 - second * gap))
            flat += _weighted(columns, weight * first**2)
        return cls(loss, downhill, curved, flat)

    def step(self) -> Floats:
        """Newton's step; by Gauss's information where the loss is not convex."""
        convex = np.linalg.eigvalsh(self.curved)[0] > _CONVEX * np.trace(self.flat)
        found = np.linalg.solve(self.curved if convex else self.flat, self.downhill)
        return np.asarray(found, dtype=np.float64)


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
        """Fit; `columns` are overwritten."""
        weight, total = pseudo.weight, float(pseudo.weight.sum())
        self._weight = weight
        self.mean: Floats = np.array([dot(column, weight) for column in columns]) / total
        columns -= self.mean[:, None]
        spread = np.sqrt(np.array([dot(column**2, weight) / total for column in columns]))
        self._used: Bools = spread > 0
        self._scale: Floats = spread[self._used]
        self.beta: Floats = np.zeros(self.mean.size)
        self._hazard = -np.log(pseudo.survival)
        self.converged = self.identified = False
        #: The standardised columns.
        self._design: Floats = columns if self._used.all() else columns[self._used]
        self._design /= self._scale[:, None]
        if not _tells_apart(self._design, weight):
            return
        start = np.append(np.zeros(self._scale.size), np.log(self._hazard))
        try:
            self._fit = LeastSquares.fit(pseudo, self._design, repeated(0.0, weight.size), start)
            np.linalg.inv(self._fit.information)
        except (UndefinedMetricError, np.linalg.LinAlgError):
            return
        self.converged = self.identified = True
        self.beta[self._used] = self._fit.beta[:-1] / self._scale
        self._hazard = float(np.exp(self._fit.beta[-1]))

    @cached_property
    def _influences(self) -> Floats:
        """Derivatives of `beta` and of the hazard by each frequency, from those of the fit."""
        moved = self._fit.influence()
        moved /= self._weight
        moved[:-1] /= self._scale[:, None]
        moved[-1] *= self._hazard
        if self._used.all():
            return moved
        found = np.zeros((self.mean.size + 1, self._weight.size))
        found[np.append(self._used, True)] = moved
        return found

    def log_risk(self, columns: Floats) -> Floats:
        """Log hazard ratios of subjects with these columns, against the baseline of `hazard`."""
        risk: Floats = self.beta @ columns - float(self.beta @ self.mean)
        return risk

    def relative_risk(self, step: Floats | None = None) -> Floats:
        """exp of `log_risk` of the subjects that the model was fitted to, had beta moved."""
        beta = self.beta if step is None else self.beta + step
        return np.exp((beta[self._used] * self._scale) @ self._design)

    def hazard(self, t: float) -> float:
        """-log of the probability to be free of the event at the one time."""
        return self._hazard

    def influences(self, t: float) -> Floats:
        """Derivatives of `beta` and of the hazard by each subject's frequency: (p + 1, n)."""
        return self._influences

    def column_sums(self, values: Floats) -> Floats:
        """Sums of the centred columns, times values: (p,)."""
        found = np.zeros(self.mean.size)
        found[self._used] = (self._design @ values) * self._scale
        return found

    def per_unit(self, along: Floats) -> Floats:
        """Coefficients of `beta` from those of `column_sums`: the same."""
        return along


def _tells_apart(columns: Floats, weight: Floats) -> bool:
    """Whether no standardised column is a combination of the others."""
    if not columns.shape[0]:
        return True
    return bool(np.linalg.eigvalsh(_weighted(columns, weight / weight.sum()))[0] > _FLAT)


def _columns(part: slice, design: Floats) -> Floats:
    """Return the columns of some subjects, the constant among them."""
    return np.vstack((design[:, part], np.ones(part.stop - part.start)))


def _at(
    part: slice, columns: Floats, pseudo: Pseudo, offset: Floats, beta: Floats
) -> tuple[Floats, Floats, Floats]:
    """Observed less fitted risks of some subjects; first and second derivatives of the fitted."""
    mean, first, second = _risk(beta @ columns + offset[part])
    return 1.0 - pseudo.values[part] - mean, first, second


def _weighted(design: Floats, weight: Floats) -> Floats:
    found: Floats = (design * weight) @ design.T
    return found


def _risk(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """1 - exp(-exp(eta)) with its first two derivatives."""
    hazard = np.exp(np.minimum(eta, 700.0))
    first = hazard * np.exp(-hazard)
    first = np.where(hazard < 700.0, first, 0.0)
    return -np.expm1(-hazard), first, np.where(first > 0, first * (1.0 - hazard), 0.0)
