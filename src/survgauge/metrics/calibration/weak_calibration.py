"""Weak calibration at a time: intercept and slope of observed on predicted risks, by one link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, repeated, vector
from ..._tools.frames import refuse_other_order
from ..._tools.running import chunks
from ..._tools.text import ShortRepr
from ...data.curves import SurvivalCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, NotApplicableError, UndefinedMetricError, one_of
from ...estimators.cox import TIES, CoxRegression
from ..checks import read_curves
from ..score import Score, freedom
from .inputs import Pseudo, StatusAtTime, description, log_log, put_back, survival_at


@dataclass(frozen=True, repr=False)
class WeakCalibration(ShortRepr):
    """Result of `weak_calibration`.

    Attributes
    ----------
    intercept : Score
        Calibration in the large: what has to be added to every log(-log S) so that risks are right
        on average; 0 is best. Above 0 predicted risks are too low.
    slope : Score
        Coefficient of log(-log S); 1 is best. Below 1 predicted risks differ too much.
    """

    intercept: Score
    slope: Score


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
        Test outcomes. With delayed entry subjects who entered before `time` count, with
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
    status = StatusAtTime.of(y_true, curves, time, probability, cause)
    return WeakCalibration(intercept_of(status), slope_of(status))


def calibration_slope(
    y_true: Any,
    curves: Any,
    time: float,
    *,
    probability: str = "survival",
    cause: int | str | None = None,
) -> Score:
    """Calibration slope at a time: coefficient of the predicted log(-log S) of observed risks.

    1 is best; below 1 predicted risks differ too much between subjects, above 1 too little. What
    was observed are pseudo-observations at `time`, so that hazards need not be proportional: the
    true model has slope 1, whatever the shape of its hazards. See `weak_calibration` for the
    regression, and `calibration_slope_cox` for the slope by a Cox model.

    Parameters
    ----------
    y_true, curves, time, probability, cause
        As for `weak_calibration`.

    Returns
    -------
    Score
        With a standard error from the subjects' contributions.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6, 7, 8], [1, 0, 1, 0, 0, 1, 1, 0])
    >>> round(calibration_slope(y, [0.3, 0.8, 0.7, 0.6, 0.4, 0.8, 0.7, 0.9], 4.5), 3)
    1.089
    """
    return slope_of(StatusAtTime.of(y_true, curves, time, probability, cause))


def calibration_slope_cox(
    y_true: Any,
    curves: Any,
    time: float | None = None,
    *,
    ties: str = "efron",
    probability: str = "survival",
) -> Score:
    r"""Calibration slope by a Cox model of the outcomes on the predicted log hazard.

    It takes hazards to be proportional. Where they are not, the true model has another slope than
    1: 0.63 to 0.81 in simulations of log-normal times, cure and crossing hazards. Then and for
    curves in general see `calibration_slope`.

    The covariate is :math:`\log(-\log S_i(t))`, for a proportional hazards model its linear
    predictor plus a constant. 1 is best; below 1 predictions are too extreme, above too tame.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes. With delayed entry subjects are at risk from their entry on; curves are read
        from the beginning, because they represent the linear predictor.
    curves : SurvivalCurves or array-like of shape (n,)
        Curves or probabilities at `time`; without `time`, linear predictors on the log hazard scale
        (higher = sooner).
    time : float, optional
        Where to read the curves.
    ties : {"efron", "breslow"}
        Rule for tied events.
    probability : {"survival", "event"}
        What an array holds when `time` is given.

    Returns
    -------
    Score
        With a robust standard error from per-subject contributions; the model-based one is in
        `support`.

    Examples
    --------
    >>> y = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1])
    >>> round(calibration_slope_cox(y, [1.0, 0.2, 0.6, -0.3, 0.1, -1.0]), 3)
    2.251
    """
    one_of("ties", ties, TIES)
    refuse_other_order(y_true, "y_true", {"curves": curves}, curves=True)
    y, curves = Outcomes.of(y_true, "y_true", entry=True), read_curves(curves)
    moved = 0
    if time is not None:
        s = survival_at(y, curves, time, probability, from_entry=False)
        x, moved = log_log(s[y.weight > 0])
    elif isinstance(curves, SurvivalCurves):
        raise InputError("time must say where to read the curves; got None")
    else:
        x = vector(curves, "curves", length=len(y), like="y_true")[y.weight > 0]
    present = y.weight > 0
    rows = y.present()
    if not rows.event.any():
        raise UndefinedMetricError(
            "calibration_slope_cox needs at least one event in y_true; got none"
        )
    if not x.max() > x.min():
        raise NotApplicableError(
            "the calibration slope needs predictions that differ between subjects; all are equal"
        )
    fit = CoxRegression(rows.time, rows.event, rows.weight, x[None, :], ties, rows.entry)
    if not fit.identified:
        raise UndefinedMetricError(
            "calibration_slope_cox is not identified by these outcomes: no finite slope is best, "
            "as when every event has the highest prediction of all who are still at risk"
        )
    influence = np.zeros(len(y))
    influence[present] = fit.influence()[0] * rows.weight
    convention, support = description(y, curves)
    convention |= {"time": time, "ties": ties, "covariate": "log(-log S)" if time is not None else
                   "given linear predictor"}  # fmt: skip
    if y.entry is not None:
        convention["entry"] = "curves from the beginning; at risk from entry on"
    support |= {
        "moved_from_0_or_1": moved,
        "converged": fit.converged,
        "model_stderr": float(np.sqrt(fit.covariance[0, 0])),
    }
    value = float(fit.beta[0])
    return Score(value, convention, support, influence, y.frequency)


def intercept_of(status: StatusAtTime, contributions: bool = True) -> Score:
    """Calibration in the large: predictions as they are, but for a constant."""
    status = status.regressed()
    x, moved = log_log(status.s)
    fit = LeastSquares.fit(status.pseudo, np.empty((0, x.size)), x, np.zeros(1))
    return _score(status, moved, fit, contributions)


def slope_of(status: StatusAtTime, contributions: bool = True) -> Score:
    """Coefficient of the predictions, beside a constant."""
    status = status.regressed()
    x, moved = log_log(status.s)
    if not x.max() > x.min():
        raise NotApplicableError(
            "the calibration slope needs predictions that differ between subjects; all are equal"
        )
    middle = float(np.average(x, weights=status.pseudo.weight))
    given = (x - middle)[None], repeated(0.0, x.size), np.array([1.0, middle])
    return _score(status, moved, LeastSquares.fit(status.pseudo, *given), contributions)


def _score(status: StatusAtTime, moved: int, fit: LeastSquares, contributions: bool) -> Score:
    """Tell the first coefficient of a fit."""
    support, influence = status.support | {"moved_from_0_or_1": moved}, None
    if contributions:
        influence = put_back(fit.influence()[0], status.rows, len(status.y), 0.0)
        support["freedom"] = freedom(influence, status.y.weight)
    return Score(
        float(fit.beta[0]), dict(status.convention), support, influence, status.y.frequency
    )


_STEPS, _EXACT, _HALVINGS = 100, 1e-12, 40
#: Near the solution a step changes the loss by less than it can be computed.
_ROUNDING = 1e-9
#: Least eigenvalue of the curvature, over Gauss's trace, from which on Newton's step is taken.
_CONVEX = 1e-3
#: A coefficient beyond this stands for none: risks of exp(-exp(30)) and 1 - exp(-exp(-30)).
_FAR = 30.0
#: Where the loss is as good as level in some direction, it has no best point there.
_LEVEL = 1e-12


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
                if np.linalg.eigvalsh(sums.curved)[0] <= _LEVEL * np.trace(sums.curved):
                    break  # the loss still falls, by less than numbers can tell
                return cls(pseudo, design, offset, beta, sums.curved)
        raise UndefinedMetricError(
            "the regression of pseudo-observations on the predictions has no finite solution"
        )

    def influence(self) -> Floats:
        """What each subject, with its weight, adds to the coefficients: (p, n)."""
        pseudo, slope = self.pseudo, np.empty(self.design.shape[1])
        score = np.empty((self.beta.size, slope.size))
        for part in chunks(slope.size):
            columns, gap, first, _ = _at(part, pseudo, self.design, self.offset, self.beta)
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
            columns, gap, first, second = _at(part, pseudo, design, offset, beta)
            weight = pseudo.weight[part]
            loss += float(weight @ gap**2)
            downhill += columns @ (weight * first * gap)
            curved += (columns * (weight * (first**2 - second * gap))) @ columns.T
            flat += (columns * (weight * first**2)) @ columns.T
        return cls(loss, downhill, curved, flat)

    def step(self) -> Floats:
        """Newton's step; by Gauss's information where the loss is not convex."""
        convex = np.linalg.eigvalsh(self.curved)[0] > _CONVEX * np.trace(self.flat)
        found = np.linalg.solve(self.curved if convex else self.flat, self.downhill)
        return np.asarray(found, dtype=np.float64)


def _at(
    part: slice, pseudo: Pseudo, design: Floats, offset: Floats, beta: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Columns of some subjects, the constant among them; observed less fitted risks, derivatives.

    Fitted risks are 1 - exp(-exp(eta)), of which the first two derivatives are told.
    """
    columns = np.vstack((design[:, part], np.ones(part.stop - part.start)))
    hazard = np.exp(np.minimum(beta @ columns + offset[part], 700.0))
    first = np.where(hazard < 700.0, hazard * np.exp(-hazard), 0.0)
    second = np.where(first > 0, first * (1.0 - hazard), 0.0)
    return columns, 1.0 - pseudo.values[part] + np.expm1(-hazard), first, second
