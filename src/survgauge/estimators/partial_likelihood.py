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
from numpy.typing import NDArray

from .._tools.arrays import Bools, Floats, stored_once
from ..errors import UndefinedMetricError

#: Values in a matrix times a vector, and multiplications of two matrices, that BLAS starts no
#: threads for; waiting for those takes longer than the rest when others use the machine.
_BLAS_VALUES, _PRODUCTS = 8_192, 262_144
#: Steps of Efron's rule that are laid out at once.
MOST_STEPS = 5e6
#: Subjects per event time from which they are summed time by time.
_MANY = 4


def combine(factors: Floats, rows: Floats) -> Floats:
    """factors @ rows."""
    if rows.size < _BLAS_VALUES:
        return factors @ rows
    return np.einsum("...k,kn->...n", factors, rows)


def product(rows: Floats, values: Floats) -> Floats:
    """rows @ values."""
    return rows @ values if rows.size < _BLAS_VALUES else np.einsum("kn,n->k", rows, values)


def crossed(a: Floats, b: Floats) -> Floats:
    """a @ b.T."""
    size = _PRODUCTS // max(a.shape[0] ** 2, 1)
    if a.shape[0] == 1:
        return product(a, b[0])[:, None]
    if a.shape[1] <= size:
        return a @ b.T
    total = np.zeros((a.shape[0], b.shape[0]))
    for start in range(0, a.shape[1], size):
        total += a[:, start : start + size] @ b[:, start : start + size].T
    return total


@dataclass(frozen=True)
class _Steps:
    """Efron's steps at the event times of a piece, one after the other."""

    start: NDArray[np.intp]
    expand: NDArray[np.intp]
    share: Floats
    unit: Floats

    @classmethod
    def of(cls, events: Floats) -> _Steps | None:
        """Lay them out; None where there is one step at each time."""
        steps = np.maximum(np.rint(events), 1.0)
        if steps.sum() > MOST_STEPS:
            raise UndefinedMetricError(
                f"Efron's rule takes a step for each of {steps.sum():.3g} events at tied times, "
                f"more than {MOST_STEPS:.0e}: make the frequencies smaller, or use ties='breslow'"
            )
        count = steps.astype(np.intp)
        if not (count > 1).any():
            return None
        start = np.cumsum(count) - count
        expand = np.repeat(np.arange(count.size), count)
        share = (np.arange(expand.size) - start[expand]) / count[expand]
        return cls(start, expand, share, (events / count)[expand])


@dataclass(frozen=True)
class Piece:
    """Subjects in a row by time, all or none of those with the same time.

    Positions count from the first subject or the first event time of the piece.
    """

    rows: slice
    weight: Floats
    times: Floats
    #: First subject at each event time, and the number of events there.
    start: NDArray[np.int32]
    events: Floats
    #: Number of event times up to each subject's own time.
    lived: NDArray[np.int32]
    #: Subjects with the event; where some are tied, their event times and the first at each.
    died: NDArray[np.int32]
    at: NDArray[np.int32] | None
    event_start: NDArray[np.intp] | None
    steps: _Steps | None

    @classmethod
    def of(cls, rows: slice, time: Floats, event: Bools, weight: Floats, ties: str) -> Piece:
        """Locate the events among the subjects of the piece."""
        died = np.flatnonzero(event).astype(np.int32)
        times, own, at, first = time[died], weight[died], None, None
        new = times[1:] > times[:-1]
        if not new.all():
            at = np.concatenate(([0], np.cumsum(new))).astype(np.int32)
            first = np.concatenate(([0], np.flatnonzero(new) + 1))
            times, own = times[first], np.add.reduceat(own, first)
        elif stored_once(weight):
            own = np.broadcast_to(weight[0], died.size)
        alone = (time[1:] > time[:-1]).all()  # then each event is the first at its time
        start = died if alone else time.searchsorted(times).astype(np.int32)
        begins = np.zeros(time.size, dtype=np.bool_)
        begins[start] = True
        lived = np.cumsum(begins, dtype=np.int32)
        steps = _Steps.of(own) if ties == "efron" else None
        return cls(rows, weight, times, start, own, lived, died, at, first, steps)

    def at_risk(self, values: Floats) -> tuple[Floats, Floats]:
        """Sums over those of the piece at risk at each event time, (..., J), and all, (..., 1)."""
        times, last = self.start.size, self.lived.size - 1
        if last < _MANY * times:
            sums = values[..., ::-1].cumsum(axis=-1)
            return sums.take(last - self.start, axis=-1), sums[..., -1:]
        starts = np.concatenate(([0], self.start)) if times == 0 or self.start[0] else self.start
        sums = np.add.reduceat(values, starts, axis=-1)[..., ::-1].cumsum(axis=-1)
        return sums[..., :times][..., ::-1], sums[..., -1:].copy()

    def over_events(self, values: Floats) -> Floats:
        """Sums over those who have the event at each event time, (..., J)."""
        own = values.take(self.died, axis=-1)
        if self.event_start is None:
            return own
        return np.add.reduceat(own, self.event_start, axis=-1)

    def to_events(self, values: Floats) -> Floats:
        """What belongs to event times, for each who has the event."""
        return values if self.at is None else values.take(self.at, axis=-1)

    def cumulative(self, steps: Floats, spared: Floats | None) -> Floats:
        """Sum of `steps` over the piece's event times that each subject lived through, (..., n).

        Those who have the event are at risk in a part of its steps only: `spared` is the rest.
        """
        sums = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
        steps.cumsum(axis=-1, out=sums[..., 1:])
        total: Floats = sums.take(self.lived, axis=-1)
        if spared is not None:
            total[..., self.died] -= self.to_events(spared)
        return total


