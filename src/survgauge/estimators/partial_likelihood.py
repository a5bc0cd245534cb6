"""Cox's partial likelihood: its value, its slopes, its maximum, and each subject's part in it.

Everything is made of sums over the steps of an event time (see `_risk_sets`):

    a = sum u/(S0 - s D0)    b = sum u (1-s)/(S0 - s D0)    c_k = sum u s^k (S0/(S0 - s D0))^2

with u = d/m, and of the means S1/S0, D1/S0. No p x p matrix is kept per time: sum_j S2_j a_j =
X' diag(r H) X, H the hazard that each subject lived through. Nor is anything of length n but the
columns: all that a piece of the subjects needs to know of later ones are their sums of r, r x and
r x x', and of earlier ones the hazard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._tools.arrays import Bools, Floats
from .risk_sets import Later, Piece, RiskSets, combine, crossed, product

TIES = ("efron", "breslow")
_MAX_STEPS = 60
_MAX_HALVINGS = 40
# Squared length of a Newton step in standard errors at which the step is the last one.
_SMALL = 1e-10
# Curvature left in the flattest direction, relative to that at the start; below it, columns
# are collinear or the likelihood rises for ever (separation).
FLAT = 1e-8
# Relative sizes that cannot be told from rounding: of a curvature, of a column's spread.
_NO_CURVATURE = 1e-15
_NO_SPREAD = 1e-13
#: Values in a piece of the columns, and the fewest subjects that are worth one.
_VALUES, _LEAST = 65_536, 4_096


@dataclass(frozen=True)
class LikelihoodPoint:
    """The likelihood at one beta, per standard deviation of the columns.

    Risks are w exp(x beta - shift), so that none overflows. Gradient (p,) and information (p, p),
    the negative Hessian, mean something where the value is finite.
    """

    beta: Floats
    shift: float
    value: float
    gradient: Floats
    information: Floats
    #: What comes after each piece.
    later: list[Later]
    #: Kept where there is one piece only.
    sets: RiskSets | None


class PartialLikelihood:
    """The likelihood on standardised columns, in O(n p) memory.

    Parameters
    ----------
    time, event, weight : ndarray of shape (n,)
        Outcomes by time, with positive frequencies and at least one event. A censored row of
        negative frequency takes a subject out of the risk sets up to its time.
    columns : ndarray of shape (p, n)
        Covariates of the same subjects, overwritten; constant ones are left out.
    ties : {"efron", "breslow"}
        With frequencies, Efron's rule counts the sum of the events' frequencies as their number
        (to the nearest whole number), so that whole frequencies equal replicated rows.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Column values at which the linear predictor is 0.
    used : ndarray of shape (p,)
        Which columns vary.
    scale : ndarray
        Standard deviations of those.
    """

    def __init__(self, time: Floats, event: Bools, weight: Floats, columns: Floats, ties: str):
        size = max(_VALUES // max(columns.shape[0], 1), _LEAST)
        # Subjects with the same time stay together.
        starts = sorted(set(time.searchsorted(time[::size]).tolist()))
        spans = [slice(*ends) for ends in zip(starts, [*starts[1:], time.size], strict=True)]
        self._standardise(columns, weight, spans)
        self._pieces = [Piece.of(k, time[k], event[k], weight[k], ties) for k in spans]
        #: Number of events, frequencies counted.
        self.events = 0.0
        self._event_sum = np.zeros(self.scale.size)
        for piece in self._pieces:
            own = piece.weight[piece.died]
            self.events += float(own.sum())
            self._event_sum += product(self._x[:, piece.rows].take(piece.died, axis=1), own)

    def _standardise(self, x: Floats, weight: Floats, spans: list[slice]) -> None:
        if weight.min() < 0:
            weight = np.maximum(weight, 0.0)
        # Differences from one subject: the mean of a constant must not round.
        origin = x[:, :1].copy()
        total, shift, square = weight.sum(), np.zeros(x.shape[0]), np.zeros(x.shape[0])
        for rows in spans:
            x[:, rows] -= origin
            shift += product(x[:, rows], weight[rows])
        shift /= total
        for rows in spans:
            x[:, rows] -= shift[:, None]
            square += np.einsum("kn,kn,n->k", x[:, rows], x[:, rows], weight[rows])
        spread = np.sqrt(square / total)
        self.mean: Floats = origin[:, 0] + shift
        self.used: Bools = spread > _NO_SPREAD * np.abs(self.mean)
        self.scale: Floats = spread[self.used]
        self._x = x if self.used.all() else x[self.used]
        self._x /= self.scale[:, None]

    @property
    def times(self) -> Floats:
        """Distinct event times, (J,)."""
        return np.concatenate([piece.times for piece in self._pieces])

    def unscaled(self, values: Floats) -> Floats:
        """Values per unit of all columns from those per standard deviation of the used ones."""
        out = np.zeros((self.used.size, *values.shape[1:]))
        out[self.used] = (values.T / self.scale).T
        return out

    @np.errstate(all="ignore")
    def at(self, beta: Floats) -> LikelihoodPoint:
        """Log-likelihood at beta: minus infinity where a risk set is numerically empty."""
        size, later = beta.size, []
        predictor = self._predictor(beta)
        shift = float(predictor.max())
        predictor -= shift
        value, hazard = float(beta @ self._event_sum) - shift * self.events, 0.0
        gradient, information = self._event_sum.copy(), np.zeros((size, size))
        here, squares = Later.nobody(size), np.zeros((size, size))
        for piece in reversed(self._pieces):
            later.append(here)
            sets = RiskSets(piece, self._x[:, piece.rows], predictor[piece.rows], here)
            here, steps = sets.here, float(sets.a.sum())
            value, hazard = value - sets.logs, hazard + steps
            gradient -= sets.expected()
            information += steps * squares - sets.explained()
            if piece.rows.start:
                squares += crossed(sets.weighted, sets.x)
            sets.weighted *= piece.cumulative(sets.a, sets.spared)
            information += crossed(sets.weighted, sets.x)
        if not np.isfinite(value + hazard):
            value = -np.inf
        kept = sets if len(later) == 1 else None
        return LikelihoodPoint(beta, shift, value, gradient, information, later[::-1], kept)

    def _risk_sets(self, point: LikelihoodPoint) -> Iterator[RiskSets]:
        """One piece after the other, from the first."""
        if point.sets is not None:
            yield point.sets
            return
        for piece, later in zip(self._pieces, point.later, strict=True):
            x = self._x[:, piece.rows]
            yield RiskSets(piece, x, combine(point.beta, x) - point.shift, later)

    def hazard_steps(self, point: LikelihoodPoint) -> Floats:
        """Steps of the baseline hazard, for subjects with x beta = shift: (J,)."""
        return np.concatenate([sets.a for sets in self._risk_sets(point)])

    def hazard(self, point: LikelihoodPoint, t: float) -> tuple[float, Floats]:
        """Sum of those steps up to t, and its derivative by beta (p,)."""
        value, slope = 0.0, np.zeros(self.scale.size)
        for sets in self._risk_sets(point):
            known = sets.piece.times <= t
            if not known.any():
                continue
            rate = known / sets.at_risk
            value += float((sets.a * known).sum())
            slope -= product(sets.means, sets.c0 * rate)
            if sets.tied is not None:
                slope += product(sets.tied.means, sets.tied.c1 * rate)
        return value, slope

    def _predictor(self, beta: Floats) -> Floats:
        """x beta of each subject, by time."""
        predictor = np.empty(self._x.shape[1])
        for piece in self._pieces:
            predictor[piece.rows] = combine(beta, self._x[:, piece.rows])
        return predictor

    def relative_risk(self, beta: Floats, shift: float) -> Floats:
        """exp(x beta - shift) of each subject, by time."""
        risk = self._predictor(beta)
        risk -= shift
        return np.exp(risk, out=risk)

    def column_sums(self, values: Floats) -> Floats:
        """Sums of each column times values by time, (p,)."""
        sums = np.zeros(self.scale.size)
        for piece in self._pieces:
            sums += product(self._x[:, piece.rows], values[piece.rows])
        return sums

    @np.errstate(over="ignore", invalid="ignore")  # separated data have no bounds
    def influence(self, point: LikelihoodPoint, slope: Floats, hazard: Floats, t: float) -> Floats:
        """Derivatives with respect to each subject's frequency at fixed beta, by time: (q, n).

        Those of slope (q, p) times the gradient plus hazard (q,) times the hazard up to t.
        """
        out = np.empty((hazard.size, self._x.shape[1]))
        # What has been gathered in earlier pieces.
        lived, gathered = 0.0, np.zeros((hazard.size, 1))
        for sets in self._risk_sets(point):
            piece, s0 = sets.piece, sets.at_risk
            mean = combine(slope, sets.means)
            mean -= hazard[:, None] * (piece.times <= t) / s0
            steps, spared, at_event = mean * sets.c0, None, mean * sets.a
            if sets.tied is not None:
                event_mean = combine(slope, sets.tied.means)
                steps -= event_mean * sets.tied.c1
                spared = (mean * sets.tied.c1 - event_mean * sets.tied.c2) / s0
                at_event -= event_mean * sets.tied.spared
            steps /= s0
            at_event *= s0 / piece.events
            x = combine(slope, sets.x)
            change = piece.cumulative(steps, spared) + gathered
            change -= x * (piece.cumulative(sets.a, sets.spared) + lived)
            change *= sets.relative
            change[:, piece.died] += x[:, piece.died] - piece.to_events(at_event)
            out[:, piece.rows] = change
            lived, gathered = lived + float(sets.a.sum()), gathered + steps.sum(1, keepdims=True)
        return out


def maximise(
    likelihood: PartialLikelihood, penalty: float = 0.0, *, single: bool = True
) -> tuple[LikelihoodPoint, bool]:
    """Newton's method from zero, halving steps that lose; says whether a maximum was found.

    The objective is the likelihood minus penalty/2 times the squared length of beta. Where it is
    flat in a direction there is no finite or no single maximum: `single` gives up, otherwise beta
    stays put in that direction.
    """
    point = likelihood.at(np.zeros(likelihood.scale.size))
    ridge = penalty * np.eye(likelihood.scale.size)
    scale: Floats | None = None
    for _ in range(_MAX_STEPS):
        gradient, information = point.gradient - penalty * point.beta, point.information + ridge
        if scale is None:
            scale = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
        curvature, basis = np.linalg.eigh(information / np.outer(scale, scale))
        if single and (curvature < FLAT).any():
            return point, False
        along = basis.T @ (gradient / scale)
        curved = curvature > _NO_CURVATURE
        move = np.where(curved, along, 0.0) / np.where(curved, curvature, 1.0)
        following = _line_search(likelihood, point, (basis @ move) / scale, penalty)
        if following is None:
            return point, False
        point = following
        if along @ move < _SMALL:
            return point, True
    return point, False


def _line_search(
    likelihood: PartialLikelihood, start: LikelihoodPoint, step: Floats, penalty: float
) -> LikelihoodPoint | None:
    """Halve a step until it does not lose."""

    def objective(point: LikelihoodPoint) -> float:
        return point.value - penalty / 2 * float(point.beta @ point.beta)

    least = objective(start) - 1e-12 * (1 + abs(start.value))
    for halving in range(_MAX_HALVINGS):
        point = likelihood.at(start.beta + step / 2**halving)
        if objective(point) >= least:
            return point
    return None