@dataclass(frozen=True)
class Later:
    """Sums of r and of r x over all subjects after a piece."""

    risk: float
    weighted: Floats

    @classmethod
    def nobody(cls, columns: int) -> Later:
        """After the last piece."""
        return cls(0.0, np.zeros((columns, 1)))


@dataclass(frozen=True)
class Tied:
    """What Efron's further steps add: sums with the factors s, s and s^2, and D1/S0 (p, J)."""

    spared: Floats
    c1: Floats
    c2: Floats
    means: Floats


class RiskSets:
    """What is at risk at the event times of a piece, given x beta - shift (overwritten).

    Attributes
    ----------
    relative, risk : ndarray of shape (n,)
        exp(x beta - shift), and the same times the frequencies.
    weighted : ndarray of shape (p, n)
        r x.
    at_risk, means : ndarray of shape (J,) and (p, J)
        S0 and S1/S0.
    a, c0 : ndarray of shape (J,)
        Sums of u/(S0 - s D0) and of u (S0/(S0 - s D0))^2 over the steps of an event time, u = d/m.
    tied : Tied or None
        The same with further factors s; None where there is only the step s = 0.
    logs : float
        Sum of u log(S0 - s D0).
    here : Later
        Sums over this piece and all that follow.
    """

    def __init__(self, piece: Piece, x: Floats, predictor: Floats, later: Later) -> None:
        self.piece, self.x = piece, x
        self.relative = np.exp(predictor, out=predictor)
        alone = stored_once(piece.weight) and piece.weight[0] == 1.0
        self.risk = self.relative if alone else self.relative * piece.weight
        self.weighted = x * self.risk
        self.at_risk, total = piece.at_risk(self.risk)
        self.at_risk += later.risk
        self.means, sums = piece.at_risk(self.weighted)
        self.means += later.weighted
        self.means /= self.at_risk
        self.here = Later(float(total[0]) + later.risk, sums + later.weighted)
        self._take_steps()

    def _take_steps(self) -> None:
        s0, steps, events = self.at_risk, self.piece.steps, self.piece.events
        self.tied: Tied | None = None
        if steps is None:
            self.a, self.c0 = events / s0, events
            self.logs = float((events * np.log(s0)).sum())
            return
        share, whole = steps.share, s0.take(steps.expand)
        left = whole - share * self.piece.over_events(self.risk).take(steps.expand)
        first = steps.unit / left
        second = first * whole * (whole / left)
        third = second * share
        terms = (first, first * share, second, third, third * share)
        self.a, spared, self.c0, c1, c2 = (np.add.reduceat(term, steps.start) for term in terms)
        self.logs = float((steps.unit * np.log(left)).sum())
        self.tied = Tied(spared, c1, c2, self.piece.over_events(self.weighted) / s0)

    @property
    def spared(self) -> Floats | None:
        """Part of a that those who have the event are not at risk in; None where there is none."""
        return None if self.tied is None else self.tied.spared

    def expected(self) -> Floats:
        """Sum over the steps of the mean columns of those at risk, (p,)."""
        total = product(self.means, self.a * self.at_risk)
        if self.tied is not None:
            total -= product(self.tied.means, self.tied.spared * self.at_risk)
        return total

    def explained(self) -> Floats:
        """Sum over the steps of the products of those means, (p, p)."""
        total = crossed(self.means * self.c0, self.means)
        if self.tied is not None:
            cross = crossed(self.means * self.tied.c1, self.tied.means)
            total += crossed(self.tied.means * self.tied.c2, self.tied.means)
            total -= cross + cross.T
        return total


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
